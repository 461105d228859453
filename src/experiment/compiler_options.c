#include "experiment/compiler_options.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"

/* Takes ownership of text. */
static void add_owned(struct rp_words *words, char *text)
{
    words->list = rp_realloc_array(words->list, words->count + 2, sizeof *words->list);
    words->list[words->count++] = text;
    words->list[words->count] = NULL;
}

void rp_words_add(struct rp_words *words, const char *text)
{
    add_owned(words, rp_strdup(text));
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
    *ret = words;
    words = (struct rp_words){0};
    return 0;
}

const struct rp_compile_option *rp_compile_option_of(const char *word)
{
    static const struct rp_compile_option options[] = {
#define RP_OPTION(text, match, value, side_output, link, device)                                   \
    {text, RP_OPTION_##match, value, side_output, link, device},
#include "experiment/compiler_options.def"
#undef RP_OPTION
        {"", RP_OPTION_PREFIX, false, false, false, false},
    };
    const struct rp_compile_option *option = options;

    while (option->match == RP_OPTION_EXACT
               ? strcmp(word, option->text) != 0
               : strncmp(word, option->text, strlen(option->text)) != 0)
        option++;
    return option;
}

const char *rp_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

size_t rp_compiler_words(const struct rp_words *words)
{
    static const char *const known[] = {"hipcc",    "hipcc.bin", "amdclang++",
                                        "amdclang", "clang++",   "clang"};
    const char *name = words->count ? rp_base_name(words->list[0]) : "";

    if (words->count > 1 && strncmp(name, "rocm-perf", strlen("rocm-perf")) == 0)
        return strcmp(words->list[1], "hipcc") == 0 ? 2 : 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return 1;
    return strncmp(name, "clang++-", strlen("clang++-")) == 0 ? 1 : 0;
}

void rp_words_drop_compiler_cache(struct rp_words *words)
{
    if (words->count < 2 || strcmp(rp_base_name(words->list[0]), "ccache") != 0)
        return;
    free(words->list[0]);
    memmove(words->list, words->list + 1, words->count * sizeof *words->list);
    words->count--;
}

bool rp_word_is_input(const char *word)
{
    return word[0] != '-' && word[0] != '\0';
}

bool rp_words_have(const struct rp_words *words, const char *word)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->list[i], word) == 0)
            return true;
    return false;
}

bool rp_words_stop_before_link(const struct rp_words *words)
{
    static const char *const stops[] = {"-c", "-S", "-E", "-fsyntax-only", "--genco"};

    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (rp_words_have(words, stops[i]))
            return true;
    return false;
}

char *rp_word_absolute_path(const char *directory, const char *word)
{
    rp_autofree char *here = word[0] == '/' || directory ? NULL : getcwd(NULL, 0);
    const char *folder = directory ? directory : here ? here : ".";
    rp_autofree char *joined = word[0] == '/' ? rp_strdup(word) : rp_path_join(folder, word);
    rp_autofree char *real = joined ? realpath(joined, NULL) : NULL;
    rp_autofree char *parent = NULL;
    const char *name;

    if (real || !joined)
        return rp_steal(real);
    /* What is not there yet is named by its folder. */
    name = rp_base_name(joined);
    parent = rp_strndup(joined, (size_t)(name - joined));
    real = parent ? realpath(parent, NULL) : NULL;
    return real ? rp_path_join(real, name) : rp_steal(joined);
}
