/**
 * @file intern.h
 * @brief Text of unknown origin made safe, numbers printed the same everywhere.
 */
#ifndef RP_REPORT_TEXT_H
#define RP_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

struct rp_buf;

/** Appends text as valid UTF-8; each byte that is none becomes U+FFFD. */
void rp_text_utf8(struct rp_buf *buf, const char *text);

/**
 * Appends text for a line, escaped (base/utf8.h). Longer than max_cells, the middle is replaced
 * by "...".
 */
void rp_text_printable(struct rp_buf *buf, const char *text, unsigned max_cells);

/** The same, but the end is replaced: for a name at the end of a line. */
void rp_text_printable_head(struct rp_buf *buf, const char *text, unsigned max_cells);

/**
 * Bytes of the words at the beginning of @p text that fit into so many cells, without the spaces
 * behind them; of one word at least, however long it is. 0: there is none.
 */
size_t rp_text_words(const char *text, size_t max_cells);

/** Terminal cells that rp_text_printable needs for the whole text. */
size_t rp_text_cells(const char *text);

/** Appends text as a JSON string, made valid UTF-8; NULL as null. */
void rp_text_json(struct rp_buf *buf, const char *text);
/** What "timing" is: an object, null without a model. */
void rp_text_json_timing(struct rp_buf *buf, const char *model, uint32_t version);

/** Appends the shortest text that reads back as the same number; whole numbers without a point. */
void rp_text_json_number(struct rp_buf *buf, double value);

/** Nearest value with six decimals: what every real number of a report is cut to. */
double rp_text_round6(double value);

#endif
