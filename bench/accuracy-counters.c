/*
 * Hardware counters of a vector copy of 1,048,576 doubles, workgroups of 256, against those that
 * rocprof-compute's sample has of a real MI300X.
 */
#include "accuracy.h"

#include "arch/arch.h"

void accuracy_counters(struct accuracy *b, struct accuracy_group *g)
{
    enum { COUNT = 1 << 20 };
    static const char source[] = "rocprof-compute sample";
    static const struct {
        unsigned counter;
        const char *name;
        double real;
    } all[] = {
        {RP_COUNTER_SQ_WAVES, "SQ_WAVES", 16384},
        {RP_COUNTER_SQ_INSTS_VALU, "SQ_INSTS_VALU", 98304},
        {RP_COUNTER_SQ_INSTS_VALU_INT32, "SQ_INSTS_VALU_INT32", 49152},
        {RP_COUNTER_SQ_INSTS_VALU_INT64, "SQ_INSTS_VALU_INT64", 32768},
        {RP_COUNTER_SQ_INSTS_VMEM_RD, "SQ_INSTS_VMEM_RD", 16384},
        {RP_COUNTER_SQ_INSTS_VMEM_WR, "SQ_INSTS_VMEM_WR", 16384},
        {RP_COUNTER_SQ_INSTS_BRANCH, "SQ_INSTS_BRANCH", 16384},
        {RP_COUNTER_TA_TOTAL_WAVEFRONTS, "TA_TOTAL_WAVEFRONTS_sum", 32768},
        {RP_COUNTER_TCC_REQ, "TCC_REQ_sum (L2 requests)", 197471},
        {RP_COUNTER_TCC_EA0_RDREQ, "TCC_EA0_RDREQ_sum (HBM reads)", 65775},
        {RP_COUNTER_TCC_EA0_WRREQ, "TCC_EA0_WRREQ_sum (HBM writes)", 131072},
    };
    const struct {
        const double *a;
        double *b, *c;
        int n, stride;
    } args = {b->a, b->a, b->b, COUNT, 1};
    uint64_t counted[RP_DEVICE_COUNTERS] = {0}, replayed[RP_DEVICE_COUNTERS] = {0};
    rp_exec_set_counts(RP_COUNT_MEMORY);
    b->sim.counters = counted;
    b->sim.replay_counters = replayed;
    accuracy_clocks(b, &b->counters, "copy", COUNT / 256, 256, &args, sizeof args);
    b->sim.counters = b->sim.replay_counters = NULL;
    rp_exec_set_counts(RP_COUNT_NOTHING);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        accuracy_add(g, (struct accuracy_row){"", all[i].name, "", source, all[i].real,
                                              (double)replayed[all[i].counter]});
}
