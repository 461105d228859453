/**
 * @file fuzz_att.c
 * @brief Any bytes as a file of a thread trace; the first byte says which one. Refused with a
 *        reason, or everything that is derived from it holds together.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/thread_trace.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What waves refer to: one instruction of each sort. */
static const char listing[] =
    "{\"header\": \"ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle\","
    "\"code\": [[\"; k\",0,0,\"k()\",1,0,0,0,0,0],"
    "[\"global_load_dword v1, v[2:3], off\",0,1,\"\",1,0,1,4,0,0],"
    "[\"ds_read_b32 v1, v2\",0,2,\"\",1,8,1,4,0,0],"
    "[\"s_load_dword s1, s[2:3], 0x0\",0,3,\"\",1,16,1,4,0,0],"
    "[\"flat_load_dword v1, v[2:3]\",0,4,\"\",1,24,1,4,0,0],"
    "[\"s_waitcnt vmcnt(1) lgkmcnt(0)\",0,5,\"\",1,32,1,4,0,0],"
    "[\"s_waitcnt lgkmcnt(1)\",0,6,\"\",1,40,1,4,0,0],"
    "[\"s_endpgm\",0,7,\"\",1,48,1,4,0,0]]}";

static void free_trace(struct rp_thread_trace *trace)
{
    struct rp_thread_traces set = {.traces = malloc(sizeof *trace), .count = 1};

    set.traces[0] = *trace;
    rp_thread_traces_free(&set);
}

static void check(const struct rp_thread_trace *trace)
{
    uint64_t waited = 0;
    double waves;

    for (size_t i = 0; i < trace->instruction_count; i++)
        if (trace->instructions[i].kernel != UINT32_MAX &&
            trace->instructions[i].kernel >= trace->kernel_count)
            __builtin_trap();
    for (size_t r = 0; r < RP_ATT_REASON_COUNT; r++)
        waited += trace->waited_cycles[r];
    if (trace->completeness != RP_ATT_DAMAGED && trace->instruction_count &&
        waited != trace->sums.stall_cycles)
        __builtin_trap();
    for (size_t k = 0; k < RP_ATT_KIND_COUNT; k++)
        if (trace->latency[k].least_cycles > trace->latency[k].median_cycles ||
            trace->latency[k].median_cycles > trace->latency[k].most_cycles)
            __builtin_trap();
    for (size_t i = 0; i < trace->engine_count; i++) /* a busy SIMD has at least a wave */
        if (trace->engines[i].wave_cycles < trace->engines[i].simd_busy_cycles ||
            trace->engines[i].unended > trace->engines[i].waves)
            __builtin_trap();
    if (rp_thread_trace_occupancy(trace, &waves) && waves < 1)
        __builtin_trap();
}

static int read_json(uint8_t which, const json_t *root, struct rp_att_build *build,
                     struct rp_err *err)
{
    if (which % 8 == 7)
        return which % 16 == 7 ? rp_att_read_variables(root, build->trace, err)
                               : rp_att_read_accesses(root, build->trace, err);
    switch (which % 4) {
    case 0:
        return rp_att_read_code(root, build->trace, err);
    case 1:
        return rp_att_read_wave(root, build, err);
    case 2:
        return rp_att_read_occupancy(root, "k", "k()", build->trace, err);
    default:
        return rp_att_read_clocks(root, build->trace, err);
    }
}

static int read_any(uint8_t which, const char *text, size_t size, struct rp_att_build *build,
                    struct rp_err *err)
{
    json_t *root = NULL;
    int rc;

    if (which % 8 == 4)
        return rp_att_read_stats(text, size, build->trace, err);
    rc = rp_att_json(text, size, &root, err);
    if (rc == 0)
        rc = read_json(which, root, build, err);
    json_decref(root);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_thread_trace trace = {.gfx_ip = size ? 9 + (data[0] >> 6) : 9};
    struct rp_att_build build = {.trace = &trace};
    struct rp_err err = RP_ERR_INIT;
    json_t *root = NULL;

    if (size == 0)
        return 0;
    if (data[0] % 4 == 1) { /* a wave */
        if (rp_att_json(listing, sizeof listing - 1, &root, &err) < 0 ||
            rp_att_read_code(root, &trace, &err) < 0)
            __builtin_trap();
        json_decref(root);
        build.has_lines = true;
    }
    if (data[0] % 4 == 1 && rp_att_index(&build, &err) < 0)
        __builtin_trap();
    if (read_any(data[0], (const char *)data + 1, size - 1, &build, &err) < 0 &&
        (err.code != RP_BAD_INPUT || !err.text[0]))
        __builtin_trap();
    if (!build.meanings && rp_att_index(&build, &err) < 0)
        __builtin_trap();
    if (rp_att_finish(&build, &err) < 0)
        __builtin_trap();
    trace.completeness = rp_att_completeness(&trace);
    check(&trace);
    rp_att_build_free(&build);
    free_trace(&trace);
    return 0;
}
