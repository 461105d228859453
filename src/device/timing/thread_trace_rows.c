/* This file turns what the timing simulation reports into rows of a thread trace. As hardware
 * does, it takes instructions of one compute unit of each engine, and begins and ends of waves of
 * all units.
 */
#include "device/timing/dispatch_timing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "device/exec/exec_settings.h"
#include "device/exec/kernel_launch.h"
#include "device/isa/instruction.h"
#include "device/isa/lane.h"

enum {
    SLOT_CLOCKS = 4,
    SIMDS = 4,
    SLOTS = 32,       /**< of a CU: as the engine's */
    DEFAULT_CU = 1,   /**< rocprofv3's default for --att-target-cu */
    UNDER_WAY = 1024, /**< s_waitcnt counts to 63; waves that never wait forget the oldest */
};

/* The queue holds instructions whose results are under way, with the oldest first. */
struct queue {
    uint32_t *code;
    uint64_t first, count;
    bool unordered; /**< some may come back before older ones */
};

struct rp_trace_rows_wave {
    struct rp_threads_wave wave;
    struct rp_threads_row *row;
    struct rp_threads_wait *wait;
    uint64_t row_room, wait_room;
    struct queue vm, lgkm;
    bool at_barrier; /**< the latest row's end is not known yet */
    bool full;       /**< what followed was not kept */
};

/* Makes room for one more element. @return false: no memory */
static bool grow(void **array, uint64_t *room, uint64_t count, size_t bytes)
{
    if (count < *room)
        return true;
    const uint64_t more = *room ? 2 * *room : 64;
    void *grown = realloc(*array, more * bytes);
    if (!grown)
        return false;
    *array = grown;
    *room = more;
    return true;
}

/* ---- places -------------------------------------------------------------------------------- */

/* Consecutive workgroups go to consecutive engines of a die: so its compute units are numbered. */
static uint32_t engine_of(const struct rp_trace_rows *t, const struct rp_wave_placement *p)
{
    return p->xcc * t->engines_per_die + p->cu % t->engines_per_die;
}

static uint8_t cu_of(const struct rp_trace_rows *t, const struct rp_wave_placement *p)
{
    return (uint8_t)(p->cu / t->engines_per_die);
}

static uint32_t slot_index(const struct rp_trace_rows *t, const struct rp_wave_placement *p)
{
    return (p->xcc * t->cus_per_die + p->cu) * SLOTS + p->slot;
}

static bool on_engines(const struct rp_trace_rows *t, const struct rp_wave_placement *p)
{
    const uint32_t engine = engine_of(t, p);
    return engine < 32 && t->wish.engines >> engine & 1;
}

static bool is_traced(const struct rp_trace_rows *t, const struct rp_wave_placement *p)
{
    const uint32_t cu = cu_of(t, p);
    const bool wanted = t->wish.cu == RP_THREADS_ANY_CU ? cu <= DEFAULT_CU : cu == t->wish.cu;
    return wanted && on_engines(t, p) && t->wish.simds >> p->simd & 1;
}

static uint8_t take_slot(struct rp_trace_rows *t, const struct rp_wave_placement *p)
{
    uint8_t *used = &t->slots[(p->xcc * t->cus_per_die + p->cu) * SIMDS + p->simd];
    /* A SIMD has 8 slots, and the engine has no more. */
    const uint32_t left = ~(uint32_t)*used & 0xff;
    const uint8_t slot = left ? (uint8_t)__builtin_ctz(left) : 7;
    *used |= (uint8_t)(1u << slot);
    t->slot_of[slot_index(t, p)] = slot;
    return slot;
}

static uint8_t give_slot(struct rp_trace_rows *t, const struct rp_wave_placement *p)
{
    const uint8_t slot = t->slot_of[slot_index(t, p)];
    t->slots[(p->xcc * t->cus_per_die + p->cu) * SIMDS + p->simd] &= (uint8_t) ~(1u << slot);
    return slot;
}

/* Returns how many work-items a wave has: fewer than its lanes at the end of a workgroup. */
static uint8_t work_items(const struct rp_trace_rows *t, const struct rp_wave_placement *p)
{
    const struct rp_kernel *k = t->kernel;
    if (!k)
        return 1;
    uint64_t items = 1;
    uint32_t id[3];
    rp_kernel_group_id(k,
                       rp_wave_order_group(t->order, t->record->group[p->group].linear_id,
                                           k->group_count, k->resident_groups),
                       id);
    for (unsigned d = 0; d < 3; d++) {
        const uint64_t left = k->grid_size[d] - (uint64_t)id[d] * k->workgroup_size[d];
        items *= left < k->workgroup_size[d] ? left : k->workgroup_size[d];
    }
    const uint64_t before = (uint64_t)p->wave * RP_LANES;
    const uint64_t of_wave = items > before ? items - before : 1;
    return (uint8_t)(of_wave < RP_LANES ? of_wave : RP_LANES);
}

/* @param begins  work-items of the wave that begins; 0: it ends */
static void note_event(struct rp_trace_rows *t, const struct rp_wave_placement *p, uint8_t slot,
                       uint64_t clock, uint8_t begins)
{
    if (!grow((void **)&t->event, &t->event_room, t->event_count, sizeof *t->event)) {
        t->failed = true;
        return;
    }
    t->event[t->event_count++] = (struct rp_threads_event){.clock = clock,
                                                           .engine = engine_of(t, p),
                                                           .cu = cu_of(t, p),
                                                           .simd = p->simd,
                                                           .slot = slot,
                                                           .begins = begins};
}

/* ---- what waits are about ------------------------------------------------------------------ */

static bool push(struct queue *q, uint32_t code)
{
    if (!q->code)
        q->code = malloc(UNDER_WAY * sizeof *q->code);
    if (!q->code)
        return false;
    if (q->count == UNDER_WAY) {
        q->first++;
        q->count--;
    }
    q->code[(q->first + q->count++) % UNDER_WAY] = code;
    return true;
}

static bool note_wait(struct rp_trace_rows_wave *o, uint32_t code, uint32_t on)
{
    for (uint32_t i = 0; i < o->wave.wait_count; i++)
        if (o->wait[i].code == code && o->wait[i].on == on)
            return true;
    if (!grow((void **)&o->wait, &o->wait_room, o->wave.wait_count, sizeof *o->wait))
        return false;
    o->wait[o->wave.wait_count++] = (struct rp_threads_wait){.code = code, .on = on};
    return true;
}

/* If results come back out of order, a count above 0 does not tell which have come. */
static bool wait_for(struct rp_trace_rows_wave *o, struct queue *q, uint32_t code, uint32_t left)
{
    if (left && q->unordered)
        return true;
    for (; q->count > left; q->count--)
        if (!note_wait(o, code, q->code[q->first++ % UNDER_WAY]))
            return false;
    q->unordered &= q->count > 0;
    return true;
}

static bool follow(struct rp_trace_rows_wave *o, const struct rp_rec_code *c, uint32_t code)
{
    if (c->misc == RP_REC_WAITCNT)
        return wait_for(o, &o->vm, code, c->vm) && wait_for(o, &o->lgkm, code, c->lgkm);
    if (c->counts_lgkm && !c->in_order)
        o->lgkm.unordered = true;
    return (!c->counts_vm || push(&o->vm, code)) && (!c->counts_lgkm || push(&o->lgkm, code));
}

/* ---- rows ---------------------------------------------------------------------------------- */

static uint8_t memory_category(const struct rp_rec_code *c)
{
    const char *name = rp_isa_mnemonic(c->op);
    return !strncmp(name, "buffer_", 7) || !strncmp(name, "tbuffer_", 8) ? RP_THREADS_VMEM
                                                                         : RP_THREADS_FLAT;
}

static uint8_t category_of(const struct rp_rec_code *c, bool goes_on)
{
    switch ((enum rp_rec_unit)c->unit) {
    case RP_REC_VALU:
    case RP_REC_MFMA:
        return RP_THREADS_VALU;
    case RP_REC_SALU:
        return RP_THREADS_SALU;
    case RP_REC_SMEM:
        return RP_THREADS_SMEM;
    case RP_REC_VMEM:
        return memory_category(c);
    case RP_REC_LDS:
        return RP_THREADS_LDS;
    case RP_REC_BRANCH:
        return goes_on ? RP_THREADS_NEXT : RP_THREADS_JUMP;
    default:
        return c->misc == RP_REC_END || !strncmp(rp_isa_mnemonic(c->op), "s_sendmsg", 9)
                   ? RP_THREADS_MESSAGE
                   : RP_THREADS_IMMEDIATE;
    }
}

/* Tests whether the wave goes on behind the instruction of that step. */
static bool goes_on(const struct rp_trace_rows *t, const struct rp_wave_placement *p, uint32_t step)
{
    const struct rp_rec_wave *w = &t->record->group[p->group].wave[p->wave];
    const struct rp_rec_code *c = &t->record->code[w->step[step]];
    return step + 1 >= w->step_count ||
           t->record->code[w->step[step + 1]].pc == c->pc + c->size_bytes;
}

/* The time that waits, sleeps and barriers take beyond their own slot is a stall. */
static void close_row(struct rp_threads_row *row, uint64_t next, bool waits)
{
    row->latency_clocks = (uint32_t)(next - row->clock);
    if (waits)
        row->stall_clocks =
            row->latency_clocks > SLOT_CLOCKS ? row->latency_clocks - SLOT_CLOCKS : 0;
}

static void end_barrier(struct rp_trace_rows_wave *o, uint64_t clock)
{
    if (o->at_barrier)
        close_row(&o->row[o->wave.row_count - 1], clock, true);
    o->at_barrier = false;
}

static void issued(void *ctx, const struct rp_wave_placement *p, uint32_t step,
                   const struct rp_issue_times *times)
{
    struct rp_trace_rows *t = ctx;
    struct rp_trace_rows_wave *o = t->open[slot_index(t, p)];
    if (!o)
        return;
    end_barrier(o, times->arrived);
    o->full |= t->rows == t->wish.rows;
    if (o->full)
        return;
    t->rows++;
    const uint32_t code = t->record->group[p->group].wave[p->wave].step[step];
    const struct rp_rec_code *c = &t->record->code[code];
    if (!grow((void **)&o->row, &o->row_room, o->wave.row_count, sizeof *o->row) ||
        !follow(o, c, code)) {
        t->failed = true;
        return;
    }
    struct rp_threads_row *row = &o->row[o->wave.row_count++];
    *row = (struct rp_threads_row){.clock = times->fetched,
                                   .stall_clocks = (uint32_t)(times->issued - times->fetched),
                                   .code = code,
                                   .category = category_of(c, goes_on(t, p, step))};
    o->at_barrier = times->next == UINT64_MAX;
    uint64_t next = o->at_barrier ? times->issued + SLOT_CLOCKS : times->next;
    if (c->misc == RP_REC_END) /* The wave ends at once. */
        next = times->issued;
    close_row(row, next, c->unit == RP_REC_MISC);
}

/* ---- waves --------------------------------------------------------------------------------- */

static void wave_begins(void *ctx, const struct rp_wave_placement *p, uint64_t clock)
{
    struct rp_trace_rows *t = ctx;
    const uint8_t slot = take_slot(t, p);
    if (on_engines(t, p))
        note_event(t, p, slot, clock, work_items(t, p));
    if (!is_traced(t, p))
        return;
    struct rp_trace_rows_wave *o = calloc(1, sizeof *o);
    t->open[slot_index(t, p)] = o;
    if (!o) {
        t->failed = true;
        return;
    }
    o->wave = (struct rp_threads_wave){.begin = clock,
                                       .engine = engine_of(t, p),
                                       .cu = cu_of(t, p),
                                       .simd = p->simd,
                                       .slot = slot};
}

static void free_open(struct rp_trace_rows_wave *o)
{
    if (!o)
        return;
    free(o->row);
    free(o->wait);
    free(o->vm.code);
    free(o->lgkm.code);
    free(o);
}

/* Appends count elements. @return false: no memory */
static bool append(void **array, uint64_t *room, uint64_t *count, const void *from, uint64_t more,
                   size_t bytes)
{
    while (*room < *count + more)
        if (!grow(array, room, *room, bytes))
            return false;
    if (more)
        memcpy((char *)*array + *count * bytes, from, more * bytes);
    *count += more;
    return true;
}

static void keep(struct rp_trace_rows *t, struct rp_trace_rows_wave *o)
{
    o->wave.first_row = t->row_count;
    o->wave.first_wait = t->wait_count;
    if (!append((void **)&t->row, &t->row_room, &t->row_count, o->row, o->wave.row_count,
                sizeof *o->row) ||
        !append((void **)&t->wait, &t->wait_room, &t->wait_count, o->wait, o->wave.wait_count,
                sizeof *o->wait) ||
        !append((void **)&t->wave, &t->wave_room, &t->wave_count, &o->wave, 1, sizeof o->wave))
        t->failed = true;
}

static void wave_ends(void *ctx, const struct rp_wave_placement *p, uint64_t clock)
{
    struct rp_trace_rows *t = ctx;
    const uint8_t slot = give_slot(t, p);
    struct rp_trace_rows_wave **at = &t->open[slot_index(t, p)], *o = *at;
    const struct rp_rec_wave *rec = &t->record->group[p->group].wave[p->wave];
    if (on_engines(t, p))
        note_event(t, p, slot, clock, 0);
    if (!o)
        return;
    *at = NULL;
    if (o->full)
        o->wave.cut = RP_THREADS_BUFFER_FULL;
    else if (rec->insts > rec->step_count)
        o->wave.cut = RP_THREADS_RECORD_ENDS;
    o->wave.end = clock;
    if (!o->wave.cut) {
        end_barrier(o, clock);
    } else if (o->wave.row_count) { /* What came then is unknown, so its trace ends before. */
        const struct rp_threads_row *last = &o->row[o->wave.row_count - 1];
        o->wave.end = last->clock + last->latency_clocks;
    }
    keep(t, o);
    free_open(o);
}

/* ---- all ----------------------------------------------------------------------------------- */

int rp_trace_rows_begin(struct rp_trace_rows *t, const struct rp_arch *arch,
                        const struct rp_wave_record *record, const struct rp_threads_request *wish)
{
    const uint32_t dies = arch->xcc_count ? arch->xcc_count : 1;
    *t = (struct rp_trace_rows){.arch = arch, .record = record, .wish = *wish};
    t->cus_per_die = arch->compute_units / dies ? arch->compute_units / dies : 1;
    t->engines_per_die = arch->shader_engines / dies ? arch->shader_engines / dies : 1;
    const uint64_t cus = (uint64_t)dies * t->cus_per_die;
    t->open = calloc(cus * SLOTS, sizeof(struct rp_trace_rows_wave *));
    t->slots = calloc(cus, SIMDS);
    t->slot_of = calloc(cus, SLOTS);
    if (t->open && t->slots && t->slot_of)
        return 0;
    rp_trace_rows_release(t);
    return -ENOMEM;
}

struct rp_engine_watch rp_trace_rows_watch(struct rp_trace_rows *t)
{
    return (struct rp_engine_watch){
        .ctx = t, .wave_begins = wave_begins, .issued = issued, .wave_ends = wave_ends};
}

/* A dispatch that does not reach the default compute unit is traced on the first one. */
static void choose_units(struct rp_trace_rows *t)
{
    uint32_t reached = 0;
    uint64_t kept = 0;
    if (t->wish.cu != RP_THREADS_ANY_CU)
        return;
    for (uint64_t i = 0; i < t->wave_count; i++)
        if (t->wave[i].cu == DEFAULT_CU)
            reached |= 1u << t->wave[i].engine;
    for (uint64_t i = 0; i < t->wave_count; i++)
        if (t->wave[i].cu == (reached >> t->wave[i].engine & 1 ? DEFAULT_CU : 0))
            t->wave[kept++] = t->wave[i];
    t->wave_count = kept;
}

/* Drops waves that found the buffer full, of which only the existence is known. */
static void drop_lost(struct rp_trace_rows *t)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < t->wave_count; i++)
        if (t->wave[i].cut != RP_THREADS_BUFFER_FULL || t->wave[i].row_count)
            t->wave[kept++] = t->wave[i];
    t->lost = t->wave_count - kept;
    t->wave_count = kept;
}

#define ORDER(a, b, member)                                                                        \
    if ((a)->member != (b)->member)                                                                \
    return (a)->member < (b)->member ? -1 : 1

static int compare_waves(const void *left, const void *right)
{
    const struct rp_threads_wave *a = left, *b = right;
    ORDER(a, b, engine);
    ORDER(a, b, begin);
    ORDER(a, b, simd);
    ORDER(a, b, slot);
    return 0;
}

/* At one time a slot is given back before it is taken. */
static int compare_events(const void *left, const void *right)
{
    const struct rp_threads_event *a = left, *b = right;
    const bool begins = a->begins != 0;
    ORDER(a, b, engine);
    ORDER(a, b, clock);
    if (begins != (b->begins != 0))
        return begins ? 1 : -1;
    ORDER(a, b, cu);
    ORDER(a, b, simd);
    ORDER(a, b, slot);
    return 0;
}

int rp_trace_rows_end(struct rp_trace_rows *t)
{
    if (t->failed)
        return -ENOMEM;
    choose_units(t);
    drop_lost(t);
    if (t->wave_count)
        qsort(t->wave, t->wave_count, sizeof *t->wave, compare_waves);
    if (t->event_count)
        qsort(t->event, t->event_count, sizeof *t->event, compare_events);
    return 0;
}

void rp_trace_rows_release(struct rp_trace_rows *t)
{
    const uint64_t dies = t->arch && t->arch->xcc_count ? t->arch->xcc_count : 1;
    for (uint64_t i = 0; t->open && i < dies * t->cus_per_die * SLOTS; i++)
        free_open(t->open[i]);
    free(t->open);
    free(t->slots);
    free(t->slot_of);
    free(t->wave);
    free(t->row);
    free(t->wait);
    free(t->event);
    *t = (struct rp_trace_rows){0};
}
