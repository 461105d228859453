// rocPRIM's device algorithms, and its block primitives in a kernel of our own, compared with the standard library's.
#include <cstring>  // which rocPRIM's headers need and do not include

#include <hip/hip_runtime.h>
#include <rocprim/rocprim.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

static void want(bool right, const char *what) {
    if (right) return;
    std::printf("WRONG %s\n", what);
    std::exit(1);
}

static void ok(hipError_t status) { want(status == hipSuccess, hipGetErrorString(status)); }

template <typename T>
struct OnDevice {
    T *data = nullptr;
    size_t count;
    explicit OnDevice(size_t n) : count(n) { ok(hipMalloc(&data, n * sizeof(T))); }
    explicit OnDevice(const std::vector<T> &host) : OnDevice(host.size()) {
        ok(hipMemcpy(data, host.data(), count * sizeof(T), hipMemcpyHostToDevice));
    }
    ~OnDevice() { (void)hipFree(data); }
    std::vector<T> host() const {
        std::vector<T> copy(count);
        ok(hipMemcpy(copy.data(), data, count * sizeof(T), hipMemcpyDeviceToHost));
        return copy;
    }
};

// Every device algorithm is called twice: for the size of its scratch memory, then to do the work.
template <typename Call>
static void run(Call call) {
    size_t bytes = 0;
    ok(call(nullptr, bytes));
    OnDevice<char> scratch(std::max<size_t>(bytes, 1));
    ok(call(scratch.data, bytes));
}

static void sorts_descending(std::mt19937 &source) {
    const size_t count = 40009;
    std::vector<float> keys(count);
    for (float &key : keys) key = std::normal_distribution<float>()(source);
    const OnDevice<float> in(keys);
    OnDevice<float> out(count);
    run([&](void *scratch, size_t &bytes) {
        return rocprim::radix_sort_keys_desc(scratch, bytes, in.data, out.data, count);
    });
    std::sort(keys.begin(), keys.end(), std::greater<float>());
    want(out.host() == keys, "radix_sort_keys_desc");
}

static void reduces_segments(std::mt19937 &source) {
    std::vector<unsigned> ends = {0, 1, 1, 700, 4800, 4801, 20011};  // one of them is empty
    std::vector<int> values(ends.back());
    for (int &value : values) value = int(source() % 2001) - 1000;
    const OnDevice<int> in(values);
    const OnDevice<unsigned> offsets(ends);
    OnDevice<int> out(ends.size() - 1);
    run([&](void *scratch, size_t &bytes) {
        return rocprim::segmented_reduce(scratch, bytes, in.data, out.data, unsigned(out.count), offsets.data, offsets.data + 1,
                                         rocprim::plus<int>(), 0);
    });
    const std::vector<int> sums = out.host();
    for (size_t i = 0; i + 1 < ends.size(); i++)
        want(sums[i] == std::accumulate(values.begin() + ends[i], values.begin() + ends[i + 1], 0), "segmented_reduce");
}

static void counts_in_bins(std::mt19937 &source) {
    const size_t count = 30011;
    const unsigned bins = 97;
    std::vector<float> values(count);
    for (float &value : values) value = float(source() % (bins * 8)) / 8;
    const OnDevice<float> in(values);
    OnDevice<unsigned> out(bins);
    run([&](void *scratch, size_t &bytes) {
        return rocprim::histogram_even(scratch, bytes, in.data, unsigned(count), out.data, bins + 1, 0.0f, float(bins));
    });
    std::vector<unsigned> expected(bins);
    for (float value : values) expected[unsigned(value)]++;
    want(out.host() == expected, "histogram_even");
}

static void encodes_run_lengths(std::mt19937 &source) {
    std::vector<short> values, words;
    std::vector<unsigned> lengths;
    while (values.size() < 25000) {
        const short word = short(words.empty() ? 0 : (words.back() + 1 + source() % 5));
        words.push_back(word);
        lengths.push_back(1 + source() % 40);
        values.insert(values.end(), lengths.back(), word);
    }
    const OnDevice<short> in(values);
    OnDevice<short> unique(values.size());
    OnDevice<unsigned> counts(values.size()), runs(1);
    run([&](void *scratch, size_t &bytes) {
        return rocprim::run_length_encode(scratch, bytes, in.data, unsigned(values.size()), unique.data, counts.data, runs.data);
    });
    want(runs.host()[0] == words.size(), "run_length_encode: number of runs");
    std::vector<short> found = unique.host();
    std::vector<unsigned> found_lengths = counts.host();
    found.resize(words.size());
    found_lengths.resize(words.size());
    want(found == words && found_lengths == lengths, "run_length_encode");
}

// Each block sorts what it loads and scans it: rocPRIM's primitives inside somebody's kernel.
template <unsigned Threads, unsigned Items>
__global__ void block_sort_and_scan(const unsigned *in, unsigned *sorted, unsigned *sums) {
    using load = rocprim::block_load<unsigned, Threads, Items, rocprim::block_load_method::block_load_transpose>;
    using store = rocprim::block_store<unsigned, Threads, Items, rocprim::block_store_method::block_store_transpose>;
    using sort = rocprim::block_radix_sort<unsigned, Threads, Items>;
    using scan = rocprim::block_scan<unsigned, Threads>;
    __shared__ union {
        typename load::storage_type load;
        typename store::storage_type store;
        typename sort::storage_type sort;
        typename scan::storage_type scan;
    } shared;
    const unsigned begin = blockIdx.x * Threads * Items;
    unsigned items[Items];
    load().load(in + begin, items, shared.load);
    __syncthreads();
    sort().sort(items, shared.sort);
    __syncthreads();
    unsigned kept[Items];  // storing transposes in place
    for (unsigned i = 0; i < Items; i++) kept[i] = items[i];
    store().store(sorted + begin, kept, shared.store);
    __syncthreads();
    scan().inclusive_scan(items, items, shared.scan);
    __syncthreads();
    store().store(sums + begin, items, shared.store);
}

static void sorts_in_blocks(std::mt19937 &source) {
    const unsigned threads = 256, items = 7, blocks = 13, each = threads * items;
    std::vector<unsigned> host(each * blocks), sums(host.size());
    for (unsigned &value : host) value = source();
    const OnDevice<unsigned> in(host);
    OnDevice<unsigned> sorted(host.size()), scanned(host.size());
    block_sort_and_scan<threads, items><<<blocks, threads>>>(in.data, sorted.data, scanned.data);
    ok(hipGetLastError());
    for (unsigned b = 0; b < blocks; b++) {
        std::sort(host.begin() + b * each, host.begin() + (b + 1) * each);
        std::partial_sum(host.begin() + b * each, host.begin() + (b + 1) * each, sums.begin() + b * each);
    }
    want(sorted.host() == host, "block_radix_sort");
    want(scanned.host() == sums, "block_scan");
}

int main() {
    std::mt19937 source(27);
    sorts_descending(source);
    reduces_segments(source);
    counts_in_bins(source);
    encodes_run_lengths(source);
    sorts_in_blocks(source);
    std::printf("PASS radix sort, segmented reduce, histogram, run lengths, block sort and scan, exact: largest error 0\n");
    return 0;
}
