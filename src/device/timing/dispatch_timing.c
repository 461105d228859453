#include "device/timing/dispatch_timing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/process.h"
#include "device/exec/code_cache.h"
#include "device/exec/exec_settings.h"
#include "device/exec/executor.h"
#include "device/exec/kernel_launch.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"
#include "device/isa/wave_state.h"
#include "device/timing/cache_history.h"
#include "device/timing/shared_simulations.h"
#include "device/timing/timing_counters.h"
#include "device/timing/timing_engine.h"
#include "device/timing/timing_model.h"
#include "device/timing/unlike_dies.h"
#include "device/timing/wave_record.h"

/* The bytes of a thread trace have rows from the timing simulation, and a listing of the functions
 * that were entered.
 */

enum { MOST_LINES = 1 << 20, FARTHEST_BYTES = 4 << 20, TEXT_BYTES = 256 };

struct listing {
    const struct rp_exec_host *host;
    struct rp_threads_code *line;
    char *text;
    uint64_t count, room, text_bytes, text_room;
    bool failed;
};

/* ---- listing ------------------------------------------------------------------------------- */

static unsigned decode_at(const struct listing *l, uint64_t va, struct rp_insn *ret)
{
    uint32_t words[4] = {0};
    size_t count = 0;
    for (; count < 4; count++) {
        const void *at = l->host->translate(l->host->ctx, va + 4 * count, 4, 0);
        if (!at)
            break;
        memcpy(&words[count], at, 4);
    }
    return count ? rp_isa_decode(words, count, ret) : 0;
}

static void add_line(struct listing *l, const struct rp_insn *in, uint64_t pc, unsigned bytes)
{
    char text[TEXT_BYTES];
    rp_isa_print(in, pc, text, sizeof text);
    const size_t length = strlen(text) + 1;
    if (l->count == l->room) {
        const uint64_t room = l->room ? 2 * l->room : 256;
        struct rp_threads_code *line = realloc(l->line, room * sizeof *line);
        l->failed |= !line;
        if (!line)
            return;
        l->line = line;
        l->room = room;
    }
    if (l->text_bytes + length > l->text_room) {
        const uint64_t room = 2 * l->text_room + TEXT_BYTES;
        char *grown = realloc(l->text, room);
        l->failed |= !grown;
        if (!grown)
            return;
        l->text = grown;
        l->text_room = room;
    }
    memcpy(l->text + l->text_bytes, text, length);
    l->line[l->count++] =
        (struct rp_threads_code){.pc = pc, .text = (uint32_t)l->text_bytes, .bytes = bytes};
    l->text_bytes += length;
}

static bool is_listed(const struct listing *l, uint64_t sorted, uint64_t pc)
{
    uint64_t low = 0, high = sorted;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (l->line[middle].pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sorted && l->line[low].pc == pc;
}

/* Lists a function from its first instruction to the end of a program, or to the way out of it,
 * behind which no branch of it leads. What it covers before @p sorted is not listed twice.
 */
static void list_function(struct listing *l, uint64_t from, uint64_t sorted)
{
    uint64_t farthest = from;
    for (uint64_t pc = from; l->count < MOST_LINES && !l->failed;) {
        struct rp_insn in;
        const unsigned bytes = decode_at(l, pc, &in);
        if (!bytes || is_listed(l, sorted, pc))
            return;
        add_line(l, &in, pc, bytes);
        if (in.fmt == RP_FMT_SOPP && in.cost_class == RP_COST_BRANCH) {
            const uint64_t target = pc + bytes + (uint64_t)(4 * (int64_t)(int16_t)in.offset);
            if (target > farthest && target - from < FARTHEST_BYTES)
                farthest = target;
        }
        pc += bytes;
        const bool leaves = in.op == RP_OP_s_endpgm || in.op == RP_OP_s_branch ||
                            in.op == RP_OP_s_setpc_b64 || in.op == RP_OP_s_endpgm_saved;
        if (leaves && pc > farthest)
            return;
    }
}

static int by_pc(const void *a, const void *b)
{
    const struct rp_threads_code *x = a, *y = b;
    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Lists the kernel and every other function that was entered, which means at its first
 * instruction.
 */
static int list_code(struct listing *l, uint64_t entry_pc, const struct rp_wave_record *record)
{
    uint64_t *pcs = malloc((record->code_count + 1ull) * sizeof *pcs);
    if (!pcs)
        return -ENOMEM;
    for (uint32_t i = 0; i < record->code_count; i++)
        pcs[i] = record->code[i].pc;
    qsort(pcs, record->code_count, sizeof *pcs, by_value);
    list_function(l, entry_pc, 0);
    for (uint32_t i = 0; i < record->code_count && !l->failed; i++) {
        const uint64_t sorted = l->count;
        if (is_listed(l, sorted, pcs[i]))
            continue;
        list_function(l, pcs[i], sorted);
        qsort(l->line, l->count, sizeof *l->line, by_pc);
    }
    free(pcs);
    return l->failed ? -ENOMEM : 0;
}

/* ---- bytes --------------------------------------------------------------------------------- */

/* The vector L1 looks up 16 lanes of up to 4 bytes at once, or 4 of wider ones. */
static uint64_t needed_lookups(const struct rp_rec_access *a)
{
    const unsigned at_once = a->lane_bytes <= 4 ? 16 : 4;
    return (a->lanes + at_once - 1) / at_once;
}

/* Adds what a wave accessed to the instructions in the listing. */
static void add_accesses(const struct rp_rec_wave *w, const uint32_t *line, struct listing *l)
{
    for (uint32_t i = 0; i < w->access_count; i++) {
        const struct rp_rec_access *a = &w->access[i];
        const uint32_t at = a->step < w->step_count ? line[w->step[a->step]] : UINT32_MAX;
        if (at == UINT32_MAX)
            continue;
        struct rp_threads_code *code = &l->line[at];
        code->accesses++;
        code->lookups += a->lookups;
        code->needed_lookups += a->lookups ? needed_lookups(a) : 0;
        code->lds_conflict_clocks += a->lds_conflict_clocks;
    }
}

static void add_all_accesses(const struct rp_wave_record *r, const uint32_t *line,
                             struct listing *l)
{
    for (uint64_t g = 0; g < r->plan.count; g++)
        for (uint32_t i = 0; i < r->group[g].wave_count; i++)
            add_accesses(&r->group[g].wave[i], line, l);
}

/* Rows and waits name instructions by their place in the listing. */
static int renumber(struct rp_trace_rows *t, struct listing *l)
{
    const struct rp_wave_record *record = t->record;
    uint32_t *line = malloc((record->code_count + 1ull) * sizeof *line);
    if (!line)
        return -ENOMEM;
    for (uint32_t i = 0; i < record->code_count; i++) {
        const struct rp_threads_code key = {.pc = record->code[i].pc};
        const struct rp_threads_code *found =
            bsearch(&key, l->line, l->count, sizeof *l->line, by_pc);
        line[i] = found ? (uint32_t)(found - l->line) : UINT32_MAX;
    }
    add_all_accesses(record, line, l);
    for (uint64_t i = 0; i < t->row_count; i++)
        t->row[i].code = line[t->row[i].code];
    for (uint64_t i = 0; i < t->wait_count; i++)
        t->wait[i] =
            (struct rp_threads_wait){.code = line[t->wait[i].code], .on = line[t->wait[i].on]};
    free(line);
    return 0;
}

struct part {
    const void *from;
    size_t bytes;
};

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static int put(const struct part *parts, size_t count, void **ret_bytes, size_t *ret_count)
{
    size_t total = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        total += padded(parts[i].bytes);
    char *bytes = calloc(1, total);
    if (!bytes)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].bytes)
            memcpy(bytes + at, parts[i].from, parts[i].bytes);
        at += padded(parts[i].bytes);
    }
    *ret_bytes = bytes;
    *ret_count = total;
    return 0;
}

static int write_out(const struct rp_trace_rows *t, const struct listing *l,
                     struct rp_threads_header *header, void **ret_bytes, size_t *ret_count)
{
    header->code_count = l->count;
    header->text_bytes = l->text_bytes;
    header->wave_count = t->wave_count;
    header->row_count = t->row_count;
    header->wait_count = t->wait_count;
    header->event_count = t->event_count;
    header->lost_waves = t->lost;
    header->flags |= t->lost ? RP_THREADS_CUT : 0;
    for (uint64_t i = 0; i < t->wave_count; i++)
        header->flags |= t->wave[i].cut ? RP_THREADS_CUT : 0;
    const struct part parts[] = {
        {header, sizeof *header},
        {l->line, l->count * sizeof *l->line},
        {l->text, l->text_bytes},
        {t->wave, t->wave_count * sizeof *t->wave},
        {t->row, t->row_count * sizeof *t->row},
        {t->wait, t->wait_count * sizeof *t->wait},
        {t->event, t->event_count * sizeof *t->event},
    };
    return put(parts, sizeof parts / sizeof parts[0], ret_bytes, ret_count);
}

/* ---- the replay ---------------------------------------------------------------------------- */

struct rp_thread_watch {
    struct rp_trace_rows threads;
    struct rp_engine_watch inner, watch;
    rp_threads_tell tell;  /**< or NULL */
    uint64_t steps, total; /**< instructions: replayed, and recorded; when code is resolved */
    int64_t begin_ns, told_ns;
    bool begun, replayed;
};

/** This is kept of a dispatch that is recorded (rp_dispatch.observed). */
struct rp_dispatch_timing {
    struct rp_wave_record *record; /**< or NULL: it was lost */
    struct rp_unlike unlike;
    bool settled;                 /**< the dispatch is over, and that is known */
    struct rp_timing_stats stats; /**< of the replay, */
    bool simulated;               /**< if there was one, */
    bool shared;                  /**< of an earlier launch that did the same */
    bool counted;                 /**< and it counted: */
    struct rp_cache_result cache_result;
    struct rp_wave_sums wave_sums;
    struct rp_thread_watch *threads; /**< who traces the replay, or NULL */
};

enum { STEPS_BETWEEN = 1 << 18 };

static const int64_t FIRST_NS = 5000000000, NEXT_NS = 10000000000;

static void tell(struct rp_thread_watch *w)
{
    const int64_t now = rp_now_ns();
    if (now - w->begin_ns < FIRST_NS || now - w->told_ns < NEXT_NS || w->steps >= w->total)
        return;
    const double share = (double)w->steps / (double)w->total;
    w->told_ns = now;
    w->tell(share, (double)(now - w->begin_ns) * 1e-9 * (1 - share) / share);
}

static void watched_begin(void *ctx, const struct rp_wave_placement *where, uint64_t clock)
{
    struct rp_thread_watch *w = ctx;
    w->inner.wave_begins(w->inner.ctx, where, clock);
}

static void watched_issue(void *ctx, const struct rp_wave_placement *where, uint32_t step,
                          const struct rp_issue_times *times)
{
    struct rp_thread_watch *w = ctx;
    if (!w->steps) /* Resolving has already looked up the code and counted pages. */
        w->begin_ns = rp_now_ns();
    if (++w->steps % STEPS_BETWEEN == 0 && w->tell)
        tell(w);
    w->inner.issued(w->inner.ctx, where, step, times);
}

static void watched_end(void *ctx, const struct rp_wave_placement *where, uint64_t clock)
{
    struct rp_thread_watch *w = ctx;
    w->inner.wave_ends(w->inner.ctx, where, clock);
}

static struct rp_thread_watch *watch_new(const struct rp_dispatch *d, const struct rp_arch *arch,
                                         const struct rp_threads_request *wish, int *ret_status)
{
    const struct rp_dispatch_timing *t = d->observed;
    struct rp_thread_watch *w = t->record ? calloc(1, sizeof *w) : NULL;
    *ret_status = w           ? rp_trace_rows_begin(&w->threads, arch, t->record, wish)
                  : t->record ? -ENOMEM
                              : -ENODATA;
    if (*ret_status) {
        free(w);
        return NULL;
    }
    w->threads.kernel = wish->work_items ? &d->kernel : NULL;
    w->threads.order = d->settings.order;
    return w;
}

static void watch_free(struct rp_thread_watch *w)
{
    if (!w)
        return;
    rp_trace_rows_release(&w->threads);
    free(w);
}

void rp_dispatch_watch_threads(struct rp_dispatch *d, const struct rp_arch *arch,
                               const struct rp_threads_request *wish, rp_threads_tell tell_whom)
{
    struct rp_dispatch_timing *t = d->observed;
    int status;
    if (!t)
        return;
    watch_free(t->threads);
    t->threads = watch_new(d, arch, wish, &status);
    if (t->threads)
        t->threads->tell = tell_whom;
}

/** Prepares to watch the simulation that is about to begin. NULL: nobody wants to know */
static const struct rp_engine_watch *watch_begin(const struct rp_dispatch_timing *t)
{
    struct rp_thread_watch *w = t->threads;
    if (!w || w->begun || !t->record)
        return NULL;
    w->begun = true;
    for (uint64_t g = 0; g < t->record->plan.count; g++)
        for (uint32_t i = 0; i < t->record->group[g].wave_count; i++)
            w->total += t->record->group[g].wave[i].step_count;
    w->inner = rp_trace_rows_watch(&w->threads);
    w->watch = (struct rp_engine_watch){
        .ctx = w, .wave_begins = watched_begin, .issued = watched_issue, .wave_ends = watched_end};
    return &w->watch;
}

static int dispatch_simulate(struct rp_dispatch *d, const struct rp_arch *arch,
                             const struct rp_engine_watch *watch, struct rp_timing_stats *ret);

/* Simulates the dispatch now, if that has not been watched. */
static int replay(struct rp_dispatch *d, const struct rp_arch *arch,
                  const struct rp_threads_request *wish, struct rp_timing_stats *ret)
{
    struct rp_dispatch_timing *t = d->observed;
    int status = 0;
    if (!t)
        return -ENODATA;
    if (t->threads && t->threads->replayed && t->simulated) {
        *ret = t->stats;
        return rp_trace_rows_end(&t->threads->threads);
    }
    watch_free(t->threads);
    t->threads = watch_new(d, arch, wish, &status);
    if (!t->threads)
        return status;
    status = dispatch_simulate(d, arch, watch_begin(t), ret);
    return status ? status : rp_trace_rows_end(&t->threads->threads);
}

int rp_dispatch_rows(struct rp_dispatch *d, const struct rp_arch *arch,
                     const struct rp_threads_request *wish, const struct rp_trace_rows **ret)
{
    struct rp_timing_stats stats;
    const int status = replay(d, arch, wish, &stats);
    if (!status)
        *ret = &((struct rp_dispatch_timing *)d->observed)->threads->threads;
    return status;
}

int rp_dispatch_trace(struct rp_dispatch *d, const struct rp_arch *arch,
                      const struct rp_threads_request *wish, uint64_t start_ticks, void **ret_bytes,
                      size_t *ret_count)
{
    struct rp_dispatch_timing *t = d->observed;
    struct listing l = {.host = d->host};
    struct rp_timing_stats stats = {0};
    int status = replay(d, arch, wish, &stats);
    if (!status)
        status = list_code(&l, d->kernel.entry_va, t->record);
    if (!status)
        status = renumber(&t->threads->threads, &l);
    struct rp_threads_header header = {
        .magic = {'R', 'P', 'T', 'H', 'R', 'D', 'S', '1'},
        .version = RP_THREADS_VERSION,
        .header_bytes = sizeof header,
        .flags = stats.sampled ? RP_THREADS_SAMPLED : 0,
        .gfx_ip = 9, /* It is the same for all targets: GCN's fifth generation and CDNA. */
        .engine_mhz = arch->engine_clock_mhz,
        .timestamp_mhz = arch->timestamp_mhz,
        .start_ticks = start_ticks,
        .entry_pc = d->kernel.entry_va,
    };
    if (!status) {
        header.groups = stats.groups;
        header.group_count = stats.group_count;
        status = write_out(&t->threads->threads, &l, &header, ret_bytes, ret_count);
    }
    free(l.line);
    free(l.text);
    if (t) { /* Its rows have new numbers, so it can be used only once. */
        watch_free(t->threads);
        t->threads = NULL;
    }
    return status;
}

/** Makes the record of a dispatch, or returns NULL when the host is out of memory. */
static struct rp_wave_record *record_new(const struct rp_dispatch *d, bool timed)
{
    const struct rp_arch *arch = d->arch;
    const struct rp_kernel *k = &d->kernel;
    const struct rp_rec_shape shape = {
        .waves_per_group = k->waves_per_group,
        .groups_per_cu = k->groups_per_cu,
        .lds_bytes = k->lds_bytes,
        .vgprs = k->vgpr_rows,
        .limits = k->limits,
    };
    const struct rp_rec_plan plan =
        rp_rec_timing_plan_of(arch, k->group_count, shape.waves_per_group, shape.groups_per_cu);
    struct rp_rec_plan whole;
    const bool takes_all = timed && rp_rec_whole_plan_of(arch, &plan, shape.waves_per_group,
                                                         shape.groups_per_cu, &whole);
    struct rp_wave_record *r = rp_record_new(takes_all ? &whole : &plan, &shape);
    if (r) {
        if (takes_all)
            r->sample = plan;
        r->keeps_steps = timed;
        r->keeps_accesses = d->counting == RP_COUNT_MEMORY;
        r->patterns = rp_rec_patterns_new();
    }
    return r;
}

/* The plan's limit is in instructions of 4 bytes and as much again for accesses and lines, which
 * alone may take more; of scattered accesses, with a line for each lane, far fewer fit. */
enum { BYTES_PER_STEP = 12 };

static void record_group(const struct rp_dispatch *d, struct rp_group *g, struct rp_wave_record *r,
                         int64_t index)
{
    struct rp_rec_group *group = &r->group[index];
    const bool is_probe = (uint64_t)index >= r->plan.count;
    const bool keeps_steps = r->keeps_steps && !is_probe;
    if (is_probe && !r->keeps_steps) /* Counters are taken from the other workgroups. */
        return;
    /* Where all are recorded, those of a sample are kept further: it may be all that is simulated.
     */
    const int64_t sampled = r->sample.count ? rp_rec_index(&r->sample, g->linear_id) : -1;
    const uint32_t steps = sampled >= 0 && (uint64_t)sampled < r->sample.count
                               ? r->sample.steps_limit
                               : r->plan.steps_limit;
    const bool may_be_probe = is_probe || (sampled >= 0 && (uint64_t)sampled >= r->sample.count);
    if (!rp_rec_begin(group, g->wave_count, keeps_steps ? steps : 0))
        return;
    for (uint32_t i = 0; i < g->wave_count; i++) {
        group->wave[i].most_bytes =
            BYTES_PER_STEP * (uint64_t)(sampled >= 0 ? r->sample.steps_limit : r->plan.steps_limit);
        group->wave[i].closed = !keeps_steps;
        group->wave[i].full = !r->keeps_accesses && !may_be_probe;
        group->wave[i].lines_only = is_probe;
        group->wave[i].patterns = r->patterns;
        group->wave[i].keeps_masks = d->launch.keeps_masks && keeps_steps;
        g->waves[i].record = &group->wave[i];
    }
}

static void on_group(struct rp_dispatch *d, struct rp_group *g, int other_die)
{
    const struct rp_dispatch_timing *t = d->observed;
    const int64_t index = rp_rec_index(&t->record->plan, g->linear_id);
    const int64_t other =
        index < 0 && other_die >= 0 ? rp_rec_index(&t->unlike.record->plan, g->linear_id) : -1;
    if (index >= 0)
        record_group(d, g, t->record, index);
    else if (other >= 0)
        record_group(d, g, t->unlike.record, other);
}

static int on_slice(struct rp_dispatch *d, const struct rp_totals *known)
{
    struct rp_dispatch_timing *t = d->observed;
    return rp_unlike_look(&t->unlike, t->record, known->die);
}

static int on_dispatch(struct rp_dispatch *d)
{
    const bool timed = rp_timing_mode_for(d->arch) == RP_TIMING_DETAILED ||
                       (d->launch.detailed && d->arch->timing);
    if (!timed && d->counting != RP_COUNT_MEMORY)
        return 0;
    struct rp_dispatch_timing *t = calloc(1, sizeof *t);
    if (t && (t->record = record_new(d, timed))) {
        d->observed = t;
        return 0;
    }
    free(t);
    return rp_timing_mode_for(d->arch) == RP_TIMING_DETAILED ? -ENOMEM : 0;
}

static void on_dispatch_end(struct rp_dispatch *d)
{
    struct rp_dispatch_timing *t = d->observed;
    rp_record_free(t->record);
    rp_record_free(t->unlike.record);
    watch_free(t->threads);
    free(t);
}

static void on_take_back(struct rp_wave *w, uint64_t insts)
{
    rp_rec_cut(w->record, insts);
}

static void on_retire(struct rp_wave *w, uint64_t insts, uint64_t bytes)
{
    w->record->insts += insts;
    w->record->bytes += bytes;
}

const struct rp_observer rp_timing_observer = {.on_dispatch = on_dispatch,
                                               .on_dispatch_end = on_dispatch_end,
                                               .on_slice = on_slice,
                                               .on_group = on_group,
                                               .on_group_end = rp_live_clock_end,
                                               .on_turn = rp_observe_turn,
                                               .on_issue = rp_observe_issue,
                                               .on_run = rp_observe_run,
                                               .on_access = rp_observe_access,
                                               .on_take_back = on_take_back,
                                               .on_retire = on_retire,
                                               .on_clock = rp_live_clock_read};

/* ---- waves that do the same ---- */

enum { WAYS = 16 }; /* This many are told apart, which is more than usual kernels have. */

struct ways {
    struct way {
        const struct rp_rec_wave *wave;
        uint32_t *step, count; /**< as recorded */
    } way[WAYS];
    uint32_t count;
};

/* Waves of a kernel mostly go the same way: then they share its steps, so that the replay reads few
 * streams and not one for each wave. Returns whether this one does. */
static bool share_way(const struct ways *ways, struct rp_rec_wave *w)
{
    for (uint32_t i = ways->count; i-- > 0;) {
        const struct way *way = &ways->way[i];
        if (way->count != w->step_count ||
            memcmp(way->step, w->step, way->count * sizeof *way->step))
            continue;
        free(w->step);
        w->step = way->wave->step;
        w->step_room = 0;
        w->same_step = true;
        return true;
    }
    return false;
}

/* These are the wave's steps before they are resolved. NULL: nobody compares them */
static uint32_t *copy_way(const struct ways *ways, const struct rp_rec_wave *w)
{
    const size_t bytes = w->step_count * sizeof *w->step;
    uint32_t *copy = ways->count < WAYS && bytes ? malloc(bytes) : NULL;
    return copy ? memcpy(copy, w->step, bytes) : NULL;
}

/* ---- resolving ----------------------------------------------------------------------------- */

/* The wave's steps, or those that it shares with another. */
static int resolve_way(struct rp_resolver *m, struct rp_mem *mem, struct ways *ways,
                       struct rp_rec_wave *w)
{
    const uint32_t count = w->step_count;
    uint32_t resolved = 0;
    if (share_way(ways, w))
        return 0;
    uint32_t *copy = copy_way(ways, w);
    const int status = rp_resolve(m, mem, w->step, count, &resolved);
    if (!status && resolved < count) /* Nothing after it can be simulated. */
        rp_rec_keep(w, resolved);
    if (copy && !status && resolved == count)
        ways->way[ways->count++] = (struct way){w, copy, count};
    else
        free(copy);
    return status;
}

/**
 * The steps of a finished dispatch's record hold distances from the kernel's entry. This replaces
 * them by indices into record->code. Waves whose code is not mapped any more lose their record.
 * @return 0, or -ENOMEM
 */
static int resolve_record(struct rp_dispatch *d, struct rp_wave_record *r)
{
    struct rp_resolver m;
    struct ways ways = {.count = 0};
    const uint64_t groups = r->plan.count + r->plan.probes;
    int status = rp_resolver_init(&m, r, d->kernel.entry_va);
    for (uint64_t g = 0; g < groups && status == 0; g++)
        for (uint32_t w = 0; w < r->group[g].wave_count && status == 0; w++)
            status = resolve_way(&m, &d->workers[0]->env.mem, &ways, &r->group[g].wave[w]);
    for (uint32_t i = 0; i < ways.count; i++)
        free(ways.way[i].step);
    rp_resolver_release(&m);
    return status;
}

static void drop_records(struct rp_dispatch_timing *t)
{
    rp_record_free(t->record);
    rp_record_free(t->unlike.record);
    t->record = t->unlike.record = NULL;
}

static int settle(struct rp_dispatch *d, struct rp_dispatch_timing *t)
{
    struct rp_wave_record *r = t->record;
    r->total_waves = d->counts.waves;
    r->total_insts = d->counts.wave_insts;
    int status = rp_record_narrow(r);
    if (!status)
        status = rp_record_status(r);
    return status ? status : rp_unlike_settle(&t->unlike, r, d->totals.die);
}

/* Resolves what was recorded. @return 0; -ENODATA nothing was recorded; -ENOMEM */
static int prepare_record(struct rp_dispatch *d)
{
    struct rp_dispatch_timing *t = d->observed;
    if (!t || !t->record || !t->record->keeps_steps || d->state != RP_RUN_DONE)
        return -ENODATA;
    if (t->settled)
        return 0;
    int status = settle(d, t);
    if (!status)
        status = resolve_record(d, t->record);
    if (!status && t->unlike.record)
        status = resolve_record(d, t->unlike.record);
    t->settled = !status;
    if (status) /* Only a part of it is resolved, so it must not be simulated. */
        drop_records(t);
    return status;
}

/* Makes the record ready to be simulated, which takes longer and far more memory. */
static int place_record(struct rp_dispatch *d)
{
    struct rp_dispatch_timing *t = d->observed;
    int status = prepare_record(d);
    if (status)
        return status;
    status = rp_record_renumber_pages(t->record);
    if (!status && t->unlike.record)
        status = rp_record_renumber_pages(t->unlike.record);
    if (status)
        drop_records(t);
    return status;
}

/**
 * Simulates what was recorded of a dispatch that is done.
 * @param arch  the GPU, or what a queue's CU mask leaves of it
 * @param watch  NULL, or whom to tell about every instruction
 * @return 0; -ENODATA nothing was recorded; -ENOMEM
 */
static int dispatch_simulate(struct rp_dispatch *d, const struct rp_arch *arch,
                             const struct rp_engine_watch *watch, struct rp_timing_stats *ret)
{
    const struct rp_dispatch_timing *t = d->observed;
    const int status = place_record(d);
    if (status)
        return status;
    return t->unlike.record ? rp_unlike_run(&t->unlike, arch, t->record, watch, ret)
                            : rp_engine_run(arch, t->record, watch, ret);
}

const struct rp_wave_record *rp_dispatch_record(const struct rp_dispatch *d)
{
    const struct rp_dispatch_timing *t = d->observed;
    return t ? t->record : NULL;
}

int rp_dispatch_watch(struct rp_dispatch *d, const struct rp_arch *arch,
                      const struct rp_engine_watch *watch)
{
    struct rp_timing_stats unused = {0};
    return rp_dispatch_record(d) ? dispatch_simulate(d, arch, watch, &unused) : -ENODATA;
}

/* ---- counters ------------------------------------------------------------------------------ */

/* Where dies do unlike work there are two simulations, and neither has counted for the other. */
static bool counts_moved(const struct rp_dispatch *d)
{
    const struct rp_dispatch_timing *t = d->observed;
    return d->counting == RP_COUNT_MEMORY && t && !t->unlike.record;
}

/* Simulates and counts. Without memory for counting it goes on, and the counts are unknown. */
static int simulate_counting(struct rp_dispatch *d, const struct rp_arch *arch,
                             struct rp_timing_stats *ret)
{
    struct rp_dispatch_timing *t = d->observed;
    struct rp_engine_watch watch;
    struct rp_count_watch *c = rp_count_watch_begin(arch, t->record, &watch);
    const int status = dispatch_simulate(d, arch, c ? &watch : NULL, ret);

    if (rp_count_watch_end(c, arch, status == 0, &t->cache_result, &t->wave_sums))
        t->counted = true;
    return status;
}

/* Traces the simulation, if anybody asked for that. */
static int simulate_traced(struct rp_dispatch *d, const struct rp_arch *arch,
                           struct rp_timing_stats *ret)
{
    struct rp_dispatch_timing *t = d->observed;
    const int status = dispatch_simulate(d, arch, watch_begin(t), ret);

    if (t->threads)
        t->threads->replayed = t->threads->begun && status == 0;
    return status;
}

/* Takes the simulation of an earlier launch with that key, if there is one. */
static bool share(const struct rp_dispatch *d, const struct rp_simulation_key *key)
{
    struct rp_dispatch_timing *t = d->observed;
    struct rp_shared_simulation s;
    if (!rp_shared_simulation_find(key, counts_moved(d), &s))
        return false;
    t->stats = s.stats;
    t->counted = s.counted;
    t->cache_result = s.cache_result;
    t->wave_sums = s.wave_sums;
    t->shared = true;
    return true;
}

static void keep(const struct rp_dispatch_timing *t, const struct rp_simulation_key *key)
{
    const struct rp_shared_simulation s = {.stats = t->stats,
                                           .counted = t->counted,
                                           .cache_result = t->cache_result,
                                           .wave_sums = t->wave_sums};
    rp_shared_simulation_keep(key, &s);
}

/* The key of what is simulated: both kinds of dies, if there are two, and how many are of each.
 * What both have in the caches is in @p caches. */
static struct rp_simulation_key key_of(const struct rp_dispatch *d, const struct rp_arch *arch,
                                       uint64_t caches)
{
    const struct rp_dispatch_timing *t = d->observed;
    struct rp_simulation_key key = rp_simulation_key_of(arch, &d->counts, t->record, caches);
    if (t->unlike.record) {
        const struct rp_simulation_key other =
            rp_simulation_key_of(arch, &d->counts, t->unlike.record, RP_CACHES_COLD);
        key.work[0] ^= rp_simulation_work(&other) * 0x9e3779b185ebca87u + t->unlike.other_dies;
    }
    return key;
}

static uint64_t caches_of(const struct rp_dispatch_timing *t)
{
    const uint64_t caches = rp_simulation_caches(t->record);
    return t->unlike.record ? caches + 3 * rp_simulation_caches(t->unlike.record) : caches;
}

/* Takes the simulation of an earlier launch that did the same, or simulates the dispatch for it and
 * later ones. Mostly memory is where it was, which is seen without unpacking the record; else
 * pages are numbered first. A dispatch that is traced has to be simulated itself. */
static int simulate_or_share(struct rp_dispatch *d, const struct rp_arch *arch)
{
    struct rp_dispatch_timing *t = d->observed;
    int status = prepare_record(d);
    if (status)
        return status;
    struct rp_cache_history *history = d->launch.history;
    const struct rp_simulation_key there = key_of(d, arch, rp_cache_history_state(history));
    const uint64_t work = rp_simulation_work(&there);
    const struct rp_footprint *known = rp_cache_history_find(history, work);
    if (!t->threads && (known || !history) && share(d, &there)) {
        rp_cache_history_add(history, arch, work, NULL);
        return 0;
    }
    /* What it touches is known by address, so it is found before pages are renumbered. A record
     * says it of its kind of dies alone: what the others evict is not known, and the history is
     * forgotten rather than kept as though they touched nothing. */
    struct rp_footprint *touched =
        history && !known && !t->unlike.record ? rp_footprint_of(arch, work, t->record) : NULL;
    status = rp_cache_history_warm(history, arch, touched ? touched : known, t->record);
    if (!status && t->unlike.record)
        status = rp_cache_history_warm(history, arch, NULL, t->unlike.record);
    if (!status)
        status = place_record(d);
    rp_cache_history_add(history, arch, work, touched);
    if (status)
        return status;
    const struct rp_simulation_key anywhere = key_of(d, arch, caches_of(t));
    if (t->threads || !share(d, &anywhere)) {
        status = counts_moved(d) ? simulate_counting(d, arch, &t->stats)
                                 : simulate_traced(d, arch, &t->stats);
        if (status)
            return status;
        keep(t, &anywhere);
    }
    keep(t, &there);
    return 0;
}

/* The kernel has run, but how long it would take depends on nothing that the host has. */
static int no_memory(struct rp_dispatch *d)
{
    d->state = RP_RUN_FAULT;
    d->fault = (struct rp_fault){
        .kind = RP_FAULT_NO_MEMORY,
        .pc = d->kernel.entry_va,
        .lane = -1,
        .text = "detailed timing cannot tell how long it takes: allow the process more, or use "
                "--timing counts",
    };
    return -ENOMEM;
}

int rp_dispatch_ticks(struct rp_dispatch *d, const struct rp_arch *arch, uint64_t *ret_ticks)
{
    struct rp_dispatch_timing *t = d->observed;
    int status = -ENODATA;
    *ret_ticks = 1;
    if (t)
        t->simulated = t->counted = t->shared = false;
    if (rp_timing_mode() == RP_TIMING_OFF)
        return 0;
    if (t && t->record)
        status = simulate_or_share(d, arch);
    /* For a trace alone no kernel fails: it runs without one, and the trace says what it lacks. */
    if (status == -ENODATA || (status < 0 && rp_timing_mode_for(arch) != RP_TIMING_DETAILED)) {
        *ret_ticks = rp_timing_dispatch_ticks(arch, &d->counts);
        return 0;
    }
    if (status < 0)
        return no_memory(d);
    t->simulated = true;
    *ret_ticks = rp_timing_simulated_ticks(arch, &d->counts, &t->stats);
    return 0;
}

bool rp_dispatch_simulated(const struct rp_dispatch *d, uint64_t *ret_waves,
                           double *ret_error_share)
{
    const struct rp_dispatch_timing *t = d->observed;
    if (!t || !t->simulated)
        return false;
    *ret_waves = t->stats.waves;
    *ret_error_share = t->stats.error_share;
    return true;
}

void rp_dispatch_needs(const struct rp_dispatch *d, const struct rp_arch *arch,
                       double ret_ns[RP_SHARED_RESOURCES])
{
    const struct rp_dispatch_timing *t = d->observed;
    const struct rp_rec_shape *shape = &t->record->shape;
    rp_timing_needs(arch, &d->counts, &t->stats, shape->groups_per_cu * shape->waves_per_group,
                    ret_ns);
}

bool rp_dispatch_shares(const struct rp_dispatch *d)
{
    const struct rp_dispatch_timing *t = d->observed;
    return t && t->simulated && t->shared;
}

bool rp_dispatch_counted_waves(const struct rp_dispatch *d)
{
    const struct rp_dispatch_timing *t = d->observed;
    return t && t->simulated && t->counted;
}

/* Takes the counts from the simulation that gave the time, if there was one and it knows them. For
 * waves that execute more than is recorded, it may lack what they access last, and accesses alone
 * need far less room.
 */
static enum rp_counting count_moved(const struct rp_dispatch *d, uint64_t *values)
{
    const struct rp_dispatch_timing *t = d->observed;

    if (!counts_moved(d))
        return RP_COUNT_INSTRUCTIONS;
    if (t->counted && rp_memory_counters(d->arch, &t->cache_result, values) == 0)
        return RP_COUNT_MEMORY;
    if (!t->record || rp_record_status(t->record) < 0 || rp_record_renumber_pages(t->record) < 0 ||
        rp_memory_counters_by_turns(d->arch, t->record, values) < 0)
        return RP_COUNT_INSTRUCTIONS;
    return RP_COUNT_MEMORY;
}

/* Adds up executions. @return false: they were not counted */
static bool count_executed(const struct rp_dispatch *d, uint64_t *values)
{
    if (d->counting == RP_COUNT_NOTHING || d->state != RP_RUN_DONE)
        return false;
    memset(values, 0, RP_DEVICE_COUNTERS * sizeof *values);
    for (unsigned i = 0; i < RP_EXEC_WORKERS; i++)
        if (d->workers[i])
            rp_page_counters_sum(d->workers[i], values);
    return true;
}

enum rp_counting rp_dispatch_count(const struct rp_dispatch *d, uint64_t *values)
{
    const struct rp_dispatch_timing *t = d->observed;
    if (!count_executed(d, values))
        return RP_COUNT_NOTHING;
    values[RP_COUNTER_SQ_WAVES] = values[RP_COUNTER_SPI_CSN_WAVE] = d->counts.waves;
    values[RP_COUNTER_SPI_VWC_CSC_WR] = d->counts.waves;
    values[RP_COUNTER_SQ_ITEMS] = 1;
    for (unsigned i = 0; i < 3; i++)
        values[RP_COUNTER_SQ_ITEMS] *= d->launch.grid_size[i] ? d->launch.grid_size[i] : 1;
    values[RP_COUNTER_SPI_CSN_NUM_THREADGROUPS] = d->totals.groups;
    if (rp_dispatch_counted_waves(d))
        rp_wave_counters(d->arch, &t->stats, &t->wave_sums, &t->record->shape, &d->counts, values);
    return count_moved(d, values);
}

/* ---- bounds -------------------------------------------------------------------------------- */

bool rp_dispatch_between(const struct rp_dispatch *d, const struct rp_arch *arch, double ret_ns[2])
{
    uint64_t values[RP_DEVICE_COUNTERS], low, high;
    if (rp_timing_mode() == RP_TIMING_OFF || d->state != RP_RUN_DONE)
        return false;
    const bool counted = count_executed(d, values);
    rp_timing_bounds(arch, &d->counts, counted ? values : NULL, d->totals.groups, &low, &high);
    ret_ns[0] = 1e3 * (double)low / arch->timestamp_mhz;
    ret_ns[1] = 1e3 * (double)high / arch->timestamp_mhz *
                rp_unlike_share(d->totals.die, d->arch->xcc_count);
    return true;
}
