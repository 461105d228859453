#include "analyze/thread_trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/units.h"
#include "trace/rocpd.h"

bool rp_att_problem(struct rp_thread_trace *trace, bool damage, const char *file, const char *fmt,
                    ...)
{
    struct rp_att_problem *grown =
        realloc(trace->problems, (trace->problem_count + 1) * sizeof *grown);
    struct rp_att_problem *p;
    va_list ap;

    if (!grown)
        return false;
    trace->problems = grown;
    p = &grown[trace->problem_count];
    *p = (struct rp_att_problem){.damage = damage, .file = strdup(file)};
    va_start(ap, fmt);
    if (vasprintf(&p->text, fmt, ap) < 0)
        p->text = NULL;
    va_end(ap);
    if (!p->file || !p->text) {
        free(p->file);
        free(p->text);
        return false;
    }
    trace->problem_count++;
    return true;
}

/* --- lines --------------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b, void *context)
{
    const struct rp_att_instruction *instructions = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    if (instructions[left].line != instructions[right].line)
        return instructions[left].line < instructions[right].line ? -1 : 1;
    return left < right ? -1 : left > right;
}

/** Returns the index of the instruction with this line; UINT32_MAX = none. */
static uint32_t att_find_line(const struct rp_att_build *build, int64_t line)
{
    const struct rp_thread_trace *trace = build->trace;
    size_t low = 0, high = trace->instruction_count;

    if (!build->has_lines || line < 0 || line > UINT32_MAX)
        return UINT32_MAX;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (trace->instructions[build->by_line[middle]].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == trace->instruction_count || trace->instructions[build->by_line[low]].line != line)
        return UINT32_MAX;
    return build->by_line[low];
}

int rp_att_index(struct rp_att_build *build, struct rp_err *err)
{
    struct rp_thread_trace *trace = build->trace;
    size_t count = trace->instruction_count;

    build->meanings = calloc(count + 1, sizeof *build->meanings);
    build->from_waves = calloc(count + 1, sizeof *build->from_waves);
    build->by_line = calloc(count + 1, sizeof *build->by_line);
    build->begun = calloc(trace->kernel_count + 1, sizeof *build->begun);
    if (!build->meanings || !build->from_waves || !build->by_line || !build->begun)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++) {
        struct rp_att_instruction *instruction = &trace->instructions[i];

        rp_att_decode(instruction->isa, trace->gfx_ip, &build->meanings[i]);
        instruction->kind = build->meanings[i].kind;
        build->by_line[i] = (uint32_t)i;
    }
    qsort_r(build->by_line, count, sizeof *build->by_line, compare_lines, trace->instructions);
    return 0;
}

void rp_att_build_free(struct rp_att_build *build)
{
    free(build->meanings);
    free(build->from_waves);
    free(build->by_line);
    free(build->begun);
    for (size_t k = 0; k < RP_ATT_KIND_COUNT; k++)
        free(build->latencies[k].at);
}

/* --- sums ---------------------------------------------------------------------------------- */

static void add(struct rp_att_sums *to, const struct rp_att_sums *from)
{
    to->executed += from->executed;
    to->latency_cycles += from->latency_cycles;
    to->stall_cycles += from->stall_cycles;
    to->idle_cycles += from->idle_cycles;
}

static void add_samples(struct rp_att_samples *to, const struct rp_att_samples *from)
{
    to->taken += from->taken;
    to->lanes += from->lanes;
    to->issued += from->issued;
    to->stalled += from->stalled;
    for (size_t r = 0; r < RP_ATT_SAMPLE_COUNT; r++)
        to->by_reason[r] += from->by_reason[r];
}

/* Stalls that the waves did not explain are explained by the kind of the instruction. */
static void explain_stall(struct rp_att_instruction *instruction,
                          const struct rp_att_meaning *meaning)
{
    uint64_t known = 0;

    for (size_t r = 0; r < RP_ATT_REASON_COUNT; r++)
        known += instruction->waited_cycles[r];
    if (instruction->sums.stall_cycles > known)
        instruction->waited_cycles[rp_att_reason_of(meaning)] +=
            instruction->sums.stall_cycles - known;
}

static void add_up(struct rp_att_build *build)
{
    struct rp_thread_trace *trace = build->trace;

    for (size_t i = 0; i < trace->instruction_count; i++) {
        struct rp_att_instruction *in = &trace->instructions[i];

        if (!trace->sums_known && trace->wave_count)
            in->sums = build->from_waves[i];
        explain_stall(in, &build->meanings[i]);
        add(&trace->sums, &in->sums);
        add(&trace->by_kind[in->kind], &in->sums);
        add_samples(&trace->samples, &in->samples);
        for (size_t r = 0; r < RP_ATT_REASON_COUNT; r++)
            trace->waited_cycles[r] += in->waited_cycles[r];
        if (in->kernel < trace->kernel_count) {
            add(&trace->kernels[in->kernel].sums, &in->sums);
            add_samples(&trace->kernels[in->kernel].samples, &in->samples);
        }
    }
    if (trace->instruction_count == 0)
        for (size_t k = 0; k < RP_ATT_KIND_COUNT; k++) {
            trace->by_kind[k] = build->loose[k];
            add(&trace->sums, &build->loose[k]);
        }
    trace->sums_known |= trace->wave_count > 0;
}

/* Chooses the kernel in which most waves begin, because a function that it calls may take more
 * cycles. Without waves it chooses the one with most cycles, or samples. */
static void choose_kernel(const struct rp_att_build *build)
{
    struct rp_thread_trace *trace = build->trace;
    uint64_t most = 0, most_begun = 0;

    trace->kernel = trace->kernel_count;
    for (size_t k = 0; k < trace->kernel_count; k++) {
        const struct rp_att_kernel *kernel = &trace->kernels[k];
        uint64_t weight =
            kernel->sums.latency_cycles + kernel->sums.idle_cycles + kernel->samples.taken;

        if (build->begun[k] < most_begun || (build->begun[k] == most_begun && weight <= most))
            continue;
        trace->kernel = k;
        most = weight;
        most_begun = build->begun[k];
    }
}

static int compare_values(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return left < right ? -1 : left > right;
}

static void measure_latencies(struct rp_att_build *build)
{
    for (size_t k = 0; k < RP_ATT_KIND_COUNT; k++) {
        const struct rp_att_values *values = &build->latencies[k];
        struct rp_att_latency *latency = &build->trace->latency[k];

        if (values->count == 0)
            continue;
        qsort(values->at, values->count, sizeof *values->at, compare_values);
        latency->count = values->count;
        latency->least_cycles = values->at[0];
        latency->median_cycles = values->at[(values->count - 1) / 2];
        latency->most_cycles = values->at[values->count - 1];
        for (size_t i = 0; i < values->count; i++)
            latency->sum_cycles += values->at[i];
    }
}

/* --- waves --------------------------------------------------------------------------------- */

static int compare_waves(const void *a, const void *b)
{
    const struct rp_att_wave *l = a, *r = b;

    if (l->shader_engine != r->shader_engine)
        return l->shader_engine < r->shader_engine ? -1 : 1;
    if (l->cu != r->cu)
        return l->cu < r->cu ? -1 : 1;
    if (l->simd != r->simd)
        return l->simd < r->simd ? -1 : 1;
    if (l->begin_cycle != r->begin_cycle)
        return l->begin_cycle < r->begin_cycle ? -1 : 1;
    if (l->slot != r->slot)
        return l->slot < r->slot ? -1 : 1;
    return l->id < r->id ? -1 : l->id > r->id;
}

static bool same_simd(const struct rp_att_wave *a, const struct rp_att_wave *b)
{
    return a->shader_engine == b->shader_engine && a->cu == b->cu && a->simd == b->simd;
}

static void measure_issue(struct rp_thread_trace *trace)
{
    struct rp_att_issue *issue = &trace->issue;

    if (trace->wave_count)
        qsort(trace->waves, trace->wave_count, sizeof *trace->waves, compare_waves);
    for (size_t i = 0; i < trace->wave_count;) {
        const struct rp_att_wave *first = &trace->waves[i];
        int64_t covered = first->begin_cycle;

        for (; i < trace->wave_count && same_simd(first, &trace->waves[i]); i++) {
            const struct rp_att_wave *w = &trace->waves[i];
            int64_t begin = w->begin_cycle > covered ? w->begin_cycle : covered;

            issue->wave_cycles += (uint64_t)(w->end_cycle - w->begin_cycle);
            if (w->end_cycle > begin)
                issue->simd_busy_cycles += (uint64_t)(w->end_cycle - begin);
            if (w->end_cycle > covered)
                covered = w->end_cycle;
            for (size_t s = 0; s < RP_ATT_STATE_COUNT; s++)
                trace->state_cycles[s] += w->state_cycles[s];
        }
        issue->simd_span_cycles += (uint64_t)(covered - first->begin_cycle);
        issue->simds++;
    }
}

/* --- checks -------------------------------------------------------------------------------- */

static bool equal(const struct rp_att_sums *a, const struct rp_att_sums *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool within(const struct rp_att_sums *part, const struct rp_att_sums *whole)
{
    return part->executed <= whole->executed && part->latency_cycles <= whole->latency_cycles &&
           part->stall_cycles <= whole->stall_cycles && part->idle_cycles <= whole->idle_cycles;
}

/* The sums of code.json are those of all waves. When some waves are missing, the sums are at least
 * theirs. */
static bool check_sums(const struct rp_att_build *build)
{
    struct rp_thread_trace *trace = build->trace;
    bool all = trace->wave_count >= trace->listed_waves && trace->problem_count == 0;
    size_t wrong = 0;

    if (!trace->sums_known || trace->wave_count == 0 || !build->has_lines)
        return true;
    for (size_t i = 0; i < trace->instruction_count; i++) {
        const struct rp_att_sums *listed = &trace->instructions[i].sums;

        wrong +=
            all ? !equal(&build->from_waves[i], listed) : !within(&build->from_waves[i], listed);
    }
    return wrong == 0 ||
           rp_att_problem(trace, true, "code.json",
                          "sums of %zu instructions do not agree with the wave files", wrong);
}

static bool cut(struct rp_thread_trace *t, uint64_t waves, const char *how)
{
    return !waves || rp_att_problem(t, false, "filenames.json", "%" PRIu64 " wave%s %s", waves,
                                    rp_plural(waves), how);
}

/* The texts fit a line of the terminal. */
static bool check_cuts(struct rp_thread_trace *t)
{
    return cut(t, t->cut_waves - t->cut_by_buffer, "cut short: too many instructions to record") &&
           cut(t, t->cut_by_buffer, "cut short: buffer full, see --att-buffer-size") &&
           cut(t, t->lost_waves, "not kept: buffer full, see --att-buffer-size");
}

static bool check_waves(const struct rp_att_build *build)
{
    struct rp_thread_trace *trace = build->trace;

    if (build->unknown_lines && build->has_lines &&
        !rp_att_problem(trace, true, "code.json",
                        "%llu executed instructions are not in the listing",
                        (unsigned long long)build->unknown_lines))
        return false;
    if (build->unstitched &&
        !rp_att_problem(trace, false, "se*_wv*.json",
                        "%llu executed instructions could not be placed by the decoder",
                        (unsigned long long)build->unstitched))
        return false;
    return build->bad_timelines == 0 ||
           rp_att_problem(trace, true, "se*_wv*.json",
                          "states of %llu waves do not add up to the time that the waves lived",
                          (unsigned long long)build->bad_timelines);
}

enum rp_att_completeness rp_att_completeness(const struct rp_thread_trace *trace)
{
    bool damage = false;

    for (size_t i = 0; i < trace->problem_count; i++)
        damage |= trace->problems[i].damage;
    if (damage)
        return RP_ATT_DAMAGED;
    if (trace->sums.executed == 0 && trace->samples.taken == 0)
        return RP_ATT_NOTHING;
    return trace->problem_count ? RP_ATT_PARTIAL : RP_ATT_COMPLETE;
}

int rp_att_finish(struct rp_att_build *build, struct rp_err *err)
{
    struct rp_thread_trace *trace = build->trace;

    if (!check_sums(build) || !check_waves(build) || !check_cuts(trace))
        return rp_out_of_memory(err);
    add_up(build);
    choose_kernel(build);
    measure_latencies(build);
    measure_issue(trace);
    return 0;
}

/* Wave files have [time, category, stall, duration, line] for each executed instruction. It is
 * issued at time + stall; the next one of the wave can begin at time + duration. */

/* Holds memory instructions of a wave, by one counter of the hardware. They return in order, except
 * scalar loads, which are only waited for all at once. */
struct queue {
    int64_t issued_cycle[RP_ATT_QUEUE];
    enum rp_att_kind kind[RP_ATT_QUEUE];
    uint32_t instruction[RP_ATT_QUEUE]; /**< index into the listing */
    uint64_t count;                     /**< issued so far */
    uint64_t done;                      /**< known to have returned */
};

struct execution {
    int64_t cycle, category, stall_cycles, duration_cycles, line;
};

static bool read_execution(const json_t *row, struct execution *ret)
{
    int64_t *const fields[] = {&ret->cycle, &ret->category, &ret->stall_cycles,
                               &ret->duration_cycles, &ret->line};

    if (json_array_size(row) < 5)
        return false;
    for (size_t i = 0; i < 5; i++)
        if (!rp_att_number(json_array_get(row, i), fields[i]))
            return false;
    return true;
}

/* --- what a wait waited for ---------------------------------------------------------------- */

static bool keep_latency(struct rp_att_values *values, int64_t cycles)
{
    if (cycles < 0 || cycles > UINT32_MAX)
        return true;
    if (values->count == values->capacity) {
        size_t capacity = values->capacity ? values->capacity * 2 : 256;
        uint32_t *grown = realloc(values->at, capacity * sizeof *grown);

        if (!grown)
            return false;
        values->at = grown;
        values->capacity = capacity;
    }
    values->at[values->count++] = (uint32_t)cycles;
    return true;
}

/* Returns the kinds of the instructions that are waited for by this counter, as bits. The last of
 * them goes to ret_last. */
static unsigned take_returned(struct queue *queue, uint32_t limit, uint64_t *ret_last)
{
    uint64_t needed = queue->count > limit ? queue->count - limit : 0;
    unsigned kinds = 0;

    for (uint64_t n = queue->done; n < needed; n++)
        if (n + RP_ATT_QUEUE >= queue->count)
            kinds |= 1U << queue->kind[n % RP_ATT_QUEUE];
    if (needed > queue->done) {
        *ret_last = needed - 1;
        queue->done = needed;
    }
    return kinds;
}

static enum rp_att_reason reason_of(unsigned kinds, const struct rp_att_meaning *meaning)
{
    bool vector = kinds & (1U << RP_ATT_VMEM | 1U << RP_ATT_FLAT);
    bool lds = kinds & 1U << RP_ATT_LDS, scalar = kinds & 1U << RP_ATT_SMEM;

    if (vector + lds + scalar > 1)
        return RP_ATT_WAITED_MEMORY_MIXED;
    if (vector)
        return RP_ATT_WAITED_VECTOR_MEMORY;
    if (lds)
        return RP_ATT_WAITED_LDS;
    if (scalar)
        return RP_ATT_WAITED_SCALAR_MEMORY;
    return rp_att_reason_of(meaning);
}

/* Memory returns in order, so a load behind atomics that contend waits for them. Of what has
 * returned since the last wait, the last atomic is to blame, else the last of all. */
static uint64_t blamed(const struct rp_att_build *build, const struct queue *queue, uint64_t first,
                       uint64_t last)
{
    uint64_t oldest = queue->count > RP_ATT_QUEUE ? queue->count - RP_ATT_QUEUE : 0;

    for (uint64_t n = last + 1; n > first && n > oldest; n--)
        if (build->meanings[queue->instruction[(n - 1) % RP_ATT_QUEUE]].atomic)
            return n - 1;
    return last;
}

/* A wait for several counters is put down to vector memory, whose latency is the longest; else to
 * the instruction that was issued last. */
static bool slower(const struct queue *queue, uint64_t at, const struct queue *than,
                   uint64_t than_at)
{
    size_t mine = at % RP_ATT_QUEUE, other = than_at % RP_ATT_QUEUE;
    bool vector = queue->kind[mine] == RP_ATT_VMEM || queue->kind[mine] == RP_ATT_FLAT;
    bool other_vector = than->kind[other] == RP_ATT_VMEM || than->kind[other] == RP_ATT_FLAT;

    return vector != other_vector ? vector : queue->issued_cycle[mine] > than->issued_cycle[other];
}

static bool wait(struct rp_att_build *build, struct queue *queues, const struct execution *e,
                 uint32_t index)
{
    const struct rp_att_meaning *meaning = &build->meanings[index];
    const struct queue *slowest = NULL;
    unsigned kinds = 0, counters = 0;
    uint64_t slowest_at = 0, slowest_first = 0;
    uint32_t awaited = index;

    for (size_t c = 0; c < RP_ATT_COUNTERS; c++) {
        uint64_t last = 0, first = queues[c].done;
        unsigned more = meaning->waits[c] ? take_returned(&queues[c], meaning->limit[c], &last) : 0;

        kinds |= more;
        counters += more != 0;
        if (more && (!slowest || slower(&queues[c], last, slowest, slowest_at))) {
            slowest = &queues[c];
            slowest_at = last;
            slowest_first = first;
        }
    }
    if (slowest && slowest_at + RP_ATT_QUEUE >= slowest->count)
        awaited =
            slowest->instruction[blamed(build, slowest, slowest_first, slowest_at) % RP_ATT_QUEUE];
    build->trace->instructions[awaited].awaited_cycles += (uint64_t)e->duration_cycles;
    if (e->stall_cycles == 0)
        return true;
    build->trace->instructions[index].waited_cycles[reason_of(kinds, meaning)] +=
        (uint64_t)e->stall_cycles;
    /* The wait ended when the last one of a single kind came back. */
    if (counters != 1 || (kinds & (kinds - 1)) || awaited == index)
        return true;
    return keep_latency(&build->latencies[slowest->kind[slowest_at % RP_ATT_QUEUE]],
                        e->cycle + e->duration_cycles -
                            slowest->issued_cycle[slowest_at % RP_ATT_QUEUE]);
}

static void issue(struct queue *queues, const struct rp_att_meaning *meaning,
                  const struct execution *e, uint32_t index)
{
    for (size_t c = 0; c < RP_ATT_COUNTERS; c++)
        if (meaning->counts[c]) {
            struct queue *q = &queues[c];

            q->issued_cycle[q->count % RP_ATT_QUEUE] = e->cycle + e->stall_cycles;
            q->kind[q->count % RP_ATT_QUEUE] = meaning->kind;
            q->instruction[q->count % RP_ATT_QUEUE] = index;
            q->count++;
        }
}

/* --- a wave -------------------------------------------------------------------------------- */

static bool add_execution(struct rp_att_build *build, struct queue *queues,
                          const struct execution *e, int64_t *previous_end)
{
    uint32_t index = att_find_line(build, e->line);
    struct rp_att_sums *sums[2] = {&build->loose[rp_att_kind_of_category(e->category)], NULL};

    if (index != UINT32_MAX)
        sums[1] = &build->from_waves[index];
    else
        build->unknown_lines++;
    for (size_t i = 0; i < 2 && sums[i]; i++) {
        sums[i]->executed++;
        sums[i]->latency_cycles += (uint64_t)e->duration_cycles;
        sums[i]->stall_cycles += (uint64_t)e->stall_cycles;
        if (e->cycle > *previous_end)
            sums[i]->idle_cycles += (uint64_t)(e->cycle - *previous_end);
    }
    *previous_end = e->cycle + e->duration_cycles;
    /* Category 7 is a branch that was taken. */
    build->trace->branches_taken += e->category == 7;
    /* Category 8 is a branch that was not taken. */
    build->trace->branches_not_taken += e->category == 8;
    if (index == UINT32_MAX)
        return true;
    issue(queues, &build->meanings[index], e, index);
    return build->meanings[index].kind != RP_ATT_WAIT || wait(build, queues, e, index);
}

static bool read_wave_facts(const json_t *root, const json_t *wave, struct rp_att_wave *ret)
{
    int64_t cu, simd, slot, id;
    const char *name = json_string_value(json_object_get(root, "name"));
    char *end;
    unsigned long engine;

    if (!name || strncmp(name, "SE", 2) != 0)
        return false;
    engine = strtoul(name + 2, &end, 10);
    if (end == name + 2 || *end || engine > 1023 ||
        !rp_att_number(json_object_get(wave, "cu"), &cu) || cu > 1023 ||
        !rp_att_number(json_object_get(wave, "simd"), &simd) || simd > 63 ||
        !rp_att_number(json_object_get(wave, "slot"), &slot) || slot > 1023 ||
        !rp_att_number(json_object_get(wave, "id"), &id) || id > UINT32_MAX ||
        !rp_att_number(json_object_get(wave, "begin"), &ret->begin_cycle) ||
        !rp_att_number(json_object_get(wave, "end"), &ret->end_cycle) ||
        ret->end_cycle < ret->begin_cycle)
        return false;
    ret->shader_engine = (uint32_t)engine;
    ret->cu = (uint32_t)cu;
    ret->simd = (uint32_t)simd;
    ret->slot = (uint32_t)slot;
    ret->id = (uint32_t)id;
    return true;
}

/* Reads [[state, cycles] ...]. */
static bool read_timeline(const json_t *timeline, struct rp_att_wave *ret, uint64_t *ret_sum)
{
    size_t i;
    json_t *entry;

    if (!json_is_array(timeline))
        return false;
    json_array_foreach(timeline, i, entry)
    {
        int64_t state, cycles;

        if (!rp_att_number(json_array_get(entry, 0), &state) ||
            !rp_att_number(json_array_get(entry, 1), &cycles) || state >= RP_ATT_STATE_COUNT)
            return false;
        ret->state_cycles[state] += (uint64_t)cycles;
        *ret_sum += (uint64_t)cycles;
    }
    return true;
}

static bool add_wave(struct rp_thread_trace *trace, const struct rp_att_wave *wave)
{
    size_t count = trace->wave_count;

    if ((count & (count - 1)) == 0) { /* The array is full whenever its count is a power of two. */
        struct rp_att_wave *grown = realloc(trace->waves, (count ? count * 2 : 1) * sizeof *grown);

        if (!grown)
            return false;
        trace->waves = grown;
    }
    trace->waves[trace->wave_count++] = *wave;
    return true;
}

/* Nothing is added before everything is known to be valid. */
static int check_instructions(const json_t *instructions, struct rp_err *err)
{
    struct execution e;
    size_t i;
    json_t *row;

    if (!json_is_array(instructions))
        return rp_fail(err, RP_BAD_INPUT, "there is no list of instructions");
    json_array_foreach(instructions, i, row)
    {
        if (!read_execution(row, &e))
            return rp_fail(err, RP_BAD_INPUT,
                           "instruction %zu is not [time, category, stall,"
                           " duration, line]",
                           i);
        if (e.stall_cycles > e.duration_cycles)
            return rp_fail(err, RP_BAD_INPUT, "instruction %zu stalls longer than it lasts", i);
    }
    return 0;
}

static void note_begin(struct rp_att_build *build, const json_t *first)
{
    struct execution e;
    uint32_t index = read_execution(first, &e) ? att_find_line(build, e.line) : UINT32_MAX;
    uint32_t kernel = index == UINT32_MAX ? UINT32_MAX : build->trace->instructions[index].kernel;

    if (kernel < build->trace->kernel_count)
        build->begun[kernel]++;
}

int rp_att_read_wave(const json_t *root, struct rp_att_build *build, struct rp_err *err)
{
    const json_t *wave = json_object_get(root, "wave");
    const json_t *instructions = json_object_get(wave, "instructions");
    struct rp_att_wave facts = {0};
    struct queue queues[RP_ATT_COUNTERS] = {0};
    int64_t previous_end, executed, stitched;
    uint64_t sum = 0, life;
    struct execution e;
    size_t i;
    json_t *row;

    if (!read_wave_facts(root, wave, &facts))
        return rp_fail(err, RP_BAD_INPUT, "it does not say which wave it is, or when it lived");
    if (!read_timeline(json_object_get(wave, "timeline"), &facts, &sum))
        return rp_fail(err, RP_BAD_INPUT, "its timeline is not a list of states and cycles");
    if (check_instructions(instructions, err) < 0)
        return -RP_BAD_INPUT;
    facts.instructions = json_array_size(instructions);
    if (!add_wave(build->trace, &facts))
        return rp_out_of_memory(err);
    /* Real decoders give the sum or, in a quarter of the waves, 4 cycles more. */
    life = (uint64_t)(facts.end_cycle - facts.begin_cycle);
    build->bad_timelines += sum != life && sum != life + 4;
    if (rp_att_number(json_object_get(root, "num_insts"), &executed) &&
        rp_att_number(json_object_get(root, "num_stitched"), &stitched) && stitched < executed)
        build->unstitched += (uint64_t)(executed - stitched);
    note_begin(build, json_array_get(instructions, 0));
    previous_end = facts.begin_cycle;
    json_array_foreach(
        instructions, i,
        row) if (!read_execution(row, &e) ||
                 !add_execution(build, queues, &e, &previous_end)) return rp_out_of_memory(err);
    return 0;
}

/* occupancy.json has for each shader engine [time, cu, simd, slot, starts, kernel]. The decoder of
 * ROCm 6.4 wrote each event as one number: kernel in bits 0 to 11, SIMD 12 to 13, slot 14 to 17,
 * starts 18, CU 19 to 22, above it the time in units of 8 cycles. */

enum { MAX_CU = 256, MAX_SIMD = 16 }; /* cu counts from 0 within the engine: at most 16 on gfx9. */

struct event {
    int64_t cycle;
    uint32_t simd; /**< cu * MAX_SIMD + simd */
    bool starts;
    int64_t kernel;
    size_t order;
};

struct simd {
    uint32_t waves;
    bool seen;
    int64_t busy_since;
};

static int compare_events(const void *a, const void *b)
{
    const struct event *l = a, *r = b;

    if (l->cycle != r->cycle)
        return l->cycle < r->cycle ? -1 : 1;
    return l->order < r->order ? -1 : l->order > r->order;
}

static bool read_event(const json_t *row, int64_t ret[6])
{
    bool known = true;

    if (json_is_integer(row) && json_integer_value(row) >= 0) {
        uint64_t packed = (uint64_t)json_integer_value(row);

        ret[0] = (int64_t)(packed >> 23 << 3);
        ret[1] = packed >> 19 & 15;
        ret[2] = packed >> 12 & 3;
        ret[3] = packed >> 14 & 15;
        ret[4] = packed >> 18 & 1;
        ret[5] = packed & 4095;
        return true;
    }
    for (size_t k = 0; k < 6; k++)
        known &= rp_att_number(json_array_get(row, k), &ret[k]);
    return known;
}

static int read_events(const json_t *list, struct event **ret, size_t *ret_count,
                       struct rp_err *err)
{
    rp_autofree struct event *events = calloc(json_array_size(list) + 1, sizeof *events);
    size_t i;
    json_t *row;

    if (!events)
        return rp_out_of_memory(err);
    json_array_foreach(list, i, row)
    {
        int64_t values[6];

        if (!read_event(row, values))
            return rp_fail(err, RP_BAD_INPUT,
                           "event %zu is not [time, cu, simd, slot, start,"
                           " kernel]",
                           i);
        if (values[1] >= MAX_CU || values[2] >= MAX_SIMD || values[4] > 1)
            return rp_fail(err, RP_BAD_INPUT, "event %zu is of no place that a GPU has", i);
        events[i] = (struct event){.cycle = values[0],
                                   .simd = (uint32_t)(values[1] * MAX_SIMD + values[2]),
                                   .starts = values[4] == 1,
                                   .kernel = values[5],
                                   .order = i};
    }
    qsort(events, json_array_size(list), sizeof *events, compare_events);
    *ret_count = json_array_size(list);
    *ret = rp_steal(events);
    return 0;
}

/* Adds level waves from begin to end to the equal parts of first to last, and cycles until then. */
static void fill(struct rp_att_engine *engine, int64_t begin, int64_t end, uint64_t level)
{
    double width = (double)(engine->last_cycle - engine->first_cycle) / RP_ATT_BINS;

    if (level == 0 || end <= begin || width <= 0)
        return;
    for (size_t b = 0; b < RP_ATT_BINS; b++) {
        double low = (double)(begin - engine->first_cycle) - (double)b * width;
        double high = (double)(end - engine->first_cycle) - (double)b * width;

        low = low < 0 ? 0 : low;
        high = high > width ? width : high;
        if (high > low)
            engine->mean_waves[b] += (high - low) / width * (double)level;
    }
}

static bool chosen(const struct event *event, const json_t *kernels)
{
    char id[32];

    if (!kernels)
        return true;
    snprintf(id, sizeof id, "%lld", (long long)event->kernel);
    return json_object_get(kernels, id) != NULL;
}

static void step(struct rp_att_engine *engine, struct simd *simd, const struct event *event)
{
    if (!event->starts) {
        simd->waves--;
        if (simd->waves == 0)
            engine->simd_busy_cycles += (uint64_t)(event->cycle - simd->busy_since);
        return;
    }
    engine->waves++;
    if (simd->waves++ == 0)
        simd->busy_since = event->cycle;
    if (simd->waves > engine->peak_waves_per_simd)
        engine->peak_waves_per_simd = simd->waves;
    simd->seen = true;
}

static void close_engine(struct rp_att_engine *engine, const struct simd *simds)
{
    for (size_t cu = 0; cu < MAX_CU; cu++) {
        bool seen = false;

        for (size_t s = 0; s < MAX_SIMD; s++) {
            const struct simd *simd = &simds[cu * MAX_SIMD + s];

            seen |= simd->seen;
            engine->simds += simd->seen;
            engine->unended += simd->waves;
            if (simd->waves)
                engine->simd_busy_cycles += (uint64_t)(engine->last_cycle - simd->busy_since);
        }
        engine->cus += seen;
    }
}

static bool measure(const struct event *events, size_t count, const json_t *kernels,
                    struct rp_att_engine *engine)
{
    rp_autofree struct simd *simds = calloc(MAX_CU * MAX_SIMD, sizeof *simds);
    uint64_t level = 0;
    int64_t before = 0;
    bool any = false;

    if (!simds)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!chosen(&events[i], kernels))
            continue;
        if (!any)
            engine->first_cycle = events[i].cycle;
        engine->last_cycle = events[i].cycle;
        any = true;
    }
    before = engine->first_cycle;
    for (size_t i = 0; i < count; i++) {
        struct simd *simd = &simds[events[i].simd];

        /* An end without a start belongs to a wave that began before the trace. */
        if (!chosen(&events[i], kernels) || (!events[i].starts && simd->waves == 0))
            continue;
        fill(engine, before, events[i].cycle, level);
        engine->wave_cycles += level * (uint64_t)(events[i].cycle - before);
        engine->busy_cycles += level ? (uint64_t)(events[i].cycle - before) : 0;
        before = events[i].cycle;
        step(engine, simd, &events[i]);
        level = events[i].starts ? level + 1 : level - 1;
    }
    fill(engine, before, engine->last_cycle, level);
    engine->wave_cycles += level * (uint64_t)(engine->last_cycle - before);
    engine->busy_cycles += level ? (uint64_t)(engine->last_cycle - before) : 0;
    close_engine(engine, simds);
    return true;
}

/* Finds ids of the kernel in "dispatches", which gives names, or "number / address" where there is
 * none. The names may end in ".kd". */
static json_t *find_kernel(const json_t *dispatches, const char *symbol, const char *name)
{
    json_t *found = json_object(), *entry;
    const char *id;

    if (!found || (!symbol && !name))
        return found;
    json_object_foreach((json_t *)(uintptr_t)dispatches, id, entry)
    {
        const char *text = json_string_value(entry);
        size_t len = text ? rp_kernel_name_length(text) : 0;

        if (text && ((symbol && strncmp(text, symbol, len) == 0 && !symbol[len]) ||
                     (name && strcmp(text, name) == 0)))
            json_object_set_new(found, id, json_true());
    }
    return found;
}

static bool has_events(const json_t *root, const json_t *kernels)
{
    const char *key;
    json_t *list, *row;
    size_t i;

    json_object_foreach((json_t *)(uintptr_t)root, key, list) json_array_foreach(list, i, row)
    {
        int64_t values[6];

        if (read_event(row, values) && chosen(&(struct event){.kernel = values[5]}, kernels))
            return true;
    }
    return false;
}

static int compare_engines(const void *a, const void *b)
{
    const struct rp_att_engine *l = a, *r = b;

    return l->id < r->id ? -1 : l->id > r->id;
}

static int read_engine(const json_t *list, uint32_t id, const json_t *kernels,
                       struct rp_thread_trace *trace, struct rp_err *err)
{
    rp_autofree struct event *events = NULL;
    struct rp_att_engine engine = {.id = id}, *grown;
    size_t count = 0;
    int rc = read_events(list, &events, &count, err);

    if (rc < 0)
        return rc;
    if (!measure(events, count, kernels, &engine))
        return rp_out_of_memory(err);
    if (engine.waves == 0)
        return 0;
    grown = realloc(trace->engines, (trace->engine_count + 1) * sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    trace->engines = grown;
    grown[trace->engine_count++] = engine;
    return 0;
}

int rp_att_read_occupancy(const json_t *root, const char *symbol, const char *name,
                          struct rp_thread_trace *trace, struct rp_err *err)
{
    json_t *kernels = find_kernel(json_object_get(root, "dispatches"), symbol, name), *list;
    const json_t *filter = kernels;
    const char *key;
    int rc = 0;

    if (!kernels)
        return rp_out_of_memory(err);
    trace->engines_of_kernel = json_object_size(kernels) > 0 && has_events(root, kernels);
    if (!trace->engines_of_kernel)
        filter = NULL;
    json_object_foreach((json_t *)(uintptr_t)root, key, list)
    {
        char *end;
        unsigned long id = strtoul(key, &end, 10);

        if (end == key || *end || id > 1023) /* The key is "dispatches" or "version". */
            continue;
        rc = json_is_array(list) ? read_engine(list, (uint32_t)id, filter, trace, err)
                                 : rp_fail(err, RP_BAD_INPUT, "engine %s has no list", key);
        if (rc < 0)
            break;
    }
    json_decref(kernels);
    if (trace->engine_count)
        qsort(trace->engines, trace->engine_count, sizeof *trace->engines, compare_engines);
    return rc;
}
