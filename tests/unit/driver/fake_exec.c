#include "fake_exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/check/check.h"
#include "device/exec/host_traps.h"
#include "device/isa/instruction.h"
#include "device/isa/wave_state.h"
#include "device/jit/jit_translate.h"
#include "device/timing/cache_history.h"
#include "device/timing/dispatch_timing.h"
#include "device/timing/pc_sampler.h"
#include "device/timing/timing_model.h"

struct fake_exec fake_exec;

struct rp_observer {
    int nothing;
};
const struct rp_observer rp_timing_observer;
const struct rp_translator rp_jit_translator = {0};

struct rp_dispatch {
    unsigned turns_left;
    struct rp_counts counts;
};

struct rp_dispatch *rp_dispatch_new(const struct rp_exec_host *host, const struct rp_arch *arch,
                                    const struct rp_launch *launch)
{
    (void)host, (void)arch;
    struct rp_dispatch *d = calloc(1, sizeof *d);
    if (d) {
        d->turns_left = fake_exec.turns;
        d->counts = fake_exec.counts;
    }
    fake_exec.launch = *launch;
    fake_exec.launched++;
    return d;
}

enum rp_run_state rp_dispatch_run(struct rp_dispatch *d, uint64_t budget)
{
    (void)budget;
    if (d->turns_left > 1) {
        d->turns_left--;
        return RP_RUN_MORE;
    }
    const bool done = fake_exec.fault.kind == RP_FAULT_NONE || fake_exec.ticks_status < 0;
    return done ? RP_RUN_DONE : RP_RUN_FAULT;
}

const struct rp_counts *rp_dispatch_counts(const struct rp_dispatch *d)
{
    return &d->counts;
}

enum rp_counting rp_dispatch_count(const struct rp_dispatch *d, uint64_t *values)
{
    memset(values, 0, RP_DEVICE_COUNTERS * sizeof *values);
    values[RP_COUNTER_SQ_WAVES] = d->counts.waves;
    return RP_COUNT_MEMORY;
}

bool rp_dispatch_counted_waves(const struct rp_dispatch *d)
{
    (void)d;
    return false;
}

void rp_exec_set_counts(enum rp_counting what)
{
    (void)what;
}

int64_t rp_dispatch_busy_ns(const struct rp_dispatch *d)
{
    (void)d;
    return fake_exec.busy_ns;
}

bool rp_dispatch_is_ended(const struct rp_dispatch *d)
{
    (void)d;
    return fake_exec.fault_ends || fake_exec.fault.kind == RP_FAULT_BOUND;
}

bool rp_dispatch_waits(const struct rp_dispatch *d)
{
    (void)d;
    return fake_exec.waits;
}

size_t rp_exec_listing(const struct rp_exec_host *host, uint64_t from_va, uint64_t pc,
                       unsigned lines, char *text, size_t room)
{
    (void)host, (void)from_va, (void)pc, (void)lines, (void)text, (void)room;
    return 0;
}

const struct rp_fault *rp_dispatch_fault(const struct rp_dispatch *d)
{
    (void)d;
    return &fake_exec.fault;
}

void rp_dispatch_free(struct rp_dispatch *d)
{
    fake_exec.freed += d != NULL;
    free(d);
}

struct rp_cache_history *rp_cache_history_new(void)
{
    return NULL;
}

void rp_cache_history_free(struct rp_cache_history *h)
{
    (void)h;
}

void rp_exec_invalidate_code(uint64_t va, uint64_t bytes)
{
    (void)va, (void)bytes;
    fake_exec.invalidated++;
}

int rp_dispatch_ticks(struct rp_dispatch *d, const struct rp_arch *arch, uint64_t *ret_ticks)
{
    (void)d, (void)arch;
    *ret_ticks = fake_exec.ticks;
    return fake_exec.ticks_status;
}

bool rp_dispatch_simulated(const struct rp_dispatch *d, uint64_t *ret_waves,
                           double *ret_error_share)
{
    (void)d, (void)ret_waves, (void)ret_error_share;
    return false;
}

void rp_dispatch_needs(const struct rp_dispatch *d, const struct rp_arch *arch,
                       double ret_ns[RP_SHARED_RESOURCES])
{
    (void)d, (void)arch, (void)ret_ns;
}

bool rp_dispatch_between(const struct rp_dispatch *d, const struct rp_arch *arch, double ret_ns[2])
{
    (void)d, (void)arch;
    ret_ns[0] = fake_exec.between_ns[0];
    ret_ns[1] = fake_exec.between_ns[1];
    return ret_ns[1] > 0;
}

void rp_dispatch_watch_threads(struct rp_dispatch *d, const struct rp_arch *arch,
                               const struct rp_threads_request *wish, rp_threads_tell tell)
{
    (void)d, (void)arch, (void)wish, (void)tell;
    fake_exec.watched++;
}

int rp_dispatch_trace(struct rp_dispatch *d, const struct rp_arch *arch,
                      const struct rp_threads_request *wish, uint64_t start_ticks, void **ret_bytes,
                      size_t *ret_count)
{
    uint64_t *bytes = malloc(2 * sizeof *bytes);

    (void)d, (void)arch;
    if (!bytes)
        return -ENOMEM;
    bytes[0] = start_ticks;
    bytes[1] = wish->cu;
    *ret_bytes = bytes;
    *ret_count = 2 * sizeof *bytes;
    return 0;
}

int rp_dispatch_sample(struct rp_dispatch *d, const struct rp_arch *arch,
                       const struct rp_pc_sampler_times *times, uint64_t start_ticks,
                       struct rp_pc_sample **ret, size_t *ret_count, uint64_t *ret_lost)
{
    (void)d, (void)arch;
    *ret_lost = 0;
    *ret = calloc(fake_exec.samples, sizeof **ret);
    if (!*ret)
        return -ENOMEM;
    for (size_t i = 0; i < fake_exec.samples; i++)
        (*ret)[i] = (struct rp_pc_sample){.ticks = start_ticks + i * times->interval_ticks,
                                          .pc = 0x1000 + 4 * i,
                                          .exec = i,
                                          .group_id = {(uint32_t)i, 2, 3},
                                          .wave = 5,
                                          .xcc = 6,
                                          .engine = 3,
                                          .cu = 9,
                                          .simd = 2,
                                          .slot = 7};
    *ret_count = fake_exec.samples;
    return 0;
}

unsigned rp_exec_threads_of(const char *text)
{
    (void)text;
    return 1;
}

unsigned rp_exec_threads(void)
{
    return 1;
}

void rp_exec_dma_begin(void)
{
}

void rp_exec_dma_end(void)
{
}

void rp_exec_settle(void)
{
    if (fake_exec.on_settle)
        fake_exec.on_settle(fake_exec.settle_ctx);
}

int rp_trap_install(void)
{
    return 0;
}

void rp_trap_borrow(uint64_t begin, uint64_t end)
{
    fake_exec.lent_begin = begin;
    fake_exec.lent_end = end;
}

const char *rp_trap_text(enum rp_trap_kind kind)
{
    (void)kind;
    return "";
}

bool rp_trap_run(void (*body)(void *ctx), void *ctx, struct rp_trap *ret_trap)
{
    (void)ret_trap;
    body(ctx);
    return true;
}

int rp_dispatch_rows(struct rp_dispatch *d, const struct rp_arch *arch,
                     const struct rp_threads_request *wish, const struct rp_trace_rows **ret)
{
    (void)d, (void)arch;
    fake_exec.rows_wish = *wish;
    *ret = fake_exec.rows;
    return fake_exec.rows ? 0 : -ENODATA;
}

/* Only names are asked for. */
const struct rp_op_row rp_op_rows[RP_OP_ALL] = {[0 ... RP_OP_ALL - 1] = {.mnemonic = "v_nop"}};

unsigned rp_check_parse(const char *text)
{
    (void)text;
    return 0;
}

void rp_check_dispatch_over(struct rp_dispatch *d, uint64_t queue, uint64_t start, uint64_t end)
{
    (void)d;
    (void)queue;
    (void)start;
    (void)end;
}

unsigned rp_check_what(void)
{
    return 0;
}

void rp_check_begin(unsigned what, const char *folder)
{
    (void)what;
    (void)folder;
}
