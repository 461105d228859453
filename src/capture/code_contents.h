/**
 * @file code_contents.h
 * @brief What a kernel consists of, so that kernels of two code objects can be told apart, or found
 *        to be the same one.
 *
 * That is its descriptor, its instructions, and all that these refer to: functions that are called,
 * tables, variables. Addresses are taken for what is there, so that kernels that only lie elsewhere
 * are the same. The injected tool has it, too: it needs libc only.
 */
#ifndef RP_CAPTURE_CODE_CONTENTS_H
#define RP_CAPTURE_CODE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_buf;
struct rp_code_contents;
struct rp_code_symbols;

/** @return NULL: symbols or sections of the code object cannot be read, or memory is out. It refers
 * to the bytes. */
struct rp_code_contents *rp_code_contents_open(const uint8_t *bytes, size_t size);
/** Accepts NULL. */
void rp_code_contents_free(struct rp_code_contents *contents);
/** The dynamic ones. */
const struct rp_code_symbols *rp_code_contents_symbols(const struct rp_code_contents *contents);

/**
 * All that makes a kernel, as bytes that are the same for the same kernel.
 * @param kd          its descriptor, "name.kd"
 * @param most_bytes  of them: what is referred to behind them is left out
 * @return false: it cannot be told. Free @p ret with rp_buf_free.
 */
bool rp_code_contents_kernel(const struct rp_code_contents *contents, const char *kd,
                             size_t most_bytes, struct rp_buf *ret);

/** Of the first megabyte of it; 0: it cannot be told. */
uint64_t rp_code_contents_hash(const struct rp_code_contents *contents, const char *kd);

#endif
