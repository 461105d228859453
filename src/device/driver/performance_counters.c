/* The performance counters of one GPU behind their registers. Register numbers are those of AMD's
 * public gc_9_4_2_offset.h, fields those of gc_9_4_2_sh_mask.h, states those of vega10_enum.h.
 */
#include "device/driver/performance_counters.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/driver/command_processor.h"
#include "device/driver/gpu_registers.h"
#include "device/timing/dispatch_timing.h"

/* ---- blocks ------------------------------------------------------------------------------- */

/* Where a block has counters of its own. */
enum spread { PER_DIE, PER_ENGINE, PER_CU, PER_CHANNEL };

enum block {
    SQ,
    GRBM,
    SPI,
    TA,
    TD,
    TCP,
    TCC,
    TCA,
    CPC,
    CPF,
    /* Of these no event is known. */
    CPG,
    GRBM_SE,
    SX,
    GDS,
    GCEA,
    MCVML2,
    ATCL2,
    ATC,
    RPB
};

static const struct {
    const char *name;
    enum spread spread;
    uint32_t event_mask; /**< of its select registers */
} blocks[] = {
    [SQ] = {"SQ", PER_ENGINE, 0x1ff},     [GRBM] = {"GRBM", PER_DIE, 0x3f},
    [SPI] = {"SPI", PER_ENGINE, 0x3ff},   [TA] = {"TA", PER_CU, 0xff},
    [TD] = {"TD", PER_CU, 0xff},          [TCP] = {"TCP", PER_CU, 0x3ff},
    [TCC] = {"TCC", PER_CHANNEL, 0x3ff},  [TCA] = {"TCA", PER_CHANNEL, 0x3ff},
    [CPC] = {"CPC", PER_DIE, 0x3ff},      [CPF] = {"CPF", PER_DIE, 0x3ff},
    [CPG] = {"CPG", PER_DIE, 0x3ff},      [GRBM_SE] = {"GRBM_SE", PER_DIE, 0x3f},
    [SX] = {"SX", PER_DIE, 0x3ff},        [GDS] = {"GDS", PER_DIE, 0x3ff},
    [GCEA] = {"GCEA", PER_CHANNEL, 0xff}, [MCVML2] = {"MCVML2", PER_DIE, 0xff},
    [ATCL2] = {"ATCL2", PER_DIE, 0xff},   [ATC] = {"ATC", PER_DIE, 0xff},
    [RPB] = {"RPB", PER_DIE, 0xff},
};

/* The counters of a block stand in their order. */
#define SQ_COUNTER(n)                                                                              \
    {                                                                                              \
        SQ, 0xd9c0 + (n), 0xd1c0 + 2 * (n), 0xd1c1 + 2 * (n)                                       \
    }
static const struct counter {
    uint8_t block; /**< enum block */
    uint16_t select, low, high;
} all_counters[] = {
    SQ_COUNTER(0),
    SQ_COUNTER(1),
    SQ_COUNTER(2),
    SQ_COUNTER(3),
    SQ_COUNTER(4),
    SQ_COUNTER(5),
    SQ_COUNTER(6),
    SQ_COUNTER(7),
    SQ_COUNTER(8),
    SQ_COUNTER(9),
    SQ_COUNTER(10),
    SQ_COUNTER(11),
    SQ_COUNTER(12),
    SQ_COUNTER(13),
    SQ_COUNTER(14),
    SQ_COUNTER(15),
    {GRBM, 0xd840, 0xd040, 0xd041},
    {GRBM, 0xd841, 0xd043, 0xd044},
    {SPI, 0xd980, 0xd181, 0xd180}, /* Of this block the high half comes first. */
    {SPI, 0xd981, 0xd183, 0xd182},
    {SPI, 0xd982, 0xd185, 0xd184},
    {SPI, 0xd983, 0xd187, 0xd186},
    {SPI, 0xd988, 0xd189, 0xd188},
    {SPI, 0xd989, 0xd18b, 0xd18a},
    {TA, 0xdac0, 0xd2c0, 0xd2c1},
    {TA, 0xdac2, 0xd2c2, 0xd2c3},
    {TD, 0xdb00, 0xd300, 0xd301},
    {TD, 0xdb02, 0xd302, 0xd303},
    {TCP, 0xdb40, 0xd340, 0xd341},
    {TCP, 0xdb42, 0xd342, 0xd343},
    {TCP, 0xdb44, 0xd344, 0xd345},
    {TCP, 0xdb45, 0xd346, 0xd347},
    {TCC, 0xdb80, 0xd380, 0xd381},
    {TCC, 0xdb82, 0xd382, 0xd383},
    {TCC, 0xdb84, 0xd384, 0xd385},
    {TCC, 0xdb85, 0xd386, 0xd387},
    {TCA, 0xdb90, 0xd390, 0xd391},
    {TCA, 0xdb92, 0xd392, 0xd393},
    {TCA, 0xdb94, 0xd394, 0xd395},
    {TCA, 0xdb95, 0xd396, 0xd397},
    {CPC, 0xd809, 0xd006, 0xd007},
    {CPC, 0xd803, 0xd004, 0xd005},
    {CPF, 0xd807, 0xd00a, 0xd00b},
    {CPF, 0xd805, 0xd008, 0xd009},
    {CPG, 0xd802, 0xd002, 0xd003},
    {CPG, 0xd800, 0xd000, 0xd001},
    {GRBM_SE, 0xd842, 0xd045, 0xd046},
    {GRBM_SE, 0xd843, 0xd047, 0xd048},
    {GRBM_SE, 0xd844, 0xd049, 0xd04a},
    {GRBM_SE, 0xd845, 0xd04b, 0xd04c},
    {SX, 0xda40, 0xd240, 0xd241},
    {SX, 0xda41, 0xd242, 0xd243},
    {SX, 0xda42, 0xd244, 0xd245},
    {SX, 0xda43, 0xd246, 0xd247},
    {GDS, 0xda80, 0xd280, 0xd281},
    {GDS, 0xda81, 0xd282, 0xd283},
    {GDS, 0xda82, 0xd284, 0xd285},
    {GDS, 0xda83, 0xd286, 0xd287},
};

/* The counters of blocks of the memory system share two registers; the control says which is read.
 * Numbers of ATC and RPB are of athub_1_0_offset.h; of GPUs of several dies they stand above 30
 * bits that say whose they are.
 */
static const struct shared_counter {
    uint8_t block; /**< enum block */
    uint16_t control, low, high;
    uint16_t select; /**< of the first counter */
    uint16_t most;   /**< the highest counter */
} shared_counters[] = {
    {GCEA, 0x2700, 0x2afc, 0x2afd, 0x2afe, 1},  {MCVML2, 0xdd54, 0xd508, 0xd509, 0xdd4c, 7},
    {ATCL2, 0xdd42, 0xd500, 0xd501, 0xdd40, 1}, {ATC, 0x0c42, 0x0c43, 0x0c44, 0x0c3e, 3},
    {RPB, 0x0d07, 0x0d01, 0x0d02, 0x0d03, 3},
};

enum { WHOSE_SHIFT = 30 };

enum {
    CP_PERFMON_CNTL = 0xd808,
    PERFMON_STATE = 0xf,
    PERFMON_RESET = 0,
    PERFMON_START = 1,
};

static const struct counter *counter_of(uint64_t address)
{
    for (size_t i = 0; i < RP_COUNT(all_counters); i++)
        if (all_counters[i].low == address || all_counters[i].high == address)
            return &all_counters[i];
    return NULL;
}

static const struct shared_counter *shared_counter_of(uint64_t address)
{
    for (size_t i = 0; i < RP_COUNT(shared_counters); i++)
        if (shared_counters[i].low == (address & ((1u << WHOSE_SHIFT) - 1)) ||
            shared_counters[i].high == (address & ((1u << WHOSE_SHIFT) - 1)))
            return &shared_counters[i];
    return NULL;
}

/* ---- events ------------------------------------------------------------------------------- */

static const struct event {
    uint8_t block;     /**< enum block */
    int16_t number[3]; /**< by enum rp_isa_target */
    const char *name;
} events[] = {
#define NO_EVENT -1
#define EVENT(block, name, on_gfx90a, on_gfx942, on_gfx950)                                        \
    {block,                                                                                        \
     {[RP_ISA_GFX90A] = on_gfx90a, [RP_ISA_GFX942] = on_gfx942, [RP_ISA_GFX950] = on_gfx950},      \
     #name},
#include "device/driver/performance_counters.def"
#undef EVENT
#undef NO_EVENT
};

/* Tools read the same event in all parts of the GPU, one after the other. */
static struct rp_performance_choice choice_of(struct rp_performance_counters *counters,
                                              enum block block, uint32_t select)
{
    const enum rp_isa_target target = counters->cp->arch->isa;
    struct rp_performance_choice choice = {.block = block,
                                           .number = select & blocks[block].event_mask};

    if (counters->latest.known && counters->latest.block == choice.block &&
        counters->latest.number == choice.number)
        return counters->latest;
    for (size_t i = 0; i < RP_COUNT(events) && !choice.name; i++)
        if (events[i].block == block && events[i].number[target] == (int)choice.number)
            choice.name = events[i].name;
    if (choice.name)
        choice.row = rp_device_counter_find(choice.name);
    choice.known = true;
    return counters->latest = choice;
}

static bool accumulates(const struct rp_performance_choice *choice)
{
    static const char name[] = "SQ_ACCUM_PREV";

    return choice->name && strncmp(choice->name, name, sizeof name - 1) == 0;
}

/* A level says how many of something are under way. The model adds it up over all cycles, which is
 * what an accumulating counter behind it does.
 */
static bool is_level(const struct rp_performance_choice *choice)
{
    static const char *const names[] = {"SQ_LEVEL_WAVES", "SQ_INST_LEVEL_VMEM",
                                        "SQ_INST_LEVEL_SMEM", "SQ_INST_LEVEL_LDS"};

    for (size_t i = 0; i < RP_COUNT(names); i++)
        if (choice->name && strcmp(choice->name, names[i]) == 0)
            return true;
    return false;
}

/* ---- standard error ----------------------------------------------------------------------- */

/* Says once for each event why it reads 0. */
static void tell(struct rp_performance_counters *counters,
                 const struct rp_performance_choice *choice, const char *why)
{
    const uint64_t key = (uint64_t)choice->block << 32 | choice->number;
    const uint32_t before = counters->named.count;
    char line[400];

    if (rp_idmap_add(&counters->named, key) != before)
        return;
    const int used =
        snprintf(line, sizeof line,
                 "rocm-perf-device: %sperformance counter %s%s%s event %u%s reads 0: %s\n",
                 counters->cp->label, choice->name ? choice->name : "", choice->name ? " (" : "",
                 blocks[choice->block].name, choice->number, choice->name ? ")" : "", why);
    const size_t bytes = used < (int)sizeof line ? (size_t)used : sizeof line - 1;
    line[bytes - 1] = '\n';
    if (used > 0 && write(counters->cp->report_fd, line, bytes) < 0) {
        /* There is no other place to report it. */
    }
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Returns how many compute units the engines of a die below @p engine have. */
static uint32_t units_below(const struct rp_arch *arch, uint32_t dies, uint32_t engine)
{
    const uint32_t engines = arch->shader_engines / dies, units = arch->compute_units / dies;
    const uint32_t more = engines ? units % engines : 0;

    return engines ? units / engines * engine + (engine < more ? engine : more) : 0;
}

/* Finds the part of the GPU that a read is for. @return false: there is no such part */
static bool part_of(const struct rp_arch *arch, enum spread spread,
                    const struct rp_register_access *at, uint32_t *ret_index, uint32_t *ret_count)
{
    const uint32_t dies = arch->xcc_count ? arch->xcc_count : 1;
    const uint32_t die = (uint32_t)__builtin_ctz(at->xccs);
    const uint32_t engine = at->engine == RP_REGISTER_ALL ? 0 : (uint32_t)at->engine;
    const uint32_t instance = at->instance == RP_REGISTER_ALL ? 0 : (uint32_t)at->instance;
    uint32_t each = 1, index = 0;

    switch (spread) {
    case PER_DIE:
        break;
    case PER_ENGINE:
        each = arch->shader_engines / dies;
        index = engine;
        break;
    case PER_CU:
        each = arch->compute_units / dies;
        index = units_below(arch, dies, engine) + instance;
        if (index >= units_below(arch, dies, engine + 1))
            return false;
        break;
    case PER_CHANNEL:
        each = arch->l2_channels_per_xcc;
        index = instance;
        break;
    }
    *ret_index = die * each + index;
    *ret_count = dies * each;
    return index < each;
}

/* Spreads a sum evenly; the first ones take what is over. */
static uint64_t share_of(const struct rp_performance_counters *counters, enum spread spread,
                         const struct rp_register_access *at, uint64_t sum)
{
    uint32_t index, count;

    if (!part_of(counters->cp->arch, spread, at, &index, &count))
        return 0;
    return sum / count + (index < sum % count);
}

/* Returns the sum over the GPU of what is chosen; 0 is explained once. */
static uint64_t sum_of(struct rp_performance_counters *counters,
                       const struct rp_performance_choice *choice)
{
    const struct rp_device_counter_row *row = choice->row;

    if (!row) {
        tell(counters, choice, "the timing model has no counterpart of it");
    } else if (row->value < 0) {
        tell(counters, choice, row->text);
    } else if (counters->unknown >> row->kind & 1) {
        tell(counters, choice,
             row->kind == RP_COUNTER_WAVES
                 ? "it comes from detailed timing, which a kernel was run without, or its dies do "
                   "unlike work"
                 : "what a kernel accessed could not be kept, or its dies do unlike work");
    } else {
        return counters->values[row->value];
    }
    return 0;
}

static bool choice_at(struct rp_performance_counters *counters, const struct counter *counter,
                      const struct rp_register_access *at, struct rp_performance_choice *ret)
{
    struct rp_register_access place = *at;
    uint32_t select;

    place.address = counter->select;
    if (!rp_registers_written(counters->cp->registers, &place, &select))
        return false;
    *ret = choice_of(counters, counter->block, select);
    return true;
}

/* SQ_ACCUM_PREV adds the level of the counter before it every four cycles, HIRES every cycle. */
static uint64_t accumulated(struct rp_performance_counters *counters, const struct counter *counter,
                            const struct rp_register_access *at,
                            const struct rp_performance_choice *choice)
{
    struct rp_performance_choice before;

    if (counter == all_counters || counter[-1].block != counter->block ||
        !choice_at(counters, counter - 1, at, &before) || !is_level(&before)) {
        tell(counters, choice, "the counter before it is none of a level that the model knows");
        return 0;
    }
    const uint64_t sum = sum_of(counters, &before);
    return strcmp(choice->name, "SQ_ACCUM_PREV") == 0 ? sum / 4 : sum;
}

/* Nothing is known of blocks with such counters: this only says which event was selected. */
static bool read_shared(struct rp_performance_counters *counters,
                        const struct rp_register_access *at, uint32_t *ret_value)
{
    const struct shared_counter *shared = shared_counter_of(at->address);
    struct rp_register_access place = *at;
    uint32_t which, select;

    if (!shared)
        return false;
    const uint64_t whose = at->address >> WHOSE_SHIFT << WHOSE_SHIFT;
    place.address = whose | shared->control;
    rp_registers_written(counters->cp->registers, &place, &which);
    place.address = whose | (shared->select + ((which & 0xf) <= shared->most ? which & 0xf : 0));
    if (rp_registers_written(counters->cp->registers, &place, &select)) {
        const struct rp_performance_choice choice = choice_of(counters, shared->block, select);
        tell(counters, &choice, "the timing model has no counterpart of it");
    }
    *ret_value = 0;
    return true;
}

static bool read_counter(void *ctx, const struct rp_register_access *at, uint32_t *ret_value)
{
    struct rp_performance_counters *counters = ctx;
    const struct counter *counter = counter_of(at->address);
    struct rp_performance_choice choice;
    uint64_t value = 0;

    if (!counter)
        return read_shared(counters, at, ret_value);
    if (choice_at(counters, counter, at, &choice))
        value = share_of(counters, blocks[counter->block].spread, at,
                         accumulates(&choice) ? accumulated(counters, counter, at, &choice)
                                              : sum_of(counters, &choice));
    *ret_value = (uint32_t)(at->address == counter->high ? value >> 32 : value);
    return true;
}

/* ---- counting ----------------------------------------------------------------------------- */

/* What counters of caches and waves need is recorded only if one of them is selected. Selects stay
 * as they are until others are written, but a tool writes all that it means before it starts.
 */
static void select_event(struct rp_performance_counters *counters, enum block block, uint32_t value)
{
    const struct rp_performance_choice choice = choice_of(counters, block, value);

    if (counters->has_run)
        counters->needs_accesses = false;
    counters->has_run = false;
    counters->needs_accesses |= choice.row && (choice.row->kind == RP_COUNTER_CACHES ||
                                               choice.row->kind == RP_COUNTER_WAVES);
}

static void control(struct rp_performance_counters *counters, uint32_t state)
{
    counters->has_run |= counters->running;
    counters->running = state == PERFMON_START;
    if (state != PERFMON_RESET)
        return;
    memset(counters->values, 0, sizeof counters->values);
    counters->unknown = 0;
    if (++counters->run == 0)
        counters->run = 1;
}

static void write_register(void *ctx, const struct rp_register_access *at, uint32_t value)
{
    struct rp_performance_counters *counters = ctx;

    if (at->address == CP_PERFMON_CNTL)
        control(counters, value & PERFMON_STATE);
    for (size_t i = 0; i < RP_COUNT(all_counters); i++)
        if (all_counters[i].select == at->address)
            select_event(counters, all_counters[i].block, value);
}

void rp_performance_counters_init(struct rp_performance_counters *counters, const struct rp_cp *cp)
{
    static const uint64_t ranges[][2] = {
        {0xd000, 0xddff},                                             /* dies */
        {0x2a00, 0x2aff},                                             /* their memory interfaces */
        {0x0c00, 0x0dff},                                             /* address translation */
        {1ull << (WHOSE_SHIFT + 2), (2ull << (WHOSE_SHIFT + 2)) - 1}, /* that of several dies */
    };

    *counters = (struct rp_performance_counters){.cp = cp, .run = 1};
    for (size_t i = 0; i < RP_COUNT(ranges); i++)
        rp_registers_attach(cp->registers, &(struct rp_register_unit){.first = ranges[i][0],
                                                                      .last = ranges[i][1],
                                                                      .ctx = counters,
                                                                      .write = write_register,
                                                                      .read = read_counter});
}

void rp_performance_counters_release(struct rp_performance_counters *counters)
{
    rp_idmap_free(&counters->named);
}

uint32_t rp_performance_counters_run(struct rp_performance_counters *counters,
                                     enum rp_counting *ret_counting)
{
    if (!counters || !counters->running)
        return 0;
    *ret_counting = counters->needs_accesses ? RP_COUNT_MEMORY : RP_COUNT_INSTRUCTIONS;
    return counters->run;
}

void rp_performance_counters_add(struct rp_performance_counters *counters, uint32_t run,
                                 const struct rp_arch *arch, const struct rp_dispatch *dispatch,
                                 uint64_t ticks)
{
    uint64_t values[RP_DEVICE_COUNTERS];

    if (!run || run != counters->run)
        return;
    const enum rp_counting known = rp_counter_values(arch, dispatch, ticks, values);
    for (enum rp_device_counter_kind kind = RP_COUNTER_EXACT; kind <= RP_COUNTER_WAVES; kind++)
        if (!rp_counter_is_known(kind, known, dispatch))
            counters->unknown |= 1u << kind;
    for (size_t i = 0; known != RP_COUNT_NOTHING && i < RP_DEVICE_COUNTERS; i++)
        counters->values[i] += values[i];
}
