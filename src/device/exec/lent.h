/**
 * @file lent.h
 * @brief A set of address ranges that only grows, and that signal handlers may read at any time.
 */
#ifndef RP_DEVICE_EXEC_LENT_H
#define RP_DEVICE_EXEC_LENT_H

#include <stdbool.h>
#include <stdint.h>

enum { RP_LENT_SPANS = 64 };

/**
 * Ranges that overlap or touch share a span. When there are more than spans, the nearest one is
 * stretched over what lies between. Zeroed = empty. Writers must be serialised.
 */
struct rp_lent {
    uint32_t count;
    struct {
        uint64_t begin, end;
    } span[RP_LENT_SPANS];
};

void rp_lent_add(struct rp_lent *lent, uint64_t begin, uint64_t end);
bool rp_lent_has(const struct rp_lent *lent, uint64_t address);

#endif
