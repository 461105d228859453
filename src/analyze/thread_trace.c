#include "analyze/thread_trace.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"

static const char folder_prefix[] = "ui_output_agent_";
static const char stats_prefix[] = "stats_ui_output_agent_";

/* --- which files --------------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool has(const char *folder, const char *name)
{
    rp_autofree char *path = rp_path_join(folder, name);
    rp_autofree char *there = path ? rp_gzip_find(path) : NULL;

    return there != NULL;
}

static bool is_trace_folder(const char *path)
{
    return rp_path_is_dir(path) && (has(path, "code.json") || has(path, "filenames.json"));
}

static bool is_stats(const char *name)
{
    return strncmp(name, stats_prefix, sizeof stats_prefix - 1) == 0 &&
           rp_gzip_name_ends_with(name, ".csv");
}

static int is_candidate(const struct dirent *entry)
{
    return strncmp(entry->d_name, folder_prefix, sizeof folder_prefix - 1) == 0 ||
           is_stats(entry->d_name);
}

bool rp_thread_trace_is_one(const char *path)
{
    return rp_path_is_dir(path) ? is_trace_folder(path) : is_stats(name_of(path));
}

bool rp_thread_trace_can_open(const char *path)
{
    struct dirent **entries;
    int count;

    if (rp_thread_trace_is_one(path))
        return true;
    if (!rp_path_is_dir(path))
        return false;
    count = scandir(path, &entries, is_candidate, alphasort);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    if (count >= 0)
        free(entries);
    return count > 0;
}

/* The name is as "…agent_5600_dispatch_12…". */
static void identify(struct rp_thread_trace *trace)
{
    const char *agent = strstr(name_of(trace->path), "agent_");

    trace->identified = agent && sscanf(agent, "agent_%" SCNu64 "_dispatch_%" SCNu64, &trace->agent,
                                        &trace->dispatch) == 2;
}

/* --- one file ------------------------------------------------------------------------------ */

/* Bad input becomes a problem of the trace; every other error is returned. */
static int forgive(struct rp_thread_trace *trace, const char *file, int rc, struct rp_err *err)
{
    if (rc >= 0 || err->code != RP_BAD_INPUT)
        return rc;
    if (!rp_att_problem(trace, true, file, "%s", err->text))
        return rp_out_of_memory(err);
    *err = (struct rp_err)RP_ERR_INIT;
    return 0;
}

/* Returns 1 with the object, or 0 when it is absent or damaged: then it is a problem. */
static int load(struct rp_thread_trace *trace, const char *name, bool required, json_t **ret,
                struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(trace->path, name), *text = NULL;
    rp_autofree char *there = path ? rp_gzip_find(path) : NULL;
    struct stat info;
    int rc;

    if (!path)
        return rp_out_of_memory(err);
    if (!there || stat(there, &info) < 0) {
        if (required && !rp_att_problem(trace, false, name, "the file is not there"))
            return rp_out_of_memory(err);
        return 0;
    }
    if (info.st_size > RP_ATT_MAX_FILE) {
        if (!rp_att_problem(trace, false, name, "larger than %d MB: not read",
                            RP_ATT_MAX_FILE >> 20))
            return rp_out_of_memory(err);
        return 0;
    }
    rc = rp_gzip_read_text(there, RP_ATT_MAX_FILE, &text, err);
    if (rc < 0)
        return forgive(trace, name, rc, err);
    rc = rp_att_json(text, strlen(text), ret, err);
    return rc < 0 ? forgive(trace, name, rc, err) : 1;
}

static int read_listing(struct rp_thread_trace *trace, struct rp_att_build *build,
                        struct rp_err *err)
{
    json_t *root = NULL;
    int rc = load(trace, "code.json", true, &root, err);

    if (rc > 0 && json_is_array(json_object_get(root, "code")) &&
        !json_object_get(root, "header") && !json_object_get(root, "version")) {
        json_decref(root);
        return rp_fail(err, RP_BAD_INPUT,
                       "rocprofv2 decoded it, in a format which is not read: record it with"
                       " rocprofv3 --att");
    }
    if (rc > 0) {
        rc = forgive(trace, "code.json", rp_att_read_code(root, trace, err), err);
        build->has_lines = trace->instruction_count > 0;
    }
    json_decref(root);
    return rc;
}

/* The stats CSV beside the folder replaces a listing that is absent. */
static int read_stats(struct rp_thread_trace *trace, const char *path, struct rp_err *err)
{
    rp_autofree char *text = NULL;
    const char *name = name_of(path);
    int rc = rp_gzip_read_text(path, RP_ATT_MAX_FILE, &text, err);

    if (rc < 0)
        return forgive(trace, name, rc, err);
    return forgive(trace, name, rp_att_read_stats(text, strlen(text), trace, err), err);
}

static int read_stats_beside(struct rp_thread_trace *trace, struct rp_err *err)
{
    rp_autofree char *folder = strdup(trace->path), *path = NULL, *there = NULL;
    char *slash;

    if (!folder)
        return rp_out_of_memory(err);
    slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    path = rp_format("%s/stats_%s.csv", slash ? folder : ".", name_of(trace->path));
    if (!path)
        return rp_out_of_memory(err);
    there = rp_gzip_find(path);
    return there ? read_stats(trace, there, err) : 0;
}

/* --- waves --------------------------------------------------------------------------------- */

static int read_wave(const char *file, struct rp_att_build *build, struct rp_err *err)
{
    json_t *root = NULL;
    int rc;

    if (strchr(file, '/')) /* Nothing outside of the folder is read. */
        return rp_att_problem(build->trace, true, "filenames.json", "%s is not a file name", file)
                   ? 0
                   : rp_out_of_memory(err);
    rc = load(build->trace, file, true, &root, err);
    if (rc > 0)
        rc = forgive(build->trace, file, rp_att_read_wave(root, build, err), err);
    json_decref(root);
    return rc;
}

/* In {engine: {simd: {slot: {n: [file, begin, end]}}}} the entries are at depth 4. */
static int read_listed(const json_t *node, unsigned depth, struct rp_att_build *build,
                       struct rp_err *err)
{
    const char *key;
    json_t *child;
    int rc = 0;

    json_object_foreach((json_t *)(uintptr_t)node, key, child)
    {
        const char *file = json_string_value(json_array_get(child, 0));

        if (depth < 4) {
            rc = read_listed(child, depth + 1, build, err);
        } else if (file) {
            build->trace->listed_waves++;
            rc = read_wave(file, build, err);
        } else if (!rp_att_problem(build->trace, true, "filenames.json",
                                   "an entry of a wave has no file name")) {
            rc = rp_out_of_memory(err);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int is_wave(const struct dirent *entry)
{
    unsigned numbers[4];
    int end = 0;

    return sscanf(entry->d_name, "se%u_sm%u_sl%u_wv%u.json%n", &numbers[0], &numbers[1],
                  &numbers[2], &numbers[3], &end) == 4 &&
           end > 0 && rp_gzip_name_length(entry->d_name) == (size_t)end;
}

/* Without a list of them, all files that are there are read. */
static int read_unlisted(struct rp_att_build *build, struct rp_err *err)
{
    struct dirent **entries;
    int count = scandir(build->trace->path, &entries, is_wave, alphasort);
    int rc = 0;

    for (int i = 0; i < count; i++) {
        char *name = entries[i]->d_name;
        bool is_same; /**< as the file before, which is not packed */

        name[rp_gzip_name_length(name)] = '\0';
        is_same = i > 0 && strcmp(name, entries[i - 1]->d_name) == 0;
        if (rc == 0 && !is_same)
            rc = read_wave(name, build, err);
    }
    for (int i = 0; i < count; i++)
        free(entries[i]);
    if (count >= 0)
        free(entries);
    return rc;
}

/* Reads what the software device could not keep. Older files say less. */
static void read_cuts(const json_t *ours, struct rp_thread_trace *trace)
{
    int64_t cut = 0, by_buffer = 0, lost = 0, groups, modelled;

    trace->cuts_known = rp_att_number(json_object_get(ours, "waves_lost"), &lost);
    trace->cuts_known &= rp_att_number(json_object_get(ours, "waves_cut_short"), &cut);
    rp_att_number(json_object_get(ours, "waves_cut_short_by_buffer"), &by_buffer);
    trace->cut_waves = (uint64_t)cut;
    trace->cut_by_buffer = by_buffer < cut ? (uint64_t)by_buffer : (uint64_t)cut;
    trace->lost_waves = (uint64_t)lost;
    trace->part_of_grid = rp_att_number(json_object_get(ours, "workgroups"), &groups) &&
                          rp_att_number(json_object_get(ours, "workgroups_modelled"), &modelled) &&
                          modelled < groups;
}

static int read_manifest(struct rp_thread_trace *trace, json_t **ret, struct rp_err *err)
{
    int64_t ip;
    const char *device, *launched, *code;
    int rc = load(trace, "filenames.json", true, ret, err);

    if (rc <= 0)
        return rc;
    if (rp_att_number(json_object_get(*ret, "gfxip"), &ip) && ip < 1000)
        trace->gfx_ip = (uint32_t)ip;
    device = json_string_value(json_object_get(json_object_get(*ret, "rocm_perf"), "device"));
    trace->software = device && strcmp(device, "software") == 0;
    read_cuts(json_object_get(*ret, "rocm_perf"), trace);
    launched = json_string_value(json_object_get(json_object_get(*ret, "rocm_perf"), "kernel"));
    trace->launched = launched ? strdup(launched) : NULL;
    code = json_string_value(json_object_get(json_object_get(*ret, "rocm_perf"), "code_hash"));
    trace->code_hash = code ? strtoull(code, NULL, 16) : 0;
    if (launched && !trace->launched)
        return rp_out_of_memory(err);
    trace->sampled = json_is_true(json_object_get(*ret, "pc_sampling")) &&
                     !json_is_true(json_object_get(*ret, "thread_trace"));
    return 0;
}

/* What only the software device writes adds lines to a verdict. Without it the trace is whole. */
static int read_extra(struct rp_thread_trace *trace, const char *name,
                      int (*read)(const json_t *, struct rp_thread_trace *, struct rp_err *),
                      struct rp_err *err)
{
    json_t *root = NULL;
    int rc = load(trace, name, false, &root, err);

    if (rc > 0)
        rc = read(root, trace, err);
    json_decref(root);
    if (rc >= 0 || err->code != RP_BAD_INPUT)
        return rc;
    if (!rp_att_problem(trace, false, name, "%s", err->text))
        return rp_out_of_memory(err);
    *err = (struct rp_err)RP_ERR_INIT;
    return 0;
}

static int read_optional(struct rp_thread_trace *trace, struct rp_err *err)
{
    json_t *occupancy = NULL, *clocks = NULL;
    const struct rp_att_kernel *kernel =
        trace->kernel < trace->kernel_count ? &trace->kernels[trace->kernel] : NULL;
    /* Decoders before version 0.1.3 do not write realtime.json. */
    int rc = load(trace, "occupancy.json", !trace->sampled, &occupancy, err);

    if (rc > 0)
        rc = forgive(trace, "occupancy.json",
                     rp_att_read_occupancy(occupancy, kernel ? kernel->symbol : NULL,
                                           kernel ? kernel->name : NULL, trace, err),
                     err);
    json_decref(occupancy);
    if (rc < 0)
        return rc;
    rc = load(trace, "realtime.json", false, &clocks, err);
    if (rc > 0)
        rc = forgive(trace, "realtime.json", rp_att_read_clocks(clocks, trace, err), err);
    json_decref(clocks);
    if (rc < 0)
        return rc;
    rc = read_extra(trace, "variables.json", rp_att_read_variables, err);
    return rc < 0 ? rc : read_extra(trace, "accesses.json", rp_att_read_accesses, err);
}

/* --- a trace ------------------------------------------------------------------------------- */

void rp_thread_trace_free(struct rp_thread_trace *trace)
{
    for (size_t i = 0; i < trace->kernel_count; i++) {
        free(trace->kernels[i].symbol);
        free(trace->kernels[i].name);
    }
    for (size_t i = 0; i < trace->instruction_count; i++) {
        free(trace->instructions[i].isa);
        free(trace->instructions[i].source);
    }
    for (size_t i = 0; i < trace->variable_count; i++)
        free(trace->variables[i].place);
    for (size_t i = 0; i < trace->problem_count; i++) {
        free(trace->problems[i].file);
        free(trace->problems[i].text);
    }
    free(trace->path);
    free(trace->launched);
    free(trace->kernels);
    free(trace->instructions);
    free(trace->waves);
    free(trace->engines);
    free(trace->clocks);
    free(trace->variables);
    free(trace->kernel_place);
    free(trace->problems);
}

static int compare_problems(const void *a, const void *b)
{
    const struct rp_att_problem *l = a, *r = b;
    int order = strcmp(l->file, r->file);

    return order ? order : strcmp(l->text, r->text);
}

static int read_folder(struct rp_thread_trace *trace, struct rp_att_build *build,
                       struct rp_err *err)
{
    json_t *manifest = NULL;
    int rc = read_manifest(trace, &manifest, err);

    if (rc == 0)
        rc = read_listing(trace, build, err);
    if (rc >= 0 && trace->instruction_count == 0)
        rc = read_stats_beside(trace, err);
    if (rc >= 0)
        rc = rp_att_index(build, err);
    if (rc >= 0)
        rc = manifest ? read_listed(json_object_get(manifest, "wave_filenames"), 1, build, err)
                      : read_unlisted(build, err);
    json_decref(manifest);
    if (rc >= 0)
        rc = rp_att_finish(build, err);
    return rc;
}

static int read_trace(const char *path, struct rp_thread_trace *trace, struct rp_err *err)
{
    rp_cleanup(rp_att_build_free) struct rp_att_build build = {.trace = trace};
    bool folder = rp_path_is_dir(path);
    int rc;

    trace->path = strdup(path);
    if (!trace->path)
        return rp_out_of_memory(err);
    while (strlen(trace->path) > 1 && trace->path[strlen(trace->path) - 1] == '/')
        trace->path[strlen(trace->path) - 1] = '\0';
    identify(trace);
    if (folder)
        return read_folder(trace, &build, err);
    rc = read_stats(trace, path, err);
    if (rc >= 0)
        rc = rp_att_index(&build, err);
    return rc < 0 ? rc : rp_att_finish(&build, err);
}

/* Damage that leaves neither listing nor waves leaves nothing. */
static int refuse_empty_trace(const struct rp_thread_trace *trace, struct rp_err *err)
{
    if (trace->instruction_count || trace->wave_count)
        return 0;
    for (size_t i = 0; i < trace->problem_count; i++)
        if (trace->problems[i].damage)
            return rp_fail(err, RP_BAD_INPUT, "%s: %s", trace->problems[i].file,
                           trace->problems[i].text);
    return 0;
}

static int add_trace(const char *path, struct rp_thread_traces *set, struct rp_err *err)
{
    struct rp_thread_trace trace = {0}, *grown;
    int rc = read_trace(path, &trace, err);

    if (rc >= 0)
        rc = refuse_empty_trace(&trace, err);
    if (rc >= 0 && rp_path_is_dir(path))
        rc = read_optional(&trace, err);
    if (rc >= 0) {
        trace.completeness = rp_att_completeness(&trace);
        if (trace.problem_count)
            qsort(trace.problems, trace.problem_count, sizeof *trace.problems, compare_problems);
        grown = realloc(set->traces, (set->count + 1) * sizeof *grown);
        if (grown) {
            set->traces = grown;
            grown[set->count++] = trace;
            return 0;
        }
        rc = rp_out_of_memory(err);
    }
    rp_thread_trace_free(&trace);
    return rp_wrap(err, "read thread trace %s", path);
}

/* --- a set --------------------------------------------------------------------------------- */

static int compare_traces(const void *a, const void *b)
{
    const struct rp_thread_trace *l = a, *r = b;

    if (l->dispatch != r->dispatch)
        return l->dispatch < r->dispatch ? -1 : 1;
    if (l->agent != r->agent)
        return l->agent < r->agent ? -1 : 1;
    return strcmp(l->path, r->path);
}

/* A folder stands for its CSV. */
static bool stands_alone(const char *folder, const char *name)
{
    rp_autofree char *other = strdup(name + strlen("stats_"));

    if (!other)
        return false;
    other[strlen(other) - strlen(".csv")] = '\0';
    return !has(folder, other);
}

static int open_all(const char *path, struct rp_thread_traces *set, struct rp_err *err)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_candidate, alphasort), rc = 0;

    for (int i = 0; i < count; i++) {
        rp_autofree char *inner = rp_path_join(path, entries[i]->d_name);

        if (rc == 0 && !inner)
            rc = rp_out_of_memory(err);
        if (rc == 0 && (rp_path_is_dir(inner) || stands_alone(path, entries[i]->d_name)))
            rc = add_trace(inner, set, err);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return rc;
}

/* Dispatches of every process are numbered from 1, so those of all but the first traced process are
 * in folders of their own, as profile --deep-analysis leaves them. */
static int open_processes(const char *path, struct rp_thread_traces *set, struct rp_err *err)
{
    int rc = open_all(path, set, err);

    for (unsigned process = 2; rc == 0; process++) {
        rp_autofree char *inner = rp_format("%s/process-%u", path, process);

        if (!inner)
            return rp_out_of_memory(err);
        if (!rp_path_is_dir(inner))
            break;
        rc = open_all(inner, set, err);
    }
    return rc;
}

int rp_thread_trace_open(const char *path, struct rp_thread_traces *set, struct rp_err *err)
{
    int rc = !rp_path_is_dir(path) || is_trace_folder(path) ? add_trace(path, set, err)
                                                            : open_processes(path, set, err);

    if (rc == 0 && set->count)
        qsort(set->traces, set->count, sizeof *set->traces, compare_traces);
    return rc;
}

void rp_thread_traces_free(struct rp_thread_traces *set)
{
    for (size_t i = 0; i < set->count; i++)
        rp_thread_trace_free(&set->traces[i]);
    free(set->traces);
    *set = (struct rp_thread_traces){0};
}

/* realtime.json is {"SE0": [[shader clock, real-time clock] ...], "metadata": {"frequency": Hz}}.
 */

static bool read_pair(const json_t *list, size_t index, int64_t *gfx, int64_t *real)
{
    const json_t *pair = json_array_get(list, index);

    return rp_att_number(json_array_get(pair, 0), gfx) &&
           rp_att_number(json_array_get(pair, 1), real);
}

static int compare_clocks(const void *a, const void *b)
{
    const struct rp_att_clock *l = a, *r = b;

    return l->shader_engine < r->shader_engine ? -1 : l->shader_engine > r->shader_engine;
}

static int add_clock(const json_t *list, uint32_t engine, double hz, struct rp_thread_trace *trace,
                     struct rp_err *err)
{
    int64_t gfx[2], real[2];
    size_t count = json_array_size(list);
    struct rp_att_clock *grown;

    if (count < 2) /* One point in time tells no speed. */
        return 0;
    if (!read_pair(list, 0, &gfx[0], &real[0]) || !read_pair(list, count - 1, &gfx[1], &real[1]) ||
        gfx[1] <= gfx[0] || real[1] <= real[0])
        return rp_fail(err, RP_BAD_INPUT, "clocks of SE%u do not advance", engine);
    grown = realloc(trace->clocks, (trace->clock_count + 1) * sizeof *grown);
    if (!grown)
        return rp_out_of_memory(err);
    trace->clocks = grown;
    grown[trace->clock_count++] = (struct rp_att_clock){
        .shader_engine = engine,
        .mhz = (double)(gfx[1] - gfx[0]) / ((double)(real[1] - real[0]) / hz) / 1e6};
    return 0;
}

int rp_att_read_clocks(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err)
{
    int64_t hz;
    const char *key;
    json_t *list;
    int rc = 0;

    if (!rp_att_number(json_object_get(json_object_get(root, "metadata"), "frequency"), &hz) ||
        hz == 0)
        return rp_fail(err, RP_BAD_INPUT, "the frequency of its real-time clock is missing");
    json_object_foreach((json_t *)(uintptr_t)root, key, list)
    {
        char *end;
        unsigned long engine;

        if (strncmp(key, "SE", 2) != 0)
            continue;
        engine = strtoul(key + 2, &end, 10);
        if (end == key + 2 || *end || engine > 1023)
            continue;
        rc = add_clock(list, (uint32_t)engine, (double)hz, trace, err);
        if (rc < 0)
            break;
    }
    if (trace->clock_count)
        qsort(trace->clocks, trace->clock_count, sizeof *trace->clocks, compare_clocks);
    return rc;
}

/* variables.json is {"kernel": "file:line", "lds_bytes", "variables": [{"function", "name",
 * "place": "file:line", "bytes"} ...]}. */

int rp_att_read_variables(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err)
{
    const json_t *list = json_object_get(root, "variables");
    const char *kernel = json_string_value(json_object_get(root, "kernel"));
    int64_t lds_bytes;
    size_t i;
    json_t *of;

    if (!json_is_array(list) || !kernel ||
        !rp_att_number(json_object_get(root, "lds_bytes"), &lds_bytes) || lds_bytes < 0)
        return rp_fail(err, RP_BAD_INPUT,
                       "it lacks the place of the kernel, its LDS, or the list of variables");
    trace->kernel_lds_bytes = (uint64_t)lds_bytes;
    trace->kernel_place = strdup(kernel);
    trace->variables = calloc(json_array_size(list) + 1, sizeof *trace->variables);
    if (!trace->variables || !trace->kernel_place)
        return rp_out_of_memory(err);
    json_array_foreach(list, i, of)
    {
        const char *place = json_string_value(json_object_get(of, "place"));
        int64_t bytes;

        if (!place || !rp_att_number(json_object_get(of, "bytes"), &bytes) || bytes <= 0)
            return rp_fail(err, RP_BAD_INPUT, "variable %zu has no place or no size", i);
        trace->variables[trace->variable_count] =
            (struct rp_att_variable){.place = strdup(place), .bytes = (uint64_t)bytes};
        if (!trace->variables[trace->variable_count++].place)
            return rp_out_of_memory(err);
    }
    return 0;
}

/* accesses.json has rows of line, accesses, look-ups, needed look-ups, clocks of conflicts, in the
 * order of the listing. */

int rp_att_read_accesses(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err)
{
    const json_t *list = json_object_get(root, "accesses");
    size_t i, at = 0;
    json_t *row;

    if (!json_is_array(list))
        return rp_fail(err, RP_BAD_INPUT, "it has no list of accesses");
    json_array_foreach(list, i, row)
    {
        int64_t of[5];

        for (size_t k = 0; k < 5; k++)
            if (!rp_att_number(json_array_get(row, k), &of[k]) || of[k] < 0)
                return rp_fail(err, RP_BAD_INPUT, "row %zu has a value that is no count", i);
        while (at < trace->instruction_count && trace->instructions[at].line < of[0])
            at++;
        if (at == trace->instruction_count || trace->instructions[at].line != of[0])
            continue; /* Where no traced wave came, nothing is listed. */
        trace->instructions[at].wasted_lookups = of[2] > of[3] ? (uint64_t)(of[2] - of[3]) : 0;
        trace->instructions[at].lds_conflict_cycles = (uint64_t)of[4];
    }
    return 0;
}

/* This section finds which of several kernels of one name a thread trace is of. */

struct search {
    const struct rp_thread_trace *trace;
    const char *symbol; /**< NULL: nothing was traced, so any fits */
    struct rp_store *store;
    const char *found; /**< NULL: nothing yet */
    bool several;      /**< more than one fits: none is taken */
};

static bool has_symbol(const struct rp_row_kernel *row, const char *symbol)
{
    const size_t length = rp_kernel_name_length(row->kernel_name);

    return strlen(symbol) == length && memcmp(row->kernel_name, symbol, length) == 0;
}

static void take(struct search *s, const struct rp_row_kernel *row)
{
    s->several |= s->found && strcmp(s->found, row->display_name) != 0;
    s->found = row->display_name;
}

/* The trace shows the code of the kernel.
 * @return whether a kernel with this symbol has a name that is not its symbol's alone */
static int look_at_kernels(struct search *s, bool *ret_ambiguous, struct rp_err *err)
{
    const struct rp_row_kernel *rows;
    size_t count;
    int rc = rp_store_kernels(s->store, &rows, &count, err);

    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (!has_symbol(&rows[i], s->symbol))
            continue;
        *ret_ambiguous |= strcmp(rows[i].display_name, rows[i].plain_name) != 0;
        if (s->trace->code_hash && rp_kernel_contents(&rows[i]) == s->trace->code_hash)
            take(s, &rows[i]);
    }
    return rc;
}

static int look_at_launch(void *ctx, const void *at, struct rp_err *err)
{
    struct search *s = ctx;
    const struct rp_row_launch *launch = at;
    const struct rp_row_kernel *row;

    (void)err;
    if ((uint64_t)launch->dispatch_id != s->trace->dispatch)
        return 0;
    row = rp_store_find_kernel(s->store, launch->guid_index, launch->kernel_id);
    if (row && (!s->symbol || has_symbol(row, s->symbol)))
        take(s, row);
    return 0;
}

static int name_one(struct rp_thread_trace *trace, struct rp_store *const *stores, size_t count,
                    struct rp_err *err)
{
    struct rp_att_kernel *kernel = &trace->kernels[trace->kernel];
    struct search s = {.trace = trace, .symbol = kernel->symbol};
    bool ambiguous = false;
    char *name;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        s.store = stores[i];
        rc = look_at_kernels(&s, &ambiguous, err);
    }
    for (size_t i = 0; ambiguous && !s.found && trace->identified && i < count && rc == 0; i++) {
        s.store = stores[i];
        rc = rp_store_each_launch(s.store, look_at_launch, &s, err);
    }
    if (rc < 0 || !ambiguous || !s.found || s.several)
        return rc;
    name = strdup(s.found);
    if (!name)
        return rp_out_of_memory(err);
    free(kernel->name);
    kernel->name = name;
    return 0;
}

/* Without a traced wave, only the number of the dispatch says which kernel it was. Processes count
 * each for itself, so that of several ones says nothing. */
static int name_empty(struct rp_thread_trace *trace, struct rp_store *const *stores, size_t count,
                      struct rp_err *err)
{
    struct search s = {.trace = trace};
    int rc;

    if (count != 1 || !trace->identified || trace->launched)
        return 0;
    s.store = stores[0];
    rc = rp_store_each_launch(s.store, look_at_launch, &s, err);
    if (rc < 0 || !s.found || s.several)
        return rc;
    trace->launched = strdup(s.found);
    return trace->launched ? 0 : rp_out_of_memory(err);
}

int rp_thread_traces_name(struct rp_thread_traces *set, struct rp_store *const *stores,
                          size_t count, struct rp_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < set->count && rc == 0; i++)
        if (set->traces[i].kernel < set->traces[i].kernel_count)
            rc = name_one(&set->traces[i], stores, count, err);
        else
            rc = name_empty(&set->traces[i], stores, count, err);
    return rc;
}

/* This section computes numbers that follow from a trace. */

const char *const rp_att_state_names[] = {"empty", "idle", "exec", "wait", "stall"};
const char *const rp_att_completeness_names[] = {"complete", "partial", "empty", "damaged"};

bool rp_thread_trace_occupancy(const struct rp_thread_trace *trace, double *ret_waves_per_simd)
{
    uint64_t waves = 0, busy = 0;

    for (size_t i = 0; i < trace->engine_count; i++) {
        waves += trace->engines[i].wave_cycles;
        busy += trace->engines[i].simd_busy_cycles;
    }
    if (busy == 0) {
        waves = trace->issue.wave_cycles;
        busy = trace->issue.simd_busy_cycles;
    }
    if (busy == 0)
        return false;
    *ret_waves_per_simd = (double)waves / (double)busy;
    return true;
}

bool rp_thread_trace_stall_fraction(const struct rp_att_sums *sums, double *ret)
{
    uint64_t all = sums->latency_cycles + sums->idle_cycles;

    if (all == 0)
        return false;
    *ret = (double)sums->stall_cycles / (double)all;
    return true;
}
