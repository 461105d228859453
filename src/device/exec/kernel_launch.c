/* Reads the descriptor of a kernel, and makes the workgroups that it launches with their memory.
 *
 * Workgroup memory has wave states, register rows, LDS and scratch. Rows and scratch come from
 * mmap, so memory that is not touched costs nothing. A slot serves one workgroup after another and
 * then other dispatches, because mapping memory afresh would cost more than a short dispatch
 * takes.
 */
#include "device/exec/kernel_launch.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "device/exec/exec_settings.h"
#include "device/exec/executor.h"
#include "device/isa/lane.h"
#include "device/isa/wave_state.h"

enum { RP_KERNEL_DESCRIPTOR_BYTES = 64 };

/** These are bits of kernel_code_properties. */
enum {
    RP_KCP_PRIVATE_SEGMENT_BUFFER = 1u << 0,
    RP_KCP_DISPATCH_PTR = 1u << 1,
    RP_KCP_QUEUE_PTR = 1u << 2,
    RP_KCP_KERNARG_SEGMENT_PTR = 1u << 3,
    RP_KCP_DISPATCH_ID = 1u << 4,
    RP_KCP_FLAT_SCRATCH_INIT = 1u << 5,
    RP_KCP_PRIVATE_SEGMENT_SIZE = 1u << 6,
    RP_KCP_WAVEFRONT_SIZE32 = 1u << 10,
};

/* The descriptor lies in memory like this (little endian, as the host). */
struct descriptor {
    uint32_t group_segment_bytes;
    uint32_t private_segment_bytes;
    uint32_t kernarg_bytes;
    uint32_t reserved0;
    int64_t entry_offset;
    uint8_t reserved1[20];
    uint32_t rsrc3;
    uint32_t rsrc1;
    uint32_t rsrc2;
    uint16_t properties;
    uint16_t kernarg_preload;
    uint32_t reserved2;
};
_Static_assert(sizeof(struct descriptor) == RP_KERNEL_DESCRIPTOR_BYTES, "kernel descriptor");

/* A kernel compiled with kernarg preloading begins with 256 bytes for firmware without it. */
enum { PRELOAD_PROLOGUE_BYTES = 256, MAX_USER_SGPRS = 16 };

static uint32_t field_bits(uint32_t word, unsigned low, unsigned count)
{
    return word >> low & ((1u << count) - 1);
}

static uint32_t round_up(uint32_t value, uint32_t granule)
{
    return granule ? (value + granule - 1) / granule * granule : value;
}

__attribute__((format(printf, 2, 3))) static int refuse(struct rp_fault *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, ap);
    va_end(ap);
    f->kind = RP_FAULT_BAD_DISPATCH;
    f->lane = -1;
    return -1;
}

static void resolve_mode(const struct descriptor *kd, struct rp_kernel *k)
{
    uint32_t float_mode = field_bits(kd->rsrc1, 12, 8), dx10_clamp = field_bits(kd->rsrc1, 21, 1),
             ieee = field_bits(kd->rsrc1, 23, 1), fp16_overflow = field_bits(kd->rsrc1, 26, 1);

    k->mode = float_mode | dx10_clamp << 8 | ieee << 9 | fp16_overflow << 23;
}

static int resolve_grid(const struct rp_arch *arch, const struct rp_launch *l, struct rp_kernel *k,
                        struct rp_fault *f)
{
    if (l->setup_dimensions < 1 || l->setup_dimensions > 3)
        return refuse(f, "dispatch has %u dimensions", l->setup_dimensions);
    uint64_t items = 1;
    k->group_count = 1;
    for (unsigned d = 0; d < 3; d++) {
        bool used = d < l->setup_dimensions;
        k->workgroup_size[d] = used ? l->workgroup_size[d] : 1;
        k->grid_size[d] = used ? l->grid_size[d] : 1;
        if (!k->workgroup_size[d] || !k->grid_size[d])
            return refuse(f, "dimension %u of the dispatch is empty: workgroup %u, grid %u", d,
                          k->workgroup_size[d], k->grid_size[d]);
        items *= k->workgroup_size[d];
        k->groups[d] = (uint32_t)(((uint64_t)k->grid_size[d] + k->workgroup_size[d] - 1) /
                                  k->workgroup_size[d]);
        if (__builtin_mul_overflow(k->group_count, k->groups[d], &k->group_count))
            return refuse(f, "dispatch has more than 2^64 workgroups");
    }
    if (items > arch->max_workgroup_size)
        return refuse(f, "workgroup of %ux%ux%u work-items exceeds the limit of %u",
                      k->workgroup_size[0], k->workgroup_size[1], k->workgroup_size[2],
                      arch->max_workgroup_size);
    k->group_items = (uint32_t)items;
    k->waves_per_group = (k->group_items + RP_LANES - 1) / RP_LANES;
    return 0;
}

static int resolve_registers(const struct rp_arch *arch, const struct descriptor *kd,
                             struct rp_kernel *k, struct rp_fault *f)
{
    if (kd->properties & RP_KCP_WAVEFRONT_SIZE32)
        return refuse(f, "kernel descriptor asks for wavefronts of 32 lanes");
    if (kd->properties & RP_KCP_PRIVATE_SEGMENT_BUFFER && arch->architected_flat_scratch)
        return refuse(f, "kernel descriptor asks for a private segment buffer, which this "
                         "architecture (flat scratch) does not set up");
    /* gfx90a and later count both kinds of registers together in granules of 8; ACC begins at 4 *
     * (n + 1).
     */
    k->vgpr_rows = (field_bits(kd->rsrc1, 0, 6) + 1) * 8;
    k->accum_offset = (field_bits(kd->rsrc3, 0, 6) + 1) * 4;
    k->kernarg_bytes = kd->kernarg_bytes;
    if (k->vgpr_rows > arch->vgprs_per_simd)
        return refuse(f, "kernel needs %u vector registers, the limit is %u", k->vgpr_rows,
                      arch->vgprs_per_simd);
    for (unsigned d = 0; d < 3; d++)
        k->workgroup_id[d] = field_bits(kd->rsrc2, 7 + d, 1);
    k->workgroup_info = field_bits(kd->rsrc2, 10, 1);
    k->scratch_wave_offset = field_bits(kd->rsrc2, 0, 1) && !arch->architected_flat_scratch;
    return 0;
}

static int resolve_memory(const struct rp_arch *arch, const struct descriptor *kd,
                          const struct rp_launch *l, struct rp_kernel *k, struct rp_fault *f)
{
    uint32_t lds = l->group_segment_bytes > kd->group_segment_bytes ? l->group_segment_bytes
                                                                    : kd->group_segment_bytes;
    if (lds > arch->lds_bytes_per_workgroup)
        return refuse(f, "workgroup needs %u bytes of LDS, the limit is %u", lds,
                      arch->lds_bytes_per_workgroup);
    k->lds_bytes = round_up(lds, arch->lds_granule_bytes);
    uint32_t lane = l->private_segment_bytes > kd->private_segment_bytes
                        ? l->private_segment_bytes
                        : kd->private_segment_bytes;
    /* COMPUTE_TMPRING_SIZE.WAVESIZE on gfx9 has 13 bits of 1 KiB per wave. */
    if (lane > 131056)
        return refuse(f, "kernel needs %u bytes of scratch per work-item, the limit is 131056",
                      lane);
    k->scratch_lane_bytes = round_up(lane, 4);
    return 0;
}

static void push64(struct rp_kernel *k, uint64_t value)
{
    k->sgpr[k->user_sgpr_count++] = (uint32_t)value;
    k->sgpr[k->user_sgpr_count++] = (uint32_t)(value >> 32);
}

/* A wave reaches its private memory through this resource. It is swizzled, so that the lanes'
 * dwords are neighbours (stride 0, index stride 64), and the lane number is added. The fields are
 * those of the CDNA2 ISA guide, "Buffer Resource Descriptor"; the settings are those of ROCr's
 * queues.
 */
static void push_scratch_resource(struct rp_kernel *k)
{
    enum { SWIZZLE_ENABLE = 1u << 31, INDEX_STRIDE_64 = 3 << 21, ADD_TID_ENABLE = 1 << 23 };
    push64(k, RP_SCRATCH_BASE_VA | (uint64_t)SWIZZLE_ENABLE << 32);
    push64(k, (uint64_t)k->scratch_lane_bytes * RP_LANES |
                  (uint64_t)(INDEX_STRIDE_64 | ADD_TID_ENABLE) << 32);
}

/* Order and widths are those of the table "SGPR Register Set Up Order" of LLVM's AMDGPU guide. */
static int resolve_user_sgprs(struct rp_mem *mem, const struct rp_arch *arch,
                              const struct descriptor *kd, const struct rp_launch *l,
                              struct rp_kernel *k, struct rp_fault *f)
{
    k->user_sgpr_count = 0;
    if (kd->properties & RP_KCP_PRIVATE_SEGMENT_BUFFER)
        push_scratch_resource(k);
    if (kd->properties & RP_KCP_DISPATCH_PTR)
        push64(k, l->packet_va);
    if (kd->properties & RP_KCP_QUEUE_PTR)
        push64(k, l->queue_va);
    if (kd->properties & RP_KCP_KERNARG_SEGMENT_PTR)
        push64(k, l->kernarg_va);
    if (kd->properties & RP_KCP_DISPATCH_ID)
        push64(k, l->dispatch_id);
    if (kd->properties & RP_KCP_FLAT_SCRATCH_INIT)
        push64(k, arch->architected_flat_scratch ? 0 /* Programs do not see it. */
                                                 : RP_SCRATCH_BASE_VA);
    if (kd->properties & RP_KCP_PRIVATE_SEGMENT_SIZE)
        k->sgpr[k->user_sgpr_count++] = k->scratch_lane_bytes;

    uint32_t preload = kd->kernarg_preload & 0x7f, offset = kd->kernarg_preload >> 7;
    uint32_t declared = field_bits(kd->rsrc2, 1, 5);
    if (k->user_sgpr_count + preload > MAX_USER_SGPRS || declared > MAX_USER_SGPRS)
        return refuse(f, "kernel descriptor asks for %u user SGPRs, the limit is %d",
                      k->user_sgpr_count + preload, MAX_USER_SGPRS);
    if (preload) {
        const void *args = rp_mem_owned_at(mem, l->kernarg_va + offset * 4ull, preload * 4ull);
        if (!args)
            return refuse(f, "kernel arguments at 0x%llx are not mapped",
                          (unsigned long long)l->kernarg_va);
        memcpy(k->sgpr + k->user_sgpr_count, args, preload * 4ull);
        k->user_sgpr_count += preload;
        k->entry_va += PRELOAD_PROLOGUE_BYTES;
    }
    if (declared > k->user_sgpr_count) /* Trailing ones are undefined, so they are zero. */
        k->user_sgpr_count = declared;
    return 0;
}

/* A workgroup is limited by what allows the fewest, or by several such at the same time. */
static void limit(struct rp_kernel *k, uint32_t *groups, uint32_t allowed, enum rp_rec_limit by)
{
    if (allowed < *groups)
        k->limits = 0;
    if (allowed <= *groups) {
        *groups = allowed;
        k->limits |= (uint8_t)by;
    }
}

/* How many workgroups all compute units hold together, by waves, registers and LDS. */
static int resolve_residency(const struct rp_arch *arch, const struct descriptor *kd,
                             struct rp_kernel *k, struct rp_fault *f)
{
    const uint32_t by_vgpr = arch->vgprs_per_simd / round_up(k->vgpr_rows, arch->vgpr_granule);
    const uint32_t sgprs =
        /* gfx9 has granules of 16, and the field counts 8s. */
        (field_bits(kd->rsrc1, 6, 4) / 2 + 1) * 16;
    const uint32_t waves = k->waves_per_group, simds = arch->simds_per_cu;
    uint32_t groups = UINT32_MAX;

    limit(k, &groups, arch->max_waves_per_simd * simds / waves, RP_REC_BY_SLOTS);
    limit(k, &groups, by_vgpr * simds / waves, RP_REC_BY_VGPRS);
    if (arch->sgprs_per_simd)
        limit(k, &groups, arch->sgprs_per_simd / sgprs * simds / waves, RP_REC_BY_SGPRS);
    if (!groups)
        return refuse(f,
                      "workgroup of %u waves with %u vector registers does not fit a compute "
                      "unit, which holds %u such waves",
                      waves, k->vgpr_rows,
                      (by_vgpr < arch->max_waves_per_simd ? by_vgpr : arch->max_waves_per_simd) *
                          simds);
    if (k->lds_bytes)
        limit(k, &groups, arch->lds_bytes_per_cu / k->lds_bytes, RP_REC_BY_LDS);
    if (waves > 1 && arch->max_workgroups_per_cu)
        limit(k, &groups, arch->max_workgroups_per_cu, RP_REC_BY_BARRIERS);
    k->groups_per_cu = groups;
    k->resident_groups = (uint64_t)groups * arch->compute_units;
    if (k->resident_groups > k->group_count)
        k->resident_groups = k->group_count;
    k->resident_waves = (uint32_t)k->resident_groups * waves;
    return 0;
}

int rp_kernel_resolve(struct rp_mem *mem, const struct rp_arch *arch,
                      const struct rp_launch *launch, struct rp_kernel *ret,
                      struct rp_fault *ret_fault)
{
    struct rp_kernel k = {0};
    struct descriptor kd;
    const void *at = rp_mem_owned_at(mem, launch->kernel_object_va, sizeof kd);
    if (!at || launch->kernel_object_va % 64)
        return refuse(ret_fault, "kernel object 0x%llx is not a mapped kernel descriptor",
                      (unsigned long long)launch->kernel_object_va);
    memcpy(&kd, at, sizeof kd);
    k.entry_va = launch->kernel_object_va + (uint64_t)kd.entry_offset;
    resolve_mode(&kd, &k);
    if (resolve_grid(arch, launch, &k, ret_fault) < 0 ||
        resolve_registers(arch, &kd, &k, ret_fault) < 0 ||
        resolve_memory(arch, &kd, launch, &k, ret_fault) < 0 ||
        resolve_user_sgprs(mem, arch, &kd, launch, &k, ret_fault) < 0 ||
        resolve_residency(arch, &kd, &k, ret_fault) < 0)
        return -1;
    if (k.entry_va % 4 || !rp_mem_owned_at(mem, k.entry_va, 4))
        return refuse(ret_fault, "kernel entry 0x%llx is not mapped",
                      (unsigned long long)k.entry_va);
    *ret = k;
    return 0;
}

/* Returns the extent of a workgroup, which is smaller at the edge of a grid that is not a multiple
 * of it. As in the hardware's dispatcher, work-items of such a group are numbered within the
 * smaller box, so it also has fewer waves.
 */
static void group_extent(const struct rp_kernel *k, const uint32_t id[3], uint32_t ret_extent[3])
{
    for (unsigned d = 0; d < 3; d++) {
        uint64_t left = k->grid_size[d] - (uint64_t)id[d] * k->workgroup_size[d];
        ret_extent[d] = left < k->workgroup_size[d] ? (uint32_t)left : k->workgroup_size[d];
    }
}

void rp_kernel_group_id(const struct rp_kernel *k, uint64_t linear_id, uint32_t ret_id[3])
{
    /* Division is slow, so a single row avoids it. */
    const bool is_row = k->groups[0] == k->group_count;
    ret_id[0] = (uint32_t)(is_row ? linear_id : linear_id % k->groups[0]);
    ret_id[1] = is_row ? 0 : (uint32_t)(linear_id / k->groups[0] % k->groups[1]);
    ret_id[2] = is_row ? 0 : (uint32_t)(linear_id / k->groups[0] / k->groups[1]);
}

/**
 * Waves of workgroup @p id, and its extent in work-items: less at the edge of a grid that is not a
 * multiple of the group.
 */
static uint32_t kernel_group_waves(const struct rp_kernel *k, const uint32_t id[3],
                                   uint32_t ret_extent[3])
{
    group_extent(k, id, ret_extent);
    return (ret_extent[0] * ret_extent[1] * ret_extent[2] + RP_LANES - 1) / RP_LANES;
}

/* Starts the rows: v0 has packed work-item ids (x, y << 10, z << 20), all else is zero. Returns the
 * lanes that have one. */
static uint64_t start_lanes(const struct rp_kernel *k, const uint32_t extent[3], struct rp_wave *w)
{
    const struct rp_mem_lanes *lanes = w->group->env->lanes;
    uint32_t *v0 = w->vgpr[0];
    uint32_t items = extent[0] * extent[1] * extent[2];
    uint32_t first = w->id_in_group * RP_LANES;
    uint32_t x = first, y = 0, z = 0;
    if (first >= extent[0]) {
        x = first % extent[0];
        y = first / extent[0] % extent[1];
        z = first / extent[0] / extent[1];
    }
    unsigned lane = 0;
    /* All of them are in one row, as in every one-dimensional group. */
    if (extent[0] - x >= RP_LANES) {
        lanes->start_rows(w->vgpr, k->vgpr_rows, x | y << 10 | z << 20);
        return ~0ull;
    }
    lanes->start_rows(w->vgpr, k->vgpr_rows, 0);
    for (; lane < RP_LANES && first + lane < items; lane++) {
        v0[lane] = x | y << 10 | z << 20;
        if (++x == extent[0]) {
            x = 0;
            if (++y == extent[1]) {
                y = 0;
                z++;
            }
        }
    }
    for (unsigned off = lane; off < RP_LANES; off++)
        v0[off] = 0;
    return lane == RP_LANES ? ~0ull : (1ull << lane) - 1;
}

/**
 * Puts wave @p w (already attached to its group, register rows in place) into its state at the
 * kernel's first instruction.
 * @param extent of its workgroup
 */
static void kernel_start_wave(const struct rp_kernel *k, const uint32_t extent[3],
                              struct rp_wave *w)
{
    w->group->env->lanes->copy_dwords(w->sgpr, k->sgpr, RP_SGPR_COUNT);
    w->pc = k->entry_va;
    w->scc = 0;
    w->gpr_idx = 0;
    rp_wave_set_mode(w, k->mode);
    /* There is one register file: a vector register's number may go beyond accum_offset, where it
     * is an accumulation register by another name. hipBLASLt's softmax for gfx90a uses v8 with an
     * offset of 8.
     */
    w->vgpr_count = k->vgpr_rows;
    w->agpr = w->vgpr + k->accum_offset;
    w->agpr_count = k->accum_offset < k->vgpr_rows ? k->vgpr_rows - k->accum_offset : 0;
    w->cycles = 0;
    w->clock_lead = 0;
    w->fast_clock = false;
    w->poll_va = 0;
    w->poll_count = 0;
    w->wait.armed = w->wait.idle = false; /* The other members count only while it is armed. */
    w->at_barrier = w->past_barrier = w->at_gws_barrier = false;
    w->ended = false;
    w->fault.kind = RP_FAULT_NONE;

    unsigned s = k->user_sgpr_count;
    for (unsigned d = 0; d < 3; d++)
        if (k->workgroup_id[d])
            w->sgpr[s++] = w->group->id[d];
    /* The SGPR has the first wave and the number of waves (LLVM guide, "Work-Group Info"). */
    if (k->workgroup_info)
        w->sgpr[s++] = (w->id_in_group == 0 ? 1u << 31 : 0) | w->group->wave_count;
    if (k->scratch_wave_offset)
        w->sgpr[s++] = 0; /* RP_SCRATCH_BASE_VA already means this wave's own memory. */
    rp_sgpr64_set(w, RP_SGPR_EXEC_LO, start_lanes(k, extent, w));
    if (w->group->dispatch->settings.poison)
        rp_exec_poison_wave(w->group->dispatch->settings.poison, k->vgpr_rows, s, w);
}

/* There are 512 registers, and what the widest operand can reach beyond the last one. There are 8
 * more, so that not the same registers of all waves want the same lines of the cache (4 KiB
 * apart).
 */
enum { ROWS_PER_WAVE = 512 + 32 + 8 };

/* What the process keeps for later dispatches, and how far a search for a fitting slot goes. */
enum { KEPT_SLOTS = 128, KEPT_BYTES = 64 << 20, SEARCHED_SLOTS = 16 };

/* Beyond this much a slot's scratch is returned to the system rather than cleared. */
enum { CLEARED_BYTES = 1 << 20 };

/* This is the only context of the file: slots that nobody uses. */
static struct {
    pthread_mutex_t lock;
    struct rp_resident_group *head;
    unsigned count;
    size_t touched_bytes;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Runs in a forked child, because another thread may have been changing the list. */
static void forget_parent(void)
{
    pthread_mutex_init(&kept.lock, NULL);
    kept.head = NULL;
    kept.count = 0;
    kept.touched_bytes = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_parent);
}

static void lock_kept(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&kept.lock);
}

static size_t rows_bytes(uint32_t waves)
{
    return (size_t)waves * ROWS_PER_WAVE * sizeof(uint32_t[RP_LANES]);
}

static size_t scratch_bytes(const struct rp_kernel *k)
{
    return (size_t)k->waves_per_group * k->scratch_lane_bytes * RP_LANES;
}

static void *map_zeroed(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void slot_free(struct rp_resident_group *slot)
{
    if (slot->rows)
        munmap(slot->rows, rows_bytes(slot->wave_capacity));
    if (slot->scratch)
        munmap(slot->scratch, slot->scratch_capacity_bytes);
    free(slot->group.lds);
    free(slot->group.waves);
    free(slot);
}

static struct rp_resident_group *slot_new(const struct rp_kernel *k)
{
    struct rp_resident_group *slot = calloc(1, sizeof *slot);
    if (!slot)
        return NULL;
    slot->wave_capacity = k->waves_per_group;
    slot->lds_capacity_bytes = k->lds_bytes ? (k->lds_bytes + 63) / 64 * 64 : 64;
    slot->scratch_capacity_bytes = scratch_bytes(k);
    slot->group.waves = calloc(slot->wave_capacity, sizeof *slot->group.waves);
    slot->group.lds = aligned_alloc(64, slot->lds_capacity_bytes);
    slot->rows = map_zeroed(rows_bytes(slot->wave_capacity));
    if (slot->scratch_capacity_bytes)
        slot->scratch = map_zeroed(slot->scratch_capacity_bytes);
    if (!slot->group.waves || !slot->group.lds || !slot->rows ||
        (slot->scratch_capacity_bytes && !slot->scratch)) {
        slot_free(slot);
        return NULL;
    }
    return slot;
}

/* Takes a slot that is large enough off the list, or returns NULL. */
static struct rp_resident_group *take_kept(const struct rp_kernel *k)
{
    struct rp_resident_group *slot = NULL;
    unsigned searched = 0;
    lock_kept();
    for (struct rp_resident_group **link = &kept.head; *link && searched < SEARCHED_SLOTS;
         link = &(*link)->next, searched++) {
        if ((*link)->wave_capacity >= k->waves_per_group &&
            (*link)->lds_capacity_bytes >= k->lds_bytes &&
            (*link)->scratch_capacity_bytes >= scratch_bytes(k)) {
            slot = *link;
            *link = slot->next;
            kept.count--;
            kept.touched_bytes -= slot->touched_bytes;
            break;
        }
    }
    pthread_mutex_unlock(&kept.lock);
    return slot;
}

struct rp_resident_group *rp_resident_group_take(struct rp_dispatch *d)
{
    const struct rp_kernel *k = &d->kernel;
    struct rp_resident_group *slot = take_kept(k);
    if (!slot)
        slot = slot_new(k);
    if (!slot)
        return NULL;
    slot->next = NULL;
    slot->group.dispatch = d;
    slot->group.lds_bytes = k->lds_bytes;
    for (uint32_t i = 0; i < k->waves_per_group; i++) {
        struct rp_wave *w = &slot->group.waves[i];
        w->group = &slot->group;
        w->id_in_group = i;
        w->vgpr = slot->rows + (size_t)i * ROWS_PER_WAVE;
        w->scratch =
            slot->scratch ? slot->scratch + (size_t)i * k->scratch_lane_bytes * RP_LANES : NULL;
        w->scratch_lane_bytes = k->scratch_lane_bytes;
    }
    size_t touched = (size_t)k->waves_per_group * k->vgpr_rows * sizeof(uint32_t[RP_LANES]);
    if (touched > slot->touched_bytes)
        slot->touched_bytes = touched;
    return slot;
}

/* Zeroes scratch as it was in the beginning, because the next dispatch's waves divide it
 * differently.
 */
static void clear_scratch(struct rp_resident_group *slot)
{
    size_t dirty_bytes = 0;
    for (uint32_t i = 0; i < slot->wave_capacity; i++)
        dirty_bytes += (size_t)slot->group.waves[i].scratch_dirty_bytes * RP_LANES;
    if (dirty_bytes > CLEARED_BYTES)
        madvise(slot->scratch, slot->scratch_capacity_bytes, MADV_DONTNEED);
    for (uint32_t i = 0; i < slot->wave_capacity; i++) {
        struct rp_wave *w = &slot->group.waves[i];
        if (dirty_bytes <= CLEARED_BYTES && w->scratch_dirty_bytes)
            memset(w->scratch, 0, (size_t)w->scratch_dirty_bytes * RP_LANES);
        w->scratch_dirty_bytes = 0;
    }
}

void rp_resident_group_give(struct rp_resident_group *slot)
{
    if (!slot)
        return;
    clear_scratch(slot);
    rp_group_clock_end(&slot->group);
    rp_group_check_end(&slot->group);
    slot->group.env = NULL;
    slot->group.dispatch = NULL;
    lock_kept();
    bool keep = kept.count < KEPT_SLOTS && kept.touched_bytes + slot->touched_bytes <= KEPT_BYTES;
    if (keep) {
        slot->next = kept.head;
        kept.head = slot;
        kept.count++;
        kept.touched_bytes += slot->touched_bytes;
    }
    pthread_mutex_unlock(&kept.lock);
    if (!keep)
        slot_free(slot);
}

void rp_resident_group_start(struct rp_dispatch *d, struct rp_resident_group *slot,
                             uint64_t linear_id, uint64_t past_cycles)
{
    const struct rp_kernel *k = &d->kernel;
    struct rp_group *g = &slot->group;
    g->linear_id = linear_id;
    uint32_t extent[3];
    rp_kernel_group_id(
        k, rp_wave_order_group(d->settings.order, linear_id, k->group_count, k->resident_groups),
        g->id);
    g->start_cycles = k->resident_waves ? past_cycles / k->resident_waves : 0;
    g->wave_count = kernel_group_waves(k, g->id, extent);
    g->waves_ended = g->waves_at_barrier = 0;
    g->insts = 0;
    g->wave_budget = g->idle_turns = 0;
    rp_wave_order_begin(d->settings.order, g);
    if (g->lds_bytes)
        memset(g->lds, 0, g->lds_bytes);
    for (uint32_t i = 0; i < g->wave_count; i++) {
        struct rp_wave *w = &g->waves[i];
        if (w->scratch_dirty_bytes)
            memset(w->scratch, 0, (size_t)w->scratch_dirty_bytes * RP_LANES);
        w->scratch_dirty_bytes = 0;
        w->record = NULL;
        kernel_start_wave(k, extent, w);
    }
    if (d->settings.poison)
        rp_exec_poison_group(d->settings.poison, slot);
    if (d->observed)
        d->host->observer->on_group(d, g, ((const struct rp_exec_worker *)g->env)->other_die);
    if (d->checked)
        rp_exec_checker()->on_group(d, g);
}
