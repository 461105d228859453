#include "device/exec/exec_settings.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "device/exec/executor.h"
#include "device/isa/wave_state.h"

/* The window is not larger than the number of slots that a dispatch begins with (dispatch.c). */
enum { WINDOW_GROUPS = 64, MOST_SEED = 1000000 };

/* The settings of this file belong to the process: a replay changes them from one launch to the
 * next through the table of the device (records.h), which has no handle of a device. The last
 * three are the answer about the launch before. */
static struct {
    _Atomic uint32_t order, poison;
    _Atomic uint64_t bound, last_work;
    _Atomic bool fault_ends, last_exceeded, last_faulted;
} now;

struct rp_exec_settings rp_exec_settings(void)
{
    return (struct rp_exec_settings){.order = atomic_load(&now.order),
                                     .poison = atomic_load(&now.poison),
                                     .bound = atomic_load(&now.bound),
                                     .fault_ends = atomic_load(&now.fault_ends)};
}

void rp_wave_order_set(uint32_t order)
{
    atomic_store(&now.order, order);
}

bool rp_wave_order_parse(const char *text, uint32_t *ret)
{
    static const char shuffled[] = "shuffled:", interleaved[] = "interleaved:";
    const bool mixes = strncmp(text, interleaved, sizeof interleaved - 1) == 0;
    if (strcmp(text, "forward") == 0 || strcmp(text, "reversed") == 0) {
        *ret = *text == 'f' ? RP_WAVE_ORDER_FORWARD : RP_WAVE_ORDER_REVERSED;
        return true;
    }
    if (!mixes && strncmp(text, shuffled, sizeof shuffled - 1) != 0)
        return false;
    text += mixes ? sizeof interleaved - 1 : sizeof shuffled - 1;
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    if (errno || *text < '0' || *text > '9' || *end || seed < 1 || seed > MOST_SEED)
        return false;
    *ret = (uint32_t)seed | (mixes ? RP_WAVE_ORDER_INTERLEAVED : 0);
    return true;
}

static uint32_t mixed(uint32_t x)
{
    x = (x ^ x >> 15) * 0x2c1b3c6du;
    x = (x ^ x >> 12) * 0x297a2d39u;
    return x ^ x >> 15;
}

uint64_t rp_wave_order_group(uint32_t order, uint64_t n, uint64_t count, uint64_t resident)
{
    const uint64_t window = resident < WINDOW_GROUPS ? resident : WINDOW_GROUPS;
    if (order == RP_WAVE_ORDER_FORWARD || window < 2)
        return n;
    const uint64_t first = n / window * window;
    const uint64_t size = count - first < window ? count - first : window;
    const uint64_t at = rp_wave_order_is_shuffled(order)
                            ? (n - first + mixed(order + (uint32_t)first)) % size
                            : n - first;
    return first + size - 1 - at;
}

static uint32_t next_random(struct rp_group *g)
{
    g->shuffle += 0x9e3779b9u;
    return mixed(g->shuffle);
}

void rp_wave_order_begin(uint32_t order, struct rp_group *g)
{
    g->shuffle = mixed(order + (uint32_t)g->linear_id * 0x85ebca6bu);
    g->cursor = order == RP_WAVE_ORDER_FORWARD    ? 0
                : order == RP_WAVE_ORDER_REVERSED ? g->wave_count - 1
                                                  : next_random(g) % g->wave_count;
}

/* While they wait for one another each has its turn. */
uint32_t rp_wave_order_next(uint32_t order, struct rp_group *g)
{
    if (rp_wave_order_is_shuffled(order) && !g->idle_turns)
        return next_random(g) % g->wave_count;
    return (g->cursor ? g->cursor : g->wave_count) - 1;
}

/* The turn is often so short that another wave comes between a load and a store. */
uint32_t rp_wave_order_turn(uint32_t order, struct rp_group *g, uint32_t most)
{
    enum { MOST_DOUBLINGS = 9 };
    if (!rp_wave_order_is_shuffled(order))
        return most;
    const uint32_t turn = 1u << next_random(g) % (MOST_DOUBLINGS + 1);
    return turn < most ? turn : most;
}

/* Slices are so short that another workgroup comes between a load and a store. */
uint32_t rp_wave_order_slice(uint32_t order, uint64_t slice)
{
    enum { MOST_DOUBLINGS = 5 };
    return 1u << mixed(order + (uint32_t)slice * 0x9e3779b9u) % (MOST_DOUBLINGS + 1);
}

uint32_t rp_wave_order_stall(uint32_t order, uint64_t slice)
{
    enum { SLICES = 64 };
    return mixed(order + (uint32_t)slice * 0x85ebca6bu) % 2 ? SLICES : 0;
}

void rp_exec_poison_set(uint32_t seed)
{
    atomic_store(&now.poison, seed);
}

bool rp_exec_poison_parse(const char *text, uint32_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || *text < '0' || *text > '9' || *end || value < 1 || value > INT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

/* The words are of all kinds, because one constant might not change a sum or a maximum. They are
 * never zero.
 */
static void fill(uint32_t seed, uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        words[i] = rp_exec_poison_word(seed, i);
}

void rp_exec_poison_group(uint32_t seed, struct rp_resident_group *slot)
{
    struct rp_group *g = &slot->group;
    fill(seed, (uint32_t *)(void *)g->lds, g->lds_bytes / sizeof(uint32_t));
    for (uint32_t i = 0; i < g->wave_count; i++) {
        struct rp_wave *w = &g->waves[i];
        if (!w->scratch)
            continue;
        fill(seed + 1, (uint32_t *)(void *)w->scratch, w->scratch_lane_bytes / 4 * RP_LANES);
        w->scratch_dirty_bytes = w->scratch_lane_bytes;
    }
}

void rp_exec_poison_wave(uint32_t seed, uint32_t vgpr_rows, unsigned first_sgpr, struct rp_wave *w)
{
    if (vgpr_rows > 1)
        fill(seed + 2, w->vgpr[1], (size_t)(vgpr_rows - 1) * RP_LANES);
    if (first_sgpr < RP_SGPR_FLAT_SCRATCH_LO)
        fill(seed + 3, w->sgpr + first_sgpr, RP_SGPR_FLAT_SCRATCH_LO - first_sgpr);
    fill(seed + 4, w->sgpr + RP_SGPR_VCC_LO, 2);
}

void rp_bound_set(uint64_t work)
{
    atomic_store(&now.bound, work);
}

void rp_fault_ends_set(bool ends)
{
    atomic_store(&now.fault_ends, ends);
}

void rp_bound_note(uint64_t work, bool exceeded, bool faulted)
{
    atomic_store(&now.last_work, work);
    atomic_store(&now.last_exceeded, exceeded);
    atomic_store(&now.last_faulted, faulted);
}

bool rp_fault_ended_last(void)
{
    return atomic_load(&now.last_faulted);
}

bool rp_bound_last(uint64_t *ret_work)
{
    *ret_work = atomic_load(&now.last_work);
    return atomic_load(&now.last_exceeded);
}
