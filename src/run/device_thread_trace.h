/**
 * @file device_thread_trace.h
 * @brief Thread traces of the software device: asks for them, and turns what was recorded into the
 * files that rocprofv3 leaves.
 */
#ifndef RP_RUN_DEVICE_THREAD_TRACE_H
#define RP_RUN_DEVICE_THREAD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/run_program.h"
#include "run/source_lines.h"
#include "trace/records.h"

struct rp_demangler;
struct rp_err;
struct rp_code_listing;

/** @return 0; RP_USAGE for an option that the software device does not have */
int rp_device_thread_trace_check(const struct rp_thread_trace_options *options, struct rp_err *err);

/**
 * Converts the traces beside the record files of a run's processes, in the order of their start, to
 * folders in DIR/<prefix>-threads. If there are any, run->thread_trace is that.
 * @return 0, RP_BAD_INPUT, RP_ENVIRONMENT
 */
int rp_device_thread_trace_convert(const struct rp_run_request *request,
                                   const struct rp_thread_trace_options *options,
                                   const char *const *record_files, size_t count,
                                   struct rp_run *run, struct rp_err *err);

/* A code object (an ELF file) knows these of addresses: functions, and lines of source. */

struct rp_code_object_function {
    char *symbol; /**< a kernel's without .kd */
    uint64_t address, bytes;
};

/** Holds what rp_code_functions_read finds, with copies of the names. */
struct rp_code_object_functions {
    struct rp_code_object_function *at;
    size_t count;
};

/* This section reads the software device's thread traces (trace/records.h). */

/** All indices in it are valid, texts end, and rows of a wave are in order. */
struct rp_device_trace_file {
    void *bytes; /**< NULL: the caller's */
    const struct rp_threads_header *header;
    const struct rp_threads_code *code;
    const char *text;
    const struct rp_threads_wave *wave;
    const struct rp_threads_row *row;
    const struct rp_threads_wait *wait;
    const struct rp_threads_event *event;
};

/* This section lists the functions that traced waves entered line by line, as decoded thread traces
 * do. */

/** This is a code object of the process. */
struct rp_loaded_code_object {
    uint32_t id;
    uint64_t load_base, load_bytes;
    int64_t load_delta; /**< address in memory - address in the ELF file */
    char *path;         /**< of the ELF file; NULL: not there */
    struct rp_code_object_functions functions;
};

/** This is an instruction, or with a symbol the label above a function's first one. */
struct rp_code_line {
    const struct rp_code_object_function *label; /**< NULL: an instruction */
    size_t code;                         /**< index; of a label that of its first instruction */
    uint32_t line;                       /**< 0, 1, ...; labels count */
    uint32_t object;                     /**< id; 0: none has it */
    uint64_t address;                    /**< in the ELF file */
    uint64_t hits, latency, stall, idle; /**< over all traced waves */
    char *source;                        /**< "": unknown. Labels have none */
};

struct rp_code_listing {
    struct rp_code_line *at; /**< the kernel first, then by address */
    size_t count;
    uint32_t *line_of; /**< by code; UINT32_MAX: not listed, nothing executed it */
    uint32_t kernel_object;
    uint64_t kernel_address;
    const char *kernel_symbol;            /**< of the objects; NULL: unknown */
    uint64_t kernel_hash;                 /**< of what it consists of; 0 = unknown */
    uint64_t kernel_lds_bytes;            /**< that the code itself has; a launch may add some */
    struct rp_source_variables variables; /**< of the kernel, inlined functions included */
};

/* Writes a thread trace as rocprofv3 leaves it after decoding: a folder of JSON files and a
 * table beside it (docs/format/rocpd.md).
 */

/**
 * Writes DIR/ui_output_agent_A_dispatch_D and DIR/stats_ui_output_agent_A_dispatch_D.csv.
 * @return 0, RP_ENVIRONMENT
 */
int rp_att_write(const struct rp_device_trace_file *file, const struct rp_code_listing *listing,
                 struct rp_demangler *demangler, const char *dir, uint64_t agent, uint64_t dispatch,
                 struct rp_err *err);

/* This section finds what a wave does over time, from its instructions, and how many waves do the
 * same at once. */

/* The source files that a listing names are copied, for viewers on other machines. */

static inline const char *rp_device_trace_text(const struct rp_device_trace_file *file, size_t code)
{
    return file->text + file->code[code].text;
}

#endif
