/**
 * @file mem_points.h
 * @brief The world of test_mem_points.c and test_mem_lds.c, and what both do with it.
 */
#ifndef RP_TEST_MEM_POINTS_H
#define RP_TEST_MEM_POINTS_H

#include "mem_world.h"

static struct world w;

static inline int fresh(void **state)
{
    (void)state;
    world_init(&w);
    return 0;
}

static inline void set_address64(unsigned lane, uint64_t va)
{
    w.s.vgpr[R_ADDR][lane] = (uint32_t)va;
    w.s.vgpr[R_ADDR + 1][lane] = (uint32_t)(va >> 32);
}

static inline void set_addresses(uint64_t va, uint32_t step)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        set_address64(lane, va + (uint64_t)step * lane);
}

static inline uint32_t mem32(size_t at)
{
    uint32_t value;
    memcpy(&value, w.s.mem + at, 4);
    return value;
}

static inline uint32_t lds32(size_t at)
{
    uint32_t value;
    memcpy(&value, w.s.lds + at, 4);
    return value;
}

static inline void assert_fault(const struct form *f, enum rp_fault_kind kind, int lane,
                                const char *text)
{
    assert_int_equal(world_step(&w, f), RP_STEP_FAULT);
    assert_int_equal(w.wave.fault.kind, kind);
    assert_int_equal(w.wave.fault.lane, lane);
    if (!strstr(w.wave.fault.text, text))
        fail_msg("\"%s\" does not contain \"%s\"", w.wave.fault.text, text);
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

#endif
