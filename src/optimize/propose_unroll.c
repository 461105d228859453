/* Unroll pragmas, one loop at a time. What comes next depends on the attempts alone, so a session
 * that goes on gets the same proposals. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/kernel_source.h"
#include "optimize/proposer.h"
#include "optimize/unroll_plan.h"

extern const struct rp_proposer rp_proposer_unroll;

/* A loop whose pragmas change nothing in the code twice is unrolled as the compiler likes. */
enum { MOST_SAME = 2 };

static int open_unroll(const struct rp_proposer_config *config, void **ret_state,
                       struct rp_err *err)
{
    (void)config;
    (void)err;
    *ret_state = NULL;
    return 0;
}

static void close_unroll(void *state)
{
    (void)state;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/** Whether nothing but blanks stands before a place on its line. */
static bool begins_line(const struct rp_kernel_source *source, size_t at)
{
    while (at > source->begin && is_blank(source->text[at - 1]))
        at--;
    return at == source->begin || source->text[at - 1] == '\n';
}

static bool ends_line(const struct rp_kernel_source *source, size_t at)
{
    while (is_blank(source->text[at]))
        at++;
    return source->text[at] == '\n';
}

/** The kernel with one loop's pragmas as one of this factor. */
static char *with_pragma(const struct rp_kernel_source *source, const struct rp_source_loop *loop,
                         unsigned factor)
{
    rp_autobuf out = {0};
    bool has_pragma = loop->pragma_end > loop->pragma_begin;
    size_t at = has_pragma ? loop->pragma_begin : loop->begin, indent = at;
    size_t rest = has_pragma ? loop->pragma_end : loop->begin;

    while (indent > source->begin &&
           (source->text[indent - 1] == ' ' || source->text[indent - 1] == '\t'))
        indent--;
    rp_buf_add(&out, source->text + source->begin, at - source->begin);
    rp_buf_printf(&out, "%s#pragma unroll %u", begins_line(source, at) ? "" : "\n", factor);
    if (!has_pragma || !ends_line(source, rest)) {
        rp_buf_puts(&out, "\n");
        rp_buf_add(&out, source->text + indent, at - indent);
    }
    rp_buf_add(&out, source->text + rest, source->end - rest);
    return rp_buf_steal(&out);
}

static bool is_original(const struct rp_kernel_source *source, const char *text)
{
    return strlen(text) == source->end - source->begin &&
           memcmp(text, source->text + source->begin, strlen(text)) == 0;
}

static const struct rp_attempt *attempt_of(const struct rp_proposer_input *input, const char *text)
{
    for (size_t i = 0; i < input->attempt_count; i++)
        if (strcmp(input->attempts[i].kernel_text, text) == 0)
            return &input->attempts[i];
    return NULL;
}

/** @return 1 with a proposal, 0 when all of the plan was tried */
static int first_untried(const struct rp_proposer_input *input, const struct rp_unroll_step *plan,
                         size_t count, unsigned *same, struct rp_proposal *ret, struct rp_err *err)
{
    const struct rp_kernel_source *source = input->source;

    for (size_t i = 0; i < count; i++) {
        const struct rp_source_loop *loop = &source->loops[plan[i].loop];
        rp_autofree char *text = with_pragma(source, loop, plan[i].factor);
        const struct rp_attempt *attempt;

        if (!text)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        attempt = attempt_of(input, text);
        if (attempt)
            same[plan[i].loop] += strcmp(attempt->outcome, "same code") == 0;
        if (attempt || is_original(source, text) || same[plan[i].loop] >= MOST_SAME)
            continue;
        ret->title = rp_format("unroll the loop at line %u by %u", loop->line, plan[i].factor);
        if (!ret->title)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        ret->bytes = strlen(text);
        ret->kernel_text = rp_steal(text);
        return 1;
    }
    return 0;
}

static int propose_unroll(void *state, const struct rp_proposer_input *input,
                          struct rp_proposal *ret, struct rp_err *err)
{
    size_t loops = input->source->loop_count;
    rp_autofree struct rp_unroll_step *plan =
        calloc(loops * (RP_UNROLL_MOST - RP_UNROLL_LEAST + 1) + 1, sizeof *plan);
    rp_autofree unsigned *same = calloc(loops + 1, sizeof *same);

    (void)state;
    if (!plan || !same)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return first_untried(input, plan, rp_unroll_plan(input->source, input->facts, plan), same, ret,
                         err);
}

const struct rp_proposer rp_proposer_unroll = {
    .name = "unroll",
    .summary = "loop unrolling by 2 to 8; needs no network",
    .open = open_unroll,
    .propose = propose_unroll,
    .close = close_unroll,
};
