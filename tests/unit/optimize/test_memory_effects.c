/* Candidates that leave barriers, atomics and their order as they are, and move or change what lies
 * between them: against the guards with the real compiler. */
#include "optimize/candidate_check.h"

#include <stdio.h>
#include <sys/stat.h>

#include "unit/optimize/sources.h"

static const char more_hip[] =
    "#include \"hip_small.h\"\n"
    "typedef unsigned long size_t;\n"
    "extern \"C\" __device__ const __attribute__((weak)) __hip_builtin_threadIdx_t blockIdx;\n"
    "__device__ unsigned atomicAdd(unsigned *, unsigned);\n"
    "__device__ float __shfl_down(float, unsigned);\n"
    "__device__ float fmaxf(float, float);\n"
    "__device__ unsigned totals[256];\n"
    "constexpr int outside = __ATOMIC_ACQUIRE;\n"
    "struct views { const float *in; float *out; };\n"
    "struct sizes { int stride; float factor; };\n"
    "__device__ float gain;\n"
    "__device__ float __hip_ds_swizzlef(float, int);\n"
    "__device__ void make_progress(float *);\n";

static const char reduction[] = "__global__ void reduction(const float *in, float *out, int n)\n"
                                "{\n"
                                "    __shared__ float tile[256];\n"
                                "    unsigned t = threadIdx.x;\n"
                                "    float sum = 0;\n"
                                "    for (int i = t; i < n; i += 256)\n"
                                "        sum += in[i];\n"
                                "    tile[t] = sum;\n"
                                "    __syncthreads();\n"
                                "    for (unsigned s = 128; s > 0; s >>= 1) {\n"
                                "        if (t < s)\n"
                                "            tile[t] += tile[t + s];\n"
                                "        __syncthreads();\n"
                                "    }\n"
                                "    if (t == 0)\n"
                                "        out[blockIdx.x] = tile[0];\n"
                                "}";

static const char gemm[] = "__global__ void gemm(const float *a, const float *b, float *c, int n)\n"
                           "{\n"
                           "    __shared__ float left[16][16], right[16][16];\n"
                           "    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, "
                           "column = blockIdx.x * 16 + "
                           "x;\n"
                           "    float sum = 0;\n"
                           "    for (int k = 0; k < n; k += 16) {\n"
                           "        left[y][x] = a[row * n + k + x];\n"
                           "        right[y][x] = b[(k + y) * n + column];\n"
                           "        __syncthreads();\n"
                           "        for (int i = 0; i < 16; i++)\n"
                           "            sum += left[y][i] * right[i][x];\n"
                           "        __syncthreads();\n"
                           "    }\n"
                           "    c[row * n + column] = sum;\n"
                           "}";

static const char softmax[] = "__global__ void softmax(views v, int n)\n"
                              "{\n"
                              "    extern __shared__ float scratch[];\n"
                              "    float *largest = scratch, *total = scratch + 256;\n"
                              "    unsigned t = threadIdx.x;\n"
                              "    float most = v.in[t];\n"
                              "    for (int i = t; i < n; i += 256)\n"
                              "        most = fmaxf(most, v.in[i]);\n"
                              "    largest[t] = most;\n"
                              "    __syncthreads();\n"
                              "    for (int i = 0; i < 256; i++)\n"
                              "        most = fmaxf(most, largest[i]);\n"
                              "    float sum = 0;\n"
                              "    for (int i = t; i < n; i += 256) {\n"
                              "        v.out[i] = expf(v.in[i] - most);\n"
                              "        sum += v.out[i];\n"
                              "    }\n"
                              "    total[t] = sum;\n"
                              "    __syncthreads();\n"
                              "    sum = 0;\n"
                              "    for (int i = 0; i < 256; i++)\n"
                              "        sum += total[i];\n"
                              "    for (int i = t; i < n; i += 256)\n"
                              "        v.out[i] /= sum;\n"
                              "}";

static const char histogram[] = "__global__ void histogram(const unsigned *in, unsigned *out, "
                                "volatile unsigned *ready, int n)\n"
                                "{\n"
                                "    __shared__ unsigned bins[256];\n"
                                "    unsigned t = threadIdx.x;\n"
                                "    bins[t] = 0;\n"
                                "    __syncthreads();\n"
                                "    for (int i = t; i < n; i += 256)\n"
                                "        atomicAdd(&bins[in[i] & 255], 1u);\n"
                                "    __syncthreads();\n"
                                "    atomicAdd(&out[t], bins[t]);\n"
                                "    atomicAdd(&totals[t], 1u);\n"
                                "    __threadfence();\n"
                                "    ready[t] = 1;\n"
                                "}";

static const char stencil[] = "__global__ void stencil(const float *in, float *out, int n)\n"
                              "{\n"
                              "    __shared__ float line[258];\n"
                              "    unsigned t = threadIdx.x, i = blockIdx.x * 256 + t;\n"
                              "    line[t + 1] = in[i];\n"
                              "    if (t == 0)\n"
                              "        line[0] = i ? in[i - 1] : 0;\n"
                              "    if (t == 255)\n"
                              "        line[257] = i + 1 < n ? in[i + 1] : 0;\n"
                              "    __syncthreads();\n"
                              "    float next = line[t] + line[t + 1] + line[t + 2];\n"
                              "    __syncthreads();\n"
                              "    line[t + 1] = next;\n"
                              "    __syncthreads();\n"
                              "    out[i] = line[t] + line[t + 1] + line[t + 2];\n"
                              "}";

static const char orders[] =
    "__global__ void orders(unsigned *flags, unsigned *data, volatile unsigned *ready, volatile "
    "unsigned *done)\n"
    "{\n"
    "    constexpr int release = __ATOMIC_RELEASE, agent = __HIP_MEMORY_SCOPE_AGENT;\n"
    "    const unsigned t = threadIdx.x;\n"
    "    data[t] = t * 2;\n"
    "    __builtin_amdgcn_fence(release, \"agent\");\n"
    "    __hip_atomic_store(&flags[t], 1u, release, agent);\n"
    "    unsigned seen = __hip_atomic_load(&flags[t ^ 1], outside, agent);\n"
    "    ready[t] = seen;\n"
    "    data[t] += done[t];\n"
    "}";

static const char runtime_order[] =
    "__global__ void runtime_order(unsigned *flags, unsigned *data, int order)\n"
    "{\n"
    "    data[0] = __hip_atomic_load(flags, order, __HIP_MEMORY_SCOPE_AGENT);\n"
    "    data[1] = 1 + 2;\n"
    "}";

static const char scopes[] =
    "__global__ void scopes(unsigned *flags, unsigned *data, int scope)\n"
    "{\n"
    "    unsigned t = threadIdx.x;\n"
    "    __hip_atomic_store(&flags[t], 1u, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);\n"
    "    __hip_atomic_store(&flags[t], 1u, __ATOMIC_RELAXED, scope);\n"
    "    __builtin_amdgcn_fence(outside, \"agent\");\n"
    "    data[t] = 1 + 2;\n"
    "}";

static const char condition[] = "__global__ void condition(const float *in, float *out, int n)\n"
                                "{\n"
                                "    __shared__ float line[256];\n"
                                "    unsigned t = threadIdx.x;\n"
                                "    line[t] = in[t];\n"
                                "    if (n > 64)\n"
                                "        __syncthreads();\n"
                                "    out[t] = line[t ^ 128];\n"
                                "}";

static const char jumps[] =
    "__global__ void jumps(const float *in, float *out, unsigned *count, int n)\n"
    "{\n"
    "    __shared__ float line[256];\n"
    "    unsigned t = threadIdx.x;\n"
    "    if (n > 99)\n"
    "        return;\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        if (i > 4 && n < 8)\n"
    "            break;\n"
    "        line[t] = in[i * 256 + t];\n"
    "        __syncthreads();\n"
    "        out[t] = line[t ^ 128];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        if (out[i] > 5)\n"
    "            continue;\n"
    "        atomicAdd(count, 1u);\n"
    "    }\n"
    "}";

static const char called[] = "__global__ void called(const float *in, float *out, int n)\n"
                             "{\n"
                             "    __shared__ float line[256];\n"
                             "    unsigned t = threadIdx.x;\n"
                             "    auto put = [&](float v) { line[t] = v; };\n"
                             "    auto meet = [&](int i) { for (; i > n; i--) if (i & 1) break; "
                             "__syncthreads(); };\n"
                             "    __syncthreads();\n"
                             "    put(in[t]);\n"
                             "    meet(3);\n"
                             "    out[t] = line[t ^ 128];\n"
                             "}";

static const char classes[] = "__global__ void classes(const float *in, float *out, int n)\n"
                              "{\n"
                              "    struct line {\n"
                              "        float *at;\n"
                              "        __device__ void put(float v, int t) { at[t] = v; "
                              "__syncthreads(); }\n"
                              "    };\n"
                              "    __shared__ float all[256];\n"
                              "    unsigned t = threadIdx.x;\n"
                              "    line of = {all};\n"
                              "    of.put(in[t], t);\n"
                              "    out[t] = all[t ^ 128];\n"
                              "}";

static const char sums[] =
    "__global__ void sums(const int *in, const double *d, long long *total, double *mean, int n)\n"
    "{\n"
    "    unsigned t = threadIdx.x;\n"
    "    long long sum = 0;\n"
    "    double all = 0;\n"
    "    for (int i = t; i < n; i += 256) {\n"
    "        sum += in[i];\n"
    "        all += d[i] * 0.5;\n"
    "    }\n"
    "    total[t] = sum;\n"
    "    mean[t] = all;\n"
    "}";

static const char copy[] = "__global__ void copy(const float *in, float *out, size_t n)\n"
                           "{\n"
                           "    for (size_t i = threadIdx.x; i < n; i += 256) {\n"
                           "        size_t at = i * 3 % n;\n"
                           "        out[i] = in[at] + in[i];\n"
                           "    }\n"
                           "}";

static const char uses[] = "__global__ void uses(const float *in, float *out, const float *bias, "
                           "sizes p, int n, bool more)\n"
                           "{\n"
                           "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                           "    if (i >= n)\n"
                           "        return;\n"
                           "    float v = in[i * p.stride] * p.factor * gain;\n"
                           "    if (bias)\n"
                           "        v += bias[i];\n"
                           "    if (more)\n"
                           "        v += out[i];\n"
                           "    v += __hip_ds_swizzlef(v, 31);\n"
                           "    out[i] = v;\n"
                           "}";

static const char helped[] = "__global__ void helped(float *out)\n"
                             "{\n"
                             "    out[threadIdx.x] = 1;\n"
                             "    make_progress(out);\n"
                             "}";

/* One change of a kernel. */
struct row {
    const char *kernel, *symbol;
    const char *from, *to;
    const char *reason; /* a part of it; NULL: it is accepted */
};

#define REDUCTION reduction, "_Z9reductionPKfPfi"
#define GEMM      gemm, "_Z4gemmPKfS0_Pfi"
#define SOFTMAX   softmax, "_Z7softmax5viewsi"
#define HISTOGRAM histogram, "_Z9histogramPKjPjPVji"
#define ORDERS    orders, "_Z6ordersPjS_PVjS1_"
#define RUNTIME   runtime_order, "_Z13runtime_orderPjS_i"
#define SCOPES    scopes, "_Z6scopesPjS_i"
#define CONDITION condition, "_Z9conditionPKfPfi"
#define JUMPS     jumps, "_Z5jumpsPKfPfPji"
#define CALLED    called, "_Z6calledPKfPfi"
#define CLASSES   classes, "_Z7classesPKfPfi"
#define SUMS      sums, "_Z4sumsPKiPKdPxPdi"
#define COPY      copy, "_Z4copyPKfPfm"
#define USES      uses, "_Z4usesPKfPfS0_5sizesib"
#define HELPED    helped, "_Z6helpedPf"
#define STENCIL   stencil, "_Z7stencilPKfPfi"

static const struct row honest[] = {
    /* Two sums, by hand. */
    {REDUCTION, "    for (int i = t; i < n; i += 256)\n        sum += in[i];\n",
     "    float odd = 0; int i = t;\n    for (; i + 256 < n; i += 512) { sum += in[i]; odd += in[i "
     "+ "
     "256]; }\n    if (i < n) sum += in[i];\n    sum += odd;\n",
     NULL},
    /* Its own element stays in a register. */
    {REDUCTION, "            tile[t] += tile[t + s];\n",
     "        { float other = tile[t + s]; sum += other; tile[t] = sum; }\n", NULL},
    {REDUCTION, "            tile[t] += tile[t + s];\n",
     "        { float *own = tile + t; *own = own[s] + *own; }\n", NULL},
    {REDUCTION, "out[blockIdx.x] = tile[0];",
     "{ const float &all = *tile; out[blockIdx.x] = all; }", NULL},
    /* The next tile is read into registers over the barriers. */
    {GEMM,
     "    for (int k = 0; k < n; k += 16) {\n"
     "        left[y][x] = a[row * n + k + x];\n"
     "        right[y][x] = b[(k + y) * n + column];\n"
     "        __syncthreads();\n",
     "    float l = a[row * n + x], r = b[y * n + column];\n"
     "    for (int k = 0; k < n; k += 16) {\n"
     "        left[y][x] = l;\n"
     "        right[y][x] = r;\n"
     "        __syncthreads();\n"
     "        if (k + 16 < n) { l = a[row * n + k + 16 + x]; r = b[(k + 16 + y) * n + column]; }\n",
     NULL},
    {GEMM, "            sum += left[y][i] * right[i][x];\n",
     "        {\n            const float *l = &left[y][0];\n            sum += l[i] * "
     "right[i][x];\n   "
     "     }\n",
     NULL},
    {GEMM, "        for (int i = 0; i < 16; i++)\n            sum += left[y][i] * right[i][x];\n",
     "        float l[4];\n        for (int i = 0; i < 16; i += 4) {\n            for (int j = 0; "
     "j < "
     "4; j++) l[j] = left[y][i + j];\n            sum += l[0] * right[i][x]; sum += l[1] * right[i "
     "+ "
     "1][x]; sum += l[2] * right[i + 2][x]; sum += l[3] * right[i + 3][x];\n        }\n",
     NULL},
    /* What was just written is not read again. */
    {SOFTMAX, "        v.out[i] = expf(v.in[i] - most);\n        sum += v.out[i];\n",
     "        float e = expf(v.in[i] - most);\n        v.out[i] = e;\n        sum += e;\n", NULL},
    {SOFTMAX, "        v.out[i] /= sum;\n", "        v.out[i] = v.out[i] * (1 / sum);\n", NULL},
    {SOFTMAX, "    for (int i = 0; i < 256; i++)\n        sum += total[i];\n",
     "    float *at = total; float a = 0, b = 0;\n    for (int i = 0; i < 256; i += 2) { a += "
     "*at++; "
     "b += *at++; }\n    sum = a + b;\n",
     NULL},
    {HISTOGRAM,
     "    for (int i = t; i < n; i += 256)\n        atomicAdd(&bins[in[i] & 255], 1u);\n",
     "    unsigned next = (int)t < n ? in[t] : 0;\n    for (int i = t; i < n; i += 256) {\n        "
     "unsigned *bin = &bins[next & 255];\n        next = i + 256 < n ? in[i + 256] : 0;\n        "
     "atomicAdd(bin, 1u);\n    }\n",
     NULL},
    {HISTOGRAM, "    atomicAdd(&out[t], bins[t]);\n",
     "    unsigned count = bins[t], *to = out + t;\n    atomicAdd(to, count);\n", NULL},
    {STENCIL, "float next = line[t] + line[t + 1] + line[t + 2];",
     "const float *l = line + t; float next = l[0] + l[1]; next += l[2];", NULL},
    {STENCIL, "    line[t + 1] = in[i];\n    if (t == 0)\n        line[0] = i ? in[i - 1] : 0;\n",
     "    if (t == 0)\n        line[0] = i ? in[i - 1] : 0;\n    float own = in[i];\n    line[t + "
     "1] "
     "= own;\n",
     NULL},
    {ORDERS, "constexpr int release = __ATOMIC_RELEASE,",
     "constexpr int two = 2, release = two + 1,", NULL},
    {ORDERS, "constexpr int release = __ATOMIC_RELEASE,",
     "constexpr unsigned two = 2; constexpr int release = (two | 1u) + 4294967295u + 1u,", NULL},
};

static const struct row moved[] = {
    /* Behind or before the barrier that stands where it stood. */
    {REDUCTION, "    tile[t] = sum;\n    __syncthreads();\n",
     "    __syncthreads();\n    tile[t] = sum;\n", "line 9: tile is written here"},
    {REDUCTION, "            tile[t] += tile[t + s];\n        __syncthreads();\n",
     "            sum += tile[t + s];\n        __syncthreads();\n        tile[t] = sum;\n",
     "line 14: tile is written here"},
    {REDUCTION, "        __syncthreads();\n    }\n    if (t == 0)\n",
     "        out[blockIdx.x] = tile[0];\n        __syncthreads();\n    }\n    if (t == 0)\n",
     "what out points to is written here"},
    {REDUCTION, "            tile[t] += tile[t + s];\n        __syncthreads();\n    }\n",
     "            ;\n        __syncthreads();\n    }\n    for (unsigned s = 128; s > 0; s >>= 1)\n "
     "   "
     "    tile[t] += tile[t + s];\n",
     "tile is written here"},
    {GEMM,
     "        __syncthreads();\n        for (int i = 0; i < 16; i++)\n            sum += "
     "left[y][i] * "
     "right[i][x];\n        __syncthreads();\n",
     "        __syncthreads();\n        __syncthreads();\n        for (int i = 0; i < 16; i++)\n   "
     "     "
     "    sum += left[y][i] * right[i][x];\n",
     "left is read here"},
    {GEMM, "        right[y][x] = b[(k + y) * n + column];\n        __syncthreads();\n",
     "        __syncthreads();\n        right[y][x] = b[(k + y) * n + column];\n",
     "right is written here"},
    {GEMM, "        left[y][x] = a[row * n + k + x];\n",
     "        float *p = &right[0][0]; if (n < 0) p = &left[0][0]; left[y][x] = p[x];\n",
     " is read here, and not"},
    {GEMM, "    c[row * n + column] = sum;\n", "    c[row * n + column] = sum + 0 * left[y][x];\n",
     "left is read here"},
    {SOFTMAX, "    largest[t] = most;\n    __syncthreads();\n",
     "    __syncthreads();\n    largest[t] = most;\n", "the dynamic LDS is written there"},
    {SOFTMAX, "    largest[t] = most;\n    __syncthreads();\n",
     "    struct views w = v; __syncthreads();\n    w.out = largest; w.out[t] = most;\n", "struct"},
    {SOFTMAX, "    largest[t] = most;\n    __syncthreads();\n",
     "    float *p[2] = {v.out, largest};\n    __syncthreads();\n    p[1][t] = most;\n",
     "the dynamic LDS is written there"},
    {SOFTMAX, "    total[t] = sum;\n    __syncthreads();\n    sum = 0;\n",
     "    total[t] = sum;\n    for (int i = t; i < n; i += 256) sum += v.out[i];\n    "
     "__syncthreads();\n    sum = 0;\n",
     NULL}, /* it is read there in the original, too: up to the replay */
    {STENCIL, "    __syncthreads();\n    line[t + 1] = next;\n",
     "    line[t + 1] = next;\n    __syncthreads();\n", "line is written here"},
    {STENCIL, "    __syncthreads();\n    out[i] = line[t] + line[t + 1] + line[t + 2];\n",
     "    float last = line[t] + line[t + 1] + line[t + 2];\n    __syncthreads();\n    out[i] = "
     "last;\n",
     "line is read here"},
    {STENCIL,
     "    if (t == 255)\n        line[257] = i + 1 < n ? in[i + 1] : 0;\n    __syncthreads();\n",
     "    __syncthreads();\n    if (t == 255)\n        line[257] = i + 1 < n ? in[i + 1] : 0;\n",
     "line is written here"},
    {STENCIL, "    __syncthreads();\n    line[t + 1] = next;\n",
     "    float &own = *(line + t + 1), *alias[1] = {&own}; (n, *alias[0]) = next;\n    "
     "__syncthreads();\n",
     "line is written here"},
    {STENCIL, "    __syncthreads();\n    line[t + 1] = next;\n",
     "    float *p = nullptr, **q = &p; *q = line; p[t + 1] = next;\n    __syncthreads();\n",
     "line is written here"},
    {STENCIL, "    __syncthreads();\n    line[t + 1] = next;\n",
     "    for (float &x : line) if (&x == line + t + 1) x = next;\n    __syncthreads();\n",
     "line is written here"},
    {STENCIL, "    __syncthreads();\n    line[t + 1] = next;\n",
     "    views v = {line, line}; views w; w = v; w.out[t + 1] = next;\n    __syncthreads();\n",
     "makes no object of views"},
    {STENCIL, "    __syncthreads();\n    line[t + 1] = next;\n",
     "    float *p = (t & 1) ? line : line + 1; (t & 1 ? p[t + 1] : p[t]) = next;\n    "
     "__syncthreads();\n",
     "line is written here"},
    {STENCIL, "    __syncthreads();\n    line[t + 1] = next;\n",
     "    __builtin_memcpy(&line[t + 1], &next, 4);\n    __syncthreads();\n", "__builtin_memcpy()"},
    {STENCIL, "    __syncthreads();\n    line[t + 1] = next;\n",
     "    (t + 1)[line]++;\n    __syncthreads();\n", "line is written here"},
    {STENCIL, "    __syncthreads();\n    line[t + 1] = next;\n",
     "    __syncthreads();\n    float *volatile_ = line; volatile_[t + 1] = next; if (n < 0) for "
     "(;;) { float z = line[t]; out[i] = z; }\n",
     "line is read here"},
    {STENCIL, "out[i] = line[t] + line[t + 1] + line[t + 2];",
     "float *p = (float *)nullptr; p[i] = 1; out[i] = line[t];",
     "memory of which it cannot be told is written here"},
    {STENCIL, "out[i] = line[t] + line[t + 1] + line[t + 2];",
     "auto &l = line; float (*p)[258] = &l; out[i] = (*p)[t]; (*p)[t] = 0;",
     "line is written here"},
};

static const struct row atomics[] = {
    /* Plain beside atomic. */
    {HISTOGRAM, "    atomicAdd(&out[t], bins[t]);\n",
     "    out[t] += bins[t];\n    atomicAdd(&out[t], bins[t] - bins[t]);\n",
     "line 10: what out points to is read here"},
    {HISTOGRAM, "    atomicAdd(&out[t], bins[t]);\n",
     "    atomicAdd(&out[t], bins[t] + 0 * out[t]);\n", "what out points to is read here"},
    {HISTOGRAM, "    atomicAdd(&totals[t], 1u);\n",
     "    unsigned *p = totals; *p = *p; atomicAdd(&totals[t], 1u);\n", "totals"},
    {HISTOGRAM, "    bins[t] = 0;\n", "    bins[t] = 0 * totals[t];\n", "totals"},
    /* To something else. */
    {HISTOGRAM, "atomicAdd(&totals[t], 1u);", "atomicAdd(&out[t], 1u);",
     "atomicAdd() on what out points to"},
    {HISTOGRAM, "atomicAdd(&bins[in[i] & 255], 1u);", "atomicAdd(&totals[in[i] & 255], 1u);",
     "atomicAdd() on totals is added"},
    {HISTOGRAM, "atomicAdd(&out[t], bins[t]);", "atomicAdd(t < 300 ? &out[t] : totals, bins[t]);",
     "atomicAdd() on what out points to or totals is added"},
    {HISTOGRAM, "atomicAdd(&totals[t], 1u);", "atomicAdd(&totals[t], 2u);",
     "atomicAdd() on totals"},
    {ORDERS, "ready[t] = seen;\n    data[t] += done[t];",
     "done[t] = seen;\n    data[t] += ready[t];",
     "line 9: a volatile write on what done points to is added"},
    {ORDERS, "ready[t] = seen;", "ready[t] += seen;", "a volatile change on what ready"},
    {ORDERS, "data[t] += done[t];", "data[t] += *(unsigned *)(done + t);", "a volatile read"},
    /* Weaker. */
    {ORDERS, "release = __ATOMIC_RELEASE", "release = __ATOMIC_RELAXED",
     "__builtin_amdgcn_fence()"},
    {ORDERS, "agent = __HIP_MEMORY_SCOPE_AGENT", "agent = __HIP_MEMORY_SCOPE_SINGLETHREAD",
     "__hip_atomic_store() on what flags points to"},
    {ORDERS, "    const unsigned t", "    constexpr int outside = 0; const unsigned t",
     "__hip_atomic_load()"},
    {ORDERS, "    const unsigned t", "    int outside = __ATOMIC_ACQUIRE; const unsigned t",
     "__hip_atomic_load()"},
    {ORDERS, "&flags[t ^ 1], outside", "&flags[t ^ 1], outside - 2", "__hip_atomic_load()"},
    {RUNTIME, "1 + 2", "3", "__hip_atomic_load()"},
    /* Each value in its own type. */
    {ORDERS, "&flags[t ^ 1], outside", "&flags[t ^ 1], (bool)outside", "__hip_atomic_load()"},
    {SCOPES, "__HIP_MEMORY_SCOPE_AGENT", "(bool)__HIP_MEMORY_SCOPE_AGENT", "__hip_atomic_store()"},
    {SCOPES,
     "t = threadIdx.x;\n    __hip_atomic_store(&flags[t], 1u, __ATOMIC_SEQ_CST, "
     "__HIP_MEMORY_SCOPE_AGENT",
     "t = threadIdx.x;\n    constexpr bool agent = __HIP_MEMORY_SCOPE_AGENT;\n    "
     "__hip_atomic_store(&flags[t], 1u, __ATOMIC_SEQ_CST, agent",
     "__hip_atomic_store()"},
    {SCOPES, "__ATOMIC_SEQ_CST", "(4294967295u + 5u) / 858993460u", "__hip_atomic_store()"},
    {SCOPES, "__ATOMIC_SEQ_CST", "(unsigned char)261 - 5", "__hip_atomic_store()"},
    {SCOPES, "1 + 2", "3", "__hip_atomic_store()"},
};

static const struct row widths[] = {
    {SUMS, "        sum += in[i];\n", "        int at = i + 0 * n; sum += in[at];\n", NULL},
    {SUMS, "        sum += in[i];\n", "        const long long one = in[i]; sum = sum + one;\n",
     NULL},
    {SUMS, "        all += d[i] * 0.5;\n    }\n",
     "        all += 0.5 * d[i];\n    }\n    if ((float)sum < 0 && n + 1 < 0) all = 0;\n", NULL},
    {SUMS, "    for (int i = t;", "    for (long i = t;", NULL},
    {COPY, "size_t i = threadIdx.x; i < n;", "int i = threadIdx.x; i < (int)n;", NULL},
    {COPY, "size_t at = i * 3 % n;", "int at = (int)i * 3 % (int)n;", NULL},
    {SUMS, "long long sum", "int sum",
     "line 7: this adds integers of 32 bits, where the original computes with 64"},
    {SUMS, "        sum += in[i];\n", "        int less = in[i] - 1; sum += less; sum++;\n",
     "this adds integers of 32 bits"},
    {SUMS, "sum += in[i];", "sum = (int)(sum + in[i]);", "narrower to integers of 32 bits"},
    {SUMS, "total[t] = sum;", "short low = sum; total[t] = low;",
     "narrower to integers of 16 bits"},
    {SUMS, "double all", "float all", "this adds floating-point numbers of 32 bits"},
    {SUMS, "d[i] * 0.5", "(float)d[i] * 0.5f", "multiplies floating-point numbers of 32 bits"},
    {SUMS, "d[i] * 0.5", "(float)(d[i] * 0.5)", "narrower to floating-point numbers of 32 bits"},
    {SUMS,
     "    for (int i = t; i < n; i += 256) {\n        sum += in[i];\n        all += d[i] * 0.5;\n",
     "    float part[2] = {0, 0}, *at = part;\n    for (int i = t; i < n; i += 256) {\n        sum "
     "+= "
     "in[i];\n        at[i & 1] += d[i] * 0.5;\n        all = part[0] + (double)part[1];\n",
     "this adds floating-point numbers of 32 bits"},
    {SUMS, "        sum += in[i];\n", "        int x = (int)sum, &y = x; y += in[i]; sum = x;\n",
     "this adds integers of 32 bits"},
};

static const struct row distances[] = {
    {STENCIL, "    line[t + 1] = in[i];\n",
     "    const float *p = in + i; line[t + 1] = in[p - in];\n", NULL},
    {STENCIL, "out[i] = ", "out[in - out + i] = ", "line 15: a number of pointers"},
    {STENCIL, "out[i] = ", "*(out + (in - out) + i) = ", "line 15: a number of pointers"},
    {STENCIL, "    out[i] = ", "    const float *p = t ? in : line; out[p - in + i] = ",
     "a number of pointers"},
    {STENCIL, "    out[i] = ",
     "    long to = in - (const float *)0, from = out - (float *)0; out[to - from + i] = ",
     "a number of pointers"},
    {STENCIL, "    out[i] = ", "    long to = (long)in - (long)out; out[to / 4 + i] = ",
     "a number of pointers"},
};

#define LAST_ROUND "            sum += left[y][i] * right[i][x];\n        __syncthreads();\n"

/* Whether and how often each barrier is met. */
static const struct row ways[] = {
    {GEMM, LAST_ROUND,
     "            sum += left[y][i] * right[i][x];\n        if (k % 32 == 0) continue;\n        "
     "__syncthreads();\n",
     "line 12: continue is added"},
    {GEMM, LAST_ROUND,
     "            sum += left[y][i] * right[i][x];\n        if (sum == 0) break;\n        "
     "__syncthreads();\n",
     "line 12: break is added"},
    {GEMM, LAST_ROUND,
     "            sum += left[y][i] * right[i][x];\n        switch (k & 31) { case 0: continue; "
     "default: break; }\n        __syncthreads();\n",
     "line 12: continue is added"},
    {GEMM, LAST_ROUND,
     "            sum += left[y][i] * right[i][x];\n        switch (k & 31) { case 0: sum += 0; "
     "break; default: break; }\n        __syncthreads();\n",
     NULL},
    {GEMM, "        for (int i = 0; i < 16; i++)\n",
     "        for (int i = 0;; i++)\n            if (i > 15) break; else if (i > 99) continue; "
     "else\n",
     NULL},
    {GEMM, "for (int k = 0; k < n; k += 16)", "for (int k = (0); (k < n); (k += 16))", NULL},
    {GEMM, "for (int k = 0; k < n; k += 16)", "for (int k = 0; k < n - 16; k += 16)",
     "line 6: the head of a loop that barriers depend on is added or changed"},
    {GEMM, "for (int k = 0; k < n; k += 16)", "for (int k = 0; k < n; k += 32)",
     "line 6: the head of a loop that barriers"},
    {REDUCTION, "        if (t < s)\n            tile[t] += tile[t + s];\n",
     "        if (!(t >= s))\n            tile[t] += tile[t + s];\n", NULL},
    {REDUCTION, "    for (unsigned s = 128; s > 0; s >>= 1) {\n        if (t < s)\n",
     "    for (int once = 0; once < 1; once++) {\n        for (unsigned s = 128; s > 0; s >>= 1)\n "
     " "
     "      if (t < s)\n",
     "line 10: the head of a loop that barriers"},
    {REDUCTION, "s > 0;", "s > (t < 64 ? 0u : 32u);", "line 10: the head of a loop that barriers"},
    {JUMPS, "i > 4 && n < 8", "i > 4 && t < 8", "line 8: a condition that barriers"},
    {JUMPS, "n > 99", "t > 99", "line 5: a condition that barriers"},
    {JUMPS, "if (out[i] > 5)\n            continue;\n",
     "if (!(out[i] <= 5))\n            continue;\n", NULL},
    {JUMPS, "            continue;\n", "            break;\n", "line 17: break is added"},
    {REDUCTION, "            tile[t] += tile[t + s];\n        __syncthreads();\n",
     "            tile[t] += tile[t + s];\n        s >>= 4;\n        __syncthreads();\n",
     "line 13: a value of s, on which barriers depend,"},
    {REDUCTION, "            tile[t] += tile[t + s];\n        __syncthreads();\n",
     "            tile[t] += tile[t + s];\n        { unsigned &u = s; u = 1; }\n        "
     "__syncthreads();\n",
     "line 13: a value of s"},
    {GEMM, "    float sum = 0;\n", "    float sum = 0; n = n > 64 ? 64 : n;\n",
     "line 5: a value of n"},
    {CONDITION, "    if (n > 64)\n        __syncthreads();\n",
     "    {\n        const int n = 99;\n        if (n > 64)\n            __syncthreads();\n    }\n",
     "line 7: a value of n"},
    {CONDITION, "unsigned t = threadIdx.x;", "const unsigned t = threadIdx.x; const int m = n;",
     NULL},
    {CONDITION, "    if (n > 64)", "    if (((n)) > (64))", NULL},
    {CONDITION, "if (n > 64)", "if (n > 1 << 30)",
     "line 6: a condition that barriers depend on is added or changed"},
    {CONDITION, "if (n > 64)", "if (t < 64)", "line 6: a condition that barriers"},
    {CONDITION, "    if (n > 64)", "    if (constexpr int n = 0; n > 64)",
     "line 6: a condition that barriers"},
};

/* What is in them counts apart from what is around them. */
static const struct row lambdas[] = {
    {CALLED, "{ line[t] = v; }", "{ float *to = line + t; *to = v; }", NULL},
    {CALLED, "for (; i > n; i--) if (i & 1) break;", "if (i > n) i = n;", NULL},
    {CALLED, "    __syncthreads();\n    put(in[t]);\n",
     "    line[t ^ 1] = in[t ^ 1]; __syncthreads();\n    put(in[t]);\n",
     "line 7: line is written here"},
    {CALLED, "{ line[t] = v; }", "{ line[t] = v + 0 * line[t ^ 1]; }", "line 5: line is read here"},
    {CALLED, "{ line[t] = v; }", "{ line[t] = v; out[t] = v; }",
     "line 5: what out points to is written here"},
    {CALLED, "__syncthreads(); };\n", "}; __syncthreads();\n",
     "__syncthreads() is missing, or stands elsewhere"},
    {CLASSES, "out[t] = all[t ^ 128];", "{ float other = all[t ^ 128]; out[t] = other; }", NULL},
    {CLASSES, "at[t] = v; __syncthreads();", "at[t]  =  v; /* all */ __syncthreads();", NULL},
    {CLASSES, "__syncthreads(); }", "}", "line 3: a class in the kernel is added or changed"},
    {CLASSES, "at[t] = v;", "at[t ^ 1] = v;", "line 3: a class in the kernel"},
    {CALLED, "    meet(3);\n    out", "    out[t] = 0; meet(3);\n    out",
     "what out points to is written here"},
};

static char *scratch;
static struct rp_compile_command *command;

/* What a kernel uses of its surroundings is there for other values than those of the capture, and
 * what only looks like a function of HIP is none. */
static const struct row surroundings[] = {
    {USES, "blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x + blockDim.x * blockIdx.x", NULL},
    {USES, "    if (bias)\n        v += bias[i];", "    v += bias != nullptr ? bias[i] : 0;", NULL},
    {USES, "float v = in[i * p.stride]", "int stride = p.stride; float v = in[i * stride]", NULL},
    {USES, "blockDim.x", "256", "line 3 of the original uses blockDim.x"},
    {USES, "blockIdx.x", "(i >> 8)", "uses blockIdx.x"},
    {USES, "i >= n", "i >= 4096", "uses n"},
    {USES, "i >= n", "(void)n, (void)sizeof(n), i >= 4096", "uses n"},
    {USES, "i * p.stride", "i", "uses p.stride"},
    {USES, "* p.factor", "", "uses p.factor"},
    {USES, "* gain", "* 2.0f", "uses gain"},
    {USES, "    if (bias)\n        v += bias[i];\n", "", "uses whether bias is null"},
    {USES, "    if (bias)\n        v += bias[i];\n", "v += bias[i];\n",
     "uses whether bias is null"},
    {USES, "    if (more)\n", "", "uses more"},
    {USES, "    v += __hip", "    if (v > 0) v += __hip",
     "__hip_ds_swizzlef() is missing, or stands elsewhere"},
    {HELPED, "    make_progress(out);\n", "", "make_progress() is missing"},
};

static int set_up(void **state)
{
    rp_autofree char *path = NULL;

    if (sources_begin(state) < 0)
        return -1;
    free(scratch_put("more_hip.h", more_hip));
    path = scratch_put("k.hip", "");
    scratch = rp_path_join(scratch_dir, "scratch");
    if (mkdir(scratch, 0700) != 0)
        return -1;
    command = sources_command("hipcc -nogpuinc -O3 {source}", path);
    return 0;
}

static int tear_down(void **state)
{
    rp_compile_command_free(command);
    free(scratch);
    return scratch_end(state);
}

static void check(const struct rp_kernel_source *source, const struct row *row)
{
    const char *at = strstr(row->kernel, row->from);
    rp_autofree char *text = NULL;
    struct rp_guard_result result;
    struct rp_err err = RP_ERR_INIT;
    int rc;

    if (!at)
        fail_msg("the kernel has no '%s'", row->from);
    text = rp_format("%.*s%s%s", (int)(at - row->kernel), row->kernel, row->to,
                     at + strlen(row->from));
    rc = rp_guard_check(source, text, strlen(text), RP_EDIT_BODY, command, "gfx942", scratch,
                        &result, &err);
    if (!row->reason && rc < 0)
        fail_msg("%s: refused: %s: %s", row->to, err.text,
                 result.compiler_output ? result.compiler_output : "");
    if (row->reason && (rc != -RP_VERDICT || !strstr(err.text, row->reason)))
        fail_msg("%s: '%s' expected, %d: %s: %s", row->to, row->reason, rc, err.text,
                 result.compiler_output ? result.compiler_output : "");
    rp_guard_result_free(&result);
}

/** Rows of one kernel stand together: it is read once. */
static void run(const struct row *rows, size_t count)
{
    struct rp_kernel_source *source = NULL;

    for (size_t i = 0; i < count; i++) {
        if (i == 0 || rows[i].kernel != rows[i - 1].kernel) {
            rp_autofree char *text = rp_format("#include \"more_hip.h\"\n%s\n", rows[i].kernel);
            rp_autofree char *path = scratch_put("k.hip", text);

            rp_kernel_source_free(source);
            source = sources_kernel(command, path, rows[i].symbol);
        }
        check(source, &rows[i]);
    }
    rp_kernel_source_free(source);
}

static void honest_rewrites_are_accepted(void **state)
{
    (void)state;
    run(honest, sizeof honest / sizeof *honest);
}

static void nothing_moves_over_barriers(void **state)
{
    (void)state;
    run(moved, sizeof moved / sizeof *moved);
}

static void atomics_stay_what_they_are(void **state)
{
    (void)state;
    run(atomics, sizeof atomics / sizeof *atomics);
}

static void arithmetic_keeps_its_width(void **state)
{
    (void)state;
    run(widths, sizeof widths / sizeof *widths);
}

static void memory_is_reached_through_its_own_pointers(void **state)
{
    (void)state;
    run(distances, sizeof distances / sizeof *distances);
}

static void barriers_are_met_under_the_same_conditions(void **state)
{
    (void)state;
    run(ways, sizeof ways / sizeof *ways);
}

static void lambdas_and_classes_count_apart(void **state)
{
    (void)state;
    run(lambdas, sizeof lambdas / sizeof *lambdas);
}

static void what_it_depends_on_is_still_used(void **state)
{
    (void)state;
    run(surroundings, sizeof surroundings / sizeof *surroundings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(honest_rewrites_are_accepted),
        cmocka_unit_test(nothing_moves_over_barriers),
        cmocka_unit_test(arithmetic_keeps_its_width),
        cmocka_unit_test(memory_is_reached_through_its_own_pointers),
        cmocka_unit_test(atomics_stay_what_they_are),
        cmocka_unit_test(lambdas_and_classes_count_apart),
        cmocka_unit_test(what_it_depends_on_is_still_used),
        cmocka_unit_test(barriers_are_met_under_the_same_conditions),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
