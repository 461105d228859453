#include "lines.h"

enum { LINE_BYTES = 64 };

static struct rp_rm line_at(const struct rp_jit_lines *l, unsigned dwords, unsigned line)
{
    if (l->one_behind)
        return rp_at(l->reg[0], l->disp + (int32_t)(LINE_BYTES * line));
    return rp_at(l->reg[line / dwords], l->disp + (int32_t)(LINE_BYTES * (line % dwords)));
}

static void load_table(struct rp_jit_translation *t, unsigned to, enum rp_jit_table table)
{
    rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, to, 0, rp_jit_table(t, table), 0);
}

static void load_line(struct rp_jit_translation *t, unsigned to, struct rp_rm line)
{
    rp_x86_v(&t->x86, RP_X86_VMOVULOAD, RP_ALL, to, 0, line, 0);
}

static void store_line(struct rp_jit_translation *t, struct rp_rm line, unsigned from)
{
    rp_x86_v(&t->x86, RP_X86_VMOVUSTORE, RP_ALL, from, 0, line, 0);
}

static void permute(struct rp_jit_translation *t, unsigned to, unsigned table, struct rp_rm other)
{
    rp_x86_v(&t->x86, RP_X86_VPERMT2D, RP_ALL, to, table, other, 0);
}

static void load_pairs(struct rp_jit_translation *t, const struct rp_jit_lines *l,
                       const unsigned d[2])
{
    const unsigned table[2] = {RP_ZMM_SCALAR, RP_ZMM_SCALAR + 1};
    load_table(t, table[0], RP_JIT_EVEN);
    load_table(t, table[1], RP_JIT_ODD);
    for (unsigned q = 0; q < 4; q++)
        for (unsigned i = 0; i < 2; i++) {
            load_line(t, d[i] + q, line_at(l, 2, 2 * q));
            permute(t, d[i] + q, table[i], line_at(l, 2, 2 * q + 1));
        }
}

static void load_fours(struct rp_jit_translation *t, const struct rp_jit_lines *l,
                       const unsigned d[4])
{
    enum { LOW_HALVES = 0x44, HIGH_HALVES = 0xee }; /* VSHUFI64X2: of both sources */
    const unsigned table[2] = {RP_ZMM_SCALAR, RP_ZMM_SCALAR + 1};
    load_table(t, table[0], RP_JIT_XY);
    load_table(t, table[1], RP_JIT_ZW);
    for (unsigned q = 0; q < 4; q++)
        for (unsigned i = 0; i < 2; i++) { /* x and y, z and w */
            for (unsigned j = 0; j < 2; j++) {
                load_line(t, RP_ZMM_TEMP + j, line_at(l, 4, 4 * q + 2 * j));
                permute(t, RP_ZMM_TEMP + j, table[i], line_at(l, 4, 4 * q + 2 * j + 1));
            }
            for (unsigned j = 0; j < 2; j++)
                rp_x86_v(&t->x86, RP_X86_VSHUFI64X2, RP_ALL, d[2 * i + j] + q, RP_ZMM_TEMP,
                         rp_reg(RP_ZMM_TEMP2), j ? HIGH_HALVES : LOW_HALVES);
        }
}

void rp_jit_lines_load(struct rp_jit_translation *t, const struct rp_jit_lines *l, unsigned dwords,
                       const unsigned *d)
{
    if (dwords == 1)
        for (unsigned q = 0; q < 4; q++)
            load_line(t, d[0] + q, line_at(l, 1, q));
    else if (dwords == 2)
        load_pairs(t, l, d);
    else
        load_fours(t, l, d);
}

static void store_pairs(struct rp_jit_translation *t, const struct rp_jit_lines *l,
                        const struct rp_src s[2])
{
    const unsigned table[2] = {RP_ZMM_SCALAR, RP_ZMM_SCALAR + 1};
    load_table(t, table[0], RP_JIT_PAIRS);
    load_table(t, table[1], RP_JIT_PAIRS_UP);
    for (unsigned q = 0; q < 4; q++)
        for (unsigned i = 0; i < 2; i++) {
            rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, RP_ZMM_TEMP, 0, rp_src_rm(t, &s[0], q), 0);
            permute(t, RP_ZMM_TEMP, table[i], rp_src_rm(t, &s[1], q));
            store_line(t, line_at(l, 2, 2 * q + i), RP_ZMM_TEMP);
        }
}

/* First x with y and z with w, then those pairs. */
static void store_fours(struct rp_jit_translation *t, const struct rp_jit_lines *l,
                        const struct rp_src s[4])
{
    static const enum rp_jit_table tables[4] = {RP_JIT_PAIRS, RP_JIT_PAIRS_UP, RP_JIT_TWOS,
                                                RP_JIT_TWOS_UP};
    const unsigned table = RP_ZMM_SCALAR, xy = RP_ZMM_TEMP, zw = RP_ZMM_TEMP2,
                   out = RP_ZMM_SCALAR + 4;
    for (unsigned i = 0; i < 4; i++)
        load_table(t, table + i, tables[i]);
    for (unsigned q = 0; q < 4; q++)
        for (unsigned half = 0; half < 2; half++) {
            rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, xy, 0, rp_src_rm(t, &s[0], q), 0);
            permute(t, xy, table + half, rp_src_rm(t, &s[1], q));
            rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, zw, 0, rp_src_rm(t, &s[2], q), 0);
            permute(t, zw, table + half, rp_src_rm(t, &s[3], q));
            for (unsigned i = 0; i < 2; i++) {
                rp_x86_v(&t->x86, RP_X86_VMOVLOAD, RP_ALL, out, 0, rp_reg(xy), 0);
                permute(t, out, table + 2 + i, rp_reg(zw));
                store_line(t, line_at(l, 4, 4 * q + 2 * half + i), out);
            }
        }
}

void rp_jit_lines_store(struct rp_jit_translation *t, const struct rp_jit_lines *l, unsigned dwords,
                        const struct rp_src *s)
{
    if (dwords == 1)
        for (unsigned q = 0; q < 4; q++)
            store_line(t, line_at(l, 1, q), rp_src_reg(t, &s[0], q));
    else if (dwords == 2)
        store_pairs(t, l, s);
    else
        store_fours(t, l, s);
}
