#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "unit/tracer/harness.h"

char tool_folder[64];

/* --- the trace ----------------------------------------------------------------------------- */

struct rp_record_file *read_trace(void)
{
    struct rp_record_file *file = NULL;
    struct rp_err err = RP_ERR_INIT;
    char pattern[96];
    glob_t found;

    snprintf(pattern, sizeof(pattern), "%s/*.rptrace", tool_folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    if (rp_record_file_open(found.gl_pathv[0], &file, &err) < 0)
        fail_msg("%s", err.text);
    globfree(&found);
    return file;
}

const struct rp_record *nth(const struct rp_record_file *file, uint32_t kind, size_t n)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);

    for (size_t i = 0; i < count; i++)
        if (records[i].kind == kind && n-- == 0)
            return &records[i];
    return NULL;
}

size_t count_kind(const struct rp_record_file *file, uint32_t kind)
{
    size_t count, n = 0;
    const struct rp_record *records = rp_record_file_records(file, &count);

    for (size_t i = 0; i < count; i++)
        n += records[i].kind == kind;
    return n;
}

size_t recorded(uint32_t kind)
{
    struct rp_record_file *file = read_trace();
    size_t n = count_kind(file, kind);

    rp_record_file_close(file);
    return n;
}

struct rp_trace_header header_now(void)
{
    struct rp_record_file *file = read_trace();
    struct rp_trace_header header = *rp_record_file_header(file);

    rp_record_file_close(file);
    return header;
}

/* --- the program --------------------------------------------------------------------------- */

struct fake_queue *create_queue(void)
{
    struct rp_hsa_queue *queue = NULL;

    assert_int_equal(
        CORE(7, hsa_queue_create)(FAKE_GPU, 1024, 0, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue),
        RP_HSA_SUCCESS);
    return (struct fake_queue *)queue;
}

void destroy_queue(struct fake_queue *queue)
{
    assert_int_equal(CORE(9, hsa_queue_destroy)(&queue->handle), RP_HSA_SUCCESS);
}

void submit_one(struct fake_queue *queue, rp_hsa_signal signal)
{
    const struct rp_hsa_packet packet = fake_dispatch(fake_kernel_object(0), signal);

    fake_submit(queue, &packet, 1);
}

void wait_something(void)
{
    rp_hsa_signal signal = fake_signal(0);

    CORE(44, hsa_signal_wait_scacquire)(signal, RP_HSA_CONDITION_LT, 1, UINT64_MAX, 0);
    CORE(38, hsa_signal_destroy)(signal);
}

int tool_load(void **state)
{
    (void)state;
    snprintf(tool_folder, sizeof(tool_folder), "/tmp/rp-test-tool-XXXXXX");
    assert_non_null(mkdtemp(tool_folder));
    setenv("ROCM_PERF_TRACE_DIR", tool_folder, 1);
    fake_reset();
    assert_true(OnLoad(&fake.root, 3, 0, NULL));
    return 0;
}

int tool_unload(void **state)
{
    char command[96];

    (void)state;
    CORE(1, hsa_shut_down)();
    OnUnload();
    assert_int_equal(fake.queues_alive, 0);
    fake_free();
    snprintf(command, sizeof(command), "rm -r %s", tool_folder);
    return system(command) == 0 ? 0 : -1;
}
