/**
 * @file resolve.h
 * @brief From the addresses of executed instructions to a record's table of them.
 *
 * While a wave is executed its record notes distances from the kernel's entry, which costs least;
 * a replay needs to know what the instructions are (timing/record.h).
 */
#ifndef RP_DEVICE_EXEC_RESOLVE_H
#define RP_DEVICE_EXEC_RESOLVE_H

#include "../timing/record.h"
#include "code.h"
#include "memory.h"

struct rp_resolver {
    struct rp_wave_record *record; /**< whose table grows */
    uint64_t entry_va;
    uint32_t *slot;            /**< open addressing, 0 = free, else index + 1 */
    uint32_t size;             /**< a power of two */
    uint32_t room;             /**< of record->code */
    struct rp_code_page *page; /**< the latest, or NULL */
    bool no_memory;            /**< that is why there is none */
    struct rp_resolver_follower {
        uint32_t distance, index; /**< of the instruction that came after last time; + 1 */
    } * follower;                 /**< of each in record->code */
};

/** 0 or -ENOMEM. Released in either case. */
int rp_resolver_init(struct rp_resolver *m, struct rp_wave_record *record, uint64_t entry_va);
void rp_resolver_release(struct rp_resolver *m);

/**
 * Replaces distances from the kernel's entry by indices into record->code.
 * @param mem        where the code is
 * @param ret_count  how many: fewer when the code of one is not mapped any more
 * @return 0, or -ENOMEM
 */
int rp_resolve(struct rp_resolver *m, struct rp_mem *mem, uint32_t *step, uint32_t count,
               uint32_t *ret_count);

#endif
