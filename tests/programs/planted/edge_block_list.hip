// edge_block_list: the edges of a vertex lie in blocks that are chained by pointers, so that each
// load waits for the one before. The fix keeps a table of each vertex's blocks and loads many of
// them at once.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        hipError_t status_ = (call);                                                               \
        if (status_ != hipSuccess) {                                                               \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status_));                   \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

// A dynamic graph keeps edges in blocks of one cache line, which are taken from a pool.
struct EdgeBlock {
    int next; // -1 in the last block of a vertex
    int weight[15];
};

// The weighted degree of each vertex; 16 lanes work on one vertex, each on its word of the block.
__global__ void weighted_degree(const EdgeBlock *pool, const int *blocks, int blocks_per_vertex,
                                int *degree)
{
    int vertex = (blockIdx.x * blockDim.x + threadIdx.x) / 16, lane = threadIdx.x % 16;
    const int *words = (const int *)pool;
    int sum = 0;
#ifdef FIXED
    for (int i = 0; i < blocks_per_vertex; i += 16) {
        int mine = blocks[vertex * blocks_per_vertex + i + lane];
#pragma unroll
        for (int j = 0; j < 16; j++) {
            int word = words[__shfl(mine, j, 16) * 16 + lane];
            sum += lane > 0 ? word : 0;
        }
    }
#else
    int block = blocks[vertex * blocks_per_vertex];
    while (block >= 0) {
        int word = words[block * 16 + lane]; // planted: memory_latency
        sum += lane > 0 ? word : 0;
        block = __shfl(word, 0, 16);
    }
#endif
    for (int step = 8; step > 0; step /= 2)
        sum += __shfl_xor(sum, step, 16);
    if (lane == 0)
        degree[vertex] = sum;
}

int main()
{
    const int vertices = 608 * 16, per_vertex = 64, blocks = vertices * per_vertex;
    std::vector<EdgeBlock> pool(blocks);
    std::vector<int> table(blocks), degree(vertices), want(vertices);
    // Blocks are taken from the pool as edges arrive, so that those of one vertex are far apart.
    for (int v = 0; v < vertices; v++)
        for (int i = 0; i < per_vertex; i++)
            table[v * per_vertex + i] = (int)((v * 64ull + i) * 7919 % blocks);
    for (int v = 0; v < vertices; v++) {
        for (int i = 0; i < per_vertex; i++) {
            EdgeBlock &block = pool[table[v * per_vertex + i]];
            block.next = i + 1 < per_vertex ? table[v * per_vertex + i + 1] : -1;
            for (int j = 0; j < 15; j++) {
                block.weight[j] = (v + i * 3 + j) % 100;
                want[v] += block.weight[j];
            }
        }
    }
    EdgeBlock *dpool;
    int *dtable, *ddegree;
    CHECK(hipMalloc(&dpool, blocks * sizeof(EdgeBlock)));
    CHECK(hipMalloc(&dtable, blocks * sizeof(int)));
    CHECK(hipMalloc(&ddegree, vertices * sizeof(int)));
    CHECK(hipMemcpy(dpool, pool.data(), blocks * sizeof(EdgeBlock), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(dtable, table.data(), blocks * sizeof(int), hipMemcpyHostToDevice));
    weighted_degree<<<vertices / 16, 256>>>(dpool, dtable, per_vertex, ddegree);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(degree.data(), ddegree, vertices * sizeof(int), hipMemcpyDeviceToHost));
    CHECK(hipFree(dpool));
    CHECK(hipFree(dtable));
    CHECK(hipFree(ddegree));
    if (degree != want) {
        std::fprintf(stderr, "the degrees are wrong\n");
        return 1;
    }
    std::puts("ok");
    return 0;
}
