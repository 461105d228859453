/* The user's command as words, whoever has written it down. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/compile_command_parts.h"
#include "optimize/compile_database.h"
#include "optimize/compile_words.h"

RP_DEFINE_CLEANUP(struct rp_compile_command, rp_compile_command_free)

static bool has_extension(const char *path, const char *const *list, size_t count)
{
    const char *dot = strrchr(rp_base_name(path), '.');

    for (size_t i = 0; i < count; i++)
        if (dot && strcmp(dot + 1, list[i]) == 0)
            return true;
    return false;
}

static bool is_header(const char *path)
{
    static const char *const list[] = {"h",   "hh",  "hpp", "hxx", "h++",
                                       "cuh", "inc", "inl", "ipp", "tpp"};

    return has_extension(path, list, sizeof list / sizeof *list);
}

static bool is_hip(const char *path)
{
    static const char *const list[] = {"hip", "cu"};

    return has_extension(path, list, sizeof list / sizeof *list);
}

static bool contains(const struct rp_words *words, const char *part)
{
    for (size_t i = 0; i < words->count; i++)
        if (strstr(words->list[i], part))
            return true;
    return false;
}

static bool has_source(const struct rp_compile_command *command)
{
    for (size_t i = 0; i < command->compiler.count; i++)
        if (rp_compile_names_source(command, command->compiler.list[i]))
            return true;
    return false;
}

/** What people type for a single file. */
static int read_flags(struct rp_compile_command *command, const char *flags, struct rp_err *err)
{
    rp_autowords words = {0};

    if (flags && rp_words_split(flags, RP_WORDS_PLAIN, &words, err) < 0)
        return rp_wrap(err, "--flags");
    for (size_t i = 0; i < words.count; i++) {
        bool value = rp_compile_option_of(words.list[i])->value;

        if (rp_word_is_input(words.list[i]) &&
            (i == 0 || !rp_compile_option_of(words.list[i - 1])->value))
            return rp_fail(err, RP_USAGE,
                           "--flags: %s is no option: only options of the compiler stand there, "
                           "a whole command with --build",
                           words.list[i]);
        if (value && i + 1 == words.count)
            return rp_fail(err, RP_USAGE, "--flags: the value of %s is missing", words.list[i]);
    }
    rp_words_add(&command->compiler, "hipcc");
    for (size_t i = 0; i < words.count; i++)
        rp_words_add(&command->compiler, words.list[i]);
    if (!flags)
        rp_words_add(&command->compiler, "-O3");
    rp_words_add(&command->compiler, rp_compile_unit(command));
    command->guessed = !flags;
    command->origin = strdup(flags ? "hipcc with --flags"
                                   : "hipcc -O3 (neither --build nor a compile_commands.json)");
    return command->origin && !command->compiler.failed ? 0 : rp_out_of_memory(err);
}

/** @return 1 when an entry is there, 0 when not */
static int read_database(struct rp_compile_command *command, const char *database,
                         struct rp_err *err)
{
    struct rp_database_entry entry = {0};
    int rc = rp_compile_database_find(database, rp_compile_unit(command), &entry,
                                      &command->compiler, err);

    if (rc > 0) {
        command->origin = rp_steal(entry.path);
        command->directory = rp_steal(entry.directory);
        rp_words_drop_launcher(&command->compiler);
    }
    free(entry.path);
    free(entry.directory);
    if (rc > 0 && (!rp_compiler_words(&command->compiler) || !has_source(command)))
        return rp_fail(err, RP_BAD_INPUT,
                       "%s: the command for %s is none of hipcc, clang++ or amdclang++ with this "
                       "file: give --build",
                       command->origin, command->source);
    return rc;
}

static int read_compiler(struct rp_compile_command *command, const struct rp_build_choice *choice,
                         struct rp_err *err)
{
    int rc = choice->flags ? 0 : read_database(command, choice->compile_commands, err);

    return rc < 0 ? rc : rc > 0 ? 0 : read_flags(command, choice->flags, err);
}

/** Of the files that --build names, the one that includes the source, which is a header. */
static int choose_unit(struct rp_compile_command *command, struct rp_err *err)
{
    const struct rp_words *words = &command->compiler;
    const char *found = NULL;
    size_t count = 0;

    if (command->unit)
        return rp_fail(err, RP_USAGE, "--build does not name %s of --unit", command->unit);
    for (size_t i = rp_compiler_words(words); i < words->count; i++) {
        const char *word = words->list[i];

        if (rp_word_is_input(word) && is_hip(word)) {
            found = word;
            count++;
        }
        i += rp_compile_option_of(word)->value;
    }
    if (!is_header(command->source))
        return rp_fail(
            err, RP_USAGE,
            "--build does not name %s: write %s where it stands, or say with --unit which "
            "file includes it",
            command->source, RP_SOURCE_PLACE);
    if (count != 1)
        return rp_fail(
            err, RP_USAGE,
            "--build does not name %s: say with --unit which of its files includes it and "
            "launches the kernels",
            command->source);
    command->unit = realpath(found, NULL);
    return command->unit ? 0 : rp_fail_errno(err, RP_USAGE, errno, "--build: %s", found);
}

static int refuse_header(const struct rp_compile_command *command, struct rp_err *err)
{
    return rp_fail(err, RP_USAGE,
                   "%s is a header: say with --unit which file that is compiled includes it and "
                   "launches the kernels",
                   command->source);
}

/** What a build tool would run, first for a change of the source only. */
static int read_tool(struct rp_compile_command *command, const struct rp_words *words,
                     const char *program, struct rp_err *err)
{
    rp_autofree char *made = program ? rp_word_file(NULL, program) : NULL;
    struct rp_build_steps *steps = &command->steps;

    if (!command->unit && is_header(command->source))
        return refuse_header(command, err);
    for (int all = 0; all <= 1 && steps->count < 2; all++) {
        rp_build_steps_free(steps);
        if (rp_build_steps_list(words, rp_compile_unit(command), all, steps, err) < 0)
            return -(int)err->code;
        rp_build_steps_keep(steps, rp_compile_unit(command), made);
    }
    if (!steps->count || !rp_compiler_words(&steps->list[0].words))
        return rp_fail(
            err, RP_USAGE,
            "--build: none of the commands that %s lists compiles %s with hipcc, clang++ "
            "or amdclang++: name the target that does, or give a command with %s where "
            "the source's path stands and %s where the program's does",
            words->list[0], rp_compile_unit(command), RP_SOURCE_PLACE, RP_OUTPUT_PLACE);
    for (size_t i = 0; i < steps->list[0].words.count; i++)
        rp_words_add(&command->compiler, steps->list[0].words.list[i]);
    command->directory = strdup(steps->list[0].directory);
    command->origin = strdup("--build");
    return command->directory && command->origin && !command->compiler.failed
               ? 0
               : rp_out_of_memory(err);
}

/** The words of --build are a compiler's, a build tool's, or those of anything with the two
 *  placeholders. */
static int read_build(struct rp_compile_command *command, const struct rp_build_choice *choice,
                      struct rp_err *err)
{
    rp_autowords words = {0};

    if (rp_words_split(choice->build, RP_WORDS_PLAIN, &words, err) < 0)
        return rp_wrap(err, "--build");
    rp_words_drop_launcher(&words);
    if (words.count == 0)
        return rp_fail(err, RP_USAGE, "--build is empty");
    if (rp_build_is_tool(&words) && !contains(&words, RP_SOURCE_PLACE) &&
        !contains(&words, RP_OUTPUT_PLACE))
        return read_tool(command, &words, choice->program, err);
    if (!rp_compiler_words(&words)) {
        if (!contains(&words, RP_SOURCE_PLACE) || !contains(&words, RP_OUTPUT_PLACE))
            return rp_fail(err, RP_USAGE,
                           "--build: %s is none of hipcc, clang++, amdclang++, make, ninja and "
                           "cmake --build: write %s where the "
                           "source's path stands and %s where the program's does",
                           words.list[0], RP_SOURCE_PLACE, RP_OUTPUT_PLACE);
        if (command->unit)
            return rp_fail(err, RP_USAGE,
                           "--unit: another text of a header cannot be given to a script: give a "
                           "--build that is a call of the compiler, make, ninja or cmake --build");
        command->program = words;
        words = (struct rp_words){0};
        return 0;
    }
    command->compiler = words;
    words = (struct rp_words){0};
    if (!has_source(command) && choose_unit(command, err) < 0)
        return -RP_USAGE;
    command->origin = strdup("--build");
    return command->origin ? 0 : rp_out_of_memory(err);
}

/** Nothing that was said is left aside without a word. */
static int check_choice(const struct rp_compile_command *command,
                        const struct rp_build_choice *choice, struct rp_err *err)
{
    const char *other = choice->flags              ? "--flags"
                        : choice->compile_commands ? "--compile-commands"
                                                   : NULL;

    if (choice->flags && choice->compile_commands)
        return rp_fail(err, RP_USAGE,
                       "--flags and --compile-commands both say how the source is compiled: give "
                       "one of them");
    if (command->compiler.count && other)
        return rp_fail(
            err, RP_USAGE,
            "--build says with which options the source is compiled: %s goes with builds "
            "by scripts only",
            other);
    return 0;
}

static int read_all(struct rp_compile_command *command, const struct rp_build_choice *choice,
                    const char *source, struct rp_err *err)
{
    command->source = realpath(source, NULL);
    if (!command->source)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "%s", source);
    if (choice->unit) {
        command->unit = realpath(choice->unit, NULL);
        if (!command->unit)
            return rp_fail_errno(err, RP_USAGE, errno, "--unit %s", choice->unit);
    }
    command->folder =
        strndup(command->source, (size_t)(rp_base_name(command->source) - command->source));
    if (!command->folder)
        return rp_out_of_memory(err);
    if (rp_environment_detect(&command->env, err) < 0 ||
        (choice->build && read_build(command, choice, err) < 0) ||
        check_choice(command, choice, err) < 0)
        return -(int)err->code;
    if (!command->compiler.count && !command->unit && is_header(command->source))
        return rp_fail(
            err, RP_USAGE,
            "%s is a header: say with --unit which file that is compiled includes it and "
            "launches the kernels",
            command->source);
    if (!command->compiler.count && read_compiler(command, choice, err) < 0)
        return -(int)err->code;
    return 0;
}

int rp_compile_command_read(const struct rp_build_choice *choice, const char *source,
                            struct rp_compile_command **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_compile_command_free) struct rp_compile_command *command =
        calloc(1, sizeof *command);
    struct rp_err own = RP_ERR_INIT;

    err = err ? err : &own;
    if (!command)
        return rp_out_of_memory(err);
    if (read_all(command, choice, source, err) < 0)
        return -(int)err->code;
    *ret = rp_steal(command);
    return 0;
}
