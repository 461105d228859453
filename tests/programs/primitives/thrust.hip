// rocThrust's set operations, searches, scans by key and orders, compared with the standard library's.
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/merge.h>
#include <thrust/partition.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include "device.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>

using List = std::vector<int>;
using Device = thrust::device_vector<int>;

struct odd {
    __host__ __device__ bool operator()(int x) const { return x & 1; }
};
struct twice_and_one {
    __host__ __device__ int operator()(int x) const { return 2 * x + 1; }
};

template <typename T>
static std::vector<T> host(const thrust::device_vector<T> &from) {
    std::vector<T> to(from.size());
    thrust::copy(from.begin(), from.end(), to.begin());
    return to;
}

#define SETS(name)                                                                                 \
    do {                                                                                           \
        Device out(a.size() + b.size());                                                           \
        out.erase(thrust::name(da.begin(), da.end(), db.begin(), db.end(), out.begin()), out.end()); \
        List expected;                                                                             \
        std::name(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));           \
        want(host(out) == expected, #name, a.size());                                              \
    } while (0)

static void sets(const List &a, const List &b) {
    const Device da(a.begin(), a.end()), db(b.begin(), b.end());
    SETS(set_union);
    SETS(set_difference);
    SETS(set_intersection);
    SETS(set_symmetric_difference);
    SETS(merge);
    Device places(b.size());
    thrust::lower_bound(da.begin(), da.end(), db.begin(), db.end(), places.begin());
    const List found = host(places);
    for (size_t i = 0; i < b.size(); i++)
        want(found[i] == std::lower_bound(a.begin(), a.end(), b[i]) - a.begin(), "lower_bound", a.size());
}

static void orders(const List &a, std::mt19937 &source) {
    const size_t n = a.size();
    const Device da(a.begin(), a.end());
    Device changed(n), out(n);
    List expected(n);
    thrust::transform(da.begin(), da.end(), changed.begin(), twice_and_one());
    thrust::inclusive_scan_by_key(da.begin(), da.end(), changed.begin(), out.begin());
    for (size_t i = 0, sum = 0; i < n; i++) {
        sum = (i && a[i] == a[i - 1] ? sum : 0) + 2 * a[i] + 1;
        expected[i] = int(sum);
    }
    want(host(out) == expected, "transform, inclusive_scan_by_key", n);
    const auto ends = thrust::minmax_element(changed.begin(), changed.end());
    want(*ends.first == 2 * a[0] + 1 && *ends.second == 2 * a[n - 1] + 1, "minmax_element", n);
    const auto odds = std::count_if(a.begin(), a.end(), odd());
    want(thrust::count_if(da.begin(), da.end(), odd()) == odds, "count_if", n);
    out = da;
    thrust::stable_partition(out.begin(), out.end(), odd());
    expected = a;
    std::stable_partition(expected.begin(), expected.end(), odd());
    want(host(out) == expected, "stable_partition", n);
    want(thrust::remove_if(out.begin(), out.end(), odd()) - out.begin() == long(n) - odds, "remove_if", n);
    thrust::adjacent_difference(da.begin(), da.end(), out.begin());
    std::adjacent_difference(a.begin(), a.end(), expected.begin());
    want(host(out) == expected, "adjacent_difference", n);
    List shuffled(n);
    std::iota(shuffled.begin(), shuffled.end(), 0);
    std::shuffle(shuffled.begin(), shuffled.end(), source);
    const Device map(shuffled.begin(), shuffled.end());
    Device back(n);
    thrust::gather(map.begin(), map.end(), da.begin(), out.begin());
    thrust::scatter(out.begin(), out.end(), map.begin(), back.begin());
    want(host(back) == a, "gather, scatter", n);
    std::vector<double> keys(n);
    for (double &key : keys) key = source() * 1e-3 - 1e6;
    thrust::device_vector<double> device_keys(keys.begin(), keys.end());
    thrust::sequence(out.begin(), out.end());
    thrust::sort_by_key(device_keys.begin(), device_keys.end(), out.begin(), thrust::greater<double>());
    std::sort(keys.rbegin(), keys.rend());
    want(host(device_keys) == keys, "sort_by_key", n);
    want(thrust::inner_product(da.begin(), da.end(), da.begin(), 0ll) == std::inner_product(a.begin(), a.end(), a.begin(), 0ll),
         "inner_product", n);
}

int main() {
    std::mt19937 source(3);
    for (int n : {1, 500, 5000, 40000}) {
        List a(n), b(n / 2 + 1);
        for (int &x : a) x = source() % (n + 3);
        for (int &x : b) x = source() % (n + 3);
        std::sort(a.begin(), a.end());
        std::sort(b.begin(), b.end());
        sets(a, b);
        orders(a, source);
    }
    std::printf("PASS\n");
    return 0;
}
