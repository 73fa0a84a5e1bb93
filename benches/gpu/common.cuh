// What all peers share: data, timing, checks, and reports as lines of JSON on standard output.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t code_ = (call);                                                                          \
        if (code_ != cudaSuccess)                                                                            \
            throw std::runtime_error(std::string(#call) + ": " + cudaGetErrorString(code_));                 \
    } while (0)

// ---- Data: the same as in benches/src/data.rs.

__host__ __device__ inline uint64_t mix(uint64_t x) {
    x += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

// A number from 0 below 1.
__host__ __device__ inline double unit(uint64_t h) { return (double)(h >> 11) * (1.0 / 9007199254740992.0); }

// Without fused multiply-add, as in Rust.
__host__ __device__ inline double scaled(double lo, double hi, double u) {
#ifdef __CUDA_ARCH__
    return __dadd_rn(lo, __dmul_rn(hi - lo, u));
#else
    volatile double product = (hi - lo) * u;
    return lo + product;
#endif
}

// Element `i` of `floats(n, seed, lo, hi)`.
template <class T>
__host__ __device__ T float_at(uint64_t i, uint64_t seed, double lo, double hi) {
    return (T)scaled(lo, hi, unit(mix(seed * 1000003 + i)));
}

// Element `i` of `keys(n, seed, bound)`, and of `bytes(n, seed)`.
__host__ __device__ inline uint32_t key_at(uint64_t i, uint64_t seed, uint64_t bound) {
    return (uint32_t)(((mix(seed * 1000003 + i) >> 32) * bound) >> 32);
}
__host__ __device__ inline uint8_t byte_at(uint64_t i, uint64_t seed) { return (uint8_t)(mix(seed * 1000003 + i) >> 56); }

template <class T>
void shuffle(std::vector<T> &items, uint64_t seed) {
    for (uint64_t i = items.size() - 1; i > 0; i--) std::swap(items[i], items[mix(seed + i) % (i + 1)]);
}

inline std::vector<int64_t> offsets_of(const std::vector<int32_t> &lengths) {
    std::vector<int64_t> off(lengths.size() + 1);
    for (size_t i = 0; i < lengths.size(); i++) off[i + 1] = off[i] + lengths[i];
    return off;
}

inline std::vector<int64_t> zipf_offsets(int64_t rows, int64_t total) {
    double harmonic = 0;
    for (int64_t i = 1; i <= rows; i++) harmonic += 1.0 / (double)i;
    double scale = (double)total / (harmonic - 0.5772);
    std::vector<int32_t> lengths(rows);
    for (int64_t i = 0; i < rows; i++) lengths[i] = (int32_t)(scale / (double)(i + 1));
    shuffle(lengths, 99);
    return offsets_of(lengths);
}

inline std::vector<int64_t> short_row_offsets(int64_t rows) {
    std::vector<int64_t> off(rows + 1);
    for (int64_t i = 0; i < rows; i++) off[i + 1] = off[i] + (int64_t)((uint64_t)i * 0x9E3779B97F4A7C15ull >> 61);
    return off;
}

inline std::vector<int64_t> one_row_offsets(int64_t rows, int64_t n) {
    std::vector<int64_t> off(rows + 1);
    for (int64_t i = 0; i <= rows; i++) off[i] = i <= rows / 2 ? 0 : n;
    return off;
}

// ---- Memory.

template <class T>
struct Array {
    T *p = nullptr;
    size_t n = 0;
    Array() {}
    explicit Array(size_t n) : n(n) { CHECK(cudaMalloc((void **)&p, std::max<size_t>(n, 1) * sizeof(T))); }
    explicit Array(const std::vector<T> &v) : Array(v.size()) {
        CHECK(cudaMemcpy(p, v.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    Array(Array &&o) noexcept : p(o.p), n(o.n) { o.p = nullptr; }
    Array &operator=(Array &&o) noexcept {
        std::swap(p, o.p);
        std::swap(n, o.n);
        return *this;
    }
    Array(const Array &) = delete;
    ~Array() { cudaFree(p); }
    T at(size_t i) const {
        T x;
        CHECK(cudaMemcpy(&x, p + i, sizeof(T), cudaMemcpyDeviceToHost));
        return x;
    }
    std::vector<T> host() const {
        std::vector<T> v(n);
        CHECK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
        return v;
    }
};

template <class T, class F>
__global__ void fill_kernel(T *p, size_t n, F f) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = f(i);
}
template <class T>
struct FloatAt {
    uint64_t seed;
    double lo, hi;
    __host__ __device__ T operator()(size_t i) const { return float_at<T>(i, seed, lo, hi); }
};
struct KeyAt {
    uint64_t seed, bound;
    __host__ __device__ uint32_t operator()(size_t i) const { return key_at(i, seed, bound); }
};
struct ByteAt {
    uint64_t seed;
    __host__ __device__ uint8_t operator()(size_t i) const { return byte_at(i, seed); }
};
template <class T, class F>
Array<T> filled(size_t n, F f) {
    Array<T> a(n);
    fill_kernel<<<2048, 256>>>(a.p, n, f);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return a;
}
template <class T>
Array<T> floats(size_t n, uint64_t seed, double lo, double hi) {
    return filled<T>(n, FloatAt<T>{seed, lo, hi});
}

// The sum of `f(i)` in double precision, for checks only.
template <class F>
__global__ void sum_kernel(size_t n, F f, double *total) {
    double s = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) s += f(i);
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) atomicAdd(total, s);
}
template <class F>
double exact_sum(size_t n, F f) {
    Array<double> total(std::vector<double>{0.0});
    sum_kernel<<<1024, 256>>>(n, f, total.p);
    CHECK(cudaGetLastError());
    return total.at(0);
}
template <class T>
struct Elements {
    const T *p;
    __device__ double operator()(size_t i) const { return (double)p[i]; }
};

// ---- Timing.

struct Times {
    double cold, warm;  // medians in seconds: with nothing and with everything possible in the cache
    int runs;
};

static __global__ void delay_kernel(long long cycles) {
    long long begun = clock64();
    while (clock64() - begun < cycles) {}
}
// Reads a large array, so that the caches hold nothing else, and no lines that must be written back.
static __global__ void flush_kernel(const uint4 *p, size_t n, uint32_t *out) {
    uint32_t s = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        uint4 x = p[i];
        s += x.x + x.y + x.z + x.w;
    }
    if (s == 0x12345678) *out = s;
}
const size_t FLUSH_BYTES = (size_t)512 << 20;

inline double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    size_t n = v.size();
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

// Times what `run` launches on the default stream. `before` is not timed.
inline Times timed(const std::function<void()> &run, const std::function<void()> &before = nullptr) {
    static uint4 *flush = nullptr;
    if (!flush) {
        CHECK(cudaMalloc((void **)&flush, FLUSH_BYTES + 16));
        CHECK(cudaMemset(flush, 0, FLUSH_BYTES + 16));
    }
    cudaEvent_t a, b;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    auto once = [&](bool cold) {
        if (before) before();
        if (cold) flush_kernel<<<1024, 512>>>(flush, FLUSH_BYTES / 16, (uint32_t *)(flush + FLUSH_BYTES / 16));
        // The host queues everything meanwhile, so that its own time is not measured.
        delay_kernel<<<1, 1>>>(200000);
        CHECK(cudaEventRecord(a));
        run();
        CHECK(cudaEventRecord(b));
        CHECK(cudaGetLastError());
        CHECK(cudaEventSynchronize(b));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, a, b));
        return ms * 1e-3;
    };
    once(false);
    double estimate = once(false);
    int runs = estimate > 1.0 ? 1 : estimate > 0.2 ? 3 : estimate > 0.02 ? 10 : 21;
    Times t{0, 0, runs};
    for (bool cold : {true, false}) {
        std::vector<double> seconds;
        for (int k = 0; k < runs; k++) seconds.push_back(once(cold));
        (cold ? t.cold : t.warm) = median(seconds);
    }
    cudaEventDestroy(a);
    cudaEventDestroy(b);
    return t;
}

// ---- Checks.

inline double near(double got, double wanted, double tolerance, double scale = 0) {
    double error = std::fabs(got - wanted) / std::max(std::max(std::fabs(wanted), scale), 1e-300);
    if (!(error <= tolerance) && got != wanted) {
        std::ostringstream text;
        text.precision(17);
        text << "wrong result: " << got << " in the place of " << wanted;
        throw std::runtime_error(text.str());
    }
    return got == wanted ? 0.0 : error;
}
template <class T>
double epsilon() {
    return std::numeric_limits<T>::epsilon();
}
template <class T>
std::string named(const char *name) {
    return std::string(name) + (sizeof(T) == 4 ? "-f32" : "-f64");
}

// ---- Reports.

inline std::string quoted(const std::string &s) {
    std::string out = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\') out += '\\';
        out += (unsigned char)c < 32 ? ' ' : c;
    }
    return out + "\"";
}

inline std::set<std::string> lines_of(const char *variable) {
    std::set<std::string> lines;
    const char *text = getenv(variable);
    std::istringstream in(text ? text : "");
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) lines.insert(line);
    return lines;
}

// Whether a benchmark is asked for: PEERS_ONLY holds texts, one of which must be in the name.
inline bool wanted(const std::string &name) {
    static const std::set<std::string> only = lines_of("PEERS_ONLY");
    return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string &t) { return name.find(t) != std::string::npos; });
}

struct Result {
    Times times;
    double error;  // the largest relative error seen
    double bytes = 0;  // if they are the point
};

// One peer. An error is reported, and the process goes on if the device can still be used; if not, the driver starts another one
// that leaves out (PEERS_SKIP) what has been tried.
inline void peer(const std::string &name, const std::string &label, const std::function<Result()> &body) {
    static const std::set<std::string> skip = lines_of("PEERS_SKIP");
    if (!wanted(name) || skip.count(name + "|" + label)) return;
    std::string head = "\"name\":" + quoted(name) + ",\"peer\":" + quoted(label);
    printf("{\"begin\":true,%s}\n", head.c_str());
    fflush(stdout);
    try {
        Result r = body();
        CHECK(cudaDeviceSynchronize());
        printf("{%s,\"seconds\":%.9g,\"warm_seconds\":%.9g,\"runs\":%d,\"error\":%.3g,\"bytes\":%.17g}\n", head.c_str(), r.times.cold,
               r.times.warm, r.times.runs, r.error, r.bytes);
    } catch (const std::exception &e) {
        printf("{%s,\"failed\":%s}\n", head.c_str(), quoted(e.what()).c_str());
        fflush(stdout);
        cudaGetLastError();
        if (cudaDeviceSynchronize() != cudaSuccess) _Exit(3);
    }
    fflush(stdout);
}

// Data for several peers: if it cannot be made, all of them fail.
inline void group(const std::vector<std::string> &names, const std::function<void()> &body) {
    std::string name;
    for (const std::string &n : names)
        if (wanted(n)) name += (name.empty() ? "" : ", ") + n;
    if (name.empty()) return;
    try {
        body();
    } catch (const std::exception &e) {
        printf("{\"name\":%s,\"peer\":\"data\",\"failed\":%s}\n", quoted(name).c_str(), quoted(e.what()).c_str());
        fflush(stdout);
        cudaGetLastError();
        if (cudaDeviceSynchronize() != cudaSuccess) _Exit(3);
    }
}

inline int multiprocessors() {
    static int n = 0;
    if (!n) {
        int device = 0;
        CHECK(cudaGetDevice(&device));
        CHECK(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device));
    }
    return n;
}

// 16 bytes of elements, loaded and stored at once.
template <class T>
struct alignas(16) Pack {
    static const int N = 16 / sizeof(T);
    T v[N];
};

// Temporary storage of CUB: `call(temp, bytes)` twice, the first time for the size.
template <class F>
struct WithTemp {
    F call;
    Array<char> temp;
    size_t bytes = 0;
    explicit WithTemp(F f) : call(f) {
        CHECK(call((void *)nullptr, bytes));
        temp = Array<char>(bytes + 16);
    }
    void operator()() {
        size_t size = bytes;
        CHECK(call((void *)temp.p, size));
    }
};
// `f(temp, bytes)` returns the error code of a CUB function.
template <class F, class After>
Result cub_timed(F f, After check) {
    WithTemp<F> run(f);
    Times t = timed([&] { run(); });
    return Result{t, check()};
}
