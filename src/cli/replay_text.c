#include "cli/replay_text.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "replay/replay_protocol.h"
#include "report/report_text.h"

static enum rp_ink ink_of(char letter)
{
    switch (letter) {
    case RP_REPLAY_GOOD:
        return RP_INK_GREEN;
    case RP_REPLAY_BAD:
        return RP_INK_RED;
    case RP_REPLAY_CARE:
        return RP_INK_YELLOW;
    case RP_REPLAY_BOLD:
        return RP_INK_BOLD;
    default:
        return RP_INK_PLAIN;
    }
}

void rp_replay_put_text(const char *lines, struct rp_term_style style, struct rp_buf *to)
{
    enum { HANG = 2 };
    const struct rp_page page = rp_page_of_words(to, style);

    while (*lines) {
        const size_t length = strcspn(lines, "\n");
        const bool marked = lines[0] == RP_REPLAY_INK && length >= 2;

        if (length)
            rp_page_words(&page, marked ? ink_of(lines[1]) : RP_INK_PLAIN, 0, HANG, "%.*s",
                          (int)(length - (marked ? 2 : 0)), lines + (marked ? 2 : 0));
        else
            rp_buf_puts(to, "\n");
        lines += length + (lines[length] == '\n');
    }
}

int rp_replay_read_text(int fd, struct rp_buf *to, struct rp_err *err)
{
    char some[4096];
    ssize_t got;

    while ((got = pread(fd, some, sizeof some, (off_t)to->len)) > 0)
        rp_buf_add(to, some, (size_t)got);
    if (got < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot read what the replay has printed");
    return to->failed ? rp_fail(err, RP_ENVIRONMENT, "out of memory") : 0;
}
