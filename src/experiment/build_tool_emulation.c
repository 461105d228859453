/* make -n and ninja -t commands print lines for a shell. Of these, only calls of compilers and
 * archivers are of interest; whatever is not understood is passed over: then the steps to the
 * program are not found, and that is said. */
#include "experiment/build_tool_emulation.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "experiment/child_run.h"
#include "experiment/compiler_options.h"

#define rp_autosteps rp_cleanup(rp_build_steps_free) struct rp_build_steps

enum { MOST_TEXT_BYTES = 64 << 20, MOST_SCRIPT_BYTES = 1 << 20 };
static const int64_t TIMEOUT_NS = (int64_t)120 * 1000000000;

static void free_step(struct rp_build_step *step)
{
    free(step->directory);
    free(step->output);
    rp_words_free(&step->words);
}

void rp_build_steps_free(struct rp_build_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        free_step(&steps->list[i]);
    free(steps->list);
    *steps = (struct rp_build_steps){0};
}

/* --- what a tool has printed --------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t bytes = strlen(text), tail = strlen(end);

    return bytes >= tail && strcmp(text + bytes - tail, end) == 0;
}

/** "ar", "llvm-ar-21", "x86_64-linux-gnu-ranlib". */
static bool is_archiver(const char *program, const char *which)
{
    rp_autofree char *name = strdup(rp_base_name(program));
    char *dash = name ? strrchr(name, '-') : NULL;

    if (dash && dash[1] && strspn(dash + 1, "0123456789.") == strlen(dash + 1))
        *dash = '\0';
    dash = name ? strrchr(name, '-') : NULL;
    return name && strcmp(dash ? dash + 1 : name, which) == 0;
}

/** The value of -o; of an object file without one, its name is the source's. */
static char *compiler_output(const struct rp_words *words)
{
    const char *input = NULL;

    for (size_t i = rp_compiler_words(words) > 1 ? 2 : 1; i < words->count; i++) {
        const char *word = words->list[i];
        const struct rp_compile_option *option = rp_compile_option_of(word);

        if (strcmp(word, "-o") == 0 && i + 1 < words->count)
            return strdup(words->list[i + 1]);
        if (strncmp(word, "-o", 2) == 0)
            return strdup(word + 2);
        i += option->value;
        if (rp_word_is_input(word))
            input = word;
    }
    if (input && rp_words_have(words, "-c")) {
        const char *name = rp_base_name(input), *dot = strrchr(name, '.');

        return rp_format("%.*s.o", (int)(dot ? (size_t)(dot - name) : strlen(name)), name);
    }
    return strdup("a.out");
}

/** NULL: no command that is of interest. */
static char *output_of(const struct rp_words *words)
{
    const char *program = words->count ? words->list[0] : "";

    if (rp_compiler_words(words) || rp_is_host_compiler(program))
        return compiler_output(words);
    if (is_archiver(program, "ar"))
        return words->count > 2 ? strdup(words->list[2]) : NULL;
    if (is_archiver(program, "ranlib"))
        return words->count > 1 ? strdup(words->list[words->count - 1]) : NULL;
    return NULL;
}

static int add_step(struct rp_build_steps *steps, const char *directory, struct rp_words *words,
                    struct rp_err *err)
{
    rp_autofree char *output = NULL;
    struct rp_build_step *more, *step;

    rp_words_drop_compiler_cache(words);
    output = output_of(words);
    if (!output)
        return 0;
    more = reallocarray(steps->list, steps->count + 1, sizeof *more);
    if (!more)
        return rp_out_of_memory(err);
    steps->list = more;
    step = &more[steps->count];
    *step = (struct rp_build_step){.directory = strdup(directory),
                                   .output = rp_word_absolute_path(directory, output),
                                   .words = *words};
    *words = (struct rp_words){0};
    steps->count++;
    return step->directory && step->output && !step->words.failed ? 0 : rp_out_of_memory(err);
}

static int read_lines(const char *text, const char *directory, bool scripts,
                      struct rp_build_steps *steps, struct rp_err *err);

/** CMake's makefiles keep commands of the linker in files. */
static int read_script(const char *name, const char *directory, struct rp_build_steps *steps,
                       struct rp_err *err)
{
    rp_autofree char *path = rp_word_absolute_path(directory, name);
    rp_autofree char *text = path ? rp_read_text(path, MOST_SCRIPT_BYTES) : NULL;

    return text ? read_lines(text, directory, false, steps, err) : 0;
}

/** One command of a line. `cd` is for those behind it. */
static int take_command(struct rp_words *words, char **directory, bool scripts,
                        struct rp_build_steps *steps, struct rp_err *err)
{
    if (words->count == 2 && strcmp(words->list[0], "cd") == 0) {
        char *there = rp_word_absolute_path(*directory, words->list[1]);

        free(*directory);
        *directory = there;
        return there ? 0 : rp_out_of_memory(err);
    }
    if (scripts && words->count > 3 && strcmp(words->list[2], "cmake_link_script") == 0)
        return read_script(words->list[3], *directory, steps, err);
    return words->count ? add_step(steps, *directory, words, err) : 0;
}

/** Commands stand between these. */
static bool is_separator(const char *word)
{
    return strcmp(word, "&&") == 0 || strcmp(word, "||") == 0 || strcmp(word, ";") == 0;
}

static int read_line(const char *line, const char *directory, bool scripts,
                     struct rp_build_steps *steps, struct rp_err *err)
{
    rp_autowords words = {0};
    rp_autowords command = {0};
    rp_autofree char *here = strdup(directory);
    bool dropped = false; /* the rest of a command: a pipe, another file for what it says */
    int rc = 0;

    if (!here)
        return rp_out_of_memory(err);
    if (rp_words_split(line, RP_WORDS_QUOTES, &words, NULL) < 0)
        return 0;
    for (size_t i = 0; i <= words.count && rc == 0; i++) {
        char *word = i < words.count ? words.list[i] : NULL;
        bool ends = word && strlen(word) > 1 && ends_with(word, ";");

        if (ends)
            word[strlen(word) - 1] = '\0';
        if (word && !is_separator(word)) {
            dropped = dropped || strchr("<>|&", word[0]) || strncmp(word, "2>", 2) == 0;
            if (!dropped || !word[0])
                rp_words_add(&command, word);
        }
        if (!word || ends || is_separator(word)) {
            rc = take_command(&command, &here, scripts, steps, err);
            rp_words_free(&command);
            dropped = false;
        }
    }
    return rc;
}

/** make[1]: Entering directory '/x'. @return whether the line says so */
static bool follow_make(const char *line, struct rp_words *folders)
{
    static const char enters[] = ": Entering directory '", leaves[] = ": Leaving directory '";
    const char *at = strstr(line, enters);

    if (at) {
        at += strlen(enters);
        rp_words_addf(folders, "%.*s", (int)strcspn(at, "'"), at);
        return true;
    }
    if (!strstr(line, leaves))
        return false;
    if (folders->count > 1)
        free(folders->list[--folders->count]);
    return true;
}

static int read_lines(const char *text, const char *directory, bool scripts,
                      struct rp_build_steps *steps, struct rp_err *err)
{
    rp_autowords folders = {0};
    int rc = 0;

    rp_words_add(&folders, directory);
    while (*text && rc == 0) {
        rp_autobuf line = {0};
        size_t bytes;

        for (;;) { /* a line ends with a backslash when it goes on */
            bytes = strcspn(text, "\n");
            bool on = bytes > 0 && text[bytes - 1] == '\\' && text[bytes];

            rp_buf_add(&line, text, bytes - on);
            text += bytes + (text[bytes] == '\n');
            if (!on)
                break;
            rp_buf_puts(&line, " ");
        }
        if (line.failed || folders.failed)
            return rp_out_of_memory(err);
        if (!follow_make(rp_buf_text(&line), &folders))
            rc =
                read_line(rp_buf_text(&line), folders.list[folders.count - 1], scripts, steps, err);
    }
    return rc;
}

/**
 * The same from what a tool has printed.
 * @param directory  in which it ran; absolute
 * @return 0 or RP_ENVIRONMENT
 */
static int rp_build_steps_read(const char *text, const char *directory, struct rp_build_steps *ret,
                               struct rp_err *err)
{
    rp_autosteps steps = {0};
    int rc = read_lines(text, directory, true, &steps, err);

    if (rc < 0)
        return rc;
    *ret = steps;
    steps = (struct rp_build_steps){0};
    return 0;
}

/* --- asking a tool ------------------------------------------------------------------------- */

static bool is_make(const char *name)
{
    return strcmp(name, "make") == 0 || strcmp(name, "gmake") == 0;
}

bool rp_build_is_tool(const struct rp_words *build)
{
    const char *name = build->count ? rp_base_name(build->list[0]) : "";

    return is_make(name) || strcmp(name, "ninja") == 0 ||
           (strcmp(name, "cmake") == 0 && build->count > 2 &&
            strcmp(build->list[1], "--build") == 0);
}

/** The command of the tool that cmake --build would start, with its targets. */
static int cmake_tool(const struct rp_words *build, struct rp_words *ret, struct rp_err *err)
{
    const char *folder = build->list[2];
    rp_autofree char *ninja = rp_path_join(folder, "build.ninja");
    rp_autofree char *makefile = rp_path_join(folder, "Makefile");
    bool targets = false;

    if (!ninja || !makefile)
        return rp_out_of_memory(err);
    if (!rp_path_exists(ninja) && !rp_path_exists(makefile))
        return rp_fail(err, RP_USAGE,
                       "--build: %s has neither build.ninja nor a Makefile: configure it first",
                       folder);
    rp_words_add(ret, rp_path_exists(ninja) ? "ninja" : "make");
    rp_words_add(ret, "-C");
    rp_words_add(ret, folder);
    for (size_t i = 3; i < build->count && strcmp(build->list[i], "--") != 0; i++) {
        const char *word = build->list[i];
        bool begins = strcmp(word, "--target") == 0 || strcmp(word, "-t") == 0;

        targets = begins || (targets && word[0] != '-');
        if (targets && !begins)
            rp_words_add(ret, word);
    }
    return 0;
}

/** Those of a ninja's words that say what is built: folder, file, targets. */
static void add_ninja(const struct rp_words *build, struct rp_words *ret)
{
    rp_autowords targets = {0};

    rp_words_add(ret, build->list[0]);
    for (size_t i = 1; i < build->count; i++) {
        const char *word = build->list[i];
        bool value = strlen(word) == 2 && word[0] == '-' && strchr("Cfjkldtw", word[1]);

        if (word[0] != '-')
            rp_words_add(&targets, word);
        else if (value && strchr("Cf", word[1]) && i + 1 < build->count) {
            rp_words_add(ret, word);
            rp_words_add(ret, build->list[i + 1]);
        } else if (strncmp(word, "-C", 2) == 0 || strncmp(word, "-f", 2) == 0) {
            rp_words_add(ret, word);
        }
        i += value;
    }
    rp_words_add(ret, "-t");
    rp_words_add(ret, "commands");
    for (size_t i = 0; i < targets.count; i++)
        rp_words_add(ret, targets.list[i]);
    ret->failed |= targets.failed;
}

/** The last -C of a tool's words, absolute. */
static char *folder_of(const struct rp_words *words)
{
    const char *folder = ".";

    for (size_t i = 1; i < words->count; i++)
        if (strcmp(words->list[i], "-C") == 0 && i + 1 < words->count)
            folder = words->list[++i];
        else if (strncmp(words->list[i], "-C", 2) == 0)
            folder = words->list[i] + 2;
    return rp_word_absolute_path(NULL, folder);
}

/* What is listed is as if the source were newer than all; its name is as the makefile spells it. */
static void add_make(const struct rp_words *build, const char *source, const char *folder, bool all,
                     struct rp_words *ret)
{
    size_t bytes = strlen(folder);

    for (size_t i = 0; i < build->count; i++)
        rp_words_add(ret, build->list[i]);
    rp_words_add(ret, "-n");
    rp_words_add(ret, "-w");
    if (all) {
        rp_words_add(ret, "-B");
        return;
    }
    rp_words_add(ret, "-W");
    rp_words_add(ret, source);
    if (strncmp(source, folder, bytes) == 0 && source[bytes] == '/') {
        rp_words_add(ret, "-W");
        rp_words_add(ret, source + bytes + 1);
    }
}

static void close_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

/** All of a file that has no name. */
static char *read_all(FILE *file)
{
    long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *text = bytes >= 0 && bytes <= MOST_TEXT_BYTES ? calloc(1, (size_t)bytes + 1) : NULL;

    rewind(file);
    if (text && fread(text, 1, (size_t)bytes, file) != (size_t)bytes) {
        free(text);
        return NULL;
    }
    return text;
}

static int does_not_list(const char *tool, const char *said, struct rp_err *err)
{
    enum { MOST_BYTES = 600 };
    rp_autofree char *line = rp_text_join_lines(said);

    return rp_fail(err, RP_USAGE, "--build: %s does not list its commands: %.*s", tool,
                   line ? (int)rp_text_fitting_bytes(line, MOST_BYTES) : 0, line ? line : "");
}

static int run_tool(const struct rp_words *words, char **ret_text, struct rp_err *err)
{
    static const struct rp_env_change env[] = {{.name = "LC_ALL", .value = "C"},
                                               {.name = "MAKEFLAGS"},
                                               {.name = "MAKELEVEL"},
                                               {.name = NULL}};
    const struct rp_proc_limits limits = rp_compiler_limits();
    rp_cleanup(close_file) FILE *out = tmpfile();
    rp_cleanup(close_file) FILE *said = tmpfile();
    rp_autofree char *path = NULL;
    rp_autofree char *text = NULL;
    rp_autofree char *wrong = NULL;
    struct rp_proc_end end;
    int rc = rp_find_program(words->list[0], &path, err);

    if (rc < 0)
        return rp_wrap(err, "--build");
    if (!out || !said)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "a temporary file");
    rc = rp_proc_run(&(struct rp_proc){.path = path,
                                       .argv = words->list,
                                       .env = env,
                                       .stdout_fd = fileno(out),
                                       .stderr_fd = fileno(said),
                                       .timeout_ns = TIMEOUT_NS,
                                       .limits = &limits},
                     &end, err);
    if (rc < 0)
        return rp_wrap(err, "--build: %s", words->list[0]);
    text = read_all(out);
    wrong = read_all(said);
    if (!text || !wrong)
        return rp_fail(err, RP_ENVIRONMENT, "what %s says cannot be read", words->list[0]);
    if (end.signaled || end.timed_out || end.status != 0)
        return does_not_list(words->list[0], wrong[0] ? wrong : text, err);
    *ret_text = rp_steal(text);
    return 0;
}

int rp_build_steps_list(const struct rp_words *build, const char *source, bool all,
                        struct rp_build_steps *ret, struct rp_err *err)
{
    rp_autowords tool = {0};
    rp_autowords command = {0};
    rp_autofree char *folder = NULL;
    rp_autofree char *text = NULL;
    int rc = 0;

    if (strcmp(rp_base_name(build->list[0]), "cmake") == 0)
        rc = cmake_tool(build, &tool, err);
    else
        for (size_t i = 0; i < build->count; i++)
            rp_words_add(&tool, build->list[i]);
    if (rc < 0)
        return rc;
    folder = folder_of(&tool);
    if (!folder || tool.failed)
        return rp_out_of_memory(err);
    if (is_make(rp_base_name(tool.list[0])))
        add_make(&tool, source, folder, all, &command);
    else
        add_ninja(&tool, &command);
    if (command.failed)
        return rp_out_of_memory(err);
    rc = run_tool(&command, &text, err);
    return rc < 0 ? rc : rp_build_steps_read(text, folder, ret, err);
}

/* The way from a source file to the program through the commands of a build. */

static bool is_compiler(const struct rp_build_step *step)
{
    return rp_compiler_words(&step->words) || rp_is_host_compiler(step->words.list[0]);
}

/** Whether a step reads a file. What it writes does not count: ar and ranlib name it likewise. */
static bool reads(const struct rp_build_step *step, const char *file)
{
    const bool compiles = is_compiler(step);

    for (size_t i = rp_compiler_words(&step->words) > 1 ? 2 : 1; i < step->words.count; i++) {
        const char *word = step->words.list[i];
        const struct rp_compile_option *option = rp_compile_option_of(word);
        rp_autofree char *path = NULL;

        if (compiles && option->value) {
            i++;
            continue;
        }
        path = rp_word_is_input(word) ? rp_word_absolute_path(step->directory, word) : NULL;
        if (path && strcmp(path, file) == 0)
            return true;
    }
    return false;
}

/** ranlib, and ar that adds to an archive, change a file that is there. */
static bool is_of(const struct rp_build_step *step, const char *file)
{
    return reads(step, file) || strcmp(step->output, file) == 0;
}

static bool links(const struct rp_build_step *step)
{
    return is_compiler(step) && !rp_words_stop_before_link(&step->words) &&
           !rp_words_have(&step->words, "-shared");
}

/** Which steps the source has a part in. */
static void mark_reached(const struct rp_build_steps *steps, const char *source, bool *reached)
{
    for (size_t i = 0; i < steps->count; i++) {
        reached[i] = rp_compiler_words(&steps->list[i].words) && reads(&steps->list[i], source);
        for (size_t j = 0; j < i && !reached[i]; j++)
            reached[i] = reached[j] && is_of(&steps->list[i], steps->list[j].output);
    }
}

/** The step that makes the program; steps->count: none, or nobody can tell which. */
static size_t last_of(const struct rp_build_steps *steps, const bool *reached, const char *program)
{
    size_t found = steps->count, count = 0;

    for (size_t i = 0; i < steps->count; i++) {
        if (!reached[i] || !links(&steps->list[i]))
            continue;
        if (program && strcmp(steps->list[i].output, program) == 0)
            return i;
        found = i;
        count++;
    }
    return count == 1 ? found : steps->count;
}

/** Of the steps with a part of the source, those that the last one needs. */
static void mark_needed(const struct rp_build_steps *steps, const bool *reached, size_t last,
                        bool *needed)
{
    needed[last] = true;
    for (size_t i = last; i-- > 0;)
        for (size_t j = i + 1; j <= last && reached[i] && !needed[i]; j++)
            needed[i] = needed[j] && is_of(&steps->list[j], steps->list[i].output);
}

static void remove_others(struct rp_build_steps *steps, const bool *kept)
{
    size_t count = 0;

    for (size_t i = 0; i < steps->count; i++) {
        if (kept[i]) {
            steps->list[count++] = steps->list[i];
            continue;
        }
        free(steps->list[i].directory);
        free(steps->list[i].output);
        rp_words_free(&steps->list[i].words);
    }
    steps->count = count;
}

bool rp_build_steps_keep(struct rp_build_steps *steps, const char *source, const char *program)
{
    rp_autofree bool *reached = calloc(steps->count + 1, sizeof *reached);
    rp_autofree bool *kept = calloc(steps->count + 1, sizeof *kept);
    size_t last, first = 0;

    if (!reached || !kept)
        return false;
    mark_reached(steps, source, reached);
    while (first < steps->count && !reached[first])
        first++;
    last = last_of(steps, reached, program);
    if (last < steps->count)
        mark_needed(steps, reached, last, kept);
    else if (first < steps->count)
        kept[first] = true;
    remove_others(steps, kept);
    return steps->count > 0;
}
