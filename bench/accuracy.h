/** @file accuracy.h @brief What the parts of model-accuracy share: measuring, and rows of its
 * report. */
#ifndef RP_BENCH_ACCURACY_H
#define RP_BENCH_ACCURACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hsaco.h"

enum { ACCURACY_BLOCKS = 304, ACCURACY_STREAM = 1 << 25, ACCURACY_ROWS = 32 };

struct accuracy {
    struct sim sim;
    struct sim_code timing, gemm, micro, counters;
    double clock_hz;
    double *a, *b, *c; /**< of ACCURACY_STREAM doubles each */
    bool failed;
};

/** A row of the report: what was published, and what the model says. */
struct accuracy_row {
    const char *number, *what, *unit, *source;
    double published; /**< NaN: nothing was */
    double modelled;
};

struct accuracy_group {
    const char *name, *text;
    bool fitted; /**< the model's constants are chosen so that it gives these */
    unsigned count;
    struct accuracy_row row[ACCURACY_ROWS];
};

/** Modelled clocks of a launch; NaN after a message, and failed is set. */
double accuracy_clocks(struct accuracy *b, const struct sim_code *code, const char *kernel,
                       uint32_t blocks, uint32_t threads, const void *args, size_t args_bytes);

/** The same for a launch as it is given. */
double accuracy_launch(struct accuracy *b, const struct sim_code *code, const char *kernel,
                       const struct sim_launch *l);

/** Seconds of the last launch as its timestamps have them, which is with its launch. */
double accuracy_seconds(const struct accuracy *b);

void accuracy_add(struct accuracy_group *g, struct accuracy_row row);

/* What a group is about: text, and rows. */
void accuracy_latencies(struct accuracy *b, struct accuracy_group *g);
void accuracy_streams(struct accuracy *b, struct accuracy_group *g);
void accuracy_gemm_clocks(struct accuracy *b, struct accuracy_group *g);
void accuracy_gemm_time(struct accuracy *b, struct accuracy_group *g);
void accuracy_matrix(struct accuracy *b, struct accuracy_group *g);
void accuracy_issue(struct accuracy *b, struct accuracy_group *g);
void accuracy_lds(struct accuracy *b, struct accuracy_group *g);
void accuracy_unknown(struct accuracy *b, struct accuracy_group *g);
void accuracy_counters(struct accuracy *b, struct accuracy_group *g);

#endif
