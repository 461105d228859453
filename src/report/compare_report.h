/**
 * @file compare_report.h
 * @brief What the forms of a comparison for people have in common.
 */
#ifndef RP_REPORT_COMPARE_REPORT_H
#define RP_REPORT_COMPARE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/compare.h"

struct rp_buf;

/** "1.0312 (1.0251 to 1.0373)"; "?" without a ratio. */
void rp_versus_ratio_text(struct rp_buf *buf, const struct rp_versus_time *t);
/** "vgprs 32 -> 40, block 64x1x1 -> 128x1x1": runs without a time, and what differs; nothing
 * if nothing does. */
void rp_versus_changes_text(struct rp_buf *buf, const struct rp_versus_pair *k);
/** "it is 1.0312, the bound is 1.02; REASON; in KERNEL". */
void rp_versus_outcome_text(struct rp_buf *buf, const struct rp_versus_outcome *gated);
/** Whether a table of the heaviest has this row, the @p at -th: those with a verdict always. */
bool rp_versus_is_shown(const struct rp_versus_pair *k, size_t at, size_t most);

#endif
