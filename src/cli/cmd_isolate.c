#include <dirent.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/device_options.h"
#include "cli/replay_child.h"
#include "cli/result_text.h"
#include "report/report_text.h"
#include "run/isolate_run.h"
#include "run/kernel_pattern.h"
#include "run/machine.h"
#include "run/result_folder.h"
#include "run/standard_input.h"
#include "trace/capture.h"
#include "trace/capture_stream.h"

/* Options of rocm-perf isolate that say which dispatches are to be captured. */

/** Zeroed: the first dispatch that matches. Owned; release with rp_dispatch_selection_free. */
struct rp_dispatch_selection {
    struct rp_snapshot_selection selection; /**< complete after rp_dispatch_selection_finish */
    uint64_t *numbers;
    size_t count;
    bool longest, representative, has_most;
    bool several; /**< after rp_dispatch_selection_finish: each capture gets a folder of its own */
};

enum { MOST_GEOMETRIES = 16 /* captures may be large */ };

/* A whole number up to the next comma, x or end. */
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

static int make_room(struct rp_dispatch_selection *choice, struct rp_err *err)
{
    if (!choice->numbers)
        choice->numbers = calloc(RP_SNAPSHOT_MAX_NUMBERS + 1, sizeof *choice->numbers);
    return choice->numbers ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/** One that was found. */
static int rp_dispatch_selection_add(struct rp_dispatch_selection *choice, uint64_t match,
                                     struct rp_err *err)
{
    int rc = make_room(choice, err);

    if (rc == 0)
        rc = add(choice, match, err);
    choice->selection.number_count = (uint32_t)choice->count;
    return rc;
}

/** --dispatch 1,3,7: adds to those before. All of these return 0 or RP_USAGE. */
static int rp_dispatch_selection_dispatches(struct rp_dispatch_selection *choice, const char *word,
                                            struct rp_err *err)
{
    const char *at = word;
    uint64_t number;
    int rc = make_room(choice, err);

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

/** --grid, --workgroup X[,Y,Z]. @param filter  enum rp_snapshot_filter */
static int rp_dispatch_selection_size(struct rp_dispatch_selection *choice,
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

/** --queue, --stream, --gpu N. */
static int rp_dispatch_selection_number(struct rp_dispatch_selection *choice,
                                        enum rp_snapshot_filter filter, const char *word,
                                        struct rp_err *err)
{
    const char *name = filter == RP_SNAPSHOT_QUEUE    ? "queue"
                       : filter == RP_SNAPSHOT_STREAM ? "stream"
                                                      : "gpu";
    uint32_t *to = filter == RP_SNAPSHOT_QUEUE    ? &choice->selection.queue
                   : filter == RP_SNAPSHOT_STREAM ? &choice->selection.stream
                                                  : &choice->selection.gpu;
    const char *at = word;
    uint64_t number;

    if (!read_number(&at, 0, UINT32_MAX - 1, &number) || *at)
        return rp_fail(err, RP_USAGE, "--%s %s: use a whole number, 0 being the %s", name, word,
                       filter == RP_SNAPSHOT_STREAM ? "default stream" : "first");
    *to = (uint32_t)number;
    choice->selection.filters |= filter;
    return 0;
}

/** --most N. */
static int rp_dispatch_selection_max(struct rp_dispatch_selection *choice, const char *word,
                                     struct rp_err *err)
{
    const char *at = word;
    uint64_t number;

    if (!read_number(&at, 1, RP_SNAPSHOT_MAX_NUMBERS, &number) || *at)
        return rp_fail(err, RP_USAGE, "--most %s: use a whole number from 1 to %d", word,
                       RP_SNAPSHOT_MAX_NUMBERS);
    choice->selection.most = (uint32_t)number;
    choice->has_most = true;
    return 0;
}

/** Whether anything was chosen. */
static bool rp_dispatch_selection_is_made(const struct rp_dispatch_selection *choice)
{
    return choice->numbers || choice->selection.filters || choice->longest ||
           choice->representative || choice->has_most;
}

/** All options are there: refuses what makes no sense together, fills what was left out. */
static int rp_dispatch_selection_finish(struct rp_dispatch_selection *choice, struct rp_err *err)
{
    struct rp_snapshot_selection *s = &choice->selection;
    int rc = 0;

    if (choice->longest && (choice->representative || choice->count))
        return rp_fail(err, RP_USAGE,
                       "--longest chooses one dispatch itself: leave out %s, or narrow its choice "
                       "with --grid, --workgroup, --queue, --stream or --gpu",
                       choice->count ? "--dispatch" : "--representative");
    if (choice->representative && choice->count)
        return rp_fail(err, RP_USAGE,
                       "--representative takes the first dispatch of each geometry: leave out "
                       "--dispatch, or name the geometry with --grid and --workgroup");
    if (choice->has_most && !choice->representative)
        return rp_fail(err, RP_USAGE, "--most is for --representative");
    if (!choice->representative && !choice->longest && choice->count == 0)
        rc = rp_dispatch_selection_dispatches(choice, "1", err);
    if (rc < 0)
        return rc;
    s->mode = choice->representative ? RP_SNAPSHOT_GEOMETRIES : RP_SNAPSHOT_NUMBERS;
    if (choice->representative && !choice->has_most)
        s->most = MOST_GEOMETRIES;
    s->number_count = (uint32_t)choice->count;
    choice->several = choice->representative || choice->count > 1;
    return 0;
}

static void rp_dispatch_selection_free(struct rp_dispatch_selection *choice)
{
    free(choice->numbers);
    memset(choice, 0, sizeof *choice);
}

static const char help[] =
    "usage: rocm-perf isolate --kernel REGEX [SELECTION] [-o DIR] [--device D] [--threads N]\n"
    "                         [--gpus N] [--timing T] [--no-self-check] [--expect-status N]\n"
    "                         [--] PROGRAM [ARGS...]\n"
    "       rocm-perf isolate inspect|verify [--json] DIR\n"
    "       rocm-perf isolate --list [DIR]\n"
    "\n"
    "Runs a program and captures a dispatch of a kernel: its code, its arguments, and all memory "
    "that\n"
    "it could reach, before it ran and after. The GPU is brought to rest around it; a queue or a\n"
    "kernel that does not end means that the capture is declined, and the program goes on.\n"
    "rocm-perf replay runs it again, which is tried at once: whether its result is the same each "
    "time.\n"
    "\n"
    "  --kernel REGEX  the kernels: a regular expression that is found in the demangled name\n"
    "\n"
    "selection, of the dispatches of these kernels:\n"
    "  --dispatch N[,N...]   which of those that match, 1 being the first (default 1)\n"
    "  --longest             the one that takes longest: the program runs twice, and the first run "
    "tells\n"
    "  --representative      the first one of each geometry: kernel, grid, workgroup and LDS\n"
    "  --most N              geometries with --representative (default 16)\n"
    "  --grid X[,Y,Z]        only with this grid, in work-items\n"
    "  --workgroup X[,Y,Z]   only with this workgroup\n"
    "  --queue N             only on this queue of the process, 0 being the first\n"
    "  --stream N            only on this HIP stream, 0 being the default one, 1 the first "
    "created\n"
    "  --gpu N               only on this GPU, 0 being the first that the program sees\n"
    "\n"
    "  -o DIR          the capture, which must not be there yet (default isolate_capture); of\n"
    "                  several dispatches each has a folder in it, dispatch-N\n"
    "  --device D      auto: the GPU if there is one, else the software MI300X (default); gpu;\n"
    "                  software; software:TARGET (rocm-perf doctor lists them)\n"
    "  --threads N     processors the software MI300X may use (default: all)\n"
    "  --gpus N        how many software MI300X there are, 1 to 8 (default 1)\n"
    "  --timing T      times of the software MI300X: fast (default), detailed, off\n"
    "  --no-self-check do not replay the capture when it is made\n"
    "  --expect-status N\n"
    "                  the program ends with exit status N, 0 to 255, when nothing is wrong "
    "(default "
    "0)\n"
    "\n"
    "Without a GPU or ROCm:\n"
    "  inspect DIR     what a capture holds, and what it could not\n"
    "  verify DIR      read every byte of it and compare checksums\n"
    "  --list [DIR]    the captures in a folder (default: this one)\n"
    "  --json          inspect and verify: as JSON\n"
    "  --help          this text\n"
    "\n"
    "exit status: 0 ok; 1 a dispatch did not come, or was declined; 2 usage; 3 not a capture, not\n"
    "complete or damaged; 4 environment; 5 the program failed; 130 interrupted\n"
    "(a capture that is there is whole)\n";

struct options {
    const char *kernel, *folder;
    struct rp_dispatch_selection choice;
    bool has_folder, list, json, unchecked;
    int expected_status;
    struct rp_run_options run;
};

/* As completion leaves them: what is beside the folder is named with more behind its name. */
static void strip_slashes(char *folder)
{
    size_t length = strlen(folder);

    while (length > 1 && folder[length - 1] == '/')
        folder[--length] = '\0';
}

static int take_option(int c, struct options *o, struct rp_err *err)
{
    switch (c) {
    case 'k':
        o->kernel = optarg;
        return rp_kernel_pattern_check("--kernel", optarg, err);
    case 'n':
        return rp_dispatch_selection_dispatches(&o->choice, optarg, err);
    case 'L':
        o->choice.longest = true;
        return 0;
    case 'R':
        o->choice.representative = true;
        return 0;
    case 'M':
        return rp_dispatch_selection_max(&o->choice, optarg, err);
    case 'G':
        return rp_dispatch_selection_size(&o->choice, RP_SNAPSHOT_GRID, optarg, err);
    case 'W':
        return rp_dispatch_selection_size(&o->choice, RP_SNAPSHOT_WORKGROUP, optarg, err);
    case 'Q':
        return rp_dispatch_selection_number(&o->choice, RP_SNAPSHOT_QUEUE, optarg, err);
    case 'S':
        return rp_dispatch_selection_number(&o->choice, RP_SNAPSHOT_STREAM, optarg, err);
    case 'D':
        return rp_dispatch_selection_number(&o->choice, RP_SNAPSHOT_GPU, optarg, err);
    case 'o':
        strip_slashes(optarg);
        o->folder = optarg;
        o->has_folder = true;
        return *optarg ? 0 : rp_fail(err, RP_USAGE, "-o needs the name of a folder");
    case 'd':
        return rp_device_parse(optarg, &o->run, err);
    case 't':
        return rp_cli_threads(optarg, &o->run, err);
    case 'g':
        return rp_cli_gpus(optarg, &o->run, err);
    case 'm':
        return rp_cli_timing(optarg, &o->run, err);
    case 'u':
        o->unchecked = true;
        return 0;
    case 'e':
        return rp_cli_expected_status(optarg, &o->expected_status, err);
    case 'l':
        o->list = true;
        return 0;
    default:
        o->json = true;
        return 0;
    }
}

static int parse(int argc, char **argv, struct options *o, int *ret_code)
{
    static const struct option options[] = {
        {"kernel", required_argument, NULL, 'k'},
        {"dispatch", required_argument, NULL, 'n'},
        {"output", required_argument, NULL, 'o'},
        {"device", required_argument, NULL, 'd'},
        {"threads", required_argument, NULL, 't'},
        {"gpus", required_argument, NULL, 'g'},
        {"timing", required_argument, NULL, 'm'},
        {"no-self-check", no_argument, NULL, 'u'},
        {"expect-status", required_argument, NULL, 'e'},
        {"longest", no_argument, NULL, 'L'},
        {"representative", no_argument, NULL, 'R'},
        {"most", required_argument, NULL, 'M'},
        {"grid", required_argument, NULL, 'G'},
        {"workgroup", required_argument, NULL, 'W'},
        {"queue", required_argument, NULL, 'Q'},
        {"stream", required_argument, NULL, 'S'},
        {"gpu", required_argument, NULL, 'D'},
        {"list", no_argument, NULL, 'l'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct rp_err err = RP_ERR_INIT;
    int c;

    opterr = 0;
    while ((c = getopt_long(argc, argv, "+:ho:", options, NULL)) != -1) {
        if (c == 'h') {
            *ret_code = rp_cli_help(help);
            return -1;
        }
        if (c != ':' && c != '?' && take_option(c, o, &err) == 0)
            continue;
        *ret_code = c == ':' || c == '?' ? rp_cli_bad_option("isolate", argv[optind - 1], c)
                                         : rp_cli_error(&err);
        return -1;
    }
    return 0;
}

/* --- without a GPU ------------------------------------------------------------------------- */

static int print_and_free(struct rp_buf *text)
{
    int code = text->failed ? RP_ENVIRONMENT : rp_cli_result(rp_buf_text(text));

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
                      sizes.files, sizes.bytes, rp_capture_stored_pages(capture));
    else
        rp_page_words(&page, RP_INK_GREEN, 0, 2,
                      "%s is sound: %" PRIu64 " files, %" PRIu64 " bytes, %" PRIu64 " pages",
                      folder, sizes.files, sizes.bytes, rp_capture_stored_pages(capture));
    return print_and_free(&text);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name); /* dispatch-9 before dispatch-10 */
}

/* A folder that is a capture or claims to be one. */
static bool looks_like_one(const char *folder)
{
    rp_autofree char *file = rp_path_join(folder, "dispatch.json");

    return file && rp_path_exists(file);
}

/* @return whether it is sound so far */
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

/* A capture that was not finished is still under the name that it grows with. */
static bool is_partial(const char *folder)
{
    rp_autofree char *memory = rp_path_join(folder, "memory");
    const char *number = NULL;
    size_t digits;

    if (!memory || !rp_path_exists(memory))
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
        rp_autofree char *path = strcmp(folder, ".") == 0 ? strdup(names[i]->d_name)
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

/* Numbers that were wanted and have not come, or were declined. */
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
    if (text.failed)
        return;
    if (isolation->processes == 1)
        rp_cli_note("not captured: %s %s of those that match %s: the program made fewer",
                    missing == 1 ? "dispatch" : "dispatches", rp_buf_text(&text), o->kernel);
    else /* what others made after it was not looked at */
        rp_cli_note("not captured: %s %s of those that match %s: %zu processes used the GPU, each "
                    "counts its own, and the one that is captured made fewer",
                    missing == 1 ? "dispatch" : "dispatches", rp_buf_text(&text), o->kernel,
                    isolation->processes);
}

/* Where dispatches of the kernel were, when none was where it should be. */
static void name_places(const struct options *o, const struct rp_captured_run *isolation,
                        enum rp_snapshot_filter filter, const char *option, uint32_t wanted,
                        uint32_t (*place_of)(const struct rp_snapshot_filtered *))
{
    rp_cleanup(rp_buf_free) struct rp_buf text = {0};
    uint32_t last = UINT32_MAX;
    size_t count = 0;

    if (!(o->choice.selection.filters & filter))
        return;
    for (;;) { /* rising, each once */
        uint32_t next = UINT32_MAX;

        for (size_t i = 0; i < isolation->passed_count; i++) {
            const uint32_t place = place_of(&isolation->passed[i]);

            if (place == wanted)
                return;
            if (place < next && (count == 0 || place > last))
                next = place;
        }
        if (next == UINT32_MAX) /* or unknown */
            break;
        rp_buf_printf(&text, "%s%" PRIu32, count++ ? ", " : "", next);
        last = next;
    }
    if (count && !text.failed)
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

/* Exit status for what is there of what was wanted. */
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
        rp_cli_note("not captured: no kernel name matches %s; kernels of the program%s", o->kernel,
                    isolation->names[0] ? ":" : ": none");
        print_names(isolation);
    } else if (isolation->captured > 0)
        name_missing(o, isolation);
    else if (o->choice.count && o->choice.numbers[0] > 1)
        rp_cli_note("not captured: %s made fewer than %" PRIu64 " dispatches that match %s%s",
                    isolation->processes == 1 ? "the program" : "each process of the program",
                    o->choice.numbers[0], o->kernel,
                    filtered ? " and the other options; those of other kinds:" : "");
    else
        rp_cli_note("not captured: the program made no dispatch that matches %s%s", o->kernel,
                    filtered ? " and the other options; those of other kinds (grids in work-items):"
                             : "");
    if (filtered && isolation->captured == 0 && !isolation->declined)
        print_what_came(o, isolation);
    /* What HIP refuses never becomes a dispatch, and the capture does not ask HIP about it. */
    if (isolation->kernels_wanted && !isolation->declined && isolation->captured == 0 &&
        isolation->passed_count == 0)
        rp_cli_note("if HIP refused its launches, rocm-perf profile names them and the error");
    return RP_VERDICT;
}

/* A capture that cannot be checked here is one still. */
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
    if (!o->unchecked)
        check(folder, request, &text);
    return print_and_free(&text);
}

static int report(const struct options *o, const struct rp_captured_run *isolation,
                  const struct rp_captured_run_request *request)
{
    const struct rp_proc_end *end = &isolation->end;
    const size_t wanted = o->choice.count ? o->choice.count : 1;
    int code = RP_OK;

    /* One that cannot be read does not hide the others. */
    for (size_t i = 0; i < isolation->captured; i++) {
        rp_autofree char *folder = o->choice.several ? rp_format("%s/" RP_CAPTURE_SEVERAL_FOLDER,
                                                                 o->folder, isolation->matches[i])
                                                     : strdup(o->folder);
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
    if (!end->signaled && end->status == o->expected_status)
        return code;
    rp_cli_note("the program %s %d", end->signaled ? "was ended by signal" : "ended with status",
                end->status);
    return RP_PROGRAM;
}

/* The first run of two. @return false: it is over, with *ret_code */
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
    if (rp_dispatch_selection_add(&o->choice, longest->match, &err) < 0) {
        *ret_code = rp_cli_error(&err);
        return false;
    }
    return true;
}

/* What was the longest in the first run may be something else in the second one. */
static int compare_runs(const struct options *o, const struct rp_longest_dispatch *longest)
{
    rp_cleanup(rp_cleanup_rp_capture_close) struct rp_capture *capture = NULL;
    const struct rp_snapshot_dispatch *d;
    struct rp_err err = RP_ERR_INIT;

    if (rp_capture_open(o->folder, &capture, &err) < 0)
        return rp_cli_error(&err);
    d = &rp_capture_get_facts(capture)->dispatch;
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

/* Where it is known beforehand that there is no such GPU. */
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
                                              .kernel = o->kernel,
                                              .selection = o->choice.selection,
                                              .folder = o->folder,
                                              .several = o->choice.several,
                                              .version = RP_VERSION,
                                              .waits = say_waits};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *executable = NULL;
    rp_autoclose int claim = -1;

    if (rp_output_lock(o->folder, &claim, &err) < 0)
        return rp_cli_error(&err);
    if (rp_path_exists(o->folder)) {
        rp_fail(&err, RP_USAGE, "%s exists already; remove it or give another folder with -o",
                o->folder);
        return rp_cli_error(&err);
    }
    if (rp_output_check_folder(o->folder, RP_CAPTURE_PARTIAL, &err) < 0 ||
        rp_environment_detect(&env, &err) < 0 || rp_device_resolve(&env, &o->run, &err) < 0 ||
        check_gpu(o, &env, &err) < 0 || rp_find_program(argv[0], &executable, &err) < 0)
        return rp_cli_error(&err);
    rp_cli_warn_about_target(executable, &o->run);
    rp_proc_catch_signals(); /* until the end: half a capture must not be left */
    return capture(o, &request);
}

static void free_options(struct options *o)
{
    rp_dispatch_selection_free(&o->choice);
}

int rp_cmd_isolate(int argc, char **argv)
{
    rp_cleanup(free_options) struct options o = {.folder = "isolate_capture"};
    struct rp_err err = RP_ERR_INIT;
    const bool bare =
        argc > 1 && (strcmp(argv[1], "inspect") == 0 || strcmp(argv[1], "verify") == 0);
    const char *action = bare ? argv[1] : NULL;
    int code;

    if (parse(argc - bare, argv + bare, &o, &code) < 0)
        return code;
    argc -= bare;
    argv += bare;
    if (action || o.list) {
        if (o.kernel || rp_dispatch_selection_is_made(&o.choice) || o.has_folder || o.unchecked ||
            (o.list && (action || o.json)))
            return rp_cli_usage_error("isolate", "%s takes the folder of a capture%s",
                                      action ? action : "--list", action ? " and --json" : "");
        if (argc - optind > 1 || (action && argc - optind != 1))
            return rp_cli_usage_error("isolate", "%s takes one folder", action ? action : "--list");
        if (o.list)
            return list(optind < argc ? argv[optind] : ".");
        return strcmp(action, "inspect") == 0 ? inspect(argv[optind], o.json)
                                              : verify(argv[optind], o.json);
    }
    if (!o.kernel)
        return rp_cli_usage_error("isolate", "--kernel says which kernel is to be captured");
    if (o.json)
        return rp_cli_usage_error("isolate", "--json is for inspect and verify");
    if (optind == argc)
        return rp_cli_usage_error("isolate", "no program given");
    if (rp_dispatch_selection_finish(&o.choice, &err) < 0)
        return rp_cli_error(&err);
    return run(&o, argv + optind);
}
