/**
 * @file timing_version.h
 * @brief Which models of time the software device has, for whoever keeps times.
 */
#ifndef RP_CAPTURE_TIMING_VERSION_H
#define RP_CAPTURE_TIMING_VERSION_H

/**
 * Stands in results: times of one model compare as long as these are the same. To be raised by
 * whatever changes the times of a kernel.
 */
enum {
    RP_TIMING_FAST_VERSION = 2,
    RP_TIMING_DETAILED_VERSION = 6,
    RP_TIMING_OFF_VERSION = 1,
};

#endif
