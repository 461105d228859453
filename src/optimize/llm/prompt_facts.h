/**
 * @file prompt_facts.h
 * @brief What was measured of a kernel, in words.
 */
#ifndef RP_OPTIMIZE_LLM_PROMPT_FACTS_H
#define RP_OPTIMIZE_LLM_PROMPT_FACTS_H

struct rp_kernel_facts;
struct rp_kernel_source;
struct rp_prompt_parts;

/** Adds the sections of the hardware, of what was measured, and of stalls. What is unknown is not
 *  said. @param facts may be NULL */
void rp_prompt_add_facts(struct rp_prompt_parts *parts, const struct rp_kernel_facts *facts,
                         const struct rp_kernel_source *source);

#endif
