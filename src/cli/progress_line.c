#include "cli/progress_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"

struct rp_progress_line rp_progress_line_begin(void)
{
    return (struct rp_progress_line){.terminal = isatty(STDERR_FILENO)};
}

static size_t columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/** Columns of the character at text, of UTF-8: two where there may be two. */
static size_t columns_of(const char *text)
{
    const unsigned char c = (unsigned char)*text;

    return (c & 0xc0) == 0x80 ? 0 : c >= 0xe1 ? 2 : 1;
}

/** Spaces, not an escape code, take away the rest of the line before. */
static void put(struct rp_progress_line *line, const char *text)
{
    const size_t most = columns() - 1; /* the last column would begin a new line */
    size_t bytes = 0, used = 0;

    while (text[bytes] && used + columns_of(&text[bytes]) <= most)
        used += columns_of(&text[bytes++]);
    fprintf(stderr, "\r%.*s", (int)bytes, text);
    for (size_t i = used; i < line->shown && i < most; i++)
        fputc(' ', stderr);
    fflush(stderr);
    line->shown = used;
}

void rp_progress_line_show(struct rp_progress_line *line, const char *text)
{
    rp_autobuf clean = {0};

    rp_escape(&clean, text);
    if (line->terminal)
        put(line, rp_buf_text(&clean));
}

void rp_progress_line_clear(struct rp_progress_line *line)
{
    if (!line->terminal || !line->shown)
        return;
    put(line, "");
    fputc('\r', stderr);
}
