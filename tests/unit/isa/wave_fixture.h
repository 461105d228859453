/**
 * @file wave_fixture.h
 * @brief One wave with registers, and a way to execute single instructions in it.
 */
#ifndef RP_TEST_WAVE_FIXTURE_H
#define RP_TEST_WAVE_FIXTURE_H

#include <string.h>

#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"
#include "unit/cmocka_all.h"

#define FIXTURE_VGPRS 32
#define FIXTURE_AGPRS 8
#define FIXTURE_PC    0x10000u

struct fixture {
    struct rp_wave wave;
    struct rp_group group;
    struct rp_wave_env env;
    struct rp_exec_host host;
    uint32_t vgpr[FIXTURE_VGPRS][RP_LANES] __attribute__((aligned(64)));
    uint32_t agpr[FIXTURE_AGPRS][RP_LANES] __attribute__((aligned(64)));
};

static inline void fixture_init(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    f->host.lds_aperture = 0x1000000000000;
    f->host.scratch_aperture = 0x2000000000000;
    f->env.host = &f->host;
    f->group.env = &f->env;
    f->group.waves = &f->wave;
    f->group.wave_count = 1;
    f->wave.group = &f->group;
    f->wave.vgpr = f->vgpr;
    f->wave.agpr = f->agpr;
    f->wave.vgpr_count = FIXTURE_VGPRS;
    f->wave.agpr_count = FIXTURE_AGPRS;
    f->wave.mode = 0x3f0;
    f->wave.pc = FIXTURE_PC;
    rp_sgpr64_set(&f->wave, RP_SGPR_EXEC_LO, ~0ull);
    for (unsigned r = 0; r < FIXTURE_VGPRS; r++)
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            f->vgpr[r][lane] = r * 1000 + lane;
}

/* Decodes, checks that the words mean @p text, executes at wave.pc; returns the step. */
static inline int fixture_step(struct fixture *f, const char *text, uint32_t w0, uint32_t w1)
{
    const uint32_t words[3] = {w0, w1, 0};
    struct rp_insn in;
    char printed[128];
    unsigned bytes = rp_isa_decode(words, 3, &in);
    rp_isa_print(&in, f->wave.pc, printed, sizeof printed);
    assert_string_equal(printed, text);
    f->wave.pc += bytes;
    return in.fn(&f->wave, &in);
}

/* The same for instructions that must simply work. */
static inline void run(struct fixture *f, const char *text, uint32_t w0, uint32_t w1)
{
    int step = fixture_step(f, text, w0, w1);
    if (step != RP_STEP_NEXT)
        fail_msg("%s: step %d, %s", text, step, f->wave.fault.text);
}

#endif
