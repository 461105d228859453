/**
 * @file source_texts.h
 * @brief Finds the source lines on which the waves of thread traces spent their time, and their
 * text.
 */
#ifndef RP_ANALYZE_SOURCE_TEXTS_H
#define RP_ANALYZE_SOURCE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct rp_err;
struct rp_thread_traces;

/** A source line, and its text without the line's end. */
struct rp_source_line {
    uint32_t line;
    char *text;
};

struct rp_source_file {
    char *path;                   /**< as instructions name it */
    struct rp_source_line *lines; /**< those with cycles and around them; none without a copy */
    size_t line_count;
};

/** A line on which waves of a trace spent time. */
struct rp_source_hot {
    uint32_t file; /**< index into files */
    uint32_t line;
    double cycles; /**< a wait counts for the line that it waited for (wave_time.h) */
    double executed;
    const char *part; /**< title of what has most of the cycles */
};

struct rp_source_trace {
    double cycles; /**< of all code, also without a line */
    struct rp_source_hot *lines;
    size_t line_count;
};

/** Initialise it with zeros, and release it with rp_source_texts_free. */
struct rp_source_texts {
    struct rp_source_file *files;
    size_t file_count;
    struct rp_source_trace *traces; /**< in the order of the thread traces */
    size_t trace_count;
};

/** Finds the lines, and reads their text from the copies of the sources in the traces' folders.
 * @return 0 or RP_ENVIRONMENT */
int rp_source_texts_read(const struct rp_thread_traces *set, struct rp_source_texts *ret,
                         struct rp_err *err);
void rp_source_texts_free(struct rp_source_texts *texts);

#endif
