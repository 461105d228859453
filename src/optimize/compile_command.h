/**
 * @file compile_command.h
 * @brief How the user builds the program, taken apart without a shell, and the commands made of it
 *        for another text of the source.
 */
#ifndef RP_OPTIMIZE_COMPILE_COMMAND_H
#define RP_OPTIMIZE_COMPILE_COMMAND_H

#include <stdbool.h>

struct rp_err;
struct rp_compile_command;

/** What the user said. Both NULL: compile_commands.json where there is one, else hipcc -O3. */
struct rp_build_choice {
    const char *build;            /**< --build */
    const char *compile_commands; /**< --compile-commands FILE */
};

/** What a command shall make. */
enum rp_compile_what {
    RP_COMPILE_PROGRAM, /**< the program, as the user makes it */
    RP_COMPILE_DEVICE,  /**< a code object of one GPU */
    RP_COMPILE_AST,     /**< nothing; the declarations named `output` go to stdout as JSON */
};

/**
 * @param source  the file with the kernels; it must exist
 * @return 0; RP_USAGE with the remedy when --build cannot be used; RP_BAD_INPUT for a
 *         compile_commands.json; RP_ENVIRONMENT when there is no compiler
 */
int rp_compile_command_read(const struct rp_build_choice *choice, const char *source,
                            struct rp_compile_command **ret, struct rp_err *err);
void rp_compile_command_free(struct rp_compile_command *command);

/** In words: "--build", "build/compile_commands.json", "hipcc -O3 (no --build was given)". */
const char *rp_compile_command_origin(const struct rp_compile_command *command);

/**
 * Whether RP_COMPILE_PROGRAM can be made. Not so when what is known makes an object file only, or
 * nothing was given and the source alone is no program.
 */
bool rp_compile_command_makes_program(const struct rp_compile_command *command);

/**
 * Program and arguments, NULL-terminated; the program's path is absolute or stands in $PATH. Free
 * with rp_compile_argv_free. Relative paths in it are of the current folder, or -working-directory
 * says otherwise.
 * @param source  instead of the user's file; what that includes with "..." is still found
 * @param output  file to write; for RP_COMPILE_AST the filter: what the names shall contain
 * @param arch    "gfx942"; NULL for RP_COMPILE_PROGRAM: as the user says
 * @return 0; RP_USAGE when this command cannot make it
 */
int rp_compile_argv(const struct rp_compile_command *command, enum rp_compile_what what,
                    const char *source, const char *output, const char *arch, char ***ret_argv,
                    struct rp_err *err);
void rp_compile_argv_free(char ***argv);

#endif
