/**
 * @file lane_select.c
 * @brief This file leads from mnemonic and CPU level to a lane kernel.
 */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "base/cpu.h"
#include "device/isa/lane.h"

/* This declares every kernel at every level. */
#define RP_ROW(shape, name, ...)                                                                   \
    rp_lane_fn rp_lane_base_##name, rp_lane_v3_##name, rp_lane_v4_##name;
#define RP_LANE_INT(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_F32(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_F64(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_H16(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_CMP(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_CVT(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_TRANS(...)  RP_ROW(__VA_ARGS__)
#define RP_LANE_PK(...)     RP_ROW(__VA_ARGS__)
#define RP_LANE_BODY(...)   RP_ROW(__VA_ARGS__, )
#define RP_MFMA(...)        RP_ROW(mfma, __VA_ARGS__)
#define RP_SMFMAC(...)      RP_ROW(smfmac, __VA_ARGS__)
#define RP_MFMA_F64(...)    RP_ROW(mfma, __VA_ARGS__, )
#define RP_MFMA_F8F6F4(...) RP_ROW(mfma, __VA_ARGS__)
#include "device/isa/lane.def"
#include "device/isa/lane_mfma.def"
#undef RP_ROW

struct rp_lane_row {
    const char *mnemonic;
    rp_lane_fn *fn[RP_LANE_LEVELS];
};

static const struct rp_lane_row rp_lane_rows[] = {
#define RP_ROW(shape, name, ...)                                                                   \
    {#name, {rp_lane_base_##name, rp_lane_v3_##name, rp_lane_v4_##name}},
#define RP_LANE_INT(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_F32(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_F64(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_H16(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_CMP(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_CVT(...)    RP_ROW(__VA_ARGS__)
#define RP_LANE_TRANS(...)  RP_ROW(__VA_ARGS__)
#define RP_LANE_PK(...)     RP_ROW(__VA_ARGS__)
#define RP_LANE_BODY(...)   RP_ROW(__VA_ARGS__, )
#define RP_MFMA(...)        RP_ROW(mfma, __VA_ARGS__)
#define RP_SMFMAC(...)      RP_ROW(smfmac, __VA_ARGS__)
#define RP_MFMA_F64(...)    RP_ROW(mfma, __VA_ARGS__, )
#define RP_MFMA_F8F6F4(...) RP_ROW(mfma, __VA_ARGS__)
#include "device/isa/lane.def"
#include "device/isa/lane_mfma.def"
#undef RP_ROW
};

/* These facts do not change while the process lives, so they are found once: CPUID is slow under a
 * hypervisor, and every decoded VALU instruction asks for its kernel.
 */
enum { ROWS = sizeof rp_lane_rows / sizeof rp_lane_rows[0], SLOTS = 2048 };
_Static_assert(ROWS < SLOTS / 2, "the hash needs free slots");

static struct {
    enum rp_lane_level best; /**< the CPU has it and those below */
    uint16_t slot[SLOTS];    /**< row + 1 by hash of its mnemonic, linear probing; 0 = free */
} known;

static const char cmp[] = "v_cmp_", cmpx[] = "v_cmpx_";

/* A v_cmpx differs from its v_cmp only in where the caller puts the mask. */
static int is_cmpx(const char *mnemonic)
{
    return strncmp(mnemonic, cmpx, sizeof cmpx - 1) == 0;
}

/* The hash is FNV-1a. v_cmpx_ names hash as their v_cmp_ names. */
static unsigned first_slot(const char *mnemonic)
{
    uint32_t hash = 2166136261u;
    const size_t skip = is_cmpx(mnemonic) ? sizeof cmp - 2 : SIZE_MAX;
    for (size_t i = 0; mnemonic[i] != '\0'; i++)
        if (i != skip)
            hash = (hash ^ (uint8_t)mnemonic[i]) * 16777619u;
    return (hash ^ hash >> 16) % SLOTS;
}

static void find_out(void)
{
    known.best = rp_cpu_has_v4() ? RP_LANE_V4 : rp_cpu_has_v3() ? RP_LANE_V3 : RP_LANE_BASE;
    for (unsigned row = 0; row < ROWS; row++) {
        unsigned slot = first_slot(rp_lane_rows[row].mnemonic);
        while (known.slot[slot] != 0)
            slot = (slot + 1) % SLOTS;
        known.slot[slot] = (uint16_t)(row + 1);
    }
}

static enum rp_lane_level best_level(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_out);
    return known.best;
}

static int is_row_of(const char *row, const char *mnemonic)
{
    if (!is_cmpx(mnemonic))
        return strcmp(row, mnemonic) == 0;
    return strncmp(row, cmp, sizeof cmp - 1) == 0 &&
           strcmp(row + sizeof cmp - 1, mnemonic + sizeof cmpx - 1) == 0;
}

rp_lane_fn *rp_lane_find_level(const char *mnemonic, enum rp_lane_level level)
{
    if (level > best_level())
        return NULL;
    for (unsigned i = first_slot(mnemonic); known.slot[i] != 0; i = (i + 1) % SLOTS) {
        const struct rp_lane_row *row = &rp_lane_rows[known.slot[i] - 1];
        if (is_row_of(row->mnemonic, mnemonic))
            return row->fn[level];
    }
    return NULL;
}

rp_lane_fn *rp_lane_find(const char *mnemonic)
{
    return rp_lane_find_level(mnemonic, best_level());
}

rp_lane_fn *rp_lane_widen_f16(void)
{
    static rp_lane_fn *const levels[RP_LANE_LEVELS] = {
        rp_lane_base_v_cvt_f32_f16, rp_lane_v3_v_cvt_f32_f16, rp_lane_v4_v_cvt_f32_f16};
    return levels[best_level()];
}

/* The lane loops are chosen for this CPU. */

extern const struct rp_mem_lanes rp_lane_base_mem_lanes, rp_lane_v3_mem_lanes, rp_lane_v4_mem_lanes;

/** Returns the loops of one level (tests), or NULL if this CPU lacks it. */
static const struct rp_mem_lanes *mem_lanes_level(enum rp_lane_level level)
{
    static const struct rp_mem_lanes *const levels[RP_LANE_LEVELS] = {
        [RP_LANE_BASE] = &rp_lane_base_mem_lanes,
        [RP_LANE_V3] = &rp_lane_v3_mem_lanes,
        [RP_LANE_V4] = &rp_lane_v4_mem_lanes,
    };
    /* Any kernel tells whether the CPU has the level. */
    return rp_lane_find_level("v_add_f32", level) ? levels[level] : NULL;
}

const struct rp_mem_lanes *rp_mem_lanes_best(void)
{
    /* Asking the CPU is slow under a hypervisor, so it happens once. */
    static const struct rp_mem_lanes *best;
    const struct rp_mem_lanes *lanes = __atomic_load_n(&best, __ATOMIC_RELAXED);
    if (lanes)
        return lanes;
    for (unsigned level = RP_LANE_LEVELS; !lanes && level-- > 0;)
        lanes = mem_lanes_level((enum rp_lane_level)level);
    __atomic_store_n(&best, lanes, __ATOMIC_RELAXED);
    return lanes;
}
