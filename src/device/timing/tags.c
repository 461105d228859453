#include "tags.h"

#include <errno.h>
#include <stdlib.h>

int rp_tags_init(struct rp_tags *t, uint64_t lines, uint32_t ways)
{
    const uint64_t sets = ways && lines / ways ? lines / ways : 1;
    *t = (struct rp_tags){.ways = ways ? ways : 1};
    t->sets = 1u << (63 - __builtin_clzll(sets));
    t->tag = calloc((size_t)t->sets * t->ways, sizeof *t->tag);
    return t->tag ? 0 : -ENOMEM;
}

void rp_tags_release(struct rp_tags *t)
{
    free(t->tag);
    t->tag = NULL;
}

/* Pages of 4 KiB begin in any set, so that neither strides nor every eighth page, which is what a
 * die gets of a grid, meet in a part of the sets. */
static struct rp_tag *set_of(const struct rp_tags *t, uint64_t line)
{
    uint64_t page = line / 32 * 0x9e3779b97f4a7c15u;
    page ^= page >> 29;
    return t->tag + ((line ^ page) & (t->sets - 1)) * t->ways;
}

struct rp_tag *rp_tags_find(struct rp_tags *t, uint64_t line)
{
    struct rp_tag *set = set_of(t, line);
    for (uint32_t i = 0; i < t->ways; i++)
        if (set[i].line == line + 1) {
            set[i].used = ++t->uses;
            return &set[i];
        }
    return NULL;
}

bool rp_tags_has(const struct rp_tags *t, uint64_t line)
{
    const struct rp_tag *set = set_of(t, line);
    for (uint32_t i = 0; i < t->ways; i++)
        if (set[i].line == line + 1)
            return true;
    return false;
}

struct rp_tag *rp_tags_replace(struct rp_tags *t, uint64_t line, uint64_t ready,
                               struct rp_tag *ret_old)
{
    struct rp_tag *set = set_of(t, line), *oldest = set;
    for (uint32_t i = 1; i < t->ways && oldest->line; i++)
        if (!set[i].line || t->uses - set[i].used > t->uses - oldest->used)
            oldest = &set[i];
    if (ret_old)
        *ret_old = *oldest;
    *oldest = (struct rp_tag){.line = line + 1, .ready = ready, .used = ++t->uses};
    return oldest;
}
