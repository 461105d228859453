/* With which other inputs an accepted change was not compared. What replay compare could not vary
 * is no fault of the candidate, but whoever takes it should know. */
#include <string.h>

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

static bool add_all(json_t *list, const json_t *one, const char *kernel)
{
    const json_t *comparison = json_object_get(one, "comparison");
    json_t *inputs = json_object_get(json_object_get(comparison, "b"), "other_inputs"), *variation;
    const char *all = json_string_value(json_object_get(inputs, "reason")), *kind;
    const char *whose = json_string_value(json_object_get(one, "kernel"));

    json_object_foreach(inputs, kind, variation)
    {
        const char *reason = json_string_value(json_object_get(variation, "reason"));

        if (!json_is_false(json_object_get(variation, "tried")))
            continue;
        reason = reason ? reason : all ? all : "";
        if (!add(list, whose ? whose : kernel, kind, reason, json_object_get(one, "geometry")))
            return false;
    }
    return true;
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
