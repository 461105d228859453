/* The command line once more, with some of its options changed: what a command proposes to run next
 * is then what its user has written, and not a part of it. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "report/report.h"

char **rp_words_copy(int count, char *const *words)
{
    size_t bytes = 0;
    char **copy, *to;

    for (int i = 0; i < count; i++)
        bytes += strlen(words[i]) + 1;
    copy = calloc(1, ((size_t)count + 1) * sizeof *copy + bytes);
    to = copy ? (char *)(copy + count + 1) : NULL;
    for (int i = 0; i < count && copy; i++) {
        copy[i] = to;
        to = stpcpy(to, words[i]) + 1;
    }
    return copy;
}

struct rows {
    const struct rp_row *at;
    size_t count;
};

/** Finds a long option by its name, or by the beginning of it that getopt takes. */
static const struct rp_row *row_of_name(struct rows rows, const char *name, size_t length)
{
    const struct rp_row *begins = NULL;

    for (size_t i = 0; i < rows.count; i++) {
        const struct rp_row *row = &rows.at[i];

        if (row->kind != RP_ROW_OPTION || strncmp(row->name, name, length) != 0)
            continue;
        if (!row->name[length])
            return row;
        begins = row;
    }
    return begins;
}

static const struct rp_row *row_of_letter(struct rows rows, char letter)
{
    for (size_t i = 0; i < rows.count; i++)
        if (rows.at[i].kind == RP_ROW_OPTION && rows.at[i].letter == letter)
            return &rows.at[i];
    return NULL;
}

/** Finds the option of a word.
 * @param ret_takes whether the next word is its value
 * @return NULL: the word is no option */
static const struct rp_row *row_of_word(struct rows rows, const char *word, bool *ret_takes)
{
    const struct rp_row *row = NULL;

    *ret_takes = false;
    if (word[0] != '-' || !word[1])
        return NULL;
    if (word[1] == '-') {
        const size_t length = strcspn(word + 2, "=");

        row = row_of_name(rows, word + 2, length);
        *ret_takes = row && row->type != RP_VALUE_FLAG && !word[2 + length];
        return row;
    }
    for (word++; *word;
         word++) { /* Flags may share a word, and the last letter may have a value. */
        row = row_of_letter(rows, *word);
        if (!row || row->type != RP_VALUE_FLAG)
            break;
    }
    *ret_takes = row && row->type != RP_VALUE_FLAG && !word[1];
    return row;
}

static bool is_other(const struct rp_row *row, const struct rp_other_option *others, size_t count)
{
    for (size_t i = 0; row && i < count; i++)
        if (strcmp(row->name, others[i].option + strlen("--")) == 0)
            return true;
    return false;
}

/** Adds the words that stay. What stands behind "--" is not this command's. */
static void keep_words(struct rows rows, char *const *from, const struct rp_other_option *others,
                       size_t count, const char **to)
{
    for (; *from && strcmp(*from, "--") != 0; from++) {
        bool takes;
        const bool kept = !is_other(row_of_word(rows, *from, &takes), others, count);

        if (kept)
            *to++ = *from;
        if (takes && from[1] && kept)
            *to++ = from[1];
        from += takes && from[1];
    }
    while (*from)
        *to++ = *from++;
}

void rp_next_command(const struct rp_args *args, char *const *argv,
                     const struct rp_other_option *others, size_t count, struct rp_buf *text)
{
    const struct rp_page page = rp_page_of_words(text, rp_cli_style());
    rp_autofree const char **words = NULL;
    struct rows rows;
    size_t at = 0, size = 0;

    while (argv && argv[size])
        size++;
    words = rp_alloc_zero(size + 2 * count + 2, sizeof *words);
    if (!size || !words)
        return;
    rows.at = rp_command_rows(args->command, &rows.count);
    words[at++] = "rocm-perf";
    words[at++] = *argv++;
    if (args->action)
        words[at++] = *argv++;
    for (size_t i = 0; i < count; i++) {
        if (others[i].gone)
            continue;
        words[at++] = others[i].option;
        if (others[i].value)
            words[at++] = others[i].value;
    }
    keep_words(rows, argv, others, count, words + at);
    rp_buf_puts(text, "\n");
    rp_page_next(&page, words);
}
