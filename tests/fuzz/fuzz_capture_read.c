/**
 * @file fuzz_capture_read.c
 * @brief Any bytes as one of the files of a capture folder: refused with a reason, or read.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/err.h"
#include "base/path.h"
#include "trace/capture.h"

#include "trace/capture_write.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];

static void remove_folder(void)
{
    rp_remove_tree(folder);
}

static const struct rp_snapshot_region region = {.base = 0x1000, .bytes = 5 * RP_PAGE_BYTES};

static void make_folder(void)
{
    static const struct rp_snapshot_dispatch dispatch = {
        .grid = {64, 1, 1}, .workgroup = {64, 1, 1}, .setup = 1, .match = 1, .dispatch_id = 1};
    static const struct rp_capture_origin origin = {.version = "0"};
    static uint8_t pages[5 * RP_PAGE_BYTES];
    struct rp_capture_writer *w;
    struct rp_capture *capture;

    memset(pages, 1, sizeof pages / 2);
    snprintf(folder, sizeof folder, "/tmp/rp-fuzz-capture-%d", (int)getpid());
    rp_remove_tree(folder);
    atexit(remove_folder);
    if (capture_begin(folder, &w, NULL) < 0 || capture_dispatch(w, &dispatch, "k", "k", NULL) < 0 ||
        capture_blob(w, RP_CAPTURE_CODE_FILE, "", 0, NULL) < 0 ||
        capture_blob(w, RP_CAPTURE_KERNARG_FILE, "", 0, NULL) < 0 ||
        capture_region(w, &region, NULL) < 0 || capture_pages(w, 0, pages, 5, NULL) < 0 ||
        capture_after(w, NULL) < 0 || capture_region(w, &region, NULL) < 0 ||
        capture_pages(w, 1, pages, 2, NULL) < 0 || capture_finish(w, &origin, NULL) < 0)
        __builtin_trap();
    capture_free(w);
    if (rp_capture_open(folder, &capture, NULL) < 0) /* else everything is refused */
        __builtin_trap();
    rp_capture_close(capture);
}

static void read_all(void)
{
    struct rp_err err = RP_ERR_INIT;
    const struct rp_capture_memory *memory;
    struct rp_capture_sizes sizes;
    struct rp_capture *capture;
    uint8_t page[RP_PAGE_BYTES];
    size_t count;

    if (rp_capture_open(folder, &capture, &err) < 0) {
        if (err.code == RP_OK || !err.text[0])
            __builtin_trap(); /* refused without saying why */
        return;
    }
    memory = rp_capture_contents(capture)->memory;
    count = rp_capture_contents(capture)->memory_count;
    for (size_t i = 0; i < count; i++)
        for (uint64_t p = 0; p < rp_pages_of(memory[i].region.bytes) && p < 8; p++)
            if (rp_capture_page(capture, &memory[i], RP_STATE_AFTER, p, page, &err) < 0 &&
                !err.text[0])
                __builtin_trap();
    rp_capture_verify(capture, &sizes, &err);
    rp_capture_close(capture);
}

/* The first byte says which file the rest is. Maps get a sound header before and a sound hash, or
 * nothing behind the hash would ever be reached. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const files[] = {
        RP_CAPTURE_DISPATCH_FILE,        RP_CAPTURE_REGIONS_FILE, RP_CAPTURE_COVERAGE_FILE,
        RP_CAPTURE_CHECKSUMS_FILE,       RP_CAPTURE_PAGES_FILE,   "memory/region_000000001000.bin",
        "memory/region_000000001000.bin"};
    enum { FILES = sizeof files / sizeof *files, SOUND_MAP = FILES - 1 };
    char *path, *kept;
    size_t which;
    uint8_t *bytes;

    if (!folder[0])
        make_folder();
    if (size < 1)
        return 0;
    which = data[0] % FILES;
    path = rp_path_join(folder, files[which]);
    kept = rp_format("%s.kept", folder);
    bytes = malloc(sizeof(struct rp_region_header) + size);
    if (rename(path, kept) < 0)
        __builtin_trap();
    if (which == SOUND_MAP) {
        struct rp_region_header h = {.magic = {'R', 'P', 'R', 'E', 'G', 'I', 'O', 'N'},
                                     .version = RP_REGION_VERSION,
                                     .page_bytes = RP_PAGE_BYTES,
                                     .base = region.base,
                                     .bytes = region.bytes,
                                     .run_count = (size - 1) / sizeof(struct rp_page_run)};

        h.hash = XXH3_64bits(data + 1, h.run_count * sizeof(struct rp_page_run));
        memcpy(bytes, &h, sizeof h);
        memcpy(bytes + sizeof h, data + 1, h.run_count * sizeof(struct rp_page_run));
        rp_write_file(path, bytes, sizeof h + h.run_count * sizeof(struct rp_page_run), NULL);
    } else {
        rp_write_file(path, data + 1, size - 1, NULL);
    }
    read_all();
    if (rename(kept, path) < 0)
        __builtin_trap();
    free(bytes);
    free(path);
    free(kept);
    return 0;
}
