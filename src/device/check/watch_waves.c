/*
 * The checks watch every wave: a gate in front of each instruction that accesses memory, waits or
 * maintains caches, and what the executor tells of workgroups and barriers.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/check/check.h"
#include "device/exec/executor.h"
#include "device/isa/lane.h"
#include "device/isa/mem_access.h"
#include "device/isa/mem_address.h"

/* Queues may be executed by several threads, each with dispatches of its own; what the checks keep
 * of the process is under this lock. */
static struct {
    pthread_mutex_t lock;
} checks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- which memory the lanes reach ---- */

static uint8_t kind_of(const struct rp_insn *in)
{
    const uint8_t access = rp_op_rows[in->op].access;
    const bool gfx90a = rp_isa_target_get() == RP_ISA_GFX90A;
    if (access == RP_ACCESS_ATOMIC || access == RP_ACCESS_CMPSWAP)
        return RP_PAST_WRITE | RP_PAST_BOTH | RP_PAST_ATOMIC;
    const uint8_t write = access == RP_ACCESS_STORE ? RP_PAST_WRITE : 0;
    if (in->fmt == RP_FMT_DS || in->fmt == RP_FMT_SMEM)
        return write;
    if (gfx90a && write)
        return write | RP_PAST_MAYBE;
    if (gfx90a)
        return (in->flags & (RP_IF_SC0 | RP_IF_NT)) == RP_IF_SC0 ? RP_PAST_ATOMIC : 0;
    if (in->flags & RP_IF_SC1)
        return write | RP_PAST_ATOMIC;
    return write | (in->flags & RP_IF_SC0 ? RP_PAST_LOCAL : 0);
}

/* Where the rows of what is stored begin; formats change values on their way. */
static void find_value(struct rp_watch *a, const struct rp_opnd *data)
{
    const char *name = rp_isa_mnemonic(a->in->op);
    a->value = NULL;
    if (!(a->kind & RP_PAST_WRITE) || a->kind & RP_PAST_BOTH || strstr(name, "format") ||
        (data->kind != RP_OPND_VGPR && data->kind != RP_OPND_AGPR))
        return;
    a->value = rp_rows(a->wave, data)[0];
    const size_t length = strlen(name);
    a->value_shift = length > 3 && !strcmp(name + length - 3, "_hi") ? 16 : 0;
}

/* Returns where a byte of a lane's private memory is in rp_wave.scratch. */
static uint64_t private_place(uint32_t offset, unsigned lane)
{
    return ((uint64_t)(offset / 4) * RP_LANES + lane) * 4 + offset % 4;
}

static void watch_scratch(struct rp_watch *a)
{
    const bool fixed = !(a->in->flags & RP_IF_VADDR);
    const uint32_t *v = fixed ? NULL : rp_rows(a->wave, &a->in->src[0])[0];
    uint32_t base = (uint32_t)a->in->offset;
    if (a->in->flags & RP_IF_SADDR)
        base += rp_opnd_u32(a->wave, &a->in->src[2]);
    RP_FOR_LANES(lane, a->lanes)
    a->va[lane] = private_place(base + (v ? v[lane] : 0), lane);
    rp_shadow_load_private(a, fixed);
}

/* Goes on with the lanes that reach one kind of memory. */
static void watch_space(struct rp_watch *a, const uint64_t va[RP_LANES], uint64_t lanes,
                        enum rp_space space)
{
    if (!lanes)
        return;
    a->lanes = lanes;
    a->lds = space == RP_SPACE_LDS;
    RP_FOR_LANES(lane, lanes)
    a->va[lane] = space == RP_SPACE_GLOBAL ? va[lane]
                  : space == RP_SPACE_LDS  ? (uint32_t)va[lane]
                                           : private_place((uint32_t)va[lane], lane);
    if (space == RP_SPACE_PRIVATE)
        rp_shadow_load_private(a, false);
    else
        rp_shadow_access(a);
}

static void watch_flat(struct rp_watch *a)
{
    const struct rp_exec_host *host = rp_wave_host(a->wave);
    const uint64_t exec = a->lanes;
    uint64_t va[RP_LANES], lanes[3] = {0};
    if (a->in->seg == RP_SEG_SCRATCH) {
        watch_scratch(a);
        return;
    }
    find_value(a, &a->in->src[1]);
    rp_flat_addresses(a->wave, a->in, a->va);
    if (a->in->seg == RP_SEG_GLOBAL) {
        rp_shadow_access(a);
        return;
    }
    memcpy(va, a->va, sizeof va);
    RP_FOR_LANES(lane, exec)
    lanes[rp_space_of(host, va[lane])] |= 1ull << lane;
    for (unsigned space = 0; space < 3; space++)
        watch_space(a, va, lanes[space], space);
}

static void watch_buffer(struct rp_watch *a)
{
    struct rp_buffer b;
    const struct rp_opnd *resource = &a->in->src[2];
    const uint64_t exec = a->lanes;
    const unsigned bytes = a->bytes < 4 ? a->bytes : 4;
    if (resource->kind != RP_OPND_SGPR || resource->index + 4 > RP_SGPR_COUNT ||
        rp_buffer_open(a->wave, a->in, &b))
        return;
    find_value(a, &a->in->src[1]);
    a->lanes = 0;
    RP_FOR_LANES(lane, exec)
    {
        if (!rp_buffer_inside(&b, lane, 0, bytes))
            continue;
        a->va[lane] = rp_buffer_at(&b, lane, 0);
        a->lanes |= 1ull << lane;
    }
    if (!b.private) {
        rp_shadow_access(a);
        return;
    }
    RP_FOR_LANES(lane, a->lanes)
    a->va[lane] -= RP_SCRATCH_BASE_VA;
    rp_shadow_load_private(a, !(a->in->flags & RP_IF_OFFEN));
}

/* The lanes' values are on their way to the LDS. */
static void watch_load_to_lds(struct rp_watch *a, uint64_t exec)
{
    const uint8_t *begin = a->wave->group->lds;
    const unsigned bytes = a->bytes < 4 ? 4 : a->bytes;
    a->lanes = 0;
    RP_FOR_LANES(lane, exec)
    {
        const uint8_t *p = rp_load_lds_at(a->wave, a->in, lane, bytes);
        if (!p)
            continue;
        a->va[lane] = (uint64_t)(p - begin);
        a->lanes |= 1ull << lane;
    }
    a->bytes = (uint8_t)bytes;
    a->kind = RP_PAST_WRITE | RP_PAST_BY_DMA;
    a->value = NULL;
    a->lds = true;
    rp_shadow_access(a);
}

static void watch_lds(struct rp_watch *a)
{
    const struct rp_op_row *row = &rp_op_rows[a->in->op];
    const unsigned unit = row->step;
    a->lds = true;
    if (row->access == RP_ACCESS_EXCHANGE || row->src[0] == RP_T_NONE || a->in->flags & RP_IF_GDS)
        return;
    const uint32_t *address = rp_rows(a->wave, &a->in->src[0])[0];
    for (unsigned which = 0; which < (unit ? 2 : 1); which++) {
        const uint32_t offset = unit ? ((uint32_t)a->in->offset >> 8 * which & 0xff) * unit
                                     : (uint32_t)a->in->offset & 0xffff;
        for (unsigned lane = 0; lane < RP_LANES; lane++)
            a->va[lane] = (uint32_t)(address[lane] + offset);
        find_value(a, &a->in->src[which ? 3 : 1]);
        a->first_dword = (uint8_t)(which * (a->bytes / 4u));
        rp_shadow_access(a);
    }
}

static bool is_argument(const struct rp_wave *w, uint64_t va)
{
    const struct rp_dispatch *d = w->group->dispatch;
    return va - d->launch.kernarg_va < d->kernel.kernarg_bytes || va - d->launch.packet_va < 64;
}

static void watch_scalar(struct rp_watch *a)
{
    const struct rp_op_row *row = &rp_op_rows[a->in->op];
    const bool buffer = row->src[2] == RP_T_B128;
    if (!strncmp(row->mnemonic, "s_scratch", 9) || (buffer && !rp_sgprs_fit(&a->in->src[2])))
        return;
    a->va[0] = buffer ? rp_smem_buffer(a->wave, a->in).va : rp_smem_address(a->wave, a->in);
    if (is_argument(a->wave, a->va[0]))
        return;
    a->lanes = 1;
    a->value = NULL;
    rp_shadow_access(a);
}

static void watch_access(struct rp_watch *a)
{
    const uint64_t exec = a->lanes;
    if (a->in->fmt == RP_FMT_SMEM)
        watch_scalar(a);
    else if (a->in->fmt == RP_FMT_DS)
        watch_lds(a);
    else if (a->in->fmt == RP_FMT_FLAT)
        watch_flat(a);
    else
        watch_buffer(a);
    if (a->in->flags & RP_IF_LDS)
        watch_load_to_lds(a, exec);
}

/* ---- gates ---- */

static struct rp_check_group *group_of(const struct rp_wave *w)
{
    return w->group->check;
}

static void report_wait(const struct rp_wave *w, const struct rp_insn *in,
                        const struct rp_pending *p, bool written)
{
    const struct rp_check_group *g = group_of(w);
    const struct rp_finding_side here = {.group = g->order.index,
                                         .wave = w->id_in_group,
                                         .lane = rp_first_lane(RP_EXEC(w) ? RP_EXEC(w) : 1),
                                         .kind = written ? RP_PAST_WRITE : 0};
    struct rp_finding f = {.kind = RP_FINDING_WAIT,
                           .first = here,
                           .second = here,
                           .address = p->index + (p->kind == RP_OPND_VGPR   ? 256u
                                                  : p->kind == RP_OPND_AGPR ? 512u
                                                                            : 0),
                           .bytes = 4u * p->dwords,
                           .why = p->fmt == RP_FMT_SMEM || p->fmt == RP_FMT_DS
                                      ? "no s_waitcnt lgkmcnt waits for the load"
                                      : "no s_waitcnt vmcnt waits for the load"};
    f.dispatch = rp_check_dispatch_of(g, &f.dispatch_number);
    f.first.site = p->site;
    f.first.kind = 0;
    f.second.site = rp_check_site(w->pc - in->size_bytes, in, w);
    rp_finding_add(&f);
}

/* Called before the instruction is issued. */
static void check_waits(struct rp_wave *w, const struct rp_insn *in)
{
    const struct rp_order_wave *order = &group_of(w)->order.wave[w->id_in_group];
    const struct rp_pending *p;
    bool written;
    if ((!order->memory_count && !order->lds_count) || w->gpr_idx)
        return;
    p = rp_pending_used(order, in, &written);
    if (!p)
        return;
    pthread_mutex_lock(&checks.lock);
    report_wait(w, in, p, written);
    pthread_mutex_unlock(&checks.lock);
}

static int use_gate(struct rp_wave *w, const struct rp_insn *in)
{
    if (group_of(w))
        check_waits(w, in);
    return in->watched(w, in);
}

static void note_access(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_check_group *g = group_of(w);
    struct rp_watch a;
    a.group = g;
    a.order = &g->order.wave[w->id_in_group];
    a.wave = w;
    a.in = in;
    a.lds = false;
    a.pc = w->pc - in->size_bytes;
    a.kind = kind_of(in);
    a.bytes = rp_op_rows[in->op].bytes;
    a.first_dword = 0;
    a.lanes = RP_EXEC(w);
    a.value_shift = 0;
    pthread_mutex_lock(&checks.lock);
    rp_order_catch_up(&g->order, a.order);
    a.number = rp_order_issue(&g->order, a.order, in);
    a.site = rp_check_site(a.pc, in, w);
    if (rp_check_what() & RP_CHECK_WAITS)
        rp_pending_issued(a.order, in, a.number, a.site);
    if (!a.site)
        rp_check_not_compared();
    else if (a.lanes)
        watch_access(&a);
    pthread_mutex_unlock(&checks.lock);
}

/* An atomic has given 64 bits, which may be a pointer. */
static void note_pointer(struct rp_order_wave *order, struct rp_wave *w, const struct rp_insn *in)
{
    if (in->dst.kind != RP_OPND_VGPR || !RP_EXEC(w))
        return;
    const unsigned lane = rp_first_lane(RP_EXEC(w));
    const rp_row *rows = (const rp_row *)rp_rows(w, &in->dst);
    const uint64_t pointer = rows[0][lane] | (uint64_t)rows[1][lane] << 32;
    if (pointer > RP_CHECK_POINTER_REACH)
        order->pointer[order->pointers++ % RP_CHECK_POINTERS] = pointer;
}

static int access_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_check_group *g = group_of(w);
    if (!g)
        return in->watched(w, in);
    if (rp_check_what() & RP_CHECK_WAITS)
        check_waits(w, in);
    note_access(w, in);
    const int step = in->watched(w, in);
    if (in->dst.dwords == 2 && in->fmt == RP_FMT_FLAT && kind_of(in) & RP_PAST_ATOMIC)
        note_pointer(&g->order.wave[w->id_in_group], w, in);
    return step;
}

static int wait_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_check_group *g = group_of(w);
    if (g) {
        const uint32_t counts = (uint32_t)in->offset;
        struct rp_order_wave *order = &g->order.wave[w->id_in_group];
        rp_order_catch_up(&g->order, order);
        rp_order_wait(&g->order, order, (counts & 15) | (counts >> 14 & 3) << 4, counts >> 8 & 15);
    }
    return in->watched(w, in);
}

static int cache_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_check_group *g = group_of(w);
    if (g) {
        struct rp_order_wave *order = &g->order.wave[w->id_in_group];
        pthread_mutex_lock(&checks.lock);
        rp_order_catch_up(&g->order, order);
        if (in->op == RP_OP_buffer_wbl2) {
            const uint32_t number = rp_order_issue(&g->order, order, in);
            rp_pending_issued(order, in, number, 0);
            if (in->flags & RP_IF_SC1 || rp_isa_target_get() == RP_ISA_GFX90A)
                rp_order_write_back(&g->order, order);
        } else if (in->flags & RP_IF_SC1 || rp_isa_target_get() == RP_ISA_GFX90A) {
            rp_order_invalidate(order);
        }
        pthread_mutex_unlock(&checks.lock);
    }
    return in->watched(w, in);
}

static int grid_barrier_gate(struct rp_wave *w, const struct rp_insn *in)
{
    struct rp_check_group *g = group_of(w);
    if (!g)
        return in->watched(w, in);
    struct rp_order_wave *order = &g->order.wave[w->id_in_group];
    unsigned resource;
    const bool arrives = !w->at_gws_barrier;
    const uint32_t phase = rp_gws_phase(w, in, &resource);
    pthread_mutex_lock(&checks.lock);
    rp_order_catch_up(&g->order, order);
    struct rp_sync *sync = rp_check_grid_barrier(g->dispatch, resource, phase);
    if (arrives && sync)
        rp_order_publish(&g->order, order, sync);
    pthread_mutex_unlock(&checks.lock);
    const int step = in->watched(w, in);
    pthread_mutex_lock(&checks.lock);
    if (sync && step != RP_STEP_YIELD)
        rp_order_acquire(&g->order, order, sync);
    pthread_mutex_unlock(&checks.lock);
    return step;
}

static bool is_cache_control(const struct rp_insn *in)
{
    const char *name = rp_isa_mnemonic(in->op);
    return in->op == RP_OP_buffer_wbl2 || in->op == RP_OP_buffer_inv ||
           !strncmp(name, "buffer_wbinv", 12);
}

static rp_insn_fn *front_of(const struct rp_insn *in)
{
    if (in->op == RP_OP_s_waitcnt)
        return wait_gate;
    if (in->op == RP_OP_ds_gws_barrier)
        return grid_barrier_gate;
    if (is_cache_control(in))
        return cache_gate;
    const bool memory = in->fmt == RP_FMT_DS || in->fmt == RP_FMT_FLAT || in->fmt == RP_FMT_MUBUF ||
                        in->fmt == RP_FMT_MTBUF || in->fmt == RP_FMT_SMEM;
    if (memory && rp_op_rows[in->op].access != RP_ACCESS_NONE)
        return access_gate;
    return rp_check_what() & RP_CHECK_WAITS ? use_gate : NULL;
}

/* ---- what the executor tells ---- */

static void on_dispatch(struct rp_dispatch *d)
{
    pthread_mutex_lock(&checks.lock);
    d->checked = rp_check_dispatch_new(d);
    if (!d->checked)
        rp_check_not_compared();
    pthread_mutex_unlock(&checks.lock);
}

void rp_check_dispatch_over(struct rp_dispatch *d, uint64_t queue, uint64_t start, uint64_t end)
{
    if (!d->checked || !(rp_check_what() & RP_CHECK_RACES))
        return;
    pthread_mutex_lock(&checks.lock);
    rp_footprint_add(d->checked, &d->kernel, queue, start, end);
    pthread_mutex_unlock(&checks.lock);
}

static void on_dispatch_end(struct rp_dispatch *d)
{
    pthread_mutex_lock(&checks.lock);
    rp_check_dispatch_free(d->checked);
    rp_findings_flush();
    pthread_mutex_unlock(&checks.lock);
    d->checked = NULL;
}

static void on_group(struct rp_dispatch *d, struct rp_group *g)
{
    g->check = NULL;
    if (!d->checked)
        return; /* The whole dispatch is counted. */
    pthread_mutex_lock(&checks.lock);
    if (g->wave_count <= RP_CHECK_WAVES)
        g->check = rp_check_group_new(d->checked, g);
    if (!g->check)
        rp_check_not_compared();
    pthread_mutex_unlock(&checks.lock);
}

static void on_group_end(struct rp_group *g)
{
    pthread_mutex_lock(&checks.lock);
    rp_check_group_free(g->check);
    pthread_mutex_unlock(&checks.lock);
    g->check = NULL;
}

static void on_barrier(struct rp_wave *w, bool ended)
{
    struct rp_check_group *g = group_of(w);
    pthread_mutex_lock(&checks.lock);
    rp_order_barrier_reached(&g->order, &g->order.wave[w->id_in_group], ended);
    pthread_mutex_unlock(&checks.lock);
}

static const struct rp_checker checker = {.on_dispatch = on_dispatch,
                                          .on_dispatch_end = on_dispatch_end,
                                          .on_group = on_group,
                                          .on_group_end = on_group_end,
                                          .on_barrier = on_barrier,
                                          .gate = front_of};

/* What was set before the checks began. */
static struct {
    unsigned threads;
    uint32_t poison;
} before;

/* Code has gates in front of its instructions, or none, as long as it is decoded. */
static void watch(const struct rp_checker *by)
{
    rp_exec_set_checker(by);
    rp_exec_invalidate_code(0, UINT64_MAX);
}

void rp_check_begin(unsigned what, const char *folder)
{
    enum { SEED = 7 };
    before.threads = rp_exec_threads();
    before.poison = rp_exec_settings().poison;
    if (what & RP_CHECK_UNINIT && !before.poison)
        rp_exec_poison_set(SEED);
    rp_findings_begin(what, folder);
    rp_updates_begin(!folder);
    rp_exec_set_threads(1);
    watch(&checker);
}

void rp_check_end(void)
{
    watch(NULL);
    rp_exec_set_threads(before.threads);
    rp_exec_poison_set(before.poison);
    rp_findings_begin(0, NULL);
    rp_updates_begin(false);
}
