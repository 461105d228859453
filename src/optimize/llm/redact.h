/**
 * @file redact.h
 * @brief A key out of a text before anybody reads it.
 */
#ifndef RP_OPTIMIZE_LLM_REDACT_H
#define RP_OPTIMIZE_LLM_REDACT_H

#include <stddef.h>

/**
 * Overwrites the key with asterisks wherever it stands, and beginnings of it of eight and more
 * characters: a message may have been cut in its middle. @param key NULL: nothing to do
 */
void rp_llm_redact(char *text, const char *key);

#endif
