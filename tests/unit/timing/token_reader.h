/**
 * @file token_reader.h
 * @brief Reads a stream of thread-trace tokens, as a decoder does: written from the format's
 * description, not from the writer. It knows nothing of the program; rp_read_places finds
 * addresses.
 */
#ifndef RP_TESTS_TIMING_TOKEN_READER_H
#define RP_TESTS_TIMING_TOKEN_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What an instruction is, with the numbers of decoded thread traces. */
enum rp_read_kind {
    RP_READ_UNKNOWN,
    RP_READ_SMEM,
    RP_READ_SALU,
    RP_READ_VMEM,
    RP_READ_FLAT,
    RP_READ_LDS,
    RP_READ_VALU,
    RP_READ_JUMP,
    RP_READ_NEXT,
    RP_READ_IMMEDIATE,
    RP_READ_MESSAGE = 11,
    RP_READ_CALL = 20, /**< goes to an address that the stream says */
};

/** All times are clocks. */
struct rp_read_inst {
    uint64_t time; /**< the wave tried to issue it */
    uint64_t stall, latency;
    uint64_t pc;     /**< of rp_read_places; 0: not found */
    uint64_t target; /**< CALL */
    enum rp_read_kind kind;
    unsigned type; /**< as in the token; immediate: 0 */
};

struct rp_read_wave {
    uint64_t begin, end, entry_pc;
    unsigned cu, simd, slot, work_items;
    bool ended;
    struct rp_read_inst *inst;
    size_t count, room;
    size_t waiting; /**< the first that has been issued, and whose kind is not known yet */
    uint64_t stall_since;
    bool stalls;
};

struct rp_read_register {
    uint64_t time;
    unsigned type; /**< of the token */
    uint32_t address, value;
};

struct rp_read_stream {
    struct rp_read_wave *wave; /**< those that have instructions, in order of their begins, */
    size_t waves, wave_room;
    size_t begins, ends; /**< of all waves of the engine */
    struct rp_read_register *reg;
    size_t registers, register_room;
    size_t tokens[16];
    uint64_t first_time, last_time; /**< absolute */
    const char *fault;              /**< NULL, or why it ends early */
};

/**
 * Reads a stream whose instructions are of that compute unit.
 * @return what was read, until a fault if there is one; rp_read_free frees it
 */
struct rp_read_stream *rp_read_tokens(const uint8_t *bytes, size_t count, unsigned cu);
void rp_read_free(struct rp_read_stream *s);

/** What stands at an address. */
struct rp_read_code {
    unsigned bytes;
    uint64_t target; /**< of a branch */
};

/**
 * Gives each instruction its address, from the wave's entry on.
 * @param code  false: nothing stands there
 * @return how many have none
 */
size_t rp_read_places(struct rp_read_stream *s,
                      bool (*code)(void *ctx, uint64_t pc, struct rp_read_code *ret), void *ctx);

#endif
