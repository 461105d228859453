/**
 * @file trace_summary.c
 * @brief Prints what a record file holds, for the scripts beside it; checks what every trace of a
 *        real run must satisfy (kernels do not overlap on one queue, names and registers known).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "trace/records.h"

enum { MAX_NAMES = 256 };

static const char *kernel_name(const struct rp_record_file *file, uint32_t id)
{
    size_t count;
    const struct rp_record *records = rp_record_file_records(file, &count);

    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_KERNEL && records[i].u.kernel.id == id)
            return rp_record_file_string(file, records[i].u.kernel.name_id);
    return "?";
}

static int check_kernels(const struct rp_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_kernel *kernel = &records[i].u.kernel;

        if (records[i].kind != RP_REC_KERNEL)
            continue;
        if (!kernel->name_id || !kernel->code_object_id || !kernel->sgpr_count ||
            !kernel->arch_vgpr_count) {
            printf("kernel %u is not described\n", kernel->id);
            return 1;
        }
    }
    return 0;
}

/** Who launched a kernel is the thread of its call, while it was in it, whoever else shares the
 * queue. */
static int check_calls(const struct rp_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_dispatch *d = &records[i].u.dispatch;
        size_t k = 0;

        if (records[i].kind != RP_REC_DISPATCH)
            continue;
        while (k < count && (records[k].kind != RP_REC_CALL ||
                             records[k].u.call.correlation_id != d->correlation_id))
            k++;
        if (k < count &&
            (records[k].u.call.tid != d->tid || records[k].u.call.start_ns > d->submit_ns ||
             records[k].u.call.end_ns < d->submit_ns)) {
            printf("dispatch %" PRIu64 " is not of its call\n", d->dispatch_id);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct rp_record_file *file = NULL;
    struct rp_err err = RP_ERR_INIT;
    const struct rp_record *records;
    uint64_t dispatches = 0, copies = 0, queues = 0, ends = 0, total_ns = 0;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    uint64_t by_kernel[MAX_NAMES] = {0};
    size_t count;

    if (argc != 2 || rp_record_file_open(argv[1], &file, &err) < 0) {
        printf("%s\n", err.text);
        return 1;
    }
    records = rp_record_file_records(file, &count);
    for (size_t i = 0; i < count; i++) {
        const struct rp_rec_dispatch *d = &records[i].u.dispatch;

        if (records[i].kind == RP_REC_DISPATCH) {
            dispatches++;
            total_ns += d->end_ns - d->start_ns;
            first_ns = d->start_ns < first_ns ? d->start_ns : first_ns;
            last_ns = d->end_ns > last_ns ? d->end_ns : last_ns;
            if (d->kernel_id < MAX_NAMES)
                by_kernel[d->kernel_id]++;
        }
        copies += records[i].kind == RP_REC_COPY;
        queues += records[i].kind == RP_REC_QUEUE;
        ends += records[i].kind == RP_REC_QUEUE_END;
    }
    printf("complete: %d\n", rp_record_file_complete(file));
    printf("software: %d\n", (rp_record_file_header(file)->flags & RP_TRACE_SOFTWARE) != 0);
    printf("lost: %" PRIu64 " %" PRIu64 "\n", rp_record_file_header(file)->lost_records,
           rp_record_file_header(file)->lost_dispatches);
    printf("dispatches: %" PRIu64 "\ncopies: %" PRIu64 "\n", dispatches, copies);
    printf("queues: %" PRIu64 " destroyed: %" PRIu64 "\n", queues, ends);
    printf("total: %" PRIu64 " ns\n", total_ns);
    if (dispatches > 0)
        printf("span: %" PRIu64 " to %" PRIu64 " ns\n", first_ns, last_ns);
    for (uint32_t id = 0; id < MAX_NAMES; id++)
        if (by_kernel[id])
            printf("kernel %s: %" PRIu64 "\n", kernel_name(file, id), by_kernel[id]);
    if (check_kernels(records, count) != 0 || check_calls(records, count) != 0)
        return 1;
    rp_record_file_close(file);
    return 0;
}
