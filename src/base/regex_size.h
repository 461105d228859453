/**
 * @file regex_size.h
 * @brief How much the C library makes of a regular expression, before it makes it.
 *
 * regcomp copies what a repetition counts, so that a few bytes, as "((a{1,255}){1,255}){1,255}",
 * take gigabytes; and each byte that is searched takes time and memory for all that was made.
 */
#ifndef RP_BASE_REGEX_SIZE_H
#define RP_BASE_REGEX_SIZE_H

#include <stddef.h>

struct rp_err;

/** Counts characters, classes, groups and alternatives of an extended regular expression with each
 * repetition written out. It is 1 for "^" and for characters that stand for themselves, because
 * these are searched for at one place, whatever their number. More than RP_REGEX_MAX_PARTS means
 * too large, however much. */
size_t rp_regex_parts(const char *text);

/** @param name  what gave it, for the message. @return 0; RP_USAGE: too large */
int rp_regex_check_size(const char *name, const char *text, struct rp_err *err);

#endif
