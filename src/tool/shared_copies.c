#include "tool/shared_copies.h"

#include <stdlib.h>

#include "tool/tool.h"

void rp_shared_copies_init(struct rp_shared_copies *copies)
{
    *copies = (struct rp_shared_copies){0};
    pthread_mutex_init(&copies->lock, NULL);
}

static struct rp_shared_copies *enter(struct rp_tool *tool)
{
    pthread_mutex_lock(&tool->isolate.shared_copies.lock);
    return &tool->isolate.shared_copies;
}

static void leave(struct rp_shared_copies *copies)
{
    pthread_mutex_unlock(&copies->lock);
}

static bool is_empty(const struct rp_tool *tool)
{
    return __atomic_load_n(&tool->isolate.shared_copies.count, __ATOMIC_ACQUIRE) == 0;
}

static struct rp_shared_copy *find(struct rp_shared_copies *copies, rp_hsa_signal signal)
{
    for (size_t i = 0; i < copies->count; i++)
        if (copies->entries[i].signal == signal)
            return &copies->entries[i];
    return NULL;
}

static void drop(struct rp_shared_copies *copies, struct rp_shared_copy *entry)
{
    *entry = copies->entries[copies->count - 1];
    __atomic_store_n(&copies->count, copies->count - 1, __ATOMIC_RELEASE);
}

/* Not above zero: where the signal counts something else besides, that is waited for, too. */
static bool is_over(const struct rp_tool *tool, const struct rp_shared_copy *entry)
{
    return !entry->unknown &&
           tool->hsa.hsa_signal_load_scacquire(entry->signal) <= (entry->end < 0 ? entry->end : 0);
}

static void drop_those_over(const struct rp_tool *tool, struct rp_shared_copies *copies)
{
    for (size_t i = copies->count; i-- > 0;)
        if (is_over(tool, &copies->entries[i]))
            drop(copies, &copies->entries[i]);
}

static struct rp_shared_copy *another(const struct rp_tool *tool, struct rp_shared_copies *copies)
{
    if (copies->count == copies->capacity)
        drop_those_over(tool, copies);
    if (copies->count == copies->capacity) {
        const size_t capacity = copies->capacity ? copies->capacity * 2 : 16;
        struct rp_shared_copy *bigger = realloc(copies->entries, capacity * sizeof(*bigger));

        if (!bigger)
            return NULL;
        copies->entries = bigger;
        copies->capacity = capacity;
    }
    __atomic_store_n(&copies->count, copies->count + 1, __ATOMIC_RELEASE);
    return &copies->entries[copies->count - 1];
}

bool rp_shared_copies_add(struct rp_tool *tool, rp_hsa_signal signal, unsigned pending)
{
    struct rp_shared_copies *copies = enter(tool);
    struct rp_shared_copy *entry = find(copies, signal);

    const bool fresh = !entry || is_over(tool, entry); /* set anew past our hooks */

    if (!entry)
        entry = another(tool, copies);
    if (entry && fresh)
        *entry = (struct rp_shared_copy){.signal = signal,
                                         .end = tool->hsa.hsa_signal_load_scacquire(signal) -
                                                (int64_t)pending};
    if (entry)
        entry->end--;
    leave(copies);
    return entry != NULL;
}

void rp_shared_copies_withdraw(struct rp_tool *tool, rp_hsa_signal signal)
{
    struct rp_shared_copies *copies = enter(tool);
    struct rp_shared_copy *entry = find(copies, signal);

    if (entry)
        entry->end++;
    leave(copies);
}

void rp_shared_copies_before_change(struct rp_tool *tool, rp_hsa_signal signal, bool anew)
{
    struct rp_shared_copies *copies;
    struct rp_shared_copy *entry;

    if (is_empty(tool))
        return;
    copies = enter(tool);
    entry = find(copies, signal);
    if (entry && (anew || is_over(tool, entry)))
        drop(copies, entry);
    else if (entry)
        entry->unknown = true;
    leave(copies);
}

void rp_shared_copies_before_destroy(struct rp_tool *tool, rp_hsa_signal signal)
{
    rp_shared_copies_before_change(tool, signal, true);
}

bool rp_shared_copies_are_over(struct rp_tool *tool)
{
    struct rp_shared_copies *copies;
    bool over;

    if (is_empty(tool))
        return true;
    copies = enter(tool);
    drop_those_over(tool, copies);
    over = copies->count == 0;
    leave(copies);
    return over;
}
