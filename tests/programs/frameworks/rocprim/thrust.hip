// rocThrust as programs use it: vectors, sorts, scans and reductions, each compared with the standard library's.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <vector>

static const int kCount = 50021;  // no multiple of any block

static void want(bool right, const char *what) {
    if (right) return;
    std::printf("WRONG %s\n", what);
    std::exit(1);
}

static std::vector<unsigned> random_keys(std::mt19937 &source, unsigned below) {
    std::vector<unsigned> keys(kCount);
    for (unsigned &key : keys) key = below ? source() % below : source();
    return keys;
}

// Equal keys keep their order: the values say which of them came first.
static void sorts_by_key(std::mt19937 &source) {
    const std::vector<unsigned> keys = random_keys(source, 1u << 20);
    std::vector<int> order(kCount);
    std::iota(order.begin(), order.end(), 0);
    thrust::device_vector<unsigned> device_keys(keys.begin(), keys.end());
    thrust::device_vector<int> device_values(order.begin(), order.end());
    thrust::stable_sort_by_key(device_keys.begin(), device_keys.end(), device_values.begin());
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    std::vector<int> sorted(kCount);
    thrust::copy(device_values.begin(), device_values.end(), sorted.begin());
    want(sorted == order, "stable_sort_by_key");
}

struct by_remainder {
    __host__ __device__ bool operator()(int a, int b) const { return a % 1009 < b % 1009 || (a % 1009 == b % 1009 && a < b); }
};

static void sorts_by_comparison(std::mt19937 &source) {
    const std::vector<unsigned> keys = random_keys(source, 1u << 30);
    std::vector<int> host(keys.begin(), keys.end()), back(kCount);
    thrust::device_vector<int> device(host.begin(), host.end());
    thrust::sort(device.begin(), device.end(), by_remainder());
    std::sort(host.begin(), host.end(), by_remainder());
    thrust::copy(device.begin(), device.end(), back.begin());
    want(back == host, "sort with an order of its own");
}

static void scans(std::mt19937 &source) {
    const std::vector<unsigned> host = random_keys(source, 0);
    std::vector<unsigned> sums(kCount), back(kCount);
    thrust::device_vector<unsigned> device(host.begin(), host.end());
    thrust::inclusive_scan(device.begin(), device.end(), device.begin());
    std::partial_sum(host.begin(), host.end(), sums.begin());
    thrust::copy(device.begin(), device.end(), back.begin());
    want(back == sums, "inclusive_scan");
}

static void reduces_by_key(std::mt19937 &source) {
    std::vector<unsigned> keys = random_keys(source, 701), values = random_keys(source, 0);
    std::sort(keys.begin(), keys.end());
    std::map<unsigned, unsigned> sums;
    for (int i = 0; i < kCount; i++) sums[keys[i]] += values[i];
    thrust::device_vector<unsigned> device_keys(keys.begin(), keys.end()), device_values(values.begin(), values.end());
    thrust::device_vector<unsigned> out_keys(kCount), out_values(kCount);
    auto ends = thrust::reduce_by_key(device_keys.begin(), device_keys.end(), device_values.begin(), out_keys.begin(),
                                      out_values.begin());
    thrust::host_vector<unsigned> found_keys(out_keys.begin(), ends.first), found(out_values.begin(), ends.second);
    want(found.size() == sums.size(), "reduce_by_key: number of keys");
    size_t at = 0;
    for (const auto &[key, sum] : sums) {
        want(found_keys[at] == key && found[at] == sum, "reduce_by_key: a sum");
        at++;
    }
}

static void makes_unique(std::mt19937 &source) {
    std::vector<unsigned> host = random_keys(source, 5003);
    std::sort(host.begin(), host.end());
    thrust::device_vector<unsigned> device(host.begin(), host.end());
    device.erase(thrust::unique(device.begin(), device.end()), device.end());
    host.erase(std::unique(host.begin(), host.end()), host.end());
    want(device.size() == host.size() && std::equal(host.begin(), host.end(), thrust::host_vector<unsigned>(device).begin()),
         "unique");
}

struct square {
    __host__ __device__ double operator()(float value) const { return double(value) * value; }
};

// Doubles added in another order: the one result that is not the same to the bit.
static double transforms_and_reduces(std::mt19937 &source) {
    std::normal_distribution<float> normal;
    std::vector<float> host(kCount);
    for (float &value : host) value = normal(source);
    const thrust::device_vector<float> device(host.begin(), host.end());
    const double sum = thrust::transform_reduce(device.begin(), device.end(), square(), 0.0, thrust::plus<double>());
    double expected = 0;
    for (float value : host) expected += double(value) * value;
    want(std::fabs(sum - expected) <= 1e-12 * expected, "transform_reduce");
    return std::fabs(sum - expected) / expected;
}

int main() {
    std::mt19937 source(27);
    sorts_by_key(source);
    sorts_by_comparison(source);
    scans(source);
    reduces_by_key(source);
    makes_unique(source);
    std::printf("PASS sorts, scan, reduce_by_key, unique exact; transform_reduce off by %g\n", transforms_and_reduces(source));
    return 0;
}
