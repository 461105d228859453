#include "device/exec/code_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/exec/executor.h"
#include "device/isa/instruction.h"

enum { BUCKETS = 256 };

/* This is the executor's only context, which holds the decoded code of the process. */
static struct {
    pthread_mutex_t lock;
    struct rp_code_page *bucket[BUCKETS];
    enum rp_counting counts;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Runs in a forked child, because another thread of the parent may have held the lock and been
 * changing the lists. The child starts with an empty cache; the parent's pages stay allocated but
 * unused.
 */
static void forget_parent(void)
{
    pthread_mutex_init(&cache.lock, NULL);
    memset(cache.bucket, 0, sizeof cache.bucket);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_parent);
}

static void lock_cache(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&cache.lock);
}

static struct rp_code_page **bucket_of(uint64_t base_va)
{
    return &cache.bucket[base_va / RP_CODE_PAGE_BYTES % BUCKETS];
}

/* Returns how much code is readable at base_va: the page, and RP_CODE_REACH bytes of the next one
 * at most.
 */
static uint32_t read_code(struct rp_mem *mem, uint64_t base_va, const uint8_t **ret_at,
                          uint8_t *copy)
{
    static const uint32_t sizes[] = {RP_CODE_PAGE_BYTES + RP_CODE_REACH, RP_CODE_PAGE_BYTES + 8,
                                     RP_CODE_PAGE_BYTES + 4, RP_CODE_PAGE_BYTES};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const uint8_t *at = rp_mem_owned_at(mem, base_va, sizes[i]);
        if (at) {
            *ret_at = at;
            return sizes[i];
        }
    }
    /* The code begins or ends inside the page, so this takes what exists, dword by dword. */
    uint32_t end = 0;
    memset(copy, 0, RP_CODE_PAGE_BYTES + RP_CODE_REACH);
    for (uint32_t offset = 0; offset < RP_CODE_PAGE_BYTES + RP_CODE_REACH; offset += 4) {
        const void *at = rp_mem_owned_at(mem, base_va + offset, 4);
        if (!at)
            continue;
        memcpy(copy + offset, at, 4);
        end = offset + 4;
    }
    *ret_at = copy;
    return end;
}

static void unlink_page(struct rp_code_page **link)
{
    struct rp_code_page *page = *link;
    *link = page->next;
    rp_code_page_put(page);
}

struct rp_code_page *rp_code_page_get(struct rp_mem *mem, uint64_t va, bool counts,
                                      enum rp_fault_kind *ret_kind)
{
    uint64_t base_va = va & ~(uint64_t)(RP_CODE_PAGE_BYTES - 1);
    uint8_t copy[RP_CODE_PAGE_BYTES + RP_CODE_REACH];
    const uint8_t *at;
    *ret_kind = RP_FAULT_MEMORY;
    if (!rp_mem_owned_at(mem, va & ~3ull, 4))
        return NULL;
    uint32_t bytes = read_code(mem, base_va, &at, copy);

    lock_cache();
    struct rp_code_page **link = bucket_of(base_va), *page;
    while (*link && ((*link)->base_va != base_va || (*link)->counts != counts))
        link = &(*link)->next;
    page = *link;
    if (page && (page->valid_bytes != bytes || memcmp(page->bytes, at, bytes))) {
        unlink_page(link);
        page = NULL;
    }
    if (!page && (page = calloc(1, sizeof *page))) {
        page->base_va = base_va;
        page->counts = counts;
        page->translator = mem->host->translator;
        page->valid_bytes = bytes;
        memcpy(page->bytes, at, bytes);
        page->refs = 1;
        page->next = *bucket_of(base_va);
        *bucket_of(base_va) = page;
    }
    if (page)
        __atomic_add_fetch(&page->refs, 1, __ATOMIC_RELAXED);
    else
        *ret_kind = RP_FAULT_NO_MEMORY;
    pthread_mutex_unlock(&cache.lock);
    return page;
}

void rp_code_page_put(struct rp_code_page *page)
{
    if (!page || __atomic_sub_fetch(&page->refs, 1, __ATOMIC_ACQ_REL))
        return;
    if (page->translator)
        page->translator->drop(page);
    free(page->recorded);
    free(page);
}

void rp_code_translate(struct rp_code_page *page, unsigned index)
{
    lock_cache();
    page->translator->translate(page, index, NULL);
    pthread_mutex_unlock(&cache.lock);
}

struct rp_code_recorded *rp_code_recorded_new(struct rp_code_page *page)
{
    lock_cache();
    struct rp_code_recorded *r = __atomic_load_n(&page->recorded, __ATOMIC_RELAXED);
    if (!r && (r = calloc(1, sizeof *r)))
        __atomic_store_n(&page->recorded, r, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&cache.lock);
    return r;
}

void rp_code_translate_recorded(struct rp_code_page *page, unsigned index)
{
    lock_cache();
    page->translator->translate(page, index, page->recorded);
    pthread_mutex_unlock(&cache.lock);
}

void rp_code_decode(struct rp_code_page *page, unsigned index)
{
    struct rp_insn in;
    uint32_t code[4] = {0};
    size_t bytes = 0;
    if (page->valid_bytes > index * 4)
        bytes = page->valid_bytes - index * 4;
    if (bytes > sizeof code)
        bytes = sizeof code;
    memcpy(code, page->bytes + index * 4, bytes);
    memset(&in, 0, sizeof in);
    if (!rp_isa_decode(code, bytes / 4, &in) && !in.size_bytes)
        in.size_bytes = 4;
    rp_order_bind(&in);
    in.issue_cycles = rp_cost_cycles[in.cost_class];
    in.slot_bytes = (uint16_t)(in.size_bytes / 4 * sizeof in);

    /* Others may look at fn meanwhile: it is written last, and nothing else of it is touched. */
    const size_t fn_bytes = sizeof in.fn;
    _Static_assert(offsetof(struct rp_insn, fn) == 0, "fn comes first");
    lock_cache();
    struct rp_insn *entry = &page->insn[index];
    if (!__atomic_load_n(&entry->fn, __ATOMIC_RELAXED)) {
        memcpy((char *)entry + fn_bytes, (const char *)&in + fn_bytes, sizeof in - fn_bytes);
        __atomic_store_n(&entry->fn, in.fn, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&cache.lock);
}

enum rp_counting rp_exec_counts(void)
{
    return __atomic_load_n(&cache.counts, __ATOMIC_RELAXED);
}

void rp_exec_set_counts(enum rp_counting what)
{
    __atomic_store_n(&cache.counts, what, __ATOMIC_RELAXED);
}

void rp_exec_invalidate_code(uint64_t gpu_va, uint64_t bytes)
{
    lock_cache();
    for (unsigned b = 0; b < BUCKETS; b++) {
        struct rp_code_page **link = &cache.bucket[b];
        while (*link) {
            uint64_t base_va = (*link)->base_va;
            if (base_va < gpu_va + bytes && gpu_va < base_va + RP_CODE_PAGE_BYTES)
                unlink_page(link);
            else
                link = &(*link)->next;
        }
    }
    pthread_mutex_unlock(&cache.lock);
}

static struct rp_page_counters **way_of(struct rp_exec_worker *h, const struct rp_code_page *page)
{
    return &h->tally[page->base_va / RP_CODE_PAGE_BYTES % RP_CODE_WAYS];
}

struct rp_page_counters *rp_page_counters_of(struct rp_exec_worker *h, struct rp_code_page *page)
{
    struct rp_page_counters **way = way_of(h, page), *t;

    if (*way && (*way)->page == page)
        return *way;
    for (t = h->tallies; t && t->page != page; t = t->next)
        ;
    if (!t) {
        t = calloc(1, sizeof *t);
        if (!t)
            return NULL;
        __atomic_add_fetch(&page->refs, 1, __ATOMIC_RELAXED);
        t->page = page;
        t->next = h->tallies;
        h->tallies = t;
    }
    return *way = t;
}

void rp_page_counters_sum(const struct rp_exec_worker *h, uint64_t *values)
{
    for (const struct rp_page_counters *t = h->tallies; t; t = t->next) {
        int64_t times = 0, lanes = 0;
        for (size_t i = 0; i < RP_CODE_PAGE_INSNS; i++) {
            const struct rp_insn *in = &t->page->insn[i];
            times += t->runs[i];
            lanes += t->lanes[i];
            /* Between the dwords of a long instruction nothing has been decoded. */
            if (times > 0 && __atomic_load_n(&in->fn, __ATOMIC_ACQUIRE))
                rp_insn_add_counters(in, (uint64_t)times, (uint64_t)-lanes, values);
        }
    }
}

void rp_page_counters_release(struct rp_exec_worker *h)
{
    while (h->tallies) {
        struct rp_page_counters *t = h->tallies;
        h->tallies = t->next;
        rp_code_page_put(t->page);
        free(t);
    }
}
