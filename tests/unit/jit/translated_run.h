/**
 * @file translated_run.h
 * @brief A turn of a wave as wave_run.c executes it, with handlers only or with translated code.
 */
#ifndef RP_TEST_TRANSLATED_RUN_H
#define RP_TEST_TRANSLATED_RUN_H

#include <stdbool.h>

#include "device/exec/code_cache.h"
#include "device/jit/jit_translate.h"

/** What a turn ends with. */
struct outcome {
    int step;
    uint32_t left;
    uint64_t cycles;
    uint64_t native_insts; /**< executed by translated code */
};

static inline const struct rp_insn *insn_at_pc(const struct rp_code_page *page,
                                               const struct rp_wave *w)
{
    return &page->insn[(w->pc - page->base_va) / 4];
}

static inline int interpret(const struct rp_code_page *page, struct rp_wave *w, struct outcome *o)
{
    const struct rp_insn *in = insn_at_pc(page, w);
    w->pc += in->size_bytes;
    w->cycles += in->issue_cycles;
    o->cycles += in->issue_cycles;
    o->left--;
    return in->fn(w, in);
}

static inline struct outcome run_handlers(const struct rp_code_page *page, struct rp_wave *w,
                                          uint32_t budget)
{
    struct outcome o = {.left = budget};
    while (o.left && o.step == RP_STEP_NEXT)
        o.step = interpret(page, w, &o);
    return o;
}

static inline struct outcome run_translated(const struct rp_code_page *page, struct rp_wave *w,
                                            uint32_t budget)
{
    struct outcome o = {.left = budget};
    bool must = false;
    while (o.left && o.step == RP_STEP_NEXT) {
        const struct rp_jit_entry *native = insn_at_pc(page, w)->native;
        if (must || !native || !rp_jit_fits(native, w, o.left)) {
            o.step = interpret(page, w, &o);
            must = false;
            continue;
        }
        struct rp_jit_state state = {.cycles = o.cycles, .left = o.left};
        const int step = native->enter(w, &state, native->code);
        o.native_insts += o.left - state.left;
        o.left = state.left;
        o.cycles = state.cycles;
        must = step == RP_JIT_INTERPRET;
        o.step = step == RP_JIT_INTERPRET || step == RP_JIT_ELSEWHERE ? RP_STEP_NEXT : step;
    }
    return o;
}

#endif
