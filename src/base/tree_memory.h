/**
 * @file tree_memory.h
 * @brief How much memory the processes below this one have.
 */
#ifndef RP_BASE_TREE_MEMORY_H
#define RP_BASE_TREE_MEMORY_H

#include <stdint.h>

/**
 * Resident bytes of all that descend from this process, without itself; pages that several of them
 * share count several times.
 * @return 0 where /proc is not there
 */
uint64_t rp_tree_resident_bytes(void);

#endif
