/* Writes a loop that adds up one variable as one that adds up several, each of every n-th term, and
 * a second one for the rest: terms then need not wait for each other. The tree says which loops
 * these are (kernel_source.c), their tokens become the new text. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "optimize/kernel_source.h"
#include "optimize/loop_text.h"
#include "optimize/propose.h"

/** for (init counter = ...; counter < bound; step) sum += term; */
struct sum_loop {
    struct rp_loop_text loop;
    struct rp_span term;
    size_t sum;
};

/** Reads the body. */
static bool read_sum(struct sum_loop *sum)
{
    const struct rp_loop_text *loop = &sum->loop;
    const bool block = rp_loop_is(loop, loop->body.begin, "{");
    const size_t at = loop->body.begin + block;

    sum->sum = at;
    sum->term.begin = at + 2;
    sum->term.end = rp_loop_find(loop, (struct rp_span){at + 2, loop->end}, ";");
    return rp_loop_is(loop, at + 1, "+=") && sum->term.end > at + 2 &&
           sum->term.end + 1 + block == loop->end &&
           (!block || rp_loop_is(loop, loop->end - 1, "}"));
}

static int word_bytes(const struct rp_loop_text *loop, size_t at)
{
    return (int)(loop->tokens.list[at].end - loop->tokens.list[at].begin);
}

static const char *word(const struct rp_loop_text *loop, size_t at)
{
    return loop->text + loop->tokens.list[at].begin;
}

static void add_split(const struct sum_loop *of, const char *type, unsigned ways,
                      const char *indent, struct rp_buf *out)
{
    const struct rp_loop_text *loop = &of->loop;
    const char *sum = word(loop, of->sum), *counter = word(loop, loop->counter);
    const int sum_bytes = word_bytes(loop, of->sum), bytes = word_bytes(loop, loop->counter);

    rp_buf_printf(out, "{\n%s    %s ", indent, type);
    for (unsigned k = 1; k < ways; k++)
        rp_buf_printf(out, "%s%.*s_%u = 0", k > 1 ? ", " : "", sum_bytes, sum, k);
    rp_buf_printf(out, ";\n%s    ", indent);
    rp_loop_add_part(loop, loop->init, 0, out);
    rp_buf_printf(out, ";\n%s    for (; %.*s < ", indent, bytes, counter);
    rp_loop_add_operand(loop, loop->bound, out);
    rp_buf_puts(out, " && ");
    rp_loop_add_operand(loop, loop->bound, out);
    rp_buf_printf(out, " - %.*s > ", bytes, counter);
    rp_loop_add_steps(loop, ways - 1, out);
    rp_buf_printf(out, "; %.*s += ", bytes, counter);
    rp_loop_add_steps(loop, ways, out);
    rp_buf_puts(out, ") {\n");
    for (unsigned k = 0; k < ways; k++) {
        rp_buf_printf(out, "%s        %.*s", indent, sum_bytes, sum);
        if (k)
            rp_buf_printf(out, "_%u", k);
        rp_buf_puts(out, " += ");
        rp_loop_add_part(loop, of->term, k, out);
        rp_buf_puts(out, ";\n");
    }
    rp_buf_printf(out, "%s    }\n%s    for (; %.*s < ", indent, indent, bytes, counter);
    rp_loop_add_operand(loop, loop->bound, out);
    rp_buf_printf(out, "; %.*s += ", bytes, counter);
    rp_loop_add_steps(loop, 1, out);
    rp_buf_printf(out, ")\n%s        %.*s += ", indent, sum_bytes, sum);
    rp_loop_add_part(loop, of->term, 0, out);
    rp_buf_printf(out, ";\n%s    %.*s += ", indent, sum_bytes, sum);
    for (unsigned k = 1; k < ways; k++)
        rp_buf_printf(out, "%s%.*s_%u", k > 1 ? " + " : "", sum_bytes, sum, k);
    rp_buf_printf(out, ";\n%s}", indent);
}

/** The new variables must not hide others. */
static bool is_free(const struct sum_loop *of, unsigned ways)
{
    const struct rp_loop_text *loop = &of->loop;

    for (unsigned k = 1; k < ways; k++) {
        rp_autofree char *name =
            rp_format("%.*s_%u", word_bytes(loop, of->sum), word(loop, of->sum), k);

        if (rp_loop_has_word(loop, name))
            return false;
    }
    return true;
}

char *rp_split_sum(const struct rp_kernel_source *source, const struct rp_source_loop *of,
                   unsigned ways)
{
    const size_t from = of->pragma_begin - source->begin, bytes = source->end - source->begin;
    struct sum_loop sum = {0};
    struct rp_loop_text *loop = &sum.loop;
    rp_autobuf out = {0};
    bool made;

    if (!of->sum_type || !rp_loop_text_read(source, of, loop))
        return NULL;
    made = read_sum(&sum) && is_free(&sum, ways);
    if (made) {
        rp_autofree char *indent = rp_indent_of(loop->text, of->begin - source->begin);
        const size_t end = loop->tokens.list[loop->end - 1].end;

        rp_buf_add(&out, loop->text, from);
        add_split(&sum, of->sum_type, ways, indent, &out);
        rp_buf_add(&out, loop->text + end, bytes - end);
    }
    rp_loop_text_free(loop);
    return made ? rp_buf_steal(&out) : NULL;
}
