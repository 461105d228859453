/**
 * @file thread_trace_waves.h
 * @brief The steps of rp_thread_trace_open: the files of a folder, one by one, and what follows
 * from them together.
 */
#ifndef RP_ANALYZE_THREAD_TRACE_WAVES_H
#define RP_ANALYZE_THREAD_TRACE_WAVES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/thread_trace.h"

enum {
    RP_ATT_MAX_FILE = 128 << 20, /**< bytes; jansson needs about 15 times that */
    RP_ATT_QUEUE = 128 /**< outstanding instructions that a wave can have; counters end at 63 */
};

/** Counters of the hardware that waits are about. */
enum rp_att_counter {
    RP_ATT_VM,   /**< vector memory; before gfx10 stores as well */
    RP_ATT_VS,   /**< stores since gfx10 */
    RP_ATT_LGKM, /**< LDS and, before gfx12, scalar memory */
    RP_ATT_KM,   /**< scalar memory since gfx12 */
    RP_ATT_COUNTERS
};

/** What an instruction means for them. */
struct rp_att_meaning {
    enum rp_att_kind kind;
    bool counts[RP_ATT_COUNTERS]; /**< it is outstanding until its counter is waited for */
    bool waits[RP_ATT_COUNTERS];
    uint32_t limit[RP_ATT_COUNTERS]; /**< as many may stay outstanding */
    bool sleeps;                     /**< s_nop, s_sleep */
};
void rp_att_decode(const char *isa, uint32_t gfx_ip, struct rp_att_meaning *ret);
/** For want of a text: the wave files' own category. */
enum rp_att_kind rp_att_kind_of_category(int64_t category);
/** Of a stall at an instruction when nothing more is known. */
enum rp_att_reason rp_att_reason_of(const struct rp_att_meaning *meaning);

struct rp_att_values {
    uint32_t *at;
    size_t count, capacity;
};

struct rp_att_build {
    struct rp_thread_trace *trace;
    struct rp_att_meaning *meanings; /**< of the instructions */
    struct rp_att_sums *from_waves;  /**< of the instructions, added up again */
    uint32_t *by_line;               /**< indices of instructions, by line */
    bool lines_are_indices;          /**< by_line[line] is right at once */
    struct rp_att_values latencies[RP_ATT_KIND_COUNT];
    struct rp_att_sums loose[RP_ATT_KIND_COUNT]; /**< of waves, by the category of the files */
    uint64_t *begun;        /**< by kernel: waves whose first instruction is in it */
    uint64_t unknown_lines; /**< executed instructions that the listing does not have */
    uint64_t bad_timelines; /**< waves whose states do not fill their time */
    uint64_t unstitched;    /**< instructions that the decoder could not place */
    bool has_lines;         /**< the listing has the lines that waves refer to */
};

/** Notes damage or something missing; false when out of memory. */
bool rp_att_problem(struct rp_thread_trace *trace, bool damage, const char *file, const char *fmt,
                    ...) __attribute__((format(printf, 4, 5)));
/** Makes meanings, from_waves and by_line once the listing is there. */
int rp_att_index(struct rp_att_build *build, struct rp_err *err);
void rp_att_build_free(struct rp_att_build *build);
/** Everything that follows from the files together. */
int rp_att_finish(struct rp_att_build *build, struct rp_err *err);

/** From sums and problems, once all files are read. */
enum rp_att_completeness rp_att_completeness(const struct rp_thread_trace *trace);

/** A JSON text; the message names line and column. */
int rp_att_json(const char *text, size_t len, json_t **ret, struct rp_err *err);
bool rp_att_number(const json_t *value, int64_t *ret);

/** code.json: kernels and instructions. */
int rp_att_read_code(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err);
/** stats_ui_output_*.csv: the same with less. */
int rp_att_read_stats(const char *text, size_t len, struct rp_thread_trace *trace,
                      struct rp_err *err);
/** A wave: adds to trace and build. */
int rp_att_read_wave(const json_t *root, struct rp_att_build *build, struct rp_err *err);
/** occupancy.json; @p symbol selects a kernel's waves when it is among the names there. */
int rp_att_read_occupancy(const json_t *root, const char *symbol, const char *name,
                          struct rp_thread_trace *trace, struct rp_err *err);
/** realtime.json */
int rp_att_read_clocks(const json_t *root, struct rp_thread_trace *trace, struct rp_err *err);

#endif
