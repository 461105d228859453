/**
 * @file fuzz_guard_text.c
 * @brief Any bytes as a candidate's text: refused with a reason, or, in scope unroll, the original
 *        with other unroll pragmas and comments.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "optimize/candidate_check.h"
#include "optimize/kernel_source.h"
#include "optimize/source_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char head[] = "template <int N> __global__ void fuzzed(float *a, int n)\n";
static const char kernel[] = "template <int N> __global__ void fuzzed(float *a, int n)\n"
                             "{\n"
                             "    for (int i = 0; i < N; i++)\n"
                             "        a[i] += 1;\n"
                             "#pragma unroll 2\n"
                             "    for (int i = n; i > 0; --i) {\n"
                             "        __syncthreads();\n"
                             "        if (a[i] > 0 && n)\n"
                             "            return;\n"
                             "    }\n"
                             "#if 0\n"
                             "    const char *x = R\"x(})x\", y = '\\'';\n"
                             "#endif\n"
                             "}\n";

/** The bytes of all tokens that are no unroll pragmas'. @return how many */
static size_t significant(const char *text, size_t bytes, char *out)
{
    struct rp_tokens tokens = {0};
    size_t count = 0;

    if (rp_tokens_read(text, bytes, &tokens, NULL) < 0)
        __builtin_trap();
    for (size_t i = 0; i < tokens.count; i++) {
        size_t skip = rp_tokens_unroll(text, &tokens, i, NULL), length;

        if (skip) {
            i += skip - 1;
            continue;
        }
        length = tokens.list[i].end - tokens.list[i].begin;
        if (tokens.list[i].kind == RP_TOKEN_DIRECTIVE)
            continue; /* blanks in it do not count */
        memcpy(out + count, text + tokens.list[i].begin, length);
        count += length;
        out[count++] = ' ';
    }
    rp_tokens_free(&tokens);
    return count;
}

static void check_same(const char *text, const struct rp_guard_part *part)
{
    char *a = malloc(2 * sizeof kernel), *b = malloc(2 * (part->end - part->begin) + 2);
    size_t length;

    if (!a || !b)
        abort();
    length = significant(kernel, sizeof kernel - 1, a);
    if (significant(text + part->begin, part->end - part->begin, b) != length ||
        memcmp(a, b, length) != 0)
        __builtin_trap();
    free(a);
    free(b);
}

static void check(const char *text, size_t size, enum rp_edit_scope scope)
{
    struct rp_source_loop loops[] = {
        {.begin = (size_t)(strstr(kernel, "for (int i = 0") - kernel)},
        {.begin = (size_t)(strstr(kernel, "for (int i = n") - kernel), .why_not = (char *)"x"}};
    const struct rp_kernel_source source = {.path = (char *)"k.hip",
                                            .text = (char *)kernel,
                                            .bytes = sizeof kernel - 1,
                                            .end = sizeof kernel - 2,
                                            .body_begin = sizeof head - 1,
                                            .body_end = sizeof kernel - 2,
                                            .loops = loops,
                                            .loop_count = 2};
    struct rp_guard_part part;
    struct rp_err err = RP_ERR_INIT;

    if (rp_guard_text(&source, text, size, scope, &part, &err) < 0) {
        if (err.code != RP_VERDICT || !err.text[0])
            __builtin_trap(); /* refused without saying why */
        return;
    }
    if (part.begin >= part.body_begin || part.body_begin >= part.end || part.end > size ||
        text[part.body_begin] != '{' || text[part.end - 1] != '}')
        __builtin_trap();
    if (scope == RP_EDIT_UNROLL)
        check_same(text, &part);
}

/* As it is, and as the body behind a sound head. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(sizeof head + size);

    if (!text)
        return 0;
    memcpy(text, head, sizeof head - 1);
    memcpy(text + sizeof head - 1, data, size);
    check(text, sizeof head - 1 + size, RP_EDIT_UNROLL);
    check(text, sizeof head - 1 + size, RP_EDIT_BODY);
    free(text);
    text = malloc(size ? size : 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    check(text, size, RP_EDIT_UNROLL);
    free(text);
    return 0;
}
