#include <ctype.h>
#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/history.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "library/library.h"
#include "run/git_tree.h"

/** The struct holds the command line in the form that its actions use. */
struct history_request {
    const struct rp_history_cli *args;
    struct rp_series_filter filter; /**< its commit: of add, the one to be noted */
    char at[RP_RFC3339_BYTES];      /**< "": now */
    struct rp_change_rule rule;
};

static bool is(const struct history_request *request, const char *action)
{
    return strcmp(request->args->args.action, action) == 0;
}

/* Line ends are refused, because the file has one line for each configuration. */
static int check_config(const struct rp_word_list *config, struct rp_err *err)
{
    for (size_t i = 0; i < config->count; i++) {
        const char *word = config->at[i];
        const size_t key = strcspn(word, "=");

        for (size_t k = 0; k < key; k++)
            if (!isalnum((unsigned char)word[k]) && !strchr("_.-", word[k]))
                return rp_fail(err, RP_USAGE, "--config %s: a key has letters, digits, _ . -",
                               word);
        if (!key || !word[key] || strpbrk(word, "\n\r"))
            return rp_fail(err, RP_USAGE, "--config %s: use KEY=VALUE, of one line", word);
        for (size_t before = 0; before < i; before++)
            if (strncmp(config->at[before], word, key + 1) == 0)
                return rp_fail(err, RP_USAGE, "--config %.*s is given twice", (int)key, word);
    }
    return 0;
}

static int check_operands(const struct rp_args *args, struct rp_err *err)
{
    const bool adds = strcmp(args->action, "add") == 0;

    if (!adds && strcmp(args->action, "remove") != 0)
        return args->operand_count == 0
                   ? 0
                   : rp_fail(err, RP_USAGE, "'%s' is not expected here", args->operands[0]);
    if (args->operand_count)
        return 0;
    return rp_fail(err, RP_USAGE,
                   adds ? "add: give a result"
                        : "remove: give the numbers that `history list` prints");
}

static int read_request(const struct rp_history_cli *args, struct history_request *ret,
                        struct rp_err *err)
{
    struct rp_err why = RP_ERR_INIT;

    *ret = (struct history_request){
        .args = args,
        .filter = {.commit = args->commit, .kernel = args->kernel, .device = args->device},
        .rule = {.alpha = 0.01, .margin = 0.01, .exact = 0, .recent = args->recent},
    };
    if (RP_IS_GIVEN(history, args, margin))
        ret->rule.margin = ret->rule.exact = args->margin;
    if (!is(ret, "add")) {
        ret->filter.program = args->program;
        ret->filter.config = (const char *const *)args->config.at;
        ret->filter.config_count = args->config.count;
    }
    if (check_config(&args->config, err) < 0 || check_operands(&args->args, err) < 0)
        return -(int)err->code;
    if (is(ret, "add") && args->program && !*args->program) /* as of a variable that is not set */
        return rp_fail(err, RP_USAGE,
                       "--program is empty: give a name, or leave it out for that of the command");
    if (!args->at || rp_rfc3339(args->at, ret->at, &why) == 0)
        return 0;
    return rp_fail(err, RP_USAGE, "--at %s", why.text);
}

/* --- add ----------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *config_text(const struct history_request *request)
{
    const struct rp_word_list *config = &request->args->config;
    rp_autobuf text = {0};

    if (config->count)
        qsort(config->at, config->count, sizeof *config->at, by_text);
    for (size_t i = 0; i < config->count; i++)
        rp_buf_printf(&text, "%s%s", i ? "\n" : "", config->at[i]);
    return config->count ? rp_buf_steal(&text) : rp_strdup("");
}

/**< the clocks of two machines may differ by so much */
enum { SKEW_SECONDS = 60 };

static int time_text(time_t time, char ret[RP_RFC3339_BYTES], struct rp_err *err)
{
    struct tm parts;

    if (!gmtime_r(&time, &parts) || !strftime(ret, RP_RFC3339_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts))
        return rp_fail(err, RP_ENVIRONMENT,
                       "the machine's clock tells no time: set it, then try again");
    return 0;
}

/* A result with a time in the future would be the newest of its series until then, whatever is
 * added, so it is refused. */
static int fill_time(struct history_request *request, struct rp_err *err)
{
    char latest[RP_RFC3339_BYTES];
    const time_t now = time(NULL);

    if (!request->at[0])
        return time_text(now, request->at, err);
    if (time_text(now + SKEW_SECONDS, latest, err) < 0)
        return -(int)err->code;
    if (strcmp(request->at, latest) > 0)
        return rp_fail(err, RP_USAGE,
                       "history: --at %s is in the future: give the time when it was measured, or "
                       "leave it out",
                       request->at);
    return 0;
}

/* A result that compare would refuse is not stored, because nothing could ever be compared with it.
 */
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

static int add_one(char *path, const struct history_request *request,
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
        rc = rp_history_add(request->args->db, &result, &id, &is_new, err);
    if (rc < 0)
        return rc;
    rp_buf_printf(&line, "%s: result %lld%s%s%s", path, (long long)id,
                  result.commit ? ", commit " : ", no commit", result.commit ? result.commit : "",
                  is_new ? "" : ", was there already");
    rp_escape(text, rp_buf_text(&line));
    rp_buf_puts(text, "\n");
    if (side.failed)
        rp_cli_note(
            "history: %s: %llu of %llu launch calls started no kernel (%s): it is kept, and not "
            "checked",
            path, (unsigned long long)side.failed, (unsigned long long)side.launches,
            side.failed_launches);
    else if (!result.complete)
        rp_cli_note("history: %s is not complete, or a part of a run that time or a signal ended: "
                    "it is kept, and not checked",
                    path);
    return 0;
}

static int make_folder(const char *path, struct rp_err *err)
{
    rp_autofree char *copy = rp_strdup(path);

    return rp_mkdirs(dirname(copy), err);
}

static int add(struct history_request *request, char **paths, size_t count, struct rp_buf *text,
               struct rp_err *err)
{
    rp_autofree char *config = config_text(request), *commit = NULL;
    struct rp_history_labels labels = {
        .added = request->at, .config = config, .program = request->args->program};
    int rc = fill_time(request, err);

    if (rc == 0 && !request->filter.commit)
        commit = rp_git_current_commit();
    labels.commit = request->filter.commit ? request->filter.commit : commit;
    if (labels.commit && !labels.commit[0])
        labels.commit = NULL;
    if (rc == 0 && rp_history_is_file(request->args->db))
        rc = make_folder(request->args->db, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = add_one(paths[i], request, &labels, text, err);
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

/* A result that is given twice is removed once. */
static int remove_results(const struct history_request *request, char **words, size_t count,
                          struct rp_buf *text, struct rp_err *err)
{
    rp_autofree int64_t *ids = rp_alloc_zero(count + 1, sizeof *ids);
    size_t kept = 0;
    int rc;

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
    rc = rp_history_remove(request->args->db, ids, kept, err);
    if (rc == 0)
        rp_buf_printf(text, "%zu result%s removed\n", kept, rp_plural(kept));
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

/* Removes from this output the times that were not asked for. The history keeps what it points to.
 */
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

/** Marks the newest result of each program, configuration and device. */
static void mark_newest(const struct rp_history *history, bool *ret)
{
    rp_cleanup(rp_map_free) struct rp_map seen = {0};

    for (size_t i = history->count; i-- > 0;) {
        const struct rp_history_result *r = &history->results[i];
        const char *const texts[] = {r->program, r->config, r->device};
        const uint32_t before = seen.count;
        rp_autobuf key = {0};

        for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
            rp_buf_add(&key, texts[t], strlen(texts[t]) + 1);
        ret[i] = rp_map_add(&seen, key.data, key.len) == before;
    }
}

/* A result that lost dispatches is not judged. If the newest one did, the user must know.
 * @return whether there are such */
static bool note_incomplete(const struct history_request *request, const struct rp_history *history)
{
    rp_autofree bool *newest = rp_alloc_zero(history->count + 1, sizeof *newest);
    bool found = false;

    mark_newest(history, newest);
    for (size_t i = 0; i < history->count; i++) {
        const struct rp_history_result *r = &history->results[i];

        if (r->complete || !newest[i] || !rp_history_result_matches(r, &request->filter))
            continue;
        rp_cli_note("history: result %lld of %s is not complete, or a part of a run, and not "
                    "checked: measure a whole run",
                    (long long)r->id, r->program);
        found = true;
    }
    return found;
}

/* --- names that are meant ------------------------------------------------------------------ */

enum { MOST_NAMES = 3 };

/** The struct collects the nearest names, each once. */
struct nearest {
    const char *wanted;
    char *names[MOST_NAMES];
    size_t distances[MOST_NAMES], count;
    bool more; /**< there are others, less near */
};

static void add_near(struct nearest *near, const char *text, size_t len)
{
    char *name = rp_strndup(text, len);
    size_t far = rp_typing_errors(near->wanted, name), at = 0;

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

/* Lists names like the one that was asked for. When there are none, it lists what there is. */
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

static bool is_of_series(const struct history_request *request)
{
    return is(request, "check") || is(request, "page") || is(request, "plot");
}

/* Says which of the filters alone leaves nothing, and what was perhaps meant. */
static int nothing_matches(const struct history_request *request, const struct rp_history *history,
                           struct rp_err *err)
{
    const struct rp_series_filter program = {.program = request->filter.program};
    rp_autofree char *name = rp_history_shown_name(request->args->db);
    rp_autobuf text = {0};
    size_t found = 0;

    for (size_t i = 0; i < history->count && program.program; i++)
        found += rp_history_result_matches(&history->results[i], &program);
    if (program.program && !found)
        find_near(history, program.program, NULL, &text);
    for (size_t k = 0; k < request->filter.config_count; k++) {
        const struct rp_series_filter config = {.config = &request->filter.config[k],
                                                .config_count = 1};

        found = 0;
        for (size_t i = 0; i < history->count; i++)
            found += rp_history_result_matches(&history->results[i], &config);
        if (!found)
            find_near(history, NULL, request->filter.config[k], &text);
    }
    return rp_fail(err, RP_BAD_INPUT, "history %s: no %sresult of it matches%s", name,
                   is_of_series(request) ? "complete " : "", rp_buf_text(&text));
}

/* An empty list is an answer, but the cause may be a mistake in a name, so that is reported. */
static void note_nothing(const struct history_request *request, const struct rp_history *history)
{
    struct rp_err why = RP_ERR_INIT;

    nothing_matches(request, history, &why);
    rp_cli_note("%s", why.text);
}

static int put_results(const struct history_request *request, struct rp_history *history,
                       struct rp_buf *text, struct rp_err *err)
{
    rp_autofree const struct rp_history_result **list =
        rp_alloc_zero(history->count + 1, sizeof *list);
    const struct rp_history_result **shown = list;
    const bool times = is(request, "show");
    size_t count = 0;

    for (size_t i = 0; i < history->count; i++) {
        struct rp_history_result *r = &history->results[i];

        if (!rp_history_result_matches(r, &request->filter) ||
            !has_kernel(r, request->filter.kernel))
            continue;
        if (request->filter.kernel)
            cut_times(r, request->filter.kernel);
        list[count++] = r;
    }
    if (history->count && !count)
        note_nothing(request, history);
    /* The newest results are the last ones. */
    if (request->args->limit && count > request->args->limit) {
        shown += count - request->args->limit;
        count = (size_t)request->args->limit;
    }
    if (is(request, "export"))
        return (request->args->format == 1) ? rp_report_history_csv(shown, count, text, err)
                                            : rp_report_history_lines(shown, count, text, err);
    return request->args->json
               ? rp_report_history_json(shown, count, times, text, err)
               : rp_report_history_term(shown, count, times,
                                        rp_cli_style_of(request->args->verbose), text, err);
}

/** What became slower is looked at kernel by kernel. Without a commit its results have no name by
 * which `history show` finds them. */
static void put_next(const struct history_request *request, const struct rp_history_result *since,
                     struct rp_buf *text)
{
    const struct rp_page page = rp_page_of_words(text, rp_cli_style());
    const char *words[8] = {"rocm-perf", "history", "show", "--commit",
                            since ? since->commit : NULL};

    rp_autofree char *name = rp_history_shown_name(request->args->db);

    if (!since || !since->commit || since->commit[0] == '-')
        return;
    if (RP_IS_GIVEN(history, request->args, db)) {
        words[5] = "--db";
        words[6] = name;
    }
    rp_buf_puts(text, "\n");
    rp_page_next(&page, words);
}

/* --- the page ------------------------------------------------------------------------------ */

static int by_commit(const void *a, const void *b)
{
    return strcmp(((const struct rp_commit_name *)a)->commit,
                  ((const struct rp_commit_name *)b)->commit);
}

static void add_name(void *context, const char *commit, const char *subject)
{
    struct rp_commit_names *names = context;

    names->list[names->count++] =
        (struct rp_commit_name){.commit = rp_strdup(commit), .subject = rp_strdup(subject)};
}

/* Asks for the newest commits, each once where its results follow each other. Where there is no
 * repository, or it is another one, commits have no names. */
static void name_commits(const struct rp_history *history, struct rp_commit_names *ret)
{
    enum { MOST = 20000 };
    rp_autofree char **wanted = rp_alloc_zero(MOST, sizeof *wanted);
    static const char dirty[] = "-dirty";
    size_t count = 0;

    for (size_t i = history->count; i-- > 0 && count < MOST;) {
        const char *commit = history->results[i].commit;
        const size_t len = commit ? strlen(commit) : 0, end = sizeof dirty - 1;
        char *name;

        if (!len)
            continue;
        name = rp_strndup(commit,
                          len > end && strcmp(commit + len - end, dirty) == 0 ? len - end : len);
        if (count && strcmp(wanted[count - 1], name) == 0)
            free(name);
        else
            wanted[count++] = name;
    }
    /* A hash that was asked for twice may be told twice. */
    *ret = (struct rp_commit_names){.list = rp_alloc_zero(count + 1, sizeof *ret->list)};
    if (count)
        rp_git_subjects(".", (const char *const *)wanted, count, add_name, ret);
    qsort(ret->list, ret->count, sizeof *ret->list, by_commit);
    for (size_t i = 0; i < count; i++)
        free(wanted[i]);
}

static void free_names(struct rp_commit_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->list[i].commit);
        free(names->list[i].subject);
    }
    free(names->list);
}

static int put_page(const struct history_request *request, const struct rp_history *history,
                    const struct rp_series_list *list, struct rp_buf *text, struct rp_err *err)
{
    rp_cleanup(free_names) struct rp_commit_names names = {0};
    rp_autofree char *name = rp_history_shown_name(request->args->db);

    name_commits(history, &names);
    return rp_report_changes_html(list, name, &names, text, err);
}

/* @param ret_fails whether a check has to fail */
static int put_series(const struct history_request *request, const struct rp_history *history,
                      bool *ret_fails, struct rp_buf *text, struct rp_err *err)
{
    rp_cleanup(rp_series_list_free) struct rp_series_list list = {0};
    const struct rp_history_result *since = NULL;
    int rc = rp_series_of(history, &request->filter, &list, err);

    if (rc == 0)
        rc = rp_series_judge(&list, &request->rule, err);
    /* A pattern with a mistake would pass each check. */
    if (rc == 0 && !list.count)
        rc = nothing_matches(request, history, err);
    if (rc < 0)
        return rc;
    if (is(request, "check"))
        *ret_fails |= note_incomplete(request, history) && request->args->strict;
    for (size_t i = 0; i < list.count; i++)
        *ret_fails |= list.list[i].state == RP_SERIES_SLOWER ||
                      (request->args->strict && list.list[i].state == RP_SERIES_UNDECIDED);
    if (is(request, "plot"))
        return rp_report_changes_svg(&list, text, err);
    if (is(request, "page"))
        return put_page(request, history, &list, text, err);
    if (request->args->json)
        return rp_report_changes_json(&list, &request->rule, text, err);
    rc = rp_report_changes_term(&list, rp_cli_style_of(request->args->verbose), text, &since, err);
    if (rc == 0)
        put_next(request, since, text);
    return rc;
}

static int print(const struct history_request *request, struct rp_buf *text, struct rp_err *err)
{
    if (!request->args->output || strcmp(request->args->output, "-") == 0)
        return rp_cli_result(rp_buf_text(text));
    if (rp_write_output(request->args->output, rp_buf_text(text), text->len, err) < 0) {
        rp_wrap(err, "history");
        return rp_cli_error(err);
    }
    return RP_OK;
}

/* SQLite would take such a file for the journal of an interrupted writer, and play it back. */
static int keep_from_journals(const struct history_request *request, struct rp_err *err)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm"};
    const char *output = request->args->output ? request->args->output : "";
    const size_t len = strlen(output);

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t end = strlen(endings[i]);
        rp_autofree char *database = NULL;

        if (len <= end || strcmp(output + len - end, endings[i]) != 0)
            continue;
        database = rp_strndup(output, len - end);
        if (rp_same_file(database, request->args->db))
            return rp_fail(err, RP_USAGE,
                           "history: -o %s is where SQLite keeps what is being written to %s: give "
                           "another name",
                           output, request->args->db);
    }
    return 0;
}

/* The output must not replace the history, which is read or about to be written. */
static int keep_apart(const struct history_request *request, char **paths, size_t count,
                      struct rp_err *err)
{
    char *database = (char *)request->args->db;
    const size_t files = rp_history_is_file(database);
    int rc =
        rp_refuse_overwriting_inputs("history: -o", request->args->output, &database, files, err);

    if (rc == 0 && files)
        rc = keep_from_journals(request, err);
    if (rc == 0)
        rc = rp_refuse_overwriting_inputs("history: -o", request->args->output, paths, count, err);
    return rc < 0 || !files ? rc
                            : rp_refuse_overwriting_inputs("history: --db", request->args->db,
                                                           paths, count, err);
}

/* Does the actions that change the history, or reads it. */
static int prepare(struct history_request *request, char **words, size_t count,
                   struct rp_history *history, struct rp_buf *text, struct rp_err *err)
{
    if (rp_history_check_path(request->args->db, err) < 0)
        return -(int)err->code;
    if (is(request, "remove"))
        return remove_results(request, words, count, text, err);
    if (keep_apart(request, words, count, err) < 0)
        return -(int)err->code;
    return is(request, "add") ? add(request, words, count, text, err)
                              : rp_history_read(request->args->db, history, err);
}

int rp_cmd_history(int argc, char **argv)
{
    rp_cleanup(rp_args_free) struct rp_history_cli options;
    rp_cleanup(rp_history_free) struct rp_history history = {0};
    const struct rp_args *args = &options.args;
    struct history_request request;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0};
    bool fails = false;
    int code, rc;

    if (!rp_options_parse(RP_COMMAND_history, argc, argv, &options, &code))
        return code;
    if (read_request(&options, &request, &err) < 0)
        return rp_args_refuse(args, &err);
    rc = prepare(&request, args->operands, args->operand_count, &history, &text, &err);
    if (rc == 0 && is_of_series(&request))
        rc = put_series(&request, &history, &fails, &text, &err);
    else if (rc == 0 && !is(&request, "add") && !is(&request, "remove"))
        rc = put_results(&request, &history, &text, &err);
    code = rc < 0 ? rp_cli_error(&err) : RP_OK;
    if (text.len || rc == 0) {
        const int printed = print(&request, &text, &err);

        code = code == RP_OK ? printed : code;
    }
    return code == RP_OK && fails && is(&request, "check") ? RP_VERDICT : code;
}
