#include "collect/threads_states.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"

/* A wave's states while they are made: neighbours that are equal become one. */
struct state_run {
    struct rp_states *all;
    struct rp_buf *to;
    unsigned state;
    uint64_t begin, end;
    bool any, failed;
};

static bool remember(struct rp_states *s, unsigned state, uint64_t clock, int change)
{
    if (s->count[state] == s->room[state]) {
        size_t room = s->room[state] ? 2 * s->room[state] : 256;
        struct rp_state_change *grown = reallocarray(s->at[state], room, sizeof *grown);

        if (!grown)
            return false;
        s->at[state] = grown;
        s->room[state] = room;
    }
    s->at[state][s->count[state]++] = (struct rp_state_change){.clock = clock, .change = change};
    return true;
}

static void finish(struct state_run *l)
{
    if (l->end == l->begin)
        return;
    rp_buf_printf(l->to, "%s[%u,%" PRIu64 "]", l->any ? "," : "", l->state, l->end - l->begin);
    l->any = true;
    l->failed |=
        !remember(l->all, l->state, l->begin, 1) || !remember(l->all, l->state, l->end, -1);
    l->begin = l->end;
}

static void go_on(struct state_run *l, unsigned state, uint64_t until)
{
    if (until == l->end)
        return;
    if (state != l->state)
        finish(l);
    l->state = state;
    l->end = until;
}

int rp_states_add(struct rp_states *states, const struct rp_threads_wave *wave,
                  const struct rp_threads_row *rows, struct rp_buf *to)
{
    struct state_run l = {.all = states, .to = to, .begin = wave->begin, .end = wave->begin};

    rp_buf_puts(to, "[");
    for (uint32_t i = 0; i < wave->row_count; i++) {
        bool waits = rows[i].category == RP_THREADS_IMMEDIATE;

        go_on(&l, RP_STATE_IDLE, rows[i].clock);
        go_on(&l, waits ? RP_STATE_WAIT : RP_STATE_STALL, rows[i].clock + rows[i].stall_clocks);
        go_on(&l, RP_STATE_EXEC, rows[i].clock + rows[i].latency_clocks);
    }
    go_on(&l, RP_STATE_IDLE, wave->end);
    finish(&l);
    rp_buf_puts(to, "]");
    return l.failed ? -1 : 0;
}

static int by_clock(const void *a, const void *b)
{
    const struct rp_state_change *x = a, *y = b;

    return x->clock < y->clock ? -1 : x->clock > y->clock;
}

bool rp_states_put(struct rp_states *states, unsigned state, const char *name, struct rp_buf *to)
{
    struct rp_state_change *at = states->at[state];
    const size_t count = states->count[state];
    int64_t waves = 0;

    if (!count)
        return false;
    qsort(at, count, sizeof *at, by_clock);
    rp_buf_printf(to, "{\"name\":\"%s\",\"state\":[", name);
    for (size_t i = 0; i < count; i++) {
        waves += at[i].change;
        if (i + 1 == count || at[i + 1].clock != at[i].clock)
            rp_buf_printf(to, "%" PRId64 "%s", waves, i + 1 == count ? "" : ",");
    }
    rp_buf_puts(to, "],\"time\":[");
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || at[i + 1].clock != at[i].clock)
            rp_buf_printf(to, "%" PRIu64 "%s", at[i].clock, i + 1 == count ? "" : ",");
    rp_buf_puts(to, "]}");
    return true;
}

void rp_states_free(struct rp_states *states)
{
    for (unsigned state = 0; state < RP_STATES; state++)
        free(states->at[state]);
    *states = (struct rp_states){0};
}
