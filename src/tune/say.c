#include "tune/say.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/process.h"
#include "base/utf8.h"

enum { MOST_LINE = 200, MOST_LOG = 1 << 16 };

/** The end of a file, terminated; zero bytes become blanks. NULL: unreadable or empty. */
static char *tail_of(const char *path)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    rp_autofree char *text = malloc(MOST_LOG + 1);
    struct stat st;
    ssize_t got;

    if (fd < 0 || !text || fstat(fd, &st) != 0)
        return NULL;
    got = pread(fd, text, MOST_LOG, st.st_size > MOST_LOG ? st.st_size - MOST_LOG : 0);
    if (got <= 0)
        return NULL;
    for (ssize_t i = 0; i < got; i++)
        if (!text[i])
            text[i] = ' ';
    text[got] = 0;
    return rp_steal(text);
}

/** Blank, or what ROCr says at the end of programs that are in order, too. */
static bool says_nothing(const char *line, size_t bytes)
{
    static const char leak[] = "Warning: Resource leak detected by ";

    if (bytes >= sizeof leak - 1 && memcmp(line, leak, sizeof leak - 1) == 0)
        return true;
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)line[i] > ' ')
            return false;
    return true;
}

/** "emory": the device's own word, and ROCr's at the beginning of a line. */
static bool has_error(const char *line, size_t bytes)
{
    static const char *const words[] = {"error", "emory access fault"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(line, bytes, words[i], strlen(words[i])))
            return true;
    return false;
}

static char *plain(const char *line, size_t bytes)
{
    rp_autobuf mended = {0};
    char *text;

    rp_utf8_fix(&mended, line, bytes < MOST_LINE ? bytes : MOST_LINE);
    if (bytes > MOST_LINE)
        rp_buf_puts(&mended, "...");
    text = rp_buf_steal(&mended);
    for (char *c = text; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    return text;
}

char *rp_say_log(const char *path)
{
    rp_autofree char *text = tail_of(path);
    const char *best = NULL;
    size_t best_bytes = 0;

    for (const char *line = text; line && *line;) {
        const size_t bytes = strcspn(line, "\n");

        if (!says_nothing(line, bytes)) {
            best = line;
            best_bytes = bytes;
            if (has_error(line, bytes))
                break;
        }
        line += bytes + (line[bytes] == '\n');
    }
    return best ? plain(best, best_bytes) : NULL;
}

void rp_say_with_log(char **why, const char *log_path)
{
    rp_autofree char *said = rp_say_log(log_path);
    char *both = said ? rp_format("%s: %s", *why, said) : NULL;

    if (!both)
        return;
    free(*why);
    *why = both;
}

char *rp_say_end(const struct rp_proc_end *end, const char *log_path)
{
    rp_autofree char *said = rp_say_log(log_path);
    rp_autofree char *how = end->over_memory ? rp_format("took more memory than it may")
                            : end->timed_out ? rp_format("did not end in time")
                            : end->signaled
                                ? rp_format("was ended by SIG%s", sigabbrev_np(end->status) ?: "?")
                                : rp_format("ended with exit status %d", end->status);

    return how ? rp_format("%s%s%s", how, said ? ": " : "", said ? said : "") : NULL;
}
