/**
 * @file say.h
 * @brief What a program said about its end, cut to one line that may be printed.
 */
#ifndef RP_TUNE_SAY_H
#define RP_TUNE_SAY_H

struct rp_proc_end;

/**
 * The line of a log that says most: the first of a compiler's with "error", else the last that is
 * not empty; UTF-8 without control characters, cut to some 200 bytes.
 * @return owned; NULL: it has none
 */
char *rp_say_log(const char *path);

/** "ended with exit status 3: LINE", "was ended by SIGSEGV". Owned; NULL: out of memory. */
char *rp_say_end(const struct rp_proc_end *end, const char *log_path);

#endif
