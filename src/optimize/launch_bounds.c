/* Reads and writes launch bounds. Whatever else an attribute may say is none. */
#include "optimize/launch_bounds.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "optimize/kernel_source.h"
#include "optimize/source_text.h"

static const char size_bounds[] = "__launch_bounds__";

static bool is(const char *text, const struct rp_tokens *tokens, size_t at, const char *word)
{
    return at < tokens->count && rp_token_is(text, &tokens->list[at], word);
}

/** Says whether a token is one of a constant expression. Braces could hold anything. */
static bool is_plain(const char *text, const struct rp_token *token)
{
    static const char *const known[] = {"(", ")", ",", "+", "-", "*", "/", "%", "::", "<<", ">>"};

    if (token->kind == RP_TOKEN_NUMBER || token->kind == RP_TOKEN_IDENTIFIER)
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (rp_token_is(text, token, known[i]))
            return true;
    return false;
}

/** @return the token behind the parenthesis that closes the one at a token; 0: there is none, or
 * something stands between them that is not plain */
static size_t behind_operands(const char *text, const struct rp_tokens *tokens, size_t at)
{
    size_t depth = 0;

    for (; at < tokens->count && is_plain(text, &tokens->list[at]); at++) {
        depth += is(text, tokens, at, "(");
        depth -= depth && is(text, tokens, at, ")");
        if (depth == 0)
            return is(text, tokens, at, ")") ? at + 1 : 0;
    }
    return 0;
}

/** Reads __attribute__((name(operands))). The least size must be 1, because a larger one is a
 * promise that no run can show to be kept. */
static size_t behind_attribute(const char *text, const struct rp_tokens *tokens, size_t at)
{
    const bool size = is(text, tokens, at + 3, "amdgpu_flat_work_group_size") &&
                      is(text, tokens, at + 5, "1") && is(text, tokens, at + 6, ",");
    size_t end;

    if (!is(text, tokens, at, "__attribute__") || !is(text, tokens, at + 1, "(") ||
        !is(text, tokens, at + 2, "(") ||
        !(size || is(text, tokens, at + 3, "amdgpu_waves_per_eu")))
        return 0;
    end = behind_operands(text, tokens, at + 4);
    return end && is(text, tokens, end, ")") && is(text, tokens, end + 1, ")") ? end + 2 : 0;
}

size_t rp_bounds_at(const struct rp_bounds_macros *macros, const char *text,
                    const struct rp_tokens *tokens, size_t at)
{
    size_t end = is(text, tokens, at, size_bounds) ? behind_operands(text, tokens, at + 1)
                                                   : behind_attribute(text, tokens, at);

    for (size_t i = 0; end == 0 && at < tokens->count && i < macros->count; i++)
        if (is(text, tokens, at, macros->names[i]))
            end = at + 1;
    return end ? end - at : 0;
}

/* --- macros --------------------------------------------------------------------------------- */

struct definition {
    char *name;
    bool bounds; /**< it stands for launch bounds, at least one */
    bool other;  /**< it stands for something else, or has parameters */
};

static struct definition read_definition(const char *line, const struct rp_tokens *tokens)
{
    static const struct rp_bounds_macros none;
    struct definition made = {0};
    size_t at = 2, length;

    if (!is(line, tokens, 0, "define") || tokens->count < 2)
        return made;
    made.name =
        rp_strndup(line + tokens->list[1].begin, tokens->list[1].end - tokens->list[1].begin);
    made.other = tokens->count > 2 && tokens->list[2].begin == tokens->list[1].end;
    while ((length = rp_bounds_at(&none, line, tokens, at)) > 0) {
        made.bounds = true;
        at += length;
    }
    made.other = made.other || at < tokens->count;
    return made;
}

static void add_definition(struct definition **list, size_t *count, size_t *capacity,
                           struct definition made)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*list)[i].name, made.name) == 0) {
            (*list)[i].bounds = (*list)[i].bounds || made.bounds;
            (*list)[i].other = (*list)[i].other || made.other;
            free(made.name);
            return;
        }
    rp_vec_grow(list, capacity, *count, 1, sizeof **list);
    (*list)[(*count)++] = made;
}

void rp_bounds_macros_find(const char *file, size_t bytes, struct rp_bounds_macros *ret)
{
    struct rp_tokens tokens = {0};
    struct definition *list = NULL;
    size_t count = 0, capacity = 0;

    *ret = (struct rp_bounds_macros){0};
    if (rp_tokens_read(file, bytes, &tokens, NULL) < 0)
        return;
    for (size_t i = 0; i < tokens.count; i++) {
        const struct rp_token *token = &tokens.list[i];
        struct rp_tokens parts = {0};
        struct definition made;

        if (token->kind != RP_TOKEN_DIRECTIVE ||
            rp_tokens_read(file + token->begin + 1, token->end - token->begin - 1, &parts, NULL) <
                0)
            continue;
        made = read_definition(file + token->begin + 1, &parts);
        if (made.name)
            add_definition(&list, &count, &capacity, made);
        rp_tokens_free(&parts);
    }
    ret->names = rp_alloc_zero(count + 1, sizeof *ret->names);
    for (size_t i = 0; i < count; i++)
        if (list[i].bounds && !list[i].other)
            ret->names[ret->count++] = list[i].name;
        else
            free(list[i].name);
    free(list);
    rp_tokens_free(&tokens);
}

void rp_bounds_macros_free(struct rp_bounds_macros *macros)
{
    for (size_t i = 0; i < macros->count; i++)
        free(macros->names[i]);
    free(macros->names);
    *macros = (struct rp_bounds_macros){0};
}

/* --- writing -------------------------------------------------------------------------------- */

struct head {
    const struct rp_kernel_source *source;
    const char *text; /**< of the kernel */
    struct rp_tokens tokens;
    struct rp_bounds_macros macros;
    size_t end; /**< token of the body's { */
};

static void free_head(struct head *head)
{
    rp_tokens_free(&head->tokens);
    rp_bounds_macros_free(&head->macros);
}

static bool read_head(struct head *head)
{
    const struct rp_kernel_source *source = head->source;

    head->text = source->text + source->begin;
    if (rp_tokens_read(head->text, source->end - source->begin, &head->tokens, NULL) < 0)
        return false;
    rp_bounds_macros_find(source->text, source->bytes, &head->macros);
    while (head->end < head->tokens.count &&
           head->tokens.list[head->end].begin != source->body_begin - source->begin)
        head->end++;
    return head->end < head->tokens.count;
}

/** Says whether the compiler skips the piece of the head in which a token stands. */
static bool is_skipped(const struct head *head, size_t token)
{
    size_t piece = 0;

    for (size_t i = rp_tokens_next_line(head->text, &head->tokens, 0); i < token;
         i = rp_tokens_next_line(head->text, &head->tokens, i + 1))
        piece++;
    return piece < head->source->piece_count && head->source->skipped[piece];
}

/** @return the token of the kernel's name, which its parameters follow; 0: not found */
static size_t name_token(const struct head *head)
{
    for (size_t at = head->end; at > 0; at--)
        if (is(head->text, &head->tokens, at - 1, head->source->name) &&
            !is_skipped(head, at - 1) &&
            (is(head->text, &head->tokens, at, "(") || is(head->text, &head->tokens, at, "<")))
            return at - 1;
    return 0;
}

/** @return the comma behind the first operand of __launch_bounds__; 0: it has one operand */
static size_t second_operand(const struct head *head, size_t at, size_t end)
{
    size_t depth = 0;

    for (; at < end; at++) {
        depth += is(head->text, &head->tokens, at, "(");
        depth -= is(head->text, &head->tokens, at, ")");
        if (depth == 1 && is(head->text, &head->tokens, at, ","))
            return at;
    }
    return 0;
}

/** Adds the text up to a token, and goes on from another one. */
static void add_up_to(const struct head *head, size_t *from, size_t token, size_t next,
                      struct rp_buf *out)
{
    const size_t to = head->tokens.list[token].begin;

    rp_buf_add(out, head->text + *from, to - *from);
    *from = next < head->tokens.count ? head->tokens.list[next].begin
                                      : head->source->end - head->source->begin;
}

/** Writes one that was there. @return whether it has changed */
static bool write_one(const struct head *head, size_t at, size_t length, uint32_t items,
                      size_t *from, struct rp_buf *out)
{
    const bool named = is(head->text, &head->tokens, at, size_bounds);
    const size_t comma = named ? second_operand(head, at, at + length) : 0;

    if (named && !comma)
        return false;
    if (named) {
        add_up_to(head, from, comma, at + length - 1, out);
        return true;
    }
    add_up_to(head, from, at, at + length, out);
    if (length == 1) /* It is a macro. */
        rp_buf_printf(out, "%s(%u) ", size_bounds, items);
    return true;
}

char *rp_bounds_of_size(const struct rp_kernel_source *source, uint32_t items)
{
    rp_cleanup(free_head) struct head head = {.source = source};
    rp_autobuf out = {0};
    bool changed = false, sized = false;
    size_t from = 0, name;

    if (!items || !read_head(&head) || (name = name_token(&head)) == 0)
        return NULL;
    for (size_t at = 0; at < head.end; at++) {
        const size_t length = rp_bounds_at(&head.macros, head.text, &head.tokens, at);

        if (length && !is_skipped(&head, at)) {
            changed = write_one(&head, at, length, items, &from, &out) || changed;
            sized = sized || length == 1 || is(head.text, &head.tokens, at, size_bounds);
        }
        at += length ? length - 1 : 0;
        if (at + 1 == name && !sized) {
            add_up_to(&head, &from, name, name, &out);
            rp_buf_printf(&out, "%s(%u) ", size_bounds, items);
            changed = true;
        }
    }
    rp_buf_add(&out, head.text + from, source->end - source->begin - from);
    return changed ? rp_buf_steal(&out) : NULL;
}
