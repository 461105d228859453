/**
 * @file compiler_key.h
 * @brief What a result of the compiler is kept under; see compiler_cache.h.
 */
#ifndef RP_COLLECT_COMPILER_KEY_H
#define RP_COLLECT_COMPILER_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct rp_environment;
struct rp_err;
struct rp_proc;

enum { RP_COMPILER_KEY_TEXT = 33 };

/** A command, as far as it matters here. Its words are the caller's. Release with
 * rp_compiler_command_free. */
struct rp_compiler_command {
    char *const *argv;
    const char *output;    /**< NULL: it only prints */
    const char *directory; /**< of -working-directory=; NULL: that in which it runs */
    const char *overlay;   /**< of -ivfsoverlay */
    const char **links;    /**< objects, archives and libraries, as they are named: words of argv */
    const char **places;   /**< of -L */
    const char **archs;    /**< "gfx942" */
    size_t link_count, place_count, arch_count, source_count;
    bool host, device; /**< which sides are compiled */
    bool portable;     /**< what it gives depends neither on the folder nor on the output's name */
};

/** A file that was read for the key. */
struct rp_compiler_file {
    char *path;
    struct stat st;
};

/** Release with rp_compiler_key_free. */
struct rp_compiler_key {
    char text[RP_COMPILER_KEY_TEXT];
    struct rp_compiler_file *files; /**< but for those of the compiler itself */
    size_t file_count, file_capacity;
};

/** @return whether its result may be kept; then release ret */
bool rp_compiler_command_read(const struct rp_environment *env, char *const *argv,
                              struct rp_compiler_command *ret);
void rp_compiler_command_free(struct rp_compiler_command *command);

/**
 * Preprocesses, and reads what is included and linked.
 * @param proc  how the compiler is run: directory, environment, limits
 * @return 1 with *ret; 0: it cannot be told; RP_INTERRUPTED
 */
int rp_compiler_key(const struct rp_environment *env, const struct rp_proc *proc,
                    const struct rp_compiler_command *command, struct rp_compiler_key *ret,
                    struct rp_err *err);
void rp_compiler_key_free(struct rp_compiler_key *key);

/** Whether what was read is still what is there. */
bool rp_compiler_key_holds(const struct rp_compiler_key *key);

#endif
