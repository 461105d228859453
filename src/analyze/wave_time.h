/**
 * @file wave_time.h
 * @brief Divides the time of a kernel's waves among the instructions that it was spent on, so that
 * a wait counts for the load, atomic or LDS access that it waited for, and names the source line
 * that took most of each part.
 */
#ifndef RP_ANALYZE_WAVE_TIME_H
#define RP_ANALYZE_WAVE_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct rp_thread_trace;

enum rp_wave_part {
#define RP_WAVE_PART(id, name, title) RP_WAVE_PART_##id,
#include "analyze/wave_parts.def"
#undef RP_WAVE_PART
    RP_WAVE_PART_COUNT
};
extern const char *const rp_wave_part_names[];
extern const char *const rp_wave_part_titles[];

/** These are cycles of all traced waves. */
struct rp_wave_part_time {
    double cycles;   /**< all of the part's time */
    double issue;    /**< of these: held back at the instruction itself, since its unit was busy */
    double awaited;  /**< of these: waits for its results */
    double executed; /**< instructions, one for each wave */
    double lookups;  /**< of the vector L1 that they need at least */
    double bytes;    /**< that they ask for: 64 lanes of the width of each; 0 = no memory */
    char *line;  /**< "file:line" in the user's sources with most of the cycles; NULL = unknown */
    char *outer; /**< the line of the kernel into which it is inlined; NULL = into none */
    double line_cycles;
};

struct rp_wave_time {
    struct rp_wave_part_time of[RP_WAVE_PART_COUNT];
    double cycles; /**< sum over the parts */
    /** Counts all cycles on source lines that have atomics: compilers turn an atomic of all lanes
     * into a loop that adds them up first. 0 = no lines are known. */
    double atomic_lines;
    char *atomic_line; /**< of these, the one with most cycles; NULL = unknown */
    double atomic_line_cycles;
    /** Name the lines that waste most look-ups of the vector L1, and most LDS cycles by conflicts;
     * NULL = unknown. Each has the line of the kernel into which it is inlined. */
    char *scattered_line, *scattered_outer, *conflict_line, *conflict_outer;
    double scattered_lookups, conflict_cycles; /**< of these lines */
    /** Names the innermost condition that can switch lanes off and rules at least half of the
     * arithmetic; NULL = unknown. */
    char *branch_line;
    char *branch_outer;   /**< the line of the kernel into which it is inlined; NULL = into none */
    double branch_cycles; /**< of arithmetic that it rules */
    double waves;         /**< traced */
    bool has_lines;       /**< false: the code was compiled without line information */
    double lives_ns;      /**< sum of their lives; 0 = a trace lacks its clock */
};

/** Says to which part an instruction belongs, by its text. */
enum rp_wave_part rp_wave_part_of(const char *isa);
/** Returns the bytes that an instruction moves for each lane; 0 when it is no memory access. */
unsigned rp_isa_bytes_per_lane(const char *isa);
/**
 * Finds the innermost frame of a chain of inlined calls ("header:12 -> app.hip:30") that is not in
 * a header of the compiler or of ROCm, and has a line number; the innermost of all where there is
 * no such frame.
 * @return its length, and its beginning in @p ret; 0: there is no line
 */
size_t rp_user_line(const char *source, const char **ret);

/** The time of the waves on a source line. */
struct rp_wave_line {
    const char *line; /**< "file:line", memory of the trace; not terminated */
    size_t length;    /**< 0: the code has no line */
    double cycles;
    double executed;        /**< instructions, one for each wave */
    enum rp_wave_part part; /**< that has most of the cycles */
    double part_cycles;     /**< of these */
};

/** Initialise it with zeros, and release the items with rp_vec_free. */
struct rp_wave_lines {
    RP_VEC(struct rp_wave_line); /**< by length and text of the line */
};

/** Divides the time of a trace's waves among source lines, as rp_wave_time_add divides it.
 * @return false when memory has ended */
bool rp_wave_lines_find(const struct rp_thread_trace *trace, struct rp_wave_lines *ret);

/**
 * Adds the time of a trace's waves to @p to, which may have that of other dispatches.
 * @return false when memory has ended
 */
bool rp_wave_time_add(const struct rp_thread_trace *trace, struct rp_wave_time *to);
void rp_wave_time_free(struct rp_wave_time *time);

#endif
