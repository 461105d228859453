#include "replay/check_runs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_write.h"
#include "replay/replay.h"
#include "replay/replay_trial.h"
#include "trace/check_record.h"

/* --- findings ------------------------------------------------------------------------------ */

static struct rp_check_side side_of(const struct rp_check_record_side *s)
{
    return (struct rp_check_side){.object = -1,
                                  .address = s->address,
                                  .instruction = rp_strdup(s->instruction),
                                  .access = rp_strdup(s->access),
                                  .workgroup = {s->workgroup[0], s->workgroup[1], s->workgroup[2]},
                                  .wave = s->wave,
                                  .lane = s->lane};
}

static struct rp_check_finding finding_of(const struct rp_check_record *f, const char *kernel)
{
    return (struct rp_check_finding){
        .kind = rp_strdup(f->kind),
        .memory = rp_strdup(f->memory),
        .why = rp_strdup(f->why),
        .address = f->address,
        .bytes = f->bytes,
        .count = f->count,
        .buffer_address = f->buffer_address,
        .buffer_bytes = f->buffer_bytes,
        .kernel_object = -1,
        .kernel = rp_strdup(kernel),
        .has_second = f->sides > 1,
        .first = side_of(&f->side[0]),
        .second = f->sides > 1 ? side_of(&f->side[1]) : (struct rp_check_side){0},
    };
}

static void take(const struct rp_device_table *device, const char *kernel,
                 struct rp_check_found *ret)
{
    struct rp_check_record record;

    while (device->take_finding(&record)) {
        if (record.note)
            continue;
        ret->at = rp_realloc_array(ret->at, ret->count + 1, sizeof *ret->at);
        ret->at[ret->count++] = finding_of(&record, kernel);
    }
}

/* Addresses in LDS are the kernel's own choice. */
static bool is_same(const struct rp_check_finding *a, const struct rp_check_finding *b)
{
    return strcmp(a->kind, b->kind) == 0 && strcmp(a->memory, b->memory) == 0 &&
           (strcmp(a->memory, "global") != 0 || a->buffer_address == b->buffer_address);
}

static bool has(const struct rp_check_found *found, const struct rp_check_finding *f)
{
    for (size_t i = 0; i < found->count; i++)
        if (is_same(&found->at[i], f))
            return true;
    return false;
}

static void sort_fresh(struct rp_check_runs *c)
{
    rp_autofree struct rp_check_finding *sorted = rp_alloc_zero(c->other.count + 1, sizeof *sorted);
    size_t used = 0;

    for (int known = 0; known < 2; known++) {
        for (size_t i = 0; i < c->other.count; i++)
            if (has(&c->base, &c->other.at[i]) == known)
                sorted[used++] = c->other.at[i];
        c->fresh = known ? c->fresh : used;
    }
    if (used)
        memcpy(c->other.at, sorted, used * sizeof *sorted);
}

/* "with the captured inputs, B does what A does not: race in LDS (no barrier between them)" */
static char *in_words(const struct rp_check_runs *c, bool beside, const char *const names[2])
{
    const struct rp_check_finding *f = c->other.at;
    struct rp_buf text = {0};

    if (!c->fresh && c->change.addresses)
        rp_buf_printf(&text,
                      "with the captured inputs, memory that atomics of %s update %s in %s "
                      "(%zu address%s, first 0x%" PRIx64 ")",
                      names[0], c->change.why, names[1], c->change.addresses,
                      c->change.addresses == 1 ? "" : "es", c->change.address);
    else if (!c->fresh && c->clock)
        rp_buf_printf(&text,
                      "%s reads a clock, which %s does not: what depends on that is another thing "
                      "in each run",
                      names[1], names[0]);
    if (!c->fresh)
        return text.len ? rp_buf_steal(&text) : NULL;
    if (beside)
        rp_buf_printf(&text, "with the captured inputs, %s does what %s does not: ", names[1],
                      names[0]);
    rp_check_finding_title(f, &text);
    rp_buf_printf(&text, " (%s)", f->why);
    return rp_buf_steal(&text);
}

/* --- runs ---------------------------------------------------------------------------------- */

/* All that is captured has been allocated. It may also have been written: who knows. */
static void tell_allocations(const struct rp_device_table *device, const struct rp_replay *r)
{
    for (size_t i = 0; i < r->memory_count; i++)
        if (r->memory[i].region.memory_class != RP_MEMORY_CODE)
            device->check_allocation(r->memory[i].region.base, r->memory[i].region.bytes);
}

/* Leaves out what cannot be checked: the captured kernel's own reads of what it has not written may
 * lead anywhere while such words are poison. */
static void choose(struct rp_check_runs *c, const struct rp_replay_trial *trial)
{
    size_t used = 0;

    for (const char *word = c->asked; *word; word += *word == ',') {
        const size_t length = strcspn(word, ",");
        const bool leave_out = !trial->leftovers && strncmp(word, "uninit", length) == 0;

        if (leave_out)
            c->reason = trial->leftovers_reason;
        else
            used += (size_t)snprintf(c->what + used, sizeof c->what - used, "%s%.*s",
                                     used ? "," : "", (int)length, word);
        word += length;
    }
}

static int run(struct rp_replay_trial *trial, const struct rp_replay_kernel *kernel,
               const struct rp_device_table *device, struct rp_check_found *ret, struct rp_err *err)
{
    static const struct rp_trial_run how = {.poison = RP_POISON_NONE, .restore_all = true};
    struct rp_replay_outcome unheard; /* Its results are judged in other runs. */
    double us;
    int rc;

    trial->r->kernel = kernel;
    device->take_clock_read();
    rc = rp_trial_run(trial, &how, &us, &unheard, err);
    ret->clock = device->take_clock_read();
    take(device, kernel->name, ret);
    rp_updates_of_run(device, &ret->updates);
    /* Each code object has its variables elsewhere. They are compared as those of the captured one.
     */
    for (size_t i = 0; trial->r->code && i < kernel->variable_count; i++) {
        const struct rp_replay_span *v = &kernel->variables[i];

        rp_updates_move(&ret->updates, kernel->code_base + v->from, v->bytes,
                        trial->r->code->region.base + v->captured);
    }
    return rc;
}

/* Says what there was no room for. */
static const char *not_compared(const struct rp_check_runs *c, const struct rp_device_table *device)
{
    if (device->take_not_compared())
        return "dispatches, workgroups or accesses, for which there was no room";
    if (c->base.updates.incomplete || c->other.updates.incomplete)
        return "what atomics do: they update too many addresses";
    return NULL;
}

int rp_check_runs_do(struct rp_check_runs *c, struct rp_replay_trial *trial,
                     const struct rp_replay_kernel *base, const struct rp_replay_kernel *other,
                     const char *const names[2], const struct rp_replay_kernel **ret_failed,
                     struct rp_err *err)
{
    const struct rp_device_table *device = rp_replay_software();
    const struct rp_replay_kernel *now = trial->r->kernel;
    int rc = 0;

    *ret_failed = NULL;
    if (!c->asked)
        return 0;
    if (!device)
        return rp_fail(err, RP_ENVIRONMENT, "--check: only the software device can check");
    choose(c, trial);
    if (!c->what[0])
        return 0;
    tell_allocations(device, trial->r);
    if (!device->check(c->what))
        return rp_fail(err, RP_ENVIRONMENT, "--check: the software device does not know '%s'",
                       c->what);
    if (base)
        rc = run(trial, *ret_failed = base, device, &c->base, err);
    if (rc == 0)
        rc = run(trial, *ret_failed = other, device, &c->other, err);
    c->not_compared = not_compared(c, device);
    device->check(NULL);
    trial->r->kernel = now;
    sort_fresh(c);
    if (base)
        rp_updates_compare(&c->base.updates, &c->other.updates, &c->change);
    c->clock = base && c->other.clock && !c->base.clock;
    c->words = in_words(c, base, names);
    return rc;
}

/* --- what is printed ----------------------------------------------------------------------- */

static void print_count(const char *name, size_t count)
{
    if (count)
        printf(", %zu in %s", count, name);
    else
        printf(", nothing in %s", name);
}

void rp_check_runs_print(const struct rp_check_runs *c, const char *const names[2])
{
    rp_autobuf text = {0};

    if (!c->asked)
        return;
    printf("checked%s%s", *c->what ? ": " : " nothing", c->what);
    if (*c->what && names[0])
        print_count(names[0], c->base.count);
    if (*c->what)
        print_count(names[1], c->other.count);
    if (c->reason)
        printf("; not uninit: %s", c->reason);
    if (c->not_compared)
        printf("; not compared: %s", c->not_compared);
    printf("\n");
    for (size_t i = 0; i < c->fresh; i++) {
        rp_buf_printf(&text, "%zu. ", i + 1);
        rp_check_finding_print(&c->other.at[i], &text);
    }
    printf("%s", rp_buf_text(&text));
    if (c->clock)
        printf("%s reads a clock, which %s does not\n", names[1], names[0]);
    if (c->change.addresses)
        printf("at %zu address%s, first 0x%" PRIx64 ", memory that atomics of %s update %s in %s\n",
               c->change.addresses, c->change.addresses == 1 ? "" : "es", c->change.address,
               names[0], c->change.why, names[1]);
}

void rp_check_runs_print_json(const struct rp_check_runs *c, const char *end)
{
    rp_autobuf text = {0};
    struct rp_json_writer json = {.out = &text};

    if (!c->asked) {
        printf("  \"checks\": null%s\n", end);
        return;
    }
    rp_json_add_object(&json, NULL);
    rp_json_add_text(&json, "asked", c->asked);
    rp_json_add_text(&json, "checked", *c->what ? c->what : NULL);
    rp_json_add_text(&json, "reason", c->reason);
    rp_json_add_text(&json, "not_compared", c->not_compared);
    rp_json_add_count(&json, "base_findings", c->base.count);
    rp_json_add_count(&json, "findings", c->other.count);
    rp_json_add_array(&json, "new");
    for (size_t i = 0; i < c->fresh; i++)
        rp_check_finding_json(&json, &c->other.at[i]);
    rp_json_end(&json);
    rp_json_add_bool(&json, "clock", c->clock);
    if (c->change.addresses)
        rp_json_add_object(&json, "atomics");
    else
        rp_json_add_null(&json, "atomics");
    if (c->change.addresses) {
        rp_json_add_text(&json, "why", c->change.why);
        rp_json_add_count(&json, "address", c->change.address);
        rp_json_add_count(&json, "addresses", c->change.addresses);
        rp_json_end(&json);
    }
    rp_json_end(&json);
    printf("  \"checks\": %s%s\n", rp_buf_text(&text), end);
}
