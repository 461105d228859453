/* With which other inputs an accepted change was not compared. What replay compare could not vary
 * is no fault of the candidate, but whoever takes it should know. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "optimize/session_parts.h"

static bool is(const json_t *entry, const char *key, const char *text)
{
    return strcmp(json_string_value(json_object_get(entry, key)), text) == 0;
}

static json_t *find(const json_t *list, const char *kernel, const char *kind, const char *reason)
{
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        if (is(entry, "kernel", kernel) && is(entry, "inputs", kind) && is(entry, "reason", reason))
            return entry;
    }
    return NULL;
}

static bool add(json_t *list, const char *kernel, const char *kind, const char *reason,
                const json_t *geometry)
{
    json_t *entry = find(list, kernel, kind, reason);

    if (!entry) {
        entry = json_pack("{s:s, s:s, s:s, s:[]}", "kernel", kernel, "inputs", kind, "reason",
                          reason, "geometries");
        if (json_array_append_new(list, entry) < 0)
            return false;
    }
    return json_array_append(json_object_get(entry, "geometries"), (json_t *)geometry) == 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/** In the order of their names: what the journal has kept has them in another one than replay. */
static const char **kinds_of(json_t *inputs)
{
    const char **kinds = calloc(json_object_size(inputs) + 1, sizeof *kinds), *kind;
    size_t count = 0;
    json_t *variation;

    if (!kinds)
        return NULL;
    json_object_foreach(inputs, kind, variation) kinds[count++] = kind;
    qsort(kinds, count, sizeof *kinds, by_name);
    return kinds;
}

static bool add_all(json_t *list, const json_t *one, const char *kernel)
{
    const json_t *comparison = json_object_get(one, "comparison");
    json_t *inputs = json_object_get(json_object_get(comparison, "b"), "other_inputs");
    const char *all = json_string_value(json_object_get(inputs, "reason"));
    const char *whose = json_string_value(json_object_get(one, "kernel"));
    rp_autofree const char **kinds = kinds_of(inputs);

    for (size_t i = 0; kinds && kinds[i]; i++) {
        const json_t *variation = json_object_get(inputs, kinds[i]);
        const char *reason = json_string_value(json_object_get(variation, "reason"));

        if (!json_is_false(json_object_get(variation, "tried")))
            continue;
        reason = reason ? reason : all ? all : "";
        if (!add(list, whose ? whose : kernel, kinds[i], reason, json_object_get(one, "geometry")))
            return false;
    }
    return kinds != NULL;
}

json_t *rp_session_not_tried(const json_t *comparisons, const char *kernel)
{
    json_t *list = json_array(), *one;
    size_t i;

    json_array_foreach(comparisons, i, one)
    {
        if (!list || !add_all(list, one, kernel)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
