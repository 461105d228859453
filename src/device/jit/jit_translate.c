/* This file translates a region block by block.
 *
 * Scalar instructions and branches are translated to what their handlers in salu.c or
 * scalar_control.c do; instructions that share a handler share the translation.
 */
#include "device/jit/jit_translate.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device/exec/code_cache.h"
#include "device/exec/executor.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/jit/jit_block.h"

enum kind {
    MOVE,
    CMOVE,
    SELECT,
    LOGIC,     /**< result, SCC = it is not zero */
    LOGIC_NOT, /**< of the complement of source 1 */
    NOT_LOGIC, /**< the complement of the result */
    NOT,
    SHIFT,
    SAVE_EXEC,     /**< EXEC = source op EXEC */
    SAVE_EXEC_NOT, /**< EXEC = source op ~EXEC */
    SAVE_NOT_EXEC, /**< EXEC = ~source op EXEC */
    CARRY,         /**< add, subtract and the like with a flag as SCC */
    WITH_CARRY,
    MULTIPLY,
    COMPARE,
    CHOOSE, /**< min, max: SCC = source 0 is it */
};

static const struct row {
    rp_insn_fn *fn;
    enum kind kind;
    uint8_t wide;
    uint8_t op; /**< enum rp_x86_alu or rp_x86_shift */
    uint8_t cc; /**< enum rp_x86_cc of SCC */
} jit_salu_rows[] = {
#define RP_JIT_S(name, kind, wide, op, cc) {rp_##name, kind, wide, op, cc},
#include "device/jit/jit_salu.def"
};

static const struct row *find(const struct rp_insn *in)
{
    for (unsigned i = 0; i < sizeof jit_salu_rows / sizeof jit_salu_rows[0]; i++)
        if (jit_salu_rows[i].fn == in->fn)
            return &jit_salu_rows[i];
    return NULL;
}

static bool is_known(const struct rp_opnd *o, bool wide)
{
    if (o->kind == RP_OPND_SGPR)
        return o->index + (wide ? 2u : 1u) <= RP_SGPR_COUNT;
    return o->kind == RP_OPND_CONST;
}

static void load(struct rp_x86 *e, bool wide, unsigned reg, const struct rp_opnd *o)
{
    if (o->kind == RP_OPND_SGPR)
        rp_x86_load(e, wide, reg, rp_jit_sgpr(o->index));
    else
        rp_x86_mov_imm(e, reg, wide ? o->imm : (uint32_t)o->imm);
}

static void store(struct rp_x86 *e, bool wide, const struct rp_opnd *o, unsigned reg)
{
    rp_x86_store(e, wide, rp_jit_sgpr(o->index), reg);
}

static struct rp_rm scc(void)
{
    return rp_at(RP_JIT_W, offsetof(struct rp_wave, scc));
}

/* Sets SCC from the flags. */
static void set_scc(struct rp_x86 *e, enum rp_x86_cc cc)
{
    rp_x86_set(e, cc, RP_RDX);
    rp_x86_store(e, false, scc(), RP_RDX);
}

/* The result is in RAX. */
static void store_nonzero(struct rp_x86 *e, bool wide, const struct rp_opnd *dst)
{
    store(e, wide, dst, RP_RAX);
    rp_x86_test(e, wide, RP_RAX, RP_RAX);
    set_scc(e, RP_CC_NE);
}

static void emit_select(struct rp_x86 *e, const struct rp_insn *in, bool wide)
{
    load(e, wide, RP_RAX, &in->src[0]);
    load(e, wide, RP_RCX, &in->src[1]);
    rp_x86_alu_imm(e, false, RP_CMP, scc(), 0);
    rp_x86_cmov(e, wide, RP_CC_E, RP_RAX, rp_reg(RP_RCX));
    store(e, wide, &in->dst, RP_RAX);
}

static void logic(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, r->wide, RP_RAX, &in->src[0]);
    load(e, r->wide, RP_RCX, &in->src[1]);
    if (r->kind == LOGIC_NOT)
        rp_x86_not(e, r->wide, RP_RCX);
    rp_x86_alu(e, r->wide, (enum rp_x86_alu)r->op, RP_RAX, rp_reg(RP_RCX));
    if (r->kind == NOT_LOGIC)
        rp_x86_not(e, r->wide, RP_RAX);
    store_nonzero(e, r->wide, &in->dst);
}

static void save_exec(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, true, RP_RAX, &in->src[0]);
    rp_x86_load(e, true, RP_RCX, rp_jit_exec());
    store(e, true, &in->dst, RP_RCX);
    if (r->kind == SAVE_EXEC_NOT)
        rp_x86_not(e, true, RP_RCX);
    if (r->kind == SAVE_NOT_EXEC)
        rp_x86_not(e, true, RP_RAX);
    rp_x86_alu(e, true, (enum rp_x86_alu)r->op, RP_RAX, rp_reg(RP_RCX));
    const struct rp_opnd exec = {.kind = RP_OPND_SGPR, .index = RP_SGPR_EXEC_LO, .dwords = 2};
    store_nonzero(e, true, &exec);
}

static void shift(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, r->wide, RP_RAX, &in->src[0]);
    if (in->src[1].kind == RP_OPND_CONST) {
        rp_x86_shift_imm(e, r->wide, (enum rp_x86_shift)r->op, RP_RAX,
                         in->src[1].imm & (r->wide ? 63 : 31));
    } else {
        load(e, false, RP_RCX, &in->src[1]);
        rp_x86_shift_cl(e, r->wide, (enum rp_x86_shift)r->op, RP_RAX);
    }
    store_nonzero(e, r->wide, &in->dst);
}

static void carry(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, false, RP_RAX, &in->src[0]);
    load(e, false, RP_RCX, &in->src[1]);
    if (r->kind == WITH_CARRY) { /* This sets CF to SCC, because 0 - SCC borrows. */
        rp_x86_mov_imm(e, RP_RDX, 0);
        rp_x86_alu(e, false, RP_CMP, RP_RDX, scc());
    }
    rp_x86_alu(e, false, (enum rp_x86_alu)r->op, RP_RAX, rp_reg(RP_RCX));
    rp_x86_set(e, (enum rp_x86_cc)r->cc, RP_RDX);
    store(e, false, &in->dst, RP_RAX);
    rp_x86_store(e, false, scc(), RP_RDX);
}

static void compare(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, r->wide, RP_RAX, &in->src[0]);
    if (in->src[1].kind == RP_OPND_CONST && !r->wide) {
        rp_x86_alu_imm(e, false, RP_CMP, rp_reg(RP_RAX), (int32_t)(uint32_t)in->src[1].imm);
    } else {
        load(e, r->wide, RP_RCX, &in->src[1]);
        rp_x86_alu(e, r->wide, RP_CMP, RP_RAX, rp_reg(RP_RCX));
    }
    set_scc(e, (enum rp_x86_cc)r->cc);
}

static void choose(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    load(e, false, RP_RAX, &in->src[0]);
    load(e, false, RP_RCX, &in->src[1]);
    rp_x86_alu(e, false, RP_CMP, RP_RCX, rp_reg(RP_RAX)); /* It compares source 1 with source 0. */
    rp_x86_cmov(e, false, (enum rp_x86_cc)r->op, RP_RCX, rp_reg(RP_RAX));
    rp_x86_set(e, (enum rp_x86_cc)r->op, RP_RDX);
    store(e, false, &in->dst, RP_RCX);
    rp_x86_store(e, false, scc(), RP_RDX);
}

static void emit_write(struct rp_x86 *e, const struct rp_insn *in, const struct row *r)
{
    switch (r->kind) {
    case MOVE:
        load(e, r->wide, RP_RAX, &in->src[0]);
        store(e, r->wide, &in->dst, RP_RAX);
        break;
    case CMOVE:
        load(e, r->wide, RP_RCX, &in->src[0]);
        rp_x86_load(e, r->wide, RP_RAX, rp_jit_sgpr(in->dst.index));
        rp_x86_alu_imm(e, false, RP_CMP, scc(), 0);
        rp_x86_cmov(e, r->wide, RP_CC_NE, RP_RAX, rp_reg(RP_RCX));
        store(e, r->wide, &in->dst, RP_RAX);
        break;
    case SELECT:
        emit_select(e, in, r->wide);
        break;
    case LOGIC:
    case LOGIC_NOT:
    case NOT_LOGIC:
        logic(e, in, r);
        break;
    case NOT:
        load(e, r->wide, RP_RAX, &in->src[0]);
        rp_x86_not(e, r->wide, RP_RAX);
        store_nonzero(e, r->wide, &in->dst);
        break;
    case SHIFT:
        shift(e, in, r);
        break;
    case SAVE_EXEC:
    case SAVE_EXEC_NOT:
    case SAVE_NOT_EXEC:
        save_exec(e, in, r);
        break;
    case CARRY:
    case WITH_CARRY:
        carry(e, in, r);
        break;
    case MULTIPLY:
        load(e, false, RP_RAX, &in->src[0]);
        load(e, false, RP_RCX, &in->src[1]);
        rp_x86_imul(e, false, RP_RAX, rp_reg(RP_RCX));
        store(e, false, &in->dst, RP_RAX);
        break;
    case COMPARE:
        compare(e, in, r);
        break;
    case CHOOSE:
        choose(e, in, r);
        break;
    }
}

/* Tells which sources are 64 bits wide; shifts count with 32. */
static bool operands_known(const struct rp_insn *in, const struct row *r)
{
    const bool one = r->kind == MOVE || r->kind == CMOVE || r->kind == NOT ||
                     r->kind == SAVE_EXEC || r->kind == SAVE_EXEC_NOT || r->kind == SAVE_NOT_EXEC;
    if (r->kind != COMPARE &&
        (in->dst.kind != RP_OPND_SGPR || in->dst.index + 1u + r->wide > RP_SGPR_COUNT))
        return false;
    return is_known(&in->src[0], r->wide) &&
           (one || is_known(&in->src[1], r->wide && r->kind != SHIFT));
}

/* There is nothing to wait for, but a turn may end here (rp_s_waitcnt()). */
static void waitcnt(struct rp_jit_translation *t)
{
    rp_x86_cmp_byte(&t->x86, rp_at(RP_JIT_W, offsetof(struct rp_wave, past_barrier)), 0);
    rp_jit_leave(t, rp_x86_jcc(&t->x86, RP_CC_NE));
}

bool rp_jit_salu(struct rp_jit_translation *t, const struct rp_insn *in)
{
    if (in->fn == rp_s_waitcnt) {
        waitcnt(t);
        return true;
    }
    const struct row *r = find(in);
    if (!r || !operands_known(in, r))
        return false;
    emit_write(&t->x86, in, r);
    return true;
}

bool rp_jit_salu_writes_exec(const struct rp_insn *in)
{
    const struct row *r = find(in);
    return r && (r->kind == SAVE_EXEC || r->kind == SAVE_EXEC_NOT || r->kind == SAVE_NOT_EXEC);
}

/* ---- branches ---- */

bool rp_jit_is_branch(const struct rp_insn *in)
{
    return in->fn == rp_s_branch || in->fn == rp_s_cbranch_scc0 || in->fn == rp_s_cbranch_scc1 ||
           in->fn == rp_s_cbranch_vccz || in->fn == rp_s_cbranch_vccnz ||
           in->fn == rp_s_cbranch_execz || in->fn == rp_s_cbranch_execnz;
}

bool rp_jit_branch_condition(struct rp_jit_translation *t, const struct rp_insn *in,
                             enum rp_x86_cc *ret_cc)
{
    const bool is_scc = in->fn == rp_s_cbranch_scc0 || in->fn == rp_s_cbranch_scc1;
    const bool is_vcc = in->fn == rp_s_cbranch_vccz || in->fn == rp_s_cbranch_vccnz;
    if (in->fn == rp_s_branch)
        return false;
    rp_x86_alu_imm(&t->x86, !is_scc, RP_CMP,
                   is_scc   ? scc()
                   : is_vcc ? rp_jit_sgpr(RP_SGPR_VCC_LO)
                            : rp_jit_exec(),
                   0);
    *ret_cc =
        in->fn == rp_s_cbranch_scc0 || in->fn == rp_s_cbranch_vccz || in->fn == rp_s_cbranch_execz
            ? RP_CC_E
            : RP_CC_NE;
    return true;
}

static void code_memory_free(void *memory, size_t bytes);

/**
 * Returns a copy of @p code that can be executed, or NULL when the system refuses it or is out of
 * memory.
 */
/* These are system calls because the library has an mmap() of its own for the program. */
static void *code_memory_new(const uint8_t *code, size_t bytes)
{
    long mapped =
        syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == -1)
        return NULL;
    void *memory = (void *)mapped;
    memcpy(memory, code, bytes);
    if (syscall(SYS_mprotect, memory, bytes, PROT_READ | PROT_EXEC) < 0) {
        code_memory_free(memory, bytes);
        return NULL;
    }
    return memory;
}

static void code_memory_free(void *memory, size_t bytes)
{
    syscall(SYS_munmap, memory, bytes);
}

/* This is the translator's only context. It says whether translation is possible and enabled. */
static struct {
    pthread_once_t once;
    bool possible, on;
} jit = {.once = PTHREAD_ONCE_INIT};

/* A function that returns 42, to see whether the system lets new code be executed. */
static bool system_allows(void)
{
    static const uint8_t code[] = {0xb8, 42, 0, 0, 0, 0xc3};
    void *memory = code_memory_new(code, sizeof code);
    if (!memory)
        return false;
    int (*function)(void) = (int (*)(void))(uintptr_t)memory;
    const bool works = function() == 42;
    code_memory_free(memory, sizeof code);
    return works;
}

static void look(void)
{
    const char *text = getenv("ROCM_PERF_DEVICE_JIT");
    /* Translated code needs AVX-512. */
    jit.possible = rp_lane_find_level("v_mov_b32", RP_LANE_V4) && system_allows();
    __atomic_store_n(&jit.on, jit.possible && !(text && !strcmp(text, "off")), __ATOMIC_RELAXED);
}

static bool available(void)
{
    pthread_once(&jit.once, look);
    return __atomic_load_n(&jit.on, __ATOMIC_RELAXED);
}

void rp_jit_set(bool on)
{
    pthread_once(&jit.once, look);
    __atomic_store_n(&jit.on, on && jit.possible, __ATOMIC_RELAXED);
}

/* Regions and blocks: what is translated, how blocks begin and end, and how they are left. */

enum {
    CODE_ROOM_BYTES = 4 << 20,
    PAGE_CODE_BYTES = 4 << 20, /**< code of one page: then it must be enough */
};

struct rp_jit_region {
    struct rp_jit_region *next; /**< of the same page */
    void *memory;
    size_t bytes;
    struct rp_jit_entry entry[];
};

static unsigned index_of(const struct rp_jit_translation *t, const struct rp_insn *in)
{
    return (unsigned)(in - t->page->insn);
}

/* Returns the slot behind the instruction. */
static unsigned after(const struct rp_jit_translation *t, const struct rp_insn *in)
{
    return index_of(t, in) + in->size_bytes / 4u;
}

/* Loads the complement of EXEC into K4 to K7. */
static void load_masks(struct rp_jit_translation *t)
{
    for (unsigned q = 0; q < 4; q++) {
        struct rp_rm part = rp_jit_exec();
        part.disp += (int32_t)(2 * q);
        rp_x86_k(&t->x86, RP_X86_KMOVW_LOAD, 4 + q, 0, part);
        rp_x86_k(&t->x86, RP_X86_KNOTW, 4 + q, 0, rp_reg(4 + q));
    }
}

/* ---- leaving ---- */

/* The jump is taken when EAX has a step that ends the turn. */
static void step_stub(struct rp_jit_translation *t, const struct rp_insn *in, size_t jump)
{
    struct rp_jit_stub *s = rp_jit_stub_new(t, jump);
    s->is_step = true;
    s->insn_index = index_of(t, in);
}

static void account(struct rp_jit_translation *t, int32_t insts, int32_t cycles)
{
    struct rp_x86 *e = &t->x86;
    if (!insts)
        return;
    rp_x86_alu_imm(e, false, RP_SUB, rp_reg(RP_JIT_LEFT), insts);
    rp_x86_alu_imm(e, true, RP_ADD, rp_reg(RP_JIT_CYCLES), cycles);
    rp_x86_alu_imm(e, true, RP_ADD, rp_at(RP_JIT_W, offsetof(struct rp_wave, cycles)), cycles);
}

/*
 * The instructions from slot @p first up to @p end have been executed times once more: differences,
 * which are summed up in the end (code_cache.c). RCX and RDX are lost.
 */
static void tally(struct rp_jit_translation *t, unsigned first, unsigned end, int32_t times)
{
    struct rp_x86 *e = &t->x86;
    const int32_t runs = (int32_t)offsetof(struct rp_page_counters, runs);
    const int32_t lanes = (int32_t)offsetof(struct rp_page_counters, lanes);
    if (!t->counts || first == end)
        return;
    rp_x86_load(e, true, RP_RDX, rp_at(RP_RSP, 0));
    rp_x86_load(e, true, RP_RCX, rp_at(RP_RDX, offsetof(struct rp_jit_state, tally)));
    rp_x86_alu_imm(e, true, RP_ADD, rp_at(RP_RCX, runs + 8 * (int32_t)first), times);
    rp_x86_alu_imm(e, true, RP_SUB, rp_at(RP_RCX, runs + 8 * (int32_t)end), times);
    if (!t->counts_lanes)
        return;
    rp_x86_load(e, true, RP_RDX, rp_at(RP_RDX, offsetof(struct rp_jit_state, lanes)));
    rp_x86_alu_to(e, true, times > 0 ? RP_ADD : RP_SUB, rp_at(RP_RCX, lanes + 8 * (int32_t)first),
                  RP_RDX);
    rp_x86_alu_to(e, true, times > 0 ? RP_SUB : RP_ADD, rp_at(RP_RCX, lanes + 8 * (int32_t)end),
                  RP_RDX);
}

/* The instructions from slot @p first up to @p end have been executed: a run of the wave's log.
 * RAX, RCX and RDX are lost. */
static void log_run(struct rp_jit_translation *t, unsigned first, unsigned end)
{
    struct rp_x86 *e = &t->x86;
    _Static_assert(offsetof(struct rp_run_log, next) == 0, "the log begins with it");
    if (!t->recorded || first == end)
        return;
    rp_x86_load(e, true, RP_RDX, rp_at(RP_JIT_W, offsetof(struct rp_wave, run_log)));
    rp_x86_load(e, true, RP_RCX, rp_at(RP_RDX, 0));
    rp_x86_mov_imm(e, RP_RAX, first | end << 16);
    rp_x86_store(e, false, rp_at(RP_RCX, 0), RP_RAX);
    rp_x86_alu_imm(e, true, RP_ADD, rp_at(RP_RDX, 0), sizeof(uint32_t));
}

/* Counts the lanes that are off before an instruction changes EXEC. */
static void tally_lanes(struct rp_jit_translation *t)
{
    struct rp_x86 *e = &t->x86;
    if (!t->counts || !t->counts_lanes)
        return;
    rp_x86_load(e, true, RP_RCX, rp_at(RP_RSP, 0));
    rp_x86_popcnt(e, true, RP_RDX, rp_jit_exec());
    rp_x86_alu_imm(e, true, RP_SUB, rp_reg(RP_RDX), RP_LANES);
    rp_x86_store(e, true, rp_at(RP_RCX, offsetof(struct rp_jit_state, lanes)), RP_RDX);
}

/* Everything of the block up to slot @p end. */
static void account_all(struct rp_jit_translation *t, unsigned end)
{
    account(t, t->insts, (int32_t)t->cycles);
    if (t->insts) {
        tally(t, t->first, end, 1);
        log_run(t, t->first, end);
    }
    t->first = (uint16_t)end;
    t->insts = 0;
    t->cycles = 0;
}

static int32_t insn_offset(const struct rp_jit_translation *t, const struct rp_insn *in)
{
    return (int32_t)((const char *)in - (const char *)t->page->insn);
}

static void write_stub(struct rp_jit_translation *t, const struct rp_jit_stub *s, size_t epilogue)
{
    struct rp_x86 *e = &t->x86;
    rp_x86_land(e, s->jump, e->bytes);
    if (s->is_step) {
        rp_x86_load(e, true, RP_RCX, rp_at(RP_RSP, 0));
        rp_x86_lea(e, RP_RDX,
                   rp_at(RP_JIT_INSNS, (int32_t)(s->insn_index * sizeof(struct rp_insn))));
        rp_x86_store(e, true, rp_at(RP_RCX, offsetof(struct rp_jit_state, in)), RP_RDX);
    } else {
        account(t, s->insts, (int32_t)s->cycles);
        t->counts_lanes = s->counts_lanes;
        if (s->insts) {
            tally(t, s->first, s->end, 1);
            log_run(t, s->first, s->end);
        }
        rp_jit_set_pc(t, s->pc);
        rp_x86_mov_imm(e, RP_RAX, (uint64_t)s->code);
    }
    rp_x86_land(e, rp_x86_jmp(e), epilogue);
}

enum {
    RP_WIDE_BYTES = RP_MFMA_VALUES_MAX * sizeof(uint32_t[RP_LANES]),
    /** The stack has this many bytes for all operands, and for aligning them. */
    RP_WIDE_STACK_BYTES = RP_JIT_WIDES * RP_WIDE_BYTES + 64,
};

static const uint8_t saved[] = {RP_RBX, RP_RBP, RP_R12, RP_R13, RP_R14, RP_R15};

/* The code is a function int enter(wave, state, code). */
static void write_prologue(struct rp_jit_translation *t)
{
    struct rp_x86 *e = &t->x86;
    for (unsigned i = 0; i < sizeof saved; i++)
        rp_x86_push(e, saved[i]);
    rp_x86_lea(e, RP_RSP, rp_at(RP_RSP, -RP_WIDE_STACK_BYTES));
    rp_x86_push(e, RP_RSI);
    rp_x86_load(e, true, RP_RBX, rp_reg(RP_RDI));
    rp_x86_load(e, true, RP_JIT_ROWS, rp_at(RP_JIT_W, offsetof(struct rp_wave, vgpr)));
    rp_x86_alu_imm(e, true, RP_ADD, rp_reg(RP_JIT_ROWS), RP_JIT_ROW_BIAS);
    rp_x86_load(e, false, RP_JIT_LEFT, rp_at(RP_RSI, offsetof(struct rp_jit_state, left)));
    rp_x86_load(e, true, RP_JIT_CYCLES, rp_at(RP_RSI, offsetof(struct rp_jit_state, cycles)));
    rp_x86_mov_imm(e, RP_JIT_INSNS, (uintptr_t)t->page->insn);
    rp_x86_mov_imm(e, RP_JIT_BASE, t->page->base_va);
    rp_x86_jmp_reg(e, RP_RDX);
}

static void write_epilogue(struct rp_jit_translation *t)
{
    struct rp_x86 *e = &t->x86;
    rp_x86_vzeroupper(e);
    rp_x86_pop(e, RP_RCX);
    rp_x86_lea(e, RP_RSP, rp_at(RP_RSP, RP_WIDE_STACK_BYTES));
    rp_x86_store(e, false, rp_at(RP_RCX, offsetof(struct rp_jit_state, left)), RP_JIT_LEFT);
    rp_x86_store(e, true, rp_at(RP_RCX, offsetof(struct rp_jit_state, cycles)), RP_JIT_CYCLES);
    for (unsigned i = sizeof saved; i-- > 0;)
        rp_x86_pop(e, saved[i]);
    rp_x86_ret(e);
}

/* ---- what belongs to a region ---- */

/* Tests whether the instruction always ends the turn. */
static bool is_known_step(const struct rp_insn *in)
{
    return in->fn == rp_s_endpgm || in->fn == rp_s_barrier;
}

/* A region does not go through these instructions: they end the turn, jump by a register, or
 * change what a block has been checked for, also where a check is in front of them. The
 * interpreter executes them.
 */
static bool is_stop(const struct rp_insn *in)
{
    rp_insn_fn *const fn = in->watched ? in->watched : in->fn;
    if (in->fn == rp_s_nop)
        return false;
    return (in->flags & RP_IF_ENDS_BLOCK && !rp_jit_is_branch(in) && !is_known_step(in)) ||
           fn == rp_s_setreg_b32 || fn == rp_s_setvskip || fn == rp_s_set_gpr_idx_on ||
           fn == rp_s_set_gpr_idx_off || fn == rp_s_set_gpr_idx_mode || fn == rp_s_set_gpr_idx_idx;
}

static bool is_exec(const struct rp_opnd *o)
{
    return o->kind == RP_OPND_SGPR && o->index + o->dwords > RP_SGPR_EXEC_LO;
}

static bool writes_exec(const struct rp_insn *in)
{
    if (is_exec(&in->dst) || is_exec(&in->sdst) || in->fn == rp_valu_cmpx)
        return true;
    const char *mnemonic = rp_isa_mnemonic(in->op);
    return rp_jit_salu_writes_exec(in) || strstr(mnemonic, "exec") ||
           !strncmp(mnemonic, "v_cmpx", 6);
}

static const struct rp_insn *decoded(struct rp_jit_translation *t, unsigned index)
{
    const struct rp_insn *in = index < RP_CODE_PAGE_INSNS ? &t->page->insn[index] : NULL;
    return in && __atomic_load_n(&in->fn, __ATOMIC_ACQUIRE) ? in : NULL;
}

static uint64_t target_pc(const struct rp_jit_translation *t, const struct rp_insn *in)
{
    return t->page->base_va + 4ull * after(t, in) + (uint64_t)((int64_t)in->offset * 4);
}

/* The instruction a branch goes to, or no index when it is in another page. */
static unsigned target_index(const struct rp_jit_translation *t, const struct rp_insn *in)
{
    const uint64_t distance = target_pc(t, in) - t->page->base_va;
    return distance < RP_CODE_PAGE_BYTES ? (unsigned)(distance / 4) : RP_CODE_PAGE_INSNS;
}

struct worklist {
    uint16_t index[RP_CODE_PAGE_INSNS];
    unsigned count;
};

static void add_leader(struct rp_jit_translation *t, struct worklist *list, unsigned index)
{
    if (index >= RP_CODE_PAGE_INSNS || t->leader[index])
        return;
    t->leader[index] = true;
    list->index[list->count++] = (uint16_t)index;
}

/* Follows the code from a leader to the end of what lies behind it, or to what has been seen. */
static void follow(struct rp_jit_translation *t, struct worklist *list, unsigned index)
{
    const struct rp_insn *in;
    while ((in = decoded(t, index)) && !t->reached[index]) {
        const unsigned next = after(t, in);
        t->reached[index] = true;
        if (in->vgpr_top > t->vgpr_top)
            t->vgpr_top = in->vgpr_top;
        if (in->agpr_top > t->agpr_top)
            t->agpr_top = in->agpr_top;
        if (rp_jit_is_branch(in))
            add_leader(t, list, target_index(t, in));
        if (in->fn == rp_s_branch || in->fn == rp_s_endpgm)
            return;
        if (rp_jit_is_branch(in) || is_known_step(in) || is_stop(in) || writes_exec(in)) {
            add_leader(t, list, next);
            return;
        }
        index = next;
    }
}

/* Divides what has been reached into blocks, in the order of addresses. */
static void make_blocks(struct rp_jit_translation *t)
{
    for (unsigned i = 0; i < RP_CODE_PAGE_INSNS; i++)
        t->block_at[i] = RP_JIT_BLOCK_NONE;
    for (unsigned i = 0; i < RP_CODE_PAGE_INSNS; i++) {
        if (!t->leader[i] || !t->reached[i] || is_stop(&t->page->insn[i]))
            continue;
        if (t->block_count == RP_JIT_BLOCKS)
            return;
        struct rp_jit_block *b = &t->block[t->block_count];
        *b = (struct rp_jit_block){.first = (uint16_t)i};
        t->block_at[i] = (uint16_t)t->block_count++;
        unsigned index = i;
        do {
            const struct rp_insn *in = &t->page->insn[index];
            b->count++;
            b->has_rows |= rp_jit_valu_knows(in) || rp_jit_mem_knows(in);
            b->has_vector |= rp_insn_counts_lanes(in);
            index = after(t, in);
            if (rp_jit_is_branch(in) || is_known_step(in))
                break;
            if (b->count == RP_JIT_BLOCK_INSTS && index < RP_CODE_PAGE_INSNS)
                t->leader[index] = true;
        } while (index < RP_CODE_PAGE_INSNS && t->reached[index] && !t->leader[index] &&
                 !is_stop(&t->page->insn[index]));
    }
}

static void find_region(struct rp_jit_translation *t, unsigned index)
{
    struct worklist list;
    list.count = 0;
    add_leader(t, &list, index);
    for (unsigned i = 0; i < list.count; i++)
        follow(t, &list, list.index[i]);
    make_blocks(t);
}

/* ---- blocks ---- */

/* Lets the wave go on at instruction @p index. jump is the place of the displacement. */
static void link_to(struct rp_jit_translation *t, size_t jump, unsigned index, uint64_t pc)
{
    const uint16_t block = index < RP_CODE_PAGE_INSNS ? t->block_at[index] : RP_JIT_BLOCK_NONE;
    if (block == RP_JIT_BLOCK_NONE) {
        struct rp_jit_stub *s = rp_jit_stub_new(t, jump);
        s->pc = pc;
        s->code = RP_JIT_ELSEWHERE;
        if (index < RP_CODE_PAGE_INSNS && decoded(t, index) && is_stop(&t->page->insn[index]))
            s->code = RP_JIT_INTERPRET;
    } else if (t->link_count == RP_JIT_LINKS) {
        t->overflow = true;
    } else {
        t->link[t->link_count].jump = jump;
        t->link[t->link_count++].block = block;
    }
}

static void write_branch(struct rp_jit_translation *t, const struct rp_insn *in)
{
    enum rp_x86_cc cc;
    account_all(t, after(t, in));
    if (!rp_jit_branch_condition(t, in, &cc)) {
        link_to(t, rp_x86_jmp(&t->x86), target_index(t, in), target_pc(t, in));
        return;
    }
    link_to(t, rp_x86_jcc(&t->x86, cc), target_index(t, in), target_pc(t, in));
}

static bool is_memory(const struct rp_insn *in)
{
    return in->cost_class == RP_COST_VMEM || in->cost_class == RP_COST_LDS ||
           in->cost_class == RP_COST_SMEM;
}

/* Calls a function as a handler is called, with the wave's pc behind the instruction. */
static void call_for(struct rp_jit_translation *t, const struct rp_insn *in, uint64_t pc,
                     uintptr_t function)
{
    struct rp_x86 *e = &t->x86;
    rp_jit_set_pc(t, pc + in->size_bytes);
    rp_x86_vzeroupper(e);
    rp_x86_load(e, true, RP_RDI, rp_reg(RP_JIT_W));
    rp_x86_lea(e, RP_RSI, rp_at(RP_JIT_INSNS, insn_offset(t, in)));
    rp_x86_mov_imm(e, RP_RAX, function);
    rp_x86_call_reg(e, RP_RAX);
}

/* Calls the instruction's own handler, from the pc on, with everything accounted for. */
static void call_handler(struct rp_jit_translation *t, const struct rp_insn *in, uint64_t pc,
                         bool noted)
{
    struct rp_x86 *e = &t->x86;
    const bool records = t->recorded && is_memory(in) && !noted;
    call_for(t, in, pc, (uintptr_t)(records ? rp_run_log_access : in->fn));
    rp_x86_test(e, false, RP_RAX, RP_RAX);
    step_stub(t, in, rp_x86_jcc(e, RP_CC_NE));
}

static void write_call(struct rp_jit_translation *t, const struct rp_insn *in)
{
    t->insts++;
    t->cycles += in->issue_cycles;
    account_all(t, after(t, in));
    call_handler(t, in, t->pc, false);
    rp_rows_forget(t);
    if (t->masked)
        load_masks(t);
}

/* A recorded wave notes what the instruction is about to access. Everything is accounted for then,
 * the instruction too, as where its handler is called; the access itself needs no handler. */
static bool write_noted(struct rp_jit_translation *t, const struct rp_insn *in)
{
    if (t->masked || !rp_jit_mem_knows(in))
        return false;
    t->insts++;
    t->cycles += in->issue_cycles;
    account_all(t, after(t, in));
    call_for(t, in, t->pc, (uintptr_t)rp_run_log_note);
    rp_rows_forget(t);
    t->noted = true;
    rp_jit_mem(t, in);
    t->noted = false;
    return true;
}

/* The step of s_endpgm and s_barrier is known. */
static void write_step(struct rp_jit_translation *t, const struct rp_insn *in)
{
    struct rp_x86 *e = &t->x86;
    account_all(t, after(t, in));
    rp_jit_set_pc(t, t->pc + in->size_bytes);
    rp_x86_mov_imm(e, RP_RAX, in->fn == rp_s_endpgm ? RP_STEP_END : RP_STEP_BARRIER);
    step_stub(t, in, rp_x86_jmp(e));
}

/* ---- detours ---- */

/* Goes back behind the instruction, with the rows in registers that the block has there. */
static void come_back(struct rp_jit_translation *t, const struct rp_jit_detour *d)
{
    memcpy(t->row, d->row, sizeof t->row);
    rp_rows_reload(t);
}

static void write_second_way(struct rp_jit_translation *t, struct rp_jit_detour *d)
{
    rp_x86_land(&t->x86, d->apart, t->x86.bytes);
    t->second = d;
    rp_jit_mem_scattered(t, d->in);
    t->second = NULL;
    come_back(t, d);
    rp_x86_land(&t->x86, rp_x86_jmp(&t->x86), d->back);
}

static void write_detour(struct rp_jit_translation *t, struct rp_jit_detour *d)
{
    struct rp_x86 *e = &t->x86;
    const int32_t insts = d->noted ? 0 : d->insts + 1;
    const int32_t cycles = (int32_t)d->cycles + d->in->issue_cycles;
    const unsigned first = d->noted ? after(t, d->in) : d->first;
    if (d->apart)
        write_second_way(t, d);
    for (unsigned i = 0; i < d->jump_count; i++)
        rp_x86_land(e, d->jump[i], e->bytes);
    account(t, insts, cycles);
    t->counts_lanes = d->counts_lanes;
    tally(t, first, after(t, d->in), 1);
    call_handler(t, d->in, d->pc, d->noted);
    come_back(t, d);
    if (d->masked)
        load_masks(t);
    account(t, -insts, -cycles); /* The block accounts for them later. */
    tally(t, first, after(t, d->in), -1);
    rp_x86_land(e, rp_x86_jmp(e), d->back);
}

/* ---- matrix instructions ---- */

/* Matrix instructions call the parts of their kernels, and widen only what is not widened yet. As
 * everywhere in a block, registers are in memory before and after.
 */

/** It is not known of every handler what it may write beside its result. */
static bool writes_result_only(const struct rp_insn *in)
{
    switch (in->fmt) {
    case RP_FMT_SOP1:
    case RP_FMT_SOP2:
    case RP_FMT_SOPC:
    case RP_FMT_SOPK:
    case RP_FMT_SOPP:
    case RP_FMT_SMEM:
    case RP_FMT_DS:
    case RP_FMT_FLAT:
    case RP_FMT_MUBUF:
    case RP_FMT_MTBUF:
        return true;
    default:
        return in->fn == rp_mfma || in->fn == rp_v_accvgpr_read_b32 || rp_jit_valu_knows(in);
    }
}

static void wide_forget(struct rp_jit_translation *t)
{
    for (unsigned i = 0; i < RP_JIT_WIDES; i++)
        t->wide[i].widen = NULL;
}

static bool meet(const struct rp_opnd *o, unsigned kind, unsigned first, unsigned rows)
{
    return o->kind == kind && o->index < first + rows && first < o->index + (unsigned)o->dwords;
}

static void wide_written(struct rp_jit_translation *t, const struct rp_insn *in)
{
    if (!writes_result_only(in)) {
        wide_forget(t);
        return;
    }
    for (unsigned i = 0; i < RP_JIT_WIDES; i++) {
        struct rp_jit_wide *w = &t->wide[i];
        if (meet(&in->dst, w->kind, w->first, w->rows) ||
            meet(&in->sdst, w->kind, w->first, w->rows))
            w->widen = NULL;
    }
}

static bool is_rows(const struct rp_opnd *o)
{
    return o->kind == RP_OPND_VGPR || o->kind == RP_OPND_AGPR;
}

static bool overlap(const struct rp_opnd *a, const struct rp_opnd *b)
{
    return meet(a, b->kind, b->index, b->dwords);
}

/* Loads the address of the operand's first row into reg. */
static void rows_address(struct rp_jit_translation *t, unsigned reg, const struct rp_opnd *o)
{
    if (o->kind == RP_OPND_VGPR) {
        rp_x86_lea(&t->x86, reg, rp_at(RP_JIT_ROWS, rp_row_disp(o->index, 0)));
        return;
    }
    rp_x86_load(&t->x86, true, reg, rp_at(RP_JIT_W, offsetof(struct rp_wave, agpr)));
    rp_x86_lea(&t->x86, reg, rp_at(reg, (int32_t)(o->index * sizeof(uint32_t[RP_LANES]))));
}

/* Loads an address in scratch memory, which lies behind [RSP], into reg. */
static void scratch_address(struct rp_jit_translation *t, unsigned reg, unsigned wide)
{
    rp_x86_lea(&t->x86, reg, rp_at(RP_RSP, (int32_t)(8 + 63 + wide * RP_WIDE_BYTES)));
    rp_x86_alu_imm(&t->x86, true, RP_AND, rp_reg(reg), -64);
}

static void call_kernel(struct rp_jit_translation *t, uintptr_t function)
{
    rp_x86_mov_imm(&t->x86, RP_RAX, function);
    rp_x86_call_reg(&t->x86, RP_RAX);
}

/* Returns the place of the operand if it is widened, or the place that was used longest ago except
 * @p not.
 */
static unsigned place_of(const struct rp_jit_translation *t, const struct rp_opnd *o,
                         rp_mfma_widen_fn *widen, unsigned other)
{
    unsigned best = other == 0;
    for (unsigned i = 0; i < RP_JIT_WIDES; i++) {
        const struct rp_jit_wide *w = &t->wide[i];
        if (w->widen == widen && w->kind == o->kind && w->first == o->index && w->rows == o->dwords)
            return i;
        if (i == other)
            continue;
        if (t->wide[best].widen && (!w->widen || w->used < t->wide[best].used))
            best = i;
    }
    return best;
}

/* Makes operand @p i wide; returns its place. */
static unsigned make_wide(struct rp_jit_translation *t, const struct rp_opnd *o,
                          rp_mfma_widen_fn *widen, unsigned values, unsigned other)
{
    const unsigned place = place_of(t, o, widen, other);
    struct rp_jit_wide *w = &t->wide[place];
    w->used = ++t->clock;
    if (w->widen == widen && w->kind == o->kind && w->first == o->index && w->rows == o->dwords)
        return place;
    *w = (struct rp_jit_wide){
        .widen = widen, .kind = o->kind, .first = o->index, .rows = o->dwords, .used = w->used};
    scratch_address(t, RP_RDI, place);
    rows_address(t, RP_RSI, o);
    rp_x86_mov_imm(&t->x86, RP_RDX, values);
    call_kernel(t, (uintptr_t)widen);
    return place;
}

static bool can_do(const struct rp_insn *in, const struct rp_mfma_parts *parts)
{
    const struct rp_opnd *c = &in->src[2];
    if (in->cbsz || in->abid || in->blgp || in->flags & RP_IF_FLUSH || !is_rows(&in->src[0]) ||
        !is_rows(&in->src[1]) || !is_rows(&in->dst) || !is_rows(c))
        return false;
    if (overlap(c, &in->dst) && c->index != in->dst.index)
        return false;
    /* An operand that is not widened is read while D is written. */
    return (parts->widen_a || !overlap(&in->src[0], &in->dst)) &&
           (parts->widen_b || !overlap(&in->src[1], &in->dst));
}

static bool write_mfma(struct rp_jit_translation *t, const struct rp_insn *in)
{
    struct rp_mfma_parts parts;
    unsigned a = RP_JIT_WIDES, b = RP_JIT_WIDES;
    if (in->fn != rp_mfma || !rp_mfma_parts(in->lane, &parts) || !can_do(in, &parts))
        return false;
    if (parts.widen_a)
        a = make_wide(t, &in->src[0], parts.widen_a, parts.values, a);
    if (parts.widen_b)
        b = make_wide(t, &in->src[1], parts.widen_b, parts.values, a);
    rows_address(t, RP_RDI, &in->dst);
    rows_address(t, RP_RSI, &in->src[2]);
    rp_x86_mov_imm(&t->x86, RP_RDX, RP_LANES);
    if (parts.widen_a)
        scratch_address(t, RP_RCX, a);
    else
        rows_address(t, RP_RCX, &in->src[0]);
    if (parts.widen_b)
        scratch_address(t, RP_R8, b);
    else
        rows_address(t, RP_R8, &in->src[1]);
    call_kernel(t, (uintptr_t)parts.core);
    rp_rows_forget(t); /* This forgets what the CPU's registers hold. */
    if (t->masked)
        load_masks(t);
    return true;
}

static void write_insn(struct rp_jit_translation *t, const struct rp_insn *in)
{
    const bool noted = t->recorded && is_memory(in);
    if (noted && write_noted(t, in)) {
        wide_written(t, in);
        return;
    }
    const bool done = !noted && !in->watched &&
                      (in->fn == rp_s_nop || rp_jit_salu(t, in) || rp_jit_valu(t, in) ||
                       rp_jit_mem(t, in) || write_mfma(t, in));
    wide_written(t, in);
    if (!done) {
        write_call(t, in);
        return;
    }
    t->insts++;
    t->cycles += in->issue_cycles;
}

static void write_body(struct rp_jit_translation *t, const struct rp_jit_block *b, bool masked)
{
    unsigned index = b->first;
    const struct rp_insn *in = NULL;
    t->masked = masked;
    t->counts_lanes = b->has_vector && (masked || !b->has_rows);
    t->insts = 0;
    t->first = b->first;
    t->cycles = 0;
    tally_lanes(t);
    rp_rows_forget(t);
    wide_forget(t);
    if (masked)
        load_masks(t);
    t->end = &t->page->insn[index];
    for (unsigned i = 0; i < b->count; i++)
        t->end = rp_jit_next(t->end);
    for (unsigned i = 0; i < b->count; i++) {
        in = &t->page->insn[index];
        t->in = in;
        t->pc = t->page->base_va + 4ull * index;
        index = after(t, in);
        t->pinned = 0;
        if (!rp_jit_is_branch(in) && !is_known_step(in)) {
            write_insn(t, in);
            continue;
        }
        t->insts++;
        t->cycles += in->issue_cycles;
        if (is_known_step(in))
            write_step(t, in);
        else
            write_branch(t, in);
    }
    account_all(t, index);
    t->pc = t->page->base_va + 4ull * index;
    if (in->fn == rp_s_branch || is_known_step(in))
        return;
    const unsigned this = (unsigned)(b - t->block);
    const bool falls_through = !masked && this + 1 < t->block_count && index < RP_CODE_PAGE_INSNS &&
                               t->block_at[index] == this + 1;
    if (!falls_through)
        link_to(t, rp_x86_jmp(&t->x86), index, t->pc);
}

static void write_block(struct rp_jit_translation *t, struct rp_jit_block *b)
{
    struct rp_x86 *e = &t->x86;
    b->entry = e->bytes;
    t->insts = 0;
    t->cycles = 0;
    t->pc = t->page->base_va + 4ull * b->first;
    rp_x86_alu_imm(e, false, RP_CMP, rp_reg(RP_JIT_LEFT), b->count);
    rp_jit_stub_new(t, rp_x86_jcc(e, RP_CC_B));
    if (b->has_rows) {
        rp_x86_alu_imm(e, true, RP_CMP, rp_jit_exec(), -1);
        b->masked_jump = rp_x86_jcc(e, RP_CC_NE);
    }
    write_body(t, b, false);
}

static void write_region(struct rp_jit_translation *t)
{
    struct rp_x86 *e = &t->x86;
    e->bytes = sizeof t->pool;
    write_prologue(t);
    for (unsigned i = 0; i < t->block_count; i++)
        write_block(t, &t->block[i]);
    for (unsigned i = 0; i < t->block_count; i++)
        if (t->block[i].has_rows) {
            rp_x86_land(e, t->block[i].masked_jump, e->bytes);
            write_body(t, &t->block[i], true);
        }
    for (unsigned i = 0; i < t->detour_count; i++)
        write_detour(t, &t->detour[i]);
    const size_t epilogue = e->bytes;
    write_epilogue(t);
    for (unsigned i = 0; i < t->stub_count; i++)
        write_stub(t, &t->stub[i], epilogue);
    for (unsigned i = 0; i < t->link_count; i++)
        rp_x86_land(e, t->link[i].jump, t->block[t->link[i].block].entry);
    memcpy(e->code, t->pool, sizeof t->pool);
}

static void publish(struct rp_jit_translation *t)
{
    struct rp_jit_region *r = calloc(1, sizeof *r + t->block_count * sizeof(struct rp_jit_entry));
    if (!r)
        return;
    r->bytes = t->x86.bytes;
    r->memory = code_memory_new(t->x86.code, r->bytes);
    if (!r->memory) {
        free(r);
        rp_jit_set(false);
        return;
    }
    const char *code = r->memory;
    r->next = t->page->regions;
    t->page->regions = r;
    t->page->region_bytes += r->bytes;
    for (unsigned i = 0; i < t->block_count; i++) {
        r->entry[i] = (struct rp_jit_entry){
            .code = code + t->block[i].entry,
            .enter = (rp_jit_enter_fn *)(uintptr_t)(code + sizeof t->pool),
            .insts = t->block[i].count,
            .vgpr_top = (uint16_t)t->vgpr_top,
            .agpr_top = (uint16_t)t->agpr_top,
        };
        const unsigned first = t->block[i].first;
        const struct rp_jit_entry **native =
            t->recorded ? &t->recorded->native[first] : &t->page->insn[first].native;
        if (!__atomic_load_n(native, __ATOMIC_RELAXED))
            __atomic_store_n(native, &r->entry[i], __ATOMIC_RELEASE);
    }
}

static void translate(struct rp_code_page *page, unsigned index, struct rp_code_recorded *recorded)
{
    if (page->region_bytes >= PAGE_CODE_BYTES ||
        (recorded ? recorded->native[index] : page->insn[index].native))
        return;
    struct rp_jit_translation *t = calloc(1, sizeof *t);
    if (!t)
        return;
    t->page = page;
    t->counts = page->counts;
    t->recorded = recorded;
    t->x86.room_bytes = CODE_ROOM_BYTES;
    /* Only the part that is used is touched, so the large size costs nothing. */
    t->x86.code = malloc(CODE_ROOM_BYTES);
    if (t->x86.code) {
        find_region(t, index);
        if (t->block_count)
            write_region(t);
        if (t->overflow || t->x86.full)
            /* The same would happen from other places, so the page gets no more code. */
            page->region_bytes = PAGE_CODE_BYTES;
        else if (t->block_count)
            publish(t);
    }
    free(t->x86.code);
    free(t);
}

static void drop(struct rp_code_page *page)
{
    while (page->regions) {
        struct rp_jit_region *r = page->regions;
        page->regions = r->next;
        code_memory_free(r->memory, r->bytes);
        free(r);
    }
}

const struct rp_translator rp_jit_translator = {
    .available = available, .translate = translate, .drop = drop};
