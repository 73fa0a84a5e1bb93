// CUB's inclusive scan and filter of 2^28 elements.
#include "common.cuh"

#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

// The smaller half passes.
template <class T>
struct Passes {
    T below;
    __host__ __device__ bool operator()(T x) const { return x < below; }
};
template <class T>
struct Passing {
    const T *p;
    T below;
    bool counted;
    __device__ double operator()(size_t i) const { return p[i] < below ? counted ? 1.0 : (double)p[i] : 0.0; }
};
struct Small {
    __host__ __device__ long long operator()(size_t i) const { return key_at(i, 70, 1000); }
};

template <class T>
void both(const Array<T> &x, T below, const char *type) {
    size_t n = x.n;
    double tolerance = sizeof(T) == 4 ? 1e-4 : 0;
    Array<T> out(n);
    peer(std::string("scan-") + type, "cub::DeviceScan::InclusiveSum", [&] {
        auto call = [&](void *temp, size_t &bytes) { return cub::DeviceScan::InclusiveSum(temp, bytes, x.p, out.p, (int)n); };
        return cub_timed(call, [&] {
            double half = near(out.at(n / 2), exact_sum(n / 2 + 1, Elements<T>{x.p}), tolerance);
            return std::max(half, near(out.at(n - 1), exact_sum(n, Elements<T>{x.p}), tolerance));
        });
    });
    peer(std::string("filter-") + type, "cub::DeviceSelect::If", [&] {
        Array<int> count(1);
        Passes<T> passes{below};
        auto call = [&](void *temp, size_t &bytes) { return cub::DeviceSelect::If(temp, bytes, x.p, out.p, count.p, (int)n, passes); };
        return cub_timed(call, [&] {
            int m = count.at(0);
            near(m, exact_sum(n, Passing<T>{x.p, below, true}), 0);
            return near(exact_sum(m, Elements<T>{out.p}), exact_sum(n, Passing<T>{x.p, below, false}), 1e-9);
        });
    });
}

int main() {
    size_t n = (size_t)1 << 28;
    group({"scan-f32", "filter-f32"}, [&] { both<float>(floats<float>(n, 70, 0, 1), 0.5f, "f32"); });
    group({"scan-i64", "filter-i64"}, [&] { both<long long>(filled<long long>(n, Small{}), 500, "i64"); });
}
