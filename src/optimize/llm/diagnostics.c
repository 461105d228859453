#include "optimize/llm/diagnostics.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

struct head {
    size_t path_bytes;
    unsigned long line, column;
    const char *said; /**< "error: ..." */
};

static bool starts(const char *text, const char *end, const char *word)
{
    const size_t bytes = strlen(word);

    return (size_t)(end - text) >= bytes && memcmp(text, word, bytes) == 0;
}

/** ":12:5: " at a colon. */
static bool read_place(const char *at, const char *end, struct head *ret)
{
    char *behind;

    if (at + 1 >= end || !isdigit((unsigned char)at[1]))
        return false;
    ret->line = strtoul(at + 1, &behind, 10);
    if (behind >= end || *behind != ':' || !isdigit((unsigned char)behind[1]))
        return false;
    ret->column = strtoul(behind + 1, &behind, 10);
    if (behind + 2 > end || behind[0] != ':' || behind[1] != ' ')
        return false;
    ret->said = behind + 2;
    return true;
}

/** "path:12:5: error: ...", as clang and gcc write it. */
static bool read_head(const char *line, const char *end, struct head *ret)
{
    static const char *const kinds[] = {"error: ", "fatal error: ", "warning: ", "note: "};

    for (const char *at = line; at < end; at++) {
        if (*at != ':' || !read_place(at, end, ret))
            continue;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (starts(ret->said, end, kinds[i])) {
                ret->path_bytes = (size_t)(at - line);
                return true;
            }
    }
    return false;
}

static bool has_extension(const char *line, size_t path_bytes, const char *path)
{
    const char *dot = strrchr(path, '.');
    const size_t bytes = dot ? strlen(dot) : 0;

    return path_bytes >= bytes && memcmp(line + path_bytes - bytes, dot ? dot : "", bytes) == 0;
}

/** Lines between diagnostics that belong to none of them. */
static bool is_between(const char *line, const char *end)
{
    static const char generated[] = " generated";

    return starts(line, end, "In file included from") ||
           memmem(line, (size_t)(end - line), generated, sizeof generated - 1) != NULL;
}

void rp_llm_own_diagnostics(const char *output, const char *path, uint32_t first_line,
                            uint32_t line_count, struct rp_buf *to)
{
    bool own = false, any = false;

    for (const char *line = output, *end; *line; line = *end ? end + 1 : end) {
        struct head head;

        end = strchrnul(line, '\n');
        if (read_head(line, end, &head)) {
            own = has_extension(line, head.path_bytes, path) && head.line >= first_line &&
                  head.line - first_line < line_count;
            if (own)
                rp_buf_printf(to, "line %lu, column %lu: %.*s\n", head.line - first_line + 1,
                              head.column, (int)(end - head.said), head.said);
        } else if (is_between(line, end)) {
            own = false;
        } else if (own) {
            rp_buf_printf(to, "%.*s\n", (int)(end - line), line);
        }
        any = any || own;
    }
    if (!any)
        rp_buf_puts(to, "It is refused for what stands outside of the kernel's own lines.\n");
}
