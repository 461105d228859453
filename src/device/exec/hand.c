#include "hand.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slot.h"
#include "tally.h"

/* The one context of this file: all hands, for rp_exec_settle. */
static struct {
    pthread_mutex_t lock;
    struct rp_hand *head;
    uint64_t dma_turns; /* odd while the DMA engine uses host addresses */
} hands = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* In a forked child: its threads are gone. */
static void forget_parent(void)
{
    pthread_mutex_init(&hands.lock, NULL);
    hands.head = NULL;
    hands.dma_turns = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_parent);
}

struct rp_hand *rp_hand_new(struct rp_dispatch *d)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct rp_hand *h = rp_lines_new(1, sizeof *h);
    if (!h)
        return NULL;
    h->dispatch = d;
    rp_mem_init(&h->mem, d->host);
    h->mem.counts = &h->counts;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&hands.lock);
    h->next = hands.head;
    if (h->next)
        h->next->link = &h->next;
    h->link = &hands.head;
    hands.head = h;
    pthread_mutex_unlock(&hands.lock);
    return h;
}

void rp_hand_free(struct rp_hand *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&hands.lock);
    *h->link = h->next;
    if (h->next)
        h->next->link = h->link;
    pthread_mutex_unlock(&hands.lock);
    for (unsigned i = 0; i < RP_CODE_WAYS; i++)
        rp_code_page_put(h->code[i]);
    rp_tally_release(h);
    rp_trail_release(&h->trail);
    rp_resident_group_give(h->spare);
    free(h);
}

/* Every thread of the process has executed a full barrier when this returns. */
static void barrier_everywhere(void)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    usleep(1000); /* no such call here: no store stays unseen that long */
}

void rp_exec_dma_begin(void)
{
    __atomic_add_fetch(&hands.dma_turns, 1, __ATOMIC_SEQ_CST);
}

void rp_exec_dma_end(void)
{
    __atomic_add_fetch(&hands.dma_turns, 1, __ATOMIC_SEQ_CST);
}

static void wait_for_turn(const uint64_t *counter)
{
    uint64_t turns = __atomic_load_n(counter, __ATOMIC_ACQUIRE);
    while (turns % 2 && __atomic_load_n(counter, __ATOMIC_ACQUIRE) == turns)
        sched_yield();
}

void rp_exec_settle(void)
{
    barrier_everywhere(); /* now later turns see the new generation, and we see earlier ones */
    pthread_mutex_lock(&hands.lock);
    for (struct rp_hand *h = hands.head; h; h = h->next)
        wait_for_turn(&h->turns);
    pthread_mutex_unlock(&hands.lock);
    wait_for_turn(&hands.dma_turns);
}
