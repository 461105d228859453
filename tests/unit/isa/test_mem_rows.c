/*
 * Every row of ops_mem.def against a reference that only knows the mnemonic: results, all other
 * registers, all of memory. `test_isa_mem_rows --list FILE` writes what is covered.
 */
#include "mem_ref.h"

#include <stdio.h>

static bool covered[RP_OP_MAX];

static const uint64_t execs[] = {~0ull, 0x8000000000000001, 0x00ff00f0f0f01234, 1ull << 37, 0};
enum { EXECS = sizeof execs / sizeof execs[0] };

/* ---- data that decides something ---- */

static uint32_t interesting(char number)
{
    static const uint32_t floats[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                                      0x00000001, 0x807fffff, 0x7fc00000, 0x4b7fffff, 0x33800000};
    static const uint32_t ints[] = {0, 1, UINT32_MAX, 0x7fffffff, 0x80000000, 7};
    if (number == 'h' || number == 'g') { /* finite, of like size, some subnormal halves */
        uint32_t mask = number == 'h' ? 0xbfff : 0x83ff, add = number == 'h' ? 0 : 0x3f00;
        return ((random32() & mask) + add) << 16 | ((random32() & mask) + add);
    }
    if (random32() % 3 == 0)
        return number == 'f' ? floats[random32() % 10] : ints[random32() % 6];
    if (number == 'f')
        return (random32() & 0x80ffffff) | 0x3f000000;
    return random32();
}

/* Words of 8 bytes: f64 needs its specials in the upper half. */
static uint64_t interesting_word(const struct ref_shape *s)
{
    if (s->bytes == 8 && s->number == 'f') {
        static const uint64_t doubles[] = {
            0, 1ull << 63,         0x3ff0000000000000, 0x7ff0000000000000,
            1, 0x7ff8000000000000, 0xbff0000000000001};
        if (random32() % 3 == 0)
            return doubles[random32() % 7];
        return ((uint64_t)((random32() & 0x800fffff) | 0x3fe00000) << 32) | random32();
    }
    if (s->bytes == 8)
        return (uint64_t)interesting('u') << 32 | interesting('u');
    return interesting(s->number);
}

static bool both_nan(const struct ref_shape *s, uint64_t x, uint64_t y)
{
    uint64_t inf = s->bytes == 8 ? 0x7ff0000000000000 : 0x7f800000;
    uint64_t magnitude = s->bytes == 8 ? INT64_MAX : INT32_MAX;
    return s->number == 'f' && (x & magnitude) > inf && (y & magnitude) > inf;
}

/* ---- the spaces ---- */

static uint8_t *global_byte(struct state *s, unsigned lane, uint64_t va)
{
    (void)lane;
    return va - WORLD_VA < WORLD_MEM_BYTES ? s->mem + (va - WORLD_VA) : NULL;
}

static uint8_t *lds_byte(struct state *s, unsigned lane, uint64_t at)
{
    (void)lane;
    return (uint32_t)at < WORLD_LDS_BYTES ? s->lds + (uint32_t)at : NULL;
}

static uint8_t *private_byte(struct state *s, unsigned lane, uint64_t at)
{
    return s->priv + (at / 4 * RP_LANES + lane) * 4 + at % 4;
}

static uint8_t *space_byte(struct state *s, unsigned lane, uint64_t va)
{
    if (va >> 32 == WORLD_LDS_VA >> 32)
        return lds_byte(s, lane, va);
    if (va >> 32 == WORLD_PRIV_VA >> 32)
        return private_byte(s, lane, (uint32_t)va);
    return global_byte(s, lane, va);
}

/* ---- one instruction in one situation ---- */

enum pattern { SIDE_BY_SIDE, UNALIGNED, SCATTERED, SAME_PLACE, PATTERNS };

/* Where each lane's element is, from the start of its space; elements never overlap partly. */
static uint32_t place(const struct ref_shape *s, enum pattern pattern, unsigned lane, uint32_t room)
{
    uint32_t size = s->bytes < 4 ? s->bytes : (s->bytes + 3) / 4 * 4;
    bool atomic = s->kind == REF_RMW;
    switch (pattern) {
    case SIDE_BY_SIDE:
        return lane * size;
    case UNALIGNED:
        return atomic ? lane * 3 * size : lane * (size + 1) + 1;
    case SCATTERED:
        return lane * 29 % 67 % 64 * (room / 64 / 16 * 16);
    default:
        return 64;
    }
}

struct run {
    struct ref_shape shape;
    struct form form;
    enum pattern pattern;
    const char *name;
};

static void set_rmw_data(struct world *w, const struct run *r, const uint64_t at[RP_LANES][2],
                         ref_byte_fn *byte)
{
    uint32_t(*rows)[RP_LANES] = r->form.acc ? w->s.agpr : w->s.vgpr;
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        for (unsigned k = 0; k < (r->shape.pair ? 2 : 1); k++) {
            const struct ref_shape *s = &r->shape;
            uint64_t a = interesting_word(s), b = interesting_word(s), old;
            do
                old = random32() % 4 ? interesting_word(s) : a;
            while (both_nan(s, old, a));
            for (unsigned i = 0; i < s->bytes; i++)
                if (byte(&w->s, lane, at[lane][k] + i))
                    *byte(&w->s, lane, at[lane][k] + i) = (uint8_t)(old >> (8 * i));
            if (!strcmp(s->op, "cmpswap")) {
                uint64_t new_value = b;
                b = a;
                a = new_value;
            }
            unsigned words = s->bytes / 4, from = k ? R_DATA2 : R_DATA;
            for (unsigned i = 0; i < words; i++) {
                rows[from + i][lane] = (uint32_t)(a >> (32 * i));
                if (!strcmp(s->op, "cmpswap"))
                    rows[R_DATA + words + i][lane] = (uint32_t)(b >> (32 * i));
                else if (!s->pair)
                    rows[R_DATA2 + i][lane] = (uint32_t)(b >> (32 * i));
            }
        }
}

/* Runs it in the device and in the reference and compares everything, and the bytes counted. */
static void compare(struct world *w, const struct run *r, const uint64_t at[RP_LANES][2],
                    ref_byte_fn *byte)
{
    static struct state want;
    const struct rp_op_row *row = &rp_op_rows[r->form.op];
    bool ds = row->fmt == RP_FMT_DS, mubuf = row->fmt == RP_FMT_MUBUF;
    bool returns = ds ? r->shape.returns : r->form.sc0;
    uint64_t lanes = 0,
             exec = w->s.sgpr[RP_SGPR_EXEC_LO] | (uint64_t)w->s.sgpr[RP_SGPR_EXEC_LO + 1] << 32;
    if (r->shape.kind == REF_RMW)
        set_rmw_data(w, r, at, byte);
    want = w->s;
    uint32_t(*rows)[RP_LANES] = r->form.acc ? want.agpr : want.vgpr;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        if (!(exec >> lane & 1))
            continue;
        uint32_t lds_at = (w->s.sgpr[RP_SGPR_M0] & 0xffff) + (uint32_t)r->form.offset + 4 * lane;
        ref_lane(&r->shape, &want, rows, R_DATA, R_DATA2,
                 mubuf && r->shape.kind == REF_RMW ? R_DATA : R_DST, lane, at[lane], byte, ds,
                 returns, lds_at);
        lanes++;
    }
    struct rp_counts before = w->env.counts;
    world_run(w, &r->form);
    assert_same_state(&w->s, &want, r->name);
    struct rp_counts *c = &w->env.counts;
    uint64_t moved = c->read_bytes + c->write_bytes + c->lds_bytes - before.read_bytes -
                     before.write_bytes - before.lds_bytes;
    uint64_t expect =
        lanes * r->shape.bytes * (r->shape.pair ? 2 : 1) * (r->shape.kind == REF_RMW ? 2 : 1) +
        (r->shape.to_lds ? 4 * lanes : 0);
    if (moved != expect)
        fail_msg("%s: counts %llu bytes, not %llu", r->name, (unsigned long long)moved,
                 (unsigned long long)expect);
    covered[r->form.op] = true;
}

static bool collides(const struct run *r)
{
    /* Lanes that collide have no promised order unless all do the same. */
    return r->pattern == SAME_PLACE && r->shape.kind != REF_LOAD;
}

/* ---- DS ---- */

static void ds_case(struct world *w, struct run *r, uint64_t exec)
{
    uint64_t at[RP_LANES][2];
    uint32_t bias = r->form.offset;
    uint32_t offset[2] = {bias, bias};
    if (r->shape.pair)
        for (unsigned k = 0; k < 2; k++)
            offset[k] = (bias >> (8 * k) & 0xff) * r->shape.unit;
    fill_random(&w->s, sizeof w->s);
    world_exec(w, exec);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint32_t to = place(&r->shape, r->pattern, lane, WORLD_LDS_BYTES / 2);
        uint32_t address = to - (r->shape.pair ? 0 : bias); /* base plus offset may wrap */
        if (r->pattern == SCATTERED && lane % 8 == 3)
            address = 0x10000 + lane * 16; /* out of range: reads 0, drops writes */
        w->s.vgpr[R_ADDR][lane] = address;
        for (unsigned k = 0; k < 2; k++)
            at[lane][k] = (uint32_t)(address + offset[k]);
    }
    compare(w, r, at, lds_byte);
}

static void ds_row(struct world *w, struct run *r)
{
    static const int32_t offsets[] = {0, 4, 0xff00};
    /* The two elements of a pair far enough apart that no lane meets another. */
    int32_t apart = r->shape.unit == 4 ? 128 : r->shape.unit == 8 ? 64 : 4;
    const int32_t pair_offsets[] = {apart << 8, apart, apart << 8 | 255 / apart};
    for (unsigned p = 0; p < PATTERNS; p++)
        for (unsigned e = 0; e < EXECS; e++)
            for (unsigned o = 0; o < 3; o++) {
                r->pattern = (enum pattern)p;
                r->form.offset = r->shape.pair ? pair_offsets[o] : offsets[o];
                r->form.acc = e % 2;
                if (r->shape.pair && r->shape.kind != REF_LOAD && (p != SIDE_BY_SIDE || o == 2))
                    continue;
                if (!collides(r))
                    ds_case(w, r, execs[e]);
            }
}

/* ---- FLAT, GLOBAL, SCRATCH ---- */

static void flat_case(struct world *w, struct run *r, uint64_t exec, unsigned space)
{
    uint64_t at[RP_LANES][2], base[3] = {WORLD_VA + 4096, WORLD_LDS_VA, WORLD_PRIV_VA};
    unsigned seg = segment_of(r->form.op);
    fill_random(&w->s, sizeof w->s);
    world_exec(w, exec);
    w->s.sgpr[RP_SGPR_M0] = 4096 + 16;
    uint32_t room = seg == RP_SEG_SCRATCH || space ? 512 : 8192;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint64_t start = seg == RP_SEG_FLAT ? base[space == 3 ? lane % 3 : space] : base[0];
        uint32_t to = place(&r->shape, r->pattern, lane, room);
        if (seg == RP_SEG_SCRATCH || space)
            to = to % (seg == RP_SEG_FLAT && (space == 1 || space == 3) ? 1024 : 512);
        if (seg == RP_SEG_FLAT && space && r->shape.kind != REF_LOAD)
            to = lane * 16;          /* no two lanes in one place of LDS */
        if (seg == RP_SEG_SCRATCH) { /* private segments: 16 bytes of room below */
            uint64_t wanted = 32 + to;
            uint32_t scalar = r->form.saddr ? 20 : 0;
            if (!r->form.vaddr)
                wanted = scalar + (uint32_t)r->form.offset;
            at[lane][0] = wanted;
            w->s.vgpr[R_ADDR][lane] = (uint32_t)wanted - scalar - (uint32_t)r->form.offset;
            w->s.sgpr[R_SADDR] = scalar;
            continue;
        }
        uint64_t wanted = start + to, scalar = r->form.saddr ? WORLD_VA - 0x80000000ull : 0;
        uint64_t vector = wanted - scalar - (uint64_t)(int64_t)r->form.offset;
        w->s.vgpr[R_ADDR][lane] = (uint32_t)vector;
        if (!r->form.saddr)
            w->s.vgpr[R_ADDR + 1][lane] = (uint32_t)(vector >> 32);
        world_sgpr64(w, R_SADDR, scalar);
        at[lane][0] = wanted;
    }
    compare(w, r, at,
            seg == RP_SEG_SCRATCH ? private_byte
            : seg == RP_SEG_FLAT  ? space_byte
                                  : global_byte);
}

/* Atomics of LDS and scratch are counted as those; only their sum is compared. */
static void flat_row(struct world *w, struct run *r)
{
    static const int32_t offsets[] = {0, 4095, -4096, 16};
    unsigned seg = segment_of(r->form.op), spaces = seg == RP_SEG_FLAT ? 4 : 1;
    bool atomic = r->shape.kind == REF_RMW;
    for (unsigned p = 0; p < PATTERNS; p++)
        for (unsigned e = 0; e < EXECS; e++)
            for (unsigned o = 0; o < 4; o++)
                for (unsigned mode = 0; mode < 4; mode++) {
                    r->pattern = (enum pattern)p;
                    r->form.offset = seg == RP_SEG_FLAT && offsets[o] < 0 ? 4092 : offsets[o];
                    r->form.saddr = seg != RP_SEG_FLAT && mode & 1;
                    r->form.vaddr = mode & 2;
                    r->form.acc = o & 1;
                    r->form.sc0 = atomic && e % 2 == 0;
                    if (seg == RP_SEG_SCRATCH && !r->form.vaddr)
                        r->form.offset = offsets[o] == 4095 ? 37 : 16;
                    if (r->shape.to_lds)
                        r->form.offset = o & 1 ? -16 : 64;
                    if (r->shape.to_lds && seg == RP_SEG_SCRATCH && !r->form.vaddr)
                        r->form.offset = 64;
                    if (!collides(r))
                        flat_case(w, r, execs[e], mode % spaces);
                }
}

/* ---- MUBUF: raw buffers here, the other kinds in test_mem_points.c ---- */

static void mubuf_case(struct world *w, struct run *r, uint64_t exec)
{
    uint64_t at[RP_LANES][2];
    uint32_t soffset = r->form.soffset ? 48 : 0;
    fill_random(&w->s, sizeof w->s);
    world_exec(w, exec);
    w->s.sgpr[RP_SGPR_M0] = 1024;
    w->s.sgpr[R_SOFF] = soffset;
    world_resource(w, WORLD_VA + 256, 0, 20000, 0);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint32_t to = place(&r->shape, r->pattern, lane, 8192) + 4096;
        uint32_t fixed = soffset + (uint32_t)r->form.offset;
        if (!r->form.offen)
            to = fixed;
        if (r->form.offen)
            w->s.vgpr[R_ADDR][lane] = to - fixed;
        at[lane][0] = WORLD_VA + 256 + to;
    }
    compare(w, r, at, global_byte);
}

static void mubuf_row(struct world *w, struct run *r)
{
    bool atomic = r->shape.kind == REF_RMW,
         can_lds = strchr("usd", rp_isa_mnemonic(r->form.op)[12]);
    can_lds = can_lds && r->shape.kind == REF_LOAD && r->shape.bytes <= 4 && !r->shape.d16;
    for (unsigned p = 0; p < PATTERNS; p++)
        for (unsigned e = 0; e < EXECS; e++)
            for (unsigned mode = 0; mode < 8; mode++) {
                r->pattern = (enum pattern)p;
                r->form.offset = mode & 1 ? 2048 : 0;
                r->form.soffset = mode & 2;
                r->form.offen = atomic || r->shape.kind == REF_STORE || e != 1;
                r->form.lds = r->shape.to_lds = can_lds && mode & 4;
                r->form.acc = e % 2 && !r->form.lds;
                r->form.sc0 = atomic && mode & 4;
                if (!collides(r))
                    mubuf_case(w, r, execs[e]);
            }
}

/* ---- SMEM ---- */

static void smem_case(struct world *w, struct run *r, unsigned variant)
{
    static struct state want;
    const char *name = rp_isa_mnemonic(r->form.op);
    bool scratch = !strncmp(name, "s_scratch", 9);
    bool buffer = rp_op_rows[r->form.op].src[2] == RP_T_B128;
    uint32_t unit = scratch ? 64 : 1, words = r->shape.bytes / 4;
    fill_random(&w->s, sizeof w->s);
    world_exec(w, variant % 2 ? 0 : ~0ull); /* of no interest to scalar instructions */
    r->form.soffset = variant & 2;
    r->form.offset = r->shape.kind == REF_RMW ? (variant & 4 ? 64 : 0) : (variant & 4 ? -62 : 15);
    r->form.sc0 = r->shape.kind == REF_RMW && variant & 1;
    uint32_t soffset = r->form.soffset ? 8 : 0;
    w->s.sgpr[R_SOFF] = soffset;
    world_sgpr64(w, R_SADDR, WORLD_VA + 1000);
    world_resource(w, WORLD_VA + 1000, 0, 5000, 0);
    if (buffer && r->form.offset < 0)
        r->form.offset = 20;
    uint64_t va = (WORLD_VA + 1000 + soffset * unit + (uint64_t)(int64_t)r->form.offset) & ~3ull;
    uint32_t *data = &w->s.sgpr[R_SDATA];
    uint64_t a = interesting_word(&r->shape), b = interesting_word(&r->shape);
    if (r->shape.kind == REF_RMW) {
        memcpy(w->s.mem + (va - WORLD_VA), variant & 8 ? &a : &b, r->shape.bytes);
        memcpy(data, &a, r->shape.bytes);
        memcpy(data + words, &b, r->shape.bytes);
    }
    want = w->s;
    uint8_t *mem = want.mem + (va - WORLD_VA);
    uint32_t *to = &want.sgpr[R_SDATA];
    if (r->shape.kind == REF_LOAD) {
        memcpy(to, mem, r->shape.bytes);
    } else if (r->shape.kind == REF_STORE) {
        memcpy(mem, to, r->shape.bytes);
    } else {
        uint64_t old = 0;
        memcpy(&old, mem, r->shape.bytes);
        uint64_t next = ref_apply(&r->shape, false, old, a, b);
        memcpy(mem, &next, r->shape.bytes);
        if (r->form.sc0)
            memcpy(to, &old, r->shape.bytes);
    }
    world_run(w, &r->form);
    assert_same_state(&w->s, &want, name);
    covered[r->form.op] = true;
}

/* ---- all of them ---- */

static void every_row_computes_what_its_name_says(void **state)
{
    (void)state;
    static struct world w;
    world_init(&w);
    for (unsigned op = 1; op < RP_OP_MAX; op++) {
        struct run r = {.form.op = op, .name = rp_isa_mnemonic(op)};
        unsigned fmt = rp_op_rows[op].fmt;
        if (fmt < RP_FMT_DS && fmt != RP_FMT_SMEM)
            continue;
        if (!rp_op_rows[op].fn || !ref_parse(op, &r.shape))
            continue;
        if (fmt == RP_FMT_DS)
            ds_row(&w, &r);
        else if (fmt == RP_FMT_FLAT)
            flat_row(&w, &r);
        else if (fmt == RP_FMT_MUBUF)
            mubuf_row(&w, &r);
        else if (fmt == RP_FMT_SMEM)
            for (unsigned variant = 0; variant < 16; variant++)
                smem_case(&w, &r, variant);
    }
}

/* Tested by name in test_mem_points.c, or without anything to compute. */
static bool tested_elsewhere(const char *name)
{
    static const char *const names[] = {"s_dcache_",
                                        "s_atc_probe",
                                        "s_memtime",
                                        "s_memrealtime",
                                        "ds_swizzle_b32",
                                        "ds_permute",
                                        "ds_bpermute",
                                        "ds_append",
                                        "ds_consume",
                                        "ds_read_addtid",
                                        "ds_write_addtid",
                                        "ds_condxchg32",
                                        "ds_gws_",
                                        "ds_nop",
                                        "buffer_wbl2",
                                        "buffer_inv",
                                        "buffer_load_format_",
                                        "buffer_store_format_",
                                        "tbuffer_"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return true;
    return false;
}

static void no_row_is_forgotten(void **state)
{
    (void)state;
    unsigned missing = 0;
    for (unsigned op = 1; op < RP_OP_MAX; op++) {
        unsigned fmt = rp_op_rows[op].fmt;
        if ((fmt < RP_FMT_DS && fmt != RP_FMT_SMEM) || covered[op] ||
            tested_elsewhere(rp_isa_mnemonic(op)))
            continue;
        print_error("no test vector for %s\n", rp_isa_mnemonic(op));
        missing++;
    }
    assert_int_equal(missing, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_computes_what_its_name_says),
        cmocka_unit_test(no_row_is_forgotten),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (argc == 3 && !strcmp(argv[1], "--list"))
        failed |= world_list(argv[2], covered, failed);
    return failed;
}
