/**
 * @file replay_launch.c
 * @brief This file launches the kernel of a capture: loaded, launched, timed.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/stats.h"
#include "replay/launch_changes.h"
#include "replay/other_launch.h"
#include "replay/page_changes.h"
#include "replay/replay.h"
#include "replay/replay_protocol.h"
#include "trace/capture.h"

/** This is an AQL packet, whose first four bytes hold header and set-up. */
struct rp_replay_packet {
    uint16_t header, setup, workgroup[3], reserved0;
    uint32_t grid[3], private_bytes, group_bytes;
    uint64_t kernel_object, kernarg, reserved2, completion;
};

enum { RP_REPLAY_PACKETS = 3 };

/** This differs from the captured packet. */
struct rp_replay_launch {
    uint32_t private_bytes, group_bytes;
    uint64_t kernel_object, kernarg;
    uint64_t timed; /**< signal that gets the times of the kernel */
    uint64_t ended; /**< signal after which memory can be read */
};

static_assert(sizeof(struct rp_replay_packet) == 64, "AQL packet");

/* The fields are those of the HSA system architecture, 2.9.1: type in bits 0-7, barrier bit 8,
 * acquire scope 9-10, release scope 11-12.
 */
enum {
    KERNEL_DISPATCH = 2,
    BARRIER_AND = 3,
    BARRIER_BIT = 1 << 8,
    ACQUIRE_SYSTEM = 2 << 9,
    RELEASE_SYSTEM = 2 << 11,
    SCOPES = 15 << 9,
};

/**
 * The captured packet with its acquire and release scopes, between two barriers: memory has been
 * restored beside the queue before, and is read beside it afterwards, which takes system scope. The
 * kernel's time is that of its own packet.
 */
static void replay_make_packets(const struct rp_snapshot_dispatch *d,
                                const struct rp_replay_launch *l,
                                struct rp_replay_packet ret[RP_REPLAY_PACKETS])
{
    ret[0] = (struct rp_replay_packet){.header = BARRIER_AND | BARRIER_BIT | ACQUIRE_SYSTEM};
    ret[1] = (struct rp_replay_packet){
        .header = (uint16_t)(KERNEL_DISPATCH | BARRIER_BIT | (d->header & SCOPES)),
        .setup = d->setup,
        .workgroup = {d->workgroup[0], d->workgroup[1], d->workgroup[2]},
        .grid = {d->grid[0], d->grid[1], d->grid[2]},
        .private_bytes = l->private_bytes,
        .group_bytes = l->group_bytes,
        .kernel_object = l->kernel_object,
        .kernarg = l->kernarg,
        .completion = l->timed};
    ret[2] = (struct rp_replay_packet){.header = BARRIER_AND | BARRIER_BIT | RELEASE_SYSTEM,
                                       .completion = l->ended};
}

/* Maps the captured code object where the program had it, as memory that no kernel runs from,
 * because the loader puts the running code elsewhere. Pointers in memory, mostly to variables,
 * point here.
 */

/* Variables are compared by their contents (replay_memory.c). @param from  offset in the code
 * object */
static void leave_out_variables(const struct rp_replay_kernel *k, uint64_t from, uint64_t bytes,
                                uint8_t *contents, const uint8_t *expected)
{
    for (size_t i = 0; i < k->segment_count; i++) {
        const struct rp_replay_span *s = &k->segments[i];
        const uint64_t low = s->from > from ? s->from : from;
        const uint64_t end = s->from + s->bytes;
        const uint64_t high = end < from + bytes ? end : from + bytes;

        if (low < high)
            memcpy(contents + (low - from), expected + (low - from), high - low);
    }
}

static int check_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                      const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    const struct rp_replay *r = data;
    uint8_t got[RP_PAGE_BYTES], before[RP_PAGE_BYTES];
    struct rp_replay_verdict v = {0};
    int rc;

    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    rc = rp_capture_page(r->capture, m, RP_STATE_BEFORE, page, before, err);
    if (rc < 0)
        return rc;
    memcpy(got, contents, sizeof got);
    leave_out_variables(&r->original, page * RP_PAGE_BYTES, RP_PAGE_BYTES, got, before);
    rp_replay_note_difference(&v, m->region.base + page * RP_PAGE_BYTES, got, before,
                              RP_PAGE_BYTES);
    return v.different_bytes == 0
               ? 0
               : rp_fail(err, RP_VERDICT,
                         "a kernel under test writes into the captured code object, at 0x%" PRIx64
                         ": what it keeps there for its next run would make it seem faster or "
                         "right",
                         v.first_address);
}

/**
 * Checks that kernels have not changed the parts of the captured code object that are not
 * variables, because they are not restored. RP_VERDICT
 */
static int replay_check_copy(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_capture_memory *m = r->code;

    return m ? rp_replay_look_at_region(r, m, check_page, r, err) : 0;
}

enum { MOST_LOADED_BYTES = 256 << 20 };

enum loaded_move { KEEP, RESET, CHECK };

/* Reads what is kept at @p at, brings it back, or looks whether it is still there. */
static int move_spans(struct rp_replay *r, const struct rp_replay_kernel *k,
                      const struct rp_replay_span *spans, size_t count, uint8_t *at,
                      enum loaded_move what, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < count; i++)
        for (uint64_t done = 0; done < spans[i].bytes && rc == 0;) {
            const uint64_t left = spans[i].bytes - done;
            const uint64_t bytes = left < RP_REPLAY_STAGE_BYTES ? left : RP_REPLAY_STAGE_BYTES;

            if (what == RESET)
                memcpy(r->stage, at, bytes);
            rc = rp_replay_copy_staged(r, k->code_base + spans[i].from + done, false, bytes,
                                       what == RESET, err);
            if (what == KEEP)
                memcpy(at, r->stage, bytes);
            if (what == CHECK && rc == 0 && memcmp(at, r->stage, bytes) != 0)
                rc = rp_fail(err, RP_VERDICT,
                             "the code of %s is other than it was loaded: a kernel under test "
                             "writes into code, and what it keeps there for its next run would "
                             "make it seem faster or right",
                             k->path ? k->path : "the captured kernel");
            at += bytes;
            done += bytes;
        }
    return rc;
}

static int keep_spans(struct rp_replay *r, const struct rp_replay_kernel *k,
                      const struct rp_replay_span *spans, size_t count, uint8_t **ret,
                      struct rp_err *err)
{
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += spans[i].bytes < MOST_LOADED_BYTES ? spans[i].bytes : MOST_LOADED_BYTES + 1;
    if (total > MOST_LOADED_BYTES)
        return rp_fail(err, RP_VERDICT,
                       "%llu bytes of its code object or more are too many to be kept",
                       (unsigned long long)total);
    *ret = rp_alloc(total);
    return move_spans(r, k, spans, count, *ret, KEEP, err);
}

/* What looks like s_memtime or s_memrealtime may also be a constant, which costs time only. */
static bool reads_clock(const struct rp_replay_kernel *k)
{
    static const uint32_t clocks[] = {0xc0900000, 0xc0940000}, opcode = 0xfffc0000;
    const uint8_t *at = k->loaded_fixed;
    uint64_t bytes = 0;

    for (size_t i = 0; i < k->fixed_count; i++)
        bytes += k->fixed[i].bytes;
    for (uint64_t i = 0; i + sizeof opcode <= bytes; i++) {
        uint32_t word;

        memcpy(&word, at + i, sizeof word);
        if ((word & opcode) == clocks[0] || (word & opcode) == clocks[1])
            return true;
    }
    return false;
}

/* Keeps its code, and what else nothing may change, for replay_check_code. */
static int keep_code(struct rp_replay *r, struct rp_replay_kernel *k, struct rp_err *err)
{
    const int rc = keep_spans(r, k, k->fixed, k->fixed_count, &k->loaded_fixed, err);

    r->reads_clock = r->reads_clock || (rc == 0 && reads_clock(k));
    return rc;
}

/* Keeps those bytes, and what the loader has put into the segments, before any kernel has run. */
static int keep_loaded(struct rp_replay *r, struct rp_replay_kernel *k, struct rp_err *err)
{
    int rc = keep_spans(r, k, k->segments, k->segment_count, &k->loaded, err);

    return rc < 0 ? rc : keep_code(r, k, err);
}

static int check_loaded_code(struct rp_replay *r, const struct rp_replay_kernel *k,
                             struct rp_err *err)
{
    return k->loaded_fixed ? move_spans(r, k, k->fixed, k->fixed_count, k->loaded_fixed, CHECK, err)
                           : 0;
}

/**
 * Checks that kernels have not changed the code of any candidate, because it is not restored.
 * RP_VERDICT
 */
static int replay_check_code(struct rp_replay *r, struct rp_err *err)
{
    int rc = check_loaded_code(r, &r->original, err);

    for (unsigned i = 0; i < RP_REPLAY_CANDIDATES && rc == 0; i++)
        rc = check_loaded_code(r, &r->candidates[i], err);
    return rc < 0 ? rc : replay_check_copy(r, err);
}

int rp_replay_reset_loaded(struct rp_replay *r, struct rp_err *err)
{
    const struct rp_replay_kernel *k = r->kernel;
    int rc = k->loaded ? move_spans(r, k, k->segments, k->segment_count, k->loaded, RESET, err) : 0;

    return rc < 0 || !k->loaded ? rc : rp_replay_fill_variables(r, err);
}

enum {
    PERMISSION_RW = 3, /**< hsa_access_permission_t */
    QUEUE_PACKETS = 64,
    BEHIND_ARGS = 64, /**< bytes that kernels may load behind their arguments, at least */
    ONLY_WAITS_S = 5, /**< how long a kernel may take that does nothing but wait */
    SILENT_S = 2, /**< how long nothing is printed about the kernel that is waited for; less than
                       any bound */
};

/* Ends the wait for a kernel that has asked its host by @p address.
 * @return whether it has */
static bool has_asked(struct rp_replay *r, uint64_t address)
{
    const size_t asked = rp_host_args_find(&r->host_args, address);

    if (!asked)
        return false;
    __atomic_store_n(&r->host_args.asked, asked, __ATOMIC_RELEASE);
    r->hsa.hsa_signal_store_screlease(r->ended, 0);
    return true;
}

/* The software device stops the queue. Without this function, the runtime ends the program. */
static void on_queue_error(uint32_t status, const struct rp_replay_queue *queue, void *data)
{
    const struct rp_device_table *software = rp_replay_software();

    (void)status;
    (void)queue;
    if (!software || !has_asked(data, software->fault_address()))
        abort();
}

/* A GPU's driver tells of the page. @return 0, or the runtime ends the program */
static uint32_t on_event(const struct rp_replay_event *event, void *data)
{
    return event->type == RP_REPLAY_MEMORY_FAULT && has_asked(data, event->address) ? 0 : 1;
}

static int make_queue(struct rp_replay *r, struct rp_err *err)
{
    const bool may_ask = r->host_args.count > 0;
    uint32_t private_bytes = r->original.private_bytes, status;

    for (size_t i = 0; i < RP_REPLAY_CANDIDATES; i++)
        if (r->candidates[i].private_bytes > private_bytes)
            private_bytes = r->candidates[i].private_bytes;
    status = r->hsa.hsa_queue_create(r->gpu, QUEUE_PACKETS, 0,
                                     may_ask && rp_replay_software() ? on_queue_error : NULL, r,
                                     private_bytes, UINT32_MAX, &r->queue);
    if (status == 0 && may_ask && !rp_replay_software())
        status = r->hsa.hsa_amd_register_system_event_handler(on_event, r);

    if (status)
        return rp_replay_refused("create a queue", status, err);
    r->hsa.hsa_amd_profiling_set_profiler_enabled(r->queue, 1);
    status = r->hsa.hsa_signal_create(1, 0, NULL, &r->signal);
    if (status == 0)
        status = r->hsa.hsa_signal_create(1, 0, NULL, &r->ended);
    return status ? rp_replay_refused("create a signal", status, err) : 0;
}

/* Puts arguments where the program had them (HIP has them in device memory of an MI300), because a
 * kernel waits for them when it begins.
 */
static uint64_t pool_of_args(const struct rp_replay *r)
{
    const uint64_t address = r->facts->dispatch.kernarg;

    for (size_t i = 0; i < r->memory_count; i++) {
        const struct rp_snapshot_region *region = &r->memory[i].region;

        if (address - region->base >= region->bytes || region->flags & RP_MEMORY_HOST)
            continue;
        for (size_t k = 0; k < r->gpu_count; k++)
            if (r->gpus[k].agent == r->gpu)
                return region->flags & RP_MEMORY_FINE && r->gpus[k].pools.fine
                           ? r->gpus[k].pools.fine
                           : r->gpus[k].pools.coarse;
    }
    return 0;
}

static int map_args(struct rp_replay *r, uint64_t device_pool, struct rp_err *err)
{
    const struct rp_replay_access access = {.permissions = PERMISSION_RW, .agent = r->gpu};
    void *base = NULL, *seen = NULL;
    uint64_t handle = 0;
    uint32_t status;

    if (device_pool) {
        status = r->hsa.hsa_amd_vmem_address_reserve(&base, 3 * r->kernarg_bytes, 0, 0);
        r->kernarg = (uint8_t *)base + r->kernarg_bytes;
        if (!status)
            status =
                r->hsa.hsa_amd_vmem_handle_create(device_pool, r->kernarg_bytes, 0, 0, &handle);
        if (!status)
            status = r->hsa.hsa_amd_vmem_map(r->kernarg, r->kernarg_bytes, 0, handle, 0);
        if (!status)
            status = r->hsa.hsa_amd_vmem_set_access(r->kernarg, r->kernarg_bytes, &access, 1);
        return status ? rp_replay_refused("map memory for arguments", status, err) : 0;
    }
    base = mmap(NULL, 3 * r->kernarg_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
    if (base == MAP_FAILED)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "no memory for arguments");
    r->kernarg = (uint8_t *)base + r->kernarg_bytes;
    if (mprotect(r->kernarg, r->kernarg_bytes, PROT_READ | PROT_WRITE) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "no memory for arguments");
    status = r->hsa.hsa_amd_memory_lock_to_pool(r->kernarg, r->kernarg_bytes, &r->gpu, 1,
                                                r->host_pools.kernarg, 0, &seen);
    if (status || seen != r->kernarg)
        return rp_replay_refused("give the GPU memory for arguments at its address", status, err);
    return 0;
}

static uint64_t mix(uint64_t x, uint64_t more)
{
    return rp_mix64(x ^ more);
}

/* Returns the offset of the first argument that points into the region, or SIZE_MAX. */
static size_t argument_of(const struct rp_snapshot_region *region, const uint8_t *kernarg,
                          size_t bytes)
{
    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        uint64_t value;

        memcpy(&value, kernarg + at, sizeof value);
        if (value - region->base < region->bytes)
            return at;
    }
    return SIZE_MAX;
}

static bool is_like(const struct rp_snapshot_region *a, const struct rp_snapshot_region *b)
{
    return a->bytes == b->bytes && a->memory_class == b->memory_class && a->flags == b->flags &&
           a->node == b->node;
}

/**
 * Gives each region a place that identifies it in every session. It comes from the argument that
 * points into the region; a region without one is identified by its kind and by how many regions
 * like it lie below it that have no argument either. Pages are counted from that place, in bytes.
 * @param ret  of @p count; multiples of RP_PAGE_BYTES that are far apart
 */
static void replay_places_find(const struct rp_snapshot_region *const *regions, size_t count,
                               const void *kernarg, size_t kernarg_bytes, uint64_t *ret)
{
    static const uint64_t whole_tib = ~(((uint64_t)1 << 40) - 1);

    for (size_t i = 0; i < count; i++) {
        const struct rp_snapshot_region *r = regions[i];
        const size_t argument = argument_of(r, kernarg, kernarg_bytes);
        uint64_t place = mix(1, argument), like = 0;

        for (size_t j = 0; j < count && argument == SIZE_MAX; j++)
            like += regions[j]->base < r->base && is_like(regions[j], r) &&
                    argument_of(regions[j], kernarg, kernarg_bytes) == SIZE_MAX;
        if (argument == SIZE_MAX) {
            place = mix(mix(place, r->bytes), r->memory_class);
            place = mix(mix(mix(place, r->flags), r->node), like);
        }
        ret[i] = place & whole_tib;
    }
}

static void find_places(struct rp_replay *r, const void *args, size_t bytes)
{
    rp_autofree const struct rp_snapshot_region **regions =
        rp_alloc_zero(r->memory_count, sizeof *regions);

    r->places = rp_alloc_zero(r->memory_count, sizeof *r->places);
    for (size_t i = 0; i < r->memory_count; i++)
        regions[i] = &r->memory[i].region;
    replay_places_find(regions, r->memory_count, args, bytes, r->places);
}

/* Keeps arguments on pages with no memory before and behind them, where a kernel could keep
 * something for its next run.
 */
static int keep_args(struct rp_replay *r, const void *args, size_t bytes, struct rp_err *err)
{
    const uint64_t device_pool = pool_of_args(r);

    r->kernarg_on_device = device_pool != 0;
    r->kernarg_bytes = rp_pages_of(bytes + BEHIND_ARGS) * RP_PAGE_BYTES;
    r->kernarg_kept = rp_alloc_zero(1, r->kernarg_bytes);
    memcpy(r->kernarg_kept, args, bytes);
    return map_args(r, device_pool, err);
}

int rp_replay_prepare_launch(struct rp_replay *r, const void *args, size_t bytes,
                             struct rp_err *err)
{
    int rc = keep_args(r, args, bytes, err);

    find_places(r, args, bytes);
    if (rc == 0)
        rc = make_queue(r, err);
    if (rc < 0 || !r->candidates[0].path)
        return rc;
    rc = keep_code(r, &r->original, err);
    for (size_t i = 0; i < RP_REPLAY_CANDIDATES && rc == 0; i++)
        if (r->candidates[i].path)
            rc = keep_loaded(r, &r->candidates[i], err);
    rp_redzone_begin(r);
    return rc;
}

/* --- launching ----------------------------------------------------------------------------- */

static void choose_launch(const struct rp_replay *r, struct rp_snapshot_dispatch *dispatch)
{
    const struct rp_replay_launch_change *own = &r->kernel->launch;
    const uint32_t *grid = own->given ? (r->other_grid ? r->other_grid : own->grid) : r->grid;
    const uint16_t *workgroup = own->given ? own->workgroup : r->workgroup;

    if (grid)
        memcpy(dispatch->grid, grid, sizeof dispatch->grid);
    if (workgroup)
        memcpy(dispatch->workgroup, workgroup, sizeof dispatch->workgroup);
    if (own->given)
        dispatch->setup = own->setup;
}

static void submit(struct rp_replay *r)
{
    const struct rp_replay_launch launch = {.private_bytes = r->kernel->private_bytes,
                                            .group_bytes = r->kernel->group_bytes,
                                            .kernel_object = r->kernel->object,
                                            .kernarg = (uint64_t)(uintptr_t)r->kernarg,
                                            .timed = r->signal,
                                            .ended = r->ended};
    const uint64_t first = r->hsa.hsa_queue_add_write_index_screlease(r->queue, RP_REPLAY_PACKETS);
    struct rp_replay_packet packets[RP_REPLAY_PACKETS];
    struct rp_snapshot_dispatch dispatch = r->facts->dispatch;

    choose_launch(r, &dispatch);
    replay_make_packets(&dispatch, &launch, packets);
    for (unsigned i = 0; i < RP_REPLAY_PACKETS; i++) {
        struct rp_replay_packet *at =
            (struct rp_replay_packet *)r->queue->base + (first + i) % r->queue->size_packets;

        memcpy((char *)at + 4, (const char *)&packets[i] + 4, sizeof *at - 4);
        /* Header and set-up in one store: from then on the packet processor may take it. */
        __atomic_store_n((uint32_t *)(void *)at,
                         packets[i].header | (uint32_t)packets[i].setup << 16, __ATOMIC_RELEASE);
    }
    r->hsa.hsa_signal_store_screlease(r->queue->doorbell, (int64_t)(first + RP_REPLAY_PACKETS - 1));
}

static unsigned index_of_kernel(const struct rp_replay *r)
{
    for (unsigned i = 0; i < RP_REPLAY_CANDIDATES; i++)
        if (r->kernel == &r->candidates[i])
            return 1 + i;
    return 0;
}

/* Should it crash: whose crash that is. */
static void note_kernel(const struct rp_replay *r, bool runs)
{
    static const char kernels[1 + RP_REPLAY_CANDIDATES] = {RP_STEP_KERNEL_CAPTURED,
                                                           RP_STEP_KERNEL_A, RP_STEP_KERNEL_B};
    const char which = runs ? kernels[index_of_kernel(r)] : RP_STEP_KERNEL_NONE;

    if (r->step_fd >= 0 && pwrite(r->step_fd, &which, 1, RP_STEP_KERNEL_AT) < 0)
        return; /* Nobody is shown which kernel runs then. */
}

/* In a replay only the kernel runs, so nothing that it waits for will come. This is used without a
 * bound by work, which decides where there is one.
 */
static bool only_waits(const struct rp_replay *r)
{
    const struct rp_device_table *software = r->bound_work ? NULL : rp_replay_software();

    return software && software->only_waits_ns() > ONLY_WAITS_S * (int64_t)1000000000;
}

/* @return whether it has ended; at once if it only waits */
static bool wait_for(struct rp_replay *r, unsigned seconds)
{
    for (unsigned i = 0; i < seconds && !only_waits(r); i++)
        if (r->hsa.hsa_signal_wait_scacquire(r->ended, RP_REPLAY_CONDITION_LT, 1, r->ticks_hz, 0) <
            1)
            return true;
    return false;
}

/* A kernel that takes long is reported once. */
static int wait_for_kernel(struct rp_replay *r, struct rp_err *err)
{
    const unsigned most_s = r->bound_s ? r->bound_s : r->patience_s;

    if (wait_for(r, SILENT_S))
        return 0;
    if (!(r->waits & 1u << index_of_kernel(r)))
        fprintf(stderr, "rocm-perf: note: waiting for the %s to end, until %u s are over\n",
                r->kernel->name, most_s);
    r->waits |= 1u << index_of_kernel(r);
    if (wait_for(r, most_s - SILENT_S))
        return 0;
    if (only_waits(r))
        return rp_fail(err, RP_VERDICT,
                       "the %s does nothing but wait: for memory that another kernel, another GPU "
                       "or the host would change, none of which is in a replay",
                       r->kernel->path ? r->kernel->name : "kernel");
    if (r->bound_work)
        return rp_fail(err, RP_ENVIRONMENT,
                       "the machine is too slow to tell whether the %s ends: in %u s it has not "
                       "executed %" PRIu64 " instructions",
                       r->kernel->name, most_s, r->bound_work);
    if (r->kernel->path)
        return rp_fail(err, RP_VERDICT,
                       "the %s does not end within %u s; the captured one took %.3g s",
                       r->kernel->name, most_s, r->captured_s);
    return rp_fail(err, RP_VERDICT, "the kernel does not end within %u s: it may wait for the host",
                   most_s);
}

/* A kernel that has asked its host has been stopped there. */
static int check_asked(const struct rp_replay *r, struct rp_err *err)
{
    const size_t asked = __atomic_load_n(&r->host_args.asked, __ATOMIC_ACQUIRE);

    return asked ? rp_fail(err, RP_VERDICT,
                           "the %s cannot be replayed: %s, which nobody answers here (%s)",
                           r->kernel->path ? r->kernel->name : "kernel",
                           r->host_args.at[asked - 1].why, r->host_args.at[asked - 1].kind)
                 : 0;
}

/* Decides by the kernel's work, which is the same each time. */
static int check_work(struct rp_replay *r, struct rp_err *err)
{
    uint64_t work;

    if (r->trying && rp_replay_software() && rp_replay_software()->last_faulted()) {
        r->ended_early = true;
        return rp_fail(err, RP_VERDICT, "the %s faults", r->kernel->name);
    }
    if (!r->bound_work || !rp_replay_hit_work_limit(&work))
        return 0;
    r->ended_early = true;
    return rp_fail(err, RP_VERDICT,
                   "the %s does not end within %" PRIu64 " instructions; the captured one takes "
                   "%" PRIu64,
                   r->kernel->name, r->bound_work, r->captured_work);
}

static uint64_t stage_bytes(const struct rp_replay *r, uint64_t at)
{
    const uint64_t left = r->kernarg_bytes - at;

    return left < RP_REPLAY_STAGE_BYTES ? left : RP_REPLAY_STAGE_BYTES;
}

static int put_args(struct rp_replay *r, struct rp_err *err)
{
    uint64_t bytes;
    int rc = 0;

    if (!r->kernarg_on_device) {
        memcpy(r->kernarg, r->kernarg_kept, r->kernarg_bytes);
        return 0;
    }
    for (uint64_t at = 0; at < r->kernarg_bytes && rc == 0; at += bytes) {
        bytes = stage_bytes(r, at);
        memcpy(r->stage, (const uint8_t *)r->kernarg_kept + at, bytes);
        rc =
            rp_replay_copy_staged(r, (uint64_t)(uintptr_t)r->kernarg + at, false, bytes, true, err);
    }
    return rc;
}

/* @return 1: they are the same; 0; or an error */
static int same_args(struct rp_replay *r, struct rp_err *err)
{
    uint64_t bytes;
    bool same = true;

    if (!r->kernarg_on_device)
        return memcmp(r->kernarg, r->kernarg_kept, r->kernarg_bytes) == 0;
    for (uint64_t at = 0; at < r->kernarg_bytes && same; at += bytes) {
        int rc;

        bytes = stage_bytes(r, at);
        rc = rp_replay_copy_staged(r, (uint64_t)(uintptr_t)r->kernarg + at, false, bytes, false,
                                   err);
        if (rc < 0)
            return rc;
        same = memcmp(r->stage, (const uint8_t *)r->kernarg_kept + at, bytes) == 0;
    }
    return same;
}

/* A kernel may only read them; in the program nobody would, after it. */
static int check_args(struct rp_replay *r, struct rp_err *err)
{
    const int same = same_args(r, err);

    if (same < 0)
        return same;
    if (same)
        return 0;
    return rp_fail(err, RP_VERDICT, "the %s writes into its own arguments", r->kernel->name);
}

/* Sets how much work kernels may be from now on, 0: any, and whether a fault ends them. */
static void set_limits(uint64_t work, bool fault_ends)
{
    const struct rp_device_table *software = rp_replay_software();

    if (!software)
        return;
    software->set_bound(work);
    software->set_fault_ends(fault_ends);
}

/* Takes what the software device knows of the kernel that has ended: the bounds of its time. */
static void take_bounds(struct rp_replay *r)
{
    const struct rp_device_table *software = rp_replay_software();
    const struct rp_replay_signal *raw = (const struct rp_replay_signal *)r->signal;
    struct rp_rec_simulation known = {0};
    rp_autofree double *values = NULL;

    memset(r->between_us, 0, sizeof r->between_us);
    if (!software || !r->timing || strcmp(r->timing, "counts") != 0)
        return;
    values = rp_alloc_zero(software->counter_count() + 1, sizeof *values);
    if (!software->take(r->signal, raw->start_ticks, raw->end_ticks, values, &known) ||
        known.replayed_waves)
        return;
    r->between_us[0] = known.between_ns[0] / 1e3;
    r->between_us[1] = known.between_ns[1] / 1e3;
}

/** Runs r->kernel with the arguments that are kept. */
static int run_kernel(struct rp_replay *r, double *ret_us, struct rp_err *err)
{
    uint64_t ticks[2] = {0, 0};
    int rc;

    r->hsa.hsa_signal_store_screlease(r->signal, 1);
    r->hsa.hsa_signal_store_screlease(r->ended, 1);
    r->fresh = false;
    rp_replay_forget_zeros(r);
    rc = put_args(r, err);
    if (rc < 0)
        return rc;
    note_kernel(r, true);
    r->ended_early = false;
    set_limits(r->bound_work, r->trying);
    submit(r);
    rc = wait_for_kernel(r, err);
    set_limits(0, false); /* The runtime's own kernels have none. */
    if (rc == 0)
        rc = check_asked(r, err);
    if (rc == 0)
        rc = check_work(r, err);
    if (rc < 0)
        return rc;
    note_kernel(r, false);
    r->hsa.hsa_amd_profiling_get_dispatch_time(r->gpu, r->signal, ticks);
    *ret_us = (double)(ticks[1] - ticks[0]) * 1e6 / (double)r->ticks_hz;
    take_bounds(r);
    rc = rp_redzone_check(r, err);
    if (rc == 0 && r->kernel->path)
        rc = check_args(r, err);
    return rc < 0 || !(r->kernel->path || r->trying) ? rc : replay_check_code(r, err);
}

int rp_replay_run(struct rp_replay *r, double *ret_us, struct rp_err *err)
{
    const struct rp_replay_launch_change *launch = &r->kernel->launch;
    uint32_t was[RP_LAUNCH_NUMBERS] = {0};
    int rc;

    rp_other_launch_put(launch, r->kernarg_kept, was);
    if (launch->given && r->other_grid)
        rp_launch_put_grid(&r->grid_args, r->other_grid, launch->workgroup, r->kernarg_kept);
    rc = run_kernel(r, ret_us, err);
    rp_other_launch_put_back(launch, r->kernarg_kept, was);
    return rc;
}
