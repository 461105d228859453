/* The thread trace units of a GPU. Their registers hold what was written (gpu_registers.c); here is
 * what they do: a unit begins a stream when MODE switches it on, and writes it to the buffer that
 * BASE and SIZE name until it is switched off or the buffer is full.
 *
 * Unlike hardware, tracing costs no time here: waves are never stalled, and no token is lost,
 * because memory takes too long to write.
 */
#include "device/driver/thread_trace_registers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "device/driver/gpu_registers.h"
#include "device/exec/kernel_launch.h"
#include "device/isa/wave_state.h"
#include "device/timing/dispatch_timing.h"
#include "device/timing/thread_trace_tokens.h"
#include "device/timing/wave_record.h"

enum {
    BASE = 0xc330,
    SIZE = 0xc331,
    MASK = 0xc332,
    TOKEN_MASK = 0xc333,
    CTRL = 0xc335,
    MODE = 0xc336,
    BASE2 = 0xc337,
    TOKEN_MASK2 = 0xc338,
    WPTR = 0xc339,
    STATUS = 0xc33a,
    CNTR = 0xc33c,
    USERDATA_0 = 0xc340,
};

/* STATUS */
#define FULL      (1u << 31)
#define UTC_ERROR (1u << 28)

/* Numbers of AMD's SQ_THREAD_TRACE_REG_TYPE, which are bits of TOKEN_MASK's REG_MASK. */
enum reg_type { REG_EVENT = 0, REG_DISPATCH = 2, REG_USERDATA = 3, REG_SHDEC = 6 };

/* Distances of compute registers from COMPUTE_DISPATCH_INITIATOR. */
enum {
    INITIATOR = 0x00,
    NUM_THREAD_X = 0x07,
    PGM_LO = 0x0c,
    PGM_HI = 0x0d,
    PACKET_LO = 0x0e,
    PACKET_HI = 0x0f,
    RSRC1 = 0x12,
    RSRC2 = 0x13,
    RSRC3 = 0x2d,
    NOWHERE = 0x7f,
};

/* A simulated instruction takes some 8 bytes of a stream, and 24 of the host's memory. */
enum { MOST_ROWS = 4 * RP_THREADS_ROWS };

struct rp_thread_trace_engine {
    struct rp_token_stream stream;
    uint32_t mask;
    bool on;
};

/* ---- messages ------------------------------------------------------------------------------ */

enum message { NO_MODE, OTHER_WAVES, NO_ROWS, SAMPLED, CUT, COLLECTED, ROWS };

static void tell(struct rp_thread_trace *t, enum message which, const char *text)
{
    if (t->told >> which & 1)
        return;
    char line[300];
    const int count = snprintf(line, sizeof line, "rocm-perf-device: thread trace: %s\n", text);
    t->told |= 1u << which;
    if (write(t->report_fd, line, (size_t)count) < 0)
        return; /* A message that cannot be printed is not the program's problem. */
}

/* ---- units --------------------------------------------------------------------------------- */

static uint64_t time_of(const struct rp_thread_trace *t, uint64_t ticks)
{
    const uint64_t mhz = t->arch->timestamp_mhz ? t->arch->timestamp_mhz : 1;
    return (uint64_t)((unsigned __int128)ticks * t->arch->engine_clock_mhz / mhz /
                      RP_TOKEN_TIME_CLOCKS);
}

static uint32_t written(const struct rp_thread_trace *t, uint32_t number, uint64_t address)
{
    const struct rp_register_access at = {.address = address,
                                          .xccs = 1u << number / t->engines_per_die,
                                          .engine = (int16_t)(number % t->engines_per_die)};
    uint32_t value = 0;
    rp_registers_written(t->registers, &at, &value);
    return value;
}

static bool is_asked(const struct rp_thread_trace *t, const struct rp_register_access *at,
                     uint32_t number)
{
    const uint32_t engine = number % t->engines_per_die;
    return at->xccs >> number / t->engines_per_die & 1 &&
           (at->engine == RP_REGISTER_ALL || (uint32_t)at->engine == engine) && at->array <= 0;
}

static bool lets_registers_through(const struct rp_token_stream *s, enum reg_type type)
{
    return s->token_mask >> (16 + type) & 1;
}

static void load_masks(struct rp_thread_trace *t, uint32_t number)
{
    struct rp_thread_trace_engine *e = &t->engine[number];
    e->mask = written(t, number, MASK);
    e->stream.token_mask = written(t, number, TOKEN_MASK);
    e->stream.inst_mask = written(t, number, TOKEN_MASK2);
}

/* Begins at the buffer's first byte. Only whole pages of 4 KiB can be named. */
static void reset(struct rp_thread_trace *t, uint32_t number)
{
    struct rp_token_stream *s = &t->engine[number].stream;
    const uint64_t high = written(t, number, BASE2) & 0xf;
    s->base_va = (high << 32 | written(t, number, BASE)) << 12;
    s->room_bytes = (uint64_t)(written(t, number, SIZE) & 0x3fffff) << 12;
    s->written = s->bytes = 0;
    s->staged = 0;
}

static bool switches_on(struct rp_thread_trace *t, uint32_t mode)
{
    const uint32_t how = mode >> 21 & 3, compute = mode >> 18 & 1;
    const uint32_t capture = mode >> 23 & 3, issue = mode >> 27 & 3, wraps = mode >> 31;
    if (how && (how > 1 || capture || issue || wraps))
        tell(t, NO_MODE,
             "SQ_THREAD_TRACE_MODE: only mode ON without CAPTURE_MODE, ISSUE_MASK and WRAP is "
             "known");
    return how && compute;
}

static void set_mode(struct rp_thread_trace *t, uint32_t number, uint32_t mode, uint64_t ticks)
{
    struct rp_thread_trace_engine *e = &t->engine[number];
    const bool on = switches_on(t, mode);
    if (on == e->on)
        return;
    e->on = on;
    t->on += on ? 1u : -1u;
    e->stream.host = t->host;
    if (on) {
        load_masks(t, number);
        rp_token_stream_begin(&e->stream, time_of(t, ticks));
    } else {
        rp_token_stream_flush(&e->stream);
    }
}

static void set(struct rp_thread_trace *t, uint32_t number, const struct rp_register_access *at,
                uint32_t value)
{
    struct rp_thread_trace_engine *e = &t->engine[number];
    switch (at->address) {
    case MASK:
    case TOKEN_MASK:
    case TOKEN_MASK2:
        load_masks(t, number);
        break;
    case CTRL:
        if (value >> 31)
            reset(t, number);
        break;
    case MODE:
        set_mode(t, number, value, at->ticks);
        break;
    case STATUS:
        e->stream.full = value & FULL;
        e->stream.fault = value & UTC_ERROR;
        break;
    default:
        if (at->address >= USERDATA_0 && e->on && lets_registers_through(&e->stream, REG_USERDATA))
            rp_token_stream_register(&e->stream, time_of(t, at->ticks), RP_TOKEN_REG,
                                     (uint32_t)at->address, value);
    }
}

/* Units exist once a tool has written to one of them. @return false: the host has no memory */
static bool make_units(struct rp_thread_trace *t)
{
    if (!t->engine)
        t->engine = calloc(t->engines, sizeof *t->engine);
    return t->engine;
}

static void write_register(void *ctx, const struct rp_register_access *at, uint32_t value)
{
    struct rp_thread_trace *t = ctx;
    if (!make_units(t))
        return;
    for (uint32_t i = 0; i < t->engines; i++)
        if (is_asked(t, at, i))
            set(t, i, at, value);
}

static uint32_t lines(uint64_t bytes)
{
    return (uint32_t)(bytes / RP_TOKEN_LINE_BYTES);
}

/* CNTR goes on when the buffer is full: more than WPTR, it says how much there would have been
 * (Mesa, src/amd/common/ac_sqtt.c). */
static bool read_register(void *ctx, const struct rp_register_access *at, uint32_t *ret)
{
    struct rp_thread_trace *t = ctx;
    uint32_t number = 0;
    while (number < t->engines && !is_asked(t, at, number))
        number++;
    if (!t->engine || number == t->engines)
        return false;
    struct rp_token_stream *s = &t->engine[number].stream;
    if (t->engine[number].on)
        rp_token_stream_flush(s);
    switch (at->address) {
    case STATUS:
        *ret = (s->full ? FULL : 0) | (s->fault ? UTC_ERROR : 0);
        return true;
    case WPTR:
        *ret = lines(s->written);
        return true;
    case CNTR:
        *ret = lines(s->bytes);
        return true;
    default:
        return false;
    }
}

/* A write to a compute register, or an event, which streams show as one to COMPUTE_NOWHERE. */
static void write_compute(void *ctx, const struct rp_register_access *at, uint32_t value)
{
    struct rp_thread_trace *t = ctx;
    const uint32_t distance = (uint32_t)(at->address - RP_COMPUTE_FIRST);
    const enum reg_type type = distance == NOWHERE ? REG_EVENT : REG_SHDEC;
    for (uint32_t i = 0; t->on && i < t->engines; i++) {
        struct rp_thread_trace_engine *e = &t->engine[i];
        if (e->on && is_asked(t, at, i) && lets_registers_through(&e->stream, type))
            rp_token_stream_register(&e->stream, time_of(t, at->ticks), RP_TOKEN_REG_CS, distance,
                                     value);
    }
}

void rp_thread_trace_init(struct rp_thread_trace *t, const struct rp_arch *arch,
                          const struct rp_exec_host *host, struct rp_registers *registers,
                          int report_fd)
{
    const struct rp_register_unit unit = {.first = RP_THREAD_TRACE_FIRST,
                                          .last = RP_THREAD_TRACE_LAST,
                                          .ctx = t,
                                          .write = write_register,
                                          .read = read_register};
    const struct rp_register_unit compute = {
        .first = RP_COMPUTE_FIRST, .last = RP_COMPUTE_LAST, .ctx = t, .write = write_compute};
    const uint32_t dies = registers->xcc_count;
    *t = (struct rp_thread_trace){
        .arch = arch, .host = host, .registers = registers, .report_fd = report_fd};
    t->engines_per_die = arch->shader_engines / dies ? arch->shader_engines / dies : 1;
    t->engines = t->engines_per_die * dies;
    if (t->engines > 32) /* The bits of rp_threads_request.engines. */
        t->engines = 32;
    rp_registers_attach(registers, &unit);
    rp_registers_attach(registers, &compute);
}

void rp_thread_trace_release(struct rp_thread_trace *t)
{
    free(t->engine);
    t->engine = NULL;
    t->on = 0;
}

/* ---- dispatches ---------------------------------------------------------------------------- */

static uint32_t compute_unit(const struct rp_thread_trace_engine *e)
{
    return e->mask & 0x1f;
}

static uint32_t simds(const struct rp_thread_trace_engine *e)
{
    return e->mask >> 8 & 0xf;
}

/* The second shader array, which SH_SEL may choose, has no compute units. */
static bool traces_instructions(const struct rp_thread_trace_engine *e)
{
    const uint32_t needed = 1u << RP_TOKEN_ISSUE | 1u << RP_TOKEN_INST;
    return e->stream.token_mask & needed && !(e->mask >> 5 & 1) && !e->stream.full;
}

static bool waves_wanted(const struct rp_thread_trace_engine *e,
                         const struct rp_threads_request *wish)
{
    return compute_unit(e) == wish->cu && simds(e) == wish->simds;
}

void rp_thread_trace_leave_out(struct rp_thread_trace *t)
{
    if (t && t->on)
        tell(t, COLLECTED,
             "a dispatch that --deep-analysis traces is not in the streams: use one of the two");
}

bool rp_thread_trace_wants(const struct rp_thread_trace *t, struct rp_threads_request *ret)
{
    const struct rp_thread_trace_engine *first = NULL;
    if (!t || !t->on)
        return false;
    *ret = (struct rp_threads_request){.work_items = true};
    for (uint32_t i = 0; i < t->engines; i++) {
        const struct rp_thread_trace_engine *e = &t->engine[i];
        if (!e->on)
            continue;
        ret->engines |= 1u << i;
        if (!first && traces_instructions(e))
            first = e;
    }
    if (first) {
        ret->cu = compute_unit(first);
        ret->simds = simds(first);
        ret->rows = MOST_ROWS;
    }
    return true;
}

/** What the command processor writes to start a dispatch. */
struct start {
    uint64_t entry_va, packet_va;
    uint32_t threads[3], rsrc[3];
};

static void write_start(struct rp_token_stream *s, uint64_t time, const struct start *start)
{
    const struct {
        uint32_t distance, value;
    } writes[] = {
        {NUM_THREAD_X, start->threads[0]},
        {NUM_THREAD_X + 1, start->threads[1]},
        {NUM_THREAD_X + 2, start->threads[2]},
        {PACKET_LO, (uint32_t)start->packet_va},
        {PACKET_HI, (uint32_t)(start->packet_va >> 32)},
        {PGM_LO, (uint32_t)(start->entry_va >> 8)},
        {PGM_HI, (uint32_t)(start->entry_va >> 40)},
        {RSRC3, start->rsrc[2]},
        {RSRC1, start->rsrc[0]},
        {RSRC2, start->rsrc[1]},
        {INITIATOR, 1u << 5 | 1}, /* USE_THREAD_DIMENSIONS, COMPUTE_SHADER_EN */
    };
    for (unsigned i = 0; i < sizeof writes / sizeof *writes; i++)
        rp_token_stream_register(s, time, RP_TOKEN_REG_CS_PRIV, writes[i].distance,
                                 writes[i].value);
}

/* Reads COMPUTE_PGM_RSRC1 to 3 in the kernel's descriptor (LLVM's AMDGPUUsage). */
static void read_descriptor(const struct rp_thread_trace *t, uint64_t va, struct start *ret)
{
    const uint32_t *descriptor = t->host->translate(t->host->ctx, va, 64, 0);
    if (!descriptor)
        return;
    ret->rsrc[2] = descriptor[11];
    ret->rsrc[0] = descriptor[12];
    ret->rsrc[1] = descriptor[13];
}

static void write_dispatch(struct rp_thread_trace *t, uint32_t number, const struct start *start,
                           const struct rp_trace_rows *rows, const struct rp_threads_request *wish,
                           uint64_t start_ticks)
{
    struct rp_thread_trace_engine *e = &t->engine[number];
    struct rp_token_stream *s = &e->stream;
    const uint64_t time = time_of(t, start_ticks);
    /* Queues overlap, streams are in the order in which dispatches end. */
    const uint64_t begin = time > s->time ? time : s->time;
    if (lets_registers_through(s, REG_DISPATCH))
        write_start(s, begin, start);
    if (!rows)
        return;
    const bool wanted = traces_instructions(e) && waves_wanted(e, wish);
    if (traces_instructions(e) && !wanted)
        tell(t, OTHER_WAVES,
             "all shader engines must have the same compute unit and SIMDs: of those that have "
             "others only begins and ends of waves are traced");
    rp_token_stream_waves(s, rows, number, wanted ? (uint8_t)wish->cu : UINT8_MAX, begin);
    s->full |= wanted && rows->rows >= wish->rows;
    rp_token_stream_flush(s);
}

static void tell_of_gaps(struct rp_thread_trace *t, const struct rp_trace_rows *rows)
{
    char text[200];
    const struct rp_rec_plan *plan = &rows->record->plan;
    bool cut = false, full = rows->lost > 0;
    for (uint64_t i = 0; i < rows->wave_count; i++) {
        cut |= rows->wave[i].cut == RP_THREADS_RECORD_ENDS;
        full |= rows->wave[i].cut == RP_THREADS_BUFFER_FULL;
    }
    snprintf(text, sizeof text,
             "%" PRIu64 " of %" PRIu64 " workgroups are simulated: streams have the waves of these",
             plan->count, plan->group_count);
    if (plan->count < plan->group_count)
        tell(t, SAMPLED, text);
    snprintf(text, sizeof text,
             "more than %d instructions of a dispatch are not kept, so FULL does not mean a small "
             "buffer: choose fewer shader engines or SIMDs",
             MOST_ROWS);
    if (full)
        tell(t, ROWS, text);
    if (cut)
        tell(t, CUT,
             "waves are too long to be recorded whole: streams lack their last instructions");
}

void rp_thread_trace_dispatch(struct rp_thread_trace *t, const struct rp_arch *arch,
                              struct rp_dispatch *dispatch, const struct rp_threads_request *wish,
                              uint64_t packet_va, uint64_t kernel_object_va, uint64_t start_ticks)
{
    const struct rp_trace_rows *rows = NULL;
    struct start start = {.packet_va = packet_va};
    if (!t->on)
        return;
    if (rp_dispatch_rows(dispatch, arch, wish, &rows) < 0 || !rows->kernel) {
        rows = NULL;
        tell(t, NO_ROWS, "a dispatch was not simulated: streams lack its waves");
    } else {
        start.entry_va = rows->kernel->entry_va;
        memcpy(start.threads, rows->kernel->workgroup_size, sizeof start.threads);
        tell_of_gaps(t, rows);
    }
    read_descriptor(t, kernel_object_va, &start);
    for (uint32_t i = 0; i < t->engines; i++)
        if (t->engine[i].on)
            write_dispatch(t, i, &start, rows, wish, start_ticks);
}
