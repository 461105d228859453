/* Writes a loop that adds up one variable as one that adds up several, each of every n-th term, and
 * a second one for the rest: terms then need not wait for each other. The tree says which loops
 * these are (kernel_source.c), their tokens become the new text. */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "optimize/kernel_source.h"
#include "optimize/propose.h"
#include "optimize/source_text.h"

/* Indices of tokens; the ends are behind. */
struct part {
    size_t begin, end;
};

/** for (init counter = ...; counter < bound; step) sum += term; */
struct sum_loop {
    const char *text; /**< of the kernel */
    struct rp_tokens tokens;
    struct part init, bound, step, term;
    size_t counter, sum;
    size_t end;       /**< of the loop: behind its last token */
    bool step_is_one; /**< else step is the size */
};

static bool is(const struct sum_loop *loop, size_t at, const char *word)
{
    return at < loop->tokens.count && rp_token_is(loop->text, &loop->tokens.list[at], word);
}

static bool same(const struct sum_loop *loop, size_t a, size_t b)
{
    return b < loop->tokens.count &&
           rp_token_same(loop->text, &loop->tokens.list[a], loop->text, &loop->tokens.list[b]);
}

/** Finds a word outside of brackets. @return the end: there is none */
static size_t find(const struct sum_loop *loop, struct part in, const char *word)
{
    int depth = 0;

    for (size_t at = in.begin; at < in.end; at++) {
        if (depth == 0 && is(loop, at, word))
            return at;
        depth += is(loop, at, "(") || is(loop, at, "[") || is(loop, at, "{");
        depth -= is(loop, at, ")") || is(loop, at, "]") || is(loop, at, "}");
    }
    return in.end;
}

static bool read_head(struct sum_loop *loop, size_t begin, size_t *ret_body)
{
    const struct part rest = {begin + 2, loop->end};
    const size_t first = find(loop, rest, ";");
    const size_t second = find(loop, (struct part){first + 1, loop->end}, ";");
    const size_t close = find(loop, (struct part){second + 1, loop->end}, ")");
    const size_t equals = find(loop, (struct part){begin + 2, first}, "=");

    if (!is(loop, begin, "for") || !is(loop, begin + 1, "(") || close >= loop->end ||
        equals < begin + 4 || equals >= first ||
        find(loop, (struct part){begin + 2, first}, ",") < first)
        return false;
    loop->init = (struct part){begin + 2, first};
    loop->counter = equals - 1;
    loop->bound = (struct part){first + 3, second};
    if (!same(loop, loop->counter, first + 1) || !is(loop, first + 2, "<") || second <= first + 3 ||
        find(loop, loop->bound, "&&") < second || find(loop, loop->bound, "||") < second)
        return false;
    loop->step_is_one = close == second + 3 &&
                        ((same(loop, loop->counter, second + 1) && is(loop, second + 2, "++")) ||
                         (is(loop, second + 1, "++") && same(loop, loop->counter, second + 2)));
    loop->step = (struct part){second + 3, close};
    *ret_body = close + 1;
    return loop->step_is_one ||
           (same(loop, loop->counter, second + 1) && is(loop, second + 2, "+=") &&
            close > second + 3 && find(loop, loop->step, ",") == close);
}

static bool read_loop(struct sum_loop *loop, size_t begin)
{
    size_t at, block;

    if (!read_head(loop, begin, &at))
        return false;
    block = is(loop, at, "{");
    at += block;
    loop->sum = at;
    loop->term.begin = at + 2;
    loop->term.end = find(loop, (struct part){at + 2, loop->end}, ";");
    return is(loop, at + 1, "+=") && loop->term.end > at + 2 &&
           loop->term.end + 1 + block == loop->end && (!block || is(loop, loop->end - 1, "}"));
}

static void add_steps(const struct sum_loop *loop, unsigned count, struct rp_buf *out);

/** Adds tokens as they stand, but the counter k steps further. */
static void add_part(const struct sum_loop *loop, struct part part, unsigned k, struct rp_buf *out)
{
    const char *from = loop->text + loop->tokens.list[part.begin].begin;

    for (size_t at = part.begin; at < part.end; at++) {
        const struct rp_token *token = &loop->tokens.list[at];
        const bool member = at > part.begin && (is(loop, at - 1, ".") || is(loop, at - 1, "->"));

        if (at > part.begin)
            rp_buf_add(out, from, (size_t)(loop->text + token->begin - from));
        from = loop->text + token->end;
        if (k == 0 || member || !same(loop, loop->counter, at)) {
            rp_buf_add(out, loop->text + token->begin, token->end - token->begin);
            continue;
        }
        rp_buf_puts(out, "(");
        rp_buf_add(out, loop->text + token->begin, token->end - token->begin);
        rp_buf_puts(out, " + ");
        add_steps(loop, k, out);
        rp_buf_puts(out, ")");
    }
}

static int word_bytes(const struct sum_loop *loop, size_t at)
{
    return (int)(loop->tokens.list[at].end - loop->tokens.list[at].begin);
}

static const char *word(const struct sum_loop *loop, size_t at)
{
    return loop->text + loop->tokens.list[at].begin;
}

/** One token needs no parentheses. */
static void add_operand(const struct sum_loop *loop, struct part part, struct rp_buf *out)
{
    const bool one = part.end == part.begin + 1;

    rp_buf_puts(out, one ? "" : "(");
    add_part(loop, part, 0, out);
    rp_buf_puts(out, one ? "" : ")");
}

/** Adds steps of the counter, as an operand of a sum. */
static void add_steps(const struct sum_loop *loop, unsigned count, struct rp_buf *out)
{
    if (count > 1 || loop->step_is_one)
        rp_buf_printf(out, "%u", count);
    if (loop->step_is_one)
        return;
    rp_buf_puts(out, count > 1 ? " * " : "");
    add_operand(loop, loop->step, out);
}

static void add_bound(const struct sum_loop *loop, struct rp_buf *out)
{
    add_operand(loop, loop->bound, out);
}

static void add_split(const struct sum_loop *loop, const char *type, unsigned ways,
                      const char *indent, struct rp_buf *out)
{
    const char *sum = word(loop, loop->sum), *counter = word(loop, loop->counter);
    const int sum_bytes = word_bytes(loop, loop->sum), bytes = word_bytes(loop, loop->counter);

    rp_buf_printf(out, "{\n%s    %s ", indent, type);
    for (unsigned k = 1; k < ways; k++)
        rp_buf_printf(out, "%s%.*s_%u = 0", k > 1 ? ", " : "", sum_bytes, sum, k);
    rp_buf_printf(out, ";\n%s    ", indent);
    add_part(loop, loop->init, 0, out);
    rp_buf_printf(out, ";\n%s    for (; %.*s < ", indent, bytes, counter);
    add_bound(loop, out);
    rp_buf_puts(out, " && ");
    add_bound(loop, out);
    rp_buf_printf(out, " - %.*s > ", bytes, counter);
    add_steps(loop, ways - 1, out);
    rp_buf_printf(out, "; %.*s += ", bytes, counter);
    add_steps(loop, ways, out);
    rp_buf_puts(out, ") {\n");
    for (unsigned k = 0; k < ways; k++) {
        rp_buf_printf(out, "%s        %.*s", indent, sum_bytes, sum);
        if (k)
            rp_buf_printf(out, "_%u", k);
        rp_buf_puts(out, " += ");
        add_part(loop, loop->term, k, out);
        rp_buf_puts(out, ";\n");
    }
    rp_buf_printf(out, "%s    }\n%s    for (; %.*s < ", indent, indent, bytes, counter);
    add_bound(loop, out);
    rp_buf_printf(out, "; %.*s += ", bytes, counter);
    add_steps(loop, 1, out);
    rp_buf_printf(out, ")\n%s        %.*s += ", indent, sum_bytes, sum);
    add_part(loop, loop->term, 0, out);
    rp_buf_printf(out, ";\n%s    %.*s += ", indent, sum_bytes, sum);
    for (unsigned k = 1; k < ways; k++)
        rp_buf_printf(out, "%s%.*s_%u", k > 1 ? " + " : "", sum_bytes, sum, k);
    rp_buf_printf(out, ";\n%s}", indent);
}

/** The new variables must not hide others. */
static bool is_free(const struct sum_loop *loop, unsigned ways)
{
    for (unsigned k = 1; k < ways; k++) {
        rp_autofree char *name =
            rp_format("%.*s_%u", word_bytes(loop, loop->sum), word(loop, loop->sum), k);

        for (size_t at = 0; at < loop->tokens.count; at++)
            if (is(loop, at, name))
                return false;
    }
    return true;
}

/** Copies the blanks at the beginning of a place's line. */
static char *indent_of(const char *text, size_t at)
{
    size_t line = at, blanks = 0;

    while (line > 0 && text[line - 1] != '\n')
        line--;
    while (text[line + blanks] == ' ' || text[line + blanks] == '\t')
        blanks++;
    return rp_strndup(text + line, blanks);
}

static bool split(const struct rp_kernel_source *source, const struct rp_source_loop *of,
                  struct sum_loop *loop, unsigned ways, struct rp_buf *out)
{
    const size_t bytes = source->end - source->begin;
    const size_t from = of->pragma_begin - source->begin, to = of->end - source->begin;
    rp_autofree char *indent = indent_of(loop->text, of->begin - source->begin);
    size_t begin = 0;

    while (begin < loop->tokens.count && loop->tokens.list[begin].begin + source->begin < of->begin)
        begin++;
    for (loop->end = begin;
         loop->end < loop->tokens.count && loop->tokens.list[loop->end].begin < to; loop->end++)
        if (loop->tokens.list[loop->end].kind == RP_TOKEN_DIRECTIVE)
            return false;
    /* The compiler does not count the semicolon of a body without braces. */
    loop->end += is(loop, loop->end, ";") && !is(loop, loop->end - 1, "}");
    if (!read_loop(loop, begin) || !is_free(loop, ways))
        return false;
    rp_buf_add(out, loop->text, from);
    add_split(loop, of->sum_type, ways, indent, out);
    begin = loop->tokens.list[loop->end - 1].end;
    rp_buf_add(out, loop->text + begin, bytes - begin);
    return true;
}

char *rp_split_sum(const struct rp_kernel_source *source, const struct rp_source_loop *of,
                   unsigned ways)
{
    struct sum_loop loop = {.text = source->text + source->begin};
    rp_autobuf out = {0};
    bool made;

    if (!of->sum_type ||
        rp_tokens_read(loop.text, source->end - source->begin, &loop.tokens, NULL) < 0)
        return NULL;
    made = split(source, of, &loop, ways, &out);
    rp_tokens_free(&loop.tokens);
    return made ? rp_buf_steal(&out) : NULL;
}
