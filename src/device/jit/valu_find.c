/* Which vector instructions are translated. */
#include "valu.h"

static const struct rp_valu_row rows[] = {
#define RP_JIT_V(name, function, vop, vop2, imm)                                                   \
    {RP_OP_##name, vop, vop2, imm, rp_write_##function},
#include "valu.def"
};

static const struct rp_valu_row *find(const struct rp_insn *in)
{
    if (!(in->flags & RP_IF_FAST))
        return NULL;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].op == in->op)
            return &rows[i];
    return NULL;
}

bool rp_jit_valu_knows(const struct rp_insn *in)
{
    return find(in) || rp_write_cross_knows(in);
}

bool rp_jit_valu(struct rp_jit_translation *t, const struct rp_insn *in)
{
    const struct rp_valu_row *row = find(in);
    return row ? row->write(t, in, row) : rp_write_cross(t, in);
}
