/* What overlaps shares memory, links and units: times of made records before and after. */
#include "run/overlap_time.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "trace/records.h"

#include "unit/cmocka_all.h"

enum { CPU = 0x10, GPU = 0x20, OTHER_GPU = 0x30, MOST = 128 };

struct image {
    struct rp_trace_header header;
    struct rp_record records[MOST];
};

static struct rp_record *add(struct image *image, uint32_t kind)
{
    struct rp_record *record = &image->records[image->header.committed_records++];
    assert_true(image->header.committed_records <= MOST);
    *record = (struct rp_record){.kind = kind};
    return record;
}

static struct image *image_new(void)
{
    struct image *image = calloc(1, sizeof *image);
    static const uint64_t agents[] = {CPU, GPU, OTHER_GPU};
    assert_non_null(image);
    image->header = (struct rp_trace_header){.magic = {'R', 'P', 'T', 'R', 'A', 'C', 'E', '1'},
                                             .version = RP_TRACE_VERSION,
                                             .header_bytes = sizeof image->header,
                                             .record_bytes = sizeof(struct rp_record),
                                             .flags = RP_TRACE_CLOSED | RP_TRACE_SOFTWARE,
                                             .timing = RP_TRACE_TIMING_DETAILED};
    struct rp_rec_string *name = &add(image, RP_REC_STRING)->u.string;
    *name = (struct rp_rec_string){.id = 1, .bytes = 6, .total_bytes = 6, .text = "gfx942"};
    for (unsigned i = 0; i < 3; i++)
        add(image, RP_REC_AGENT)->u.agent = (struct rp_rec_agent){
            .handle = agents[i], .type = i > 0, .node_id = i, .name_id = 1, .logical_index = i};
    add(image, RP_REC_QUEUE)->u.queue.agent = GPU;
    return image;
}

/* A kernel that needs so much of a resource. */
static void kernel(struct image *image, uint64_t agent, uint64_t start, uint64_t end,
                   enum rp_shared_resource resource, double needs_ns)
{
    const uint64_t id = image->header.committed_records;
    add(image, RP_REC_DISPATCH)->u.dispatch = (struct rp_rec_dispatch){
        .dispatch_id = id, .agent = agent, .start_ns = start, .end_ns = end};
    struct rp_rec_simulation *s = &add(image, RP_REC_SIMULATION)->u.simulation;
    *s = (struct rp_rec_simulation){.dispatch_id = id, .waves = 1, .replayed_waves = 1};
    s->needs_ns[resource] = needs_ns;
}

static void copy(struct image *image, uint64_t from, uint64_t to, uint64_t start, uint64_t end)
{
    add(image, RP_REC_COPY)->u.copy = (struct rp_rec_copy){.src_agent = from,
                                                           .dst_agent = to,
                                                           .start_ns = start,
                                                           .end_ns = end,
                                                           .bytes = 57 * (end - start),
                                                           .copy_id = 1};
}

/* Writes when each kernel and copy starts and ends, in the order of records. */
static void share(struct image *image, uint64_t (*ret)[2])
{
    struct rp_record_file *file = NULL;
    struct rp_err err = {0};
    size_t count;
    if (rp_record_file_parse("made", image,
                             sizeof image->header +
                                 image->header.committed_records * sizeof(struct rp_record),
                             &file, &err) < 0)
        fail_msg("%s", err.text);
    rp_overlap_time_share(file);
    const struct rp_record *records = rp_record_file_records(file, &count);
    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_DISPATCH || records[i].kind == RP_REC_COPY) {
            const bool kernels = records[i].kind == RP_REC_DISPATCH;
            (*ret)[0] = kernels ? records[i].u.dispatch.start_ns : records[i].u.copy.start_ns;
            (*ret++)[1] = kernels ? records[i].u.dispatch.end_ns : records[i].u.copy.end_ns;
        }
    rp_record_file_close(file);
    free(image);
}

static void near(uint64_t got, uint64_t wanted)
{
    if (got + 2 < wanted || got > wanted + 2)
        fail_msg("%llu ns, expected %llu", (unsigned long long)got, (unsigned long long)wanted);
}

static void is(const uint64_t (*got)[2], size_t which, uint64_t start, uint64_t end)
{
    near(got[which][0], start);
    near(got[which][1], end);
}

/* Four streams, each of which reads at the rate of memory: together they take four times as long.
 */
static void four_streams_share_memory(void **state)
{
    struct image *image = image_new();
    uint64_t got[MOST][2];
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        kernel(image, GPU, 1000000, 1070000, RP_SHARED_HBM, 65000);
    kernel(image, GPU, 1070000, 1080000, RP_SHARED_HBM, 10000); /* after them */
    share(image, got);
    for (unsigned i = 0; i < 4; i++)
        is(got, i, 1000000, 1260000);
    is(got, 4, 1260000, 1270000);
}

/* Where one runs alone it runs as before. */
static void only_what_overlaps_takes_longer(void **state)
{
    struct image *image = image_new();
    uint64_t got[MOST][2];
    (void)state;
    kernel(image, GPU, 100000, 200000, RP_SHARED_HBM, 100000);
    kernel(image, GPU, 150000, 250000, RP_SHARED_HBM, 100000);
    share(image, got);
    is(got, 0, 100000, 250000);
    is(got, 1, 150000, 300000);
}

/* There is enough for both: half of a resource each, different ones, or those of two GPUs. */
static void what_fits_stays_as_it_is(void **state)
{
    struct image *image = image_new();
    uint64_t got[MOST][2];
    (void)state;
    kernel(image, GPU, 100000, 200000, RP_SHARED_HBM, 50000);
    kernel(image, GPU, 100000, 200000, RP_SHARED_HBM, 50000);
    kernel(image, GPU, 100000, 200000, RP_SHARED_MATRIX, 100000);
    kernel(image, OTHER_GPU, 100000, 200000, RP_SHARED_HBM, 100000);
    kernel(image, GPU, 200000, 300000, RP_SHARED_HBM, 150000); /* alone it had what it needed */
    share(image, got);
    for (unsigned i = 0; i < 4; i++)
        is(got, i, 100000, 200000);
    is(got, 4, 200000, 300000);
}

static void every_resource_is_shared(void **state)
{
    (void)state;
    for (unsigned r = 0; r < RP_SHARED_RESOURCES; r++) {
        struct image *image = image_new();
        uint64_t got[MOST][2];
        kernel(image, GPU, 100000, 200000, (enum rp_shared_resource)r, 90000);
        kernel(image, GPU, 100000, 200000, (enum rp_shared_resource)r, 90000);
        share(image, got);
        is(got, 0, 100000, 280000);
        is(got, 1, 100000, 280000);
    }
}

/* A link takes one copy at a time in each direction, and memory what goes through it. */
static void copies_share_links(void **state)
{
    struct image *image = image_new();
    uint64_t got[MOST][2];
    (void)state;
    copy(image, CPU, GPU, 100000, 200000);
    copy(image, GPU, CPU, 100000, 200000);
    copy(image, CPU, OTHER_GPU, 100000, 200000);
    share(image, got);
    for (unsigned i = 0; i < 3; i++)
        is(got, i, 100000, 200000);
    image = image_new();
    copy(image, CPU, GPU, 100000, 200000);
    copy(image, CPU, GPU, 100000, 200000);
    copy(image, GPU, OTHER_GPU, 300000, 400000);
    copy(image, GPU, OTHER_GPU, 300000, 400000);
    kernel(image, GPU, 500000, 600000, RP_SHARED_FROM_HOST, 100000);
    copy(image, CPU, GPU, 500000, 600000);
    share(image, got);
    is(got, 0, 100000, 300000);
    is(got, 1, 100000, 300000);
    is(got, 2, 400000, 600000);
    is(got, 3, 400000, 600000);
    is(got, 4, 700000, 900000);
    is(got, 5, 700000, 900000);
    image = image_new();
    kernel(image, GPU, 100000, 200000, RP_SHARED_HBM, 100000);
    copy(image, CPU, GPU, 100000, 200000); /* 57 of about 4000 GB/s */
    share(image, got);
    assert_in_range(got[0][1], 201000, 202000);
}

/* Any work: no resource is used for longer than there is time, and order stays. */
static void nothing_is_used_for_longer_than_there_is_time(void **state)
{
    uint32_t any = 1;
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct image *image = image_new();
        uint64_t before[24][2], got[MOST][2], last = 0;
        double all[RP_SHARED_RESOURCES] = {0};
        for (unsigned i = 0; i < 24; i++) {
            any = any * 1664525 + 1013904223;
            const uint64_t start = 1000000 + (any >> 12) % 50000, ns = 100 + (any >> 8) % 30000;
            const unsigned resource = (any >> 28) % 3;
            before[i][0] = start;
            before[i][1] = start + ns;
            all[resource] += (double)ns * (1 + (any >> 20) % 8) / 8;
            kernel(image, GPU, start, start + ns, (enum rp_shared_resource)resource,
                   (double)ns * (1 + (any >> 20) % 8) / 8);
        }
        share(image, got);
        for (unsigned i = 0; i < 24; i++) {
            last = got[i][1] > last ? got[i][1] : last;
            assert_true(got[i][1] - got[i][0] >= before[i][1] - before[i][0]);
            for (unsigned k = 0; k < 48; k++)
                assert_true(before[i][0] < before[k / 2][k % 2] ? got[i][0] <= got[k / 2][k % 2]
                                                                : got[i][0] >= got[k / 2][k % 2]);
        }
        for (unsigned r = 0; r < RP_SHARED_RESOURCES; r++)
            assert_true(all[r] <= 1.002 * (double)(last - 1000000) + 48);
    }
}

/* Times of a GPU are measured: they have shared it. */
static void measured_times_stay(void **state)
{
    struct image *image = image_new();
    uint64_t got[MOST][2];
    (void)state;
    image->header.flags = RP_TRACE_CLOSED;
    copy(image, CPU, GPU, 100000, 200000);
    copy(image, CPU, GPU, 100000, 200000);
    share(image, got);
    is(got, 0, 100000, 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_streams_share_memory),
        cmocka_unit_test(only_what_overlaps_takes_longer),
        cmocka_unit_test(what_fits_stays_as_it_is),
        cmocka_unit_test(every_resource_is_shared),
        cmocka_unit_test(copies_share_links),
        cmocka_unit_test(nothing_is_used_for_longer_than_there_is_time),
        cmocka_unit_test(measured_times_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
