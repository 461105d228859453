/**
 * @file diagnostics.h
 * @brief What of a compiler's output a model server is given: what is said of the kernel's own
 * lines.
 *
 * Errors bring lines of other places with them (where a name was declared, a macro expanded). The
 * user's source may hold there what the question does not.
 */
#ifndef RP_OPTIMIZE_LLM_DIAGNOSTICS_H
#define RP_OPTIMIZE_LLM_DIAGNOSTICS_H

#include <stdint.h>

struct rp_buf;

/**
 * Keeps diagnostics of lines [first_line, first_line + line_count) of a file with the extension of
 * @p path, each with the lines that follow it; their lines count from the kernel's first one, 1.
 */
void rp_llm_own_diagnostics(const char *output, const char *path, uint32_t first_line,
                            uint32_t line_count, struct rp_buf *to);

#endif
