/**
 * @file threads_file.h
 * @brief Reader of the software device's thread traces (trace/records.h).
 */
#ifndef RP_COLLECT_THREADS_FILE_H
#define RP_COLLECT_THREADS_FILE_H

#include <stddef.h>

#include "trace/records.h"

struct rp_err;

/** All indices in it are valid, texts end, rows of a wave are in order. */
struct rp_threads_file {
    void *bytes; /**< NULL: the caller's */
    const struct rp_threads_header *header;
    const struct rp_threads_code *code;
    const char *text;
    const struct rp_threads_wave *wave;
    const struct rp_threads_row *row;
    const struct rp_threads_wait *wait;
    const struct rp_threads_event *event;
};

/** @return 0; RP_BAD_INPUT when the format cannot explain it. @p bytes must outlive the reader. */
int rp_threads_file_parse(const void *bytes, size_t size, struct rp_threads_file *ret,
                          struct rp_err *err);

/** @return 0, RP_BAD_INPUT, RP_ENVIRONMENT when it cannot be read */
int rp_threads_file_open(const char *path, struct rp_threads_file *ret, struct rp_err *err);
void rp_threads_file_close(struct rp_threads_file *file);

static inline const char *rp_threads_text(const struct rp_threads_file *file, size_t code)
{
    return file->text + file->code[code].text;
}

#endif
