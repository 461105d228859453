/**
 * @file fuzz_trace_read.c
 * @brief Any bytes as a record file: refused or read, never more.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "trace/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Most inputs would fail at the magic: give every input a sound header, its flags and losses from
 * the input; the rest of the bytes are records. */
static size_t with_header(const uint8_t *data, size_t size, uint8_t *image, size_t capacity)
{
    struct rp_trace_header header = {.magic = {'R', 'P', 'T', 'R', 'A', 'C', 'E', '1'},
                                     .version = RP_TRACE_VERSION,
                                     .header_bytes = sizeof(struct rp_trace_header),
                                     .record_bytes = sizeof(struct rp_record),
                                     .committed_records = UINT64_MAX};
    size_t records = size > capacity - sizeof(header) ? capacity - sizeof(header) : size;

    if (size > 0)
        header.flags = data[0];
    if (size > 7) /* of rp_record.call_site of the first record, which no string or agent has */
        header.lost_records = data[7];
    memcpy(image, &header, sizeof(header));
    memcpy(image + sizeof(header), data, records);
    return sizeof(header) + records;
}

static void read_all(const void *bytes, size_t size)
{
    struct rp_record_file *file = NULL;
    struct rp_err err = RP_ERR_INIT;
    size_t count, length = 0;
    const struct rp_record *records;

    if (rp_record_file_parse("fuzz", bytes, size, &file, &err) < 0) {
        if (err.code != RP_BAD_INPUT || !err.text[0])
            __builtin_trap(); /* refused without saying why */
        return;
    }
    records = rp_record_file_records(file, &count);
    for (size_t i = 0; i < count; i++)
        if (records[i].kind == RP_REC_STRING)
            length += strlen(rp_record_file_string(file, records[i].u.string.id));
    if (length > count * size)
        __builtin_trap(); /* strings longer than the file that holds them */
    rp_record_file_close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static _Alignas(8) uint8_t image[1 << 16];

    read_all(data, size);
    read_all(image, with_header(data, size, image, sizeof(image)));
    return 0;
}
