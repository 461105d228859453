#include "analysis/att/parts.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* Wave files: [time, category, stall, duration, line] for each executed instruction. It is issued
 * at time + stall; the next one of the wave can begin at time + duration. */

/* Memory instructions of a wave, by one counter of the hardware. They return in order, but scalar
 * loads, which are only waited for all at once. */
struct queue {
    int64_t issued_cycle[RP_ATT_QUEUE];
    enum rp_att_kind kind[RP_ATT_QUEUE];
    uint64_t count; /* issued so far */
    uint64_t done;  /* known to have returned */
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

/* Kinds of what this counter is waited for, as bits; the last of it goes to ret_last. */
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

static bool wait(struct rp_att_build *build, struct queue *queues, const struct execution *e,
                 uint32_t index)
{
    const struct rp_att_meaning *meaning = &build->meanings[index];
    const struct queue *only = NULL;
    unsigned kinds = 0, counters = 0;
    uint64_t last = 0;

    for (size_t c = 0; c < RP_ATT_COUNTERS; c++) {
        unsigned more = meaning->waits[c] ? take_returned(&queues[c], meaning->limit[c], &last) : 0;

        if (more) {
            counters++;
            only = &queues[c];
        }
        kinds |= more;
    }
    if (e->stall_cycles == 0)
        return true;
    build->trace->instructions[index].waited_cycles[reason_of(kinds, meaning)] +=
        (uint64_t)e->stall_cycles;
    /* The wait ended when the last one of a single kind came back. */
    if (counters != 1 || (kinds & (kinds - 1)) || last + RP_ATT_QUEUE < only->count)
        return true;
    return keep_latency(&build->latencies[only->kind[last % RP_ATT_QUEUE]],
                        e->cycle + e->duration_cycles - only->issued_cycle[last % RP_ATT_QUEUE]);
}

static void issue(struct queue *queues, const struct rp_att_meaning *meaning,
                  const struct execution *e)
{
    for (size_t c = 0; c < RP_ATT_COUNTERS; c++)
        if (meaning->counts[c]) {
            struct queue *q = &queues[c];

            q->issued_cycle[q->count % RP_ATT_QUEUE] = e->cycle + e->stall_cycles;
            q->kind[q->count % RP_ATT_QUEUE] = meaning->kind;
            q->count++;
        }
}

/* --- a wave -------------------------------------------------------------------------------- */

static bool add_execution(struct rp_att_build *build, struct queue *queues,
                          const struct execution *e, int64_t *previous_end)
{
    uint32_t index = rp_att_find_line(build, e->line);
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
    build->trace->branches_taken += e->category == 7;     /* "jump" */
    build->trace->branches_not_taken += e->category == 8; /* "next" */
    if (index == UINT32_MAX)
        return true;
    issue(queues, &build->meanings[index], e);
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

/* [[state, cycles] ...] */
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

    if ((count & (count - 1)) == 0) { /* full at each power of two */
        struct rp_att_wave *grown = realloc(trace->waves, (count ? count * 2 : 1) * sizeof *grown);

        if (!grown)
            return false;
        trace->waves = grown;
    }
    trace->waves[trace->wave_count++] = *wave;
    return true;
}

/* Nothing is added before everything is known to be sound. */
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
    uint32_t index = read_execution(first, &e) ? rp_att_find_line(build, e.line) : UINT32_MAX;
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    /* Real decoders give the sum or, in a quarter of the waves, 4 cycles more. */
    life = (uint64_t)(facts.end_cycle - facts.begin_cycle);
    build->bad_timelines += sum != life && sum != life + 4;
    if (rp_att_number(json_object_get(root, "num_insts"), &executed) &&
        rp_att_number(json_object_get(root, "num_stitched"), &stitched) && stitched < executed)
        build->unstitched += (uint64_t)(executed - stitched);
    note_begin(build, json_array_get(instructions, 0));
    previous_end = facts.begin_cycle;
    json_array_foreach(instructions, i,
                       row) if (!read_execution(row, &e) ||
                                !add_execution(build, queues, &e,
                                               &previous_end)) return rp_fail(err, RP_ENVIRONMENT,
                                                                              "out of memory");
    return 0;
}
