/**
 * @file bench.h
 * @brief `rocm-perf bench`: what it measures (bench_rows.def), what it found, and how that is
 *        written.
 */
#ifndef RP_CLI_BENCH_H
#define RP_CLI_BENCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/workload.h"

struct rp_buf;
struct rp_term_style;

enum rp_bench_group {
#define GROUP(id, text) RP_BENCH_GROUP_##id,
#include "cli/bench_rows.def"
    RP_BENCH_GROUPS
};

enum rp_bench_kind {
    RP_BENCH_BYTES,
    RP_BENCH_FLOPS,
    RP_BENCH_OPERATIONS,
    RP_BENCH_LATENCY,
    RP_BENCH_LAUNCH,
    RP_BENCH_COPY
};

/** The two launches of a row: the arguments of its kernel, as bench_rows.def says. */
struct rp_bench_size {
    uint32_t times, rounds, more_times, more_rounds;
};

struct rp_bench_row {
    const char *name, *text, *kernel;
    enum rp_bench_group group;
    enum rp_bench_kind kind;
    uint32_t threads;
    struct rp_bench_size modelled, hardware;
    double (*work)(const struct rp_arch *a, double times, double rounds); /**< of a block */
    double (*peak)(const struct rp_arch *a);  /**< of the data sheet; 0: unknown */
    double (*model)(const struct rp_arch *a); /**< the constant; 0: there is none */
};

enum {
#define ROW(id, ...) RP_BENCH_##id,
#include "cli/bench_rows.def"
    RP_BENCH_ROWS
};

extern const struct rp_bench_group_row {
    const char *name, *text;
} rp_bench_groups[RP_BENCH_GROUPS];
extern const struct rp_bench_row rp_bench_rows[RP_BENCH_ROWS];

enum { RP_BENCH_MOST_REPEATS = 100 };

/** What was found of a row, in bytes, operations a second, or ns. */
struct rp_bench_value {
    bool wanted;
    double samples[RP_BENCH_MOST_REPEATS];
    size_t count;                             /**< 0: the reason says why */
    const char *reason;                       /**< static */
    double clock_mhz, power_w, temperature_c; /**< while it ran; NAN: the driver does not say */
};

struct rp_bench {
    struct rp_workload work;
    uint32_t repeats;
    struct rp_bench_value values[RP_BENCH_ROWS];
    char *failures[RP_BENCH_GROUPS]; /**< why a group could not be measured; NULL: it was */
    char date[32];                   /**< "2026-11-30T12:00:00Z" */
    double seconds;
};

/** The median; NAN: nothing was measured. */
double rp_bench_median(const struct rp_bench_value *value);

/** Returns what it should be: the model's constant, or the data sheet's peak; 0: unknown. */
double rp_bench_expected(const struct rp_bench *bench, size_t row);

/** Makes the document (schemas/bench.schema.json). NULL: memory has ended. */
json_t *rp_bench_document(const struct rp_bench *bench);

/** Writes the table for people. @param path of the file */
void rp_bench_text(const struct rp_bench *bench, const char *path, struct rp_term_style style,
                   struct rp_buf *to);

#endif
