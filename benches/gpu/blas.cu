// cuBLAS: products of matrices, dot products, vectors scaled and added. Without TF32 and without emulation.
#include "common.cuh"

#include <cublas_v2.h>

#define BLAS(call)                                                                                           \
    do {                                                                                                     \
        cublasStatus_t code_ = (call);                                                                       \
        if (code_ != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(std::string(#call) + ": error " + std::to_string((int)code_)); \
    } while (0)

cublasStatus_t gemm(cublasHandle_t h, int n, const float *one, const float *a, const float *b, const float *zero, float *c) {
    return cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, one, a, n, b, n, zero, c, n);
}
cublasStatus_t gemm(cublasHandle_t h, int n, const double *one, const double *a, const double *b, const double *zero, double *c) {
    return cublasDgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, one, a, n, b, n, zero, c, n);
}
cublasStatus_t dot(cublasHandle_t h, int n, const float *x, const float *y, float *out) { return cublasSdot(h, n, x, 1, y, 1, out); }
cublasStatus_t dot(cublasHandle_t h, int n, const double *x, const double *y, double *out) { return cublasDdot(h, n, x, 1, y, 1, out); }
cublasStatus_t axpy(cublasHandle_t h, int n, const float *a, const float *x, float *y) { return cublasSaxpy(h, n, a, x, 1, y, 1); }
cublasStatus_t axpy(cublasHandle_t h, int n, const double *a, const double *x, double *y) { return cublasDaxpy(h, n, a, x, 1, y, 1); }

template <class T>
struct Products {
    const T *x, *y;
    __device__ double operator()(size_t i) const { return (double)x[i] * (double)y[i]; }
};

template <class T>
void all(cublasHandle_t h, int vector) {
    int n = 2048;
    for (bool pedantic : {false, true})
    peer(named<T>("matmul"), std::string(sizeof(T) == 4 ? "cublasSgemm" : "cublasDgemm") + (pedantic ? ", pedantic" : ""), [&] {
        Array<T> a = floats<T>(n * n, 40, -1, 1), b = floats<T>(n * n, 41, -1, 1), c(n * n);
        CHECK(cudaMemset(c.p, 0xff, sizeof(T) * n * n));
        BLAS(cublasSetMathMode(h, pedantic ? CUBLAS_PEDANTIC_MATH : CUBLAS_DEFAULT_MATH));
        BLAS(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
        T one = 1, zero = 0;
        // Matrices are by columns here, so the factors change places.
        Times t = timed([&] { BLAS(gemm(h, n, &one, b.p, a.p, &zero, c.p)); });
        double worst = 0;
        std::vector<T> got = c.host();
        for (int at = 0; at < n * n; at += 4099 * 7) {
            int i = at / n, j = at % n;
            double sum = 0, scale = 0;
            for (int k = 0; k < n; k++) {
                double p = (double)float_at<T>(i * n + k, 40, -1, 1) * float_at<T>(k * n + j, 41, -1, 1);
                sum += p;
                scale += std::fabs(p);
            }
            worst = std::max(worst, near(got[at], sum, 100 * epsilon<T>(), scale));
        }
        return Result{t, worst};
    });
    peer(named<T>("dot"), sizeof(T) == 4 ? "cublasSdot" : "cublasDdot", [&] {
        Array<T> x = floats<T>(vector, 1, 0, 1), y = floats<T>(vector, 2, 0, 1), out(1);
        BLAS(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
        Times t = timed([&] { BLAS(dot(h, vector, x.p, y.p, out.p)); });
        return Result{t, near(out.at(0), exact_sum(vector, Products<T>{x.p, y.p}), 100 * epsilon<T>())};
    });
    peer(named<T>("saxpy"), sizeof(T) == 4 ? "cublasSaxpy" : "cublasDaxpy", [&] {
        Array<T> x = floats<T>(vector, 1, 0, 1), y = floats<T>(vector, 2, 0, 1);
        BLAS(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_HOST));
        T a = (T)1e-3;
        auto run = [&] { BLAS(axpy(h, vector, &a, x.p, y.p)); };
        Times t = timed(run);
        y = floats<T>(vector, 2, 0, 1);
        run();
        double got = y.at(12345), wanted = (double)a * float_at<T>(12345, 1, 0, 1) + float_at<T>(12345, 2, 0, 1);
        return Result{t, near(got, wanted, 2 * epsilon<T>())};
    });
}

int main() {
    group({"matmul-f32", "matmul-f64", "dot-f32", "dot-f64", "saxpy-f32", "saxpy-f64"}, [] {
        cublasHandle_t h;
        BLAS(cublasCreate(&h));
        all<float>(h, 1 << 27);
        all<double>(h, 1 << 26);
        cublasDestroy(h);
    });
}
