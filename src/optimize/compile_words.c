#include "optimize/compile_words.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "optimize/words.h"

const struct rp_compile_option *rp_compile_option_of(const char *word)
{
    static const struct rp_compile_option options[] = {
#define RP_OPTION(text, match, value, side_output, link, device)                                   \
    {text, RP_OPTION_##match, value, side_output, link, device},
#include "optimize/compile_options.def"
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

bool rp_is_host_compiler(const char *program)
{
    static const char *const known[] = {"c++",    "cc",    "g++",    "gcc",
                                        "mpicxx", "mpicc", "mpic++", "mpiCC"};
    const char *name = rp_base_name(program);

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t bytes = strlen(known[i]);

        if (strncmp(name, known[i], bytes) == 0 &&
            (!name[bytes] ||
             (name[bytes] == '-' && name[bytes + 1] >= '0' && name[bytes + 1] <= '9')))
            return true;
    }
    return false;
}

void rp_words_drop_launcher(struct rp_words *words)
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

bool rp_words_have(const struct rp_words *words, const char *word)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->list[i], word) == 0)
            return true;
    return false;
}

bool rp_words_stop_before_link(const struct rp_words *words)
{
    static const char *const stops[] = {"-c", "-S", "-E", "-fsyntax-only", "--genco"};

    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (rp_words_have(words, stops[i]))
            return true;
    return false;
}

char *rp_word_file(const char *directory, const char *word)
{
    rp_autofree char *here = word[0] == '/' || directory ? NULL : getcwd(NULL, 0);
    const char *folder = directory ? directory : here ? here : ".";
    rp_autofree char *joined = word[0] == '/' ? strdup(word) : rp_path_join(folder, word);
    rp_autofree char *real = joined ? realpath(joined, NULL) : NULL;
    rp_autofree char *parent = NULL;
    const char *name;

    if (real || !joined)
        return rp_steal(real);
    /* What is not there yet is named by its folder. */
    name = rp_base_name(joined);
    parent = strndup(joined, (size_t)(name - joined));
    real = parent ? realpath(parent, NULL) : NULL;
    return real ? rp_path_join(real, name) : rp_steal(joined);
}
