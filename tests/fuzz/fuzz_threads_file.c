/**
 * @file fuzz_threads_file.c
 * @brief Any bytes as a thread trace of the software device: refused, or listed without harm.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "run/device_thread_trace.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_one(const void *bytes, size_t size)
{
    struct rp_code_listing listing;
    struct rp_device_trace_file file;
    struct rp_err err = RP_ERR_INIT;
    size_t hits = 0;

    if (device_trace_parse(bytes, size, &file, &err) < 0) {
        if (err.code != RP_BAD_INPUT || !err.text[0])
            __builtin_trap(); /* refused without saying why */
        return;
    }
    if (code_listing_make(&file, NULL, 0, NULL, "unused", &listing, &err) < 0)
        __builtin_trap();
    for (size_t i = 0; i < listing.count; i++) {
        hits += (size_t)listing.at[i].hits;
        if (strlen(rp_device_trace_text(&file, listing.at[i].code)) >= size)
            __builtin_trap();
    }
    for (uint64_t i = 0; i < file.header->wave_count; i++) {
        const struct rp_threads_wave *w = &file.wave[i];

        for (uint32_t k = 0; k < w->row_count; k++)
            if (listing.line_of[file.row[w->first_row + k].code] >= listing.count)
                __builtin_trap(); /* executed and not listed */
        for (uint32_t k = 0; k < w->wait_count; k++)
            hits += listing.line_of[file.wait[w->first_wait + k].on] == UINT32_MAX;
    }
    code_listing_free(&listing);
    if (hits > size * size)
        __builtin_trap();
}

/* Most inputs would fail at the magic: those get a sound beginning, counts from the input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_threads_header header = {.magic = {'R', 'P', 'T', 'H', 'R', 'D', 'S', '1'},
                                       .version = RP_THREADS_VERSION,
                                       .header_bytes = sizeof header,
                                       .engine_mhz = 2100,
                                       .timestamp_mhz = 100};
    uint64_t *counts[] = {&header.code_count, &header.text_bytes, &header.wave_count,
                          &header.row_count,  &header.wait_count, &header.event_count};
    uint8_t *image = malloc(sizeof header + size);

    if (!image)
        return 0;
    for (size_t i = 0; i < 6 && i < size; i++)
        *counts[i] = data[i] & 15;
    memcpy(image, &header, sizeof header);
    memcpy(image + sizeof header, data, size);
    read_one(image, sizeof header + size);
    memcpy(image, data, size);
    read_one(image, size);
    free(image);
    return 0;
}
