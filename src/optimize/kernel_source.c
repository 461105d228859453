#include "optimize/kernel_source.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/vec.h"
#include "experiment/build_command.h"
#include "experiment/child_run.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/launch_size.h"
#include "optimize/loop_count.h"
#include "optimize/source_text.h"
#include "run/hip_compiler.h"

/* Nobody may know where a header is included, so the compiler gets a text in its place that does
 * not compile. If it does not complain, it has not read it. */

/**
 * Asks the compiler, which takes a second, so it is only used where a kernel was not found.
 * @param source the header
 * @param arch "gfx942"
 * @return 0: the source is compiled itself, or included; RP_BAD_INPUT with the remedy: it is not;
 * RP_ENVIRONMENT
 */
static int unit_check_includes(const struct rp_compile_command *command, const char *source,
                               const char *arch, struct rp_err *err)
{
    static const char unreadable[] = "#error it is included\n";
    const char *unit = rp_compile_command_unit(command);
    rp_cleanup(rp_temporary_folder_remove) char *folder = NULL;
    rp_autofree char *text = NULL;
    rp_autofree char *object = NULL;
    rp_cleanup(rp_build_result_free) struct rp_build_result built = {0};

    if (!unit)
        return 0;
    if (rp_temporary_folder(&folder, err) < 0)
        return -(int)err->code;
    text = rp_path_join(folder, "text.h");
    object = rp_path_join(folder, "device.co");
    if (rp_write_private_file(text, unreadable, strlen(unreadable), err) < 0 ||
        rp_compile(command, text, arch, object, &built, err) < 0)
        return -(int)err->code;
    return !built.ok ? 0
                     : rp_fail(err, RP_BAD_INPUT,
                               "%s is compiled, but does not include %s: name with --unit the file "
                               "that includes it and launches the kernels",
                               unit, source);
}

RP_DEFINE_CLEANUP(struct rp_kernel_source, rp_kernel_source_free)
RP_DEFINE_CLEANUP(struct rp_ast, rp_ast_free)

static int fill(struct rp_kernel_source *source, const struct rp_ast *ast,
                const struct rp_symbol_parts *parts, const struct rp_compile_command *command,
                const char *arch, struct rp_err *err)
{
    rp_cleanup(rp_kernel_found_free) struct rp_kernel_found found = {0};
    struct rp_err other = RP_ERR_INIT;
    int rc = rp_kernel_find(ast, parts->symbol, source->text, source->bytes, &found, err);

    if (rc < 0 && unit_check_includes(command, source->path, arch, &other) < 0) {
        *err = other; /* This error is the cause of the other one. */
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
    rc = rp_source_loops_find(found.function, source, err);
    if (rc < 0)
        return rc;
    rp_source_arrays_find(found.function, source);
    rc = rp_source_pieces(command, source->path, source->text, source->bytes, source->begin,
                          source->end, arch, &source->skipped, &source->piece_count, err);
    if (rc == -RP_VERDICT)
        err->code = RP_BAD_INPUT;
    if (rc < 0)
        return -(int)err->code;
    rp_memory_sums_find(found.function, source);
    rp_next_tiles_find(found.function, source);
    rp_wide_loads_find(found.function, source);
    source->shape = rp_kernel_shape_make(found.functions, found.count, source->bytes);
    return 0;
}

int rp_kernel_source_read(const struct rp_compile_command *command, const char *path,
                          const char *symbol, const char *arch, struct rp_kernel_source **ret,
                          struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_kernel_source_free) struct rp_kernel_source *source =
        rp_alloc_zero(1, sizeof *source);
    rp_cleanup(rp_symbol_parts_free) struct rp_symbol_parts parts = {0};
    rp_cleanup(rp_cleanup_rp_ast_free) struct rp_ast *ast = NULL;
    rp_autofree char *said = NULL;
    int rc;

    rc = rp_source_file_read(path, &source->path, &source->text, &source->bytes, err);
    if (rc < 0 || (rc = rp_symbol_parts(symbol, &parts, err)) < 0)
        return rc;
    rc = rp_ast_dump(command, source->path, parts.filter, parts.name, arch, &ast, &said, err);
    if (rc == -RP_VERDICT)
        return rp_fail(err, RP_BAD_INPUT, "the compiler does not accept %s%s: %.700s", path,
                       rp_compile_command_hint(command), said);
    if (rc < 0)
        return rp_wrap(err, "%s", path);
    source->symbol = rp_strdup(parts.symbol);
    source->name = rp_strdup(parts.name);
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
    free(source->loops);
    for (size_t i = 0; i < source->array_count; i++)
        free(source->arrays[i].name);
    free(source->arrays);
    for (size_t i = 0; i < source->stride_count; i++) {
        free(source->strides[i].name);
        free(source->strides[i].places);
    }
    free(source->strides);
    free(source->skipped);
    for (size_t i = 0; i < source->change_count; i++) {
        free(source->changes[i].title);
        free(source->changes[i].kernel_text);
    }
    free(source->changes);
    for (size_t i = 0; i < source->constant_count; i++)
        free(source->constants[i].name);
    free(source->constants);
    rp_kernel_shape_free(source->shape);
    free(source->path);
    free(source->text);
    free(source->name);
    free(source->symbol);
    free(source);
}

enum { MOST_BYTES = 16 << 20 };

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

int rp_source_file_read(const char *path, char **ret_path, char **ret_text, size_t *ret_bytes,
                        struct rp_err *err)
{
    rp_autofree char *real = realpath(path, NULL);
    rp_cleanup(close_file) FILE *file = real ? fopen(real, "rb") : NULL;
    rp_autofree char *text = NULL;
    struct stat status;
    size_t bytes;

    if (!file || fstat(fileno(file), &status) != 0)
        return rp_fail_errno(err, errno == EACCES ? RP_ENVIRONMENT : RP_BAD_INPUT, errno, "%s",
                             path);
    if (!S_ISREG(status.st_mode) || status.st_size > MOST_BYTES)
        return rp_fail(err, RP_BAD_INPUT, "%s %s", path,
                       S_ISDIR(status.st_mode)   ? "is a folder"
                       : S_ISREG(status.st_mode) ? "is larger than 16 MiB: kernels are in less"
                                                 : "is no regular file");
    text = rp_alloc((size_t)status.st_size + 1);
    bytes = fread(text, 1, (size_t)status.st_size, file);
    if (bytes != (size_t)status.st_size)
        return rp_fail(err, RP_BAD_INPUT, "%s changes while it is read", path);
    text[bytes] = '\0';
    if (memchr(text, '\0', bytes))
        return rp_fail(err, RP_BAD_INPUT, "%s holds a NUL byte: it is no source", path);
    *ret_path = rp_steal(real);
    *ret_text = rp_steal(text);
    *ret_bytes = bytes;
    return 0;
}

/* The filter means every name that contains the kernel's. One named `f` gives 90 MB with HIP's
 * headers alone. 20 000 functions whose names contain it give 1.5 GB in 25 s, while the compiler's
 * memory stays at 0.3 GB. */
static const uint64_t MOST_DUMP_BYTES = (uint64_t)1 << 30;
static const size_t MOST_OUTPUT_BYTES = (size_t)64 << 10;
static const int64_t TIMEOUT_NS = (int64_t)120 * 1000000000;

/** Reads what was written to a file that has no name, or as much as is useful. */
static char *read_output(FILE *file)
{
    char *text = rp_alloc_zero(1, MOST_OUTPUT_BYTES + 1);

    rewind(file);
    if (fread(text, 1, MOST_OUTPUT_BYTES, file) == 0)
        text[0] = '\0';
    return text;
}

/** A wrapper of the compiler may report in its own way that the compiler was ended. */
static int check_limits(const struct rp_proc_end *end, uint64_t dump_bytes, const char *name,
                        const char *compiler, struct rp_err *err)
{
    if (dump_bytes >= MOST_DUMP_BYTES)
        return rp_fail(err, RP_BAD_INPUT,
                       "what the compiler says of %s and of other names that contain this one is "
                       "larger than 1 GB: the kernel is too large, or its name is too short",
                       name);
    if (end->timed_out)
        return rp_fail(err, RP_BAD_INPUT, "%s has not ended after 120 s: it was ended", compiler);
    if (end->over_limits)
        return rp_fail(err, RP_BAD_INPUT, "%s took more than 6 GB of memory: it was ended",
                       compiler);
    return 0;
}

/**
 * Asks the compiler for something that it prints.
 * @param name for messages
 * @return 0 with its bytes; RP_VERDICT with *ret_output, as rp_ast_dump
 */
static int ask(const struct rp_compile_command *command, enum rp_compile_what what,
               const char *path, const char *output, const char *name, const char *arch, FILE *dump,
               size_t *ret_bytes, char **ret_output, struct rp_err *err)
{
    rp_cleanup(rp_compile_argv_free) char **argv = NULL;
    rp_cleanup(close_file) FILE *said = tmpfile();
    const struct rp_env_change env[] = {rp_compile_command_env(command), {0}};
    struct rp_proc_limits limits = rp_compiler_limits();
    struct rp_proc_end end;
    struct stat status;
    int rc;

    limits.file_bytes = MOST_DUMP_BYTES;
    if (!dump || !said)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "a temporary file");
    rc = rp_compile_argv(command, what, path, output, arch, &argv, err);
    if (rc < 0)
        return rc;
    rc = rp_compiler_run(rp_compile_command_environment(command),
                         &(struct rp_proc){.path = argv[0],
                                           .argv = argv,
                                           .env = env,
                                           .stdout_fd = fileno(dump),
                                           .stderr_fd = fileno(said),
                                           .timeout_ns = TIMEOUT_NS,
                                           .limits = &limits},
                         false, &end, err);
    if (rc < 0)
        return rp_wrap(err, "%s", argv[0]);
    if (fstat(fileno(dump), &status) != 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "the compiler's dump");
    rc = check_limits(&end, (uint64_t)status.st_size, name, argv[0], err);
    if (rc < 0)
        return rc;
    *ret_bytes = (size_t)status.st_size;
    if (!end.signaled && end.status == 0)
        return 0;
    free(*ret_output);
    *ret_output = read_output(said);
    return rp_fail(err, RP_VERDICT, "the compiler does not accept it");
}

/** Maps the output, so that it can be read as memory.
 * @return NULL: it cannot be mapped; bytes == 0: "" */
static const char *map_dump(FILE *dump, size_t bytes)
{
    void *map = bytes ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fileno(dump), 0) : (void *)"";

    return map == MAP_FAILED ? NULL : map;
}

static void unmap_dump(const char *map, size_t bytes)
{
    if (bytes)
        munmap((void *)(uintptr_t)map, bytes);
}

int rp_ast_dump(const struct rp_compile_command *command, const char *path, const char *filter,
                const char *name, const char *arch, struct rp_ast **ret, char **ret_output,
                struct rp_err *err)
{
    rp_cleanup(close_file) FILE *dump = tmpfile();
    struct rp_ast_file file = {.path = path};
    const char *map;
    size_t bytes;
    int rc = ask(command, RP_COMPILE_AST, path, filter, name, arch, dump, &bytes, ret_output, err);

    if (rc < 0)
        return rc;
    map = map_dump(dump, bytes);
    if (!map)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "the compiler's dump");
    file.included = rp_compile_command_included(command, &file.path, &file.directory);
    rc = rp_ast_read(map, bytes, &file, name, ret, err);
    unmap_dump(map, bytes);
    return rc;
}

/* --- pieces between lines of the preprocessor ------------------------------------------------ */

/* In front of each such line, and behind the last piece, the compiler gets a mark. What comes out
 * of the preprocessor has those of the pieces that it did not skip. */

static void add_mark(struct rp_buf *out, size_t piece)
{
    rp_buf_printf(out, " rp_piece_%zu_ ", piece);
}

static bool has_branch(const char *text, const struct rp_tokens *tokens)
{
    for (size_t i = 0; i < tokens->count; i++) {
        const struct rp_token *token = &tokens->list[i];
        const char *word = text + token->begin + 1;

        if (token->kind != RP_TOKEN_DIRECTIVE)
            continue;
        word += strspn(word, " \t");
        if (strncmp(word, "if", 2) == 0 || strncmp(word, "el", 2) == 0 ||
            strncmp(word, "endif", 5) == 0)
            return true;
    }
    return false;
}

/** @return the number of pieces */
static size_t add_marked(const char *text, const struct rp_tokens *tokens, size_t bytes,
                         struct rp_buf *out)
{
    size_t at = 0, piece = 0;

    for (size_t i = rp_tokens_next_line(text, tokens, 0); i < tokens->count;
         i = rp_tokens_next_line(text, tokens, i + 1)) {
        rp_buf_add(out, text + at, tokens->list[i].begin - at);
        at = tokens->list[i].begin;
        add_mark(out, piece++);
        rp_buf_puts(out, "\n");
    }
    /* The last piece holds the kernel's last }. */
    rp_buf_add(out, text + at, bytes - at);
    add_mark(out, piece++);
    return piece;
}

/** Writes the text into a folder of its own, and reads what the preprocessor makes of it. */
static int preprocess(const struct rp_compile_command *command, const char *path,
                      const struct rp_buf *text, const char *arch, char **ret, size_t *ret_bytes,
                      struct rp_err *err)
{
    rp_cleanup(rp_temporary_folder_remove) char *folder = NULL;
    rp_cleanup(close_file) FILE *dump = tmpfile();
    const char *name = strrchr(path, '/');
    rp_autofree char *file = NULL;
    rp_autofree char *said = NULL;
    const char *map;
    int rc = rp_temporary_folder(&folder, err);

    if (rc < 0)
        return rc;
    file = rp_path_join(folder, name ? name + 1 : path);
    rc = rp_write_private_file(file, text->data, text->len, err);
    if (rc == 0)
        rc = ask(command, RP_COMPILE_TEXT, file, NULL, path, arch, dump, ret_bytes, &said, err);
    if (rc == -RP_VERDICT)
        return rp_fail(err, RP_VERDICT, "the preprocessor does not accept it: %.700s", said);
    if (rc < 0)
        return rc;
    map = map_dump(dump, *ret_bytes);
    if (!map)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "the compiler's dump");
    *ret = rp_strndup(map, *ret_bytes);
    unmap_dump(map, *ret_bytes);
    return 0;
}

static void read_marks(const char *taken, size_t bytes, size_t count, bool *skipped)
{
    for (size_t i = 0; i < count; i++) {
        char mark[32];
        const int length = snprintf(mark, sizeof mark, "rp_piece_%zu_", i);

        skipped[i] = !memmem(taken, bytes, mark, (size_t)length);
    }
}

int rp_source_pieces(const struct rp_compile_command *command, const char *path, const char *text,
                     size_t bytes, size_t begin, size_t end, const char *arch, bool **ret,
                     size_t *ret_count, struct rp_err *err)
{
    struct rp_tokens tokens = {0};
    rp_autobuf marked = {0};
    rp_autofree char *taken = NULL;
    size_t taken_bytes = 0;
    int rc = rp_tokens_read(text + begin, end - begin, &tokens, err);

    *ret = NULL;
    *ret_count = 0;
    if (rc < 0)
        return rc;
    if (!has_branch(text + begin, &tokens)) {
        rp_tokens_free(&tokens);
        return 0;
    }
    rp_buf_add(&marked, text, begin);
    *ret_count = add_marked(text + begin, &tokens, end - begin, &marked);
    rp_buf_add(&marked, text + end, bytes - end);
    rp_tokens_free(&tokens);
    rc = preprocess(command, path, &marked, arch, &taken, &taken_bytes, err);
    if (rc < 0)
        return rc;
    *ret = rp_alloc_zero(*ret_count, sizeof **ret);
    read_marks(taken, taken_bytes, *ret_count, *ret);
    return 0;
}

struct walk {
    const struct rp_ast_node *function;
    struct rp_kernel_source *source;
    struct rp_tokens tokens; /**< of the kernel; places from its beginning */
    size_t capacity;
};

static bool is_loop(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "ForStmt") || rp_ast_is(node, "WhileStmt") ||
           rp_ast_is(node, "DoStmt") || rp_ast_is(node, "CXXForRangeStmt");
}

static bool has_loop(const struct rp_ast_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        if (is_loop(&node->children[i]) || has_loop(&node->children[i]))
            return true;
    return false;
}

/** Says why unrolling it is not proposed. NULL means that it is. Whatever stands in a loop, the
 * compiler keeps what it does when it unrolls it. */
static const char *why_not(const struct rp_ast_node *node, const struct rp_source_loop *loop,
                           const struct rp_loop_count *count)
{
    if (node->begin.macro)
        return "it comes out of a macro";
    if (!loop->innermost)
        return "another loop is in it";
    return loop->counted ? NULL : count->why_not;
}

/** Returns the type of the local variable to which a loop adds a term, if it does nothing else. */
static const char *sum_type(const struct rp_ast_node *node, const struct rp_ast_node *function)
{
    static const char *const types[] = {
        "float", "double",        "int",       "unsigned int",
        "long",  "unsigned long", "long long", "unsigned long long"};
    const struct rp_ast_node *body, *variable;

    if (!rp_ast_is(node, "ForStmt") || node->count != RP_FOR_CHILDREN)
        return NULL;
    body = &node->children[RP_FOR_BODY];
    if (rp_ast_is(body, "CompoundStmt") && body->count == 1)
        body = &body->children[0];
    if (!rp_ast_is(body, "CompoundAssignOperator") || !rp_is_text(body->opcode, "+=") ||
        body->count != 2 || !rp_ast_is(&body->children[0], "DeclRefExpr"))
        return NULL;
    variable = rp_ast_declaration(function, body->children[0].ref_id);
    if (!variable || variable->storage || rp_ast_names(&body->children[1], variable->id) ||
        rp_ast_names(&node->children[RP_FOR_CONDITION], variable->id) ||
        rp_ast_names(&node->children[RP_FOR_STEP], variable->id))
        return NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (rp_is_text(variable->desugared ? variable->desugared : variable->type, types[i]))
            return types[i];
    return NULL;
}

/* --- pragmas ------------------------------------------------------------------------------- */

/** Finds the unroll pragmas right before a loop. Without any it gives the loop's beginning twice.
 * Tokens are that of `for` and the first of the pragmas. */
static void find_pragmas(const struct walk *walk, struct rp_source_loop *loop, size_t *ret_at,
                         size_t *ret_first)
{
    const struct rp_kernel_source *source = walk->source;
    const char *text = source->text + source->begin;
    size_t at = 0, first;

    loop->pragma_begin = loop->pragma_end = loop->begin;
    while (at < walk->tokens.count && walk->tokens.list[at].begin + source->begin < loop->begin)
        at++;
    for (first = at; first > 0;) {
        size_t one = rp_tokens_unroll(text, &walk->tokens, first - 1, NULL);
        size_t four = first >= 4 ? rp_tokens_unroll(text, &walk->tokens, first - 4, NULL) : 0;

        if (one != 1 && four != 4)
            break;
        first -= one == 1 ? 1 : 4;
    }
    *ret_at = at;
    *ret_first = first;
    if (first == at)
        return;
    loop->pragma_begin = source->begin + walk->tokens.list[first].begin;
    loop->pragma_end = source->begin + walk->tokens.list[at - 1].end;
}

/** Finds an unroll pragma among the lines of the preprocessor that end right before a token. */
static bool has_pragma_before(const struct walk *walk, size_t at)
{
    const char *text = walk->source->text + walk->source->begin;

    while (at > 0) {
        size_t group = at >= 4 ? rp_tokens_unroll(text, &walk->tokens, at - 4, NULL) : 0;

        if (group == 4 || rp_tokens_unroll(text, &walk->tokens, at - 1, NULL) == 1)
            return true;
        if (walk->tokens.list[--at].kind != RP_TOKEN_DIRECTIVE)
            return false;
    }
    return false;
}

/** Says why a hint that the compiler sees cannot be replaced. NULL means that it does not matter.
 */
static const char *hint_obstacle(const struct walk *walk, const struct rp_ast_node *hint,
                                 const struct rp_source_loop *loop)
{
    const struct rp_kernel_source *source = walk->source;
    const char *text = source->text + source->begin;
    const struct rp_token *token = NULL;

    if (hint->begin.in_file && hint->begin.offset >= loop->pragma_begin &&
        hint->begin.offset < loop->pragma_end)
        return NULL;
    for (size_t i = 0; i < walk->tokens.count && hint->begin.in_file; i++)
        if (hint->begin.offset >= source->begin + walk->tokens.list[i].begin &&
            hint->begin.offset < source->begin + walk->tokens.list[i].end)
            token = &walk->tokens.list[i];
    if (!token || token->kind != RP_TOKEN_DIRECTIVE)
        return "its pragma comes out of a macro";
    return memmem(text + token->begin, token->end - token->begin, "unroll", strlen("unroll"))
               ? "its pragma asks for something else, too"
               : NULL;
}

/** Finds a loop's pragmas.
 * @return why they cannot be replaced, or another one not be added */
static const char *pragma_obstacle(const struct walk *walk, const struct rp_ast_node *parent,
                                   struct rp_source_loop *loop)
{
    size_t at, first;
    const char *why = NULL;

    find_pragmas(walk, loop, &at, &first);
    if (has_pragma_before(walk, first))
        return "an unroll pragma stands in front of it with other lines of the preprocessor in "
               "between";
    for (size_t i = 0; rp_ast_is(parent, "AttributedStmt") && !why && i < parent->count; i++)
        if (rp_ast_is(&parent->children[i], "LoopHintAttr"))
            why = hint_obstacle(walk, &parent->children[i], loop);
    return why;
}

/** If a loop's last token comes from a macro, the compiler gives the place of the macro's name. The
 * end is behind its arguments, if there are any. */
static size_t end_of_macro(const struct walk *walk, size_t end)
{
    const struct rp_kernel_source *source = walk->source;
    const char *text = source->text + source->begin;
    size_t at = 0, depth = 0;

    while (at < walk->tokens.count && walk->tokens.list[at].begin + source->begin < end)
        at++;
    if (at == walk->tokens.count || !rp_token_is(text, &walk->tokens.list[at], "("))
        return end;
    for (; at < walk->tokens.count; at++) {
        depth += rp_token_is(text, &walk->tokens.list[at], "(");
        depth -= rp_token_is(text, &walk->tokens.list[at], ")");
        if (depth == 0)
            return walk->tokens.list[at].end + source->begin;
    }
    return end;
}

/* --- loops --------------------------------------------------------------------------------- */

static void add_loop(struct walk *walk, const struct rp_ast_node *node,
                     const struct rp_ast_node *parent, uint32_t depth)
{
    struct rp_kernel_source *source = walk->source;
    struct rp_loop_count count = rp_loop_count(node, walk->function);
    struct rp_source_loop *loop;
    const char *pragma;

    rp_vec_grow(&source->loops, &walk->capacity, source->loop_count, 1, sizeof *source->loops);
    loop = &source->loops[source->loop_count];
    *loop = (struct rp_source_loop){.begin = node->begin.offset,
                                    .end = node->end.offset + node->end.bytes,
                                    .line = 1,
                                    .depth = depth,
                                    .innermost = !has_loop(node),
                                    .counted = count.counted,
                                    .trip_count_known = count.known,
                                    .trip_count = count.trips};
    for (size_t i = 0; i < loop->begin; i++)
        loop->line += source->text[i] == '\n';
    if (loop->end > source->end || loop->end < loop->begin)
        loop->end = source->end; /* No compiler says so. */
    else if (node->end.macro)
        loop->end = end_of_macro(walk, loop->end);
    pragma = pragma_obstacle(walk, parent, loop);
    loop->why_not = why_not(node, loop, &count);
    if (!loop->why_not)
        loop->why_not = pragma;
    if (!loop->why_not)
        loop->sum_type = sum_type(node, walk->function);
    source->loop_count++;
}

/** Only loops whose beginning stands in the kernel's own text are visited. */
static void visit(struct walk *walk, const struct rp_ast_node *node,
                  const struct rp_ast_node *parent, uint32_t depth)
{
    const struct rp_kernel_source *source = walk->source;
    bool loop = is_loop(node);

    if (rp_ast_is(node, "CXXRecordDecl"))
        return;
    if (loop && node->begin.in_file && node->begin.offset >= source->begin &&
        node->begin.offset < source->end && node->end.offset < source->end)
        add_loop(walk, node, parent, depth);
    for (size_t i = 0; i < node->count; i++)
        visit(walk, &node->children[i], node, depth + loop);
}

int rp_source_loops_find(const struct rp_ast_node *function, struct rp_kernel_source *source,
                         struct rp_err *err)
{
    struct walk walk = {.function = function, .source = source};
    int rc = rp_tokens_read(source->text + source->begin, source->end - source->begin, &walk.tokens,
                            err);

    if (rc < 0)
        return rp_fail(err, RP_BAD_INPUT, "%s cannot be taken apart: its text has no closed tokens",
                       source->name);
    visit(&walk, function, function, 0);
    rp_tokens_free(&walk.tokens);
    return 0;
}
