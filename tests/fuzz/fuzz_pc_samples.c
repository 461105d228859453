/**
 * @file fuzz_pc_samples.c
 * @brief Any bytes as a file of PC samples: refused with a reason, or counted without loss. The
 * first byte says which form it is.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyze/thread_trace.h"
#include "base/err.h"
#include "trace/rocpd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-pc-samples-XXXXXX";
static char paths[3][128];

static void remove_all(void)
{
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
    rmdir(folder);
}

static void begin(void)
{
    static const char *const names[] = {"1_pc_sampling_host_trap.csv",
                                        "1_pc_sampling_stochastic.csv", "1_results.json"};

    if (paths[0][0])
        return;
    if (!mkdtemp(folder))
        abort();
    for (int i = 0; i < 3; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
    atexit(remove_all);
}

static void check(struct rp_store *store, struct rp_err *err)
{
    struct rp_thread_traces set = {0};
    int rc = rp_thread_traces_add_samples(&set, store, err);

    if (rc < 0 && (err->code != RP_BAD_INPUT || !err->text[0]))
        abort();
    for (size_t i = 0; i < set.count; i++) {
        const struct rp_thread_trace *t = &set.traces[i];
        uint64_t taken = 0;

        for (size_t k = 0; k < t->instruction_count; k++)
            taken += t->instructions[k].samples.taken;
        if (!t->samples.taken || taken != t->samples.taken ||
            t->samples.issued + t->samples.stalled > taken || t->samples.lanes > 64 * taken)
            abort();
    }
    rp_thread_traces_free(&set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_store *store = NULL;
    int fd, rc, form;

    if (!size)
        return 0;
    begin();
    form = data[0] % 3;
    fd = open(paths[form], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)size - 1)
        abort();
    close(fd);
    rc = form == 2 ? rp_store_open_json(paths[form], 0, &store, &err)
                   : rp_store_open_csv(paths[form], &store, &err);
    unlink(paths[form]);
    if (rc < 0 && (err.code != RP_BAD_INPUT || !err.text[0]))
        abort();
    if (store)
        check(store, &err);
    rp_store_close(store);
    return 0;
}
