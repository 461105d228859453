/**
 * @file mem_world.h
 * @brief One wave with registers, LDS, scratch and a piece of GPU memory, and an encoder for memory
 * instructions. A world can be copied, so that a test computes what another copy must become.
 */
#ifndef RP_TEST_MEM_WORLD_H
#define RP_TEST_MEM_WORLD_H

#include <stdio.h>
#include <string.h>

#include "device/exec/executor.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "unit/cmocka_all.h"

enum {
    WORLD_VGPRS = 48,
    WORLD_AGPRS = 32,
    WORLD_LDS_BYTES = 8192,
    WORLD_LANE_BYTES = 1024, /* private segment */
    WORLD_MEM_BYTES = 32768,
};
#define WORLD_VA      0x7f0000200000ull
#define WORLD_LDS_VA  0x1000000000000ull
#define WORLD_PRIV_VA 0x2000000000000ull

/* Everything an instruction can change. */
struct state {
    uint32_t vgpr[WORLD_VGPRS][RP_LANES];
    uint32_t agpr[WORLD_AGPRS][RP_LANES];
    uint32_t sgpr[RP_SGPR_COUNT];
    uint8_t lds[WORLD_LDS_BYTES];
    uint8_t priv[WORLD_LANE_BYTES * RP_LANES];
    uint8_t mem[WORLD_MEM_BYTES];
};

struct world {
    struct state s;
    struct rp_wave wave;
    struct rp_group group;
    struct rp_wave_env env;
    struct rp_exec_host host;
    uint64_t generation;
    bool read_only;
    uint64_t split; /**< a border between two mappings at this distance; 0 = none */
};

/* Registers that encode() uses. */
enum {
    R_ADDR = 2,   /* v2:3 */
    R_DATA = 8,   /* v8..11 */
    R_DATA2 = 16, /* v16..17 */
    R_DST = 24,   /* v24..27 */
    R_SADDR = 20, /* s20:21 */
    R_RSRC = 40,  /* s40..43 */
    R_SOFF = 44,
    R_SDATA = 64, /* s64..79 */
};

struct form {
    unsigned op; /* enum rp_op */
    int32_t offset;
    bool saddr, vaddr, acc, sc0, lds, offen, idxen, soffset, gds;
    unsigned dfmt, nfmt;
};

static inline void *world_translate(void *ctx, uint64_t va, uint64_t bytes, int write)
{
    struct world *w = ctx;
    uint64_t at = va - WORLD_VA;
    if ((write && w->read_only) || at >= WORLD_MEM_BYTES || bytes > WORLD_MEM_BYTES - at ||
        (at < w->split && at + bytes > w->split))
        return NULL;
    return w->s.mem + at;
}

static inline int world_range(void *ctx, uint64_t va, int write, uint64_t *begin, uint64_t *end,
                              int64_t *delta)
{
    struct world *w = ctx;
    if ((write && w->read_only) || va - WORLD_VA >= WORLD_MEM_BYTES)
        return 0;
    bool upper = va - WORLD_VA >= w->split;
    *begin = WORLD_VA + (upper ? w->split : 0);
    *end = WORLD_VA + (upper ? WORLD_MEM_BYTES : w->split);
    *delta = (int64_t)((uint64_t)(uintptr_t)w->s.mem - WORLD_VA);
    return 1;
}

static uint32_t world_seed = 1;

static inline uint32_t random32(void)
{
    world_seed = world_seed * 1664525u + 1013904223u;
    uint32_t high = world_seed;
    world_seed = world_seed * 1664525u + 1013904223u;
    return (high & 0xffff0000u) | world_seed >> 16;
}

static inline void fill_random(void *p, size_t bytes)
{
    uint8_t *b = p;
    size_t i = 0;
    for (; i + 4 <= bytes;
         i += 4) { /* of a constant size: no call, which takes longer than all else */
        uint32_t value = random32();
        memcpy(b + i, &value, 4);
    }
    if (i < bytes) {
        uint32_t value = random32();
        memcpy(b + i, &value, bytes - i);
    }
}

static inline void world_init(struct world *w)
{
    memset(w, 0, sizeof *w);
    fill_random(&w->s, sizeof w->s);
    w->host.ctx = w;
    w->host.translate = world_translate;
    w->host.range = world_range;
    w->host.generation = &w->generation;
    w->host.lds_aperture = WORLD_LDS_VA;
    w->host.scratch_aperture = WORLD_PRIV_VA;
    w->env.host = &w->host;
    w->env.lanes = rp_mem_lanes_best();
    rp_mem_init(&w->env.mem, &w->host);
    w->group.env = &w->env;
    w->group.waves = &w->wave;
    w->group.wave_count = 1;
    w->group.lds = w->s.lds;
    w->group.lds_bytes = WORLD_LDS_BYTES;
    w->wave.group = &w->group;
    w->wave.vgpr = w->s.vgpr;
    w->wave.agpr = w->s.agpr;
    w->wave.vgpr_count = WORLD_VGPRS;
    w->wave.agpr_count = WORLD_AGPRS;
    w->wave.scratch = w->s.priv;
    w->wave.scratch_lane_bytes = WORLD_LANE_BYTES;
    w->wave.mode = 0x3f0;
    w->wave.pc = 0x10000;
    w->s.sgpr[RP_SGPR_EXEC_LO] = w->s.sgpr[RP_SGPR_EXEC_LO + 1] = UINT32_MAX;
}

static inline unsigned segment_of(unsigned op)
{
    const char *name = rp_isa_mnemonic(op);
    return name[0] == 'g' ? RP_SEG_GLOBAL : name[0] == 's' ? RP_SEG_SCRATCH : RP_SEG_FLAT;
}

/* The instruction's two dwords; field positions as in the decoder's own tests against LLVM. */
static inline void encode(const struct form *f, uint32_t words[2])
{
    const struct rp_op_row *row = &rp_op_rows[f->op];
    uint32_t opcode = row->opcode, acc = f->acc;
    bool mubuf_atomic = row->dst != RP_T_NONE && row->src[1] != RP_T_NONE;
    uint32_t seg = row->fmt == RP_FMT_FLAT ? segment_of(f->op) : 0;
    uint32_t buffer = R_ADDR | (row->dst && !mubuf_atomic ? R_DST : R_DATA) << 8 |
                      R_RSRC / 4 << 16 | acc << 23 | (f->soffset ? R_SOFF : 128u) << 24;
    switch (row->fmt) {
    case RP_FMT_SMEM:
        words[0] = 0x30u << 26 | opcode << 18 | 1u << 17 | (uint32_t)f->sc0 << 16 |
                   (uint32_t)f->soffset << 14 | R_SDATA << 6 |
                   (row->src[2] == RP_T_B128 ? R_RSRC : R_SADDR) / 2;
        words[1] = ((uint32_t)f->offset & 0x1fffff) | (f->soffset ? (uint32_t)R_SOFF << 25 : 0);
        break;
    case RP_FMT_DS:
        words[0] = 0x36u << 26 | acc << 25 | opcode << 17 | (uint32_t)f->gds << 16 |
                   ((uint32_t)f->offset & 0xffff);
        words[1] = R_ADDR | R_DATA << 8 | R_DATA2 << 16 | (uint32_t)R_DST << 24;
        break;
    case RP_FMT_FLAT:
        words[0] = 0x37u << 26 | opcode << 18 | (uint32_t)f->sc0 << 16 | seg << 14 |
                   (uint32_t)(seg == RP_SEG_SCRATCH && f->vaddr) << 13 |
                   ((uint32_t)f->offset & 0x1fff);
        words[1] = R_ADDR | R_DATA << 8 | (f->saddr ? R_SADDR : 0x7fu) << 16 | acc << 23 |
                   (uint32_t)R_DST << 24;
        break;
    case RP_FMT_MUBUF:
        words[0] = 0x38u << 26 | opcode << 18 | (uint32_t)f->lds << 16 | (uint32_t)f->sc0 << 14 |
                   (uint32_t)f->idxen << 13 | (uint32_t)f->offen << 12 |
                   ((uint32_t)f->offset & 0xfff);
        words[1] = buffer;
        break;
    default:
        words[0] = 0x3au << 26 | f->nfmt << 23 | f->dfmt << 19 | opcode << 15 |
                   (uint32_t)f->idxen << 13 | (uint32_t)f->offen << 12 |
                   ((uint32_t)f->offset & 0xfff);
        words[1] = buffer;
        break;
    }
}

/* Executes one instruction; returns its step. */
static inline int world_step(struct world *w, const struct form *f)
{
    uint32_t words[2];
    struct rp_insn in;
    encode(f, words);
    unsigned bytes = rp_isa_decode(words, 2, &in);
    if (bytes != 8 || in.op != f->op)
        fail_msg("%s: %08x %08x decodes as %s", rp_isa_mnemonic(f->op), words[0], words[1],
                 rp_isa_mnemonic(in.op));
    memcpy(w->wave.sgpr, w->s.sgpr, sizeof w->s.sgpr);
    w->wave.pc += bytes;
    int step = in.fn(&w->wave, &in);
    memcpy(w->s.sgpr, w->wave.sgpr, sizeof w->s.sgpr);
    return step;
}

/* The same for what must simply work. */
static inline void world_run(struct world *w, const struct form *f)
{
    int step = world_step(w, f);
    if (step == RP_STEP_FAULT)
        fail_msg("%s", w->wave.fault.text);
}

static inline void world_exec(struct world *w, uint64_t exec)
{
    w->s.sgpr[RP_SGPR_EXEC_LO] = (uint32_t)exec;
    w->s.sgpr[RP_SGPR_EXEC_LO + 1] = (uint32_t)(exec >> 32);
}

static inline void world_sgpr64(struct world *w, unsigned index, uint64_t value)
{
    w->s.sgpr[index] = (uint32_t)value;
    w->s.sgpr[index + 1] = (uint32_t)(value >> 32);
}

/* A resource over all of the world's memory. word3 as in the ISA guide. */
static inline void world_resource(struct world *w, uint64_t va, uint32_t stride, uint32_t records,
                                  uint32_t word3)
{
    w->s.sgpr[R_RSRC] = (uint32_t)va;
    w->s.sgpr[R_RSRC + 1] = (uint32_t)(va >> 32) | stride << 16;
    w->s.sgpr[R_RSRC + 2] = records;
    w->s.sgpr[R_RSRC + 3] = word3;
}

/* A word on which a copy differs from what it should be, for the message of a failed test. */
static inline void assert_same_state(const struct state *got, const struct state *want,
                                     const char *what)
{
    if (memcmp(got, want, sizeof *got) == 0) /* nearly always; the rest says where they differ */
        return;
    if (!memcmp(got, want, sizeof *got))
        return;
    for (unsigned r = 0; r < WORLD_VGPRS; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            if (got->vgpr[r][lane] != want->vgpr[r][lane])
                fail_msg("%s: v%u lane %u is %08x, not %08x", what, r, lane, got->vgpr[r][lane],
                         want->vgpr[r][lane]);
    for (unsigned r = 0; r < WORLD_AGPRS; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            if (got->agpr[r][lane] != want->agpr[r][lane])
                fail_msg("%s: a%u lane %u is %08x, not %08x", what, r, lane, got->agpr[r][lane],
                         want->agpr[r][lane]);
    for (unsigned r = 0; r < RP_SGPR_COUNT; r++)
        if (got->sgpr[r] != want->sgpr[r])
            fail_msg("%s: s%u is %08x, not %08x", what, r, got->sgpr[r], want->sgpr[r]);
    const uint8_t *a = got->lds, *b = want->lds;
    for (size_t i = 0; a + i < (const uint8_t *)(got + 1); i++)
        if (a[i] != b[i])
            fail_msg("%s: byte %zu of LDS, scratch (from %d) or memory (from %zu) is %02x, not "
                     "%02x",
                     what, i, WORLD_LDS_BYTES, sizeof got->lds + sizeof got->priv, a[i], b[i]);
}

/* Writes the rows that are covered to @p path, for test_opcodes.c; none when something has failed.
 */
static inline int world_list(const char *path, const bool *covered, int failed)
{
    FILE *list = fopen(path, "w");
    if (!list)
        return 1;
    for (unsigned op = 1; op < RP_OP_MAX && !failed; op++)
        if (covered[op])
            fprintf(list, "%s\n", rp_isa_mnemonic(op));
    return fclose(list) != 0;
}

#endif
