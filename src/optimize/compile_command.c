/* The user's command as words, and further commands made of it by leaving out, replacing and adding
 * words; what an option means here is in compile_options.def. */
#include "optimize/compile_command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/environment.h"
#include "collect/hipcc.h"
#include "optimize/build_steps.h"
#include "optimize/compile_database.h"
#include "optimize/compile_words.h"
#include "optimize/overlay.h"
#include "optimize/words.h"

static const char SOURCE_PLACE[] = "{source}", OUTPUT_PLACE[] = "{output}";

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
    bool guessed; /* nobody has said which flags `program` compiles with */
};

RP_DEFINE_CLEANUP(struct rp_compile_command, rp_compile_command_free)

/** The file that the compiler is called with. */
static const char *compiled(const struct rp_compile_command *command)
{
    return command->unit ? command->unit : command->source;
}

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

/** Whether a word of the compiler's names the file that it compiles. */
static bool names_source(const struct rp_compile_command *command, const char *word)
{
    rp_autofree char *file = NULL;

    if (strcmp(word, SOURCE_PLACE) == 0)
        return true;
    file = rp_word_is_input(word) ? rp_word_file(command->directory, word) : NULL;
    return file && strcmp(file, compiled(command)) == 0;
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
        if (names_source(command, command->compiler.list[i]))
            return true;
    return false;
}

static int out_of_memory(struct rp_err *err)
{
    return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
    rp_words_add(&command->compiler, compiled(command));
    command->guessed = !flags;
    command->origin = strdup(flags ? "hipcc with --flags"
                                   : "hipcc -O3 (neither --build nor a compile_commands.json)");
    return command->origin && !command->compiler.failed ? 0 : out_of_memory(err);
}

/** @return 1 when an entry is there, 0 when not */
static int read_database(struct rp_compile_command *command, const char *database,
                         struct rp_err *err)
{
    struct rp_database_entry entry = {0};
    int rc = rp_compile_database_find(database, compiled(command), &entry, &command->compiler, err);

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
            command->source, SOURCE_PLACE);
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
        if (rp_build_steps_list(words, compiled(command), all, steps, err) < 0)
            return -(int)err->code;
        rp_build_steps_keep(steps, compiled(command), made);
    }
    if (!steps->count || !rp_compiler_words(&steps->list[0].words))
        return rp_fail(
            err, RP_USAGE,
            "--build: none of the commands that %s lists compiles %s with hipcc, clang++ "
            "or amdclang++: name the target that does, or give a command with %s where "
            "the source's path stands and %s where the program's does",
            words->list[0], compiled(command), SOURCE_PLACE, OUTPUT_PLACE);
    for (size_t i = 0; i < steps->list[0].words.count; i++)
        rp_words_add(&command->compiler, steps->list[0].words.list[i]);
    command->directory = strdup(steps->list[0].directory);
    command->origin = strdup("--build");
    return command->directory && command->origin && !command->compiler.failed ? 0
                                                                              : out_of_memory(err);
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
    if (rp_build_is_tool(&words) && !contains(&words, SOURCE_PLACE) &&
        !contains(&words, OUTPUT_PLACE))
        return read_tool(command, &words, choice->program, err);
    if (!rp_compiler_words(&words)) {
        if (!contains(&words, SOURCE_PLACE) || !contains(&words, OUTPUT_PLACE))
            return rp_fail(err, RP_USAGE,
                           "--build: %s is none of hipcc, clang++, amdclang++, make, ninja and "
                           "cmake --build: write %s where the "
                           "source's path stands and %s where the program's does",
                           words.list[0], SOURCE_PLACE, OUTPUT_PLACE);
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
    return command->origin ? 0 : out_of_memory(err);
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
        return out_of_memory(err);
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
        return out_of_memory(err);
    if (read_all(command, choice, source, err) < 0)
        return -(int)err->code;
    *ret = rp_steal(command);
    return 0;
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
    free(command);
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
                   command->source, SOURCE_PLACE, OUTPUT_PLACE);
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

/** Adds a word with each placeholder replaced. */
static void add_replaced(struct rp_words *words, const char *word, const char *source,
                         const char *output)
{
    rp_autobuf text = {0};

    while (*word) {
        bool is_source = strncmp(word, SOURCE_PLACE, strlen(SOURCE_PLACE)) == 0;
        bool is_output = strncmp(word, OUTPUT_PLACE, strlen(OUTPUT_PLACE)) == 0;

        if (is_source || is_output) {
            rp_buf_puts(&text, is_source ? source : output);
            word += strlen(is_source ? SOURCE_PLACE : OUTPUT_PLACE);
        } else {
            rp_buf_add(&text, word++, 1);
        }
    }
    words->failed |= text.failed;
    rp_words_add(words, rp_buf_text(&text));
}

/* A file in another folder must find what the user's finds beside it; a command of another folder,
 * what it finds there. */
static void add_places(const struct rp_compile_command *command, struct rp_words *words)
{
    if (command->directory)
        rp_words_addf(words, "-working-directory=%s", command->directory);
    if (command->unit) /* it stays where it is */
        return;
    rp_words_add(words, "-iquote");
    rp_words_add(words, command->folder);
}

/** The user's words without those that others take the place of. */
static void add_user(const struct rp_compile_command *command, enum rp_compile_what what,
                     const char *source, struct rp_words *words)
{
    const struct rp_words *user = &command->compiler;
    const bool whole = what == RP_COMPILE_PROGRAM || what == RP_COMPILE_OBJECT;

    for (size_t i = rp_compiler_words(user); i < user->count; i++) {
        const char *word = user->list[i];
        const struct rp_compile_option *option = rp_compile_option_of(word);
        bool has_value = option->value && i + 1 < user->count;
        bool is_output = strncmp(option->text, "-o", 3) == 0;
        bool dropped =
            option->side_output || is_output || (!whole && (option->link || option->device));

        if (names_source(command, word)) {
            if (whole)
                rp_words_add(words, source);
            continue;
        }
        /* Other files belong to the program only; behind -- there are nothing but files. */
        if (rp_word_is_input(word) || strcmp(word, "--") == 0)
            dropped = !whole || strcmp(word, "--") == 0;
        if (!dropped)
            rp_words_add(words, word);
        if (has_value && !dropped)
            rp_words_add(words, user->list[i + 1]);
        i += has_value;
    }
}

static void add_device(enum rp_compile_what what, const char *source, const char *output,
                       const char *arch, struct rp_words *words)
{
    rp_words_add(words, "--cuda-device-only"); /* hipcc of every version knows it */
    rp_words_addf(words, "--offload-arch=%s", arch);
    if (what == RP_COMPILE_DEVICE) {
        rp_words_add(words, "--no-gpu-bundle-output");
        rp_words_add(words, "-o");
        rp_words_add(words, output);
    } else if (what == RP_COMPILE_IR) {
        static const char *const more[] = {"-S",
                                           "-emit-llvm",
                                           "-gline-tables-only",
                                           "-nogpulib", /* what those functions do is known */
                                           "-Xclang",
                                           "-disable-llvm-passes",
                                           "-w",
                                           "--no-gpu-bundle-output",
                                           "-o"};

        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            rp_words_add(words, more[i]);
        rp_words_add(words, output);
    } else {
        rp_words_add(words, "-fsyntax-only");
        rp_words_add(words, "-w"); /* what is only warned of is the build's to judge */
        rp_words_add(words, "-fno-color-diagnostics");
        rp_words_add(words, "-Xclang");
        rp_words_add(words, "-ast-dump=json");
        rp_words_add(words, "-Xclang");
        rp_words_addf(words, "-ast-dump-filter=%s", output);
    }
    rp_words_add(words, source);
}

/** The compiler of an installed ROCm stays the user's; another takes the place of a missing one. */
static int finish(const struct rp_compile_command *command, const struct rp_words *user,
                  struct rp_words *words, char ***ret_argv, struct rp_err *err)
{
    const char *named = user->list[0];
    rp_autofree char *path = NULL;
    char *first;
    bool own = command->env.rocm_kind == RP_ROCM_INSTALLED &&
               rp_compiler_words(&command->compiler) == 1 &&
               rp_find_program(named, &path, NULL) == 0;

    if (words->failed)
        return out_of_memory(err);
    if (!own)
        return rp_hipcc_args(&command->env, words->list, ret_argv, err);
    rp_words_add(words, path);
    if (words->failed)
        return out_of_memory(err);
    first = words->list[words->count - 1];
    memmove(words->list + 1, words->list, (words->count - 1) * sizeof *words->list);
    words->list[0] = first;
    *ret_argv = rp_steal(words->list);
    words->count = 0;
    return 0;
}

/** Another folder's command must not look for our files there. */
static char *absolute(const char *path)
{
    rp_autofree char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);

    return path[0] == '/' ? strdup(path) : here ? rp_path_join(here, path) : NULL;
}

/** Another text of a header is given to all that includes it. */
static int add_overlay(const struct rp_compile_command *command, const char *source,
                       struct rp_words *words, struct rp_err *err)
{
    rp_autofree char *text = command->unit ? rp_word_file(NULL, source) : NULL;
    rp_autofree char *path = NULL;
    int rc;

    if (!command->unit || (text && strcmp(text, command->source) == 0))
        return 0;
    rc = text ? rp_overlay_write(command->source, text, &path, err) : out_of_memory(err);
    if (rc == 0)
        rp_words_addf(words, "-ivfsoverlay%s", path);
    return rc;
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

int rp_compile_argv(const struct rp_compile_command *command, enum rp_compile_what what,
                    const char *source, const char *output, const char *arch, char ***ret_argv,
                    struct rp_err *err)
{
    rp_autowords words = {0};
    rp_autofree char *input = NULL;
    rp_autofree char *file = NULL;
    int rc = what == RP_COMPILE_PROGRAM ? rp_compile_command_check_program(command, err) : 0;

    if (rc < 0)
        return rc;
    if (what == RP_COMPILE_PROGRAM && command->program.count) {
        for (size_t i = 0; i < command->program.count; i++)
            add_replaced(&words, command->program.list[i], source, output);
        if (words.failed)
            return out_of_memory(err);
        *ret_argv = rp_steal(words.list);
        words.count = 0;
        return 0;
    }
    input = absolute(command->unit ? command->unit : source);
    file = what == RP_COMPILE_AST || what == RP_COMPILE_IR ? strdup(output) : absolute(output);
    if (!input || !file)
        return out_of_memory(err);
    rc = add_overlay(command, source, &words, err);
    if (rc < 0)
        return rc;
    add_places(command, &words);
    add_user(command, what, input, &words);
    if (what == RP_COMPILE_PROGRAM || what == RP_COMPILE_OBJECT) {
        rp_words_add(&words, "-o");
        rp_words_add(&words, file);
    } else {
        add_device(what, input, file, arch, &words);
    }
    return finish(command, &command->compiler, &words, ret_argv, err);
}

void rp_compile_argv_free(char ***argv)
{
    for (char **word = *argv; word && *word; word++)
        free(*word);
    free(*argv);
    *argv = NULL;
}

/* --- steps --------------------------------------------------------------------------------- */

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
        return absolute(output);
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
        return absolute(source);
    for (size_t i = 0; i <= index; i++)
        if (strcmp(file, steps->list[i].output) == 0) {
            rp_autofree char *ours = step_file(steps, i, output);

            return ours ? absolute(ours) : NULL;
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
        return finish(command, user, &words, ret_argv, err);
    if (words.failed)
        return out_of_memory(err);
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
        return out_of_memory(err);
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
