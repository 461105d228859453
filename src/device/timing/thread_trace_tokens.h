/**
 * @file thread_trace_tokens.h
 * @brief This header writes what the timing simulation knows as hardware of GCN's fifth generation
 * and of CDNA writes a thread trace: as a stream of tokens in GPU memory.
 *
 * A token has 2 to 8 bytes: a type in its lowest four bits, in the bit above whether it comes four
 * clocks after the token before it, and fields. Longer times are tokens of their own. Types and
 * fields are those of SQ_THREAD_TRACE_WORD_* in AMD's register headers (gc_9_2_1_sh_mask.h) and of
 * AMD's published decoder (rocm-systems, projects/rocprof-trace-decoder, source/gfx9).
 */
#ifndef RP_DEVICE_TIMING_THREAD_TRACE_TOKENS_H
#define RP_DEVICE_TIMING_THREAD_TRACE_TOKENS_H

#include <stdbool.h>
#include <stdint.h>

struct rp_exec_host;
struct rp_trace_rows;

/** These are the types of tokens; bits of SQ_THREAD_TRACE_TOKEN_MASK have the same numbers. */
enum rp_token_type {
    RP_TOKEN_MISC,
    RP_TOKEN_TIME,
    RP_TOKEN_REG,
    RP_TOKEN_WAVE_START,
    RP_TOKEN_WAVE_ALLOC,
    RP_TOKEN_REG_CS,
    RP_TOKEN_WAVE_END,
    RP_TOKEN_EVENT,
    RP_TOKEN_EVENT_CS,
    RP_TOKEN_EVENT_GFX1,
    RP_TOKEN_INST,
    RP_TOKEN_INST_PC,
    RP_TOKEN_USERDATA,
    RP_TOKEN_ISSUE,
    RP_TOKEN_PERF,
    RP_TOKEN_REG_CS_PRIV,
    RP_TOKEN_TYPES
};

enum {
    RP_TOKEN_TIME_CLOCKS = 4, /**< a stream's times are in so many engine clocks */
    RP_TOKEN_LINE_BYTES = 32, /**< memory is written in lines of so many bytes */
    RP_TOKEN_STAGE_BYTES = 4096,
};

/** A stream has the tokens of one shader engine. All times are in RP_TOKEN_TIME_CLOCKS. */
struct rp_token_stream {
    const struct rp_exec_host *host;
    uint64_t base_va, room_bytes; /**< the buffer; its size is a multiple of a stage */
    uint32_t token_mask, inst_mask;
    uint64_t written; /**< bytes that the buffer has, or will have when they are flushed */
    uint64_t bytes;   /**< the same, with those for which the buffer had no room */
    uint64_t time;    /**< of the latest token */
    bool full;        /**< nothing more is written */
    bool fault;       /**< the buffer is not memory that may be written */
    uint32_t staged;  /**< bytes */
    uint8_t stage[RP_TOKEN_STAGE_BYTES];
};

/** Begins with the time, which the first tokens of a stream say. */
void rp_token_stream_begin(struct rp_token_stream *s, uint64_t time);

/** Fills the last line with tokens that say nothing, and writes what is left to memory. */
void rp_token_stream_flush(struct rp_token_stream *s);

/**
 * Adds a write to a register.
 * @param type  REG: @p address is that of the register; REG_CS or REG_CS_PRIV: its distance from
 *         COMPUTE_DISPATCH_INITIATOR, 7 bits
 */
void rp_token_stream_register(struct rp_token_stream *s, uint64_t time, enum rp_token_type type,
                              uint32_t address, uint32_t value);

/**
 * Adds what waves did: begins and ends of all waves of the engine, and instructions of those that
 * the rows have of one compute unit.
 * @param t      after rp_trace_rows_end()
 * @param start  of the dispatch
 */
void rp_token_stream_waves(struct rp_token_stream *s, const struct rp_trace_rows *t,
                           uint32_t engine, uint8_t cu, uint64_t start);

#endif
