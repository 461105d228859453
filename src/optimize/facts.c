#include <stdlib.h>

#include "optimize/facts.h"

static void free_kernel(struct rp_kernel_facts *kernel)
{
    char *const texts[] = {
        kernel->name,       kernel->symbol, kernel->arch,         kernel->product,
        kernel->device,     kernel->timing, kernel->weight_basis, kernel->headroom_assumption,
        kernel->bottleneck, kernel->bound,  kernel->limiter};

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
