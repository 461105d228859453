/* Makes compilers' calls from the user's command, for another text of the source, runs them, and
 * says how they ended. */
#include "experiment/build_command.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/box.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "base/sha256.h"
#include "experiment/child_run.h"
#include "run/hip_compiler.h"

RP_DEFINE_CLEANUP(json_t, json_decref)

/**
 * Writes a file for -ivfsoverlay beside the text. Messages and source locations of the compiler
 * name the header.
 * @param header absolute, without links
 * @param text file with the other text; absolute
 * @return 0 with its path, owned by the caller
 */
static int overlay_write(const char *header, const char *text, char **ret_path, struct rp_err *err)
{
    /* "LLVM: RedirectingFileSystem" reads YAML, of which JSON is a part. */
    rp_cleanup(rp_cleanup_json_decref) json_t *root =
        json_pack("{s:i, s:s, s:s, s:[{s:s, s:s, s:s}]}", "version", 0, "case-sensitive", "true",
                  "use-external-names", "false", "roots", "name", header, "type", "file",
                  "external-contents", text);
    rp_autofree char *path = rp_format("%s.overlay", text);
    rp_autofree char *json = root ? json_dumps(root, 0) : NULL;
    int rc;

    if (!json)
        return rp_fail(err, RP_BAD_INPUT, "%s: its name is not UTF-8: rename it", header);
    rc = rp_write_private_file(path, json, strlen(json), err);
    if (rc == 0)
        *ret_path = rp_steal(path);
    return rc;
}

/* Further commands are made from the user's by leaving out, replacing and adding words.
 * compiler_options.def says what an option means here. */

/** Adds a word with each placeholder replaced. */
static void add_replaced(struct rp_words *words, const char *word, const char *source,
                         const char *output)
{
    rp_autobuf text = {0};

    while (*word) {
        bool is_source = strncmp(word, RP_SOURCE_PLACE, strlen(RP_SOURCE_PLACE)) == 0;
        bool is_output = strncmp(word, RP_OUTPUT_PLACE, strlen(RP_OUTPUT_PLACE)) == 0;

        if (is_source || is_output) {
            rp_buf_puts(&text, is_source ? source : output);
            word += strlen(is_source ? RP_SOURCE_PLACE : RP_OUTPUT_PLACE);
        } else {
            rp_buf_add(&text, word++, 1);
        }
    }
    rp_words_add(words, rp_buf_text(&text));
}

static void words_addf(struct rp_words *words, const char *fmt, ...)
{
    rp_autobuf text = {0};
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    rp_words_add(words, rp_buf_text(&text));
}

/* A file in another folder must find what the user's finds beside it. A command of another folder
 * must find what is there. */
static void add_places(const struct rp_compile_command *command, struct rp_words *words)
{
    if (command->directory)
        words_addf(words, "-working-directory=%s", command->directory);
    if (command->unit) /* The file stays where it is. */
        return;
    rp_words_add(words, "-iquote");
    rp_words_add(words, command->folder);
}

/** Adds the user's words without those that others replace. */
static void add_user(const struct rp_compile_command *command, enum rp_compile_what what,
                     const char *source, struct rp_words *words)
{
    const struct rp_words *user = &command->compiler;
    const bool whole = what == RP_COMPILE_PROGRAM;

    for (size_t i = rp_compiler_words(user); i < user->count; i++) {
        const char *word = user->list[i];
        const struct rp_compile_option *option = rp_compile_option_of(word);
        bool has_value = option->value && i + 1 < user->count;
        bool is_output = strncmp(option->text, "-o", 3) == 0;
        bool dropped =
            option->side_output || is_output || (!whole && (option->link || option->device));

        if (rp_compile_names_source(command, word)) {
            if (whole)
                rp_words_add(words, source);
            continue;
        }
        /* Other files belong to the program only, and behind -- there are only files. */
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
    rp_words_add(words, "--cuda-device-only"); /* hipcc of every version knows this option. */
    words_addf(words, "--offload-arch=%s", arch);
    if (what == RP_COMPILE_DEVICE) {
        rp_words_add(words, "--no-gpu-bundle-output");
        rp_words_add(words, "-o");
        rp_words_add(words, output);
    } else if (what == RP_COMPILE_TEXT) {
        rp_words_add(words, "-E");
        rp_words_add(words, "-P");
        rp_words_add(words, "-w");
    } else {
        rp_words_add(words, "-fsyntax-only");
        rp_words_add(words, "-w"); /* The build judges what is only a warning. */
        rp_words_add(words, "-fno-color-diagnostics");
        rp_words_add(words, "-Xclang");
        rp_words_add(words, "-ast-dump=json");
        rp_words_add(words, "-Xclang");
        words_addf(words, "-ast-dump-filter=%s", output);
    }
    rp_words_add(words, source);
}

/**
 * Completes the command of a compiler. That of an installed ROCm stays the user's. Where it is
 * missing, another one is used.
 * @param user the user's words
 * @param words the arguments; empty afterwards
 */
static int compile_argv_finish(const struct rp_compile_command *command,
                               const struct rp_words *user, struct rp_words *words,
                               char ***ret_argv, struct rp_err *err)
{
    const char *named = user->list[0];
    rp_autofree char *path = NULL;
    char *first;
    bool own = command->env.rocm_kind == RP_ROCM_INSTALLED &&
               rp_compiler_words(&command->compiler) == 1 &&
               rp_find_program(named, &path, NULL) == 0;

    if (!own)
        return rp_hipcc_args(&command->env, words->list, ret_argv, err);
    rp_words_add(words, path);
    first = words->list[words->count - 1];
    memmove(words->list + 1, words->list, (words->count - 1) * sizeof *words->list);
    words->list[0] = first;
    *ret_argv = rp_steal(words->list);
    words->count = 0;
    return 0;
}

/** Everything that includes a header gets the other text of it. */
static int add_overlay(const struct rp_compile_command *command, const char *source,
                       struct rp_words *words, struct rp_err *err)
{
    rp_autofree char *text = command->unit ? rp_word_absolute_path(NULL, source) : NULL;
    rp_autofree char *path = NULL;
    int rc;

    if (!command->unit || strcmp(text, command->source) == 0)
        return 0;
    rc = overlay_write(command->source, text, &path, err);
    if (rc == 0)
        words_addf(words, "-ivfsoverlay%s", path);
    return rc;
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
        *ret_argv = rp_steal(words.list);
        words.count = 0;
        return 0;
    }
    input = rp_path_absolute(command->unit ? command->unit : source);
    file = what == RP_COMPILE_AST    ? rp_strdup(output)
           : what == RP_COMPILE_TEXT ? rp_strdup("")
                                     : rp_path_absolute(output);
    if (!input || !file)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot find the current folder");
    rc = add_overlay(command, source, &words, err);
    if (rc < 0)
        return rc;
    add_places(command, &words);
    add_user(command, what, input, &words);
    if (what == RP_COMPILE_PROGRAM) {
        rp_words_add(&words, "-o");
        rp_words_add(&words, file);
    } else {
        add_device(what, input, file, arch, &words);
    }
    return compile_argv_finish(command, &command->compiler, &words, ret_argv, err);
}

void rp_compile_argv_free(char ***argv)
{
    for (char **word = *argv; word && *word; word++)
        free(*word);
    free(*argv);
    *argv = NULL;
}

/* --- running ---------------------------------------------------------------------------------- */

enum { MOST_OUTPUT = 64 << 10 };
static const int64_t PATIENCE_NS = (int64_t)1800 * 1000000000;

void rp_build_result_free(struct rp_build_result *built)
{
    free(built->output);
    free(built->why);
    *built = (struct rp_build_result){0};
}

/** A driver reports that a linker failed, but the linker has said before what was wrong. */
static bool is_of_driver(const char *line)
{
    static const char *const words[] = {"error: ld returned ", "command failed with exit code ",
                                        "command failed due to signal "};
    const size_t bytes = strcspn(line, "\n");

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(line, bytes, words[i], strlen(words[i])))
            /* Only the driver reports a crash of the frontend. */
            return !memmem(line, bytes, "frontend", 8);
    return false;
}

static const char *line_of(const char *said, const char *at)
{
    while (at > said && at[-1] != '\n')
        at--;
    return at;
}

/** @return where the message about the fault begins; *ret_line: its line */
static const char *find_error(const char *said, const char **ret_line)
{
    const char *driver = NULL;
    const char *error;

    for (const char *at = said; (error = strcasestr(at, "error:")); at = error + 1) {
        *ret_line = line_of(said, error);
        if (!is_of_driver(*ret_line))
            return error;
        driver = driver ? driver : *ret_line;
    }
    if (driver == said)
        return *ret_line = said;
    return *ret_line = driver ? line_of(said, driver - 1) : said;
}

/* Reads the digits that end before @p at, and the colon in front of them.
 * @return where the colon is; NULL: there are none */
static const char *number_before(const char *begin, const char *at, unsigned *ret)
{
    enum { MOST_DIGITS = 9 };
    const char *digits = at;

    while (digits > begin && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (digits == at || at - digits > MOST_DIGITS || digits == begin || digits[-1] != ':')
        return NULL;
    *ret = (unsigned)strtoul(digits, NULL, 10);
    return digits - 1;
}

/* What stands before "error:" is FILE:LINE:COLUMN: or FILE:LINE:, or no place. */
static void read_place(const char *line, const char *error, struct rp_compiler_error *ret)
{
    static const char fatal[] = "fatal ";
    const size_t fatal_bytes = sizeof fatal - 1;
    unsigned last, first;
    const char *at, *before;

    if ((size_t)(error - line) >= fatal_bytes &&
        memcmp(error - fatal_bytes, fatal, fatal_bytes) == 0)
        error -= fatal_bytes;
    if (error - line < 2 || error[-1] != ' ' || error[-2] != ':')
        return;
    at = number_before(line, error - 2, &last);
    if (!at)
        return;
    before = number_before(line, at, &first);
    if (before == line || (!before && at == line))
        return;
    ret->file = line;
    ret->file_bytes = (size_t)((before ? before : at) - line);
    ret->number = before ? first : last;
}

bool rp_compiler_first_error(const char *said, struct rp_compiler_error *ret)
{
    const char *line = said;
    const char *error = strcasestr(said, "error:") ? find_error(said, &line) : NULL;

    if (!error)
        return false;
    *ret = (struct rp_compiler_error){.line = line, .line_bytes = strcspn(line, "\n")};
    if (error > line)
        read_place(line, error, ret);
    return true;
}

char *rp_build_result_reason(const struct rp_build_result *built)
{
    enum { MOST_BYTES = 200 };
    const char *said = built->output + strspn(built->output, " \t\r\n");
    const char *error, *line;
    size_t bytes;

    if (!*said)
        return rp_strdup(built->why);
    error = find_error(said, &line);
    if (strcspn(line, "\n") > MOST_BYTES) /* A long path stands before it. */
        line = error;
    bytes = strcspn(line, "\n");
    if (bytes > MOST_BYTES)
        bytes = rp_text_fitting_bytes(line, MOST_BYTES);
    return rp_format("%s: %.*s", built->why, (int)bytes, line);
}

/** @param directory to run it in; NULL: the current one
 * @param made what argv writes: the output, or what becomes it */
static int run(const struct rp_compile_command *command, char *const *argv, const char *directory,
               const char *made, const char *output, bool again, struct rp_build_result *ret,
               struct rp_err *err)
{
    const struct rp_env_change env[] = {rp_compile_command_env(command), {0}};
    rp_autofree char *log = rp_format("%s.log", output);
    struct rp_proc_end end;
    struct rp_build_result built = {0};
    int rc;

    unlink(made); /* A file that is there afterwards is of this build. */
    rc = rp_child_run(&(struct rp_child){.argv = (const char *const *)(uintptr_t)argv,
                                         .env = env,
                                         .directory = directory,
                                         .stdout_path = log,
                                         .stderr_path = log,
                                         .timeout_ns = PATIENCE_NS,
                                         .limits = rp_compiler_limits(),
                                         .sandbox = command->sandbox,
                                         .compiler_of = rp_compile_command_environment(command),
                                         .again = again},
                      &end, err);
    if (rc < 0)
        return rc;
    built.output = rp_child_text(log, MOST_OUTPUT);
    if (!built.output)
        built.output = rp_strdup("");
    built.ok = !end.signaled && !end.timed_out && end.status == 0 && rp_path_exists(made);
    if (!built.ok)
        built.why = end.signaled || end.status || end.timed_out
                        ? rp_child_end_sentence(&end)
                        : rp_format("it ended with success, but did not write %s", output);
    unlink(log);
    *ret = built;
    return 0;
}

static int compile(const struct rp_compile_command *command, const char *source, const char *arch,
                   const char *output, bool again, struct rp_build_result *ret, struct rp_err *err)
{
    /* A script runs in the user's folder, and so does a command that makes device code: its words
     * name the folder. */
    const char *directory = arch || command->program.count ? NULL : command->directory;
    rp_cleanup(rp_compile_argv_free) char **argv = NULL;
    rp_autofree char *made = rp_box_place(command->sandbox, output);
    struct rp_err own = RP_ERR_INIT;
    int rc;

    err = err ? err : &own;
    rc = rp_compile_argv(command, arch ? RP_COMPILE_DEVICE : RP_COMPILE_PROGRAM, source, made, arch,
                         &argv, err);
    if (rc == 0)
        rc = run(command, argv, directory, made, output, again, ret, err);
    if (rc == 0 && ret->ok)
        rc = rp_box_take(command->sandbox, output, err);
    /* In the box a linker may not be able to. */
    if (rc == 0 && ret->ok && !arch && command->sandbox)
        chmod(output, RP_MODE_PRIVATE_FOLDER);
    if (rc == 0 && ret->ok)
        /* A compiler lets others read the file, as far as the umask allows. */
        rp_close_tree(output);
    return rc < 0 ? rp_wrap(err, "compile %s", source) : 0;
}

int rp_compile(const struct rp_compile_command *command, const char *source, const char *arch,
               const char *output, struct rp_build_result *ret, struct rp_err *err)
{
    return compile(command, source, arch, output, false, ret, err);
}

int rp_compile_twice(const struct rp_compile_command *command, const char *source, const char *arch,
                     const char *output, struct rp_build_result *ret, bool *ret_same,
                     struct rp_err *err)
{
    rp_autofree char *first = rp_format("%s.first", output);
    char one[RP_SHA256_TEXT], two[RP_SHA256_TEXT];
    struct rp_build_result built;
    int rc = rp_compile(command, source, arch, output, &built, err);

    if (rc < 0)
        return rc;
    *ret_same = true;
    if (!built.ok) {
        *ret = built;
        return 0;
    }
    rp_build_result_free(&built);
    /* Both builds write to the same name, because the name may be in the output. */
    if (!first || rename(output, first) != 0)
        return rp_fail(err, RP_ENVIRONMENT, "cannot rename %s", output);
    rc = compile(command, source, arch, output, true, &built, err);
    if (rc < 0)
        return rc;
    if (built.ok) {
        rc = rp_sha256_file(first, one, err);
        if (rc == 0)
            rc = rp_sha256_file(output, two, err);
        if (rc < 0) {
            rp_build_result_free(&built);
            return rc;
        }
        *ret_same = strcmp(one, two) == 0;
    }
    unlink(first);
    *ret = built;
    return 0;
}
