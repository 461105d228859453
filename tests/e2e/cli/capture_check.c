/**
 * @file capture_check.c
 * @brief Compares a capture with what the captured program says of its memory (memories.hip).
 *
 * usage: capture_check CAPTURE <WHAT_IT_SAYS
 *        capture_check --seal CAPTURE    writes checksums.json for the files as they are now
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "trace/capture.h"

static const struct rp_capture_memory *find(const struct rp_capture *capture, uint64_t at,
                                            uint64_t bytes)
{
    size_t count = rp_capture_contents(capture)->memory_count;
    const struct rp_capture_memory *memory = rp_capture_contents(capture)->memory;

    for (size_t i = 0; i < count; i++)
        if (at >= memory[i].region.base &&
            at + bytes <= memory[i].region.base + memory[i].region.bytes)
            return &memory[i];
    return NULL;
}

static int copy_out(struct rp_capture *capture, const struct rp_capture_memory *memory,
                    enum rp_region_state state, uint64_t at, uint8_t *to, uint64_t bytes)
{
    struct rp_err err = RP_ERR_INIT;
    uint8_t page[RP_PAGE_BYTES];

    for (uint64_t i = 0; i < bytes; i++) {
        const uint64_t offset = at + i - memory->region.base;

        if ((i == 0 || offset % RP_PAGE_BYTES == 0) &&
            rp_capture_page(capture, memory, state, offset / RP_PAGE_BYTES, page, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            return -1;
        }
        to[i] = page[offset % RP_PAGE_BYTES];
    }
    return 0;
}

/* @return 0 when the capture says the same */
static int check(struct rp_capture *capture, const char *state, uint64_t at, uint64_t bytes,
                 const char *file)
{
    const bool same = strcmp(state, "same") == 0;
    const struct rp_capture_memory *memory = find(capture, at, bytes);
    uint8_t *got = malloc(bytes), *wanted = malloc(bytes);
    FILE *in = same ? NULL : fopen(file, "rb");
    int rc = -1;

    if (!memory)
        fprintf(stderr, "%s 0x%" PRIx64 ": no region has it\n", state, at);
    else if (same ? copy_out(capture, memory, RP_STATE_BEFORE, at, wanted, bytes) < 0
                  : !in || fread(wanted, 1, bytes, in) != bytes)
        fprintf(stderr, "%s: cannot read\n", file);
    else if (copy_out(capture, memory,
                      strcmp(state, "before") == 0 ? RP_STATE_BEFORE : RP_STATE_AFTER, at, got,
                      bytes) == 0) {
        rc = memcmp(got, wanted, bytes) ? -1 : 0;
        for (uint64_t i = 0; i < bytes && rc; i++)
            if (got[i] != wanted[i]) {
                fprintf(stderr, "%s 0x%" PRIx64 " + %" PRIu64 ": %02x instead of %02x\n", state, at,
                        i, got[i], wanted[i]);
                break;
            }
    }
    if (in)
        fclose(in);
    free(got);
    free(wanted);
    return rc;
}

int main(int argc, char **argv)
{
    struct rp_capture *capture;
    struct rp_err err = RP_ERR_INIT;
    char line[512], state[16], file[400];
    unsigned checked = 0, failed = 0;

    if (argc == 3 && strcmp(argv[1], "--seal") == 0)
        return rp_capture_write_checksums(argv[2], &err) < 0;
    if (argc != 2 || rp_capture_open(argv[1], &capture, &err) < 0) {
        fprintf(stderr, "capture_check: %s\n", err.text);
        return 2;
    }
    while (fgets(line, sizeof line, stdin)) {
        uint64_t at, bytes;

        file[0] = '\0';
        if (sscanf(line, "%15s %" SCNx64 " %" SCNu64 " %399s", state, &at, &bytes, file) < 3 ||
            (strcmp(state, "before") && strcmp(state, "after") && strcmp(state, "same")))
            continue;
        checked++;
        failed += check(capture, state, at, bytes, file) != 0;
    }
    rp_capture_close(capture);
    printf("%u of %u buffers as the program says\n", checked - failed, checked);
    return failed || !checked;
}
