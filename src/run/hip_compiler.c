#include "run/hip_compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "arch/arch.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"
#include "run/machine.h"

/* Says what the user's arguments ask for, as far as our additions depend on it. */
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

/* The value of these options is the next argument, which is then no input file. */
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
 * Returns the language that hipcc gives a file, or NULL. C++ sources are HIP whatever their name
 * says, and C stays C, which clang++ would take for C++.
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
};

/* Adds the text and takes it over. */
static void add(struct args *args, char *text)
{
    args->list[args->count++] = text;
}

/* -x holds for every file behind it, so it is written where the language changes. */
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
        /* --genco is hipcc's word for it, and clang knows only the other. */
        add(args, rp_strdup(strcmp(*user, "--genco") == 0 ? "--cuda-device-only" : *user));
        if (takes_value(*user) && user[1])
            add(args, rp_strdup(*++user));
    }
}

static bool links_a_program(const struct asked *wish)
{
    return wish->inputs && wish->links && !wish->device_only;
}

static void add_default_arch(struct args *args, const struct asked *wish)
{
    /* Relocatable device code is only compiled when it is linked. */
    if ((wish->sources || wish->rdc) && !wish->arch)
        add(args, rp_format("--offload-arch=%s", rp_arch_default()->name));
}

/* A clang gets all options that hipcc would have given it. */
static void add_as_hipcc(struct args *args, const struct asked *wish, char *const *user)
{
    add_default_arch(args, wish);
    if (wish->sources && !wish->optimise)
        add(args, rp_strdup("-O3"));
    add_user(args, user, !wish->language);
    if (links_a_program(wish))
        add(args, rp_strdup("--hip-link"));
}

static void add_private(struct args *args, const struct rp_environment *env, char *const *user)
{
    const char *root = env->rocm_root;
    struct asked wish = read_asked(user);
    rp_autofree char *llvm =
        rp_strndup(env->compiler, strlen(env->compiler) - strlen("/bin/clang++"));
    const char *version = strrchr(llvm, '-') + 1; /* The name is .../llvm-22. */

    add(args, rp_format("--rocm-path=%s/usr", root));
    add(args, rp_format("--rocm-device-lib-path=%s/lib/clang/%s/amdgcn/bitcode", llvm, version));
    add(args, rp_format("--sysroot=%s", root));
    /* Clang would find GCC's headers by a link, $ROOT/lib, from where ".." leads elsewhere for a
     * build tool that takes paths of a depfile by their letters, as ninja does: it would compile
     * everything again. */
    add(args, rp_format("--gcc-toolchain=%s/usr", root));
    /* A step that does not link would fail with -Werror because of an unused option. */
    add(args, rp_strdup("--start-no-unused-arguments"));
    add(args, rp_format("--ld-path=%s/bin/ld.lld", llvm));
    add(args, rp_strdup("--end-no-unused-arguments"));
    add_as_hipcc(args, &wish, user);
    if (!links_a_program(&wish))
        return;
    add(args, rp_format("-Wl,--dynamic-linker=%s/lib64/ld-linux-x86-64.so.2", root));
    /* RPATH also serves libraries that HIP opens by dlopen. */
    add(args, rp_strdup("-Wl,--disable-new-dtags"));
    add(args, rp_format("-Wl,-rpath,%s/usr/lib/x86_64-linux-gnu", root));
}

static void add_installed(struct args *args, const struct rp_environment *env, char *const *user)
{
    struct asked wish = read_asked(user);

    if (strcmp(strrchr(env->compiler, '/'), "/hipcc") != 0) {
        add(args, rp_format("--rocm-path=%s", env->rocm_root));
        add_as_hipcc(args, &wish, user);
    } else {
        if (env->gpu_reason)
            add_default_arch(args, &wish); /* hipcc would ask the missing GPU. */
        add_user(args, user, false);
    }
    /* A wheel, a tarball, and a ROCm 10 without its links in /opt/rocm/lib are in no folder where
     * the loader looks. */
    if (links_a_program(&wish) && strcmp(env->rocm_root, "/usr") != 0)
        add(args, rp_format("-Wl,-rpath,%s", env->rocm_libraries));
}

int rp_hipcc_args(const struct rp_environment *env, char *const *user, char ***ret,
                  struct rp_err *err)
{
    struct args args = {0};
    size_t count = 0;

    if (env->rocm_problem)
        return rp_fail(err, RP_ENVIRONMENT, "%s", env->rocm_problem);
    if (!env->compiler)
        return rp_fail(err, RP_ENVIRONMENT,
                       "the ROCm in %s (%s) has no HIP compiler; install %s, or set ROCM_PATH to "
                       "a ROCm that has one",
                       env->rocm_root, env->rocm_version ? env->rocm_version : "version unknown",
                       rp_rocm_compiler_package(env->rocm_root));
    while (user[count])
        count++;
    args.list = rp_alloc_zero(3 * count + 16, sizeof *args.list);
    add(&args, rp_strdup(env->compiler));
    if (env->rocm_kind == RP_ROCM_PRIVATE)
        add_private(&args, env, user);
    else
        add_installed(&args, env, user);
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

/* Results of the compiler are kept one in a file: a head, standard output, standard error, and the
 * file that was written. A file gets its name when it is complete, and its checksum is tested when
 * it is read, so it does not matter who else writes, reads or removes files here meanwhile. */

static const size_t MOST_ENTRY_BYTES = (size_t)64 << 20;
static const uint64_t MIB = (uint64_t)1 << 20;

enum { DEFAULT_MIB = 1024 };

/** This stands at the beginning of each file, and the three parts follow. */
struct head {
    char magic[8];
    uint64_t out_bytes, err_bytes, file_bytes;
    uint32_t executable; /**< of what is written */
    uint32_t one_output; /**< both outputs went to one file: out_bytes is of both */
    uint64_t sum[2];     /**< XXH3 of the head without it, and of the parts */
};

static const char magic[8] = "rpcc 1\n";

/* --- where --- */

/** @return 0 and the limit in bytes, which is 0 without a cache; or RP_USAGE */
static int limit_bytes(uint64_t *ret, struct rp_err *err)
{
    const char *text = getenv("ROCM_PERF_COMPILER_CACHE");
    char *end = NULL;
    unsigned long long mib = DEFAULT_MIB;

    if (text && strcmp(text, "off") == 0)
        mib = 0;
    else if (text && *text) {
        mib = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
        if (!end || *end || mib > UINT64_MAX / MIB)
            return rp_fail(err, RP_USAGE,
                           "ROCM_PERF_COMPILER_CACHE=%s: use a number of MiB, or off", text);
    }
    *ret = mib * MIB;
    return 0;
}

/** A folder in which others can write is not trusted.
 * @return false, too, when it cannot be made */
static bool own_folder(const char *path)
{
    struct stat st;

    return (mkdir(path, 0700) == 0 || errno == EEXIST) && stat(path, &st) == 0 &&
           S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static char *cache_folder(const struct rp_environment *env)
{
    const char *slash = env->private_root ? strrchr(env->private_root, '/') : NULL;
    rp_autofree char *parent =
        slash ? rp_strndup(env->private_root, (size_t)(slash - env->private_root)) : NULL;
    char *path = parent ? rp_path_join(parent, "compiler") : NULL;

    if (path && (rp_mkdirs(parent, NULL) < 0 || !own_folder(path))) {
        free(path);
        return NULL;
    }
    return path;
}

/** Makes "CACHE/3f/3f0a...". It is NULL when the folder cannot be made. */
static char *entry_path(const char *cache, const char *key)
{
    rp_autofree char *folder = rp_format("%s/%.2s", cache, key);

    return folder && own_folder(folder) ? rp_path_join(folder, key) : NULL;
}

/* --- one result --- */

/** The bytes are mapped, or allocated by us. */
struct result {
    struct head head;
    const char *out, *err, *file;
};

static XXH128_hash_t sum_of(const struct result *result)
{
    XXH3_state_t *state = XXH3_createState();
    XXH128_hash_t sum = {0};

    if (!state)
        return sum;
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, &result->head, offsetof(struct head, sum));
    XXH3_128bits_update(state, result->out, result->head.out_bytes);
    XXH3_128bits_update(state, result->err, result->head.err_bytes);
    XXH3_128bits_update(state, result->file, result->head.file_bytes);
    sum = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    return sum;
}

/** @return whether the entry is complete; ret then points into data */
static bool parse(const char *data, size_t bytes, struct result *ret)
{
    struct result result;
    XXH128_hash_t sum;
    uint64_t rest;

    if (bytes < sizeof result.head)
        return false;
    memcpy(&result.head, data, sizeof result.head);
    rest = bytes - sizeof result.head;
    if (memcmp(result.head.magic, magic, sizeof magic) != 0 || result.head.out_bytes > rest ||
        result.head.err_bytes > rest - result.head.out_bytes ||
        result.head.file_bytes != rest - result.head.out_bytes - result.head.err_bytes)
        return false;
    result.out = data + sizeof result.head;
    result.err = result.out + result.head.out_bytes;
    result.file = result.err + result.head.err_bytes;
    sum = sum_of(&result);
    if (sum.low64 != result.head.sum[0] || sum.high64 != result.head.sum[1])
        return false;
    *ret = result;
    return true;
}

/** Writes a new file in the place of the old one, as compilers do. */
static bool replace(const char *path, bool executable, const char *data, size_t bytes)
{
    rp_autofree char *partial = rp_format("%s" RP_WRITE_PARTIAL "%d", path, (int)getpid());
    const int fd =
        partial ? open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, executable ? 0777 : 0666)
                : -1;
    bool done;

    if (fd < 0)
        return false;
    done = rp_write_all(fd, data, bytes) == 0;
    done = close(fd) == 0 && done && rename(partial, path) == 0;
    if (!done)
        unlink(partial);
    return done;
}

static char *output_path(const struct rp_proc *proc, const struct rp_compiler_command *command)
{
    const char *folder = command->directory ? command->directory : proc->directory;

    return !folder || command->output[0] == '/' ? rp_strdup(command->output)
                                                : rp_path_join(folder, command->output);
}

static int real_fd(int fd, int inherited)
{
    return fd > 0 ? fd : inherited;
}

static bool is_one_output(const struct rp_proc *proc)
{
    struct stat out, err;

    return fstat(real_fd(proc->stdout_fd, STDOUT_FILENO), &out) == 0 &&
           fstat(real_fd(proc->stderr_fd, STDERR_FILENO), &err) == 0 && out.st_dev == err.st_dev &&
           out.st_ino == err.st_ino;
}

/** @return whether all was done as the compiler would have done it */
static bool give(const struct rp_proc *proc, const struct rp_compiler_command *command,
                 const struct result *result)
{
    rp_autofree char *path = command->output ? output_path(proc, command) : NULL;

    if (result->head.one_output != is_one_output(proc) || (command->output && !path) ||
        (path && !replace(path, result->head.executable, result->file, result->head.file_bytes)))
        return false;
    /* If nobody reads the pipe any more, the output of a second compiler would not be read either;
     * and a reader that got a part would get that part twice. */
    if (rp_write_all(real_fd(proc->stdout_fd, STDOUT_FILENO), result->out,
                     result->head.out_bytes) == 0)
        rp_write_all(real_fd(proc->stderr_fd, STDERR_FILENO), result->err, result->head.err_bytes);
    return true;
}

static bool give_kept(const char *entry, const struct rp_proc *proc,
                      const struct rp_compiler_command *command)
{
    rp_autoclose int fd = open(entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct result result;
    struct stat st;
    void *data;
    bool given;

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        st.st_size <= 0 || (uint64_t)st.st_size > MOST_ENTRY_BYTES)
        return false;
    data = rp_alloc((size_t)st.st_size); /* It is not mapped, because it may be cut meanwhile. */
    given = data && pread(fd, data, (size_t)st.st_size, 0) == st.st_size &&
            parse(data, (size_t)st.st_size, &result) && give(proc, command, &result);
    free(data);
    if (given)
        futimens(fd, NULL); /* The time says when it was last used. */
    return given;
}

/* --- to keep one --- */

/** This is one output of the running compiler. It goes into memory, and is passed on when the
 * compiler ends. If the compiler wrote into the file itself, the file would also have what others
 * wrote there meanwhile. */
struct stream {
    int to; /**< where it is wanted */
    int fd; /**< where the compiler writes */
};

static bool open_stream(int wanted, struct stream *ret)
{
    *ret = (struct stream){.to = wanted, .fd = rp_memfd("compiler", MFD_CLOEXEC)};
    return ret->fd >= 0;
}

/** @return false: it cannot be read, or is too long */
static bool read_stream(const struct stream *stream, struct rp_buf *ret)
{
    char part[1 << 14];
    ssize_t got = 1;

    while (ret->len < MOST_ENTRY_BYTES &&
           (got = pread(stream->fd, part, sizeof part, (off_t)ret->len)) > 0)
        rp_buf_add(ret, part, (size_t)got);
    return got == 0 && !ret->failed;
}

/** Passes on everything, also output that is too long to be kept. */
static void pass_on(const struct stream *stream)
{
    char part[1 << 14];
    ssize_t got;

    for (off_t at = 0; (got = pread(stream->fd, part, sizeof part, at)) > 0; at += got)
        if (rp_write_all(stream->to, part, (size_t)got) < 0)
            return;
}

static void keep_bytes(const char *entry, const struct result *result)
{
    rp_autofree char *partial = rp_format("%s" RP_WRITE_PARTIAL "%d", entry, (int)getpid());
    int fd = partial ? open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    bool done;

    if (fd < 0)
        return;
    done = rp_write_all(fd, &result->head, sizeof result->head) == 0 &&
           rp_write_all(fd, result->out, result->head.out_bytes) == 0 &&
           rp_write_all(fd, result->err, result->head.err_bytes) == 0 &&
           rp_write_all(fd, result->file, result->head.file_bytes) == 0;
    if (close(fd) != 0 || !done || rename(partial, entry) != 0)
        unlink(partial);
}

/** Keeps the result that the compiler has just given, if possible. */
static void keep(const char *entry, const struct rp_proc *proc,
                 const struct rp_compiler_command *command, const struct stream *out,
                 const struct stream *err)
{
    rp_autobuf printed = {0};
    rp_autobuf said = {0};
    rp_autofree char *path = command->output ? output_path(proc, command) : NULL;
    rp_autofree void *file = NULL;
    const bool one = out->fd == err->fd;
    struct result result = {.head.one_output = one};
    struct stat st;
    size_t file_bytes = 0;
    XXH128_hash_t sum;

    if (!read_stream(out, &printed) || (!one && !read_stream(err, &said)))
        return;
    if (command->output &&
        (!path || lstat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
         rp_read_file(path, MOST_ENTRY_BYTES, RP_BAD_INPUT, &file, &file_bytes, NULL) < 0))
        return;
    if (printed.len + said.len + file_bytes + sizeof result.head > MOST_ENTRY_BYTES)
        return;
    memcpy(result.head.magic, magic, sizeof magic);
    result.head.out_bytes = printed.len;
    result.head.err_bytes = said.len;
    result.head.file_bytes = file_bytes;
    result.head.executable = path && (st.st_mode & S_IXUSR);
    result.out = rp_buf_text(&printed);
    result.err = rp_buf_text(&said);
    result.file = file ? file : "";
    sum = sum_of(&result);
    result.head.sum[0] = sum.low64;
    result.head.sum[1] = sum.high64;
    keep_bytes(entry, &result);
}

/* --- not too much --- */

struct aged {
    char *path;
    struct timespec used;
    uint64_t bytes;
};

static int by_age(const void *a, const void *b)
{
    const struct timespec *x = &((const struct aged *)a)->used,
                          *y = &((const struct aged *)b)->used;

    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/** Lists all files, also those that a killed process left. */
static size_t list_entries(const char *cache, struct aged **ret)
{
    char *const roots[] = {(char *)(uintptr_t)cache, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    struct aged *list = NULL;
    size_t count = 0, capacity = 0;

    for (FTSENT *file; tree && (file = fts_read(tree));) {
        if (file->fts_info != FTS_F)
            continue;
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 256;
            list = rp_realloc_array(list, capacity, sizeof *list);
        }
        list[count++] = (struct aged){.path = rp_strdup(file->fts_path),
                                      .used = file->fts_statp->st_mtim,
                                      .bytes = (uint64_t)file->fts_statp->st_blocks * 512};
    }
    if (tree)
        fts_close(tree);
    *ret = list;
    return count;
}

/** Removes the files that were not used for longest, until a fifth is free. */
static void trim(const char *cache, uint64_t most_bytes)
{
    struct aged *list;
    const size_t count = list_entries(cache, &list);
    uint64_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += list[i].bytes;
    if (bytes > most_bytes) {
        qsort(list, count, sizeof *list, by_age);
        for (size_t i = 0; i < count && bytes > most_bytes / 5 * 4; i++) {
            if (list[i].path)
                unlink(list[i].path);
            bytes -= list[i].bytes;
        }
    }
    for (size_t i = 0; i < count; i++)
        free(list[i].path);
    free(list);
}

/** Trimming looks at every file, so it is not done each time. */
static bool is_time_to_trim(const char *key, uint64_t most_bytes)
{
    return most_bytes < 64 * MIB || key[0] == '0'; /* A sixteenth of all keys begins so. */
}

/* --- the command --- */

bool rp_compiler_cache_applies(const struct rp_environment *env, char *const *argv)
{
    struct rp_compiler_command command;
    uint64_t most_bytes;

    if (limit_bytes(&most_bytes, NULL) < 0)
        return true; /* rp_compiler_run reports the error. */
    /* On a terminal messages have colours, and appear while the compiler works. */
    if (!most_bytes || isatty(STDERR_FILENO) || isatty(STDOUT_FILENO) ||
        !rp_compiler_command_read(env, argv, &command))
        return false;
    rp_compiler_command_free(&command);
    return true;
}

/** Runs the compiler with outputs that can be read again, and keeps the result. */
static int run_and_keep(const char *entry, const struct rp_proc *proc,
                        const struct rp_compiler_command *command,
                        const struct rp_compiler_key *key, struct rp_proc_end *ret,
                        struct rp_err *error)
{
    const bool one = is_one_output(proc);
    struct rp_proc own = *proc;
    struct stream out, err;
    int rc;

    if (!open_stream(real_fd(proc->stdout_fd, STDOUT_FILENO), &out))
        return rp_proc_run(proc, ret, error);
    err = out;
    if (!one && !open_stream(real_fd(proc->stderr_fd, STDERR_FILENO), &err)) {
        close(out.fd);
        return rp_proc_run(proc, ret, error);
    }
    own.stdout_fd = out.fd;
    own.stderr_fd = err.fd;
    rc = rp_proc_run(&own, ret, error);
    pass_on(&out);
    if (!one)
        pass_on(&err);
    if (rc == 0 && !ret->signaled && !ret->timed_out && ret->status == 0 &&
        rp_compiler_key_is_current(key))
        keep(entry, proc, command, &out, &err);
    close(out.fd);
    if (!one)
        close(err.fd);
    return rc;
}

/** The compiler has run again. Whether it gave the same result decides what happens to the kept
 * one. */
static void compare_again(const char *entry, const char *twice, const struct rp_proc *proc,
                          const struct rp_compiler_command *command)
{
    rp_autofree char *path = command->output ? output_path(proc, command) : NULL;
    rp_autofree void *kept = NULL;
    rp_autofree void *file = NULL;
    size_t kept_bytes = 0, bytes = 0;
    struct result result;

    if (!path ||
        rp_read_file(entry, MOST_ENTRY_BYTES, RP_BAD_INPUT, &kept, &kept_bytes, NULL) < 0 ||
        !parse(kept, kept_bytes, &result) ||
        rp_read_file(path, MOST_ENTRY_BYTES, RP_BAD_INPUT, &file, &bytes, NULL) < 0)
        return;
    if (bytes == result.head.file_bytes && memcmp(file, result.file, bytes) == 0)
        close(open(twice, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    else
        unlink(entry);
}

static int run_again(const char *entry, const struct rp_proc *proc,
                     const struct rp_compiler_command *command, const struct rp_compiler_key *key,
                     struct rp_proc_end *ret, struct rp_err *err)
{
    rp_autofree char *twice = rp_format("%s.twice", entry);
    int rc;

    if (twice && access(twice, F_OK) == 0 && give_kept(entry, proc, command)) {
        utimensat(AT_FDCWD, twice, NULL, 0);
        return 0;
    }
    rc = rp_proc_run(proc, ret, err);
    if (twice && rc == 0 && !ret->signaled && !ret->timed_out && ret->status == 0 &&
        rp_compiler_key_is_current(key))
        compare_again(entry, twice, proc, command);
    return rc;
}

int rp_compiler_run(const struct rp_environment *env, const struct rp_proc *proc, bool again,
                    struct rp_proc_end *ret, struct rp_err *err)
{
    uint64_t most_bytes = 0;
    rp_cleanup(rp_compiler_command_free) struct rp_compiler_command command = {0};
    rp_cleanup(rp_compiler_key_free) struct rp_compiler_key key = {0};
    rp_autofree char *cache = NULL;
    rp_autofree char *entry = NULL;
    int rc = limit_bytes(&most_bytes, err);

    if (rc < 0)
        return rc;
    if (!most_bytes || !rp_compiler_command_read(env, proc->argv, &command) ||
        !(cache = cache_folder(env)))
        return rp_proc_run(proc, ret, err);
    rc = rp_compiler_key(env, proc, &command, &key, err);
    if (rc < 0)
        return rc;
    entry = rc ? entry_path(cache, key.text) : NULL;
    if (!entry)
        return rp_proc_run(proc, ret, err);
    *ret = (struct rp_proc_end){0};
    if (again)
        return run_again(entry, proc, &command, &key, ret, err);
    if (give_kept(entry, proc, &command))
        return 0;
    rc = run_and_keep(entry, proc, &command, &key, ret, err);
    if (is_time_to_trim(key.text, most_bytes))
        trim(cache, most_bytes);
    return rc;
}
