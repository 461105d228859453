/* What is known of the user's command: where it comes from, what it cannot make. */
#include "optimize/compile_command.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/compile_command_parts.h"
#include "optimize/compile_words.h"

bool rp_compile_names_source(const struct rp_compile_command *command, const char *word)
{
    rp_autofree char *file = NULL;

    if (strcmp(word, RP_SOURCE_PLACE) == 0)
        return true;
    file = rp_word_is_input(word) ? rp_word_file(command->directory, word) : NULL;
    return file && strcmp(file, rp_compile_unit(command)) == 0;
}

void rp_compile_command_free(struct rp_compile_command *command)
{
    if (!command)
        return;
    rp_environment_free(&command->env);
    free(command->origin);
    free(command->source);
    free(command->unit);
    free(command->folder);
    free(command->directory);
    rp_words_free(&command->program);
    rp_words_free(&command->compiler);
    rp_build_steps_free(&command->steps);
    free(command->temporary);
    free(command);
}

int rp_compile_command_set_temporary(struct rp_compile_command *command, const char *folder,
                                     struct rp_err *err)
{
    free(command->temporary);
    command->temporary = strdup(folder);
    return command->temporary ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

struct rp_env_change rp_compile_command_env(const struct rp_compile_command *command)
{
    return (struct rp_env_change){.name = command->temporary ? "TMPDIR" : NULL,
                                  .value = command->temporary};
}

const struct rp_environment *
rp_compile_command_environment(const struct rp_compile_command *command)
{
    return &command->env;
}

const char *rp_compile_command_origin(const struct rp_compile_command *command)
{
    return command->program.count ? "--build" : command->origin;
}

const char *rp_compile_command_doubt(const struct rp_compile_command *command)
{
    if (!command->guessed)
        return command->program.count ? "; --build may compile with other options than those of "
                                        "--flags or --compile-commands"
                                      : "";
    return command->program.count ? "; which flags --build compiles with is not known (hipcc -O3 "
                                    "was tried): give them "
                                    "with --flags '-I inc -DX', or --compile-commands FILE"
                                  : "; hipcc -O3 was tried: say with --build how the program is "
                                    "built, or with --flags "
                                    "'-I inc -DX' which options it needs";
}

/** Whether a library that is loaded is between the source and the program. */
static bool makes_shared(const struct rp_compile_command *command)
{
    for (size_t i = 0; i < command->steps.count; i++)
        if (rp_words_have(&command->steps.list[i].words, "-shared"))
            return true;
    return rp_words_have(&command->compiler, "-shared");
}

/** An object file is all that is known. */
static int refuse_object(const struct rp_compile_command *command, struct rp_err *err)
{
    const char *origin = command->origin;

    if (command->steps.count)
        return rp_fail(err, RP_USAGE,
                       "--build compiles %s, but none of its commands, or more than one, links the "
                       "program from that: give the program as it is built, or name its target",
                       command->source);
    if (strcmp(origin, "--build") != 0)
        return rp_fail(err, RP_USAGE,
                       "%s says how %s is compiled to an object file, not how the program is made "
                       "of it: give that with --build 'cmake --build %.*s' (or make, or ninja)",
                       origin, command->source, (int)(rp_base_name(origin) - origin), origin);
    return rp_fail(err, RP_USAGE,
                   "--build makes an object file of %s and no program: give the command that makes "
                   "the program, or one with %s where the source's path stands and %s where the "
                   "program's does",
                   command->source, RP_SOURCE_PLACE, RP_OUTPUT_PLACE);
}

int rp_compile_command_check_program(const struct rp_compile_command *command, struct rp_err *err)
{
    if (rp_words_have(&command->compiler, "-fgpu-rdc"))
        return rp_fail(err, RP_USAGE,
                       "%s compiles with -fgpu-rdc: device code of several files is linked then, "
                       "and what is made of one file is not what runs; build the program without "
                       "it to have it optimized",
                       command->origin);
    if (command->program.count)
        return 0;
    if (makes_shared(command))
        return rp_fail(
            err, RP_USAGE,
            "%s makes a shared library of %s: kernels of libraries cannot be tried where "
            "they are. Give a --build that makes the program with %s in it instead of "
            "in the library",
            command->origin, command->source, command->source);
    if (command->steps.count < 2 && rp_words_stop_before_link(&command->compiler))
        return refuse_object(command, err);
    return 0;
}

const char *rp_compile_command_unit(const struct rp_compile_command *command)
{
    return command->unit;
}

bool rp_compile_command_included(const struct rp_compile_command *command, const char **ret_path,
                                 const char **ret_directory)
{
    if (!command->unit)
        return false;
    *ret_path = command->source;
    *ret_directory = command->directory;
    return true;
}
