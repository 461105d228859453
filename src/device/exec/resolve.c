#include "resolve.h"

#include <errno.h>
#include <stdlib.h>

#include "../timing/describe.h"

enum { FIRST_SIZE = 512 };

static uint64_t pc_of(const struct rp_resolver *m, uint32_t distance)
{
    return m->entry_va + (uint64_t)(4 * (int64_t)(int32_t)distance);
}

static uint32_t *find(const struct rp_resolver *m, uint64_t pc)
{
    uint32_t i = (uint32_t)(pc / 4 * 2654435761u) & (m->size - 1);
    while (m->slot[i] && m->record->code[m->slot[i] - 1].pc != pc)
        i = (i + 1) & (m->size - 1);
    return &m->slot[i];
}

/* Twice the slots, and code to fill half of them. */
static int grow(struct rp_resolver *m)
{
    struct rp_rec_code *code = realloc(m->record->code, m->size * sizeof *code);
    struct rp_resolver_follower *follower = calloc(m->size, sizeof *follower); /* soon again */
    uint32_t *slot = calloc(2 * (size_t)m->size, sizeof *slot);
    if (code)
        m->record->code = code;
    if (!code || !slot || !follower) {
        free(slot);
        free(follower);
        return -ENOMEM;
    }
    free(m->slot);
    free(m->follower);
    m->slot = slot;
    m->follower = follower;
    m->room = m->size;
    m->size *= 2;
    for (uint32_t i = 0; i < m->record->code_count; i++)
        *find(m, m->record->code[i].pc) = i + 1;
    return 0;
}

int rp_resolver_init(struct rp_resolver *m, struct rp_wave_record *record, uint64_t entry_va)
{
    *m = (struct rp_resolver){.record = record, .entry_va = entry_va, .size = FIRST_SIZE};
    return grow(m);
}

void rp_resolver_release(struct rp_resolver *m)
{
    rp_code_page_put(m->page);
    free(m->slot);
    free(m->follower);
    *m = (struct rp_resolver){0};
}

/* The decoded instruction, or NULL: not mapped any more, or no memory. */
static const struct rp_insn *insn_at(struct rp_resolver *m, struct rp_mem *mem, uint64_t pc)
{
    enum rp_fault_kind kind;
    if (!m->page || pc - m->page->base_va >= RP_CODE_PAGE_BYTES) {
        rp_code_page_put(m->page);
        m->page = rp_code_page_get(mem, pc, &kind);
        if (!m->page) {
            m->no_memory = kind == RP_FAULT_NO_MEMORY;
            return NULL;
        }
    }
    const unsigned index = (unsigned)((pc - m->page->base_va) / 4);
    if (!__atomic_load_n(&m->page->insn[index].fn, __ATOMIC_ACQUIRE))
        rp_code_decode(m->page, index);
    return &m->page->insn[index];
}

/* 0, -ENOMEM, or -ENOENT: the code is gone. */
static int resolve(struct rp_resolver *m, struct rp_mem *mem, uint32_t *step)
{
    const uint64_t pc = pc_of(m, *step);
    uint32_t *slot = find(m, pc);
    if (!*slot) {
        const struct rp_insn *in = insn_at(m, mem, pc);
        if (!in)
            return m->no_memory ? -ENOMEM : -ENOENT;
        if (m->record->code_count == m->room) {
            if (grow(m) < 0)
                return -ENOMEM;
            slot = find(m, pc);
        }
        m->record->code[m->record->code_count++] = rp_rec_describe(in, pc);
        *slot = m->record->code_count;
    }
    *step = *slot - 1;
    return 0;
}

int rp_resolve(struct rp_resolver *m, struct rp_mem *mem, uint32_t *step, uint32_t count,
               uint32_t *ret_count)
{
    uint32_t before = 0;
    for (uint32_t i = 0; i < count; i++, before = step[i - 1]) {
        const uint32_t distance = step[i];
        if (i && m->follower[before].index && m->follower[before].distance == distance) {
            step[i] = m->follower[before].index - 1;
            continue;
        }
        int status = resolve(m, mem, &step[i]);
        if (!status && i)
            m->follower[before] = (struct rp_resolver_follower){distance, step[i] + 1};
        if (status == -ENOENT) {
            *ret_count = i;
            return 0;
        }
        if (status < 0)
            return status;
    }
    *ret_count = count;
    return 0;
}
