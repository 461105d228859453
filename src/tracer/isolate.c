#include "tracer/isolate.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "trace/capture.h"
#include "trace/code_object.h"
#include "trace/records.h"
#include "tracer/hsa_abi.h"
#include "tracer/memory_snapshot.h"
#include "tracer/tracer.h"

/** This is a dispatch that is about to be submitted. */
struct rp_candidate {
    const struct rp_hsa_packet *packet;
    const char *symbol; /**< of its kernel; must stay */
    uint64_t code; /**< tells kernels of one name apart that lie in two code objects, and is the
                        same for one code object on several GPUs */
    rp_hsa_agent agent;
    uint32_t queue_index;
    uint64_t stream; /**< what HIP calls it; UINT64_MAX: not known */
};

static inline bool select_is_over(const struct rp_select *select)
{
    return __atomic_load_n(&select->over, __ATOMIC_ACQUIRE) != 0;
}

/** Two dispatches that agree in this are the same for --representative. */
struct rp_captured_geometry {
    const char *symbol;
    uint64_t code;
    uint32_t grid[3];
    uint16_t workgroup[3];
    uint32_t group_bytes;
};

/** Takes the numbers over. */
static void select_init(struct rp_select *select, const struct rp_snapshot_selection *wish,
                        uint64_t *numbers)
{
    *select = (struct rp_select){.wish = *wish, .numbers = numbers};
    pthread_mutex_init(&select->lock, NULL);
    if (wish->mode == RP_SNAPSHOT_GEOMETRIES)
        select->seen = calloc(wish->most + 1u, sizeof(*select->seen));
    select->over = (wish->mode == RP_SNAPSHOT_NUMBERS && wish->number_count == 0) ||
                   (wish->mode == RP_SNAPSHOT_GEOMETRIES && (wish->most == 0 || !select->seen));
}

/* --- what it must have --------------------------------------------------------------------- */

static bool has_all(struct rp_tool *tool, struct rp_select *select, const struct rp_candidate *c)
{
    const struct rp_snapshot_selection *wish = &select->wish;
    uint32_t stream;

    for (size_t i = 0; i < 3; i++)
        if ((wish->filters & RP_SNAPSHOT_GRID && c->packet->grid[i] != wish->grid[i]) ||
            (wish->filters & RP_SNAPSHOT_WORKGROUP &&
             c->packet->workgroup[i] != wish->workgroup[i]))
            return false;
    if (wish->filters & RP_SNAPSHOT_QUEUE && c->queue_index != wish->queue)
        return false;
    if (wish->filters & RP_SNAPSHOT_STREAM &&
        (!rp_hip_stream(tool, c->stream, &stream) || stream != wish->stream))
        return false;
    return !(wish->filters & RP_SNAPSHOT_GPU) || rp_agent_gpu_number(tool, c->agent) == wish->gpu;
}

/* --- which of those ------------------------------------------------------------------------ */

static bool is_new(struct rp_select *select, const struct rp_candidate *c)
{
    struct rp_captured_geometry *to = &select->seen[select->taken];

    for (const struct rp_captured_geometry *g = select->seen; g < to; g++)
        if (memcmp(g->grid, c->packet->grid, sizeof(g->grid)) == 0 &&
            memcmp(g->workgroup, c->packet->workgroup, sizeof(g->workgroup)) == 0 &&
            g->group_bytes == c->packet->group_bytes && g->code == c->code &&
            strcmp(g->symbol, c->symbol) == 0)
            return false;
    to->symbol = c->symbol;
    to->code = c->code;
    memcpy(to->grid, c->packet->grid, sizeof(to->grid));
    memcpy(to->workgroup, c->packet->workgroup, sizeof(to->workgroup));
    to->group_bytes = c->packet->group_bytes;
    return true;
}

static bool is_wanted(struct rp_select *select, const struct rp_candidate *c)
{
    switch (select->wish.mode) {
    case RP_SNAPSHOT_NUMBERS:
        return select->matches == select->numbers[select->taken];
    case RP_SNAPSHOT_GEOMETRIES:
        return is_new(select, c);
    default:
        return false;
    }
}

static bool is_last(const struct rp_select *select)
{
    return select->taken == (select->wish.mode == RP_SNAPSHOT_NUMBERS ? select->wish.number_count
                                                                      : select->wish.most);
}

/**
 * Counts a dispatch of a wanted kernel.
 * @param ret_match  its number among those that match, 0: it does not
 * @return whether it is to be captured; then select_done must follow
 */
static bool select_take(struct rp_tool *tool, struct rp_select *select,
                        const struct rp_candidate *candidate, uint64_t *ret_match)
{
    bool wanted = false;

    *ret_match = 0;
    if (select_is_over(select) || !has_all(tool, select, candidate))
        return false;
    pthread_mutex_lock(&select->lock);
    if (!select_is_over(select)) {
        *ret_match = ++select->matches;
        wanted = is_wanted(select, candidate);
    }
    if (wanted) {
        select->taken++;
        select->outstanding++;
        if (is_last(select))
            __atomic_store_n(&select->over, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&select->lock);
    return wanted;
}

/* This is FNV-1a by words. If two kinds had the same hash, one of them would not be named. */
static uint64_t hash_of(const struct rp_candidate *c)
{
    const struct rp_hsa_packet *packet = c->packet;
    const uint64_t words[] = {packet->grid[0] | (uint64_t)packet->grid[1] << 32,
                              packet->grid[2] | (uint64_t)packet->workgroup[0] << 32 |
                                  (uint64_t)packet->workgroup[1] << 48,
                              packet->workgroup[2] | (uint64_t)c->queue_index << 32, c->agent,
                              c->stream};
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        hash = (hash ^ words[i]) * 0x100000001b3u;
        hash ^= hash >> 32;
    }
    return hash ? hash : 1;
}

/* Open addressing. @return whether it is there; else the slot for it, RP_SELECT_HASHES: full */
static bool find_hash(const struct rp_select *select, uint64_t hash, size_t *ret_slot)
{
    for (size_t i = 0; i < RP_SELECT_HASHES; i++) {
        const size_t slot = (hash + i) % RP_SELECT_HASHES;
        const uint64_t found = __atomic_load_n(&select->hashes[slot], __ATOMIC_RELAXED);

        *ret_slot = slot;
        if (found == hash || !found)
            return found == hash;
    }
    *ret_slot = RP_SELECT_HASHES;
    return false;
}

/** Tests cheaply, for a dispatch that did not match, whether select_pass() would say no. */
static bool select_is_passed(const struct rp_select *select, const struct rp_candidate *candidate)
{
    size_t slot;

    return select_is_over(select) ||
           __atomic_load_n(&select->passed_count, __ATOMIC_ACQUIRE) == RP_SNAPSHOT_MAX_FILTERED ||
           find_hash(select, hash_of(candidate), &slot);
}

/** Passes over a dispatch that did not match. @return whether none like it was seen before */
static bool select_pass(struct rp_tool *tool, struct rp_select *select,
                        const struct rp_candidate *candidate, struct rp_snapshot_filtered *ret)
{
    const struct rp_hsa_packet *packet = candidate->packet;
    struct rp_snapshot_filtered passed = {.queue = candidate->queue_index};
    const uint64_t hash = hash_of(candidate);
    size_t i = 0, slot;

    if (select_is_passed(select, candidate))
        return false;
    for (size_t k = 0; k < 3; k++) {
        passed.grid[k] = packet->grid[k];
        passed.workgroup[k] = packet->workgroup[k];
    }
    passed.gpu = rp_agent_gpu_number(tool, candidate->agent);
    if (!rp_hip_stream(tool, candidate->stream, &passed.stream))
        passed.stream = UINT32_MAX;
    pthread_mutex_lock(&select->lock);
    if (!find_hash(select, hash, &slot) && slot < RP_SELECT_HASHES)
        __atomic_store_n(&select->hashes[slot], hash, __ATOMIC_RELAXED);
    while (i < select->passed_count && memcmp(&select->passed[i], &passed, sizeof(passed)) != 0)
        i++;
    if (i == select->passed_count && i < RP_SNAPSHOT_MAX_FILTERED) {
        select->passed[i] = passed;
        __atomic_store_n(&select->passed_count, i + 1, __ATOMIC_RELEASE);
        *ret = passed;
    } else {
        i = RP_SNAPSHOT_MAX_FILTERED;
    }
    pthread_mutex_unlock(&select->lock);
    return i < RP_SNAPSHOT_MAX_FILTERED;
}

/** A capture has ended. @return whether it was the last one */
static bool select_done(struct rp_select *select)
{
    bool last;

    pthread_mutex_lock(&select->lock);
    last = --select->outstanding == 0 && select_is_over(select);
    pthread_mutex_unlock(&select->lock);
    return last;
}

/** Nobody listens any more. */
static void select_give_up(struct rp_select *select)
{
    pthread_mutex_lock(&select->lock);
    __atomic_store_n(&select->over, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&select->lock);
}

enum {
    PATIENCE_MS = 10000, /**< for work before the dispatch */
    /* This is for the dispatch itself while it holds up other threads, one of which it may wait
     * for.
     */
    KERNEL_PATIENCE_MS = 60000,
    HELD_PATIENCE_MS = 10000,
    SOFTWARE_KERNEL_PATIENCE_MS = 600000,
    SOFTWARE_HELD_PATIENCE_MS = 30000,
    /* The software device knows when a dispatch does nothing but wait. What could end that are
     * threads of the program that are not held: they are given time on a busy machine. */
    SOFTWARE_WAITING_PATIENCE_MS = 15000,
    LONG_MS = 5000, /**< then whoever watches is told how long it may go on */
    NS_PER_MS = 1000000,
    LOOK_NS = 50 * 1000,
    END_LOOK_NS = 1000 * 1000,

    /* A barrier packet waits for all packets before it and makes memory visible everywhere. The
     * fields are those of the HSA system architecture, 2.9.1: barrier bit 8, acquire scope 9-10,
     * release scope 11-12.
     */
    SCOPE_SYSTEM = 2,
    BARRIER = RP_AQL_BARRIER_AND | RP_AQL_BARRIER_BIT | SCOPE_SYSTEM << 9 | SCOPE_SYSTEM << 11,
};

struct rp_wanted_kernel {
    struct rp_rec_kernel rec;
    rp_hsa_executable executable; /**< 0: it is gone */
    char *symbol;                 /**< stays: geometries that were seen name it */
};

struct rp_wanted_code {
    struct rp_wanted_code *next;
    rp_hsa_executable executable;
    uint32_t id;
    uint64_t load_base, load_bytes;
    void *bytes;
    uint64_t count;
};

/* --- what is wanted ------------------------------------------------------------------------ */

static int64_t number_of(const char *variable, int64_t otherwise)
{
    const char *text = secure_getenv(variable);
    int64_t value = text ? strtoll(text, NULL, 10) : 0;

    return value > 0 ? value : otherwise;
}

void rp_isolate_start(struct rp_tool *tool)
{
    struct rp_isolate *isolate = &tool->isolate;
    const char *path = secure_getenv(RP_SNAPSHOT_SOCKET_VARIABLE);
    uint32_t version;
    const uint32_t timing = tool->device ? tool->device->timing(&version) : RP_TRACE_TIMING_NONE;
    struct rp_snapshot_selection wish;
    uint64_t *numbers = NULL;
    bool on;

    /* It is kept from an earlier load until now, like everything that late threads read. */
    free(isolate->shared_copies.entries);
    *isolate = (struct rp_isolate){.link = {.fd = -1}};
    pthread_mutex_init(&isolate->link_lock, NULL);
    rp_shared_copies_init(&isolate->shared_copies);
    isolate->patience_ms = number_of(RP_SNAPSHOT_PATIENCE_VARIABLE, PATIENCE_MS);
    isolate->kernel_patience_ms =
        number_of(RP_SNAPSHOT_PATIENCE_VARIABLE,
                  tool->software ? SOFTWARE_KERNEL_PATIENCE_MS : KERNEL_PATIENCE_MS);
    isolate->held_patience_ms =
        number_of(RP_SNAPSHOT_PATIENCE_VARIABLE,
                  tool->software ? SOFTWARE_HELD_PATIENCE_MS : HELD_PATIENCE_MS);
    isolate->waiting_patience_ms =
        number_of(RP_SNAPSHOT_PATIENCE_VARIABLE, SOFTWARE_WAITING_PATIENCE_MS);
    on = path && rp_snapshot_link_open(&isolate->link, path, tool->software, timing) &&
         rp_snapshot_ask_selection(&isolate->link, &wish, &numbers);
    if (on) {
        select_init(&isolate->select, &wish, numbers);
        isolate->survey = wish.mode == RP_SNAPSHOT_SCAN;
    }
    tool->trace.discards = on && !isolate->survey;
    tool->hip.unrecorded = tool->hip.unrecorded || tool->trace.discards;
    rp_pause_init(&isolate->gate, on && !isolate->survey);
    __atomic_store_n(&isolate->on, on, __ATOMIC_RELEASE);
    if (path)
        rp_tool_log(tool, "isolate %s: %s", path, on ? "on" : "nobody listens");
}

void rp_isolate_forget(struct rp_isolate *isolate)
{
    rp_snapshot_link_close(&isolate->link);
    isolate->survey = 0;
    __atomic_store_n(&isolate->on, 0, __ATOMIC_RELEASE);
    rp_pause_retire(&isolate->gate);
}

static void keep_code(struct rp_isolate *isolate, const struct rp_wanted_code *from,
                      const void *bytes)
{
    struct rp_wanted_code *code;

    for (code = isolate->codes; code; code = code->next)
        if (code->id == from->id)
            return;
    code = malloc(sizeof(*code));
    if (!code)
        return;
    *code = *from;
    code->bytes = malloc(code->count + 1);
    if (code->bytes)
        memcpy(code->bytes, bytes, code->count);
    code->next = isolate->codes;
    isolate->codes = code;
}

void rp_isolate_code(struct rp_tool *tool, rp_hsa_executable executable, uint32_t code_object_id,
                     uint64_t load_base, uint64_t load_bytes, const void *bytes, uint64_t count)
{
    const struct rp_wanted_code code = {.executable = executable,
                                        .id = code_object_id,
                                        .load_base = load_base,
                                        .load_bytes = load_bytes,
                                        .count = count};

    rp_pause_lock(&tool->isolate.gate, &tool->isolate.link_lock);
    keep_code(&tool->isolate, &code, bytes);
    pthread_mutex_unlock(&tool->isolate.link_lock);
}

/* Readers find a kernel by the map, which is published after the array is filled. An array that
 * had to grow is kept for readers that still use it.
 */
static bool keep_kernel(struct rp_isolate *isolate, rp_hsa_executable executable,
                        const struct rp_rec_kernel *kernel, const char *symbol)
{
    struct rp_wanted_kernel *bigger, *kept;

    if ((isolate->kernel_count & (isolate->kernel_count - 1)) == 0) {
        bigger = calloc(isolate->kernel_count ? isolate->kernel_count * 2 : 1, sizeof(*bigger));
        if (!bigger)
            return false;
        if (isolate->kernel_count)
            memcpy(bigger, isolate->kernels, isolate->kernel_count * sizeof(*bigger));
        __atomic_store_n(&isolate->kernels, bigger, __ATOMIC_RELEASE);
    }
    kept = &isolate->kernels[isolate->kernel_count];
    *kept = (struct rp_wanted_kernel){
        .rec = *kernel, .executable = executable, .symbol = strdup(symbol)};
    if (!kept->symbol)
        return false;
    if (rp_kernel_map_put(&isolate->map, kernel->kernel_object, isolate->kernel_count + 1) < 0)
        return false;
    __atomic_store_n(&isolate->kernel_count, isolate->kernel_count + 1, __ATOMIC_RELEASE);
    return true;
}

/* Notes that a kernel is not wanted (any more), whatever was at its address before. It takes no
 * memory.
 */
static void forget_kernel(struct rp_isolate *isolate, uint64_t kernel_object)
{
    if (rp_kernel_map_get(&isolate->map, kernel_object))
        rp_kernel_map_put(&isolate->map, kernel_object, 0);
}

bool rp_isolate_kernel(struct rp_tool *tool, rp_hsa_executable executable,
                       const struct rp_rec_kernel *kernel, const char *symbol)
{
    struct rp_isolate *isolate = &tool->isolate;
    bool wanted, kept = false;

    if (!rp_isolate_is_on(tool))
        return false;
    rp_pause_lock(&isolate->gate, &isolate->link_lock);
    forget_kernel(isolate, kernel->kernel_object);
    wanted = rp_snapshot_ask(&isolate->link, symbol, (uint32_t)(kernel->code_hash >> 32));
    if (wanted)
        kept = keep_kernel(isolate, executable, kernel, symbol);
    pthread_mutex_unlock(&isolate->link_lock);
    if (wanted && !kept)
        rp_tool_log(tool, "no memory to look for %s", symbol);
    return kept;
}

void rp_isolate_unload(struct rp_tool *tool, rp_hsa_executable executable)
{
    struct rp_isolate *isolate = &tool->isolate;

    rp_pause_lock(&isolate->gate, &isolate->link_lock);
    for (uint32_t i = 0; i < isolate->kernel_count; i++) {
        struct rp_wanted_kernel *kernel = &isolate->kernels[i];

        if (kernel->executable != executable)
            continue;
        kernel->executable = 0;
        if (rp_kernel_map_get(&isolate->map, kernel->rec.kernel_object) == i + 1)
            rp_kernel_map_put(&isolate->map, kernel->rec.kernel_object, 0);
    }
    for (struct rp_wanted_code **at = &isolate->codes; *at;) {
        struct rp_wanted_code *code = *at;

        if (code->executable != executable) {
            at = &code->next;
            continue;
        }
        *at = code->next;
        free(code->bytes);
        free(code);
    }
    pthread_mutex_unlock(&isolate->link_lock);
}

static const struct rp_wanted_kernel *kernel_of(const struct rp_isolate *isolate, uint64_t object)
{
    const uint32_t number = rp_kernel_map_get(&isolate->map, object);
    const struct rp_wanted_kernel *kernels = __atomic_load_n(&isolate->kernels, __ATOMIC_ACQUIRE);

    return number ? &kernels[number - 1] : NULL;
}

/* Reports what came instead. It must not run during a capture, which waits for this thread to
 * leave.
 */
static void report_passed(struct rp_tool *tool, const struct rp_candidate *candidate)
{
    struct rp_isolate *isolate = &tool->isolate;
    struct rp_snapshot_filtered passed;

    if (select_is_passed(&isolate->select, candidate) ||
        pthread_mutex_trylock(&isolate->link_lock) != 0)
        return;
    if (select_pass(tool, &isolate->select, candidate, &passed))
        rp_snapshot_send(&isolate->link, RP_SNAPSHOT_FILTERED, &passed, sizeof(passed), NULL, 0);
    pthread_mutex_unlock(&isolate->link_lock);
}

/* The name says little about kernels of JIT compilers, because many code objects have one of the
 * same name. Their contents differ. Where these are unknown, this hashes their registers,
 * arguments and memory, or the sizes of their code objects.
 */
static uint64_t hash_of_code(const struct rp_rec_kernel *k)
{
    const uint32_t words[] = {k->arch_vgpr_count, k->accum_vgpr_count, k->sgpr_count,
                              k->wave_size,       k->kernarg_bytes,    k->group_bytes,
                              k->private_bytes,   k->code_bytes};
    uint64_t hash = 0xcbf29ce484222325u; /* This is FNV-1a by words. */

    if (k->code_hash)
        return k->code_hash;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        hash = (hash ^ words[i]) * 0x100000001b3u;
    return hash;
}

/** The rest of @p candidate is filled in. */
static bool take(struct rp_tool *tool, struct rp_candidate *candidate, uint64_t *ret_match)
{
    const struct rp_wanted_kernel *kernel =
        kernel_of(&tool->isolate, candidate->packet->kernel_object);

    *ret_match = 0;
    if (!kernel)
        return false;
    candidate->symbol = kernel->symbol;
    candidate->code = hash_of_code(&kernel->rec);
    if (select_take(tool, &tool->isolate.select, candidate, ret_match))
        return true;
    if (*ret_match == 0)
        report_passed(tool, candidate);
    return false;
}

uint64_t rp_isolate_find(struct rp_tool *tool, struct rp_isolate_place *place,
                         const struct rp_hsa_packet *packets,
                         const struct rp_packet_origin *origins, uint64_t count)
{
    struct rp_candidate candidate = {.agent = place->agent, .queue_index = place->queue_index};

    if (__atomic_load_n(&tool->isolate.kernel_count, __ATOMIC_ACQUIRE) == 0 ||
        !rp_isolate_is_on(tool) || tool->isolate.survey || select_is_over(&tool->isolate.select))
        return count;
    for (uint64_t i = 0; i < count; i++) {
        candidate.packet = &packets[i];
        candidate.stream = place->stream = origins[i].stream;
        if ((packets[i].header & RP_AQL_TYPE_MASK) == RP_AQL_KERNEL_DISPATCH &&
            take(tool, &candidate, &place->match))
            return i;
    }
    return count;
}

uint64_t rp_isolate_scan(struct rp_tool *tool, rp_hsa_agent agent, uint32_t queue_index,
                         uint64_t stream, const struct rp_hsa_packet *packet)
{
    struct rp_candidate candidate = {
        .packet = packet, .agent = agent, .queue_index = queue_index, .stream = stream};
    uint64_t match = 0;

    if (tool->isolate.survey && rp_isolate_is_on(tool))
        take(tool, &candidate, &match);
    return match;
}

/* --- waiting ------------------------------------------------------------------------------- */

void rp_isolate_queue_failed(struct rp_tool *tool)
{
    __atomic_store_n(&tool->isolate.queue_failed, 1, __ATOMIC_RELEASE);
}

static bool has_failed(const struct rp_tool *tool)
{
    return __atomic_load_n(&tool->isolate.queue_failed, __ATOMIC_ACQUIRE);
}

/* Another thread ends the program: it waits for this one, and then signals and the runtime go. */
static bool is_ending(const struct rp_tool *tool)
{
    const uint32_t tid = __atomic_load_n(&tool->isolate.ending_tid, __ATOMIC_SEQ_CST);

    return tid && tid != rp_tool_tid();
}

/* Tests whether it has ended or has waited for long enough. */
static bool has_ended(const struct rp_tool *tool, uint64_t from, uint64_t now)
{
    const struct rp_isolate *isolate = &tool->isolate;

    if (!is_ending(tool))
        return false;
    if (isolate->ending_ns > from)
        from = isolate->ending_ns;
    return now - from > (uint64_t)isolate->patience_ms * NS_PER_MS;
}

/** This says how long a signal is waited for. */
struct wait {
    int64_t patience_ms;
    int64_t held_patience_ms;    /**< of that with others at the gate; 0: they do not matter */
    int64_t waiting_patience_ms; /**< of that with nothing but waiting; 0: that does not matter */
    bool held, waits;            /**< that was the end of it */
};

/* Returns for how many milliseconds the running work has done nothing but wait. 0: it works, or
 * nobody knows
 */
static int64_t only_waits_ms(const struct rp_tool *tool)
{
    return tool->device ? tool->device->only_waits_ns() / NS_PER_MS : 0;
}

static void report_long(struct rp_tool *tool, const struct wait *wait, int64_t running_ms)
{
    const struct rp_snapshot_waits waits = {
        .running_ms = (uint32_t)running_ms,
        .patience_ms = (uint32_t)wait->patience_ms,
        .waiting_patience_ms = tool->device ? (uint32_t)wait->waiting_patience_ms : 0};

    rp_snapshot_send(&tool->isolate.link, RP_SNAPSHOT_WAITS, &waits, sizeof(waits), NULL, 0);
}

/* Decides after each slice of the wait whether it is over. */
static bool is_over(struct rp_tool *tool, struct wait *wait, uint64_t from, uint64_t now,
                    uint64_t held_from)
{
    const bool is_late = now - from > (uint64_t)wait->patience_ms * NS_PER_MS;
    const int64_t waits_ms = wait->waiting_patience_ms ? only_waits_ms(tool) : 0;

    if (has_failed(tool) || has_ended(tool, from, now))
        return true;
    wait->waits = waits_ms > wait->waiting_patience_ms || (is_late && waits_ms > 0);
    wait->held = !wait->waits && wait->held_patience_ms && held_from &&
                 now - held_from > (uint64_t)wait->held_patience_ms * NS_PER_MS;
    return is_late || wait->waits || wait->held;
}

static bool comes(struct rp_tool *tool, rp_hsa_signal signal, struct wait *wait)
{
    const uint64_t from = rp_tool_now_ns(tool);
    uint64_t held_from = 0, now;
    bool told = wait->waiting_patience_ms == 0;

    /* Waits in slices of a tenth of a second; the time-out counts ticks of the runtime's clock. */
    while (tool->hsa.hsa_signal_wait_scacquire(signal, RP_HSA_CONDITION_LT, 1,
                                               tool->timestamp_hz / 10, 0) >= 1) {
        now = rp_tool_now_ns(tool);
        if (!rp_pause_holds_up_others(&tool->isolate.gate))
            held_from = 0;
        else if (!held_from)
            held_from = now;
        if (is_over(tool, wait, from, now, held_from))
            return false;
        if (!told && now - from > (uint64_t)LONG_MS * NS_PER_MS) {
            report_long(tool, wait, (int64_t)((now - from) / NS_PER_MS));
            told = true;
        }
    }
    return true;
}

/* All packets of the queue so far are over. */
static const char *drain_queue(struct rp_tool *tool, struct rp_isolate_place *place,
                               struct wait wait, const char *otherwise)
{
    rp_hsa_signal signal = rp_signal_pool_take(&tool->quiet_signals);
    const struct rp_hsa_barrier_packet barrier = {.header = BARRIER, .completion = signal};

    if (!signal)
        return "the runtime gives no signal to wait for";
    place->writer(&barrier, 1);
    place->put++;
    /* The barrier keeps the signal, because it may still complete it. */
    if (!comes(tool, signal, &wait))
        return wait.waits  ? "the kernel does nothing but wait, perhaps for another kernel or GPU, "
                             "which cannot begin while this one is captured"
               : wait.held ? "the kernel does not end while other threads of the program are held: "
                             "it may wait for them"
                           : otherwise;
    rp_signal_pool_give(&tool->quiet_signals, signal);
    return NULL;
}

static const char *drain_before(struct rp_tool *tool, struct rp_isolate_place *place)
{
    return drain_queue(tool, place, (struct wait){.patience_ms = tool->isolate.patience_ms},
                       "what is before it in its queue does not come to rest");
}

/* Waits until the work of other queues and copies is over. */
static const char *drain_rest(struct rp_tool *tool, int64_t patience_ms)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    const uint64_t from = rp_tool_now_ns(tool);
    struct rp_completion_reader *h = &tool->harvest;

    if (__atomic_load_n(&tool->isolate.untracked, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&tool->lost_dispatches, __ATOMIC_ACQUIRE))
        return "the program has submitted work whose end cannot be seen";
    for (;;) {
        rp_completions_read(tool);
        if (__atomic_load_n(&h->pending_dispatches, __ATOMIC_ACQUIRE) == 0 &&
            __atomic_load_n(&h->pending_copies, __ATOMIC_ACQUIRE) == 0 &&
            rp_shared_copies_are_over(tool))
            return NULL;
        if (rp_tool_now_ns(tool) - from > (uint64_t)patience_ms * NS_PER_MS)
            return "other queues or copies do not come to rest";
        nanosleep(&pause, NULL);
    }
}

/* --- sending ------------------------------------------------------------------------------- */

static const struct rp_wanted_code *code_of(const struct rp_isolate *isolate, uint32_t id)
{
    const struct rp_wanted_code *code = isolate->codes;

    while (code && code->id != id)
        code = code->next;
    return code;
}

/** Returns the bytes of a kernel's arguments. The descriptors of kernels that Tensile has assembled
 * say 0: their metadata says how many there are. */
static uint32_t argument_bytes(const struct rp_wanted_kernel *kernel,
                               const struct rp_wanted_code *code)
{
    enum { MOST = 1 << 16 }; /* HIP and compilers allow fewer; what says more is damaged. */
    struct rp_code_kernel facts = {0};
    struct rp_err ignored = RP_ERR_INIT;
    uint32_t bytes = kernel->rec.kernarg_bytes;

    if (bytes == 0 &&
        rp_code_kernel_read(code->bytes, code->count, kernel->symbol, &facts, NULL, &ignored) ==
            0 &&
        facts.kernarg_bytes <= MOST)
        bytes = (uint32_t)facts.kernarg_bytes;
    rp_code_kernel_free(&facts);
    return bytes;
}

static const char *send_facts(struct rp_tool *tool, const struct rp_isolate_place *place,
                              const struct rp_hsa_packet *packet)
{
    struct rp_isolate *isolate = &tool->isolate;
    const struct rp_wanted_kernel *kernel = kernel_of(isolate, packet->kernel_object);
    const struct rp_wanted_code *code = code_of(isolate, kernel->rec.code_object_id);
    struct rp_snapshot_dispatch d = {
        .dispatch_id = place->dispatch_id,
        .match = place->match,
        .gpu = rp_agent_gpu_number(tool, place->agent),
        .kernel_object = packet->kernel_object,
        .kernarg = packet->kernarg,
        .private_bytes = packet->private_bytes,
        .group_bytes = packet->group_bytes,
        .kernarg_align_bytes = kernel->rec.kernarg_align_bytes,
        .queue_index = place->queue_index,
        .header = packet->header,
        .setup = packet->setup,
    };

    if (!code || !code->bytes)
        return "the file of its code object is not in the memory of the program";
    if (!rp_hip_stream(tool, place->stream, &d.stream))
        d.stream = UINT32_MAX;
    d.kernarg_bytes = argument_bytes(kernel, code);
    d.code_base = code->load_base;
    d.code_bytes = code->load_bytes;
    memcpy(d.grid, packet->grid, sizeof(d.grid));
    memcpy(d.workgroup, packet->workgroup, sizeof(d.workgroup));
    rp_agent_name(tool, place->agent, (char *)d.isa);
    tool->hsa.hsa_agent_get_info(place->agent, RP_AMD_AGENT_PRODUCT_NAME, d.product);
    tool->hsa.hsa_agent_get_info(place->agent, RP_AMD_AGENT_DRIVER_NODE_ID, &d.node);
    rp_snapshot_send(&isolate->link, RP_SNAPSHOT_BEGIN, &d, sizeof(d), kernel->symbol,
                     strlen(kernel->symbol));
    rp_snapshot_send(&isolate->link, RP_SNAPSHOT_CODE, code->bytes, code->count, NULL, 0);
    /* The program wrote them through the same mapping. */
    rp_snapshot_send(&isolate->link, RP_SNAPSHOT_KERNARG, (const void *)(uintptr_t)packet->kernarg,
                     packet->kernarg ? d.kernarg_bytes : 0, NULL, 0);
    return NULL;
}

/* --- the dispatch -------------------------------------------------------------------------- */

struct late {
    rp_hsa_signal ours, program;
};

/* Does what the packet processor would have done with the program's signal. */
static void complete(struct rp_tool *tool, const struct late *late)
{
    const struct rp_amd_signal *from = (const struct rp_amd_signal *)late->ours;
    struct rp_amd_signal *to = (struct rp_amd_signal *)late->program;

    to->start_ts = from->start_ts;
    to->end_ts = from->end_ts;
    tool->hsa.hsa_signal_subtract_screlease(late->program, 1);
}

static bool on_late(int64_t value, void *data)
{
    (void)value;
    complete(&rp_the_tool, data);
    free(data);
    return false; /* The handler runs once. */
}

/* The dispatch goes on and nobody waits for it here: the program hears of its end all the same. */
static void complete_later(struct rp_tool *tool, struct late *late)
{
    struct late *kept = malloc(sizeof(*kept));

    if (kept) {
        *kept = *late;
        if (tool->hsa.hsa_amd_signal_async_handler(late->ours, RP_HSA_CONDITION_LT, 1, on_late,
                                                   kept) == RP_HSA_SUCCESS)
            return;
        free(kept);
    }
    /* This waits as the program would have waited. */
    comes(tool, late->ours, &(struct wait){.patience_ms = INT64_MAX / NS_PER_MS});
    complete(tool, late);
}

/* Runs the dispatch between the two states. @return why not */
static const char *run(struct rp_tool *tool, struct rp_isolate_place *place,
                       const struct rp_hsa_packet *packet, struct rp_snapshot *snapshot)
{
    struct rp_isolate *isolate = &tool->isolate;
    struct rp_hsa_packet ours = *packet;
    struct late late = {.program = packet->completion};
    const char *why;

    if (late.program) {
        late.ours = rp_signal_pool_take(&tool->waking_signals);
        if (!late.ours)
            return "the runtime gives no signal for the dispatch";
        ours.completion = late.ours;
    }
    place->writer(&ours, 1);
    place->put++;
    place->handed_over = true;
    why = drain_queue(tool, place,
                      (struct wait){.patience_ms = isolate->kernel_patience_ms,
                                    .held_patience_ms = isolate->held_patience_ms,
                                    .waiting_patience_ms = isolate->waiting_patience_ms},
                      "the kernel does not end");
    if (why && has_failed(tool)) /* Only this dispatch runs on the GPU, so the error is its own. */
        why = "the kernel faulted: the runtime reports an error of its queue";
    if (why) /* The kernel may go on, and further captures must not take memory while it does. */
        __atomic_add_fetch(&isolate->untracked, 1, __ATOMIC_RELEASE);
    if (why && late.program) {
        complete_later(tool, &late);
        return why;
    }
    if (!why && rp_snapshot_send(&isolate->link, RP_SNAPSHOT_AFTER, NULL, 0, NULL, 0))
        rp_snapshot_take(snapshot, false);
    if (late.program) {
        complete(tool, &late);
        rp_signal_pool_give(&tool->waking_signals, late.ours);
    }
    return why ? why : snapshot->why;
}

/* Captures a packet with the gate closed. @return why not */
static const char *capture(struct rp_tool *tool, struct rp_isolate_place *place,
                           const struct rp_hsa_packet *packet)
{
    struct rp_isolate *isolate = &tool->isolate;
    const char *why = drain_rest(tool, isolate->patience_ms);
    struct rp_snapshot snapshot;

    /* This is done once more, because kernels of other queues may have released to their GPU only,
     * so that what they wrote was still in its caches when the first barrier made memory visible
     * to all.
     */
    if (!why)
        why = drain_before(tool, place);
    if (!why)
        why = send_facts(tool, place, packet);
    if (why)
        return why;
    if (rp_snapshot_begin(&snapshot, tool, &isolate->link, isolate->patience_ms))
        rp_snapshot_take(&snapshot, true);
    why = snapshot.why ? snapshot.why : run(tool, place, packet, &snapshot);
    rp_snapshot_end(&snapshot);
    if (!why)
        rp_snapshot_send(&isolate->link, RP_SNAPSHOT_END, NULL, 0, NULL, 0);
    return why;
}

/**
 * Captures alone. Threads that wait at the gate may be within copies, for which the software
 * device would hold our packets.
 */
static const char *capture_alone(struct rp_tool *tool, struct rp_isolate_place *place,
                                 const struct rp_hsa_packet *packet)
{
    if (tool->device)
        tool->device->hold_nothing(true);
    const char *why = capture(tool, place, packet);
    if (tool->device)
        tool->device->hold_nothing(false);
    return why;
}

/* It is set while this thread captures, because the thread may end the program from within. */
static __thread bool captures;

void rp_isolate_end(struct rp_tool *tool)
{
    struct rp_isolate *isolate = &tool->isolate;
    const struct timespec pause = {.tv_nsec = END_LOOK_NS};

    if (captures || __atomic_load_n(&isolate->ending_tid, __ATOMIC_ACQUIRE))
        return;
    isolate->ending_ns = rp_tool_now_ns(tool);
    __atomic_store_n(&isolate->ending_tid, rp_tool_tid(), __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&isolate->capturing, __ATOMIC_SEQ_CST))
        nanosleep(&pause, NULL);
}

/* @return why not */
static const char *capture_here(struct rp_tool *tool, struct rp_isolate_place *place,
                                const struct rp_hsa_packet *packet)
{
    struct rp_isolate *isolate = &tool->isolate;
    const char *why;

    if (!rp_pause_begin(&isolate->gate, isolate->patience_ms))
        return "another thread is within a call to the runtime that does not return";
    why = capture_alone(tool, place, packet);
    rp_pause_end(&isolate->gate);
    return why;
}

bool rp_isolate_run(struct rp_tool *tool, struct rp_isolate_place *place,
                    const struct rp_hsa_packet *packet)
{
    struct rp_isolate *isolate = &tool->isolate;
    const char *why = "the program ends in another thread";

    captures = true;
    __atomic_add_fetch(&isolate->capturing, 1, __ATOMIC_SEQ_CST);
    if (!is_ending(tool))
        why = drain_before(tool, place);
    pthread_mutex_lock(&isolate->link_lock);
    if (!why)
        why = capture_here(tool, place, packet);
    rp_tool_log(tool, "isolate: %s", why ? why : "captured");
    if (why)
        rp_snapshot_send(&isolate->link, RP_SNAPSHOT_DECLINED, why, strlen(why), NULL, 0);
    if (isolate->link.fd < 0)
        select_give_up(&isolate->select);
    if (select_done(&isolate->select)) {
        __atomic_store_n(&isolate->on, 0, __ATOMIC_RELEASE);
        rp_pause_retire(&isolate->gate);
    }
    pthread_mutex_unlock(&isolate->link_lock);
    __atomic_sub_fetch(&isolate->capturing, 1, __ATOMIC_SEQ_CST);
    captures = false;
    return place->handed_over;
}
