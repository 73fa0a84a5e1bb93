// Hand-written: MD5 of words, and a sieve.
#include "common.cuh"

// ---- MD5.

static const int WORDS = 14000000;

struct Digest {
    uint32_t a, b, c, d;
};

// Of a message of at most 15 bytes, filled up with zeros.
__host__ __device__ inline Digest md5(uint4 word, uint32_t length) {
    constexpr uint32_t SINES[64] = {
    0xd76aa478u, 0xe8c7b756u, 0x242070dbu, 0xc1bdceeeu, 0xf57c0fafu, 0x4787c62au, 0xa8304613u, 0xfd469501u,
    0x698098d8u, 0x8b44f7afu, 0xffff5bb1u, 0x895cd7beu, 0x6b901122u, 0xfd987193u, 0xa679438eu, 0x49b40821u,
    0xf61e2562u, 0xc040b340u, 0x265e5a51u, 0xe9b6c7aau, 0xd62f105du, 0x02441453u, 0xd8a1e681u, 0xe7d3fbc8u,
    0x21e1cde6u, 0xc33707d6u, 0xf4d50d87u, 0x455a14edu, 0xa9e3e905u, 0xfcefa3f8u, 0x676f02d9u, 0x8d2a4c8au,
    0xfffa3942u, 0x8771f681u, 0x6d9d6122u, 0xfde5380cu, 0xa4beea44u, 0x4bdecfa9u, 0xf6bb4b60u, 0xbebfbc70u,
    0x289b7ec6u, 0xeaa127fau, 0xd4ef3085u, 0x04881d05u, 0xd9d4d039u, 0xe6db99e5u, 0x1fa27cf8u, 0xc4ac5665u,
    0xf4292244u, 0x432aff97u, 0xab9423a7u, 0xfc93a039u, 0x655b59c3u, 0x8f0ccc92u, 0xffeff47du, 0x85845dd1u,
    0x6fa87e4fu, 0xfe2ce6e0u, 0xa3014314u, 0x4e0811a1u, 0xf7537e82u, 0xbd3af235u, 0x2ad7d2bbu, 0xeb86d391u,
    };
    constexpr int TURNS[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
    uint32_t m[16] = {word.x, word.y, word.z, word.w};
#pragma unroll
    for (uint32_t g = 0; g < 4; g++)
        if (length / 4 == g) m[g] |= 0x80u << (8 * (length % 4));
    m[14] = 8 * length;
    uint32_t a = 0x67452301u, b = 0xefcdab89u, c = 0x98badcfeu, d = 0x10325476u;
#pragma unroll
    for (int i = 0; i < 64; i++) {
        uint32_t f = i < 16 ? (b & c) | (~b & d) : i < 32 ? (d & b) | (~d & c) : i < 48 ? b ^ c ^ d : c ^ (b | ~d);
        int g = i < 16 ? i : i < 32 ? (5 * i + 1) % 16 : i < 48 ? (3 * i + 5) % 16 : 7 * i % 16;
        uint32_t x = a + f + SINES[i] + m[g];
        int turn = TURNS[i / 16 * 4 + i % 4];
        x = x << turn | x >> (32 - turn);
        a = d;
        d = c;
        c = b;
        b += x;
    }
    return Digest{a + 0x67452301u, b + 0xefcdab89u, c + 0x98badcfeu, d + 0x10325476u};
}

// Word `i` of `words(n)` in benches/src/data.rs.
__host__ __device__ inline uint4 word_at(uint64_t i, uint32_t *length) {
    uint64_t a = mix(5000000000ull + 2 * i), b = mix(5000000001ull + 2 * i);
    uint32_t w[4] = {};
    *length = 4 + (uint32_t)(a % 12);
    a /= 12;
    for (uint32_t k = 0; k < *length; k++) {
        uint64_t &r = k < 8 ? a : b;
        uint32_t letter = (uint32_t)(r % 36);
        r /= 36;
        w[k / 4] |= (letter < 26 ? 'a' + letter : '0' + letter - 26) << (8 * (k % 4));
    }
    return make_uint4(w[0], w[1], w[2], w[3]);
}
struct SlotAt {
    __host__ __device__ uint4 operator()(size_t i) const {
        uint32_t length;
        return word_at(i, &length);
    }
};
struct LengthAt {
    __host__ __device__ uint8_t operator()(size_t i) const {
        uint32_t length;
        word_at(i, &length);
        return (uint8_t)length;
    }
};
struct SameWord {
    uint4 word;
    uint32_t length;
    __device__ double operator()(size_t i) const {
        uint32_t n;
        uint4 w = word_at(i, &n);
        return n == length && w.x == word.x && w.y == word.y && w.z == word.z && w.w == word.w;
    }
};

__device__ void count(bool hit, unsigned long long *hits) {
    int all = __syncthreads_count(hit);
    if (threadIdx.x == 0 && all) atomicAdd(hits, (unsigned long long)all);
}
__device__ bool is(Digest a, Digest b) { return a.a == b.a && a.b == b.b && a.c == b.c && a.d == b.d; }

__global__ void __launch_bounds__(256) in_slots(const uint4 *slots, const uint8_t *lengths, int n, Digest wanted, unsigned long long *hits) {
    int i = blockIdx.x * 256 + threadIdx.x;
    count(i < n && is(md5(slots[min(i, n - 1)], lengths[min(i, n - 1)]), wanted), hits);
}
__global__ void __launch_bounds__(256) in_rows(const uint8_t *text, const int64_t *off, int n, Digest wanted, unsigned long long *hits) {
    int i = min(blockIdx.x * 256 + threadIdx.x, n - 1);
    int64_t from = off[i];
    uint32_t length = (uint32_t)(off[i + 1] - from), w[4] = {};
#pragma unroll
    for (uint32_t k = 0; k < 15; k++)
        if (k < length) w[k / 4] |= (uint32_t)text[from + k] << (8 * (k % 4));
    count(blockIdx.x * 256 + threadIdx.x < n && is(md5(make_uint4(w[0], w[1], w[2], w[3]), length), wanted), hits);
}
__global__ void texts(const int64_t *off, int n, uint8_t *text) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    uint32_t length;
    uint4 word = word_at(i, &length);
    uint32_t w[4] = {word.x, word.y, word.z, word.w};
    for (uint32_t k = 0; k < length; k++) text[off[i] + k] = (uint8_t)(w[k / 4] >> (8 * (k % 4)));
}

void words() {
    uint32_t length;
    uint4 word = word_at(WORDS / 3, &length);
    Digest wanted = md5(word, length);
    double expected = exact_sum(WORDS, SameWord{word, length});
    Array<uint8_t> lengths = filled<uint8_t>(WORDS, LengthAt{});
    Array<unsigned long long> hits(1);
    unsigned grid = (WORDS + 255) / 256;
    peer("md5-slots", "hand-written", [&] {
        Array<uint4> slots = filled<uint4>(WORDS, SlotAt{});
        Times t = timed([&] {
            CHECK(cudaMemsetAsync(hits.p, 0, 8));
            in_slots<<<grid, 256>>>(slots.p, lengths.p, WORDS, wanted, hits.p);
        });
        return Result{t, near((double)hits.at(0), expected, 0)};
    });
    peer("md5-words", "hand-written", [&] {
        std::vector<uint8_t> host = lengths.host();
        std::vector<int64_t> offsets = offsets_of(std::vector<int32_t>(host.begin(), host.end()));
        Array<int64_t> off(offsets);
        Array<uint8_t> text(offsets[WORDS]);
        texts<<<grid, 256>>>(off.p, WORDS, text.p);
        Times t = timed([&] {
            CHECK(cudaMemsetAsync(hits.p, 0, 8));
            in_rows<<<grid, 256>>>(text.p, off.p, WORDS, wanted, hits.p);
        });
        return Result{t, near((double)hits.at(0), expected, 0)};
    });
}

// ---- How many primes there are to 10^8.

static const int LIMIT = 100000000, PRIMES = 5761455;

// One row of blocks for each prime.
__global__ void mark(const int *primes, uint8_t *composite, int n) {
    int p = primes[blockIdx.y];
    long long step = (long long)gridDim.x * blockDim.x * p;
    for (long long m = (long long)p * (blockIdx.x * blockDim.x + threadIdx.x + 2); m <= n; m += step) composite[m] = 1;
}
__global__ void unmarked(const uint8_t *composite, int n, unsigned long long *total) {
    int found = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += gridDim.x * blockDim.x) found += i >= 2 && !composite[i];
    for (int d = 16; d; d /= 2) found += __shfl_down_sync(~0u, found, d);
    if (threadIdx.x % 32 == 0) atomicAdd(total, (unsigned long long)found);
}

// Each block marks its segment in shared memory, a warp per prime.
static const int SEGMENT = 48 << 10;
__global__ void __launch_bounds__(512) segmented(const int *primes, int count, int n, unsigned long long *total) {
    extern __shared__ uint32_t flags[];
    uint8_t *composite = (uint8_t *)flags;
    int lo = blockIdx.x * SEGMENT, hi = min(lo + SEGMENT, n + 1), lane = threadIdx.x % 32;
    for (int k = threadIdx.x; k < SEGMENT / 4; k += 512) flags[k] = 0;
    __syncthreads();
    for (int k = threadIdx.x / 32; k < count; k += 16) {
        int p = primes[k];
        if ((long long)p * p >= hi) break;
        int first = max(2 * p, (lo + p - 1) / p * p);
        for (int m = first + lane * p; m < hi; m += 32 * p) composite[m - lo] = 1;
    }
    __syncthreads();
    int found = 0;
    for (int i = lo + threadIdx.x; i < hi; i += 512) found += i >= 2 && !composite[i - lo];
    for (int d = 16; d; d /= 2) found += __shfl_down_sync(~0u, found, d);
    if (lane == 0 && found) atomicAdd(total, (unsigned long long)found);
}

void sieve() {
    std::vector<int> small;
    for (int p = 2; p <= 10000; p++) {
        bool prime = true;
        for (int d = 2; d * d <= p; d++) prime &= p % d != 0;
        if (prime) small.push_back(p);
    }
    Array<int> primes(small);
    Array<unsigned long long> total(1);
    int count = (int)small.size();
    peer("sieve", "hand-written, flags in memory, the small primes made before", [&] {
        Array<uint8_t> composite(LIMIT + 1);
        Times t = timed([&] {
            CHECK(cudaMemsetAsync(composite.p, 0, LIMIT + 1));
            CHECK(cudaMemsetAsync(total.p, 0, 8));
            mark<<<dim3(64, count), 256>>>(primes.p, composite.p, LIMIT);
            unmarked<<<16 * multiprocessors(), 256>>>(composite.p, LIMIT, total.p);
        });
        return Result{t, near((double)total.at(0), PRIMES, 0)};
    });
    peer("sieve+segmented", "hand-written, flags in shared memory, the small primes made before", [&] {
        CHECK(cudaFuncSetAttribute(segmented, cudaFuncAttributeMaxDynamicSharedMemorySize, SEGMENT));
        Times t = timed([&] {
            CHECK(cudaMemsetAsync(total.p, 0, 8));
            segmented<<<(LIMIT + SEGMENT) / SEGMENT, 512, SEGMENT>>>(primes.p, count, LIMIT, total.p);
        });
        return Result{t, near((double)total.at(0), PRIMES, 0)};
    });
}

int main() {
    group({"md5-slots", "md5-words"}, words);
    group({"sieve", "sieve+segmented"}, sieve);
}
