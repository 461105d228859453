/**
 * @file mem_ref.h
 * @brief What memory instructions do, worked out from their names alone: byte by byte, lane by
 * lane, sharing nothing with the device.
 */
#ifndef RP_TEST_MEM_REF_H
#define RP_TEST_MEM_REF_H

#include "mem_world.h"

enum ref_kind { REF_NONE, REF_LOAD, REF_STORE, REF_RMW };

/** What a mnemonic says. */
struct ref_shape {
    enum ref_kind kind;
    unsigned bytes; /**< of one element */
    bool sign, d16, hi, to_lds;
    bool pair;     /**< two elements per lane (ds_read2 and the like) */
    unsigned unit; /**< bytes that one step of a pair's offset means */
    bool returns;  /**< RMW of DS: has a result (elsewhere SC0 decides) */
    char op[16];   /**< RMW: "add", "cmpst", ... */
    char number;   /**< RMW: 'i', 'u', 'b', 'f'; 'h' packed f16, 'g' packed bf16 */
};

/** @return false for instructions of another kind than load, store, read-modify-write */
bool ref_parse(unsigned op, struct ref_shape *ret);

/** New value of a word after an operation; a, b: first and second data. */
uint64_t ref_apply(const struct ref_shape *s, bool lds, uint64_t old, uint64_t a, uint64_t b);

/** Byte of memory, or NULL outside. */
typedef uint8_t *ref_byte_fn(struct state *s, unsigned lane, uint64_t address);

/**
 * One lane of an instruction.
 * @param rows   registers the data operands are in (v or a)
 * @param at     addresses of up to two elements
 * @param lds_at for to_lds: where the result goes
 */
void ref_lane(const struct ref_shape *shape, struct state *s, uint32_t (*rows)[RP_LANES],
              unsigned data, unsigned data2, unsigned dst, unsigned lane, const uint64_t at[2],
              ref_byte_fn *byte, bool lds, bool returns, uint32_t lds_at);

#endif
