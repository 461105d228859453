#include "optimize/llm/answer.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/utf8.h"
#include "optimize/llm/completion.h"

struct blocks {
    size_t count;      /* closed and open ones */
    bool open;         /* the last has no end */
    size_t begin, end; /* contents of the first */
};

struct fence {
    char mark;     /* back-quote or tilde */
    size_t length; /* how many */
    bool alone;    /* nothing behind them: may close */
};

static bool is_blank(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n')
            return false;
    return true;
}

/* CommonMark 4.5: up to three spaces, then at least three of one mark. */
static bool read_fence(const char *line, size_t bytes, struct fence *ret)
{
    size_t at = 0, begin;

    while (at < bytes && at < 3 && line[at] == ' ')
        at++;
    begin = at;
    if (at == bytes || (line[at] != '`' && line[at] != '~'))
        return false;
    while (at < bytes && line[at] == line[begin])
        at++;
    *ret = (struct fence){
        .mark = line[begin], .length = at - begin, .alone = is_blank(line + at, bytes - at)};
    /* ```code``` within one line is no fence. */
    return ret->length >= 3 && !(ret->mark == '`' && memchr(line + at, '`', bytes - at));
}

static struct blocks find_blocks(const char *text, size_t bytes)
{
    struct blocks found = {0};
    struct fence opened = {0};

    for (size_t at = 0, next; at < bytes; at = next) {
        const char *feed = memchr(text + at, '\n', bytes - at);
        struct fence fence;

        next = feed ? (size_t)(feed - text) + 1 : bytes;
        if (!read_fence(text + at, next - at, &fence))
            continue;
        if (!found.open) {
            opened = fence;
            found.open = true;
            if (++found.count == 1)
                found.begin = found.end = next;
        } else if (fence.alone && fence.mark == opened.mark && fence.length >= opened.length) {
            found.open = false;
            if (found.count == 1)
                found.end = at;
        }
    }
    return found;
}

static int check_finish(const struct rp_completion *c, struct rp_err *err)
{
    if (c->refused)
        return rp_fail(err, RP_VERDICT, "the model declined to answer");
    if (c->finish == RP_FINISH_LENGTH)
        return rp_fail(err, RP_VERDICT,
                       "the answer was cut at the limit of tokens; answer with the code only");
    if (c->finish == RP_FINISH_OTHER)
        return rp_fail(err, RP_VERDICT, "the server ended the answer with the reason \"%s\"",
                       c->finish_word);
    return 0;
}

static int check_text(const char *text, size_t bytes, struct rp_err *err)
{
    for (size_t at = 0, length; at < bytes; at += length) {
        length = rp_utf8_length(text + at, bytes - at);
        if (length == 0)
            return rp_fail(err, RP_VERDICT, "the answer is not UTF-8 at byte %zu", at);
        if (text[at] == '\0')
            return rp_fail(err, RP_VERDICT, "the answer holds a zero byte");
    }
    return 0;
}

static int check_blocks(const struct blocks *found, struct rp_err *err)
{
    if (found->count == 0)
        return rp_fail(err, RP_VERDICT,
                       "the answer holds no fenced block; answer with one that holds the complete "
                       "kernel");
    if (found->count > 1)
        return rp_fail(err, RP_VERDICT,
                       "the answer holds more than one fenced block; answer with exactly one that "
                       "holds the complete kernel");
    if (found->open)
        return rp_fail(err, RP_VERDICT, "the fenced block of the answer has no end");
    return 0;
}

int rp_llm_answer_kernel(const struct rp_completion *completion, char **ret_kernel,
                         size_t *ret_bytes, struct rp_err *err)
{
    const char *text = rp_buf_text(&completion->text);
    size_t bytes = completion->text.len;
    struct blocks found = find_blocks(text, bytes);
    char *kernel;

    if (check_finish(completion, err) < 0 || check_text(text, bytes, err) < 0)
        return -(int)err->code;
    if (is_blank(text, bytes))
        return rp_fail(err, RP_VERDICT, "the answer is empty");
    if (check_blocks(&found, err) < 0)
        return -(int)err->code;
    if (is_blank(text + found.begin, found.end - found.begin))
        return rp_fail(err, RP_VERDICT, "the fenced block of the answer is empty");
    bytes = found.end - found.begin;
    if (text[found.begin + bytes - 1] == '\n')
        bytes--;
    kernel = malloc(bytes + 1);
    if (!kernel)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    memcpy(kernel, text + found.begin, bytes);
    kernel[bytes] = '\0';
    *ret_kernel = kernel;
    *ret_bytes = bytes;
    return 0;
}
