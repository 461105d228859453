#include "optimize/propose.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "arch/arch.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/kernel_facts.h"
#include "optimize/kernel_source.h"

enum { RP_UNROLL_MIN = 2, RP_UNROLL_MAX = 8 };

#define RP_PROPOSER(word, symbol, text) extern const struct rp_proposer rp_proposer_##symbol;
#include "optimize/proposers.def"
#undef RP_PROPOSER

static const struct rp_proposer *const proposers[] = {
#define RP_PROPOSER(word, symbol, text) &rp_proposer_##symbol,
#include "optimize/proposers.def"
#undef RP_PROPOSER
};

const struct rp_proposer *rp_proposer_at(size_t index)
{
    return index < sizeof proposers / sizeof *proposers ? proposers[index] : NULL;
}

const struct rp_proposer *rp_proposer_named(const char *name)
{
    for (size_t i = 0; i < sizeof proposers / sizeof *proposers; i++)
        if (strcmp(proposers[i]->name, name) == 0)
            return proposers[i];
    return NULL;
}

/* Chooses from the measurements which loops of a kernel to unroll, how far, and in which order: the
 * loop with most stalls first, and factors by how many registers are free. */

struct rp_unroll_step {
    size_t loop; /**< index in the source's loops */
    unsigned factor;
};

/* A factor of 1 is one more: it leaves a loop as it is. */
enum { FACTORS = RP_UNROLL_MAX - RP_UNROLL_MIN + 1, MOST_STEPS = FACTORS + 1 };

/* Powers of two come first: trip counts mostly are multiples of them, and addresses stay cheap. */
static const unsigned usual[FACTORS] = {2, 4, 8, 3, 6, 5, 7};

/* Waves that wait want many loads on their way at once. */
static const unsigned waiting[FACTORS] = {4, 8, 2, 6, 3, 5, 7};

/* Each further copy may cost a wave. */
static const unsigned careful[FACTORS] = {2, 3, 4, 5, 6, 7, 8};

/* A loop below a third of stalled time has other troubles than latency. One copy of a small body
 * takes about 8 registers, the granule of CDNA's files. */
static const double MANY_STALLS = 0.3;
enum { FEW_REGISTERS = 8 };

static uint32_t waves_with(const struct rp_arch *gpu, uint32_t vgprs)
{
    const struct rp_kernel_resources need = {
        .arch_vgpr = vgprs, .workgroup_size = 64, .wave_size = 64};
    struct rp_occupancy occupancy;

    rp_occupancy_compute(gpu, &need, &occupancy);
    return occupancy.known ? occupancy.vgpr_waves_per_simd : 0;
}

/** Returns how many registers may be added before fewer waves fit.
 * @return -1: not known */
static int free_registers(const struct rp_kernel_facts *facts)
{
    const struct rp_arch *gpu = facts && facts->arch ? rp_arch_find(facts->arch) : NULL;
    uint32_t own, waves, more = 0;

    if (!gpu || !facts->vgprs.known || facts->vgprs.value < 0 ||
        facts->vgprs.value > gpu->max_vgprs_per_lane)
        return -1;
    own = (uint32_t)facts->vgprs.value;
    waves = waves_with(gpu, own);
    while (waves && own + more < gpu->max_vgprs_per_lane &&
           waves_with(gpu, own + more + 1) == waves)
        more++;
    return waves ? (int)more : -1;
}

static const unsigned *factors_for(const struct rp_kernel_facts *facts)
{
    int left = free_registers(facts);

    if (facts && facts->scratch_bytes.known && facts->scratch_bytes.value > 0)
        return careful; /* The kernel has too few registers already. */
    if (left >= 0 && left < FEW_REGISTERS)
        return careful;
    if (facts && facts->stall.known && facts->stall.value >= MANY_STALLS)
        return waiting;
    return usual;
}

/* --- loops --------------------------------------------------------------------------------- */

struct ranked {
    size_t loop;
    double stalls; /**< of the kernel's, at its lines */
    uint32_t depth;
    uint64_t trips; /**< UINT64_MAX: not known */
};

static uint32_t last_line(const struct rp_kernel_source *source, const struct rp_source_loop *loop)
{
    uint32_t line = loop->line;

    for (size_t i = loop->begin; i < loop->end; i++)
        line += source->text[i] == '\n';
    return line;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/** Says whether "kernels.hip:12" is of a path that ends so, and in these lines. */
static bool is_in(const char *place, const char *path, uint32_t first, uint32_t last)
{
    const char *file = base_name(place), *colon = strrchr(file, ':'), *name = base_name(path);
    unsigned long line = colon ? strtoul(colon + 1, NULL, 10) : 0;

    return colon && strlen(name) == (size_t)(colon - file) &&
           memcmp(name, file, strlen(name)) == 0 && line >= first && line <= last;
}

static double stalls_in(const struct rp_kernel_source *source, const struct rp_source_loop *loop,
                        const struct rp_kernel_facts *facts)
{
    uint32_t last = last_line(source, loop);
    double sum = 0;

    for (size_t i = 0; facts && i < facts->line_count; i++)
        if (is_in(facts->lines[i].place, source->path, loop->line, last))
            sum += facts->lines[i].share;
    return sum;
}

static int most_promising_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->stalls != y->stalls)
        return x->stalls > y->stalls ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth > y->depth ? -1 : 1;
    if (x->trips != y->trips)
        return x->trips > y->trips ? -1 : 1;
    return x->loop < y->loop ? -1 : x->loop > y->loop;
}

/** Says whether a factor belongs to a pass: those that divide a known trip count come first. */
static bool is_of_pass(const struct ranked *ranked, unsigned factor, bool first_pass)
{
    if (ranked->trips == UINT64_MAX)
        return first_pass;
    return factor <= ranked->trips && (ranked->trips % factor == 0) == first_pass;
}

/** Says whether the kernel waits for its own code: copies of a loop's body are what is too much. */
static bool waits_for_code(const struct rp_kernel_facts *facts)
{
    return facts && facts->cause && strcmp(facts->cause, "instruction_cache_misses") == 0;
}

/**
 * @param facts NULL: nothing is known
 * @param ret has room for loop_count * MOST_STEPS entries
 * @return how many were written
 */
static size_t unroll_plan(const struct rp_kernel_source *source,
                          const struct rp_kernel_facts *facts, struct rp_unroll_step *ret)
{
    struct ranked *loops = rp_alloc_zero(source->loop_count + 1, sizeof *loops);
    const unsigned *factors = factors_for(facts);
    size_t count = 0, steps = 0;

    for (size_t i = 0; i < source->loop_count; i++) {
        const struct rp_source_loop *loop = &source->loops[i];

        if (!loop->why_not)
            loops[count++] =
                (struct ranked){i, stalls_in(source, loop, facts), loop->depth,
                                loop->trip_count_known ? loop->trip_count : UINT64_MAX};
    }
    if (count)
        qsort(loops, count, sizeof *loops, most_promising_first);
    for (size_t i = 0; waits_for_code(facts) && i < count; i++)
        if (loops[i].trips > 1)
            ret[steps++] = (struct rp_unroll_step){loops[i].loop, 1};
    for (int pass = 0; pass < 2; pass++)
        for (size_t f = 0; f < FACTORS; f++)
            for (size_t i = 0; i < count; i++)
                if (is_of_pass(&loops[i], factors[f], pass == 0))
                    ret[steps++] = (struct rp_unroll_step){loops[i].loop, factors[f]};
    free(loops);
    return steps;
}

/* Proposes unroll pragmas, one loop at a time. The next proposal depends on the attempts alone, so
 * a resumed session gets the same proposals. */

extern const struct rp_proposer rp_proposer_unroll;

/* If pragmas of a loop change nothing in the code twice, the compiler unrolls it by its own rules.
 */
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

/** Says whether only blanks precede a place on its line. */
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

/** Makes the kernel with one loop's pragmas replaced by one of this factor. */
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
                         size_t count, unsigned *same, struct rp_proposal *ret)
{
    const struct rp_kernel_source *source = input->source;

    for (size_t i = 0; i < count; i++) {
        const struct rp_source_loop *loop = &source->loops[plan[i].loop];
        rp_autofree char *text = with_pragma(source, loop, plan[i].factor);
        const struct rp_attempt *attempt;

        attempt = attempt_of(input, text);
        if (attempt)
            same[plan[i].loop] += strcmp(attempt->outcome, "same code") == 0;
        if (attempt || is_original(source, text) || same[plan[i].loop] >= MOST_SAME)
            continue;
        ret->title = plan[i].factor > 1
                         ? rp_format("unroll the loop at line %u by %u", loop->line, plan[i].factor)
                         : rp_format("do not unroll the loop at line %u", loop->line);
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
    rp_autofree struct rp_unroll_step *plan = rp_alloc_zero(loops * MOST_STEPS + 1, sizeof *plan);
    rp_autofree unsigned *same = rp_alloc_zero(loops + 1, sizeof *same);

    (void)state;
    (void)err;
    return first_untried(input, plan, unroll_plan(input->source, input->facts, plan), same, ret);
}

const struct rp_proposer rp_proposer_unroll = {
    .name = "unroll",
    .summary = "loop unrolling by 2 to 8; needs no network",
    .open = open_unroll,
    .propose = propose_unroll,
    .close = close_unroll,
};
