/**
 * @file shape_steps.h
 * @brief The values that variables get on which it depends how often barriers are met.
 */
#ifndef RP_OPTIMIZE_SHAPE_STEPS_H
#define RP_OPTIMIZE_SHAPE_STEPS_H

struct rp_shape_walk;

/** At the end of a function, when its heads are known. */
void rp_shape_add_steps(struct rp_shape_walk *walk);

#endif
