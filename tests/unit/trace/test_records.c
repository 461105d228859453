/**
 * @file test_records.c
 * @brief Record files: sound ones, cut ones, damaged ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "trace/records.h"

enum { MAX_RECORDS = 17 };

struct image {
    struct rp_trace_header header;
    struct rp_record records[MAX_RECORDS];
};

static struct rp_record *add(struct image *image, uint32_t kind)
{
    struct rp_record *record = &image->records[image->header.committed_records++];

    *record = (struct rp_record){.kind = kind};
    return record;
}

static void add_part(struct image *image, uint32_t id, uint16_t part, const char *text,
                     size_t bytes, size_t total)
{
    struct rp_rec_string *string = &add(image, RP_REC_STRING)->u.string;

    string->id = id;
    string->part = part;
    string->bytes = (uint16_t)bytes;
    string->total_bytes = (uint32_t)total;
    memcpy(string->text, text, bytes);
}

static struct image sound(void)
{
    struct image image = {.header = {.magic = {'R', 'P', 'T', 'R', 'A', 'C', 'E', '1'},
                                     .version = RP_TRACE_VERSION,
                                     .header_bytes = sizeof(struct rp_trace_header),
                                     .record_bytes = sizeof(struct rp_record),
                                     .flags = RP_TRACE_CLOSED,
                                     .pid = 42}};
    static char longest[150];

    memset(longest, 'k', sizeof(longest));
    add_part(&image, 1, 0, "gfx942", 6, 6);
    add_part(&image, 2, 0, longest, 104, 150);
    add_part(&image, 2, 1, longest + 104, 46, 150);
    add(&image, RP_REC_AGENT)->u.agent =
        (struct rp_rec_agent){.handle = 9, .type = 1, .name_id = 1};
    add(&image, RP_REC_QUEUE)->u.queue.agent = 9;
    add(&image, RP_REC_CODE_OBJECT)->u.code_object.id = 1;
    add(&image, RP_REC_KERNEL)->u.kernel =
        (struct rp_rec_kernel){.id = 1, .code_object_id = 1, .name_id = 2};
    add(&image, RP_REC_DISPATCH)->u.dispatch = (struct rp_rec_dispatch){
        .dispatch_id = 1, .kernel_id = 1, .agent = 9, .start_ns = 10, .end_ns = 12};
    add(&image, RP_REC_COPY)->u.copy = (struct rp_rec_copy){.start_ns = 1, .end_ns = 1};
    add(&image, RP_REC_QUEUE_END);
    add(&image, RP_REC_CALL)->u.call = (struct rp_rec_call){
        .correlation_id = 1, .name_id = 1, .end_ns = 5, .arg_bytes = RP_REC_ARG_BYTES};
    add(&image, RP_REC_BARRIER)->u.barrier.wait_count = RP_REC_BARRIER_WAITS;
    add(&image, RP_REC_WAIT)->u.wait.wait_count = RP_REC_WAITS;
    add(&image, RP_REC_CALL_SITE)->u.call_site = (struct rp_rec_call_site){
        .id = 1, .count = RP_REC_FRAMES, .module_id = {1, 0, 2, 1}, .address = {0x10}};
    *add(&image, RP_REC_CALL) = (struct rp_record){
        .kind = RP_REC_CALL, .call_site = 1, .u.call = {.correlation_id = 2, .name_id = 1}};
    add(&image, RP_REC_PYTHON_FRAME)->u.python_frame =
        (struct rp_rec_python_frame){.call_site_id = 7, .file_id = 1, .function_id = 2, .line = 3};
    add(&image, RP_REC_RANGE_NAME)->u.range_name.name_id = 1;
    return image;
}

static size_t image_bytes(const struct image *image)
{
    return sizeof(image->header) +
           (size_t)image->header.committed_records * sizeof(struct rp_record);
}

static void sound_file(void **state)
{
    const struct image image = sound();
    struct rp_record_file *file = NULL;
    struct rp_err err = RP_ERR_INIT;
    size_t count;
    const struct rp_record *records;

    (void)state;
    assert_int_equal(rp_record_file_parse("t", &image, image_bytes(&image), &file, &err), 0);
    assert_true(rp_record_file_complete(file));
    records = rp_record_file_records(file, &count);
    assert_int_equal(count, image.header.committed_records);
    assert_memory_equal(records, image.records, count * sizeof(*records));
    assert_string_equal(rp_record_file_string(file, 1), "gfx942");
    assert_int_equal(strlen(rp_record_file_string(file, 2)), 150);
    assert_string_equal(rp_record_file_string(file, 0), "");
    assert_string_equal(rp_record_file_string(file, 3), "");
    rp_record_file_close(file);
}

/* A process can die anywhere: every length from the header on is read as far as it goes. */
static void cut_anywhere(void **state)
{
    const struct image image = sound();
    size_t whole = image_bytes(&image);

    (void)state;
    for (size_t size = 0; size < whole; size += 16) {
        struct rp_record_file *file = NULL;
        struct rp_err err = RP_ERR_INIT;
        int status = rp_record_file_parse("cut", &image, size, &file, &err);
        size_t count;

        if (size < sizeof(image.header)) {
            assert_int_equal(status, -RP_BAD_INPUT);
            continue;
        }
        assert_int_equal(status, 0);
        rp_record_file_records(file, &count);
        assert_int_equal(count, (size - sizeof(image.header)) / sizeof(struct rp_record));
        assert_false(rp_record_file_complete(file));
        rp_record_file_close(file);
    }
}

static void incomplete_when_something_is_missing(void **state)
{
    static const struct {
        uint32_t flags;
        uint64_t lost_records, lost_dispatches;
    } rows[] = {
        {0, 0, 0},
        {RP_TRACE_CLOSED | RP_TRACE_UNTRACED_QUEUE, 0, 0},
        {RP_TRACE_CLOSED, 1, 0},
        {RP_TRACE_CLOSED, 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct image image = sound();
        struct rp_record_file *file = NULL;

        image.header.flags = rows[i].flags;
        image.header.lost_records = rows[i].lost_records;
        image.header.lost_dispatches = rows[i].lost_dispatches;
        assert_int_equal(rp_record_file_parse("t", &image, image_bytes(&image), &file, NULL), 0);
        assert_false(rp_record_file_complete(file));
        rp_record_file_close(file);
    }
}

static void unaligned_memory(void **state)
{
    const struct image image = sound();
    char *bytes = malloc(image_bytes(&image) + 1);
    struct rp_record_file *file = NULL;

    (void)state;
    memcpy(bytes + 1, &image, image_bytes(&image));
    assert_int_equal(rp_record_file_parse("t", bytes + 1, image_bytes(&image), &file, NULL), 0);
    assert_string_equal(rp_record_file_string(file, 1), "gfx942");
    rp_record_file_close(file);
    free(bytes);
}

/* Each damage is refused with a message that names file, record and fault. */
static void expect_damage(const struct image *image, const char *message)
{
    struct rp_record_file *file = NULL;
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_record_file_parse("file", image, image_bytes(image), &file, &err),
                     -RP_BAD_INPUT);
    assert_null(file);
    assert_string_equal(err.text, message);
}

#define DAMAGE(change, message)                                                                    \
    do {                                                                                           \
        struct image image = sound();                                                              \
        change;                                                                                    \
        expect_damage(&image, message);                                                            \
    } while (0)

static void damage(void **state)
{
    (void)state;
    DAMAGE(image.header.magic[0] = 'X', "file: not a trace of rocm-perf");
    DAMAGE(image.header.version = 9, "file: trace of version 9, this program reads 3");
    DAMAGE(image.header.record_bytes = 64, "file: header of 128 bytes and records of 64");
    DAMAGE(image.records[0].u.string.id = 7, "file: record 0: string id is out of order");
    DAMAGE(image.records[0].u.string.bytes = 105, "file: record 0: string part has a wrong length");
    DAMAGE(image.records[0].u.string.text[2] = 0, "file: record 0: string holds a zero byte");
    DAMAGE(image.records[2].u.string.part = 2,
           "file: record 2: part of a string without its beginning");
    DAMAGE(image.records[2].u.string.bytes = 47, "file: record 2: string part has a wrong length");
    DAMAGE(image.records[3].u.agent.type = 2, "file: record 3: agent is neither CPU nor GPU");
    DAMAGE(image.records[3].u.agent.uuid_id = 3,
           "file: record 3: agent refers to an unknown string");
    DAMAGE(image.records[5].u.code_object.id = 0, "file: record 5: code object id is out of order");
    DAMAGE(image.records[6].u.kernel.code_object_id = 2,
           "file: record 6: kernel refers to an unknown code object");
    DAMAGE(image.records[7].u.dispatch.kernel_id = 2,
           "file: record 7: dispatch refers to an unknown kernel");
    DAMAGE(image.records[7].u.dispatch.queue_index = 1,
           "file: record 7: dispatch refers to an unknown queue");
    DAMAGE(image.records[7].u.dispatch.end_ns = 9,
           "file: record 7: dispatch ends before it starts");
    DAMAGE(image.records[8].u.copy.end_ns = UINT64_MAX,
           "file: record 8: copy ends before it starts");
    DAMAGE(image.records[8].kind = 0, "file: record 8: unknown kind of record");
    DAMAGE(image.records[9].u.queue.index = 5, "file: record 9: end of an unknown queue");
    DAMAGE(image.records[10].u.call.name_id = 3,
           "file: record 10: call refers to an unknown string");
    DAMAGE(image.records[10].u.call.arg_bytes = RP_REC_ARG_BYTES + 1,
           "file: record 10: call has too many arguments");
    DAMAGE(image.records[10].u.call.start_ns = 6, "file: record 10: call ends before it starts");
    DAMAGE(image.records[10].u.call.correlation_id = 0, "file: record 10: call has no identity");
    DAMAGE(image.records[11].u.barrier.queue_index = 1,
           "file: record 11: barrier refers to an unknown queue");
    DAMAGE(image.records[11].u.barrier.type = 4, "file: record 11: barrier is of an unknown type");
    DAMAGE(image.records[11].u.barrier.wait_count++, "file: record 11: barrier waits for too much");
    DAMAGE(image.records[12].u.wait.wait_count++, "file: record 12: copy waits for too much");
    DAMAGE(image.records[13].u.call_site.id = 0, "file: record 13: call site id is out of order");
    DAMAGE(image.records[13].u.call_site.count = 0,
           "file: record 13: call site has too few or too many frames");
    DAMAGE(image.records[13].u.call_site.count = RP_REC_FRAMES + 1,
           "file: record 13: call site has too few or too many frames");
    DAMAGE(image.records[13].u.call_site.module_id[3] = 3,
           "file: record 13: call site refers to an unknown string");
    DAMAGE(image.records[14].call_site = 2, "file: record 14: call refers to an unknown call site");
    DAMAGE(image.records[15].u.python_frame.file_id = 3,
           "file: record 15: Python frame refers to an unknown string");
    DAMAGE(image.records[15].u.python_frame.function_id = 3,
           "file: record 15: Python frame refers to an unknown string");
    DAMAGE(image.records[16].u.range_name.name_id = 3,
           "file: record 16: name of a range is an unknown string");
}

/* Only what a lost record can explain is let pass. */
static void references_to_lost_records(void **state)
{
    struct image image = sound();
    struct rp_record_file *file = NULL;
    size_t count;

    (void)state;
    image.header.lost_records = 1;
    image.records[6].u.kernel.code_object_id = 2;
    image.records[7].u.dispatch.kernel_id = 2;
    image.records[7].u.dispatch.queue_index = 1;
    image.records[9].u.queue.index = 5;
    image.records[14].call_site = 2;
    assert_int_equal(rp_record_file_parse("t", &image, image_bytes(&image), &file, NULL), 0);
    assert_false(rp_record_file_complete(file));
    assert_int_equal(rp_record_file_records(file, &count)[7].u.dispatch.kernel_id, 2);
    rp_record_file_close(file);

    image.records[3].u.agent.uuid_id = 3;
    expect_damage(&image, "file: record 3: agent refers to an unknown string");
    image.records[3].u.agent.uuid_id = 0;
    image.records[6].u.kernel.id = 0;
    expect_damage(&image, "file: record 6: kernel id is out of order");
    image.records[6].u.kernel.id = 1;
    image.records[7].u.dispatch.end_ns = 9;
    expect_damage(&image, "file: record 7: dispatch ends before it starts");
}

static void files_that_are_none(void **state)
{
    struct rp_record_file *file = NULL;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_record_file_open("/nowhere/x", &file, &err), -RP_ENVIRONMENT);
    assert_string_equal(err.text, "/nowhere/x: No such file or directory");
    assert_int_equal(rp_record_file_open("/", &file, &err), -RP_BAD_INPUT);
    assert_int_equal(rp_record_file_open("/dev/null", &file, &err), -RP_BAD_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_file),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(unaligned_memory),
        cmocka_unit_test(incomplete_when_something_is_missing),
        cmocka_unit_test(damage),
        cmocka_unit_test(files_that_are_none),
        cmocka_unit_test(references_to_lost_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
