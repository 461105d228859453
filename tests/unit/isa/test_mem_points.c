/*
 * What is easy to get wrong about memory instructions (addresses, apertures, interleaving, range
 * checks), LDS and lanes (permutes, loads to LDS, counters, M0), and the rows of ops_mem.def whose
 * names do not say what they do.
 */
#include <pthread.h>

#include "arch/arch.h"
#include "device/isa/wave_state.h"

#include "unit/isa/mem_world.h"

static struct world w;

static int fresh(void **state)
{
    (void)state;
    world_init(&w);
    return 0;
}

static void set_address64(unsigned lane, uint64_t va)
{
    w.s.vgpr[R_ADDR][lane] = (uint32_t)va;
    w.s.vgpr[R_ADDR + 1][lane] = (uint32_t)(va >> 32);
}

static void set_addresses(uint64_t va, uint32_t step)
{
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        set_address64(lane, va + (uint64_t)step * lane);
}

static uint32_t mem32(size_t at)
{
    uint32_t value;
    memcpy(&value, w.s.mem + at, 4);
    return value;
}

static uint32_t lds32(size_t at)
{
    uint32_t value;
    memcpy(&value, w.s.lds + at, 4);
    return value;
}

static void assert_fault(const struct form *f, enum rp_fault_kind kind, int lane, const char *text)
{
    assert_int_equal(world_step(&w, f), RP_STEP_FAULT);
    assert_int_equal(w.wave.fault.kind, kind);
    assert_int_equal(w.wave.fault.lane, lane);
    if (!strstr(w.wave.fault.text, text))
        fail_msg("\"%s\" does not contain \"%s\"", w.wave.fault.text, text);
}

/*
 * What is easy to get wrong about memory instructions (addresses, apertures, interleaving, range
 * checks), and the rows of ops_mem.def whose names do not say what they do.
 */

/* ---- 15: FLAT and the apertures ---- */

static void point15_flat_lanes_pick_their_space(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_flat_load_dword};
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        const uint64_t va[] = {WORLD_VA + 8 * lane, WORLD_LDS_VA + 8 * lane,
                               WORLD_PRIV_VA + 8 * (lane % 16)};
        set_address64(lane, va[lane % 3]);
    }
    struct state before = w.s;
    world_run(&w, &load);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint32_t want;
        const uint8_t *from[] = {before.mem + 8 * lane, before.lds + 8 * lane,
                                 before.priv + (size_t)(2 * (lane % 16) * 64 + lane) * 4};
        memcpy(&want, from[lane % 3], 4);
        assert_int_equal(w.s.vgpr[R_DST][lane], want);
    }
}

static void point15_apertures_are_whole_high_halves(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_flat_load_dword}, store = {.op = RP_OP_flat_store_dword};
    set_addresses(WORLD_VA, 4);
    set_address64(9, WORLD_LDS_VA + WORLD_LDS_BYTES);
    assert_fault(&load, RP_FAULT_LDS, 9, "outside the LDS allocation");
    set_address64(9, WORLD_PRIV_VA + WORLD_LANE_BYTES);
    assert_fault(&store, RP_FAULT_MEMORY, 9, "outside the private segment");
    set_address64(9, WORLD_LDS_VA - 4); /* below the aperture: ordinary memory, not mapped */
    assert_fault(&load, RP_FAULT_MEMORY, 9, "unmapped");
    set_address64(9, WORLD_LDS_VA + (1ull << 32));
    assert_fault(&load, RP_FAULT_MEMORY, 9, "unmapped");
    load.op = RP_OP_global_load_dword; /* GLOBAL knows no apertures */
    set_address64(9, WORLD_LDS_VA);
    assert_fault(&load, RP_FAULT_MEMORY, 9, "unmapped");
}

static void point15_src_shared_base_agrees(void **state)
{
    (void)state;
    struct rp_opnd o = {.kind = RP_OPND_SPECIAL, .dwords = 2, .index = 235};
    assert_true(rp_opnd_scalar_slow(&w.wave, &o) == WORLD_LDS_VA);
    o.index = 237;
    assert_true(rp_opnd_scalar_slow(&w.wave, &o) == WORLD_PRIV_VA);
}

/* ---- 16: offsets ---- */

static void point16_global_offsets_have_a_sign(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_global_load_dword, .offset = -4096};
    set_addresses(WORLD_VA + 4096, 4);
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][5], mem32(20));
    load.offset = 4095;
    set_addresses(WORLD_VA, 4);
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][5], mem32(4095 + 20));
}

static void point16_vector_offset_to_a_scalar_base_is_unsigned(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_global_load_dword, .saddr = true};
    set_addresses(0xfffffff0, 0); /* 4 GiB up, not 16 bytes down */
    world_sgpr64(&w, R_SADDR, WORLD_VA + 64 - 0xfffffff0ull);
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][0], mem32(64));
}

static void point16_ds_offset_is_unsigned_and_m0_no_limit(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_ds_read_b32, .offset = 0x1000};
    w.s.sgpr[RP_SGPR_M0] = 16; /* gfx8 would clamp here */
    set_addresses(0, 4);
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][7], lds32(0x1000 + 28));
    load.offset = 0xfffc; /* beyond the allocation: zero, not a negative offset */
    set_addresses(64, 4);
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][0], 0);
}

static void point16_st64_scales_by_64_elements(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_ds_read2st64_b64, .offset = 0x0302};
    set_addresses(0, 8);
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][3], lds32(2 * 512 + 24));
    assert_int_equal(w.s.vgpr[R_DST + 2][3], lds32(3 * 512 + 24));
}

static void point16_equal_offsets_write_the_first_data_once(void **state)
{
    (void)state;
    struct form store = {.op = RP_OP_ds_write2_b32, .offset = 0x0505};
    set_addresses(0, 4);
    world_run(&w, &store);
    assert_int_equal(lds32(20 + 12), w.s.vgpr[R_DATA][3]);
}

/* ---- 17: scratch ---- */

static void point17_scratch_interleaves_dwords_of_64_lanes(void **state)
{
    (void)state;
    struct form store = {.op = RP_OP_scratch_store_dwordx2, .vaddr = true, .saddr = true};
    set_addresses(3, 0); /* unaligned: bytes of three dwords */
    w.s.sgpr[R_SADDR] = 16;
    world_run(&w, &store);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint64_t data = w.s.vgpr[R_DATA][lane] | (uint64_t)w.s.vgpr[R_DATA + 1][lane] << 32;
        for (unsigned i = 0; i < 8; i++) {
            unsigned at = 19 + i;
            assert_int_equal(w.s.priv[(at / 4 * 64 + lane) * 4 + at % 4], data >> (8 * i) & 0xff);
        }
    }
}

static void point17_flat_reaches_the_same_scratch(void **state)
{
    (void)state;
    struct form store = {.op = RP_OP_scratch_store_dwordx4, .saddr = true, .offset = -16};
    struct form load = {.op = RP_OP_flat_load_dwordx4};
    w.s.sgpr[R_SADDR] = 64;
    world_run(&w, &store);
    set_addresses(WORLD_PRIV_VA + 48, 0);
    world_run(&w, &load);
    assert_memory_equal(w.s.vgpr[R_DST], w.s.vgpr[R_DATA], 4 * sizeof w.s.vgpr[0]);
}

static void point17_scratch_ends_where_its_lane_ends(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_scratch_load_dword, .vaddr = true, .offset = 4};
    set_addresses(0, 4);
    w.s.vgpr[R_ADDR][63] = WORLD_LANE_BYTES - 4;
    assert_fault(&load, RP_FAULT_MEMORY, 63, "private segment");
    w.s.vgpr[R_ADDR][63] = (uint32_t)-8; /* 32-bit arithmetic: 4 bytes below zero */
    assert_fault(&load, RP_FAULT_MEMORY, 63, "private segment");
}

/* ---- 18: buffers ---- */

enum { ADD_TID = 1 << 23 };

static void point18_raw_buffers_are_checked_dword_by_dword(void **state)
{
    (void)state;
    struct form load = {
        .op = RP_OP_buffer_load_dwordx4, .offen = true, .offset = 8, .soffset = true};
    w.s.sgpr[R_SOFF] = 100;
    world_resource(&w, WORLD_VA, 0, 1000, 0);
    set_addresses(0, 16);
    for (unsigned lane = 60; lane < 64; lane++)
        w.s.vgpr[R_ADDR][lane] = 1000 - 108 - 16 + 4 * (lane - 60); /* its last dwords are out */
    w.s.vgpr[R_ADDR][0] = 0xffffffff;
    world_run(&w, &load);
    for (unsigned lane = 60; lane < 64; lane++)
        for (unsigned i = 0; i < 4; i++) {
            unsigned at = 1000 - 16 + 4 * (lane - 60) + 4 * i;
            assert_int_equal(w.s.vgpr[R_DST + i][lane], at + 4 <= 1000 ? mem32(at) : 0);
        }
    assert_int_equal(w.s.vgpr[R_DST][1], mem32(124));
    struct form store = {.op = RP_OP_buffer_store_dwordx2, .offen = true};
    world_resource(&w, WORLD_VA, 0, 4, 0);
    set_addresses(0, 8);
    w.s.vgpr[R_DATA][0] = 77;
    uint32_t beyond = mem32(4);
    world_run(&w, &store);
    assert_int_equal(mem32(0), 77);
    assert_int_equal(mem32(4), beyond);
}

static void point18_out_of_range_half_is_zero_as_a_whole(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_buffer_load_short_d16_hi, .offen = true};
    world_resource(&w, WORLD_VA, 0, 0, 0);
    w.s.vgpr[R_DST][3] = 0xdeadbeef;
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][3], 0);
}

static void point18_structured_buffers_check_the_record(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_buffer_load_dword, .idxen = true, .offen = true};
    world_resource(&w, WORLD_VA + 32, 20, 10, 0);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        w.s.vgpr[R_ADDR][lane] = lane % 12;
        w.s.vgpr[R_ADDR + 1][lane] = 4 * lane; /* may leave the record: nobody minds */
    }
    world_run(&w, &load);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        assert_int_equal(w.s.vgpr[R_DST][lane],
                         lane % 12 < 10 ? mem32(32 + lane % 12 * 20 + 4 * lane) : 0);
    load.idxen = false; /* without an index the same resource counts bytes */
    set_addresses(0, 4);
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][1], mem32(36));
    assert_int_equal(w.s.vgpr[R_DST][2], 0);
}

static void point18_add_tid_and_long_strides(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_buffer_load_dword, .offen = true};
    world_resource(&w, WORLD_VA, 100, 0, ADD_TID); /* and no range check without an index */
    set_addresses(8, 0);
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][9], mem32(900 + 8));
    world_resource(&w, WORLD_VA - 5 * (1u << 14), 4, 0, ADD_TID | 1 << 15);
    world_exec(&w, 1 << 5);
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][5], mem32(5 * 4 + 8));
}

static void point18_swizzle_interleaves_records(void **state)
{
    (void)state;
    struct form store = {.op = RP_OP_buffer_store_dwordx2, .offen = true, .soffset = true};
    w.s.sgpr[R_SOFF] = 40;
    world_resource(&w, WORLD_VA, 32, 0, ADD_TID | 1 << 21); /* index stride 16 */
    w.s.sgpr[R_RSRC + 1] |= 1u << 31;
    set_addresses(12, 0);
    world_run(&w, &store);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        for (unsigned i = 0; i < 2; i++) { /* 16 records of 32 bytes, a dword of each in turn */
            size_t at = 40 + lane / 16 * (16 * 32) + (12 / 4 + i) * 64 + lane % 16 * 4;
            assert_int_equal(mem32(at), w.s.vgpr[R_DATA + i][lane]);
        }
}

static void point18_atomics_out_of_range_do_nothing(void **state)
{
    (void)state;
    struct form add = {.op = RP_OP_buffer_atomic_add_x2, .offen = true, .sc0 = true};
    world_resource(&w, WORLD_VA, 0, 12, 0); /* half of the second word */
    set_addresses(8, 0);
    world_exec(&w, 2);
    struct state want = w.s;
    want.vgpr[R_DATA][1] = want.vgpr[R_DATA + 1][1] = 0;
    world_run(&w, &add);
    assert_same_state(&w.s, &want, "buffer_atomic_add_x2");
}

/* ---- 19: cache bits ---- */

static void point19_cache_operations_change_nothing(void **state)
{
    (void)state;
    static const unsigned ops[] = {RP_OP_buffer_wbl2,
                                   RP_OP_buffer_inv,
                                   RP_OP_s_dcache_inv,
                                   RP_OP_s_dcache_wb,
                                   RP_OP_s_dcache_inv_vol,
                                   RP_OP_s_dcache_wb_vol,
                                   RP_OP_s_atc_probe,
                                   RP_OP_s_atc_probe_buffer,
                                   RP_OP_s_dcache_discard,
                                   RP_OP_s_dcache_discard_x2,
                                   RP_OP_ds_nop};
    struct state want = w.s;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        struct form f = {.op = ops[i], .sc0 = true};
        world_run(&w, &f);
        assert_same_state(&w.s, &want, rp_isa_mnemonic(ops[i]));
    }
}

static void point19_sc0_returns_only_for_atomics(void **state)
{
    (void)state;
    struct form add = {.op = RP_OP_global_atomic_add};
    set_addresses(WORLD_VA, 4);
    uint32_t dst = w.s.vgpr[R_DST][4], old = mem32(16);
    world_run(&w, &add);
    assert_int_equal(w.s.vgpr[R_DST][4], dst);
    assert_int_equal(mem32(16), old + w.s.vgpr[R_DATA][4]);
    add.sc0 = true;
    old = mem32(16);
    world_run(&w, &add);
    assert_int_equal(w.s.vgpr[R_DST][4], old);
    struct form load = {.op = RP_OP_global_load_dword, .sc0 = true};
    world_run(&w, &load);
    assert_int_equal(w.s.vgpr[R_DST][4], mem32(16));
}

/* ---- 20: atomics ---- */

enum { HOST_ADDS = 200000, WAVE_ADDS = 2000 };

static void *add_on_the_host(void *counter)
{
    for (unsigned i = 0; i < HOST_ADDS; i++)
        __atomic_fetch_add((uint32_t *)counter, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void point20_atomics_and_the_host_share_words(void **state)
{
    (void)state;
    struct form add = {.op = RP_OP_global_atomic_add};
    pthread_t thread;
    memset(w.s.mem, 0, 8);
    set_addresses(WORLD_VA, 0);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        w.s.vgpr[R_DATA][lane] = 1;
    assert_int_equal(pthread_create(&thread, NULL, add_on_the_host, w.s.mem), 0);
    for (unsigned i = 0; i < WAVE_ADDS; i++)
        world_step(&w, &add);
    pthread_join(thread, NULL);
    assert_int_equal(mem32(0), HOST_ADDS + WAVE_ADDS * RP_LANES);
}

static void point20_compare_operands_in_order(void **state)
{
    (void)state;
    struct form swap = {.op = RP_OP_global_atomic_cmpswap, .sc0 = true};
    struct form store = {.op = RP_OP_ds_cmpst_rtn_b32};
    world_exec(&w, 1);
    set_addresses(WORLD_VA, 0);
    memcpy(w.s.mem, &(uint32_t){5}, 4);
    w.s.vgpr[R_DATA][0] = 9; /* new */
    w.s.vgpr[R_DATA + 1][0] = 5;
    world_run(&w, &swap);
    assert_int_equal(mem32(0), 9);
    assert_int_equal(w.s.vgpr[R_DST][0], 5);
    set_addresses(0, 0);
    memcpy(w.s.lds, &(uint32_t){5}, 4);
    w.s.vgpr[R_DATA][0] = 5; /* expected */
    w.s.vgpr[R_DATA2][0] = 9;
    world_run(&w, &store);
    assert_int_equal(lds32(0), 9);
}

static void point20_misaligned_atomics_fault(void **state)
{
    (void)state;
    struct form add = {.op = RP_OP_global_atomic_add_x2};
    set_addresses(WORLD_VA, 8);
    set_address64(11, WORLD_VA + 4);
    assert_fault(&add, RP_FAULT_MEMORY, 11, "misaligned atomic");
    add.op = RP_OP_flat_atomic_add;
    set_addresses(WORLD_LDS_VA + 2, 4);
    assert_fault(&add, RP_FAULT_LDS, 0, "misaligned");
    struct form scalar = {.op = RP_OP_s_atomic_add_x2};
    world_sgpr64(&w, R_SADDR, WORLD_VA + 4);
    assert_fault(&scalar, RP_FAULT_MEMORY, -1, "misaligned atomic");
}

/* ---- what has no number ---- */

static void scalar_buffers_drop_dwords_out_of_range(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_s_buffer_load_dwordx4};
    struct form store = {.op = RP_OP_s_buffer_store_dwordx4};
    struct form add = {.op = RP_OP_s_buffer_atomic_add, .offset = 32, .sc0 = true};
    world_resource(&w, WORLD_VA, 4, 2, 0); /* two records of four bytes */
    struct state want = w.s;
    memcpy(want.mem, &want.sgpr[R_SDATA], 8);
    world_run(&w, &store);
    assert_same_state(&w.s, &want, "s_buffer_store_dwordx4");
    want.sgpr[R_SDATA + 2] = want.sgpr[R_SDATA + 3] = 0;
    world_run(&w, &load);
    assert_same_state(&w.s, &want, "s_buffer_load_dwordx4");
    want.sgpr[R_SDATA] = 0;
    world_run(&w, &add);
    assert_same_state(&w.s, &want, "s_buffer_atomic_add");
}

static uint64_t some_ticks(void *ctx)
{
    (void)ctx;
    return 0;
}

static void clocks_read_the_modelled_time(void **state)
{
    (void)state;
    struct form time = {.op = RP_OP_s_memtime}, real = {.op = RP_OP_s_memrealtime};
    struct rp_arch arch = {.engine_clock_mhz = 2100, .timestamp_mhz = 100};
    struct rp_dispatch dispatch = {.host = &w.host, .arch = &arch, .start_ticks = 1000};
    w.group.dispatch = &dispatch;
    w.env.services = &rp_exec_services;
    w.host.clock_ticks = some_ticks;
    w.wave.cycles = 4200; /* 2 microseconds */
    world_run(&w, &time);
    assert_int_equal(w.s.sgpr[R_SDATA], 21000 + 4200);
    world_run(&w, &real);
    assert_int_equal(w.s.sgpr[R_SDATA], 1000 + 200);
    assert_int_equal(w.s.sgpr[R_SDATA + 1], 0);
}

/* ---- faults ---- */

static void wide_accesses_fault_when_any_part_is_unmapped(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_global_load_dwordx4};
    struct form store = {.op = RP_OP_global_store_dwordx4};
    set_addresses(WORLD_VA, 16);
    set_address64(40, WORLD_VA + WORLD_MEM_BYTES - 8);
    assert_fault(&load, RP_FAULT_MEMORY, 40, "read of unmapped");
    assert_fault(&store, RP_FAULT_MEMORY, 40, "write to unmapped");
    world_exec(&w, ~(1ull << 40)); /* lanes that are off do not matter */
    world_run(&w, &load);
}

/* Neighbouring mappings need not be neighbours in host memory. */
static void accesses_may_cross_mappings(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_global_load_dwordx4}, store = {.op = RP_OP_flat_store_dwordx3};
    w.split = 4096 + 6;
    set_addresses(WORLD_VA + 4096 - 50 * 16, 16);
    world_run(&w, &load);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(w.s.vgpr[R_DST + i][lane], mem32(4096 - 50 * 16 + 16 * lane + 4 * i));
    struct state want = w.s;
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        for (unsigned i = 0; i < 3; i++)
            memcpy(want.mem + 4096 - 50 * 16 + 16 * lane + 4 * i, &want.vgpr[R_DATA + i][lane], 4);
    world_run(&w, &store);
    assert_same_state(&w.s, &want, "flat_store_dwordx3");
    world_sgpr64(&w, R_SADDR, WORLD_VA + 4096);
    want = w.s;
    memcpy(&want.sgpr[R_SDATA], w.s.mem + 4096, 16);
    world_run(&w, &(struct form){.op = RP_OP_s_load_dwordx4});
    assert_same_state(&w.s, &want, "s_load_dwordx4");
    want.sgpr[R_SDATA + 1] = w.s.sgpr[R_SDATA + 1] = 12345;
    memcpy(want.mem + 4096, &want.sgpr[R_SDATA], 16);
    world_run(&w, &(struct form){.op = RP_OP_s_store_dwordx4});
    assert_same_state(&w.s, &want, "s_store_dwordx4");
    world_resource(&w, WORLD_VA, 0, 8192, 0);
    set_addresses(4000, 16);
    world_run(&w, &(struct form){.op = RP_OP_buffer_load_dword, .offen = true, .offset = 4});
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        assert_int_equal(w.s.vgpr[R_DST][lane], mem32(4004 + 16 * lane));
    want = w.s;
    memcpy(want.mem + 4100, &want.vgpr[R_DATA][6], 4);
    world_exec(&w, 1 << 6);
    want.sgpr[RP_SGPR_EXEC_LO] = 1 << 6;
    want.sgpr[RP_SGPR_EXEC_LO + 1] = 0;
    world_run(&w, &(struct form){.op = RP_OP_buffer_store_dword, .offen = true, .offset = 4});
    assert_same_state(&w.s, &want, "buffer_store_dword");
}

static enum rp_memory_location behind_the_link(void *ctx, uint64_t va)
{
    (void)ctx, (void)va;
    return RP_PLACE_HOST;
}

/* What crosses the link costs modelled time: the same, however the memory happens to be mapped. */
static void links_count_the_same_in_pieces(void **state)
{
    (void)state;
    static const struct {
        unsigned op, bytes, write;
    } ops[] = {{RP_OP_global_load_dword, 4, 0},
               {RP_OP_flat_load_dwordx4, 16, 0},
               {RP_OP_global_load_ubyte, 1, 0},
               {RP_OP_global_store_dwordx2, 8, 1},
               {RP_OP_flat_store_short, 2, 1}};
    static const uint64_t splits[] = {0, 4096, 4096 + 6, 4096 + 300}, execs[] = {~0ull, 0xf0f0f0f0};
    static const unsigned strides[] = {16, 64, 200};
    w.host.place = behind_the_link;
    for (unsigned i = 0; i < 5 * 4 * 2 * 3; i++) {
        unsigned op = i % 5, stride = strides[i / 40];
        uint64_t exec = execs[i / 20 % 2];
        w.split = splits[i / 5 % 4];
        rp_mem_init(&w.env.mem, &w.host); /* nothing cached of the mappings before */
        w.env.mem.counts = &w.env.counts;
        w.env.counts = (struct rp_counts){0};
        set_addresses(WORLD_VA + 3000, stride);
        world_exec(&w, exec);
        world_run(&w, &(struct form){.op = ops[op].op});
        uint64_t lanes = (uint64_t)__builtin_popcountll(exec);
        uint64_t first = (uint64_t)__builtin_ctzll(exec),
                 last = 63 - (uint64_t)__builtin_clzll(exec);
        uint64_t span = (last - first) * stride + ops[op].bytes;
        uint64_t want = span < 64 * lanes ? span : 64 * lanes; /* at most a request for a lane */
        assert_int_equal(w.env.counts.link_bytes[RP_PLACE_HOST][ops[op].write], want);
        assert_int_equal(w.env.counts.link_bytes[RP_PLACE_HOST][!ops[op].write], 0);
    }
}

static void read_only_memory_can_be_read(void **state)
{
    (void)state;
    w.read_only = true;
    set_addresses(WORLD_VA, 4);
    world_run(&w, &(struct form){.op = RP_OP_global_load_dword});
    assert_fault(&(struct form){.op = RP_OP_global_store_byte}, RP_FAULT_MEMORY, 0, "read-only");
    assert_fault(&(struct form){.op = RP_OP_global_atomic_or}, RP_FAULT_MEMORY, 0, "read-only");
    world_sgpr64(&w, R_SADDR, WORLD_VA);
    assert_fault(&(struct form){.op = RP_OP_s_store_dword}, RP_FAULT_MEMORY, -1, "read-only");
    world_resource(&w, WORLD_VA, 0, 4096, 0);
    set_addresses(0, 4);
    assert_fault(&(struct form){.op = RP_OP_buffer_store_dword, .offen = true}, RP_FAULT_MEMORY, 0,
                 "read-only");
}

static void global_data_share_is_refused(void **state)
{
    (void)state;
    assert_fault(&(struct form){.op = RP_OP_ds_add_u32, .gds = true}, RP_FAULT_UNIMPLEMENTED, -1,
                 "ds_add_u32");
}

/*
 * What is easy to get wrong about LDS and lanes (permutes, loads to LDS, counters, M0), and the
 * rows of ops_mem.def there whose names do not say what they do.
 */

/* ---- 21: permutes ---- */

static void point21_bpermute_pulls(void **state)
{
    (void)state;
    struct form f = {.op = RP_OP_ds_bpermute_b32, .offset = 8};
    uint64_t exec = 0x00ff00ff00ff00f3;
    world_exec(&w, exec);
    struct state before = w.s;
    world_run(&w, &f);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        unsigned from = (before.vgpr[R_ADDR][lane] + 8) >> 2 & 63; /* upper bits do not count */
        uint32_t want = exec >> from & 1 ? before.vgpr[R_DATA][from] : 0;
        assert_int_equal(w.s.vgpr[R_DST][lane], exec >> lane & 1 ? want : before.vgpr[R_DST][lane]);
    }
}

static void point21_permute_pushes(void **state)
{
    (void)state;
    struct form f = {.op = RP_OP_ds_permute_b32};
    uint64_t exec = ~0xf0full;
    world_exec(&w, exec);
    for (unsigned lane = 0; lane < RP_LANES; lane++)
        w.s.vgpr[R_ADDR][lane] = (lane / 2 * 4) | 0xabcd00u << 8; /* pairs collide */
    struct state before = w.s;
    world_run(&w, &f);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint32_t want = 0; /* the guide: the highest lane wins */
        for (unsigned from = 0; from < RP_LANES; from++)
            if (exec >> from & 1 && (from / 2) % 64 == lane)
                want = before.vgpr[R_DATA][from];
        assert_int_equal(w.s.vgpr[R_DST][lane], exec >> lane & 1 ? want : before.vgpr[R_DST][lane]);
    }
}

/* The source is the address operand of the encoding. */
static void check_swizzle(uint32_t pattern, const uint8_t *source32)
{
    struct form f = {.op = RP_OP_ds_swizzle_b32, .offset = (int32_t)pattern};
    uint64_t exec = ~(1ull << 7);
    world_exec(&w, exec);
    struct state before = w.s;
    world_run(&w, &f);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        unsigned from = (lane & 32) | source32[lane & 31];
        uint32_t want = from == 7 ? 0 : before.vgpr[R_ADDR][from];
        assert_int_equal(w.s.vgpr[R_DST][lane], lane == 7 ? before.vgpr[R_DST][7] : want);
    }
}

static void point21_swizzle_modes(void **state)
{
    (void)state;
    /* The two lists the ISA guide gives for the FFT mode (there counted from 1). */
    static const uint8_t fft0[32] = {0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10, 26, 6, 22, 14, 30,
                                     1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23, 15, 31};
    static const uint8_t fft16[32] = {0,  8,  4,  12, 2,  10, 6,  14, 1,  9,  5,
                                      13, 3,  11, 7,  15, 16, 24, 20, 28, 18, 26,
                                      22, 30, 17, 25, 21, 29, 19, 27, 23, 31};
    uint8_t source[32];
    check_swizzle(0xe000, fft0);
    check_swizzle(0xe010, fft16);
    for (unsigned n = 0; n < 32; n++)
        source[n] = (uint8_t)n;
    check_swizzle(0xe01f, source);
    for (unsigned n = 0; n < 32; n++)
        source[n] = (uint8_t)((n & 24) | ((n + 3) & 7)); /* rotate left by 3 in groups of 8 */
    check_swizzle(0xc000 | 3 << 5 | 24, source);
    for (unsigned n = 0; n < 32; n++)
        source[n] = (uint8_t)((n - 5) & 31);
    check_swizzle(0xc000 | 1 << 10 | 5 << 5, source);
    for (unsigned n = 0; n < 32; n++)
        source[n] = (uint8_t)((n & 28) | (3 - (n & 3)));
    check_swizzle(0x8000 | 3 | 2 << 2 | 1 << 4 | 0 << 6, source);
    for (unsigned n = 0; n < 32; n++)
        source[n] = (uint8_t)(((n & 0x15) | 2) ^ 0x18);
    check_swizzle(0x18 << 10 | 2 << 5 | 0x15, source);
}

/* ---- 22: loads to LDS ---- */

static void point22_loads_to_lds_add_m0_offset_and_lane(void **state)
{
    (void)state;
    static const unsigned ops[] = {RP_OP_global_load_lds_sbyte, RP_OP_buffer_load_sbyte};
    for (unsigned k = 0; k < 2; k++) {
        struct form load = {.op = ops[k], .offset = 24, .offen = k, .lds = k};
        w.s.sgpr[RP_SGPR_M0] = 0xffff0000u | 256; /* 16 bits count */
        world_resource(&w, WORLD_VA, 0, 24 + 3 * 60, 0);
        set_addresses(k ? 0 : WORLD_VA, 3);
        fill_random(w.s.lds, sizeof w.s.lds);
        world_exec(&w, ~(1ull << 2));
        uint32_t off = lds32(256 + 24 + 8);
        world_run(&w, &load);
        assert_int_equal(lds32(256 + 24 + 8), off);
        assert_int_equal(lds32(256 + 24 + 4 * 9), (uint32_t)(int8_t)w.s.mem[24 + 27]);
        /* Lanes beyond the buffer still write: zero. */
        assert_int_equal(lds32(256 + 24 + 4 * 62), k ? 0 : (uint32_t)(int8_t)w.s.mem[24 + 186]);
    }
    struct form load = {.op = RP_OP_scratch_load_lds_dword, .vaddr = true};
    w.s.sgpr[RP_SGPR_M0] = WORLD_LDS_BYTES - 4; /* one lane fits, the others write nothing */
    set_addresses(20, 0);
    world_exec(&w, ~0ull);
    world_run(&w, &load);
    uint32_t want;
    memcpy(&want, w.s.priv + 5 * 64 * 4, 4);
    assert_int_equal(lds32(WORLD_LDS_BYTES - 4), want);
}

/* ---- 23: s_waitcnt ---- */

static void point23_waitcnt_waits_for_nothing(void **state)
{
    (void)state;
    static const uint32_t waits[] = {0xbf8c0000, 0xbf8c0f70, 0xbf8cc07f, 0xbf8cffff};
    struct state want = w.s;
    for (unsigned i = 0; i < 4; i++) {
        struct rp_insn in;
        assert_int_equal(rp_isa_decode(&waits[i], 1, &in), 4);
        assert_int_equal(in.op, RP_OP_s_waitcnt);
        assert_int_equal(in.fn(&w.wave, &in), RP_STEP_NEXT);
    }
    assert_same_state(&w.s, &want, "s_waitcnt");
}

/* ---- what has no number ---- */

static void addtid_forms_use_m0_and_the_lane(void **state)
{
    (void)state;
    struct form load = {.op = RP_OP_ds_read_addtid_b32, .offset = 100};
    struct form store = {.op = RP_OP_ds_write_addtid_b32, .offset = 100};
    w.s.sgpr[RP_SGPR_M0] = 0x70000 | 1000;
    uint64_t exec = 0xaaaa;
    world_exec(&w, exec);
    struct state want = w.s;
    for (unsigned lane = 1; lane < 16; lane += 2)
        memcpy(&want.vgpr[R_DST][lane], want.lds + 1100 + 4 * lane, 4);
    world_run(&w, &load);
    assert_same_state(&w.s, &want, "ds_read_addtid_b32");
    for (unsigned lane = 1; lane < 16; lane += 2)
        memcpy(want.lds + 1100 + 4 * lane, &want.vgpr[R_DATA][lane], 4);
    world_run(&w, &store);
    assert_same_state(&w.s, &want, "ds_write_addtid_b32");
}

static void append_and_consume_count_active_lanes(void **state)
{
    (void)state;
    struct form append = {.op = RP_OP_ds_append, .offset = 8};
    struct form consume = {.op = RP_OP_ds_consume, .offset = 8};
    w.s.sgpr[RP_SGPR_M0] = 16;
    world_exec(&w, 0xf00f);
    struct state want = w.s;
    uint32_t old = lds32(24);
    memcpy(want.lds + 24, &(uint32_t){old + 8}, 4);
    for (unsigned lane = 0; lane < 16; lane++)
        if (0xf00f >> lane & 1)
            want.vgpr[R_DST][lane] = old;
    world_run(&w, &append);
    assert_same_state(&w.s, &want, "ds_append");
    for (unsigned lane = 0; lane < 16; lane++)
        if (0xf00f >> lane & 1)
            want.vgpr[R_DST][lane] = old + 8;
    memcpy(want.lds + 24, &old, 4);
    world_run(&w, &consume);
    assert_same_state(&w.s, &want, "ds_consume");
    world_exec(&w, 0);
    want = w.s;
    world_run(&w, &append);
    assert_same_state(&w.s, &want, "ds_append without lanes");
}

static void condxchg_writes_where_the_top_bit_is_set(void **state)
{
    (void)state;
    struct form f = {.op = RP_OP_ds_condxchg32_rtn_b64, .offset = 3};
    set_addresses(64, 8);
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        w.s.vgpr[R_DATA][lane] = 1000 + lane + (lane & 1 ? 1u << 31 : 0);
        w.s.vgpr[R_DATA + 1][lane] = 2000 + lane + (lane & 2 ? 1u << 31 : 0);
    }
    struct state want = w.s;
    for (unsigned lane = 0; lane < RP_LANES; lane++) {
        uint8_t *p = want.lds + 64 + 8 * lane; /* a multiple of 8: the offset's low bits go */
        memcpy(&want.vgpr[R_DST][lane], p, 4);
        memcpy(&want.vgpr[R_DST + 1][lane], p + 4, 4);
        if (lane & 1)
            memcpy(p, &(uint32_t){1000 + lane}, 4);
        if (lane & 2)
            memcpy(p + 4, &(uint32_t){2000 + lane}, 4);
    }
    world_run(&w, &f);
    assert_same_state(&w.s, &want, "ds_condxchg32_rtn_b64");
}

/* Three waves, two barriers; the last to come says how many are expected next. */
static void gws_barrier_opens_for_the_last_wave(void **state)
{
    (void)state;
    static struct rp_gws gws;
    struct form init = {.op = RP_OP_ds_gws_init, .gds = true, .offset = 5};
    struct form barrier = {.op = RP_OP_ds_gws_barrier, .gds = true, .offset = 5};
    memset(&gws, 0, sizeof gws);
    assert_fault(&barrier, RP_FAULT_UNIMPLEMENTED, -1, "global wave sync");
    w.host.gws = &gws;
    w.s.sgpr[RP_SGPR_M0] = 3 << 16;
    world_exec(&w, ~1ull);
    w.s.vgpr[R_ADDR][1] = 2; /* first active lane: three waves */
    w.s.vgpr[R_ADDR][0] = 99;
    assert_int_equal(world_step(&w, &init), RP_STEP_NEXT);
    assert_int_equal(gws.resource[8].counter, 2);
    w.s.vgpr[R_ADDR][1] = 1; /* next time two */
    struct rp_wave waves[3] = {w.wave, w.wave, w.wave};
    static const int steps[][2] = {{0, RP_STEP_YIELD}, {1, RP_STEP_YIELD}, {0, RP_STEP_YIELD},
                                   {2, RP_STEP_NEXT},  {2, RP_STEP_YIELD}, {1, RP_STEP_NEXT},
                                   {0, RP_STEP_NEXT},  {0, RP_STEP_NEXT},  {2, RP_STEP_NEXT}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        w.wave = waves[steps[i][0]];
        uint64_t pc = w.wave.pc;
        assert_int_equal(world_step(&w, &barrier), steps[i][1]);
        assert_int_equal(w.wave.pc - pc, steps[i][1] == RP_STEP_NEXT ? 8 : 0);
        waves[steps[i][0]] = w.wave;
    }
}

/* P waits, at its own address, for as many V as there were P before. */
static void gws_semaphore_counts(void **state)
{
    (void)state;
    static struct rp_gws gws;
    struct form v = {.op = RP_OP_ds_gws_sema_v, .gds = true, .offset = 7};
    struct form p = {.op = RP_OP_ds_gws_sema_p, .gds = true, .offset = 7};
    static const struct {
        bool is_v;
        int step;
        uint32_t counter;
    } steps[] = {{false, RP_STEP_YIELD, 0}, {true, RP_STEP_NEXT, 1},  {true, RP_STEP_NEXT, 2},
                 {false, RP_STEP_NEXT, 1},  {false, RP_STEP_NEXT, 0}, {false, RP_STEP_YIELD, 0}};
    memset(&gws, 0, sizeof gws);
    w.host.gws = NULL;
    assert_fault(&p, RP_FAULT_UNIMPLEMENTED, -1, "global wave sync");
    w.host.gws = &gws;
    w.s.sgpr[RP_SGPR_M0] = 2 << 16;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const uint64_t pc = w.wave.pc;
        assert_int_equal(world_step(&w, steps[i].is_v ? &v : &p), steps[i].step);
        assert_int_equal(w.wave.pc - pc, steps[i].step == RP_STEP_NEXT ? 8 : 0);
        assert_int_equal(gws.resource[9].counter, steps[i].counter);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, fresh)
    const struct CMUnitTest tests[] = {
        TEST(point15_flat_lanes_pick_their_space),
        TEST(point15_apertures_are_whole_high_halves),
        TEST(point15_src_shared_base_agrees),
        TEST(point16_global_offsets_have_a_sign),
        TEST(point16_vector_offset_to_a_scalar_base_is_unsigned),
        TEST(point16_ds_offset_is_unsigned_and_m0_no_limit),
        TEST(point16_st64_scales_by_64_elements),
        TEST(point16_equal_offsets_write_the_first_data_once),
        TEST(point17_scratch_interleaves_dwords_of_64_lanes),
        TEST(point17_flat_reaches_the_same_scratch),
        TEST(point17_scratch_ends_where_its_lane_ends),
        TEST(point18_raw_buffers_are_checked_dword_by_dword),
        TEST(point18_out_of_range_half_is_zero_as_a_whole),
        TEST(point18_structured_buffers_check_the_record),
        TEST(point18_add_tid_and_long_strides),
        TEST(point18_swizzle_interleaves_records),
        TEST(point18_atomics_out_of_range_do_nothing),
        TEST(point19_cache_operations_change_nothing),
        TEST(point19_sc0_returns_only_for_atomics),
        TEST(point20_atomics_and_the_host_share_words),
        TEST(point20_compare_operands_in_order),
        TEST(point20_misaligned_atomics_fault),
        TEST(scalar_buffers_drop_dwords_out_of_range),
        TEST(clocks_read_the_modelled_time),
        TEST(wide_accesses_fault_when_any_part_is_unmapped),
        TEST(accesses_may_cross_mappings),
        TEST(links_count_the_same_in_pieces),
        TEST(read_only_memory_can_be_read),
        TEST(global_data_share_is_refused),
        TEST(point21_bpermute_pulls),
        TEST(point21_permute_pushes),
        TEST(point21_swizzle_modes),
        TEST(point22_loads_to_lds_add_m0_offset_and_lane),
        TEST(point23_waitcnt_waits_for_nothing),
        TEST(addtid_forms_use_m0_and_the_lane),
        TEST(append_and_consume_count_active_lanes),
        TEST(condxchg_writes_where_the_top_bit_is_set),
        TEST(gws_barrier_opens_for_the_last_wave),
        TEST(gws_semaphore_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
