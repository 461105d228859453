#include "collect/hipcc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "collect/environment.h"

/* What the user's arguments ask for, as far as our additions depend on it. */
struct asked {
    bool arch;     /**< an architecture is named */
    bool optimise; /**< an -O level is given */
    bool language; /**< -x is given: leave the languages alone */
    bool links;    /**< no -c, -S, -E ...: a link follows */
    bool device_only;
    bool rdc; /**< device code of several files is linked together */
    bool sources;
    bool inputs; /**< anything to work on */
};

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_one_of(const char *arg, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(arg, *list) == 0)
            return true;
    return false;
}

/* Options whose value is the next argument, which is then no input file. */
static bool takes_value(const char *arg)
{
    static const char *const options[] = {"-o",
                                          "-I",
                                          "-L",
                                          "-D",
                                          "-U",
                                          "-l",
                                          "-x",
                                          "-include",
                                          "-isystem",
                                          "-iquote",
                                          "-idirafter",
                                          "-MF",
                                          "-MT",
                                          "-MQ",
                                          "-mllvm",
                                          "-Xclang",
                                          "-Xlinker",
                                          "-Xassembler",
                                          "-Xpreprocessor",
                                          "-target",
                                          "-T",
                                          "-Xoffload-linker",
                                          "-framework",
                                          NULL};

    return is_one_of(arg, options);
}

/*
 * The language that hipcc gives a file, or NULL: C++ sources are HIP whatever their name says, and
 * C stays C, which clang++ would take for C++.
 */
static const char *language_of(const char *arg)
{
    static const char *const hip[] = {".hip", ".cu", ".cpp", ".cc", ".cxx", ".C", NULL};
    const char *dot = strrchr(arg, '.');

    if (arg[0] == '-' || !dot)
        return NULL;
    if (strcmp(dot, ".c") == 0)
        return "c";
    return is_one_of(dot, hip) ? "hip" : NULL;
}

static bool is_hip_source(const char *arg)
{
    const char *language = language_of(arg);

    return language && strcmp(language, "hip") == 0;
}

static void note_option(struct asked *wish, const char *arg)
{
    static const char *const no_link[] = {"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", NULL};
    static const char *const device[] = {"--cuda-device-only", "--offload-device-only", "--genco",
                                         NULL};

    wish->arch |= starts(arg, "--offload-arch") || starts(arg, "--cuda-gpu-arch");
    wish->rdc |= strcmp(arg, "-fgpu-rdc") == 0;
    wish->optimise |= starts(arg, "-O");
    wish->language |= starts(arg, "-x");
    wish->links &= !is_one_of(arg, no_link);
    wish->device_only |= is_one_of(arg, device);
}

static struct asked read_asked(char *const *user)
{
    struct asked wish = {.links = true};

    for (; *user; user++) {
        if ((*user)[0] != '-' || !(*user)[1]) {
            wish.inputs = true;
            wish.sources |= is_hip_source(*user);
            continue;
        }
        note_option(&wish, *user);
        if (takes_value(*user) && user[1])
            user++;
    }
    return wish;
}

struct args {
    char **list;
    size_t count;
    bool failed;
};

/* Takes ownership of text; NULL means that memory ran out. */
static void add(struct args *args, char *text)
{
    if (text)
        args->list[args->count++] = text;
    else
        args->failed = true;
}

/* -x holds for every file behind it, so it is given where the language changes. */
static void add_user(struct args *args, char *const *user, bool set_language)
{
    const char *current = "none";

    for (; *user; user++) {
        bool file = (*user)[0] != '-' && set_language;
        const char *language = file ? language_of(*user) : NULL;

        if (file && strcmp(language ? language : "none", current) != 0) {
            current = language ? language : "none";
            add(args, rp_format("-x%s", current));
        }
        /* --genco is hipcc's word for it; clang knows only the other. */
        add(args, strdup(strcmp(*user, "--genco") == 0 ? "--cuda-device-only" : *user));
        if (takes_value(*user) && user[1])
            add(args, strdup(*++user));
    }
}

/* clang of the private ROCm, told all that hipcc would have found out in an installed one. */
static void add_private(struct args *args, const struct rp_environment *env, char *const *user)
{
    const char *root = env->rocm_root;
    struct asked wish = read_asked(user);
    rp_autofree char *llvm = strndup(env->compiler, strlen(env->compiler) - strlen("/bin/clang++"));
    const char *version;

    if (!llvm) {
        args->failed = true;
        return;
    }
    version = strrchr(llvm, '-') + 1; /* .../llvm-22 */
    add(args, rp_format("--rocm-path=%s/usr", root));
    add(args, rp_format("--rocm-device-lib-path=%s/lib/clang/%s/amdgcn/bitcode", llvm, version));
    add(args, rp_format("--sysroot=%s", root));
    /* Not every step links: with -Werror an unused option would be an error. */
    add(args, strdup("--start-no-unused-arguments"));
    add(args, rp_format("--ld-path=%s/bin/ld.lld", llvm));
    add(args, strdup("--end-no-unused-arguments"));
    /* Relocatable device code is only compiled when it is linked. */
    if ((wish.sources || wish.rdc) && !wish.arch)
        add(args, strdup("--offload-arch=gfx942"));
    if (wish.sources && !wish.optimise)
        add(args, strdup("-O3")); /* hipcc's default */
    add_user(args, user, !wish.language);
    if (!wish.inputs || !wish.links || wish.device_only)
        return;
    add(args, strdup("--hip-link"));
    add(args, rp_format("-Wl,--dynamic-linker=%s/lib64/ld-linux-x86-64.so.2", root));
    add(args, strdup("-Wl,--disable-new-dtags")); /* RPATH also serves what HIP dlopens */
    add(args, rp_format("-Wl,-rpath,%s/usr/lib/x86_64-linux-gnu", root));
}

int rp_hipcc_args(const struct rp_environment *env, char *const *user, char ***ret,
                  struct rp_err *err)
{
    struct args args = {0};
    size_t count = 0;

    if (env->rocm_refused)
        return rp_fail(err, RP_ENVIRONMENT,
                       "ROCM_PATH=%s: no ROCm 7 is there; correct the variable or unset it",
                       env->rocm_refused);
    if (!env->compiler)
        return rp_fail(err, RP_ENVIRONMENT, "no HIP compiler found in %s; run %s",
                       env->rocm_root ? env->rocm_root : "$ROCM_PATH, /opt/rocm or the cache",
                       rp_environment_mend(env));
    while (user[count])
        count++;
    args.list = calloc(3 * count + 16, sizeof *args.list);
    if (!args.list)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    add(&args, strdup(env->compiler));
    if (env->rocm_kind == RP_ROCM_PRIVATE) {
        add_private(&args, env, user);
    } else {
        struct asked wish = read_asked(user);
        if (env->gpu_reason && (wish.sources || wish.rdc) && !wish.arch)
            add(&args, strdup("--offload-arch=gfx942")); /* hipcc would ask the missing GPU */
        add_user(&args, user, false);
    }
    if (args.failed) {
        rp_hipcc_args_free(&args.list);
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    }
    *ret = args.list;
    return 0;
}

void rp_hipcc_args_free(char ***args)
{
    for (char **arg = *args; arg && *arg; arg++)
        free(*arg);
    free(*args);
    *args = NULL;
}
