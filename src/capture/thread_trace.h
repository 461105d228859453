/**
 * @file thread_trace.h
 * @brief What the waves of one dispatch did on the software device, instruction by instruction: a
 * file beside the record file (records.h), written when the dispatch is complete.
 *
 * "<record file>.threads-<dispatch id>": the header, then the arrays in the order of its counts,
 * each beginning at a multiple of 8 bytes. Beside them "<record file>.code-<id of code object>",
 * the ELF files. All integers little endian, all times in engine clocks since the launch.
 */
#ifndef RP_CAPTURE_THREAD_TRACE_H
#define RP_CAPTURE_THREAD_TRACE_H

#include <assert.h>
#include <stdint.h>

#define RP_THREADS_MAGIC       "RPTHRDS1"
#define RP_THREADS_SUFFIX      ".threads-"
#define RP_THREADS_CODE_SUFFIX ".code-"

/** Symbols of the kernels to trace, with ".kd", separated by newlines. Without it nothing is. */
#define RP_THREADS_KERNELS_VARIABLE "ROCM_PERF_THREAD_TRACE_KERNELS"
/** Which of each kernel's launches, from 1: "1-1,5-7". */
#define RP_THREADS_LAUNCHES_VARIABLE "ROCM_PERF_THREAD_TRACE_LAUNCHES"
/** Which waves: "CU ENGINES SIMDS ROWS" in hexadecimal, as struct rp_threads_wish. */
#define RP_THREADS_WAVES_VARIABLE "ROCM_PERF_THREAD_TRACE_WAVES"

enum { RP_THREADS_VERSION = 2 };

/** Which compute unit of a shader engine: its number, or the one that is sure to have waves. */
#define RP_THREADS_ANY_CU UINT32_MAX

/** As many rows as fit 48 MiB: a file that its readers can hold. */
#define RP_THREADS_ROWS (48u * 1024 * 1024 / sizeof(struct rp_threads_row))

/** Which waves are traced. */
struct rp_threads_wish {
    uint32_t cu;      /**< of each engine */
    uint32_t engines; /**< mask */
    uint32_t simds;   /**< mask */
    uint32_t rows;    /**< at most as many: then all waves are cut short */
};

/** What an instruction is; numbers of decoded thread traces. */
enum rp_threads_category {
    RP_THREADS_SMEM = 1,
    RP_THREADS_SALU = 2,
    RP_THREADS_VMEM = 3, /**< with a buffer resource */
    RP_THREADS_FLAT = 4, /**< FLAT, GLOBAL, SCRATCH */
    RP_THREADS_LDS = 5,
    RP_THREADS_VALU = 6,
    RP_THREADS_JUMP = 7,
    RP_THREADS_NEXT = 8,      /**< a branch that was not taken */
    RP_THREADS_IMMEDIATE = 9, /**< handled where it is fetched */
    RP_THREADS_MESSAGE = 11,
};

enum rp_threads_flag {
    RP_THREADS_SAMPLED = 1u << 0, /**< not all workgroups were replayed */
    RP_THREADS_CUT = 1u << 1,     /**< of some waves only the first instructions are there */
};

/** Why a wave's trace ends before the wave. */
enum rp_threads_cut {
    RP_THREADS_WHOLE,
    RP_THREADS_RECORD_ENDS, /**< the dispatch was too long to be recorded whole */
    RP_THREADS_BUFFER_FULL, /**< as many rows as were wished */
};

struct rp_threads_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    uint32_t flags; /**< enum rp_threads_flag */
    uint32_t gfx_ip;
    uint32_t engine_mhz, timestamp_mhz;
    uint64_t start_ticks;         /**< of the dispatch, device clock */
    uint64_t entry_pc;            /**< of the kernel */
    uint64_t groups, group_count; /**< replayed, in all */
    uint64_t code_count, text_bytes, wave_count, row_count, wait_count, event_count;
    uint64_t lost_waves; /**< that began when the buffer was full */
};
static_assert(sizeof(struct rp_threads_header) == 120, "header is part of the file format");

/** An instruction of a function that was entered; by address. */
struct rp_threads_code {
    uint64_t pc;
    uint32_t text; /**< where its text begins; it ends with a 0 */
    uint32_t bytes;
};
static_assert(sizeof(struct rp_threads_code) == 16, "part of the file format");

/** By engine, begin, SIMD and slot. */
struct rp_threads_wave {
    uint64_t begin, end;
    uint64_t first_row, first_wait;
    uint32_t row_count, wait_count;
    uint32_t engine;
    uint8_t cu, simd, slot;
    uint8_t cut; /**< enum rp_threads_cut; not 0: it ended later, not all that it did is there */
};
static_assert(sizeof(struct rp_threads_wave) == 48, "part of the file format");

/** One execution. */
struct rp_threads_row {
    uint64_t clock;          /**< the instruction is at the wave, which could issue it */
    uint32_t stall_clocks;   /**< until it is issued, or lets the wave go on */
    uint32_t latency_clocks; /**< with the stall: until the wave can issue the next one */
    uint32_t code;           /**< index */
    uint8_t category;        /**< enum rp_threads_category */
    uint8_t reserved[3];
};
static_assert(sizeof(struct rp_threads_row) == 24, "part of the file format");

/** A wait has waited for results of an instruction at least once; once for each pair. */
struct rp_threads_wait {
    uint32_t code, on; /**< indices */
};
static_assert(sizeof(struct rp_threads_wait) == 8, "part of the file format");

/** A wave begins or ends on any compute unit of the engines; by time. */
struct rp_threads_event {
    uint64_t clock;
    uint32_t engine;
    uint8_t cu, simd, slot;
    uint8_t begins;
};
static_assert(sizeof(struct rp_threads_event) == 16, "part of the file format");

#endif
