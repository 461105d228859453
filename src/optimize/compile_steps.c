/* The commands that a build tool makes the program by, with our files in place of the user's. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/compile_command_parts.h"
#include "optimize/compile_words.h"

size_t rp_compile_command_steps(const struct rp_compile_command *command)
{
    return command->steps.count > 1 ? command->steps.count : 1;
}

/** The first step that writes what a step writes. */
static size_t first_writer(const struct rp_build_steps *steps, size_t index)
{
    size_t first = 0;

    while (strcmp(steps->list[first].output, steps->list[index].output) != 0)
        first++;
    return first;
}

/** Ours instead of what a step writes. */
static char *step_file(const struct rp_build_steps *steps, size_t index, const char *output)
{
    size_t first = first_writer(steps, index);
    const char *name = rp_base_name(steps->list[first].output), *dot = strrchr(name, '.');

    if (strcmp(steps->list[index].output, steps->list[steps->count - 1].output) == 0)
        return rp_path_absolute(output);
    return rp_format("%s.step-%zu%s", output, first + 1, dot ? dot : "");
}

/** Ours instead of a file of the user's; NULL: it stays as it is. */
static char *replaced_file(const struct rp_compile_command *command, size_t index, const char *word,
                           const char *source, const char *output)
{
    const struct rp_build_steps *steps = &command->steps;
    rp_autofree char *file = rp_word_file(steps->list[index].directory, word);

    if (!file)
        return NULL;
    if (!command->unit && strcmp(file, command->source) == 0)
        return rp_path_absolute(source);
    for (size_t i = 0; i <= index; i++)
        if (strcmp(file, steps->list[i].output) == 0) {
            rp_autofree char *ours = step_file(steps, i, output);

            return ours ? rp_path_absolute(ours) : NULL;
        }
    return NULL;
}

/** -Xlinker with a file that the linker writes besides. */
static bool names_side_output(const struct rp_words *words, size_t index)
{
    const char *value = index + 1 < words->count ? words->list[index + 1] : "";

    return strcmp(words->list[index], "-Xlinker") == 0 &&
           (strncmp(value, "--dependency-file", strlen("--dependency-file")) == 0 ||
            strncmp(value, "-Map", strlen("-Map")) == 0);
}

/** A later command of a build tool: what it reads and writes of ours takes the place of theirs. */
static int later_step(const struct rp_compile_command *command, size_t index, const char *source,
                      const char *output, char ***ret_argv, struct rp_err *err)
{
    const struct rp_words *user = &command->steps.list[index].words;
    const size_t first = rp_compiler_words(user);
    const bool links = first || rp_is_host_compiler(user->list[0]);
    rp_autowords words = {0};

    if (!first) /* by this name: llvm-ar is several programs */
        rp_words_add(&words, user->list[0]);
    for (size_t i = first ? first : 1; i < user->count; i++) {
        const char *word = user->list[i];
        const struct rp_compile_option *option = rp_compile_option_of(word);
        bool joined = links && strncmp(word, "-o", 2) == 0 && word[2];
        rp_autofree char *file =
            rp_word_is_input(word) || joined
                ? replaced_file(command, index, joined ? word + 2 : word, source, output)
                : NULL;

        if (links && (option->side_output || names_side_output(user, i)))
            i += option->value;
        else if (file)
            rp_words_addf(&words, "%s%s", joined ? "-o" : "", file);
        else
            rp_words_add(&words, word);
    }
    if (first)
        return rp_compile_finish(command, user, &words, ret_argv, err);
    if (words.failed)
        return rp_out_of_memory(err);
    *ret_argv = rp_steal(words.list);
    words.count = 0;
    return 0;
}

int rp_compile_step(const struct rp_compile_command *command, size_t index, const char *source,
                    const char *output, struct rp_compile_step *ret, struct rp_err *err)
{
    const bool several = rp_compile_command_steps(command) > 1;
    struct rp_compile_step step = {.begins =
                                       !several || first_writer(&command->steps, index) == index};
    int rc;

    step.output = several ? step_file(&command->steps, index, output) : strdup(output);
    if (!step.output)
        return rp_out_of_memory(err);
    if (index == 0)
        rc = rp_compile_argv(command, several ? RP_COMPILE_OBJECT : RP_COMPILE_PROGRAM, source,
                             step.output, NULL, &step.argv, err);
    else
        rc = later_step(command, index, source, output, &step.argv, err);
    if (rc < 0) {
        rp_compile_step_free(&step);
        return rc;
    }
    if (!command->program.count)
        step.directory = several ? command->steps.list[index].directory : command->directory;
    *ret = step;
    return 0;
}

void rp_compile_step_free(struct rp_compile_step *step)
{
    rp_compile_argv_free(&step->argv);
    free(step->output);
    *step = (struct rp_compile_step){0};
}
