/**
 * @file alloc_fails.h
 * @brief Fails each allocation of a step in turn. The test is linked with --wrap for malloc and its
 * like.
 */
#ifndef TESTS_REPORT_ALLOC_FAILS_H
#define TESTS_REPORT_ALLOC_FAILS_H

#include <stdbool.h>
#include <stddef.h>

struct rp_buf;
struct rp_err;

/** Allocations until the one that fails; negative: none does. */
extern long countdown;
bool fails_now(void);
void *__real_malloc(size_t bytes);

/** One step under test: appends its result to out. */
typedef int step(struct rp_buf *out, struct rp_err *err);

/** Fails each allocation in turn; @return how many there are. */
long survive(step *run);

#endif
