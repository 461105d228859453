#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/history_series.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/results.h"
#include "library/library.h"

/* Options of `history`. */

enum rp_history_command {
    RP_HISTORY_ADD,
    RP_HISTORY_LIST,
    RP_HISTORY_SHOW,
    RP_HISTORY_PLOT,
    RP_HISTORY_CHECK,
    RP_HISTORY_EXPORT,
    RP_HISTORY_REMOVE,
    RP_HISTORY_COMMANDS
};

struct rp_history_options {
    enum rp_history_command command;
    const char *path; /**< of the database */
    const char *program, *output;
    struct rp_series_filter filter; /**< its commit: of add, the one to be noted */
    char **config;                  /**< "KEY=VALUE"; texts of the command line */
    size_t config_count;
    char at[RP_RFC3339_BYTES]; /**< "": now */
    bool json, csv;
    bool strict; /**< undecided is no answer */
    struct rp_change_rule rule;
};

static const char help[] =
    "usage: rocm-perf history add [--commit C] [--config KEY=VALUE]... [--program NAME]\n"
    "                             [--at TIME] RESULT...\n"
    "       rocm-perf history list | show [--json] [filters]\n"
    "       rocm-perf history check [--margin X] [--recent N] [--strict] [--json] [filters]\n"
    "       rocm-perf history plot [-o FILE] [--margin X] [filters]\n"
    "       rocm-perf history remove NUMBER...\n"
    "       rocm-perf history export [--format jsonl|csv] [-o FILE] [filters]\n"
    "\n"
    "Keeps results in one file, shows them, and finds where times have changed.\n"
    "RESULT is a folder of `rocm-perf profile`, its profile.json, or a trace, each also packed by\n"
    "gzip. One that is there already is not added again. Results of a program, device and\n"
    "configuration are a series.\n"
    "\n"
    "  --db FILE           the file (default .rocm-perf/history.db)\n"
    "  --commit C          add: of what was run (default: that of the git work tree here, with\n"
    "                      -dirty where files are changed; '' for none). list, show, plot,\n"
    "                      export: only results whose commit starts with C\n"
    "  --config KEY=VALUE  add: what else tells results apart; may be repeated. Else: only\n"
    "                      results with it; VALUE may be a pattern\n"
    "  --program NAME      add: a name in place of the command. Else: only results of this\n"
    "                      program: the command or its first words, or a pattern of it\n"
    "  --at TIME           add: when, as 2026-11-23T20:15:00Z (default: now)\n"
    "  --kernel GLOB       only these kernels; of list only results with one\n"
    "  --device NAME       only devices that begin so, as software, or match this pattern\n"
    "  --json              print JSON (schemas/history.schema.json)\n"
    "  --margin X          by how many per cent times may differ and be the same (default 1,\n"
    "                      and 0 where they are modelled, which are exact)\n"
    "  --recent N          a change to slower is a regression while at most so many results\n"
    "                      (or commits) have it (default 5)\n"
    "  --strict            check: exit status 1 also where a series is undecided\n"
    "  --format F          jsonl (default) or csv\n"
    "  -o FILE             write there, not to standard output\n"
    "  --help              this text\n"
    "\n"
    "exit status: 0 done, 1 check: a series has become slower (--strict: or is undecided),\n"
    "2 usage, 3 a result or the file cannot be used, 4 environment\n";

static const char *const history_options_names[] = {
    [RP_HISTORY_ADD] = "add",       [RP_HISTORY_LIST] = "list",   [RP_HISTORY_SHOW] = "show",
    [RP_HISTORY_PLOT] = "plot",     [RP_HISTORY_CHECK] = "check", [RP_HISTORY_EXPORT] = "export",
    [RP_HISTORY_REMOVE] = "remove",
};

enum {
    DB = 256,
    COMMIT,
    CONFIG,
    PROGRAM,
    AT,
    KERNEL,
    DEVICE,
    JSON,
    MARGIN,
    RECENT,
    FORMAT,
    STRICT,
};

/* Which commands take it: their letters, after those of names. */
static const struct {
    int option;
    const char *commands;
} takers[] = {
    {CONFIG, "alspce"}, {PROGRAM, "alspce"}, {AT, "a"},      {KERNEL, "lspce"},
    {DEVICE, "lspce"},  {JSON, "lsc"},       {MARGIN, "pc"}, {RECENT, "c"},
    {FORMAT, "e"},      {'o', "pe"},         {STRICT, "c"},  {COMMIT, "alspe"},
};

static int rp_history_options(int argc, char **argv, struct rp_history_options *ret, int *ret_code);

static void rp_history_options_free(struct rp_history_options *given)
{
    free(given->config);
}

static bool is_taken(int option, enum rp_history_command command)
{
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++)
        if (takers[i].option == option)
            return strchr(takers[i].commands, history_options_names[command][0]);
    return true;
}

/* No line ends: the file has one line for each. */
static int take_config(const char *word, struct rp_history_options *ret)
{
    const size_t key = strcspn(word, "=");
    char **grown;

    for (size_t i = 0; i < key; i++)
        if (!isalnum((unsigned char)word[i]) && !strchr("_.-", word[i]))
            return rp_cli_usage_error("history", "--config %s: a key has letters, digits, _ . -",
                                      word);
    if (!key || !word[key] || strpbrk(word, "\n\r"))
        return rp_cli_usage_error("history", "--config %s: use KEY=VALUE, of one line", word);
    for (size_t i = 0; i < ret->config_count; i++)
        if (strncmp(ret->config[i], word, key + 1) == 0)
            return rp_cli_usage_error("history", "--config %.*s is given twice", (int)key, word);
    grown = reallocarray(ret->config, ret->config_count + 1, sizeof *grown);
    if (!grown) {
        struct rp_err err = RP_ERR_INIT;

        rp_out_of_memory(&err);
        return rp_cli_error(&err);
    }
    ret->config = grown;
    grown[ret->config_count++] = (char *)word;
    return 0;
}

static int take_margin(const char *word, struct rp_history_options *ret)
{
    char *end;

    ret->rule.margin = ret->rule.exact = strtod(word, &end) / 100;
    if (end != word && !*end && ret->rule.margin >= 0 && ret->rule.margin <= 1)
        return 0;
    return rp_cli_usage_error("history", "--margin %s: use per cent, from 0 to 100", word);
}

static int take_recent(const char *word, struct rp_history_options *ret)
{
    char *end;
    const unsigned long long value = strtoull(word, &end, 10);

    ret->rule.recent = value;
    if (isdigit((unsigned char)word[0]) && !*end && value >= 1 && value <= 1000000)
        return 0;
    return rp_cli_usage_error("history", "--recent %s: use a number from 1 on", word);
}

static int take_time(const char *word, struct rp_history_options *ret)
{
    struct rp_err err = RP_ERR_INIT;

    return rp_rfc3339(word, ret->at, &err) == 0
               ? 0
               : rp_cli_usage_error("history", "--at %s", err.text);
}

static int take_format(const char *word, struct rp_history_options *ret)
{
    ret->csv = strcmp(word, "csv") == 0;
    if (ret->csv || strcmp(word, "jsonl") == 0)
        return 0;
    return rp_cli_usage_error("history", "--format %s: use jsonl or csv", word);
}

static int take(int option, char *word, struct rp_history_options *ret)
{
    const struct {
        int option;
        const char **to;
    } texts[] = {{DB, &ret->path},
                 {COMMIT, &ret->filter.commit},
                 {PROGRAM, &ret->program},
                 {KERNEL, &ret->filter.kernel},
                 {DEVICE, &ret->filter.device},
                 {'o', &ret->output}};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].option == option)
            *texts[i].to = word;
    ret->json |= option == JSON;
    ret->strict |= option == STRICT;
    return option == CONFIG   ? take_config(word, ret)
           : option == MARGIN ? take_margin(word, ret)
           : option == RECENT ? take_recent(word, ret)
           : option == AT     ? take_time(word, ret)
           : option == FORMAT ? take_format(word, ret)
                              : 0;
}

static int take_command(int argc, char **argv, struct rp_history_options *ret)
{
    for (int i = 0; argc > 1 && i < RP_HISTORY_COMMANDS; i++)
        if (strcmp(argv[1], history_options_names[i]) == 0) {
            ret->command = (enum rp_history_command)i;
            return 0;
        }
    return rp_cli_usage_error(
        "history", "give a command first: add, list, show, check, plot, remove or export");
}

static const struct option history_options_options[] = {
    {"db", required_argument, NULL, DB},
    {"commit", required_argument, NULL, COMMIT},
    {"config", required_argument, NULL, CONFIG},
    {"program", required_argument, NULL, PROGRAM},
    {"at", required_argument, NULL, AT},
    {"kernel", required_argument, NULL, KERNEL},
    {"device", required_argument, NULL, DEVICE},
    {"json", no_argument, NULL, JSON},
    {"margin", required_argument, NULL, MARGIN},
    {"recent", required_argument, NULL, RECENT},
    {"format", required_argument, NULL, FORMAT},
    {"strict", no_argument, NULL, STRICT},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char *name_of(int value)
{
    const struct option *option = history_options_options;

    while (option->name && option->val != value)
        option++;
    return option->name;
}

/** @return 0, or -1 with an exit code; optind is at the first operand */
static int rp_history_options(int argc, char **argv, struct rp_history_options *ret, int *ret_code)
{
    int c;

    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        *ret_code = rp_cli_help(help);
        return -1;
    }
    if ((*ret_code = take_command(argc, argv, ret)) != 0)
        return -1;
    opterr = 0;
    optind = 2;
    while ((c = getopt_long(argc, argv, ":ho:", history_options_options, NULL)) != -1) {
        if (c == 'h')
            *ret_code = rp_cli_help(help);
        else if (c == '?' || c == ':')
            *ret_code = rp_cli_bad_option("history", argv[optind - 1], c);
        else if (!is_taken(c, ret->command))
            *ret_code = rp_cli_usage_error("history", "%s does not take --%s",
                                           history_options_names[ret->command], name_of(c));
        else if ((*ret_code = take(c, optarg, ret)) == 0)
            continue;
        return -1;
    }
    return 0;
}

/* Which commit is checked out here. */

/* First line of what git prints. @return whether it succeeded */
static bool ask(const char *git, char *const *argv, char *ret, int bytes)
{
    FILE *out = tmpfile();
    rp_autoclose int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const struct rp_proc proc = {
        .path = git, .argv = argv, .stdout_fd = out ? fileno(out) : -1, .stderr_fd = null};
    struct rp_proc_end end;
    bool ok =
        out && null >= 0 && rp_proc_run(&proc, &end, NULL) == 0 && !end.signaled && end.status == 0;

    ret[0] = '\0';
    if (ok) {
        rewind(out);
        if (fgets(ret, bytes, out))
            ret[strcspn(ret, "\n")] = '\0';
    }
    if (out)
        fclose(out);
    return ok;
}

/**
 * Of the git work tree of the current folder, with "-dirty" where tracked files are changed.
 * @param ret  to be freed; NULL: there is no git, or no commit
 * @return 0; RP_ENVIRONMENT: out of memory
 */
static int rp_history_commit(char **ret, struct rp_err *err)
{
    char *const head[] = {(char *)"git", (char *)"rev-parse", (char *)"--verify", (char *)"HEAD",
                          NULL};
    char *const status[] = {(char *)"git", (char *)"status", (char *)"--porcelain",
                            (char *)"--untracked-files=no", NULL};
    rp_autofree char *git = NULL;
    char commit[80], changed[80];

    *ret = NULL;
    if (rp_find_program("git", &git, NULL) < 0 || !ask(git, head, commit, sizeof commit) ||
        !commit[0])
        return 0;
    *ret = rp_format("%s%s", commit,
                     ask(git, status, changed, sizeof changed) && changed[0] ? "-dirty" : "");
    return *ret ? 0 : rp_out_of_memory(err);
}

static const char usual_path[] = ".rocm-perf/history.db";

/* --- add ----------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *config_text(struct rp_history_options *options)
{
    rp_autobuf text = {0};

    if (options->config_count)
        qsort(options->config, options->config_count, sizeof *options->config, by_text);
    for (size_t i = 0; i < options->config_count; i++)
        rp_buf_printf(&text, "%s%s", i ? "\n" : "", options->config[i]);
    return options->config_count ? rp_buf_steal(&text) : strdup("");
}

/* Clocks of two machines may differ by so much. */
enum { SKEW_SECONDS = 60 };

static int time_text(time_t time, char ret[RP_RFC3339_BYTES], struct rp_err *err)
{
    struct tm parts;

    if (!gmtime_r(&time, &parts) || !strftime(ret, RP_RFC3339_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts))
        return rp_fail(err, RP_ENVIRONMENT,
                       "the machine's clock tells no time: set it, then try again");
    return 0;
}

/* A result of tomorrow would be the newest of its series until then, whatever is added. */
static int fill_time(struct rp_history_options *options, struct rp_err *err)
{
    char latest[RP_RFC3339_BYTES];
    const time_t now = time(NULL);

    if (!options->at[0])
        return time_text(now, options->at, err);
    if (time_text(now + SKEW_SECONDS, latest, err) < 0)
        return -(int)err->code;
    if (strcmp(options->at, latest) > 0)
        return rp_fail(err, RP_USAGE,
                       "history: --at %s is in the future: give the time when it was measured, or "
                       "leave it out",
                       options->at);
    return 0;
}

/* What compare refuses of any result has no place here: it would never compare. */
static int is_usable(const struct rp_versus_side *side, struct rp_err *err)
{
    const struct rp_versus_rule rule = {.margin = 0.01, .alpha = 0.01};
    struct rp_versus_found found;
    int rc;

    if (side->told.is)
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is of `replay compare`: it has a comparison, and no times", side->path);
    rc = rp_versus(side, side, &rule, &found, err);
    if (rc == 0)
        rp_versus_found_free(&found);
    return rc;
}

static int add_one(char *path, const struct rp_history_options *options,
                   const struct rp_history_labels *labels, struct rp_buf *text, struct rp_err *err)
{
    rp_cleanup(rp_versus_side_free) struct rp_versus_side side = {0};
    rp_cleanup(rp_history_result_free) struct rp_history_result result = {0};
    rp_autobuf line = {0};
    bool is_new = false;
    int64_t id = 0;
    int rc = rp_compare_read_side(path, &side, err);

    if (rc == 0)
        rc = is_usable(&side, err);
    if (rc == 0 && !side.command && !labels->program)
        rc = rp_fail(err, RP_USAGE,
                     "%s does not say of which program it is, or is of several: name it with "
                     "--program, so that it gets into the right series",
                     path);
    if (rc == 0)
        rc = rp_history_result_of(&side, labels, &result, err);
    if (rc == 0)
        rc = rp_history_add(options->path, &result, &id, &is_new, err);
    if (rc < 0)
        return rc;
    rp_buf_printf(&line, "%s: result %lld%s%s%s", path, (long long)id,
                  result.commit ? ", commit " : ", no commit", result.commit ? result.commit : "",
                  is_new ? "" : ", was there already");
    rp_escape(text, rp_buf_text(&line));
    rp_buf_puts(text, "\n");
    text->failed |= line.failed;
    if (side.failed)
        rp_cli_note(
            "history: %s: %llu of %llu launches started no kernel (%s): it is kept, and not "
            "checked",
            path, (unsigned long long)side.failed, (unsigned long long)side.launches,
            side.failed_launches);
    else if (!result.complete)
        rp_cli_note("history: %s is not complete: it is kept, and not checked", path);
    return 0;
}

static int make_folder(const char *path, struct rp_err *err)
{
    rp_autofree char *copy = strdup(path);

    return copy ? rp_mkdirs(dirname(copy), err) : rp_out_of_memory(err);
}

static int add(struct rp_history_options *options, char **paths, size_t count, struct rp_buf *text,
               struct rp_err *err)
{
    rp_autofree char *config = config_text(options), *commit = NULL;
    struct rp_history_labels labels = {
        .added = options->at, .config = config, .program = options->program};
    int rc = config ? fill_time(options, err) : rp_out_of_memory(err);

    if (rc == 0 && !options->filter.commit)
        rc = rp_history_commit(&commit, err);
    labels.commit = options->filter.commit ? options->filter.commit : commit;
    if (labels.commit && !labels.commit[0])
        labels.commit = NULL;
    if (rc == 0)
        rc = make_folder(options->path, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = add_one(paths[i], options, &labels, text, err);
    return rc;
}

/* --- remove -------------------------------------------------------------------------------- */

static bool has_id(const int64_t *ids, size_t count, int64_t id)
{
    bool found = false;

    for (size_t i = 0; i < count && !found; i++)
        found = ids[i] == id;
    return found;
}

/* One that is given twice is removed once. */
static int remove_results(const struct rp_history_options *options, char **words, size_t count,
                          struct rp_buf *text, struct rp_err *err)
{
    rp_autofree int64_t *ids = calloc(count + 1, sizeof *ids);
    size_t kept = 0;
    int rc;

    if (!ids)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++) {
        char *end;
        long long id;

        errno = 0;
        id = strtoll(words[i], &end, 10);
        if (!isdigit((unsigned char)words[i][0]) || *end || errno)
            return rp_fail(err, RP_USAGE,
                           "history: remove %s: give numbers that `history list` prints", words[i]);
        if (!has_id(ids, kept, id))
            ids[kept++] = id;
    }
    rc = rp_history_remove(options->path, ids, kept, err);
    if (rc == 0)
        rp_buf_printf(text, "%zu result%s removed\n", kept, kept == 1 ? "" : "s");
    return rc;
}

/* --- reading ------------------------------------------------------------------------------- */

static bool has_kernel(const struct rp_history_result *r, const char *pattern)
{
    bool found = !pattern;

    for (size_t i = 0; i < r->times_count && !found; i++)
        found = r->times[i].kernel && rp_history_matches(pattern, r->times[i].kernel);
    return found;
}

/* Only what was asked for. The history keeps what it points to. */
static void cut_times(struct rp_history_result *r, const char *pattern)
{
    size_t kept = 0;

    for (size_t i = 0; i < r->times_count; i++) {
        struct rp_history_times *t = &r->times[i];

        if (!t->kernel || rp_history_matches(pattern, t->kernel)) {
            r->times[kept++] = *t;
        } else {
            free(t->kernel);
            free(t->runs_ms);
        }
    }
    r->times_count = kept;
}

static bool is_newest_of_program(const struct rp_history *history, size_t at)
{
    const struct rp_history_result *r = &history->results[at];

    for (size_t i = at + 1; i < history->count; i++) {
        const struct rp_history_result *o = &history->results[i];

        if (strcmp(o->program, r->program) == 0 && strcmp(o->device, r->device) == 0 &&
            strcmp(o->config, r->config) == 0)
            return false;
    }
    return true;
}

/* What lost dispatches is not judged; of the newest that is to be known. @return whether there are
 * such */
static bool note_incomplete(const struct rp_history_options *options,
                            const struct rp_history *history)
{
    bool found = false;

    for (size_t i = 0; i < history->count; i++) {
        const struct rp_history_result *r = &history->results[i];

        if (r->complete || !rp_history_result_matches(r, &options->filter) ||
            !is_newest_of_program(history, i))
            continue;
        rp_cli_note("history: result %lld of %s is not complete, and not checked: measure it again",
                    (long long)r->id, r->program);
        found = true;
    }
    return found;
}

/* --- names that are meant ------------------------------------------------------------------ */

enum { MOST_LETTERS = 200, MOST_NAMES = 3 };

/* How many letters differ, of the first MOST_LETTERS. */
static size_t distance(const char *a, const char *b)
{
    size_t row[MOST_LETTERS + 1], as = strnlen(a, MOST_LETTERS), bs = strnlen(b, MOST_LETTERS);

    for (size_t j = 0; j <= bs; j++)
        row[j] = j;
    for (size_t i = 1; i <= as; i++) {
        size_t before = row[0];

        row[0] = i;
        for (size_t j = 1; j <= bs; j++) {
            size_t least = before + (a[i - 1] != b[j - 1]);

            before = row[j];
            least = row[j] + 1 < least ? row[j] + 1 : least;
            row[j] = row[j - 1] + 1 < least ? row[j - 1] + 1 : least;
        }
    }
    return row[bs];
}

/** The nearest names, each once. */
struct nearest {
    const char *wanted;
    char *names[MOST_NAMES];
    size_t distances[MOST_NAMES], count;
    bool more; /**< there are others, less near */
};

static void add_near(struct nearest *near, const char *text, size_t len)
{
    char *name = strndup(text, len);
    size_t far = name ? distance(near->wanted, name) : 0, at = 0;

    for (size_t i = 0; name && i < near->count; i++) {
        if (strcmp(near->names[i], name) == 0)
            free(rp_steal(name));
        else
            at += near->distances[i] <= far;
    }
    if (!name || !*name || at >= MOST_NAMES) {
        near->more |= name && *name;
        free(name);
        return;
    }
    if (near->count == MOST_NAMES) {
        free(near->names[--near->count]);
        near->more = true;
    }
    for (size_t i = near->count++; i > at; i--) {
        near->names[i] = near->names[i - 1];
        near->distances[i] = near->distances[i - 1];
    }
    near->names[at] = name;
    near->distances[at] = far;
}

/* Names like the one that was asked for; when there are none, what there is. */
static void put_near(struct nearest *near, const char *none, struct rp_buf *text)
{
    const size_t most_distance = strlen(near->wanted) / 2;
    size_t like = 0;

    while (like < near->count && near->distances[like] <= most_distance)
        like++;
    rp_buf_printf(text, "; %s %s%s", none, near->wanted,
                  like          ? ": did you mean"
                  : near->count ? "; there are:"
                                : "; there are none");
    for (size_t i = 0; i < (like ? like : near->count); i++)
        rp_buf_printf(text, "%s '%s'", i ? "," : "", near->names[i]);
    rp_buf_puts(text, like ? "?" : near->more ? ", ..." : "");
    for (size_t i = 0; i < near->count; i++)
        free(near->names[i]);
}

static void find_near(const struct rp_history *history, const char *program, const char *line,
                      struct rp_buf *text)
{
    struct nearest near = {.wanted = program ? program : line};

    for (size_t i = 0; i < history->count; i++) {
        const char *config = history->results[i].config;

        if (program)
            add_near(&near, history->results[i].program, strlen(history->results[i].program));
        for (size_t len; !program && *config; config += len + (config[len] == '\n')) {
            len = strcspn(config, "\n");
            add_near(&near, config, len);
        }
    }
    put_near(&near, program ? "no program is called" : "no configuration has", text);
}

static bool is_of_series(const struct rp_history_options *options)
{
    return options->command == RP_HISTORY_CHECK || options->command == RP_HISTORY_PLOT;
}

/* Which of the filters alone leaves nothing, and what was perhaps meant. */
static int nothing_matches(const struct rp_history_options *options,
                           const struct rp_history *history, struct rp_err *err)
{
    const struct rp_series_filter program = {.program = options->filter.program};
    rp_autobuf text = {0};
    size_t found = 0;

    for (size_t i = 0; i < history->count && program.program; i++)
        found += rp_history_result_matches(&history->results[i], &program);
    if (program.program && !found)
        find_near(history, program.program, NULL, &text);
    for (size_t k = 0; k < options->filter.config_count; k++) {
        const struct rp_series_filter config = {.config = &options->filter.config[k],
                                                .config_count = 1};

        found = 0;
        for (size_t i = 0; i < history->count; i++)
            found += rp_history_result_matches(&history->results[i], &config);
        if (!found)
            find_near(history, NULL, options->filter.config[k], &text);
    }
    return rp_fail(err, RP_BAD_INPUT, "history %s: no %sresult of it matches%s", options->path,
                   is_of_series(options) ? "complete " : "", rp_buf_text(&text));
}

/* A list of nothing is an answer, but of a name with a mistake it is not the one that was meant. */
static void note_nothing(const struct rp_history_options *options, const struct rp_history *history)
{
    struct rp_err why = RP_ERR_INIT;

    nothing_matches(options, history, &why);
    rp_cli_note("%s", why.text);
}

static int put_results(const struct rp_history_options *options, struct rp_history *history,
                       struct rp_buf *text, struct rp_err *err)
{
    rp_autofree const struct rp_history_result **list = calloc(history->count + 1, sizeof *list);
    const bool times = options->command == RP_HISTORY_SHOW;
    size_t count = 0;

    if (!list)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < history->count; i++) {
        struct rp_history_result *r = &history->results[i];

        if (!rp_history_result_matches(r, &options->filter) ||
            !has_kernel(r, options->filter.kernel))
            continue;
        if (options->filter.kernel)
            cut_times(r, options->filter.kernel);
        list[count++] = r;
    }
    if (history->count && !count)
        note_nothing(options, history);
    if (options->command == RP_HISTORY_EXPORT)
        return options->csv ? rp_report_history_csv(list, count, text, err)
                            : rp_report_history_lines(list, count, text, err);
    return options->json ? rp_report_history_json(list, count, times, text, err)
                         : rp_report_history_term(list, count, times, rp_cli_style(), text, err);
}

/* @param ret_fails  whether a check has to fail */
static int put_series(const struct rp_history_options *options, const struct rp_history *history,
                      bool *ret_fails, struct rp_buf *text, struct rp_err *err)
{
    rp_cleanup(rp_series_list_free) struct rp_series_list list = {0};
    int rc = rp_series_of(history, &options->filter, &list, err);

    if (rc == 0)
        rc = rp_series_judge(&list, &options->rule, err);
    /* A pattern with a mistake would pass each check. */
    if (rc == 0 && !list.count)
        rc = nothing_matches(options, history, err);
    if (rc < 0)
        return rc;
    if (options->command == RP_HISTORY_CHECK)
        *ret_fails |= note_incomplete(options, history) && options->strict;
    for (size_t i = 0; i < list.count; i++)
        *ret_fails |= list.list[i].state == RP_SERIES_SLOWER ||
                      (options->strict && list.list[i].state == RP_SERIES_UNDECIDED);
    if (options->command == RP_HISTORY_PLOT)
        return rp_report_changes_svg(&list, text, err);
    return options->json ? rp_report_changes_json(&list, &options->rule, text, err)
                         : rp_report_changes_term(&list, rp_cli_style(), text, err);
}

static int print(const struct rp_history_options *options, struct rp_buf *text, struct rp_err *err)
{
    if (!options->output || strcmp(options->output, "-") == 0)
        return rp_cli_result(rp_buf_text(text));
    if (rp_write_output(options->output, rp_buf_text(text), text->len, err) < 0) {
        rp_wrap(err, "history");
        return rp_cli_error(err);
    }
    return RP_OK;
}

static int check_operands(const struct rp_history_options *options, char **argv, int count)
{
    if (options->command == RP_HISTORY_ADD && count == 0)
        return rp_cli_usage_error("history", "add: give a result");
    if (options->command == RP_HISTORY_REMOVE && count == 0)
        return rp_cli_usage_error("history", "remove: give the numbers that `history list` prints");
    if (options->command != RP_HISTORY_ADD && options->command != RP_HISTORY_REMOVE && count > 0)
        return rp_cli_usage_error("history", "'%s' is not expected here", argv[0]);
    return RP_OK;
}

/* SQLite would take such a file for what an interrupted writer has left, and play it back. */
static int keep_from_journals(const struct rp_history_options *options, struct rp_err *err)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm"};
    const char *output = options->output ? options->output : "";
    const size_t len = strlen(output);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t end = strlen(endings[i]);
        rp_autofree char *database = NULL;

        if (len <= end || strcmp(output + len - end, endings[i]) != 0)
            continue;
        database = strndup(output, len - end);
        if (!database)
            return rp_out_of_memory(err);
        if (rp_same_file(database, options->path))
            return rp_fail(err, RP_USAGE,
                           "history: -o %s is where SQLite keeps what is being written to %s: give "
                           "another name",
                           output, options->path);
    }
    return 0;
}

/* The history is read, too, or about to be written. */
static int keep_apart(const struct rp_history_options *options, char **paths, size_t count,
                      struct rp_err *err)
{
    char *database = (char *)options->path;
    int rc = rp_refuse_overwriting_inputs("history: -o", options->output, &database, 1, err);

    if (rc == 0)
        rc = keep_from_journals(options, err);
    if (rc == 0)
        rc = rp_refuse_overwriting_inputs("history: -o", options->output, paths, count, err);
    return rc < 0 ? rc
                  : rp_refuse_overwriting_inputs("history: --db", options->path, paths, count, err);
}

/* Does what changes the history, or reads it. */
static int prepare(struct rp_history_options *options, char **words, size_t count,
                   struct rp_history *history, struct rp_buf *text, struct rp_err *err)
{
    if (rp_history_check_path(options->path, err) < 0)
        return -(int)err->code;
    if (options->command == RP_HISTORY_REMOVE)
        return remove_results(options, words, count, text, err);
    if (keep_apart(options, words, count, err) < 0)
        return -(int)err->code;
    return options->command == RP_HISTORY_ADD ? add(options, words, count, text, err)
                                              : rp_history_read(options->path, history, err);
}

int rp_cmd_history(int argc, char **argv)
{
    rp_cleanup(rp_history_options_free) struct rp_history_options options = {
        .path = usual_path,
        .rule = {.alpha = 0.01, .margin = 0.01, .exact = 0, .recent = 5},
    };
    rp_cleanup(rp_history_free) struct rp_history history = {0};
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0};
    bool fails = false;
    int code, rc;

    if (rp_history_options(argc, argv, &options, &code) < 0)
        return code;
    if ((code = check_operands(&options, argv + optind, argc - optind)) != RP_OK)
        return code;
    if (options.command != RP_HISTORY_ADD) {
        options.filter.program = options.program;
        options.filter.config = (const char *const *)options.config;
        options.filter.config_count = options.config_count;
    }
    rc = prepare(&options, argv + optind, (size_t)(argc - optind), &history, &text, &err);
    if (rc == 0 && is_of_series(&options))
        rc = put_series(&options, &history, &fails, &text, &err);
    else if (rc == 0 && options.command != RP_HISTORY_ADD && options.command != RP_HISTORY_REMOVE)
        rc = put_results(&options, &history, &text, &err);
    code = rc < 0 ? rp_cli_error(&err) : RP_OK;
    if (text.len || rc == 0) {
        const int printed = print(&options, &text, &err);

        code = code == RP_OK ? printed : code;
    }
    return code == RP_OK && fails && options.command == RP_HISTORY_CHECK ? RP_VERDICT : code;
}
