/**
 * @file argument_types.h
 * @brief Of which type the numbers in a page are, as the kernel's signature says.
 *
 * What a page holds tells numbers from integers, but two numbers of 16 bits look like one of 32,
 * and a number of 64 bits with few digits like two of 32.
 */
#ifndef RP_REPLAY_ARGUMENT_TYPES_H
#define RP_REPLAY_ARGUMENT_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/page_changes.h"

struct rp_capture_memory;
struct rp_replay;

/**
 * Reads the type of numbers that a pointer argument of a demangled kernel leads to.
 * @param name  "void scale<4>(__half const*, float, int)"
 * @param index of the argument, from 0
 * @return RP_EXACT: they are no numbers, or it is not known
 */
enum rp_number_type rp_argument_type(const char *name, unsigned index);

/** Reads what an argument of a demangled kernel is that is passed by value. */
enum rp_scalar_type rp_argument_scalar(const char *name, unsigned index);

/** Makes a rule that leaves types to be found (auto) say which one a page has: that of the last
 * pointer that leads to the page's region, and not behind the page.
 * @return whether the signature, or the rule itself, names a type */
bool rp_argument_rule(const struct rp_replay *r, const struct rp_capture_memory *m, uint64_t page,
                      struct rp_inputs_rule *rule);

#endif
