/**
 * @file argument_types.h
 * @brief Which pages hold numbers of 16 bits, as the kernel's signature says.
 *
 * Numbers of 32 and 64 bits are told by what a page holds. Two of 16 bits look like one of 32, so
 * that only the type of a pointer tells them.
 */
#ifndef RP_REPLAY_ARGUMENT_TYPES_H
#define RP_REPLAY_ARGUMENT_TYPES_H

#include <stdint.h>

#include "replay/page_changes.h"

struct rp_capture_memory;
struct rp_replay;

/**
 * Reads the type that a pointer argument of a demangled kernel leads to.
 * @param name  "void scale<4>(__half const*, float, int)"
 * @param index of the argument, from 0
 * @return RP_F16 or RP_BF16; RP_EXACT: it is another one, or not known
 */
enum rp_number_type rp_argument_type(const char *name, unsigned index);

/** Makes a rule that leaves types to be found (auto) say which one a page has, if that is one of 16
 * bits: that of the last pointer that leads to the page's region, and not behind the page. */
void rp_argument_rule(const struct rp_replay *r, const struct rp_capture_memory *m, uint64_t page,
                      struct rp_inputs_rule *rule);

#endif
