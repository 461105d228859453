#include "drive.h"
#include "sparse_graph.hip"

// A random graph in compressed rows, with rows from empty to longer than a wave.
struct graph {
    int n;
    std::vector<int> first, to;
    graph(int nodes, uint64_t seed) : n(nodes), first(1, 0)
    {
        rng r(seed);
        for (int u = 0; u < n; u++) {
            int degree = u % 7 == 0 ? 0 : u % 50 == 1 ? r.in(60, 140) : r.in(1, 6);
            for (int e = 0; e < degree; e++)
                to.push_back(r.in(0, n - 1));
            first.push_back((int)to.size());
        }
    }
};

static const int n = 600, groups = 3;

static void test_spmv(const graph &g)
{
    auto v = whole<double>(g.to.size(), 2, -50, 50), x = whole<double>(n, 3, -50, 50);
    std::vector<double> want(n);
    for (int u = 0; u < n; u++)
        for (int e = g.first[u]; e < g.first[u + 1]; e++)
            want[u] += v[e] * x[g.to[e]];
    array<int> first(g.first), to(g.to);
    {
        subject s("spmv_csr");
        array<double> dv(v), dx(x), y(n);
        LAUNCH(spmv_csr, groups, 256, 0, first, to, dv, dx, y, n);
        s.equal(y.host(), want);
    }
    {
        subject s("spmv_vec");
        array<float> dv(std::vector<float>(v.begin(), v.end())),
            dx(std::vector<float>(x.begin(), x.end())), y(n);
        LAUNCH(spmv_vec, (n + 3) / 4 + 1, 256, 0, first, to, dv, dx, y, n);
        s.equal(y.host(), std::vector<float>(want.begin(), want.end()));
    }
}

static std::vector<int> levels(const graph &g)
{
    std::vector<int> level(n, -1), queue{1};
    level[1] = 0;
    for (size_t i = 0; i < queue.size(); i++)
        for (int e = g.first[queue[i]]; e < g.first[queue[i] + 1]; e++)
            if (level[g.to[e]] < 0) {
                level[g.to[e]] = level[queue[i]] + 1;
                queue.push_back(g.to[e]);
            }
    return level;
}

static void test_bfs(const graph &g)
{
    auto want = levels(g);
    array<int> first(g.first), to(g.to);
    {
        subject s("bfs");
        std::vector<int> start(n, -1);
        start[1] = 0;
        array<int> level(start), changed(1);
        for (int cur = 0;; cur++) {
            changed.set({0});
            LAUNCH(bfs, groups, 256, 0, first, to, level, cur, changed, n);
            if (!changed.host()[0])
                break;
        }
        s.equal(level.host(), want);
    }
    subject s("bfs_frontier");
    std::vector<unsigned> seen((n + 31) / 32, 0);
    seen[0] = 2;
    array<unsigned> visited(seen);
    std::vector<int> frontier{1}, got(n, -1);
    for (int cur = 0; !frontier.empty(); cur++) {
        for (int u : frontier) {
            s.that(got[u] == -1, "node %d was found twice", u);
            got[u] = cur;
        }
        frontier.resize(n, 0);
        int count = 0;
        for (int u = 0; u < n; u++)
            count += got[u] == cur;
        array<int> now(frontier), next(n), found(std::vector<int>{0});
        LAUNCH(bfs_frontier, groups, 256, 0, first, to, now, count, next, found, visited);
        frontier = next.host();
        frontier.resize(found.host()[0]);
    }
    s.equal(got, want);
}

static void test_pagerank(const graph &g)
{
    // One rounding of 2^-24 in each quotient, sum and product; rows have up to 140 terms.
    subject s("pagerank");
    auto rank = real<float>(n, 4, 0, 1);
    auto degree = whole<int>(n, 5, 1, 9);
    array<int> first(g.first), to(g.to), dd(degree);
    array<float> dr(rank), o(n);
    LAUNCH(pagerank, groups, 256, 0, first, to, dr, dd, o, n, 0.85f);
    s.near(o.host(), make<double>(n, [&](size_t u) {
               double sum = 0;
               for (int e = g.first[u]; e < g.first[u + 1]; e++)
                   sum += (double)rank[g.to[e]] / degree[g.to[e]];
               return (1 - (double)0.85f) / n + (double)0.85f * sum;
           }),
           0, 150 * 0x1p-23);
}

static void test_sssp(const graph &g)
{
    subject s("sssp");
    auto weight = whole<int>(g.to.size(), 6, 1, 100);
    std::vector<int> want(n, 0x7fffffff);
    want[1] = 0;
    array<int> first(g.first), to(g.to), dw(weight), dist(want);
    for (int i = 0; i < 40; i++)
        LAUNCH(sssp, groups, 256, 0, first, to, dw, dist, n);
    for (bool changed = true; changed;) {
        changed = false;
        for (int u = 0; u < n; u++)
            for (int e = g.first[u]; e < g.first[u + 1] && want[u] < 0x7fffffff; e++)
                if (want[u] + weight[e] < want[g.to[e]]) {
                    want[g.to[e]] = want[u] + weight[e];
                    changed = true;
                }
    }
    s.equal(dist.host(), want);
}

int main()
{
    graph g(n, 1);
    test_spmv(g);
    test_bfs(g);
    test_pagerank(g);
    test_sssp(g);
    return drive_end();
}
