/* Further commands made of the user's by leaving out, replacing and adding words; what an option
 * means here is in compile_options.def. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/hipcc.h"
#include "optimize/compile_command_parts.h"
#include "optimize/compile_words.h"
#include "optimize/overlay.h"

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

        if (rp_compile_names_source(command, word)) {
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
int rp_compile_finish(const struct rp_compile_command *command, const struct rp_words *user,
                      struct rp_words *words, char ***ret_argv, struct rp_err *err)
{
    const char *named = user->list[0];
    rp_autofree char *path = NULL;
    char *first;
    bool own = command->env.rocm_kind == RP_ROCM_INSTALLED &&
               rp_compiler_words(&command->compiler) == 1 &&
               rp_find_program(named, &path, NULL) == 0;

    if (words->failed)
        return rp_out_of_memory(err);
    if (!own)
        return rp_hipcc_args(&command->env, words->list, ret_argv, err);
    rp_words_add(words, path);
    if (words->failed)
        return rp_out_of_memory(err);
    first = words->list[words->count - 1];
    memmove(words->list + 1, words->list, (words->count - 1) * sizeof *words->list);
    words->list[0] = first;
    *ret_argv = rp_steal(words->list);
    words->count = 0;
    return 0;
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
    rc = text ? rp_overlay_write(command->source, text, &path, err) : rp_out_of_memory(err);
    if (rc == 0)
        rp_words_addf(words, "-ivfsoverlay%s", path);
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
        if (words.failed)
            return rp_out_of_memory(err);
        *ret_argv = rp_steal(words.list);
        words.count = 0;
        return 0;
    }
    input = rp_path_absolute(command->unit ? command->unit : source);
    file =
        what == RP_COMPILE_AST || what == RP_COMPILE_IR ? strdup(output) : rp_path_absolute(output);
    if (!input || !file)
        return rp_out_of_memory(err);
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
    return rp_compile_finish(command, &command->compiler, &words, ret_argv, err);
}

void rp_compile_argv_free(char ***argv)
{
    for (char **word = *argv; word && *word; word++)
        free(*word);
    free(*argv);
    *argv = NULL;
}
