#include "optimize/patch.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { CONTEXT = 3 };

struct lines {
    const char **at; /**< one more than there are lines: the end */
    size_t count;
    bool open; /**< no newline at the end */
};

static bool split(const char *text, size_t bytes, struct lines *ret)
{
    size_t count = 0;

    for (size_t i = 0; i < bytes; i++)
        count += text[i] == '\n';
    ret->open = bytes && text[bytes - 1] != '\n';
    ret->count = count + ret->open;
    ret->at = malloc((ret->count + 1) * sizeof *ret->at);
    if (!ret->at)
        return false;
    ret->at[0] = text;
    for (size_t i = 0, line = 0; i < bytes; i++)
        if (text[i] == '\n')
            ret->at[++line] = text + i + 1;
    ret->at[ret->count] = text + bytes;
    return true;
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b, size_t j)
{
    const size_t length = (size_t)(a->at[i + 1] - a->at[i]);

    return length == (size_t)(b->at[j + 1] - b->at[j]) && memcmp(a->at[i], b->at[j], length) == 0;
}

static void add(char mark, const struct lines *lines, size_t from, size_t to, struct rp_buf *ret)
{
    for (size_t i = from; i < to; i++) {
        rp_buf_add(ret, &mark, 1);
        rp_buf_add(ret, lines->at[i], (size_t)(lines->at[i + 1] - lines->at[i]));
        if (lines->open && i + 1 == lines->count)
            rp_buf_puts(ret, "\n\\ No newline at end of file\n");
    }
}

/** A range of no lines is named by the line before it. */
static size_t first_line(size_t begin, size_t count)
{
    return count ? begin + 1 : begin;
}

void rp_patch_write(const char *name, const char *before, size_t before_bytes, const char *after,
                    size_t after_bytes, struct rp_buf *ret)
{
    struct lines a = {0}, b = {0};
    size_t head = 0, tail = 0, begin, end;

    if (!split(before, before_bytes, &a) || !split(after, after_bytes, &b)) {
        ret->failed = true;
        free(a.at);
        free(b.at);
        return;
    }
    while (head < a.count && head < b.count && same_line(&a, head, &b, head))
        head++;
    while (tail < a.count - head && tail < b.count - head &&
           same_line(&a, a.count - 1 - tail, &b, b.count - 1 - tail))
        tail++;
    if (head < a.count || head < b.count) {
        begin = head > CONTEXT ? head - CONTEXT : 0;
        end = tail > CONTEXT ? CONTEXT : tail;
        rp_buf_printf(ret, "--- a/%s\n+++ b/%s\n@@ -%zu,%zu +%zu,%zu @@\n", name, name,
                      first_line(begin, a.count - tail + end - begin), a.count - tail + end - begin,
                      first_line(begin, b.count - tail + end - begin),
                      b.count - tail + end - begin);
        add(' ', &a, begin, head, ret);
        add('-', &a, head, a.count - tail, ret);
        add('+', &b, head, b.count - tail, ret);
        add(' ', &a, a.count - tail, a.count - tail + end, ret);
    }
    free(a.at);
    free(b.at);
}
