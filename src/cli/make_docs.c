/* Makes what is installed beside the program of the rows of options.def: the manual pages, with the
 * text of docs/commands/NAME.in, and the completion for bash. The build runs it; it is not
 * installed.
 *
 * A file NAME.in is mdoc with lines of our own:
 *   @description       what stands before the options, in place of the paragraphs of --help
 *   @option --NAME     what the page says of an option beyond what --help says
 *   @after             what stands behind the options
 *   @sections          sections before EXIT STATUS, which is made of rows
 *   @end               sections behind it
 *   @use FILE          the lines of that file, which pages share
 * An option that the command does not have is an error, so that no page explains what has gone. A
 * page whose description has ".It Cm ACTION" has the actions there, else they are made of the rows.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/options.h"

static const char *folder; /**< docs/commands */

static void __attribute__((format(printf, 1, 2), noreturn)) die(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    fputs("rocm-perf-make-docs: ", stderr);
    vfprintf(stderr, format, list);
    fputs("\n", stderr);
    va_end(list);
    exit(EXIT_FAILURE);
}

static char *read_source(const char *name, const char *ending)
{
    rp_autofree char *path = rp_format("%s/%s%s", folder, name, ending);
    char *text = rp_read_text(path, SIZE_MAX / 2);

    if (!text)
        die("%s/%s%s cannot be read", folder, name, ending);
    return text;
}

/** Writes the lines of a part, as "@option --runs", up to the next part. */
static void put_part(const char *source, const char *part, struct rp_buf *to)
{
    const size_t length = strlen(part);
    bool inside = false;

    for (const char *line = source, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        if (*line == '@' && strncmp(line, "@use ", 5) == 0) {
            if (inside) {
                rp_autofree char *name = rp_strndup(line + 5, (size_t)(end - line - 5));
                rp_autofree char *shared = read_source(name, "");

                rp_buf_puts(to, shared);
            }
        } else if (*line == '@') {
            inside = (size_t)(end - line) == length && strncmp(line, part, length) == 0;
        } else if (inside) {
            rp_buf_printf(to, "%.*s\n", (int)(end - line), line);
        }
    }
}

static bool has_part(const char *source, const char *part)
{
    rp_autobuf text = {0};

    put_part(source, part, &text);
    return text.len > 0;
}

/** Writes a sentence of a row as lines of mdoc, where "--runs" becomes an option. */
static void put_mdoc(const char *text, struct rp_buf *to)
{
    bool sentence_ends = false; /* mdoc wants each sentence on a line of its own. */
    size_t column = 0;

    for (size_t length; *(text += strspn(text, " ")); text += length) {
        length = strcspn(text, " ");
        if (column && (column + length > 90 || sentence_ends)) {
            rp_buf_puts(to, "\n");
            column = 0;
        }
        sentence_ends = text[length - 1] == '.' && (length == 1 || text[length - 2] != '.');
        if (column)
            rp_buf_puts(to, " ");
        else if (*text == '.' || *text == '\'')
            rp_buf_puts(to, "\\&");
        for (size_t i = 0; i < length; i++)
            if (text[i] == '-' || text[i] == '\\')
                rp_buf_puts(to, text[i] == '-' ? "\\-" : "\\e");
            else
                rp_buf_add(to, &text[i], 1);
        column += length + 1;
    }
    rp_buf_puts(to, "\n");
}

static void put_option(const struct rp_row *row, const char *source, struct rp_buf *to)
{
    rp_autofree char *part = rp_format("@option --%s", row->name);
    rp_autobuf text = {0}, more = {0};

    rp_buf_puts(to, ".It ");
    if (row->letter)
        rp_buf_printf(to, "Fl %c , ", row->letter);
    rp_buf_printf(to, "Fl -%s%s%s\n", row->name, row->value ? " Ar " : "",
                  row->value ? row->value : "");
    rp_row_put_text(row, &text);
    put_part(source, part, &more);
    if (more.len)
        rp_buf_puts(&text, ".");
    put_mdoc(rp_buf_text(&text), to);
    rp_buf_puts(to, rp_buf_text(&more));
}

/** Lists the actions, unless the description does. */
static void put_actions(const struct rp_row *rows, size_t count, const char *source,
                        struct rp_buf *to)
{
    bool open = false;

    for (size_t i = 0; i < count; i++) {
        rp_autofree char *item = rp_format(".It Cm %s\n", rows[i].name ? rows[i].name : "");

        if (rows[i].kind != RP_ROW_ACTION || strstr(source, item))
            continue;
        rp_buf_puts(to, open ? "" : ".Bl -tag -width full-vm\n");
        open = true;
        rp_buf_puts(to, item);
        put_mdoc(rows[i].text, to);
    }
    rp_buf_puts(to, open ? ".El\n" : "");
}

/** Writes each list of options with its heading. */
static void put_options(const struct rp_row *rows, size_t count, const char *source,
                        struct rp_buf *to)
{
    bool open = false, help = false;

    for (size_t i = 0; i < count; i++) {
        if (open && (rows[i].kind == RP_ROW_GROUP || rows[i].kind == RP_ROW_NAMES)) {
            rp_buf_printf(to, "%s.El\n", help ? "" : ".It Fl -help\nprint a summary\n");
            help = true;
            open = false;
        }
        if (rows[i].kind == RP_ROW_GROUP)
            rp_buf_puts(to, ".Pp\n"), put_mdoc(rows[i].text, to);
        if (rows[i].kind == RP_ROW_NAMES) {
            const char *name, *what;

            rp_buf_puts(to, ".Pp\n"), put_mdoc(rows[i].text, to);
            rp_buf_puts(to, ".Bl -tag -width portfolio\n");
            for (size_t k = 0; (name = rows[i].names(k, &what)) != NULL; k++) {
                rp_buf_printf(to, ".It Cm %s\n", name);
                put_mdoc(what, to);
            }
            rp_buf_puts(to, ".El\n");
        }
        if (rows[i].kind != RP_ROW_OPTION || rows[i].flags & RP_OPTION_HIDDEN)
            continue;
        if (!open)
            rp_buf_puts(to, ".Bl -tag -width Fl\n");
        open = true;
        put_option(&rows[i], source, to);
    }
    if (open || !help)
        rp_buf_printf(to, "%s%s.El\n", open ? "" : ".Bl -tag -width Fl\n",
                      help ? "" : ".It Fl -help\nprint a summary\n");
}

static void put_statuses(const struct rp_row *rows, size_t count, struct rp_buf *to)
{
    rp_buf_puts(to, ".Sh EXIT STATUS\n.Bl -tag -width else\n");
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind == RP_ROW_STATUS) {
            rp_buf_printf(to, ".It %s\n", rows[i].name);
            put_mdoc(rows[i].text, to);
        }
    rp_buf_puts(to, ".El\n");
}

/** Checks that each "@option" is one that people may use. */
static void check_source(const struct rp_row *rows, size_t count, const char *source)
{
    static const char mark[] = "\n@option --";

    for (const char *at = source; (at = strstr(at, mark)) != NULL;) {
        bool found = false;
        size_t length;

        at += strlen(mark);
        length = strcspn(at, "\n");
        for (size_t i = 0; i < count; i++)
            found |= rows[i].kind == RP_ROW_OPTION && !(rows[i].flags & RP_OPTION_HIDDEN) &&
                     strlen(rows[i].name) == length && strncmp(rows[i].name, at, length) == 0;
        if (!found)
            die("docs/commands/%s.in: %s has no option --%.*s", rows->name, rows->name, (int)length,
                at);
    }
}

static void put_head(const char *name, const char *title, struct rp_buf *to)
{
    rp_buf_puts(to, ".\\\" Made by src/cli/make_docs.c.\n.Dd November 28, 2026\n.Dt ");
    for (const char *at = title; *at; at++)
        rp_buf_printf(to, "%c", *at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
    rp_buf_printf(to, " 1\n.Os\n.Sh NAME\n.Nm %s\n", name);
}

static void write_page(const char *out, const char *name, const struct rp_buf *page)
{
    rp_autofree char *path = rp_format("%s/%s.1", out, name);
    struct rp_err err = RP_ERR_INIT;

    if (rp_write_file(path, page->data, page->len, &err) < 0)
        die("%s", err.text);
}

static void make_page(enum rp_command_id command, const char *out)
{
    size_t count;
    const struct rp_row *rows = rp_command_rows(command, &count);
    rp_autofree char *name = rp_format("rocm-perf-%s", rows->name);
    rp_autofree char *source = read_source(rows->name, ".in");
    rp_autobuf page = {0};

    check_source(rows, count, source);
    put_head(name, name, &page);
    rp_buf_printf(&page, ".Nd %s\n.Sh SYNOPSIS\n", rows->text);
    for (size_t i = 0; i < count; i++)
        if (rows[i].kind == RP_ROW_USAGE) {
            rp_buf_printf(&page, ".Nm rocm-perf %s\n", rows->name);
            if (rows[i].text[0])
                put_mdoc(rows[i].text, &page);
        }
    rp_buf_puts(&page, ".Sh DESCRIPTION\n");
    if (has_part(source, "@description"))
        put_part(source, "@description", &page);
    else
        for (size_t i = 0; i < count; i++)
            if (rows[i].kind == RP_ROW_TEXT) {
                rp_buf_puts(&page, i && rows[i - 1].kind == RP_ROW_TEXT ? ".Pp\n" : "");
                put_mdoc(rows[i].text, &page);
            }
    put_actions(rows, count, source, &page);
    rp_buf_puts(&page, ".Pp\nThe options are:\n");
    put_options(rows, count, source, &page);
    put_part(source, "@after", &page);
    put_part(source, "@sections", &page);
    put_statuses(rows, count, &page);
    put_part(source, "@end", &page);
    write_page(out, name, &page);
}

/** Makes rocm-perf(1): its text with the commands. */
static void make_main_page(const char *out)
{
    rp_autofree char *source = read_source("rocm-perf", ".in");
    rp_autobuf page = {0};

    rp_buf_puts(&page, ".\\\" Made by src/cli/make_docs.c.\n");
    put_part(source, "@description", &page);
    rp_buf_puts(&page, ".Pp\nThe commands are:\n.Bl -tag -width profile\n");
    for (unsigned i = 0; i < RP_COMMANDS; i++) {
        size_t count;
        const struct rp_row *row = rp_command_rows((enum rp_command_id)i, &count);

        rp_buf_printf(&page, ".It Cm %s\n%s; see\n.Xr rocm-perf-%s 1\n", row->name, row->text,
                      row->name);
    }
    rp_buf_puts(&page, ".El\n");
    put_part(source, "@end", &page);
    write_page(out, "rocm-perf", &page);
}

/* --- completion ---------------------------------------------------------------------------- */

static void put_values(const struct rp_row *row, struct rp_buf *to)
{
    const char *name, *what;

    if (strcmp(row->name, "device") == 0 && row->type == RP_VALUE_CHECKED)
        rp_buf_puts(to, "auto gpu software");
    if (row->type == RP_VALUE_CHOICE)
        rp_buf_puts(to, row->words);
    for (size_t i = 0; row->names && (name = row->names(i, &what)) != NULL; i++)
        rp_buf_printf(to, "%s%s", i ? " " : "", name);
}

/** Writes what may stand behind the options of a command, and the options themselves. */
static void put_completion_of(enum rp_command_id command, struct rp_buf *to)
{
    size_t count;
    const struct rp_row *rows = rp_command_rows(command, &count);
    rp_autobuf options = {0}, actions = {0};

    rp_buf_printf(to, "    %s)\n        case $before in\n", rows->name);
    for (size_t i = 0; i < count; i++) {
        const struct rp_row *row = &rows[i];
        rp_autobuf values = {0};

        if (row->kind == RP_ROW_ACTION)
            rp_buf_printf(&actions, "%s ", row->name);
        if (row->kind != RP_ROW_OPTION || row->flags & RP_OPTION_HIDDEN)
            continue;
        if (row->letter)
            rp_buf_printf(&options, "-%c ", row->letter);
        rp_buf_printf(&options, "--%s ", row->name);
        put_values(row, &values);
        if (values.len)
            rp_buf_printf(to, "        --%s) words='%s' ;;\n", row->name, rp_buf_text(&values));
        else if (row->type == RP_VALUE_DIR && row->letter)
            rp_buf_printf(to, "        -%c | --%s) folders=1 ;;\n", row->letter, row->name);
        else if (row->type == RP_VALUE_DIR)
            rp_buf_printf(to, "        --%s) folders=1 ;;\n", row->name);
    }
    rp_buf_printf(
        to,
        "        *)\n            if [ \"${word#-}\" != \"$word\" ]; then words='%s--help'\n"
        "            elif [ \"$COMP_CWORD\" = 2 ]; then words='%s'; fi ;;\n"
        "        esac ;;\n",
        rp_buf_text(&options), rp_buf_text(&actions));
}

static void make_completion(const char *path)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0};

    rp_buf_puts(&text,
                "# Completion of rocm-perf for bash; made by src/cli/make_docs.c.\n"
                "_rocm_perf() {\n"
                "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} "
                "words= folders=\n\n"
                "    COMPREPLY=()\n"
                "    case \" ${COMP_WORDS[*]:0:COMP_CWORD} \" in\n"
                "        *' -- '*) return ;; # the program's own words\n"
                "    esac\n"
                "    if [ \"$COMP_CWORD\" = 1 ]; then\n        words='");
    for (unsigned i = 0; i < RP_COMMANDS; i++) {
        size_t count;

        rp_buf_printf(&text, "%s ", rp_command_rows((enum rp_command_id)i, &count)->name);
    }
    rp_buf_puts(&text, "--help --version'\n    else\n    case ${COMP_WORDS[1]} in\n"
                       "    hipcc) ;; # the compiler's own options\n");
    for (unsigned i = 0; i < RP_COMMANDS; i++)
        if (i != RP_COMMAND_hipcc)
            put_completion_of((enum rp_command_id)i, &text);
    rp_buf_puts(&text,
                "    esac\n    fi\n"
                "    [ -z \"$folders\" ] || mapfile -t COMPREPLY < <(compgen -d -- \"$word\")\n"
                "    [ -z \"$words\" ] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- "
                "\"$word\")\n"
                "}\n"
                "complete -o default -F _rocm_perf rocm-perf rocm-perf-lab\n");
    if (rp_write_file(path, text.data, text.len, &err) < 0)
        die("%s", err.text);
}

int main(int argc, char **argv)
{
    struct rp_err err = RP_ERR_INIT;

    if (argc != 4)
        die("usage: rocm-perf-make-docs SOURCES MAN_FOLDER COMPLETION");
    folder = argv[1];
    if (rp_mkdirs(argv[2], &err) < 0)
        die("%s", err.text);
    for (unsigned i = 0; i < RP_COMMANDS; i++)
        make_page((enum rp_command_id)i, argv[2]);
    make_main_page(argv[2]);
    make_completion(argv[3]);
    return EXIT_SUCCESS;
}
