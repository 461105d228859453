/*
 * Bytes are a trace of the PyTorch profiler: opening it and reading everything ends with rows or
 * with a message. Seeds: tests/fuzz/seeds/kineto_trace.
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

static int touch_arg(void *ctx, const void *row, struct rp_err *err)
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

/* A file that is accepted has operations, each with a name, a GPU, and times in order of their
 * starts. */
static void walk(struct rp_store *s, struct rp_err *err)
{
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_kernel *kernels;
    const struct rp_row_agent *agents;
    const struct rp_row_copy *copies;
    const struct rp_row_region *regions;
    size_t count, copy_count;

    if (rp_store_agents(s, &agents, &count, err) < 0 ||
        rp_store_kernels(s, &kernels, &count, err) < 0 ||
        rp_store_dispatches(s, &dispatches, &count, err) < 0 ||
        rp_store_copies(s, &copies, &copy_count, err) < 0 || count + copy_count == 0)
        abort();
    for (size_t i = 0; i < count; i++) {
        if (!rp_store_find_kernel(s, dispatches[i].guid_index, dispatches[i].kernel_id) ||
            !rp_store_find_agent(s, dispatches[i].guid_index, dispatches[i].agent_id) ||
            dispatches[i].start_ns <= 0 ||
            (i && dispatches[i - 1].start_ns > dispatches[i].start_ns))
            abort();
    }
    for (size_t i = 0; i < copy_count; i++)
        touched += strlen(copies[i].name);
    if (rp_store_regions(s, &regions, &count, err) == 0)
        for (size_t i = 0; i < count; i++)
            touched += strlen(regions[i].name);
    rp_store_each_arg(s, touch_arg, NULL, err);
    rp_store_each_note(s, touch_note, NULL, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    struct rp_err err = RP_ERR_INIT;
    struct rp_store *s = NULL;
    char path[64];

    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rp_store_is_kineto(path);
    if (rp_store_open_kineto(path, &s, &err) == 0)
        walk(s, &err);
    else if (err.code == RP_OK || err.text[0] == '\0')
        abort();
    rp_store_close(s);
    close(fd);
    return 0;
}
