/* The encodings are those of Intel SDM volume 2, chapters 2 (formats) and 3 to 5 (opcodes). */
#include "device/jit/x86_emit.h"

struct vop {
    uint8_t map, pp, w, opcode;
    int8_t ext;
    uint8_t length, memory_bytes, has_imm;
};

static const struct vop vops[RP_X86_VOPS] = {
#define RP_X86_V(name, map, pp, w, opcode, ext, length, memory_bytes, imm, text)                   \
    [RP_X86_##name] = {map, pp, w, opcode, ext, length, memory_bytes, imm},
#define RP_X86_K(name, pp, w, l, opcode, text)
#include "device/jit/x86_emit.def"
};

static const struct {
    uint8_t pp, w, l, opcode;
} kops[RP_X86_KOPS] = {
#define RP_X86_V(name, map, pp, w, opcode, ext, length, memory_bytes, imm, text)
#define RP_X86_K(name, pp, w, l, opcode, text) [RP_X86_##name] = {pp, w, l, opcode},
#include "device/jit/x86_emit.def"
};

static void byte(struct rp_x86 *e, unsigned b)
{
    if (e->bytes < e->room_bytes)
        e->code[e->bytes++] = (uint8_t)b;
    else
        e->full = true;
}

void rp_x86_bytes(struct rp_x86 *e, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        byte(e, value >> (8 * i) & 0xff);
}

static void dword(struct rp_x86 *e, uint32_t v)
{
    rp_x86_bytes(e, v, 4);
}

/* Writes ModRM, SIB and displacement. @p scale is the unit of a one-byte displacement. @p
 * imm_bytes follow, which RIP-relative addresses must know.
 */
static void modrm(struct rp_x86 *e, unsigned reg, struct rp_rm rm, int32_t scale,
                  unsigned imm_bytes)
{
    const unsigned r = (reg & 7) << 3, base = rm.reg & 7;
    if (!rm.is_memory) {
        byte(e, 0xc0 | r | base);
        return;
    }
    if (rm.reg == RP_RIP) {
        byte(e, r | 5);
        dword(e, (uint32_t)(rm.disp - (int32_t)(e->bytes + 4 + imm_bytes)));
        return;
    }
    const bool small = rm.disp % scale == 0 && rm.disp / scale >= -128 && rm.disp / scale <= 127;
    const unsigned mode = rm.disp == 0 && base != RP_RBP ? 0 : small ? 0x40 : 0x80;
    byte(e, mode | r | base);
    if (base == RP_RSP)
        byte(e, 0x24); /* This SIB has no index. */
    if (mode == 0x40)
        byte(e, (uint32_t)(rm.disp / scale) & 0xff);
    else if (mode == 0x80)
        dword(e, (uint32_t)rm.disp);
}

static unsigned high(unsigned reg, unsigned bit)
{
    return reg >> bit & 1;
}

void rp_x86_v(struct rp_x86 *e, enum rp_x86_vop name, struct rp_mask mask, unsigned reg, unsigned v,
              struct rp_rm rm, unsigned imm)
{
    const struct vop *op = &vops[name];
    if (op->ext >= 0)
        reg = (unsigned)op->ext;
    /* A register's fifth bit is X; a base has four bits, and RIP none. */
    const unsigned x = rm.is_memory ? 0 : high(rm.reg, 4);
    const unsigned b = rm.is_memory && rm.reg == RP_RIP ? 0 : high(rm.reg, 3);
    byte(e, 0x62);
    byte(e, (high(reg, 3) << 7 | x << 6 | b << 5 | high(reg, 4) << 4) ^ 0xf0 ^ op->map);
    byte(e, (unsigned)op->w << 7 | (~v & 15) << 3 | 4 | op->pp);
    byte(e, (unsigned)mask.zero << 7 | (unsigned)op->length << 5 | (unsigned)mask.broadcast << 4 |
                (high(v, 4) ^ 1) << 3 | mask.k);
    byte(e, op->opcode);
    modrm(e, reg, rm, mask.broadcast ? (op->w ? 8 : 4) : op->memory_bytes, op->has_imm);
    if (op->has_imm)
        byte(e, imm);
}

void rp_x86_k(struct rp_x86 *e, enum rp_x86_kop name, unsigned reg, unsigned v, struct rp_rm rm)
{
    const unsigned b = rm.is_memory && rm.reg == RP_RIP ? 0 : high(rm.reg, 3);
    byte(e, 0xc4);
    byte(e, (high(reg, 3) << 7 | b << 5) ^ 0xe0 ^ 1);
    byte(e, (unsigned)kops[name].w << 7 | (~v & 15) << 3 | (unsigned)kops[name].l << 2 |
                kops[name].pp);
    byte(e, kops[name].opcode);
    modrm(e, reg, rm, 1, 0);
}

/* ---- general registers ---- */

/* Writes a REX prefix. @p is_byte means that reg is a byte register, of which SPL to DIL need the
 * prefix.
 */
static void rex(struct rp_x86 *e, bool wide, unsigned reg, struct rp_rm rm, bool is_byte)
{
    const unsigned b = rm.is_memory && rm.reg == RP_RIP ? 0 : high(rm.reg, 3);
    const unsigned bits = (unsigned)wide << 3 | high(reg, 3) << 2 | b;
    if (bits || (is_byte && reg >= RP_RSP))
        byte(e, 0x40 | bits);
}

void rp_x86_insn(struct rp_x86 *e, bool wide, uint32_t opcode, unsigned reg, struct rp_rm rm)
{
    if (opcode >> 16)
        byte(e, opcode >> 16);
    rex(e, wide, reg, rm, false);
    if (opcode >> 8)
        byte(e, opcode >> 8 & 0xff);
    byte(e, opcode & 0xff);
    modrm(e, reg, rm, 1, 0);
}

void rp_x86_mov_imm(struct rp_x86 *e, unsigned reg, uint64_t imm)
{
    const bool wide = imm >> 32;
    rex(e, wide, 0, rp_reg(reg), false);
    byte(e, 0xb8 | (reg & 7));
    dword(e, (uint32_t)imm);
    if (wide)
        dword(e, (uint32_t)(imm >> 32));
}

void rp_x86_alu_imm(struct rp_x86 *e, bool wide, enum rp_x86_alu op, struct rp_rm rm, int32_t imm)
{
    const bool small = imm >= -128 && imm <= 127;
    rex(e, wide, 0, rm, false);
    byte(e, small ? 0x83 : 0x81);
    modrm(e, op, rm, 1, small ? 1 : 4);
    if (small)
        byte(e, (uint32_t)imm & 0xff);
    else
        dword(e, (uint32_t)imm);
}

void rp_x86_cmp_byte(struct rp_x86 *e, struct rp_rm rm, uint8_t imm)
{
    rex(e, false, 0, rm, false);
    byte(e, 0x80);
    modrm(e, RP_CMP, rm, 1, 1);
    byte(e, imm);
}

void rp_x86_set(struct rp_x86 *e, enum rp_x86_cc cc, unsigned reg)
{
    rex(e, false, 0, rp_reg(reg), false);
    if (reg >= RP_RSP && reg < RP_R8)
        byte(e, 0x40);
    byte(e, 0x0f);
    byte(e, 0x90 | cc);
    modrm(e, 0, rp_reg(reg), 1, 0);
    rex(e, false, reg, rp_reg(reg), true); /* This is movzx reg32, reg8. */
    byte(e, 0x0f);
    byte(e, 0xb6);
    modrm(e, reg, rp_reg(reg), 1, 0);
}

/* ---- control ---- */
