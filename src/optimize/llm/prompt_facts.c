#include "optimize/llm/prompt_facts.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "optimize/facts.h"
#include "optimize/kernel_source.h"
#include "optimize/llm/prompt_parts.h"
#include "optimize/llm/utf8.h"

enum { MAX_CEILINGS = 8, MAX_RULES = 8, MAX_LINE_BYTES = 160 };

/* Names come out of the user's files, too. */
static void add_word(struct rp_buf *out, const char *word)
{
    size_t bytes = strcspn(word, "\n\r`");

    rp_utf8_add(out, word, bytes > 200 ? 200 : bytes);
}

static void add_quantity(struct rp_buf *out, const char *what, const struct rp_quantity *q,
                         double factor, const char *unit)
{
    if (q->known)
        rp_buf_printf(out, "- %s: %.4g%s%s\n", what, q->value * factor, *unit ? " " : "", unit);
}

static void add_share(struct rp_buf *out, const char *what, const struct rp_quantity *q,
                      const char *of)
{
    if (q->known)
        rp_buf_printf(out, "- %s: %.1f %% of %s\n", what, 100 * q->value, of);
}

static void add_named(struct rp_buf *out, const char *what, const char *value)
{
    if (!value)
        return;
    rp_buf_printf(out, "- %s: ", what);
    add_word(out, value);
    rp_buf_puts(out, "\n");
}

static void add_hardware(struct rp_prompt_parts *parts, const struct rp_kernel_facts *facts)
{
    const struct rp_arch *arch = facts->arch ? rp_arch_find(facts->arch) : NULL;
    struct rp_buf *out = rp_prompt_part(parts, RP_SECTION_HARDWARE, RP_RANK_NEEDED, 0);

    rp_buf_puts(&parts->heads[RP_SECTION_HARDWARE], "## Hardware\n");
    rp_buf_puts(&parts->tails[RP_SECTION_HARDWARE], "\n");
    add_named(out, "GPU", facts->product ? facts->product : arch ? arch->product : NULL);
    add_named(out, "architecture", facts->arch);
    if (facts->device && strcmp(facts->device, "software") == 0)
        rp_buf_puts(out, "- measured on a software model of this GPU: times are modelled\n");
    if (!arch)
        return;
    rp_buf_printf(out,
                  "- wavefront: %u work-items; %u SIMDs per compute unit, at most %u waves each\n",
                  arch->wave_size, arch->simds_per_cu, arch->max_waves_per_simd);
    rp_buf_printf(out, "- vector registers: %u per lane and SIMD%s, given in steps of %u\n",
                  arch->vgprs_per_simd,
                  arch->vgpr_file == RP_VGPR_UNIFIED ? ", accumulation registers included" : "",
                  arch->vgpr_granule);
    rp_buf_printf(out, "- LDS: %u bytes per compute unit, in %u banks\n", arch->lds_bytes_per_cu,
                  arch->lds_banks);
    if (arch->l1_bytes && arch->l2_bytes)
        rp_buf_printf(
            out, "- caches: L1 %u bytes per compute unit in lines of %u, L2 %u bytes per XCD\n",
            arch->l1_bytes, arch->l1_line_bytes, arch->l2_bytes);
}

static void add_limits(struct rp_buf *out, const struct rp_kernel_facts *f)
{
    add_named(out, "bottleneck", f->bottleneck);
    add_named(out, "bound by", f->bound);
    add_share(out, "time that this bound needs at its ceiling", &f->bound_share, "the kernel's");
    add_quantity(out, "arithmetic intensity", &f->intensity, 1, "FLOP per byte");
    add_quantity(out, "achieved", &f->gflops, 1, "GFLOP/s");
    add_quantity(out, "achieved", &f->gbps, 1, "GB/s");
    for (size_t i = 0; i < f->ceiling_count && i < MAX_CEILINGS; i++) {
        rp_buf_puts(out, "- of the ceiling of ");
        add_word(out, f->ceilings[i].name);
        rp_buf_printf(out, ": %.1f %%\n", 100 * f->ceilings[i].fraction);
    }
}

static void add_resources(struct rp_buf *out, const struct rp_kernel_facts *f)
{
    add_quantity(out, "vector registers allocated per work-item", &f->vgprs, 1, "");
    add_quantity(out, "accumulation registers allocated per work-item", &f->agprs, 1, "");
    add_quantity(out, "scalar registers allocated per wave", &f->sgprs, 1, "");
    add_quantity(out, "LDS per workgroup", &f->lds_bytes, 1, "bytes");
    add_quantity(out, "scratch per work-item", &f->scratch_bytes, 1, "bytes");
    if (f->grid[0] && f->block[0])
        rp_buf_printf(out,
                      "- launched with %u x %u x %u work-items in workgroups of %u x %u x %u%s\n",
                      f->grid[0], f->grid[1], f->grid[2], f->block[0], f->block[1], f->block[2],
                      f->geometry_count > 1 ? " (and in other sizes)" : "");
    add_share(out, "theoretical occupancy", &f->occupancy, "the waves that a SIMD can hold");
    add_named(out, "occupancy limited by", f->limiter);
}

static void add_measured(struct rp_prompt_parts *parts, const struct rp_kernel_facts *f)
{
    struct rp_buf *out = rp_prompt_part(parts, RP_SECTION_MEASURED, RP_RANK_NEEDED, 0);

    rp_buf_puts(&parts->heads[RP_SECTION_MEASURED], "## Measured\n");
    rp_buf_puts(&parts->tails[RP_SECTION_MEASURED], "\n");
    add_quantity(out, "calls", &f->calls, 1, "");
    add_quantity(out, "time of all calls", &f->time_ns, 1e-3, "us");
    add_share(out, "weight", &f->weight,
              f->weight_basis && strcmp(f->weight_basis, "critical_path") == 0
                  ? "the critical path of the program"
                  : "the time of all kernels");
    add_share(out, "headroom", &f->headroom, "the kernel's time");
    add_limits(out, f);
    add_resources(out, f);
    for (size_t i = 0; i < f->rule_count && i < MAX_RULES; i++) {
        out = rp_prompt_part(parts, RP_SECTION_MEASURED, RP_RANK_MEASURED, i);
        rp_buf_puts(out, "- ");
        add_word(out, f->rules[i].text);
        rp_buf_puts(out, "\n");
    }
}

/* "dir/k.hip:14" of this file: what stands in its line 14. */
static void add_line_text(struct rp_buf *out, const char *place,
                          const struct rp_kernel_source *source)
{
    const char *colon = strrchr(place, ':'), *slash = strrchr(source->path, '/');
    const char *name = slash ? slash + 1 : source->path, *line = source->text;
    size_t length = strlen(name);
    long number = colon ? strtol(colon + 1, NULL, 10) : 0;

    if (number < 1 || (size_t)(colon - place) < length ||
        strncmp(colon - length, name, length) != 0)
        return;
    while (--number > 0 && line)
        if ((line = strchr(line, '\n')))
            line++;
    if (!line)
        return;
    line += strspn(line, " \t");
    length = strcspn(line, "\n");
    rp_buf_puts(out, "    ");
    rp_utf8_add(out, line, length > MAX_LINE_BYTES ? MAX_LINE_BYTES : length);
    rp_buf_puts(out, "\n");
}

static void add_stalls(struct rp_prompt_parts *parts, const struct rp_kernel_facts *f,
                       const struct rp_kernel_source *source)
{
    struct rp_buf *out = rp_prompt_part(parts, RP_SECTION_STALLS, RP_RANK_NEEDED, 0);

    rp_buf_printf(&parts->heads[RP_SECTION_STALLS], "## Where its waves wait\n");
    rp_buf_puts(&parts->tails[RP_SECTION_STALLS], "\n");
    add_share(out, "stalled", &f->stall, "the waves' time");
    for (size_t i = 0; i < f->stall_count; i++) {
        rp_buf_puts(out, "- for ");
        add_word(out, f->stalls[i].name);
        rp_buf_printf(out, ": %.1f %%\n", 100 * f->stalls[i].fraction);
    }
    for (size_t i = 0; i < f->line_count; i++) {
        out = rp_prompt_part(parts, RP_SECTION_STALLS, RP_RANK_MEASURED, MAX_RULES + i);
        rp_buf_printf(out, "- %.1f %% of the stalled cycles at ", 100 * f->lines[i].share);
        add_word(out, f->lines[i].place);
        rp_buf_puts(out, "\n");
        add_line_text(out, f->lines[i].place, source);
    }
}

void rp_prompt_add_facts(struct rp_prompt_parts *parts, const struct rp_kernel_facts *facts,
                         const struct rp_kernel_source *source)
{
    if (!facts)
        return;
    add_hardware(parts, facts);
    add_measured(parts, facts);
    add_stalls(parts, facts, source);
}
