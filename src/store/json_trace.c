#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "rocm-perf/store.h"
#include "store/gzip.h"
#include "store/json_cut.h"
#include "store/json_fields.h"
#include "store/json_rows.h"
#include "store/reader.h"
#include "store/sqlerr.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/*
 * The JSON that rocprofv3 writes (--output-format json) becomes the rows that it would have written
 * to a rocpd database. The file has parts in an order of its own, so that it is gone through once
 * to find them, and the parts are then read as they need each other. Only one record at a time is
 * in memory as JSON; the rows are in a temporary database that may spill to the disk.
 */

static const char root[] = "rocprofiler-sdk-tool";

struct file {
    struct rp_json_loader rows;
    struct rp_json_cut cut;
    struct rp_json_record record;
};

/* Where the sections of one process are; 0: it has none. */
struct places {
    uint64_t at[RP_JSON_SECTIONS];
    const char *wanted; /* the search ends at this section if it has a record; NULL: never */
};

static void note_place(struct file *f, const char *group, const char *key, struct places *places)
{
    size_t len = strlen(group);

    for (size_t i = 0; i < RP_JSON_SECTIONS; i++)
        if (strncmp(rp_json_sections[i].path, group, len) == 0 &&
            strcmp(rp_json_sections[i].path + len, key) == 0)
            places->at[i] = rp_json_cut_offset(&f->cut);
}

static bool is_wanted(const char *group, const char *key, const char *wanted)
{
    const size_t len = strlen(group);

    return wanted && strncmp(wanted, group, len) == 0 && strcmp(wanted + len, key) == 0;
}

/* @return 1; 0: there is none, and what is there was read */
static int enter_records(struct file *f, char first, struct rp_err *err)
{
    int result;

    if (first == '{')
        return 1;
    if (first != '[')
        return rp_json_cut_value(&f->cut, NULL, err);
    result = rp_json_cut_enter(&f->cut, '[', err);
    return result < 0 ? result : rp_json_cut_next(&f->cut, ']', true, err);
}

static bool is_group(const char *key)
{
    return strcmp(key, "strings") == 0 || strcmp(key, "buffer_records") == 0 ||
           strcmp(key, "callback_records") == 0;
}

/* An object: of the process, or of a group of sections within it ("strings.").
 * @return 1: at the wanted section; 0: behind the object */
static int find_places(struct file *f, const char *group, struct places *places, struct rp_err *err)
{
    char key[RP_JSON_KEY_BYTES], first;
    int result = rp_json_cut_enter(&f->cut, '{', err);

    for (bool begin = true; result >= 0; begin = false) {
        result = rp_json_cut_next(&f->cut, '}', begin, err);
        if (result <= 0)
            break;
        result = rp_json_cut_key(&f->cut, key, err);
        if (result == 0)
            result = rp_json_cut_peek(&f->cut, &first, err);
        if (result < 0)
            break;
        if (!*group && first == '{' && is_group(key)) {
            rp_autofree char *inner = rp_format("%s.", key);
            result = inner ? find_places(f, inner, places, err)
                           : rp_fail(err, RP_ENVIRONMENT, "out of memory");
        } else {
            note_place(f, group, key, places);
            result = is_wanted(group, key, places->wanted) ? enter_records(f, first, err)
                                                           : rp_json_cut_value(&f->cut, NULL, err);
        }
        if (result > 0)
            break;
    }
    return result;
}

/* One that is not plain, or wanted as it is. */
static int read_odd_record(struct file *f, const struct rp_json_section *section,
                           struct rp_err *err)
{
    const struct rp_buf *text;
    json_t *record;
    int result = rp_json_cut_value(&f->cut, &text, err);

    if (result < 0)
        return result;
    record = rp_json_parse(text, err);
    if (!record)
        return -(int)err->code;
    if (!json_is_object(record))
        result = rp_fail(err, RP_BAD_INPUT, "it is no object");
    else if (!rp_json_copy(&f->record, record))
        result = rp_fail(err, RP_ENVIRONMENT, "out of memory");
    f->rows.whole = record;
    if (result == 0)
        result = section->add(&f->rows, f->record.values, err);
    f->rows.whole = NULL;
    json_decref(record);
    return result;
}

static int read_record(struct file *f, const struct rp_json_section *section, struct rp_err *err)
{
    char first;
    int result = rp_json_cut_peek(&f->cut, &first, err);

    if (result < 0)
        return result;
    if (!section->whole && first == '{' && rp_json_cut_plain(&f->cut, &f->record))
        return section->add(&f->rows, f->record.values, err);
    return read_odd_record(f, section, err);
}

static int read_section(struct file *f, const struct rp_json_section *section, uint64_t offset,
                        struct rp_err *err)
{
    char first;
    int result;

    rp_json_cut_seek(&f->cut, offset);
    result = rp_json_cut_peek(&f->cut, &first, err);
    if (result == 0 && first == '{') {
        result = read_record(f, section, err);
        return result < 0 ? rp_wrap(err, "%s", section->path) : 0;
    }
    if (result == 0)
        result = rp_json_cut_enter(&f->cut, '[', err);
    for (uint64_t n = 0; result >= 0; n++) {
        result = rp_json_cut_next(&f->cut, ']', n == 0, err);
        if (result <= 0)
            break;
        result = read_record(f, section, err);
        if (result < 0)
            return rp_wrap(err, "%s[%" PRIu64 "]", section->path, n);
    }
    return result < 0 ? rp_wrap(err, "%s", section->path) : 0;
}

/* Behind the value of the first key: nothing that would be lost unseen. */
static int expect_end(struct file *f, struct rp_err *err)
{
    char key[RP_JSON_KEY_BYTES], next;
    int result;

    while ((result = rp_json_cut_next(&f->cut, '}', false, err)) > 0) {
        result = rp_json_cut_key(&f->cut, key, err);
        if (result == 0 && strcmp(key, root) == 0)
            result = rp_fail(err, RP_BAD_INPUT, "it has \"%s\" twice", root);
        if (result == 0)
            result = rp_json_cut_value(&f->cut, NULL, err);
        if (result < 0)
            return result;
    }
    if (result == 0)
        result = rp_json_cut_peek(&f->cut, &next, err);
    if (result == 0 && rp_json_cut_offset(&f->cut) < f->cut.size_bytes)
        result = rp_fail(err, RP_BAD_INPUT,
                         "its document ends before byte %" PRIu64 ", but the file goes on to byte"
                         " %" PRIu64 ": it is damaged, or several files are in one",
                         rp_json_cut_offset(&f->cut) + 1, f->cut.size_bytes);
    return result;
}

static int not_of_rocprofv3(struct rp_err *err)
{
    return rp_fail(err, RP_BAD_INPUT,
                   "it is JSON, but does not begin with {\"%s\": is it of rocprofv3?", root);
}

/* Goes into the document, to the value of its first key. */
static int enter_document(struct file *f, struct rp_err *err)
{
    char key[RP_JSON_KEY_BYTES], first;
    int result = rp_json_cut_peek(&f->cut, &first, err);

    if (result < 0)
        return result;
    if (rp_json_cut_offset(&f->cut) == f->cut.size_bytes)
        return rp_fail(err, RP_BAD_INPUT, "it is empty: there is no JSON in it");
    if (first == '\0' || (first & 0x80))
        return rp_fail(err, RP_BAD_INPUT,
                       "it is no JSON: it begins with the byte 0x%02x, as of a byte order mark or"
                       " of UTF-16; rocprofv3 writes UTF-8 without a mark",
                       (unsigned char)first);
    if (first == '[')
        return not_of_rocprofv3(err);
    result = rp_json_cut_enter(&f->cut, '{', err);
    if (result == 0)
        result = rp_json_cut_peek(&f->cut, &first, err);
    if (result == 0 && first == '}')
        return not_of_rocprofv3(err);
    if (result == 0)
        result = rp_json_cut_key(&f->cut, key, err);
    return result == 0 && strcmp(key, root) != 0 ? not_of_rocprofv3(err) : result;
}

/* Goes to the process of that number; if there are not so many, to the end of the file.
 * @return as rp_json_cut_next; 0: there are not so many */
static int go_to_process(struct file *f, size_t process, struct rp_err *err)
{
    char first = '\0';
    int result = enter_document(f, err);

    if (result == 0)
        result = rp_json_cut_peek(&f->cut, &first, err);
    if (result < 0)
        return result;
    if (first == '{' && process == 0)
        return 1;
    if (first == '{') {
        result = rp_json_cut_value(&f->cut, NULL, err);
        return result < 0 ? result : expect_end(f, err);
    }
    result = rp_json_cut_enter(&f->cut, '[', err);
    for (size_t i = 0; result >= 0; i++) {
        result = rp_json_cut_next(&f->cut, ']', i == 0, err);
        if (result <= 0 || i == process)
            break;
        result = rp_json_cut_value(&f->cut, NULL, err);
    }
    return result == 0 ? expect_end(f, err) : result;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* The tables of rocpd, with the columns that the JSON has values for. */
static const char tables[] =
    "PRAGMA journal_mode = OFF; PRAGMA cache_size = -262144;" /* 256 MB, then to the disk */
    "CREATE TABLE message (id INTEGER PRIMARY KEY, text TEXT);"
    "CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);"
    "CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);"
    "CREATE TABLE rocpd_info_node (id INTEGER PRIMARY KEY, machine_id TEXT, hostname TEXT);"
    "CREATE TABLE rocpd_info_process (id INTEGER PRIMARY KEY, pid, init, fini, start, end,"
    " command TEXT, extdata TEXT);"
    "CREATE TABLE rocpd_info_agent (id INTEGER PRIMARY KEY, type, absolute_index,"
    " logical_index, type_index, uuid, name TEXT, model_name TEXT, vendor_name TEXT,"
    " product_name TEXT, user_name TEXT, extdata TEXT);"
    "CREATE TABLE rocpd_info_thread (id INTEGER PRIMARY KEY, tid);"
    "CREATE TABLE rocpd_info_queue (id INTEGER PRIMARY KEY, name);"
    "CREATE TABLE rocpd_info_stream (id INTEGER PRIMARY KEY, name);"
    "CREATE TABLE rocpd_info_pmc (id INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE rocpd_info_code_object (id INTEGER PRIMARY KEY, load_base, load_size,"
    " load_delta, agent_id, uri TEXT);"
    "CREATE TABLE rocpd_info_kernel_symbol (id INTEGER PRIMARY KEY, code_object_id, kernel_object,"
    " kernarg_segment_size, kernarg_segment_alignment, group_segment_size, private_segment_size,"
    " sgpr_count, arch_vgpr_count, accum_vgpr_count, kernel_name TEXT, display_name TEXT);"
    "CREATE TABLE rocpd_event (id INTEGER PRIMARY KEY, stack_id, parent_stack_id, extdata TEXT);"
    "CREATE TABLE rocpd_arg (id INTEGER PRIMARY KEY, event_id, position, name TEXT, value TEXT);"
    "CREATE TABLE rocpd_pmc_event (id INTEGER PRIMARY KEY, event_id, pmc_id, value REAL);"
    "CREATE TABLE rocpd_region (id INTEGER PRIMARY KEY, tid, start, end, name_id, event_id);"
    "CREATE TABLE rocpd_kernel_dispatch (id INTEGER PRIMARY KEY, tid, agent_id,"
    " kernel_id, dispatch_id, queue_id, stream_id, start, end, private_segment_size,"
    " group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x,"
    " grid_size_y, grid_size_z, event_id);"
    "CREATE TABLE rocpd_memory_copy (id INTEGER PRIMARY KEY, tid, start, end, name_id,"
    " dst_agent_id, dst_address, src_agent_id, src_address, size, stream_id, event_id);"
    "BEGIN";

static const char rest[] =
    "INSERT INTO rocpd_info_thread SELECT tid, tid FROM (SELECT tid FROM rocpd_region UNION"
    " SELECT tid FROM rocpd_kernel_dispatch UNION SELECT tid FROM rocpd_memory_copy);"
    "INSERT INTO rocpd_info_queue SELECT DISTINCT queue_id, NULL FROM rocpd_kernel_dispatch"
    " WHERE queue_id IS NOT NULL;"
    "INSERT INTO rocpd_info_stream SELECT id, NULL FROM (SELECT stream_id AS id FROM"
    " rocpd_kernel_dispatch UNION SELECT stream_id FROM rocpd_memory_copy) WHERE id IS NOT NULL;"
    "INSERT OR IGNORE INTO rocpd_info_process (id, pid) VALUES (1, 0);"
    "COMMIT";

/* @return 1; 0: there is no such process */
static int read_all(struct file *f, const char *path, size_t process, struct rp_err *err)
{
    struct places places = {0};
    int result = rp_json_cut_open(&f->cut, path, 0, err), found = 0;

    if (result == 0)
        result = found = go_to_process(f, process, err);
    if (result <= 0)
        return result;
    result = find_places(f, "", &places, err);
    if (result == 0)
        result = rp_memdb_begin(&f->rows.m, "", tables, err);
    for (size_t i = 0; i < RP_JSON_SECTIONS && result == 0; i++)
        if (places.at[i])
            result = read_section(f, &rp_json_sections[i], places.at[i], err);
    if (result == 0)
        result = rp_json_put_parents(&f->rows, err);
    if (result == 0)
        result = rp_sql_exec(f->rows.m.db, rest, err);
    return result < 0 ? result : found;
}

static void end_load(struct file *f)
{
    rp_memdb_end(&f->rows.m);
    rp_json_cut_close(&f->cut);
    rp_calls_free(&f->rows.orphans);
    for (size_t i = 0; i < f->rows.kind_count; i++)
        json_decref(f->rows.kinds[i]);
    rp_json_record_free(&f->record);
    free(f->rows.kinds);
    free(f->rows.agents);
    free(f);
}

int rp_store_open_json(const char *path, size_t process, struct rp_store **ret, struct rp_err *err)
{
    rp_autofree char *name = process ? rp_format("%s#%zu", path, process + 1) : strdup(path);
    struct file *f = calloc(1, sizeof *f);
    uint64_t bytes;
    sqlite3 *db;
    int result;

    if (!f || !name) {
        free(f);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    f->cut.fd = -1;
    result = read_all(f, path, process, err);
    db = f->rows.m.db;
    bytes = f->cut.size_bytes;
    end_load(f);
    if (result > 0)
        return rp_store_adopt(db, name, strlen(name), bytes, ret, err);
    sqlite3_close(db);
    if (result < 0)
        return rp_wrap(err, "read trace %s", path);
    if (process == 0)
        return rp_fail(err, RP_BAD_INPUT, "read trace %s: it holds no process", path);
    *ret = NULL;
    return 0;
}

bool rp_json_has_records(const char *path, const char *section)
{
    int process_found = 1, found = 0;

    for (size_t process = 0; process_found > 0 && found == 0; process++) {
        struct file *f = calloc(1, sizeof *f);
        struct places places = {.wanted = section};
        struct rp_err err = RP_ERR_INIT;

        if (!f)
            return false;
        f->cut.fd = -1;
        process_found = rp_json_cut_open(&f->cut, path, 0, &err);
        if (process_found == 0)
            process_found = go_to_process(f, process, &err);
        if (process_found > 0)
            found = find_places(f, "", &places, &err);
        end_load(f);
    }
    return found > 0;
}

enum { PEEK_BYTES = 1 << 20 }; /* more than keys and white space have before the first record */

/* Up to the first key of the first process. */
static bool begins_with(struct rp_json_cut *cut, bool of_process)
{
    char key[RP_JSON_KEY_BYTES], first;
    struct rp_err err = RP_ERR_INIT;

    if (rp_json_cut_enter(cut, '{', &err) < 0 || rp_json_cut_key(cut, key, &err) < 0 ||
        strcmp(key, root) != 0)
        return false;
    if (!of_process)
        return true;
    if (rp_json_cut_peek(cut, &first, &err) < 0 ||
        (first == '[' && rp_json_cut_enter(cut, '[', &err) < 0))
        return false;
    return rp_json_cut_enter(cut, '{', &err) == 0 && rp_json_cut_key(cut, key, &err) == 0 &&
           strcmp(key, "metadata") == 0;
}

bool rp_store_is_json(const char *path, bool of_process)
{
    struct rp_json_cut *cut = calloc(1, sizeof *cut);
    struct rp_err err = RP_ERR_INIT;
    bool is;

    if (!cut)
        return false;
    cut->fd = -1;
    is = rp_json_cut_open(cut, path, PEEK_BYTES, &err) == 0 && begins_with(cut, of_process);
    rp_json_cut_close(cut);
    free(cut);
    return is;
}

bool rp_store_is_named_json(const char *path)
{
    static const char name[] = "results.json";
    struct rp_json_cut *cut = calloc(1, sizeof *cut);
    struct rp_err err = RP_ERR_INIT;
    char first;
    bool is = false;

    if (!cut)
        return false;
    cut->fd = -1;
    if (rp_plain_ends_with(path, name))
        is = rp_json_cut_open(cut, path, PEEK_BYTES, &err) == 0 &&
             rp_json_cut_peek(cut, &first, &err) == 0 &&
             first != 'S'; /* "SQLite format 3": a database by another name */
    rp_json_cut_close(cut);
    free(cut);
    return is;
}
