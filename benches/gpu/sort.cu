// CUB's radix sort of 2^28 u32.
#include "common.cuh"

#include <cub/device/device_radix_sort.cuh>

struct Word {
    __host__ __device__ uint32_t operator()(size_t i) const { return (uint32_t)(mix(71 * 1000003ull + i) >> 32); }
};
struct Descents {
    const uint32_t *p;
    __device__ double operator()(size_t i) const { return p[i] > p[i + 1] ? 1.0 : 0.0; }
};

double check(const Array<uint32_t> &x, const uint32_t *sorted) {
    near(exact_sum(x.n - 1, Descents{sorted}), 0, 0);
    return near(exact_sum(x.n, Elements<uint32_t>{sorted}), exact_sum(x.n, Elements<uint32_t>{x.p}), 1e-12);
}

int main() {
    size_t n = (size_t)1 << 28;
    group({"sort-u32"}, [&] {
        Array<uint32_t> x = filled<uint32_t>(n, Word{}), out(n), other(n);
        peer("sort-u32", "cub::DeviceRadixSort::SortKeys", [&] {
            auto call = [&](void *temp, size_t &bytes) { return cub::DeviceRadixSort::SortKeys(temp, bytes, x.p, out.p, (int)n); };
            return cub_timed(call, [&] { return check(x, out.p); });
        });
        peer("sort-u32", "cub::DeviceRadixSort::SortKeys, double buffer", [&] {
            cub::DoubleBuffer<uint32_t> buffers(out.p, other.p);
            size_t bytes = 0;
            CHECK(cub::DeviceRadixSort::SortKeys(nullptr, bytes, buffers, (int)n));
            Array<char> temp(bytes);
            auto before = [&] { CHECK(cudaMemcpyAsync(buffers.Current(), x.p, 4 * n, cudaMemcpyDeviceToDevice)); };
            Times t = timed([&] { CHECK(cub::DeviceRadixSort::SortKeys(temp.p, bytes, buffers, (int)n)); }, before);
            return Result{t, check(x, buffers.Current())};
        });
    });
}
