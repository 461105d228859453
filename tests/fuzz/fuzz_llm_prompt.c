/*
 * Two texts, divided by a zero byte: a source file, and what was tried. The question to a model
 * ends, is UTF-8, and its fences stand alone: as many open as close.
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "optimize/kernel_source.h"
#include "optimize/prompt.h"
#include "optimize/propose.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_utf8(const char *text)
{
    size_t bytes = strlen(text);

    for (size_t at = 0, length; at < bytes; at += length)
        if ((length = rp_utf8_length(text + at, bytes - at)) == 0)
            abort();
}

/* Lines of the kernel's fence, which is the longest of all: each one outside opens, the next
 * closes. */
static void check_fences(const char *text)
{
    const char *head = strstr(text, "\n## The kernel (");
    const char *fence = head ? strchr(head + 1, '\n') + 1 : "";
    size_t length = strspn(fence, "`"), lines = 0;

    if (length < 3)
        abort();
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        lines += strspn(line, "`") >= length;
    if (lines % 2 != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    rp_autofree char *text = malloc(len + 2);
    struct rp_attempt attempt = {.title = "", .outcome = "refused"};
    struct rp_kernel_source source = {.path = (char *)"k.hip", .name = (char *)"k", .line = 1};
    struct rp_proposer_input in = {
        .source = &source, .attempts = &attempt, .attempt_count = 1, .scope = RP_EDIT_BODY};
    struct rp_llm_prompt prompt = {0};
    struct rp_err err = RP_ERR_INIT;

    if (!text || len < 2)
        return 0;
    memcpy(text, bytes, len);
    text[len] = text[len + 1] = '\0';
    source.text = text;
    source.bytes = strlen(text);
    source.begin = bytes[len - 1] % (source.bytes + 1);
    source.end = source.begin + bytes[len - 2] % (source.bytes - source.begin + 1);
    attempt.kernel_text = attempt.reason = text + source.bytes + 1;
    in.failed_text = in.compiler_output = attempt.reason;
    if (rp_llm_prompt_make(&in, 500 + len % 512, &prompt, &err) == 0) {
        check_utf8(prompt.user);
        check_fences(prompt.user);
    } else if (!*err.text) {
        abort();
    }
    rp_llm_prompt_free(&prompt);
    return 0;
}
