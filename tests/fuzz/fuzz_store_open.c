/*
 * Bytes are a database file: opening it and reading everything ends with rows or with a message.
 * Seeds: tests/fuzz/seeds/store_open.
 */
#include "base/err.h"
#include "trace/rocpd.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static size_t touched;

static void touch(const char *text)
{
    touched += strlen(text); /* never NULL: the header says so */
}

/* What consumers do with the rows: follow the references, read the texts. */
static void walk(struct rp_store *s, struct rp_err *err)
{
    const struct rp_row_dispatch *dispatches;
    const struct rp_row_kernel *kernels;
    const struct rp_row_agent *agents;
    const struct rp_row_copy *copies;
    const struct rp_row_counter *counters;
    size_t count, i;

    if (rp_store_agents(s, &agents, &count, err) == 0)
        for (i = 0; i < count; i++) {
            touch(agents[i].name);
            touch(agents[i].extdata);
        }
    if (rp_store_kernels(s, &kernels, &count, err) == 0)
        for (i = 0; i < count; i++)
            touch(kernels[i].display_name);
    if (rp_store_dispatches(s, &dispatches, &count, err) == 0)
        for (i = 0; i < count; i++) {
            const struct rp_row_dispatch *d = &dispatches[i];
            if (i && d[-1].start_ns > d->start_ns)
                abort();
            if (!rp_store_guid(s, d->guid_index))
                abort();
            rp_store_find_kernel(s, d->guid_index, d->kernel_id);
            rp_store_find_agent(s, d->guid_index, d->agent_id);
        }
    if (rp_store_copies(s, &copies, &count, err) == 0)
        for (i = 0; i < count; i++)
            touch(copies[i].name);
    if (rp_store_counters(s, &counters, &count, err) == 0)
        for (i = 0; i < count; i++)
            touch(counters[i].name);
}

static void walk_rest(struct rp_store *s, struct rp_err *err)
{
    const struct rp_row_code_object *objects;
    const struct rp_row_process *processes;
    const struct rp_row_thread *threads;
    const struct rp_row_queue *queues;
    size_t count;

    if (rp_store_processes(s, &processes, &count, err) == 0 && count)
        touch(processes[count - 1].command);
    if (rp_store_threads(s, &threads, &count, err) == 0 && count)
        touch(threads[count - 1].name);
    if (rp_store_queues(s, &queues, &count, err) == 0 && count)
        touch(queues[count - 1].name);
    if (rp_store_streams(s, &queues, &count, err) == 0 && count)
        touch(queues[count - 1].extdata);
    if (rp_store_code_objects(s, &objects, &count, err) == 0 && count)
        touch(objects[count - 1].uri);
    touch(rp_store_schema(s));
    rp_store_metadata(s, "guid");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_store *s;
    char path[64];
    int fd;

    /* A file with a name: SQLite resolves links, which a memfd's path is. */
    snprintf(path, sizeof path, "/tmp/rp-fuzz-store-%ld.db", (long)getpid());
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
        abort();
    close(fd);
    if (rp_store_open(path, &s, &err) == 0) {
        walk(s, &err);
        walk_rest(s, &err);
        rp_store_close(s);
    } else if (err.code == RP_OK || err.text[0] == '\0') {
        abort();
    }
    unlink(path);
    return 0;
}
