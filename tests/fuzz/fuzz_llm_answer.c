/*
 * The first byte says how the rest is cut; that is what a model server sends. Whole or in pieces,
 * it ends with a kernel or with a message, and how a stream is cut changes nothing. Seeds:
 * tests/fuzz/seeds/llm_answer.
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "optimize/model_exchange.h"
#include "optimize/propose.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_utf8(const char *text, size_t bytes)
{
    for (size_t at = 0, length; at < bytes; at += length)
        if ((length = rp_utf8_length(text + at, bytes - at)) == 0)
            abort();
}

static void take_kernel(const struct rp_completion *c)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *kernel = NULL;
    size_t bytes = 0;
    int rc = rp_llm_answer_kernel(c, &kernel, &bytes, &err);

    if (rc == 0 && (bytes == 0 || strlen(kernel) != bytes || c->text.len > 1 << 20))
        abort();
    if (rc == 0)
        check_utf8(kernel, bytes);
    if (rc < 0 && (rc != -RP_VERDICT || !*err.text))
        abort();
}

static int stream(const char *bytes, size_t len, size_t step, struct rp_completion *c)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_sse sse = {.event = rp_completion_event, .context = c};
    int rc = 0;

    for (size_t at = 0; rc == 0 && at < len; at += step)
        rc = rp_sse_feed(&sse, bytes + at, len - at < step ? len - at : step, &err);
    if (rc == 0)
        rc = rp_sse_end(&sse, &err);
    rp_sse_free(&sse);
    if (rc < 0 && !*err.text)
        abort();
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct rp_completion at_once = {0}, in_pieces = {0}, whole = {0}, raw = {0};
    struct rp_err err = RP_ERR_INIT;
    const char *text = (const char *)bytes + 1;
    char line[40];

    if (len < 1)
        return 0;
    len--;
    if (stream(text, len, len + 1, &at_once) != stream(text, len, bytes[0] % 16 + 1, &in_pieces) ||
        at_once.text.len != in_pieces.text.len || at_once.finish != in_pieces.finish ||
        memcmp(rp_buf_text(&at_once.text), rp_buf_text(&in_pieces.text), at_once.text.len) != 0)
        abort();
    take_kernel(&in_pieces);
    if (rp_completion_whole(&whole, text, len, &err) == 0)
        take_kernel(&whole);
    rp_buf_add(&raw.text, text, len);
    take_kernel(&raw);
    rp_completion_error_text(text, len, line, sizeof line);
    if (strlen(line) >= sizeof line || strpbrk(line, "\n\r\t\033"))
        abort();
    check_utf8(line, strlen(line));
    rp_completion_free(&at_once);
    rp_completion_free(&in_pieces);
    rp_completion_free(&whole);
    rp_completion_free(&raw);
    return 0;
}
