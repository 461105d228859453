#include "optimize/words.h"

#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

/* Takes ownership of text; NULL means that memory ran out. */
static void add_owned(struct rp_words *words, char *text)
{
    char **more = text ? realloc(words->list, (words->count + 2) * sizeof *more) : NULL;

    if (!more) {
        free(text);
        words->failed = true;
        return;
    }
    words->list = more;
    more[words->count++] = text;
    more[words->count] = NULL;
}

void rp_words_add(struct rp_words *words, const char *text)
{
    add_owned(words, strdup(text));
}

void rp_words_addf(struct rp_words *words, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    add_owned(words, rp_buf_steal(&text));
}

void rp_words_free(struct rp_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->list[i]);
    free(words->list);
    *words = (struct rp_words){0};
}

/* One word that is being read. */
struct reader {
    const char *at;
    enum rp_words_rule rule;
    struct rp_buf word;
    bool in_word; /* also of an empty '' */
};

static int shell_needed(char c, struct rp_err *err)
{
    if (c == '\n')
        return rp_fail(err, RP_USAGE,
                       "a line break: only one command is possible; put several into a script");
    return rp_fail(err, RP_USAGE,
                   "%c means something to a shell, and none is used: quote it, or put the commands "
                   "into a script",
                   c);
}

static int read_double_quoted(struct reader *reader, struct rp_err *err)
{
    for (reader->at++; *reader->at != '"'; reader->at++) {
        if (!*reader->at)
            return rp_fail(err, RP_USAGE, "a \" is not closed");
        if (reader->rule == RP_WORDS_PLAIN && strchr("$`", *reader->at))
            return shell_needed(*reader->at, err);
        if (*reader->at == '\\' && reader->at[1] && strchr("\"\\$`\n", reader->at[1]))
            reader->at++;
        rp_buf_add(&reader->word, reader->at, 1);
    }
    reader->at++;
    return 0;
}

static int read_single_quoted(struct reader *reader, struct rp_err *err)
{
    const char *end = strchr(reader->at + 1, '\'');

    if (!end)
        return rp_fail(err, RP_USAGE, "a ' is not closed");
    rp_buf_add(&reader->word, reader->at + 1, (size_t)(end - reader->at) - 1);
    reader->at = end + 1;
    return 0;
}

static int read_part(struct reader *reader, struct rp_err *err)
{
    reader->in_word = true;
    if (*reader->at == '"')
        return read_double_quoted(reader, err);
    if (*reader->at == '\'')
        return read_single_quoted(reader, err);
    if (reader->rule == RP_WORDS_PLAIN && strchr(";|&<>$`()\n", *reader->at))
        return shell_needed(*reader->at, err);
    if (*reader->at == '\\' && !*++reader->at)
        return rp_fail(err, RP_USAGE, "nothing stands behind the \\ at the end");
    rp_buf_add(&reader->word, reader->at++, 1);
    return 0;
}

static bool is_blank(const struct reader *reader)
{
    return strchr(" \t\r", *reader->at) || (reader->rule == RP_WORDS_QUOTES && *reader->at == '\n');
}

static void end_word(struct reader *reader, struct rp_words *words)
{
    if (!reader->in_word)
        return;
    rp_buf_puts(&reader->word, ""); /* an empty one is a word, too */
    add_owned(words, rp_buf_steal(&reader->word));
    reader->word = (struct rp_buf){0};
    reader->in_word = false;
}

int rp_words_split(const char *text, enum rp_words_rule rule, struct rp_words *ret,
                   struct rp_err *err)
{
    struct reader reader = {.at = text, .rule = rule};
    rp_autowords words = {0};
    int rc = 0;

    while (*reader.at && rc == 0) {
        if (is_blank(&reader)) {
            end_word(&reader, &words);
            reader.at++;
        } else {
            rc = read_part(&reader, err);
        }
    }
    if (rc == 0)
        end_word(&reader, &words);
    rp_buf_free(&reader.word);
    if (rc < 0)
        return rc;
    if (words.failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    *ret = words;
    words = (struct rp_words){0};
    return 0;
}
