#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "trace/counter_set.h"
#include "trace/csv_read.h"
#include "trace/gzip.h"
#include "trace/rocpd.h"

/* This says what a column holds. */
enum role {
    ROLE_NONE,
    ROLE_COUNTER, /**< one counter for each dispatch: rocprof-compute's wide form */
    ROLE_KERNEL,
    ROLE_DISPATCH,
    ROLE_DEVICE,
    ROLE_PROCESS,
    ROLE_START,
    ROLE_END,
    ROLE_NAME, /**< of the row's counter: long forms */
    ROLE_VALUE,
    ROLE_VGPRS,
    ROLE_ACCUM_VGPRS,
    ROLE_SGPRS,
    ROLE_KIND, /**< "KERNEL_DISPATCH": kernel traces */
    ROLE_ARCH,
    ROLE_NODE,
    ROLE_PCI_DEVICE,
    ROLE_UNITS,
    ROLE_XCCS,
    ROLE_CLOCK,
    ROLE_MEMORY_CLOCK,
    ROLE_COMPUTE_MODE,
    ROLE_MEMORY_MODE,
    ROLE_COUNT
};

/* These are the header words of all tools and versions, in any case. Words of the wide form that
 * are not counters must be here, because every other column is taken for a counter. Passes that
 * were joined repeat columns with _1, _2 ... behind.
 */
static const struct {
    const char *word;
    enum role role;
} words[] = {
    {"Kernel_Name", ROLE_KERNEL},
    {"KernelName", ROLE_KERNEL}, /* rocprof and Omniperf 1 write these five. */
    {"Index", ROLE_DISPATCH},
    {"gpu-id", ROLE_DEVICE},
    {"BeginNs", ROLE_START},
    {"EndNs", ROLE_END},
    {"DispatchNs", ROLE_NONE},
    {"CompleteNs", ROLE_NONE},
    {"DurationNs", ROLE_NONE},
    {"Dispatch_Id", ROLE_DISPATCH},
    {"Agent_Id", ROLE_DEVICE},
    {"GPU_ID", ROLE_DEVICE},
    {"Process_Id", ROLE_PROCESS},
    {"PID", ROLE_PROCESS},
    {"Start_Timestamp", ROLE_START},
    {"End_Timestamp", ROLE_END},
    {"Counter_Name", ROLE_NAME},
    {"Counter_Value", ROLE_VALUE},
    {"Kind", ROLE_KIND},
    {"Grid_Size", ROLE_NONE},
    {"Workgroup_Size", ROLE_NONE},
    {"LDS_Per_Workgroup", ROLE_NONE},
    {"LDS_Block_Size", ROLE_NONE},
    {"Scratch_Per_Workitem", ROLE_NONE},
    {"Scratch_Size", ROLE_NONE},
    {"Arch_VGPR", ROLE_VGPRS},
    {"Accum_VGPR", ROLE_ACCUM_VGPRS},
    {"VGPR_Count", ROLE_VGPRS},
    {"Accum_VGPR_Count", ROLE_ACCUM_VGPRS},
    {"SGPR", ROLE_SGPRS},
    {"SGPR_Count", ROLE_SGPRS},
    {"wave_size", ROLE_NONE},
    {"obj", ROLE_NONE},
    {"sig", ROLE_NONE},
    {"TID", ROLE_NONE},
    {"Thread_ID", ROLE_NONE},
    {"Queue_ID", ROLE_NONE},
    {"Queue_Index", ROLE_NONE},
    {"GRD", ROLE_NONE},
    {"WGR", ROLE_NONE},
    {"LDS", ROLE_NONE},
    {"SCR", ROLE_NONE},
    {"Stream_ID", ROLE_NONE},
    {"Kernel_ID", ROLE_NONE},
    {"Correlation_ID", ROLE_NONE},
    {"XCC_Index", ROLE_NONE},
    {"Node_ID", ROLE_NONE},
};

/* agent_info.csv, then sysinfo.csv of rocprof-compute, then that of Omniperf. */
static const struct {
    const char *word;
    enum role role;
} facts[] = {
    {"Node_Id", ROLE_NODE},
    {"Name", ROLE_ARCH},
    {"Agent_Type", ROLE_KIND},
    {"Device_Id", ROLE_PCI_DEVICE},
    {"Cu_Count", ROLE_UNITS},
    {"Num_Xcc", ROLE_XCCS},
    {"Max_Engine_Clk_Fcompute", ROLE_CLOCK},
    {"gpu_arch", ROLE_ARCH},
    {"gpu_chip_id", ROLE_PCI_DEVICE},
    {"chip_id", ROLE_PCI_DEVICE}, /* rocprof-compute before 3.2 writes this. */
    {"cu_per_gpu", ROLE_UNITS},
    {"num_xcd", ROLE_XCCS},
    {"max_sclk", ROLE_CLOCK},
    {"max_mclk", ROLE_MEMORY_CLOCK},
    {"compute_partition", ROLE_COMPUTE_MODE},
    {"memory_partition", ROLE_MEMORY_MODE},
    {"gpu_soc", ROLE_ARCH},
    {"arch", ROLE_ARCH},
    {"numCU", ROLE_UNITS},
    {"CU", ROLE_UNITS},
    {"sclk", ROLE_CLOCK},
    {"mclk", ROLE_MEMORY_CLOCK},
};

struct form {
    const char *path;
    enum role *roles; /**< of each column */
    char **names;     /**< of each column that is a counter */
    size_t count;
    size_t at[ROLE_COUNT]; /**< first column of the role, from 1; 0 = none */
    bool is_facts;
    bool is_levels;          /**< SQ_LEVEL_WAVES.csv */
    bool is_rocprofv3;       /**< one row for each counter of a dispatch, over all instances */
    bool has_warned;         /**< of several rows of one counter */
    struct rp_map instances; /**< of dispatches, where each has a row */
};

static void form_free(struct form *form)
{
    for (size_t i = 0; form->names && i < form->count; i++)
        free(form->names[i]);
    free(form->names);
    free(form->roles);
    rp_map_free(&form->instances);
}

/* Matches the word, or the word and "_<number>". */
static bool is_word(const char *header, const char *word)
{
    size_t len = strlen(word);

    if (strncasecmp(header, word, len) != 0)
        return false;
    if (header[len] == '\0')
        return true;
    return header[len] == '_' && header[len + 1] &&
           strspn(header + len + 1, "0123456789") == strlen(header + len + 1);
}

static enum role role_of(const char *header, bool is_facts)
{
    if (is_facts) {
        for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
            if (strcasecmp(header, facts[i].word) == 0)
                return facts[i].role;
        return ROLE_NONE;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (is_word(header, words[i].word))
            return words[i].role;
    /* Counters are called SQ_WAVES, TCC_HIT[3], MeanOccupancyPerCU. */
    return *header >= 'A' && *header <= 'Z' ? ROLE_COUNTER : ROLE_NONE;
}

/* rocprof-compute before 3.2 runs the program once more for the sum of the waves in flight over
 * time, which is to be divided by the cycles of that very run: in the other runs more counters are
 * read between dispatches, and GRBM_GUI_ACTIVE is up to 7 times as large. Of the rest of the file
 * the other runs tell better. */
static const char levels_file[] = "SQ_LEVEL_WAVES.csv", levels[] = "SQ_LEVEL_WAVES",
                  accumulated[] = RP_COUNTER_LEVEL_WAVES_ACCUM;

static const char *name_in_levels(const char *header)
{
    static const char cycles[] = "GRBM_GUI_ACTIVE";

    if (strcmp(header, cycles) == 0)
        return "SQ_LEVEL_WAVES.csv:GRBM_GUI_ACTIVE";
    return strcmp(header, accumulated) == 0 || strcmp(header, levels) == 0 ? header : NULL;
}

/* This counter adds up, clock by clock, what the counter before it reads. Files of joined runs have
 * it several times, as SQ_ACCUM_PREV_HIRES_7: each behind its own, after which AMD calls it, too.
 * Owned by the caller; NULL: no memory. */
static char *name_of_counter(const struct rp_csv *csv, size_t at)
{
    const char *header = rp_csv_field(csv, at), *before = at ? rp_csv_field(csv, at - 1) : "";

    if (!is_word(header, "SQ_ACCUM_PREV_HIRES") || strncmp(before, "SQ", 2) != 0 ||
        !strstr(before, "_LEVEL"))
        return strdup(header);
    return rp_format("%s_ACCUM", before);
}

static bool has_word(const struct rp_csv *csv, const char *word)
{
    for (size_t i = 0; i < csv->count; i++)
        if (strcasecmp(rp_csv_field(csv, i), word) == 0)
            return true;
    return false;
}

/* @param plain_count  so many names are of columns without an index */
static int check_column(struct rp_map *names, const char *name, uint32_t plain_count,
                        struct rp_err *err)
{
    rp_autofree char *base = strndup(name, strcspn(name, "["));
    const uint32_t known = names->count;
    uint32_t number = base ? rp_map_add_text(names, name) : RP_NO_NUMBER;

    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    if (number < known)
        return rp_fail(err, RP_BAD_INPUT, "column %.60s is there twice: leave out one of them",
                       name);
    number = strlen(base) < strlen(name) ? rp_map_add_text(names, base) : plain_count;
    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    return number >= plain_count
               ? 0
               : rp_fail(err, RP_BAD_INPUT,
                         "column %.60s is there beside its instance %.60s: leave out"
                         " one or the other",
                         base, name);
}

/* Instances NAME[0], NAME[1] add up to NAME; what is there twice, or beside its instances, would be
 * counted twice. */
static int check_columns(const struct form *form, struct rp_err *err)
{
    rp_cleanup(rp_map_free) struct rp_map names = {0};
    uint32_t plain_count = 0;
    int result = 0;

    for (int instances = 0; instances < 2; instances++) {
        for (size_t i = 0; i < form->count && result == 0; i++)
            if (form->roles[i] == ROLE_COUNTER &&
                (strchr(form->names[i], '[') != NULL) == instances)
                result = check_column(&names, form->names[i], plain_count, err);
        plain_count = names.count;
    }
    return result;
}

static int read_header(const struct rp_csv *csv, struct form *form, struct rp_err *err)
{
    form->is_facts |= has_word(csv, "gpu_arch") || has_word(csv, "gpu_soc") ||
                      (has_word(csv, "Agent_Type") && has_word(csv, "Node_Id"));
    form->count = csv->count;
    form->roles = calloc(csv->count, sizeof *form->roles);
    form->names = calloc(csv->count, sizeof *form->names);
    if (!form->roles || !form->names)
        return rp_out_of_memory(err);
    for (size_t i = 0; i < csv->count; i++) {
        enum role role = role_of(rp_csv_field(csv, i), form->is_facts);
        rp_autofree char *name = role == ROLE_COUNTER ? name_of_counter(csv, i) : NULL;
        const char *header = name;

        if (role == ROLE_COUNTER && !name)
            return rp_out_of_memory(err);
        if (role == ROLE_COUNTER && form->is_levels) {
            header = name_in_levels(name);
            role = header ? role : ROLE_NONE;
        }
        form->roles[i] = role;
        if (form->at[role] == 0)
            form->at[role] = i + 1;
        if (role == ROLE_COUNTER) {
            form->names[i] = strdup(header);
            if (!form->names[i])
                return rp_out_of_memory(err);
        }
    }
    if (form->is_facts)
        return form->at[ROLE_ARCH] || form->at[ROLE_PCI_DEVICE]
                   ? 0
                   : rp_fail(err, RP_BAD_INPUT, "it has no column that names the GPU (gpu_arch)");
    if (!form->at[ROLE_KERNEL] || !form->at[ROLE_DISPATCH])
        return rp_fail(
            err, RP_BAD_INPUT,
            "no CSV that is known here: columns Kernel_Name and Dispatch_ID are missing");
    if (!form->at[ROLE_NAME] != !form->at[ROLE_VALUE])
        return rp_fail(err, RP_BAD_INPUT, "one of Counter_Name and Counter_Value is missing");
    return form->at[ROLE_NAME] ? 0 : check_columns(form, err);
}

static const char *get(const struct rp_csv *csv, const struct form *form, enum role role)
{
    return form->at[role] ? rp_csv_field(csv, form->at[role] - 1) : "";
}

/* Reads "7", and "Agent 7". */
static int64_t id_of(const char *text)
{
    const char *digits = text + strcspn(text, "0123456789");

    return *digits ? strtoll(digits, NULL, 10) : 0;
}

/* --- times -------------------------------------------------------------------------------- */

enum time_kind { TIME_NONE, TIME_WHOLE, TIME_FRACTION, TIME_SPOILT };

/* Nanoseconds since boot have 14 digits and more. A spreadsheet turns them into "7.17E+14": if
 * there are fewer decimals than the exponent says, the rest is lost.
 */
static enum time_kind read_time(const char *text, int64_t *ret_whole, double *ret)
{
    const char *point = strchr(text, '.'), *exponent = strpbrk(text, "eE");
    char *end;

    *ret = strtod(text, &end);
    if (end == text || *end || !isfinite(*ret) || *ret <= 0)
        return TIME_NONE;
    if (exponent) {
        size_t decimals = point && point < exponent ? (size_t)(exponent - point - 1) : 0;
        return (long)decimals < strtol(exponent + 1, NULL, 10) ? TIME_SPOILT : TIME_FRACTION;
    }
    if (point)
        return TIME_FRACTION;
    errno = 0;
    *ret_whole = strtoll(text, &end, 10);
    return errno || *end ? TIME_NONE : TIME_WHOLE;
}

static void widen(struct rp_counters *set, int64_t start_ns, int64_t end_ns)
{
    set->first_ns = set->last_ns && set->first_ns < start_ns ? set->first_ns : start_ns;
    set->last_ns = set->last_ns > end_ns ? set->last_ns : end_ns;
}

static void take_times(struct rp_counters *set, struct rp_counted_dispatch *d, const char *start,
                       const char *end)
{
    const double most = 0x1p62; /* Times since boot are far below this. */
    int64_t start_ns = 0, end_ns = 0;
    double start_real, end_real;
    enum time_kind a = read_time(start, &start_ns, &start_real);
    enum time_kind b = read_time(end, &end_ns, &end_real);

    if (a == TIME_SPOILT || b == TIME_SPOILT)
        set->spoilt_times++;
    else if (a == TIME_WHOLE && b == TIME_WHOLE) {
        d->duration_ns = end_ns > start_ns ? (double)(end_ns - start_ns) : 0;
        widen(set, start_ns, end_ns);
    } else if (a != TIME_NONE && b != TIME_NONE) {
        d->duration_ns = end_real - start_real;
        if (start_real < most && end_real < most)
            widen(set, (int64_t)start_real, (int64_t)end_real);
    }
    d->timed = d->duration_ns > 0;
}

/* --- rows --------------------------------------------------------------------------------- */

enum { ORIGIN_INSTANCE = 1, ORIGIN_KINDS = 2 };

/* Returns where a value comes from: its row in the form with a column for each counter, and its
 * row's time in the other form; and whether it is one instance of several.
 */
static uint32_t origin_of(const struct rp_csv *csv, const struct form *form, const char *name)
{
    uint32_t hash = 0x811c9dc5u; /* This is FNV-1a with 32 bits. */

    if (!form->at[ROLE_NAME])
        hash = (uint32_t)csv->line;
    for (const char *p = form->at[ROLE_NAME] ? get(csv, form, ROLE_START) : ""; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 0x01000193u;
    return hash * ORIGIN_KINDS + (strchr(name, '[') ? ORIGIN_INSTANCE : 0);
}

static int check_instance(struct form *form, unsigned long line, size_t dispatch, const char *name,
                          struct rp_err *err)
{
    rp_autofree char *key = rp_format("%zu %s", dispatch, name);
    const uint32_t known = form->instances.count;
    const uint32_t number = key ? rp_map_add_text(&form->instances, key) : RP_NO_NUMBER;

    if (number == RP_NO_NUMBER)
        return rp_out_of_memory(err);
    return number == known
               ? 0
               : rp_fail(err, RP_BAD_INPUT,
                         "line %lu: %.60s of one dispatch is there twice: leave out one of the"
                         " rows",
                         line, name);
}

/* Takes several rows of one counter. rocprofv3 adds up the instances before it writes; other tools
 * may write rows of instances, or of passes, which have different times.
 */
static int take_again(struct rp_counters *set, const struct rp_csv *csv, struct form *form,
                      struct rp_counter_value *found, double value, struct rp_err *err)
{
    const char *name = set->names[found->counter];
    const bool is_pass = found->origin != origin_of(csv, form, name);

    if (form->is_rocprofv3)
        return rp_fail(err, RP_BAD_INPUT,
                       "line %lu: %.60s of one dispatch is there twice, and rocprofv3 writes it"
                       " once: leave out one of the rows",
                       csv->line, name);
    if (!is_pass)
        found->value += value;
    if (form->has_warned)
        return 0;
    form->has_warned = true;
    return is_pass ? rp_counters_warn(set, err,
                                      "%s, line %lu: %.60s of a dispatch is there again, at another"
                                      " time: of several passes the first one counts",
                                      form->path, csv->line, name)
                   : rp_counters_warn(set, err,
                                      "%s, line %lu: %.60s of a dispatch is there again: such rows"
                                      " are added up, as those of instances; leave them out if they"
                                      " are there twice",
                                      form->path, csv->line, name);
}

/* Adds a value to a counter that the dispatch already has. */
static int add_to(struct rp_counters *set, const struct rp_csv *csv, struct form *form,
                  struct rp_counter_value *found, uint32_t origin, double value, struct rp_err *err)
{
    const char *name = set->names[found->counter];

    if (form->at[ROLE_NAME] && (found->origin ^ origin) % ORIGIN_KINDS)
        return rp_fail(err, RP_BAD_INPUT,
                       "line %lu: counter %.60s of one dispatch is there beside its instances:"
                       " leave out one or the other",
                       csv->line, name);
    if (form->at[ROLE_NAME] && origin % ORIGIN_KINDS == 0)
        return take_again(set, csv, form, found, value, err);
    if (!form->at[ROLE_NAME] && found->origin != origin)
        return rp_fail(err, RP_BAD_INPUT,
                       "line %lu: another row has %.60s of the same dispatch: leave out one of"
                       " them",
                       csv->line, name);
    found->value += value;
    return 0;
}

static int put_value(struct rp_counters *set, const struct rp_csv *csv, struct form *form,
                     size_t dispatch, const char *name, double value, struct rp_err *err)
{
    struct rp_counted_dispatch *d = &set->dispatches[dispatch];
    const uint32_t origin = origin_of(csv, form, name);
    struct rp_counter_value *found;
    uint32_t counter;
    int result = rp_counters_name(set, name, &counter, err);

    if (result == 0 && form->at[ROLE_NAME] && origin % ORIGIN_KINDS)
        result = check_instance(form, csv->line, dispatch, name, err);
    if (result < 0)
        return result;
    if (rp_counter_is_full(value))
        value = NAN; /* A sum with an unknown value is unknown too. */
    found = rp_counter_find(d, counter);
    if (found)
        return add_to(set, csv, form, found, origin, value, err);
    result = rp_counter_put(d, counter, value, err);
    if (result == 0)
        d->values[d->value_count - 1].origin = origin;
    return result;
}

static int add_value(struct rp_counters *set, const struct rp_csv *csv, struct form *form,
                     size_t dispatch, const char *name, const char *text, struct rp_err *err)
{
    char *end;
    uint32_t counter;
    double value = strtod(text, &end);
    const char *refusal = end == text || *end ? "" : rp_counter_refusal(name, value);

    if (*text == '\0') /* The pass did not count it. */
        return 0;
    if (refusal)
        return rp_fail(err, RP_BAD_INPUT, "line %lu: '%.40s' is no value of the counter %.60s%s%s",
                       csv->line, text, name, *refusal ? ": " : "", refusal);
    /* A metric that is not finite counts as not counted, but does not make another pass. */
    if (!isfinite(value))
        return rp_counters_name(set, name, &counter, err);
    return put_value(set, csv, form, dispatch, name, value, err);
}

/* Names a kernel by its registers as well while the file is read, because JIT compilers give many
 * kernels one name. The caller owns the text; NULL: no memory
 */
static char *kernel_of(const struct rp_csv *csv, const struct form *form)
{
    const char *name = get(csv, form, ROLE_KERNEL);
    const uint64_t code = rp_kernel_register_code(id_of(get(csv, form, ROLE_VGPRS)),
                                                  id_of(get(csv, form, ROLE_ACCUM_VGPRS)),
                                                  id_of(get(csv, form, ROLE_SGPRS)));

    rp_autofree char *plain = strndup(name, rp_kernel_name_length(name));

    return code && plain ? rp_kernel_code_name(plain, code, 16) : rp_steal(plain);
}

static int read_dispatch(struct rp_counters *set, const struct rp_csv *csv, struct form *form,
                         struct rp_err *err)
{
    uint32_t device;
    size_t at;
    bool is_new;
    int result = rp_counters_device(set, id_of(get(csv, form, ROLE_DEVICE)), &device, err);

    if (form->at[ROLE_KIND] && strcmp(get(csv, form, ROLE_KIND), "KERNEL_DISPATCH") != 0)
        return result;
    if (result == 0) {
        rp_autofree char *kernel = kernel_of(csv, form);

        result = kernel ? rp_counters_dispatch(set, device, id_of(get(csv, form, ROLE_PROCESS)),
                                               id_of(get(csv, form, ROLE_DISPATCH)), kernel, &at,
                                               &is_new, err)
                        : rp_out_of_memory(err);
    }
    if (result < 0)
        return result;
    /* Passes that were joined have different times, of which those of the first pass count. */
    if (is_new)
        take_times(set, &set->dispatches[at], get(csv, form, ROLE_START), get(csv, form, ROLE_END));
    if (form->at[ROLE_KIND])
        return 0;
    if (form->at[ROLE_NAME])
        return add_value(set, csv, form, at, get(csv, form, ROLE_NAME), get(csv, form, ROLE_VALUE),
                         err);
    for (size_t i = 0; i < form->count && result == 0; i++)
        if (form->roles[i] == ROLE_COUNTER)
            result = add_value(set, csv, form, at, form->names[i], rp_csv_field(csv, i), err);
    return result;
}

static uint32_t fact(const struct rp_csv *csv, const struct form *form, enum role role)
{
    double value = strtod(get(csv, form, role), NULL);

    return value >= 1 && value < UINT32_MAX ? (uint32_t)value : 0;
}

static int read_facts(struct rp_counters *set, const struct rp_csv *csv, const struct form *form,
                      struct rp_err *err)
{
    struct rp_counted_device d = {
        .id = -1,
        .pci_device_id = fact(csv, form, ROLE_PCI_DEVICE),
        .compute_units = fact(csv, form, ROLE_UNITS),
        .xcc_count = fact(csv, form, ROLE_XCCS),
        .engine_clock_mhz = fact(csv, form, ROLE_CLOCK),
        .memory_clock_mhz = fact(csv, form, ROLE_MEMORY_CLOCK),
        .guessed = !form->at[ROLE_NODE],
    };
    uint32_t at;
    int result;

    if (form->at[ROLE_KIND] && strcmp(get(csv, form, ROLE_KIND), "GPU") != 0)
        return 0;
    snprintf(d.arch, sizeof d.arch, "%s", get(csv, form, ROLE_ARCH));
    snprintf(d.compute_mode, sizeof d.compute_mode, "%s", get(csv, form, ROLE_COMPUTE_MODE));
    snprintf(d.memory_mode, sizeof d.memory_mode, "%s", get(csv, form, ROLE_MEMORY_MODE));
    if (d.guessed) {
        set->any = d;
        return 0;
    }
    d.id = id_of(get(csv, form, ROLE_NODE));
    result = rp_counters_device(set, d.id, &at, err);
    if (result == 0)
        set->devices[at] = d;
    return result;
}

/* --- files -------------------------------------------------------------------------------- */

bool rp_counters_is_level_waves_file(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

    return rp_gzip_name_length(base) == sizeof levels_file - 1 &&
           rp_gzip_name_ends_with(base, levels_file);
}

struct counter_reader {
    struct rp_counters *set;
    struct rp_csv csv;
    struct form form;
};

static int take_header(void *ctx, struct rp_err *err)
{
    struct counter_reader *r = ctx;
    int result = read_header(&r->csv, &r->form, err);

    r->set->is_timeline |= !r->form.is_facts && r->form.at[ROLE_KIND];
    return result;
}

static int take_row(void *ctx, struct rp_err *err)
{
    struct counter_reader *r = ctx;

    return r->form.is_facts ? read_facts(r->set, &r->csv, &r->form, err)
                            : read_dispatch(r->set, &r->csv, &r->form, err);
}

/* @param beside  it lies beside counters to say which GPU it was, and is nothing else */
static int read_text(struct rp_counters *set, const char *path, const char *text, size_t len,
                     bool beside, struct rp_err *err)
{
    struct counter_reader r = {
        .set = set,
        .csv = {.at = text, .end = text + len},
        .form = {.path = path,
                 .is_facts = beside,
                 .is_levels = rp_counters_is_level_waves_file(path),
                 .is_rocprofv3 = rp_gzip_name_ends_with(path, "counter_collection.csv")}};
    int result = rp_csv_each(&r.csv, take_header, take_row, &r, err);

    rp_csv_free(&r.csv);
    form_free(&r.form);
    return result;
}

static int read_file(struct rp_counters *set, const char *path, bool beside, struct rp_err *err)
{
    rp_autobuf text = {0};
    int result = rp_gzip_read_buf(path, &text, err);

    if (result == 0)
        result = read_text(set, path, rp_buf_text(&text), text.len, beside, err);
    if (result == 0)
        result = rp_counters_set_source(set, path, err);
    return result < 0 ? rp_wrap(err, "read counters %s", path) : 0;
}

bool rp_counters_can_open(const char *path)
{
    return rp_gzip_name_ends_with(path, ".csv") || rp_path_is_dir(path);
}

/* Counters are worth reading when nothing says which GPU it was: --arch can. */
static int read_beside(struct rp_counters *set, const char *path, struct rp_err *err)
{
    struct rp_err why = RP_ERR_INIT;
    int result = read_file(set, path, true, &why);

    if (result == 0)
        return 0;
    if (why.code != RP_BAD_INPUT)
        return rp_fail(err, why.code, "%s", why.text);
    return rp_counters_warn(set, err, "%s; --arch says which GPU it was", why.text);
}

/* Reads the files beside a counter file that say which GPU it was. */
static int read_neighbours(struct rp_counters *set, const char *path, struct rp_err *err)
{
    static const char *const forms[] = {"counter_collection.csv", "kernel_trace.csv"};
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    int folder = (int)(base - path);
    rp_autofree char *facts_path = NULL, *there = NULL;

    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && !facts_path; i++)
        if (rp_gzip_name_ends_with(path, forms[i]))
            facts_path = rp_format("%.*sagent_info.csv",
                                   (int)(rp_gzip_name_length(path) - strlen(forms[i])), path);
    if (!facts_path)
        facts_path = rp_format("%.*ssysinfo.csv", folder, path);
    if (!facts_path)
        return rp_out_of_memory(err);
    there = rp_gzip_find(facts_path);
    return there ? read_beside(set, there, err) : 0;
}

int rp_counters_read_file(const char *path, struct rp_counters **ret, struct rp_err *err)
{
    struct rp_counters *set = rp_counters_new();
    int result = set ? read_file(set, path, false, err) : rp_out_of_memory(err);

    if (result == 0)
        result = rp_counters_set_file(set, path, err);
    if (result == 0)
        result = read_neighbours(set, path, err);
    if (result < 0) {
        rp_counters_free(set);
        return result;
    }
    *ret = set;
    return 0;
}

int rp_counters_open_facts(const char *path, struct rp_counters **ret, struct rp_err *err)
{
    struct rp_counters *set = rp_counters_new();
    int result = set ? read_neighbours(set, path, err) : rp_out_of_memory(err);

    if (result < 0) {
        rp_counters_free(set);
        return result;
    }
    *ret = set;
    return 0;
}

int rp_counters_parse(const char *path, const char *text, size_t len, struct rp_counters **ret,
                      struct rp_err *err)
{
    struct rp_counters *set = rp_counters_new();

    if (!set)
        return rp_out_of_memory(err);
    if (read_text(set, path, text, len, false, err) < 0 ||
        rp_counters_tell_apart(&set, 1, err) < 0 || rp_counters_set_source(set, path, err) < 0) {
        rp_counters_free(set);
        return rp_wrap(err, "read counters %s", path);
    }
    *ret = set;
    return 0;
}

/* rocprof -o NAME.csv gives its result any name; results.csv is the default. */
bool rp_counters_is_rocprof(const char *path)
{
    static const char begin[] = "Index,KernelName,";
    char head[2 * sizeof begin] = "";
    rp_autoclose int fd = -1;
    size_t at = 0;

    if (!rp_gzip_name_ends_with(path, ".csv") || rp_gzip_open(path, sizeof head, &fd, NULL) < 0 ||
        read(fd, head, sizeof head - 1) <= 0)
        return false;
    for (size_t i = 0; head[i] && at < sizeof begin - 1; i++)
        if (head[i] != '"' && head[i] != begin[at++])
            return false;
    return at == sizeof begin - 1;
}
