#include "collect/failed_launches.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "collect/demangle.h"
#include "trace/records.h"
#include "trace/rocpd.h"

enum { MOST_GROUPS = 64 }; /* a generator of kernels may have any number; all are counted */

/** Launches that differ in nothing but their geometry, which is that of the first one. */
struct group {
    const struct rp_rec_failed_launch *first;
    uint64_t calls;
};

struct groups {
    const struct rp_record_file *file;
    struct rp_demangler *demangler;
    struct group list[MOST_GROUPS];
    size_t count;
    uint64_t failed;
};

static void add(struct groups *groups, const struct rp_rec_failed_launch *launch)
{
    groups->failed++;
    for (size_t i = 0; i < groups->count; i++) {
        const struct rp_rec_failed_launch *known = groups->list[i].first;

        if (known->api_name_id == launch->api_name_id && known->error == launch->error &&
            known->kernel_name_id == launch->kernel_name_id) {
            groups->list[i].calls++;
            return;
        }
    }
    if (groups->count < MOST_GROUPS)
        groups->list[groups->count++] = (struct group){.first = launch, .calls = 1};
}

/* These two take the grid in work-items, all others in blocks. */
static bool grid_is_of_work_items(const char *api)
{
    return strcmp(api, "hipExtModuleLaunchKernel") == 0 ||
           strcmp(api, "hipHccModuleLaunchKernel") == 0;
}

static json_t *geometry(const struct rp_rec_failed_launch *launch, const char *api)
{
    json_int_t grid[3], block[3];

    for (size_t i = 0; i < 3; i++) {
        block[i] = launch->block[i];
        grid[i] = (json_int_t)launch->grid[i] * (grid_is_of_work_items(api) ? 1 : block[i]);
        if (grid[i] < 0) /* 2^32 blocks of 2^32 work-items */
            grid[i] = INT64_MAX;
    }
    return json_pack("{s:[I,I,I], s:[I,I,I], s:I}", "grid", grid[0], grid[1], grid[2], "block",
                     block[0], block[1], block[2], "dynamic_lds_bytes",
                     (json_int_t)(launch->dynamic_lds_bytes & INT64_MAX));
}

static json_t *text_or_null(const char *text)
{
    json_t *value = *text ? json_string(text) : NULL; /* NULL also for what is not UTF-8 */

    return value ? value : json_null();
}

static json_t *row(const struct groups *groups, const struct group *group)
{
    const struct rp_rec_failed_launch *launch = group->first;
    const char *api = rp_record_file_string(groups->file, launch->api_name_id);
    const char *symbol = rp_record_file_string(groups->file, launch->kernel_name_id);
    rp_autofree char *name = *symbol ? rp_demangle_kernel(groups->demangler, symbol) : strdup("");
    json_t *o = geometry(launch, api);

    if (!o || !name || json_object_set_new(o, "api", text_or_null(api)) < 0 ||
        json_object_set_new(o, "kernel", text_or_null(name)) < 0 ||
        json_object_set_new(o, "symbol", text_or_null(symbol)) < 0 ||
        json_object_set_new(
            o, "error", text_or_null(rp_record_file_string(groups->file, launch->error_name_id))) <
            0 ||
        json_object_set_new(o, "code", json_integer(launch->error)) < 0 ||
        json_object_set_new(o, "calls", json_integer((json_int_t)group->calls)) < 0) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static char *to_text(const struct groups *groups, uint64_t calls)
{
    json_t *list = json_array(), *all;
    char *text;

    for (size_t i = 0; list && i < groups->count; i++) {
        if (json_array_append_new(list, row(groups, &groups->list[i])) < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    all = list ? json_pack("{s:I, s:I, s:o}", "calls", (json_int_t)calls, "failed",
                           (json_int_t)groups->failed, "list", list)
               : NULL;
    text = all ? json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(all);
    return text;
}

int rp_failed_launches_put(const struct rp_record_file *file, struct rp_demangler *demangler,
                           struct rp_store_writer *writer, struct rp_err *err)
{
    struct groups groups = {.file = file, .demangler = demangler};
    uint64_t calls = rp_record_file_header(file)->launch_calls;
    rp_autofree char *text = NULL;
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);

    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_FAILED_LAUNCH)
            add(&groups, &records[i].u.failed_launch);
    calls = calls < groups.failed ? groups.failed : calls & INT64_MAX;
    if (calls == 0)
        return 0;
    text = to_text(&groups, calls);
    return text ? rp_store_put_metadata(writer, RP_STORE_LAUNCHES_TAG, text, err)
                : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}
