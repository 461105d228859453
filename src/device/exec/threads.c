/* The bytes of a thread trace: rows from the replay, and a listing of the functions entered. */
#include "threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../isa/ops.h"
#include "../timing/cost.h"
#include "../timing/threads.h"
#include "arch/arch.h"
#include "recording.h"

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

/*
 * A function from its first instruction on: to the end of a program, or the way out of it, behind
 * which no branch of it leads. What it covers before @p sorted is not listed twice.
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

/* The kernel, and what else has been entered: a function is entered at its first instruction. */
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

/* Rows and waits name instructions by their place in the listing. */
static int renumber(struct rp_threads *t, const struct listing *l)
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

static int write_out(const struct rp_threads *t, const struct listing *l,
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
    struct rp_threads threads;
    struct rp_engine_watch inner, watch;
    rp_threads_tell tell;  /* or NULL */
    uint64_t steps, total; /* instructions: replayed, and recorded; when code is resolved */
    int64_t begin_ns, told_ns;
    bool begun, replayed;
};

enum { STEPS_BETWEEN = 1 << 18 };

static const int64_t FIRST_NS = 5000000000, NEXT_NS = 10000000000;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void tell(struct rp_thread_watch *w)
{
    const int64_t now = now_ns();
    if (now - w->begin_ns < FIRST_NS || now - w->told_ns < NEXT_NS || w->steps >= w->total)
        return;
    const double share = (double)w->steps / (double)w->total;
    w->told_ns = now;
    w->tell(share, (double)(now - w->begin_ns) * 1e-9 * (1 - share) / share);
}

static void watched_begin(void *ctx, const struct rp_wave_place *where, uint64_t clock)
{
    struct rp_thread_watch *w = ctx;
    w->inner.wave_begins(w->inner.ctx, where, clock);
}

static void watched_issue(void *ctx, const struct rp_wave_place *where, uint32_t step,
                          const struct rp_issue_times *times)
{
    struct rp_thread_watch *w = ctx;
    if (!w->steps) /* the code has been looked up, and pages counted */
        w->begin_ns = now_ns();
    if (++w->steps % STEPS_BETWEEN == 0 && w->tell)
        tell(w);
    w->inner.issued(w->inner.ctx, where, step, times);
}

static void watched_end(void *ctx, const struct rp_wave_place *where, uint64_t clock)
{
    struct rp_thread_watch *w = ctx;
    w->inner.wave_ends(w->inner.ctx, where, clock);
}

static struct rp_thread_watch *watch_new(const struct rp_dispatch *d, const struct rp_arch *arch,
                                         const struct rp_threads_request *wish, int *ret_status)
{
    struct rp_thread_watch *w = d->record ? calloc(1, sizeof *w) : NULL;
    *ret_status = w           ? rp_threads_begin(&w->threads, arch, d->record, wish)
                  : d->record ? -ENOMEM
                              : -ENODATA;
    if (*ret_status == 0)
        return w;
    free(w);
    return NULL;
}

void rp_thread_watch_free(struct rp_thread_watch *w)
{
    if (!w)
        return;
    rp_threads_release(&w->threads);
    free(w);
}

void rp_dispatch_watch_threads(struct rp_dispatch *d, const struct rp_arch *arch,
                               const struct rp_threads_request *wish, rp_threads_tell tell_whom)
{
    int status;
    rp_thread_watch_free(d->threads);
    d->threads = watch_new(d, arch, wish, &status);
    if (d->threads)
        d->threads->tell = tell_whom;
}

const struct rp_engine_watch *rp_thread_watch_begin(struct rp_thread_watch *w,
                                                    const struct rp_dispatch *d)
{
    if (!w || w->begun || !d->record)
        return NULL;
    w->begun = true;
    for (uint64_t g = 0; g < d->record->plan.count; g++)
        for (uint32_t i = 0; i < d->record->group[g].wave_count; i++)
            w->total += d->record->group[g].wave[i].step_count;
    w->inner = rp_threads_watch(&w->threads);
    w->watch = (struct rp_engine_watch){
        .ctx = w, .wave_begins = watched_begin, .issued = watched_issue, .wave_ends = watched_end};
    return &w->watch;
}

void rp_thread_watch_end(struct rp_thread_watch *w, int status)
{
    if (w)
        w->replayed = w->begun && status == 0;
}

/* Now, if it has not been watched. */
static int replay(struct rp_dispatch *d, const struct rp_arch *arch,
                  const struct rp_threads_request *wish, struct rp_timing_stats *ret)
{
    int status = 0;
    if (d->threads && d->threads->replayed && d->stats) {
        *ret = *d->stats;
        return rp_threads_end(&d->threads->threads);
    }
    rp_thread_watch_free(d->threads);
    d->threads = watch_new(d, arch, wish, &status);
    if (!d->threads)
        return status;
    status = rp_dispatch_replay(d, arch, rp_thread_watch_begin(d->threads, d), ret);
    return status ? status : rp_threads_end(&d->threads->threads);
}

int rp_dispatch_trace(struct rp_dispatch *d, const struct rp_arch *arch,
                      const struct rp_threads_request *wish, uint64_t start_ticks, void **ret_bytes,
                      size_t *ret_count)
{
    struct listing l = {.host = d->host};
    struct rp_timing_stats stats = {0};
    int status = replay(d, arch, wish, &stats);
    if (!status)
        status = list_code(&l, d->kernel.entry_va, d->record);
    if (!status)
        status = renumber(&d->threads->threads, &l);
    struct rp_threads_header header = {
        .magic = {'R', 'P', 'T', 'H', 'R', 'D', 'S', '1'},
        .version = RP_THREADS_VERSION,
        .header_bytes = sizeof header,
        .flags = stats.sampled ? RP_THREADS_SAMPLED : 0,
        .gfx_ip = 9, /* all targets: GCN's fifth generation and CDNA */
        .engine_mhz = arch->engine_clock_mhz,
        .timestamp_mhz = arch->timestamp_mhz,
        .start_ticks = start_ticks,
        .entry_pc = d->kernel.entry_va,
    };
    if (!status) {
        header.groups = stats.groups;
        header.group_count = stats.group_count;
        status = write_out(&d->threads->threads, &l, &header, ret_bytes, ret_count);
    }
    free(l.line);
    free(l.text);
    rp_thread_watch_free(d->threads); /* its rows have new numbers: of use once */
    d->threads = NULL;
    return status;
}
