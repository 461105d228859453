#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "report/report.h"
#include "run/isolate_run.h"
#include "run/kernel_names.h"
#include "run/machine.h"
#include "run/result_folder.h"
#include "run/standard_input.h"
#include "trace/capture.h"

/* These options of rocm-perf isolate say which dispatches are captured. */

/** All zero selects the first dispatch that matches. Release it with dispatch_selection_free. */
struct rp_dispatch_selection {
    struct rp_snapshot_selection selection; /**< complete after dispatch_selection_read */
    uint64_t *numbers;
    size_t count;
    bool longest, representative;
    bool several; /**< each capture gets a folder of its own */
};

/* Reads a whole number up to the next comma, x or end. */
static bool read_number(const char **at, uint64_t least, uint64_t most, uint64_t *ret)
{
    char *end;
    unsigned long long value;

    if (**at < '0' || **at > '9')
        return false;
    value = strtoull(*at, &end, 10);
    if ((size_t)(end - *at) > 19 || value < least || value > most)
        return false;
    *at = end;
    *ret = value;
    return true;
}

static int add(struct rp_dispatch_selection *choice, uint64_t number, struct rp_err *err)
{
    size_t at = 0;

    while (at < choice->count && choice->numbers[at] < number)
        at++;
    if (at < choice->count && choice->numbers[at] == number)
        return 0;
    if (choice->count == RP_SNAPSHOT_MAX_NUMBERS)
        return rp_fail(err, RP_USAGE, "--dispatch: no more than %d in one run",
                       RP_SNAPSHOT_MAX_NUMBERS);
    memmove(&choice->numbers[at + 1], &choice->numbers[at],
            (choice->count++ - at) * sizeof *choice->numbers);
    choice->numbers[at] = number;
    return 0;
}

static void make_room(struct rp_dispatch_selection *choice)
{
    if (!choice->numbers)
        choice->numbers = rp_alloc_zero(RP_SNAPSHOT_MAX_NUMBERS + 1, sizeof *choice->numbers);
}

/** Adds a dispatch that was found. */
static int dispatch_selection_add(struct rp_dispatch_selection *choice, uint64_t match,
                                  struct rp_err *err)
{
    int rc;

    make_room(choice);
    rc = add(choice, match, err);
    choice->selection.number_count = (uint32_t)choice->count;
    return rc;
}

/** Reads --dispatch 1,3,7 and adds to the numbers of earlier options. All of these functions return
 * 0 or RP_USAGE. */
static int dispatch_selection_dispatches(struct rp_dispatch_selection *choice, const char *word,
                                         struct rp_err *err)
{
    const char *at = word;
    uint64_t number;
    int rc = 0;

    make_room(choice);
    while (rc == 0) {
        if (!read_number(&at, 1, INT64_MAX, &number) || (*at && *at != ','))
            return rp_fail(err, RP_USAGE,
                           "--dispatch %s: use whole numbers with commas between them, 1 being the "
                           "first",
                           word);
        rc = add(choice, number, err);
        if (!*at)
            break;
        at++;
    }
    return rc;
}

/** Reads --grid and --workgroup X[,Y,Z].
 * @param filter enum rp_snapshot_filter */
static int dispatch_selection_size(struct rp_dispatch_selection *choice,
                                   enum rp_snapshot_filter filter, const char *word,
                                   struct rp_err *err)
{
    const bool grid = filter == RP_SNAPSHOT_GRID;
    uint64_t numbers[3] = {1, 1, 1};
    const char *at = word;

    for (size_t i = 0; i < 3; i++) {
        if (!read_number(&at, 1, grid ? UINT32_MAX : UINT16_MAX, &numbers[i]))
            break;
        if (!*at) {
            for (size_t k = 0; k < 3; k++)
                (grid ? choice->selection.grid : choice->selection.workgroup)[k] =
                    (uint32_t)numbers[k];
            choice->selection.filters |= filter;
            return 0;
        }
        if (*at != ',' && *at != 'x')
            break;
        at++;
    }
    return rp_fail(err, RP_USAGE, "--%s %s: use X, X,Y or X,Y,Z in work-items%s",
                   grid ? "grid" : "workgroup", word, grid ? ", as isolate --list prints it" : "");
}

/** Reads --queue, --stream and --gpu N. */
static void dispatch_selection_place(struct rp_dispatch_selection *choice,
                                     enum rp_snapshot_filter filter, uint64_t place, uint32_t *to)
{
    *to = (uint32_t)place;
    choice->selection.filters |= filter;
}

/** Reads what the options choose. The rules of options.def have refused combinations without
 * meaning. */
static int dispatch_selection_read(const struct rp_isolate_cli *args,
                                   struct rp_dispatch_selection *choice, struct rp_err *err)
{
    struct rp_snapshot_selection *s = &choice->selection;
    int rc = 0;

    choice->longest = args->longest;
    choice->representative = args->representative;
    for (size_t i = 0; rc == 0 && i < args->dispatches.count; i++)
        rc = dispatch_selection_dispatches(choice, args->dispatches.at[i], err);
    if (rc == 0 && args->grid)
        rc = dispatch_selection_size(choice, RP_SNAPSHOT_GRID, args->grid, err);
    if (rc == 0 && args->workgroup)
        rc = dispatch_selection_size(choice, RP_SNAPSHOT_WORKGROUP, args->workgroup, err);
    if (RP_IS_GIVEN(isolate, args, queue))
        dispatch_selection_place(choice, RP_SNAPSHOT_QUEUE, args->queue, &s->queue);
    if (RP_IS_GIVEN(isolate, args, stream))
        dispatch_selection_place(choice, RP_SNAPSHOT_STREAM, args->stream, &s->stream);
    if (RP_IS_GIVEN(isolate, args, gpu))
        dispatch_selection_place(choice, RP_SNAPSHOT_GPU, args->gpu, &s->gpu);
    if (rc == 0 && !choice->representative && !choice->longest && choice->count == 0)
        rc = dispatch_selection_dispatches(choice, "1", err);
    if (rc < 0)
        return rc;
    s->mode = choice->representative ? RP_SNAPSHOT_GEOMETRIES : RP_SNAPSHOT_NUMBERS;
    if (choice->representative)
        s->most = (uint32_t)args->most;
    s->number_count = (uint32_t)choice->count;
    choice->several = choice->representative || choice->count > 1;
    return 0;
}

static void dispatch_selection_free(struct rp_dispatch_selection *choice)
{
    free(choice->numbers);
    memset(choice, 0, sizeof *choice);
}

/** The struct holds the command line and the selection that it makes. */
struct options {
    struct rp_isolate_cli args;
    struct rp_run_options run;
    struct rp_dispatch_selection choice;
};

/* --- without a GPU ------------------------------------------------------------------------- */

static int print_and_free(struct rp_buf *text)
{
    int code = rp_cli_result(rp_buf_text(text));

    rp_buf_free(text);
    return code;
}

RP_DEFINE_CLEANUP(struct rp_capture, rp_capture_close)

static int inspect(const char *folder, bool json)
{
    rp_cleanup(rp_cleanup_rp_capture_close) struct rp_capture *capture = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_buf text = {0};

    if (rp_capture_open(folder, &capture, &err) < 0 ||
        rp_capture_check_small_files(folder, &err) < 0)
        return rp_cli_error(&err);
    if (json)
        rp_capture_describe_json(folder, capture, &text);
    else
        rp_capture_describe(folder, capture, rp_cli_style(), &text);
    return print_and_free(&text);
}

static int verify(const char *folder, bool json)
{
    rp_cleanup(rp_cleanup_rp_capture_close) struct rp_capture *capture = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_capture_sizes sizes;
    struct rp_buf text = {0};
    const struct rp_page page = rp_page_of_words(&text, rp_cli_style());

    if (rp_capture_open(folder, &capture, &err) < 0 || rp_capture_verify(capture, &sizes, &err) < 0)
        return rp_cli_error(&err);
    if (json)
        rp_buf_printf(&text,
                      "{\n  \"schema_version\": \"1.0\",\n  \"sound\": true,\n  \"files\": %" PRIu64
                      ",\n  \"bytes\": %" PRIu64 ",\n  \"pages\": %" PRIu64 "\n}\n",
                      sizes.files, sizes.bytes, rp_capture_contents(capture)->stored_pages);
    else
        rp_page_words(&page, RP_INK_GREEN, 0, 2,
                      "%s is sound: %" PRIu64 " files, %" PRIu64 " bytes, %" PRIu64 " pages",
                      folder, sizes.files, sizes.bytes, rp_capture_contents(capture)->stored_pages);
    return print_and_free(&text);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    /* strverscmp sorts dispatch-9 before dispatch-10. */
    return strverscmp((*a)->d_name, (*b)->d_name);
}

/* Says whether the folder is a capture or claims to be one. */
static bool looks_like_one(const char *folder)
{
    rp_autofree char *file = rp_path_join(folder, "dispatch.json");

    return rp_path_exists(file);
}

/* @return whether no fault was found */
static bool list_one(const char *folder, struct rp_buf *text)
{
    rp_cleanup(rp_cleanup_rp_capture_close) struct rp_capture *capture = NULL;
    struct rp_err err = RP_ERR_INIT;

    if (rp_capture_open(folder, &capture, &err) < 0 ||
        rp_capture_check_small_files(folder, &err) < 0) {
        rp_cli_note("%s", err.text);
        return false;
    }
    rp_capture_line(folder, capture, rp_cli_style(), text);
    return true;
}

/* A capture that was not finished still has its temporary name. */
static bool is_partial(const char *folder)
{
    rp_autofree char *memory = rp_path_join(folder, "memory");
    const char *number = NULL;
    size_t digits;

    if (!rp_path_exists(memory))
        return false;
    for (const char *at = folder; (at = strstr(at, RP_CAPTURE_PARTIAL)); number = at)
        at += strlen(RP_CAPTURE_PARTIAL);
    digits = number ? strspn(number, "0123456789") : 0;
    if (!digits || number[digits + strspn(number + digits, "/")])
        return false;
    rp_cli_note("%s is incomplete: a capture that is being written, or one that was killed and can "
                "be removed",
                folder);
    return true;
}

static int list(const char *folder)
{
    struct dirent **names = NULL;
    struct rp_buf text = {0};
    int count, code;
    bool sound = true;

    if (is_partial(folder))
        return RP_BAD_INPUT;
    if (looks_like_one(folder)) {
        sound = list_one(folder, &text);
        code = print_and_free(&text);
        return code || sound ? code : RP_BAD_INPUT;
    }
    count = scandir(folder, &names, NULL, by_name);
    if (count < 0) {
        struct rp_err err = RP_ERR_INIT;

        rp_fail(&err, RP_BAD_INPUT, "%s is no folder that can be read", folder);
        return rp_cli_error(&err);
    }
    for (int i = 0; i < count; i++) {
        rp_autofree char *path = strcmp(folder, ".") == 0 ? rp_strdup(names[i]->d_name)
                                                          : rp_path_join(folder, names[i]->d_name);

        if (path && names[i]->d_name[0] != '.' && is_partial(path))
            sound = false;
        else if (path && names[i]->d_name[0] != '.' && looks_like_one(path))
            sound = list_one(path, &text) && sound;
        free(names[i]);
    }
    free(names);
    code = print_and_free(&text);
    return code || sound ? code : RP_BAD_INPUT;
}

/* --- capture ------------------------------------------------------------------------------- */

static void print_names(const struct rp_captured_run *isolation)
{
    for (size_t i = 0; i < RP_CAPTURED_RUN_NAMES && isolation->names[i]; i++)
        rp_cli_item("%s", isolation->names[i]);
    if (isolation->more_names)
        fprintf(stderr, "rocm-perf:   ...\n");
}

static void print_number(const char *name, uint32_t number)
{
    if (number == UINT32_MAX)
        fprintf(stderr, "  %s unknown", name);
    else
        fprintf(stderr, "  %s %" PRIu32, name, number);
}

static void print_passed(const struct rp_captured_run *isolation)
{
    for (size_t i = 0; i < isolation->passed_count; i++) {
        const struct rp_snapshot_filtered *p = &isolation->passed[i];

        fprintf(stderr,
                "rocm-perf:   grid %" PRIu32 "x%" PRIu32 "x%" PRIu32 "  workgroup %" PRIu32
                "x%" PRIu32 "x%" PRIu32,
                p->grid[0], p->grid[1], p->grid[2], p->workgroup[0], p->workgroup[1],
                p->workgroup[2]);
        print_number("queue", p->queue);
        print_number("stream", p->stream);
        print_number("gpu", p->gpu);
        fputc('\n', stderr);
    }
    if (isolation->passed_count == RP_SNAPSHOT_MAX_FILTERED)
        fprintf(stderr, "rocm-perf:   ...\n");
}

/* Names the dispatches that were selected and did not come, or were declined. */
static void name_missing(const struct options *o, const struct rp_captured_run *isolation)
{
    rp_cleanup(rp_buf_free) struct rp_buf text = {0};
    size_t missing = 0;

    for (size_t i = 0, k = 0; i < o->choice.count; i++) {
        for (k = 0; k < isolation->captured && isolation->matches[k] != o->choice.numbers[i]; k++)
            ;
        if (k == isolation->captured)
            rp_buf_printf(&text, "%s%" PRIu64, missing++ ? ", " : "", o->choice.numbers[i]);
    }
    if (isolation->processes == 1)
        rp_cli_note("not captured: %s %s of those that match %s: the program made fewer",
                    missing == 1 ? "dispatch" : "dispatches", rp_buf_text(&text), o->args.kernel);
    else /* Later files, which others made, were not looked at. */
        rp_cli_note("not captured: %s %s of those that match %s: %zu processes used the GPU, each "
                    "counts its own, and the one that is captured made fewer",
                    missing == 1 ? "dispatch" : "dispatches", rp_buf_text(&text), o->args.kernel,
                    isolation->processes);
}

/* Says where dispatches of the kernel were, when none was where it should be. */
static void name_places(const struct options *o, const struct rp_captured_run *isolation,
                        enum rp_snapshot_filter filter, const char *option, uint32_t wanted,
                        uint32_t (*place_of)(const struct rp_snapshot_filtered *))
{
    rp_cleanup(rp_buf_free) struct rp_buf text = {0};
    uint32_t last = UINT32_MAX;
    size_t count = 0;

    if (!(o->choice.selection.filters & filter))
        return;
    for (;;) { /* Each number is written once, in rising order. */
        uint32_t next = UINT32_MAX;

        for (size_t i = 0; i < isolation->passed_count; i++) {
            const uint32_t place = place_of(&isolation->passed[i]);

            if (place == wanted)
                return;
            if (place < next && (count == 0 || place > last))
                next = place;
        }
        if (next == UINT32_MAX) /* The number may also be unknown. */
            break;
        rp_buf_printf(&text, "%s%" PRIu32, count++ ? ", " : "", next);
        last = next;
    }
    if (count)
        rp_cli_note("--%s %" PRIu32 ": dispatches of such kernels were on %s %s%s", option, wanted,
                    option, rp_buf_text(&text),
                    isolation->passed_count == RP_SNAPSHOT_MAX_FILTERED ? " and perhaps others"
                                                                        : "");
}

static uint32_t queue_of(const struct rp_snapshot_filtered *passed)
{
    return passed->queue;
}

static uint32_t stream_of(const struct rp_snapshot_filtered *passed)
{
    return passed->stream;
}

static uint32_t gpu_of(const struct rp_snapshot_filtered *passed)
{
    return passed->gpu;
}

static void print_what_came(const struct options *o, const struct rp_captured_run *isolation)
{
    const struct rp_snapshot_selection *s = &o->choice.selection;

    print_passed(isolation);
    name_places(o, isolation, RP_SNAPSHOT_QUEUE, "queue", s->queue, queue_of);
    name_places(o, isolation, RP_SNAPSHOT_STREAM, "stream", s->stream, stream_of);
    name_places(o, isolation, RP_SNAPSHOT_GPU, "gpu", s->gpu, gpu_of);
}

/* Finds the exit status for a selection that is not complete. */
static int say_why_not(const struct options *o, const struct rp_captured_run *isolation)
{
    const bool filtered = o->choice.selection.filters != 0;

    if (isolation->declined && isolation->declines > 1)
        rp_cli_note("not captured: %zu dispatches were declined, the first because %s",
                    isolation->declines, isolation->declined);
    else if (isolation->declined)
        rp_cli_note("not captured: %s", isolation->declined);
    else if (isolation->processes == 0)
        rp_cli_note("not captured: the program did not use the GPU");
    else if (isolation->kernels_wanted == 0) {
        rp_cli_note("not captured: no kernel name matches %s; kernels of the program%s",
                    o->args.kernel, isolation->names[0] ? ":" : ": none");
        print_names(isolation);
    } else if (isolation->captured > 0)
        name_missing(o, isolation);
    else if (o->choice.count && o->choice.numbers[0] > 1)
        rp_cli_note("not captured: %s made fewer than %" PRIu64 " dispatches that match %s%s",
                    isolation->processes == 1 ? "the program" : "each process of the program",
                    o->choice.numbers[0], o->args.kernel,
                    filtered ? " and the other options; those of other kinds:" : "");
    else
        rp_cli_note("not captured: the program made no dispatch that matches %s%s", o->args.kernel,
                    filtered ? " and the other options; those of other kinds (grids in work-items):"
                             : "");
    if (filtered && isolation->captured == 0 && !isolation->declined)
        print_what_came(o, isolation);
    /* A launch that HIP refuses never becomes a dispatch, and the capture does not ask HIP about
     * it. */
    if (isolation->kernels_wanted && !isolation->declined && isolation->captured == 0 &&
        isolation->passed_count == 0)
        rp_cli_note("if HIP refused its launches, rocm-perf profile names them and the error");
    return RP_VERDICT;
}

/* A capture that cannot be checked here is still a capture, so this is no failure. */
static void check(const char *folder, const struct rp_captured_run_request *request,
                  struct rp_buf *text)
{
    const struct rp_page page = rp_page_of_words(text, rp_cli_style());
    rp_autofree char *label = NULL;
    rp_autofree char *reason = NULL;
    struct rp_err err = RP_ERR_INIT;

    if (rp_capture_self_check(request->env, request->options, folder, &label, &reason, &err) < 0)
        rp_cli_note("the capture is not checked: %s", err.text);
    else
        rp_page_words(&page, strcmp(label, "deterministic") == 0 ? RP_INK_GREEN : RP_INK_YELLOW, 0,
                      2, "replayed: %s%s%s", label, reason ? ": " : "", reason ? reason : "");
}

static int describe(const struct options *o, const char *folder,
                    const struct rp_captured_run_request *request)
{
    rp_cleanup(rp_cleanup_rp_capture_close) struct rp_capture *capture = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_buf text = {0};

    if (rp_capture_open(folder, &capture, &err) < 0)
        return rp_cli_error(&err);
    rp_capture_line(folder, capture, rp_cli_style(), &text);
    if (!o->args.no_self_check)
        check(folder, request, &text);
    return print_and_free(&text);
}

static int report(const struct options *o, const struct rp_captured_run *isolation,
                  const struct rp_captured_run_request *request)
{
    const struct rp_proc_end *end = &isolation->end;
    const size_t wanted = o->choice.count ? o->choice.count : 1;
    int code = RP_OK;

    /* A capture that cannot be read must not hide the others. */
    for (size_t i = 0; i < isolation->captured; i++) {
        rp_autofree char *folder =
            o->choice.several
                ? rp_format("%s/" RP_CAPTURE_SEVERAL_FOLDER, o->args.output, isolation->matches[i])
                : rp_strdup(o->args.output);
        const int one = folder ? describe(o, folder, request) : RP_ENVIRONMENT;

        code = code == RP_OK ? one : code;
    }
    if (code == RP_OK && o->choice.representative &&
        isolation->captured == o->choice.selection.most)
        rp_cli_note("%zu geometries are captured; if there are more, --most says how many",
                    isolation->captured);
    if (isolation->captured < wanted || isolation->declines) {
        const int missing = say_why_not(o, isolation);

        code = code == RP_OK ? missing : code;
    }
    if (!end->signaled && (uint64_t)end->status == o->args.expected_status)
        return code;
    rp_cli_note("the program %s %d", end->signaled ? "was ended by signal" : "ended with status",
                end->status);
    return RP_PROGRAM;
}

/* Does the first run of two.
 * @return false: the command is over, with *ret_code */
static bool choose_longest(struct options *o, const struct rp_captured_run_request *request,
                           struct rp_kept_input *input, struct rp_longest_dispatch *longest,
                           int64_t *ret_wall_ns, int *ret_code)
{
    rp_cleanup(rp_captured_run_free) struct rp_captured_run isolation = {0};
    struct rp_err err = RP_ERR_INIT;

    if (request->options->device != RP_DEVICE_GPU && request->options->timing == RP_TIMING_OFF) {
        *ret_code = rp_cli_usage_error("isolate", "--longest needs times: leave out --timing off "
                                                  "(or ROCM_PERF_DEVICE_TIMING)");
        return false;
    }
    rp_progress_say("isolate", "run 1 of 2, which dispatch is the longest", 0);
    if (rp_kept_input_begin(input, &err) < 0 ||
        rp_run_finding_longest(request, longest, &isolation, &err) < 0 ||
        rp_kept_input_end(input, &err) < 0) {
        *ret_code = rp_cli_error(&err);
        return false;
    }
    *ret_wall_ns = isolation.end.wall_ns;
    if (longest->match == 0) {
        *ret_code = report(o, &isolation, request);
        return false;
    }
    rp_cli_note("first run: dispatch %" PRIu64 " of %" PRIu64
                " is the longest, %s; it is captured in a second run",
                longest->match, longest->matches,
                rp_unit_one(RP_UNIT_TIME, (double)longest->duration_ns, rp_locale_is_utf8()).text);
    if (dispatch_selection_add(&o->choice, longest->match, &err) < 0) {
        *ret_code = rp_cli_error(&err);
        return false;
    }
    return true;
}

/* The dispatch that was the longest in the first run may be another kernel in the second one. */
static int compare_runs(const struct options *o, const struct rp_longest_dispatch *longest)
{
    rp_cleanup(rp_cleanup_rp_capture_close) struct rp_capture *capture = NULL;
    const struct rp_snapshot_dispatch *d;
    struct rp_err err = RP_ERR_INIT;

    if (rp_capture_open(o->args.output, &capture, &err) < 0)
        return rp_cli_error(&err);
    d = &rp_capture_contents(capture)->facts.dispatch;
    if (memcmp(d->grid, longest->grid, sizeof d->grid) == 0 &&
        memcmp(d->workgroup, longest->workgroup, sizeof d->workgroup) == 0)
        return RP_OK;
    rp_cli_note("the two runs differ: dispatch %" PRIu64 " had grid %ux%ux%u in the first one and "
                "%ux%ux%u in the second; choose one with --grid or --dispatch",
                longest->match, longest->grid[0], longest->grid[1], longest->grid[2], d->grid[0],
                d->grid[1], d->grid[2]);
    return RP_VERDICT;
}

static int capture(struct options *o, struct rp_captured_run_request *request)
{
    rp_cleanup(rp_captured_run_free) struct rp_captured_run isolation = {0};
    rp_cleanup(rp_kept_input_free) struct rp_kept_input input = {0};
    struct rp_longest_dispatch longest = {0};
    struct rp_err err = RP_ERR_INIT;
    int64_t first_ns = 0;
    int code;

    if (rp_kept_input_open(o->choice.longest, "choose with --dispatch", &input, &err) < 0)
        return rp_cli_error(&err);
    if (o->choice.longest && !choose_longest(o, request, &input, &longest, &first_ns, &code))
        return code;
    rp_progress_say("isolate", o->choice.longest ? "run 2 of 2" : "the program runs to its end",
                    (double)first_ns / 1e9);
    request->selection = o->choice.selection;
    request->numbers = o->choice.numbers;
    if (rp_kept_input_begin(&input, &err) < 0 || rp_run_capturing(request, &isolation, &err) < 0 ||
        rp_kept_input_end(&input, &err) < 0)
        return rp_cli_error(&err);
    code = report(o, &isolation, request);
    return code == RP_OK && o->choice.longest ? compare_runs(o, &longest) : code;
}

/* Refuses a GPU that is known not to exist before the program runs. */
static int check_gpu(const struct options *o, const struct rp_environment *env, struct rp_err *err)
{
    const enum rp_device device = o->run.device;
    const uint32_t gpu = o->choice.selection.gpu;
    const uint32_t count = device == RP_DEVICE_GPU ? env->gpu_count : o->run.gpus ? o->run.gpus : 1;

    if (!(o->choice.selection.filters & RP_SNAPSHOT_GPU) || gpu < count)
        return 0;
    if (count == 1)
        return rp_fail(err, RP_USAGE, "--gpu %" PRIu32 ": there is one GPU, number 0%s", gpu,
                       device == RP_DEVICE_GPU ? "" : " (--gpus says how many)");
    return rp_fail(err, RP_USAGE,
                   "--gpu %" PRIu32 ": there are %" PRIu32 " GPUs, 0 to %" PRIu32 "%s", gpu, count,
                   count - 1, device == RP_DEVICE_GPU ? "" : " (--gpus says how many)");
}

static void say_waits(uint64_t match, const struct rp_snapshot_waits *waits)
{
    rp_autobuf text = {0};

    rp_buf_printf(&text,
                  "dispatch %" PRIu64 " has been running for %" PRIu32
                  " s while what else the program does on GPUs is held; the capture is declined if "
                  "it has not "
                  "ended after %" PRIu32 " s",
                  match, waits->running_ms / 1000, (waits->patience_ms + 999) / 1000);
    if (waits->waiting_patience_ms)
        rp_buf_printf(&text, ", or has done nothing but wait for %" PRIu32 " s",
                      (waits->waiting_patience_ms + 999) / 1000);
    rp_cli_note("%s (ROCM_PERF_CAPTURE_PATIENCE_MS)", rp_buf_text(&text));
}

static int run(struct options *o, char **argv)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    struct rp_captured_run_request request = {.env = &env,
                                              .options = &o->run,
                                              .argv = argv,
                                              .kernel = o->args.kernel,
                                              .selection = o->choice.selection,
                                              .folder = o->args.output,
                                              .several = o->choice.several,
                                              .version = RP_VERSION,
                                              .waits = say_waits};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *executable = NULL;
    rp_autoclose int claim = -1;

    if (rp_output_lock(o->args.output, &claim, &err) < 0)
        return rp_cli_error(&err);
    if (rp_path_exists(o->args.output)) {
        rp_fail(&err, RP_USAGE, "%s exists already; remove it or give another folder with -o",
                o->args.output);
        return rp_cli_error(&err);
    }
    if (rp_output_check_folder(o->args.output, RP_CAPTURE_PARTIAL, &err) < 0 ||
        rp_environment_detect(&env, &err) < 0 || rp_device_resolve(&env, &o->run, &err) < 0 ||
        check_gpu(o, &env, &err) < 0 || rp_find_program(argv[0], &executable, &err) < 0)
        return rp_cli_error(&err);
    if (env.rocm_note)
        rp_cli_note("%s", env.rocm_note);
    rp_cli_warn_about_target(executable, &o->run);
    /* Signals are caught until the end, because half a capture must not be left. */
    rp_proc_catch_signals();
    return capture(o, &request);
}

static void free_options(struct options *o)
{
    dispatch_selection_free(&o->choice);
    rp_args_free(&o->args);
}

/** Does the actions that need no program. */
static int look(const struct rp_isolate_cli *args)
{
    const char *action = args->args.action;
    char **folders = args->args.operands;
    const size_t count = args->args.operand_count;

    if (count > 1 || (action && count != 1))
        return rp_cli_usage_error("isolate", "%s takes one folder", action ? action : "--list");
    if (!action)
        return list(count ? folders[0] : ".");
    return strcmp(action, "inspect") == 0 ? inspect(folders[0], args->json)
                                          : verify(folders[0], args->json);
}

int rp_cmd_isolate(int argc, char **argv)
{
    rp_cleanup(free_options) struct options o = {0};
    struct rp_err err = RP_ERR_INIT;
    int code;

    if (!rp_options_parse(RP_COMMAND_isolate, argc, argv, &o.args, &code))
        return code;
    if (o.args.args.action || o.args.list)
        return look(&o.args);
    if (dispatch_selection_read(&o.args, &o.choice, &err) < 0)
        return rp_args_refuse(&o.args.args, &err);
    rp_device_options_read(o.args.device, o.args.threads, o.args.gpus, o.args.timing, &o.run);
    return run(&o, o.args.args.operands);
}
