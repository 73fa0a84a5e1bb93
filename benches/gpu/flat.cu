// Copies, transfers, and hand-written kernels over whole vectors: dot, sum, saxpy, a map, the sum of a map.
#include "common.cuh"

enum Op { SUM, DOT, MAPSUM };

template <int OP, class T>
__device__ T term(T x, T y) {
    return OP == SUM ? x : OP == DOT ? x * y : (T)sqrt(x * x + y * y);
}

// Each thread sums packs of 16 bytes; the block that ends last adds the sums of the blocks.
template <int OP, int UNROLL, class T>
__global__ void __launch_bounds__(256) reduce(const Pack<T> *x, const Pack<T> *y, size_t packs, T *parts, unsigned *done, T *out) {
    const int N = Pack<T>::N;
    T sums[N] = {};
    size_t step = (size_t)gridDim.x * 256, i = blockIdx.x * (size_t)256 + threadIdx.x;
    for (; i + (UNROLL - 1) * step < packs; i += UNROLL * step) {
        Pack<T> a[UNROLL], b[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            a[u] = x[i + u * step];
            if (OP != SUM) b[u] = y[i + u * step];
        }
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
#pragma unroll
            for (int k = 0; k < N; k++) sums[k] += term<OP>(a[u].v[k], OP == SUM ? (T)0 : b[u].v[k]);
    }
    for (; i < packs; i += step)
        for (int k = 0; k < N; k++) sums[k] += term<OP>(x[i].v[k], OP == SUM ? (T)0 : y[i].v[k]);
    T s = 0;
    for (int k = 0; k < N; k++) s += sums[k];
    __shared__ T shared[8];
    __shared__ bool last;
    auto block_sum = [&](T s) {
        for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
        __syncthreads();
        if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = s;
        __syncthreads();
        s = threadIdx.x < 8 ? shared[threadIdx.x] : (T)0;
        for (int d = 4; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
        return s;
    };
    s = block_sum(s);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = s;
        __threadfence();
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    s = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += 256) s += ((volatile T *)parts)[k];
    s = block_sum(s);
    if (threadIdx.x == 0) *out = s;
}

template <bool SAXPY, int UNROLL, class T>
__global__ void __launch_bounds__(256) map(T a, const Pack<T> *x, const Pack<T> *y, Pack<T> *out, size_t packs) {
    size_t base = blockIdx.x * (size_t)(256 * UNROLL) + threadIdx.x;
    Pack<T> p[UNROLL], q[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
        if (base + u * 256 < packs) {
            p[u] = x[base + u * 256];
            q[u] = y[base + u * 256];
        }
#pragma unroll
    for (int u = 0; u < UNROLL; u++)
        if (base + u * 256 < packs) {
            Pack<T> r;
            for (int k = 0; k < Pack<T>::N; k++)
                r.v[k] = SAXPY ? a * p[u].v[k] + q[u].v[k] : (T)sqrt(p[u].v[k] * p[u].v[k] + q[u].v[k] * q[u].v[k]);
            out[base + u * 256] = r;
        }
}

template <class T>
struct Term {
    const T *x, *y;
    int op;
    __device__ double operator()(size_t i) const {
        double a = x[i], b = y[i];
        return op == SUM ? a : op == DOT ? a * b : sqrt(a * a + b * b);
    }
};

template <int OP, int UNROLL, class T>
void reduction(const char *name, const Array<T> &x, const Array<T> &y) {
    for (int blocks : {4, 8, 16}) {
        std::ostringstream label;
        label << "hand-written, " << blocks << " blocks of 256 per multiprocessor, " << UNROLL << " loads";
        peer(named<T>(name), label.str(), [&] {
            unsigned grid = blocks * multiprocessors();
            Array<T> parts(grid), out(1);
            Array<unsigned> done(std::vector<unsigned>{0});
            size_t packs = x.n / Pack<T>::N;
            Times t = timed([&] {
                reduce<OP, UNROLL, T><<<grid, 256>>>((const Pack<T> *)x.p, (const Pack<T> *)y.p, packs, parts.p, done.p, out.p);
            });
            return Result{t, near(out.at(0), exact_sum(x.n, Term<T>{x.p, y.p, OP}), 100 * epsilon<T>())};
        });
    }
}

template <bool SAXPY, int UNROLL, class T>
void elements(const char *name, const Array<T> &x) {
    std::ostringstream label;
    label << "hand-written, " << UNROLL << " loads";
    peer(named<T>(name), label.str(), [&] {
        size_t n = x.n, packs = n / Pack<T>::N;
        Array<T> y = floats<T>(n, 2, 0, 1), out(SAXPY ? 1 : n);
        T a = (T)1e-3, *to = SAXPY ? y.p : out.p;
        unsigned grid = (unsigned)((packs + 256 * UNROLL - 1) / (256 * UNROLL));
        auto run = [&] { map<SAXPY, UNROLL, T><<<grid, 256>>>(a, (const Pack<T> *)x.p, (const Pack<T> *)y.p, (Pack<T> *)to, packs); };
        Times t = timed(run);
        if (SAXPY) {
            y = floats<T>(n, 2, 0, 1);
            to = y.p;
            run();
        }
        double worst = 0;
        for (size_t i = 0; i < n; i += n / 61 - 1) {
            double p = float_at<T>(i, 1, 0, 1), q = float_at<T>(i, 2, 0, 1);
            T got;
            CHECK(cudaMemcpy(&got, to + i, sizeof(T), cudaMemcpyDeviceToHost));
            worst = std::max(worst, near(got, SAXPY ? (double)a * p + q : std::sqrt(p * p + q * q), 2 * epsilon<T>()));
        }
        return Result{t, worst};
    });
}

template <class T>
void vectors(size_t n) {
    Array<T> x = floats<T>(n, 1, 0, 1), y = floats<T>(n, 2, 0, 1);
    reduction<SUM, 4>("sum", x, y);
    reduction<SUM, 8>("sum", x, y);
    reduction<DOT, 2>("dot", x, y);
    reduction<DOT, 4>("dot", x, y);
    reduction<MAPSUM, 2>("mapsum", x, y);
    reduction<MAPSUM, 4>("mapsum", x, y);
    y = Array<T>();
    elements<true, 1>("saxpy", x);
    elements<true, 2>("saxpy", x);
    elements<true, 4>("saxpy", x);
    elements<false, 1>("map", x);
    elements<false, 2>("map", x);
    elements<false, 4>("map", x);
}

int main() {
    size_t gib = (size_t)1 << 30;
    group({"copy"}, [&] {
        Array<char> a(gib), b(gib);
        CHECK(cudaMemset(a.p, 1, gib));
        peer("copy", "cudaMemcpy, 1 GiB on the device", [&] {
            Times t = timed([&] { CHECK(cudaMemcpyAsync(b.p, a.p, gib, cudaMemcpyDeviceToDevice)); });
            return Result{t, 0, 2.0 * gib};
        });
    });
    group({"transfer-in", "transfer-out"}, [&] {
        size_t bytes = gib / 2;
        Array<char> device(bytes);
        char *host = nullptr;
        CHECK(cudaMallocHost((void **)&host, bytes));
        for (size_t i = 0; i < bytes; i += 4096) host[i] = 1;
        peer("transfer-in", "cudaMemcpy, 512 MiB pinned to the device", [&] {
            Times t = timed([&] { CHECK(cudaMemcpyAsync(device.p, host, bytes, cudaMemcpyHostToDevice)); });
            return Result{t, 0, (double)bytes};
        });
        peer("transfer-out", "cudaMemcpy, 512 MiB from the device to pinned", [&] {
            Times t = timed([&] { CHECK(cudaMemcpyAsync(host, device.p, bytes, cudaMemcpyDeviceToHost)); });
            return Result{t, 0, (double)bytes};
        });
        cudaFreeHost(host);
    });
    group({"sum-f32", "dot-f32", "mapsum-f32", "saxpy-f32", "map-f32"}, [] { vectors<float>((size_t)1 << 27); });
    group({"sum-f64", "dot-f64", "mapsum-f64", "saxpy-f64", "map-f64"}, [] { vectors<double>((size_t)1 << 26); });
}
