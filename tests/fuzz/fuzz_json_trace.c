/*
 * Bytes are a JSON trace: opening it and reading everything ends with rows or with a message.
 * Seeds: tests/fuzz/seeds/json_trace.
 */
#include "base/err.h"
#include "trace/rocpd.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static size_t touched;

static int touch(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_arg *arg = row;

    (void)ctx;
    (void)err;
    touched += strlen(arg->name) + strlen(arg->value); /* never NULL: the header says so */
    return 0;
}

static int touch_note(void *ctx, const void *row, struct rp_err *err)
{
    const struct rp_row_note *note = row;

    (void)ctx;
    (void)err;
    touched += strlen(note->extdata);
    return 0;
}

static void walk(struct rp_store *s, struct rp_err *err)
{
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_kernel *kernels;
    const struct rp_row_agent *agents;
    const struct rp_row_counter *counters;
    const struct rp_row_region *regions;
    const struct rp_row_copy *copies;
    size_t count;

    if (rp_store_agents(s, &agents, &count, err) == 0)
        for (size_t i = 0; i < count; i++)
            touched += strlen(agents[i].extdata);
    if (rp_store_kernels(s, &kernels, &count, err) == 0)
        for (size_t i = 0; i < count; i++)
            touched += strlen(kernels[i].display_name);
    if (rp_store_dispatches(s, &dispatches, &count, err) == 0)
        for (size_t i = 1; i < count; i++)
            if (dispatches[i - 1].start_ns > dispatches[i].start_ns)
                abort();
    if (rp_store_counters(s, &counters, &count, err) == 0)
        for (size_t i = 0; i < count; i++)
            touched += strlen(counters[i].name);
    if (rp_store_regions(s, &regions, &count, err) == 0)
        for (size_t i = 0; i < count; i++)
            touched += strlen(regions[i].name);
    if (rp_store_copies(s, &copies, &count, err) == 0)
        for (size_t i = 0; i < count; i++)
            touched += strlen(copies[i].name);
    rp_store_each_arg(s, touch, NULL, err);
    rp_store_each_note(s, touch_note, NULL, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    struct rp_err err = RP_ERR_INIT;
    char path[64];

    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rp_store_is_json(path, true);
    for (size_t process = 0; process < 3; process++) {
        struct rp_store *s = NULL;
        if (rp_store_open_json(path, process, &s, &err) < 0) {
            if (err.code == RP_OK || err.text[0] == '\0')
                abort();
            break;
        }
        if (!s)
            break;
        walk(s, &err);
        rp_store_close(s);
    }
    close(fd);
    return 0;
}
