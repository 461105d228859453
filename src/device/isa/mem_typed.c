/*
 * MTBUF and the format rows of MUBUF: loads and stores that convert. MTBUF names the format itself
 * and takes components in order; MUBUF has format and, for loads, component selectors in the
 * resource. A lane is in range as a whole or not at all.
 */
#include "mem_buffer.h"
#include "mem_format.h"

enum { SEL_0 = 0, SEL_1 = 1, SEL_X = 4 };

struct typed {
    struct rp_buffer buffer;
    const struct rp_data_format *format;
    unsigned num_format;
    uint8_t select[4];
};

static int refuse(struct rp_wave *w, const struct rp_insn *in, const char *why)
{
    return rp_wave_fault(w, in, RP_FAULT_UNIMPLEMENTED, "%s", why);
}

static int open_typed(struct rp_wave *w, const struct rp_insn *in, struct typed *ret)
{
    struct typed t;
    if (rp_buffer_open(w, in, &t.buffer))
        return RP_STEP_FAULT;
    bool mtbuf = in->fmt == RP_FMT_MTBUF;
    t.format = rp_data_format(mtbuf ? in->cbsz : t.buffer.data_format);
    t.num_format = mtbuf ? in->blgp : t.buffer.num_format;
    if (!t.format->bytes)
        return refuse(w, in, "the data format is none of the valid ones");
    for (unsigned c = 0; c < 4; c++)
        t.select[c] = (uint8_t)(mtbuf ? SEL_X + c : (unsigned)t.buffer.dst_sel >> (3 * c) & 7);
    *ret = t;
    return RP_STEP_NEXT;
}

/* Moves the bytes of one lane's element, in pieces that a swizzle keeps together. */
static int move_element(struct rp_wave *w, const struct rp_insn *in, const struct typed *t,
                        unsigned lane, uint32_t word[4], bool write)
{
    unsigned piece = t->format->bytes < 4 ? t->format->bytes : 4;
    for (unsigned at = 0; at < t->format->bytes; at += piece) {
        uint64_t va = rp_buffer_at(&t->buffer, lane, at);
        void *p = rp_mem_at(rp_mem_of(w), va, piece, write);
        if (!p)
            return rp_wave_fault_address(w, in, RP_FAULT_MEMORY, (int)lane, va,
                                         write ? "write to unmapped or read-only address"
                                               : "read of unmapped address");
        if (write)
            memcpy(p, &word[at / 4], piece);
        else
            memcpy(&word[at / 4], p, piece);
    }
    return RP_STEP_NEXT;
}

static uint32_t component(const struct rp_data_format *f, const uint32_t word[4], unsigned c)
{
    uint32_t value = word[f->at_bit[c] / 32] >> f->at_bit[c] % 32;
    return f->bits[c] == 32 ? value : value & ((1u << f->bits[c]) - 1);
}

/* What register component @p c receives from an element, or why that cannot be told. */
static const char *select_component(const struct typed *t, const uint32_t word[4], bool inside,
                                    unsigned c, bool d16, uint32_t *ret_value)
{
    unsigned sel = t->select[c];
    *ret_value = 0;
    if (sel == SEL_0)
        return NULL;
    if (sel == SEL_1) {
        *ret_value = rp_format_one(t->num_format, d16);
        return NULL;
    }
    if (sel < SEL_X)
        return "reserved component selector";
    if (sel - SEL_X >= t->format->components)
        return "loads a component the format lacks, and what the hardware returns is not published";
    if (!inside)
        return rp_format_check(t->format->bits[sel - SEL_X], t->num_format);
    return rp_format_load(component(t->format, word, sel - SEL_X), t->format->bits[sel - SEL_X],
                          t->num_format, d16, ret_value);
}

/*
 * Register layout of a component: whole dwords, or halves of them from @p first_half on. The first
 * half that is put into a register clears the other (rp_elem_load says why).
 */
RP_INLINE void put(rp_row *d, unsigned lane, unsigned c, bool d16, unsigned first_half,
                   uint32_t value)
{
    unsigned half = c + first_half;
    if (!d16)
        d[c][lane] = value;
    else if (half % 2 == 0 || c == 0)
        d[half / 2][lane] = value << (half % 2 * 16);
    else
        d[half / 2][lane] |= value << 16;
}

RP_INLINE uint32_t get(const rp_row *s, unsigned lane, unsigned c, bool d16, unsigned first_half)
{
    unsigned half = c + first_half;
    if (!d16)
        return s[c][lane];
    return s[half / 2][lane] >> (half % 2 * 16) & 0xffff;
}

static int typed_load(struct rp_wave *w, const struct rp_insn *in, unsigned components, bool d16,
                      unsigned first_half)
{
    struct typed t;
    uint64_t exec = RP_EXEC(w);
    bool lds = in->flags & RP_IF_LDS;
    rp_row value[4] = {{0}};
    if (open_typed(w, in, &t))
        return RP_STEP_FAULT;
    rp_row *d = lds ? value : rp_rows(w, &in->dst);
    memcpy(value, d, (lds ? 1 : in->dst.dwords) * sizeof value[0]);
    RP_FOR_LANES(lane, exec)
    {
        uint32_t word[4] = {0}, result;
        bool inside = rp_buffer_inside(&t.buffer, lane, 0, t.format->bytes);
        if (inside && move_element(w, in, &t, lane, word, false))
            return RP_STEP_FAULT;
        for (unsigned c = 0; c < components; c++) {
            const char *why = select_component(&t, word, inside, c, d16, &result);
            if (why)
                return refuse(w, in, why);
            put(value, lane, c, d16, first_half, result);
        }
        uint8_t *to = lds ? rp_load_lds_at(w, in, lane, 4) : NULL;
        if (to)
            memcpy(to, &value[0][lane], 4);
        rp_counts_of(w)->read_bytes += inside ? t.format->bytes : 0;
        rp_counts_of(w)->lds_bytes += lds ? 4 : 0;
    }
    if (!lds)
        memcpy(d, value, in->dst.dwords * sizeof value[0]);
    return RP_STEP_NEXT;
}

static int typed_store(struct rp_wave *w, const struct rp_insn *in, unsigned components, bool d16,
                       unsigned first_half)
{
    struct typed t;
    uint64_t exec = RP_EXEC(w);
    const rp_row *s = rp_rows(w, &in->src[1]);
    if (open_typed(w, in, &t))
        return RP_STEP_FAULT;
    if (t.format->components > components)
        return refuse(w, in,
                      "stores fewer components than the format has, and what the hardware puts "
                      "into the others is not published");
    RP_FOR_LANES(lane, exec)
    {
        uint32_t word[4] = {0}, raw;
        for (unsigned c = 0; c < t.format->components; c++) {
            const char *why = rp_format_store(get(s, lane, c, d16, first_half), t.format->bits[c],
                                              t.num_format, d16, &raw);
            if (why)
                return refuse(w, in, why);
            word[t.format->at_bit[c] / 32] |= raw << t.format->at_bit[c] % 32;
        }
        if (!rp_buffer_inside(&t.buffer, lane, 0, t.format->bytes))
            continue;
        if (move_element(w, in, &t, lane, word, true))
            return RP_STEP_FAULT;
        rp_counts_of(w)->write_bytes += t.format->bytes;
    }
    return RP_STEP_NEXT;
}

#define FORMS(name, components, d16, first_half)                                                   \
    int rp_typed_load_##name(struct rp_wave *w, const struct rp_insn *in)                          \
    {                                                                                              \
        return typed_load(w, in, components, d16, first_half);                                     \
    }                                                                                              \
    int rp_typed_store_##name(struct rp_wave *w, const struct rp_insn *in)                         \
    {                                                                                              \
        return typed_store(w, in, components, d16, first_half);                                    \
    }
FORMS(x, 1, false, 0)
FORMS(xy, 2, false, 0)
FORMS(xyz, 3, false, 0)
FORMS(xyzw, 4, false, 0)
FORMS(d16_x, 1, true, 0)
FORMS(d16_xy, 2, true, 0)
FORMS(d16_xyz, 3, true, 0)
FORMS(d16_xyzw, 4, true, 0)
FORMS(d16_hi_x, 1, true, 1)
