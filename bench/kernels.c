#include "kernels.h"

#include <string.h>
#include <time.h>

struct three {
    float *a, *b, *c;
    int n;
};

struct two {
    float *a, *c;
    int n;
};

struct one {
    float *c;
    float x;
    int n;
};

static struct bench of(const char *name, const char *kernel, struct sim_launch launch,
                       const void *args, size_t bytes)
{
    struct bench b = {.name = name, .kernel = kernel, .launch = launch};

    b.launch.args_bytes = bytes;
    memcpy(b.args, args, bytes);
    return b;
}

void bench_kernels(struct sim *s, const struct bench_sizes *z, struct bench *ret)
{
    const size_t bytes = (size_t)z->elements * sizeof(float);
    float *a = sim_alloc(s, bytes), *b = sim_alloc(s, bytes), *c = sim_alloc(s, bytes);
    const struct three stream = {a, b, c, z->elements}, square = {a, b, c, z->matrix};
    const struct two reduce = {a, c, z->elements}, rows = {a, c, 1024};
    const struct two all_bytes = {a, c, z->elements * 4};
    const struct one chain = {c, 0.999f, z->chain_rounds}, blend = {c, 0.75f, z->blend_rounds};
    const uint32_t n = (uint32_t)z->elements, m = (uint32_t)z->matrix;

    for (int i = 0; i < z->elements; i++) {
        a[i] = (float)(i % 1000) * 1e-3f;
        b[i] = 1.0f;
    }
#define LAUNCH(...) ((struct sim_launch){__VA_ARGS__})
#define LINE(items) LAUNCH(.grid = {items}, .block = {256})
    const struct bench all[BENCH_KERNELS] = {
        of("compute", "fma_chain", LINE(z->items), &chain, sizeof chain),
        of("mixed", "mixed", LINE(z->items), &blend, sizeof blend),
        of("half-dot", "half_dot", LINE(z->items), &chain, sizeof chain),
        of("stream", "vadd", LINE(n), &stream, sizeof stream),
        of("sgemm", "sgemm16", LAUNCH(.grid = {m, m}, .block = {16, 16}), &square, sizeof square),
        of("softmax", "softmax", LINE(z->softmax_rows * 256), &rows, sizeof rows),
        of("reduce", "reduce_shfl", LINE(n), &reduce, sizeof reduce),
        of("histogram", "histogram", LINE(z->histogram_groups * 256), &all_bytes, sizeof all_bytes),
        of("one-group", "vadd", LINE(256), &stream, sizeof stream),
    };
#undef LINE
#undef LAUNCH
    memcpy(ret, all, sizeof all);
    for (unsigned i = 0; i < BENCH_KERNELS; i++)
        ret[i].launch.args = ret[i].args;
}

struct bench *bench_find(struct bench *benches, const char *name)
{
    for (unsigned i = 0; i < BENCH_KERNELS; i++)
        if (!strcmp(benches[i].name, name))
            return &benches[i];
    return NULL;
}

double bench_cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
