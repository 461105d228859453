/* What the files of a compile command share. */
#ifndef RP_OPTIMIZE_COMPILE_COMMAND_PARTS_H
#define RP_OPTIMIZE_COMPILE_COMMAND_PARTS_H

#include <stdbool.h>

#include "collect/environment.h"
#include "optimize/build_steps.h"
#include "optimize/compile_command.h"
#include "optimize/words.h"

#define RP_SOURCE_PLACE "{source}"
#define RP_OUTPUT_PLACE "{output}"

struct rp_compile_command {
    struct rp_environment env;
    char *origin;
    char *source;            /* absolute */
    char *unit;              /* absolute: what is compiled, when source is a header; NULL: source */
    char *folder;            /* of source */
    char *directory;         /* in which relative paths of `compiler` are meant; NULL: here */
    struct rp_words program; /* what makes the program, when that is not the compiler itself */
    struct rp_words compiler;
    /* What a build tool makes the program by. The first one's words are those of `compiler`. */
    struct rp_build_steps steps;
    char *temporary; /* $TMPDIR of the compilers; NULL: as it is */
    bool guessed;    /* nobody has said which flags `program` compiles with */
};

/** The file that the compiler is called with. */
static inline const char *rp_compile_unit(const struct rp_compile_command *command)
{
    return command->unit ? command->unit : command->source;
}

/** Whether a word of the compiler's names the file that it compiles. */
bool rp_compile_names_source(const struct rp_compile_command *command, const char *word);

/**
 * The whole command of a compiler.
 * @param user   what the user has written of it
 * @param words  the arguments; empty behind it
 */
int rp_compile_finish(const struct rp_compile_command *command, const struct rp_words *user,
                      struct rp_words *words, char ***ret_argv, struct rp_err *err);

#endif
