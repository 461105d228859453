/**
 * @file debug_log.h
 * @brief Debug log of the driver's face: nothing unless ROCM_PERF_DEVICE_DEBUG names a file.
 *        Never standard output. Thread safe; keeps errno.
 */
#ifndef RP_DEVICE_DRIVER_DEBUG_LOG_H
#define RP_DEVICE_DRIVER_DEBUG_LOG_H

/** Appends one line (the newline is added). */
void rp_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
