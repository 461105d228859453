#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "library/library.h"

static const double alpha = 0.01;

/** These are the options, and the gates as they were understood. */
struct options {
    struct rp_compare_cli args;
    struct rp_versus_condition *gates;
    size_t gate_count;
};

static void free_options(struct options *options)
{
    for (size_t i = 0; i < options->gate_count; i++)
        rp_versus_condition_free(&options->gates[i]);
    free(options->gates);
    rp_args_free(&options->args);
}

static int read_gates(struct options *options, struct rp_err *err)
{
    const struct rp_word_list *words = &options->args.gates;
    int rc = 0;

    options->gates = rp_alloc_zero(words->count + 1, sizeof *options->gates);
    for (size_t i = 0; rc == 0 && i < words->count; i++) {
        rc = rp_versus_condition_parse(words->at[i], &options->gates[i], err);
        options->gates[i].may_miss = options->args.allow_missing;
        options->gate_count += rc == 0;
    }
    return rc;
}

static bool is_output(const char *file)
{
    return file && strcmp(file, "-") == 0;
}

/* --- what to do next ----------------------------------------------------------------------- */

/** Returns what the gates of a comparison come to: failed, if one of them is. */
static enum rp_versus_passed gates_of(const struct rp_compare_report *report, size_t at)
{
    enum rp_versus_passed worst = RP_COMPARE_PASSED;

    for (size_t g = 0; g < report->gate_count; g++) {
        const enum rp_versus_passed one = report->gated[at * report->gate_count + g].passed;

        if (one == RP_COMPARE_FAILED || worst == RP_COMPARE_PASSED)
            worst = one;
    }
    return worst;
}

/** Returns the comparison that is worst: of several the one that asks for something to be done. */
static size_t worst_of(const struct rp_compare_report *report)
{
    static const int ranks[] = {[RP_COMPARE_SLOWER] = 3,
                                [RP_COMPARE_UNDECIDED] = 2,
                                [RP_COMPARE_FASTER] = 1,
                                [RP_COMPARE_EQUAL] = 0};
    size_t worst = 0;
    int most = -1;

    for (size_t i = 0; i < report->count; i++) {
        const int rank = ranks[report->list[i].whole.verdict] +
                         (gates_of(report, i) == RP_COMPARE_FAILED ? 4 : 0);

        if (rank > most) {
            most = rank;
            worst = i;
        }
    }
    return worst;
}

/** Adds a path in a form that is not taken for an option. */
static void add_path(struct rp_buf *kept, const char *path)
{
    rp_buf_printf(kept, "%s%s", path[0] == '-' ? "./" : "", path);
}

/** Adds the command that shows what the comparison leaves out, by the same margin. */
static void put_again(const struct options *options, const char *before, const char *after,
                      struct rp_buf *margin, const char **words)
{
    *words++ = "compare";
    *words++ = "-v";
    if (RP_IS_GIVEN(compare, &options->args, margin)) {
        rp_buf_printf(margin, "%.15g", 100 * options->args.margin);
        *words++ = "--margin";
        *words++ = rp_buf_text(margin);
    }
    *words++ = before;
    *words = after;
}

/** Says whether counts timing left it open: then no other look at these results decides it. */
static bool needs_detail(const struct rp_versus_time *t)
{
    return t->verdict == RP_COMPARE_UNDECIDED && t->basis == RP_COMPARE_MODELLED;
}

static size_t word_count(char *const *words)
{
    size_t count = 0;

    while (words && words[count])
        count++;
    return count;
}

/** Adds the command that makes the result again in more detail. */
static void put_detailed(const struct rp_versus_side *side, const char **words)
{
    static const char *const profile[] = {"profile", "--device", "software", "--timing",
                                          "detailed"};

    memcpy(words, profile, sizeof profile);
    words += sizeof profile / sizeof *profile;
    if (rp_needs_separator(RP_COMMAND_profile, side->command_words,
                           word_count(side->command_words)))
        *words++ = "--";
    for (size_t i = 0; side->command_words[i]; i++)
        *words++ = side->command_words[i];
}

/** What became slower, or does not pass a gate, is looked at closer, what is undecided in more
 * detail; what is faster is worth being remembered. Nothing follows where there is no difference,
 * or nothing helps. */
static void put_next(const struct options *options, const struct rp_compare_report *report,
                     struct rp_buf *text)
{
    const struct rp_page page = rp_page_of_words(text, rp_cli_style());
    const size_t at = worst_of(report);
    const struct rp_versus_found *c = &report->list[at];
    const enum rp_versus_verdict verdict = c->whole.verdict;
    const enum rp_versus_passed gates = gates_of(report, at);
    const size_t command_words = word_count(c->after->command_words);
    rp_autobuf before = {0}, after = {0}, margin = {0};
    rp_autofree const char **words = rp_alloc_zero(command_words + 8, sizeof *words);

    if (c->after->told.is)
        return;
    add_path(&before, c->before->path);
    add_path(&after, c->after->path);
    words[0] = "rocm-perf";
    words[2] = rp_buf_text(&after);
    if ((verdict == RP_COMPARE_SLOWER || gates == RP_COMPARE_FAILED) &&
        rp_path_is_dir(c->after->path)) {
        words[1] = "analyze";
    } else if (verdict == RP_COMPARE_EQUAL) {
        return;
    } else if (verdict == RP_COMPARE_FASTER && gates == RP_COMPARE_PASSED &&
               !c->after->incomplete) {
        words[1] = "history";
        words[2] = "add";
        words[3] = rp_buf_text(&after);
    } else if (needs_detail(&c->whole) && command_words) {
        put_detailed(c->after, words + 1);
    } else if (!needs_detail(&c->whole) && verdict != RP_COMPARE_FASTER && !options->args.verbose) {
        put_again(options, rp_buf_text(&before), rp_buf_text(&after), &margin, words + 1);
    } else {
        return;
    }
    rp_buf_puts(text, "\n");
    rp_page_next(&page, words);
}

/* --- comparing ----------------------------------------------------------------------------- */

struct work {
    struct rp_versus_side *sides;
    size_t side_count;
    struct rp_versus_found *list;
    size_t count;
    struct rp_versus_outcome *gated;
};

static void free_work(struct work *work)
{
    for (size_t i = 0; i < work->count; i++)
        rp_versus_found_free(&work->list[i]);
    for (size_t i = 0; i < work->side_count; i++)
        rp_versus_side_free(&work->sides[i]);
    free(work->list);
    free(work->sides);
    free(work->gated);
}

static int read_sides(char **paths, size_t count, struct work *work, struct rp_err *err)
{
    for (size_t i = 0; i < count; i++) {
        int rc = rp_compare_read_side(paths[i], &work->sides[i], err);

        if (rc < 0)
            return rc;
        work->side_count++;
        rp_compare_add_launches(paths[i], &work->sides[i]);
    }
    return 0;
}

static int compare_sides(struct work *work, const struct rp_versus_rule *rule, struct rp_err *err)
{
    int rc = 0;

    if (work->side_count == 1) {
        rc = rp_versus_find_reported(&work->sides[0], &work->list[0], err);
        work->count = rc == 0;
        return rc;
    }
    for (size_t i = 1; rc == 0 && i < work->side_count; i++) {
        rc = rp_versus(&work->sides[0], &work->sides[i], rule, &work->list[i - 1], err);
        work->count += rc == 0;
    }
    return rc;
}

static int make(char **paths, size_t count, const struct options *options, struct work *work,
                struct rp_err *err)
{
    const struct rp_versus_rule rule = {.margin = options->args.margin, .alpha = alpha};
    int rc;

    work->sides = rp_alloc_zero(count + 1, sizeof *work->sides);
    work->list = rp_alloc_zero(count + 1, sizeof *work->list);
    work->gated = rp_alloc_zero(count * options->gate_count + 1, sizeof *work->gated);
    rc = read_sides(paths, count, work, err);
    if (rc == 0)
        rc = compare_sides(work, &rule, err);
    for (size_t i = 0; rc == 0 && i < work->count; i++)
        for (size_t g = 0; g < options->gate_count; g++)
            rp_versus_condition_judge(&options->gates[g], &work->list[i],
                                      &work->gated[i * options->gate_count + g]);
    return rc;
}

static int put(const struct options *options, const struct rp_compare_report *report,
               struct rp_buf *text, struct rp_err *err)
{
    int rc;

    if (options->args.json)
        return rp_report_compare_json(report, text, err);
    if (options->args.markdown)
        return rp_report_compare_markdown(report, text, err);
    rc = rp_report_compare_term(report, rp_cli_style_of(options->args.verbose), text, err);
    if (rc == 0)
        put_next(options, report, text);
    return rc < 0 || !options->args.github ? rc : rp_report_compare_github(report, text, err);
}

/* --- files beside the table ----------------------------------------------------------------- */

/* A file that is written beside the table, or printed in its place. It is also written where the
 * results are refused, because the file of the build before would be taken for this one's. */
struct extra {
    const char *file; /**< NULL: not wanted */
    int (*write)(const struct rp_compare_report *, struct rp_buf *, struct rp_err *);
    int (*refuse)(char *const *, size_t, const struct rp_err *, struct rp_buf *, struct rp_err *);
};

enum { EXTRAS = 2 };

static void list_extras(const struct options *options, struct extra ret[EXTRAS])
{
    ret[0] =
        (struct extra){options->args.junit, rp_report_compare_junit, rp_report_compare_refused};
    ret[1] =
        (struct extra){options->args.html, rp_report_compare_html, rp_report_compare_refused_html};
}

static int put_extra(const struct extra *extra, const struct rp_compare_report *report,
                     struct rp_err *err)
{
    rp_autobuf made = {0};
    int rc;

    if (!extra->file || is_output(extra->file))
        return 0;
    rc = extra->write(report, &made, err);
    return rc < 0 ? rc : rp_write_output(extra->file, made.data, made.len, err);
}

/* Writes the result to standard output, and to the files beside it. */
static int put_all(const struct options *options, const struct work *work, struct rp_buf *text,
                   struct rp_err *err)
{
    const struct rp_compare_report report = {
        .list = work->list,
        .count = work->count,
        .gates = options->gates,
        .gate_count = options->gate_count,
        .gated = work->gated,
        .rule = {.margin = options->args.margin, .alpha = alpha},
    };
    struct extra extras[EXTRAS];
    const struct extra *printed = NULL;
    int rc;

    list_extras(options, extras);
    for (size_t i = 0; i < EXTRAS; i++)
        if (is_output(extras[i].file))
            printed = &extras[i];
    rc = printed ? printed->write(&report, text, err) : put(options, &report, text, err);
    for (size_t i = 0; rc == 0 && i < EXTRAS; i++)
        rc = put_extra(&extras[i], &report, err);
    return rc;
}

static void refuse_extra(const struct extra *extra, char **paths, size_t count,
                         const struct rp_err *why)
{
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf made = {0};

    if (!extra->file)
        return;
    if (extra->refuse(paths, count, why, &made, &err) == 0) {
        if (is_output(extra->file))
            rp_cli_result(rp_buf_text(&made));
        else
            rp_write_output(extra->file, made.data, made.len, &err);
    }
    if (err.code != RP_OK)
        rp_cli_error(&err);
}

/* @return the exit code */
static int refuse(const struct options *options, char **paths, size_t count,
                  const struct rp_err *why)
{
    struct extra extras[EXTRAS];

    list_extras(options, extras);
    for (size_t i = 0; i < EXTRAS; i++)
        refuse_extra(&extras[i], paths, count, why);
    return rp_cli_error(why);
}

/* Prints one sentence for each gate, because the table may be in another file. */
static int judge(const struct options *options, const struct work *work)
{
    int code = RP_OK;

    for (size_t i = 0; i < work->count; i++) {
        for (size_t g = 0; g < options->gate_count; g++) {
            const struct rp_versus_outcome *gated = &work->gated[i * options->gate_count + g];

            if (gated->passed == RP_COMPARE_PASSED)
                continue;
            code = RP_VERDICT;
            rp_cli_note("compare: %s: --gate %s %s%s%s%s%s%s%s", work->list[i].after->path,
                        options->gates[g].text,
                        gated->passed == RP_COMPARE_OPEN ? "is undecided" : "does not hold",
                        gated->reason[0] ? ": " : "", gated->reason,
                        gated->near[0] ? ", near: " : "", gated->near, gated->kernel ? "; in " : "",
                        gated->kernel ? gated->kernel : "");
        }
        if (work->list[i].after->told.wrong) {
            code = RP_VERDICT;
            rp_cli_note("compare: %s: B gives different output", work->list[i].after->path);
        }
    }
    return code;
}

int rp_cmd_compare(int argc, char **argv)
{
    rp_cleanup(free_options) struct options options = {0};
    rp_cleanup(free_work) struct work work = {0};
    const struct rp_args *args = &options.args.args;
    struct rp_err err = RP_ERR_INIT;
    rp_autobuf text = {0};
    int code;

    if (!rp_options_parse(RP_COMMAND_compare, argc, argv, &options.args, &code))
        return code;
    if (read_gates(&options, &err) < 0)
        return rp_args_refuse(args, &err);
    if (rp_refuse_overwriting_inputs("compare: --junit", options.args.junit, args->operands,
                                     args->operand_count, &err) < 0 ||
        rp_refuse_overwriting_inputs("compare: --html", options.args.html, args->operands,
                                     args->operand_count, &err) < 0)
        return rp_cli_error(&err);
    if (make(args->operands, args->operand_count, &options, &work, &err) < 0)
        return refuse(&options, args->operands, args->operand_count, &err);
    if (put_all(&options, &work, &text, &err) < 0)
        return rp_cli_error(&err);
    code = rp_cli_result(rp_buf_text(&text));
    return code == RP_OK ? judge(&options, &work) : code;
}
