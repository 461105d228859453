#include "run/check_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "base/process.h"
#include "run/kernel_names.h"
#include "run/machine.h"
#include "run/run_program.h"
#include "run/source_lines.h"
#include "trace/check_file.h"
#include "trace/code_object.h"
#include "trace/records.h"

int rp_check_words(const char *option, const char *text, struct rp_err *err)
{
    static const char *const words[] = {"races", "uninit", "bounds", "waits"};
    unsigned seen = 0;

    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        unsigned bit = 0;
        for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
            if (strlen(words[i]) == length && memcmp(words[i], at, length) == 0)
                bit = 1u << i;
        if (bit & seen)
            return rp_fail(err, RP_USAGE, "%s %s: %.*s is there twice", option, text, (int)length,
                           at);
        seen |= bit;
        if (!bit)
            return rp_fail(err, RP_USAGE,
                           "%s %s: use races, uninit, bounds, waits, or several with commas",
                           option, text);
        at += length;
        if (!*at)
            return 0;
    }
}

/* ---- source lines and names ---- */

/* One side of a finding is at each place; places are asked for object by object. */
struct places {
    struct rp_check_side **sides;
    uint64_t *addresses;
    size_t count;
};

static void collect(struct places *to, struct rp_check_side *side, int64_t object)
{
    if (side->object != object)
        return;
    to->addresses[to->count] = side->address;
    to->sides[to->count++] = side;
}

static void find_lines(struct rp_check_results *r, int64_t object, const char *symbolizer,
                       const char *folder)
{
    rp_autofree struct rp_check_side **sides = rp_alloc_zero(2 * r->count + 1, sizeof *sides);
    rp_autofree uint64_t *addresses = rp_alloc_zero(2 * r->count + 1, sizeof *addresses);
    rp_autofree char **lines = rp_alloc_zero(2 * r->count + 1, sizeof *lines);
    rp_autofree char *scratch = rp_path_join(folder, "addresses");
    struct places places = {.sides = sides, .addresses = addresses};
    struct rp_err unheard = RP_ERR_INIT; /* Without lines there are still addresses. */
    const char *elf = r->objects[object];

    for (size_t i = 0; i < r->count; i++) {
        collect(&places, &r->at[i].first, object);
        if (r->at[i].has_second)
            collect(&places, &r->at[i].second, object);
    }
    if (!places.count || !*elf || !rp_has_source_lines(elf) ||
        rp_source_lines(symbolizer, elf, addresses, places.count, scratch, lines, &unheard) < 0)
        return;
    for (size_t i = 0; i < places.count; i++)
        places.sides[i]->source = lines[i];
}

static char *name_at(const struct rp_code_elf *elf, uint64_t descriptor)
{
    struct rp_code_symbols symbols;

    if (!rp_code_elf_all_symbols(elf, &symbols) && !rp_code_elf_symbols(elf, &symbols))
        return NULL;
    for (size_t i = 0; i < symbols.count; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols.at + i * sizeof symbol, sizeof symbol);
        const char *name =
            symbol.st_name < symbols.name_bytes ? symbols.names + symbol.st_name : "";
        const size_t length = strlen(name);
        if (symbol.st_value == descriptor && length > 3 && strcmp(name + length - 3, ".kd") == 0)
            return rp_strdup(name);
    }
    return NULL;
}

static void find_names(struct rp_check_results *r, int64_t object, struct rp_demangler *demangler)
{
    struct rp_code_elf elf = {0};

    if (!*r->objects[object] || !rp_code_file_open(r->objects[object], &elf))
        return;
    for (size_t i = 0; i < r->count; i++) {
        struct rp_check_finding *f = &r->at[i];
        rp_autofree char *symbol =
            f->kernel_object == object ? name_at(&elf, f->kernel_address) : NULL;
        if (symbol)
            f->kernel = rp_demangle_kernel(demangler, symbol);
    }
    rp_code_file_close(&elf);
}

/* The runtime's own kernels copy and fill what the program says, also what it has never written. */
static bool is_runtimes(const struct rp_check_finding *f)
{
    return f->kernel && strncmp(f->kernel, "__amd_rocclr_", 13) == 0 &&
           (strcmp(f->kind, "uninit") == 0 || strcmp(f->kind, "bounds") == 0);
}

static void explain(const struct rp_environment *env, struct rp_check_results *r,
                    const char *folder)
{
    rp_cleanup(rp_demangler_close) struct rp_demangler demangler = {0};
    rp_autofree char *symbolizer = r->count ? rp_find_symbolizer(env) : NULL;

    if (!r->count)
        return;
    rp_demangler_open(env, &demangler);
    for (size_t i = 0; i < r->object_count; i++) {
        find_names(r, (int64_t)i, &demangler);
        if (symbolizer)
            find_lines(r, (int64_t)i, symbolizer, folder);
    }
    rp_check_results_drop(r, is_runtimes);
    rp_check_results_merge(r);
}

/* ---- the run ---- */

int rp_check_run(const struct rp_environment *env, const struct rp_run_options *options,
                 const char *what, char *const *argv, struct rp_check_results *ret,
                 struct rp_proc_end *ret_end, struct rp_err *err)
{
    rp_cleanup(rp_launch_free) struct rp_launch_plan plan = {0};
    rp_cleanup(rp_temporary_folder_remove) char *folder = NULL;
    struct rp_run_options checked = *options;

    *ret = (struct rp_check_results){0};
    if (rp_temporary_folder(&folder, err) < 0)
        return -err->code;
    const struct rp_env_change more[] = {
        {.name = RP_CHECK_VARIABLE, .value = what},
        {.name = RP_CHECK_FOLDER_VARIABLE, .value = folder},
        {0},
    };
    checked.more = more;
    if (rp_launch_plan(env, &checked, argv, &plan, err) < 0)
        return -err->code;
    const struct rp_proc proc = {.path = plan.path, .argv = plan.argv, .env = plan.env.list};
    if (rp_proc_run(&proc, ret_end, err) < 0)
        return -err->code;
    int rc = rp_check_results_read(folder, ret, err);
    if (rc == 0)
        explain(env, ret, folder);
    return rc;
}
