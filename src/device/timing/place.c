/* Addresses that do not depend on the process: pages in the order of their first use. */
#include "place.h"

#include <errno.h>
#include <stdlib.h>

enum { PAGE_LINES = 4096 / RP_REC_LINE_BYTES, FIRST_SIZE = 64 };

static struct rp_rec_page *find(const struct rp_rec_pages *p, uint64_t old)
{
    uint64_t i = (old * 0x9e3779b97f4a7c15u >> 20) & (p->size - 1);
    while (p->page[i].old && p->page[i].old != old + 1)
        i = (i + 1) & (p->size - 1);
    return &p->page[i];
}

static int grow(struct rp_rec_pages *p)
{
    struct rp_rec_pages larger = {
        .size = p->size ? 2 * p->size : FIRST_SIZE, .count = p->count, .latest = p->latest};
    larger.page = calloc(larger.size, sizeof *larger.page);
    if (!larger.page)
        return -ENOMEM;
    for (uint64_t i = 0; i < p->size; i++)
        if (p->page[i].old)
            *find(&larger, p->page[i].old - 1) = p->page[i];
    free(p->page);
    *p = larger;
    return 0;
}

int rp_rec_pages_place(struct rp_rec_pages *p, struct rp_rec_line *line)
{
    const uint64_t number = line->number, old = number / PAGE_LINES;
    if (number >= RP_REC_PRIVATE_VA / RP_REC_LINE_BYTES) /* made up, the same in every process */
        return 0;
    if (p->latest.old != old + 1) {
        if (2 * p->count >= p->size && grow(p) < 0)
            return -ENOMEM;
        struct rp_rec_page *page = find(p, old);
        if (!page->old)
            *page = (struct rp_rec_page){.old = old + 1, .number = p->count++};
        p->latest = *page;
    }
    line->number = p->latest.number * PAGE_LINES + number % PAGE_LINES;
    return 0;
}

void rp_rec_pages_release(struct rp_rec_pages *p)
{
    free(p->page);
    *p = (struct rp_rec_pages){0};
}

int rp_record_place(struct rp_wave_record *r)
{
    struct rp_rec_pages pages = {0};
    const uint64_t groups = r->plan.count + r->plan.probes;
    int status = 0;
    if (r->placed)
        return 0;
    for (uint64_t g = 0; g < groups && !status; g++)
        for (uint32_t w = 0; w < r->group[g].wave_count && !status; w++) {
            struct rp_rec_wave *wave = &r->group[g].wave[w];
            for (uint32_t i = 0; i < wave->line_count && !status; i++)
                status = rp_rec_pages_place(&pages, &wave->line[i]);
        }
    rp_rec_pages_release(&pages);
    r->placed = !status;
    return status;
}
