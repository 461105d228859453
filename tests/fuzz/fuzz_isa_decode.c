/*
 * Any bytes must decode and print within bounds, and whatever ALU instruction they turn out to be
 * must execute within the registers of its wave. Memory instructions are only decoded: they need
 * a whole device.
 */
#include <stdlib.h>
#include <string.h>

#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"

enum { VGPRS = 16, AGPRS = 8 };

static struct {
    struct rp_wave wave;
    struct rp_group group;
    struct rp_wave_env env;
    struct rp_exec_host host;
} world;

static uint32_t first_die(const struct rp_wave *w)
{
    (void)w;
    return 0;
}

static void ignore_interrupt(struct rp_wave *w, uint32_t m0)
{
    (void)w;
    (void)m0;
}

/* Whatever reads clocks is a scalar memory instruction, which is not executed here. */
static const struct rp_wave_services services = {.xcc = first_die, .interrupt = ignore_interrupt};

static bool is_alu(unsigned fmt)
{
    return fmt != RP_FMT_SMEM && fmt >= RP_FMT_SOP1 && fmt <= RP_FMT_VOP3PX2;
}

/* Register files of exactly their size, so that the sanitizer sees every step beyond. */
static void set_up(uint32_t gpr_idx)
{
    struct rp_wave *w = &world.wave;
    memset(&world, 0, sizeof world);
    world.env.host = &world.host;
    world.env.services = &services;
    world.group.env = &world.env;
    world.group.waves = w;
    world.group.wave_count = 1;
    w->group = &world.group;
    w->mode = 0x3f0;
    w->vgpr_count = VGPRS;
    w->agpr_count = AGPRS;
    w->vgpr = aligned_alloc(64, VGPRS * sizeof w->vgpr[0]);
    w->agpr = aligned_alloc(64, AGPRS * sizeof w->agpr[0]);
    memset(w->vgpr, 0x5a, VGPRS * sizeof w->vgpr[0]);
    memset(w->agpr, 0x3c, AGPRS * sizeof w->agpr[0]);
    w->gpr_idx = gpr_idx & 0x8000f0ffu;
    w->sgpr[RP_SGPR_M0] = w->gpr_idx & 0xf0ffu;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const targets[] = {"gfx942", "gfx950", "gfx90a"};
    uint64_t head;
    if (size < sizeof head || size > 64)
        return 0;
    memcpy(&head, data, sizeof head); /* EXEC, index mode, size of the text buffer, target */
    data += sizeof head;
    size -= sizeof head;
    const size_t dwords = size / 4;
    uint32_t *code = malloc(dwords ? dwords * 4 : 1);
    memcpy(code, data, dwords * 4);
    const size_t text_bytes = head % 160;
    char *text = malloc(text_bytes ? text_bytes : 1);
    set_up((uint32_t)(head >> 32));
    rp_isa_target_set(targets[(head >> 56) % 3]);
    rp_sgpr64_set(&world.wave, RP_SGPR_EXEC_LO, head * 0x9e3779b97f4a7c15u);
    for (size_t at = 0; at < dwords;) {
        struct rp_insn in;
        unsigned bytes = rp_isa_decode(code + at, dwords - at, &in);
        if (bytes > (dwords - at) * 4 || !in.fn)
            abort();
        rp_isa_print(&in, at, text, text_bytes);
        if (text_bytes && strlen(text) >= text_bytes)
            abort();
        world.wave.pc += bytes;
        if (is_alu(in.fmt) && in.fn(&world.wave, &in) == RP_STEP_FAULT &&
            world.wave.fault.kind == RP_FAULT_NONE)
            abort();
        at += bytes ? bytes / 4 : 1;
    }
    free(text);
    free(code);
    free(world.wave.vgpr);
    free(world.wave.agpr);
    return 0;
}
