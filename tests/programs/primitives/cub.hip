// hipCUB's device algorithms on KIND, at several sizes, compared with the standard library's: all results are exact.
#include "device.h"

#include <cstring>

#include <hipcub/hipcub.hpp>

#include <algorithm>
#include <numeric>
#include <random>

using List = std::vector<KIND>;

// Every algorithm is called twice: for the size of its scratch memory, then to do the work.
template <typename Call>
static void run(Call call) {
    size_t bytes = 0;
    ok(call(nullptr, bytes));
    OnDevice<char> scratch(bytes);
    ok(call((void *)scratch.data, bytes));
    ok(hipDeviceSynchronize());
}

struct Less {
    template <typename T>
    __host__ __device__ bool operator()(const T &a, const T &b) const {
        return a < b;
    }
};

struct Test {
    int n;
    List values;
    std::vector<int> order;
    OnDevice<KIND> in, out, one;
    OnDevice<int> in_order, out_order, count;

    explicit Test(const List &from, const std::vector<int> &numbers)
        : n(int(from.size())), values(from), order(numbers), in(values), out(values.size() + 1), one(1), in_order(order),
          out_order(values.size()), count(1) {}

    // What one algorithm leaves must not pass for what the next one gives.
    void holds(const char *what, const List &expected) {
        want(out.host(expected.size()) == expected, what, n);
        ok(hipMemset(out.data, 0xff, n * sizeof(KIND)));
        ok(hipMemset(count.data, 0xff, sizeof(int)));
    }
    void holds_so_many(const char *what, const List &expected) {
        want(count.host(1)[0] == int(expected.size()), what, n);
        holds(what, expected);
    }

    void reductions() {
        run([&](void *s, size_t &b) { return hipcub::DeviceReduce::Sum(s, b, in.data, one.data, n); });
        want(one.host(1)[0] == std::accumulate(values.begin(), values.end(), KIND(0)), "sum", n);
        run([&](void *s, size_t &b) { return hipcub::DeviceReduce::Max(s, b, in.data, one.data, n); });
        want(one.host(1)[0] == *std::max_element(values.begin(), values.end()), "maximum", n);
        OnDevice<hipcub::KeyValuePair<int, KIND>> least(1);
        run([&](void *s, size_t &b) { return hipcub::DeviceReduce::ArgMin(s, b, in.data, least.data, n); });
        want(least.host(1)[0].key == std::min_element(values.begin(), values.end()) - values.begin(), "place of the minimum", n);
    }

    void scans() {
        List sums(n);
        run([&](void *s, size_t &b) { return hipcub::DeviceScan::InclusiveSum(s, b, in.data, out.data, n); });
        std::partial_sum(values.begin(), values.end(), sums.begin());
        holds("inclusive scan", sums);
        run([&](void *s, size_t &b) { return hipcub::DeviceScan::ExclusiveSum(s, b, in.data, out.data, n); });
        sums.insert(sums.begin(), 0);
        sums.pop_back();
        holds("exclusive scan", sums);
    }

    void sorts() {
        List sorted = values;
        std::sort(sorted.begin(), sorted.end());
        run([&](void *s, size_t &b) { return hipcub::DeviceRadixSort::SortKeys(s, b, in.data, out.data, n); });
        holds("radix sort", sorted);
        run([&](void *s, size_t &b) {
            return hipcub::DeviceRadixSort::SortPairsDescending(s, b, in.data, out.data, in_order.data, out_order.data, n);
        });
        holds("descending radix sort", List(sorted.rbegin(), sorted.rend()));
        OnDevice<KIND> keys(values);
        run([&](void *s, size_t &b) { return hipcub::DeviceMergeSort::SortPairs(s, b, keys.data, in_order.data, n, Less()); });
        want(keys.host(n) == sorted, "merge sort", n);
        List unique = sorted;
        unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
        run([&](void *s, size_t &b) {
            return hipcub::DeviceRunLengthEncode::Encode(s, b, keys.data, out.data, out_order.data, count.data, n);
        });
        holds_so_many("run lengths", unique);
        run([&](void *s, size_t &b) { return hipcub::DeviceSelect::Unique(s, b, keys.data, out.data, count.data, n); });
        holds_so_many("unique", unique);
    }

    void selections(std::mt19937 &source) {
        std::vector<char> flags(n);
        List selected;
        for (int i = 0; i < n; i++) {
            flags[i] = source() & 1;
            if (flags[i]) selected.push_back(values[i]);
        }
        const OnDevice<char> on_device(flags);
        run([&](void *s, size_t &b) {
            return hipcub::DeviceSelect::Flagged(s, b, in.data, on_device.data, out.data, count.data, n);
        });
        holds_so_many("select", selected);
        run([&](void *s, size_t &b) {
            return hipcub::DevicePartition::Flagged(s, b, in.data, on_device.data, out.data, count.data, n);
        });
        holds("partition", selected);
        OnDevice<int> bins(50);
        run([&](void *s, size_t &b) {
            return hipcub::DeviceHistogram::HistogramEven(s, b, in.data, bins.data, 51, KIND(0), KIND(100), n);
        });
        std::vector<int> expected(50);
        for (KIND value : values)
            if (value >= 0 && value < 100) expected[int(value) / 2]++;
        want(bins.host(50) == expected, "histogram", n);
    }

    void segments(std::mt19937 &source) {
        std::vector<int> ends = {0};
        while (ends.back() < n) ends.push_back(std::min(n, ends.back() + int(source() % 700)));
        const int segments = int(ends.size()) - 1;
        const OnDevice<int> offsets(ends);
        List sums, sorted = values;
        for (int i = 0; i < segments; i++) {
            sums.push_back(std::accumulate(values.begin() + ends[i], values.begin() + ends[i + 1], KIND(0)));
            std::sort(sorted.begin() + ends[i], sorted.begin() + ends[i + 1]);
        }
        OnDevice<KIND> totals(segments);
        run([&](void *s, size_t &b) {
            return hipcub::DeviceSegmentedReduce::Sum(s, b, in.data, totals.data, segments, offsets.data, offsets.data + 1);
        });
        want(totals.host(segments) == sums, "segmented reduce", n);
        run([&](void *s, size_t &b) {
            return hipcub::DeviceSegmentedRadixSort::SortKeys(s, b, in.data, out.data, n, segments, offsets.data,
                                                              offsets.data + 1);
        });
        holds("segmented sort", sorted);
    }
};

int main() {
    std::mt19937 source(5);
    for (size_t n : {1, 63, 1000, 4097, 60013}) {
        List values(n);
        for (KIND &value : values) value = KIND(source() % 251);
        std::vector<int> order(n);
        std::iota(order.begin(), order.end(), 0);
        Test test(values, order);
        test.reductions();
        test.scans();
        test.sorts();
        test.selections(source);
        test.segments(source);
    }
    std::printf("PASS\n");
    return 0;
}
