#include "collect/threads_sources.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/threads_listing.h"

enum { MOST_BYTES = 16 << 20 }; /* of a file: generated code may be larger, and nobody reads it */

struct names {
    char **at;
    size_t count;
};

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->at[i]);
    free(names->at);
}

static int add_name(struct names *names, const char *name, size_t length)
{
    char **grown;

    for (size_t i = 0; i < names->count; i++)
        if (strncmp(names->at[i], name, length) == 0 && !names->at[i][length])
            return 0;
    grown = reallocarray(names->at, names->count + 1, sizeof *grown);
    if (!grown)
        return -1;
    names->at = grown;
    grown[names->count] = strndup(name, length);
    return grown[names->count] ? (names->count++, 0) : -1;
}

/* "a.h:3 -> b.hip:7": both files. */
static int add_chain(struct names *names, const char *chain)
{
    static const char arrow[] = " -> ";

    while (*chain) {
        const char *end = strstr(chain, arrow);
        const size_t length = end ? (size_t)(end - chain) : strlen(chain);
        const char *colon = memrchr(chain, ':', length);

        if (colon && add_name(names, chain, (size_t)(colon - chain)) < 0)
            return -1;
        chain += length + (end ? sizeof arrow - 1 : 0);
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* {"/": {"a": {"b.hip": "source_0_b.hip"}}}: as std::filesystem takes a path apart. */
static int put_in_tree(json_t *tree, const char *path, const char *copy)
{
    rp_autofree char *parts = strdup(path);
    char *state = NULL, *next;

    if (!parts)
        return -1;
    if (*path == '/') {
        if (!json_object_get(tree, "/"))
            json_object_set_new(tree, "/", json_object());
        tree = json_object_get(tree, "/");
    }
    for (char *part = strtok_r(parts, "/", &state); part; part = next) {
        next = strtok_r(NULL, "/", &state);
        if (!next)
            return json_object_set_new(tree, part, json_string(copy));
        if (!json_is_object(json_object_get(tree, part)) &&
            json_object_set_new(tree, part, json_object()) < 0)
            return -1;
        tree = json_object_get(tree, part);
    }
    return 0;
}

/* 1: copied; 0: it cannot be read. */
static int copy_file(const char *from, const char *to, struct rp_err *err)
{
    rp_autofree char *text = NULL;
    struct stat info;
    int rc;

    if (stat(from, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size > MOST_BYTES)
        return 0;
    text = rp_read_text(from, MOST_BYTES);
    if (!text)
        return 0;
    rc = rp_write_file_like(to, from, text, strlen(text), err);
    return rc < 0 ? rc : 1;
}

static int copy_all(const struct names *names, const char *folder, json_t *tree, struct rp_err *err)
{
    size_t number = 0;

    for (size_t i = 0; i < names->count; i++) {
        const char *slash = strrchr(names->at[i], '/');
        rp_autofree char *copy =
            rp_format("source_%zu_%s", number, slash ? slash + 1 : names->at[i]);
        rp_autofree char *path = copy ? rp_path_join(folder, copy) : NULL;
        int rc = path ? copy_file(names->at[i], path, err) : -1;

        if (!path)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        if (rc < 0)
            return rc;
        if (rc > 0 && put_in_tree(tree, names->at[i], copy) < 0)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        number += rc > 0;
    }
    return 0;
}

static int write_tree(json_t *tree, const char *folder, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, "snapshots.json");
    rp_autofree char *text = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);

    if (!path || !text)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    return json_object_size(tree) ? rp_write_file(path, text, strlen(text), err) : 0;
}

int rp_threads_copy_sources(const struct rp_threads_listing *listing, const char *folder,
                            struct rp_err *err)
{
    rp_cleanup(free_names) struct names names = {0};
    json_t *tree;
    int rc = 0;

    for (size_t i = 0; i < listing->count; i++)
        if (listing->at[i].source && add_chain(&names, listing->at[i].source) < 0)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (names.count)
        qsort(names.at, names.count, sizeof *names.at, by_name);
    tree = json_object();
    rc = tree ? copy_all(&names, folder, tree, err) : rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rc == 0)
        rc = write_tree(tree, folder, err);
    json_decref(tree);
    return rc;
}
