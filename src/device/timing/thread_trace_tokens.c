/* This file writes a thread trace as hardware does: the rows of the timing simulation
 * (thread_trace_rows.c) become tokens.
 *
 * What an instruction costs is in three tokens. ISSUE says of each wave of a SIMD that it could not
 * issue (from then on it stalls), that it issued an instruction, or that it has done one that needs
 * no unit, such as s_waitcnt. INST says what the instruction is, and is where decoders see how long
 * it took. No token says when one of the latter kind began, so decoders let it begin where the one
 * before it ended. On hardware INST comes up to 8 clocks after its ISSUE, depending on the unit and
 * the SIMD, which decoders take off; here both come at the same time where that makes no
 * difference.
 */
#include "device/timing/thread_trace_tokens.h"

#include <string.h>

#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"
#include "device/timing/dispatch_timing.h"
#include "device/timing/wave_record.h"

enum { SIMDS = 4, SLOTS = 8, CURSORS = SIMDS * SLOTS, LONGEST_DELTA = 255, MISC_TIME_RESET = 1 };

/* What an ISSUE token says of a wave. */
enum issue { ISSUE_STALL = 1, ISSUE_INST = 2, ISSUE_IMMEDIATE = 3 };

/* What an INST token says; bits of SQ_THREAD_TRACE_TOKEN_MASK2 have the same numbers. */
enum inst {
    INST_SMEM_RD = 0,
    INST_SALU_32 = 1,
    INST_VMEM_RD = 2,
    INST_VMEM_WR = 3,
    INST_FLAT_WR = 4,
    INST_VALU_32 = 5,
    INST_LDS = 6,
    INST_PC = 7, /**< goes to an address, which an INST_PC token says */
    INST_JUMP = 12,
    INST_NEXT = 13,
    INST_FLAT_RD = 14,
    INST_OTHER_MSG = 15,
    INST_SMEM_WR = 16,
    INST_SALU_64 = 17,
    INST_VALU_64 = 18,
    INST_VALU_MAI = 28,
};

/* ---- the stream ---------------------------------------------------------------------------- */

static const uint8_t token_bytes[RP_TOKEN_TYPES] = {
    [RP_TOKEN_MISC] = 2,        [RP_TOKEN_TIME] = 8,       [RP_TOKEN_REG] = 8,
    [RP_TOKEN_WAVE_START] = 4,  [RP_TOKEN_WAVE_ALLOC] = 2, [RP_TOKEN_REG_CS] = 6,
    [RP_TOKEN_WAVE_END] = 2,    [RP_TOKEN_EVENT] = 2,      [RP_TOKEN_EVENT_CS] = 2,
    [RP_TOKEN_EVENT_GFX1] = 2,  [RP_TOKEN_INST] = 2,       [RP_TOKEN_INST_PC] = 8,
    [RP_TOKEN_USERDATA] = 6,    [RP_TOKEN_ISSUE] = 4,      [RP_TOKEN_PERF] = 8,
    [RP_TOKEN_REG_CS_PRIV] = 6,
};

static void write_stage(struct rp_token_stream *s)
{
    const uint64_t va = s->base_va + s->written - s->staged;
    void *to = s->staged ? s->host->translate(s->host->ctx, va, s->staged, 1) : NULL;
    if (to)
        memcpy(to, s->stage, s->staged);
    else if (s->staged)
        s->fault = true;
    s->staged = 0;
}

/* The last token that a full buffer has may be only a part of one. */
static void add_bytes(struct rp_token_stream *s, const void *from, uint32_t count)
{
    s->bytes += count;
    if (s->full || s->fault)
        return;
    if (count > s->room_bytes - s->written) {
        s->full = true;
        count = (uint32_t)(s->room_bytes - s->written);
    }
    for (const uint8_t *at = from; count;) {
        const uint32_t room = RP_TOKEN_STAGE_BYTES - s->staged, part = count < room ? count : room;
        memcpy(s->stage + s->staged, at, part);
        s->staged += part;
        s->written += part;
        at += part;
        count -= part;
        if (s->staged == RP_TOKEN_STAGE_BYTES)
            write_stage(s);
    }
}

static void add(struct rp_token_stream *s, enum rp_token_type type, uint64_t fields)
{
    const uint64_t token = fields | type; /* The CPU's bytes are in the stream's order. */
    if (s->token_mask >> type & 1)
        add_bytes(s, &token, token_bytes[type]);
}

/* A token's own bit is for four clocks, that of MISC for up to 1016; after more there is an
 * absolute time. */
static uint64_t pass_time(struct rp_token_stream *s, uint64_t time)
{
    const uint64_t passed = time > s->time ? time - s->time : 0;
    s->time += passed;
    if (passed >= LONGEST_DELTA) {
        add(s, RP_TOKEN_MISC, LONGEST_DELTA << 4 | MISC_TIME_RESET << 13);
        add(s, RP_TOKEN_TIME, s->time * RP_TOKEN_TIME_CLOCKS << 16);
    } else if (passed > 1) {
        add(s, RP_TOKEN_MISC, passed << 4);
    }
    return passed == 1 ? 1u << 4 : 0;
}

static void put(struct rp_token_stream *s, uint64_t time, enum rp_token_type type, uint64_t fields)
{
    if (s->token_mask >> type & 1)
        add(s, type, fields | pass_time(s, time));
}

void rp_token_stream_begin(struct rp_token_stream *s, uint64_t time)
{
    s->time = time;
    add(s, RP_TOKEN_MISC, LONGEST_DELTA << 4 | MISC_TIME_RESET << 13);
    add(s, RP_TOKEN_TIME, time * RP_TOKEN_TIME_CLOCKS << 16);
}

void rp_token_stream_flush(struct rp_token_stream *s)
{
    static const uint8_t nothing[RP_TOKEN_LINE_BYTES]; /* tokens MISC, without a time */
    const uint32_t over = s->bytes % RP_TOKEN_LINE_BYTES;
    if (over)
        add_bytes(s, nothing, RP_TOKEN_LINE_BYTES - over);
    write_stage(s);
}

void rp_token_stream_register(struct rp_token_stream *s, uint64_t time, enum rp_token_type type,
                              uint32_t address, uint32_t value)
{
    /* The micro engine's number is 1 in streams of a real MI350X; decoders take it for engine 0,
     * which is what WAVE_START calls it. Bits 10 to 13 are 3 there, and bit 15 says write. */
    const uint64_t engine = 1u << 7;
    if (type == RP_TOKEN_REG)
        put(s, time, type,
            engine | 3u << 10 | 1u << 15 | (uint64_t)(address & 0xffff) << 16 |
                (uint64_t)value << 32);
    else
        put(s, time, type, engine | (address & 0x7f) << 9 | (uint64_t)value << 16);
}

/* ---- what instructions are ------------------------------------------------------------------ */

static bool starts(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

static bool writes(const char *name)
{
    return strstr(name, "_store") || strstr(name, "_atomic") || starts(name, "ds_write");
}

static enum inst inst_of_branch(const char *name, uint8_t category)
{
    if (starts(name, "s_setpc") || starts(name, "s_swappc") || starts(name, "s_call"))
        return INST_PC;
    return category == RP_THREADS_JUMP ? INST_JUMP : INST_NEXT;
}

/* 64 in a name means an encoding of two dwords: so it is in streams of a real MI350X. AMD's decoder
 * takes s_memtime for a scalar ALU instruction, and loses the wave if the stream says otherwise. */
static enum inst inst_of(const struct rp_rec_code *c, uint8_t category)
{
    const char *name = rp_isa_mnemonic(c->op);
    const bool large = c->size_bytes > 4;
    switch (category) {
    case RP_THREADS_SMEM:
        if (starts(name, "s_memtime"))
            return large ? INST_SALU_64 : INST_SALU_32;
        return writes(name) ? INST_SMEM_WR : INST_SMEM_RD;
    case RP_THREADS_SALU:
        return large ? INST_SALU_64 : INST_SALU_32;
    case RP_THREADS_VMEM:
        return writes(name) ? INST_VMEM_WR : INST_VMEM_RD;
    case RP_THREADS_FLAT:
        return writes(name) ? INST_FLAT_WR : INST_FLAT_RD;
    case RP_THREADS_LDS:
        return INST_LDS;
    case RP_THREADS_VALU:
        if (c->unit == RP_REC_MFMA)
            return INST_VALU_MAI;
        return large ? INST_VALU_64 : INST_VALU_32;
    case RP_THREADS_JUMP:
    case RP_THREADS_NEXT:
        return inst_of_branch(name, category);
    default:
        return INST_OTHER_MSG;
    }
}

/* Decoders take so many times off that an INST token of an instruction that takes long comes later:
 * SIMDs take turns, and units need a different number of turns (AMD's decoder, gfx9wave.cpp,
 * apply_inst). Which SIMD is first cannot be known; the decoder begins with the second, and takes
 * another one when instructions would overlap. */
static uint64_t delay_of(enum inst inst, unsigned simd)
{
    const unsigned turn = (simd + SIMDS - 1) % SIMDS;
    switch (inst) {
    case INST_SMEM_RD:
    case INST_SMEM_WR:
    case INST_SALU_32:
    case INST_SALU_64:
        return (turn + 5) / SIMDS;
    case INST_VALU_32:
    case INST_VALU_64:
    case INST_VALU_MAI:
        return (turn + 2) / SIMDS;
    case INST_LDS:
    case INST_JUMP:
    case INST_NEXT:
    case INST_OTHER_MSG:
        return (turn + 1) / SIMDS;
    default:
        return 0;
    }
}

/* ---- waves ---------------------------------------------------------------------------------- */

/* A cursor goes through what one wave slot of the traced compute unit does. */
struct cursor {
    const struct rp_threads_wave *wave; /**< NULL: no traced wave is in the slot */
    uint32_t row;
    enum stage { STALL, ISSUE, INST, PC } stage; /**< of the row, what comes next */
    uint64_t time;                               /**< when */
};

struct writer {
    struct rp_token_stream *s;
    const struct rp_trace_rows *t;
    uint64_t start;
    uint32_t engine;
    uint8_t cu;
    uint64_t next_wave;
    struct cursor cursor[CURSORS];
    /* An ISSUE token has all waves of a SIMD that have something to say at the same time. */
    bool issue_waits;
    unsigned issue_simd;
    uint64_t issue_time, issue_fields;
};

static uint64_t time_of(const struct writer *w, uint64_t clock)
{
    return w->start + clock / RP_TOKEN_TIME_CLOCKS;
}

static const struct rp_threads_row *row_of(const struct writer *w, const struct cursor *c)
{
    return &w->t->row[c->wave->first_row + c->row];
}

static const struct rp_rec_code *code_of(const struct writer *w, const struct cursor *c)
{
    return &w->t->record->code[row_of(w, c)->code];
}

static bool is_immediate(const struct rp_threads_row *row)
{
    return row->category == RP_THREADS_IMMEDIATE;
}

static bool has_more(const struct cursor *c)
{
    return c->wave && c->row < c->wave->row_count;
}

/* Says when the stage at which the cursor is happens. Times never go back. */
static void set_time(const struct writer *w, struct cursor *c)
{
    if (!has_more(c))
        return;
    const struct rp_threads_row *row = row_of(w, c);
    const uint64_t end = time_of(w, row->clock + row->latency_clocks);
    const uint64_t issued = time_of(w, row->clock + row->stall_clocks);
    if (is_immediate(row))
        c->time = end - 1;
    else if (c->stage == STALL)
        c->time = time_of(w, row->clock);
    else if (c->stage == ISSUE || end <= issued + 1)
        c->time = issued;
    else
        c->time = end - 1 + delay_of(inst_of(code_of(w, c), row->category), c->wave->simd);
}

static void begin_row(const struct writer *w, struct cursor *c)
{
    c->stage = ISSUE;
    set_time(w, c);
    if (has_more(c) && !is_immediate(row_of(w, c)) && time_of(w, row_of(w, c)->clock) < c->time) {
        c->stage = STALL;
        set_time(w, c);
    }
}

static void next_row(const struct writer *w, struct cursor *c)
{
    c->row++;
    begin_row(w, c);
}

static void write_issue(struct writer *w)
{
    if (w->issue_waits)
        put(w->s, w->issue_time, RP_TOKEN_ISSUE, w->issue_fields | w->issue_simd << 5);
    w->issue_waits = false;
}

static void note_issue(struct writer *w, const struct cursor *c, enum issue what)
{
    const unsigned at = 8 + 2 * c->wave->slot;
    if (w->issue_waits &&
        (w->issue_simd != c->wave->simd || w->issue_time != c->time || w->issue_fields >> at & 3))
        write_issue(w);
    if (!w->issue_waits)
        w->issue_fields = 0;
    w->issue_waits = true;
    w->issue_simd = c->wave->simd;
    w->issue_time = c->time;
    w->issue_fields |= (uint64_t)what << at;
}

static uint64_t slot_fields(const struct cursor *c)
{
    return (uint64_t)c->wave->slot << 5 | (uint64_t)c->wave->simd << 9;
}

/* @return whether an address must follow */
static bool write_inst(struct writer *w, const struct cursor *c)
{
    const enum inst inst = inst_of(code_of(w, c), row_of(w, c)->category);
    write_issue(w);
    if (w->s->inst_mask >> inst & 1)
        put(w->s, c->time, RP_TOKEN_INST, slot_fields(c) | (uint64_t)inst << 11);
    return inst == INST_PC && c->row + 1 < c->wave->row_count;
}

static void write_pc(struct writer *w, const struct cursor *c)
{
    const struct rp_threads_row *to = row_of(w, c) + 1;
    write_issue(w);
    put(w->s, c->time, RP_TOKEN_INST_PC,
        slot_fields(c) | w->t->record->code[to->code].pc >> 2 << 16);
}

/* Writes what the cursor is at, and moves it on. */
static void step(struct writer *w, struct cursor *c)
{
    if (is_immediate(row_of(w, c))) {
        note_issue(w, c, ISSUE_IMMEDIATE);
        next_row(w, c);
        return;
    }
    switch (c->stage) {
    case STALL:
        note_issue(w, c, ISSUE_STALL);
        c->stage = ISSUE;
        break;
    case ISSUE:
        note_issue(w, c, ISSUE_INST);
        c->stage = INST;
        break;
    case INST:
        if (write_inst(w, c)) {
            c->stage = PC;
            return;
        }
        next_row(w, c);
        return;
    case PC:
        write_pc(w, c);
        next_row(w, c);
        return;
    }
    set_time(w, c);
}

/* Returns the cursor that is next, or NULL. ISSUE comes first, so that it can be one token. */
static struct cursor *first_cursor(struct writer *w)
{
    struct cursor *first = NULL;
    for (unsigned i = 0; i < CURSORS; i++) {
        struct cursor *c = &w->cursor[i];
        if (has_more(c) && (!first || c->time < first->time ||
                            (c->time == first->time && c->stage < INST && first->stage >= INST)))
            first = c;
    }
    return first;
}

static void take_wave(struct writer *w, const struct rp_threads_event *e, struct cursor *c)
{
    const struct rp_trace_rows *t = w->t;
    while (w->next_wave < t->wave_count &&
           (t->wave[w->next_wave].engine < w->engine ||
            (t->wave[w->next_wave].engine == w->engine && t->wave[w->next_wave].begin < e->clock)))
        w->next_wave++;
    *c = (struct cursor){0};
    for (uint64_t i = w->next_wave; i < t->wave_count; i++) {
        const struct rp_threads_wave *wave = &t->wave[i];
        if (wave->engine != w->engine || wave->begin != e->clock)
            return;
        if (wave->cu == w->cu && wave->simd == e->simd && wave->slot == e->slot) {
            c->wave = wave;
            begin_row(w, c);
            return;
        }
    }
}

/* What the wave did comes before its end. */
static void end_wave(struct writer *w, struct cursor *c)
{
    while (has_more(c))
        step(w, c);
    c->wave = NULL;
}

static void write_event(struct writer *w, const struct rp_threads_event *e)
{
    const uint64_t time = time_of(w, e->clock);
    const uint64_t place =
        (uint64_t)(e->cu & 0xf) << 6 | (uint64_t)e->slot << 10 | (uint64_t)e->simd << 14;
    struct cursor *c = e->cu == w->cu && e->simd < SIMDS && e->slot < SLOTS
                           ? &w->cursor[e->simd * SLOTS + e->slot]
                           : NULL;
    if (c)
        end_wave(w, c);
    write_issue(w);
    if (!e->begins) {
        put(w->s, time, RP_TOKEN_WAVE_END, place);
        return;
    }
    put(w->s, time, RP_TOKEN_WAVE_ALLOC, place);
    put(w->s, time, RP_TOKEN_WAVE_START, place | (uint64_t)e->begins << 22); /* work-items */
    if (c)
        take_wave(w, e, c);
}

void rp_token_stream_waves(struct rp_token_stream *s, const struct rp_trace_rows *t,
                           uint32_t engine, uint8_t cu, uint64_t start)
{
    struct writer w = {.s = s, .t = t, .start = start, .engine = engine, .cu = cu};
    for (uint64_t i = 0; i < t->event_count; i++) {
        const struct rp_threads_event *e = &t->event[i];
        if (e->engine != engine)
            continue;
        for (struct cursor *c; (c = first_cursor(&w)) && c->time <= time_of(&w, e->clock);)
            step(&w, c);
        write_event(&w, e);
    }
    write_issue(&w);
}
