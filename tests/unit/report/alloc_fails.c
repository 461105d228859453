#include "report/alloc_fails.h"

#include "base/buf.h"
#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

long countdown = -1;
static bool failed;

bool fails_now(void)
{
    if (countdown < 0 || countdown-- > 0)
        return false;
    failed = true;
    return true;
}

void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_reallocarray(void *old, size_t count, size_t bytes);
char *__real_strndup(const char *text, size_t most);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_reallocarray(void *old, size_t count, size_t bytes);
char *__wrap_strndup(const char *text, size_t most);

void *__wrap_malloc(size_t bytes)
{
    return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails_now() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails_now() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_reallocarray(void *old, size_t count, size_t bytes)
{
    return fails_now() ? NULL : __real_reallocarray(old, count, bytes);
}

char *__wrap_strndup(const char *text, size_t most)
{
    return fails_now() ? NULL : __real_strndup(text, most);
}

long survive(step *run)
{
    rp_autobuf whole = {0};
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(run(&whole, &err), 0);
    for (long n = 0;; n++) {
        rp_autobuf out = {0};
        int rc;

        failed = false;
        countdown = n;
        rc = run(&out, &err);
        countdown = -1;
        if (!failed) { /* fewer allocations than n */
            assert_int_equal(rc, 0);
            assert_string_equal(rp_buf_text(&out), rp_buf_text(&whole));
            return n;
        }
        assert_int_equal(rc, -(int)RP_ENVIRONMENT);
        assert_non_null(strstr(err.text, "out of memory"));
    }
}
