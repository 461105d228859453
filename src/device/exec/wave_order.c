#include "wave_order.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "wave.h"

/* Not more than the lanes that a dispatch begins with (sched.c). */
enum { WINDOW_GROUPS = 64, MOST_SEED = 1000000 };

static _Atomic uint32_t now;

void rp_wave_order_set(uint32_t order)
{
    atomic_store(&now, order);
}

uint32_t rp_wave_order(void)
{
    return atomic_load(&now);
}

bool rp_wave_order_parse(const char *text, uint32_t *ret)
{
    static const char shuffled[] = "shuffled:";
    if (strcmp(text, "forward") == 0 || strcmp(text, "reversed") == 0) {
        *ret = *text == 'f' ? RP_WAVE_ORDER_FORWARD : RP_WAVE_ORDER_REVERSED;
        return true;
    }
    if (strncmp(text, shuffled, sizeof shuffled - 1) != 0)
        return false;
    text += sizeof shuffled - 1;
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    if (errno || *text < '0' || *text > '9' || *end || seed < 1 || seed > MOST_SEED)
        return false;
    *ret = (uint32_t)seed;
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

/* Often so few that another wave comes between a load and a store. */
uint32_t rp_wave_order_turn(uint32_t order, struct rp_group *g, uint32_t most)
{
    enum { MOST_DOUBLINGS = 9 };
    if (!rp_wave_order_is_shuffled(order))
        return most;
    const uint32_t turn = 1u << next_random(g) % (MOST_DOUBLINGS + 1);
    return turn < most ? turn : most;
}
