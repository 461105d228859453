#include "gemm_data.h"

#include <string.h>

#include "half.h"

static size_t bytes_of(enum gemm_type type)
{
    static const size_t bytes[] = {2, 2, 1, 4, 1, 4};
    return bytes[type];
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Round to nearest, ties to even. */
static uint16_t bf16_of(float x)
{
    const uint32_t bits = bits_of(x);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The element that stands for so many quarters (integers: ones). */
static uint32_t encoded(enum gemm_type type, int element)
{
    static const uint8_t fp8[] = {0xb8, 0xb0, 0, 0x30, 0x38}; /* E4M3 FNUZ, exponent bias 8 */
    switch (type) {
    case GEMM_F16:
        return host_f16_of_f32((float)element / 4);
    case GEMM_BF16:
        return bf16_of((float)element / 4);
    case GEMM_FP8:
        return fp8[element + 2];
    case GEMM_F32:
        return bits_of((float)element / 4);
    default:
        return (uint32_t)element;
    }
}

static void fill(const struct gemm_matrix *m, size_t count)
{
    const size_t bytes = bytes_of(m->type);
    uint32_t code[5];
    for (int element = -2; element <= 2; element++)
        code[element + 2] = encoded(m->type, element);
    for (size_t i = 0; i < count; i++) /* little endian: the low bytes */
        memcpy((uint8_t *)m->at + i * bytes, &code[gemm_element(m, i) + 2], bytes);
}

/* Whether element i holds this number of sixteenths, rounded to its type (integers: ones). */
static bool holds(const struct gemm_matrix *m, size_t i, int64_t sixteenths)
{
    const size_t bytes = bytes_of(m->type);
    const float x = (float)sixteenths / 16;
    uint32_t there = 0, expected;
    memcpy(&there, (const uint8_t *)m->at + i * bytes, bytes);
    switch (m->type) {
    case GEMM_F16:
        expected = host_f16_of_f32(x);
        break;
    case GEMM_BF16:
        expected = bf16_of(x);
        break;
    case GEMM_F32:
        expected = bits_of(x);
        break;
    default:
        expected = (uint32_t)sixteenths;
        break;
    }
    return there == expected;
}

static size_t elements_of_c(const struct gemm_case *g)
{
    return (size_t)g->m * (size_t)g->n * (size_t)(g->kind == GEMM_BATCHED ? g->batches : 1);
}

/* The batches of an operand may overlap. */
static size_t elements_of(const struct gemm_case *g, int rows, int stride)
{
    const size_t one = (size_t)rows * (size_t)g->k;
    return one + (g->kind == GEMM_BATCHED ? (size_t)(g->batches - 1) * (size_t)stride : 0);
}

void gemm_reset(const struct gemm_case *g, const struct gemm_run *run)
{
    fill(&run->c, elements_of_c(g));
}

void gemm_prepare(struct sim *s, const struct gemm_case *g, struct gemm_run *ret)
{
    const bool inner = g->kind == GEMM_K_INNER;
    const size_t of_a = elements_of(g, g->m, g->stride_a), of_b = elements_of(g, g->n, g->stride_b);
    const int tiles = (g->m + g->tile_m - 1) / g->tile_m * ((g->n + g->tile_n - 1) / g->tile_n);
    const float one = 1;
    ret->a = (struct gemm_matrix){g->in, 1, (size_t)(inner ? g->k : g->m),
                                  sim_alloc(s, of_a * bytes_of(g->in))};
    ret->b = (struct gemm_matrix){g->in, 2, (size_t)(inner ? g->k : g->n),
                                  sim_alloc(s, of_b * bytes_of(g->in))};
    ret->c = (struct gemm_matrix){g->out, 3, (size_t)(inner ? g->n : g->m),
                                  sim_alloc(s, elements_of_c(g) * bytes_of(g->out))};
    fill(&ret->a, of_a);
    fill(&ret->b, of_b);
    gemm_reset(g, ret);
    ret->args.a = ret->a.at;
    ret->args.b = ret->b.at;
    ret->args.c = ret->c.at;
    ret->args.m = g->m;
    ret->args.n = g->n;
    ret->args.k = inner ? g->k * (int)bytes_of(g->in) : g->k;
    ret->args.stride_a = g->stride_a;
    ret->args.stride_b = g->stride_b;
    ret->args.stride_c = g->m * g->n;
    ret->args.alpha = ret->args.beta = g->out == GEMM_I32 ? 1 : bits_of(one);
    const uint32_t blocks = (uint32_t)tiles * (uint32_t)(g->kind == GEMM_BATCHED ? g->batches : 1);
    ret->launch = (struct sim_launch){.grid = {blocks * 256, 1, 1},
                                      .block = {256, 1, 1},
                                      .args = &ret->args,
                                      .args_bytes = g->kind == GEMM_BATCHED ? 56 : 36};
}

bool gemm_right(const struct gemm_case *g, const struct gemm_run *run, int batch, int row,
                int column)
{
    const bool inner = g->kind == GEMM_K_INNER;
    const size_t from_a = (size_t)batch * (size_t)g->stride_a;
    const size_t from_b = (size_t)batch * (size_t)g->stride_b;
    const size_t i = (size_t)row, j = (size_t)column;
    const size_t at = (size_t)batch * (size_t)g->m * (size_t)g->n +
                      (inner ? i * run->c.pitch + j : j * run->c.pitch + i);
    int64_t sum = 0;
    for (size_t k = 0; k < (size_t)g->k; k++)
        sum +=
            gemm_element(&run->a, from_a + (inner ? i * run->a.pitch + k : k * run->a.pitch + i)) *
            gemm_element(&run->b, from_b + (inner ? j * run->b.pitch + k : k * run->b.pitch + j));
    if (g->kind == GEMM_BATCHED) /* in quarters, or ones */
        sum += gemm_element(&run->c, at) * (g->out == GEMM_I32 ? 1 : 4);
    return holds(&run->c, at, sum);
}
