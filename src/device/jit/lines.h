/**
 * @file lines.h
 * @brief Elements of one, two or four dwords side by side, between memory and register rows.
 *
 * Memory is 64-byte lines, as many for a quarter of the lanes as an element has dwords.
 */
#ifndef RP_DEVICE_JIT_LINES_H
#define RP_DEVICE_JIT_LINES_H

#include "rows.h"

/** Where they are. */
struct rp_jit_lines {
    uint8_t reg[4];  /**< general registers: the host's address of each quarter's first line */
    bool one_behind; /**< or of all lines, of which each is behind the other: reg[0] */
    int32_t disp;
};

/** To the slots at @p d, one for each dword. RP_ZMM_SCALAR to RP_ZMM_TEMP2 are lost. */
void rp_jit_lines_load(struct rp_jit_translation *t, const struct rp_jit_lines *l, unsigned dwords,
                       const unsigned *d);

/** The same registers are lost, but those that @p s uses. */
void rp_jit_lines_store(struct rp_jit_translation *t, const struct rp_jit_lines *l, unsigned dwords,
                        const struct rp_src *s);

#endif
