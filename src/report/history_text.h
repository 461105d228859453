/**
 * @file history_text.h
 * @brief What the forms of a history for people share: words, sentences, and the chart of a series.
 *        Names in them are as they are, and whoever prints such a text escapes all of it.
 */
#ifndef RP_REPORT_HISTORY_TEXT_H
#define RP_REPORT_HISTORY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/history.h"

struct rp_buf;
struct rp_commit_names;

/** Writes as many digits as git shows, and "+" where there were changes that no commit has. What is
 * no hash is a name, of which all tells. */
void rp_history_put_commit(struct rp_buf *to, const char *commit);
/** Writes "app  a=1 b=2". */
void rp_history_put_program(struct rp_buf *to, const char *program, const char *config);
/** Says why a series is undecided, and what decides it. */
void rp_history_put_undecided(struct rp_buf *to, const struct rp_series *s);
/** Writes the first line of a check. @param names of the series, short
 * @return the state that it tells of */
enum rp_series_state rp_history_put_verdict(struct rp_buf *to, const struct rp_series_list *list,
                                            char *const *names);

enum { RP_HISTORY_NOTES = 3 };
/** Writes one of the notes on a group of series.
 * @param s its first series
 * @return whether there is this one */
bool rp_history_put_note(struct rp_buf *to, const struct rp_series_group *group,
                         const struct rp_series *s, unsigned number);

/** Writes "sgemm: 14.2 % slower since 1a2b3c4d (6.35 -> 7.25 us)". */
void rp_history_put_change(struct rp_buf *to, const struct rp_series *s, const struct rp_change *c,
                           const char *name);

/** This is the style of charts on white. On a page they have the page's colours. */
extern const char rp_history_chart_style[];
enum { RP_HISTORY_CHART_WIDTH = 900, RP_HISTORY_CHART_HEIGHT = 190 };
/** Draws the chart of a series within an element svg: the medians over the commits in the order of
 * time, the spread of their runs, a line where they changed. Its size does not grow with the number
 * of results.
 * @param top of the chart in that element
 * @param names of commits; NULL: none are known */
void rp_history_put_chart(struct rp_buf *to, const struct rp_series *s, int top,
                          const struct rp_commit_names *names);

#endif
