// Histograms: CUB, and hand-written with atomic additions.
#include "common.cuh"

#include <cub/device/device_histogram.cuh>

// Each group of `WARPS` warps has its own bins in shared memory.
template <int WARPS, class K>
__global__ void __launch_bounds__(512) in_shared(const Pack<K> *keys, size_t packs, uint32_t *counts, int bins) {
    extern __shared__ uint32_t shared[];
    const int COPIES = 16 / WARPS;
    for (int k = threadIdx.x; k < bins * COPIES; k += 512) shared[k] = 0;
    __syncthreads();
    uint32_t *own = shared + threadIdx.x / (32 * WARPS) * bins;
    for (size_t i = blockIdx.x * (size_t)512 + threadIdx.x; i < packs; i += (size_t)gridDim.x * 512) {
        Pack<K> p = keys[i];
#pragma unroll
        for (int k = 0; k < Pack<K>::N; k++) atomicAdd(&own[p.v[k]], 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < bins; k += 512) {
        uint32_t sum = 0;
        for (int c = 0; c < COPIES; c++) sum += shared[c * bins + k];
        if (sum) atomicAdd(&counts[k], sum);
    }
}

template <class K>
__global__ void __launch_bounds__(256) in_memory(const Pack<K> *keys, size_t packs, uint32_t *counts) {
    size_t i = blockIdx.x * (size_t)256 + threadIdx.x;
    if (i >= packs) return;
    Pack<K> p = keys[i];
#pragma unroll
    for (int k = 0; k < Pack<K>::N; k++) atomicAdd(&counts[p.v[k]], 1u);
}

template <class K, class Key>
void histogram(const std::string &name, int bins, Key key) {
    group({name}, [&] {
        size_t n = 100000000, packs = n / Pack<K>::N;
        Array<K> keys = filled<K>(n, key);
        Array<uint32_t> counts(bins);
        std::vector<uint32_t> wanted(bins);
        for (K k : keys.host()) wanted[k]++;
        auto check = [&] {
            std::vector<uint32_t> got = counts.host();
            for (int k = 0; k < bins; k++) near(got[k], wanted[k], 0);
            return 0.0;
        };
        peer(name, "cub::DeviceHistogram::HistogramEven", [&] {
            auto call = [&](void *temp, size_t &bytes) {
                return cub::DeviceHistogram::HistogramEven(temp, bytes, keys.p, counts.p, bins + 1, 0, bins, (int)n);
            };
            return cub_timed(call, check);
        });
        auto shared = [&](auto kernel, int copies) {
            for (int blocks : {2, 4}) {
                std::string label = "hand-written, " + std::to_string(copies) + " copies in shared memory, " + std::to_string(blocks) + " blocks of 512";
                peer(name, label, [&] {
                    int bytes = bins * copies * 4;
                    CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
                    Times t = timed([&] {
                        CHECK(cudaMemsetAsync(counts.p, 0, 4 * (size_t)bins));
                        kernel<<<blocks * multiprocessors(), 512, bytes>>>((const Pack<K> *)keys.p, packs, counts.p, bins);
                    });
                    return Result{t, check()};
                });
            }
        };
        if (bins <= 1000) {
            shared(in_shared<1, K>, 16);
            shared(in_shared<4, K>, 4);
            shared(in_shared<16, K>, 1);
        } else {
            peer(name, "hand-written, atomic additions in memory", [&] {
                Times t = timed([&] {
                    CHECK(cudaMemsetAsync(counts.p, 0, 4 * (size_t)bins));
                    in_memory<K><<<(unsigned)((packs + 255) / 256), 256>>>((const Pack<K> *)keys.p, packs, counts.p);
                });
                return Result{t, check()};
            });
        }
    });
}

int main() {
    histogram<uint8_t>("histogram-256", 256, ByteAt{52});
    histogram<uint32_t>("histogram-1k", 1000, KeyAt{50, 1000});
    histogram<uint32_t>("histogram-1m", 1000000, KeyAt{51, 1000000});
}
