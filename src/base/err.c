#include "base/err.h"

#include <stdio.h>
#include <string.h>

int rp_fail(struct rp_err *err, enum rp_code code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        err->code = code;
        va_start(ap, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
    }
    return -(int)code;
}

int rp_fail_errno(struct rp_err *err, enum rp_code code, int errno_value, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        size_t used;
        err->code = code;
        va_start(ap, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
        used = strlen(err->text);
        snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(errno_value));
    }
    return -(int)code;
}

int rp_wrap(struct rp_err *err, const char *fmt, ...)
{
    char inner[RP_ERR_TEXT_BYTES];
    size_t used;
    va_list ap;

    if (!err)
        return -(int)RP_BAD_INPUT;
    memcpy(inner, err->text, sizeof inner);
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    used = strlen(err->text);
    snprintf(err->text + used, sizeof err->text - used, ": %s", inner);
    return -(int)err->code;
}

int rp_out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
}
