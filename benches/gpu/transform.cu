// CUB's maps over whole vectors.
#include "common.cuh"

#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>

template <class T>
struct Axpy {
    T a;
    __host__ __device__ T operator()(T x, T y) const { return a * x + y; }
};
template <class T>
struct Norm {
    __host__ __device__ T operator()(T x, T y) const { return (T)sqrt(x * x + y * y); }
};

template <class T, class F>
void elements(const char *name, F f, size_t n, bool in_place) {
    peer(named<T>(name), "cub::DeviceTransform", [&] {
        Array<T> x = floats<T>(n, 1, 0, 1), y = floats<T>(n, 2, 0, 1), out(in_place ? 1 : n);
        T *to = in_place ? y.p : out.p;
        auto run = [&] { CHECK(cub::DeviceTransform::Transform(::cuda::std::make_tuple(x.p, y.p), to, (int)n, f)); };
        Times t = timed(run);
        if (in_place) {
            y = floats<T>(n, 2, 0, 1);
            to = y.p;
            run();
        }
        double worst = 0;
        for (size_t i = 0; i < n; i += n / 61 - 1) {
            T got, wanted = f(float_at<T>(i, 1, 0, 1), float_at<T>(i, 2, 0, 1));
            CHECK(cudaMemcpy(&got, to + i, sizeof(T), cudaMemcpyDeviceToHost));
            worst = std::max(worst, near(got, wanted, 4 * epsilon<T>()));
        }
        return Result{t, worst};
    });
}

int main() {
    elements<float>("saxpy", Axpy<float>{1e-3f}, (size_t)1 << 27, true);
    elements<float>("map", Norm<float>{}, (size_t)1 << 27, false);
    elements<double>("saxpy", Axpy<double>{1e-3}, (size_t)1 << 26, true);
    elements<double>("map", Norm<double>{}, (size_t)1 << 26, false);
}
