/**
 * @file ranks.h
 * @brief Which variables launchers of parallel programs give to their processes.
 */
#ifndef RP_TRACE_RANKS_H
#define RP_TRACE_RANKS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/** Describes the variables of one launcher. */
struct rp_rank_variables {
    const char *rank, *size; /**< number of the process, and how many there are */
    bool needs_size;         /**< without that, the rank may be anything's */
};

/**
 * torchrun, Open MPI, MVAPICH, MPICH and Intel MPI, Slurm, PMIx. A launcher that another one has
 * started sets its own variables beside those of the other, so the innermost comes first. Slurm
 * gives SLURM_PROCID to the script of a job, too, but SLURM_STEP_NUM_TASKS only to what srun
 * starts.
 */
static const struct rp_rank_variables rp_rank_variables[] = {
    {"RANK", "WORLD_SIZE", true},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", false},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", false},
    {"PMI_RANK", "PMI_SIZE", false},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", false},
    {"PMIX_RANK", NULL, false},
    {"RANK", NULL, false},
};
enum { RP_RANK_VARIABLES = sizeof rp_rank_variables / sizeof *rp_rank_variables };

/** Returns the text of a variable, or NULL. */
typedef const char *rp_variable_fn(void *ctx, const char *name);

/** Describes one process of a parallel program. */
struct rp_rank {
    const char *variable; /**< that says so; NULL: none does */
    int rank;
    int size; /**< 0: not known */
};

/** Returns a whole number of decimal digits, or -1. */
static inline int rp_rank_number(const char *text)
{
    char *end = NULL;
    long value = text && *text ? strtol(text, &end, 10) : -1;

    return !end || *end || value < 0 || value > INT_MAX ? -1 : (int)value;
}

/** Finds which process of a parallel program the variables belong to. */
static inline struct rp_rank rp_rank_find(rp_variable_fn *get, void *ctx)
{
    for (size_t i = 0; i < RP_RANK_VARIABLES; i++) {
        const struct rp_rank_variables *v = &rp_rank_variables[i];
        const int rank = rp_rank_number(get(ctx, v->rank));
        const int size = v->size ? rp_rank_number(get(ctx, v->size)) : -1;

        if (rank >= 0 && (size > rank || !v->needs_size))
            return (struct rp_rank){v->rank, rank, size > rank ? size : 0};
    }
    return (struct rp_rank){0};
}

#endif
