// Hand-written: images, volumes, signals.
#include "common.cuh"

template <class T>
struct alignas(16) Four {
    T v[4];
};

// ---- A picture of 4000 by 3200 under a mask of 5 by 5. Each thread computes 4 by `ROWS` pixels and reads each row once.
// `EVERYWHERE`: the border is replicated outside.

template <bool EVERYWHERE, int ROWS, class T>
__global__ void __launch_bounds__(128) conv2d(const T *image, const T *mask, T *out, int w, int h) {
    const int width = EVERYWHERE ? w : w - 4, height = EVERYWHERE ? h : h - 4, shift = EVERYWHERE ? 2 : 0;
    int x = 4 * (blockIdx.x * 32 + threadIdx.x), y = ROWS * (blockIdx.y * 4 + threadIdx.y);
    if (x >= width || y >= height) return;
    T m[25], sums[ROWS][4] = {};
#pragma unroll
    for (int k = 0; k < 25; k++) m[k] = mask[k];
#pragma unroll
    for (int r = 0; r < ROWS + 4; r++) {
        int from = y + r - shift;
        from = from < 0 ? 0 : from < h ? from : h - 1;
        const T *row = image + (size_t)from * w;
        T v[8];
        if (EVERYWHERE) {
            Four<T> here = *(const Four<T> *)(row + x);
#pragma unroll
            for (int k = 0; k < 4; k++) v[2 + k] = here.v[k];
            v[0] = row[max(x - 2, 0)];
            v[1] = row[max(x - 1, 0)];
            v[6] = row[min(x + 4, w - 1)];
            v[7] = row[min(x + 5, w - 1)];
        } else {
            Four<T> a = *(const Four<T> *)(row + x), b = *(const Four<T> *)(row + x + 4);
#pragma unroll
            for (int k = 0; k < 4; k++) {
                v[k] = a.v[k];
                v[4 + k] = b.v[k];
            }
        }
#pragma unroll
        for (int j = 0; j < 5; j++)
            if (r - j >= 0 && r - j < ROWS)
#pragma unroll
                for (int k = 0; k < 4; k++)
#pragma unroll
                    for (int i = 0; i < 5; i++) sums[r - j][k] += m[5 * j + i] * v[k + i];
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (y + r < height) {
            Four<T> q;
#pragma unroll
            for (int k = 0; k < 4; k++) q.v[k] = sums[r][k];
            *(Four<T> *)(out + (size_t)(y + r) * width + x) = q;
        }
}

template <bool EVERYWHERE, int ROWS, class T>
void image() {
    peer(named<T>(EVERYWHERE ? "conv2d-stencil" : "conv2d"), "hand-written, 4 by " + std::to_string(ROWS) + " per thread", [&] {
        int w = 4000, h = 3200, width = EVERYWHERE ? w : w - 4, height = EVERYWHERE ? h : h - 4, shift = EVERYWHERE ? 2 : 0;
        Array<T> in = floats<T>((size_t)w * h, 30, 0, 1), mask = floats<T>(25, 31, -1, 1), out((size_t)width * height);
        CHECK(cudaMemset(out.p, 0xff, out.n * sizeof(T)));
        dim3 grid((width / 4 + 31) / 32, ((height + ROWS - 1) / ROWS + 3) / 4), block(32, 4);
        Times t = timed([&] { conv2d<EVERYWHERE, ROWS, T><<<grid, block>>>(in.p, mask.p, out.p, w, h); });
        std::vector<T> got = out.host();
        double worst = 0;
        auto check = [&](int y, int x) {
            double sum = 0, scale = 0;
            for (int j = 0; j < 5; j++)
                for (int i = 0; i < 5; i++) {
                    int v = std::min(std::max(y + j - shift, 0), h - 1), u = std::min(std::max(x + i - shift, 0), w - 1);
                    double p = (double)float_at<T>((uint64_t)v * w + u, 30, 0, 1) * float_at<T>(5 * j + i, 31, -1, 1);
                    sum += p;
                    scale += std::fabs(p);
                }
            worst = std::max(worst, near(got[(size_t)y * width + x], sum, 20 * epsilon<T>(), scale));
        };
        for (size_t at = 0; at < out.n; at += 9973) check((int)(at / width), (int)(at % width));
        for (int x : {0, 1, 2, width - 2, width - 1})
            for (int y : {0, 1, 2, height - 2, height - 1}) check(y, x);
        return Result{t, worst};
    });
}

// ---- A volume of 256 by 256 by 160: each point and its six neighbours; beyond the edge all is zero.
// Each thread goes through `DEPTH` planes with 4 points.

template <int DEPTH, class T>
__global__ void __launch_bounds__(256) relax(T c0, T c1, const T *a, T *out, int w, int h, int d) {
    int x = 4 * threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z * DEPTH;
    size_t plane = (size_t)w * h, at = z * plane + (size_t)y * w + x;
    auto load = [&](bool inside, size_t at) {
        Four<T> q = {};
        if (inside) q = *(const Four<T> *)(a + at);
        return q;
    };
    Four<T> below = load(z > 0, at - plane), here = load(true, at);
#pragma unroll 4
    for (int k = 0; k < DEPTH && z + k < d; k++, at += plane) {
        Four<T> above = load(z + k + 1 < d, at + plane), front = load(y > 0, at - w), back = load(y + 1 < h, at + w), r;
        T left = x > 0 ? a[at - 1] : (T)0, right = x + 4 < w ? a[at + 4] : (T)0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            T before = i ? here.v[i - 1] : left, after = i < 3 ? here.v[i + 1] : right;
            r.v[i] = c1 * (before + after + front.v[i] + back.v[i] + below.v[i] + above.v[i]) - c0 * here.v[i];
        }
        *(Four<T> *)(out + at) = r;
        below = here;
        here = above;
    }
}

template <int DEPTH, class T>
void volume() {
    peer(named<T>("stencil7"), "hand-written, " + std::to_string(DEPTH) + " planes per thread", [&] {
        int w = 256, h = 256, d = 160;
        size_t n = (size_t)w * h * d;
        Array<T> a = floats<T>(n, 32, 0, 1), out(n);
        CHECK(cudaMemset(out.p, 0xff, n * sizeof(T)));
        T c0 = (T)0.5, c1 = (T)0.1;
        dim3 grid(1, h / 4, (d + DEPTH - 1) / DEPTH), block(w / 4, 4);
        Times t = timed([&] { relax<DEPTH, T><<<grid, block>>>(c0, c1, a.p, out.p, w, h, d); });
        std::vector<T> got = out.host();
        double worst = 0;
        auto at = [&](int z, int y, int x) {
            bool inside = 0 <= z && z < d && 0 <= y && y < h && 0 <= x && x < w;
            return inside ? (double)float_at<T>(((uint64_t)z * h + y) * w + x, 32, 0, 1) : 0.0;
        };
        for (size_t p = 0; p < n; p += 1021) {
            int z = (int)(p / (w * h)), y = (int)(p / w % h), x = (int)(p % w);
            double around = at(z, y, x - 1) + at(z, y, x + 1) + at(z, y - 1, x) + at(z, y + 1, x) + at(z - 1, y, x) + at(z + 1, y, x);
            double wanted = (double)c1 * around - (double)c0 * at(z, y, x), scale = (double)c1 * around + (double)c0 * at(z, y, x);
            worst = std::max(worst, near(got[p], wanted, 20 * epsilon<T>(), scale));
        }
        return Result{t, worst};
    });
}

// ---- A signal of 999,936 under 8192 taps. Each thread has `OWN` outputs side by side, whose inputs move through registers; the
// taps are divided among gridDim.y blocks. In shared memory, 16 bytes are left free after 64, against bank conflicts.

template <class T>
__device__ int padded(int j) {
    const int LINE = 64 / sizeof(T), FREE = 16 / sizeof(T);
    return j + j / LINE * FREE;
}

template <class T, int THREADS>
__global__ void __launch_bounds__(THREADS) conv1d(const T *taps, const T *xs, T *out, int n, int m) {
    const int PACK = 16 / sizeof(T), OWN = 64 / sizeof(T), STEP = 8, CHUNK = 512, TILE = THREADS * OWN;
    __shared__ alignas(16) T x[(TILE + CHUNK + OWN) / OWN * (OWN + PACK)];
    __shared__ alignas(16) T tap[CHUNK];
    T sums[OWN] = {};
    int base = blockIdx.x * TILE, own = threadIdx.x * OWN;
    int part = m / gridDim.y, from = part * blockIdx.y;
    for (int k0 = from; k0 < from + part; k0 += CHUNK) {
        for (int j = threadIdx.x; j < TILE + CHUNK; j += THREADS) {
            int at = base + k0 + j;
            x[padded<T>(j)] = at < n + m ? xs[at] : (T)0;
        }
        for (int j = threadIdx.x; j < CHUNK; j += THREADS) tap[j] = taps[k0 + j];
        __syncthreads();
        T window[OWN + STEP], t[STEP];
#pragma unroll
        for (int j = 0; j < OWN; j += PACK) {
            Pack<T> p = *(const Pack<T> *)(x + padded<T>(own + j));
#pragma unroll
            for (int i = 0; i < PACK; i++) window[j + i] = p.v[i];
        }
        for (int k = 0; k < CHUNK; k += STEP) {
#pragma unroll
            for (int j = 0; j < STEP; j += PACK) {
                Pack<T> p = *(const Pack<T> *)(x + padded<T>(own + OWN + k + j)), q = *(const Pack<T> *)(tap + k + j);
#pragma unroll
                for (int i = 0; i < PACK; i++) {
                    window[OWN + j + i] = p.v[i];
                    t[j + i] = q.v[i];
                }
            }
#pragma unroll
            for (int j = 0; j < STEP; j++)
#pragma unroll
                for (int i = 0; i < OWN; i++) sums[i] += t[j] * window[i + j];
#pragma unroll
            for (int i = 0; i < OWN; i++) window[i] = window[i + STEP];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < OWN; i++)
        if (base + own + i < n) atomicAdd(&out[base + own + i], sums[i]);
}

template <int THREADS, class T>
void signal() {
    for (int parts : {1, 2, 4, 8}) {
        peer(named<T>("conv1d"), "hand-written, blocks of " + std::to_string(THREADS) + ", taps in " + std::to_string(parts) + (parts == 1 ? " part" : " parts"), [&] {
            int n = 999936, m = 8192, tile = THREADS * 64 / sizeof(T);
            Array<T> taps = floats<T>(m, 34, -1, 1), xs = floats<T>(n + m, 33, 0, 1), out(n);
            Times t = timed([&] {
                CHECK(cudaMemsetAsync(out.p, 0, n * sizeof(T)));
                conv1d<T, THREADS><<<dim3((n + tile - 1) / tile, parts), THREADS>>>(taps.p, xs.p, out.p, n, m);
            });
            std::vector<T> got = out.host();
            double worst = 0;
            for (int i = 0; i < n; i += i < n - 5000 ? 4999 : 61) {
                double sum = 0, scale = 0;
                for (int k = 0; k < m; k++) {
                    double p = (double)float_at<T>(k, 34, -1, 1) * float_at<T>(i + k, 33, 0, 1);
                    sum += p;
                    scale += std::fabs(p);
                }
                worst = std::max(worst, near(got[i], sum, 100 * epsilon<T>(), scale));
            }
            return Result{t, worst};
        });
    }
}

int main() {
    image<false, 4, float>();
    image<false, 8, float>();
    image<false, 2, double>();
    image<false, 4, double>();
    image<true, 4, float>();
    image<true, 8, float>();
    image<true, 2, double>();
    image<true, 4, double>();
    volume<8, float>();
    volume<16, float>();
    volume<40, float>();
    volume<8, double>();
    volume<16, double>();
    volume<40, double>();
    signal<128, float>();
    signal<256, float>();
    signal<128, double>();
    signal<256, double>();
}
