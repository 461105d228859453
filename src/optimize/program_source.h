/**
 * @file program_source.h
 * @brief Finds the source of a program's kernels, for those who do not name it.
 */
#ifndef RP_OPTIMIZE_PROGRAM_SOURCE_H
#define RP_OPTIMIZE_PROGRAM_SOURCE_H

struct rp_environment;
struct rp_err;

/** Release it with rp_program_source_free. */
struct rp_program_source {
    char *path; /**< absolute */
    char *from; /**< what names it: "the line tables of /path/app" */
};

/**
 * Looks into the line tables of the program, into a compile_commands.json near it, and for the
 * files that its symbols name.
 * @param program absolute
 * @param kernel regular expression for the names of kernels that count; NULL: all
 * @return 0; RP_USAGE: there is none, or there are several: what was looked at; RP_ENVIRONMENT
 */
int rp_program_source_find(const struct rp_environment *env, const char *program,
                           const char *kernel, struct rp_program_source *ret, struct rp_err *err);
/** Accepts zeros. */
void rp_program_source_free(struct rp_program_source *source);

#endif
