#include "base/program_loader.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* --- the program's file -------------------------------------------------------------------- */

/* These calls go past the hooks of libraries that are injected into this process. */
static int open_file(const char *path)
{
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

static void close_file(int fd)
{
    syscall(SYS_close, fd);
}

static bool can_execute(const char *path)
{
    return syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

static bool read_at(int fd, uint64_t at, void *to, size_t bytes)
{
    return pread(fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/* The kernel gives another user's rights, or capabilities, to the program that it starts itself. */
static bool has_rights_of_its_own(int fd)
{
    struct stat st;

    return syscall(SYS_fstat, fd, &st) != 0 || !S_ISREG(st.st_mode) ||
           st.st_mode & (S_ISUID | S_ISGID) || fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

static bool read_header(int fd, Elf64_Ehdr *ret)
{
    return read_at(fd, 0, ret, sizeof *ret) && memcmp(ret->e_ident, ELFMAG, SELFMAG) == 0 &&
           ret->e_ident[EI_CLASS] == ELFCLASS64 && ret->e_machine == EM_X86_64 &&
           ret->e_phentsize == sizeof(Elf64_Phdr);
}

static bool find_segment(int fd, const Elf64_Ehdr *header, uint32_t type, Elf64_Phdr *ret)
{
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (!read_at(fd, header->e_phoff + i * sizeof *ret, ret, sizeof *ret))
            return false;
        else if (ret->p_type == type)
            return true;
    return false;
}

/* Finds where in the file an address of the loaded program is. */
static bool offset_of(int fd, const Elf64_Ehdr *header, uint64_t address, uint64_t *ret)
{
    Elf64_Phdr p;

    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (!read_at(fd, header->e_phoff + i * sizeof p, &p, sizeof p))
            return false;
        if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz) {
            *ret = p.p_offset + (address - p.p_vaddr);
            return true;
        }
    }
    return false;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool loads_rocm(const char *library)
{
    return begins(library, "libamdhip64.so") || begins(library, "libhsa-runtime64.so") ||
           begins(library, "libhiprtc.so") || begins(library, "libpython");
}

/** Goes through the dynamic section: once for the table of names, then for the libraries' names. */
static bool links_rocm(int fd, const Elf64_Ehdr *header, const Elf64_Phdr *dynamic)
{
    const size_t count = dynamic->p_filesz / sizeof(Elf64_Dyn);
    uint64_t names = 0;
    char library[32] = "";
    Elf64_Dyn entry;

    for (unsigned turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < count; i++) {
            if (!read_at(fd, dynamic->p_offset + i * sizeof entry, &entry, sizeof entry) ||
                entry.d_tag == DT_NULL)
                break;
            if (turn == 0 && entry.d_tag == DT_STRTAB &&
                !offset_of(fd, header, entry.d_un.d_ptr, &names))
                return false;
            if (turn == 1 && entry.d_tag == DT_NEEDED && names &&
                pread(fd, library, sizeof library - 1, (off_t)(names + entry.d_un.d_val)) > 0 &&
                loads_rocm(library))
                return true;
        }
    return false;
}

static const char hip_name[] = "libamdhip64.so";

/* @return whether what follows HIP's name at @p at, within @p bytes bytes, is a version at most */
static bool is_hip(const char *at, size_t bytes)
{
    size_t i = sizeof hip_name - 1;

    while (i < bytes && (at[i] == '.' || (at[i] >= '0' && at[i] <= '9')))
        i++;
    return i < bytes && at[i] == '\0';
}

/* Looks for the name as a whole text, or as the end of a path: not as part of a message.
 * @param ahead  what comes before the bytes */
static bool has_hip(const char *bytes, size_t count, char ahead)
{
    const char *const end = bytes + count, *at = bytes;

    while ((at = memmem(at, (size_t)(end - at), hip_name, sizeof hip_name - 1))) {
        const char before = at > bytes ? at[-1] : ahead;

        if ((before == '\0' || before == '/') && is_hip(at, (size_t)(end - at)))
            return true;
        at++;
    }
    return false;
}

/* A program that loads HIP by itself, as IREE's do, has its name among its constants. */
static bool names_rocm(int fd, const Elf64_Ehdr *header)
{
    enum { STEP = 4 << 10, NAME = 32, MOST = 64 << 20 }; /* A thread may have a stack of 16 KiB. */
    char bytes[1 + STEP + NAME];
    uint64_t left = MOST;
    Elf64_Phdr segment;

    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (!read_at(fd, header->e_phoff + i * sizeof segment, &segment, sizeof segment))
            return false;
        if (segment.p_type != PT_LOAD || segment.p_flags & PF_X || segment.p_filesz > left)
            continue;
        left -= segment.p_filesz;
        for (uint64_t at = 0; at < segment.p_filesz; at += STEP) {
            /* With the byte before, and as much of the next step as a name takes. */
            const uint64_t from = segment.p_offset + at - (at || segment.p_offset ? 1 : 0);
            const ssize_t got = pread(fd, bytes, sizeof bytes, (off_t)from);

            if (got <= 1)
                break; /* The file ends before its headers say. */
            if (has_hip(bytes + 1, (size_t)got - 1, bytes[0]))
                return true;
        }
    }
    return false;
}

/* A program that names a loader of its own brings its own libc, or was made for the private one. If
 * that was on another machine, it names one that is not here. */
static bool takes_another_loader(int fd, const Elf64_Phdr *interp)
{
    static const char usual[] = "/lib64/ld-linux-x86-64.so.2";
    char named[256];

    if (interp->p_filesz > sizeof named || !interp->p_filesz ||
        !read_at(fd, interp->p_offset, named, interp->p_filesz) || named[interp->p_filesz - 1])
        return false;
    return strcmp(named, usual) == 0 || !can_execute(named);
}

/* "python3", "python3.13", "pypy3": whatever it is linked to, modules that it loads may need ROCm.
 */
static bool is_python(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return begins(name, "python") || begins(name, "pypy");
}

/* It knows the name of HIP's library, and never loads it. */
static bool is_own(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return begins(name, "rocm-perf");
}

/* The user knows better, of a program that does not need HIP whose name it has. */
static bool is_kept(const char *kept, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (const char *at = kept; at && *at;) {
        const size_t length = strcspn(at, ":");
        const char *as = memchr(at, '/', length) ? path : name;

        if (length && strlen(as) == length && memcmp(as, at, length) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

static bool needs_loader(const struct rp_loader_environment *env, const char *path)
{
    Elf64_Phdr interp, dynamic;
    Elf64_Ehdr header;
    int fd = open_file(path);
    bool is = fd >= 0 && !is_kept(env->own_loader, path) && can_execute(path) &&
              !has_rights_of_its_own(fd) && read_header(fd, &header) &&
              find_segment(fd, &header, PT_INTERP, &interp) &&
              find_segment(fd, &header, PT_DYNAMIC, &dynamic) &&
              takes_another_loader(fd, &interp) &&
              (is_python(path) || links_rocm(fd, &header, &dynamic) ||
               (env->has_gpu && !is_own(path) && names_rocm(fd, &header)));

    if (fd >= 0)
        close_file(fd);
    return is;
}

/* --- scripts ------------------------------------------------------------------------------- */

static char *skip_blanks(char *at)
{
    return at + strspn(at, " \t");
}

/** Takes the script's first line apart as the kernel does: a program, and at most one argument.
 * @param ret_argument NULL: none */
static bool read_script_line(const char *path, char line[256], char **ret_program,
                             char **ret_argument)
{
    int fd = open_file(path);
    ssize_t bytes =
        fd >= 0 && can_execute(path) && !has_rights_of_its_own(fd) ? pread(fd, line, 255, 0) : 0;

    if (fd >= 0)
        close_file(fd);
    line[bytes > 0 ? bytes : 0] = '\0';
    if (!begins(line, "#!") || !strchr(line, '\n'))
        return false;
    char *end = strchr(line, '\n');
    while (end[-1] == ' ' || end[-1] == '\t')
        end--;
    *end = '\0';
    *ret_program = skip_blanks(line + 2);
    end = *ret_program + strcspn(*ret_program, " \t");
    *ret_argument = *end ? skip_blanks(end) : NULL;
    if (end[0])
        *end = '\0';
    return **ret_program == '/';
}

const char *rp_loader_script_program(const char *path, char line[256])
{
    char *program, *argument;
    const int saved = errno;
    const bool is = read_script_line(path, line, &program, &argument);

    errno = saved;
    return is ? program : NULL;
}

bool rp_loader_search(const char *search_path, const char *name, char ret[PATH_MAX])
{
    const size_t bytes = strlen(name);
    struct stat st;

    for (const char *at = search_path; at && *at && *name;) {
        const size_t length = strcspn(at, ":");

        if (length + bytes + 3 <= PATH_MAX) {
            memcpy(ret, length ? at : ".", length ? length : 1);
            ret[length ? length : 1] = '/';
            memcpy(ret + (length ? length : 1) + 1, name, bytes + 1);
            if (can_execute(ret) && syscall(SYS_stat, ret, &st) == 0 && S_ISREG(st.st_mode))
                return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

/** "#!/usr/bin/env python3" stands for the program that env would find. Options and settings of env
 * are its own matter: its exec is seen where the device is. */
static bool is_env_of(const char *program, const char *argument)
{
    const char *slash = strrchr(program, '/');

    return strcmp(slash ? slash + 1 : program, "env") == 0 && argument && *argument != '-' &&
           !strpbrk(argument, " \t=/");
}

/* --- the command --------------------------------------------------------------------------- */

/** Appends a word and keeps it terminated. @return false: there is no room */
static bool append(char *to, size_t room, const char *text, size_t bytes)
{
    const size_t used = strlen(to);

    if (used + bytes >= room)
        return false;
    memcpy(to + used, text, bytes);
    to[used + bytes] = '\0';
    return true;
}

static bool has_libc(const char *folder, size_t bytes)
{
    char path[PATH_MAX] = "";

    return append(path, sizeof path, folder, bytes) &&
           append(path, sizeof path, "/libc.so.6", 10) &&
           syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/** Appends those of the user's folders that have a libc, or those that have none. */
static bool add_folders(char *libraries, const char *folders, bool with_libc)
{
    for (const char *at = folders; at && *at;) {
        const size_t length = strcspn(at, ":;"), bytes = length ? length : 1;
        const char *folder = length ? at : "."; /* An empty one stands for the folder of now. */

        if (has_libc(folder, bytes) == with_libc &&
            (!append(libraries, RP_LOADER_LIBRARIES_BYTES, ":", *libraries ? 1 : 0) ||
             !append(libraries, RP_LOADER_LIBRARIES_BYTES, folder, bytes)))
            return false;
        at += length + (at[length] != '\0');
    }
    return true;
}

/** Of two libcs the loader must find its own. All else of the user's stays in front, as it is for
 * any other program. */
static bool join_libraries(char *libraries, const char *user, const char *ours)
{
    libraries[0] = '\0';
    return add_folders(libraries, user, false) &&
           append(libraries, RP_LOADER_LIBRARIES_BYTES, ":", *libraries ? 1 : 0) &&
           append(libraries, RP_LOADER_LIBRARIES_BYTES, ours, strlen(ours)) &&
           add_folders(libraries, user, true);
}

/* The program may change its folder before it asks where it is. */
static bool make_absolute(const char *path, char ret[PATH_MAX])
{
    ret[0] = '\0';
    if (*path != '/' && (syscall(SYS_getcwd, ret, PATH_MAX) <= 0 || !append(ret, PATH_MAX, "/", 1)))
        return false;
    return append(ret, PATH_MAX, path, strlen(path));
}

struct setting {
    char *loader, *preloaded, *folders;
};

static bool cut_setting(const char *setting, struct rp_loader_words *words, struct setting *ret)
{
    words->setting[0] = '\0';
    if (!setting || !append(words->setting, sizeof words->setting, setting, strlen(setting)))
        return false;
    ret->loader = words->setting;
    ret->preloaded = strchr(words->setting, ':');
    ret->folders = ret->preloaded ? strchr(ret->preloaded + 1, ':') : NULL;
    if (!ret->folders)
        return false;
    *ret->preloaded++ = '\0';
    *ret->folders++ = '\0';
    return can_execute(ret->loader);
}

/** A program, or a script with its program, as the kernel would start it. */
struct target {
    const char *program;
    char *name;     /**< its argv[0] */
    char *argument; /**< of the script's line; NULL: none */
    char *script;   /**< NULL: it is none */
};

/** @param found room for the path of what env would start */
static bool find_target(const struct rp_loader_environment *env, const char *path,
                        char *const *argv, char line[256], char found[PATH_MAX], struct target *ret)
{
    char *program, *argument;

    *ret = (struct target){.program = path, .name = argv[0]};
    if (needs_loader(env, path))
        return true;
    if (is_kept(env->own_loader, path) || !read_script_line(path, line, &program, &argument))
        return false;
    *ret = (struct target){program, program, argument, (char *)(uintptr_t)path};
    if (is_env_of(program, argument)) {
        if (!rp_loader_search(env->search_path, argument, found))
            return false;
        *ret = (struct target){found, argument, NULL, ret->script};
    }
    return needs_loader(env, ret->program);
}

static __attribute__((noinline)) bool script_needs_loader(const struct rp_loader_environment *env,
                                                          const char *path)
{
    char *const no_words[] = {NULL};
    char line[256], found[PATH_MAX];
    struct target target;

    return find_target(env, path, no_words, line, found, &target);
}

bool rp_loader_is_needed(const struct rp_loader_environment *env, const char *path)
{
    const int saved = errno;
    char line[256];
    const bool is = needs_loader(env, path) ||
                    (rp_loader_script_program(path, line) && script_needs_loader(env, path));

    errno = saved;
    return is;
}

bool rp_loader_command(const struct rp_loader_environment *env, const char *path, char *const *argv,
                       struct rp_loader_words *words, char **ret_argv)
{
    struct setting parts;
    struct target target;
    char **at = ret_argv;

    if (!argv || !argv[0] || !cut_setting(env->setting, words, &parts) ||
        !find_target(env, path, argv, words->script_line, words->script_program, &target) ||
        !make_absolute(target.program, words->program) ||
        !join_libraries(words->libraries, env->libraries, parts.folders))
        return false;
    *at++ = parts.loader;
    *at++ = (char *)"--library-path";
    *at++ = words->libraries;
    if (*parts.preloaded) {
        *at++ = (char *)"--preload";
        *at++ = parts.preloaded;
    }
    *at++ = (char *)"--argv0";
    *at++ = target.name;
    *at++ = words->program;
    if (target.argument)
        *at++ = target.argument;
    if (target.script)
        *at++ = target.script;
    while ((*at++ = *++argv))
        ;
    return true;
}
