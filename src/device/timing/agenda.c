#include "agenda.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rp_agenda_init(struct rp_agenda *e, uint32_t count)
{
    memset(e, 0, sizeof *e);
    e->far_head = e->far_tail = RP_AGENDA_NONE;
    e->far_first = UINT64_MAX;
    e->next = calloc(count ? count : 1, sizeof *e->next);
    e->time = calloc(count ? count : 1, sizeof *e->time);
    if (e->next && e->time)
        return 0;
    rp_agenda_release(e);
    return -ENOMEM;
}

void rp_agenda_release(struct rp_agenda *e)
{
    free(e->next);
    free(e->time);
    e->next = NULL;
    e->time = NULL;
}

static void append(struct rp_agenda *e, uint32_t *head, uint32_t *tail, bool empty, uint32_t number)
{
    e->next[number] = RP_AGENDA_NONE;
    if (empty)
        *head = number;
    else
        e->next[*tail] = number;
    *tail = number;
}

void rp_agenda_put(struct rp_agenda *e, uint32_t number, uint64_t time)
{
    e->time[number] = time;
    if (time - e->base >= RP_AGENDA_LAP) {
        append(e, &e->far_head, &e->far_tail, e->far_head == RP_AGENDA_NONE, number);
        if (time < e->far_first)
            e->far_first = time;
        return;
    }
    const uint32_t b = (uint32_t)(time - e->base);
    const uint64_t bit = 1ull << b % 64;
    append(e, &e->head[b], &e->tail[b], !(e->set[b / 64] & bit), number);
    e->set[b / 64] |= bit;
    if (b < e->at)
        e->at = b;
}

/* The lap is over: the next one begins with the earliest of those beyond. */
static void next_lap(struct rp_agenda *e)
{
    uint32_t number = e->far_head;
    e->base = e->far_first;
    e->at = 0;
    e->far_head = e->far_tail = RP_AGENDA_NONE;
    e->far_first = UINT64_MAX;
    while (number != RP_AGENDA_NONE) {
        const uint32_t next = e->next[number];
        rp_agenda_put(e, number, e->time[number]);
        number = next;
    }
}

uint32_t rp_agenda_take(struct rp_agenda *e, uint64_t *ret_time)
{
    for (;;) {
        uint32_t word = e->at / 64;
        uint64_t left = word < RP_AGENDA_LAP / 64 ? e->set[word] & ~0ull << e->at % 64 : 0;
        while (!left && ++word < RP_AGENDA_LAP / 64)
            left = e->set[word];
        if (left) {
            e->at = 64 * word + (uint32_t)__builtin_ctzll(left);
            break;
        }
        if (e->far_head == RP_AGENDA_NONE)
            return RP_AGENDA_NONE;
        next_lap(e);
    }
    const uint32_t b = e->at, number = e->head[b];
    if (number == e->tail[b])
        e->set[b / 64] &= ~(1ull << b % 64);
    else
        e->head[b] = e->next[number];
    *ret_time = e->base + b;
    return number;
}
