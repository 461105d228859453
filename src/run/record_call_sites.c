/**
 * @file record_call_sites.c
 * @brief Turns the recorded places of HIP calls into lines of the program's own source.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "base/vec.h"
#include "run/record_to_db.h"
#include "run/source_lines.h"
#include "trace/records.h"
#include "trace/rocpd.h"

struct frame {
    uint64_t address;
    uint32_t module_id;
    struct rp_source_places places; /**< empty: not known */
};

/** This is what a record of a place becomes. */
struct site {
    char *line_info, *call_stack; /**< JSON; NULL: not known */
    struct {
        RP_VEC(const struct rp_rec_python_frame *);
    } python; /**< the innermost first */
};

struct rp_call_sites {
    const struct rp_record_file *file;
    struct {
        RP_VEC(struct frame);
    } frames;             /**< each address once */
    struct rp_map places; /**< of struct frame_key, numbered as frames */
    struct rp_idmap ids;  /**< of the records; lost ones leave gaps */
    struct site *sites;   /**< numbered as ids */
    uint64_t with_lines;
};

/** It has no padding, because all of its bytes are compared. */
struct frame_key {
    uint64_t address, module_id;
};

void rp_call_sites_free(struct rp_call_sites *sites)
{
    if (!sites)
        return;
    for (size_t i = 0; i < sites->frames.count; i++)
        rp_source_places_free(&sites->frames.items[i].places);
    rp_vec_free(&sites->frames);
    rp_map_free(&sites->places);
    for (uint32_t i = 0; sites->sites && i < sites->ids.count; i++) {
        free(sites->sites[i].line_info);
        free(sites->sites[i].call_stack);
        rp_vec_free(&sites->sites[i].python);
    }
    rp_idmap_free(&sites->ids);
    free(sites->sites);
    free(sites);
}

/* --- frames -------------------------------------------------------------------------------- */

static struct frame *frame_of(struct rp_call_sites *sites, const struct rp_rec_call_site *site,
                              uint32_t i)
{
    const struct frame_key key = {.address = site->address[i], .module_id = site->module_id[i]};
    const uint32_t at = rp_map_add(&sites->places, &key, sizeof(key));

    if (at == sites->frames.count)
        rp_vec_push(&sites->frames,
                    (struct frame){.address = site->address[i], .module_id = site->module_id[i]});
    return &sites->frames.items[at];
}

static void collect_frames(struct rp_call_sites *sites)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(sites->file, &count);

    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_call_site *site = &records[i].u.call_site;

        if (records[i].kind != RP_REC_CALL_SITE)
            continue;
        for (uint32_t k = 0; k < site->count; k++)
            frame_of(sites, site, k);
        rp_idmap_add(&sites->ids, site->id);
    }
}

/* What cannot be read has no lines: the program may have been replaced or removed since. */
static void read_module(struct rp_call_sites *sites, uint32_t module_id, const char *symbolizer,
                        const char *scratch)
{
    const char *path = rp_record_file_string(sites->file, module_id);
    rp_autofree uint64_t *addresses = rp_alloc_zero(sites->frames.count + 1, sizeof *addresses);
    rp_autofree struct rp_source_places *places =
        rp_alloc_zero(sites->frames.count + 1, sizeof *places);
    struct rp_err ignored = RP_ERR_INIT;
    size_t count = 0;

    if (!*path || !rp_has_source_lines(path))
        return;
    for (size_t i = 0; i < sites->frames.count; i++)
        if (sites->frames.items[i].module_id == module_id)
            addresses[count++] = sites->frames.items[i].address;
    rp_source_places(symbolizer, path, addresses, count, scratch, places, &ignored);
    count = 0;
    for (size_t i = 0; i < sites->frames.count; i++)
        if (sites->frames.items[i].module_id == module_id)
            sites->frames.items[i].places = places[count++];
}

static void read_modules(struct rp_call_sites *sites, const char *symbolizer, const char *scratch)
{
    struct rp_idmap seen = {0};

    for (size_t i = 0; i < sites->frames.count; i++) {
        const uint32_t known = seen.count, module_id = sites->frames.items[i].module_id;

        if (rp_idmap_add(&seen, module_id) == known)
            read_module(sites, module_id, symbolizer, scratch);
    }
    rp_idmap_free(&seen);
}

/* --- the line ------------------------------------------------------------------------------ */

/* The compiler makes a function for each kernel, which <<<>>> calls, and which calls HIP. */
static bool is_stub(const struct rp_source_place *place)
{
    return strstr(place->function, "__device_stub__") != NULL;
}

/* Inline functions of HIP and of the libraries of templates are nobody's own source. */
static bool is_of_system(const char *file)
{
    static const char *const begins[] = {"/usr/", "/opt/rocm"};
    static const char *const within[] = {"/include/hip/",    "/include/c++/",
                                         "/include/thrust/", "/include/rocprim/",
                                         "/include/hipcub/", "/_rocm_sdk_"};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(file, begins[i], strlen(begins[i])) == 0)
            return true;
    for (size_t i = 0; i < sizeof within / sizeof *within; i++)
        if (strstr(file, within[i]))
            return true;
    return false;
}

/* A Python with debug information has lines of its own source, which is nobody's here. */
static bool is_interpreter(const struct rp_call_sites *sites, uint32_t module_id)
{
    const char *path = rp_record_file_string(sites->file, module_id), *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;

    /* "python3.11" and "libpython3.11.so.1.0", not "python_bindings.so" */
    name += strncmp(name, "lib", 3) == 0 ? 3 : 0;
    return (strncmp(name, "python", 6) == 0 &&
            name[6 + strspn(name + 6, "0123456789.so")] == '\0') ||
           strstr(path, "/lib-dynload/");
}

/* Packages that are installed, and Python's own modules, are not the user's source. */
static bool is_of_packages(const char *file)
{
    static const char *const within[] = {"/site-packages/", "/dist-packages/", "/lib/python3."};

    for (size_t i = 0; i < sizeof within / sizeof *within; i++)
        if (strstr(file, within[i]))
            return true;
    return file[0] == '<';
}

static struct rp_source_place python_place(const struct rp_call_sites *sites,
                                           const struct rp_rec_python_frame *frame)
{
    return (struct rp_source_place){
        .function = (char *)(uintptr_t)rp_record_file_string(sites->file, frame->function_id),
        .file = (char *)(uintptr_t)rp_record_file_string(sites->file, frame->file_id),
        .line = frame->line};
}

/* Returns whether there is a place in Python that somebody can edit, the innermost. */
static bool own_python_place(const struct rp_call_sites *sites, const struct site *site,
                             struct rp_source_place *ret)
{
    for (size_t i = 0; i < site->python.count; i++) {
        *ret = python_place(sites, site->python.items[i]);
        if (!is_of_packages(ret->file) && !is_of_system(ret->file))
            return true;
    }
    return false;
}

/* Returns the innermost place that somebody can edit, or NULL. */
static const struct rp_source_place *own_place(struct rp_call_sites *sites,
                                               const struct rp_rec_call_site *site)
{
    for (uint32_t i = 0; i < site->count && !is_interpreter(sites, site->module_id[i]); i++) {
        const struct rp_source_places *places = &frame_of(sites, site, i)->places;

        for (size_t k = 0; k < places->count; k++)
            if (places->at[k].line && !is_stub(&places->at[k]) && !is_of_system(places->at[k].file))
                return &places->at[k];
    }
    return NULL;
}

/* --- texts --------------------------------------------------------------------------------- */

/* A name of a file may be of bytes that are not UTF-8, and has no place in JSON then. */
static void set_text(json_t *object, const char *key, const char *text)
{
    json_t *value = *text ? json_string(text) : NULL;

    if (value)
        json_object_set_new(object, key, value);
}

static void set_place(json_t *object, const struct rp_source_place *place)
{
    set_text(object, "function", place->function);
    set_text(object, "file", place->file);
    if (place->line)
        json_object_set_new(object, "line", json_integer(place->line));
}

static void append_place(json_t *frames, const struct rp_source_place *place)
{
    json_t *object = json_object();

    set_place(object, place);
    json_array_append_new(frames, object);
}

/* Frames of the C library, and of whatever else has no lines, say nothing beside those that have
 * some. */
static json_t *frames_with_lines(struct rp_call_sites *sites, const struct rp_rec_call_site *site)
{
    const struct site *to = &sites->sites[rp_idmap_find(&sites->ids, site->id)];
    json_t *frames = json_array();

    for (uint32_t i = 0; i < site->count && !is_interpreter(sites, site->module_id[i]); i++) {
        const struct rp_source_places *places = &frame_of(sites, site, i)->places;

        for (size_t k = 0; k < places->count; k++)
            if (places->at[k].line)
                append_place(frames, &places->at[k]);
    }
    for (size_t i = 0; i < to->python.count; i++) {
        const struct rp_source_place place = python_place(sites, to->python.items[i]);

        append_place(frames, &place);
    }
    return frames;
}

/* With the file that the debug information is kept in, somebody may still look these up. Addresses
 * of code in no file differ from run to run and lead nowhere. */
static json_t *frames_of_files(const struct rp_call_sites *sites,
                               const struct rp_rec_call_site *site)
{
    json_t *frames = json_array();

    for (uint32_t i = 0; i < site->count; i++) {
        rp_autofree char *address = rp_format("0x%" PRIx64, site->address[i]);
        json_t *object;

        if (!site->module_id[i])
            continue;
        object = json_object();
        set_text(object, "module", rp_record_file_string(sites->file, site->module_id[i]));
        set_text(object, "address", address);
        json_array_append_new(frames, object);
    }
    return frames;
}

static char *to_text(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);

    json_decref(object);
    return text;
}

static void write_site(struct rp_call_sites *sites, const struct rp_rec_call_site *site)
{
    const struct rp_source_place *place = own_place(sites, site);
    struct site *to = &sites->sites[rp_idmap_find(&sites->ids, site->id)];
    struct rp_source_place python;
    json_t *frames = frames_with_lines(sites, site), *line = json_object();

    if (json_array_size(frames) == 0) {
        json_decref(frames);
        frames = frames_of_files(sites, site);
    }
    to->call_stack = to_text(json_pack("{s:o}", "frames", frames));
    if (!place && own_python_place(sites, to, &python))
        place = &python;
    if (place)
        set_place(line, place);
    to->line_info = to_text(line);
    sites->with_lines += place != NULL;
}

/* --- all of it ----------------------------------------------------------------------------- */

/* The record of the place may have been lost. */
static void collect_python(struct rp_call_sites *sites)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(sites->file, &count);

    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_python_frame *frame = &records[i].u.python_frame;
        uint32_t at = records[i].kind == RP_REC_PYTHON_FRAME
                          ? rp_idmap_find(&sites->ids, frame->call_site_id)
                          : RP_NO_NUMBER;

        if (at != RP_NO_NUMBER)
            rp_vec_push(&sites->sites[at].python, frame);
    }
}

struct rp_call_sites *rp_call_sites_read(const struct rp_record_file *file, const char *symbolizer,
                                         const char *scratch)
{
    struct rp_call_sites *sites = rp_alloc_zero(1, sizeof *sites);
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);

    sites->file = file;
    collect_frames(sites);
    sites->sites = rp_alloc_zero((size_t)sites->ids.count + 1, sizeof *sites->sites);
    collect_python(sites);
    if (symbolizer)
        read_modules(sites, symbolizer, scratch);
    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_CALL_SITE)
            write_site(sites, &records[i].u.call_site);
    return sites;
}

/* A call's place may have been lost with its record. */
static const struct site *site_of(const struct rp_call_sites *sites, uint32_t id)
{
    static const struct site none;
    const uint32_t at = rp_idmap_find(&sites->ids, id);

    return at == RP_NO_NUMBER ? &none : &sites->sites[at];
}

const char *rp_call_sites_line(const struct rp_call_sites *sites, uint32_t id)
{
    return site_of(sites, id)->line_info;
}

const char *rp_call_sites_stack(const struct rp_call_sites *sites, uint32_t id)
{
    return site_of(sites, id)->call_stack;
}

int rp_call_sites_put(const struct rp_call_sites *sites, struct rp_store_writer *writer,
                      struct rp_err *err)
{
    rp_autofree char *count = rp_format("%" PRIu64, sites->with_lines);

    return sites->with_lines ? rp_store_put_metadata(writer, RP_STORE_CALL_SITES_TAG, count, err)
                             : 0;
}
