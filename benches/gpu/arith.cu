// Much arithmetic on little data, hand-written: logarithms, options, bodies. With the accurate functions of the CUDA library.
#include "common.cuh"

__device__ inline float log_of(float x) { return logf(x); }
__device__ inline double log_of(double x) { return log(x); }
__device__ inline float exp_of(float x) { return expf(x); }
__device__ inline double exp_of(double x) { return exp(x); }
__device__ inline float sqrt_of(float x) { return sqrtf(x); }
__device__ inline double sqrt_of(double x) { return sqrt(x); }
__device__ inline float rsqrt_of(float x) { return rsqrtf(x); }
__device__ inline double rsqrt_of(double x) { return rsqrt(x); }
__device__ inline float abs_of(float x) { return fabsf(x); }
__device__ inline double abs_of(double x) { return fabs(x); }

// ---- Sums of logarithms.

template <class T>
__device__ void add_to(T s, T *total) {
    __shared__ T shared[32];
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x < 32) {
        s = threadIdx.x < blockDim.x / 32 ? shared[threadIdx.x] : (T)0;
        for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
        if (threadIdx.x == 0) atomicAdd(total, s);
    }
}

// Of 1 to `n`.
template <class T>
__global__ void log_sum(int n, T *total) {
    T a = 0, b = 0;
    int step = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    for (; i <= n - step; i += 2 * step) {
        a += log_of((T)i);
        b += log_of((T)(i + step));
    }
    if (i <= n) a += log_of((T)i);
    add_to(a + b, total);
}

// Of 1 to i * i, for each i to gridDim.y; the longest first.
template <class T>
__global__ void log_sums(T *total) {
    int i = gridDim.y - blockIdx.y, n = i * i;
    T a = 0;
    for (int j = blockIdx.x * blockDim.x + threadIdx.x + 1; j <= n; j += gridDim.x * blockDim.x) a += log_of((T)j);
    add_to(a, total);
}

template <class T>
void logs() {
    for (int blocks : {8, 16, 64}) {
        peer(named<T>("logsum"), "hand-written, " + std::to_string(blocks) + " blocks of 256 per multiprocessor", [&] {
            Array<T> total(1);
            int n = 1 << 28;
            Times t = timed([&] {
                CHECK(cudaMemsetAsync(total.p, 0, sizeof(T)));
                log_sum<T><<<blocks * multiprocessors(), 256>>>(n, total.p);
            });
            return Result{t, near(total.at(0), std::lgamma(n + 1.0), 1000 * epsilon<T>())};
        });
    }
    for (int log : {9, 10})
        for (unsigned parts : {1, 8, 32}) {
            std::string name = "logsums" + std::to_string(log);
            peer(named<T>(name.c_str()), "hand-written, " + std::to_string(parts) + (parts == 1 ? " block per sum" : " blocks per sum"), [&] {
                Array<T> total(1);
                unsigned n = 1u << log;
                Times t = timed([&] {
                    CHECK(cudaMemsetAsync(total.p, 0, sizeof(T)));
                    log_sums<T><<<dim3(parts, n), 256>>>(total.p);
                });
                double wanted = 0;
                for (unsigned i = 1; i <= n; i++) wanted += std::lgamma((double)i * i + 1.0);
                return Result{t, near(total.at(0), wanted, 1000 * epsilon<T>())};
            });
        }
}

// ---- Options.

template <class T>
__device__ T normal(T d) {
    T k = (T)1 / ((T)1 + (T)0.2316419 * abs_of(d));
    T poly = k * ((T)0.31938153 + k * ((T)-0.356563782 + k * ((T)1.781477937 + k * ((T)-1.821255978 + k * (T)1.330274429))));
    T w = (T)0.39894228040143267794 * exp_of((T)-0.5 * d * d) * poly;
    return d > (T)0 ? (T)1 - w : w;
}
template <class T>
__device__ void value(T price, T strike, T years, T &call, T &put) {
    T rate = (T)0.02, sigma = (T)0.30, spread = sigma * sqrt_of(years);
    T d1 = (log_of(price / strike) + (rate + (T)0.5 * sigma * sigma) * years) / spread;
    T a = normal(d1), b = normal(d1 - spread), e = strike * exp_of(-rate * years);
    call = price * a - e * b;
    put = e * ((T)1 - b) - price * ((T)1 - a);
}
template <int N, class T>
struct alignas(N * sizeof(T)) Some {
    T v[N];
};
template <int N, class T>
__global__ void options(const Some<N, T> *price, const Some<N, T> *strike, const Some<N, T> *years, Some<N, T> *call, Some<N, T> *put, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Some<N, T> p = price[i], s = strike[i], y = years[i], c, q;
#pragma unroll
    for (int k = 0; k < N; k++) value(p.v[k], s.v[k], y.v[k], c.v[k], q.v[k]);
    call[i] = c;
    put[i] = q;
}

template <int N, class T>
void black_scholes() {
    typedef Some<N, T> S;
    peer(named<T>("blackscholes"), "hand-written, " + std::to_string(N) + " per thread", [&] {
        int n = 10000000, threads = n / N;
        Array<T> p = floats<T>(n, 20, 5, 30), s = floats<T>(n, 21, 1, 100), y = floats<T>(n, 22, 0.25, 10), call(n), put(n);
        Times t = timed([&] {
            options<N, T><<<(threads + 255) / 256, 256>>>((S *)p.p, (S *)s.p, (S *)y.p, (S *)call.p, (S *)put.p, threads);
        });
        double worst = 0;
        for (int i = 0; i < n; i += 99991) {
            double S0 = float_at<T>(i, 20, 5, 30), X = float_at<T>(i, 21, 1, 100), Y = float_at<T>(i, 22, 0.25, 10);
            auto cnd = [](double d) {
                double k = 1.0 / (1.0 + 0.2316419 * std::fabs(d));
                double poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
                double w = 0.3989422804014327 * std::exp(-0.5 * d * d) * poly;
                return d > 0 ? 1 - w : w;
            };
            double q = 0.30 * std::sqrt(Y), d1 = (std::log(S0 / X) + (0.02 + 0.5 * 0.30 * 0.30) * Y) / q;
            double a = cnd(d1), b = cnd(d1 - q), e = X * std::exp(-0.02 * Y);
            worst = std::max(worst, near(call.at(i), S0 * a - e * b, 20 * epsilon<T>(), S0 + e));
            worst = std::max(worst, near(put.at(i), e * (1 - b) - S0 * (1 - a), 20 * epsilon<T>(), S0 + e));
        }
        return Result{t, worst};
    });
}

// ---- Bodies.

template <class T>
struct alignas(16) Body {
    T x, y, z, m;
};

// Tiles of other bodies in shared memory; each thread has `OWN` bodies. The others are divided among gridDim.y blocks.
template <bool RSQRT, int OWN, class T>
__global__ void __launch_bounds__(128) bodies(const T *x, const T *y, const T *z, const T *m, int n, T *ax, T *ay, T *az) {
    __shared__ Body<T> tile[128];
    T px[OWN], py[OWN], pz[OWN], sx[OWN] = {}, sy[OWN] = {}, sz[OWN] = {};
    int first = blockIdx.x * 128 * OWN + threadIdx.x;
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        px[k] = x[first + 128 * k];
        py[k] = y[first + 128 * k];
        pz[k] = z[first + 128 * k];
    }
    int part = n / gridDim.y, from = part * blockIdx.y;
    for (int base = from; base < from + part; base += 128) {
        int j = base + threadIdx.x;
        tile[threadIdx.x] = Body<T>{x[j], y[j], z[j], m[j]};
        __syncthreads();
#pragma unroll 8
        for (int i = 0; i < 128; i++) {
            Body<T> b = tile[i];
#pragma unroll
            for (int k = 0; k < OWN; k++) {
                T dx = b.x - px[k], dy = b.y - py[k], dz = b.z - pz[k];
                T r = dx * dx + dy * dy + dz * dz + (T)1e-4;
                T inverse = RSQRT ? rsqrt_of(r) : (T)1 / sqrt_of(r);
                T w = b.m * inverse * inverse * inverse;
                sx[k] += w * dx;
                sy[k] += w * dy;
                sz[k] += w * dz;
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int k = 0; k < OWN; k++) {
        atomicAdd(&ax[first + 128 * k], sx[k]);
        atomicAdd(&ay[first + 128 * k], sy[k]);
        atomicAdd(&az[first + 128 * k], sz[k]);
    }
}

template <bool RSQRT, int OWN, class T>
void nbody(const char *suffix) {
    for (int parts : {8, 16, 32}) {
        std::ostringstream label;
        label << "hand-written, " << (RSQRT ? "rsqrt" : "1 / sqrt") << ", " << OWN << (OWN == 1 ? " body per thread, " : " bodies per thread, ") << parts << " parts";
        peer(named<T>("nbody") + suffix, label.str(), [&] {
            int n = 16384;
            Array<T> x = floats<T>(n, 10, -1, 1), y = floats<T>(n, 11, -1, 1), z = floats<T>(n, 12, -1, 1), m = floats<T>(n, 13, 0, 1), a(3 * n);
            Times t = timed([&] {
                CHECK(cudaMemsetAsync(a.p, 0, 3 * n * sizeof(T)));
                bodies<RSQRT, OWN, T><<<dim3(n / 128 / OWN, parts), 128>>>(x.p, y.p, z.p, m.p, n, a.p, a.p + n, a.p + 2 * n);
            });
            double worst = 0;
            std::vector<T> got = a.host();
            for (int i = 0; i < n; i += 511) {
                double own[3], sum[3] = {}, scale[3] = {};
                for (int k = 0; k < 3; k++) own[k] = float_at<T>(i, 10 + k, -1, 1);
                for (int j = 0; j < n; j++) {
                    double d[3], r = 1e-4;
                    for (int k = 0; k < 3; k++) {
                        d[k] = float_at<T>(j, 10 + k, -1, 1) - own[k];
                        r += d[k] * d[k];
                    }
                    double inverse = 1 / std::sqrt(r), w = float_at<T>(j, 13, 0, 1) * inverse * inverse * inverse;
                    for (int k = 0; k < 3; k++) {
                        sum[k] += w * d[k];
                        scale[k] += std::fabs(w * d[k]);
                    }
                }
                for (int k = 0; k < 3; k++) worst = std::max(worst, near(got[k * n + i], sum[k], 100 * epsilon<T>(), scale[k]));
            }
            return Result{t, worst};
        });
    }
}

int main() {
    logs<double>();
    logs<float>();
    black_scholes<1, float>();
    black_scholes<2, float>();
    black_scholes<4, float>();
    black_scholes<1, double>();
    black_scholes<2, double>();
    nbody<false, 1, float>("");
    nbody<false, 2, float>("");
    nbody<true, 1, float>("+rsqrt");
    nbody<true, 2, float>("+rsqrt");
    nbody<true, 4, float>("+rsqrt");
    nbody<false, 1, double>("");
    nbody<false, 2, double>("");
    nbody<true, 1, double>("+rsqrt");
    nbody<true, 2, double>("+rsqrt");
}
