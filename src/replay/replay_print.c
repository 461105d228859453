/**
 * @file replay_print.c
 * @brief This file prints what a replay has found, for people and as JSON
 * (schemas/replay.schema.json).
 */
#include "replay/replay_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/stats.h"
#include "base/units.h"
#include "base/utf8.h"
#include "replay/replay_protocol.h"

/* --- output -------------------------------------------------------------------------------- */

struct summary {
    double average, min, max, median;
};

static struct summary sum_up(const struct rp_replay_result *result)
{
    rp_autofree double *sorted = rp_alloc_zero(result->count + 1, sizeof *sorted);
    struct summary s = {0};
    const size_t n = result->count;

    if (n == 0)
        return s;
    memcpy(sorted, result->samples, n * sizeof *sorted);
    s.median = rp_median(sorted, n);
    for (size_t i = 0; i < n; i++)
        s.average += sorted[i] / (double)n;
    s.min = sorted[0];
    s.max = sorted[n - 1];
    return s;
}

/** Prints the byte that gives a line its style: one of RP_REPLAY_GOOD ... */
static void replay_print_style(int letter)
{
    printf("%c%c", RP_REPLAY_INK, letter);
}

void rp_replay_put_string(const char *text)
{
    rp_autobuf inner = {0};

    rp_escape_json(&inner, text);
    printf("\"%s\"", rp_buf_text(&inner));
}

/** Escapes the text because it may come from a file. */
static void replay_put_escaped(const char *text)
{
    rp_autobuf clean = {0};

    rp_escape(&clean, text);
    printf("%s", rp_buf_text(&clean));
}

/* Prints a string of JSON, or null for NULL. */
static void put_text(const char *text)
{
    if (text)
        rp_replay_put_string(text);
    else
        printf("null");
}

/* --- what is wrong ------------------------------------------------------------------------- */

/* A word that is wrong, as what it seems to be. */
struct place {
    unsigned argument; /**< that points there; 0: none */
    uint64_t element, bytes;
    const char *type;
    char got[40], expected[40];
};

static const struct rp_capture_memory *region_at(const struct rp_replay *r, uint64_t address)
{
    for (size_t i = 0; i < r->memory_count; i++)
        if (address - r->memory[i].region.base < r->memory[i].region.bytes)
            return &r->memory[i];
    return NULL;
}

/* The argument is the one that points to the region, and of several the last before the word. */
static uint64_t find_argument(const struct rp_replay *r, uint64_t address, unsigned *ret)
{
    const struct rp_capture_memory *m = region_at(r, address);
    uint64_t best = 0;

    *ret = 0;
    for (size_t i = 0; m && i < r->visible.count; i++) {
        uint64_t value = 0;

        if (!r->visible.at[i].pointer)
            continue;
        memcpy(&value, (const uint8_t *)r->kernarg_kept + r->visible.at[i].offset, sizeof value);
        if (value - m->region.base >= m->region.bytes || value > address || value < best)
            continue;
        best = value;
        *ret = (unsigned)i + 1;
    }
    return best;
}

/* Numbers from 2^-40 to 2^40 are taken for such: as integers they are hardly ever so large. */
static bool seems_number(enum rp_number_type type, uint64_t bits)
{
    const double size = fabs(rp_number_value(type, bits));

    return size >= 0x1p-40 && size <= 0x1p40;
}

static bool seem_numbers(enum rp_number_type type, const struct rp_word_difference *d)
{
    const uint64_t mask = type == RP_F64 ? UINT64_MAX : UINT32_MAX;

    return seems_number(type, d->expected & mask) ||
           (seems_number(type, d->got & mask) && (d->expected & mask) == 0);
}

static void put_value(char *ret, size_t room, enum rp_number_type type, uint64_t bits)
{
    if (type == RP_F32)
        snprintf(ret, room, "%.9g", rp_number_value(RP_F32, (uint32_t)bits));
    else if (type == RP_F64)
        snprintf(ret, room, "%.17g", rp_number_value(RP_F64, bits));
    else if (type != RP_EXACT)
        snprintf(ret, room, "%.5g", rp_number_value(type, bits & UINT16_MAX));
    else
        snprintf(ret, room, "%" PRId32, (int32_t)(uint32_t)bits);
}

static struct place place_of(const struct rp_replay *r, const struct rp_word_difference *d)
{
    struct place place = {.bytes = 4, .type = "i32"};
    enum rp_number_type type = RP_EXACT;
    const uint64_t base = find_argument(r, d->address, &place.argument);

    const enum rp_number_type named =
        place.argument ? r->visible.at[place.argument - 1].type : RP_EXACT;
    const bool whole = (d->address - base) % 8 == 0;
    unsigned shift = 0;

    if (named == RP_F16 || named == RP_BF16) {
        type = named;
        place.type = type == RP_F16 ? "f16" : "bf16";
        place.bytes = 2;
        shift = (d->got ^ d->expected) & UINT16_MAX ? 0 : 16; /* the first half that differs */
    } else if (named == RP_F32 || (named == RP_EXACT && seem_numbers(RP_F32, d))) {
        type = RP_F32;
        place.type = "f32";
    } else if (whole && (named == RP_F64 || seem_numbers(RP_F64, d))) {
        type = RP_F64;
        place.type = "f64";
        place.bytes = 8;
    }
    place.element = (d->address - base + shift / 8) / place.bytes;
    put_value(place.got, sizeof place.got, type, d->got >> shift);
    put_value(place.expected, sizeof place.expected, type, d->expected >> shift);
    return place;
}

/* Prints the first word that is wrong, if there is one. */
static void put_difference(const struct rp_replay *r, const struct rp_word_difference *d)
{
    const struct place place = place_of(r, d);

    if (!d->any) {
        printf("null");
        return;
    }
    printf("{\"address\": \"0x%" PRIx64 "\", \"got\": %u, \"expected\": %u, \"argument\": ",
           d->address, (unsigned)(d->got & 0xff), (unsigned)(d->expected & 0xff));
    if (place.argument)
        printf("%u, \"element\": %" PRIu64, place.argument, place.element);
    else
        printf("null, \"element\": null");
    printf(", \"type\": \"%s\", \"values\": [\"%s\", \"%s\"]}", place.type, place.got,
           place.expected);
}

/* Prints it at the end of a line of text. */
static void print_difference(const struct rp_replay *r, const struct rp_word_difference *d)
{
    const struct place place = place_of(r, d);

    if (!d->any)
        printf("\n");
    else if (place.argument)
        printf("; first in argument %u, element %" PRIu64 " (%s): %s instead of %s\n",
               place.argument, place.element, place.type, place.got, place.expected);
    else
        printf("; first at 0x%" PRIx64 " (%s): %s instead of %s\n", d->address, place.type,
               place.got, place.expected);
}

/* Prints how much is wrong, at the end of a line of text. */
static void print_wrong_bytes(const struct rp_replay *r, const struct rp_replay_outcome *o)
{
    printf(": %" PRIu64 " bytes wrong, %" PRIu64
           " bytes changed that the captured kernel leaves, %" PRIu64 " of variables",
           o->wrong_bytes, o->outside_bytes, o->variable_bytes);
    print_difference(r, &o->first);
}

/* Prints the first byte that is not as captured, if there is one. */
static void put_byte(const struct rp_replay_verdict *v)
{
    if (v->different_pages)
        printf("{\"address\": \"0x%" PRIx64 "\", \"got\": %u, \"expected\": %u}", v->first_address,
               v->got, v->expected);
    else
        printf("null");
}

static void print_verdict_json(const struct rp_replay_result *result)
{
    const struct rp_replay_verdict *v = &result->verdict;

    if (!result->verified) {
        printf("  \"verify\": null\n");
        return;
    }
    printf("  \"verify\": {\n    \"equal\": %s,\n    \"regions\": %" PRIu64
           ",\n    \"bytes\": %" PRIu64 ",\n    \"different_pages\": %" PRIu64
           ",\n    \"first_difference\": ",
           v->different_pages ? "false" : "true", v->regions, v->bytes, v->different_pages);
    put_byte(v);
    printf("\n  }\n");
}

/* Tests whether any variation was tried. */
static bool tried(const struct rp_variation_runs *v)
{
    for (unsigned i = 0; i < RP_VARIATIONS && !v->reason; i++)
        if (!v->of[i].reason)
            return true;
    return false;
}

/* Tests whether the kernel ran with other values: in memory, or as arguments if its result does
 * not depend on memory.
 */
static bool tried_values(const struct rp_variation_runs *v)
{
    bool open = v->reason != NULL;

    for (unsigned i = 0; i < RP_VARIATIONS && !v->reason; i++) {
        if (!rp_varies_memory((enum rp_variation)i))
            continue;
        if (!v->of[i].reason)
            return true;
        open = open || v->of[i].open;
    }
    /* One changed argument does not expose a kernel that knows the captured memory. */
    return !open && !v->of[RP_VARY_ARGUMENTS].reason;
}

static const char *reason_of(const struct rp_variation_runs *v)
{
    for (unsigned i = 0; i < RP_VARIATIONS && !v->reason; i++)
        if (v->of[i].open && rp_varies_memory((enum rp_variation)i))
            return v->of[i].reason;
    return v->reason ? v->reason : v->of[RP_VARY_NUMBERS].reason;
}

/** Tests whether an argument is 0 and no other value of it, or of a part of it, was tried. */
static bool zero_untried(const struct rp_variation_runs *v, size_t argument)
{
    const struct rp_replay *r = v->trial->r;

    for (size_t i = 0; i < r->scalars.count; i++)
        if ((v->zeros_untried & ~v->zeros_tried) >> i & 1 &&
            rp_launch_argument_at(&r->visible, r->scalars.at[i].offset) == argument)
            return true;
    return false;
}

static void put_zeros_untried(const struct rp_variation_runs *v)
{
    const char *comma = "";

    printf("[");
    for (size_t argument = 1; argument <= v->trial->r->visible.count; argument++)
        if (zero_untried(v, argument)) {
            printf("%s%zu", comma, argument);
            comma = ", ";
        }
    printf("]");
}

static void replay_put_variations(const struct rp_variation_runs *v,
                                  const struct rp_replay_outcome *outcome)
{
    const struct rp_replay *r = v->trial->r;
    const bool any = tried(v);

    printf("{\"equal\": %s, \"wrong_bytes\": %" PRIu64 ", \"outside_bytes\": %" PRIu64
           ", \"reason\": ",
           !any                               ? "null"
           : outcome->verdict.different_bytes ? "false"
                                              : "true",
           outcome->wrong_bytes, outcome->outside_bytes);
    put_text(tried_values(v) ? NULL : reason_of(v));
    printf(", \"wrong_with\": ");
    put_text(outcome->verdict.different_bytes ? rp_variations[outcome->variation].word : NULL);
    printf(", \"size\": ");
    if (outcome->verdict.different_bytes && outcome->variation == RP_VARY_SIZES)
        printf("{\"argument\": %u, \"captured\": %" PRIu64 ", \"tried\": %" PRIu64 "}",
               rp_launch_argument_at(&r->visible, r->scalars.at[outcome->size.scalar].offset),
               outcome->size.was, outcome->size.is);
    else if (outcome->verdict.different_bytes && outcome->variation == RP_VARY_ZERO_ARGUMENTS)
        printf("{\"argument\": %u, \"captured\": 0, \"tried\": %g}",
               rp_launch_argument_at(&r->visible, r->scalars.at[outcome->size.scalar].offset),
               outcome->size.number);
    else
        printf("null");
    printf(", \"zeros_untried\": ");
    put_zeros_untried(v);
    printf(", \"overlap\": ");
    if (outcome->verdict.different_bytes && outcome->variation == RP_VARY_IN_PLACE)
        printf("{\"written\": %u, \"read\": %u}", outcome->overlap.written + 1,
               outcome->overlap.read + 1);
    else
        printf("null");
    printf(", \"first_difference\": ");
    put_difference(r, &outcome->first);
    for (unsigned i = 0; i < RP_VARIATIONS; i++) {
        const char *reason = v->reason ? v->reason : v->of[i].reason;

        printf(", \"%s\": {\"tried\": %s, \"changed\": %" PRIu64 ", \"telling_bytes\": %" PRIu64
               ", \"reason\": ",
               rp_variations[i].word, reason ? "false" : "true", v->of[i].changed,
               v->of[i].telling_bytes);
        put_text(reason);
        printf("}");
    }
    printf("}");
}

/** Prints by how much a result that should be exact is wrong, if rounding may explain it. */
static void replay_print_rounding(const struct rp_replay_trial *trial,
                                  const struct rp_replay_outcome *o)
{
    enum rp_number_type type;
    uint64_t steps;
    char rule[RP_COMPARE_TEXT];

    if (trial->rule.type != RP_EXACT || o->outside_bytes || o->variable_bytes ||
        !rp_mismatch_is_rounding(&o->off, &type, &steps))
        return;
    rp_compare_rule_print(&(struct rp_compare_rule){.type = type, .ulp = steps}, rule, sizeof rule);
    printf("as numbers of fp%u all that is wrong is at most %" PRIu64 " ulp off: if it is that, "
           "--compare %s (or rel=X) allows for it\n",
           8 * rp_number_shape(type).bytes, steps, rule);
}

/** Prints what other inputs leave as captured. */
static void replay_print_same_arguments(const struct rp_variation_runs *v)
{
    if (tried_values(v) && v->of[RP_VARY_ARGUMENTS].reason)
        printf("other inputs are other memory: arguments that are no pointers were as captured "
               "(%s), and a kernel that has their values built in is not noticed\n",
               v->of[RP_VARY_ARGUMENTS].reason);
}

static void print_untried(const struct rp_variation_runs *v)
{
    if (!tried_values(v))
        printf("other %s were not tried: %s\n",
               v->reason || v->of[RP_VARY_ARGUMENTS].reason ? "inputs" : "values in memory",
               reason_of(v));
    for (size_t argument = 1; v->zeros_untried && argument <= v->trial->r->visible.count;
         argument++)
        if (zero_untried(v, argument))
            printf("not compared with other values of argument %zu: it is 0 in the capture, and "
                   "the captured kernel does not stand them\n",
                   argument);
}

static void replay_print_variations(const char *path, const struct rp_variation_runs *v,
                                    const struct rp_replay_outcome *outcome)
{
    const unsigned wrong = outcome->variation;
    char which[RP_VARIATION_ARGUMENT_TEXT];

    print_untried(v);
    if (v->reason)
        return;
    if (outcome->verdict.different_bytes) {
        replay_print_style(RP_REPLAY_BAD);
        printf("%s: %s (", path, rp_variations[wrong].how);
        rp_variation_argument(v->trial->r, outcome, which);
        if (*which)
            printf("%s", which);
        else
            printf("%" PRIu64 " %s", v->of[wrong].changed, rp_variations[wrong].units);
        printf(")%s it does not give what the captured kernel gives: %" PRIu64
               " bytes wrong, %" PRIu64 " bytes changed that that one leaves",
               outcome->second ? RP_VARIATION_SECOND "," : "", outcome->wrong_bytes,
               outcome->outside_bytes);
        print_difference(v->trial->r, &outcome->first);
        return;
    }
    for (unsigned i = 0; i < RP_VARIATIONS; i++)
        if (!v->of[i].reason)
            printf("%s: %s (%" PRIu64 " %s) it gives what the captured kernel gives; %" PRIu64
                   " bytes differ\n",
                   path, rp_variations[i].how, v->of[i].changed, rp_variations[i].units,
                   v->of[i].telling_bytes);
}

static void print_candidate_json(const struct rp_replay_result *result)
{
    const struct rp_replay_trial *t = &result->trial;
    const struct rp_replay_outcome *o = &result->outcome;

    printf("  \"candidate\": {\n    \"compare\": ");
    rp_replay_put_string(t->rule_text);
    printf(",\n    \"compare_runs\": %u", t->own.runs);
    printf(",\n    \"probed\": %s,\n    \"written_bytes\": %" PRIu64
           ",\n    \"poisoned_bytes\": %" PRIu64 ",\n    \"blind_bytes\": %" PRIu64
           ",\n    \"leftovers\": {\"tried\": %s, \"reason\": ",
           t->probe ? "true" : "false", t->written_bytes, t->poisoned_bytes, t->blind_bytes,
           t->leftovers ? "true" : "false");
    put_text(t->leftovers_reason);
    printf("},\n    \"checked_runs\": %lu,\n    \"wrong_runs\": %lu"
           ",\n    \"wrong_bytes\": %" PRIu64 ",\n    \"outside_bytes\": %" PRIu64
           ",\n    \"variable_bytes\": %" PRIu64 ",\n    \"other_inputs\": ",
           result->checked_runs, result->wrong_runs, o->wrong_bytes, o->outside_bytes,
           o->variable_bytes);
    replay_put_variations(&result->varied, &result->varied_outcome);
    printf("\n  },\n");
}

/** Prints " on gfx942 AMD Instinct MI300X (...)" after the kernel's name. */
static void replay_print_device(const struct rp_replay *r)
{
    const char *model = r->timing;

    printf(" on %s", r->gpu_name);
    if (r->product[0])
        printf(" ");
    replay_put_escaped(r->product);
    if (model)
        printf(" (software device: modelled time (%s), not that of a GPU)", model);
}

static void print_json(const struct rp_replay *r, const struct rp_replay_request *q,
                       const struct rp_replay_result *result)
{
    const struct summary s = sum_up(result);

    printf("{\n  \"schema_version\": \"1.0\",\n  \"capture_complete\": %s,\n  \"kernel\": {\n    "
           "\"name\": ",
           rp_replay_is_complete(r) ? "true" : "false");
    rp_replay_put_string(r->facts->name);
    printf(",\n    \"hsaco_path\": ");
    rp_replay_put_string(q->candidates[0] ? q->candidates[0] : q->code);
    printf("\n  },\n  \"execution\": {\n    \"iterations\": %lu,\n    \"warmup\": %lu,\n"
           "    \"mode\": \"%s\",\n    \"restored\": \"%s\",\n    \"cache\": \"%s\"\n  },\n",
           q->o.iterations, q->o.warmup, q->o.no_recopy ? "stateful" : "stateless",
           q->o.no_recopy         ? "nothing"
           : result->restored_all ? "all"
                                  : "changed",
           rp_replay_caches[r->cache]);
    printf("  \"timing\": {\n    \"unit\": \"us\",\n    \"average\": %.3f,\n    \"min\": %.3f,\n"
           "    \"max\": %.3f,\n    \"median\": %.3f,\n    \"samples\": [",
           s.average, s.min, s.max, s.median);
    for (unsigned long i = 0; i < result->count; i++)
        printf("%s%.3f", i ? ", " : "", result->samples[i]);
    printf("]\n  },\n  \"environment\": {\n    \"device\": \"%s\",\n    \"timing_model\": ",
           r->software ? "software" : "gpu");
    put_text(r->timing);
    printf(",\n    \"gpu_agent\": ");
    rp_replay_put_string(r->gpu_name);
    printf(",\n    \"product\": ");
    rp_replay_put_string(r->product);
    printf(",\n    \"rocm_version\": ");
    rp_replay_put_string(q->o.rocm_version ? q->o.rocm_version : "");
    printf(",\n    \"pid\": %d\n  },\n", (int)getpid());
    if (q->candidates[0])
        print_candidate_json(result);
    rp_check_runs_print_json(&result->checks, ",");
    print_verdict_json(result);
    printf("}\n");
}

static void print_checks(const struct rp_check_runs *c, const char *base, const char *other)
{
    const char *const names[] = {base, other};

    if (*c->what)
        replay_print_style(c->words ? RP_REPLAY_BAD : RP_REPLAY_GOOD);
    rp_check_runs_print(c, names);
}

static void print_candidate_text(const struct rp_replay_request *q,
                                 const struct rp_replay_result *result)
{
    const struct rp_replay_trial *t = &result->trial;
    const struct rp_replay_verdict *v = &result->verdict;

    printf("%s in place of the captured kernel, which writes %" PRIu64 " bytes: %" PRIu64
           " poisoned before each run, %" PRIu64 " unverifiable\n",
           q->candidates[0], t->written_bytes, t->poisoned_bytes, t->blind_bytes);
    replay_print_style(v->different_pages ? RP_REPLAY_BAD : RP_REPLAY_GOOD);
    if (!v->different_pages)
        printf("memory is right after all %lu runs (%s)\n", result->checked_runs, t->rule_text);
    else
        printf("memory is not right after %lu of %lu runs (%s)", result->wrong_runs,
               result->checked_runs, t->rule_text);
    if (v->different_pages)
        print_wrong_bytes(t->r, &result->outcome);
    if (v->different_pages && result->outcome.leftovers)
        printf(
            "it was right where LDS, scratch and registers begin as zeros, and is not where they "
            "hold something else: it reads what it has not written\n");
    if (result->late)
        printf("this was seen after the last run: of timed runs only what the captured kernel "
               "writes is looked at each time\n");
    replay_print_rounding(t, &result->outcome);
    replay_print_variations(q->candidates[0], &result->varied, &result->varied_outcome);
    replay_print_rounding(t, &result->varied_outcome);
    replay_print_same_arguments(&result->varied);
}

static void print_times(const struct summary *s, unsigned long runs)
{
    struct rp_unit_span span = {0};
    struct rp_unit unit;

    rp_unit_span_add(&span, s->median * 1e3);
    rp_unit_span_add_both(&span, s->min * 1e3, s->max * 1e3);
    unit = rp_unit_of(RP_UNIT_TIME, span, rp_locale_is_utf8());
    printf("\n%lu runs: median %s %s, average %s, min %s, max %s\n", runs,
           rp_unit_number(unit, s->median * 1e3).text, unit.name,
           rp_unit_number(unit, s->average * 1e3).text, rp_unit_number(unit, s->min * 1e3).text,
           rp_unit_number(unit, s->max * 1e3).text);
}

static void print_text(const struct rp_replay *r, const struct rp_replay_request *q,
                       const struct rp_replay_result *result)
{
    const struct rp_replay_verdict *v = &result->verdict;
    const struct summary s = sum_up(result);

    if (r->software)
        replay_print_style(RP_REPLAY_CARE);
    replay_put_escaped(r->facts->name);
    replay_print_device(r);
    if (r->software && strcmp(r->timing, "off") == 0)
        printf("\n%lu runs, not timed\n", q->o.iterations);
    else
        print_times(&s, q->o.iterations);
    if (q->candidates[0])
        print_candidate_text(q, result);
    print_checks(&result->checks, q->candidates[0] ? "the captured kernel" : NULL, "it");
    if (q->candidates[0] || !result->verified)
        return;
    replay_print_style(v->different_pages ? RP_REPLAY_BAD : RP_REPLAY_GOOD);
    if (!v->different_pages)
        printf("memory after it is as captured: %" PRIu64 " bytes in %" PRIu64 " regions\n",
               v->bytes, v->regions);
    else
        printf("memory after it is not as captured: %" PRIu64 " pages differ, first at 0x%" PRIx64
               ": %02x instead of %02x\n",
               v->different_pages, v->first_address, v->got, v->expected);
}

void rp_replay_print(const struct rp_replay *r, const struct rp_replay_request *q,
                     const struct rp_replay_result *result)
{
    (q->o.json ? print_json : print_text)(r, q, result);
}

/* These functions print which of two kernels is faster, as text and as JSON
 * (schemas/replay_compare.schema.json).
 */

/* Returns the median of whole blocks. @return 0: there are none */
static double median_us(const struct rp_replay_comparison *c, unsigned which)
{
    const size_t n = c->block_count * c->runs;
    rp_autofree double *us = rp_alloc_zero(n + 1, sizeof *us);

    if (n == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        us[i] = c->blocks[i / c->runs].us[which][i % c->runs];
    return rp_median(us, n);
}

/* --- JSON ---------------------------------------------------------------------------------- */

static void put_kernel(const char *name, const char *path, const struct rp_variation_runs *varied,
                       const struct rp_compare_kernel *k, double us)
{
    const struct rp_replay_launch_change *launch =
        &varied->trial->r->candidates[*name - 'a'].launch;

    printf("  \"%s\": {\n    \"hsaco_path\": ", name);
    rp_replay_put_string(path);
    printf(",\n    \"checked_runs\": %lu,\n    \"wrong_runs\": %lu,\n    \"wrong_bytes\": %" PRIu64
           ",\n    \"outside_bytes\": %" PRIu64 ",\n    \"variable_bytes\": %" PRIu64
           ",\n    \"first_difference\": ",
           k->checked_runs, k->wrong_runs, k->outcome.wrong_bytes, k->outcome.outside_bytes,
           k->outcome.variable_bytes);
    put_difference(varied->trial->r, &k->outcome.first);
    printf(",\n    \"other_inputs\": ");
    replay_put_variations(varied, &k->varied);
    if (launch->given)
        printf(",\n    \"launch\": {\"grid\": [%u, %u, %u], \"workgroup\": [%u, %u, %u]}",
               launch->grid[0], launch->grid[1], launch->grid[2], launch->workgroup[0],
               launch->workgroup[1], launch->workgroup[2]);
    if (us > 0)
        printf(",\n    \"median_us\": %.3f\n  },\n", us);
    else
        printf(",\n    \"median_us\": null\n  },\n");
}

static void put_ratio(const char *name, const struct rp_decided *d)
{
    if (d->level > 0)
        printf("  \"%s\": {\"estimate\": %.6f, \"low\": %.6f, \"high\": %.6f, \"level\": %.6f},\n",
               name, d->ratio, d->low, d->high, d->level);
    else
        printf("  \"%s\": null,\n", name);
}

static void put_others(const struct rp_replay_comparison *c)
{
    const char *comma = "";

    printf("  \"other_ratios\": [");
    for (unsigned i = 0; i < RP_VARIATIONS; i++) {
        const struct rp_decided *d = &c->others[i];

        if (!(d->level > 0))
            continue;
        printf("%s\n    {\"inputs\": \"%s\", \"demanded\": %s, \"estimate\": %.6f, \"low\": %.6f, "
               "\"high\": %.6f, \"level\": %.6f}",
               comma, rp_variations[i].word,
               rp_varies_memory((enum rp_variation)i) ? "true" : "false", d->ratio, d->low, d->high,
               d->level);
        comma = ",";
    }
    printf("%s],\n", *comma ? "\n  " : "");
}

static void put_blocks(const char *name, const struct rp_compare_block *blocks, size_t count,
                       unsigned runs, const char *end)
{
    printf("  \"%s\": [", name);
    for (size_t i = 0; i < count; i++) {
        printf("%s\n    {\"order\": \"%s\"", i ? "," : "", blocks[i].turned ? "BAAB" : "ABBA");
        for (unsigned which = 0; which < 2; which++) {
            printf(", \"%s_us\": [", which ? "b" : "a");
            for (unsigned j = 0; j < runs; j++)
                printf("%s%.3f", j ? ", " : "", blocks[i].us[which][j]);
            printf("]");
        }
        printf("}");
    }
    printf("%s]%s\n", count ? "\n  " : "", end);
}

static void print_comparison_json(const struct rp_replay *r, const struct rp_replay_request *q,
                                  const struct rp_replay_comparison *c)
{
    const struct rp_comparison_words words = rp_replay_comparison_words(c);
    const char *by = words.undecided_by;
    const bool timed = !c->wrong;

    printf(
        "{\n  \"schema_version\": \"1.0\",\n  \"capture_complete\": %s,\n  \"kernel\": {\"name\": ",
        rp_replay_is_complete(r) ? "true" : "false");
    rp_replay_put_string(r->facts->name);
    printf("},\n  \"verdict\": \"%s\",\n  \"reason\": ", words.verdict);
    put_text(words.reason);
    printf(",\n  \"undecided_by\": %s%s%s,\n", by ? "\"" : "", by ? by : "null", by ? "\"" : "");
    put_kernel("a", q->candidates[0], &c->varied, &c->kernels[0], timed ? median_us(c, 0) : 0);
    put_kernel("b", q->candidates[1], &c->varied, &c->kernels[1], timed ? median_us(c, 1) : 0);
    put_ratio("ratio", timed ? &c->decided : &(struct rp_decided){0});
    put_ratio("a_to_a", timed ? &c->same_decided : &(struct rp_decided){0});
    put_others(c);
    rp_check_runs_print_json(&c->checks, ",");
    printf("  \"rule\": {\"alpha\": %.4f, \"asked_margin\": %.6f, \"margin\": %.6f, \"noise\": ",
           RP_COMPARE_ALPHA, c->asked_margin, timed ? c->margin : c->asked_margin);
    if (timed)
        printf("%.6f", c->noise);
    else
        printf("null");
    printf(", \"most_blocks\": %zu, \"runs_per_block\": %u, \"cache\": \"%s\", \"compare\": ",
           c->most_blocks, c->runs, rp_replay_caches[r->cache]);
    rp_replay_put_string(c->trial.rule_text);
    printf(", \"compare_runs\": %u, \"rounding\": ", c->trial.own.runs);
    if (c->trial.bound.words)
        printf("{\"by\": \"%s\", \"largest\": %.6g, \"allowed\": %.6g}",
               c->trial.bound.noise ? "inputs" : "terms", c->trial.bound.largest,
               c->trial.bound.allowed);
    else
        printf("null");
    printf("},\n  \"memory\": {\"probed\": %s, \"written_bytes\": %" PRIu64
           ", \"poisoned_bytes\": %" PRIu64 ", \"blind_bytes\": %" PRIu64
           ", \"leftovers\": {\"tried\": %s, \"reason\": ",
           c->trial.probe ? "true" : "false", c->trial.written_bytes, c->trial.poisoned_bytes,
           c->trial.blind_bytes, c->trial.leftovers ? "true" : "false");
    put_text(c->trial.leftovers_reason);
    printf("}},\n  \"environment\": {\"device\": \"%s\", \"timing_model\": ",
           r->software ? "software" : "gpu");
    put_text(r->timing);
    printf(", \"gpu_agent\": ");
    rp_replay_put_string(r->gpu_name);
    printf(", \"product\": ");
    rp_replay_put_string(r->product);
    printf(", \"rocm_version\": ");
    rp_replay_put_string(q->o.rocm_version ? q->o.rocm_version : "");
    printf("},\n");
    put_blocks("a_to_a_blocks", c->same, timed ? c->same_count : 0, c->runs, ",");
    put_blocks("blocks", c->blocks, timed ? c->block_count : 0, c->runs, "");
    printf("}\n");
}

/* --- text ---------------------------------------------------------------------------------- */

static void print_wrong(const char *path, const struct rp_replay_trial *trial,
                        const struct rp_compare_kernel *k)
{
    replay_print_style(k->wrong_runs ? RP_REPLAY_BAD : RP_REPLAY_GOOD);
    replay_put_escaped(path);
    if (k->wrong_runs)
        printf(": memory is not right after %lu of %lu runs", k->wrong_runs, k->checked_runs);
    else
        printf(": memory is right after all %lu runs\n", k->checked_runs);
    if (k->wrong_runs)
        print_wrong_bytes(trial->r, &k->outcome);
    replay_print_rounding(trial, &k->outcome);
}

static void print_late(const struct rp_replay_comparison *c)
{
    replay_print_style(RP_REPLAY_BAD);
    printf("after blocks of runs, by %s", c->late_by);
    print_wrong_bytes(c->trial.r, &c->late);
}

/** Says only that both are right, where they are. */
static void print_right_inputs(const struct rp_replay_comparison *c)
{
    unsigned kinds = 0;

    for (unsigned i = 0; i < RP_VARIATIONS; i++)
        kinds += !c->varied.of[i].reason;
    print_untried(&c->varied);
    printf("A and B give what the captured kernel gives with %u kind%s of other inputs, too (-v: "
           "which)\n",
           kinds, rp_plural(kinds));
    replay_print_same_arguments(&c->varied);
}

static void print_varied_inputs(const struct rp_replay_request *q,
                                const struct rp_replay_comparison *c)
{
    if (tried(&c->varied) && !c->wrong_varied && !q->o.verbose) {
        print_right_inputs(c);
        return;
    }
    for (unsigned i = 0; i < (tried(&c->varied) ? 2 : 1); i++) {
        replay_print_variations(q->candidates[i], &c->varied, &c->kernels[i].varied);
        replay_print_rounding(&c->trial, &c->kernels[i].varied);
    }
    replay_print_same_arguments(&c->varied);
}

static void print_medians(const struct rp_replay_comparison *c)
{
    const double a = median_us(c, 0) * 1e3, b = median_us(c, 1) * 1e3;
    struct rp_unit_span span = {0};
    struct rp_unit unit;

    rp_unit_span_add_both(&span, a, b);
    unit = rp_unit_of(RP_UNIT_TIME, span, rp_locale_is_utf8());
    printf("median of A %s %s, of B %s %s\n", rp_unit_number(unit, a).text, unit.name,
           rp_unit_number(unit, b).text, unit.name);
}

/** Writes the verdict with its interval. */
static void print_verdict(const struct rp_replay_comparison *c)
{
    const struct rp_decided *d = &c->decided;
    const struct rp_comparison_words words = rp_replay_comparison_words(c);

    replay_print_style(d->decision == RP_FASTER   ? RP_REPLAY_GOOD
                       : d->decision == RP_SLOWER ? RP_REPLAY_BAD
                       : d->decision == RP_EQUAL  ? RP_REPLAY_BOLD
                                                  : RP_REPLAY_CARE);
    if (d->decision == RP_FASTER || d->decision == RP_SLOWER)
        printf("B is %s than A", rp_speed_change(d->ratio).text);
    else if (d->decision == RP_EQUAL)
        printf("No difference: B is as fast as A");
    else
        printf("Undecided whether B is faster or slower than A: %s",
               words.reason ? words.reason : "");
    if (d->level > 0 && c->by_bounds)
        printf(" (%s by the bounds of their times)", rp_speed_range(d->low, d->high).text);
    else if (c->settled)
        printf(" (the modelled time is the same in all runs of a kernel)");
    else if (d->level > 0)
        printf(" (%s with %.2f %% confidence, %zu blocks of %u runs)",
               rp_speed_range(d->low, d->high).text, 100 * d->level, c->block_count, c->runs);
    printf("\n");
}

/** Writes what the verdict rests on. */
static void print_rule(const struct rp_replay_comparison *c)
{
    printf("margin %.2f %%", 100 * c->margin);
    if (!c->settled)
        printf(", A differed from itself by %.2f %%", 100 * c->noise);
    printf("; memory is right after all %lu runs (%s%s)\n",
           c->kernels[0].checked_runs + c->kernels[1].checked_runs, c->trial.rule_text,
           c->trial.bound.words ? ", but for rounding" : "");
    rp_rounding_bound_print(&c->trial.bound, "B");
}

/** Says what was compared, below the result. */
static void print_compared(const struct rp_replay *r, const struct rp_replay_request *q)
{
    const struct rp_replay_launch_change *b = &r->candidates[1].launch;
    const struct rp_snapshot_dispatch *d = &r->facts->dispatch;

    if (r->software)
        replay_print_style(RP_REPLAY_CARE);
    replay_put_escaped(q->o.kernel ? q->o.kernel : r->facts->name);
    replay_print_device(r);
    printf("\nA ");
    replay_put_escaped(q->candidates[0]);
    printf("\nB ");
    replay_put_escaped(q->candidates[1]);
    if (b->given)
        printf(" in workgroups of %ux%ux%u in place of %ux%ux%u", b->workgroup[0], b->workgroup[1],
               b->workgroup[2], d->workgroup[0], d->workgroup[1], d->workgroup[2]);
    printf("\n");
}

static const char *who_is_wrong(const struct rp_replay_comparison *c)
{
    const bool a = c->kernels[0].wrong_runs || c->kernels[0].varied.verdict.different_bytes;
    const bool b = c->kernels[1].wrong_runs || c->kernels[1].varied.verdict.different_bytes;

    return a && b ? "A and B are wrong" : a ? "A is wrong" : "B is wrong";
}

static void print_comparison_text(const struct rp_replay *r, const struct rp_replay_request *q,
                                  const struct rp_replay_comparison *c)
{
    const struct rp_decided *d = &c->decided;
    const struct rp_comparison_words words = rp_replay_comparison_words(c);

    if (c->wrong) {
        replay_print_style(RP_REPLAY_BAD);
        printf("%s; not timed: %s (%s)\n", who_is_wrong(c), words.reason, c->trial.rule_text);
        print_compared(r, q);
        print_wrong(q->candidates[0], &c->trial, &c->kernels[0]);
        print_wrong(q->candidates[1], &c->trial, &c->kernels[1]);
        if (c->late_by)
            print_late(c);
        print_checks(&c->checks, "A", "B");
        if (c->wrong_varied)
            print_varied_inputs(q, c);
        return;
    }
    print_verdict(c);
    print_compared(r, q);
    print_rule(c);
    if (d->level > 0)
        print_medians(c);
    if (!c->settled)
        printf("A against itself: %s in %zu blocks\n",
               rp_speed_range(c->same_decided.low, c->same_decided.high).text, c->same_count);
    for (unsigned i = 0; i < RP_VARIATIONS; i++)
        if (c->others[i].level > 0)
            printf("%s: B is %s (%s)\n", rp_variations[i].how,
                   rp_speed_change(c->others[i].ratio).text,
                   rp_speed_range(c->others[i].low, c->others[i].high).text);
    print_checks(&c->checks, "A", "B");
    print_varied_inputs(q, c);
    if (words.undecided_by) {
        replay_print_style(RP_REPLAY_OPEN);
        printf("%s", words.undecided_by);
    }
}

void rp_comparison_print(const struct rp_replay *r, const struct rp_replay_request *q,
                         const struct rp_replay_comparison *c)
{
    (q->o.json ? print_comparison_json : print_comparison_text)(r, q, c);
}
