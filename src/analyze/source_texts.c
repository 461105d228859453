/* The text of source lines in which the waves of thread traces spent cycles. profile copies the
 * files into the folder of a trace, and snapshots.json names the copies in a tree of folders
 * (docs/format/rocpd.md). Only those copies are read, never the file that a trace names: a trace
 * of somebody else could name any file of the reader. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/thread_trace.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/vec.h"

enum {
    MOST_BYTES = 4 << 20, /**< of a copy; profile copies none that is larger */
    MOST_LINE_BYTES = 400,
    MOST_LINES = 20000, /**< of all files together */
    AROUND = 3          /**< so many lines before and after one with cycles are kept */
};

/* A line in which an instruction was executed. */
struct place {
    const char *file; /**< not terminated */
    size_t bytes;
    uint32_t line;
    const struct rp_thread_trace *trace;
};

struct places {
    RP_VEC(struct place);
};

static int by_file_and_line(const void *a, const void *b)
{
    const struct place *l = a, *r = b;
    size_t shared = l->bytes < r->bytes ? l->bytes : r->bytes;
    int order = memcmp(l->file, r->file, shared);

    if (order || l->bytes != r->bytes)
        return order ? order : l->bytes < r->bytes ? -1 : 1;
    return (l->line > r->line) - (l->line < r->line);
}

static bool is_same_file(const struct place *a, const struct place *b)
{
    return a->bytes == b->bytes && memcmp(a->file, b->file, a->bytes) == 0;
}

/* Takes from "a.h:1 -> b.hip:2" the last part, which is in the kernel itself. */
static bool place_of(const char *source, struct place *ret)
{
    const char *at = source, *next, *colon;
    char *end;
    unsigned long line;

    while ((next = strstr(at, " -> ")))
        at = next + strlen(" -> ");
    colon = strrchr(at, ':');
    if (!colon || !isdigit((unsigned char)colon[1]))
        return false;
    line = strtoul(colon + 1, &end, 10);
    *ret = (struct place){.file = at, .bytes = (size_t)(colon - at), .line = (uint32_t)line};
    return *end == '\0' && line > 0 && line <= UINT32_MAX && ret->bytes > 0;
}

static int list_places(const struct rp_thread_traces *set, struct places *places)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct rp_thread_trace *trace = &set->traces[i];

        for (size_t k = 0; k < trace->instruction_count; k++) {
            const struct rp_att_instruction *in = &trace->instructions[k];
            struct place place;

            if (!in->sums.executed || !in->source || !place_of(in->source, &place))
                continue;
            place.trace = trace;
            if (rp_vec_push(places, place) < 0)
                return -1;
        }
    }
    if (places->count)
        qsort(places->items, places->count, sizeof *places->items, by_file_and_line);
    return 0;
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
static const char *copy_in(const json_t *tree, const struct place *of)
{
    const char *at = of->file, *end = of->file + of->bytes, *copy;

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

static char *text_of_copy(const struct place *of)
{
    rp_autofree char *text = read_small(of->trace->path, "snapshots.json");
    struct rp_err unheard = RP_ERR_INIT;
    json_t *tree = NULL;
    const char *copy = NULL;
    char *found = NULL;

    if (text && rp_att_json(text, strlen(text), &tree, &unheard) >= 0)
        copy = copy_in(tree, of);
    if (copy)
        found = read_small(of->trace->path, copy);
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

static int add_file(const struct place *places, size_t count, struct rp_source_texts *ret,
                    size_t *room)
{
    rp_autofree char *text = NULL;
    struct rp_source_file *file;

    for (size_t i = 0; i < count && !text; i++)
        if (i == 0 || places[i].trace != places[i - 1].trace)
            text = text_of_copy(&places[i]);
    if (!text)
        return 0;
    file = rp_array_add(&ret->files, &ret->file_count);
    if (!file)
        return -1;
    *file = (struct rp_source_file){.path = rp_strndup(places->file, places->bytes)};
    return !file->path ? -1 : keep_lines(places, count, text, file, room);
}

int rp_source_texts_read(const struct rp_thread_traces *set, struct rp_source_texts *ret,
                         struct rp_err *err)
{
    struct places places = {0};
    size_t room = MOST_LINES, count;
    int rc = list_places(set, &places);

    for (size_t i = 0; i < places.count && rc == 0 && room; i += count) {
        const struct place *first = &places.items[i];

        for (count = 1; i + count < places.count && is_same_file(first, &first[count]); count++)
            ;
        rc = add_file(first, count, ret, &room);
    }
    rp_vec_free(&places);
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
    free(texts->files);
    *texts = (struct rp_source_texts){0};
}
