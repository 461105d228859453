/**
 * @file check_record.h
 * @brief What the software device's checks (device/check) found, as they hand it to a program in
 * the same process (records.h).
 */
#ifndef RP_TRACE_CHECK_RECORD_H
#define RP_TRACE_CHECK_RECORD_H

#include <stdbool.h>
#include <stdint.h>

/** One of the accesses of a finding. */
struct rp_check_record_side {
    const char *access;    /**< "read", "write" or "atomic" */
    char instruction[100]; /**< as LLVM writes it */
    uint64_t address;      /**< in its code object; 0: unknown */
    uint32_t workgroup[3], wave, lane;
};

/** The texts that it points to are the device library's, and stay. */
struct rp_check_record {
    const char *kind;   /**< "race" and others (docs/check.md) */
    const char *memory; /**< "lds", "scratch" or "global" */
    const char *why;
    bool note; /**< no error */
    uint64_t address, bytes, count;
    uint64_t buffer_address, buffer_bytes; /**< that it is in, or near; 0 bytes: unknown */
    unsigned sides;
    struct rp_check_record_side side[2];
};

/** What an atomic does. */
enum rp_check_update_what {
    RP_CHECK_ADDS,
    RP_CHECK_ADDS_FLOATS,
    RP_CHECK_XORS,
    RP_CHECK_REPLACES,   /**< an exchange, also one that compares; counters that begin anew */
    RP_CHECK_SAME_AGAIN, /**< a maximum and its like: done twice, it changes nothing */
};

/** What all atomics of one kind have done at an address of memory, those that add 0 left out. */
struct rp_check_update {
    uint64_t address;
    uint64_t count;     /**< of lanes */
    uint64_t draws;     /**< of them: with a result */
    uint64_t sum;       /**< of operands, as they are added or xored */
    double total, size; /**< likewise of floating point numbers, and of their absolute values */
    uint8_t what;       /**< enum rp_check_update_what */
    bool narrow;        /**< some had not the scope of the system */
    bool ordered;       /**< some came when all that their wave had stored was released */
    bool unordered;     /**< some came when it was not */
};

#endif
