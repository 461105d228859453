/**
 * @file first_difference.h
 * @brief Where two texts that should be the same begin to differ, for a message.
 */
#ifndef RP_OPTIMIZE_FIRST_DIFFERENCE_H
#define RP_OPTIMIZE_FIRST_DIFFERENCE_H

/**
 * @return `line 3 is "sum 12" instead of "sum 13"`, with what `after` has first and the part of
 * long lines that differs; NULL: they are the same, one cannot be read, or out of memory. Free it.
 */
char *rp_first_difference(const char *before_path, const char *after_path);

#endif
