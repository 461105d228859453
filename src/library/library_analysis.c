/* Finds the runs that traces are of, and makes what `analyze` prints of a run and `report` shows.
 * Each part may be missing. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/profile.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "library/library.h"
#include "trace/counter_set.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"

/* This section finds which of several traces are of one run, and which are runs of the same
 * command. */

struct member {
    struct rp_lifetime life;
    struct rp_store *store;
    size_t group;
};

void rp_repeats_free(struct rp_repeats *repeats)
{
    free(repeats->stores);
    free(repeats->counts);
    *repeats = (struct rp_repeats){0};
}

static int by_start(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    const int guids = strcmp(a->life.guid, b->life.guid);

    if (a->life.start_ns != b->life.start_ns)
        return a->life.start_ns < b->life.start_ns ? -1 : 1;
    return guids ? guids : strcmp(a->life.path, b->life.path);
}

static int by_group_and_command(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    const int commands = strcmp(a->life.command, b->life.command);

    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return commands ? commands : by_start(left, right);
}

/* Says whether both are known and one ended before the other began. */
static bool lifetimes_disjoint(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    return a->end_ns && b->end_ns && (a->end_ns <= b->start_ns || b->end_ns <= a->start_ns);
}

/* Says whether the same process started both, or one the other: a script's processes are one run.
 */
static bool lifetimes_related(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    return a->ppid == b->ppid || a->ppid == b->pid || a->pid == b->ppid;
}

/* Where the times of processes are not known, those of one parent are taken to be of one run, but
 * not those of one pid: each first process of a container has the same. CSV does not name parents.
 */
static bool are_apart(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    const bool siblings =
        (a->ppid > 0 || b->ppid > 0) && a->pid != b->pid && lifetimes_related(a, b);

    if ((a->own_clock || b->own_clock) && a->run && b->run)
        return strcmp(a->run, b->run) != 0;
    if (a->own_clock || b->own_clock)
        return !siblings;
    return lifetimes_disjoint(a, b) && !(siblings && (a->by_kernels || b->by_kernels));
}

/* Traces of one run get the number of its first trace. */
static void group(struct member *members, size_t count)
{
    qsort(members, count, sizeof *members, by_start);
    for (size_t i = 0; i < count; i++) {
        members[i].group = i;
        for (size_t k = 0; k < i; k++) {
            const size_t from = members[k].group, to = members[i].group;

            if (from == to || are_apart(&members[k].life, &members[i].life))
                continue;
            for (size_t j = 0; j <= i; j++)
                if (members[j].group == (from > to ? from : to))
                    members[j].group = from > to ? to : from;
        }
    }
    qsort(members, count, sizeof *members, by_group_and_command);
}

/* Members of a group stand together, sorted by command. */
static size_t size_of_group(const struct member *members, size_t count, size_t first)
{
    size_t size = 1;

    while (first + size < count && members[first + size].group == members[first].group)
        size++;
    return size;
}

/* Compares the commands of both, where all are known. */
static bool same_commands(const struct member *a, size_t a_size, const struct member *b,
                          size_t b_size)
{
    if (a_size != b_size)
        return false;
    for (size_t i = 0; i < a_size; i++)
        if (!a[i].life.command[0] || strcmp(a[i].life.command, b[i].life.command) != 0)
            return false;
    return true;
}

static bool all_on_one_machine(const struct member *members, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (!rp_lifetimes_on_one_machine(&members[0].life, &members[i].life))
            return false;
    return true;
}

/* Finds a trace that neither ran at the same time nor is of the same script. NULL means that there
 * is none. */
static const struct member *stranger(const struct member *members, size_t count,
                                     const struct member **ret_other)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct rp_lifetime *a = &members[k].life, *b = &members[i].life;

            if (!rp_lifetimes_on_one_machine(a, b) || !are_apart(a, b))
                continue;
            if (!a->command[0] || strcmp(a->command, b->command) == 0 || !lifetimes_related(a, b)) {
                *ret_other = &members[i];
                return &members[k];
            }
        }
    return NULL;
}

static const char *traces_that_do(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    return a->of_pytorch && b->of_pytorch
               ? "let all ranks record the same steps (schedule of torch.profiler.profile), so that"
                 " their traces overlap"
               : "traces that do (rocprofv3 --output-format rocpd)";
}

static int refuse(const struct rp_lifetime *a, const struct rp_lifetime *b, struct rp_err *err)
{
    if (!a->command[0] || !b->command[0])
        return rp_fail(err, RP_BAD_INPUT,
                       "%s and %s ran one after the other, and do not say of which command they "
                       "are: give one of them, or %s",
                       a->path, b->path, traces_that_do(a, b));
    if (strcmp(a->command, b->command) == 0)
        return rp_fail(
            err, RP_BAD_INPUT,
            "%s and %s are of different runs of '%.60s', but beside them there are other "
            "commands, other machines, or runs of fewer processes: put the traces of "
            "each run into a folder of its own, and give one",
            a->path, b->path, a->command);
    return rp_fail(err, RP_BAD_INPUT,
                   "%s ('%.60s') and %s ('%.60s') are neither processes of one run nor runs of the "
                   "same command: put traces of each program into a folder of its own",
                   a->path, a->command, b->path, b->command);
}

/* Says whether all groups are runs of the same commands. A single group is one run. */
static bool are_repeats(const struct member *members, size_t count)
{
    const size_t size = size_of_group(members, count, 0);

    for (size_t i = size; i < count; i += size)
        if (!same_commands(members, size, members + i, size_of_group(members, count, i)))
            return false;
    return true;
}

static int fill(const struct member *members, size_t count, bool repeats, struct rp_repeats *ret,
                struct rp_err *err)
{
    const size_t size = repeats ? size_of_group(members, count, 0) : count;

    ret->stores = calloc(count + 1, sizeof(struct rp_store *));
    ret->counts = calloc(count + 1, sizeof *ret->counts);
    if (!ret->stores || !ret->counts) {
        rp_repeats_free(ret);
        return rp_out_of_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        ret->stores[i] = members[i].store;
    ret->count = size ? count / size : 0;
    for (size_t i = 0; i < ret->count; i++)
        ret->counts[i] = size;
    return 0;
}

int rp_repeats_of(struct rp_store *const *stores, size_t count, struct rp_repeats *ret,
                  struct rp_err *err)
{
    rp_autofree struct member *members = calloc(count + 1, sizeof *members);
    const struct member *a, *b = NULL;
    bool repeats;

    if (!members)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++) {
        int rc = rp_lifetime_of(stores[i], &members[i].life, err);

        if (rc < 0)
            return rc;
        members[i].store = stores[i];
    }
    repeats = all_on_one_machine(members, count);
    if (repeats)
        group(members, count);
    repeats = repeats && are_repeats(members, count);
    a = repeats ? NULL : stranger(members, count, &b);
    return a ? refuse(&a->life, &b->life, err) : fill(members, count, repeats, ret, err);
}

/* Clocks of different machines are not comparable. The processes that one script starts are one
 * run, unless a command is repeated. */
static bool are_of_two_runs(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    const bool related = (a->ppid > 0 || b->ppid > 0) && lifetimes_related(a, b);

    return rp_lifetimes_on_one_machine(a, b) && lifetimes_disjoint(a, b) &&
           (strcmp(a->command, b->command) == 0 ? !related || !(a->by_kernels || b->by_kernels)
                                                : !related);
}

static int note_difference(const struct rp_lifetime *a, const struct rp_lifetime *b,
                           const struct rp_note_sink *notes, struct rp_err *err)
{
    /* Nobody knows whether it is one script or one program again, so the sum of both may mean
     * nothing. */
    if (!a->command[0] || !b->command[0])
        return rp_fail(err, RP_BAD_INPUT,
                       "%s and %s ran one after the other, or on machines whose clocks differ, and"
                       " do not say of which command they are: give those of one run, or %s",
                       a->path, b->path, traces_that_do(a, b));
    if (strcmp(a->command, b->command) == 0)
        rp_note(notes,
                "%s and %s are of '%.60s', one after the other: results only hold for traces of"
                " one run, analyse each run by itself; compare and history take them as runs",
                a->path, b->path, a->command);
    else
        rp_note(notes,
                "%s ('%.60s') and %s ('%.60s') ran one after the other: results only"
                " hold for traces of one run, analyse each run by itself",
                a->path, a->command, b->path, b->command);
    return 0;
}

static bool is_in(struct rp_store *const *run, size_t count, const struct rp_store *store)
{
    for (size_t i = 0; i < count; i++)
        if (run[i] == store)
            return true;
    return false;
}

/**
 * Files of several runs make a graph without meaning. This warns in @p notes when two of the traces
 * did not run at the same time and are of different commands, or of the same one again.
 * @param run the traces of the graph; the others may be the same command again for other counters
 * @return 0; RP_BAD_INPUT names two of @p run of which not even the command is known
 */
static int warn_of_other_runs(const struct rp_inputs *in, struct rp_store *const *run,
                              size_t run_count, struct rp_err *err)
{
    rp_autofree struct rp_lifetime *lives = calloc(in->store_count + 1, sizeof *lives);
    rp_autofree bool *of_run = calloc(in->store_count + 1, sizeof *of_run);

    if (!lives || !of_run)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < in->store_count && in->store_count > 1; i++) {
        int rc = rp_lifetime_of(in->stores[i], &lives[i], err);

        if (rc < 0)
            return rc;
        of_run[i] = is_in(run, run_count, in->stores[i]);
    }
    for (size_t i = 0; i < in->store_count; i++)
        for (size_t j = 0; j < i; j++) {
            const bool known = lives[i].command[0] && lives[j].command[0];
            const bool other = known && strcmp(lives[i].command, lives[j].command) != 0;

            if ((other || (of_run[i] && of_run[j])) && are_of_two_runs(&lives[j], &lives[i]))
                return note_difference(&lives[j], &lives[i], &in->notes, err);
        }
    return 0;
}

void rp_analysis_free(struct rp_analysis *parts)
{
    rp_ranking_free(&parts->ranking);
    rp_roofline_free(&parts->roofline);
    rp_dag_result_free(&parts->dag);
}

/* Work that did not happen is in no number that is made of the traces, so the user is told. */
static int note_failed_launches(const struct rp_inputs *in, const struct rp_profile *profile,
                                struct rp_err *err)
{
    rp_autofree char *text = NULL;

    if (!profile || !profile->launches.failed)
        return 0;
    text = rp_launches_text(&profile->launches);
    if (!text)
        return rp_out_of_memory(err);
    rp_note(&in->notes, "%s", text);
    return 0;
}

/* Calls and times are those of one run, because its further runs only served their counters.
 * @param run its traces */
static int make_ranking(const struct rp_inputs *in, const struct rp_inputs *run,
                        const struct rp_analysis_request *wish, struct rp_analysis *parts,
                        struct rp_err *err)
{
    struct rp_ranking_from from = {.dag = parts->has_dag ? &parts->dag : NULL,
                                   .roofline = in->counters ? &parts->roofline : NULL,
                                   .arch = wish->roof->arch};
    int rc;

    if (!wish->ranking)
        return 0;
    parts->has_ranking = true;
    rp_work_at(&in->work, RP_WORK_RANK, 0);
    rc = rp_make_ranking(run, &from, &parts->ranking, err);
    return rc < 0 ? rc : note_failed_launches(in, parts->ranking.profile, err);
}

/* Processes of the software device have no graph together. They stand side by side, if they are of
 * one run. */
static int are_side_by_side(struct rp_store *const *run, size_t count, bool *ret,
                            struct rp_err *err)
{
    rp_cleanup(rp_repeats_free) struct rp_repeats repeats = {0};
    struct rp_err why = RP_ERR_INIT;
    int rc;

    *ret = rp_dag_own_clocks(run, count);
    if (!*ret || count < 2)
        return 0;
    rc = rp_repeats_of(run, count, &repeats, &why);
    *ret = rc == 0 && repeats.count == 1;
    return rc < 0 && why.code == RP_ENVIRONMENT ? rp_fail(err, why.code, "%s", why.text) : 0;
}

static int make_all(struct rp_inputs *in, struct rp_store **run, size_t run_count,
                    const struct rp_analysis_request *wish, struct rp_analysis *ret,
                    struct rp_err *err)
{
    struct rp_inputs of_run;
    bool side_by_side = false;
    int rc = warn_of_other_runs(in, run, run_count, err);

    if (rc == 0 && !wish->needs_dag)
        rc = are_side_by_side(run, run_count, &side_by_side, err);
    ret->has_dag = in->store_count && wish->dag && !side_by_side;
    if (rc == 0 && ret->has_dag)
        rc = rp_make_dag(in, wish->steps, &ret->dag, err);
    if (rc == 0)
        rc = rp_clip_late_ends(in->stores, in->store_count, err);
    if (rc == 0)
        rc = rp_inputs_read_counters(in, wish->roofline, err);
    ret->has_roofline =
        in->counters && (in->counters->name_count || in->store_count == 0 || wish->roofline);
    if (rc == 0 && ret->has_roofline)
        rc = rp_make_roofline(in, wish->roof, &ret->roofline, err);
    of_run = *in;
    of_run.stores = run;
    of_run.store_count = run_count;
    return rc < 0 ? rc : make_ranking(in, &of_run, wish, ret, err);
}

int rp_analysis_make(struct rp_inputs *in, const struct rp_analysis_request *wish,
                     struct rp_analysis *ret, struct rp_err *err)
{
    rp_autofree struct rp_store **run = calloc(in->store_count + 1, sizeof *run);
    size_t count = 0;
    int rc = run ? rp_inputs_choose_run(in, run, &count, err) : rp_out_of_memory(err);

    return rc < 0 ? rc : make_all(in, run, count, wish, ret, err);
}

/* Holds the counters of the first dispatch that has any; for a CSV trace, those of the file beside
 * it. */
struct counted {
    struct rp_counters *csv;
    const char **names; /**< sorted, because files of one pass list them in any order */
    size_t count;
    bool has_kernels;
    bool of_counted; /**< counted, or a rank of a run in which others were */
    struct rp_lifetime life;
};

static void counted_free(struct counted *counted, size_t count)
{
    for (size_t i = 0; counted && i < count; i++) {
        rp_counters_free(counted[i].csv);
        free(counted[i].names);
    }
    free(counted);
}

/* Passes of rocprofv3 leave a trace of kernels beside the counters of each. */
static int counted_beside(const char *prefix, struct counted *ret, struct rp_err *err)
{
    rp_autofree char *name = rp_format("%scounter_collection.csv", prefix);
    rp_autofree char *path = name ? rp_gzip_find(name) : NULL;
    int rc;

    if (!name)
        return rp_out_of_memory(err);
    rc = path ? rp_counters_open(path, &ret->csv, err) : 0;
    if (rc < 0 || !path)
        return rc;
    ret->names = calloc(ret->csv->name_count + 1, sizeof *ret->names);
    if (!ret->names)
        return rp_out_of_memory(err);
    for (; ret->count < ret->csv->name_count; ret->count++)
        ret->names[ret->count] = ret->csv->names[ret->count];
    return 0;
}

static int first_counted(struct rp_store *store, struct counted *ret, struct rp_err *err)
{
    const struct rp_row_counter *rows;
    size_t count, n = 0;
    int rc = rp_store_counters(store, &rows, &count, err);

    if (rc < 0)
        return rc;
    while (n < count && rows[n].guid_index == rows[0].guid_index &&
           rows[n].event_id == rows[0].event_id)
        n++;
    ret->names = calloc(n + 1, sizeof *ret->names);
    if (!ret->names)
        return rp_out_of_memory(err);
    for (; ret->count < n; ret->count++)
        ret->names[ret->count] = rows[ret->count].name;
    return 0;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool same_counters(const struct counted *a, const struct counted *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->names[i], b->names[i]) != 0)
            return false;
    return true;
}

static int one_is_enough(void *ctx, const void *row, struct rp_err *err)
{
    (void)row;
    *(bool *)ctx = true;
    return rp_fail(err, RP_BAD_INPUT, "one is enough");
}

static int find_kernels(struct rp_store *store, bool *ret, struct rp_err *err)
{
    int rc = rp_store_each_launch(store, one_is_enough, ret, err);

    if (*ret)
        *err = (struct rp_err)RP_ERR_INIT;
    return *ret ? 0 : rc;
}

static int look_at(const struct rp_inputs *in, struct counted *counted, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < in->store_count && rc == 0; i++) {
        const char *prefix = in->csv_prefixes ? in->csv_prefixes[i] : NULL;
        struct counted *c = &counted[i];

        rc = prefix ? counted_beside(prefix, c, err) : first_counted(in->stores[i], c, err);
        if (rc == 0 && c->count)
            qsort(c->names, c->count, sizeof *c->names, by_text);
        if (rc == 0)
            rc = find_kernels(in->stores[i], &c->has_kernels, err);
        if (rc == 0)
            rc = rp_lifetime_of(in->stores[i], &c->life, err);
    }
    return rc;
}

static bool in_one_folder(const char *a, const char *b)
{
    const char *a_slash = strrchr(a, '/'), *b_slash = strrchr(b, '/');
    const size_t a_length = a_slash ? (size_t)(a_slash - a) : 0;
    const size_t b_length = b_slash ? (size_t)(b_slash - b) : 0;

    return a_length == b_length && !a_slash == !b_slash && strncmp(a, b, a_length) == 0;
}

static bool times_compare(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    return a->end_ns && b->end_ns && rp_lifetimes_on_one_machine(a, b);
}

/* A process without kernels has no counters that would show its run. It ran while the others did;
 * where its times are not known, it has to lie beside one of them. */
static bool ran_beside(const struct counted *counted, size_t count, size_t idle, const bool *of_run)
{
    const struct rp_lifetime *life = &counted[idle].life;

    for (size_t i = 0; i < count; i++) {
        const struct rp_lifetime *other = &counted[i].life;

        if (of_run[i] && counted[i].has_kernels &&
            (times_compare(life, other) ? !lifetimes_disjoint(life, other)
                                        : in_one_folder(life->path, other->path)))
            return true;
    }
    return false;
}

/* Reads N of "counters/pass-N_results.db" in a result folder: profile ran the program once more for
 * it. */
static unsigned long pass_of_profile(const char *path)
{
    static const char begin[] = "counters/pass-";
    const char *at = path, *found = NULL;

    while ((at = strstr(at, begin))) {
        if (at == path || at[-1] == '/')
            found = at;
        at += sizeof begin - 1;
    }
    return found && !strchr(found + sizeof begin - 1, '/')
               ? strtoul(found + sizeof begin - 1, NULL, 10)
               : 0;
}

/* Modelled times begin anew in each run, so they do not tell the runs of profile apart. */
static bool at_one_time(const struct rp_lifetime *a, const struct rp_lifetime *b)
{
    return times_compare(a, b) && !lifetimes_disjoint(a, b) &&
           !rp_counters_of_two_passes(a->path, b->path) &&
           pass_of_profile(a->path) == pass_of_profile(b->path);
}

/* A rank may have no counters, because of filters of kernels. It belongs to the run of those that
 * it ran at the same time with: passes, and runs without counters, come one after the other. */
static int add_uncounted(const struct counted *counted, size_t count, bool *of_run,
                         struct rp_err *err)
{
    rp_autofree size_t *found = calloc(count + 1, sizeof *found);
    size_t found_count = 0;

    if (!found)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        if (of_run[i])
            found[found_count++] = i;
    for (size_t at = 0; at < found_count; at++)
        for (size_t i = 0; i < count; i++)
            if (!of_run[i] && counted[i].has_kernels && counted[i].count == 0 &&
                at_one_time(&counted[i].life, &counted[found[at]].life)) {
                of_run[i] = true;
                found[found_count++] = i;
            }
    return 0;
}

static int find_counted(struct counted *counted, size_t count, struct rp_err *err)
{
    rp_autofree bool *found = calloc(count + 1, sizeof *found);
    int rc;

    if (!found)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < count; i++)
        found[i] = counted[i].has_kernels && counted[i].count;
    rc = add_uncounted(counted, count, found, err);
    for (size_t i = 0; i < count; i++)
        counted[i].of_counted = found[i];
    return rc;
}

/* Finds the first trace that has kernels, of a run without counters if there is one. In a run with
 * counters it takes a trace that has some, because the others are found by them. */
static size_t first_of_run(const struct counted *counted, size_t count)
{
    size_t first = count, plain = count;

    for (size_t i = count; i-- > 0;) {
        if (!counted[i].has_kernels)
            continue;
        if (!counted[i].of_counted)
            plain = i;
        if (counted[i].count)
            first = i;
    }
    return plain < count ? plain : first;
}

static bool is_any_counted(const struct counted *counted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (counted[i].count)
            return true;
    return false;
}

static int choose(const struct rp_inputs *in, struct counted *counted, bool *of_run,
                  struct rp_err *err)
{
    const size_t count = in->store_count;
    int rc = count > 1 ? look_at(in, counted, err) : 0;
    const bool has_passes = is_any_counted(counted, count);
    size_t first;

    if (rc == 0)
        rc = find_counted(counted, count, err);
    first = first_of_run(counted, count);
    for (size_t i = 0; i < count; i++)
        of_run[i] =
            first == count || ((counted[i].has_kernels || !has_passes) &&
                               counted[i].of_counted == counted[first].of_counted &&
                               same_counters(&counted[i], &counted[first]) &&
                               !rp_counters_of_two_passes(rp_store_path(in->stores[i]),
                                                          rp_store_path(in->stores[first])));
    if (rc < 0 || first == count || !has_passes)
        return rc;
    if (counted[first].of_counted)
        rc = add_uncounted(counted, count, of_run, err);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (!counted[i].has_kernels)
            of_run[i] = ran_beside(counted, count, i, of_run);
    return rc;
}

int rp_inputs_choose_run(const struct rp_inputs *in, struct rp_store **ret, size_t *ret_count,
                         struct rp_err *err)
{
    struct counted *counted = calloc(in->store_count + 1, sizeof *counted);
    rp_autofree bool *of_run = calloc(in->store_count + 1, sizeof *of_run);
    int rc = counted && of_run ? choose(in, counted, of_run, err) : rp_out_of_memory(err);

    *ret_count = 0;
    for (size_t i = 0; i < in->store_count && rc == 0; i++)
        if (of_run[i])
            ret[(*ret_count)++] = in->stores[i];
    counted_free(counted, in->store_count);
    return rc;
}

int rp_make_dag(const struct rp_inputs *in, bool full, struct rp_dag_result *ret,
                struct rp_err *err)
{
    rp_autofree struct rp_store **run = malloc((in->store_count + 1) * sizeof *run);
    size_t count = 0;
    int rc = run ? rp_inputs_choose_run(in, run, &count, err) : rp_out_of_memory(err);

    if (rc == 0)
        rc = rp_dag_analyze(run, count, full, &in->work, ret, err);
    if (rc == 0 && count < in->store_count)
        rp_note(&in->notes,
                "%zu of %zu traces are of further runs for counters: only their counters are used",
                in->store_count - count, in->store_count);
    return rc;
}

int rp_make_roofline(const struct rp_inputs *in, const struct rp_roofline_options *options,
                     struct rp_roofline *ret, struct rp_err *err)
{
    struct rp_roofline_options completed = *options;
    int rc;

    completed.origin = rp_origin_of(in->stores, in->store_count);
    rc = rp_roofline_compute(in->counters, &completed, ret, err);
    for (size_t i = 0; rc == 0 && i < ret->device_count; i++)
        if (ret->devices[i].overruled[0])
            rp_note(&in->notes,
                    "--arch %s is used for GPU %lld although the files say %s: leave it out"
                    " unless they are wrong",
                    options->arch, (long long)ret->devices[i].id, ret->devices[i].overruled);
    return rc;
}

void rp_ranking_free(struct rp_ranking *ranking)
{
    rp_bottlenecks_free(&ranking->found);
    rp_profile_free(ranking->profile);
}

int rp_make_ranking(const struct rp_inputs *in, const struct rp_ranking_from *from,
                    struct rp_ranking *ret, struct rp_err *err)
{
    struct rp_bottleneck_inputs inputs = {.dag = from->dag,
                                          .roofline = from->roofline,
                                          .counters = in->counters,
                                          .stats = in->stats,
                                          .traces = &in->waves,
                                          .arch = from->arch,
                                          .origin = rp_origin_of(in->stores, in->store_count)};
    const double no_runtime_ms = 0; /* Stability is not asked for. */
    int rc = 0;

    if (in->store_count)
        rc = rp_profile_compute(in->stores, in->store_count, &no_runtime_ms, 1, &ret->profile, err);
    inputs.profile = ret->profile;
    return rc < 0 ? rc : rp_bottlenecks_find(&inputs, &ret->found, err);
}
