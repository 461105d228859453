#include "store/names.h"

#include "rocm-perf/store.h"

#include <stdlib.h>
#include <string.h>

struct rp_names_slot {
    char *text; /* NULL = free */
    uint64_t hash;
    int64_t id;
};

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, 64 bits */

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

static struct rp_names_slot *probe(struct rp_names_slot *slots, size_t capacity, uint64_t hash,
                                   const char *text)
{
    size_t at = (size_t)hash & (capacity - 1);

    while (slots[at].text && (slots[at].hash != hash || strcmp(slots[at].text, text) != 0))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(struct rp_names *names)
{
    size_t capacity = names->capacity ? names->capacity * 2 : 64;
    struct rp_names_slot *slots = calloc(capacity, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 0; i < names->capacity; i++) {
        const struct rp_names_slot *old = &names->slots[i];
        if (old->text)
            *probe(slots, capacity, old->hash, old->text) = *old;
    }
    free(names->slots);
    names->slots = slots;
    names->capacity = capacity;
    return true;
}

int64_t rp_names_id(struct rp_names *names, const char *text, bool *ret_new)
{
    uint64_t hash = hash_text(text);
    struct rp_names_slot *slot;

    if (names->used * 2 >= names->capacity && !grow(names))
        return 0;
    slot = probe(names->slots, names->capacity, hash, text);
    *ret_new = !slot->text;
    if (!slot->text) {
        slot->text = strdup(text);
        if (!slot->text)
            return 0;
        slot->hash = hash;
        slot->id = (int64_t)++names->used;
    }
    return slot->id;
}

void rp_names_free(struct rp_names *names)
{
    for (size_t i = 0; i < names->capacity; i++)
        free(names->slots[i].text);
    free(names->slots);
    memset(names, 0, sizeof *names);
}

size_t rp_kernel_name_length(const char *name)
{
    static const char *const ends[] = {" [clone .kd]", " (.kd)", ".kd"};
    size_t len = strlen(name);

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t end = strlen(ends[i]);

        if (len > end && memcmp(name + len - end, ends[i], end) == 0)
            return len - end;
    }
    return len;
}
