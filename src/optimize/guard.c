/* Text first, then the file with the candidate in it as the compiler sees it. */
#include "optimize/guard.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/ast.h"
#include "optimize/ast_dump.h"
#include "optimize/guard_text.h"
#include "optimize/kernel_find.h"
#include "optimize/kernel_shape.h"
#include "optimize/kernel_source.h"

RP_DEFINE_CLEANUP(struct rp_ast, rp_ast_free)
RP_DEFINE_CLEANUP(struct rp_kernel_shape, rp_kernel_shape_free)

/* The candidate's file while it is looked at. */
struct candidate {
    const struct rp_kernel_source *original;
    struct rp_buf text;
    char *path;
    size_t begin, end; /* of the kernel in text */
    size_t body_begin;
    unsigned line; /* as which a proposer counts its first one */
};

static void free_candidate(struct candidate *candidate)
{
    if (candidate->path)
        unlink(candidate->path);
    free(candidate->path);
    rp_buf_free(&candidate->text);
}

/** Models write LF; a file with CRLF keeps them. */
static void add_part(struct rp_buf *out, const char *text, size_t bytes, bool crlf)
{
    for (size_t i = 0; i < bytes; i++) {
        if (crlf && text[i] == '\n' && (i == 0 || text[i - 1] != '\r'))
            rp_buf_add(out, "\r", 1);
        rp_buf_add(out, text + i, 1);
    }
}

static bool has_crlf(const struct rp_kernel_source *source)
{
    return memmem(source->text + source->begin, source->end - source->begin, "\r\n", 2) != NULL;
}

static int splice(struct candidate *candidate, const char *text, const struct rp_guard_part *part,
                  struct rp_err *err)
{
    const struct rp_kernel_source *original = candidate->original;
    struct rp_buf *out = &candidate->text;
    bool crlf = has_crlf(original);

    candidate->line = part->line;
    rp_buf_add(out, original->text, original->begin);
    candidate->begin = out->len;
    add_part(out, text + part->begin, part->body_begin - part->begin, crlf);
    candidate->body_begin = out->len;
    add_part(out, text + part->body_begin, part->end - part->body_begin, crlf);
    candidate->end = out->len;
    rp_buf_add(out, original->text + original->end, original->bytes - original->end);
    return out->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}

/** Its name ends as the original's does: that says which language it is. */
static int write_file(struct candidate *candidate, const char *scratch_dir, struct rp_err *err)
{
    const char *name = strrchr(candidate->original->path, '/');
    rp_autofree char *real = realpath(scratch_dir, NULL);
    char *path = real && name ? rp_format("%s/guard-%s", real, name + 1) : NULL;

    if (!path)
        return rp_fail(err, RP_ENVIRONMENT, "the folder %s cannot be used", scratch_dir);
    candidate->path = path;
    return rp_write_private_file(path, candidate->text.data, candidate->text.len, err);
}

/** The compiler's own idea of where the kernel begins and ends must be ours. */
static int check_ast(const struct candidate *candidate, const struct rp_ast *ast,
                     struct rp_err *err)
{
    const struct rp_kernel_source *original = candidate->original;
    rp_cleanup(rp_kernel_found_free) struct rp_kernel_found found = {0};
    rp_cleanup(rp_cleanup_rp_kernel_shape_free) struct rp_kernel_shape *shape = NULL;
    const struct rp_shape_text was = {original->shape, original->text, original->begin, 1};
    struct rp_shape_text is = {
        .text = candidate->text.data, .begin = candidate->begin, .line = candidate->line};
    int rc = rp_kernel_find(ast, original->symbol, candidate->text.data, candidate->text.len,
                            &found, err);

    if (rc == -RP_BAD_INPUT)
        return rp_fail(
            err, RP_VERDICT,
            "the compiler does not find the kernel in the changed file: change only what "
            "stands between its { and }");
    if (rc < 0)
        return rc;
    if (found.begin != candidate->begin || found.body_begin != candidate->body_begin ||
        found.end != candidate->end)
        return rp_fail(
            err, RP_VERDICT,
            "the compiler sees the kernel begin or end elsewhere than the text does: give "
            "one complete definition and nothing else");
    rc = rp_kernel_shape_make(found.functions, found.count, candidate->text.data,
                              candidate->text.len, &shape, err);
    if (rc < 0)
        return rc;
    is.shape = shape;
    return rp_kernel_shape_compare(&was, &is, err);
}

static int check_compiled(struct candidate *candidate, const struct rp_compile_command *command,
                          const char *arch, char **ret_output, struct rp_err *err)
{
    rp_cleanup(rp_symbol_parts_free) struct rp_symbol_parts parts = {0};
    rp_cleanup(rp_cleanup_rp_ast_free) struct rp_ast *ast = NULL;
    int rc = rp_symbol_parts(candidate->original->symbol, &parts, err);

    if (rc < 0)
        return rc;
    rc = rp_ast_dump(command, candidate->path, parts.filter, parts.name, arch, &ast, ret_output,
                     err);
    return rc < 0 ? rc : check_ast(candidate, ast, err);
}

int rp_guard_check(const struct rp_kernel_source *original, const char *kernel_text, size_t bytes,
                   enum rp_edit_scope scope, const struct rp_compile_command *command,
                   const char *arch, const char *scratch_dir, struct rp_guard_result *ret,
                   struct rp_err *err)
{
    rp_cleanup(free_candidate) struct candidate candidate = {.original = original};
    rp_autofree char *output = NULL;
    struct rp_guard_part part;
    int rc = rp_guard_text(original, kernel_text, bytes, scope, &part, err);

    *ret = (struct rp_guard_result){0};
    if (rc < 0 || (rc = splice(&candidate, kernel_text, &part, err)) < 0 ||
        (rc = write_file(&candidate, scratch_dir, err)) < 0)
        return rc;
    rc = check_compiled(&candidate, command, arch, &output, err);
    ret->compiler_output = rp_steal(output);
    if (rc < 0)
        return rc;
    ret->bytes = candidate.text.len;
    ret->file_text = rp_buf_steal(&candidate.text);
    return 0;
}

void rp_guard_result_free(struct rp_guard_result *result)
{
    free(result->file_text);
    free(result->compiler_output);
    *result = (struct rp_guard_result){0};
}
