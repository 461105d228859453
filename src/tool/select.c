#include "tool/select.h"

#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

/** What makes two dispatches the same for --representative. */
struct rp_seen_geometry {
    const char *symbol;
    uint64_t code;
    uint32_t grid[3];
    uint16_t workgroup[3];
    uint32_t group_bytes;
};

void rp_select_init(struct rp_select *select, const struct rp_snapshot_selection *wish,
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

struct gpu_search {
    const struct rp_tool *tool;
    rp_hsa_agent wanted;
    uint32_t wanted_number;
    uint32_t next, found;
    rp_hsa_agent found_agent; /* with .wanted_number */
};

static rp_hsa_status visit_agent(rp_hsa_agent agent, void *data)
{
    struct gpu_search *search = data;
    uint32_t type = 0;

    search->tool->hsa.hsa_agent_get_info(agent, RP_HSA_AGENT_DEVICE, &type);
    if (type == 1 && agent == search->wanted)
        search->found = search->next;
    if (type == 1 && search->next == search->wanted_number)
        search->found_agent = agent;
    search->next += type == 1;
    return RP_HSA_SUCCESS;
}

uint32_t rp_select_gpu(const struct rp_tool *tool, rp_hsa_agent agent)
{
    struct gpu_search search = {
        .tool = tool, .wanted = agent, .wanted_number = UINT32_MAX, .found = UINT32_MAX};

    tool->hsa.hsa_iterate_agents(visit_agent, &search);
    return search.found;
}

/* The runtime's list is asked for once: it does not change. */
static bool is_on_gpu(const struct rp_tool *tool, struct rp_select *select, rp_hsa_agent agent)
{
    struct gpu_search search = {
        .tool = tool, .wanted_number = select->wish.gpu, .found = UINT32_MAX};

    if (!__atomic_load_n(&select->gpu_known, __ATOMIC_ACQUIRE)) {
        tool->hsa.hsa_iterate_agents(visit_agent, &search);
        __atomic_store_n(&select->gpu_agent, search.found_agent, __ATOMIC_RELAXED);
        __atomic_store_n(&select->gpu_known, 1, __ATOMIC_RELEASE);
    }
    return agent && agent == __atomic_load_n(&select->gpu_agent, __ATOMIC_RELAXED);
}

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
        (!rp_hip_stream(tool, &stream) || stream != wish->stream))
        return false;
    return !(wish->filters & RP_SNAPSHOT_GPU) || is_on_gpu(tool, select, c->agent);
}

/* --- which of those ------------------------------------------------------------------------ */

static bool is_new(struct rp_select *select, const struct rp_candidate *c)
{
    struct rp_seen_geometry *to = &select->seen[select->taken];

    for (const struct rp_seen_geometry *g = select->seen; g < to; g++)
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

bool rp_select_take(struct rp_tool *tool, struct rp_select *select,
                    const struct rp_candidate *candidate, uint64_t *ret_match)
{
    bool wanted = false;

    *ret_match = 0;
    if (rp_select_is_over(select) || !has_all(tool, select, candidate))
        return false;
    pthread_mutex_lock(&select->lock);
    if (!rp_select_is_over(select)) {
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

/* FNV-1a, by words. Two kinds with one hash would mean that one of them is not named. */
static uint64_t hash_of(const struct rp_candidate *c)
{
    const struct rp_hsa_packet *packet = c->packet;
    const uint64_t words[] = {packet->grid[0] | (uint64_t)packet->grid[1] << 32,
                              packet->grid[2] | (uint64_t)packet->workgroup[0] << 32 |
                                  (uint64_t)packet->workgroup[1] << 48,
                              packet->workgroup[2] | (uint64_t)c->queue_index << 32, c->agent,
                              rp_hip_stream_handle()};
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

bool rp_select_is_passed(const struct rp_select *select, const struct rp_candidate *candidate)
{
    size_t slot;

    return rp_select_is_over(select) ||
           __atomic_load_n(&select->passed_count, __ATOMIC_ACQUIRE) == RP_SNAPSHOT_MAX_FILTERED ||
           find_hash(select, hash_of(candidate), &slot);
}

bool rp_select_pass(struct rp_tool *tool, struct rp_select *select,
                    const struct rp_candidate *candidate, struct rp_snapshot_filtered *ret)
{
    const struct rp_hsa_packet *packet = candidate->packet;
    struct rp_snapshot_filtered passed = {.queue = candidate->queue_index};
    const uint64_t hash = hash_of(candidate);
    size_t i = 0, slot;

    if (rp_select_is_passed(select, candidate))
        return false;
    for (size_t k = 0; k < 3; k++) {
        passed.grid[k] = packet->grid[k];
        passed.workgroup[k] = packet->workgroup[k];
    }
    passed.gpu = rp_select_gpu(tool, candidate->agent);
    if (!rp_hip_stream(tool, &passed.stream))
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

bool rp_select_done(struct rp_select *select)
{
    bool last;

    pthread_mutex_lock(&select->lock);
    last = --select->outstanding == 0 && rp_select_is_over(select);
    pthread_mutex_unlock(&select->lock);
    return last;
}

void rp_select_give_up(struct rp_select *select)
{
    pthread_mutex_lock(&select->lock);
    __atomic_store_n(&select->over, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&select->lock);
}
