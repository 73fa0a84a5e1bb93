// The ragged arrays of the benchmarks.
#pragma once
#include "common.cuh"

struct Segments {
    std::vector<int64_t> host;
    Array<int64_t> off;
    size_t rows, n;
    explicit Segments(std::vector<int64_t> h) : host(std::move(h)), off(host), rows(host.size() - 1), n(host.back()) {}
};

inline Segments zipf() { return Segments(zipf_offsets(10000000, 160000000)); }
inline Segments short_rows() { return Segments(short_row_offsets(10000000)); }
inline Segments one_row() { return Segments(one_row_offsets(1000000, 100000000)); }

// Some rows: the first, the last, the longest, and some between.
inline std::vector<size_t> some_rows(const Segments &s) {
    std::vector<size_t> rows{0, s.rows - 1};
    size_t longest = 0;
    for (size_t i = 0; i < s.rows; i++)
        if (s.host[i + 1] - s.host[i] > s.host[longest + 1] - s.host[longest]) longest = i;
    rows.push_back(longest);
    for (size_t i = 1; i < s.rows; i += s.rows / 999) rows.push_back(i);
    return rows;
}

// The sum (or maximum) of a row on the host.
template <class T>
double row_value(const Segments &s, size_t row, bool max) {
    double value = max ? -INFINITY : 0.0;
    for (int64_t k = s.host[row]; k < s.host[row + 1]; k++) {
        double x = float_at<T>(k, 60, 0, 1);
        value = max ? std::max(value, x) : value + x;
    }
    return value;
}

// The row of each element.
static __global__ void row_of(const int64_t *off, size_t rows, size_t n, int *row) {
    for (size_t k = blockIdx.x * (size_t)blockDim.x + threadIdx.x; k < n; k += (size_t)gridDim.x * blockDim.x) {
        size_t lo = 0, hi = rows;  // off[lo] <= k < off[hi]
        while (hi - lo > 1) {
            size_t mid = (lo + hi) / 2;
            (off[mid] <= (int64_t)k ? lo : hi) = mid;
        }
        row[k] = (int)lo;
    }
}
inline Array<int> row_numbers(const Segments &s) {
    Array<int> row(s.n);
    row_of<<<4096, 256>>>(s.off.p, s.rows, s.n, row.p);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return row;
}
