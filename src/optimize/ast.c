#include "optimize/ast.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "optimize/compile_words.h"

/* Declarations of one name; a kernel of a thousand lines has about 5 MB. */
enum { MOST_BYTES = 128 << 20, MOST_ROOTS = 4096 };

struct rp_ast {
    json_t **documents; /* all texts point into them */
    struct rp_ast_node *roots;
    size_t count;
};

RP_DEFINE_CLEANUP(struct rp_ast, rp_ast_free)

/* A place names its file only when that differs from the one printed before. */
struct files {
    const struct rp_ast_file *asked;
    const char *last; /* printed last */
    bool is_asked;    /* last is the one that was asked for */
};

static bool is_same(const struct rp_ast_file *asked, const char *name)
{
    rp_autofree char *file = NULL;

    if (!asked->included || strcmp(name, asked->path) == 0)
        return strcmp(name, asked->path) == 0;
    if (strcmp(rp_base_name(name), rp_base_name(asked->path)) != 0)
        return false;
    file = rp_word_file(asked->directory, name);
    return file && strcmp(file, asked->path) == 0;
}

static const char *text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool flag(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/** "0x55be11652f68"; 0 when there is none. */
static uint64_t id_of(const json_t *object, const char *key)
{
    const char *id = text(object, key);

    return id ? strtoull(id, NULL, 16) : 0;
}

/** A place without macros. */
static struct rp_ast_place read_bare(const json_t *place, struct files *files)
{
    const json_t *offset = json_object_get(place, "offset");
    const json_t *bytes = json_object_get(place, "tokLen");
    const char *file = text(place, "file");
    json_int_t at = json_integer_value(offset), length = json_integer_value(bytes);

    if (file) {
        files->last = file;
        files->is_asked = is_same(files->asked, file);
    }
    if (!json_is_integer(offset) || at < 0 || length < 0 || at > INT32_MAX || length > INT32_MAX)
        return (struct rp_ast_place){0};
    return (struct rp_ast_place){
        .known = true, .in_file = files->is_asked, .offset = (size_t)at, .bytes = (size_t)length};
}

static struct rp_ast_place read_place(const json_t *place, struct files *files)
{
    const json_t *spelling = json_object_get(place, "spellingLoc");
    const json_t *expansion = json_object_get(place, "expansionLoc");
    struct rp_ast_place at;

    if (!expansion)
        return read_bare(place, files);
    read_bare(spelling, files); /* it is printed first: for the file */
    at = read_bare(expansion, files);
    at.macro = true;
    at.argument = flag(expansion, "isMacroArgExpansion");
    return at;
}

static const char *type_of(const json_t *object)
{
    return text(json_object_get(object, "type"), "qualType");
}

/** In the order in which it was printed, for the files: loc, range, inner. */
static void read_places(const json_t *object, struct rp_ast_node *node, struct files *files)
{
    const json_t *range = json_object_get(object, "range");

    read_place(json_object_get(object, "loc"), files);
    node->begin = read_place(json_object_get(range, "begin"), files);
    if (node->begin.known && !node->begin.in_file)
        node->file = files->last;
    node->end = read_place(json_object_get(range, "end"), files);
}

static void read_reference(const json_t *object, struct rp_ast_node *node)
{
    const json_t *reference = json_object_get(object, "referencedDecl");

    if (!reference)
        reference = json_object_get(object, "foundReferencedDecl");
    node->ref_kind = text(reference, "kind");
    node->ref_name = text(reference, "name");
    node->ref_type = type_of(reference);
    node->ref_id = id_of(reference, "id");
    if (!reference)
        node->ref_id = id_of(object, "referencedMemberDecl");
}

/** The parser bounds the depth (JSON_PARSER_MAX_DEPTH), and so the recursion. */
static int read_node(const json_t *object, struct rp_ast_node *node, struct files *files)
{
    const json_t *inner = json_object_get(object, "inner"), *child;
    const char *category;
    size_t i;

    node->kind = text(object, "kind");
    node->name = text(object, "name");
    node->type = type_of(object);
    node->desugared = text(json_object_get(object, "type"), "desugaredQualType");
    node->mangled = text(object, "mangledName");
    node->opcode = text(object, "opcode");
    node->value = text(object, "value");
    node->cast = text(object, "castKind");
    node->storage = text(object, "storageClass");
    node->tls = text(object, "tls");
    node->id = id_of(object, "id");
    node->implicit = flag(object, "isImplicit") || flag(object, "implicit");
    node->has_else = flag(object, "hasElse");
    node->has_init = flag(object, "hasInit");
    node->has_var = flag(object, "hasVar");
    node->constant = flag(object, "constexpr");
    node->part_of_cast = flag(object, "isPartOfExplicitCast");
    category = text(object, "valueCategory");
    node->lvalue = category && (strcmp(category, "lvalue") == 0 || strcmp(category, "xvalue") == 0);
    read_reference(object, node);
    read_places(object, node, files);
    if (!json_is_array(inner) || json_array_size(inner) == 0)
        return 0;
    node->children = calloc(json_array_size(inner), sizeof *node->children);
    if (!node->children)
        return -1;
    json_array_foreach(inner, i, child)
    {
        node->count = i + 1;
        if (read_node(child, &node->children[i], files) < 0)
            return -1;
    }
    return 0;
}

static void free_children(struct rp_ast_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        free_children(&node->children[i]);
    free(node->children);
}

void rp_ast_free(struct rp_ast *ast)
{
    if (!ast)
        return;
    for (size_t i = 0; i < ast->count; i++) {
        free_children(&ast->roots[i]);
        json_decref(ast->documents[i]);
    }
    free(ast->roots);
    free(ast->documents);
    free(ast);
}

/** Documents end with a } at the beginning of a line. @return bytes with that line; 0 at the end */
static size_t document_bytes(const char *json, size_t bytes)
{
    const char *end = memmem(json, bytes, "\n}\n", 3);

    return end ? (size_t)(end - json) + 3 : bytes;
}

/** The members of the outermost object stand behind two blanks. */
static bool is_named(const char *json, size_t bytes, const char *name)
{
    static const char key[] = "\n  \"name\": \"";
    const char *found = memmem(json, bytes, key, sizeof key - 1);
    size_t left = found ? bytes - (size_t)(found - json) - (sizeof key - 1) : 0;

    return found && left > strlen(name) &&
           memcmp(found + sizeof key - 1, name, strlen(name)) == 0 &&
           found[sizeof key - 1 + strlen(name)] == '"';
}

static int add_document(struct rp_ast *ast, const char *json, size_t bytes,
                        const struct rp_ast_file *file, struct rp_err *err)
{
    struct files files = {.asked = file};
    json_error_t why;
    struct rp_ast_node *roots = realloc(ast->roots, (ast->count + 1) * sizeof *roots);
    json_t **documents;

    if (!roots)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    ast->roots = roots;
    documents = realloc(ast->documents, (ast->count + 1) * sizeof(json_t *));
    if (!documents)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    ast->documents = documents;
    documents[ast->count] = json_loadb(json, bytes, 0, &why);
    if (!documents[ast->count])
        return rp_fail(err, RP_BAD_INPUT, "the compiler's dump: %s (line %d)", why.text, why.line);
    roots[ast->count] = (struct rp_ast_node){0};
    ast->count++;
    if (read_node(documents[ast->count - 1], &roots[ast->count - 1], &files) < 0)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return 0;
}

int rp_ast_read(const char *json, size_t bytes, const struct rp_ast_file *file, const char *name,
                struct rp_ast **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_ast_free) struct rp_ast *ast = calloc(1, sizeof *ast);
    size_t total = 0;

    if (!ast)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t at = 0, length; at < bytes; at += length) {
        int rc;

        length = document_bytes(json + at, bytes - at);
        if (!is_named(json + at, length, name))
            continue;
        total += length;
        if (total > MOST_BYTES || ast->count >= MOST_ROOTS)
            return rp_fail(err, RP_BAD_INPUT, "the declarations of %s are too large to be read",
                           name);
        rc = add_document(ast, json + at, length, file, err);
        if (rc < 0)
            return rc;
    }
    *ret = rp_steal(ast);
    return 0;
}

const struct rp_ast_node *rp_ast_roots(const struct rp_ast *ast, size_t *ret_count)
{
    *ret_count = ast->count;
    return ast->roots;
}
