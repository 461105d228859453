#include "trace/capture.h"

#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/code_object.h"

/* Returns JSON's null where there is no text, or where it is not UTF-8 and JSON cannot hold it. */
static json_t *text(struct rp_code_text t)
{
    json_t *json = t.bytes ? json_stringn(t.at, t.bytes) : NULL;

    return json ? json : json_null();
}

static json_t *describe(const struct rp_code_kernel *kernel)
{
    json_t *args = json_array();

    for (size_t i = 0; i < kernel->arg_count; i++) {
        const struct rp_code_arg *arg = &kernel->args[i];

        if (json_array_append_new(
                args, json_pack("{s:I, s:I, s:o, s:b, s:o}", "offset", (json_int_t)arg->offset,
                                "bytes", (json_int_t)arg->bytes, "kind", text(arg->kind), "hidden",
                                rp_code_arg_is_hidden(arg), "address_space", text(arg->space))) <
            0) {
            json_decref(args);
            return NULL;
        }
    }
    return args;
}

/**
 * @param code_path  the code object; @param symbol  with .kd
 * @return an array, or JSON null where the code object does not say; NULL: out of memory
 */
static json_t *capture_args_json(const char *code_path, const char *symbol)
{
    rp_autoclose int fd = -1;
    struct rp_code_kernel kernel = {0};
    struct rp_err err = RP_ERR_INIT;
    json_t *args = NULL;
    struct stat st;
    void *bytes;

    if (rp_capture_open_file(code_path, &fd, &err) < 0 || fstat(fd, &st) < 0 || st.st_size == 0)
        return json_null();
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return json_null();
    /* A capture is one without it, too: assembly by hand may say nothing. */
    if (rp_code_kernel_read(bytes, (size_t)st.st_size, symbol, &kernel, NULL, &err) < 0)
        args = json_null();
    else
        args = describe(&kernel);
    rp_code_kernel_free(&kernel);
    munmap(bytes, (size_t)st.st_size);
    return args;
}

/* These functions write the JSON files of a capture folder. */

static void drop(json_t **json)
{
    json_decref(*json);
}

/* A name that is not UTF-8 has its odd bytes replaced: JSON cannot hold them. */
static json_t *capture_texts_text(const char *string)
{
    json_t *json = json_string(string);
    char *plain;

    if (json)
        return json;
    plain = strdup(string);
    for (char *at = plain; at && *at; at++)
        if ((unsigned char)*at >= 0x80)
            *at = '?';
    json = plain ? json_string(plain) : NULL;
    free(plain);
    return json;
}

/* Writes an address as text, because JSON numbers cannot hold 64 bits. */
static json_t *address(uint64_t value)
{
    return json_sprintf("0x%" PRIx64, value);
}

/* The field has a fixed size and may be full, so it may lack a terminating zero. */
static json_t *field(const uint8_t *bytes, size_t room)
{
    rp_autofree char *copy = strndup((const char *)bytes, room);

    return copy && *copy ? capture_texts_text(copy) : json_null();
}

static int save(const char *folder, const char *name, const json_t *json, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, name);
    rp_autofree char *bytes = json ? json_dumps(json, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    rp_autofree char *line = bytes ? rp_format("%s\n", bytes) : NULL;

    if (!path || !line)
        return rp_out_of_memory(err);
    return rp_write_private_file(path, line, strlen(line), err);
}

/* --- dispatch.json ------------------------------------------------------------------------- */

/* The fields of an AQL packet's header are those of the HSA system architecture, 2.9.1: barrier
 * bit 8, acquire scope 9-10, release scope 11-12.
 */
static const char *scope(uint16_t header, unsigned shift)
{
    static const char *const scopes[] = {"none", "agent", "system", "reserved"};

    return scopes[header >> shift & 3];
}

static json_t *describe_packet(const struct rp_snapshot_dispatch *d)
{
    return json_pack("{s:I, s:I, s:[III], s:[iii], s:i, s:I, s:I, s:b, s:s, s:s, s:i, s:o}",
                     "match", (json_int_t)d->match, "dispatch_id", (json_int_t)d->dispatch_id,
                     "grid", (json_int_t)d->grid[0], (json_int_t)d->grid[1], (json_int_t)d->grid[2],
                     "workgroup", d->workgroup[0], d->workgroup[1], d->workgroup[2], "dimensions",
                     d->setup & 3, "private_bytes", (json_int_t)d->private_bytes, "group_bytes",
                     (json_int_t)d->group_bytes, "barrier", d->header >> 8 & 1, "acquire_scope",
                     scope(d->header, 9), "release_scope", scope(d->header, 11), "queue",
                     d->queue_index, "stream",
                     d->stream == UINT32_MAX ? json_null() : json_integer(d->stream));
}

static json_t *describe_command(const struct rp_capture_origin *origin)
{
    json_t *command = json_array();

    for (size_t i = 0; origin->command && origin->command[i]; i++)
        json_array_append_new(command, capture_texts_text(origin->command[i]));
    return command;
}

/* Says how the software device found times in the program. */
static json_t *timing(const struct rp_snapshot_hello *hello)
{
    const char *word = rp_snapshot_timing_word(hello->software ? hello->timing : 0);

    return word ? json_string(word) : json_null();
}

static json_t *describe_dispatch(const struct rp_capture_writer *w,
                                 const struct rp_capture_origin *origin)
{
    const struct rp_snapshot_dispatch *d = &w->dispatch;
    rp_autofree char *code = rp_path_join(w->partial, RP_CAPTURE_CODE_FILE);

    if (!code)
        return NULL;
    return json_pack(
        "{s:s, s:i, s:b, s:{s:o, s:o, s:s, s:o, s:o, s:I}, s:o, s:{s:s, s:o, s:I, s:I, s:o},"
        " s:{s:i, s:o, s:o, s:o, s:s, s:o}, s:{s:i, s:o}, s:{s:s, s:o}}",
        "format", RP_CAPTURE_FORMAT, "format_version", RP_CAPTURE_FORMAT_VERSION, "complete", 1,
        "kernel", "name", capture_texts_text(w->name), "symbol", capture_texts_text(w->symbol),
        "code_object", RP_CAPTURE_CODE_FILE, "kernel_object", address(d->kernel_object),
        "load_base", address(d->code_base), "load_bytes", (json_int_t)d->code_bytes, "dispatch",
        describe_packet(d), "kernarg", "file", RP_CAPTURE_KERNARG_FILE, "address",
        address(d->kernarg), "bytes", (json_int_t)d->kernarg_bytes, "align_bytes",
        (json_int_t)d->kernarg_align_bytes, "arguments", capture_args_json(code, w->symbol),
        "agent", "node", d->node, "gpu", d->gpu == UINT32_MAX ? json_null() : json_integer(d->gpu),
        "isa", field(d->isa, sizeof d->isa), "product", field(d->product, sizeof d->product),
        "device", w->hello.software ? "software" : "gpu", "timing", timing(&w->hello), "process",
        "pid", w->hello.pid, "command", describe_command(origin), "provenance", "rocm_perf_version",
        origin->version, "rocm", origin->rocm ? capture_texts_text(origin->rocm) : json_null());
}

/* --- memory_regions.json ------------------------------------------------------------------- */

static json_t *describe_region(const struct rp_captured_region *r)
{
    const uint32_t flags = r->region.flags;
    const char *grain = flags & RP_MEMORY_FINE     ? "fine"
                        : flags & RP_MEMORY_COARSE ? "coarse"
                                                   : NULL;

    return json_pack(
        "{s:o, s:I, s:s, s:s, s:o, s:o, s:b, s:b, s:o, s:I, s:o, s:I}", "base",
        address(r->region.base), "bytes", (json_int_t)r->region.bytes, "class",
        rp_memory_class_name(r->region.memory_class), "location",
        flags & RP_MEMORY_HOST ? "host" : "device", "node",
        r->region.node == UINT32_MAX ? json_null() : json_integer(r->region.node), "grain",
        grain ? json_string(grain) : json_null(), "kernarg", (flags & RP_MEMORY_KERNARG) != 0,
        "executable", (flags & RP_MEMORY_EXECUTABLE) != 0, "before",
        json_sprintf("memory/" RP_CAPTURE_REGION_FILE, r->region.base), "nonzero_pages",
        (json_int_t)r->nonzero_pages, "after",
        r->changed_pages ? json_sprintf("after/" RP_CAPTURE_REGION_FILE, r->region.base)
                         : json_null(),
        "changed_pages", (json_int_t)r->changed_pages);
}

static json_t *describe_regions(const struct rp_capture_writer *w)
{
    json_t *regions = json_array();

    for (size_t i = 0; i < w->count; i++)
        if (!w->regions[i].reason)
            json_array_append_new(regions, describe_region(&w->regions[i]));
    return json_pack("{s:i, s:s, s:I, s:o}", "page_bytes", RP_PAGE_BYTES, "pages_file",
                     RP_CAPTURE_PAGES_FILE, "stored_pages",
                     (json_int_t)rp_page_store_pages(w->store), "regions", regions);
}

/* --- coverage.json ------------------------------------------------------------------------- */

static json_t *describe_class(const struct rp_capture_writer *w, uint32_t memory_class)
{
    json_int_t captured = 0, captured_bytes = 0, refused = 0, refused_bytes = 0;

    for (size_t i = 0; i < w->count; i++) {
        const struct rp_captured_region *r = &w->regions[i];

        if (r->region.memory_class != memory_class)
            continue;
        *(r->reason ? &refused : &captured) += 1;
        *(r->reason ? &refused_bytes : &captured_bytes) += (json_int_t)r->region.bytes;
    }
    return json_pack("{s:s, s:I, s:I, s:I, s:I}", "class", rp_memory_class_name(memory_class),
                     "captured", captured, "captured_bytes", captured_bytes, "refused", refused,
                     "refused_bytes", refused_bytes);
}

static json_t *describe_unmapped(const struct rp_snapshot_region *region)
{
    return json_pack("{s:o, s:I, s:s}", "base", address(region->base), "bytes",
                     (json_int_t)region->bytes, "class",
                     rp_memory_class_name(region->memory_class));
}

static json_t *describe_coverage(const struct rp_capture_writer *w)
{
    json_t *classes = json_array(), *refused = json_array(), *unmapped = json_array();

    for (uint32_t i = 0; i < RP_MEMORY_CLASSES; i++)
        json_array_append_new(classes, describe_class(w, i));
    for (size_t i = 0; i < w->count; i++) {
        const struct rp_captured_region *r = &w->regions[i];

        if (r->reason)
            json_array_append_new(refused,
                                  json_pack("{s:o, s:I, s:s, s:o}", "base", address(r->region.base),
                                            "bytes", (json_int_t)r->region.bytes, "class",
                                            rp_memory_class_name(r->region.memory_class), "reason",
                                            capture_texts_text(r->reason)));
    }
    for (size_t i = 0; i < w->unmapped_count; i++)
        json_array_append_new(unmapped, describe_unmapped(&w->unmapped[i]));
    return json_pack("{s:b, s:o, s:o, s:o}", "complete", json_array_size(refused) == 0, "classes",
                     classes, "refused", refused, "unmapped", unmapped);
}

int rp_capture_write_json(const struct rp_capture_writer *w, const struct rp_capture_origin *origin,
                          struct rp_err *err)
{
    rp_cleanup(drop) json_t *dispatch = describe_dispatch(w, origin);
    rp_cleanup(drop) json_t *regions = describe_regions(w);
    rp_cleanup(drop) json_t *coverage = describe_coverage(w);
    int rc = save(w->partial, RP_CAPTURE_REGIONS_FILE, regions, err);

    if (rc == 0)
        rc = save(w->partial, RP_CAPTURE_COVERAGE_FILE, coverage, err);
    if (rc == 0)
        rc = save(w->partial, RP_CAPTURE_DISPATCH_FILE, dispatch, err);
    return rc;
}

enum { CHUNK_BYTES = 1 << 20, DIGEST_CHARS = 33 };

static int hash_fd(int fd, uint64_t *ret_bytes, char ret_digest[DIGEST_CHARS])
{
    rp_autofree char *chunk = malloc(CHUNK_BYTES);
    XXH3_state_t *state = XXH3_createState();
    XXH128_canonical_t canonical;
    uint64_t bytes = 0;
    ssize_t got = -1;

    errno = ENOMEM;
    if (chunk && state && XXH3_128bits_reset(state) == XXH_OK)
        while ((got = read(fd, chunk, CHUNK_BYTES)) > 0 || (got < 0 && errno == EINTR))
            if (got > 0) {
                XXH3_128bits_update(state, chunk, (size_t)got);
                bytes += (uint64_t)got;
            }
    if (got == 0) {
        XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
        for (size_t i = 0; i < sizeof canonical.digest; i++)
            snprintf(ret_digest + 2 * i, 3, "%02x", canonical.digest[i]);
        *ret_bytes = bytes;
    }
    XXH3_freeState(state);
    return got == 0 ? 0 : -1;
}

static int hash_file(const char *folder, const char *name, uint64_t *ret_bytes,
                     char ret_digest[DIGEST_CHARS], struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, name);
    rp_autoclose int fd = -1;
    int rc;

    if (!path)
        return rp_out_of_memory(err);
    rc = rp_capture_open_file(path, &fd, err);
    if (rc == 0 && hash_fd(fd, ret_bytes, ret_digest) < 0)
        rc = rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read %s", path);
    return rc;
}

/* Lists files sorted by folder, then by name. */
static int list_files(const char *folder, glob_t *found, struct rp_err *err)
{
    static const char *const patterns[] = {"*.json", "*.bin", "*.hsaco", "memory/*", "after/*"};

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        rp_autofree char *pattern = rp_path_pattern(folder, patterns[i]);
        int failed = pattern ? glob(pattern, i ? GLOB_APPEND : 0, NULL, found) : GLOB_NOSPACE;

        if (failed == GLOB_NOSPACE)
            return rp_out_of_memory(err);
        /* Every capture has at least dispatch.json. */
        if (failed && (failed != GLOB_NOMATCH || i == 0))
            return rp_fail(err, RP_ENVIRONMENT, "cannot list the files of %s", folder);
    }
    return 0;
}

/* Makes an entry of the list. */
static int hash_entry(const char *folder, const char *name, json_t **ret, struct rp_err *err)
{
    char digest[DIGEST_CHARS];
    uint64_t bytes;
    int rc = hash_file(folder, name, &bytes, digest, err);

    if (rc < 0)
        return rc;
    *ret = json_pack("{s:s, s:I, s:s}", "name", name, "bytes", (json_int_t)bytes, "xxh128", digest);
    return *ret ? 0 : rp_out_of_memory(err);
}

static int write_list(const char *folder, const json_t *all, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_CHECKSUMS_FILE);
    rp_autofree char *text = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
    rp_autofree char *line = text ? rp_format("%s\n", text) : NULL;

    if (!line || !path)
        return rp_out_of_memory(err);
    return rp_write_private_file(path, line, strlen(line), err);
}

int rp_capture_write_checksums(const char *folder, struct rp_err *err)
{
    rp_cleanup(drop) json_t *files = json_array();
    rp_cleanup(drop) json_t *all = NULL;
    glob_t found = {0};
    int rc = list_files(folder, &found, err);

    for (size_t i = 0; i < found.gl_pathc && rc == 0; i++) {
        const char *name = found.gl_pathv[i] + strlen(folder) + 1;
        json_t *entry = NULL;

        /* An old list is replaced and must not contain itself. */
        if (strcmp(name, RP_CAPTURE_CHECKSUMS_FILE) == 0)
            continue;
        rc = hash_entry(folder, name, &entry, err);
        if (rc == 0 && json_array_append_new(files, entry) < 0)
            rc = rp_out_of_memory(err);
    }
    globfree(&found);
    if (rc < 0)
        return rc;
    all = json_pack("{s:s, s:O}", "algorithm", "XXH3 128", "files", files);
    return write_list(folder, all, err);
}

/* Names lead nowhere else. */
static bool is_inside(const char *name)
{
    return name[0] != '/' && !strstr(name, "..");
}

static bool is_listed(const json_t *files, const char *wanted)
{
    size_t i;
    json_t *file;

    json_array_foreach(files, i, file)
    {
        const char *name = json_string_value(json_object_get(file, "name"));

        if (name && strcmp(name, wanted) == 0)
            return true;
    }
    return false;
}

/* Checks that a capture has what every capture must have. */
static int check_list(const char *path, const json_t *files, struct rp_err *err)
{
    static const char *const names[] = {RP_CAPTURE_DISPATCH_FILE, RP_CAPTURE_REGIONS_FILE,
                                        RP_CAPTURE_COVERAGE_FILE, RP_CAPTURE_KERNARG_FILE,
                                        RP_CAPTURE_CODE_FILE,     RP_CAPTURE_PAGES_FILE};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!is_listed(files, names[i]))
            return rp_fail(err, RP_BAD_INPUT, "%s is damaged: it does not list %s", path, names[i]);
    return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void close_walk(FTS **walk)
{
    if (*walk)
        fts_close(*walk);
}

/* The result of the self-check is added to a whole capture: it is there before the list has it, and
 * each is written under another name first, which a run that was killed leaves. */
static bool is_added_later(const char *name)
{
    static const char *const files[] = {RP_CAPTURE_SELF_CHECK_FILE, RP_CAPTURE_CHECKSUMS_FILE};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const size_t length = strlen(files[i]);

        if (strncmp(name, files[i], length) == 0 &&
            (!name[length] ||
             strncmp(name + length, RP_WRITE_PARTIAL, sizeof RP_WRITE_PARTIAL - 1) == 0))
            return true;
    }
    return false;
}

/* Checks for other files, which nobody would read, or which would be read in place of what was not
 * captured.
 */
static int check_rest(const char *folder, const json_t *files, struct rp_err *err)
{
    rp_autofree char *root = strdup(folder);
    char *const roots[] = {root, NULL};
    rp_cleanup(close_walk) FTS *walk =
        root ? fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name) : NULL;
    size_t skip;
    FTSENT *at;

    if (!walk)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot list the files of %s", folder);
    for (skip = strlen(root); skip > 1 && root[skip - 1] == '/'; skip--)
        ;
    while ((at = fts_read(walk))) {
        const char *name = at->fts_path + skip;

        if (at->fts_info == FTS_DNR || at->fts_info == FTS_ERR)
            return rp_fail_errno(err, RP_ENVIRONMENT, at->fts_errno, "cannot read %s",
                                 at->fts_path);
        if (at->fts_info == FTS_D || at->fts_info == FTS_DP)
            continue;
        while (*name == '/')
            name++;
        if (!is_added_later(name) && !is_listed(files, name))
            return rp_fail(err, RP_BAD_INPUT,
                           "%s is not in %s: it is no part of the capture, remove it", at->fts_path,
                           RP_CAPTURE_CHECKSUMS_FILE);
    }
    return 0;
}

/* @param ret_all  to be dropped; has an array "files" of one at least */
static int load_list(const char *path, json_t **ret_all, struct rp_err *err)
{
    json_error_t why;
    int rc;

    if (!rp_path_exists(path))
        return rp_fail(err, RP_BAD_INPUT, "%s is missing: the capture is not complete", path);
    rc = rp_capture_load_json(path, &why, ret_all, err);
    if (rc < 0)
        return rc;
    if (json_array_size(json_object_get(*ret_all, "files")) == 0)
        return rp_fail(err, RP_BAD_INPUT, "%s is damaged: it lists no files", path);
    return 0;
}

/* @param ret_all  to be dropped; a list of what every capture has, at least */
static int open_list(const char *folder, json_t **ret_all, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, RP_CAPTURE_CHECKSUMS_FILE);
    int rc = path ? load_list(path, ret_all, err) : rp_out_of_memory(err);

    return rc < 0 ? rc : check_list(path, json_object_get(*ret_all, "files"), err);
}

/* Returns where rp_capture_write_checksums() would have put it. */
static size_t place_of(const json_t *files, const char *name)
{
    size_t i;
    json_t *file;

    json_array_foreach(files, i, file)
    {
        const char *other = json_string_value(json_object_get(file, "name"));

        if (!other || strchr(other, '/') || !strstr(other, ".json") || strcmp(other, name) >= 0)
            break;
    }
    return i;
}

int rp_capture_add_checksum(const char *folder, const char *name, struct rp_err *err)
{
    rp_cleanup(drop) json_t *all = NULL;
    json_t *entry = NULL, *files;
    size_t place;
    int rc = open_list(folder, &all, err);

    if (rc == 0)
        rc = hash_entry(folder, name, &entry, err);
    if (rc < 0)
        return rc;
    files = json_object_get(all, "files");
    place = place_of(files, name);
    if (is_listed(files, name))
        rc = json_array_set_new(files, place, entry);
    else
        rc = json_array_insert_new(files, place, entry);
    if (rc < 0)
        return rp_out_of_memory(err);
    return write_list(folder, all, err);
}

/* Checks one file against its entry, which is number @p i. */
static int check_file(const char *folder, const json_t *file, size_t i, uint64_t *ret_bytes,
                      struct rp_err *err)
{
    const char *name = json_string_value(json_object_get(file, "name"));
    const char *expected = json_string_value(json_object_get(file, "xxh128"));
    const json_int_t bytes = json_integer_value(json_object_get(file, "bytes"));
    char digest[DIGEST_CHARS];
    int rc;

    if (!name || !expected || !is_inside(name))
        return rp_fail(err, RP_BAD_INPUT, "%s/%s is damaged: file %zu of its list", folder,
                       RP_CAPTURE_CHECKSUMS_FILE, i);
    rc = hash_file(folder, name, ret_bytes, digest, err);
    if (rc < 0)
        return rc;
    if (*ret_bytes != (uint64_t)bytes)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s/%s is damaged: it has %" PRIu64 " bytes, %lld were written", folder,
                       name, *ret_bytes, (long long)bytes);
    if (strcmp(digest, expected) != 0)
        return rp_fail(err, RP_BAD_INPUT, "%s/%s is damaged: its checksum is %s, %s was written",
                       folder, name, digest, expected);
    return 0;
}

int rp_capture_check_small_files(const char *folder, struct rp_err *err)
{
    rp_cleanup(drop) json_t *all = NULL;
    int rc = open_list(folder, &all, err);
    uint64_t bytes;
    size_t i;
    json_t *file;

    if (rc < 0)
        return rc;
    json_array_foreach(json_object_get(all, "files"), i, file)
    {
        const char *name = json_string_value(json_object_get(file, "name"));

        if (name && (strchr(name, '/') || strcmp(name, RP_CAPTURE_PAGES_FILE) == 0))
            continue;
        rc = check_file(folder, file, i, &bytes, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int rp_capture_check_checksums(const char *folder, uint64_t *ret_files, uint64_t *ret_bytes,
                               struct rp_err *err)
{
    rp_cleanup(drop) json_t *all = NULL;
    const json_t *files;
    uint64_t sum = 0, bytes;
    size_t i;
    json_t *file;
    int rc = open_list(folder, &all, err);

    if (rc < 0)
        return rc;
    files = json_object_get(all, "files");
    json_array_foreach(files, i, file)
    {
        rc = check_file(folder, file, i, &bytes, err);
        if (rc < 0)
            return rc;
        sum += bytes;
    }
    rc = check_rest(folder, files, err);
    if (rc < 0)
        return rc;
    *ret_files = json_array_size(files);
    *ret_bytes = sum;
    return 0;
}
