#include "optimize/compile_database.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/words.h"

RP_DEFINE_CLEANUP(json_t, json_decref)

static const char *text_of(const json_t *entry, const char *key)
{
    return json_string_value(json_object_get(entry, key));
}

/** Whether a name, relative to a folder, is a file. */
static bool is_file(const char *directory, const char *name, const char *file)
{
    rp_autofree char *joined = name[0] == '/' ? strdup(name) : rp_path_join(directory, name);
    rp_autofree char *real = joined ? realpath(joined, NULL) : NULL;

    return real && strcmp(real, file) == 0;
}

static int words_of(const json_t *entry, struct rp_words *ret, struct rp_err *err)
{
    const json_t *arguments = json_object_get(entry, "arguments"), *word;
    const char *command = text_of(entry, "command");
    rp_autowords words = {0};
    size_t i;

    if (!json_is_array(arguments)) {
        if (!command)
            return rp_fail(err, RP_BAD_INPUT, "an entry has neither arguments nor command");
        if (rp_words_split(command, RP_WORDS_QUOTES, ret, err) < 0)
            return rp_fail(err, RP_BAD_INPUT, "the command %.200s: quotes are not closed", command);
        return 0;
    }
    json_array_foreach(arguments, i, word)
    {
        if (!json_is_string(word))
            return rp_fail(err, RP_BAD_INPUT, "arguments that are no texts");
        rp_words_add(&words, json_string_value(word));
    }
    if (words.failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *ret = words;
    words = (struct rp_words){0};
    return 0;
}

/** @return 1 when the file lists the source, 0 when not */
static int find_in(const char *path, const char *source, struct rp_database_entry *ret,
                   struct rp_words *ret_words, struct rp_err *err)
{
    json_error_t why;
    FILE *stream = fopen(path, "rb");
    rp_cleanup(rp_cleanup_json_decref) json_t *list = stream ? json_loadf(stream, 0, &why) : NULL;
    const json_t *entry;
    size_t i;

    if (!stream)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "%s", path);
    fclose(stream);
    if (!list)
        return rp_fail(err, RP_BAD_INPUT, "%s: no JSON: line %d: %s", path, why.line, why.text);
    if (!json_is_array(list))
        return rp_fail(err, RP_BAD_INPUT, "%s is no compile_commands.json: it has no list", path);
    json_array_foreach(list, i, entry)
    {
        const char *directory = text_of(entry, "directory"), *file = text_of(entry, "file");

        if (!directory || !file || !is_file(directory, file, source))
            continue;
        if (words_of(entry, ret_words, err) < 0)
            return rp_wrap(err, "%s", path);
        ret->path = strdup(path);
        ret->directory = strdup(directory);
        if (!ret->path || !ret->directory)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        return 1;
    }
    return 0;
}

int rp_compile_database_find(const char *path, const char *source, struct rp_database_entry *ret,
                             struct rp_words *ret_words, struct rp_err *err)
{
    static const char *const places[] = {"compile_commands.json", "build/compile_commands.json"};
    rp_autofree char *folder = strdup(source);
    int rc;

    if (!folder)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (path) {
        rc = find_in(path, source, ret, ret_words, err);
        return rc ? rc : rp_fail(err, RP_BAD_INPUT, "%s has no entry for %s", path, source);
    }
    for (char *slash; (slash = strrchr(folder, '/'));) {
        *slash = '\0';
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            rp_autofree char *file = rp_format("%s/%s", folder, places[i]);

            if (!file)
                return rp_fail(err, RP_ENVIRONMENT, "out of memory");
            rc = rp_path_exists(file) ? find_in(file, source, ret, ret_words, err) : 0;
            if (rc)
                return rc;
        }
    }
    return 0;
}
