// cuSPARSE: sparse matrices in compressed rows times vectors, and PageRank by such products.
#include "common.cuh"

#include <cusparse.h>

#define SPARSE(call)                                                                                            \
    do {                                                                                                        \
        cusparseStatus_t code_ = (call);                                                                        \
        if (code_ != CUSPARSE_STATUS_SUCCESS) throw std::runtime_error(std::string(#call) + ": " + cusparseGetErrorString(code_)); \
    } while (0)

// ---- The matrices of `sparse` in benches/src/data.rs.

enum Shape { UNIFORM, BANDED, POWERLAW, EMPTY };

static __global__ void columns(int shape, const int64_t *off, size_t rows, int64_t width, int *cols) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= rows) return;
    int *row = cols + off[i];
    int64_t n = off[i + 1] - off[i];
    if (shape == BANDED) {
        for (int64_t k = 0; k < n; k++) {
            int64_t a = k / 9 - 1, b = k / 3 % 3 - 1, e = k % 3 - 1;
            row[k] = (int)((((int64_t)i + a * 10000 + b * 100 + e) % width + width) % width);
        }
    } else if (n <= 64) {
        for (int64_t k = 0; k < n; k++) row[k] = (int)(((mix(((uint64_t)i << 24) + k) >> 32) * (uint64_t)width) >> 32);
    } else {
        for (int64_t k = 0; k < n; k++) {
            double at = __dadd_rn((double)k, unit(mix(((uint64_t)i << 24) + k)));
            row[k] = (int)(__dmul_rn(at, (double)width) / (double)n);
        }
    }
    if (n <= 64)
        for (int64_t a = 1; a < n; a++) {
            int x = row[a];
            int64_t b = a;
            for (; b > 0 && row[b - 1] > x; b--) row[b] = row[b - 1];
            row[b] = x;
        }
}

template <class T>
struct Values {
    __host__ __device__ T operator()(size_t k) const { return (T)(2.0 * unit(mix(1234567 + k)) - 1.0); }
};
template <class T>
struct Ones {
    __host__ __device__ T operator()(size_t) const { return (T)1; }
};

struct Sparse {
    std::vector<int64_t> host;
    Array<int64_t> off;
    Array<int> off32, cols;
    std::vector<int> host_cols;
    size_t rows, width, n;
    void narrow() { off32 = Array<int>(std::vector<int>(host.begin(), host.end())); }
    // Without entries.
    explicit Sparse(size_t side) : host(side + 1), rows(side), width(side), n(0) {}
    explicit Sparse(Shape shape) {
        rows = shape == UNIFORM ? 2000000 : shape == EMPTY ? 8000000 : 1000000;
        width = shape == EMPTY ? 2000000 : rows;
        std::vector<int32_t> lengths(rows);
        for (size_t i = 0; i < rows; i++)
            lengths[i] = shape == UNIFORM    ? 16
                         : shape == BANDED   ? 27
                         : shape == POWERLAW ? (int)(200000.0 * std::pow((double)(i + 1), -0.8))
                                             : 32 * ((mix(77 + i) & 15) == 0);
        if (shape == POWERLAW) shuffle(lengths, 42);
        host = offsets_of(lengths);
        n = host[rows];
        off = Array<int64_t>(host);
        narrow();
        cols = Array<int>(n);
        columns<<<(unsigned)((rows + 127) / 128), 128>>>(shape, off.p, rows, width, cols.p);
        CHECK(cudaGetLastError());
        host_cols = cols.host();
    }
};

template <class T>
cudaDataType type_of() {
    return sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;
}

// y = alpha A x + beta y with everything that cuSPARSE needs.
template <class T>
struct Product {
    cusparseHandle_t handle = nullptr;
    cusparseSpMatDescr_t a = nullptr;
    cusparseDnVecDescr_t x = nullptr, y = nullptr;
    cusparseSpMVAlg_t alg;
    T alpha, beta;
    Array<char> buffer;

    Product(const Sparse &s, T *vals, T *from, T *to, bool wide, cusparseSpMVAlg_t alg, bool prepared, T alpha = 1, T beta = 0)
        : alg(alg), alpha(alpha), beta(beta) {
        SPARSE(cusparseCreate(&handle));
        void *off = wide ? (void *)s.off.p : (void *)s.off32.p;
        cusparseIndexType_t off_type = wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
        SPARSE(cusparseCreateCsr(&a, s.rows, s.width, s.n, off, s.cols.p, vals, off_type, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type_of<T>()));
        SPARSE(cusparseCreateDnVec(&x, s.width, from, type_of<T>()));
        SPARSE(cusparseCreateDnVec(&y, s.rows, to, type_of<T>()));
        size_t bytes = 0;
        SPARSE(cusparseSpMV_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &this->alpha, a, x, &this->beta, y, type_of<T>(), alg, &bytes));
        buffer = Array<char>(bytes + 16);
        if (prepared)
            SPARSE(cusparseSpMV_preprocess(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &this->alpha, a, x, &this->beta, y, type_of<T>(), alg, buffer.p));
    }
    void operator()() { SPARSE(cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, a, x, &beta, y, type_of<T>(), alg, buffer.p)); }
    ~Product() {
        if (x) cusparseDestroyDnVec(x);
        if (y) cusparseDestroyDnVec(y);
        if (a) cusparseDestroySpMat(a);
        if (handle) cusparseDestroy(handle);
    }
};

template <class T>
void products(const std::string &name, const Sparse &s) {
    group({name, name + "+prepared"}, [&] {
        Array<T> vals = filled<T>(s.n, Values<T>{}), x = floats<T>(s.width, 3, -1, 1), y(s.rows);
        for (bool prepared : {false, true})
            for (int alg : {1, 2})
                for (bool wide : {false, true}) {
                    std::string label = "cusparseSpMV, CSR_ALG" + std::to_string(alg) + (wide ? ", offsets of 64 bits" : "");
                    peer(name + (prepared ? "+prepared" : ""), label + (prepared ? ", preprocess before" : ""), [&] {
                        Product<T> run(s, vals.p, x.p, y.p, wide, alg == 1 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2, prepared);
                        CHECK(cudaMemset(y.p, 0xff, sizeof(T) * s.rows));
                        Times t = timed([&] { run(); });
                        std::vector<T> got = y.host();
                        double worst = 0;
                        for (size_t i = 0; i < s.rows; i += 997) {
                            double sum = 0, scale = 0;
                            for (int64_t k = s.host[i]; k < s.host[i + 1]; k++) {
                                double p = (double)Values<T>{}(k) * float_at<T>(s.host_cols[k], 3, -1, 1);
                                sum += p;
                                scale += std::fabs(p);
                            }
                            worst = std::max(worst, near(got[i], sum, 50 * epsilon<T>(), scale));
                        }
                        return Result{t, worst};
                    });
                }
    });
}

void shape(const char *name, Shape shape) {
    std::string f64 = std::string("spmv-") + name + "-f64", f32 = std::string("spmv-") + name + "-f32";
    group({f64, f32, f64 + "+prepared", f32 + "+prepared"}, [&] {
        Sparse s(shape);
        products<double>(f64, s);
        products<float>(f32, s);
    });
}

// ---- PageRank on the graph of benches/src/graph.rs.

static __global__ void edges_kernel(const int *names, int scale, size_t m, uint64_t *edges) {
    size_t e = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (e >= m) return;
    uint64_t a = 0, b = 0;
    for (int k = 0; k < scale; k++) {
        double u = unit(mix(e * 32 + k));
        a = 2 * a + (u >= 0.76);
        b = 2 * b + ((u >= 0.57 && u < 0.76) || u >= 0.95);
    }
    edges[e] = (uint64_t)names[a] << 32 | (uint64_t)names[b];
}

struct Graph {
    Sparse into;  // the sources of the edges into each vertex
    std::vector<int> degree;
    static std::vector<uint64_t> edges(int scale) {
        size_t n = (size_t)1 << scale, m = n << 4;
        std::vector<int> names(n);
        for (size_t i = 0; i < n; i++) names[i] = (int)i;
        shuffle(names, 7);
        Array<int> device_names(names);
        Array<uint64_t> edges(m);
        edges_kernel<<<(unsigned)(m / 256), 256>>>(device_names.p, scale, m, edges.p);
        CHECK(cudaGetLastError());
        std::vector<uint64_t> all = edges.host();
        // By the target's number, so that the rows of sources come out in order.
        for (uint64_t &e : all) e = e << 32 | e >> 32;
        // Sorted in parts by threads.
        size_t parts = 16;
        std::vector<std::thread> threads;
        for (size_t p = 0; p < parts; p++) threads.emplace_back([&, p] { std::sort(all.begin() + m / parts * p, all.begin() + m / parts * (p + 1)); });
        for (std::thread &t : threads) t.join();
        for (size_t size = m / parts; size < m; size *= 2) {
            std::vector<std::thread> mergers;
            for (size_t at = 0; at < m; at += 2 * size)
                mergers.emplace_back([&, at] { std::inplace_merge(all.begin() + at, all.begin() + at + size, all.begin() + at + 2 * size); });
            for (std::thread &t : mergers) t.join();
        }
        all.erase(std::unique(all.begin(), all.end()), all.end());
        all.erase(std::remove_if(all.begin(), all.end(), [](uint64_t e) { return e >> 32 == (e & 0xffffffff); }), all.end());
        return all;
    }
    explicit Graph(const std::vector<uint64_t> &edges, size_t n) : into(n), degree(n) {
        for (uint64_t e : edges) {
            into.host[(e >> 32) + 1]++;
            degree[e & 0xffffffff]++;
            into.host_cols.push_back((int)(e & 0xffffffff));
        }
        for (size_t i = 0; i < n; i++) into.host[i + 1] += into.host[i];
        into.n = edges.size();
        into.off = Array<int64_t>(into.host);
        into.narrow();
        into.cols = Array<int>(into.host_cols);
    }
};

template <class T>
__global__ void first_ranks(T *rank, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) rank[i] = (T)1 / (T)n;
}
template <class T>
__global__ void shares(const T *rank, const int *degree, T *share, T *stuck, size_t n) {
    T s = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        T r = rank[i];
        int d = degree[i];
        share[i] = d > 0 ? r / (T)d : (T)0;
        if (d == 0) s += r;
    }
    for (int k = 16; k; k /= 2) s += __shfl_down_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) atomicAdd(stuck, s);
}
template <class T>
__global__ void bases(T *rank, const T *stuck, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) rank[i] = ((T)0.15 + (T)0.85 * *stuck) / (T)n;
}

template <class T>
void pagerank(const Graph &g, const std::vector<double> &reference) {
    size_t n = g.into.rows;
    Array<T> ones = filled<T>(g.into.n, Ones<T>{}), rank(n), share(n), stuck(10);
    Array<int> degree(g.degree);
    unsigned grid = (unsigned)((n + 255) / 256);
    for (int alg : {1, 2}) {
        peer(named<T>("pagerank"), "cusparseSpMV, CSR_ALG" + std::to_string(alg) + ", and hand-written maps", [&] {
            Product<T> run(g.into, ones.p, share.p, rank.p, false, alg == 1 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2, false, (T)0.85, (T)1);
            Times t = timed([&] {
                CHECK(cudaMemsetAsync(stuck.p, 0, 10 * sizeof(T)));
                first_ranks<<<grid, 256>>>(rank.p, n);
                for (int k = 0; k < 10; k++) {
                    shares<<<8 * multiprocessors(), 256>>>(rank.p, degree.p, share.p, stuck.p + k, n);
                    bases<<<grid, 256>>>(rank.p, stuck.p + k, n);
                    run();
                }
            });
            std::vector<T> got = rank.host();
            double worst = 0;
            for (size_t i = 0; i < n; i += 97) worst = std::max(worst, near(got[i], reference[i], std::max(1000.0 * epsilon<T>(), 1e-9)));
            return Result{t, worst};
        });
    }
}

std::vector<double> ranks(const Graph &g) {
    size_t n = g.into.rows;
    std::vector<double> rank(n, 1.0 / n), share(n);
    for (int k = 0; k < 10; k++) {
        double stuck = 0;
        for (size_t i = 0; i < n; i++) {
            share[i] = g.degree[i] ? rank[i] / g.degree[i] : 0;
            if (!g.degree[i]) stuck += rank[i];
        }
        for (size_t i = 0; i < n; i++) {
            double s = 0;
            for (int64_t e = g.into.host[i]; e < g.into.host[i + 1]; e++) s += share[g.into.host_cols[e]];
            rank[i] = (0.15 + 0.85 * stuck) / n + 0.85 * s;
        }
    }
    return rank;
}

int main() {
    shape("uniform", UNIFORM);
    shape("banded", BANDED);
    shape("powerlaw", POWERLAW);
    shape("empty", EMPTY);
    group({"pagerank-f64", "pagerank-f32"}, [] {
        Graph g(Graph::edges(20), (size_t)1 << 20);
        std::vector<double> reference = ranks(g);
        pagerank<double>(g, reference);
        pagerank<float>(g, reference);
    });
}
