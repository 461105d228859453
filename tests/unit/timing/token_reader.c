#include "unit/timing/token_reader.h"

#include <stdlib.h>
#include <string.h>

enum {
    MISC,
    TIME,
    REG,
    WAVE_START,
    WAVE_ALLOC,
    REG_CS,
    WAVE_END,
    EVENT,
    EVENT_CS,
    EVENT_GFX1,
    INST,
    INST_PC,
    USERDATA,
    ISSUE,
    PERF,
    REG_CS_PRIV
};

enum { CLOCKS = 4, SIMDS = 4, SLOTS = 10, PGM_LO = 0xc, PGM_HI = 0xd };

struct reader {
    struct rp_read_stream *s;
    unsigned cu;
    uint64_t now; /* clocks since the first time in the stream */
    uint64_t base;
    bool has_base;
    uint64_t program; /* its address / 256 */
    struct {
        bool is;
        size_t wave;
    } at[SIMDS][SLOTS];
};

static uint64_t bits(uint64_t token, unsigned low, unsigned high)
{
    return token >> low & (~0ull >> (63 - (high - low)));
}

static void *more(void *array, size_t count, size_t *room, size_t bytes)
{
    if (count < *room)
        return array;
    *room = *room ? 2 * *room : 64;
    array = realloc(array, *room * bytes);
    if (!array)
        abort();
    return array;
}

static struct rp_read_inst *add_inst(struct rp_read_wave *w)
{
    w->inst = more(w->inst, w->count, &w->room, sizeof *w->inst);
    struct rp_read_inst *in = &w->inst[w->count++];
    memset(in, 0, sizeof *in);
    return in;
}

static uint64_t end_of(const struct rp_read_inst *in)
{
    return in->time + in->latency;
}

/* ---- waves ---- */

static void wave_start(struct reader *r, uint64_t token)
{
    const unsigned cu = (unsigned)bits(token, 6, 9), slot = (unsigned)bits(token, 10, 13),
                   simd = (unsigned)bits(token, 14, 15);
    r->s->begins++;
    if (cu != r->cu || slot >= SLOTS)
        return;
    r->s->wave = more(r->s->wave, r->s->waves, &r->s->wave_room, sizeof *r->s->wave);
    r->at[simd][slot].is = true;
    r->at[simd][slot].wave = r->s->waves;
    r->s->wave[r->s->waves++] = (struct rp_read_wave){.begin = r->now,
                                                      .entry_pc = r->program << 8,
                                                      .cu = cu,
                                                      .simd = simd,
                                                      .slot = slot,
                                                      .work_items = (unsigned)bits(token, 22, 28)};
}

static struct rp_read_wave *wave_at(struct reader *r, unsigned simd, unsigned slot)
{
    if (slot >= SLOTS) {
        r->s->fault = "a wave slot beyond the tenth";
        return NULL;
    }
    return r->at[simd][slot].is ? &r->s->wave[r->at[simd][slot].wave] : NULL;
}

static void wave_end(struct reader *r, uint64_t token)
{
    const unsigned cu = (unsigned)bits(token, 6, 9), slot = (unsigned)bits(token, 10, 13),
                   simd = (unsigned)bits(token, 14, 15);
    r->s->ends++;
    if (cu != r->cu)
        return;
    struct rp_read_wave *w = wave_at(r, simd, slot);
    if (!w)
        return;
    if (w->waiting < w->count)
        r->s->fault = "a wave ends before its instruction has a kind";
    w->end = r->now;
    w->ended = true;
    r->at[simd][slot].is = false;
}

/* ---- instructions ---- */

static void skip_known(struct rp_read_wave *w)
{
    while (w->waiting < w->count && w->inst[w->waiting].kind != RP_READ_UNKNOWN)
        w->waiting++;
}

/* It ends now, and began where the one before it ended: nothing says when. */
static void immediate(struct reader *r, struct rp_read_wave *w)
{
    const uint64_t end = r->now + CLOCKS;
    const uint64_t begin = w->count ? end_of(&w->inst[w->count - 1]) : r->now;
    const bool known = w->waiting == w->count;
    struct rp_read_inst *in = add_inst(w);
    in->kind = RP_READ_IMMEDIATE;
    in->time = known && begin < r->now ? begin : r->now;
    in->latency = in->stall = end - in->time;
    skip_known(w);
}

static void issued(struct reader *r, struct rp_read_wave *w)
{
    struct rp_read_inst *in = add_inst(w);
    in->time = w->stalls ? w->stall_since : r->now;
    in->stall = r->now - in->time;
    in->latency = in->stall + CLOCKS; /* until INST says more */
    w->stalls = false;
}

static void issue(struct reader *r, uint64_t token)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        const unsigned what = (unsigned)bits(token, 8 + 2 * slot, 9 + 2 * slot);
        struct rp_read_wave *w = what ? wave_at(r, (unsigned)bits(token, 5, 6), slot) : NULL;
        if (!w)
            continue;
        if (what == 1) {
            w->stalls = true;
            w->stall_since = r->now;
        } else if (what == 2) {
            issued(r, w);
        } else {
            immediate(r, w);
        }
    }
}

/* The token's type, and by how much it comes late, in turns of a SIMD. */
static const struct {
    enum rp_read_kind kind;
    unsigned late;
} types[32] = {
    [0] = {RP_READ_SMEM, 5},  [1] = {RP_READ_SALU, 5},  [2] = {RP_READ_VMEM, 0},
    [3] = {RP_READ_VMEM, 0},  [4] = {RP_READ_FLAT, 0},  [5] = {RP_READ_VALU, 2},
    [6] = {RP_READ_LDS, 1},   [7] = {RP_READ_CALL, 0},  [12] = {RP_READ_JUMP, 1},
    [13] = {RP_READ_NEXT, 1}, [14] = {RP_READ_FLAT, 0}, [15] = {RP_READ_MESSAGE, 1},
    [16] = {RP_READ_SMEM, 5}, [17] = {RP_READ_SALU, 5}, [18] = {RP_READ_VALU, 2},
    [28] = {RP_READ_VALU, 2},
};

static void inst(struct reader *r, uint64_t token)
{
    const unsigned simd = (unsigned)bits(token, 9, 10), type = (unsigned)bits(token, 11, 15);
    struct rp_read_wave *w = wave_at(r, simd, (unsigned)bits(token, 5, 8));
    if (!w)
        return;
    if (w->waiting >= w->count || types[type].kind == RP_READ_UNKNOWN) {
        r->s->fault = "a kind without an instruction, or an unknown one";
        return;
    }
    struct rp_read_inst *in = &w->inst[w->waiting];
    const uint64_t issue_time = in->time + in->stall;
    const uint64_t late = (types[type].late + (simd + 3) % 4) / 4 * CLOCKS; /* SIMD 1 is first */
    in->kind = types[type].kind;
    in->type = type;
    if (r->now > issue_time + late)
        in->latency += r->now - issue_time - late;
    skip_known(w);
}

static void inst_pc(struct reader *r, uint64_t token)
{
    struct rp_read_wave *w = wave_at(r, (unsigned)bits(token, 9, 10), (unsigned)bits(token, 5, 8));
    if (w && w->count && w->inst[w->count - 1].kind == RP_READ_CALL)
        w->inst[w->count - 1].target = bits(token, 16, 63) << 2;
    else if (w)
        r->s->fault = "an address without a call";
}

/* ---- the stream ---- */

static void reg(struct reader *r, unsigned type, uint64_t token)
{
    struct rp_read_stream *s = r->s;
    s->reg = more(s->reg, s->registers, &s->register_room, sizeof *s->reg);
    struct rp_read_register *to = &s->reg[s->registers++];
    *to = type == REG ? (struct rp_read_register){r->now, type, (uint32_t)bits(token, 16, 31),
                                                  (uint32_t)bits(token, 32, 63)}
                      : (struct rp_read_register){r->now, type, (uint32_t)bits(token, 9, 15),
                                                  (uint32_t)bits(token, 16, 47)};
    if (type != REG && to->address == PGM_LO)
        r->program = (r->program & ~0xffffffffull) | to->value;
    if (type != REG && to->address == PGM_HI)
        r->program = (r->program & 0xffffffffull) | (uint64_t)to->value << 32;
}

/* Times count from the first one. */
static void absolute(struct reader *r, uint64_t time)
{
    if (!r->has_base) {
        r->has_base = true;
        r->base = time;
        r->s->first_time = time;
        r->now = 0;
    } else if (time - r->base < r->now) {
        r->s->fault = "time goes back";
    } else {
        r->now = (time - r->base) / CLOCKS * CLOCKS;
    }
}

static const unsigned char sizes[16] = {2, 8, 8, 4, 2, 6, 2, 2, 2, 2, 2, 8, 6, 4, 8, 6};

/* A token of 0 bytes: the buffer was full in the middle of it. */
static size_t token_at(const uint8_t *bytes, size_t count, size_t at, uint64_t *ret)
{
    const size_t size = sizes[bytes[at] & 15];
    *ret = 0;
    if (count - at < size)
        return 0;
    for (size_t i = 0; i < size; i++)
        *ret |= (uint64_t)bytes[at + i] << 8 * i;
    return size;
}

static bool is_reset(uint64_t token)
{
    return (token & 15) == MISC && bits(token, 13, 15) == 1;
}

/* After more time than a token can say there is an absolute time. On hardware it comes behind the
 * next token, which already has it. */
static void reset_time(struct reader *r, const uint8_t *bytes, size_t count, size_t at)
{
    uint64_t token;
    for (size_t size; at < count && (size = token_at(bytes, count, at, &token)); at += size) {
        if (is_reset(token))
            return;
        if ((token & 15) == TIME) {
            absolute(r, bits(token, 16, 63));
            return;
        }
    }
}

static void one(struct reader *r, unsigned type, uint64_t token)
{
    r->s->tokens[type]++;
    if (type == MISC)
        r->now += is_reset(token) ? 0 : CLOCKS * bits(token, 4, 11);
    else if (type != TIME)
        r->now += CLOCKS * bits(token, 4, 4);
    switch (type) {
    case REG:
    case REG_CS:
    case REG_CS_PRIV:
        reg(r, type, token);
        break;
    case WAVE_START:
        wave_start(r, token);
        break;
    case WAVE_END:
        wave_end(r, token);
        break;
    case ISSUE:
        issue(r, token);
        break;
    case INST:
        inst(r, token);
        break;
    case INST_PC:
        inst_pc(r, token);
        break;
    default:
        break;
    }
}

struct rp_read_stream *rp_read_tokens(const uint8_t *bytes, size_t count, unsigned cu)
{
    struct reader r = {.s = calloc(1, sizeof *r.s), .cu = cu};
    uint64_t token;
    size_t size;
    for (size_t at = 0;
         at < count && !r.s->fault && (size = token_at(bytes, count, at, &token)) > 0; at += size) {
        one(&r, (unsigned)(token & 15), token);
        if (is_reset(token))
            reset_time(&r, bytes, count, at + size);
    }
    r.s->last_time = r.base + r.now;
    return r.s;
}

void rp_read_free(struct rp_read_stream *s)
{
    for (size_t i = 0; i < s->waves; i++)
        free(s->wave[i].inst);
    free(s->wave);
    free(s->reg);
    free(s);
}

/* ---- addresses ---- */

size_t rp_read_places(struct rp_read_stream *s,
                      bool (*code)(void *ctx, uint64_t pc, struct rp_read_code *ret), void *ctx)
{
    size_t without = 0;
    for (size_t i = 0; i < s->waves; i++) {
        uint64_t pc = s->wave[i].entry_pc;
        for (size_t k = 0; k < s->wave[i].count; k++) {
            struct rp_read_inst *in = &s->wave[i].inst[k];
            struct rp_read_code at = {0};
            in->pc = pc && code(ctx, pc, &at) ? pc : 0;
            without += !in->pc;
            pc = !in->pc                    ? 0
                 : in->kind == RP_READ_JUMP ? at.target
                 : in->kind == RP_READ_CALL ? in->target
                                            : pc + at.bytes;
        }
    }
    return without;
}
