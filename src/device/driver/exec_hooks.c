/**
 * @file exec_hooks.c
 * @brief Programs that this process starts, where the private ROCm has a newer libc than the
 * machine.
 *
 * A program is started by the machine's loader, and finds no ROCm. If it may need one
 * (base/program_loader.h), the loader that the environment of the new program names starts it
 * instead, with the same arguments. All others, and everything where no loader is named, are
 * started as the caller says. A program that is given another environment without that name has no
 * software device either.
 *
 * These functions may be called between vfork() and exec: they allocate nothing, and leave no trace
 * in memory but on the stack.
 */
#include <alloca.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "base/program_loader.h"
#include "device/driver/libc_hooks.h"

/* --- this program -------------------------------------------------------------------------- */

/* The kernel has loaded no loader for the program, because it took the loader for the program. The
 * loader then writes the program's path, which is absolute, where the kernel says what it started.
 */
static const char *program_of_loader(void)
{
    const char *program = getauxval(AT_BASE) ? NULL : (const char *)getauxval(AT_EXECFN);

    return program && *program == '/' ? program : NULL;
}

bool rp_exec_is_own_program(const char *path, char ret[PATH_MAX])
{
    static const char self[] = "/proc/self/exe";
    char own[32];

    if (!path || strncmp(path, "/proc/", 6) != 0 || !program_of_loader())
        return false;
    if (strcmp(path, self) != 0) {
        snprintf(own, sizeof own, "/proc/%d/exe", (int)getpid());
        if (strcmp(path, own) != 0)
            return false;
    }
    return NEXT(realpath)(program_of_loader(), ret) != NULL;
}

/* Tools for people find a process by its name. */
__attribute__((constructor)) static void take_name(void)
{
    const char *program = program_of_loader();

    if (program)
        prctl(PR_SET_NAME, strrchr(program, '/') + 1);
}

/* --- programs that it starts --------------------------------------------------------------- */

/** Returns a variable of the new program, or NULL. */
static const char *variable(char *const *env, const char *name)
{
    const size_t bytes = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, bytes) == 0 && (*env)[bytes] == '=')
            return *env + bytes + 1;
    return NULL;
}

static size_t words_of(char *const *argv)
{
    size_t count = 0;

    while (argv && argv[count])
        count++;
    return count;
}

static bool may_need_loader(char *const *env)
{
    return variable(env, RP_LOADER_VARIABLE) != NULL;
}

/* A program that is started without this library, as a profiler's own helpers are, has no use for
 * HIP, and nothing that would show it its own path as /proc/self/exe. */
static bool has_device(char *const *env)
{
    const char *preloaded = variable(env, "LD_PRELOAD");

    return preloaded && strstr(preloaded, "librocm-perf-device.so");
}

static struct rp_loader_environment environment_of(char *const *env)
{
    return (struct rp_loader_environment){
        .setting = variable(env, RP_LOADER_VARIABLE),
        .own_loader = variable(env, RP_OWN_LOADER_VARIABLE),
        .libraries = variable(env, "LD_LIBRARY_PATH"),
        .search_path = variable(env, "PATH"),
        .has_gpu = has_device(env),
    };
}

static bool is_for_loader(const char *path, char *const *env)
{
    const struct rp_loader_environment facts = environment_of(env);

    return facts.setting && rp_loader_is_needed(&facts, path);
}

/** @return whether @p ret_argv is the command to start instead */
static bool by_loader(const char *path, char *const *argv, char *const *env,
                      struct rp_loader_words *words, char **ret_argv)
{
    const struct rp_loader_environment facts = environment_of(env);
    const int saved = errno;
    const bool is = rp_loader_command(&facts, path, argv, words, ret_argv);

    errno = saved;
    return is;
}

/** Returns memory of the caller's for the longest command of this one. */
#define COMMAND_FOR(argv) alloca((words_of(argv) + RP_LOADER_ARGUMENTS) * sizeof(char *))

/* The functions that have the words on their stack are called for programs that need a loader. */
#define LARGE_STACK __attribute__((noinline))

static LARGE_STACK int exec_by_loader(const char *path, char *const *argv, char *const *env)
{
    struct rp_loader_words words;
    char **command = COMMAND_FOR(argv);

    if (by_loader(path, argv, env, &words, command))
        return NEXT(execve)(command[0], command, env);
    return NEXT(execve)(path, argv, env);
}

static int exec_path(const char *path, char *const *argv, char *const *env)
{
    return is_for_loader(path, env) ? exec_by_loader(path, argv, env)
                                    : NEXT(execve)(path, argv, env);
}

/** Finds what execvp() would start: in the PATH of this process, whatever the new one's is. */
static bool find_file(const char *file, char ret[PATH_MAX])
{
    const char *search_path = getenv("PATH");

    if (!strchr(file, '/'))
        return rp_loader_search(search_path ? search_path : "/bin:/usr/bin", file, ret);
    if (strlen(file) >= PATH_MAX)
        return false;
    strcpy(ret, file);
    return true;
}

static int exec_file(const char *file, char *const *argv, char *const *env)
{
    char path[PATH_MAX];

    if (may_need_loader(env) && find_file(file, path) && is_for_loader(path, env))
        return exec_by_loader(path, argv, env);
    return NEXT(execvpe)(file, argv, env);
}

RP_EXPORT int execve(const char *path, char *const *argv, char *const *env)
{
    return exec_path(path, argv, env);
}

RP_EXPORT int execv(const char *path, char *const *argv)
{
    return may_need_loader(environ) ? exec_path(path, argv, environ) : NEXT(execv)(path, argv);
}

RP_EXPORT int execvp(const char *file, char *const *argv)
{
    return may_need_loader(environ) ? exec_file(file, argv, environ) : NEXT(execvp)(file, argv);
}

RP_EXPORT int execvpe(const char *file, char *const *argv, char *const *env)
{
    return exec_file(file, argv, env);
}

/** Fills @p argv, if there is one, with the words of execl(), and counts them.
 * @param args stands behind the last of them afterwards */
static size_t take_words(const char *first, va_list *args, char **argv)
{
    size_t count = 0;

    for (const char *word = first; word; word = va_arg(*args, const char *), count++)
        if (argv)
            argv[count] = (char *)(uintptr_t)word;
    if (argv)
        argv[count] = NULL;
    return count;
}

/* These functions take their words one by one, and the last has the environment behind them. */
#define EXEC_LIST_HOOK(name, start, environment)                                                   \
    RP_EXPORT int name(const char *path, const char *first, ...)                                   \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, first);                                                                     \
        const size_t count = take_words(first, &args, NULL);                                       \
        va_end(args);                                                                              \
        char **argv = alloca((count + 1) * sizeof *argv);                                          \
        va_start(args, first);                                                                     \
        take_words(first, &args, argv);                                                            \
        char *const *env = environment;                                                            \
        va_end(args);                                                                              \
        return start(path, argv, env);                                                             \
    }
EXEC_LIST_HOOK(execl, execve, environ)
EXEC_LIST_HOOK(execlp, execvpe, environ)
EXEC_LIST_HOOK(execle, execve, va_arg(args, char *const *))

static LARGE_STACK int spawn_by_loader(pid_t *ret_pid, const char *path,
                                       const posix_spawn_file_actions_t *actions,
                                       const posix_spawnattr_t *attributes, char *const *argv,
                                       char *const *env)
{
    struct rp_loader_words words;
    char **command = COMMAND_FOR(argv);

    if (by_loader(path, argv, env, &words, command))
        return NEXT(posix_spawn)(ret_pid, command[0], actions, attributes, command, env);
    return NEXT(posix_spawn)(ret_pid, path, actions, attributes, argv, env);
}

/* The actions may change the folder first. A relative path is then another program's here, if it is
 * one at all. */
RP_EXPORT int posix_spawn(pid_t *restrict ret_pid, const char *restrict path,
                          const posix_spawn_file_actions_t *restrict actions,
                          const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                          char *const env[restrict])
{
    if (is_for_loader(path, env))
        return spawn_by_loader(ret_pid, path, actions, attributes, argv, env);
    return NEXT(posix_spawn)(ret_pid, path, actions, attributes, argv, env);
}

RP_EXPORT int posix_spawnp(pid_t *restrict ret_pid, const char *restrict file,
                           const posix_spawn_file_actions_t *restrict actions,
                           const posix_spawnattr_t *restrict attributes, char *const argv[restrict],
                           char *const env[restrict])
{
    char path[PATH_MAX];

    if (may_need_loader(env) && find_file(file, path) && is_for_loader(path, env))
        return spawn_by_loader(ret_pid, path, actions, attributes, argv, env);
    return NEXT(posix_spawnp)(ret_pid, file, actions, attributes, argv, env);
}
