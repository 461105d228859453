/*
 * Typed buffer instructions: data formats against values from their definitions.
 * `test_isa_mem_format --list FILE` writes the rows that are covered.
 */
#include <stdio.h>

#include "mem_world.h"

static struct world w;
static bool covered[RP_OP_MAX];

static int fresh(void **state)
{
    (void)state;
    world_init(&w);
    return 0;
}

static uint32_t bits_of(double value)
{
    float f = (float)value;
    uint32_t word;
    memcpy(&word, &f, 4);
    return word;
}

enum { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, FLOAT = 7 };
enum { IDENTITY = 4 | 5 << 3 | 6 << 6 | 7 << 9 };

static uint32_t word3(unsigned dfmt, unsigned nfmt)
{
    return dfmt << 15 | nfmt << 12 | IDENTITY;
}

/* Element in memory (low dword), and component @p c of it as a register of 32 bits. */
struct vector {
    unsigned dfmt, nfmt, c;
    uint32_t memory;
    double value; /* for UINT and SINT the integer itself */
};

static const struct vector vectors[] = {
    {1, UNORM, 0, 0xff, 1},
    {1, UNORM, 0, 0x80, 128 / 255.0},
    {1, SNORM, 0, 0x80, -1},
    {1, SNORM, 0, 0x81, -1},
    {1, SNORM, 0, 0x40, 64 / 127.0},
    {1, SINT, 0, 0xfe, -2},
    {1, USCALED, 0, 0xfe, 254},
    {1, SSCALED, 0, 0xfe, -2},
    {2, FLOAT, 0, 0x3555, 0x555 / 4096.0},
    {2, UNORM, 0, 0x1234, 0x1234 / 65535.0},
    {2, SINT, 0, 0x8000, -32768},
    {3, UINT, 1, 0x2211, 0x22},
    {4, FLOAT, 0, 0x3fc00000, 1.5},
    {5, FLOAT, 1, 0x3c00c000, 1},
    {5, FLOAT, 0, 0x3c00c000, -2},
    {6, FLOAT, 0, 0x000003c0, 1}, /* 11 bits: exponent 15, no sign */
    {6, FLOAT, 1, 0x3c0 << 11 | 1 << 11, 1 + 1 / 64.0},
    {6, FLOAT, 2, 0x1e1u << 22, 1 + 1 / 32.0}, /* 10 bits */
    {7, FLOAT, 0, 0x1e0, 1},
    {7, FLOAT, 2, 0x3c0u << 21, 1},
    {8, UINT, 0, 0xfffffffe, 2},
    {8, UINT, 3, 0x80400000, 0x201},
    {9, UNORM, 0, 0x3ff, 1},
    {9, UNORM, 3, 0x40000000, 1 / 3.0},
    {9, SINT, 3, 0x80000000, -2},
    {10, UNORM, 2, 0x00330000, 0.2},
};

static void components_mean_what_the_format_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const struct vector *v = &vectors[i];
        uint32_t want =
            v->nfmt == UINT || v->nfmt == SINT ? (uint32_t)(int32_t)v->value : bits_of(v->value);
        memcpy(w.s.mem + 12, &v->memory, 4);
        world_resource(&w, WORLD_VA, 0, 4096, word3(v->dfmt, v->nfmt) & ~0xfffu);
        w.s.sgpr[R_RSRC + 3] |= (4 + v->c); /* register x takes the component */
        world_run(&w, &(struct form){.op = RP_OP_buffer_load_format_x, .offset = 12});
        if (w.s.vgpr[R_DST][33] != want)
            fail_msg("vector %zu: %08x, not %08x", i, w.s.vgpr[R_DST][33], want);
    }
}

/* Stores undo loads where nothing is rounded. */
static void stores_undo_loads(void **state)
{
    (void)state;
    static const uint8_t formats[][2] = {
        {1, UNORM}, {1, SINT},   {2, FLOAT}, {2, SNORM},  {3, UINT},     {4, FLOAT},
        {5, FLOAT}, {6, FLOAT},  {7, FLOAT}, {8, UINT},   {9, UNORM},    {10, SINT},
        {11, UINT}, {12, FLOAT}, {13, SINT}, {14, FLOAT}, {10, USCALED}, {3, SSCALED}};
    static const uint8_t bytes[15] = {0, 1, 2, 2, 4, 4, 4, 4, 4, 4, 4, 8, 8, 12, 16};
    static const uint8_t counts[15] = {0, 1, 1, 2, 1, 2, 3, 3, 4, 4, 4, 2, 4, 3, 4};
    static const unsigned load[5] = {0, RP_OP_tbuffer_load_format_x, RP_OP_tbuffer_load_format_xy,
                                     RP_OP_tbuffer_load_format_xyz, RP_OP_tbuffer_load_format_xyzw};
    static const unsigned store[5] = {0, RP_OP_tbuffer_store_format_x,
                                      RP_OP_tbuffer_store_format_xy, RP_OP_tbuffer_store_format_xyz,
                                      RP_OP_tbuffer_store_format_xyzw};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        unsigned dfmt = formats[i][0], nfmt = formats[i][1], size = bytes[dfmt];
        world_resource(&w, WORLD_VA, 0, WORLD_MEM_BYTES, 0);
        fill_random(w.s.mem, sizeof w.s.mem);
        for (unsigned b = 0; b < 4096; b++) /* finite, and no -128 */
            w.s.mem[b] &= nfmt == FLOAT || nfmt == SNORM ? 0x2f : 0xff;
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            w.s.vgpr[R_ADDR][lane] = lane * size;
        struct form f = {.op = load[counts[dfmt]], .offen = true, .dfmt = dfmt, .nfmt = nfmt};
        uint8_t copy[RP_LANES * 16];
        memcpy(copy, w.s.mem, sizeof copy);
        world_run(&w, &f);
        memset(w.s.mem, 0xee, RP_LANES * size);
        memcpy(w.s.vgpr[R_DATA], w.s.vgpr[R_DST], 4 * sizeof w.s.vgpr[0]);
        f.op = store[counts[dfmt]];
        world_run(&w, &f);
        if (memcmp(copy, w.s.mem, RP_LANES * size))
            fail_msg("format %u, %u: a store does not undo the load", dfmt, nfmt);
    }
}

/* Every row, in both encodings: how many components, how wide, into which half. */
static void every_typed_row_moves_its_components(void **state)
{
    (void)state;
    for (unsigned op = 1; op < RP_OP_MAX; op++) {
        const char *name = rp_isa_mnemonic(op), *at = strstr(name, "_format_");
        if (!at)
            continue;
        bool mtbuf = name[0] == 't', is_store = strstr(name, "store"), hi = strstr(name, "_hi_");
        bool d16 = strstr(name, "d16");
        unsigned count = (unsigned)strlen(strrchr(name, '_') + 1), step = d16 ? 2 : 4;
        /* As many components as the instruction: 16_16 and the like for stores, all four else. */
        static const uint8_t dfmt16[] = {0, 2, 5, 12, 12}, dfmt32[] = {0, 4, 11, 13, 14};
        unsigned dfmt = d16 ? dfmt16[count] : dfmt32[count];
        if (d16 && is_store && count == 3)
            dfmt = 6; /* the only three below 32 bits; all zero */
        struct form f = {.op = op,
                         .idxen = true,
                         .dfmt = dfmt,
                         .nfmt = d16 && is_store && count == 3 ? FLOAT : UINT};
        world_resource(&w, WORLD_VA, 24, 60, word3(dfmt, f.nfmt));
        fill_random(&w.s.mem, sizeof w.s.mem);
        for (unsigned r = R_DATA; r < R_DATA + 4; r++)
            for (unsigned lane = 0; lane < RP_LANES; lane++)
                w.s.vgpr[r][lane] = f.nfmt == FLOAT ? 0 : random32();
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            w.s.vgpr[R_ADDR][lane] = 63 - lane;
        uint64_t exec = 0xfedcba9876543210;
        world_exec(&w, exec);
        struct state want = w.s;
        for (unsigned lane = 0; lane < RP_LANES; lane++) {
            uint8_t *p = want.mem + 24 * (63 - lane);
            bool inside = 63 - lane < 60;
            if (!(exec >> lane & 1))
                continue;
            for (unsigned c = 0; c < count; c++) {
                uint32_t value = 0, *reg;
                uint8_t *half;
                reg = &want.vgpr[(is_store ? R_DATA : R_DST) + (d16 ? c / 2 : c)][lane];
                half = (uint8_t *)reg + (d16 ? 2 * ((c + hi) % 2) : 0);
                if (is_store && inside && f.nfmt == FLOAT)
                    memset(p, 0, 4);
                else if (is_store && inside)
                    memcpy(p + step * c, half, step);
                if (!is_store) {
                    if (c == 0 || (c + hi) % 2 == 0)
                        *reg = 0; /* with SRAM ECC a load clears the half that it does not fill */
                    memcpy(&value, p + step * c, step);
                    value = inside ? value : 0;
                    memcpy(half, &value, step);
                }
            }
        }
        world_run(&w, &f);
        assert_same_state(&w.s, &want, name);
        assert_true(mtbuf == (rp_op_rows[op].fmt == RP_FMT_MTBUF));
        covered[op] = true;
    }
}

static void selectors_pick_constants_and_components(void **state)
{
    (void)state;
    world_resource(&w, WORLD_VA, 0, 64, 10u << 15 | UNORM << 12 | 1 | 7 << 3 | 0 << 6 | 4 << 9);
    memcpy(w.s.mem, "\x00\x10\x20\xff", 4);
    world_run(&w, &(struct form){.op = RP_OP_buffer_load_format_xyzw});
    assert_int_equal(w.s.vgpr[R_DST][0], 0x3f800000);
    assert_int_equal(w.s.vgpr[R_DST + 1][0], 0x3f800000);
    assert_int_equal(w.s.vgpr[R_DST + 2][0], 0);
    assert_int_equal(w.s.vgpr[R_DST + 3][0], 0);
    w.s.sgpr[R_RSRC + 2] = 3; /* all or nothing: one byte is missing; SEL_1 stays one */
    world_run(&w, &(struct form){.op = RP_OP_buffer_load_format_xyzw});
    assert_int_equal(w.s.vgpr[R_DST][0], 0x3f800000);
    assert_int_equal(w.s.vgpr[R_DST + 1][0], 0);
}

static void d16_converts_to_half(void **state)
{
    (void)state;
    world_resource(&w, WORLD_VA, 0, 64, word3(10, UNORM));
    memcpy(w.s.mem, "\xff\x00\x55\x01", 4);
    world_run(&w, &(struct form){.op = RP_OP_buffer_load_format_d16_xyzw});
    assert_int_equal(w.s.vgpr[R_DST][0], 0x00003c00);
    /* 85/255 = 1/3 is 0x3555, 1/255 is 0x1c04. */
    assert_int_equal(w.s.vgpr[R_DST + 1][0], 0x1c043555);
    w.s.vgpr[R_DATA][0] = 0x3800bc00; /* -1 clamps to 0; 0.5 of 255 is 127.5 */
    w.s.vgpr[R_DATA + 1][0] = 0x7e003c01;
    world_exec(&w, 1);
    world_run(&w, &(struct form){.op = RP_OP_buffer_store_format_d16_xyzw});
    assert_memory_equal(w.s.mem, "\x00\x80\xff\x00", 4);
}

static void format_load_to_lds(void **state)
{
    (void)state;
    world_resource(&w, WORLD_VA, 0, 64, word3(1, SNORM));
    w.s.sgpr[RP_SGPR_M0] = 128;
    w.s.mem[0] = 0x7f;
    world_run(&w, &(struct form){.op = RP_OP_buffer_load_format_x, .lds = true});
    uint32_t got;
    memcpy(&got, w.s.lds + 128 + 4 * 50, 4);
    assert_int_equal(got, 0x3f800000);
}

static void refuse(const struct form *f, const char *why)
{
    assert_int_equal(world_step(&w, f), RP_STEP_FAULT);
    assert_int_equal(w.wave.fault.kind, RP_FAULT_UNIMPLEMENTED);
    if (!strstr(w.wave.fault.text, why))
        fail_msg("\"%s\" does not say \"%s\"", w.wave.fault.text, why);
}

/* What nobody has published is refused, by value where values decide. */
static void unpublished_conversions_are_refused(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_tbuffer_load_format_xy, .dfmt = 4, .nfmt = UINT};
    struct form store = {.op = RP_OP_tbuffer_store_format_x, .dfmt = 1, .nfmt = UINT};
    world_resource(&w, WORLD_VA, 0, 64, 0);
    refuse(&load, "component");
    load.dfmt = 15;
    refuse(&load, "data format");
    load.dfmt = 11;
    load.nfmt = 6;
    refuse(&load, "number format");
    w.s.vgpr[R_DATA][0] = 256;
    refuse(&store, "outside");
    store.dfmt = 3;
    refuse(&store, "components");
    store.dfmt = 2;
    store.nfmt = FLOAT;
    w.s.vgpr[R_DATA][0] = 0x3f800001;
    refuse(&store, "exact");
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(components_mean_what_the_format_says),
        TEST(stores_undo_loads),
        TEST(every_typed_row_moves_its_components),
        TEST(selectors_pick_constants_and_components),
        TEST(d16_converts_to_half),
        TEST(format_load_to_lds),
        TEST(unpublished_conversions_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (argc == 3 && !strcmp(argv[1], "--list"))
        failed |= world_list(argv[2], covered, failed);
    return failed;
}
