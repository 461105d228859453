/* Source lines with the cycles that the waves of thread traces spent on them, and their text.
 * profile copies the files into the folder of a trace, and snapshots.json names the copies in a
 * tree of folders (docs/format/rocpd.md). Only those copies are read, never the file that a trace
 * names: a trace of somebody else could name any file of the reader. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/source_texts.h"
#include "analyze/thread_trace.h"
#include "analyze/wave_time.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"

enum {
    MOST_BYTES = 4 << 20, /**< of a copy; profile copies none that is larger */
    MOST_LINE_BYTES = 400,
    MOST_LINES = 20000, /**< of all files together */
    AROUND = 3          /**< so many lines before and after one with cycles are kept */
};

/* A line on which waves spent time. */
struct place {
    uint32_t file; /**< number of its path */
    uint32_t line;
    const struct rp_thread_trace *trace;
};

struct places {
    RP_VEC(struct place);
};

static int by_file_and_line(const void *a, const void *b)
{
    const struct place *l = a, *r = b;

    if (l->file != r->file)
        return l->file < r->file ? -1 : 1;
    return (l->line > r->line) - (l->line < r->line);
}

/* Splits "file:line"; returns the length of the file's name, or 0: it is none. */
static size_t split_line(const char *text, size_t length, uint32_t *ret_line)
{
    const char *colon = length ? memrchr(text, ':', length) : NULL;
    unsigned long line = 0;

    if (!colon || colon == text || colon + 1 == text + length)
        return 0;
    for (const char *at = colon + 1; at < text + length; at++) {
        if (!isdigit((unsigned char)*at) || line > UINT32_MAX / 16)
            return 0;
        line = 10 * line + (unsigned)(*at - '0');
    }
    *ret_line = (uint32_t)line;
    return (size_t)(colon - text);
}

static int add_hot(const struct rp_wave_line *from, const struct rp_thread_trace *trace,
                   struct rp_map *names, struct rp_source_trace *to, struct places *places)
{
    struct rp_source_hot *hot;
    struct place place = {.trace = trace};
    size_t bytes = split_line(from->line, from->length, &place.line);

    to->cycles += from->cycles;
    if (!bytes)
        return 0;
    place.file = rp_map_add(names, from->line, bytes);
    hot = rp_array_add(&to->lines, &to->line_count);
    if (place.file == RP_NO_NUMBER || !hot)
        return -1;
    *hot = (struct rp_source_hot){.file = place.file,
                                  .line = place.line,
                                  .cycles = from->cycles,
                                  .executed = from->executed,
                                  .part = rp_wave_part_titles[from->part]};
    return place.line ? rp_vec_push(places, place) : 0;
}

static int list_hot(const struct rp_thread_trace *trace, struct rp_map *names,
                    struct rp_source_trace *ret, struct places *places)
{
    struct rp_wave_lines lines = {0};
    int rc = rp_wave_lines_find(trace, &lines) ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < lines.count; i++)
        rc = add_hot(&lines.items[i], trace, names, ret, places);
    rp_vec_free(&lines);
    return rc;
}

/* --- copies ----------------------------------------------------------------------------------- */

static char *read_small(const char *folder, const char *name)
{
    rp_autofree char *path = rp_path_join(folder, name);
    struct stat info;

    /* A link could lead to what its reader would not show to others. */
    if (!path || lstat(path, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size > MOST_BYTES)
        return NULL;
    return rp_read_text(path, MOST_BYTES);
}

/* Returns the name of the copy of a file, or NULL: there is none. */
static const char *copy_in(const json_t *tree, const char *path)
{
    const char *at = path, *end = path + strlen(path), *copy;

    if (*at == '/')
        tree = json_object_get(tree, "/");
    while (at < end) {
        size_t part = (size_t)((const char *)(memchr(at, '/', (size_t)(end - at)) ?: end) - at);

        if (part)
            tree = json_object_getn(tree, at, part);
        at += part + (at + part < end);
    }
    copy = json_string_value(tree);
    return copy && strncmp(copy, "source_", strlen("source_")) == 0 && !strchr(copy, '/') ? copy
                                                                                          : NULL;
}

static char *text_of_copy(const struct rp_thread_trace *trace, const char *path)
{
    rp_autofree char *text = read_small(trace->path, "snapshots.json");
    struct rp_err unheard = RP_ERR_INIT;
    json_t *tree = NULL;
    const char *copy = NULL;
    char *found = NULL;

    if (text && rp_att_json(text, strlen(text), &tree, &unheard) >= 0)
        copy = copy_in(tree, path);
    if (copy)
        found = read_small(trace->path, copy);
    json_decref(tree);
    return found;
}

/* --- lines ------------------------------------------------------------------------------------ */

static int add_line(struct rp_source_file *file, uint32_t number, const char *text, size_t bytes)
{
    struct rp_source_line *line = rp_array_add(&file->lines, &file->line_count);

    while (bytes && (text[bytes - 1] == '\r' || text[bytes - 1] == ' '))
        bytes--;
    if (!line)
        return -1;
    bytes = bytes < MOST_LINE_BYTES ? bytes : MOST_LINE_BYTES;
    *line = (struct rp_source_line){.line = number, .text = rp_strndup(text, bytes)};
    return line->text ? 0 : -1;
}

/* Keeps of a text the lines near one of the places, which are in the order of their lines. */
static int keep_lines(const struct place *places, size_t count, const char *text,
                      struct rp_source_file *file, size_t *room)
{
    uint32_t number = 1;
    size_t next = 0;

    for (const char *at = text; *at; number++) {
        size_t bytes = strcspn(at, "\n");

        while (next < count && (uint64_t)places[next].line + AROUND < number)
            next++;
        if (next == count || *room == 0)
            return 0;
        if ((uint64_t)number + AROUND >= places[next].line) {
            if (add_line(file, number, at, bytes) < 0)
                return -1;
            --*room;
        }
        at += bytes + (at[bytes] == '\n');
    }
    return 0;
}

static int add_text(const struct place *places, size_t count, struct rp_source_file *file,
                    size_t *room)
{
    rp_autofree char *text = NULL;

    for (size_t i = 0; i < count && !text; i++)
        if (i == 0 || places[i].trace != places[i - 1].trace)
            text = text_of_copy(places[i].trace, file->path);
    return text ? keep_lines(places, count, text, file, room) : 0;
}

static int add_texts(struct places *places, struct rp_source_texts *ret)
{
    size_t room = MOST_LINES, count;
    int rc = 0;

    if (places->count)
        qsort(places->items, places->count, sizeof *places->items, by_file_and_line);
    for (size_t i = 0; i < places->count && rc == 0 && room; i += count) {
        const struct place *first = &places->items[i];

        for (count = 1; i + count < places->count && first[count].file == first->file; count++)
            ;
        rc = add_text(first, count, &ret->files[first->file], &room);
    }
    return rc;
}

static int name_files(const struct rp_map *names, struct rp_source_texts *ret)
{
    for (uint32_t i = 0; i < names->count; i++) {
        struct rp_source_file *file = rp_array_add(&ret->files, &ret->file_count);

        if (!file)
            return -1;
        *file = (struct rp_source_file){
            .path = rp_strndup(names->keys[i].bytes, names->keys[i].length)};
        if (!file->path)
            return -1;
    }
    return 0;
}

int rp_source_texts_read(const struct rp_thread_traces *set, struct rp_source_texts *ret,
                         struct rp_err *err)
{
    struct places places = {0};
    struct rp_map names = {0};
    int rc = 0;

    for (size_t i = 0; i < set->count && rc == 0; i++) {
        struct rp_source_trace *trace = rp_array_add(&ret->traces, &ret->trace_count);

        if (trace)
            *trace = (struct rp_source_trace){0};
        rc = trace ? list_hot(&set->traces[i], &names, trace, &places) : -1;
    }
    if (rc == 0)
        rc = name_files(&names, ret);
    if (rc == 0)
        rc = add_texts(&places, ret);
    rp_vec_free(&places);
    rp_map_free(&names);
    return rc < 0 ? rp_out_of_memory(err) : 0;
}

void rp_source_texts_free(struct rp_source_texts *texts)
{
    for (size_t i = 0; i < texts->file_count; i++) {
        struct rp_source_file *file = &texts->files[i];

        for (size_t k = 0; k < file->line_count; k++)
            free(file->lines[k].text);
        free(file->lines);
        free(file->path);
    }
    for (size_t i = 0; i < texts->trace_count; i++)
        free(texts->traces[i].lines);
    free(texts->files);
    free(texts->traces);
    *texts = (struct rp_source_texts){0};
}
