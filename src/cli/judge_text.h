/**
 * @file judge_text.h
 * @brief What people read of the comparisons of a kernel in judge.json.
 */
#ifndef RP_CLI_JUDGE_TEXT_H
#define RP_CLI_JUDGE_TEXT_H

#include <jansson.h>

struct rp_page;

/** Writes what came of each comparison, and below them with which kinds of other inputs there was
 * none, and why.
 * @param comparisons as a kernel of judge.json has them */
void rp_judge_text_comparisons(const struct rp_page *page, const json_t *comparisons);

#endif
