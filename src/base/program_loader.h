/**
 * @file program_loader.h
 * @brief Which programs a loader of our choice has to start, and the command that does so.
 *
 * The private ROCm's libc may be newer than the machine's. Whatever loads that ROCm needs the newer
 * one from its first instruction on, while all other programs must have the machine's. A program's
 * file names the machine's loader; what is said to a loader on its command line holds for that one
 * process, and none of its children inherits it.
 *
 * Nothing here allocates, and nothing but the results is written, because programs are also started
 * between vfork() and exec, by threads of any kind.
 */
#ifndef RP_BASE_PROGRAM_LOADER_H
#define RP_BASE_PROGRAM_LOADER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/** "LOADER:PRELOADED:FOLDER...": the loader, the library that it loads first ("": none), and where
 * it looks for libraries. Unset: programs start as they are. */
#define RP_LOADER_VARIABLE "ROCM_PERF_DEVICE_LOADER"

/** "NAME:NAME...": programs and scripts, by file name or by path, that start as they are whatever
 * their files say. */
#define RP_OWN_LOADER_VARIABLE "ROCM_PERF_OWN_LOADER"

enum {
    RP_LOADER_ARGUMENTS = 12,       /**< that a command has more than the program's own, at most */
    RP_LOADER_SETTING_BYTES = 4096, /**< a longer setting is not taken, */
    RP_LOADER_LIBRARIES_BYTES = 16384, /**< nor a longer path of libraries */
};

/** The words of a command, beside those of the caller. */
struct rp_loader_words {
    char setting[RP_LOADER_SETTING_BYTES]; /**< cut into its parts */
    char libraries[RP_LOADER_LIBRARIES_BYTES];
    char script_line[256];
    char program[PATH_MAX], script_program[PATH_MAX];
};

/** What the environment of the new program says. All texts may be NULL: there is none. */
struct rp_loader_environment {
    const char *setting;     /**< RP_LOADER_VARIABLE */
    const char *own_loader;  /**< RP_OWN_LOADER_VARIABLE */
    const char *libraries;   /**< LD_LIBRARY_PATH, which the loader no longer looks at */
    const char *search_path; /**< PATH, for scripts that begin with "#!/usr/bin/env" */
    bool has_gpu; /**< or the software device: what HIP could not use, is not made ready for it */
};

/**
 * Says whether the loader of @p env has to start a program: a dynamic one for x86-64 which links
 * ROCm's runtime, or is Python, or has Python in it, or names HIP's library and has a GPU; or a
 * script for such a program.
 * @param path of the program's file; must live as long as the command
 * @param argv the program's, with its name
 * @param words must live as long as the command
 * @param ret_argv the command, NULL-terminated; it has room for argv and RP_LOADER_ARGUMENTS more
 * @return false: exec() may do it, and says what is wrong
 */
bool rp_loader_command(const struct rp_loader_environment *env, const char *path, char *const *argv,
                       struct rp_loader_words *words, char **ret_argv);

/** Says of most programs that rp_loader_command() would return false for them, without the 30 KB of
 * struct rp_loader_words: a thread that starts programs may have 16 KB of stack. */
bool rp_loader_is_needed(const struct rp_loader_environment *env, const char *path);

/** Returns what the first line of a script names, in @p line; NULL: it is no script that can be
 * read, or has no such line. */
const char *rp_loader_script_program(const char *path, char line[256]);

/**
 * Finds a program in a PATH as execvp() does.
 * @param name without a slash in it
 * @return whether there is one; its path is in @p ret
 */
bool rp_loader_search(const char *search_path, const char *name, char ret[PATH_MAX]);

#endif
