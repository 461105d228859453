/**
 * @file archs.h
 * @brief Declares the data object of each GPU in archs.def; for the data files and the lookup.
 */
#ifndef RP_ARCH_ARCHS_H
#define RP_ARCH_ARCHS_H

#include "arch/arch.h"

#define RP_ARCH(id) extern const struct rp_arch rp_arch_##id;
#include "arch/archs.def"
#undef RP_ARCH

/* Of a family: counter_blocks.c. */
extern const struct rp_counter_block rp_counter_blocks_gfx9[], rp_counter_blocks_gfx10[];

#define RP_KIB(n) ((uint32_t)(n)*1024u)
#define RP_MIB(n) ((uint32_t)(n)*1024u * 1024u)
#define RP_GIB(n) ((uint64_t)(n)*1024u * 1024u * 1024u)

#define RP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
