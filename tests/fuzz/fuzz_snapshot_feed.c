/**
 * @file fuzz_snapshot_feed.c
 * @brief Any messages from the tool in a program: a whole capture that can be read, or none.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/path.h"
#include "trace/capture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];

static char *same(const char *symbol, void *data)
{
    (void)data;
    return strdup(symbol);
}

static bool any(const char *symbol, const char *name, uint32_t code, void *data)
{
    (void)code;
    (void)symbol;
    (void)data;
    return name[0] == 'a';
}

static int take(struct rp_snapshot_feed *feed, uint32_t kind, const void *bytes, size_t size)
{
    const struct rp_snapshot_message m = {.kind = kind, .bytes = size};
    char *aligned = malloc(size + 8);
    struct rp_err err = RP_ERR_INIT;
    uint32_t reply;
    int rc;

    memcpy(aligned, bytes, size);
    rc = rp_snapshot_feed_take(feed, &m, aligned, &reply, &err);
    if (rc < 0 && !err.text[0])
        __builtin_trap();
    free(aligned);
    return rc;
}

static void read_back(void)
{
    struct rp_capture_sizes sizes;
    struct rp_capture *capture;
    struct rp_err err = RP_ERR_INIT;

    if (rp_capture_open(folder, &capture, &err) < 0 ||
        rp_capture_verify(capture, &sizes, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        __builtin_trap(); /* finished, and not readable */
    }
    rp_capture_close(capture);
}

/* A byte of kind, two of length, and the bytes: messages in a row. PAGES stretch what there is. */
static void feed_all(struct rp_snapshot_feed *feed, const uint8_t *data, size_t size)
{
    static uint64_t page[1 + RP_PAGE_BYTES / sizeof(uint64_t)];

    while (size >= 3) {
        const uint32_t kind = data[0] % 14;
        size_t bytes = data[1] | (size_t)data[2] << 8;
        int rc;

        data += 3;
        size -= 3;
        bytes = bytes < size ? bytes : size;
        if (kind == RP_SNAPSHOT_PAGES && bytes >= 1 && bytes < 16) {
            page[0] = data[0];
            page[1] = bytes;
            rc = take(feed, kind, page, sizeof page);
        } else {
            rc = take(feed, kind, data, bytes);
        }
        if (rc < 0)
            return;
        data += bytes;
        size -= bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct rp_snapshot_hello hello = {.version = RP_SNAPSHOT_VERSION};
    static struct {
        struct rp_snapshot_dispatch dispatch;
        char symbol[8];
    } begin = {.dispatch = {.grid = {64, 1, 1}, .workgroup = {64, 1, 1}, .setup = 1},
               .symbol = "k"};
    const struct rp_snapshot_request wishes = {
        .folder = folder, .origin = {.version = "0"}, .name = same, .wants = any};
    struct rp_snapshot_feed *feed;
    struct rp_err err = RP_ERR_INIT;

    snprintf(folder, sizeof folder, "/tmp/rp-fuzz-feed-%d", (int)getpid());
    if (rp_snapshot_feed_open(&wishes, &feed, &err) < 0)
        __builtin_trap();
    if (size && data[0] & 1) {
        take(feed, RP_SNAPSHOT_HELLO, &hello, sizeof hello);
        take(feed, RP_SNAPSHOT_BEGIN, &begin, sizeof begin);
        take(feed, RP_SNAPSHOT_CODE, "e", 1);
        take(feed, RP_SNAPSHOT_KERNARG, "a", 1);
    }
    if (size)
        feed_all(feed, data + 1, size - 1);
    if (rp_snapshot_feed_state(feed)->done)
        read_back();
    else if (rp_path_exists(folder))
        __builtin_trap();
    rp_snapshot_feed_close(feed);
    rp_remove_tree(folder);
    return 0;
}
