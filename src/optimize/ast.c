#include "optimize/ast.h"

#include <ctype.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/build_command.h"

/* clang prints all declarations of one name; a kernel of a thousand lines has about 5 MB. */
enum { MOST_BYTES = 128 << 20, MOST_ROOTS = 4096 };

struct rp_ast {
    json_t **documents; /**< all texts point into them */
    struct rp_ast_node *roots;
    size_t count;
};

RP_DEFINE_CLEANUP(struct rp_ast, rp_ast_free)

/* A location names its file only when that differs from the one printed before. */
struct files {
    const struct rp_ast_file *asked;
    const char *last; /**< printed last */
    bool is_asked;    /**< last is the one that was asked for */
};

static bool is_same(const struct rp_ast_file *asked, const char *name)
{
    rp_autofree char *file = NULL;

    if (!asked->included || strcmp(name, asked->path) == 0)
        return strcmp(name, asked->path) == 0;
    if (strcmp(rp_base_name(name), rp_base_name(asked->path)) != 0)
        return false;
    file = rp_word_absolute_path(asked->directory, name);
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

/** Reads "0x55be11652f68". It is 0 when there is none. */
static uint64_t id_of(const json_t *object, const char *key)
{
    const char *id = text(object, key);

    return id ? strtoull(id, NULL, 16) : 0;
}

/** Reads a location without macros. */
static struct rp_ast_location read_bare(const json_t *place, struct files *files)
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
        return (struct rp_ast_location){0};
    return (struct rp_ast_location){
        .known = true, .in_file = files->is_asked, .offset = (size_t)at, .bytes = (size_t)length};
}

static struct rp_ast_location read_place(const json_t *place, struct files *files)
{
    const json_t *spelling = json_object_get(place, "spellingLoc");
    const json_t *expansion = json_object_get(place, "expansionLoc");
    struct rp_ast_location at;

    if (!expansion)
        return read_bare(place, files);
    read_bare(spelling, files); /* It is read for its file, because it is printed first. */
    at = read_bare(expansion, files);
    at.macro = true;
    at.argument = flag(expansion, "isMacroArgExpansion");
    return at;
}

static const char *type_of(const json_t *object)
{
    return text(json_object_get(object, "type"), "qualType");
}

/** Reads loc, range and inner in the order in which they were printed, because of the files. */
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
static void read_node(const json_t *object, struct rp_ast_node *node, struct files *files)
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
        return;
    node->count = json_array_size(inner);
    node->children = rp_alloc_zero(node->count, sizeof *node->children);
    json_array_foreach(inner, i, child) read_node(child, &node->children[i], files);
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

/** Documents end with a } at the beginning of a line.
 * @return bytes with that line; 0 at the end */
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
    struct rp_ast_node *roots = rp_realloc(ast->roots, (ast->count + 1) * sizeof *roots);
    json_t **documents;

    ast->roots = roots;
    documents = rp_realloc(ast->documents, (ast->count + 1) * sizeof(json_t *));
    ast->documents = documents;
    documents[ast->count] = json_loadb(json, bytes, 0, &why);
    if (!documents[ast->count])
        return rp_fail(err, RP_BAD_INPUT, "the compiler's dump: %s (line %d)", why.text, why.line);
    roots[ast->count] = (struct rp_ast_node){0};
    ast->count++;
    read_node(documents[ast->count - 1], &roots[ast->count - 1], &files);
    return 0;
}

int rp_ast_read(const char *json, size_t bytes, const struct rp_ast_file *file, const char *name,
                struct rp_ast **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_ast_free) struct rp_ast *ast = rp_alloc_zero(1, sizeof *ast);
    size_t total = 0;

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

/** Returns the declarations, in the order of the text. */
static const struct rp_ast_node *ast_roots(const struct rp_ast *ast, size_t *ret_count)
{
    *ret_count = ast->count;
    return ast->roots;
}

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

/** Reads the parts of a nested name (Itanium C++ ABI, 5.1.2), as far as they are plain ones. */
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
    /* For a member of a template the filter finds the class, and no kernel in it. */
    if (nested && *at != 'E' && *at != 'I')
        return false;
    return any;
}

int rp_symbol_parts(const char *symbol, struct rp_symbol_parts *ret, struct rp_err *err)
{
    rp_autobuf filter = {0};
    rp_autobuf name = {0};
    struct rp_symbol_parts parts = {0};

    parts.symbol = rp_strndup(symbol, symbol_bytes(symbol));
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
    *ret = parts;
    return 0;
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
    const struct rp_ast_node *function; /**< found */
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

/** Finds the template whose pattern is the text of an instance. */
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

/** Every definition with the same end has the same text. */
static void collect_same(const struct rp_ast_node *roots, size_t count,
                         struct rp_kernel_found *found)
{
    size_t most = 0;

    for (size_t i = 0; i < count; i++)
        most += roots[i].count + 1;
    found->functions = rp_alloc_zero(most + 1, sizeof(struct rp_ast_node *));
    for (size_t i = 0; i < count; i++) {
        if (is_definition(&roots[i]) && same_end(&roots[i], found->function))
            found->functions[found->count++] = &roots[i];
        for (size_t j = 0; rp_ast_is(&roots[i], "FunctionTemplateDecl") && j < roots[i].count; j++)
            if (is_definition(&roots[i].children[j]) &&
                same_end(&roots[i].children[j], found->function))
                found->functions[found->count++] = &roots[i].children[j];
    }
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
    const struct rp_ast_node *roots = ast_roots(ast, &count), *outer;

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
    collect_same(roots, count, &found);
    *ret = found;
    return 0;
}

/* What a node of the tree calls, and of which type it is. */

const char *rp_ast_callee(const struct rp_ast_node *node)
{
    static const char *const functions[] = {"FunctionDecl", "CXXMethodDecl", "CXXConversionDecl",
                                            "FunctionTemplateDecl"};

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (rp_ast_is(node, "DeclRefExpr") && rp_is_text(node->ref_kind, functions[i]))
            return node->ref_name ? node->ref_name : "?";
    if (rp_ast_is(node, "MemberExpr") && node->type &&
        (rp_is_text(node->type, "<bound member function type>") || strchr(node->type, '(')))
        return node->name ? node->name : "?";
    if (rp_ast_is(node, "UnresolvedLookupExpr") || rp_ast_is(node, "UnresolvedMemberExpr") ||
        rp_ast_is(node, "DependentScopeDeclRefExpr"))
        return node->name ? node->name : "?";
    if (rp_ast_is(node, "CXXConstructExpr") || rp_ast_is(node, "CXXTemporaryObjectExpr") ||
        rp_ast_is(node, "CXXUnresolvedConstructExpr") ||
        rp_ast_is(node, "CXXInheritedCtorInitExpr"))
        return "constructor";
    return NULL;
}

bool rp_ast_is_index(const struct rp_ast_node *node)
{
    static const char type[] = "const __hip_builtin_";

    if (rp_ast_is(node, "DeclRefExpr"))
        return node->ref_type && strncmp(node->ref_type, type, sizeof type - 1) == 0;
    return (rp_ast_is(node, "PseudoObjectExpr") || rp_ast_is(node, "MSPropertyRefExpr") ||
            rp_ast_is(node, "OpaqueValueExpr")) &&
           node->count && rp_ast_is_index(&node->children[0]);
}

static const struct rp_ast_node *first_of(const struct rp_ast_node *node, const char *kind)
{
    const struct rp_ast_node *found = rp_ast_is(node, kind) ? node : NULL;

    for (size_t i = 0; i < node->count && !found; i++)
        found = first_of(&node->children[i], kind);
    return found;
}

bool rp_ast_is_index_of(const struct rp_ast_node *node, const char *name, char axis)
{
    static const char get[] = "__get_";
    const struct rp_ast_node *variable, *member;
    const char *which;

    node = rp_ast_bare(node);
    if (!(rp_ast_is(node, "MemberExpr") && node->count &&
          rp_ast_is_index(rp_ast_bare(&node->children[0]))) &&
        !(rp_ast_is(node, "PseudoObjectExpr") && rp_ast_is_index(node)))
        return false;
    variable = first_of(node, "DeclRefExpr");
    member = first_of(node, "MemberExpr");
    if (!variable || !member || !member->name || !rp_is_text(variable->ref_name, name))
        return false;
    /* blockDim.x is a property that is read by __get_x(). */
    which = member->name;
    if (strncmp(which, get, sizeof get - 1) == 0)
        which += sizeof get - 1;
    return which[0] == axis && which[1] == '\0';
}

/** Recognises HIP_vector_type<float, 4> and float4, with or without const. */
static bool is_vector(const char *type)
{
    static const char *const scalars[] = {"char",     "uchar",     "short", "ushort",
                                          "int",      "uint",      "long",  "ulong",
                                          "longlong", "ulonglong", "float", "double"};

    if (!type)
        return false;
    if (strncmp(type, "const ", strlen("const ")) == 0)
        type += strlen("const ");
    if (strncmp(type, "HIP_vector_type<", strlen("HIP_vector_type<")) == 0)
        return strchr(type, '>') && strchr(type, '>')[1] == '\0';
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        size_t length = strlen(scalars[i]);

        if (strncmp(type, scalars[i], length) == 0 && type[length] >= '1' && type[length] <= '4' &&
            !type[length + 1])
            return true;
    }
    return false;
}

bool rp_ast_is_vector_call(const struct rp_ast_node *node)
{
    const char *name = rp_ast_callee(node);

    if (rp_is_text(name, "constructor"))
        return is_vector(node->type);
    return name && strncmp(name, "operator", strlen("operator")) == 0 && node->ref_type &&
           strstr(node->ref_type, "HIP_vector_type<");
}

const char *rp_ast_type(const struct rp_ast_node *node)
{
    return node->desugared ? node->desugared : node->type ? node->type : "";
}

/** Finds a letter of a type that is not in the arguments of a template. */
static const char *outside(const char *type, char letter)
{
    int depth = 0;

    for (; *type; type++) {
        depth += (*type == '<') - (*type == '>');
        if (*type == letter && depth == 0)
            return type;
    }
    return NULL;
}

bool rp_ast_is_pointer(const struct rp_ast_node *node)
{
    return !node->lvalue && outside(rp_ast_type(node), '*');
}

/** "float &", "float (&)[4]" and, for auto &, "float &[4]" are references, but "void (*)(float &)"
 * is none. */
bool rp_ast_is_reference(const struct rp_ast_node *node)
{
    const char *type = rp_ast_type(node);

    return rp_ast_is(node, "BindingDecl") ||
           (outside(type, '&') && (!strstr(type, "(*") || strstr(type, "(*&")));
}

const struct rp_ast_node *rp_ast_call_target(const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_child(node, 0);

    if (!rp_ast_is(node, "CallExpr") && !rp_ast_is(node, "CXXMemberCallExpr") &&
        !rp_ast_is(node, "CXXOperatorCallExpr") && !rp_ast_is(node, "UserDefinedLiteral"))
        return NULL;
    while (target->count == 1 && (target->cast || rp_ast_is(target, "ParenExpr")) &&
           !rp_ast_callee(target))
        target = &target->children[0];
    return target;
}

const struct rp_ast_node *rp_ast_bare(const struct rp_ast_node *node)
{
    while (node->count == 1 &&
           (node->cast || rp_ast_is(node, "ParenExpr") || rp_ast_is(node, "ExprWithCleanups")))
        node = &node->children[0];
    return node;
}

uint64_t rp_ast_variable(const struct rp_ast_node *node)
{
    node = rp_ast_bare(node);
    return rp_ast_is(node, "DeclRefExpr") && (rp_is_text(node->ref_kind, "VarDecl") ||
                                              rp_is_text(node->ref_kind, "ParmVarDecl"))
               ? node->ref_id
               : 0;
}

const struct rp_ast_node *rp_ast_declaration(const struct rp_ast_node *node, uint64_t id)
{
    if (node->id == id && rp_ast_is(node, "VarDecl"))
        return node;
    for (size_t i = 0; i < node->count; i++) {
        const struct rp_ast_node *found = rp_ast_declaration(&node->children[i], id);

        if (found)
            return found;
    }
    return NULL;
}

bool rp_ast_names(const struct rp_ast_node *node, uint64_t variable)
{
    if (rp_ast_is(node, "DeclRefExpr") && node->ref_id == variable)
        return true;
    for (size_t i = 0; i < node->count; i++)
        if (rp_ast_names(&node->children[i], variable))
            return true;
    return false;
}

bool rp_ast_changes(const struct rp_ast_node *node, uint64_t variable)
{
    bool unary = rp_ast_is(node, "UnaryOperator") &&
                 (rp_is_text(node->opcode, "++") || rp_is_text(node->opcode, "--") ||
                  rp_is_text(node->opcode, "&"));
    bool assigns = rp_ast_is(node, "CompoundAssignOperator") ||
                   (rp_ast_is(node, "BinaryOperator") && rp_is_text(node->opcode, "="));

    if ((unary || assigns) && node->count && rp_ast_variable(&node->children[0]) == variable)
        return true;
    /* A reference is bound where a variable stands without being read. */
    if (rp_ast_is(node, "VarDecl") && node->type && strchr(node->type, '&') && node->count &&
        rp_ast_variable(&node->children[0]) == variable)
        return true;
    for (size_t i = 0; i < node->count; i++) {
        const struct rp_ast_node *child = &node->children[i];

        if (rp_ast_is(node, "CallExpr") && rp_ast_is(child, "DeclRefExpr") &&
            rp_ast_variable(child) == variable)
            return true;
        if (rp_ast_changes(child, variable))
            return true;
    }
    return false;
}
