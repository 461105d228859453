/**
 * @file wave_state.h
 * @brief This header declares the state of a wavefront, its workgroup and its dispatch while they
 * execute, and what instructions reach beside it: memory, services, the log of atomics.
 */
#ifndef RP_DEVICE_ISA_WAVE_STATE_H
#define RP_DEVICE_ISA_WAVE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arch/arch.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"

struct rp_atomic_log;
struct rp_check_group;
struct rp_dispatch;
struct rp_exec_host;
struct rp_group;
struct rp_group_clock;
struct rp_observer;
struct rp_wave_env;
struct rp_rec_wave;
struct rp_run_log;
struct rp_translator;

/* --- the state of a wave ---------------------------------------------------------------------- */

/* Indices into rp_wave.sgpr are the scalar operand encodings of gfx9. */
enum {
    RP_SGPR_FLAT_SCRATCH_LO = 102,
    RP_SGPR_XNACK_LO = 104,
    RP_SGPR_VCC_LO = 106,
    RP_SGPR_TTMP0 = 108,
    RP_SGPR_M0 = 124,
    RP_SGPR_EXEC_LO = 126,
    RP_SGPR_COUNT = 128,
};

/**
 * Private memory of a wave that gets it in SGPRs (no architected flat scratch) begins here. It is
 * a 48-bit address with nothing behind it, beyond everything that is mapped for the GPU. The
 * buffer resource and FLAT_SCRATCH that a kernel is given name it; what they address is
 * rp_wave.scratch.
 */
#define RP_SCRATCH_BASE_VA 0xfffe00000000ull

/** This says why a dispatch stopped, as the hardware would report it to the queue. */
enum rp_fault_kind {
    RP_FAULT_NONE = 0,
    RP_FAULT_UNIMPLEMENTED, /**< known opcode without semantics here, or an unsupported mode */
    RP_FAULT_ILLEGAL_OPCODE,
    RP_FAULT_MEMORY,       /**< address not mapped for the GPU, or write to read-only */
    RP_FAULT_LDS,          /**< LDS access outside the allocation that hardware would not forgive */
    RP_FAULT_TRAP,         /**< s_trap: assert, abort */
    RP_FAULT_BAD_DISPATCH, /**< workgroup too large, no code object, bad kernel descriptor */
    RP_FAULT_NO_MEMORY,    /**< the host could not allocate wave state */
    RP_FAULT_BOUND,        /**< more work than it may be (exec_settings.h) */
};

struct rp_fault {
    enum rp_fault_kind kind;
    uint64_t pc;      /**< GPU address of the instruction */
    uint64_t address; /**< faulting address for MEMORY */
    int lane;         /**< -1 = not a single lane */
    bool in_wave;     /**< the next two are known */
    uint32_t group_id[3];
    uint32_t wave;  /**< number in its workgroup */
    char text[200]; /**< reason, with mnemonic and operands where there are any */
};

/** This says where memory is, as the GPU whose engine copies sees it. */
enum rp_memory_location {
    RP_PLACE_LOCAL = 0, /**< its own HBM */
    RP_PLACE_PEER,      /**< another GPU's HBM */
    RP_PLACE_HOST,      /**< behind the host link */
    RP_PLACES,
};

/** This counts the work done so far, which is the input of the timing model. */
struct rp_counts {
    uint64_t waves;
    uint64_t wave_insts;      /**< all instructions issued, wave granularity */
    uint64_t issue_cycles;    /**< sum over waves of modelled issue cycles */
    uint64_t max_wave_cycles; /**< issue cycles of the longest wave */
    uint64_t read_bytes;      /**< by active lanes, global memory, scalar loads included */
    uint64_t write_bytes;     /**< atomics count as a read and a write */
    uint64_t lds_bytes;
    uint64_t fast_clock_waves; /**< that read a clock which detailed timing has not told */
    /** Of read and write_bytes: to or from other GPUs and the host, by vector instructions; indexed
     *  by enum rp_memory_location (local ones are not counted) and 0 = read, 1 = written. */
    uint64_t link_bytes[RP_PLACES][2];
};

/**
 * This describes a wave that polls memory: what its loop has cost since a point that it may come
 * back to.
 */
struct rp_wait {
    bool armed;            /**< the rest is valid */
    bool idle;             /**< the latest turn of the loop changed nothing */
    uint64_t hash;         /**< of all registers at that point */
    uint64_t cycles;       /**< the wave's at that point */
    uint64_t kept_bytes;   /**< of cost.write_bytes: atomics that left memory as it was */
    struct rp_counts cost; /**< since that point, this wave's only */
};

struct rp_group {
    struct rp_dispatch *dispatch;
    struct rp_wave_env *env; /**< of the thread that executes it at present */
    uint32_t id[3];          /**< workgroup id */
    uint64_t linear_id;
    uint64_t start_cycles; /**< modelled time of its start, since the dispatch's start */
    uint64_t insts;        /**< executed so far, as rp_counts.wave_insts */
    uint8_t *lds;
    uint32_t lds_bytes; /**< allocated, rounded up to the hardware's granule */
    uint32_t wave_count;
    uint32_t waves_ended;
    uint32_t waves_at_barrier;
    uint32_t cursor;      /**< wave that runs next */
    uint32_t shuffle;     /**< of exec_settings.h */
    uint32_t wave_budget; /**< what is left of that wave's slice, in instructions */
    uint32_t idle_turns;  /**< waves in a row that gave up their turn (s_sleep, polling) */
    struct rp_group_clock
        *clock; /**< of the clocks that its recorded waves read (live_clock.c), or NULL */
    struct rp_wave *waves;
    struct rp_check_group *check; /**< what a check keeps of it (executor.h), or NULL */
};

struct rp_wave {
    uint64_t pc; /**< GPU address of the next instruction */
    uint32_t sgpr[RP_SGPR_COUNT];
    uint32_t scc;     /**< 0 or 1 */
    uint32_t mode;    /**< MODE register */
    uint32_t gpr_idx; /**< not 0: VALU instructions go the long way; RP_VALU_ flags, and while
                           index mode is on the index in [7:0] and enables in [15:12] */
    uint32_t (*vgpr)[RP_LANES]; /**< row per VGPR, 64-byte aligned */
    uint32_t (*agpr)[RP_LANES]; /**< accumulation registers; same file at accum_offset */
    uint32_t vgpr_count; /**< rows behind vgpr, those of agpr among them: an index beyond it is
                              a fault at decode/exec; 0 while VSKIP is on */
    uint32_t agpr_count;
    uint32_t skip_vgpr_count; /**< while VSKIP is on, the two counts to restore */
    uint32_t skip_agpr_count;
    struct rp_group *group;
    struct rp_rec_wave *record; /**< where what it does is noted (wave_record.h), or NULL */
    struct rp_run_log
        *run_log;     /**< of the thread that executes it, if it has a record (executor.h) */
    uint8_t *scratch; /**< private segment: byte b of lane l is at (b / 4 * 64 + l) * 4 +
                           b % 4, so that one dword of all lanes is one register row */
    uint32_t scratch_lane_bytes;  /**< per lane, multiple of 4 */
    uint32_t scratch_dirty_bytes; /**< per lane: everything from here on is still zero */
    uint32_t id_in_group;
    uint64_t cycles;     /**< modelled clocks of this wave: issue and sleep */
    int64_t clock_lead;  /**< by how many more what it read of the clock was ahead of them */
    bool fast_clock;     /**< it is among rp_counts.fast_clock_waves */
    uint64_t poll_va;    /**< address of the latest load, and how often in a row it was the */
    uint32_t poll_count; /**< same without a store between: a wave that waits for memory */
    struct rp_wait wait;
    bool at_gws_barrier;
    uint32_t gws_phase; /**< of the resource when the wave came to its barrier */
    bool at_barrier;
    bool past_barrier; /**< has not executed s_waitcnt since its latest barrier */
    bool ended;
    struct rp_fault fault;
};

/** VALU instructions go the long way for these reasons (rp_wave.gpr_idx). */
enum {
    RP_VALU_INDEX = 1u << 31, /**< VGPR index mode is on */
    RP_VALU_MODE = 1u << 30,  /**< MODE asks for other float arithmetic than the default */
    RP_VALU_SKIP = 1u << 29,  /**< VSKIP: vector instructions do nothing */
};

/* The fields of MODE are those of the CDNA3 ISA guide, "state registers". */
enum {
    RP_MODE_ROUND_F32_SHIFT = 0,  /**< 0 nearest even, 1 up, 2 down, 3 toward zero */
    RP_MODE_ROUND_F64_SHIFT = 2,  /**< f64 and f16 */
    RP_MODE_DENORM_F32_SHIFT = 4, /**< bit 0: keep denormal inputs; bit 1: keep denormal results */
    RP_MODE_DENORM_F64_SHIFT = 6,
    RP_MODE_DX10_CLAMP = 1 << 8,
    RP_MODE_IEEE = 1 << 9,
    RP_MODE_FP16_OVFL = 1 << 23, /**< f16 results too large become the largest number */
    RP_MODE_CSP_SHIFT = 29,
    /* What compilers ask for, and what lane kernels compute: nearest even, all denormals kept, NaN
     * clamps to 0, f16 overflows to infinity. IEEE they honour either way, but OMOD counts then. */
    RP_MODE_USUAL = 0x3f0,
    RP_MODE_FLOAT_BITS = 0x8003ff,
};

#define RP_EXEC(w) rp_sgpr64((w), RP_SGPR_EXEC_LO)
#define RP_VCC(w)  rp_sgpr64((w), RP_SGPR_VCC_LO)

/** Sets MODE but for index mode and VSKIP, which live in gpr_idx. */
static inline void rp_wave_set_mode(struct rp_wave *w, uint32_t mode)
{
    w->mode = mode;
    if ((mode & RP_MODE_FLOAT_BITS) != RP_MODE_USUAL)
        w->gpr_idx |= RP_VALU_MODE;
    else
        w->gpr_idx &= ~(uint32_t)RP_VALU_MODE;
}

/* EXEC and VCC are 64-bit views of two neighbouring SGPRs (little endian host). */
static inline uint64_t rp_sgpr64(const struct rp_wave *w, unsigned index)
{
    return (uint64_t)w->sgpr[index] | (uint64_t)w->sgpr[index + 1] << 32;
}

static inline void rp_sgpr64_set(struct rp_wave *w, unsigned index, uint64_t value)
{
    w->sgpr[index] = (uint32_t)value;
    w->sgpr[index + 1] = (uint32_t)(value >> 32);
}

/**
 * Returns the value of a scalar operand (SGPR, CONST, SPECIAL), zero-extended; dwords decides the
 * width.
 */
uint64_t rp_opnd_scalar_slow(const struct rp_wave *wave, const struct rp_opnd *o);

static inline uint32_t rp_opnd_u32(const struct rp_wave *wave, const struct rp_opnd *o)
{
    if (__builtin_expect(o->kind == RP_OPND_SGPR, 1))
        return wave->sgpr[o->index];
    if (o->kind == RP_OPND_CONST)
        return (uint32_t)o->imm;
    return (uint32_t)rp_opnd_scalar_slow(wave, o);
}

static inline uint64_t rp_opnd_u64(const struct rp_wave *wave, const struct rp_opnd *o)
{
    if (__builtin_expect(o->kind == RP_OPND_SGPR, 1))
        return rp_sgpr64(wave, o->index);
    if (o->kind == RP_OPND_CONST)
        return o->imm;
    return rp_opnd_scalar_slow(wave, o);
}

/* --- the host of the device ------------------------------------------------------------------- */

enum { RP_GWS_RESOURCES = 64 };

/**
 * Global wave sync has barriers for waves of the whole device, which keep their state. Zero it
 * first.
 */
struct rp_gws {
    struct {
        uint32_t counter; /**< waves still expected before the last one */
        uint32_t phase;   /**< barriers that have opened */
    } resource[RP_GWS_RESOURCES];
};

/** The driver tells the executor this about its world. */
struct rp_exec_host {
    void *ctx;
    /**
     * Returns the host pointer for @p bytes of GPU memory at @p gpu_va, or NULL if any of it is
     * not mapped for the GPU (write: or not writable). With identity mapping this is a range check
     * and a cast.
     */
    void *(*translate)(void *ctx, uint64_t gpu_va, uint64_t bytes, int write);
    /**
     * A half-open range around gpu_va in which every byte translates and the translation is
     * linear (host = gpu_va + delta), so that the executor can cache it; 0 = not mapped. The cache
     * is dropped when *generation changes.
     */
    int (*range)(void *ctx, uint64_t gpu_va, int write, uint64_t *ret_begin, uint64_t *ret_end,
                 int64_t *ret_delta);
    /**
     * Returns where the memory at gpu_va is, which is the same for all of a range. NULL: all is
     * local
     */
    enum rp_memory_location (*place)(void *ctx, uint64_t gpu_va);
    /**
     * NULL, or says whether range() may answer with memory of the program that can vanish without
     * notice, so that accesses must be guarded (host_traps.h). translate() never does.
     */
    const bool *borrows;
    const uint64_t *generation; /**< bumped by the driver on every map and unmap */
    void (*send_interrupt)(void *ctx, uint32_t m0); /**< s_sendmsg MSG_INTERRUPT */
    uint64_t (*clock_ticks)(void *ctx);             /**< device clock for s_memrealtime */
    uint64_t lds_aperture;              /**< 0x1000000000000: high half compared by FLAT */
    uint64_t scratch_aperture;          /**< 0x2000000000000 */
    struct rp_gws *gws;                 /**< of the device; NULL = it has none */
    const struct rp_observer *observer; /**< detailed timing (executor.h); NULL: none */
    const struct rp_translator
        *translator; /**< of hot code (code_cache.h); NULL: all is interpreted */
};

/* --- memory ----------------------------------------------------------------------------------- */

/* GPU addresses become host pointers through a small cache of linear ranges in front of the host.
 */

/* The map is indexed directly by the address's MiB, scattered, because a kernel's arrays are
 * usually more than 1 MiB apart, and often a power of two.
 */
enum { RP_MEM_ENTRIES_LOG2 = 6, RP_MEM_ENTRIES = 1 << RP_MEM_ENTRIES_LOG2, RP_MEM_SHIFT = 20 };
enum { RP_MEM_SCATTER = 0x1e3779b1 };

/** span 0 means empty. The host pointer is va + delta. */
struct rp_mem_range {
    uint64_t begin;
    uint64_t span_bytes;
    uint64_t delta;
    enum rp_memory_location place;
};

struct rp_mem {
    /**
     * [0] is for reads and [1] for writes. Entries have 32 bytes, so none lies in two cache lines.
     */
    _Alignas(64) struct rp_mem_range side[2][RP_MEM_ENTRIES];
    const struct rp_exec_host *host;
    uint64_t generation;
    struct rp_counts *counts; /**< where bytes that cross a link are counted; NULL: nowhere */
};

void rp_mem_init(struct rp_mem *m, const struct rp_exec_host *host);

/** Drops all cached ranges: those of another generation. */
void rp_mem_forget(struct rp_mem *m, uint64_t generation);

/** Asks the host. @return NULL: not mapped */
void *rp_mem_find_slow(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write);

/** Does the rest of rp_mem_lanes_at() when it is not simply cached local memory. */
void *rp_mem_lanes_at_slow(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write,
                           uint64_t exec);

/**
 * Counts what rp_mem_lanes_at would have for lanes at @p va (RP_LANES of them), had their memory
 * been in one piece: how it is mapped must not show in modelled time.
 */
void rp_mem_count_lanes(struct rp_mem *m, const uint64_t *va, uint64_t exec, unsigned bytes,
                        unsigned write);

/**
 * Drops cached ranges when the host's mapping has changed. The executor calls it between slices.
 */
static inline void rp_mem_refresh(struct rp_mem *m)
{
    if (!m->host->generation)
        return;
    const uint64_t now = __atomic_load_n(m->host->generation, __ATOMIC_ACQUIRE);
    if (__builtin_expect(now != m->generation, 0))
        rp_mem_forget(m, now);
}

/**
 * Returns which entry an address's range is in. Translated code computes it, too (jit_memory.c).
 */
static inline uint32_t rp_mem_index(uint64_t va)
{
    return (uint32_t)(va >> RP_MEM_SHIFT) * (uint32_t)RP_MEM_SCATTER >> (32 - RP_MEM_ENTRIES_LOG2);
}

/** Returns the cached range for an address, or that of another address if it is not cached. */
static inline const struct rp_mem_range *rp_mem_entry(const struct rp_mem *m, uint64_t va,
                                                      unsigned write)
{
    return &m->side[write][rp_mem_index(va)];
}

/**
 * Returns the host pointer to @p bytes of GPU memory, or NULL. It counts nothing, because caches
 * and scalar loads use it.
 */
static inline void *rp_mem_find(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write)
{
    const struct rp_mem_range *r = rp_mem_entry(m, va, write);
    uint64_t offset = va - r->begin;
    if (offset < r->span_bytes && r->span_bytes - offset >= bytes)
        return (void *)(uintptr_t)(va + r->delta);
    return rp_mem_find_slow(m, va, bytes, write);
}

/**
 * Does the same for an access that @p exec lanes make to parts of the range. Bytes in another
 * GPU's or the host's memory count as traffic over that link: the range, but at most a request for
 * each lane.
 */
static inline void *rp_mem_lanes_at(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write,
                                    uint64_t exec)
{
    const struct rp_mem_range *r = rp_mem_entry(m, va, write);
    uint64_t offset = va - r->begin;
    if (__builtin_expect(offset < r->span_bytes && r->span_bytes - offset >= bytes &&
                             r->place == RP_PLACE_LOCAL,
                         1))
        return (void *)(uintptr_t)(va + r->delta);
    return rp_mem_lanes_at_slow(m, va, bytes, write, exec);
}

/** Does the same for one lane. */
static inline void *rp_mem_at(struct rp_mem *m, uint64_t va, uint64_t bytes, unsigned write)
{
    return rp_mem_lanes_at(m, va, bytes, write, 1);
}

/**
 * Returns the host pointer to memory that cannot vanish, for accesses that are not guarded (code).
 * It is not cached.
 */
static inline void *rp_mem_owned_at(const struct rp_mem *m, uint64_t va, uint64_t bytes)
{
    return m->host->translate(m->host->ctx, va, bytes, 0);
}

static inline bool rp_mem_borrows(const struct rp_mem *m)
{
    return m->host->borrows && __atomic_load_n(m->host->borrows, __ATOMIC_RELAXED);
}

/* --- what waves reach beside their state ------------------------------------------------------ */

/** An instruction may ask this of whoever executes its wave. */
struct rp_wave_services {
    /**
     * The wave has come to s_memtime or s_memrealtime.
     * @return RP_STEP_NEXT, and the two functions below tell what it reads; or RP_STEP_LATER
     */
    int (*read_clock)(struct rp_wave *w);
    /**
     * s_memrealtime reads the 100 MHz device clock as this wave sees it, which is monotonic per
     * wave.
     */
    uint64_t (*clock_ticks)(const struct rp_wave *w);
    /** s_memtime reads shader clocks on the same time line. */
    uint64_t (*memtime_cycles)(const struct rp_wave *w);
    /**
     * Returns the number of the die that the wave runs on; workgroups are dealt out to dies in
     * turn.
     */
    uint32_t (*xcc)(const struct rp_wave *w);
    /**
     * s_sendmsg MSG_INTERRUPT tells the host, at the latest when rp_dispatch_run() returns. Waking
     * a thread takes long, and the host would otherwise answer before the wave has begun to wait,
     * or not, by chance.
     */
    void (*interrupt)(struct rp_wave *w, uint32_t m0);
};

/**
 * These are the surroundings of waves, which belong to a thread: whoever executes the waves keeps
 * more behind them.
 */
struct rp_wave_env {
    const struct rp_exec_host *host;  /**< the driver side. Never NULL */
    const struct rp_mem_lanes *lanes; /**< lane loops for this CPU */
    const struct rp_wave_services *services;
    struct rp_atomic_log *log; /**< of the present slice, or NULL */
    bool logging;              /**< the present instruction's atomics go there */
    struct rp_mem mem;
    struct rp_counts counts; /**< of the present slice */
};

/**
 * Stops the dispatch because of instruction @p in. Call before the handler has changed wave->pc.
 * The text becomes "<instruction>: <message>"; the address is in rp_fault.pc.
 * @return RP_STEP_FAULT, so that handlers can `return rp_wave_fault(...)`
 */
int rp_wave_fault(struct rp_wave *w, const struct rp_insn *in, enum rp_fault_kind kind,
                  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/** Does the same as rp_wave_fault() for MEMORY and LDS faults of one lane (-1: scalar access). */
int rp_wave_fault_address(struct rp_wave *w, const struct rp_insn *in, enum rp_fault_kind kind,
                          int lane, uint64_t address, const char *what);

static inline const struct rp_exec_host *rp_wave_host(const struct rp_wave *w)
{
    return w->group->env->host;
}

/* --- atomics ---------------------------------------------------------------------------------- */

/* Atomics that return nothing are noted, and applied in the order of the program (executor.h). */

/** Applies one operation at @p p; returns the value before, and whether it was another one. */
typedef uint64_t rp_atomic_fn(void *p, uint64_t data, uint64_t data2, bool *ret_changed);

struct rp_atomic_log_entry {
    rp_atomic_fn *fn;
    uint64_t va;
    uint64_t data;
    uint32_t bytes;
};

enum { RP_ATOMIC_LOG_ENTRIES = 8192, RP_ATOMIC_LOG_PAGE_WORDS = 16 };

/** The log holds atomics of a slice that are still to be applied, in program order. */
struct rp_atomic_log {
    struct rp_atomic_log *next; /**< list of free ones */
    uint32_t count, applied;
    uint64_t low, high;                       /**< GPU addresses: all lie in [low, high) */
    uint64_t pages[RP_ATOMIC_LOG_PAGE_WORDS]; /**< a bit per hashed 4 KiB page they may touch */
    struct rp_atomic_log_entry entry[RP_ATOMIC_LOG_ENTRIES];
};

/** Notes an atomic without result on @p bytes of mapped GPU memory. The log always has room. */
void rp_atomic_log_add(struct rp_wave *w, rp_atomic_fn *fn, uint64_t va, uint32_t bytes,
                       uint64_t data);

/** Applies and empties a log. Memory that was unmapped meanwhile is left out. */
void rp_atomic_log_apply(struct rp_atomic_log *log, struct rp_mem *mem);

/** Forgets what a log holds. */
static inline void rp_atomic_log_clear(struct rp_atomic_log *log)
{
    log->count = log->applied = 0;
    log->low = UINT64_MAX;
    log->high = 0;
    memset(log->pages, 0, sizeof log->pages);
}

/** Tests whether [from, to) and the pages of the log may have bytes in common. */
bool rp_atomic_log_touches(const struct rp_atomic_log *log, uint64_t from, uint64_t to);

#endif
