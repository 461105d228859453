/*
 * Translated loads and stores against their handlers: short programs of memory instructions among
 * vector and matrix instructions that use the same registers, for lanes that lie in all kinds of
 * ways, at the ends of memory, behind links, in the apertures, with atomics waiting, and the same
 * load again. All that either can change is compared, counters and faults too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "device/exec/code_cache.h"
#include "device/exec/executor.h"
#include "device/isa/wave_state.h"
#include "effort.h"
#include "unit/isa/mem_world.h"
#include "unit/jit/translated_run.h"

enum { MOST_INSNS = 40, ROUNDS = RP_EFFORT(500), DWORD_BYTES = 4 };

static struct world w __attribute__((aligned(64))), start __attribute__((aligned(64))),
    wanted __attribute__((aligned(64)));
static struct rp_atomic_log logs[2];
static struct rp_dispatch dispatch = {.turn = 7};
static struct rp_exec_worker worker[2];
static uint64_t order;
static struct rp_code_page *page;
static uint32_t words[2 * MOST_INSNS + 1];
static unsigned word_count;
static bool other_gpu;  /* the memory is behind a link */
static bool warm_upper; /* of two mappings the upper one has been used */

static unsigned below(unsigned n)
{
    return (random32() >> 4) % n;
}

static enum rp_memory_location world_place(void *ctx, uint64_t va)
{
    (void)ctx;
    (void)va;
    return other_gpu ? RP_PLACE_PEER : RP_PLACE_LOCAL;
}

/* The pointers that a world has into itself. */
static void attach(struct world *x, unsigned which)
{
    struct rp_wave_env *env = &worker[which].env;
    x->host.ctx = x;
    x->host.place = world_place;
    x->host.generation = &x->generation;
    worker[which].dispatch = &dispatch;
    worker[which].order = order;
    *env = x->env;
    env->host = &x->host;
    env->log = env->log ? &logs[which] : NULL;
    rp_mem_init(&env->mem, &x->host);
    env->mem.counts = &env->counts;
    for (unsigned write = 0; write < 2; write++) /* what was used before is cached */
        rp_mem_find(&env->mem, WORLD_VA + (warm_upper ? WORLD_MEM_BYTES - 4 : 0), 4, write);
    x->group.env = env;
    x->group.waves = &x->wave;
    x->group.lds = x->s.lds;
    x->wave.group = &x->group;
    x->wave.vgpr = x->s.vgpr;
    x->wave.agpr = x->s.agpr;
    x->wave.scratch = x->s.priv;
    memcpy(x->wave.sgpr, x->s.sgpr, sizeof x->s.sgpr);
}

/* ---- the program ---- */

static void add_vector(void)
{
    static const uint8_t rows[] = {R_DATA,    R_DATA + 1, R_DATA + 2, R_DATA + 3, R_DST,
                                   R_DST + 1, R_DST + 2,  R_DST + 3,  R_ADDR,     40};
    enum { V_ADD_U32 = 0x34, V_XOR_B32 = 0x15, V_ADD_F16 = 0x1f, V_LSHLREV_B16 = 0x2a };
    static const uint8_t ops[] = {V_ADD_U32, V_XOR_B32, V_ADD_F16, V_LSHLREV_B16};
    const unsigned from = rows[below(10)], other = rows[below(10)], to = rows[below(8)];
    words[word_count++] = (uint32_t)ops[below(4)] << 25 | to << 17 | other << 9 | 256u | from;
}

static void add_memory(const struct form *f)
{
    encode(f, words + word_count);
    word_count += 2;
}

/* Its operands, which a block keeps widened, are what memory instructions load and store. */
static void add_matrix(void)
{
    enum { V_MFMA_F32_16X16X16_F16 = 0xd3cd0000, SECOND = 9, THIRD = 18, IS_VGPR = 256 };
    static const uint8_t rows[] = {R_DATA, R_DATA + 2, R_DST, R_DST + 2};
    const unsigned a = rows[below(4)], b = rows[below(4)], sum = below(3) ? 32 : rows[below(2) * 2];
    words[word_count++] = V_MFMA_F32_16X16X16_F16 | sum;
    words[word_count++] = (IS_VGPR | sum) << THIRD | (IS_VGPR | b) << SECOND | IS_VGPR | a;
}

static void end_program(void)
{
    words[word_count++] = 0xbf810000; /* s_endpgm */
}

static void write_program(const struct form *f)
{
    const unsigned before = below(3), behind = 1 + below(4);
    word_count = 0;
    for (unsigned i = 0; i < before; i++)
        add_vector();
    add_memory(f);
    if (!below(4)) /* the same once more: polling */
        add_memory(f);
    for (unsigned i = 0; i < behind; i++)
        add_vector();
    end_program();
}

/* Several memory instructions of other forms in one block, with matrix instructions between. */
static void write_mixed_program(const struct form *f)
{
    static const uint16_t ops[] = {RP_OP_global_load_dword,    RP_OP_global_load_dwordx2,
                                   RP_OP_global_load_dwordx4,  RP_OP_global_store_dword,
                                   RP_OP_global_store_dwordx2, RP_OP_global_store_dwordx4,
                                   RP_OP_s_load_dwordx4};
    word_count = 0;
    for (unsigned i = 2 + below(6); i--;) {
        struct form g = *f;
        g.op = ops[below(7)];
        g.acc = g.op != RP_OP_s_load_dwordx4 && !below(8);
        g.saddr = g.op != RP_OP_s_load_dwordx4 && f->saddr;
        add_memory(&g);
        if (below(2))
            add_matrix();
        if (below(2))
            add_vector();
    }
    end_program();
}

static void make_page(void)
{
    page = calloc(1, sizeof *page);
    assert_non_null(page);
    page->base_va = w.wave.pc;
    page->refs = 1;
    for (unsigned i = 0; i < word_count;) {
        struct rp_insn in = {0};
        const unsigned bytes = rp_isa_decode(words + i, word_count - i, &in);
        assert_int_not_equal(bytes, 0);
        rp_order_bind(&in);
        in.issue_cycles = (uint8_t)(1 + below(60));
        in.slot_bytes = (uint16_t)(bytes / DWORD_BYTES * sizeof in);
        page->insn[i] = in;
        i += bytes / DWORD_BYTES;
    }
    rp_jit_translator.translate(page, 0, NULL);
    assert_non_null(page->insn[0].native);
}

/* ---- where lanes are ---- */

enum lie { BESIDE, ONE_OFF, WIDER, SAME, SPREAD, OTHER_HIGH, TILE, TILE_ONE_OFF, LIES };

static uint32_t lane_offset(enum lie lie, unsigned lane, unsigned odd_lane, unsigned bytes)
{
    switch (lie) {
    case WIDER:
        return lane * (bytes + 4);
    case SAME:
        return 0;
    case SPREAD:
        return lane * 29 % 67 % 64 * 24;
    case ONE_OFF:
        return lane * bytes + (lane == odd_lane ? 4 : 0);
    case TILE: /* rows of 16, far from each other, or not: some may overlap */
    case TILE_ONE_OFF:
        return lane % 16 * bytes + lane / 16 * 40 * (odd_lane % 32) +
               (lie == TILE_ONE_OFF && lane == odd_lane ? 4 : 0);
    default:
        return lane * bytes;
    }
}

/* Where lane 0 is; in the middle, and so that lanes reach beyond either end. */
static uint64_t base_at(uint64_t space_va, uint32_t space_bytes, unsigned bytes)
{
    switch (below(8)) {
    case 0:
        return space_va + space_bytes - RP_LANES * bytes; /* just fits */
    case 1:
        return space_va + space_bytes - RP_LANES * bytes + 1 + below(8);
    case 2:
        return space_va - 1 - below(300);
    case 3:
        return space_va + 1 + below(64); /* not aligned */
    default:
        return space_va + 4 * below(space_bytes / 16);
    }
}

static void set_flat_addresses(const struct form *f, enum lie lie, unsigned bytes, uint64_t base)
{
    const unsigned odd_lane = below(RP_LANES);
    base -= (uint64_t)(int64_t)f->offset;
    if (f->saddr) { /* the sum of base and lanes, which may wrap */
        const uint32_t low = below(4) ? below(1000) : UINT32_MAX - below(600);
        world_sgpr64(&w, R_SADDR, base - low);
        base = low;
    }
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint64_t va = base + lane_offset(lie, lane, odd_lane, bytes);
        if (lie == OTHER_HIGH && lane == odd_lane)
            va ^= 1ull << 32;
        w.s.vgpr[R_ADDR][lane] = (uint32_t)va;
        w.s.vgpr[R_ADDR + 1][lane] = (uint32_t)(va >> 32);
    }
}

static void choose_exec(void)
{
    static const uint64_t exec[] = {
        ~0ull, ~0ull, ~0ull, ~0ull, 0x00000000ffffffff, 0x8000000000000001, 0, 0xfffffffffffffffe};
    world_exec(&w, exec[below(8)]);
}

/* What the mapping is like, and whether the slice has noted atomics. */
static uint64_t add_one(void *p, uint64_t data, uint64_t data2, bool *ret_changed)
{
    uint32_t value;
    (void)data2;
    memcpy(&value, p, sizeof value);
    value += (uint32_t)data;
    memcpy(p, &value, sizeof value);
    *ret_changed = true;
    return 0;
}

static void choose_world(void)
{
    w.read_only = !below(6);
    w.split = below(6) ? 0 : WORLD_MEM_BYTES / 2 + 4 * below(64);
    other_gpu = !below(6);
    warm_upper = below(2);
    order = below(3) ? 7 : 8;
    w.env.log = below(3) ? NULL : &logs[0];
    w.group.env = &w.env;
    rp_atomic_log_clear(&logs[0]);
    if (below(2) && w.env.log) {
        const uint64_t va = WORLD_VA + 64 * below(WORLD_MEM_BYTES / 64);
        rp_atomic_log_add(&w.wave, add_one, va, 4, 1);
    }
    w.wave.poll_va = below(2) ? 0 : WORLD_VA;
    w.wave.poll_count = below(5);
    w.wave.wait.armed = below(2);
    w.wave.wait.idle = below(2);
}

/* ---- both ways ---- */

static void same_wave(const struct rp_wave *a, const struct rp_wave *b, const char *what)
{
    if (a->pc != b->pc || a->cycles != b->cycles || a->poll_va != b->poll_va ||
        a->poll_count != b->poll_count || a->wait.armed != b->wait.armed ||
        a->wait.idle != b->wait.idle)
        fail_msg(
            "%s: pc 0x%llx, cycles %llu, poll 0x%llx %u %d %d, not 0x%llx, %llu, 0x%llx %u %d %d",
            what, (unsigned long long)b->pc, (unsigned long long)b->cycles,
            (unsigned long long)b->poll_va, b->poll_count, b->wait.armed, b->wait.idle,
            (unsigned long long)a->pc, (unsigned long long)a->cycles,
            (unsigned long long)a->poll_va, a->poll_count, a->wait.armed, a->wait.idle);
    assert_int_equal(a->fault.kind, b->fault.kind);
    assert_int_equal(a->fault.pc, b->fault.pc);
    assert_int_equal(a->fault.address, b->fault.address);
    assert_int_equal(a->fault.lane, b->fault.lane);
    assert_string_equal(a->fault.text, b->fault.text);
}

/* Returns how many instructions translated code executed. */
static uint64_t compare(const char *what)
{
    const uint32_t budget = below(8) ? 100 : below(8);
    start = w;
    wanted = w;
    logs[1] = logs[0];
    attach(&w, 0);
    attach(&wanted, 1);
    const struct outcome a = run_handlers(page, &wanted.wave, budget);
    const struct outcome b = run_translated(page, &w.wave, budget);
    memcpy(w.s.sgpr, w.wave.sgpr, sizeof w.s.sgpr);
    memcpy(wanted.s.sgpr, wanted.wave.sgpr, sizeof w.s.sgpr);
    if (a.step != b.step || a.left != b.left || a.cycles != b.cycles)
        fail_msg("%s: step %d, left %u, not %d, %u", what, b.step, b.left, a.step, a.left);
    same_wave(&wanted.wave, &w.wave, what);
    assert_memory_equal(&worker[1].env.counts, &worker[0].env.counts, sizeof w.env.counts);
    assert_int_equal(logs[1].count, logs[0].count);
    assert_same_state(&w.s, &wanted.s, what);
    rp_jit_translator.drop(page);
    free(page);
    page = NULL;
    return b.native_insts;
}

/* ---- tests ---- */

static bool no_translation(void)
{
    rp_jit_set(true);
    return !rp_jit_translator.available();
}

static const struct {
    uint16_t op;
    uint8_t bytes;
} flat_ops[] = {
    {RP_OP_global_load_dword, 4},    {RP_OP_global_load_dwordx2, 8},
    {RP_OP_global_load_dwordx4, 16}, {RP_OP_global_store_dword, 4},
    {RP_OP_global_store_dwordx2, 8}, {RP_OP_global_store_dwordx4, 16},
    {RP_OP_flat_load_dword, 4},      {RP_OP_flat_load_dwordx2, 8},
    {RP_OP_flat_load_dwordx4, 16},   {RP_OP_flat_store_dword, 4},
    {RP_OP_flat_store_dwordx2, 8},   {RP_OP_flat_store_dwordx4, 16},
    {RP_OP_global_load_dwordx3, 12}, {RP_OP_global_load_ubyte, 4},
};

static void flat_round(unsigned op, unsigned bytes)
{
    const bool is_flat = segment_of(op) == RP_SEG_FLAT;
    struct form f = {.op = op};
    world_init(&w);
    f.saddr = !is_flat && below(2);
    f.acc = !below(10);
    f.offset = (int32_t)(is_flat ? below(2048) : below(4096)) - (is_flat ? 0 : 2048);
    if (below(2))
        f.offset = 0;
    const unsigned space = is_flat ? below(3) : 0;
    const uint64_t base = space == 0   ? base_at(WORLD_VA, WORLD_MEM_BYTES, bytes)
                          : space == 1 ? base_at(WORLD_LDS_VA, WORLD_LDS_BYTES, bytes)
                                       : WORLD_PRIV_VA + below(WORLD_LANE_BYTES - 400);
    const enum lie lie = (enum lie)(below(2) ? below(LIES) : (unsigned)BESIDE);
    set_flat_addresses(&f, lie, bytes, base);
    choose_exec();
    choose_world();
    write_program(&f);
    make_page();
    compare(rp_isa_mnemonic(op));
}

static void test_flat(void **state)
{
    (void)state;
    if (no_translation())
        skip();
    world_seed = 11;
    for (unsigned i = 0; i < sizeof flat_ops / sizeof flat_ops[0]; i++)
        for (unsigned round = 0; round < ROUNDS; round++)
            flat_round(flat_ops[i].op, flat_ops[i].bytes);
}

/* The common case stays in translated code from the first instruction to the last. */
static void test_stays(void **state)
{
    (void)state;
    if (no_translation())
        skip();
    world_seed = 12;
    for (unsigned n = 0; n < 12 * 8; n++) {
        const unsigned i = n / 8, round = n % 8;
        struct form f = {.op = flat_ops[i].op};
        world_init(&w);
        const bool global = segment_of(f.op) == RP_SEG_GLOBAL;
        set_flat_addresses(&f, round && global ? TILE : BESIDE, flat_ops[i].bytes, WORLD_VA + 64);
        word_count = 0;
        add_memory(&f);
        end_program();
        make_page();
        uint32_t left = 100;
        attach(&w, 0);
        worker[0].env.lanes = NULL; /* nobody needs them but handlers */
        struct rp_jit_state jit = {.left = left};
        const struct rp_jit_entry *native = page->insn[0].native;
        assert_int_equal(native->enter(&w.wave, &jit, native->code), RP_STEP_END);
        assert_int_equal(jit.left, left - 2);
        rp_jit_translator.drop(page);
        free(page);
    }
}

static void test_scalar(void **state)
{
    static const uint16_t ops[] = {RP_OP_s_load_dword, RP_OP_s_load_dwordx2, RP_OP_s_load_dwordx4,
                                   RP_OP_s_load_dwordx8, RP_OP_s_load_dwordx16};
    (void)state;
    if (no_translation())
        skip();
    world_seed = 13;
    for (unsigned round = 0; round < 5 * ROUNDS; round++) {
        const unsigned which = below(5);
        struct form f = {.op = ops[which]};
        world_init(&w);
        f.soffset = below(2);
        f.offset = (int32_t)below(4096) - 1024;
        const uint64_t base = base_at(WORLD_VA, WORLD_MEM_BYTES, 1) - (uint64_t)(int64_t)f.offset;
        w.s.sgpr[R_SOFF] = f.soffset ? below(1 << 20) : 0;
        world_sgpr64(&w, R_SADDR, base - w.s.sgpr[R_SOFF]);
        choose_exec();
        choose_world();
        write_program(&f);
        make_page();
        compare(rp_isa_mnemonic(f.op));
    }
}

static void test_mixed(void **state)
{
    uint64_t native_insts = 0, insts = 0;
    (void)state;
    if (no_translation())
        skip();
    world_seed = 17;
    for (unsigned round = 0; round < 5 * ROUNDS; round++) {
        struct form f = {.op = RP_OP_global_load_dwordx4, .saddr = below(2)};
        world_init(&w);
        f.offset = below(2) ? 0 : (int32_t)below(256);
        set_flat_addresses(&f, below(4) ? BESIDE : (enum lie)below(LIES), 16,
                           base_at(WORLD_VA, WORLD_MEM_BYTES, 16));
        if (!f.saddr) /* for scalar loads */
            world_sgpr64(&w, R_SADDR, WORLD_VA + 4ull * below(WORLD_MEM_BYTES / 8));
        choose_exec();
        choose_world();
        write_mixed_program(&f);
        make_page();
        insts += word_count / 2;
        native_insts += compare("mixed");
    }
    assert_true(native_insts > insts / 4); /* what faults or is cut off by its budget counts, too */
}

/* ---- LDS ---- */

static const struct {
    uint16_t op;
    uint8_t bytes; /* of an element */
    uint16_t unit; /* bytes of the two offsets' unit; 0: one offset */
} lds_ops[] = {
    {RP_OP_ds_read_b32, 4, 0},         {RP_OP_ds_read_b64, 8, 0},
    {RP_OP_ds_read_b96, 12, 0},        {RP_OP_ds_read_b128, 16, 0},
    {RP_OP_ds_read2_b32, 4, 4},        {RP_OP_ds_read2_b64, 8, 8},
    {RP_OP_ds_read2st64_b32, 4, 256},  {RP_OP_ds_read2st64_b64, 8, 512},
    {RP_OP_ds_read_u8, 1, 0},          {RP_OP_ds_read_i8, 1, 0},
    {RP_OP_ds_read_u16, 2, 0},         {RP_OP_ds_read_i16, 2, 0},
    {RP_OP_ds_read_u8_d16, 1, 0},      {RP_OP_ds_read_u8_d16_hi, 1, 0},
    {RP_OP_ds_read_u16_d16, 2, 0},     {RP_OP_ds_read_u16_d16_hi, 2, 0},
    {RP_OP_ds_write_b32, 4, 0},        {RP_OP_ds_write_b64, 8, 0},
    {RP_OP_ds_write_b96, 12, 0},       {RP_OP_ds_write_b128, 16, 0},
    {RP_OP_ds_write2_b32, 4, 4},       {RP_OP_ds_write2_b64, 8, 8},
    {RP_OP_ds_write2st64_b32, 4, 256}, {RP_OP_ds_write2st64_b64, 8, 512},
};
enum { LDS_OPS = sizeof lds_ops / sizeof lds_ops[0] };

/* How the lanes of a quarter lie. */
enum quarter { ROWS, ONES, NEAR, DOWN, ROW_BUT_ONE, UNALIGNED, ANYHOW, QUARTERS };

static uint32_t in_quarter(enum quarter how, unsigned lane, unsigned bytes)
{
    switch (how) {
    case ROWS:
        return lane * bytes;
    case NEAR: /* in a line, or two */
        return lane == 0 ? 0 : below(bytes <= 4 ? 64 : 128) / bytes * bytes;
    case DOWN:
        return (15 - lane) * bytes;
    case ROW_BUT_ONE:
        return lane * bytes + (lane == 5 ? 4 : 0);
    case UNALIGNED:
        return lane * bytes + lane % 4;
    case ANYHOW:
        return below(WORLD_LDS_BYTES + 64);
    default:
        return 0;
    }
}

static uint32_t quarter_base(void)
{
    switch (below(8)) {
    case 0:
        return WORLD_LDS_BYTES - below(300); /* about the end */
    case 1:
        return below(1000); /* not aligned */
    case 2:
        return 0u - 4 * below(100);
    default:
        return 4 * below(WORLD_LDS_BYTES / 8);
    }
}

static void set_lds_addresses(unsigned bytes, uint32_t offset)
{
    const enum quarter all = (enum quarter)below(QUARTERS);
    const bool differ = !below(4), nearly_all = below(2);
    for (unsigned q = 0; q < 4; q++) {
        const enum quarter how = differ ? (enum quarter)below(QUARTERS) : all;
        const uint32_t base = nearly_all ? 4 * below(1000) : quarter_base();
        for (unsigned lane = 0; lane < 16; lane++)
            w.s.vgpr[R_ADDR][16 * q + lane] = base + in_quarter(how, lane, bytes) - offset;
    }
}

static struct form lds_form(unsigned which)
{
    struct form f = {.op = lds_ops[which].op, .acc = !below(10)};
    f.offset = (int32_t)(below(2) ? 0 : below(1 << 16));
    if (lds_ops[which].unit && below(2)) /* both near */
        f.offset = (int32_t)(below(12) | below(12) << 8);
    return f;
}

static uint32_t lds_offset(unsigned which, const struct form *f)
{
    const unsigned unit = lds_ops[which].unit;
    return unit ? ((uint32_t)f->offset & 0xff) * unit : (uint32_t)f->offset;
}

static void test_lds(void **state)
{
    uint64_t native_insts = 0, insts = 0;
    (void)state;
    if (no_translation())
        skip();
    world_seed = 19;
    for (unsigned round = 0; round < LDS_OPS * ROUNDS; round++) {
        const unsigned which = round % LDS_OPS;
        const struct form f = lds_form(which);
        world_init(&w);
        w.group.lds_bytes = below(6) ? WORLD_LDS_BYTES : 4 * below(64);
        set_lds_addresses(lds_ops[which].bytes, below(4) ? lds_offset(which, &f) : 0);
        choose_exec();
        choose_world();
        write_program(&f);
        make_page();
        insts += 1;
        native_insts += compare(rp_isa_mnemonic(f.op)) > 0;
    }
    assert_true(native_insts > insts / 2);
}

/* Tiles are read and written without any handler. */
static void test_lds_stays(void **state)
{
    static const enum quarter ways[] = {ROWS, ONES, NEAR};
    (void)state;
    if (no_translation())
        skip();
    world_seed = 23;
    for (unsigned i = 0; i < 3 * LDS_OPS; i++) {
        const unsigned bytes = lds_ops[i / 3].bytes;
        const bool reads = rp_op_rows[lds_ops[i / 3].op].dst != RP_T_NONE;
        struct form f = {.op = lds_ops[i / 3].op, .offset = lds_ops[i / 3].unit ? 0x100 : 64};
        if (reads ? bytes > 8 && ways[i % 3] == ROWS : bytes == 12 || ways[i % 3] != ROWS)
            continue; /* more than two lines, or not side by side */
        world_init(&w);
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            w.s.vgpr[R_ADDR][lane] = lane / 16 * 1024 + in_quarter(ways[i % 3], lane % 16, bytes);
        word_count = 0;
        add_memory(&f);
        end_program();
        make_page();
        attach(&w, 0);
        worker[0].env.lanes = NULL; /* nobody needs them but handlers */
        struct rp_jit_state jit = {.left = 100};
        const struct rp_jit_entry *native = page->insn[0].native;
        assert_int_equal(native->enter(&w.wave, &jit, native->code), RP_STEP_END);
        assert_int_equal(jit.left, 98);
        rp_jit_translator.drop(page);
        free(page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flat),   cmocka_unit_test(test_stays),
        cmocka_unit_test(test_scalar), cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_lds),    cmocka_unit_test(test_lds_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
