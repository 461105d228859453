#include <dirent.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/proc.h"
#include "cli/capture_text.h"
#include "cli/cli.h"
#include "cli/replay_child.h"
#include "cli/target.h"
#include "collect/environment.h"
#include "collect/isolate_run.h"
#include "collect/kernel_filter.h"

static const char help[] =
    "usage: rocm-perf isolate --kernel REGEX [--dispatch N] [-o DIR] [--device D] [--threads N]\n"
    "                         [--gpus N] [--timing T] [--no-self-check] [--] PROGRAM [ARGS...]\n"
    "       rocm-perf isolate inspect|verify [--json] DIR\n"
    "       rocm-perf isolate --list [DIR]\n"
    "\n"
    "Runs a program and captures one dispatch of a kernel: its code, its arguments, and all "
    "memory\n"
    "that it could reach, before it ran and after. The GPU is brought to rest around it; a queue "
    "or\n"
    "a kernel that does not end means that the capture is declined, and the program goes on.\n"
    "rocm-perf replay runs it again, which is tried at once: whether its result is the same each "
    "time.\n"
    "\n"
    "  --kernel REGEX  the kernels: a regular expression that is found in the demangled name\n"
    "  --dispatch N    which of their dispatches, 1 being the first (default 1)\n"
    "  -o DIR          the capture, which must not be there yet (default isolate_capture)\n"
    "  --device D      auto: the GPU if there is one, else the software MI300X (default); gpu;\n"
    "                  software; software:TARGET (rocm-perf doctor lists them)\n"
    "  --threads N     processors the software MI300X may use (default: all)\n"
    "  --gpus N        how many software MI300X there are, 1 to 8 (default 1)\n"
    "  --timing T      times of the software MI300X: fast (default), detailed, off\n"
    "  --no-self-check do not replay the capture when it is made\n"
    "\n"
    "Without a GPU or ROCm:\n"
    "  inspect DIR     what a capture holds, and what it could not\n"
    "  verify DIR      read every byte of it and compare checksums\n"
    "  --list [DIR]    the captures in a folder (default: this one)\n"
    "  --json          inspect and verify: as JSON\n"
    "  --help          this text\n"
    "\n"
    "exit status: 0 ok; 1 no dispatch matched, or it was declined; 2 usage; 3 not a capture, not\n"
    "complete or damaged; 4 environment; 5 the program failed; 130 interrupted\n"
    "(a capture that is there is whole)\n";

struct options {
    const char *kernel, *folder;
    uint64_t dispatch;
    bool has_dispatch, has_folder, list, json, unchecked;
    enum rp_device wish;
};

static int parse_dispatch(const char *word, uint64_t *ret, struct rp_err *err)
{
    char *end;
    unsigned long long value = strtoull(word, &end, 10);

    if (word[0] < '0' || word[0] > '9' || *end || value < 1 || value > INT64_MAX)
        return rp_fail(err, RP_USAGE, "--dispatch %s: use a whole number, 1 being the first", word);
    *ret = value;
    return 0;
}

static int take_option(int c, struct options *o, struct rp_err *err)
{
    switch (c) {
    case 'k':
        o->kernel = optarg;
        return rp_kernel_regex_check("--kernel", optarg, err);
    case 'n':
        o->has_dispatch = true;
        return parse_dispatch(optarg, &o->dispatch, err);
    case 'o':
        o->folder = optarg;
        o->has_folder = true;
        return *optarg ? 0 : rp_fail(err, RP_USAGE, "-o needs the name of a folder");
    case 'd':
        return rp_device_parse(optarg, &o->wish, err);
    case 't':
        return rp_cli_threads(optarg, err);
    case 'g':
        return rp_cli_gpus(optarg, err);
    case 'm':
        return rp_cli_timing(optarg, err);
    case 'u':
        o->unchecked = true;
        return 0;
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
        {"kernel", required_argument, NULL, 'k'},  {"dispatch", required_argument, NULL, 'n'},
        {"output", required_argument, NULL, 'o'},  {"device", required_argument, NULL, 'd'},
        {"threads", required_argument, NULL, 't'}, {"gpus", required_argument, NULL, 'g'},
        {"timing", required_argument, NULL, 'm'},  {"no-self-check", no_argument, NULL, 'u'},
        {"list", no_argument, NULL, 'l'},          {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
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

    if (rp_capture_open(folder, &capture, &err) < 0)
        return rp_cli_error(&err);
    if (json)
        rp_capture_describe_json(folder, capture, &text);
    else
        rp_capture_describe(folder, capture, &text);
    return print_and_free(&text);
}

static int verify(const char *folder, bool json)
{
    rp_cleanup(rp_cleanup_rp_capture_close) struct rp_capture *capture = NULL;
    struct rp_err err = RP_ERR_INIT;
    struct rp_capture_sizes sizes;
    struct rp_buf text = {0};

    if (rp_capture_open(folder, &capture, &err) < 0 || rp_capture_verify(capture, &sizes, &err) < 0)
        return rp_cli_error(&err);
    if (json)
        rp_buf_printf(&text,
                      "{\n  \"schema_version\": \"1.0\",\n  \"sound\": true,\n  \"files\": %" PRIu64
                      ",\n  \"bytes\": %" PRIu64 ",\n  \"pages\": %" PRIu64 "\n}\n",
                      sizes.files, sizes.bytes, rp_capture_stored_pages(capture));
    else
        rp_buf_printf(&text,
                      "%s is sound: %" PRIu64 " files, %" PRIu64 " bytes, %" PRIu64 " pages\n",
                      folder, sizes.files, sizes.bytes, rp_capture_stored_pages(capture));
    return print_and_free(&text);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
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

    if (rp_capture_open(folder, &capture, &err) < 0) {
        rp_cli_note("%s", err.text);
        return false;
    }
    rp_capture_line(folder, capture, text);
    return true;
}

static int list(const char *folder)
{
    struct dirent **names = NULL;
    struct rp_buf text = {0};
    int count, code;
    bool sound = true;

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

        if (path && names[i]->d_name[0] != '.' && looks_like_one(path))
            sound = list_one(path, &text) && sound;
        free(names[i]);
    }
    free(names);
    code = print_and_free(&text);
    return code || sound ? code : RP_BAD_INPUT;
}

/* --- capture ------------------------------------------------------------------------------- */

static void print_names(const struct rp_isolation *isolation)
{
    for (size_t i = 0; i < RP_ISOLATION_NAMES && isolation->names[i]; i++)
        fprintf(stderr, "rocm-perf:   %s\n", isolation->names[i]);
    if (isolation->more_names)
        fprintf(stderr, "rocm-perf:   ...\n");
}

static int say_why_not(const struct options *o, const struct rp_isolation *isolation)
{
    if (isolation->declined)
        rp_cli_note("not captured: %s", isolation->declined);
    else if (isolation->processes == 0)
        rp_cli_note("not captured: the program did not use the GPU");
    else if (isolation->kernels_wanted == 0) {
        rp_cli_note("not captured: no kernel name matches %s; kernels of the program%s", o->kernel,
                    isolation->names[0] ? ":" : ": none");
        print_names(isolation);
    } else
        rp_cli_note("not captured: the program made fewer than %" PRIu64
                    " dispatch%s that match %s",
                    o->dispatch, o->dispatch == 1 ? "" : "es", o->kernel);
    return RP_VERDICT;
}

/* A capture that cannot be checked here is one still. */
static void check(const struct options *o, const struct rp_environment *env, enum rp_device device,
                  struct rp_buf *text)
{
    rp_autofree char *label = NULL;
    rp_autofree char *reason = NULL;
    struct rp_err err = RP_ERR_INIT;

    if (rp_self_check(env, device, o->folder, &label, &reason, &err) < 0)
        rp_cli_note("the capture is not checked: %s", err.text);
    else
        rp_buf_printf(text, "replayed: %s%s%s\n", label, reason ? ": " : "", reason ? reason : "");
}

static int report(const struct options *o, const struct rp_isolation *isolation,
                  const struct rp_environment *env, enum rp_device device)
{
    const struct rp_proc_end *end = &isolation->end;
    int code = isolation->captured ? RP_OK : say_why_not(o, isolation);

    if (isolation->captured) {
        rp_cleanup(rp_cleanup_rp_capture_close) struct rp_capture *capture = NULL;
        struct rp_err err = RP_ERR_INIT;
        struct rp_buf text = {0};

        if (rp_capture_open(o->folder, &capture, &err) < 0)
            return rp_cli_error(&err);
        rp_capture_line(o->folder, capture, &text);
        if (!o->unchecked)
            check(o, env, device, &text);
        code = print_and_free(&text);
    }
    if (!end->signaled && end->status == 0)
        return code;
    rp_cli_note("the program %s %d", end->signaled ? "was ended by signal" : "ended with status",
                end->status);
    return RP_PROGRAM;
}

static int run(const struct options *o, char **argv)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_cleanup(rp_isolation_free) struct rp_isolation isolation = {0};
    struct rp_isolation_request request = {.env = &env,
                                           .argv = argv,
                                           .kernel = o->kernel,
                                           .dispatch = o->dispatch,
                                           .folder = o->folder,
                                           .version = RP_VERSION};
    struct rp_err err = RP_ERR_INIT;
    rp_autofree char *executable = NULL;

    if (rp_path_exists(o->folder)) {
        rp_fail(&err, RP_USAGE, "%s exists already; remove it or give another folder with -o",
                o->folder);
        return rp_cli_error(&err);
    }
    if (rp_environment_detect(&env, &err) < 0 ||
        rp_device_resolve(&env, o->wish, &request.device, &err) < 0 ||
        rp_find_program(argv[0], &executable, &err) < 0)
        return rp_cli_error(&err);
    rp_cli_warn_about_target(executable, request.device);
    rp_proc_catch_signals(); /* until the end: half a capture must not be left */
    if (rp_isolate_program(&request, &isolation, &err) < 0)
        return rp_cli_error(&err);
    return report(o, &isolation, &env, request.device);
}

int rp_cmd_isolate(int argc, char **argv)
{
    struct options o = {.folder = "isolate_capture", .dispatch = 1, .wish = RP_DEVICE_AUTO};
    const bool bare =
        argc > 1 && (strcmp(argv[1], "inspect") == 0 || strcmp(argv[1], "verify") == 0);
    const char *action = bare ? argv[1] : NULL;
    int code;

    if (parse(argc - bare, argv + bare, &o, &code) < 0)
        return code;
    argc -= bare;
    argv += bare;
    if (action || o.list) {
        if (o.kernel || o.has_dispatch || o.has_folder || o.unchecked ||
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
    return run(&o, argv + optind);
}
