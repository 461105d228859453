#include "base/err.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static void __attribute__((format(printf, 3, 0)))
set(struct rp_err *err, enum rp_code code, const char *fmt, va_list ap)
{
    if (!err)
        return;
    err->code = code;
    err->has_remedy = false;
    vsnprintf(err->text, sizeof err->text, fmt, ap);
}

int rp_fail(struct rp_err *err, enum rp_code code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set(err, code, fmt, ap);
    va_end(ap);
    return -(int)code;
}

int rp_fail_with_remedy(struct rp_err *err, enum rp_code code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set(err, code, fmt, ap);
    va_end(ap);
    if (err)
        err->has_remedy = true;
    return -(int)code;
}

/* Appends ": reason". A text that is too long for both, as a path may be, loses its end: what is
 * wrong with it says more. */
static void append(struct rp_err *err, const char *reason)
{
    enum { LEAST = 200 };
    static const char cut[] = "...";
    const size_t room = sizeof err->text, wanted = strlen(": ") + strlen(reason) + 1;
    size_t used = strlen(err->text);

    if (used + wanted > room) {
        const size_t all =
            wanted + strlen(cut) + LEAST < room ? room - wanted - strlen(cut) : LEAST;

        used = used < all ? used : all;
        memcpy(err->text + used, cut, sizeof cut);
        used += strlen(cut);
    }
    snprintf(err->text + used, room - used, ": %s", reason);
}

/* "File too large" does not say which limit it is, nor where it is set. */
static void append_file_limit(struct rp_err *err)
{
    struct rlimit limit;
    char text[120];

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) {
        append(err, strerror(EFBIG));
        return;
    }
    snprintf(text, sizeof text,
             "%s: files may have %" PRIu64 " bytes here (ulimit -f); raise that limit",
             strerror(EFBIG), (uint64_t)limit.rlim_cur);
    append(err, text);
    err->has_remedy = true;
}

int rp_fail_errno(struct rp_err *err, enum rp_code code, int errno_value, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    set(err, code, fmt, ap);
    va_end(ap);
    if (err && errno_value == EFBIG)
        append_file_limit(err);
    else if (err)
        append(err, strerror(errno_value));
    return -(int)code;
}

int rp_wrap(struct rp_err *err, const char *fmt, ...)
{
    char inner[RP_ERR_TEXT_BYTES];
    va_list ap;

    if (!err)
        return -(int)RP_BAD_INPUT;
    memcpy(inner, err->text, sizeof inner);
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    append(err, inner);
    return -(int)err->code;
}

int rp_out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}
