#include "trace/check_file.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/path.h"

/* A process writes a thousand findings at most. */
enum { MOST_BYTES = 64 << 20 };

static char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return rp_strdup(text ? text : "");
}

static uint64_t number_of(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void read_side(const json_t *object, int64_t first_object, struct rp_check_side *ret)
{
    const json_t *group = json_object_get(object, "workgroup");
    ret->object = json_integer_value(json_object_get(object, "object"));
    ret->object += ret->object >= 0 ? first_object : 0;
    ret->address = number_of(object, "address");
    ret->instruction = text_of(object, "instruction");
    ret->access = text_of(object, "access");
    for (size_t i = 0; i < 3; i++)
        ret->workgroup[i] = json_integer_value(json_array_get(group, i));
    ret->wave = json_integer_value(json_object_get(object, "wave"));
    ret->lane = json_integer_value(json_object_get(object, "lane"));
}

static void read_finding(const json_t *line, int64_t first_object, struct rp_check_finding *ret)
{
    const json_t *kernel = json_object_get(line, "kernel"), *second;
    ret->kind = text_of(line, "kind");
    ret->memory = text_of(line, "memory");
    ret->why = text_of(line, "why");
    ret->address = number_of(line, "address");
    ret->bytes = number_of(line, "bytes");
    ret->count = number_of(line, "count");
    ret->buffer_address = number_of(json_object_get(line, "buffer"), "address");
    ret->buffer_bytes = number_of(json_object_get(line, "buffer"), "bytes");
    ret->dispatch = json_integer_value(json_object_get(line, "dispatch"));
    ret->kernel_object = json_integer_value(json_object_get(kernel, "object"));
    ret->kernel_object += ret->kernel_object >= 0 ? first_object : 0;
    ret->kernel_address = number_of(kernel, "address");
    ret->note = strcmp(ret->kind, "same-value") == 0;
    read_side(json_object_get(line, "first"), first_object, &ret->first);
    second = json_object_get(line, "second");
    ret->has_second = second;
    if (second)
        read_side(second, first_object, &ret->second);
}

static void read_head(const json_t *line, const char *folder, struct rp_check_results *ret)
{
    const json_t *objects = json_object_get(line, "objects");
    const size_t count = json_array_size(objects);
    ret->processes++;
    ret->left_out += number_of(line, "left_out");
    ret->not_compared += number_of(line, "not_compared");
    ret->objects =
        rp_realloc_array(ret->objects, ret->object_count + count + 1, sizeof *ret->objects);
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_array_get(objects, i));
        ret->objects[ret->object_count++] =
            name && *name ? rp_path_join(folder, name) : rp_strdup("");
    }
}

static int read_file(const char *folder, const char *name, struct rp_check_results *ret,
                     struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, name);
    rp_autofree char *text = rp_read_text(path, MOST_BYTES);
    const int64_t first_object = (int64_t)ret->object_count;
    bool head = true;
    char *line, *rest = NULL;

    if (!text)
        return rp_fail(err, RP_ENVIRONMENT, "%s: cannot be read", path);
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct rp_buf one = {.data = line, .len = strlen(line)};
        json_t *object = rp_json_parse(&one, err);
        if (!object)
            return rp_wrap(err, "%s", path);
        if (head) {
            read_head(object, folder, ret);
        } else {
            ret->at = rp_realloc_array(ret->at, ret->count + 1, sizeof *ret->at);
            ret->at[ret->count] = (struct rp_check_finding){0};
            read_finding(object, first_object, &ret->at[ret->count++]);
        }
        head = false;
        json_decref(object);
    }
    return 0;
}

static int is_result(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return length > 6 && strcmp(entry->d_name + length - 6, ".jsonl") == 0;
}

/* Errors come first. */
static void sort_notes(struct rp_check_results *r)
{
    struct rp_check_finding *sorted = rp_alloc_zero(r->count + 1, sizeof *sorted);
    size_t used = 0;
    for (int note = 0; note < 2; note++)
        for (size_t i = 0; i < r->count; i++)
            if (r->at[i].note == note)
                sorted[used++] = r->at[i];
    for (size_t i = 0; i < r->count; i++)
        r->notes += r->at[i].note;
    free(r->at);
    r->at = sorted;
}

int rp_check_results_read(const char *folder, struct rp_check_results *ret, struct rp_err *err)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_result, alphasort);
    int rc = count < 0 ? rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", folder) : 0;

    *ret = (struct rp_check_results){0};
    for (int i = 0; i < count; i++) {
        if (rc == 0)
            rc = read_file(folder, entries[i]->d_name, ret, err);
        free(entries[i]);
    }
    free(entries);
    if (rc == 0)
        sort_notes(ret);
    return rc;
}

void rp_check_results_drop(struct rp_check_results *results,
                           bool (*which)(const struct rp_check_finding *finding))
{
    size_t kept = 0;
    for (size_t i = 0; i < results->count; i++) {
        if (!which(&results->at[i])) {
            results->at[kept++] = results->at[i];
            continue;
        }
        results->notes -= results->at[i].note;
        rp_check_finding_free(&results->at[i]);
    }
    results->count = kept;
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b && *a && strcmp(a, b) == 0;
}

/* The instructions of one line, or of the same two, in either order. */
static bool has_lines_of(const struct rp_check_finding *a, const struct rp_check_finding *b)
{
    if (!a->has_second)
        return is_same_text(a->first.source, b->first.source);
    return (is_same_text(a->first.source, b->first.source) &&
            is_same_text(a->second.source, b->second.source)) ||
           (is_same_text(a->first.source, b->second.source) &&
            is_same_text(a->second.source, b->first.source));
}

static bool is_same_mistake(const struct rp_check_finding *a, const struct rp_check_finding *b)
{
    return strcmp(a->kind, b->kind) == 0 && strcmp(a->memory, b->memory) == 0 &&
           strcmp(a->why, b->why) == 0 && is_same_text(a->kernel, b->kernel) &&
           a->has_second == b->has_second && has_lines_of(a, b);
}

void rp_check_results_merge(struct rp_check_results *results)
{
    size_t kept = 0;
    for (size_t i = 0; i < results->count; i++) {
        struct rp_check_finding *f = &results->at[i], *same = results->at;
        while (same < results->at + kept && !is_same_mistake(same, f))
            same++;
        if (same == results->at + kept) {
            results->at[kept++] = *f;
            continue;
        }
        same->count += f->count;
        results->notes -= f->note;
        rp_check_finding_free(f);
    }
    results->count = kept;
}

void rp_check_results_free(struct rp_check_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        rp_check_finding_free(&results->at[i]);
    for (size_t i = 0; i < results->object_count; i++)
        free(results->objects[i]);
    free(results->at);
    free(results->objects);
    *results = (struct rp_check_results){0};
}
