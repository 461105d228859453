#include "optimize/declarations.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "optimize/kernel_source.h"
#include "optimize/source_text.h"

enum { MAX_FILE_BYTES = 256 * 1024 }; /* a look-up takes time with its square */

/* A declaration outside functions: some tokens, of which the ones up to `head` can declare names.
 */
struct item {
    size_t first, head, last; /* tokens; last is the one behind */
    bool wanted;
};

struct file {
    const char *text;
    struct rp_tokens tokens;
    struct item *items;
    size_t count;
};

static void cleanup_file(struct file *f)
{
    rp_tokens_free(&f->tokens);
    free(f->items);
}

static bool is(const struct file *f, size_t token, const char *text)
{
    return token < f->tokens.count && rp_token_is(f->text, &f->tokens.list[token], text);
}

static bool is_word(const struct file *f, size_t token)
{
    return token < f->tokens.count && f->tokens.list[token].kind == RP_TOKEN_IDENTIFIER;
}

/* Behind the bracket that closes the one at a token. */
static size_t behind_brackets(const struct file *f, size_t at)
{
    size_t depth = 0;

    for (; at < f->tokens.count; at++) {
        if (is(f, at, "{") || is(f, at, "(") || is(f, at, "["))
            depth++;
        if ((is(f, at, "}") || is(f, at, ")") || is(f, at, "]")) && --depth == 0)
            return at + 1;
    }
    return at;
}

/* A namespace, or extern "C" {: what it holds is outside functions, too. */
static bool opens_scope(const struct file *f, size_t first, size_t brace)
{
    if (is(f, first, "inline"))
        first++;
    return is(f, first, "namespace") || (is(f, first, "extern") && brace == first + 2);
}

/* Whether what stands before a brace makes it a function's, behind which no semicolon comes. */
static bool has_body(const struct file *f, size_t first, size_t brace)
{
    bool parameters = false, type = false;

    if (is(f, brace - 1, ")"))
        return true;
    for (size_t i = first; i < brace; i++) {
        if (is(f, i, "="))
            return false;
        parameters = parameters || is(f, i, "(");
        type = type || is(f, i, "struct") || is(f, i, "class") || is(f, i, "union") ||
               is(f, i, "enum");
    }
    return parameters && !type;
}

/* Where the item that begins here ends, and where the part of it that declares. */
static struct item read_item(const struct file *f, size_t first)
{
    struct item item = {.first = first, .head = first, .last = first + 1};
    size_t at = first;

    if (f->tokens.list[first].kind == RP_TOKEN_DIRECTIVE || is(f, first, "}")) {
        item.head = item.last;
        return item;
    }
    for (; at < f->tokens.count && f->tokens.list[at].kind != RP_TOKEN_DIRECTIVE; at++) {
        if (is(f, at, "(") || is(f, at, "[")) {
            at = behind_brackets(f, at) - 1;
        } else if (is(f, at, ";")) {
            item.head = item.head == first ? at : item.head;
            item.last = at + 1;
            return item;
        } else if (is(f, at, "{")) {
            bool function = has_body(f, first, at);

            item.head = item.head == first ? at : item.head;
            item.last = opens_scope(f, first, at) ? at + 1 : behind_brackets(f, at);
            if (function || item.last == at + 1)
                return item;
            at = item.last - 1;
        }
    }
    item.head = item.head == first ? at : item.head;
    item.last = at;
    return item;
}

static void read_items(struct file *f)
{
    size_t room = 0;

    for (size_t at = 0; at < f->tokens.count;) {
        rp_vec_grow(&f->items, &room, f->count, 1, sizeof *f->items);
        f->items[f->count] = read_item(f, at);
        at = f->items[f->count++].last;
    }
}

static bool same_bytes(const struct file *f, size_t a_begin, size_t a_end, const struct rp_token *b)
{
    return a_end - a_begin == b->end - b->begin &&
           memcmp(f->text + a_begin, f->text + b->begin, a_end - a_begin) == 0;
}

/* Whether #define declares the word. */
static bool defines(const struct file *f, const struct rp_token *directive,
                    const struct rp_token *word)
{
    size_t at = directive->begin + 1, end;

    at += strspn(f->text + at, " \t");
    if (strncmp(f->text + at, "define", 6) != 0)
        return false;
    at += 6 + strspn(f->text + at + 6, " \t");
    for (end = at; end < directive->end && !strchr(" \t(\r\n\\", f->text[end]);)
        end++;
    return same_bytes(f, at, end, word);
}

static bool is_one_of(const struct file *f, size_t token, const char *const *list)
{
    for (; *list; list++)
        if (is(f, token, *list))
            return true;
    return false;
}

/* Behind `template <...>`, if that is what begins here. */
static size_t behind_template(const struct file *f, size_t at)
{
    size_t depth = 0;

    if (!is(f, at, "template"))
        return at;
    for (at++; at < f->tokens.count; at++) {
        if (is(f, at, "<"))
            depth++;
        else if (is(f, at, ">>") && depth <= 2)
            return at + 1;
        else if (is(f, at, ">") && --depth == 0)
            return at + 1;
        else if (is(f, at, ";") || is(f, at, "{"))
            break;
    }
    return at;
}

/* A word declares when one of these, or the end of the head, follows it. */
static bool in_place_of_name(const struct file *f, size_t at, size_t head)
{
    static const char *const follow[] = {"(", "[", "=", ",", ";", ":", "{", NULL};
    static const char *const never[] = {"__attribute__", "__launch_bounds__", "alignas",
                                        "decltype",      "noexcept",          "const",
                                        "__align__",     "__declspec",        NULL};

    return is_word(f, at) && !is_one_of(f, at, never) &&
           (at + 1 == head || is_one_of(f, at + 1, follow));
}

static bool same_word(const struct file *f, size_t token, const struct rp_token *word)
{
    return is_word(f, token) &&
           same_bytes(f, f->tokens.list[token].begin, f->tokens.list[token].end, word);
}

static bool declares(const struct file *f, const struct item *item, const struct rp_token *word)
{
    bool is_enum = false, value = false; /* behind = until the next comma */

    if (f->tokens.list[item->first].kind == RP_TOKEN_DIRECTIVE)
        return defines(f, &f->tokens.list[item->first], word);
    for (size_t i = behind_template(f, item->first); i < item->head; i++) {
        is_enum = is_enum || is(f, i, "enum");
        if (!value && same_word(f, i, word) && in_place_of_name(f, i, item->head))
            return true;
        value = is(f, i, "=") || (value && !is(f, i, ","));
        if (is(f, i, "(") || is(f, i, "["))
            i = behind_brackets(f, i) - 1;
    }
    for (size_t i = item->head; is_enum && i < item->last; i++)
        if (same_word(f, i, word))
            return true;
    return false;
}

static bool is_kernel(const struct file *f, const struct item *item)
{
    for (size_t i = item->first; i < item->head; i++)
        if (is(f, i, "__global__"))
            return true;
    return false;
}

static bool inside(const struct file *f, const struct item *item,
                   const struct rp_kernel_source *source)
{
    return f->tokens.list[item->first].begin < source->end &&
           f->tokens.list[item->last - 1].end > source->begin;
}

/* Wants the items that declare a word; @return whether one is new. */
static bool want(struct file *f, const struct rp_token *word)
{
    bool found = false;

    for (size_t i = 0; i < f->count; i++)
        if (!f->items[i].wanted && !is_kernel(f, &f->items[i]) && declares(f, &f->items[i], word))
            found = f->items[i].wanted = true;
    return found;
}

static bool want_words(struct file *f, size_t first, size_t last)
{
    bool found = false;

    for (size_t i = first; i < last; i++)
        if (is_word(f, i) && want(f, &f->tokens.list[i]))
            found = true;
    return found;
}

/* #define gives its words as one token: read what it stands for. */
static bool want_in_directive(struct file *f, const struct rp_token *directive)
{
    struct rp_tokens inner = {0};
    struct rp_err ignored = RP_ERR_INIT;
    bool found = false;
    size_t skip = directive->begin + 1;

    if (rp_tokens_read(f->text + skip, directive->end - skip, &inner, &ignored) == 0)
        for (size_t i = 0; i < inner.count; i++) {
            struct rp_token word = inner.list[i];

            word.begin += skip;
            word.end += skip;
            if (word.kind == RP_TOKEN_IDENTIFIER && want(f, &word))
                found = true;
        }
    rp_tokens_free(&inner);
    return found;
}

static void find_wanted(struct file *f, const struct rp_kernel_source *source)
{
    bool more = true;

    for (size_t i = 0; i < f->tokens.count; i++)
        if (f->tokens.list[i].begin >= source->begin && f->tokens.list[i].end <= source->end)
            want_words(f, i, i + 1);
    while (more) {
        more = false;
        for (size_t i = 0; i < f->count; i++) {
            const struct item *item = &f->items[i];

            if (!item->wanted)
                continue;
            if (f->tokens.list[item->first].kind == RP_TOKEN_DIRECTIVE)
                more = want_in_directive(f, &f->tokens.list[item->first]) || more;
            else
                more = want_words(f, item->first, item->last) || more;
        }
    }
}

static bool is_include(const struct file *f, const struct item *item)
{
    const struct rp_token *token = &f->tokens.list[item->first];

    return token->kind == RP_TOKEN_DIRECTIVE &&
           strncmp(f->text + token->begin + 1 + strspn(f->text + token->begin + 1, " \t"),
                   "include", 7) == 0;
}

void rp_declarations_of(const struct rp_kernel_source *source, struct rp_text_range **ret,
                        size_t *ret_count)
{
    rp_cleanup(cleanup_file) struct file f = {.text = source->text};
    struct rp_err unreadable = RP_ERR_INIT;
    struct rp_text_range *ranges;
    size_t count = 0;

    if (source->bytes <= MAX_FILE_BYTES &&
        rp_tokens_read(source->text, source->bytes, &f.tokens, &unreadable) == 0)
        read_items(&f);
    find_wanted(&f, source);
    ranges = rp_alloc_zero(f.count + 1, sizeof *ranges);
    for (size_t i = 0; i < f.count; i++) {
        const struct item *item = &f.items[i];

        if ((item->wanted || is_include(&f, item)) && !inside(&f, item, source))
            ranges[count++] = (struct rp_text_range){f.tokens.list[item->first].begin,
                                                     f.tokens.list[item->last - 1].end};
    }
    *ret = ranges;
    *ret_count = count;
}
