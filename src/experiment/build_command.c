/* Finds and reads the command with which the user builds the program: --build, --flags, or an entry
 * of a compile_commands.json; takes it apart without a shell; and says what it cannot make. */
#include "experiment/build_command.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "run/machine.h"

/** Says how much of a shell a text may need. */
enum rp_words_rule {
    RP_WORDS_PLAIN,  /**< what a shell would expand, or take for an operator, is an error */
    RP_WORDS_QUOTES, /**< only quotes and backslashes mean something, as in compile_commands.json */
};

/* --- words ------------------------------------------------------------------------------------ */

/* Adds the text and takes it over. */
static void add_owned(struct rp_words *words, char *text)
{
    words->list = rp_realloc_array(words->list, words->count + 2, sizeof *words->list);
    words->list[words->count++] = text;
    words->list[words->count] = NULL;
}

void rp_words_add(struct rp_words *words, const char *text)
{
    add_owned(words, rp_strdup(text));
}

void rp_words_free(struct rp_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->list[i]);
    free(words->list);
    *words = (struct rp_words){0};
}

struct reader {
    const char *at;
    enum rp_words_rule rule;
    struct rp_buf word;
    bool in_word; /**< also of an empty '' */
};

static int shell_needed(char c, struct rp_err *err)
{
    if (c == '\n')
        return rp_fail(err, RP_USAGE,
                       "a line break: only one command is possible; put several into a script");
    return rp_fail(err, RP_USAGE,
                   "%c means something to a shell, and none is used: quote it, or put the commands "
                   "into a script",
                   c);
}

static int read_double_quoted(struct reader *reader, struct rp_err *err)
{
    for (reader->at++; *reader->at != '"'; reader->at++) {
        if (!*reader->at)
            return rp_fail(err, RP_USAGE, "a \" is not closed");
        if (reader->rule == RP_WORDS_PLAIN && strchr("$`", *reader->at))
            return shell_needed(*reader->at, err);
        if (*reader->at == '\\' && reader->at[1] && strchr("\"\\$`\n", reader->at[1]))
            reader->at++;
        rp_buf_add(&reader->word, reader->at, 1);
    }
    reader->at++;
    return 0;
}

static int read_single_quoted(struct reader *reader, struct rp_err *err)
{
    const char *end = strchr(reader->at + 1, '\'');

    if (!end)
        return rp_fail(err, RP_USAGE, "a ' is not closed");
    rp_buf_add(&reader->word, reader->at + 1, (size_t)(end - reader->at) - 1);
    reader->at = end + 1;
    return 0;
}

static int read_part(struct reader *reader, struct rp_err *err)
{
    reader->in_word = true;
    if (*reader->at == '"')
        return read_double_quoted(reader, err);
    if (*reader->at == '\'')
        return read_single_quoted(reader, err);
    if (reader->rule == RP_WORDS_PLAIN && strchr(";|&<>$`()\n", *reader->at))
        return shell_needed(*reader->at, err);
    if (*reader->at == '\\' && !*++reader->at)
        return rp_fail(err, RP_USAGE, "nothing stands behind the \\ at the end");
    rp_buf_add(&reader->word, reader->at++, 1);
    return 0;
}

static bool is_blank(const struct reader *reader)
{
    return strchr(" \t\r", *reader->at) || (reader->rule == RP_WORDS_QUOTES && *reader->at == '\n');
}

static void end_word(struct reader *reader, struct rp_words *words)
{
    if (!reader->in_word)
        return;
    rp_buf_puts(&reader->word, ""); /* An empty word is a word, too. */
    add_owned(words, rp_buf_steal(&reader->word));
    reader->word = (struct rp_buf){0};
    reader->in_word = false;
}

static int words_split(const char *text, enum rp_words_rule rule, struct rp_words *ret,
                       struct rp_err *err)
{
    struct reader reader = {.at = text, .rule = rule};
    rp_autowords words = {0};
    int rc = 0;

    while (*reader.at && rc == 0) {
        if (is_blank(&reader)) {
            end_word(&reader, &words);
            reader.at++;
        } else {
            rc = read_part(&reader, err);
        }
    }
    if (rc == 0)
        end_word(&reader, &words);
    rp_buf_free(&reader.word);
    if (rc < 0)
        return rc;
    *ret = words;
    words = (struct rp_words){0};
    return 0;
}

int rp_words_split_more(const char *text, struct rp_words *words, struct rp_err *err)
{
    rp_autowords more = {0};
    int rc = words_split(text, RP_WORDS_PLAIN, &more, err);

    for (size_t i = 0; i < more.count && rc == 0; i++)
        rp_words_add(words, more.list[i]);
    return rc;
}

const struct rp_compile_option *rp_compile_option_of(const char *word)
{
    static const struct rp_compile_option options[] = {
#define RP_OPTION(text, match, value, side_output, link, device)                                   \
    {text, RP_OPTION_##match, value, side_output, link, device},
#include "experiment/compiler_options.def"
#undef RP_OPTION
        {"", RP_OPTION_PREFIX, false, false, false, false},
    };
    const struct rp_compile_option *option = options;

    while (option->match == RP_OPTION_EXACT
               ? strcmp(word, option->text) != 0
               : strncmp(word, option->text, strlen(option->text)) != 0)
        option++;
    return option;
}

const char *rp_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

size_t rp_compiler_words(const struct rp_words *words)
{
    static const char *const known[] = {"hipcc",    "hipcc.bin", "amdclang++",
                                        "amdclang", "clang++",   "clang"};
    const char *name = words->count ? rp_base_name(words->list[0]) : "";

    if (words->count > 1 && strncmp(name, "rocm-perf", strlen("rocm-perf")) == 0)
        return strcmp(words->list[1], "hipcc") == 0 ? 2 : 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return 1;
    return strncmp(name, "clang++-", strlen("clang++-")) == 0 ? 1 : 0;
}

/** Removes a cache that stands in front of the compiler, because it would only keep candidates. */
static void words_drop_compiler_cache(struct rp_words *words)
{
    if (words->count < 2 || strcmp(rp_base_name(words->list[0]), "ccache") != 0)
        return;
    free(words->list[0]);
    memmove(words->list, words->list + 1, words->count * sizeof *words->list);
    words->count--;
}

bool rp_word_is_input(const char *word)
{
    return word[0] != '-' && word[0] != '\0';
}

static bool words_have(const struct rp_words *words, const char *word)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->list[i], word) == 0)
            return true;
    return false;
}

/** Says whether -c or a similar option is there. */
static bool words_stop_before_link(const struct rp_words *words)
{
    static const char *const stops[] = {"-c", "-S", "-E", "-fsyntax-only", "--genco"};

    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (words_have(words, stops[i]))
            return true;
    return false;
}

char *rp_word_absolute_path(const char *directory, const char *word)
{
    rp_autofree char *here = word[0] == '/' || directory ? NULL : getcwd(NULL, 0);
    const char *folder = directory ? directory : here ? here : ".";
    rp_autofree char *joined = word[0] == '/' ? rp_strdup(word) : rp_path_join(folder, word);
    rp_autofree char *real = realpath(joined, NULL);
    rp_autofree char *parent = NULL;
    const char *name;

    if (real)
        return rp_steal(real);
    /* A file that is not there yet is named by its folder. */
    name = rp_base_name(joined);
    parent = rp_strndup(joined, (size_t)(name - joined));
    real = realpath(parent, NULL);
    return real ? rp_path_join(real, name) : rp_steal(joined);
}

/* --- the command ------------------------------------------------------------------------------ */

/** Returns the file that the compiler is called with. */
static inline const char *compile_unit(const struct rp_compile_command *command)
{
    return command->unit ? command->unit : command->source;
}

bool rp_compile_names_source(const struct rp_compile_command *command, const char *word)
{
    rp_autofree char *file = NULL;

    if (strcmp(word, RP_SOURCE_PLACE) == 0)
        return true;
    file = rp_word_is_input(word) ? rp_word_absolute_path(command->directory, word) : NULL;
    return file && strcmp(file, compile_unit(command)) == 0;
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
    free(command->temporary);
    free(command);
}

void rp_compile_command_set_temporary(struct rp_compile_command *command, const char *folder)
{
    free(command->temporary);
    command->temporary = rp_strdup(folder);
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

static bool contains(const struct rp_words *words, const char *part)
{
    for (size_t i = 0; i < words->count; i++)
        if (strstr(words->list[i], part))
            return true;
    return false;
}

#define GUESS_FAILED(options)                                                                      \
    "; hipcc " options " was tried: say with --build how the program is built, or with --flags "   \
    "'-I inc -DX' which options it needs"
#define SCRIPT_GUESS_FAILED(options)                                                               \
    "; which flags --build compiles with is not known (hipcc " options " was tried):"              \
    " give them with --flags '-I inc -DX', or --compile-commands FILE"

const char *rp_compile_command_hint(const struct rp_compile_command *command)
{
    const bool script = command->program.count > 0, lines = words_have(&command->compiler, "-g");

    if (!command->guessed)
        return script ? "; --build may compile with other options than those of "
                        "--flags or --compile-commands"
                      : "";
    if (script)
        return lines ? SCRIPT_GUESS_FAILED("-g -O3") : SCRIPT_GUESS_FAILED("-O3");
    return lines ? GUESS_FAILED("-g -O3") : GUESS_FAILED("-O3");
}

const char *rp_compile_command_lines_hint(const struct rp_compile_command *command)
{
    return command->lacks_lines
               ? "; the program has line tables: it was built with -g, which is missing here"
               : "";
}

/** Says whether the compiler writes line tables. The last of such options counts. */
static bool writes_lines(const struct rp_words *words)
{
    bool lines = false;

    for (size_t i = 0; i < words->count; i++)
        if (strncmp(words->list[i], "-g", 2) == 0)
            lines = strcmp(words->list[i], "-g0") != 0;
    return lines;
}

/** Says whether a library that is loaded is between the source and the program. */
static bool makes_shared(const struct rp_compile_command *command)
{
    return words_have(&command->compiler, "-shared");
}

/** Refuses a command of which only an object file is known. */
static int refuse_object(const struct rp_compile_command *command, struct rp_err *err)
{
    const char *origin = command->origin;

    if (strcmp(origin, "--build") != 0)
        return rp_fail(err, RP_USAGE,
                       "%s says how %s is compiled to an object file, not how the program is made "
                       "of it: give that with --build 'hipcc %s main.o -o %s', or with --build "
                       "'SCRIPT %s %s' beside --compile-commands",
                       origin, command->source, RP_SOURCE_PLACE, RP_OUTPUT_PLACE, RP_SOURCE_PLACE,
                       RP_OUTPUT_PLACE);
    return rp_fail(err, RP_USAGE,
                   "--build makes an object file of %s and no program: give the command that makes "
                   "the program, or one with %s where the source's path stands and %s where the "
                   "program's does",
                   command->source, RP_SOURCE_PLACE, RP_OUTPUT_PLACE);
}

int rp_compile_command_check_program(const struct rp_compile_command *command, struct rp_err *err)
{
    if (words_have(&command->compiler, "-fgpu-rdc"))
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
    if (words_stop_before_link(&command->compiler))
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

/** The caller owns the strings. */
struct rp_database_entry {
    char *path;      /**< of the compile_commands.json */
    char *directory; /**< in which the command runs */
};

RP_DEFINE_CLEANUP(json_t, json_decref)

static const char *text_of(const json_t *entry, const char *key)
{
    return json_string_value(json_object_get(entry, key));
}

/** Says whether a name, relative to a folder, is a file. */
static bool is_file(const char *directory, const char *name, const char *file)
{
    rp_autofree char *joined = name[0] == '/' ? rp_strdup(name) : rp_path_join(directory, name);
    rp_autofree char *real = realpath(joined, NULL);

    return real && strcmp(real, file) == 0;
}

static int words_of(const json_t *entry, struct rp_words *ret, struct rp_err *err)
{
    const json_t *arguments = json_object_get(entry, "arguments"), *word;
    const char *command = text_of(entry, "command");
    rp_autowords words = {0};
    size_t i;

    if (!json_is_array(arguments)) {
        if (!command)
            return rp_fail(err, RP_BAD_INPUT, "an entry has neither arguments nor command");
        if (words_split(command, RP_WORDS_QUOTES, ret, err) < 0)
            return rp_fail(err, RP_BAD_INPUT, "the command %.200s: quotes are not closed", command);
        return 0;
    }
    json_array_foreach(arguments, i, word)
    {
        if (!json_is_string(word))
            return rp_fail(err, RP_BAD_INPUT, "arguments that are no texts");
        rp_words_add(&words, json_string_value(word));
    }
    *ret = words;
    words = (struct rp_words){0};
    return 0;
}

/** Reads the list of a compile_commands.json, which the caller releases. */
static int read_list(const char *path, json_t **ret, struct rp_err *err)
{
    json_error_t why;
    FILE *stream = fopen(path, "rb");
    rp_cleanup(rp_cleanup_json_decref) json_t *list = stream ? json_loadf(stream, 0, &why) : NULL;

    if (!stream)
        return rp_fail_errno(err, RP_BAD_INPUT, errno, "%s", path);
    fclose(stream);
    if (!list)
        return rp_fail(err, RP_BAD_INPUT, "%s: no JSON: line %d: %s", path, why.line, why.text);
    if (!json_is_array(list))
        return rp_fail(err, RP_BAD_INPUT, "%s is no compile_commands.json: it has no list", path);
    *ret = rp_steal(list);
    return 0;
}

int rp_compile_database_sources(const char *path, struct rp_words *ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_json_decref) json_t *list = NULL;
    const json_t *entry;
    size_t i;
    int rc = read_list(path, &list, err);

    if (rc < 0)
        return rc;
    json_array_foreach(list, i, entry)
    {
        const char *directory = text_of(entry, "directory"), *file = text_of(entry, "file");

        if (directory && file) {
            rp_autofree char *joined =
                file[0] == '/' ? rp_strdup(file) : rp_path_join(directory, file);

            rp_words_add(ret, joined);
        }
    }
    return 0;
}

/** @return 1 when the file lists the source, 0 when not */
static int find_in(const char *path, const char *source, struct rp_database_entry *ret,
                   struct rp_words *ret_words, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_json_decref) json_t *list = NULL;
    const json_t *entry;
    size_t i;
    int rc = read_list(path, &list, err);

    if (rc < 0)
        return rc;
    json_array_foreach(list, i, entry)
    {
        const char *directory = text_of(entry, "directory"), *file = text_of(entry, "file");

        if (!directory || !file || !is_file(directory, file, source))
            continue;
        if (words_of(entry, ret_words, err) < 0)
            return rp_wrap(err, "%s", path);
        ret->path = rp_strdup(path);
        ret->directory = rp_strdup(directory);
        return 1;
    }
    return 0;
}

/**
 * Finds a source in a database of compile commands.
 * @param path a compile_commands.json, or NULL: the nearest one in the folders above the source, or
 * in their build/, that lists it
 * @param source absolute
 * @return 1 when found, 0 when none lists it (with `path` that is RP_BAD_INPUT), negative
 */
static int compile_database_find(const char *path, const char *source,
                                 struct rp_database_entry *ret, struct rp_words *ret_words,
                                 struct rp_err *err)
{
    static const char *const places[] = {"compile_commands.json", "build/compile_commands.json"};
    rp_autofree char *folder = rp_strdup(source);
    int rc;

    if (path) {
        rc = find_in(path, source, ret, ret_words, err);
        return rc ? rc : rp_fail(err, RP_BAD_INPUT, "%s has no entry for %s", path, source);
    }
    for (char *slash; (slash = strrchr(folder, '/'));) {
        *slash = '\0';
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            rp_autofree char *file = rp_format("%s/%s", folder, places[i]);

            rc = rp_path_exists(file) ? find_in(file, source, ret, ret_words, err) : 0;
            if (rc)
                return rc;
        }
    }
    return 0;
}

/* This section reads the user's command into words, wherever it is written. */

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

static bool has_source(const struct rp_compile_command *command)
{
    for (size_t i = 0; i < command->compiler.count; i++)
        if (rp_compile_names_source(command, command->compiler.list[i]))
            return true;
    return false;
}

/** Reads what people type for a single file. */
static int read_flags(struct rp_compile_command *command, const char *flags, bool has_lines,
                      struct rp_err *err)
{
    const char *guess = has_lines ? "hipcc -g -O3" : "hipcc -O3";
    rp_autowords words = {0};

    if (flags && words_split(flags, RP_WORDS_PLAIN, &words, err) < 0)
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
    if (!flags && has_lines)
        rp_words_add(&command->compiler, "-g");
    if (!flags)
        rp_words_add(&command->compiler, "-O3");
    rp_words_add(&command->compiler, compile_unit(command));
    command->guessed = !flags;
    command->origin = flags ? rp_strdup("hipcc with --flags")
                            : rp_format("%s (neither --build nor a compile_commands.json)", guess);
    return 0;
}

/** @return 1 when there is an entry, 0 when not */
static int read_database(struct rp_compile_command *command, const char *database,
                         struct rp_err *err)
{
    struct rp_database_entry entry = {0};
    int rc =
        compile_database_find(database, compile_unit(command), &entry, &command->compiler, err);

    if (rc > 0) {
        command->origin = rp_steal(entry.path);
        command->directory = rp_steal(entry.directory);
        words_drop_compiler_cache(&command->compiler);
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

    return rc < 0 ? rc : rc > 0 ? 0 : read_flags(command, choice->flags, choice->has_lines, err);
}

/** The source is a header, so this chooses among the files that --build names the one that includes
 * it. */
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

/** Says whether the first word is a build tool whose commands stand elsewhere. */
static bool is_build_tool(const char *program)
{
    static const char *const known[] = {"make", "gmake", "ninja", "cmake"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(rp_base_name(program), known[i]) == 0)
            return true;
    return false;
}

static int refuse_program(const char *program, struct rp_err *err)
{
    if (is_build_tool(program))
        return rp_fail(err, RP_USAGE,
                       "--build: %s compiles the files that its own rules name, and no candidate: "
                       "give the compiler's call that makes the program, as 'hipcc -O3 %s main.o "
                       "-o %s', or a script, as './build-one %s %s', beside --compile-commands "
                       "build/compile_commands.json",
                       program, RP_SOURCE_PLACE, RP_OUTPUT_PLACE, RP_SOURCE_PLACE, RP_OUTPUT_PLACE);
    return rp_fail(err, RP_USAGE,
                   "--build: %s is none of hipcc, clang++ and amdclang++: write %s where the "
                   "source's path stands and %s where the program's does",
                   program, RP_SOURCE_PLACE, RP_OUTPUT_PLACE);
}

/** The words of --build are a compiler's, or those of any program with the two placeholders. */
static int read_build(struct rp_compile_command *command, const struct rp_build_choice *choice,
                      struct rp_err *err)
{
    rp_autowords words = {0};

    if (words_split(choice->build, RP_WORDS_PLAIN, &words, err) < 0)
        return rp_wrap(err, "--build");
    words_drop_compiler_cache(&words);
    if (words.count == 0)
        return rp_fail(err, RP_USAGE, "--build is empty");
    if (!rp_compiler_words(&words)) {
        if (!contains(&words, RP_SOURCE_PLACE) || !contains(&words, RP_OUTPUT_PLACE))
            return refuse_program(words.list[0], err);
        if (command->unit)
            return rp_fail(err, RP_USAGE,
                           "--unit: another text of a header cannot be given to a script: give a "
                           "--build that is a call of the compiler");
        command->program = words;
        words = (struct rp_words){0};
        return 0;
    }
    command->compiler = words;
    words = (struct rp_words){0};
    if (!has_source(command) && choose_unit(command, err) < 0)
        return -RP_USAGE;
    command->origin = rp_strdup("--build");
    return 0;
}

/** Refuses a choice that would otherwise be ignored silently. */
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
        rp_strndup(command->source, (size_t)(rp_base_name(command->source) - command->source));
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
    command->lacks_lines = choice->has_lines && !writes_lines(&command->compiler);
    return 0;
}

int rp_compile_command_read(const struct rp_build_choice *choice, const char *source,
                            struct rp_compile_command **ret, struct rp_err *err)
{
    rp_cleanup(rp_cleanup_rp_compile_command_free) struct rp_compile_command *command =
        rp_alloc_zero(1, sizeof *command);
    struct rp_err own = RP_ERR_INIT;

    err = err ? err : &own;
    if (read_all(command, choice, source, err) < 0)
        return -(int)err->code;
    *ret = rp_steal(command);
    return 0;
}
