// Sums and maxima of rows: CUB by offsets, CUB by keys, and a hand-written kernel.
#include "segments.cuh"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>

template <class T, bool MAX>
struct Add {
    __host__ __device__ T operator()(T a, T b) const { return MAX ? (a > b ? a : b) : a + b; }
    static T none() { return MAX ? -std::numeric_limits<T>::infinity() : (T)0; }
};

// The maximum of floats that are not negative, or -inf: their bits are ordered like integers.
__device__ inline void atomic_max(float *p, float x) { atomicMax((int *)p, __float_as_int(x)); }
__device__ inline void atomic_max(double *p, double x) { atomicMax((long long *)p, __double_as_longlong(x)); }
template <bool MAX, class T>
__device__ void atomic_add(T *p, T x) {
    if (MAX) atomic_max(p, x);
    else atomicAdd(p, x);
}

// Blocks have the same number of rows and elements together ("merge path"), and so have threads; results are collected in shared memory.
// `out` is filled with the neutral element before.
const int THREADS = 128, ITEMS = 16, TILE = THREADS * ITEMS;

// How many ends of rows are among the first `d` items of the merged list.
template <class Ends, class I>
__device__ I merge_search(Ends ends, I rows, I n, I d, I base) {
    I lo = d > n ? d - n : 0, hi = d < rows ? d : rows;
    while (lo < hi) {
        I mid = (lo + hi) / 2;
        if (ends[mid] - base <= d - 1 - mid) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

template <class T, bool MAX>
__global__ void __launch_bounds__(THREADS) merge_reduce(const T *x, const int64_t *off, int64_t rows, int64_t n, T *out) {
    __shared__ T values[TILE], sums[TILE + 1];
    __shared__ int ends[TILE + 1];
    __shared__ int64_t bounds[2];
    const T none = MAX ? (T)-INFINITY : (T)0;
    Add<T, MAX> add;
    if (threadIdx.x < 2) {
        int64_t d = min((int64_t)(blockIdx.x + threadIdx.x) * TILE, rows + n);
        bounds[threadIdx.x] = merge_search(off + 1, rows, n, d, (int64_t)0);
    }
    __syncthreads();
    int64_t from = (int64_t)blockIdx.x * TILE, to = min(from + TILE, rows + n);
    int64_t row0 = bounds[0], row1 = bounds[1], at0 = from - row0, at1 = to - row1;
    int tile_rows = (int)(row1 - row0), tile_n = (int)(at1 - at0);
    for (int k = threadIdx.x; k < tile_n; k += THREADS) values[k] = x[at0 + k];
    for (int k = threadIdx.x; k < tile_rows; k += THREADS) ends[k] = (int)(off[row0 + k + 1] - at0);
    for (int k = threadIdx.x; k <= tile_rows; k += THREADS) sums[k] = none;
    __syncthreads();
    int d = min((int)threadIdx.x * ITEMS, tile_rows + tile_n), end = min(d + ITEMS, tile_rows + tile_n);
    int row = merge_search((const int *)ends, tile_rows, tile_n, d, 0), at = d - row;
    T s = none;
    for (; d < end; d++) {
        if (row < tile_rows && ends[row] <= at) {
            if (s != none) atomic_add<MAX>(&sums[row], s);
            s = none;
            row++;
        } else {
            s = add(s, values[at++]);
        }
    }
    // What is left of the threads of a warp goes to the same row, if it is long.
    int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        T other = __shfl_down_sync(~0u, s, step);
        int other_row = __shfl_down_sync(~0u, row, step);
        if (lane + step < 32 && other_row == row) s = add(s, other);
    }
    int before = __shfl_up_sync(~0u, row, 1);
    if ((lane == 0 || before != row) && s != none) atomic_add<MAX>(&sums[row], s);
    __syncthreads();
    // The first row may have begun, and the last one may end, in another block.
    for (int k = threadIdx.x; k <= tile_rows; k += THREADS) {
        if (row0 + k >= rows) break;
        if (k > 0 && k < tile_rows) out[row0 + k] = sums[k];
        else if (sums[k] != none) atomic_add<MAX>(&out[row0 + k], sums[k]);
    }
}

template <class T>
__global__ void fill_out(T *out, size_t n, T x) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x;
}
template <class T>
__global__ void spread(const int *keys, const T *sums, const int *count, T *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < *count) out[keys[i]] = sums[i];
}

template <class T, bool MAX>
void rows(const std::string &name, const Segments &s, const Array<T> &x) {
    typedef Add<T, MAX> Op;
    Array<T> out(s.rows);
    unsigned row_blocks = (unsigned)((s.rows + 255) / 256);
    auto fill = [&](T with) { fill_out<<<row_blocks, 256>>>(out.p, s.rows, with); };
    auto check = [&] {
        std::vector<T> got = out.host();
        double worst = 0;
        for (size_t row : some_rows(s)) worst = std::max(worst, near(got[row], row_value<T>(s, row, MAX), MAX ? 0 : std::max(400.0 * epsilon<T>(), 1e-11)));
        return worst;
    };
    peer(name, "hand-written, merge path", [&] {
        fill((T)-1);
        unsigned grid = (unsigned)((s.rows + s.n + TILE - 1) / TILE);
        Times t = timed([&] {
            fill(Op::none());
            merge_reduce<T, MAX><<<grid, THREADS>>>(x.p, s.off.p, s.rows, s.n, out.p);
        });
        return Result{t, check()};
    });
    peer(name, "cub::DeviceSegmentedReduce", [&] {
        fill((T)-1);
        auto call = [&](void *temp, size_t &bytes) {
            return cub::DeviceSegmentedReduce::Reduce(temp, bytes, x.p, out.p, (int)s.rows, s.off.p, s.off.p + 1, Op{}, Op::none());
        };
        return cub_timed(call, check);
    });
    peer(name, "cub::DeviceReduce::ReduceByKey, the row of each element made before", [&] {
        fill((T)-1);
        Array<int> keys = row_numbers(s), unique(s.rows), count(1);
        Array<T> sums(s.rows);
        auto call = [&](void *temp, size_t &bytes) {
            return cub::DeviceReduce::ReduceByKey(temp, bytes, keys.p, unique.p, x.p, sums.p, count.p, Op{}, (int)s.n);
        };
        WithTemp<decltype(call)> run(call);
        Times t = timed([&] {
            run();
            fill(Op::none());
            spread<<<row_blocks, 256>>>(unique.p, sums.p, count.p, out.p);
        });
        return Result{t, check()};
    });
}

template <class T>
void all() {
    std::string type = sizeof(T) == 4 ? "-f32" : "-f64";
    group({"ragged-sum" + type, "ragged-max" + type}, [&] {
        Segments s = zipf();
        Array<T> x = floats<T>(s.n, 60, 0, 1);
        rows<T, false>("ragged-sum" + type, s, x);
        rows<T, true>("ragged-max" + type, s, x);
    });
    group({"short-rows-sum" + type, "short-rows-max" + type}, [&] {
        Segments s = short_rows();
        Array<T> x = floats<T>(s.n, 60, 0, 1);
        rows<T, false>("short-rows-sum" + type, s, x);
        rows<T, true>("short-rows-max" + type, s, x);
    });
    group({"one-row-sum" + type}, [&] {
        Segments s = one_row();
        Array<T> x = floats<T>(s.n, 60, 0, 1);
        rows<T, false>("one-row-sum" + type, s, x);
    });
}

int main() {
    all<float>();
    all<double>();
}
