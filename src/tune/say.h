/**
 * @file say.h
 * @brief What a program said about its end, cut to one line that may be printed.
 */
#ifndef RP_TUNE_SAY_H
#define RP_TUNE_SAY_H

struct rp_proc_end;

/**
 * The line of a log that says most: the first with "error" or a memory access fault, else the last
 * that is not empty, nor about ROCr's own leaks; UTF-8 without control characters, cut to some 200
 * bytes.
 * @return owned; NULL: it has none
 */
char *rp_say_log(const char *path);

/** Puts that line behind a reason, which is owned: "REASON: LINE". Stays as it is where there is
 * none, or no memory. */
void rp_say_with_log(char **why, const char *log_path);

/** "ended with exit status 3: LINE", "was ended by SIGSEGV". Owned; NULL: out of memory. */
char *rp_say_end(const struct rp_proc_end *end, const char *log_path);

#endif
