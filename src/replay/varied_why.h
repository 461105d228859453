/**
 * @file varied_why.h
 * @brief Why a kind of other inputs tells nothing, in words.
 */
#ifndef RP_REPLAY_VARIED_WHY_H
#define RP_REPLAY_VARIED_WHY_H

struct rp_varied;

/** The captured kernel gives with the present kind what it gave before. */
const char *rp_varied_same_result(const struct rp_varied *v);
/** There is nothing of the present kind that could be another one. */
const char *rp_varied_nothing_to_change(const struct rp_varied *v);

#endif
