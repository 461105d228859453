/**
 * @file svg.h
 * @brief What pictures share.
 */
#ifndef RP_BASE_SVG_H
#define RP_BASE_SVG_H

/** Between the lines of an axis: a round number not below, 1, 2 or 5 times a power of ten. */
double rp_svg_round_step(double least);

#endif
