#include "optimize/kernel_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/ast.h"
#include "optimize/ast_dump.h"
#include "optimize/compile_command.h"
#include "optimize/kernel_find.h"
#include "optimize/kernel_shape.h"
#include "optimize/source_file.h"
#include "optimize/source_loops.h"
#include "optimize/unit_includes.h"

RP_DEFINE_CLEANUP(struct rp_kernel_source, rp_kernel_source_free)
RP_DEFINE_CLEANUP(struct rp_ast, rp_ast_free)

static int fill(struct rp_kernel_source *source, const struct rp_ast *ast,
                const struct rp_symbol_parts *parts, const struct rp_compile_command *command,
                const char *arch, struct rp_err *err)
{
    rp_cleanup(rp_kernel_found_free) struct rp_kernel_found found = {0};
    struct rp_err other = RP_ERR_INIT;
    int rc = rp_kernel_find(ast, parts->symbol, source->text, source->bytes, &found, err);

    if (rc < 0 && rp_unit_check_includes(command, source->path, arch, &other) < 0) {
        *err = other; /* that is why */
        return -(int)other.code;
    }
    if (rc < 0)
        return rc;
    source->begin = found.begin;
    source->end = found.end;
    source->body_begin = found.body_begin;
    source->body_end = found.body_end;
    source->line = 1;
    for (size_t i = 0; i < source->begin; i++)
        source->line += source->text[i] == '\n';
    rc = rp_source_loops_find(found.function, source, command, arch, err);
    return rc < 0 ? rc
                  : rp_kernel_shape_make(found.functions, found.count, source->text, source->bytes,
                                         &source->shape, err);
}

int rp_kernel_source_read(const struct rp_compile_command *command, const char *path,
                          const char *symbol, const char *arch, struct rp_kernel_source **ret,
                          struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_kernel_source_free) struct rp_kernel_source *source =
        calloc(1, sizeof *source);
    rp_cleanup(rp_symbol_parts_free) struct rp_symbol_parts parts = {0};
    rp_cleanup(rp_cleanup_rp_ast_free) struct rp_ast *ast = NULL;
    rp_autofree char *said = NULL;
    int rc;

    if (!source)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = rp_source_file_read(path, &source->path, &source->text, &source->bytes, err);
    if (rc < 0 || (rc = rp_symbol_parts(symbol, &parts, err)) < 0)
        return rc;
    rc = rp_ast_dump(command, source->path, parts.filter, parts.name, arch, &ast, &said, err);
    if (rc == -RP_VERDICT)
        return rp_fail(err, RP_BAD_INPUT, "the compiler does not accept %s%s: %.700s", path,
                       rp_compile_command_doubt(command), said);
    if (rc < 0)
        return rp_wrap(err, "%s", path);
    source->symbol = strdup(parts.symbol);
    source->name = strdup(parts.name);
    if (!source->symbol || !source->name)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = fill(source, ast, &parts, command, arch, err);
    if (rc < 0)
        return rp_wrap(err, "%s", path);
    *ret = rp_steal(source);
    return 0;
}

void rp_kernel_source_free(struct rp_kernel_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < source->loop_count; i++)
        free(source->loops[i].why_not);
    free(source->loops);
    rp_kernel_shape_free(source->shape);
    free(source->path);
    free(source->text);
    free(source->name);
    free(source->symbol);
    free(source);
}
