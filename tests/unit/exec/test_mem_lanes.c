/* The memory lane loops of every CPU level do the same thing, and it is the right one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "device/isa/lane.h"

#include "device/isa/lane_select.c"

static uint32_t seed = 1;

static uint32_t next_random(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static uint64_t random_exec(void)
{
    switch (next_random() % 3) {
    case 0:
        return ~0ull;
    case 1:
        return 1ull << next_random() % 64;
    default:
        return (uint64_t)next_random() << 40 ^ (uint64_t)next_random() << 20 ^ next_random();
    }
}

enum { BYTES = 4096, ZERO = 1000 };

struct world {
    uint8_t memory[BYTES + 16];
    uint32_t index[64];
    uint32_t rows[4][64];
};

/* Each sixteen lanes at one place or side by side, as tiles are read; sometimes not quite. */
static void lie_in_tiles(struct world *w)
{
    const uint32_t step = 4 * (next_random() % 5);
    const uint32_t room = BYTES + (next_random() % 2 ? 0 : 256) - 16 * 16;
    for (unsigned lane = 0; lane < 64; lane += 16) {
        const uint32_t from = ZERO + next_random() % room;
        for (unsigned i = 0; i < 16; i++)
            w->index[lane + i] = from + i * step;
    }
    if (next_random() % 2)
        w->index[next_random() % 64] += 1 + next_random() % 8;
}

static void make_world(struct world *w)
{
    for (unsigned i = 0; i < sizeof w->memory; i++)
        w->memory[i] = (uint8_t)next_random();
    for (unsigned lane = 0; lane < 64; lane++) {
        w->index[lane] = ZERO + next_random() % (BYTES + 256); /* some are beyond the end */
        for (unsigned i = 0; i < 4; i++)
            w->rows[i][lane] = next_random();
    }
    if (next_random() % 2)
        lie_in_tiles(w);
}

/* What a load must do, written for clarity. */
static void expect_load(struct world *w, uint32_t last, unsigned dwords, uint64_t exec)
{
    for (unsigned lane = 0; lane < 64; lane++) {
        uint32_t at = w->index[lane] - ZERO;
        if (!(exec >> lane & 1))
            continue;
        for (unsigned i = 0; i < dwords; i++) {
            w->rows[i][lane] = 0;
            if (at <= last)
                memcpy(&w->rows[i][lane], w->memory + at + 4 * i, 4);
        }
    }
}

static void expect_store(struct world *w, uint32_t last, unsigned dwords, uint64_t exec)
{
    for (unsigned lane = 0; lane < 64; lane++) {
        uint32_t at = w->index[lane] - ZERO;
        if (exec >> lane & 1 && at <= last)
            for (unsigned i = 0; i < dwords; i++)
                memcpy(w->memory + at + 4 * i, &w->rows[i][lane], 4);
    }
}

static void check_moves(const struct rp_mem_lanes *lanes, unsigned dwords, int store)
{
    struct world got, want;
    uint64_t exec = random_exec();
    make_world(&got);
    if (store && (dwords > 1 || next_random() % 2)) /* several dwords have no order between lanes */
        for (unsigned lane = 0; lane < 64; lane++)
            got.index[lane] = ZERO + (lane * 29 % 67) * 64 + next_random() % 32;
    want = got;
    struct rp_spread spread = {
        .base = got.memory, .index = got.index, .zero = ZERO, .last = BYTES - 4 * dwords};
    if (store) {
        lanes->store[dwords]((const uint32_t(*)[64])got.rows, &spread, exec);
        expect_store(&want, spread.last, dwords, exec);
    } else {
        if (next_random() % 2) { /* the row of addresses is overwritten */
            memcpy(got.rows[0], got.index, sizeof got.index);
            memcpy(want.rows[0], got.index, sizeof got.index);
            spread.index = got.rows[0];
        }
        lanes->load[dwords](got.rows, &spread, exec);
        expect_load(&want, spread.last, dwords, exec);
    }
    assert_memory_equal(&got, &want, sizeof got);
}

/* Elements side by side, at any alignment. */
static void check_rows(const struct rp_mem_lanes *lanes, unsigned dwords, int store)
{
    _Alignas(64) struct world got, want;
    uint32_t at = next_random() % 64;
    make_world(&got);
    want = got;
    for (unsigned lane = 0; lane < 64; lane++)
        for (unsigned i = 0; i < dwords; i++) {
            uint8_t *p = want.memory + at + 4 * (lane * dwords + i);
            if (store)
                memcpy(p, &want.rows[i][lane], 4);
            else
                memcpy(&want.rows[i][lane], p, 4);
        }
    if (store)
        lanes->store_rows[dwords]((const uint32_t(*)[64])got.rows, got.memory + at);
    else
        lanes->load_rows[dwords](got.rows, got.memory + at);
    assert_memory_equal(&got, &want, sizeof got);
}

static void check_shapes(const struct rp_mem_lanes *lanes)
{
    uint32_t row[64], low, high;
    int64_t stride;
    for (unsigned lane = 0; lane < 64; lane++)
        row[lane] = 5000 - 12 * lane;
    assert_true(lanes->affine(row, &stride));
    assert_true(stride == -12);
    assert_false(lanes->uniform(row));
    for (unsigned lane = 0; lane < 64; lane++) {
        row[lane]++;
        assert_false(lanes->affine(row, &stride));
        row[lane]--;
    }
    for (unsigned lane = 0; lane < 64; lane++)
        row[lane] = 0xffffff80u + 4 * lane; /* wraps */
    assert_false(lanes->affine(row, &stride));
    lanes->bounds(row, 3, &low, &high);
    assert_true(low == 0xffffff80u && high == 0xffffff84u);
    lanes->bounds(row, ~0ull, &low, &high);
    assert_true(low == 0 && high == 0xfffffffcu);
    for (unsigned lane = 0; lane < 64; lane++)
        row[lane] = 7;
    assert_true(lanes->uniform(row));
    assert_true(lanes->affine(row, &stride) && stride == 0);
}

static void check_permute(const struct rp_mem_lanes *lanes)
{
    uint32_t value[64], address[64], out[64], offset = next_random() % 1024;
    for (unsigned lane = 0; lane < 64; lane++) {
        value[lane] = next_random();
        address[lane] = next_random();
    }
    lanes->permute(out, value, address, offset);
    for (unsigned lane = 0; lane < 64; lane++)
        assert_int_equal(out[lane], value[(address[lane] + offset) / 4 % 64]);
}

/* What is behind the rows and dwords asked for stays. */
static void check_starts(const struct rp_mem_lanes *lanes)
{
    _Alignas(64) uint32_t rows[5][64];
    uint32_t from[49], to[49]; /* not where vectors would like them */
    const uint32_t first = next_random();
    for (unsigned count = 1; count < 5; count++) {
        memset(rows, 0xa5, sizeof rows);
        lanes->start_rows(rows, count, first);
        for (unsigned i = 0; i < 5 * 64; i++)
            assert_int_equal(rows[i / 64][i % 64], i < 64           ? first + i
                                                   : i < count * 64 ? 0
                                                                    : 0xa5a5a5a5u);
    }
    for (unsigned i = 0; i < 49; i++) {
        from[i] = next_random();
        to[i] = ~from[i];
    }
    lanes->copy_dwords(to + 1, from + 1, 32);
    for (unsigned i = 0; i < 49; i++)
        assert_int_equal(to[i], i >= 1 && i < 33 ? from[i] : ~from[i]);
}

static void check_level(enum rp_lane_level level)
{
    const struct rp_mem_lanes *lanes = rp_mem_lanes_level(level);
    if (!lanes) {
        print_message("level %d: not on this CPU\n", level);
        return;
    }
    check_shapes(lanes);
    check_permute(lanes);
    check_starts(lanes);
    for (unsigned round = 0; round < 300; round++)
        for (unsigned dwords = 1; dwords <= 4; dwords++) {
            check_moves(lanes, dwords, 0);
            check_moves(lanes, dwords, 1);
            if (dwords != 3) {
                check_rows(lanes, dwords, 0);
                check_rows(lanes, dwords, 1);
            }
        }
}

static void base_level(void **state)
{
    (void)state;
    assert_non_null(rp_mem_lanes_level(RP_LANE_BASE));
    check_level(RP_LANE_BASE);
}

static void v3_level(void **state)
{
    (void)state;
    check_level(RP_LANE_V3);
}

static void v4_level(void **state)
{
    (void)state;
    check_level(RP_LANE_V4);
}

static void index_row_may_be_overwritten(void **state)
{
    (void)state;
    struct world w, want;
    make_world(&w);
    want = w;
    const struct rp_mem_lanes *lanes = rp_mem_lanes_best();
    memcpy(w.rows[1], w.index, sizeof w.index);
    struct rp_spread spread = {
        .base = w.memory, .index = w.rows[1], .zero = ZERO, .last = BYTES - 16};
    lanes->load[4](w.rows, &spread, ~0ull);
    expect_load(&want, BYTES - 16, 4, ~0ull);
    assert_memory_equal(w.rows, want.rows, sizeof w.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_level),
        cmocka_unit_test(v3_level),
        cmocka_unit_test(v4_level),
        cmocka_unit_test(index_row_may_be_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
