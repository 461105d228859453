#include "optimize/one_code.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/rocpd.h"

struct search {
    const char *symbol;
    const struct rp_store *store;
    const struct rp_row_code_object *objects;
    size_t object_count;
    char *first;  /**< the place of the code that was seen first, over all databases */
    char *second; /**< of another one */
};

bool rp_symbol_is(const char *name, const char *symbol)
{
    const size_t length = strlen(symbol);

    return name && strncmp(name, symbol, length) == 0 &&
           (!name[length] || strcmp(name + length, ".kd") == 0);
}

/** NULL: the row is of another kernel, or its code object is not known. */
static const char *uri_of(const struct search *s, const struct rp_row_dispatch *row)
{
    const struct rp_row_kernel *kernel =
        rp_store_find_kernel(s->store, row->guid_index, row->kernel_id);

    if (!kernel || !rp_symbol_is(kernel->kernel_name, s->symbol))
        return NULL;
    for (size_t i = 0; i < s->object_count; i++)
        if (s->objects[i].id == kernel->code_object_id &&
            s->objects[i].guid_index == row->guid_index)
            return s->objects[i].uri;
    return NULL;
}

/**
 * "file:///app#offset=8192&size=3672" is the same for each GPU and process. Of memory
 * ("memory://PID#offset=0x7f..&size=3672") addresses differ where a program loads a module again:
 * the size is what can be compared.
 */
static char *place_of(const char *uri)
{
    const char *size = strstr(uri, "size=");

    return strncmp(uri, "memory:", 7) == 0 && size ? rp_format("memory, %s", size) : strdup(uri);
}

static int look(void *context, const void *at, struct rp_err *err)
{
    struct search *s = context;
    const char *uri = uri_of(s, at);
    rp_autofree char *place = uri && *uri ? place_of(uri) : NULL;

    if (!uri || !*uri)
        return 0;
    if (!place)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (!s->first)
        s->first = rp_steal(place);
    else if (!s->second && strcmp(s->first, place) != 0)
        s->second = rp_steal(place);
    return 0;
}

static int look_into(const char *path, struct search *s, struct rp_err *err)
{
    const struct rp_row_kernel *kernels; /* which rp_store_find_kernel then finds */
    struct rp_store *store;
    size_t count;
    int rc = rp_store_open(path, &store, err);

    if (rc < 0)
        return rc;
    s->store = store;
    rc = rp_store_kernels(store, &kernels, &count, err);
    if (rc == 0)
        rc = rp_store_code_objects(store, &s->objects, &s->object_count, err);
    if (rc == 0)
        rc = rp_store_each_work(store, look, s, err);
    rp_store_close(store);
    return rc;
}

int rp_one_code_check(const char *profile, const char *symbol, struct rp_err *err)
{
    struct search s = {.symbol = symbol};
    rp_autofree char *pattern = rp_path_pattern(profile, "*.db");
    glob_t found;
    int rc = 0;

    if (!pattern)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++)
        rc = look_into(found.gl_pathv[i], &s, err);
    globfree(&found);
    if (rc == 0 && s.second)
        rc = rp_fail(err, RP_VERDICT,
                     "two kernels of the program have this name, and what one takes is not told "
                     "from the other: give one of them another name (%s, %s)",
                     s.first, s.second);
    free(s.first);
    free(s.second);
    return rc;
}
