/**
 * @file buf.h
 * @brief Growing byte buffer, always zero-terminated.
 *
 * Where memory ends, a program ends; in a library the buffer remembers that it failed (alloc.h).
 */
#ifndef RP_BASE_BUF_H
#define RP_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/** Initialise it with zeros. The caller owns it, and releases it with rp_buf_free. */
struct rp_buf {
    char *data; /**< NULL until the first write; then terminated */
    size_t len; /**< bytes without the terminator */
    size_t capacity_bytes;
    bool failed; /**< an append did not fit in memory: contents are incomplete */
};

void rp_buf_add(struct rp_buf *buf, const void *bytes, size_t len);
void rp_buf_puts(struct rp_buf *buf, const char *text);
void rp_buf_printf(struct rp_buf *buf, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void rp_buf_vprintf(struct rp_buf *buf, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
/** Returns the text so far, which is never NULL. */
const char *rp_buf_text(const struct rp_buf *buf);
/** Gives the buffer's memory to the caller, who frees it. It is NULL if an append had failed. */
char *rp_buf_steal(struct rp_buf *buf);
void rp_buf_free(struct rp_buf *buf);

#define rp_autobuf __attribute__((cleanup(rp_buf_free))) struct rp_buf

#endif
