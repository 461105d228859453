#include "run/counter_plan.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"

/* MAX_INPUTS: counters that the hardware reads in one pass at most, all blocks together. */
enum { MAX_INPUTS = 64, MAX_NAME = 64 };

/* What the hardware must read for some counters, each input once. */
struct load {
    struct input {
        char name[MAX_NAME];
        const struct rp_counter_block *block;
        uint32_t slots;
    } inputs[MAX_INPUTS];
    size_t count;
    bool unknown; /**< inputs that nobody here knows: nothing else may join */
};

/* --- inputs of a counter ------------------------------------------------------------------- */

static const struct {
    const char *name, *families, *inputs;
} derived[] = {
#define DERIVED(name, families, inputs) {name, families, inputs},
#include "run/counter_inputs.def"
#undef DERIVED
};

static bool is_word_of(const char *words, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static const char *inputs_of(const struct rp_arch *arch, const char *name)
{
    for (size_t i = 0; arch->derived_counters && i < sizeof derived / sizeof *derived; i++)
        if (strcmp(derived[i].name, name) == 0 &&
            is_word_of(derived[i].families, arch->derived_counters))
            return derived[i].inputs;
    return NULL;
}

/* "TCC_HIT_sum" is made from TCC_HIT, and "NAME:device=0" is NAME. */
static size_t base_length(const char *name)
{
    static const char *const endings[] = {"_sum", "_max", "_min", "_avr"};
    size_t length = strcspn(name, ":[ *");

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i]);
        if (length > n && strncmp(name + length - n, endings[i], n) == 0)
            return length - n;
    }
    return length;
}

/* False when it does not fit into the struct, or the block is unknown. */
static bool add_input(const struct rp_arch *arch, struct load *load, const char *name,
                      uint32_t slots)
{
    struct input input = {.slots = slots};
    size_t length = base_length(name);

    if (length >= sizeof input.name || load->count == MAX_INPUTS)
        return false;
    memcpy(input.name, name, length);
    input.block = rp_arch_counter_block(arch, input.name);
    if (!input.block)
        return false;
    for (size_t i = 0; i < load->count; i++)
        if (strcmp(load->inputs[i].name, input.name) == 0) {
            if (load->inputs[i].slots < slots)
                load->inputs[i].slots = slots;
            return true;
        }
    load->inputs[load->count++] = input;
    return true;
}

static void add_counter(const struct rp_arch *arch, struct load *load, const char *name)
{
    const char *inputs = arch ? inputs_of(arch, name) : NULL;

    if (!arch)
        load->unknown = true;
    else if (!inputs)
        load->unknown |= !add_input(arch, load, name, 1);
    for (; inputs && *inputs && !load->unknown; inputs += strspn(inputs, " ")) {
        size_t length = strcspn(inputs, " ");
        bool twice = length > 2 && memcmp(inputs + length - 2, "*2", 2) == 0;

        load->unknown = !add_input(arch, load, inputs, twice ? 2 : 1);
        inputs += length;
    }
}

/* --- passes -------------------------------------------------------------------------------- */

static const char *pool_of(const struct rp_counter_block *block)
{
    return block->shares ? block->shares : block->name;
}

static const struct rp_counter_block *overfull(const struct load *load)
{
    for (size_t i = 0; i < load->count; i++) {
        const struct rp_counter_block *block = load->inputs[i].block;
        uint32_t used = 0;

        for (size_t j = 0; j < load->count; j++)
            if (strcmp(pool_of(load->inputs[j].block), pool_of(block)) == 0)
                used += load->inputs[j].slots;
        if (used > block->counters)
            return block;
    }
    return NULL;
}

static void load_of(const struct rp_arch *arch, const struct rp_counter_pass *pass,
                    struct load *ret)
{
    memset(ret, 0, sizeof *ret);
    for (size_t i = 0; i < pass->count; i++)
        add_counter(arch, ret, pass->names[i]);
}

static bool fits(const struct rp_arch *arch, const struct rp_counter_pass *pass,
                 const struct rp_counter_request *wishes, size_t count)
{
    struct load load;

    load_of(arch, pass, &load);
    for (size_t i = 0; i < count; i++)
        add_counter(arch, &load, wishes[i].name);
    return load.unknown ? pass->count + count <= 1 : !overfull(&load);
}

static void append(struct rp_counter_pass *pass, const char *name)
{
    pass->names = rp_realloc_array(pass->names, pass->count + 2, sizeof *pass->names);
    pass->names[pass->count++] = rp_strdup(name);
    pass->names[pass->count] = NULL;
}

static void new_pass(struct rp_counter_plan *plan)
{
    plan->passes = rp_realloc_array(plan->passes, plan->count + 1, sizeof *plan->passes);
    memset(&plan->passes[plan->count++], 0, sizeof *plan->passes);
}

/* Puts the counters into the first pass that has room for all of them, or a new one. */
static void place(const struct rp_arch *arch, struct rp_counter_plan *plan,
                  const struct rp_counter_request *wishes, size_t count)
{
    size_t at = 0;

    while (at < plan->count && !fits(arch, &plan->passes[at], wishes, count))
        at++;
    if (at == plan->count)
        new_pass(plan);
    for (size_t i = 0; i < count; i++)
        append(&plan->passes[at], wishes[i].name);
}

/* --- the plan ------------------------------------------------------------------------------ */

static int check_name(const struct rp_arch *arch, const char *name, struct rp_err *err)
{
    static const struct rp_counter_pass empty;
    struct rp_counter_request wish = {.name = name};
    struct load load = {0};
    size_t length = 0;

    while (isalnum((unsigned char)name[length]) || (name[length] && strchr("_:=[]", name[length])))
        length++;
    if (length == 0 || name[length] || length >= MAX_NAME)
        return rp_fail(err, RP_USAGE, "'%s' is not the name of a hardware counter", name);
    if (fits(arch, &empty, &wish, 1))
        return 0;
    load_of(arch, &empty, &load);
    add_counter(arch, &load, name);
    return rp_fail(err, RP_USAGE,
                   "%s needs more counters of the block %s than the %u that %s reads at a time",
                   name, overfull(&load)->name, overfull(&load)->counters, arch->name);
}

/* Without what was asked for before. */
static size_t unique(const struct rp_counter_request *wishes, size_t count,
                     struct rp_counter_request *ret)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        bool known = false;
        for (size_t j = 0; j < kept && !known; j++)
            known = strcmp(ret[j].name, wishes[i].name) == 0;
        if (!known)
            ret[kept++] = wishes[i];
    }
    return kept;
}

int rp_counter_plan_make(const char *gfx, const struct rp_counter_request *wishes, size_t count,
                         struct rp_counter_plan *ret, struct rp_err *err)
{
    const struct rp_arch *arch = rp_arch_find(gfx);
    static const struct rp_counter_pass empty;
    rp_autofree struct rp_counter_request *all = rp_alloc_zero(count + 1, sizeof *all);
    struct rp_counter_plan plan = {0};
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++)
        rc = check_name(arch, wishes[i].name, err);
    count = rc == 0 ? unique(wishes, count, all) : 0;
    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && all[i + n].group == all[i].group; n++)
            ;
        if (fits(arch, &empty, &all[i], n)) {
            place(arch, &plan, &all[i], n);
            continue;
        }
        for (size_t j = 0; j < n; j++)
            place(arch, &plan, &all[i + j], 1);
    }
    if (rc == 0)
        *ret = plan;
    return rc;
}

void rp_counter_plan_split(struct rp_counter_plan *plan, size_t at)
{
    struct rp_counter_pass *pass, *last;

    new_pass(plan);
    pass = &plan->passes[at];
    last = &plan->passes[plan->count - 1];
    for (size_t i = pass->count / 2; i < pass->count; i++) {
        append(last, pass->names[i]);
        free(pass->names[i]);
        pass->names[i] = NULL;
    }
    pass->count /= 2;
}

void rp_counter_plan_free(struct rp_counter_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        for (size_t j = 0; j < plan->passes[i].count; j++)
            free(plan->passes[i].names[j]);
        free(plan->passes[i].names);
    }
    free(plan->passes);
    memset(plan, 0, sizeof *plan);
}
