// Running sums of rows. CUB has no segmented scan by offsets, so by keys. Also writes the offsets for the peers in Python.
#include "segments.cuh"

#include <cub/device/device_scan.cuh>

#include <fstream>

template <class T>
void rows(const std::string &name, const Segments &s) {
    group({name}, [&] {
        Array<T> x = floats<T>(s.n, 60, 0, 1), out(s.n);
        Array<int> keys = row_numbers(s);
        peer(name, "cub::DeviceScan::InclusiveSumByKey, the row of each element made before", [&] {
            auto call = [&](void *temp, size_t &bytes) {
                return cub::DeviceScan::InclusiveSumByKey(temp, bytes, keys.p, x.p, out.p, (int)s.n);
            };
            return cub_timed(call, [&] {
                std::vector<T> got = out.host();
                double worst = 0;
                for (size_t row : some_rows(s)) {
                    int64_t from = s.host[row], to = s.host[row + 1];
                    if (from == to) continue;
                    worst = std::max(worst, near(got[from], float_at<T>(from, 60, 0, 1), 0));
                    worst = std::max(worst, near(got[to - 1], row_value<T>(s, row, false), 2000 * epsilon<T>()));
                }
                return worst;
            });
        });
    });
}

int main() {
    group({"ragged-scan-f32", "ragged-scan-f64"}, [] {
        Segments s = zipf();
        rows<float>("ragged-scan-f32", s);
        rows<double>("ragged-scan-f64", s);
    });
    group({"one-row-scan-f32", "one-row-scan-f64"}, [] {
        Segments s = one_row();
        rows<float>("one-row-scan-f32", s);
        rows<double>("one-row-scan-f64", s);
    });
    if (const char *path = getenv("PEERS_OFFSETS")) {
        std::vector<int64_t> off = zipf_offsets(10000000, 160000000);
        std::ofstream(path, std::ios::binary).write((const char *)off.data(), 8 * off.size());
    }
}
