/* The way from a source file to the program through the commands of a build. */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "optimize/build_steps.h"
#include "optimize/compile_words.h"

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
        path = rp_word_is_input(word) ? rp_word_file(step->directory, word) : NULL;
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
