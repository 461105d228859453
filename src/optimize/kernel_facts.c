#include "optimize/kernel_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/compare.h"
#include "analyze/dag.h"
#include "analyze/profile.h"
#include "arch/arch.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/sha256.h"
#include "experiment/build_command.h"
#include "trace/code_object.h"
#include "trace/records.h"

enum {
    MOST_BYTES = 1 << 30,
    DESCRIPTOR_BYTES =
        64 /* LLVM documents this size for the AMDHSA kernel descriptor of code V3+. */
};

/** The descriptor says where the code is relative to itself (bytes 16 to 23). That layout is no
 * part of what the kernel does, because names of another length change it. */
static void add_descriptor(const uint8_t *at, struct rp_buf *text)
{
    enum { ENTRY_AT = 16, ENTRY_END = 24 };

    rp_buf_add(text, at, ENTRY_AT);
    rp_buf_add(text, at + ENTRY_END, DESCRIPTOR_BYTES - ENTRY_END);
}

static bool hash_code(const uint8_t *bytes, size_t size, const char *kd, char ret[RP_SHA256_TEXT])
{
    struct rp_code_symbols symbols;
    struct rp_code_elf elf;
    const uint8_t *descriptor;
    Elf64_Sym symbol;
    rp_autobuf text = {0};

    if (!rp_code_elf_open(bytes, size, &elf))
        return false;
    for (size_t i = 0; i < elf.header.e_phnum; i++) {
        Elf64_Phdr p;
        const bool whole = rp_code_elf_segment(&elf, i, &p);

        if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
            continue;
        if (!whole)
            return false;
        rp_buf_add(&text, bytes + p.p_offset, p.p_filesz);
    }
    if (!rp_code_elf_symbols(&elf, &symbols) || !rp_code_symbol_find(&symbols, kd, &symbol))
        return false;
    descriptor = rp_code_elf_at(&elf, symbol.st_value, DESCRIPTOR_BYTES);
    if (!descriptor)
        return false;
    add_descriptor(descriptor, &text);
    rp_sha256(text.data, text.len, ret);
    return true;
}

int rp_code_object_open(const char *path, struct rp_code_object *ret, struct rp_err *err)
{
    void *bytes = NULL;
    size_t size;
    int rc = rp_read_file(path, MOST_BYTES, RP_BAD_INPUT, &bytes, &size, err);

    if (rc == 0)
        *ret = (struct rp_code_object){.bytes = bytes, .size = size};
    return rc;
}

int rp_code_object_read(const char *path, const char *symbol, struct rp_code_object *ret,
                        struct rp_err *err)
{
    struct rp_code_object object = {0};
    rp_autofree char *kd = rp_format("%s.kd", symbol);
    void *bytes = NULL;
    int rc = rp_read_file(path, MOST_BYTES, RP_BAD_INPUT, &bytes, &object.size, err);

    object.bytes = bytes;
    if (rc == 0)
        rc = rp_code_kernel_read(object.bytes, object.size, kd, &object.kernel, NULL, err);
    if (rc == 0 && !hash_code(object.bytes, object.size, kd, object.code_sha256))
        rc = rp_fail(err, RP_BAD_INPUT, "its symbols or segments cannot be read");
    if (rc < 0) {
        rp_code_object_free(&object);
        return rp_wrap(err, "read the code object %s", path);
    }
    rp_sha256(object.bytes, object.size, object.file_sha256);
    *ret = object;
    return 0;
}

void rp_code_object_free(struct rp_code_object *object)
{
    rp_code_kernel_free(&object->kernel);
    free(object->bytes);
    *object = (struct rp_code_object){0};
}

static int differ(struct rp_err *err, const char *what, uint64_t before, uint64_t after)
{
    return rp_fail(err, RP_VERDICT, "%s: %llu before, %llu now", what, (unsigned long long)before,
                   (unsigned long long)after);
}

/* What the runtime adds is judged where a launch is replayed. */

static size_t own_args(const struct rp_code_kernel *kernel)
{
    size_t count = 0;

    for (size_t i = 0; i < kernel->arg_count; i++)
        count += !rp_code_arg_is_hidden(&kernel->args[i]);
    return count;
}

static const struct rp_code_arg *own_arg(const struct rp_code_kernel *kernel, size_t n)
{
    size_t i = 0;

    while (rp_code_arg_is_hidden(&kernel->args[i]) || n--)
        i++;
    return &kernel->args[i];
}

int rp_code_launches_fit(const struct rp_code_object *before, const struct rp_code_object *after,
                         uint64_t largest, char **ret_note, struct rp_err *err)
{
    const unsigned long long was = before->kernel.max_workgroup, is = after->kernel.max_workgroup;

    *ret_note = NULL;
    if (is >= was)
        return 0;
    if (is < largest)
        return rp_fail(err, RP_VERDICT,
                       "it is for workgroups of at most %llu work-items, and %llu are launched", is,
                       (unsigned long long)largest);
    *ret_note = rp_format("launches of more than %llu work-items a workgroup fail with it", is);
    return 0;
}

int rp_code_object_fits(const struct rp_code_object *before, const struct rp_code_object *after,
                        struct rp_err *err)
{
    const struct rp_code_kernel *a = &before->kernel, *b = &after->kernel;

    if (!rp_code_text_same(a->target, b->target))
        return rp_fail(err, RP_VERDICT, "it is for another GPU");
    if (own_args(a) != own_args(b))
        return differ(err, "arguments", own_args(a), own_args(b));
    for (size_t i = 0; i < own_args(a); i++) {
        const struct rp_code_arg *was = own_arg(a, i), *is = own_arg(b, i);

        if (was->offset != is->offset || was->bytes != is->bytes ||
            !rp_code_text_same(was->kind, is->kind) || !rp_code_text_same(was->space, is->space))
            return rp_fail(err, RP_VERDICT, "argument %zu is another one", i + 1);
    }
    if (memcmp(a->required_workgroup, b->required_workgroup, sizeof a->required_workgroup) != 0)
        return rp_fail(err, RP_VERDICT, "the size of workgroups that it requires is another one");
    if (a->wave_size != b->wave_size)
        return differ(err, "lanes of a wave", a->wave_size, b->wave_size);
    if (a->dynamic_stack != b->dynamic_stack)
        return rp_fail(err, RP_VERDICT, "its stack has no fixed size any more, or has one now");
    return 0;
}

void rp_code_object_use(const struct rp_code_object *object, const char *arch,
                        uint32_t workgroup_size, uint64_t dynamic_bytes, struct rp_code_use *ret)
{
    const struct rp_arch *gpu = arch ? rp_arch_find(arch) : NULL;
    const struct rp_code_kernel *k = &object->kernel;
    const bool unified = gpu && gpu->vgpr_file == RP_VGPR_UNIFIED;
    const uint64_t lds_bytes = k->group_bytes + dynamic_bytes;
    struct rp_occupancy occupancy;

    rp_occupancy_compute(gpu,
                         &(struct rp_kernel_resources){
                             .arch_vgpr = (uint32_t)(k->vgprs - (unified ? k->agprs : 0)),
                             .accum_vgpr = (uint32_t)k->agprs,
                             .sgpr = (uint32_t)k->sgprs,
                             .lds_bytes = (uint32_t)lds_bytes,
                             .scratch_bytes = (uint32_t)k->private_bytes,
                             .workgroup_size = workgroup_size,
                             .wave_size = (uint32_t)k->wave_size,
                         },
                         &occupancy);
    *ret = (struct rp_code_use){
        .vgprs = k->vgprs,
        .agprs = k->agprs,
        .sgprs = k->sgprs,
        .lds_bytes = lds_bytes,
        .scratch_bytes = k->private_bytes,
        .occupancy_known = occupancy.known,
        .occupancy = occupancy.known ? occupancy.theoretical : 0,
        .waves_per_simd = occupancy.known ? occupancy.waves_per_simd : 0,
        .limiter = occupancy.known ? rp_occupancy_limit_names[occupancy.limiter] : NULL,
    };
}

static void release(struct rp_code_identity **contents)
{
    rp_code_identity_free(*contents);
}

static bool kernel_hash(const struct rp_code_identity *of, const char *kd, char ret[RP_SHA256_TEXT])
{
    struct rp_buf text = {0};
    const bool told = rp_code_identity_of_kernel(of, kd, SIZE_MAX, &text);

    if (told)
        rp_sha256(text.data, text.len, ret);
    rp_buf_free(&text);
    return told;
}

/* --- all kernels --------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/** "name.kd" belongs to the kernel @p symbol. */
static bool is_descriptor_of(const char *name, const char *symbol)
{
    const size_t length = strlen(symbol);

    return strncmp(name, symbol, length) == 0 && strcmp(name + length, ".kd") == 0;
}

static void find_changed(const struct rp_code_identity *before,
                         const struct rp_code_identity *after, const char *symbol, char **names)
{
    const struct rp_code_symbols *symbols = rp_code_identity_symbols(before);
    size_t count = 0;

    for (size_t i = 0; i < symbols->count; i++) {
        char old[RP_SHA256_TEXT], now[RP_SHA256_TEXT];
        Elf64_Sym s;
        const char *name = rp_code_symbol(symbols, i, &s);

        if (!name || !rp_code_symbol_is_kernel(name) || is_descriptor_of(name, symbol) ||
            (kernel_hash(before, name, old) && kernel_hash(after, name, now) &&
             strcmp(old, now) == 0))
            continue;
        names[count++] = rp_strndup(name, strlen(name) - strlen(".kd"));
    }
    if (count)
        qsort(names, count, sizeof *names, by_name);
}

int rp_code_changed_kernels(const struct rp_code_object *before, const struct rp_code_object *after,
                            const char *symbol, char ***ret, struct rp_err *err)
{
    rp_cleanup(release) struct rp_code_identity *a = NULL, *b = NULL;
    char **names;

    a = rp_code_identity_open(before->bytes, before->size);
    b = a ? rp_code_identity_open(after->bytes, after->size) : NULL;
    if (!b)
        return rp_fail(err, RP_BAD_INPUT, "symbols or sections of a code object cannot be read");
    names = rp_alloc_zero(rp_code_identity_symbols(a)->count + 1, sizeof *names);
    find_changed(a, b, symbol, names);
    *ret = names;
    return 0;
}

void rp_source_kernels_free(struct rp_source_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        free(kernels->symbols[i]);
    free(kernels->symbols);
    *kernels = (struct rp_source_kernels){0};
}

static void add(struct rp_source_kernels *kernels, const char *name, size_t bytes)
{
    char **more = rp_realloc_array(kernels->symbols, kernels->count + 1, sizeof *more);

    kernels->symbols = more;
    more[kernels->count] = rp_strndup(name, bytes);
    kernels->count++;
}

/** Lists the kernels of a code object.
 * @return 0 or RP_BAD_INPUT */
static int source_kernels_of(const uint8_t *bytes, size_t size, struct rp_source_kernels *ret,
                             struct rp_err *err)
{
    rp_cleanup(rp_source_kernels_free) struct rp_source_kernels kernels = {0};
    struct rp_code_symbols symbols;
    struct rp_code_elf elf;

    if (!rp_code_elf_open(bytes, size, &elf))
        return rp_fail(err, RP_BAD_INPUT, "not a code object");
    if (!rp_code_elf_symbols(&elf, &symbols))
        return rp_fail(err, RP_BAD_INPUT, "a damaged code object");
    for (size_t i = 0; i < symbols.count; i++) {
        Elf64_Sym symbol;
        const char *name = rp_code_symbol(&symbols, i, &symbol);

        if (name && rp_code_symbol_is_kernel(name))
            add(&kernels, name, strlen(name) - strlen(".kd"));
    }
    if (kernels.count > 0)
        qsort(kernels.symbols, kernels.count, sizeof *kernels.symbols, by_name);
    *ret = kernels;
    kernels = (struct rp_source_kernels){0};
    return 0;
}

static int read_object(const char *path, struct rp_source_kernels *ret, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *elf;
    int rc;

    if (fd < 0 || fstat(fd, &st) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", path);
    if (st.st_size == 0)
        return rp_fail(err, RP_BAD_INPUT, "the compiler made an empty code object");
    elf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (elf == MAP_FAILED)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", path);
    rc = source_kernels_of(elf, (size_t)st.st_size, ret, err);
    munmap(elf, (size_t)st.st_size);
    return rc;
}

int rp_source_kernels(const struct rp_compile_command *command, const char *source,
                      const char *arch, struct rp_source_kernels *ret, struct rp_err *err)
{
    rp_cleanup(rp_temporary_folder_remove) char *folder = NULL;
    rp_autofree char *object = NULL;
    rp_cleanup(rp_build_result_free) struct rp_build_result built = {0};
    rp_autofree char *reason = NULL;

    if (rp_temporary_folder(&folder, err) < 0)
        return -(int)err->code;
    object = rp_path_join(folder, "device.co");
    if (rp_compile(command, source, arch, object, &built, err) < 0)
        return -(int)err->code;
    if (!built.ok) {
        reason = rp_build_result_reason(&built);
        return rp_fail(err, RP_BAD_INPUT, "%s does not compile%s: %s", source,
                       rp_compile_command_hint(command), reason ? reason : built.why);
    }
    return read_object(object, ret, err);
}

static void free_kernel(struct rp_kernel_facts *kernel)
{
    char *const texts[] = {
        kernel->name,       kernel->symbol, kernel->arch,         kernel->product,
        kernel->device,     kernel->timing, kernel->weight_basis, kernel->headroom_assumption,
        kernel->bottleneck, kernel->bound,  kernel->limiter,      kernel->finding,
        kernel->advice,     kernel->cause};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < kernel->rule_count; i++) {
        free(kernel->rules[i].id);
        free(kernel->rules[i].text);
    }
    for (size_t i = 0; i < kernel->ceiling_count; i++)
        free(kernel->ceilings[i].name);
    for (size_t i = 0; i < kernel->stall_count; i++)
        free(kernel->stalls[i].name);
    for (size_t i = 0; i < kernel->line_count; i++)
        free(kernel->lines[i].place);
    free(kernel->rules);
    free(kernel->ceilings);
    free(kernel->stalls);
    free(kernel->lines);
}

void rp_facts_free(struct rp_facts *facts)
{
    for (size_t i = 0; i < facts->count; i++)
        free_kernel(&facts->kernels[i]);
    free(facts->kernels);
    free(facts->device);
    *facts = (struct rp_facts){0};
}

/* Facts come from the JSON files of a profile: by symbol from profile.json and thread_trace.json,
 * by name from the others, whose rows have no symbol. */

enum { MOST_LINES = 10 };

RP_DEFINE_CLEANUP(json_t, json_decref)
#define autojson rp_cleanup(rp_cleanup_json_decref) json_t *

/** @return 0 with NULL when the file is absent and not needed */
static int load(const char *folder, const char *name, bool needed, json_t **ret, struct rp_err *err)
{
    rp_autofree char *path = rp_path_join(folder, name);
    json_error_t why;
    json_t *json;

    *ret = NULL;
    if (!needed && !rp_path_exists(path))
        return 0;
    json = json_load_file(path, 0, &why);
    if (!json)
        return rp_fail(err, RP_BAD_INPUT, "%s: %s", path, why.text);
    if (!json_is_object(json)) {
        json_decref(json);
        return rp_fail(err, RP_BAD_INPUT, "%s is not an object", path);
    }
    *ret = json;
    return 0;
}

static struct rp_quantity number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? (struct rp_quantity){true, json_number_value(value)}
                                 : (struct rp_quantity){0};
}

static bool same_text(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value && text && strcmp(value, text) == 0;
}

/** It is NULL when the member is no text. */
static char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value ? rp_strdup(value) : NULL;
}

static void read_extent(const json_t *array, uint32_t ret[3])
{
    for (size_t i = 0; i < 3; i++) {
        json_int_t value = json_integer_value(json_array_get(array, i));

        ret[i] = value > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
    }
}

static void read_needs(const json_t *row, struct rp_kernel_facts *kernel)
{
    const json_t *resources = json_object_get(row, "resources");
    const json_t *occupancy = json_object_get(row, "occupancy");

    kernel->vgprs = number(resources, "vgpr_per_thread");
    kernel->agprs = number(resources, "agpr_per_thread");
    kernel->sgprs = number(resources, "sgpr_per_wave");
    kernel->lds_bytes = number(resources, "lds_bytes");
    kernel->scratch_bytes = number(resources, "scratch_bytes");
    kernel->occupancy = number(occupancy, "theoretical");
    kernel->waves = number(occupancy, "waves");
    kernel->waves_per_simd = number(occupancy, "waves_per_simd");
    kernel->max_waves_per_simd = number(occupancy, "max_waves_per_simd");
    kernel->limiter = text(occupancy, "limiter");
    read_extent(json_object_get(row, "grid"), kernel->grid);
    read_extent(json_object_get(row, "block"), kernel->block);
    kernel->geometry_count = (size_t)json_integer_value(json_object_get(row, "geometries"));
}

static void read_between(const json_t *owner, struct rp_quantity launches, double ret_ns[2])
{
    double ms[2] = {0, 0};

    rp_versus_bounds_read(owner, launches, ms);
    ret_ns[0] = ms[0] * 1e6;
    ret_ns[1] = ms[1] * 1e6;
}

static void read_row(const json_t *profile, const json_t *row, struct rp_kernel_facts *kernel)
{
    const json_t *gpus = json_object_get(profile, "gpus");
    const json_t *index = json_object_get(row, "gpu");
    const json_t *gpu = json_is_integer(index)
                            ? json_array_get(gpus, (size_t)json_integer_value(index))
                            : json_object_get(profile, "gpu");
    struct rp_quantity total_ms = number(row, "total_ms");
    const char *timing;

    kernel->name = text(row, "name");
    kernel->symbol = text(row, "symbol");
    kernel->arch = text(gpu, "architecture");
    kernel->product = text(gpu, "product");
    kernel->device = text(profile, "device");
    timing = json_string_value(json_object_get(json_object_get(profile, "timing"), "model"));
    kernel->timing = timing ? rp_strdup(rp_timing_model_today(timing)) : NULL;
    kernel->calls = number(row, "calls");
    kernel->time_ns = (struct rp_quantity){total_ms.known, total_ms.value * 1e6};
    read_between(row, number(row, "timed_calls"), kernel->between_ns);
    kernel->runtime_internal = json_is_true(json_object_get(row, "runtime_internal"));
    read_needs(row, kernel);
}

static void add_fraction(struct rp_named_fraction **list, size_t *count, const char *name,
                         double fraction)
{
    *list = rp_realloc_array(*list, *count + 1, sizeof **list);
    (*list)[(*count)++] = (struct rp_named_fraction){rp_strdup(name), fraction};
}

static char *conditions_text(const json_t *rule)
{
    rp_autobuf out = {0};
    const json_t *condition;
    size_t i;

    json_array_foreach(json_object_get(rule, "conditions"), i, condition)
        rp_buf_printf(&out, "%s%s %.3g is %s %.3g", i ? " and " : "",
                      json_string_value(json_object_get(condition, "feature")) ?: "?",
                      json_number_value(json_object_get(condition, "value")),
                      same_text(condition, "is", "below") ? "below" : "at least",
                      json_number_value(json_object_get(condition, "threshold")));
    rp_buf_puts(&out, "");
    return rp_buf_steal(&out);
}

static void add_rules(const json_t *rules, struct rp_kernel_facts *kernel)
{
    const json_t *rule;
    size_t i;

    json_array_foreach(rules, i, rule)
    {
        kernel->rules =
            rp_realloc_array(kernel->rules, kernel->rule_count + 1, sizeof *kernel->rules);
        kernel->rules[kernel->rule_count++] = (struct rp_fired_rule){
            .id = rp_strdup(json_string_value(json_object_get(rule, "id")) ?: "?"),
            .text = conditions_text(rule)};
    }
}

static int most_first(const void *a, const void *b)
{
    const struct rp_named_fraction *x = a, *y = b;

    if (x->fraction != y->fraction)
        return x->fraction > y->fraction ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void add_features(const json_t *features, struct rp_kernel_facts *kernel)
{
    static const struct {
        const char *key, *name;
        bool stall;
    } known[] = {{"stall_memory", "memory", true}, {"stall_lds", "lds", true},
                 {"stall_math", "math", true},     {"stall_barrier", "barrier", true},
                 {"hbm_share", "hbm", false},      {"l2_share", "l2", false},
                 {"l1_share", "l1", false},        {"lds_share", "lds", false},
                 {"valu_share", "valu", false},    {"mfma_share", "mfma", false}};

    kernel->stall = number(features, "stall");
    kernel->bound_share = number(features, "bound_share");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct rp_quantity value = number(features, known[i].key);

        if (value.known && known[i].stall)
            add_fraction(&kernel->stalls, &kernel->stall_count, known[i].name, value.value);
        else if (value.known)
            add_fraction(&kernel->ceilings, &kernel->ceiling_count, known[i].name, value.value);
    }
    if (kernel->stall_count)
        qsort(kernel->stalls, kernel->stall_count, sizeof *kernel->stalls, most_first);
}

/** Finds the row of that name in a list. It is NULL when there is none, or several, because then it
 * is not known which. */
static const json_t *row_named(const json_t *list, const char *name)
{
    const json_t *row, *found = NULL;
    size_t i;

    json_array_foreach(list, i, row) if (same_text(row, "name", name))
    {
        if (found)
            return NULL;
        found = row;
    }
    return found;
}

static void add_analysis(const json_t *analysis, struct rp_kernel_facts *kernel)
{
    const json_t *row = row_named(json_object_get(analysis, "kernels"), kernel->name);
    const json_t *label = json_object_get(row, "bottleneck");
    const json_t *traces = json_object_get(row, "thread_traces");

    if (!row)
        return;
    kernel->weight_basis = text(analysis, "basis");
    kernel->weight = number(row, "weight");
    kernel->headroom = number(row, "headroom_fraction");
    kernel->headroom_assumption = text(row, "headroom_assumption");
    kernel->end_to_end_bound = number(row, "end_to_end_bound");
    kernel->free_bound = number(row, "end_to_end_bound_if_free");
    kernel->bottleneck = text(label, "label");
    kernel->cause = text(label, "cause");
    kernel->finding = text(label, "text");
    kernel->advice = text(label, "advice");
    kernel->achieved_waves_per_simd =
        number(json_object_get(row, "occupancy"), "achieved_waves_per_simd");
    kernel->trace_partial = number(traces, "partial").value > 0;
    add_rules(json_object_get(label, "rules"), kernel);
    add_features(json_object_get(row, "features"), kernel);
}

static void add_roofline(const json_t *roofline, struct rp_kernel_facts *kernel)
{
    const json_t *row = row_named(json_object_get(roofline, "kernels"), kernel->name);
    struct rp_quantity read = number(row, "hbm_read_bytes"), write = number(row, "hbm_write_bytes");

    if (!row)
        return;
    kernel->bound = text(row, "bound");
    if (!kernel->bound_share.known)
        kernel->bound_share = number(row, "bound_share");
    kernel->flops = number(row, "flops");
    kernel->bytes = (struct rp_quantity){read.known && write.known, read.value + write.value};
    kernel->intensity = number(row, "arithmetic_intensity");
    kernel->gflops = number(row, "achieved_gflops");
    kernel->gbps = number(row, "achieved_bandwidth_gbps");
}

static void add_line(struct rp_kernel_facts *kernel, const char *place, uint64_t cycles)
{
    for (size_t i = 0; i < kernel->line_count; i++)
        if (strcmp(kernel->lines[i].place, place) == 0) {
            kernel->lines[i].stall_cycles += cycles;
            return;
        }
    kernel->lines = rp_realloc_array(kernel->lines, kernel->line_count + 1, sizeof *kernel->lines);
    kernel->lines[kernel->line_count++] = (struct rp_stalled_line){rp_strdup(place), cycles, 0};
}

static int most_stalled_first(const void *a, const void *b)
{
    const struct rp_stalled_line *x = a, *y = b;

    if (x->stall_cycles != y->stall_cycles)
        return x->stall_cycles > y->stall_cycles ? -1 : 1;
    return strcmp(x->place, y->place);
}

/** Adds instructions of the kernel's own rows only, because a trace lists all functions of its code
 * object. */
static void add_trace(const json_t *trace, struct rp_kernel_facts *kernel, uint64_t *sum)
{
    const json_t *row, *kernels = json_object_get(trace, "kernels");
    size_t i;

    json_array_foreach(json_object_get(trace, "instructions"), i, row)
    {
        const json_t *index = json_object_get(row, "kernel");
        const char *source = json_string_value(json_object_get(row, "source"));
        json_int_t cycles =
            json_integer_value(json_object_get(json_object_get(row, "sums"), "stall_cycles"));

        if (!json_is_integer(index) || cycles <= 0 ||
            !same_text(json_array_get(kernels, (size_t)json_integer_value(index)), "symbol",
                       kernel->symbol))
            continue;
        *sum += (uint64_t)cycles;
        if (source && *source)
            add_line(kernel, source, (uint64_t)cycles);
    }
}

static void add_lines(const json_t *traces, struct rp_kernel_facts *kernel)
{
    const json_t *trace;
    uint64_t sum = 0;
    size_t i;

    json_array_foreach(json_object_get(traces, "thread_trace"), i, trace)
    {
        if (!same_text(trace, "completeness", "damaged"))
            add_trace(trace, kernel, &sum);
    }
    if (!kernel->line_count)
        return;
    qsort(kernel->lines, kernel->line_count, sizeof *kernel->lines, most_stalled_first);
    for (i = MOST_LINES; i < kernel->line_count; i++)
        free(kernel->lines[i].place);
    if (kernel->line_count > MOST_LINES)
        kernel->line_count = MOST_LINES;
    for (i = 0; i < kernel->line_count; i++)
        kernel->lines[i].share = (double)kernel->lines[i].stall_cycles / (double)sum;
}

struct files {
    json_t *profile, *analysis, *roofline, *traces;
};

static int read_kernels(const struct files *files, struct rp_facts *facts, struct rp_err *err)
{
    const json_t *rows = json_object_get(files->profile, "kernels"), *row;
    size_t i;

    if (!json_is_array(rows))
        return rp_fail(err, RP_BAD_INPUT, "profile.json has no kernels[]");
    facts->device = text(files->profile, "device");
    facts->runtime_ms = number(files->profile, "runtime_ms");
    read_between(json_object_get(files->profile, "timing"),
                 number(json_object_get(files->profile, "provenance"), "dispatches"),
                 facts->between_ns);
    facts->launches = number(json_object_get(files->profile, "launches"), "calls");
    facts->failed_launches = number(json_object_get(files->profile, "launches"), "failed");
    facts->kernels = rp_alloc_zero(json_array_size(rows) + 1, sizeof *facts->kernels);
    json_array_foreach(rows, i, row)
    {
        struct rp_kernel_facts *kernel = &facts->kernels[facts->count++];

        read_row(files->profile, row, kernel);
        if (!kernel->name)
            return rp_fail(err, RP_BAD_INPUT, "profile.json: a kernel has no name");
        add_analysis(files->analysis, kernel);
        add_roofline(files->roofline, kernel);
        add_lines(files->traces, kernel);
    }
    return 0;
}

int rp_facts_read(const char *folder, struct rp_facts *ret, struct rp_err *err)
{
    autojson profile = NULL;
    autojson analysis = NULL;
    autojson roofline = NULL;
    autojson traces = NULL;
    struct rp_facts facts = {0};
    int rc;

    if (load(folder, "profile.json", true, &profile, err) < 0 ||
        load(folder, "analysis.json", false, &analysis, err) < 0 ||
        load(folder, "roofline.json", false, &roofline, err) < 0 ||
        load(folder, "thread_trace.json", false, &traces, err) < 0)
        return rp_wrap(err, "read the profile");
    rc = read_kernels(&(struct files){profile, analysis, roofline, traces}, &facts, err);
    if (rc < 0) {
        rp_facts_free(&facts);
        return rp_wrap(err, "read the profile in %s", folder);
    }
    *ret = facts;
    return 0;
}

static double sum_of_times(const struct rp_facts *facts)
{
    double sum = 0;

    for (size_t i = 0; i < facts->count; i++)
        sum += facts->kernels[i].time_ns.known ? facts->kernels[i].time_ns.value : 0;
    return sum;
}

/** The analysis knows what remains when the headroom is gone; otherwise it is the other part of the
 * time. */
static struct rp_quantity amdahl(const struct rp_rank_entry *entry,
                                 const struct rp_kernel_facts *kernel)
{
    const double gone = entry->weight.value * entry->headroom.value;

    if (kernel->end_to_end_bound.known)
        return kernel->end_to_end_bound;
    if (!entry->weight.known || !entry->headroom.known || gone >= 1)
        return (struct rp_quantity){0};
    return (struct rp_quantity){true, 1 / (1 - gone)};
}

static void weigh(const struct rp_kernel_facts *kernel, double sum_ns, struct rp_rank_entry *entry)
{
    entry->weight = kernel->weight;
    entry->weight_of_kernel_time = !kernel->weight.known || !kernel->weight_basis ||
                                   strcmp(kernel->weight_basis, "critical_path") != 0;
    if (!entry->weight.known && kernel->time_ns.known && sum_ns > 0)
        entry->weight = (struct rp_quantity){true, kernel->time_ns.value / sum_ns};
    entry->headroom = kernel->headroom;
    if (entry->weight.known)
        entry->priority = (struct rp_quantity){
            true, entry->weight.value * (entry->headroom.known ? entry->headroom.value : 1)};
    entry->bound = amdahl(entry, kernel);
}

/** A kernel that is named is tried whatever it weighs. */
#define ALL_THE_SAME ": use --kernel NAME to try it all the same"

static char *percent_text(const char *what, double part, double least)
{
    return rp_format("%s %.1f %%, less than %.0f %%" ALL_THE_SAME, what, 100 * part, 100 * least);
}

/** Says why a kernel is not tried, if it is not. */
static void set_stop(const struct rp_kernel_facts *kernel, const struct rp_rank_limits *limits,
                     bool is_named, bool others_named, struct rp_rank_entry *entry)
{
    const char *why = NULL;

    if (kernel->runtime_internal)
        why = "it belongs to the HIP runtime";
    else if (!kernel->symbol || !*kernel->symbol)
        why = "the trace does not name its symbol";
    else if (kernel->name && rp_dag_is_collective(kernel->name) && !is_named)
        why = "it is communication (RCCL), which waits for other GPUs" ALL_THE_SAME;
    else if (others_named && !is_named)
        why = "--kernel does not name it";
    else if (is_named)
        return;
    else if (!entry->weight.known)
        why = "its part of the time is not known";
    else if (kernel->bottleneck && strcmp(kernel->bottleneck, "launch_host_bound") == 0)
        why = "its launches take the time, not its code" ALL_THE_SAME;
    if (why)
        entry->stop = rp_strdup(why);
    else if (entry->weight.value < limits->least_weight)
        entry->stop =
            percent_text("its part of the time is", entry->weight.value, limits->least_weight);
    else if (entry->headroom.known && entry->headroom.value < limits->least_headroom)
        entry->stop =
            percent_text("what it could gain is", entry->headroom.value, limits->least_headroom);
}

static int by_number(struct rp_quantity a, struct rp_quantity b)
{
    if (a.known != b.known)
        return a.known ? -1 : 1;
    return a.value > b.value ? -1 : a.value < b.value;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct rp_rank_entry *a = left, *b = right;
    const struct rp_facts *facts = context;
    const char *x = facts->kernels[a->kernel].symbol, *y = facts->kernels[b->kernel].symbol;
    int order;

    if (!a->stop != !b->stop)
        return a->stop ? 1 : -1;
    order = by_number(a->priority, b->priority);
    if (order == 0)
        order = by_number(a->weight, b->weight);
    if (order == 0)
        order = strcmp(x ? x : "", y ? y : "");
    return order ? order : a->kernel < b->kernel ? -1 : 1;
}

/** Where copies take most of a program's time, no kernel has much of it. The one with most to gain
 * is worth a try all the same, if that is as much as the limits together ask for. */
static size_t take_best(const struct rp_facts *facts, const struct rp_rank_limits *limits,
                        struct rp_ranked_kernels *rank)
{
    const struct rp_rank_limits of_gain = {.least_headroom = limits->least_headroom};
    struct rp_rank_entry *best = NULL;

    for (size_t i = 0; i < rank->count; i++) {
        struct rp_rank_entry *entry = &rank->entries[i], other = *entry;
        rp_autofree char *stop = NULL;

        other.stop = NULL;
        set_stop(&facts->kernels[entry->kernel], &of_gain, false, false, &other);
        stop = other.stop;
        if (!stop && entry->priority.value >= limits->least_weight * limits->least_headroom &&
            (!best || entry->priority.value > best->priority.value))
            best = entry;
    }
    if (!best)
        return 0;
    free(best->stop);
    best->stop = NULL;
    return 1;
}

void rp_rank_kernels(const struct rp_facts *facts, const struct rp_rank_limits *limits,
                     const bool *wanted, struct rp_ranked_kernels *ret)
{
    struct rp_ranked_kernels rank = {
        .entries = rp_alloc_zero(facts->count + 1, sizeof *rank.entries), .count = facts->count};
    const double sum_ns = sum_of_times(facts);

    for (size_t i = 0; i < facts->count; i++) {
        struct rp_rank_entry *entry = &rank.entries[i];

        entry->kernel = i;
        weigh(&facts->kernels[i], sum_ns, entry);
        set_stop(&facts->kernels[i], limits, wanted && wanted[i], wanted != NULL, entry);
        rank.tried += !entry->stop;
    }
    if (limits->best_anyway && !rank.tried && !wanted)
        rank.tried = take_best(facts, limits, &rank);
    qsort_r(rank.entries, rank.count, sizeof *rank.entries, compare,
            (void *)(uintptr_t)(const void *)facts);
    *ret = rank;
}

void rp_ranked_kernels_free(struct rp_ranked_kernels *rank)
{
    for (size_t i = 0; i < rank->count; i++)
        free(rank->entries[i].stop);
    free(rank->entries);
    *rank = (struct rp_ranked_kernels){0};
}

struct rp_time_floor rp_facts_time_floor(const struct rp_kernel_facts *facts, bool same_work)
{
    /* A channel of the L2 moves 128 bytes in a clock, by "CDNA3 ISA" and the MI300X whitepaper;
     * CDNA2 has as many. All results pass it. */
    enum { L2_CHANNEL_BYTES = 128 };
    const struct rp_arch *arch = facts->arch ? rp_arch_find(facts->arch) : NULL;
    struct rp_time_floor floor = {.same_work = same_work};

    if (arch && arch->l2_channels_per_xcc && arch->xcc_count && arch->engine_clock_mhz)
        floor.write_gbps =
            (struct rp_quantity){true, (double)arch->l2_channels_per_xcc * arch->xcc_count *
                                           L2_CHANNEL_BYTES * arch->engine_clock_mhz / 1000};
    for (size_t i = 0; i < facts->ceiling_count; i++) {
        const struct rp_named_fraction *c = &facts->ceilings[i];

        if ((strcmp(c->name, "valu") == 0 || strcmp(c->name, "mfma") == 0) &&
            c->fraction > floor.compute_share.value)
            floor.compute_share = (struct rp_quantity){true, c->fraction};
    }
    return floor;
}
