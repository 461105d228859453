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

#endif
