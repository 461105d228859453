#include "collect/rocprofv3_log.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

enum kind { FATAL, TRACEBACK, TOO_MUCH, WARNING };
enum { MAX_WARNINGS = 32, MAX_LINE = 400 };

static const struct message {
    enum kind kind;
    const char *text, *meaning;
} messages[] = {
#define FATAL(text, remedy)     {FATAL, text, remedy},
#define TRACEBACK(text, remedy) {TRACEBACK, text, remedy},
#define TOO_MUCH(text)          {TOO_MUCH, text, NULL},
#define WARNING(text, meaning)  {WARNING, text, meaning},
#include "collect/rocprofv3_messages.def"
#undef FATAL
#undef TRACEBACK
#undef TOO_MUCH
#undef WARNING
};

/* The log's "W20260101 10:00:00.000000 123456 tool.cpp:12] " says nothing to the user. */
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

/* A fatal line of the library's log: "F20260101 ...". Programs may use the same kind of log. */
static bool is_fatal_log(const char *line, const char *end)
{
    rp_autofree char *text = strndup(line, (size_t)(end - line));

    return text && *text == 'F' && strspn(text + 1, "0123456789") == 8 &&
           skip_stamp(line, end) != line &&
           (strcasestr(text, "rocprof") || strcasestr(text, "aqlprofile"));
}

static const struct message *find(const char *line, const char *end, bool has_trace)
{
    static const struct message other = {FATAL, NULL, NULL};

    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (memmem(line, (size_t)(end - line), messages[i].text, strlen(messages[i].text)))
            return &messages[i];
    if (is_fatal_log(line, end) || (!has_trace && begins(line, end, "Fatal error:")))
        return &other;
    return NULL;
}

bool rp_rocprofv3_hides(const char *line, size_t length)
{
    static const char opened[] = "] Opened result file: ";
    const struct message *message;

    if (skip_stamp(line, line + length) == line)
        return false;
    message = find(line, line + length, true);
    return (message && (message->kind == WARNING || message->kind == TOO_MUCH)) ||
           memmem(line, length, opened, sizeof opened - 1);
}

/* Of "Unable to find ... in [all]. Found: [these]. Missing: [those]" the last part will do. */
static const char *skip_known(const char *line, const char *end)
{
    static const char missing[] = "Missing: [";
    const char *found = memmem(line, (size_t)(end - line), missing, sizeof missing - 1);

    return found ? found : line;
}

static int add_warning(struct rp_rocprofv3_verdict *verdict, const char *line, const char *end,
                       const char *meaning, struct rp_err *err)
{
    size_t length = end - line > MAX_LINE ? MAX_LINE : (size_t)(end - line);
    rp_autofree char *text = rp_format("%.*s: %s", (int)length, line, meaning);
    char **grown = reallocarray(verdict->warnings, verdict->warning_count + 1, sizeof *grown);

    if (grown)
        verdict->warnings = grown;
    if (!grown || !text)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    for (size_t i = 0; i < verdict->warning_count; i++)
        if (strcmp(grown[i], text) == 0)
            return 0;
    if (verdict->warning_count < MAX_WARNINGS)
        grown[verdict->warning_count++] = rp_steal(text);
    return 0;
}

/* The cause alone: without blanks and "[rocprofv3] Fatal error: " in front. */
static const char *skip_words(const char *line, const char *end)
{
    static const char *const words[] = {" ", "[rocprofv3] ", "Fatal error: ", "rocprofv3: error: "};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        while (begins(line, end, words[i]))
            line += strlen(words[i]);
    return line;
}

static int take_line(struct rp_rocprofv3_verdict *verdict, bool *weak, const char *line,
                     const char *end, bool has_trace, struct rp_err *err)
{
    const struct message *message = find(line, end, has_trace);

    if (!message)
        return 0;
    line = skip_stamp(line, end);
    if (message->kind == WARNING)
        return add_warning(verdict, skip_known(line, end), end, message->meaning, err);
    verdict->too_much |= message->kind == TOO_MUCH;
    if (verdict->fatal && !(*weak && message->kind == FATAL))
        return 0; /* the first one is the cause */
    line = skip_words(line, end);
    free(verdict->fatal);
    *weak = message->kind == TRACEBACK;
    verdict->remedy = message->meaning;
    verdict->fatal = strndup(line, end - line > MAX_LINE ? MAX_LINE : (size_t)(end - line));
    return verdict->fatal ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

int rp_rocprofv3_judge(const char *text, bool has_trace, struct rp_rocprofv3_verdict *ret,
                       struct rp_err *err)
{
    struct rp_rocprofv3_verdict verdict = {0};
    bool weak = false;
    int rc = 0;

    for (const char *line = text, *end; *line && rc == 0; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\r\n");
        if (end > line)
            rc = take_line(&verdict, &weak, line, end, has_trace, err);
    }
    if (rc < 0)
        rp_rocprofv3_verdict_free(&verdict);
    else
        *ret = verdict;
    return rc;
}

void rp_rocprofv3_verdict_free(struct rp_rocprofv3_verdict *verdict)
{
    for (size_t i = 0; i < verdict->warning_count; i++)
        free(verdict->warnings[i]);
    free(verdict->warnings);
    free(verdict->fatal);
    memset(verdict, 0, sizeof *verdict);
}
