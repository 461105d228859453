#include "optimize/code_functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/sha256.h"
#include "trace/code_object.h"

static void release(struct rp_code_identity **contents)
{
    rp_code_identity_free(*contents);
}

static bool kernel_hash(const struct rp_code_identity *of, const char *kd, char ret[RP_SHA256_TEXT])
{
    struct rp_buf text = {0};
    const bool told = rp_code_identity_of_kernel(of, kd, SIZE_MAX, &text);

    if (told)
        rp_sha256(text.data, text.len, ret);
    rp_buf_free(&text);
    return told;
}

/* --- all kernels --------------------------------------------------------------------------- */

void rp_code_names_free(char **names)
{
    for (char **name = names; name && *name; name++)
        free(*name);
    free(names);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/** "name.kd" is of the kernel @p symbol. */
static bool is_descriptor_of(const char *name, const char *symbol)
{
    const size_t length = strlen(symbol);

    return strncmp(name, symbol, length) == 0 && strcmp(name + length, ".kd") == 0;
}

static int find_changed(const struct rp_code_identity *before, const struct rp_code_identity *after,
                        const char *symbol, char **names, struct rp_err *err)
{
    const struct rp_code_symbols *symbols = rp_code_identity_symbols(before);
    size_t count = 0;

    for (size_t i = 0; i < symbols->count; i++) {
        char old[RP_SHA256_TEXT], now[RP_SHA256_TEXT];
        Elf64_Sym s;
        const char *name = rp_code_symbol(symbols, i, &s);

        if (!name || !rp_code_symbol_is_kernel(name) || is_descriptor_of(name, symbol) ||
            (kernel_hash(before, name, old) && kernel_hash(after, name, now) &&
             strcmp(old, now) == 0))
            continue;
        names[count] = strndup(name, strlen(name) - strlen(".kd"));
        if (!names[count++])
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    if (count)
        qsort(names, count, sizeof *names, by_name);
    return 0;
}

int rp_code_changed_kernels(const struct rp_code_object *before, const struct rp_code_object *after,
                            const char *symbol, char ***ret, struct rp_err *err)
{
    rp_cleanup(release) struct rp_code_identity *a = NULL, *b = NULL;
    char **names;
    int rc;

    a = rp_code_identity_open(before->bytes, before->size);
    b = a ? rp_code_identity_open(after->bytes, after->size) : NULL;
    if (!b)
        return rp_fail(err, RP_BAD_INPUT, "symbols or sections of a code object cannot be read");
    names = calloc(rp_code_identity_symbols(a)->count + 1, sizeof *names);
    if (!names)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = find_changed(a, b, symbol, names, err);
    if (rc < 0)
        rp_code_names_free(names);
    else
        *ret = names;
    return rc;
}
