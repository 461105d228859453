#include "optimize/kernel_find.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/ast.h"

/* Names of one file get a suffix when files are linked on the device (".static.<hash>"). */
static size_t symbol_bytes(const char *symbol)
{
    return strcspn(symbol, ".");
}

static bool same_symbol(const char *a, const char *b)
{
    size_t bytes = symbol_bytes(a);

    return bytes == symbol_bytes(b) && memcmp(a, b, bytes) == 0;
}

/** The names of a nested name (Itanium C++ ABI, 5.1.2), as far as they are plain ones. */
static bool read_names(const char *at, struct rp_buf *filter, struct rp_buf *name)
{
    bool nested = *at == 'N';
    bool any = false;

    at += nested + (*at == 'L');
    while (isdigit((unsigned char)*at)) {
        char *text;
        unsigned long length = strtoul(at, &text, 10);

        if (length == 0 || length > strlen(text))
            return false;
        name->len = 0;
        rp_buf_add(name, text, length);
        rp_buf_puts(filter, any ? "::" : "");
        if (strncmp(rp_buf_text(name), "_GLOBAL__N", strlen("_GLOBAL__N")) == 0)
            rp_buf_puts(filter, "(anonymous namespace)");
        else
            rp_buf_puts(filter, rp_buf_text(name));
        at = text + length;
        any = true;
        if (!nested)
            break;
        at += *at == 'L';
    }
    /* Of a member of a template, the class is found, and no kernel in it. */
    if (nested && *at != 'E' && *at != 'I')
        return false;
    return any;
}

int rp_symbol_parts(const char *symbol, struct rp_symbol_parts *ret, struct rp_err *err)
{
    rp_autobuf filter = {0};
    rp_autobuf name = {0};
    struct rp_symbol_parts parts = {0};

    parts.symbol = strndup(symbol, symbol_bytes(symbol));
    if (!parts.symbol)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (strncmp(parts.symbol, "_Z", 2) != 0) {
        rp_buf_puts(&filter, parts.symbol);
        rp_buf_puts(&name, parts.symbol);
    } else if (!read_names(parts.symbol + 2, &filter, &name)) {
        int rc =
            rp_fail(err, RP_BAD_INPUT,
                    "the kernel %s is a member of a class, or what its name means is not known: "
                    "only functions in namespaces can be changed",
                    parts.symbol);

        free(parts.symbol);
        return rc;
    }
    parts.filter = rp_buf_steal(&filter);
    parts.name = rp_buf_steal(&name);
    if (!parts.filter || !parts.name) {
        rp_symbol_parts_free(&parts);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    *ret = parts;
    return 0;
}

void rp_symbol_parts_free(struct rp_symbol_parts *parts)
{
    free(parts->symbol);
    free(parts->name);
    free(parts->filter);
    *parts = (struct rp_symbol_parts){0};
}

static const struct rp_ast_node *body_of(const struct rp_ast_node *function)
{
    for (size_t i = 0; i < function->count; i++)
        if (rp_ast_is(&function->children[i], "CompoundStmt"))
            return &function->children[i];
    return NULL;
}

static bool is_definition(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "FunctionDecl") && body_of(node);
}

struct search {
    const char *symbol;
    const struct rp_ast_node *function; /* found */
};

static void search_symbol(struct search *search, const struct rp_ast_node *node)
{
    if (!search->function && is_definition(node) && node->mangled &&
        same_symbol(node->mangled, search->symbol))
        search->function = node;
}

static bool same_end(const struct rp_ast_node *a, const struct rp_ast_node *b)
{
    return a->end.known && b->end.known && a->end.in_file == b->end.in_file &&
           a->end.offset == b->end.offset;
}

/** The template whose pattern is the text of an instance. */
static const struct rp_ast_node *template_of(const struct rp_ast_node *roots, size_t count,
                                             const struct rp_ast_node *function)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; rp_ast_is(&roots[i], "FunctionTemplateDecl") && j < roots[i].count; j++)
            if (is_definition(&roots[i].children[j]) && !roots[i].children[j].mangled &&
                same_end(&roots[i].children[j], function))
                return &roots[i];
    return NULL;
}

static int check_places(const struct rp_ast_node *function, const struct rp_ast_node *outer,
                        const char *symbol, const char *text, size_t bytes, struct rp_err *err)
{
    const struct rp_ast_node *body = body_of(function);

    if (!outer->begin.known || !function->end.known || !body->begin.known || !body->end.known)
        return rp_fail(err, RP_BAD_INPUT, "the compiler does not say where the kernel %s stands",
                       symbol);
    if (!function->end.in_file || !body->begin.in_file || !outer->begin.in_file)
        return rp_fail(err, RP_BAD_INPUT,
                       "the kernel %s is in another file (%s): give that with --source, and with "
                       "--unit the file that includes it",
                       symbol, outer->file ? outer->file : "one that is included");
    if (function->end.macro || body->begin.macro || body->end.macro || outer->begin.argument)
        return rp_fail(err, RP_BAD_INPUT,
                       "the kernel %s comes out of a macro: it can only be changed where it is "
                       "written out",
                       symbol);
    if (body->end.offset >= bytes || body->begin.offset >= body->end.offset ||
        outer->begin.offset >= body->begin.offset || text[body->begin.offset] != '{' ||
        text[body->end.offset] != '}' || function->end.offset != body->end.offset)
        return rp_fail(err, RP_BAD_INPUT, "the places of the kernel %s are not those of the file",
                       symbol);
    return 0;
}

/** Every definition with the same end is the same text. */
static int collect_same(const struct rp_ast_node *roots, size_t count,
                        struct rp_kernel_found *found, struct rp_err *err)
{
    size_t most = 0;

    for (size_t i = 0; i < count; i++)
        most += roots[i].count + 1;
    found->functions = calloc(most + 1, sizeof(struct rp_ast_node *));
    if (!found->functions)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < count; i++) {
        if (is_definition(&roots[i]) && same_end(&roots[i], found->function))
            found->functions[found->count++] = &roots[i];
        for (size_t j = 0; rp_ast_is(&roots[i], "FunctionTemplateDecl") && j < roots[i].count; j++)
            if (is_definition(&roots[i].children[j]) &&
                same_end(&roots[i].children[j], found->function))
                found->functions[found->count++] = &roots[i].children[j];
    }
    return 0;
}

/** extern "C" in front of a single declaration belongs to it. */
static size_t with_linkage(const char *text, size_t begin)
{
    size_t at = begin;

    while (at > 0 && isspace((unsigned char)text[at - 1]))
        at--;
    if (at < 3 || memcmp(text + at - 3, "\"C\"", 3) != 0)
        return begin;
    at -= 3;
    while (at > 0 && isspace((unsigned char)text[at - 1]))
        at--;
    if (at < 6 || memcmp(text + at - 6, "extern", 6) != 0)
        return begin;
    return at - 6;
}

int rp_kernel_find(const struct rp_ast *ast, const char *symbol, const char *text, size_t bytes,
                   struct rp_kernel_found *ret, struct rp_err *err)
{
    struct search search = {.symbol = symbol};
    struct rp_kernel_found found = {0};
    size_t count;
    const struct rp_ast_node *roots = rp_ast_roots(ast, &count), *outer;

    for (size_t i = 0; i < count; i++) {
        search_symbol(&search, &roots[i]);
        for (size_t j = 0; rp_ast_is(&roots[i], "FunctionTemplateDecl") && j < roots[i].count; j++)
            search_symbol(&search, &roots[i].children[j]);
    }
    if (!search.function)
        return rp_fail(err, RP_BAD_INPUT,
                       "there is no definition of the kernel %s: it is in another file, or another "
                       "build made the program",
                       symbol);
    outer = template_of(roots, count, search.function);
    if (!outer)
        outer = search.function;
    if (check_places(search.function, outer, symbol, text, bytes, err) < 0)
        return -RP_BAD_INPUT;
    found.function = search.function;
    found.begin = with_linkage(text, outer->begin.offset);
    found.body_begin = body_of(search.function)->begin.offset;
    found.end = found.body_end = body_of(search.function)->end.offset + 1;
    if (collect_same(roots, count, &found, err) < 0)
        return -RP_ENVIRONMENT;
    *ret = found;
    return 0;
}

void rp_kernel_found_free(struct rp_kernel_found *found)
{
    free(found->functions);
    *found = (struct rp_kernel_found){0};
}
