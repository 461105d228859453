/**
 * @file hip_quiet.c
 * @brief Lets a stream come to rest before the program destroys it.
 *
 * Who registers for HIP's calls is told of the end of every marker, too, from ROCr's thread for
 * signals; HIP 7.2 reads the marker's stream for that, even when the answer is that nobody wants
 * it. hipStreamDestroy does not wait for that thread: without this file about one program in four
 * that destroys a busy stream dies of a null pointer in libamdhip64.
 */
#include "tool/hip_quiet.h"

#include <stdlib.h>

#include "tool/tool.h"

enum { PATIENCE_MS = 100 };

/* A visit to ROCr's thread; the last of the two that know it frees it. */
struct visit {
    pthread_mutex_t lock;
    pthread_cond_t seen_cond;
    bool seen, left;
    rp_hsa_signal signal;
};

static void free_visit(struct visit *v)
{
    rp_the_tool.hsa.hsa_signal_destroy(v->signal);
    pthread_cond_destroy(&v->seen_cond);
    pthread_mutex_destroy(&v->lock);
    free(v);
}

static bool on_visit(int64_t value, void *data)
{
    struct visit *v = data;

    (void)value;
    __atomic_store_n(&rp_the_tool.hip.quiet.handler_tid, rp_tool_tid(), __ATOMIC_RELAXED);
    pthread_mutex_lock(&v->lock);
    v->seen = true;
    bool left = v->left;
    pthread_cond_signal(&v->seen_cond);
    pthread_mutex_unlock(&v->lock);
    if (left)
        free_visit(v);
    return false; /* not again */
}

static struct visit *new_visit(void)
{
    struct visit *v = calloc(1, sizeof(*v));

    if (!v)
        return NULL;
    if (rp_the_tool.hsa.hsa_amd_signal_create(0, 0, NULL, 0, &v->signal) != RP_HSA_SUCCESS) {
        free(v);
        return NULL;
    }
    pthread_mutex_init(&v->lock, NULL);
    pthread_cond_init(&v->seen_cond, NULL);
    return v;
}

/* Whether ROCr's thread has come by: it has then handled what was over before. */
static bool visit_handler(void)
{
    struct visit *v = new_visit();
    struct timespec end;

    if (!v)
        return false;
    if (rp_the_tool.hsa.hsa_amd_signal_async_handler(v->signal, RP_HSA_CONDITION_LT, 1, on_visit,
                                                     v) != RP_HSA_SUCCESS) {
        free_visit(v);
        return false;
    }
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += PATIENCE_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&v->lock);
    while (!v->seen && pthread_cond_timedwait(&v->seen_cond, &v->lock, &end) == 0)
        ;
    bool seen = v->seen;
    v->left = true;
    pthread_mutex_unlock(&v->lock);
    if (seen)
        free_visit(v);
    return seen;
}

void rp_hip_quiet(struct rp_tool *tool, void *stream)
{
    struct rp_hip_quiet *quiet = &tool->hip.quiet;

    if (!quiet->sync_stream || !quiet->sync_device)
        return;
    /* In a callback that runs on ROCr's thread itself, waiting for that thread would be for ever;
     * the first visit finds out which thread it is. */
    if (!__atomic_load_n(&quiet->handler_tid, __ATOMIC_RELAXED) && !visit_handler())
        return;
    if (__atomic_load_n(&quiet->handler_tid, __ATOMIC_RELAXED) == rp_tool_tid())
        return;
    if (stream)
        quiet->sync_stream(stream);
    else
        quiet->sync_device();
    /* It goes through its signals in no order that is promised: on the second visit it has
     * certainly been through all of them since the wait. */
    if (visit_handler())
        visit_handler();
}
