/**
 * @file line.h
 * @brief A straight line through the logarithms of times, and how they scatter around it.
 *
 * NAN is a run without a time: it keeps its place in the order.
 */
#ifndef RP_ANALYSIS_COMPARE_LINE_H
#define RP_ANALYSIS_COMPARE_LINE_H

#include <stddef.h>

struct rp_trend {
    size_t count;  /**< of times */
    double middle; /**< of the places of the times in the order of runs */
    double mean, slope;
    double squares;    /**< sum of the squared deviations from the line */
    double neighbours; /**< sum of the products of deviations that follow each other */
};

/** Of at least two times. @param count  of runs */
struct rp_trend rp_line_of(const double *ms, size_t count);
/** How much of a time's deviation the next one has, of both series. @param count  of the times
 * that hide some of it */
double rp_line_dependence(const struct rp_trend *a, const struct rp_trend *b, double count);

#endif
