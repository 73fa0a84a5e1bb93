// CUB's reductions of whole vectors.
#include "common.cuh"

#include <cub/device/device_reduce.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

template <class T>
struct Product {
    const T *x, *y;
    __host__ __device__ T operator()(size_t i) const { return x[i] * y[i]; }
};
template <class T>
struct Norm {
    const T *x, *y;
    __host__ __device__ T operator()(size_t i) const { return (T)sqrt(x[i] * x[i] + y[i] * y[i]); }
};
template <class F>
struct Widened {
    F f;
    __device__ double operator()(size_t i) const { return (double)f(i); }
};

template <class T, class In, class F>
void sums(const char *name, In in, size_t n, F f) {
    peer(named<T>(name), "cub::DeviceReduce::Sum", [&] {
        Array<T> out(1);
        auto call = [&](void *temp, size_t &bytes) { return cub::DeviceReduce::Sum(temp, bytes, in, out.p, (int)n); };
        return cub_timed(call, [&] { return near(out.at(0), exact_sum(n, f), 100 * epsilon<T>()); });
    });
}

template <class T>
void vectors(size_t n) {
    Array<T> x = floats<T>(n, 1, 0, 1), y = floats<T>(n, 2, 0, 1);
    thrust::counting_iterator<size_t> from(0);
    sums<T>("sum", (const T *)x.p, n, Elements<T>{x.p});
    Product<T> product{x.p, y.p};
    sums<T>("dot", thrust::make_transform_iterator(from, product), n, Widened<Product<T>>{product});
    Norm<T> norm{x.p, y.p};
    sums<T>("mapsum", thrust::make_transform_iterator(from, norm), n, Widened<Norm<T>>{norm});
}

int main() {
    group({"sum-f32", "dot-f32", "mapsum-f32"}, [] { vectors<float>((size_t)1 << 27); });
    group({"sum-f64", "dot-f64", "mapsum-f64"}, [] { vectors<double>((size_t)1 << 26); });
}
