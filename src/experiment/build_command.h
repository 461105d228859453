/**
 * @file build_command.h
 * @brief How the user builds the program (build_command.c reads it), and what is compiled in the
 * same way: the program from another source, and code objects (compile.c).
 */
#ifndef RP_EXPERIMENT_BUILD_COMMAND_H
#define RP_EXPERIMENT_BUILD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/process.h"
#include "run/machine.h"

struct rp_compile_command;
struct rp_environment;
struct rp_err;
struct rp_words;

/* A list of words holds the arguments of a program, or a command line taken apart. */

/** Initialise it with zeros, and release it with rp_words_free. */
struct rp_words {
    char **list; /**< NULL-terminated; NULL before the first */
    size_t count;
};

#define rp_autowords rp_cleanup(rp_words_free) struct rp_words

void rp_words_add(struct rp_words *words, const char *text);
void rp_words_free(struct rp_words *words);

/** Splits a command line as a shell would that expands nothing, and adds its words. What only a
 * shell could mean is refused.
 * @return 0 or RP_USAGE */
int rp_words_split_more(const char *text, struct rp_words *words, struct rp_err *err);

/** Says whether a word is a file rather than an option. */
bool rp_word_is_input(const char *word);

/** These words of --build stand for the source's path and for the program's. */
#define RP_SOURCE_PLACE "{source}"
#define RP_OUTPUT_PLACE "{output}"

/* Says how the user builds the program, taken apart without a shell. Commands for another text of
 * the source are made from it. */

struct rp_compile_command {
    struct rp_environment env;
    char *origin;
    char *source;    /**< absolute */
    char *unit;      /**< absolute: what is compiled, when source is a header; NULL: source */
    char *folder;    /**< of source */
    char *directory; /**< in which relative paths of `compiler` are meant; NULL: the current one */
    struct rp_words program; /**< makes the program, when that is not the compiler itself */
    struct rp_words compiler;
    char *temporary;                  /**< $TMPDIR of the compilers; NULL: unchanged */
    const struct rp_sandbox *sandbox; /**< of the compilers; NULL: none. Borrowed */
    bool guessed;                     /**< nobody has said which flags `program` compiles with */
    bool lacks_lines; /**< the program has line tables, and the compiler writes none */
};

/* compiler_options.def says what the words of a compiler's command line mean. */

enum rp_option_match { RP_OPTION_EXACT, RP_OPTION_PREFIX };

struct rp_compile_option {
    const char *text; /**< "" for all that is not in the list */
    enum rp_option_match match;
    bool value, side_output, link, device;
};

/** The result is never NULL. */
const struct rp_compile_option *rp_compile_option_of(const char *word);

/** Counts the words that name the compiler: 1, 2 for `rocm-perf hipcc`; 0 for an unknown one. */
size_t rp_compiler_words(const struct rp_words *words);

/** Says whether a word of the compiler's names the file that it compiles. */
bool rp_compile_names_source(const struct rp_compile_command *command, const char *word);

/**
 * Returns the file that a word means, absolute and without links as far as it exists. The caller
 * frees it.
 * @param directory of relative words; NULL: the current one
 */
char *rp_word_absolute_path(const char *directory, const char *word);

/** Returns the part behind the last slash. */
const char *rp_base_name(const char *path);

/** Holds what the user said. If all is NULL, compile_commands.json is used where there is one, else
 * hipcc -O3. */
struct rp_build_choice {
    const char *build; /**< --build */
    /** --compile-commands FILE is used with a --build that is no compiler's, for reading the source
     * and for its device code. */
    const char *compile_commands;
    const char *flags; /**< --flags: options of the compiler, instead of -O3; likewise */
    bool has_lines;    /**< the program has line tables, so that it was compiled with -g */
    const char *unit;  /**< --unit: the file that is compiled and includes the source; NULL: the
                          source itself, or the one that --build names */
};

/** Lists the sources that a compile_commands.json names, absolute.
 * @return 0; RP_BAD_INPUT */
int rp_compile_database_sources(const char *path, struct rp_words *ret, struct rp_err *err);

/** Says what a command makes. */
enum rp_compile_what {
    RP_COMPILE_PROGRAM, /**< the program, as the user makes it */
    RP_COMPILE_DEVICE,  /**< a code object of one GPU */
    RP_COMPILE_AST,     /**< nothing; the declarations named `output` go to stdout as JSON */
    RP_COMPILE_TEXT,    /**< nothing; the text behind the preprocessor goes to stdout */
};

/**
 * @param source  the file with the kernels; it must exist
 * @return 0; RP_USAGE with the remedy when --build cannot be used; RP_BAD_INPUT for a
 *         compile_commands.json; RP_ENVIRONMENT when there is no compiler
 */
int rp_compile_command_read(const struct rp_build_choice *choice, const char *source,
                            struct rp_compile_command **ret, struct rp_err *err);
void rp_compile_command_free(struct rp_compile_command *command);

/**
 * Compilers that are killed leave their files in this folder instead of $TMPDIR, and the caller,
 * who knows when they have ended, removes it.
 * @param folder absolute; exists
 */
void rp_compile_command_set_temporary(struct rp_compile_command *command, const char *folder);

/** Returns the environment of compilers for that, or only the end of the list where nothing was
 * said. */
struct rp_env_change rp_compile_command_env(const struct rp_compile_command *command);

/** Returns the environment whose compiler the commands may call. */
const struct rp_environment *
rp_compile_command_environment(const struct rp_compile_command *command);

/** Says in words where it comes from: "--build", "build/compile_commands.json", "hipcc -O3 (no
 * --build was given)". */
const char *rp_compile_command_origin(const struct rp_compile_command *command);

/**
 * The flags may be guessed, and then the source may not compile, or its code may not be that of the
 * program. This returns "; ..." with the remedy for such a message, or "".
 */
const char *rp_compile_command_hint(const struct rp_compile_command *command);

/** Returns "; ..." with the option that is missing where the program has line tables and the
 * command makes none, or "". The compiler may make other code with -g than without. */
const char *rp_compile_command_lines_hint(const struct rp_compile_command *command);

/**
 * Checks that RP_COMPILE_PROGRAM can be made, and that the source's device code becomes part of it
 * unchanged.
 * @return 0; RP_USAGE with the reason and the remedy: only an object file or a shared library is
 * made, or device code of several files is linked (-fgpu-rdc)
 */
int rp_compile_command_check_program(const struct rp_compile_command *command, struct rp_err *err);

/**
 * Makes program and arguments, NULL-terminated. The program's path is absolute or is found in
 * $PATH. Free them with rp_compile_argv_free. Relative paths in them are of the current folder, or
 * -working-directory says otherwise.
 * @param source instead of the user's file; what that includes with "..." is still found. Instead
 * of a header, by a further file beside it
 * @param output file to write; for RP_COMPILE_AST the filter: what the names shall contain; NULL
 * for RP_COMPILE_TEXT
 * @param arch "gfx942"; NULL for RP_COMPILE_PROGRAM: as the user says
 * @return 0; RP_USAGE when this command cannot make it
 */
int rp_compile_argv(const struct rp_compile_command *command, enum rp_compile_what what,
                    const char *source, const char *output, const char *arch, char ***ret_argv,
                    struct rp_err *err);
void rp_compile_argv_free(char ***argv);

/** Returns the file that is compiled and includes the source. NULL means that the source itself is
 * compiled. */
const char *rp_compile_command_unit(const struct rp_compile_command *command);

/** Finds under which name the compiler knows a text of the source, and a folder for relative names
 * (NULL: the current one). The name is a header's, which commands do not spell as it is.
 * @return false: as given */
bool rp_compile_command_included(const struct rp_compile_command *command, const char **ret_path,
                                 const char **ret_directory);

/* Runs compile commands: the user's program from another source, and code objects, each built
 * twice.
 */

/** Says how a build ended. Release it with rp_build_result_free. */
struct rp_build_result {
    bool ok;
    char *output; /**< of the compiler, cut to what a person reads; never NULL */
    char *why;    /**< not ok: half a sentence */
};
void rp_build_result_free(struct rp_build_result *built);

/** Says why it failed, with the first error that the compiler names. The caller frees it. */
char *rp_build_result_reason(const struct rp_build_result *built);

/** A compiler's first error, in what it has said. */
struct rp_compiler_error {
    const char *line; /**< all of it: "mm.hip:3:14: error: use of undeclared identifier" */
    size_t line_bytes;
    const char *file; /**< NULL: it names none, as a linker's does */
    size_t file_bytes;
    unsigned number; /**< of the line in that file */
};

/** @return whether there is an error; else *ret is unchanged */
bool rp_compiler_first_error(const char *said, struct rp_compiler_error *ret);

/**
 * Compiles a source.
 * @param arch "gfx942": a code object of its device code; NULL: the whole program
 * @return 0, also when the compiler refuses (ret->ok says so); RP_ENVIRONMENT, RP_USAGE,
 * RP_INTERRUPTED
 */
int rp_compile(const struct rp_compile_command *command, const char *source, const char *arch,
               const char *output, struct rp_build_result *ret, struct rp_err *err);

/**
 * Builds a code object twice.
 * @param ret_same  both files are equal to the byte
 */
int rp_compile_twice(const struct rp_compile_command *command, const char *source, const char *arch,
                     const char *output, struct rp_build_result *ret, bool *ret_same,
                     struct rp_err *err);

#endif
