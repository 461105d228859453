#include "setup/private_rocm.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/process.h"
#include "setup/deb.h"
#include "setup/debian_archive.h"
#include "setup/download.h"

/* Raise it when the layout of the folder changes: it is then made anew. */
#define FORMAT       "2"
#define STAMP        ".rocm-perf-prefix"
#define FETCHED_MARK ".rocm-perf-fetched"
#define LIBRARIES    "usr/lib/x86_64-linux-gnu"
#define LOADER       "lib64/ld-linux-x86-64.so.2"
#define USUAL        "opt/rocm" /**< what run/run_options.c tells programs */

static const char *const packages[] = {
    "hipcc", "libamdhip64-dev", "libhsa-runtime-dev", "libamd-comgr-dev", "rocminfo", "patchelf",
    NULL};
/* ROCm is in experimental, and what it needs there goes together; the rest is in sid. */
static const char *const suites[] = {"experimental", "sid", NULL};

/** All paths of one making, which are owned. */
struct making {
    const struct rp_private_rocm_options *options;
    char *final;
    char *fetched; /**< what this command works in: it stays where it fails, and goes at the end */
    char *partial; /**< in it: what is being unpacked */
};

static void making_free(struct making *m)
{
    free(m->final);
    free(m->partial);
    free(m->fetched);
}

static bool has(const char *root, const char *name)
{
    rp_autofree char *path = rp_path_join(root, name);

    return rp_path_exists(path);
}

/** Whole, of this layout, and still where its programs believe it to be. */
static bool is_current(const char *root)
{
    rp_autofree char *path = rp_path_join(root, STAMP);
    rp_autofree char *stamp = rp_read_text(path, 1 << 20);
    rp_autofree char *line = rp_format("\npath %s\n", root);

    return stamp && strncmp(stamp, "format " FORMAT "\n", strlen("format " FORMAT "\n")) == 0 &&
           strstr(stamp, line) && has(root, LOADER) && has(root, LIBRARIES "/libamdhip64.so.7") &&
           has(root, LIBRARIES "/libhsa-runtime64.so.1");
}

/* --- where packages come from ------------------------------------------------------------- */

/** Reads what a program of apt prints, where there is one.
 * @return false: nothing */
static bool apt_says(char *const *argv, char *ret, size_t room)
{
    rp_autoclose const int out = rp_memfd("mirrors", MFD_CLOEXEC);
    rp_autoclose const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    rp_autofree char *program = NULL;
    struct rp_proc proc = {
        .argv = argv, .stdin_fd = nowhere, .stdout_fd = out, .stderr_fd = nowhere};
    struct rp_proc_end end;
    struct rp_err ignored = RP_ERR_INIT;
    ssize_t bytes;

    if (rp_find_program(argv[0], &program, &ignored) < 0)
        return false;
    proc.path = program;
    if (rp_proc_run(&proc, &end, &ignored) < 0 || (bytes = pread(out, ret, room - 1, 0)) <= 0)
        return false;
    ret[bytes] = '\0';
    return true;
}

/** Says whether apt is set to use indices that are past their date, as on a machine whose mirror is
 * a copy of some day. */
static bool apt_takes_any_age(void)
{
    char *argv[] = {(char *)"apt-config", (char *)"shell", (char *)"CHECKS",
                    (char *)"Acquire::Check-Valid-Until/b", NULL};
    char text[256];

    return apt_says(argv, text, sizeof text) && strncmp(text, "CHECKS='false'", 14) == 0;
}

/** Asks apt for the mirror of Debian that it uses here: it is near, and may be the only one that
 * can be reached. */
static char *apt_mirror(void)
{
    char *argv[] = {(char *)"apt-get",     (char *)"indextargets",         (char *)"--format",
                    (char *)"$(REPO_URI)", (char *)"Created-By: Packages", NULL};
    char text[4096];

    if (!apt_says(argv, text, sizeof text))
        return NULL;
    for (char *save, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        const size_t length = strcspn(line, " ") - (line[strlen(line) - 1] == '/');

        if (strncmp(line, "http", 4) == 0 && length > 7 &&
            strncmp(line + length - 7, "/debian", 7) == 0)
            return rp_strndup(line, length);
    }
    return NULL;
}

static char *choose_mirror(const struct rp_private_rocm_options *options)
{
    const char *wish = options->mirror ? options->mirror : getenv("ROCM_PERF_DEBIAN_MIRROR");
    char *found = wish && *wish ? rp_strdup(wish) : apt_mirror();

    if (!found)
        found = rp_strdup(RP_DEBIAN_MIRROR);
    while (*found && found[strlen(found) - 1] == '/')
        found[strlen(found) - 1] = '\0';
    return found;
}

/* --- programs of the ROCm ------------------------------------------------------------------ */

/** Says whether it is a program that starts with a loader. */
static bool is_dynamic_program(const char *path)
{
    rp_autoclose const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    Elf64_Ehdr head;
    Elf64_Phdr part;

    if (fd < 0 || pread(fd, &head, sizeof head, 0) != sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++)
        if (pread(fd, &part, sizeof part, (off_t)(head.e_phoff + i * sizeof part)) == sizeof part &&
            part.p_type == PT_INTERP)
            return true;
    return false;
}

/** Runs patchelf of the folder that is being made, by its own loader. */
static int patch(const struct making *m, const char *file, const char *const options[6],
                 struct rp_err *err)
{
    rp_autofree char *loader = rp_path_join(m->partial, LOADER);
    rp_autofree char *libraries = rp_path_join(m->partial, LIBRARIES);
    rp_autofree char *patchelf = rp_path_join(m->partial, "usr/bin/patchelf.plain");
    rp_autoclose const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    const char *argv[12] = {loader, "--library-path", libraries, patchelf};
    struct rp_proc proc = {.path = loader,
                           .argv = (char *const *)argv,
                           .stdin_fd = nowhere,
                           .stdout_fd = nowhere,
                           .stderr_fd = nowhere};
    struct rp_proc_end end;
    size_t count = 4;

    for (; *options; options++)
        argv[count++] = *options;
    argv[count] = file;
    if (rp_proc_run(&proc, &end, err) < 0)
        return err->code == RP_INTERRUPTED ? -RP_INTERRUPTED : -(int)(err->code = RP_ENVIRONMENT);
    return !end.signaled && end.status == 0
               ? 0
               : rp_fail(err, RP_ENVIRONMENT, "cannot change %s (disk full?); run it again", file);
}

/** Says whether it is a file of the folder: no link, and behind none that leads elsewhere. */
static bool is_own_file(const struct making *m, const char *file)
{
    rp_autofree char *place = realpath(file, NULL), *root = realpath(m->partial, NULL);
    struct stat st;

    return place && root && strncmp(place, root, strlen(root)) == 0 && place[strlen(root)] == '/' &&
           lstat(file, &st) == 0 && S_ISREG(st.st_mode);
}

/** Calls it for each file, but not links, that a pattern below the folder finds. */
static int for_files(const struct making *m, const char *pattern,
                     int (*visit)(const struct making *, const char *, struct rp_err *),
                     struct rp_err *err)
{
    rp_autofree char *root = rp_path_literal(m->partial);
    rp_autofree char *whole = rp_path_join(root, pattern);
    glob_t found = {0};
    int rc = 0;

    if (glob(whole, 0, NULL, &found) == 0)
        for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++)
            if (is_own_file(m, found.gl_pathv[i]))
                rc = visit(m, found.gl_pathv[i], err);
    globfree(&found);
    return rc;
}

/** Makes a program start with the folder's own loader and libraries, like any other program:
 * LD_LIBRARY_PATH would poison the machine's own programs. */
static int bind_program(const struct making *m, const char *file, struct rp_err *err)
{
    rp_autofree char *loader = rp_path_join(m->final, LOADER);
    rp_autofree char *libraries = rp_path_join(m->final, LIBRARIES);

    if (!is_dynamic_program(file) || strcmp(strrchr(file, '/'), "/patchelf.plain") == 0)
        return 0;
    return patch(m, file,
                 (const char *const[6]){"--set-interpreter", loader, "--force-rpath", "--set-rpath",
                                        libraries, NULL},
                 err);
}

static int unbind_library(const struct making *m, const char *file, struct rp_err *err)
{
    return patch(m, file, (const char *const[6]){"--remove-rpath", NULL}, err);
}

static int copy_file(const char *from, const char *to, struct rp_err *err)
{
    rp_autofree void *data = NULL;
    size_t bytes;

    if (rp_read_file(from, 64 << 20, RP_ENVIRONMENT, &data, &bytes, err) < 0 ||
        rp_write_file(to, data, bytes, err) < 0)
        return -RP_ENVIRONMENT;
    return chmod(to, 0755) == 0 ? 0
                                : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", to);
}

static int bind_programs(const struct making *m, struct rp_err *err)
{
    rp_autofree char *patchelf = rp_path_join(m->partial, "usr/bin/patchelf");
    rp_autofree char *plain = rp_path_join(m->partial, "usr/bin/patchelf.plain");

    if (copy_file(patchelf, plain, err) < 0 || for_files(m, "usr/bin/*", bind_program, err) < 0 ||
        for_files(m, "usr/lib/llvm-*/bin/*", bind_program, err) < 0 ||
        /* A library's own RUNPATH would hide the programs' RPATH from the libraries behind it. */
        for_files(m, LIBRARIES "/libLLVM*.so*", unbind_library, err) < 0 ||
        for_files(m, LIBRARIES "/libclang*.so*", unbind_library, err) < 0)
        return -(int)err->code;
    unlink(plain);
    return 0;
}

/* --- making it ----------------------------------------------------------------------------- */

/** Makes the links of the merged /usr, which Debian's package base-files would make. */
static int make_skeleton(const struct making *m, struct rp_err *err)
{
    static const char *const folders[] = {"bin", "sbin", "lib", "lib64"};

    rp_remove_tree(m->partial);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        rp_autofree char *folder = rp_format("%s/usr/%s", m->partial, folders[i]);
        rp_autofree char *link = rp_path_join(m->partial, folders[i]);
        rp_autofree char *target = rp_format("usr/%s", folders[i]);

        if (rp_mkdirs(folder, err) < 0)
            return -RP_ENVIRONMENT;
        if (symlink(target, link) < 0)
            return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", link);
    }
    return 0;
}

static int check_space(const struct making *m, const struct rp_debs *debs, struct rp_err *err)
{
    uint64_t needed = rp_debs_missing_bytes(debs), free_bytes;
    struct statvfs fs;

    for (size_t i = 0; i < debs->count; i++)
        needed += debs->items[i].unpacked_bytes;
    needed += needed / 20;
    if (statvfs(m->fetched, &fs) < 0)
        return 0;
    free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (free_bytes >= needed)
        return 0;
    return rp_fail_with_remedy(err, RP_ENVIRONMENT,
                               "%s has %" PRIu64 " MB free, and %" PRIu64
                               " MB are needed while ROCm is unpacked; make room, or "
                               "choose another folder with --prefix or ROCM_PERF_CACHE",
                               m->fetched, free_bytes / 1000000, needed / 1000000);
}

static int unpack(const struct making *m, const struct rp_debs *debs, struct rp_err *err)
{
    if (make_skeleton(m, err) < 0)
        return -(int)err->code;
    for (size_t i = 0; i < debs->count; i++) {
        rp_setup_show(&m->options->listener, "unpacking package %zu of %zu, %s", i + 1, debs->count,
                      debs->items[i].name);
        if (rp_deb_unpack(debs->items[i].file, m->partial, err) < 0)
            return -(int)err->code;
    }
    rp_setup_show(&m->options->listener, "giving the programs their loader");
    return bind_programs(m, err);
}

/** Finds the version of LLVM that is in the folder, with its device libraries.
 * @return 0: none */
static long find_llvm(const char *folder)
{
    rp_autofree char *root = rp_path_literal(folder);
    rp_autofree char *pattern = rp_format("%s/usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode", root);
    glob_t found = {0};
    long highest = 0;

    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            const long version =
                strtol(strstr(found.gl_pathv[i] + strlen(folder), "llvm-") + 5, NULL, 10);

            highest = version > highest ? version : highest;
        }
    globfree(&found);
    return highest;
}

static int put_link(const char *root, const char *name, const char *target, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s/" USUAL "/%s", root, name);

    return symlink(target, path) == 0 || errno == EEXIST
               ? 0
               : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", path);
}

/** Links the libraries of ROCm alone: a program that is told of the folder must not find a libc. */
static int link_libraries(const char *root, struct rp_err *err)
{
    static const char *const names[] = {"libamdhip64.so*", "libhiprtc*.so*", "libhsa-runtime64.so*",
                                        "libamd_comgr.so*"};
    rp_autofree char *literal = rp_path_literal(root);
    int rc = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rp_autofree char *pattern = rp_format("%s/" LIBRARIES "/%s", literal, names[i]);
        glob_t found = {0};

        if (glob(pattern, 0, NULL, &found) == 0)
            for (size_t f = 0; rc == 0 && f < found.gl_pathc; f++) {
                const char *file = strrchr(found.gl_pathv[f], '/') + 1;
                rp_autofree char *link = rp_format("lib/%s", file);
                rp_autofree char *target = rp_format("../../../" LIBRARIES "/%s", file);

                rc = put_link(root, link, target, err);
            }
        globfree(&found);
    }
    return rc;
}

/**
 * Debian has everything below /usr, and AMD in one folder, where programs look for it: tinygrad for
 * lib/libamdhip64.so, XLA for amdgcn/bitcode. It gets no bin, as Debian's hipcc finds nothing from
 * there. The link to the stamp comes last, and says that it is whole, and of which ROCm.
 */
static int make_usual_layout(const char *root, const char *version, struct rp_err *err)
{
    const long llvm = find_llvm(root);
    rp_autofree char *lib = rp_path_join(root, USUAL "/lib");
    rp_autofree char *info = rp_path_join(root, USUAL "/.info");
    rp_autofree char *release = rp_path_join(info, "version");
    rp_autofree char *compiler = rp_format("../../usr/lib/llvm-%ld", llvm);
    rp_autofree char *compiler_in_lib = rp_format("../%s", compiler);
    rp_autofree char *amdgcn = rp_format("%s/lib/clang/%ld/amdgcn", compiler, llvm);
    rp_autofree char *line = rp_format("%.*s\n", (int)strcspn(version, "-+"), version);

    if (rp_mkdirs(lib, err) < 0 || rp_mkdirs(info, err) < 0 ||
        rp_write_file(release, line, strlen(line), err) < 0 || link_libraries(root, err) < 0 ||
        put_link(root, "include", "../../usr/include", err) < 0 ||
        put_link(root, "llvm", compiler, err) < 0 ||
        put_link(root, "lib/llvm", compiler_in_lib, err) < 0 ||
        put_link(root, "amdgcn", amdgcn, err) < 0)
        return -(int)err->code;
    return put_link(root, STAMP, "../../" STAMP, err);
}

/** Writes what makes it a whole one: it is looked for, and read by tools/common.sh, too. */
static int stamp(const struct making *m, const struct rp_debs *debs, const char *version,
                 struct rp_err *err)
{
    const long llvm = find_llvm(m->partial);
    rp_autofree char *path = rp_path_join(m->partial, STAMP);
    rp_autoclose int folder = -1;
    rp_autobuf text = {0};

    if (!llvm || !has(m->partial, LIBRARIES "/libamdhip64.so.7") ||
        !has(m->partial, LIBRARIES "/libhsa-runtime64.so.1"))
        return rp_fail(err, RP_ENVIRONMENT,
                       "the packages of the mirror make no whole ROCm (no %s); try again on "
                       "another day, or choose "
                       "another mirror",
                       llvm ? "libamdhip64.so.7 or libhsa-runtime64.so.1" : "device libraries");
    /* What a stamp calls whole is whole after a power loss, too. */
    folder = open(m->partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || syncfs(folder) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", m->partial);
    rp_buf_printf(&text, "format " FORMAT "\nrocm %.*s\nllvm %ld\npath %s\n",
                  (int)strcspn(version, "-+"), version, llvm, m->final);
    for (size_t i = 0; i < debs->count; i++)
        rp_buf_printf(&text, "package %s %s\n", debs->items[i].name, debs->items[i].version);
    return rp_write_file(path, rp_buf_text(&text), text.len, err);
}

/** What is whole takes the place of what was there, which is there up to that moment. */
static int put_in_place(const struct making *m, struct rp_err *err)
{
    rp_autofree char *old = rp_path_join(m->fetched, "old");
    const bool had_one = rename(m->final, old) == 0;

    if (!had_one && errno != ENOENT)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", m->final);
    if (rename(m->partial, m->final) < 0) {
        const int why = errno;

        if (had_one)
            rename(old, m->final);
        return rp_fail_errno(err, RP_ENVIRONMENT, why, "cannot write %s", m->final);
    }
    rp_remove_tree(m->fetched);
    return 0;
}

static int make_from(const struct making *m, const struct rp_debian_archive *archive,
                     struct rp_err *err)
{
    rp_cleanup(rp_debs_free) struct rp_debs debs = {0};
    const char *version = rp_debian_archive_version(archive, "hipcc");

    if (rp_debian_archive_resolve(archive, packages, &debs, err) < 0 ||
        check_space(m, &debs, err) < 0)
        return -(int)err->code;
    rp_setup_say(
        &m->options->listener, "fetching ROCm %.*s and what it needs: %zu packages, %" PRIu64 " MB",
        (int)strcspn(version, "-+"), version, debs.count, rp_debs_missing_bytes(&debs) / 1000000);
    if (rp_debian_archive_fetch(archive, &debs, err) < 0)
        return -(int)err->code;
    rp_setup_say(&m->options->listener,
                 "each package has the SHA-256 of its index; unpacking into %s", m->final);
    if (unpack(m, &debs, err) < 0 || make_usual_layout(m->partial, version, err) < 0 ||
        stamp(m, &debs, version, err) < 0)
        return -(int)err->code;
    return put_in_place(m, err);
}

static int make(const struct making *m, struct rp_err *err)
{
    const struct rp_private_rocm_options *o = m->options;
    rp_autofree char *mirror = choose_mirror(o);
    rp_autofree char *shown = rp_url_shown(mirror);
    rp_autofree char *mark = rp_path_join(m->fetched, FETCHED_MARK);
    const struct rp_debian_source source = {.mirror = mirror,
                                            .suites = suites,
                                            .keyring = o->keyring,
                                            .unverified = o->unverified,
                                            .any_age = o->unverified || apt_takes_any_age(),
                                            .folder = m->fetched,
                                            .listener = o->listener};
    struct rp_debian_archive *archive = NULL;
    int rc;

    if (rp_mkdirs(m->fetched, err) < 0 || rp_write_file(mark, "", 0, err) < 0)
        return rp_wrap(
            err,
            "cannot make a ROCm there (choose another folder with --prefix or ROCM_PERF_CACHE)");
    rp_setup_say(&m->options->listener, "ROCm comes from Debian's archive, %s", shown);
    rc = rp_debian_archive_open(&source, &archive, err);
    if (rc == 0)
        rc = make_from(m, archive, err);
    rp_setup_show_nothing(&o->listener);
    rp_debian_archive_free(archive);
    if (rc < 0)
        rp_remove_tree(m->partial); /* What was fetched stays, and need not be fetched again. */
    return rc;
}

/* --- where it goes ------------------------------------------------------------------------- */

/** Finds the real path of a folder that need not be there: its programs will hold it. */
static int real_path(const char *path, char **ret, struct rp_err *err)
{
    rp_autofree char *absolute = rp_path_absolute(path);
    char *slash;

    while (absolute && strlen(absolute) > 1 && absolute[strlen(absolute) - 1] == '/')
        absolute[strlen(absolute) - 1] = '\0';
    slash = absolute ? strrchr(absolute, '/') : NULL;
    if (!slash || !slash[1] || strchr(absolute, ':'))
        return rp_fail(
            err, RP_USAGE,
            "ROCm cannot go to '%s': name a folder below another one, without a colon in its path",
            path);
    *ret = realpath(absolute, NULL);
    if (*ret)
        return 0;
    *slash = '\0';
    if (rp_mkdirs(*absolute ? absolute : "/", err) < 0)
        return rp_wrap(
            err, "cannot make a ROCm in %s; choose another folder with --prefix or ROCM_PERF_CACHE",
            path);
    {
        rp_autofree char *parent = realpath(*absolute ? absolute : "/", NULL);

        *ret = rp_format("%s/%s", parent && parent[1] ? parent : "", slash + 1);
    }
    return 0;
}

/** Nobody's files but our own are removed.
 * @param mark the file that is in each of our folders */
static int check_folder(const char *path, const char *mark, struct rp_err *err)
{
    DIR *dir;
    const struct dirent *entry;
    bool empty = true;

    if (!rp_path_exists(path) || has(path, mark))
        return 0;
    dir = opendir(path);
    while (dir && (entry = readdir(dir)))
        empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
    if (dir)
        closedir(dir);
    return dir && empty ? 0
                        : rp_fail(err, RP_USAGE,
                                  "%s is there, and is not of rocm-perf setup: it is left alone; "
                                  "choose a new or empty folder with --prefix or ROCM_PERF_CACHE",
                                  path);
}

static int lock(const struct making *m, int *ret, struct rp_err *err)
{
    rp_autofree char *path = rp_format("%s.lock", m->final);

    *ret = rp_lock_path(path, RP_LOCK_NO_LINK);
    if (*ret < 0 && errno == EWOULDBLOCK) {
        rp_setup_say(&m->options->listener, "another setup is making %s; waiting for it", m->final);
        *ret = rp_lock_path(path, RP_LOCK_NO_LINK | RP_LOCK_WAIT);
    }
    if (*ret >= 0)
        return 0;
    return errno == EINTR
               ? rp_proc_interrupted(err)
               : rp_fail_errno(
                     err, RP_ENVIRONMENT, errno,
                     "cannot write %s; choose another folder with --prefix or ROCM_PERF_CACHE",
                     path);
}

/** Returns its version, as its stamp says. */
static char *version_of(const char *root)
{
    rp_autofree char *path = rp_path_join(root, STAMP);
    rp_autofree char *stamp = rp_read_text(path, 1 << 20);
    const char *line = stamp ? strstr(stamp, "\nrocm ") : NULL;

    return line ? rp_strndup(line + 6, strcspn(line + 6, "\n")) : rp_strdup("7");
}

static int make_once(struct making *m, struct rp_err *err)
{
    rp_autoclose int held = -1;

    m->fetched = rp_format("%s.fetched", m->final);
    m->partial = rp_path_join(m->fetched, "unpacked");
    if (check_folder(m->final, STAMP, err) < 0 || check_folder(m->fetched, FETCHED_MARK, err) < 0)
        return -(int)err->code;
    if (lock(m, &held, err) < 0)
        return -(int)err->code;
    return is_current(m->final) ? 0 : make(m, err);
}

int rp_private_rocm_make(const struct rp_private_rocm_options *options, char **ret_version,
                         struct rp_err *err)
{
    rp_cleanup(making_free) struct making m = {.options = options};

    if (options->keyring && access(options->keyring, R_OK) < 0)
        return rp_fail_errno(err, RP_USAGE, errno,
                             "cannot read the keyring %s; name a file that gpg --export wrote",
                             options->keyring);
    if (real_path(options->prefix, &m.final, err) < 0)
        return -(int)err->code;
    /* A finished one may be shared, and read-only. */
    if (!is_current(m.final) && make_once(&m, err) < 0)
        return -(int)err->code;
    *ret_version = version_of(m.final);
    /* One of an older setup gets what it lacks, unless it is somebody else's. */
    return !has(m.final, USUAL "/" STAMP) && access(m.final, W_OK) == 0
               ? make_usual_layout(m.final, *ret_version, err)
               : 0;
}
