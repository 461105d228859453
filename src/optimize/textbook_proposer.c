/* Proposes what textbooks do: first what is good for the cause that limits the kernel (rows of LDS
 * that begin on different banks, launch bounds, loads that are wider or earlier), then sums in
 * another order, and then unrolled loops, of which there are more. Each change has a precondition
 * that the compiler's tree decides. The next proposal depends on the attempts alone, so a resumed
 * session gets the same ones. */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "optimize/kernel_facts.h"
#include "optimize/kernel_source.h"
#include "optimize/launch_bounds.h"
#include "optimize/launch_size.h"
#include "optimize/propose.h"

extern const struct rp_proposer rp_proposer_textbook;

/* What keeps every bit is tried so often before what may change the order of sums. */
enum { FIRST_TRIED = 2 };

static int open_textbook(const struct rp_proposer_config *config, void **ret_state,
                         struct rp_err *err)
{
    (void)config;
    (void)err;
    *ret_state = NULL;
    return 0;
}

static void close_textbook(void *state)
{
    (void)state;
}

static bool is_tried(const struct rp_proposer_input *input, const char *text)
{
    for (size_t i = 0; i < input->attempt_count; i++)
        if (strcmp(input->attempts[i].kernel_text, text) == 0)
            return true;
    return false;
}

static int give(struct rp_proposal *ret, char *title, struct rp_buf *text)
{
    ret->title = title;
    ret->bytes = text->len;
    ret->kernel_text = rp_buf_steal(text);
    return 1;
}

/** A name or a number needs no parentheses. */
static bool is_word(const char *text, size_t bytes)
{
    return bytes > 0 &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") >= bytes;
}

/** Makes rows longer by an element, or by as many as are read at once. @param only index of the
 * array; SIZE_MAX: all of them */
static size_t pad(const struct rp_kernel_source *source, size_t only, struct rp_buf *out)
{
    size_t at = source->begin, changed = 0;

    for (size_t i = 0; i < source->array_count; i++) {
        const struct rp_source_array *array = &source->arrays[i];
        const char *bound = source->text + array->bound_begin;
        const size_t bytes = array->bound_end - array->bound_begin;
        const bool word = !array->why_not && is_word(bound, bytes);

        if (array->why_not || (only != SIZE_MAX && i != only) || array->bound_begin < at)
            continue;
        rp_buf_add(out, source->text + at, array->bound_begin - at);
        rp_buf_printf(out, "%s%.*s%s + %u", word ? "" : "(", (int)bytes, bound, word ? "" : ")",
                      array->more);
        at = array->bound_end;
        changed++;
    }
    rp_buf_add(out, source->text + at, source->end - at);
    return changed;
}

static char *padding_title(const struct rp_source_array *array)
{
    return array->more == 1
               ? rp_format("pad the rows of %s in LDS by one element", array->name)
               : rp_format("pad the rows of %s in LDS by %u elements", array->name, array->more);
}

/** @return 1 with a proposal, 0 when there is nothing more */
static int propose_padding(const struct rp_proposer_input *input, struct rp_proposal *ret)
{
    const struct rp_kernel_source *source = input->source;

    for (size_t i = 0; i <= source->array_count; i++) {
        const bool all = i == source->array_count;
        rp_autobuf text = {0};
        const size_t changed = pad(source, all ? SIZE_MAX : i, &text);

        if (changed < (all ? 2 : 1) || is_tried(input, rp_buf_text(&text)))
            continue;
        return give(ret,
                    all ? rp_strdup("pad the rows of all arrays in LDS")
                        : padding_title(&source->arrays[i]),
                    &text);
    }
    return 0;
}

/** Makes the rows of arrays with one bound longer, where a constant is their length. */
static int propose_strides(const struct rp_proposer_input *input, struct rp_proposal *ret)
{
    const struct rp_kernel_source *source = input->source;

    for (size_t i = 0; i < source->stride_count; i++) {
        const struct rp_source_stride *stride = &source->strides[i];
        rp_autobuf text = {0};
        size_t at = source->begin;

        for (size_t j = 0; j < stride->count; j++) {
            rp_buf_add(&text, source->text + at, stride->places[j] - at);
            rp_buf_printf(&text, "(%s + 1)", stride->name);
            at = stride->places[j] + strlen(stride->name);
        }
        rp_buf_add(&text, source->text + at, source->end - at);
        if (!is_tried(input, rp_buf_text(&text)))
            return give(ret, rp_format("pad the rows of %s elements in LDS by one", stride->name),
                        &text);
    }
    return 0;
}

/** Makes what the source's tree allows. */
static int propose_change(const struct rp_proposer_input *input, enum rp_change_kind kind,
                          struct rp_proposal *ret)
{
    for (size_t i = 0; i < input->source->change_count; i++) {
        const struct rp_source_change *change = &input->source->changes[i];

        if (change->kind != kind || is_tried(input, change->kernel_text) ||
            (change->workgroup && change->workgroup != input->largest_workgroup))
            continue;
        *ret = (struct rp_proposal){.title = rp_strdup(change->title),
                                    .bytes = strlen(change->kernel_text),
                                    .kernel_text = rp_strdup(change->kernel_text)};
        return 1;
    }
    return 0;
}

static int propose_element(const struct rp_proposer_input *input, struct rp_proposal *ret)
{
    return propose_change(input, RP_CHANGE_ELEMENT, ret);
}

static int propose_tile(const struct rp_proposer_input *input, struct rp_proposal *ret)
{
    return propose_change(input, RP_CHANGE_TILE, ret);
}

static int propose_wide(const struct rp_proposer_input *input, struct rp_proposal *ret)
{
    return propose_change(input, RP_CHANGE_WIDE, ret);
}

/** Says how large workgroups are, and asks for nothing else. */
static int propose_bounds(const struct rp_proposer_input *input, struct rp_proposal *ret)
{
    rp_autofree char *made = rp_bounds_of_size(input->source, (uint32_t)input->largest_workgroup);

    if (!made || is_tried(input, made))
        return 0;
    ret->title = rp_format("launch bounds of %u work-items, as launched, and no more than that",
                           (unsigned)input->largest_workgroup);
    ret->bytes = strlen(made);
    ret->kernel_text = rp_steal(made);
    return 1;
}

/** Adds up in another order: neighbours in each lane, or four sums in place of one. */
static int propose_sums(const struct rp_proposer_input *input, struct rp_proposal *ret)
{
    enum { WAYS = 4 };
    const struct rp_kernel_source *source = input->source;

    if (propose_change(input, RP_CHANGE_WIDE_SUM, ret))
        return 1;
    for (size_t i = 0; i < source->loop_count; i++) {
        rp_autofree char *made = rp_split_sum(source, &source->loops[i], WAYS);

        if (!made || is_tried(input, made))
            continue;
        ret->title =
            rp_format("add up %d sums in the loop at line %u", WAYS, source->loops[i].line);
        ret->bytes = strlen(made);
        ret->kernel_text = rp_steal(made);
        return 1;
    }
    return 0;
}

/** Fills waves that are partly empty. */
static int propose_whole_waves(const struct rp_proposer_input *input, struct rp_proposal *ret)
{
    return rp_launch_size_propose(input, true, ret);
}

static int propose_workgroups(const struct rp_proposer_input *input, struct rp_proposal *ret)
{
    return rp_launch_size_propose(input, false, ret);
}

/* What is tried, in this order, but first what is good for the cause that limits the kernel. */
static const struct remedy {
    const char *cause;
    bool elsewhere; /**< it is tried also where another cause, or none, is known */
    int (*propose)(const struct rp_proposer_input *input, struct rp_proposal *ret);
} remedies[] = {
    {"lds_bank_conflicts", false, propose_strides}, {"lds_bank_conflicts", true, propose_padding},
    {"register_spills", false, propose_bounds},     {"low_occupancy", false, propose_whole_waves},
    {"low_occupancy", false, propose_bounds},       {"low_occupancy", false, propose_workgroups},
    {"divergence", false, propose_whole_waves},     {"memory_latency", true, propose_element},
    {"memory_latency", true, propose_tile},         {"barrier", false, propose_tile},
    {"memory_latency", true, propose_wide},         {"hbm_bandwidth", false, propose_wide},
    {"l1_bandwidth", false, propose_wide},
};

static bool is_for_cause(const struct rp_proposer_input *input, const struct remedy *remedy)
{
    return input->facts && input->facts->cause && strcmp(input->facts->cause, remedy->cause) == 0;
}

static int propose_remedy(const struct rp_proposer_input *input, bool for_cause,
                          struct rp_proposal *ret)
{
    int rc = 0;

    for (size_t i = 0; i < sizeof remedies / sizeof *remedies && rc == 0; i++)
        if (for_cause ? is_for_cause(input, &remedies[i]) : remedies[i].elsewhere)
            rc = remedies[i].propose(input, ret);
    return rc;
}

/** A remedy for the cause helps: what limits the kernel then is another question, which the next
 * round asks. */
static bool has_helped(const struct rp_proposer_input *input)
{
    bool remedy = false, faster = false;

    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++)
        remedy = remedy || is_for_cause(input, &remedies[i]);
    for (size_t i = 0; i < input->attempt_count; i++)
        faster = faster || strcmp(input->attempts[i].outcome, "faster") == 0;
    return remedy && faster;
}

static int propose_textbook(void *state, const struct rp_proposer_input *input,
                            struct rp_proposal *ret, struct rp_err *err)
{
    const struct rp_proposer *unroll = rp_proposer_named("unroll");
    const bool first = input->attempt_count < FIRST_TRIED;
    int rc;

    (void)state;
    if (has_helped(input))
        return 0;
    rc = propose_remedy(input, true, ret);
    if (rc == 0)
        rc = propose_remedy(input, false, ret);
    if (rc == 0 && !first)
        rc = propose_sums(input, ret);
    if (rc == 0)
        rc = unroll->propose(NULL, input, ret, err);
    return rc == 0 && first ? propose_sums(input, ret) : rc;
}

const struct rp_proposer rp_proposer_textbook = {
    .name = "textbook",
    .summary =
        "rows of LDS on different banks, sizes of workgroups, launch bounds, wider and earlier "
        "loads, sums side by side, unrolled loops; needs no network",
    .changes_body = true,
    .changes_launches = true,
    .open = open_textbook,
    .propose = propose_textbook,
    .close = close_textbook,
};
