/**
 * @file compile_database.h
 * @brief How compile_commands.json says that a source file is compiled.
 */
#ifndef RP_OPTIMIZE_COMPILE_DATABASE_H
#define RP_OPTIMIZE_COMPILE_DATABASE_H

struct rp_err;
struct rp_words;

/** Strings owned by the caller. */
struct rp_database_entry {
    char *path;      /**< of the compile_commands.json */
    char *directory; /**< in which the command runs */
};

/**
 * @param path    of a compile_commands.json, or NULL: the nearest one in the folders above the
 *                source, or in their build/, that lists it
 * @param source  absolute
 * @return 1 when found, 0 when none lists it (with `path` that is RP_BAD_INPUT), negative
 */
int rp_compile_database_find(const char *path, const char *source, struct rp_database_entry *ret,
                             struct rp_words *ret_words, struct rp_err *err);

#endif
