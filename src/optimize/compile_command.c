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
#include "optimize/compile_database.h"
#include "optimize/words.h"

static const char SOURCE_PLACE[] = "{source}", OUTPUT_PLACE[] = "{output}";

struct rp_compile_command {
    struct rp_environment env;
    char *origin;
    char *source;            /* absolute */
    char *folder;            /* of source */
    char *directory;         /* in which relative paths of `compiler` are meant; NULL: here */
    struct rp_words program; /* what makes the program, when that is not the compiler itself */
    struct rp_words compiler;
};

RP_DEFINE_CLEANUP(struct rp_compile_command, rp_compile_command_free)

enum match { EXACT, PREFIX };

/** What an option means here (compile_options.def). */
struct option {
    const char *text;
    enum match match;
    bool value, side_output, link, device;
};

static const struct option *option_of(const char *word)
{
    static const struct option options[] = {
#define RP_OPTION(text, match, value, side_output, link, device)                                   \
    {text, match, value, side_output, link, device},
#include "optimize/compile_options.def"
#undef RP_OPTION
        {"", PREFIX, false, false, false, false},
    };
    const struct option *option = options;

    while (option->match == EXACT ? strcmp(word, option->text) != 0
                                  : strncmp(word, option->text, strlen(option->text)) != 0)
        option++;
    return option;
}

static bool is_input(const char *word)
{
    return word[0] != '-' && word[0] != '\0';
}

/** Whether a word of the compiler's names the user's file. */
static bool names_source(const struct rp_compile_command *command, const char *word)
{
    rp_autofree char *joined = NULL;
    rp_autofree char *real = NULL;

    if (strcmp(word, SOURCE_PLACE) == 0)
        return true;
    if (!is_input(word))
        return false;
    joined = word[0] == '/' || !command->directory ? strdup(word)
                                                   : rp_path_join(command->directory, word);
    real = joined ? realpath(joined, NULL) : NULL;
    return real && strcmp(real, command->source) == 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/** How many words name the compiler: 1, 2 for `rocm-perf hipcc`; 0: it is none that we know. */
static size_t compiler_words(const struct rp_words *words)
{
    static const char *const known[] = {"hipcc",    "hipcc.bin", "amdclang++",
                                        "amdclang", "clang++",   "clang"};
    const char *name = words->count ? base_name(words->list[0]) : "";

    if (words->count > 1 && strncmp(name, "rocm-perf", strlen("rocm-perf")) == 0)
        return strcmp(words->list[1], "hipcc") == 0 ? 2 : 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return 1;
    return strncmp(name, "clang++-", strlen("clang++-")) == 0 ? 1 : 0;
}

/** A cache in front of the compiler would only keep candidates. */
static void drop_launcher(struct rp_words *words)
{
    if (words->count < 2 || strcmp(base_name(words->list[0]), "ccache") != 0)
        return;
    free(words->list[0]);
    memmove(words->list, words->list + 1, words->count * sizeof *words->list);
    words->count--;
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

/** compile_commands.json, or what people type for a single file. */
static int read_compiler(struct rp_compile_command *command, const char *database,
                         struct rp_err *err)
{
    struct rp_database_entry entry = {0};
    int rc = rp_compile_database_find(database, command->source, &entry, &command->compiler, err);

    if (rc > 0) {
        command->origin = rp_steal(entry.path);
        command->directory = rp_steal(entry.directory);
        drop_launcher(&command->compiler);
    }
    free(entry.path);
    free(entry.directory);
    if (rc < 0)
        return rc;
    if (rc > 0 && (!compiler_words(&command->compiler) || !has_source(command)))
        return rp_fail(err, RP_BAD_INPUT,
                       "%s: the command for %s is none of hipcc, clang++ or amdclang++ with this "
                       "file: give --build",
                       command->origin, command->source);
    if (rc == 0) {
        rp_words_add(&command->compiler, "hipcc");
        rp_words_add(&command->compiler, "-O3");
        rp_words_add(&command->compiler, command->source);
        command->origin = strdup("hipcc -O3 (neither --build nor a compile_commands.json)");
    }
    return command->origin && !command->compiler.failed
               ? 0
               : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

/** The words of --build are either a compiler's, or those of anything with the two placeholders. */
static int read_build(struct rp_compile_command *command, const char *build, struct rp_err *err)
{
    rp_autowords words = {0};

    if (rp_words_split(build, RP_WORDS_PLAIN, &words, err) < 0)
        return rp_wrap(err, "--build");
    drop_launcher(&words);
    if (words.count == 0)
        return rp_fail(err, RP_USAGE, "--build is empty");
    if (!compiler_words(&words)) {
        if (!contains(&words, SOURCE_PLACE) || !contains(&words, OUTPUT_PLACE))
            return rp_fail(
                err, RP_USAGE,
                "--build: %s is none of hipcc, clang++ or amdclang++: write %s where the "
                "source's path stands and %s where the program's does",
                words.list[0], SOURCE_PLACE, OUTPUT_PLACE);
        command->program = words;
        words = (struct rp_words){0};
        return 0;
    }
    command->compiler = words;
    words = (struct rp_words){0};
    if (!has_source(command))
        return rp_fail(err, RP_USAGE, "--build does not name %s: write %s where it stands",
                       command->source, SOURCE_PLACE);
    command->origin = strdup("--build");
    return command->origin ? 0 : rp_fail(err, RP_ENVIRONMENT, "out of memory");
}

static int read_all(struct rp_compile_command *command, const struct rp_build_choice *choice,
                    const char *source, struct rp_err *err)
{
    command->source = realpath(source, NULL);
    if (!command->source)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "%s", source);
    command->folder =
        strndup(command->source, (size_t)(base_name(command->source) - command->source));
    if (!command->folder)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rp_environment_detect(&command->env, err) < 0)
        return -(int)err->code;
    if (choice->build && read_build(command, choice->build, err) < 0)
        return -(int)err->code;
    if (!command->compiler.count && read_compiler(command, choice->compile_commands, err) < 0)
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
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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
    free(command->folder);
    free(command->directory);
    rp_words_free(&command->program);
    rp_words_free(&command->compiler);
    free(command);
}

const char *rp_compile_command_origin(const struct rp_compile_command *command)
{
    return command->program.count ? "--build" : command->origin;
}

/** -c and its like. */
static bool stops_before_link(const struct rp_words *words)
{
    static const char *const stops[] = {"-c", "-S", "-E", "-fsyntax-only", "--genco"};

    for (size_t i = 0; i < words->count; i++)
        for (size_t j = 0; j < sizeof stops / sizeof *stops; j++)
            if (strcmp(words->list[i], stops[j]) == 0)
                return true;
    return false;
}

bool rp_compile_command_makes_program(const struct rp_compile_command *command)
{
    return command->program.count || !stops_before_link(&command->compiler);
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
    rp_words_add(words, "-iquote");
    rp_words_add(words, command->folder);
}

/** The user's words without those that others take the place of. */
static void add_user(const struct rp_compile_command *command, enum rp_compile_what what,
                     const char *source, struct rp_words *words)
{
    const struct rp_words *user = &command->compiler;

    for (size_t i = compiler_words(user); i < user->count; i++) {
        const char *word = user->list[i];
        const struct option *option = option_of(word);
        bool has_value = option->value && i + 1 < user->count;
        bool is_output = strncmp(option->text, "-o", 3) == 0;
        bool dropped = option->side_output || is_output ||
                       (what != RP_COMPILE_PROGRAM && (option->link || option->device));

        if (names_source(command, word)) {
            if (what == RP_COMPILE_PROGRAM)
                rp_words_add(words, source);
            continue;
        }
        /* Other files belong to the program only; behind -- there are nothing but files. */
        if (is_input(word) || strcmp(word, "--") == 0)
            dropped = what != RP_COMPILE_PROGRAM || strcmp(word, "--") == 0;
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
static int finish(const struct rp_compile_command *command, struct rp_words *words,
                  char ***ret_argv, struct rp_err *err)
{
    const char *named = command->compiler.list[0];
    rp_autofree char *path = NULL;
    char *first;
    bool own = command->env.rocm_kind == RP_ROCM_INSTALLED &&
               compiler_words(&command->compiler) == 1 && rp_find_program(named, &path, NULL) == 0;

    if (words->failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (!own)
        return rp_hipcc_args(&command->env, words->list, ret_argv, err);
    rp_words_add(words, path);
    if (words->failed)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
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

int rp_compile_argv(const struct rp_compile_command *command, enum rp_compile_what what,
                    const char *source, const char *output, const char *arch, char ***ret_argv,
                    struct rp_err *err)
{
    rp_autowords words = {0};
    rp_autofree char *input = NULL;
    rp_autofree char *file = NULL;

    if (what == RP_COMPILE_PROGRAM && command->program.count) {
        for (size_t i = 0; i < command->program.count; i++)
            add_replaced(&words, command->program.list[i], source, output);
        if (words.failed)
            return rp_fail(err, RP_ENVIRONMENT, "out of memory");
        *ret_argv = rp_steal(words.list);
        words.count = 0;
        return 0;
    }
    if (what == RP_COMPILE_PROGRAM && !rp_compile_command_makes_program(command))
        return rp_fail(
            err, RP_USAGE,
            "%s makes an object file of %s and no program: give --build with the command "
            "that makes the program, %s where the source's path stands and %s where the "
            "program's does",
            command->origin, command->source, SOURCE_PLACE, OUTPUT_PLACE);
    input = absolute(source);
    file = what == RP_COMPILE_AST ? strdup(output) : absolute(output);
    if (!input || !file)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    add_places(command, &words);
    add_user(command, what, input, &words);
    if (what == RP_COMPILE_PROGRAM) {
        rp_words_add(&words, "-o");
        rp_words_add(&words, file);
    } else {
        add_device(what, input, file, arch, &words);
    }
    return finish(command, &words, ret_argv, err);
}

void rp_compile_argv_free(char ***argv)
{
    for (char **word = *argv; word && *word; word++)
        free(*word);
    free(*argv);
    *argv = NULL;
}
