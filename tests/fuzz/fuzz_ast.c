/**
 * @file fuzz_ast.c
 * @brief Any bytes as the compiler's dump of declarations: refused, or a kernel inside its file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/kernel_source.h"

#include "optimize/propose.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The file whose dump seeds/ast/template is. */
static const char text[] = "#define __global__ __attribute__((global))\n"
                           "__attribute__((device)) void __syncthreads();\n"
                           "template <int N> __global__ void fuzzed(float *a, int n)\n"
                           "{\n"
                           "    for (int i = 0; i < N; i++)\n"
                           "        a[i] += 1;\n"
                           "#pragma unroll 2\n"
                           "    for (int i = n; i > 0; --i) {\n"
                           "        __syncthreads();\n"
                           "        if (a[i] > 0 && n)\n"
                           "            return;\n"
                           "    }\n"
                           "}\n"
                           "template __global__ void fuzzed<3>(float *, int);\n";
enum { BYTES = sizeof text - 1 };

static void check_loops(const struct rp_kernel_source *source)
{
    struct rp_unroll_step *plan = calloc(source->loop_count * 7 + 1, sizeof *plan);

    for (size_t i = 0; i < source->loop_count; i++) {
        const struct rp_source_loop *loop = &source->loops[i];

        if (loop->begin < source->begin || loop->end > source->end || loop->begin > loop->end ||
            loop->pragma_begin > loop->pragma_end || loop->pragma_begin < source->begin ||
            loop->pragma_end > loop->begin)
            __builtin_trap();
    }
    if (plan && unroll_plan(source, NULL, plan) > source->loop_count * 7)
        __builtin_trap();
    free(plan);
}

static void use(const struct rp_kernel_found *found, const char *copy)
{
    struct rp_kernel_source *source = calloc(1, sizeof *source);
    struct rp_err err = RP_ERR_INIT;
    struct rp_shape_text shape;

    if (!source)
        return;
    if (found->begin >= found->body_begin || found->body_begin >= found->end ||
        found->end > BYTES || copy[found->body_begin] != '{' || copy[found->end - 1] != '}' ||
        found->count == 0)
        __builtin_trap();
    source->path = strdup("/seed.hip");
    source->text = strdup(copy);
    source->name = strdup("fuzzed");
    source->bytes = BYTES;
    source->begin = found->begin;
    source->end = found->end;
    if (rp_source_loops_find(found->function, source, &err) == 0)
        check_loops(source);
    source->shape = rp_kernel_shape_make(found->functions, found->count, BYTES);
    shape = (struct rp_shape_text){source->shape, copy, found->begin, 1};
    /* Two instances may have one symbol in such a dump: then the first one counts for both. */
    if (rp_kernel_shape_compare(&shape, &shape, &err) < 0 && found->count < 2)
        __builtin_trap();
    rp_kernel_source_free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* On the heap, so that reading behind it is seen. */
    char *copy = strdup(text);
    struct rp_kernel_found found;
    struct rp_err err = RP_ERR_INIT;
    struct rp_ast *ast;

    if (!copy)
        return 0;
    if (rp_ast_read((const char *)data, size, &(struct rp_ast_file){.path = "seed.hip"}, "fuzzed",
                    &ast, &err) == 0) {
        if (rp_kernel_find(ast, "_Z6fuzzedILi3EEvPfi", copy, BYTES, &found, &err) == 0) {
            use(&found, copy);
            rp_kernel_found_free(&found);
        } else if (!err.text[0]) {
            __builtin_trap();
        }
        rp_ast_free(ast);
    } else if (err.code != RP_BAD_INPUT || !err.text[0]) {
        __builtin_trap(); /* refused without saying why */
    }
    free(copy);
    return 0;
}
