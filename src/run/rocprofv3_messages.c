#include "run/rocprofv3_messages.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

enum kind { FATAL, TRACEBACK, TOO_MUCH, WARNING, NOISE };
enum { MAX_WARNINGS = 32, MAX_LINE = 400 };

static const struct message {
    enum kind kind;
    const char *text, *meaning;
} messages[] = {
#define FATAL(text, remedy)     {FATAL, text, remedy},
#define TRACEBACK(text, remedy) {TRACEBACK, text, remedy},
#define TOO_MUCH(text)          {TOO_MUCH, text, NULL},
#define WARNING(text, meaning)  {WARNING, text, meaning},
#define NOISE(source, text)     {NOISE, source, text},
#include "run/rocprofv3_messages.def"
#undef FATAL
#undef TRACEBACK
#undef TOO_MUCH
#undef WARNING
#undef NOISE
};

/* The log's "W20260101 10:00:00.000000 123456 tool.cpp:12] " says nothing to the user, so it is
 * left out. */
static const char *skip_stamp(const char *line, const char *end)
{
    const char *close = memchr(line, ']', (size_t)(end - line));

    if (close && close > line + 9 && strchr("IWEF", *line) && isdigit((unsigned char)line[1]) &&
        close + 1 < end && close[1] == ' ')
        return close + 2;
    return line;
}

static bool begins(const char *line, const char *end, const char *prefix)
{
    size_t length = strlen(prefix);

    return (size_t)(end - line) >= length && memcmp(line, prefix, length) == 0;
}

bool rp_rocprofv3_may_be_log(const char *line, size_t len)
{
    bool ok = strchr("IWEF", *line) && *line;

    for (size_t i = 1; i < len && i < 9 && ok; i++)
        ok = line[i] >= '0' && line[i] <= '9';
    return ok;
}

/* Finds the file of the source in a line of the log, "F20260101 10:00:00.000000 123456 tool.cpp:12]
 * ...".
 * @return where its name begins, or NULL: it is no such line */
static const char *log_source(const char *line, const char *end, size_t *ret_length)
{
    const char *close = memchr(line, ']', (size_t)(end - line)), *at = close;

    if (end - line < 10 || !close || !rp_rocprofv3_may_be_log(line, 9) || line[9] != ' ')
        return NULL;
    while (at > line && isdigit((unsigned char)at[-1]))
        at--;
    if (at == close || at == line || at[-1] != ':')
        return NULL;
    *ret_length = (size_t)(at - 1 - line);
    while (at > line && at[-1] != ' ')
        at--;
    *ret_length -= (size_t)(at - line);
    return at;
}

/* The library's log ends a process behind a fatal line. Its sources end in ".cpp". */
static bool is_fatal_log(const char *line, const char *end)
{
    size_t length;
    const char *source = *line == 'F' ? log_source(line, end, &length) : NULL;

    return source && length > 4 && memcmp(source + length - 4, ".cpp", 4) == 0;
}

/* A program with the same kind of log has the names of its own sources in it. */
static bool is_of_program(const char *program, const char *line, const char *end)
{
    struct rp_err ignored = RP_ERR_INIT;
    size_t length, bytes;
    const char *source = log_source(line, end, &length);
    rp_autofree char *name = source ? rp_strndup(source, length) : NULL;
    rp_autofree void *text = NULL;

    return name && program &&
           rp_read_file(program, SIZE_MAX / 2, RP_BAD_INPUT, &text, &bytes, &ignored) == 0 &&
           memmem(text, bytes, name, length + 1) != NULL;
}

static const struct message *find(const char *line, const char *end, bool has_trace)
{
    static const struct message other = {FATAL, NULL, NULL};

    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (messages[i].kind != NOISE &&
            memmem(line, (size_t)(end - line), messages[i].text, strlen(messages[i].text)))
            return &messages[i];
    if (is_fatal_log(line, end) || (!has_trace && begins(line, end, "Fatal error:")))
        return &other;
    return NULL;
}

bool rp_rocprofv3_is_last_word(const char *line, const char *end, time_t now)
{
    const struct message *message = line < end ? find(line, end, true) : NULL;
    size_t length;

    if (message && message->kind == TOO_MUCH && log_source(line, end, &length))
        return true;
    for (int day = -1; day <= 1 && is_fatal_log(line, end); day++) {
        const time_t at = now + day * 24 * 60 * 60;
        char date[16];
        struct tm parts;

        strftime(date, sizeof date, "%Y%m%d", gmtime_r(&at, &parts));
        if (memcmp(line + 1, date, 8) == 0)
            return true;
    }
    return false;
}

/* What rocprofv3 tells of itself at the beginning and the end of each run. */
static bool is_noise(const char *line, const char *end)
{
    size_t length;
    const char *source = log_source(line, end, &length);

    if (!source || *line == 'F')
        return false;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (messages[i].kind == NOISE && strlen(messages[i].text) == length &&
            memcmp(messages[i].text, source, length) == 0 &&
            memmem(line, (size_t)(end - line), messages[i].meaning, strlen(messages[i].meaning)))
            return true;
    return false;
}

bool rp_rocprofv3_hides_line(const char *line, size_t length)
{
    const struct message *message;

    if (skip_stamp(line, line + length) == line)
        return false;
    message = find(line, line + length, true);
    return (message && (message->kind == WARNING || message->kind == TOO_MUCH)) ||
           is_noise(line, line + length);
}

/* Only the last part of "Unable to find ... in [all]. Found: [these]. Missing: [those]" is needed.
 */
static const char *skip_known(const char *line, const char *end)
{
    static const char missing[] = "Missing: [";
    const char *found = memmem(line, (size_t)(end - line), missing, sizeof missing - 1);

    return found ? found : line;
}

static void add_warning(struct rp_rocprofv3_messages *verdict, const char *line, const char *end,
                        const char *meaning)
{
    size_t length = end - line > MAX_LINE ? MAX_LINE : (size_t)(end - line);
    rp_autofree char *text = rp_format("%.*s: %s", (int)length, line, meaning);

    for (size_t i = 0; i < verdict->warning_count; i++)
        if (strcmp(verdict->warnings[i], text) == 0)
            return;
    if (verdict->warning_count == MAX_WARNINGS)
        return;
    verdict->warnings =
        rp_realloc_array(verdict->warnings, verdict->warning_count + 1, sizeof *verdict->warnings);
    verdict->warnings[verdict->warning_count++] = rp_steal(text);
}

/* Skips blanks and "[rocprofv3] Fatal error: ", so that the cause alone is left. */
static const char *skip_words(const char *line, const char *end)
{
    static const char *const words[] = {" ", "[rocprofv3] ", "Fatal error: ", "rocprofv3: error: "};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        while (begins(line, end, words[i]))
            line += strlen(words[i]);
    return line;
}

static const char *skip_blanks(const char *line, const char *end)
{
    while (line < end && *line == ' ')
        line++;
    return line;
}

/* A check that failed is told in several lines, the last of which says what happened: the line of
 * the log has its source alone. A list of callers may follow.
 * @param ret_end of the line that is returned, or of the first one where none follows */
static const char *last_of_block(const char *line, const char *end, const char **ret_end)
{
    const char *last = line, *last_end = end;

    while (*end) {
        const char *next = end + strspn(end, "\r\n");

        end = next + strcspn(next, "\r\n");
        if (begins(next, end, "*** ") || begins(next, end, "    @ ") ||
            skip_stamp(next, end) != next)
            break;
        if ((size_t)(end - next) > strspn(next, " \t")) {
            last = next;
            last_end = end;
        }
    }
    *ret_end = last_end;
    return last;
}

static void take_line(struct rp_rocprofv3_messages *verdict, bool *weak, const char *line,
                      const char *end, bool has_trace, const char *program)
{
    const struct message *message = find(line, end, has_trace);

    if (!message || (!message->text && is_of_program(program, line, end)))
        return;
    if (!message->text && begins(skip_blanks(skip_stamp(line, end), end), end, "::"))
        line = last_of_block(line, end, &end);
    line = skip_stamp(line, end);
    if (message->kind == WARNING) {
        add_warning(verdict, skip_known(line, end), end, message->meaning);
        return;
    }
    verdict->too_much |= message->kind == TOO_MUCH;
    if (verdict->fatal && !(*weak && message->kind == FATAL))
        return; /* The first message is the cause, so later ones are ignored. */
    line = skip_words(line, end);
    free(verdict->fatal);
    *weak = message->kind == TRACEBACK;
    verdict->remedy = message->meaning;
    verdict->fatal = rp_strndup(line, end - line > MAX_LINE ? MAX_LINE : (size_t)(end - line));
}

void rp_rocprofv3_read_messages(const char *text, bool has_trace, const char *program,
                                struct rp_rocprofv3_messages *ret)
{
    bool weak = false;

    *ret = (struct rp_rocprofv3_messages){0};
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\r\n");
        if (end > line)
            take_line(ret, &weak, line, end, has_trace, program);
    }
}

void rp_rocprofv3_messages_free(struct rp_rocprofv3_messages *verdict)
{
    for (size_t i = 0; i < verdict->warning_count; i++)
        free(verdict->warnings[i]);
    free(verdict->warnings);
    free(verdict->fatal);
    memset(verdict, 0, sizeof *verdict);
}
