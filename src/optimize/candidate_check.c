/* The text is checked first, and then the file with the candidate in it as the compiler sees it. */
#include "optimize/candidate_check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "experiment/build_command.h"
#include "optimize/ast.h"
#include "optimize/kernel_shape.h"
#include "optimize/kernel_source.h"
#include "optimize/launch_bounds.h"
#include "optimize/source_text.h"

RP_DEFINE_CLEANUP(struct rp_ast, rp_ast_free)
RP_DEFINE_CLEANUP(struct rp_kernel_shape, rp_kernel_shape_free)

/* Holds the candidate's file while it is checked. */
struct candidate {
    const struct rp_kernel_source *original;
    struct rp_buf text;
    char *path;
    size_t begin, end; /**< of the kernel in text */
    size_t body_begin;
    unsigned line; /**< number of the first line for a proposer */
};

static void free_candidate(struct candidate *candidate)
{
    if (candidate->path)
        unlink(candidate->path);
    free(candidate->path);
    rp_buf_free(&candidate->text);
}

/** Models write LF, so a file with CRLF gets them back. */
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

static void splice(struct candidate *candidate, const char *text, const struct rp_guard_part *part)
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
}

/** Its name ends as the original's does, because that decides the language. */
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

/** No change may lead the compiler into other branches, as by __COUNTER__ or __LINE__ in an #if. */
static int check_pieces(const struct candidate *candidate, const struct rp_compile_command *command,
                        const char *arch, struct rp_err *err)
{
    const struct rp_kernel_source *original = candidate->original;
    rp_autofree bool *skipped = NULL;
    size_t count = 0;
    int rc = 0;

    if (original->skipped)
        rc = rp_source_pieces(command, original->path, candidate->text.data, candidate->text.len,
                              candidate->begin, candidate->end, arch, &skipped, &count, err);
    if (rc < 0)
        return rc;
    if (count == original->piece_count &&
        (!count || memcmp(skipped, original->skipped, count * sizeof *skipped) == 0))
        return 0;
    return rp_fail(err, RP_VERDICT,
                   "the compiler takes other branches of the kernel's #if than before: leave alone "
                   "what they depend on");
}

/** The compiler must agree with us where the kernel begins and ends. */
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
    is.shape = shape = rp_kernel_shape_make(found.functions, found.count, candidate->text.len);
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
    if (rc < 0)
        return rc;
    splice(&candidate, kernel_text, &part);
    rc = write_file(&candidate, scratch_dir, err);
    if (rc < 0)
        return rc;
    rc = check_compiled(&candidate, command, arch, &output, err);
    if (rc == 0)
        rc = check_pieces(&candidate, command, arch, err);
    ret->compiler_output = rp_steal(output);
    if (rc < 0)
        return rc;
    ret->bytes = candidate.text.len;
    ret->file_text = rp_buf_steal(&candidate.text);
    return 0;
}

/* The file's macros may hold a word of counted_words.def: their number in a body is compared like
 * that of the words. */

/* This reads lines, and words in them. A word in a string is counted, too, but then the number of
 * one more macro is compared, and nothing else. */

struct rp_guard_macro {
    char *name;
    const char *text; /**< in the file: what stands behind the name, up to the end of its lines */
    size_t bytes;
    const struct guard_word *word; /**< that it holds, itself or through another macro, or NULL */
};

struct rp_guard_macros {
    struct rp_guard_macro *list; /**< also those that hold none */
    size_t count;
};

enum guard_rule { SAME, NOT_FEWER };

static const struct guard_word {
    const char *word, *what;
    enum guard_rule rule;
} guard_words[] = {
#define RP_GUARD_WORD(word, what, rule) {word, what, rule},
#include "optimize/counted_words.def"
#undef RP_GUARD_WORD
};

static bool is_letter(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (unsigned char)c >= 0x80;
}

static size_t word_bytes(const char *text, size_t bytes)
{
    size_t length = 0;

    while (length < bytes && is_letter(text[length]))
        length++;
    return length;
}

static size_t blank_bytes(const char *text, size_t bytes)
{
    size_t length = 0;

    while (length < bytes && (text[length] == ' ' || text[length] == '\t'))
        length++;
    return length;
}

/** Counts the bytes up to a line feed that no backslash precedes. */
static size_t line_bytes(const char *text, size_t bytes)
{
    size_t length = 0;

    while (length < bytes &&
           (text[length] != '\n' ||
            (length > 0 && (text[length - 1] == '\\' ||
                            (length > 1 && text[length - 1] == '\r' && text[length - 2] == '\\')))))
        length++;
    return length;
}

/** @return whether the line defines a macro */
static bool read_line(const char *line, size_t bytes, struct rp_guard_macro *ret)
{
    static const char define[] = "define";
    size_t at = blank_bytes(line, bytes), length;

    if (at == bytes || line[at] != '#')
        return false;
    at++;
    at += blank_bytes(line + at, bytes - at);
    if (word_bytes(line + at, bytes - at) != strlen(define) ||
        memcmp(line + at, define, strlen(define)) != 0)
        return false;
    at += strlen(define);
    at += blank_bytes(line + at, bytes - at);
    length = word_bytes(line + at, bytes - at);
    *ret = (struct rp_guard_macro){.name = rp_strndup(line + at, length),
                                   .text = line + at + length,
                                   .bytes = bytes - at - length};
    return true;
}

/** Returns the word that a name is, or that the macro of that name holds, or NULL. */
static const struct guard_word *word_of(const struct rp_guard_macros *macros, const char *name,
                                        size_t bytes)
{
    for (size_t i = 0; i < sizeof guard_words / sizeof *guard_words; i++)
        if (strlen(guard_words[i].word) == bytes && memcmp(guard_words[i].word, name, bytes) == 0)
            return &guard_words[i];
    for (size_t i = 0; i < macros->count; i++)
        if (macros->list[i].word && strlen(macros->list[i].name) == bytes &&
            memcmp(macros->list[i].name, name, bytes) == 0)
            return macros->list[i].word;
    return NULL;
}

static const struct guard_word *word_in(const struct rp_guard_macros *macros,
                                        const struct rp_guard_macro *macro)
{
    for (size_t at = 0, length; at < macro->bytes; at += length ? length : 1) {
        const struct guard_word *word;

        length = word_bytes(macro->text + at, macro->bytes - at);
        word = length ? word_of(macros, macro->text + at, length) : NULL;
        if (word)
            return word;
    }
    return NULL;
}

/** Reads all lines that define macros, also those that the compiler skips. */
static void guard_macros_find(const char *text, size_t bytes, struct rp_guard_macros *ret)
{
    struct rp_guard_macros macros = {0};
    bool grown = true;

    for (size_t at = 0, length; at < bytes; at += length + 1) {
        struct rp_guard_macro macro;

        length = line_bytes(text + at, bytes - at);
        if (!read_line(text + at, length, &macro))
            continue;
        macros.list = rp_realloc_array(macros.list, macros.count + 1, sizeof *macros.list);
        macros.list[macros.count++] = macro;
    }
    while (grown) {
        grown = false;
        for (size_t i = 0; i < macros.count; i++)
            if (!macros.list[i].word && (macros.list[i].word = word_in(&macros, &macros.list[i])))
                grown = true;
    }
    *ret = macros;
}

static void guard_macros_free(struct rp_guard_macros *macros)
{
    for (size_t i = 0; i < macros->count; i++)
        free(macros->list[i].name);
    free(macros->list);
    *macros = (struct rp_guard_macros){0};
}

/* Tokens are compared: the head of the kernel word for word, the body by what its scope allows. */

/* A kernel with many comments has a few thousand tokens. */
enum { MOST_BYTES = 1 << 20, MOST_TOKENS = 100000, MOST_UNROLL = 64 };

/* Holds the two texts. Places in the original's tokens count from the kernel's beginning. */
struct pair {
    const struct rp_kernel_source *source;
    const char *was_text, *is_text;
    struct rp_tokens was, is;
    size_t was_body, is_body; /**< index of { */
};

static void free_pair(struct pair *pair)
{
    rp_tokens_free(&pair->was);
    rp_tokens_free(&pair->is);
}

/** Counts the bytes of a word that a reason shows, as whole characters. */
static int shown(const char *text, const struct rp_token *token)
{
    const size_t all = token->end - token->begin, most = 60;
    size_t bytes = all < most ? all : most;

    while (bytes < all && bytes > 0 && ((unsigned char)text[token->begin + bytes] & 0xC0) == 0x80)
        bytes--;
    return (int)bytes;
}

static bool is_word(const char *text, const struct rp_token *token, const char *word)
{
    return token->kind != RP_TOKEN_STRING && rp_token_is(text, token, word);
}

/** Everything up to { must be the original's, but for launch bounds where these are free. */
static int check_head(struct pair *pair, enum rp_edit_scope scope, struct rp_err *err)
{
    rp_cleanup(rp_bounds_macros_free) struct rp_bounds_macros macros = {0};
    const bool bounds = scope == RP_EDIT_BODY;
    size_t at = 0;

    if (bounds)
        rp_bounds_macros_find(pair->source->text, pair->source->bytes, &macros);
    for (size_t i = 0; i <= pair->was_body; i++, at++) {
        const struct rp_token *was, *is;

        for (size_t own = 1; bounds && own; at += own)
            own = rp_bounds_at(&macros, pair->is_text, &pair->is, at);
        for (size_t own = 1; bounds && own; i += own)
            own = rp_bounds_at(&macros, pair->was_text, &pair->was, i);
        was = &pair->was.list[i];
        is = at < pair->is.count ? &pair->is.list[at] : NULL;
        if (is && rp_token_same(pair->was_text, was, pair->is_text, is))
            continue;
        return rp_fail(err, RP_VERDICT,
                       "line %u: the head of the kernel has %.*s in the place of %.*s: give the "
                       "complete kernel and copy everything in front of its { unchanged%s",
                       is ? is->line : 1, is ? shown(pair->is_text, is) : 7,
                       is ? pair->is_text + is->begin : "nothing", shown(pair->was_text, was),
                       pair->was_text + was->begin, bounds ? ", but for launch bounds" : "");
    }
    pair->is_body = at - 1;
    return 0;
}

/** One pair of braces must enclose the rest, with nothing behind it. */
static int check_braces(const struct pair *pair, struct rp_err *err)
{
    size_t open = 0;

    for (size_t i = pair->is_body; i < pair->is.count; i++) {
        const struct rp_token *token = &pair->is.list[i];

        open += is_word(pair->is_text, token, "{");
        open -= is_word(pair->is_text, token, "}") && open > 0;
        if (open == 0 && i + 1 < pair->is.count)
            return rp_fail(err, RP_VERDICT,
                           "line %u: something stands behind the kernel's last }: give the kernel "
                           "only",
                           pair->is.list[i + 1].line);
    }
    return open == 0 ? 0
                     : rp_fail(err, RP_VERDICT,
                               "line %u: the kernel's last } is missing: give the complete kernel",
                               pair->is.list[pair->is.count - 1].line);
}

static size_t count_word(const char *text, const struct rp_tokens *tokens, size_t from,
                         const char *word)
{
    size_t count = 0;

    for (size_t i = from; i < tokens->count; i += 1)
        count += is_word(text, &tokens->list[i], word);
    return count;
}

/** _Pragma of unrolling is not counted, because it is as good as #pragma. */
static size_t count_unroll_pragma_words(const char *text, const struct rp_tokens *tokens,
                                        const char *word)
{
    size_t count = 0;

    if (strcmp(word, "_Pragma") != 0)
        return 0;
    for (size_t i = 0; i < tokens->count; i++)
        count += rp_tokens_unroll(text, tokens, i, NULL) == 4;
    return count;
}

/** @param name that stands in the body: the word, or a macro that holds it */
static int check_word(const struct pair *pair, const char *name, const struct guard_word *word,
                      struct rp_err *err)
{
    const bool macro = strcmp(name, word->word) != 0;
    const size_t was = count_word(pair->was_text, &pair->was, pair->was_body, name) -
                       count_unroll_pragma_words(pair->was_text, &pair->was, name);
    const size_t is = count_word(pair->is_text, &pair->is, pair->is_body, name) -
                      count_unroll_pragma_words(pair->is_text, &pair->is, name);
    uint32_t line = 1;

    if (was == is || (is > was && word->rule == NOT_FEWER))
        return 0;
    for (size_t i = pair->is_body; i < pair->is.count; i++)
        if (is_word(pair->is_text, &pair->is.list[i], name))
            line = pair->is.list[i].line;
    if (is > was)
        return rp_fail(err, RP_VERDICT,
                       "line %u: adds %s (%s%s), which no run can judge: do without it", line,
                       word->what, macro ? "by the macro " : "", name);
    return rp_fail(err, RP_VERDICT,
                   "takes away %s (%s%s: %zu in the original's body, %zu here), which no run can "
                   "judge: leave it",
                   word->what, macro ? "the macro " : "", name, was, is);
}

static int check_words(const struct pair *pair, struct rp_err *err)
{
    rp_cleanup(guard_macros_free) struct rp_guard_macros macros = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof guard_words / sizeof *guard_words; i++)
        rc = check_word(pair, guard_words[i].word, &guard_words[i], err);
    guard_macros_find(pair->source->text, pair->source->bytes, &macros);
    for (size_t i = 0; rc == 0 && i < macros.count; i++)
        if (macros.list[i].word)
            rc = check_word(pair, macros.list[i].name, macros.list[i].word, err);
    return rc;
}

static bool has_foreign_letters(const char *text, const struct rp_token *token)
{
    for (size_t i = token->begin; i < token->end; i++)
        if ((unsigned char)text[i] >= 0x80)
            return true;
    return false;
}

/** A name with letters that are not ASCII must be one of the original's, to the byte. */
static int check_letters(const struct pair *pair, struct rp_err *err)
{
    for (size_t i = 0; i < pair->is.count; i++) {
        const struct rp_token *token = &pair->is.list[i];
        bool known = false;

        if (token->kind == RP_TOKEN_STRING || token->kind == RP_TOKEN_CHARACTER ||
            token->kind == RP_TOKEN_DIRECTIVE || !has_foreign_letters(pair->is_text, token))
            continue;
        for (size_t j = 0; j < pair->was.count && !known; j++)
            known = rp_token_same(pair->was_text, &pair->was.list[j], pair->is_text, token);
        if (!known)
            return rp_fail(err, RP_VERDICT,
                           "line %u: the name %.*s has letters that look like others: use ASCII",
                           token->line, shown(pair->is_text, token), pair->is_text + token->begin);
    }
    return 0;
}

/** Counts the tokens of an unroll pragma at a place, which may differ. */
static size_t pragma_at(const char *text, const struct rp_tokens *tokens, size_t at)
{
    return at < tokens->count ? rp_tokens_unroll(text, tokens, at, NULL) : 0;
}

/** Says whether two pieces of text are the same byte for byte. Models write LF where the file has
 * CRLF. */
static bool same_piece(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    size_t i = 0, j = 0;

    for (;; i++, j++) {
        i += i + 1 < a_bytes && a[i] == '\r' && a[i + 1] == '\n';
        j += j + 1 < b_bytes && b[j] == '\r' && b[j + 1] == '\n';
        if (i >= a_bytes || j >= b_bytes)
            return i >= a_bytes && j >= b_bytes;
        if (a[i] != b[j])
            return false;
    }
}

static int check_line(const struct pair *pair, const struct rp_token *was,
                      const struct rp_token *is, struct rp_err *err)
{
    bool same = was && is && rp_token_same(pair->was_text, was, pair->is_text, is);

    if (same && was->kind != RP_TOKEN_DIRECTIVE) /* _Pragma ( "text" ) */
        same = was + 2 < pair->was.list + pair->was.count &&
               is + 2 < pair->is.list + pair->is.count &&
               rp_token_same(pair->was_text, was + 2, pair->is_text, is + 2);
    return same ? 0
                : rp_fail(err, RP_VERDICT,
                          "line %u: lines of the preprocessor stay as they are, in their order; "
                          "only #pragma unroll may be added",
                          is ? is->line : 1);
}

/** Lines of the preprocessor must be the original's, except unroll pragmas. What the compiler
 * skips between them stays to the byte, because nothing shows what it does elsewhere. */
static int check_directives(const struct pair *pair, struct rp_err *err)
{
    const struct rp_kernel_source *source = pair->source;
    size_t was = 0, is = 0, was_from = 0, is_from = 0;

    for (size_t piece = 0;; piece++) {
        const struct rp_token *a, *b;
        size_t was_to, is_to;

        was = rp_tokens_next_line(pair->was_text, &pair->was, was);
        is = rp_tokens_next_line(pair->is_text, &pair->is, is);
        a = was < pair->was.count ? &pair->was.list[was] : NULL;
        b = is < pair->is.count ? &pair->is.list[is] : NULL;
        was_to = a ? a->begin : source->end - source->begin;
        is_to = b ? b->begin : pair->is.list[pair->is.count - 1].end;
        if ((a || b) && check_line(pair, a, b, err) < 0)
            return -RP_VERDICT;
        if (piece < source->piece_count && source->skipped[piece] &&
            !same_piece(pair->was_text + was_from, was_to - was_from, pair->is_text + is_from,
                        is_to - is_from))
            return rp_fail(err, RP_VERDICT,
                           "line %u: what stands in front of this line of the preprocessor is "
                           "skipped by the compiler, and must stay as it is to the byte",
                           b ? b->line : 1);
        if (!a)
            return 0;
        was_from = a->end;
        is_from = b->end;
        was++;
        is++;
    }
}

/** Finds the loop of the original that begins at one of its tokens, or returns NULL. */
static const struct rp_source_loop *loop_at(const struct pair *pair, size_t token)
{
    const struct rp_kernel_source *source = pair->source;

    for (size_t i = 0; token < pair->was.count && i < source->loop_count; i++)
        if (source->loops[i].begin == source->begin + pair->was.list[token].begin)
            return &source->loops[i];
    return NULL;
}

static int check_count(const struct pair *pair, size_t at, struct rp_err *err)
{
    struct rp_unroll_pragma pragma;

    rp_tokens_unroll(pair->is_text, &pair->is, at, &pragma);
    if (pragma.other_count ||
        (pragma.count_known && (pragma.count < 1 || pragma.count > MOST_UNROLL)))
        return rp_fail(err, RP_VERDICT,
                       "line %u: an unroll pragma takes a number from 1 to %d, or none",
                       pair->is.list[at].line, MOST_UNROLL);
    return 0;
}

/** Says whether the pragmas at two places are the same. Both places move behind them. */
static bool same_pragmas(const struct pair *pair, size_t *was, size_t *is)
{
    bool same = true;

    for (;;) {
        size_t a = pragma_at(pair->was_text, &pair->was, *was);
        size_t b = pragma_at(pair->is_text, &pair->is, *is);

        same = same && a == b;
        for (size_t i = 0; same && i < a; i++)
            same = rp_token_same(pair->was_text, &pair->was.list[*was + i], pair->is_text,
                                 &pair->is.list[*is + i]);
        if (a == 0 && b == 0)
            return same;
        *was += a;
        *is += b;
    }
}

/** Pragmas that are not the original's must belong to a loop that may be unrolled, and have a plain
 * number. */
static int check_pragmas(const struct pair *pair, size_t *was, size_t *is, struct rp_err *err)
{
    const struct rp_source_loop *loop;
    size_t first = *is;

    if (same_pragmas(pair, was, is))
        return 0;
    loop = loop_at(pair, *was);
    if (!loop || *is >= pair->is.count)
        return rp_fail(err, RP_VERDICT,
                       "line %u: an unroll pragma is added or changed where no loop begins: put it "
                       "on the line before `for`",
                       pair->is.list[first < pair->is.count ? first : first - 1].line);
    for (size_t at = first, length; at < *is; at += length) {
        int rc = check_count(pair, at, err);

        if (rc < 0)
            return rc;
        length = pragma_at(pair->is_text, &pair->is, at);
    }
    return 0;
}

/** In scope unroll, the tokens must be the same, except unroll pragmas. */
static int check_only_pragmas(const struct pair *pair, struct rp_err *err)
{
    size_t was = pair->was_body, is = pair->is_body;

    for (;; was++, is++) {
        int rc = check_pragmas(pair, &was, &is, err);

        if (rc < 0)
            return rc;
        if (was >= pair->was.count && is >= pair->is.count)
            return 0;
        if (was < pair->was.count && is < pair->is.count &&
            rp_token_same(pair->was_text, &pair->was.list[was], pair->is_text, &pair->is.list[is]))
            continue;
        if (is >= pair->is.count)
            return rp_fail(err, RP_VERDICT, "the end of the kernel is missing: give all of it");
        return rp_fail(err, RP_VERDICT,
                       "line %u: %.*s is not what stands here in the original: only unroll pragmas "
                       "in front of loops may be added, changed or removed",
                       pair->is.list[is].line, shown(pair->is_text, &pair->is.list[is]),
                       pair->is_text + pair->is.list[is].begin);
    }
}

/** In scope body, pragmas are free, but their numbers must be plain. */
static int check_body(const struct pair *pair, struct rp_err *err)
{
    int rc = check_words(pair, err);

    for (size_t i = pair->is_body; rc == 0 && i < pair->is.count; i++)
        if (pragma_at(pair->is_text, &pair->is, i))
            rc = check_count(pair, i, err);
    return rc;
}

static int read_pair(struct pair *pair, const char *text, size_t bytes, struct rp_err *err)
{
    const struct rp_kernel_source *source = pair->source;
    int rc;

    if (bytes > MOST_BYTES)
        return rp_fail(err, RP_VERDICT,
                       "the text has %zu bytes, and a kernel may have %d: give the kernel only",
                       bytes, MOST_BYTES);
    rc = rp_text_check_plain(text, bytes, err);
    if (rc < 0 || (rc = rp_tokens_read(text, bytes, &pair->is, err)) < 0)
        return rc;
    if (pair->is.count == 0 || pair->is.count > MOST_TOKENS)
        return rp_fail(err, RP_VERDICT,
                       pair->is.count ? "the text has too many words: give the "
                                        "kernel only"
                                      : "the text is empty: give the kernel");
    pair->was_text = source->text + source->begin;
    pair->is_text = text;
    rc = rp_tokens_read(pair->was_text, source->end - source->begin, &pair->was, err);
    if (rc < 0)
        return rp_wrap(err, "the original");
    while (pair->was_body < pair->was.count &&
           pair->was.list[pair->was_body].begin != source->body_begin - source->begin)
        pair->was_body++;
    if (pair->was_body == pair->was.count)
        return rp_fail(err, RP_BAD_INPUT, "the original has no {");
    return 0;
}

int rp_guard_text(const struct rp_kernel_source *original, const char *text, size_t bytes,
                  enum rp_edit_scope scope, struct rp_guard_part *ret, struct rp_err *err)
{
    rp_cleanup(free_pair) struct pair pair = {.source = original};
    int rc = read_pair(&pair, text, bytes, err);

    if (rc < 0 || (rc = check_head(&pair, scope, err)) < 0 || (rc = check_braces(&pair, err)) < 0 ||
        (rc = check_letters(&pair, err)) < 0 || (rc = check_directives(&pair, err)) < 0)
        return rc;
    rc = scope == RP_EDIT_UNROLL ? check_only_pragmas(&pair, err) : check_body(&pair, err);
    if (rc < 0)
        return rc;
    ret->begin = pair.is.list[0].begin;
    ret->line = pair.is.list[0].line;
    ret->end = pair.is.list[pair.is.count - 1].end;
    ret->body_begin = pair.is.list[pair.is_body].begin;
    return 0;
}
