/* Writes a thread trace as rocprofv3 leaves it after decoding: a folder of JSON files and a
 * table beside it (docs/format/rocpd.md).
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/utf8.h"
#include "run/device_thread_trace.h"
#include "run/kernel_names.h"
#include "trace/records.h"

/** These are the states of a wave, with the numbers of decoded thread traces. */
enum rp_wave_state {
    RP_STATE_EMPTY,
    RP_STATE_IDLE,  /**< no instruction to issue */
    RP_STATE_EXEC,  /**< one issues */
    RP_STATE_WAIT,  /**< at one that waits: s_waitcnt, s_barrier, s_sleep ... */
    RP_STATE_STALL, /**< one cannot be issued */
    RP_STATES
};

struct rp_state_change {
    uint64_t clock;
    int change;
};

/** Holds the states of all waves. Initialise it with zeros, and release it with
 * wave_states_free. */
struct rp_wave_states {
    struct rp_state_change *at[RP_STATES];
    size_t count[RP_STATES], room[RP_STATES];
};

/* This collects a wave's states: neighbours that are equal become one. */
struct state_run {
    struct rp_wave_states *all;
    struct rp_buf *to;
    unsigned state;
    uint64_t begin, end;
    bool any;
};

static void remember(struct rp_wave_states *s, unsigned state, uint64_t clock, int change)
{
    if (s->count[state] == s->room[state]) {
        size_t room = s->room[state] ? 2 * s->room[state] : 256;
        struct rp_state_change *grown = rp_realloc_array(s->at[state], room, sizeof *grown);

        s->at[state] = grown;
        s->room[state] = room;
    }
    s->at[state][s->count[state]++] = (struct rp_state_change){.clock = clock, .change = change};
}

static void finish(struct state_run *l)
{
    if (l->end == l->begin)
        return;
    rp_buf_printf(l->to, "%s[%u,%" PRIu64 "]", l->any ? "," : "", l->state, l->end - l->begin);
    l->any = true;
    remember(l->all, l->state, l->begin, 1);
    remember(l->all, l->state, l->end, -1);
    l->begin = l->end;
}

static void go_on(struct state_run *l, unsigned state, uint64_t until)
{
    if (until == l->end)
        return;
    if (state != l->state)
        finish(l);
    l->state = state;
    l->end = until;
}

/** Writes [[state, clocks], ...], which fill the wave's time, and remembers them. */
static void wave_states_add(struct rp_wave_states *states, const struct rp_threads_wave *wave,
                            const struct rp_threads_row *rows, struct rp_buf *to)
{
    struct state_run l = {.all = states, .to = to, .begin = wave->begin, .end = wave->begin};

    rp_buf_puts(to, "[");
    for (uint32_t i = 0; i < wave->row_count; i++) {
        bool waits = rows[i].category == RP_THREADS_IMMEDIATE;

        go_on(&l, RP_STATE_IDLE, rows[i].clock);
        go_on(&l, waits ? RP_STATE_WAIT : RP_STATE_STALL, rows[i].clock + rows[i].stall_clocks);
        go_on(&l, RP_STATE_EXEC, rows[i].clock + rows[i].latency_clocks);
    }
    go_on(&l, RP_STATE_IDLE, wave->end);
    finish(&l);
    rp_buf_puts(to, "]");
}

static int by_clock(const void *a, const void *b)
{
    const struct rp_state_change *x = a, *y = b;

    return x->clock < y->clock ? -1 : x->clock > y->clock;
}

/** Writes {"name", "state", "time"}: how many waves are in the state from each time on.
 * @return false: none ever was */
static bool wave_states_put(struct rp_wave_states *states, unsigned state, const char *name,
                            struct rp_buf *to)
{
    struct rp_state_change *at = states->at[state];
    const size_t count = states->count[state];
    int64_t waves = 0;

    if (!count)
        return false;
    qsort(at, count, sizeof *at, by_clock);
    rp_buf_printf(to, "{\"name\":\"%s\",\"state\":[", name);
    for (size_t i = 0; i < count; i++) {
        waves += at[i].change;
        if (i + 1 == count || at[i + 1].clock != at[i].clock)
            rp_buf_printf(to, "%" PRId64 "%s", waves, i + 1 == count ? "" : ",");
    }
    rp_buf_puts(to, "],\"time\":[");
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || at[i + 1].clock != at[i].clock)
            rp_buf_printf(to, "%" PRIu64 "%s", at[i].clock, i + 1 == count ? "" : ",");
    rp_buf_puts(to, "]}");
    return true;
}

static void wave_states_free(struct rp_wave_states *states)
{
    for (unsigned state = 0; state < RP_STATES; state++)
        free(states->at[state]);
    *states = (struct rp_wave_states){0};
}

enum {
    MOST_SOURCE_BYTES = 16 << 20
}; /* This limits a file: generated code may be larger, and nobody reads it. */

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

static void add_name(struct names *names, const char *name, size_t length)
{
    for (size_t i = 0; i < names->count; i++)
        if (strncmp(names->at[i], name, length) == 0 && !names->at[i][length])
            return;
    names->at = rp_realloc_array(names->at, names->count + 1, sizeof *names->at);
    names->at[names->count++] = rp_strndup(name, length);
}

/* Adds both files of "a.h:3 -> b.hip:7". */
static void add_chain(struct names *names, const char *chain)
{
    static const char arrow[] = " -> ";

    while (*chain) {
        const char *end = strstr(chain, arrow);
        const size_t length = end ? (size_t)(end - chain) : strlen(chain);
        const char *colon = memrchr(chain, ':', length);

        if (colon)
            add_name(names, chain, (size_t)(colon - chain));
        chain += length + (end ? sizeof arrow - 1 : 0);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* JSON holds only UTF-8, but a name may be any bytes. Bytes of a name that are not UTF-8 are
 * written \xNN, and a backslash twice, so that two different names stay different. */
static char *text_of_name(const char *name)
{
    const char *end = name + strlen(name);
    rp_autobuf text = {0};

    rp_buf_puts(&text, "");
    while (name < end) {
        const size_t length = rp_utf8_length(name, (size_t)(end - name));

        if (!length)
            rp_buf_printf(&text, "\\x%02x", (unsigned char)*name);
        else if (*name == '\\')
            rp_buf_puts(&text, "\\\\");
        else
            rp_buf_add(&text, name, length);
        name += length ? length : 1;
    }
    return rp_buf_steal(&text);
}

/* Counts the bytes of a text of text_of_name up to the next character of the name: of \xNN, of two
 * backslashes, or of a character. */
static size_t step_of_text(const char *text, size_t bytes)
{
    if (*text == '\\')
        return text[1] == 'x' ? sizeof "\\xNN" - 1 : 2;
    return rp_utf8_length(text, bytes);
}

/* A name of a file has at most 255 bytes. Of a longer one the end is kept, which says what language
 * it is; the number before it keeps two of them apart.
 * @param path of text_of_name */
static char *name_of_copy(const char *path, size_t number)
{
    enum { MOST_BYTES = 200 };
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *end = name + strlen(name);

    while (end - name > MOST_BYTES)
        name += step_of_text(name, (size_t)(end - name));
    return rp_format("source_%zu_%s", number, name);
}

/* Adds a path to a tree, as {"/": {"a": {"b.hip": "source_0_b.hip"}}}. std::filesystem splits paths
 * in this way. */
static void put_in_tree(json_t *tree, const char *path, const char *copy)
{
    rp_autofree char *parts = rp_strdup(path);
    char *state = NULL, *next;

    if (*path == '/') {
        if (!json_object_get(tree, "/"))
            json_object_set_new(tree, "/", json_object());
        tree = json_object_get(tree, "/");
    }
    for (char *part = strtok_r(parts, "/", &state); part; part = next) {
        next = strtok_r(NULL, "/", &state);
        if (!next) {
            json_object_set_new(tree, part, json_string(copy));
            return;
        }
        if (!json_is_object(json_object_get(tree, part)))
            json_object_set_new(tree, part, json_object());
        tree = json_object_get(tree, part);
    }
}

/* Copies a file.
 * @return 1: copied; 0: it cannot be read */
static int copy_file(const char *from, const char *to, struct rp_err *err)
{
    rp_autofree char *text = NULL;
    struct stat info;
    int rc;

    if (stat(from, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size > MOST_SOURCE_BYTES)
        return 0;
    text = rp_read_text(from, MOST_SOURCE_BYTES);
    if (!text)
        return 0;
    rc = rp_write_file_like(to, from, text, strlen(text), err);
    return rc < 0 ? rc : 1;
}

static int copy_all(const struct names *names, const char *folder, json_t *tree, struct rp_err *err)
{
    size_t number = 0;

    for (size_t i = 0; i < names->count; i++) {
        rp_autofree char *name = text_of_name(names->at[i]);
        rp_autofree char *copy = name_of_copy(name, number);
        rp_autofree char *path = rp_path_join(folder, copy);
        int rc = copy_file(names->at[i], path, err);

        if (rc < 0)
            return rc;
        if (rc > 0)
            put_in_tree(tree, name, copy);
        number += rc > 0;
    }
    return 0;
}

static int write_tree(json_t *tree, const char *folder, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, "snapshots.json");
    rp_autofree char *text = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);

    return json_object_size(tree) ? rp_write_file(path, text, strlen(text), err) : 0;
}

/**
 * Writes FOLDER/source_<n>_<name>, and FOLDER/snapshots.json, which names them in a tree of
 * folders. Files that cannot be read are left out; without any file there is no tree.
 * @return 0, RP_ENVIRONMENT
 */
static int att_copy_sources(const struct rp_code_listing *listing, const char *folder,
                            struct rp_err *err)
{
    rp_cleanup(free_names) struct names names = {0};
    json_t *tree;
    int rc = 0;

    for (size_t i = 0; i < listing->count; i++)
        if (listing->at[i].source)
            add_chain(&names, listing->at[i].source);
    if (names.count)
        qsort(names.at, names.count, sizeof *names.at, by_name);
    tree = json_object();
    rc = copy_all(&names, folder, tree, err);
    if (rc == 0)
        rc = write_tree(tree, folder, err);
    json_decref(tree);
    return rc;
}

/* The meaning of each file and the names of its keys are those of rocprofiler-sdk's public
 * att-tool, release 7.1. Keys stand in the order of its JSON library, which sorts them. */
#define FORMAT_VERSION "3.0.0"

enum { MOST_ENGINES = 32, SIMDS = 4, SLOTS = 8 };

struct writer {
    const struct rp_device_trace_file *file;
    const struct rp_code_listing *listing;
    struct rp_demangler *demangler;
    char *folder;
    uint32_t *id; /**< of each wave: its number among those on its slot */
};

static int put_file(const struct writer *w, const char *name, const struct rp_buf *text,
                    struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(w->folder, name);

    return rp_write_file(path, text->data ? text->data : "", text->len, err);
}

/* Writes a JSON string. */
static void put_string(struct rp_buf *to, const char *text)
{
    rp_autofree char *plain = text_of_name(text), *quoted = NULL;
    json_t *string = json_string(plain);

    quoted = json_dumps(string, JSON_ENCODE_ANY);
    rp_buf_puts(to, quoted);
    json_decref(string);
}

/* --- code.json and the table --------------------------------------------------------------- */

static const char *text_of(const struct writer *w, const struct rp_code_line *line)
{
    return rp_device_trace_text(w->file, line->code);
}

static void put_code_row(const struct writer *w, const struct rp_code_line *line, struct rp_buf *to)
{
    rp_autofree char *label = line->label ? rp_format("; %s", line->label->symbol) : NULL;
    rp_autofree char *name =
        line->label ? rp_demangle_kernel(w->demangler, line->label->symbol) : NULL;

    rp_buf_puts(to, "[");
    put_string(to, label ? label : text_of(w, line));
    rp_buf_printf(to, ",0,%" PRIu32 ",", line->line);
    put_string(to, name ? name : line->source ? line->source : "");
    rp_buf_printf(to, ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
                  line->object, line->address, line->hits, line->latency, line->stall, line->idle);
    to->failed |= line->label && (!label || !name);
}

static int write_code(const struct writer *w, struct rp_err *err)
{
    rp_autobuf text = {0};

    rp_buf_puts(&text, "{\"code\":");
    if (!w->file->header->wave_count) /* The capture is empty, as it can be on hardware. */
        rp_buf_puts(&text, "null");
    for (size_t i = 0; w->file->header->wave_count && i < w->listing->count; i++) {
        rp_buf_puts(&text, i ? "," : "[");
        put_code_row(w, &w->listing->at[i], &text);
    }
    rp_buf_puts(&text, w->file->header->wave_count ? "]" : "");
    rp_buf_puts(&text, ",\"header\":\"ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, "
                       "Stall, Idle\",\"version\":\"" FORMAT_VERSION "\"}");
    return put_file(w, "code.json", &text, err);
}

static void put_quoted(struct rp_buf *to, const char *text)
{
    rp_buf_puts(to, "\"");
    for (; *text; text++)
        rp_buf_printf(to, "%s%c", *text == '"' ? "\"" : "", *text);
    rp_buf_puts(to, "\"");
}

static void put_stats_row(const struct writer *w, const struct rp_code_line *line,
                          struct rp_buf *to)
{
    rp_autofree char *label = line->label ? rp_format("; %s", line->label->symbol) : NULL;
    rp_autofree char *name =
        line->label ? rp_demangle_kernel(w->demangler, line->label->symbol) : NULL;

    rp_buf_printf(to, "%" PRIu32 ",%" PRIu64 ",", line->object, line->address);
    put_quoted(to, label ? label : text_of(w, line));
    rp_buf_printf(to, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", line->hits,
                  line->latency, line->stall, line->idle);
    put_quoted(to, name ? name : line->source ? line->source : "");
    rp_buf_puts(to, "\n");
    to->failed |= line->label && (!label || !name);
}

static int by_address(const void *a, const void *b)
{
    const struct rp_code_line *x = *(const struct rp_code_line *const *)a;
    const struct rp_code_line *y = *(const struct rp_code_line *const *)b;

    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (y->label != NULL) - (x->label != NULL);
}

static int write_stats(const struct writer *w, const char *path, struct rp_err *err)
{
    rp_autofree const struct rp_code_line **sorted =
        rp_alloc_zero(w->listing->count + 1, sizeof *sorted);
    rp_autobuf text = {0};

    for (size_t i = 0; i < w->listing->count; i++)
        sorted[i] = &w->listing->at[i];
    qsort(sorted, w->listing->count, sizeof *sorted, by_address);
    rp_buf_puts(&text, "\"CodeObj\",\"Vaddr\",\"Instruction\",\"Hitcount\",\"Latency\",\"Stall\","
                       "\"Idle\",\"Source\"\n");
    for (size_t i = 0; w->file->header->wave_count && i < w->listing->count; i++)
        put_stats_row(w, sorted[i], &text);
    return rp_write_file(path, text.data, text.len, err);
}

/* --- waves --------------------------------------------------------------------------------- */

static void put_rows(const struct writer *w, const struct rp_threads_wave *wave, struct rp_buf *to)
{
    rp_buf_puts(to, "[");
    for (uint32_t i = 0; i < wave->row_count; i++) {
        const struct rp_threads_row *row = &w->file->row[wave->first_row + i];

        rp_buf_printf(to, "%s[%" PRIu64 ",%u,%" PRIu32 ",%" PRIu32 ",%" PRIu32 "]", i ? "," : "",
                      row->clock, row->category, row->stall_clocks, row->latency_clocks,
                      w->listing->line_of[row->code]);
    }
    rp_buf_puts(to, "]");
}

/* Writes [[line of the wait, [[line waited for, 0], ...]], ...]. Each wait is written once, where
 * it comes first. */
static void put_waits(const struct writer *w, const struct rp_threads_wave *wave, struct rp_buf *to)
{
    const struct rp_threads_wait *waits = &w->file->wait[wave->first_wait];
    bool any = false;

    rp_buf_puts(to, "[");
    for (uint32_t i = 0; i < wave->wait_count; i++) {
        uint32_t first = 0;

        while (waits[first].code != waits[i].code)
            first++;
        if (first != i)
            continue;
        rp_buf_printf(to, "%s[%" PRIu32 ",[", any ? "," : "", w->listing->line_of[waits[i].code]);
        any = true;
        for (uint32_t k = i; k < wave->wait_count; k++)
            if (waits[k].code == waits[i].code)
                rp_buf_printf(to, "%s[%" PRIu32 ",0]", k > i ? "," : "",
                              w->listing->line_of[waits[k].on]);
        rp_buf_puts(to, "]]");
    }
    rp_buf_puts(to, "]");
}

static char *wave_name(const struct writer *w, size_t at)
{
    const struct rp_threads_wave *wave = &w->file->wave[at];

    return rp_format("se%u_sm%u_sl%u_wv%u.json", wave->engine, wave->simd, wave->slot, w->id[at]);
}

static int write_wave(const struct writer *w, size_t at, struct rp_wave_states *states,
                      struct rp_err *err)
{
    const struct rp_threads_wave *wave = &w->file->wave[at];
    rp_autofree char *name = wave_name(w, at);
    rp_autobuf text = {0};

    rp_buf_printf(&text,
                  "{\"duration\":%" PRIu64 ",\"name\":\"SE%u\",\"num_insts\":%" PRIu32
                  ",\"num_stitched\":%" PRIu32 ",\"wave\":{\"begin\":%" PRIu64
                  ",\"cu\":%u,\"end\":%" PRIu64 ",\"id\":%" PRIu32 ",\"instructions\":",
                  wave->end - wave->begin, wave->engine, wave->row_count, wave->row_count,
                  wave->begin, wave->cu, wave->end, w->id[at]);
    put_rows(w, wave, &text);
    rp_buf_printf(&text, ",\"simd\":%u,\"slot\":%u,\"timeline\":", wave->simd, wave->slot);
    wave_states_add(states, wave, &w->file->row[wave->first_row], &text);
    rp_buf_puts(&text, ",\"waitcnt\":");
    put_waits(w, wave, &text);
    rp_buf_puts(&text, "}}");
    return put_file(w, name, &text, err);
}

static int write_waves(const struct writer *w, struct rp_err *err)
{
    rp_cleanup(wave_states_free) struct rp_wave_states states = {0};
    int rc = 0;

    for (size_t i = 0; i < w->file->header->wave_count && rc == 0; i++)
        rc = write_wave(w, i, &states, err);
    for (unsigned state = 1; state < RP_STATES && rc == 0; state++) {
        rp_autobuf text = {0};
        char name[32];

        snprintf(name, sizeof name, "wstates%u.json", state);
        if (wave_states_put(&states, state, name, &text))
            rc = put_file(w, name, &text, err);
    }
    return rc;
}

/* --- what there is ------------------------------------------------------------------------- */

static json_t *child(json_t *of, unsigned number)
{
    char key[16];
    json_t *found;

    snprintf(key, sizeof key, "%u", number);
    found = json_object_get(of, key);
    if (!found && json_object_set_new(of, key, json_object()) == 0)
        found = json_object_get(of, key);
    return found;
}

static json_t *wave_names(const struct writer *w)
{
    json_t *root = w->file->header->wave_count ? json_object() : json_null();

    for (size_t i = 0; root && i < w->file->header->wave_count; i++) {
        const struct rp_threads_wave *wave = &w->file->wave[i];
        json_t *slot = child(child(child(root, wave->engine), wave->simd), wave->slot);
        rp_autofree char *name = wave_name(w, i);
        char key[16];

        snprintf(key, sizeof key, "%" PRIu32, w->id[i]);
        if (!slot || !name ||
            json_object_set_new(
                slot, key,
                json_pack("[s,I,I]", name, (json_int_t)wave->begin, (json_int_t)wave->end)) < 0) {
            json_decref(root);
            return NULL;
        }
    }
    return root;
}

/* The file has a key of our own, so that modelled times are not taken for measured ones. */
static int write_filenames(const struct writer *w, struct rp_err *err)
{
    const struct rp_threads_header *h = w->file->header;
    uint64_t cut = 0, by_buffer = 0;
    const char *symbol = w->listing->kernel_symbol;
    rp_autofree char *kernel = symbol ? rp_demangle_kernel(w->demangler, symbol) : NULL;
    rp_autofree char *text = NULL;
    rp_autobuf out = {0};
    char code[24];
    json_t *root;

    for (uint64_t i = 0; i < h->wave_count; i++) {
        cut += w->file->wave[i].cut != RP_THREADS_WHOLE;
        by_buffer += w->file->wave[i].cut == RP_THREADS_BUFFER_FULL;
    }
    snprintf(code, sizeof code, "%016" PRIx64, w->listing->kernel_hash);
    root = json_pack(
        "{s:[], s:i, s:s, s:i, s:b, s:{s:s, s:s?, s:s?, s:s, s:I, s:I, s:I, s:I, s:I}, s:b, s:s, "
        "s:o}",
        "counter_names", "gfxip", (int)h->gfx_ip, "gfxv", h->gfx_ip > 9 ? "navi" : "vega",
        "global_begin_time", 0, "pc_sampling", 0, "rocm_perf", "device", "software", "code_hash",
        w->listing->kernel_hash ? code : NULL, "kernel", kernel, "timing", "detailed", "workgroups",
        (json_int_t)h->group_count, "workgroups_modelled", (json_int_t)h->groups, "waves_cut_short",
        (json_int_t)cut, "waves_cut_short_by_buffer", (json_int_t)by_buffer, "waves_lost",
        (json_int_t)h->lost_waves, "thread_trace", 1, "version", FORMAT_VERSION, "wave_filenames",
        wave_names(w));
    if (!root)
        return rp_fail(err, RP_BAD_INPUT, "the name of the kernel is not UTF-8");
    text = json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(root);
    rp_buf_puts(&out, text);
    return put_file(w, "filenames.json", &out, err);
}

/* --- occupancy and clocks ------------------------------------------------------------------ */

static int write_occupancy(const struct writer *w, struct rp_err *err)
{
    const struct rp_threads_header *h = w->file->header;
    rp_autofree char *unknown = rp_format("%" PRIu32 " / 0x%" PRIx64, w->listing->kernel_object,
                                          w->listing->kernel_address);
    rp_autobuf text = {0};

    rp_buf_puts(&text, "{");
    for (uint64_t i = 0; i < h->event_count; i++) {
        const struct rp_threads_event *e = &w->file->event[i];

        if (!i || e->engine != e[-1].engine)
            rp_buf_printf(&text, "%s\"%u\":[", i ? "]," : "", e->engine);
        else
            rp_buf_puts(&text, ",");
        rp_buf_printf(&text, "[%" PRIu64 ",%u,%u,%u,%u,1]", e->clock, e->cu, e->simd, e->slot,
                      e->begins);
    }
    rp_buf_printf(&text, "%s\"dispatches\":{\"0\":\"0 / 0x0\",\"1\":", h->event_count ? "]," : "");
    put_string(&text, w->listing->kernel_symbol ? w->listing->kernel_symbol : unknown);
    rp_buf_puts(&text, "},\"version\":\"" FORMAT_VERSION "\"}");
    return put_file(w, "occupancy.json", &text, err);
}

/* Writes both clocks at the launch and at the end, because the engine's is a multiple of the other.
 */
static int write_clocks(const struct writer *w, struct rp_err *err)
{
    const struct rp_threads_header *h = w->file->header;
    uint64_t last = 0, ticks;
    bool any = false;
    rp_autobuf text = {0};

    for (uint64_t i = 0; i < h->event_count; i++)
        last = w->file->event[i].clock > last ? w->file->event[i].clock : last;
    ticks = last * h->timestamp_mhz / h->engine_mhz + 1;
    rp_buf_puts(&text, "{");
    for (uint64_t i = 0; i < h->event_count; i++) {
        const struct rp_threads_event *e = &w->file->event[i];

        if (i && e->engine == e[-1].engine)
            continue;
        rp_buf_printf(&text, "%s\"SE%u\":[[0,%" PRIu64 "],[%" PRIu64 ",%" PRIu64 "]]",
                      any ? "," : "", e->engine, h->start_ticks,
                      ticks * h->engine_mhz / h->timestamp_mhz, h->start_ticks + ticks);
        any = true;
    }
    rp_buf_printf(&text, "%s\"metadata\":{\"frequency\":%" PRIu64 "}}", any ? "," : "",
                  (uint64_t)h->timestamp_mhz * 1000000);
    return put_file(w, "realtime.json", &text, err);
}

/* --- variables.json ------------------------------------------------------------------------ */

/* rocprofv3 has no such file. A program without debug information has none; a kernel with nothing
 * but parameters has an empty list. */
static int write_variables(const struct writer *w, struct rp_err *err)
{
    const struct rp_source_variables *all = &w->listing->variables;
    rp_autobuf text = {0};

    if (!all->function_place)
        return 0;
    rp_buf_puts(&text, "{\"kernel\":");
    put_string(&text, all->function_place);
    rp_buf_printf(&text, ",\"lds_bytes\":%" PRIu64 ",\"variables\":[",
                  w->listing->kernel_lds_bytes);
    for (size_t i = 0; i < all->count; i++) {
        rp_buf_puts(&text, i ? ",{\"function\":" : "{\"function\":");
        put_string(&text, all->at[i].function);
        rp_buf_puts(&text, ",\"name\":");
        put_string(&text, all->at[i].name);
        rp_buf_puts(&text, ",\"place\":");
        put_string(&text, all->at[i].place);
        rp_buf_printf(&text, ",\"bytes\":%" PRIu64 "}", all->at[i].bytes);
    }
    rp_buf_puts(&text, "]}");
    return put_file(w, "variables.json", &text, err);
}

/* --- accesses.json ------------------------------------------------------------------------- */

/* rocprofv3 has no such file. */
static int write_accesses(const struct writer *w, struct rp_err *err)
{
    bool any = false;
    rp_autobuf text = {0};

    rp_buf_puts(&text, "{\"header\":\"Line, Accesses, Lookups, Needed_Lookups, "
                       "Lds_Conflict_Clocks\",\"accesses\":[");
    for (size_t i = 0; i < w->listing->count; i++) {
        const struct rp_code_line *line = &w->listing->at[i];
        const struct rp_threads_code *code = &w->file->code[line->code];

        if (line->label || !code->accesses)
            continue;
        rp_buf_printf(&text, "%s[%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
                      any ? "," : "", line->line, code->accesses, code->lookups,
                      code->needed_lookups, code->lds_conflict_clocks);
        any = true;
    }
    rp_buf_puts(&text, "]}");
    return put_file(w, "accesses.json", &text, err);
}

/* --- all ----------------------------------------------------------------------------------- */

/* Numbers the waves of a slot in the order in which they begin. */
static void number_waves(struct writer *w)
{
    uint32_t next[MOST_ENGINES][SIMDS][SLOTS] = {0};

    w->id = rp_alloc_zero(w->file->header->wave_count + 1, sizeof *w->id);
    for (uint64_t i = 0; i < w->file->header->wave_count; i++) {
        const struct rp_threads_wave *wave = &w->file->wave[i];

        w->id[i] = next[wave->engine][wave->simd][wave->slot]++;
    }
}

int rp_att_write(const struct rp_device_trace_file *file, const struct rp_code_listing *listing,
                 struct rp_demangler *demangler, const char *dir, uint64_t agent, uint64_t dispatch,
                 struct rp_err *err)
{
    static int (*const steps[])(const struct writer *w, struct rp_err *err) = {
        write_code,   write_waves,     write_filenames, write_occupancy,
        write_clocks, write_variables, write_accesses};
    rp_autofree char *name =
        rp_format("ui_output_agent_%" PRIu64 "_dispatch_%" PRIu64, agent, dispatch);
    rp_autofree char *folder = rp_path_join(dir, name);
    rp_autofree char *stats = rp_format("%s/stats_%s.csv", dir, name);
    struct writer w = {.file = file, .listing = listing, .demangler = demangler, .folder = folder};
    int rc = rp_mkdirs(folder, err);

    number_waves(&w);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && rc == 0; i++)
        rc = steps[i](&w, err);
    if (rc == 0)
        rc = write_stats(&w, stats, err);
    if (rc == 0)
        rc = att_copy_sources(listing, folder, err);
    free(w.id);
    return rc;
}
