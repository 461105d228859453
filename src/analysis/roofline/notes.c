#include "analysis/roofline/parts.h"

#include "base/buf.h"

#include <inttypes.h>
#include <string.h>

/* What a reader must know before trusting a number. */

static bool note_times(const struct rp_counters *counters, struct rp_roofline *r)
{
    uint64_t untimed = 0;

    for (size_t i = 0; i < counters->dispatch_count; i++)
        untimed += !counters->dispatches[i].timed;
    if (counters->spoilt_times &&
        !rp_roof_note(r,
                      "timestamps of %" PRIu64 " dispatches were rounded, as spreadsheets do: their"
                      " times are unknown",
                      counters->spoilt_times))
        return false;
    return untimed == 0 || untimed == counters->spoilt_times ||
           rp_roof_note(r, "%" PRIu64 " dispatches have no usable times", untimed);
}

/* Work that the GPU can do and nobody counted. */
static bool note_uncounted(struct rp_roofline *r)
{
    rp_autobuf text = {0};

    for (size_t t = 0; t < RP_FLOP_COUNT; t++) {
        for (size_t k = 0; k < r->kernel_count; k++) {
            const struct rp_roofline_kernel *kernel = &r->kernels[k];
            const struct rp_roof_arch *arch = rp_roof_arch_find(r->devices[kernel->device].arch);

            if (kernel->flops_by_width || kernel->flops_by_type[t].known || !kernel->flops.known ||
                (arch && rp_roof_flops_per_clock(arch, (enum rp_flop_type)t) == 0))
                continue;
            rp_buf_printf(&text, "%s %s", text.len ? "," : "", rp_flop_name((enum rp_flop_type)t));
            break;
        }
    }
    if (text.failed)
        return false;
    return text.len == 0 ||
           rp_roof_note(r, "not counted in every dispatch, so not in flops:%s", rp_buf_text(&text));
}

/* The software device leaves out what it cannot know of a dispatch. */
static bool note_lacking(struct rp_roofline *r, struct rp_roofline_kernel *k)
{
    if (!r->origin.device || strcmp(r->origin.device, "software") != 0 || r->reason ||
        k->hbm_read.known)
        return true;
    k->lacks = "counters of caches were not asked for, or too little was recorded of what its "
               "sampled workgroups access";
    return rp_roof_note(r, "bytes of %s are unknown: %s", k->name, k->lacks);
}

static bool note_kernel(struct rp_roofline *r, const struct rp_roofline_kernel *k)
{
    const struct rp_roofline_device *d = &r->devices[k->device];
    bool ok = true;

    if (d->arch[0] == '\0')
        ok = rp_roof_note(r,
                          "the files do not say which GPU it was: bytes that depend on it, and the"
                          " ceilings, are unknown without --arch");
    else if (!d->ceilings.gflops[RP_FLOP_VALU_F32].known)
        ok = rp_roof_note(r, "ceilings of %s are not known", d->arch);
    if (ok && k->flops_by_width)
        ok = rp_roof_note(r, "FLOPs by the simple model, 8 for each vector instruction, can be far"
                             " off: see flop_model of each kernel");
    if (ok && k->reads_by_width)
        ok = rp_roof_note(r,
                          "bytes read from HBM by the simple model, without requests of 128 bytes,"
                          " can be half of the true ones: see read_model of each kernel");
    if (ok && k->hbm_read_least.known)
        ok = rp_roof_note(r, "TCC_BUBBLE reads 0 on gfx950: without TCC_EA0_RDREQ_128B the bytes"
                             " read are only known within hbm_read_bytes_range");
    if (ok && !k->flops_by_width &&
        (k->flops_by_type[RP_FLOP_VALU_F16].value > 0 ||
         k->flops_by_type[RP_FLOP_VALU_F32].value > 0 ||
         k->flops_by_type[RP_FLOP_VALU_F64].value > 0))
        ok = rp_roof_note(r, "vector FLOPs count 64 lanes for each instruction: less was done where"
                             " lanes are masked off");
    if (ok && !k->flops_by_width &&
        (k->flops_by_type[RP_FLOP_VALU_F16].value > 0 ||
         k->flops_by_type[RP_FLOP_VALU_F32].value > 0))
        ok = rp_roof_note(r, "packed vector instructions (v_pk_*) count once although they do twice"
                             " the work");
    return ok;
}

/* Ceilings of a part of a GPU; the memory is shared by what runs in the other parts. */
static bool note_part(struct rp_roofline *r, const struct rp_roofline_device *d)
{
    if (d->parts < 2)
        return true;
    if (d->memory_parts > 1)
        return rp_roof_note(r,
                            "GPU %" PRId64 " is one of %u partitions: its ceilings are those of %u"
                            " CUs on %u XCD%s, that of HBM is 1/%u of the GPU's",
                            d->id, d->parts, d->compute_units, d->xcc_count,
                            d->xcc_count == 1 ? "" : "s", d->memory_parts);
    return rp_roof_note(r,
                        "GPU %" PRId64 " is one of %u partitions: its ceilings are those of %u CUs"
                        " on %u XCD%s; that of HBM is the GPU's, which the partitions share",
                        d->id, d->parts, d->compute_units, d->xcc_count,
                        d->xcc_count == 1 ? "" : "s");
}

/* More than all of the GPU: then the ceilings are not those of the run. */
static bool note_shares(const struct rp_roofline_options *options, struct rp_roofline *r)
{
    const struct rp_roofline_kernel *worst = NULL;

    for (size_t i = 0; i < r->kernel_count; i++)
        if (r->kernels[i].bound_share.known && r->kernels[i].bound_share.value > 1 &&
            (!worst || r->kernels[i].bound_share.value > worst->bound_share.value))
            worst = &r->kernels[i];
    if (!worst)
        return true;
    return rp_roof_note(r, "%s is above its ceiling (%s %.1f %%): %s", worst->name,
                        rp_bound_name(worst->bound), worst->bound_share.value * 100,
                        options->measured
                            ? "the measured ceilings are of another GPU, or its benchmarks did not"
                              " reach what it can do"
                            : "GPU or clock are not those of the run, its times are wrong, or a"
                              " cache behind the L2 served part of the bytes");
}

bool rp_roof_notes(const struct rp_counters *counters, const struct rp_roofline_options *options,
                   struct rp_roofline *r)
{
    bool ok = note_times(counters, r) && note_uncounted(r) && note_shares(options, r);

    for (size_t i = 0; i < r->kernel_count && ok; i++)
        ok = note_kernel(r, &r->kernels[i]) && note_lacking(r, &r->kernels[i]);
    for (size_t i = 0; i < r->device_count && ok && !options->arch; i++)
        ok = note_part(r, &r->devices[i]);
    if (!ok || rp_roof_find(counters, RP_ROOF_GUI_ACTIVE, false) < 0)
        return ok;
    for (size_t i = 0; i < r->device_count && ok; i++)
        if (r->devices[i].xcc_count > 1)
            ok = rp_roof_note(r,
                              "GRBM_GUI_ACTIVE is the sum over %u XCDs and is not used: times are"
                              " those of the dispatches",
                              r->devices[i].xcc_count);
    return ok;
}
