#include "run/rocm.h"

#include <elf.h>
#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/code_object.h"

#define HIP_FAMILY "libamdhip64.so"
#define STAMP      ".rocm-perf-prefix" /**< in the private one */

enum { HIP_MAJOR = 7, MOST_STAMP_BYTES = 1 << 20 };

/* --- parts --------------------------------------------------------------------------------- */

static const struct {
    const char *key, *name, *use;
} part_texts[] = {
#define PART(id, key, name, use) [RP_ROCM_##id] = {key, name, use},
#define LIBRARY(...)
#define FILE(...)
#include "run/rocm_parts.def"
};

static const struct {
    enum rp_rocm_part part;
    bool library;
    const char *pattern;
} part_places[] = {
#define PART(...)
#define LIBRARY(id, pattern) {RP_ROCM_##id, true, pattern},
#define FILE(id, pattern)    {RP_ROCM_##id, false, pattern},
#include "run/rocm_parts.def"
};

const char *rp_rocm_part_name(enum rp_rocm_part part)
{
    return part_texts[part].name;
}

const char *rp_rocm_part_use(enum rp_rocm_part part)
{
    return part_texts[part].use;
}

const char *rp_rocm_part_key(enum rp_rocm_part part)
{
    return part_texts[part].key;
}

/* --- files --------------------------------------------------------------------------------- */

/** Calls glob(3) for names in that very folder, whatever characters its path has. */
static void list_files(const char *folder, const char *names, glob_t *ret)
{
    rp_autofree char *pattern = rp_path_pattern(folder, names);

    *ret = (glob_t){0};
    if (pattern && glob(pattern, 0, NULL, ret) == GLOB_NOSPACE)
        rp_memory_ended();
}

/** Returns the first name that exists; a broken link does not. */
static char *first_file(const char *folder, const char *names)
{
    char *path = NULL;
    glob_t found;

    list_files(folder, names, &found);
    for (size_t i = 0; i < found.gl_pathc && !path; i++)
        if (rp_path_exists(found.gl_pathv[i]))
            path = rp_strdup(found.gl_pathv[i]);
    globfree(&found);
    return path;
}

static int highest_first(const void *a, const void *b)
{
    return -strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool any_file(const char *folder, const char *names)
{
    glob_t found;
    bool any;

    list_files(folder, names, &found);
    any = found.gl_pathc > 0;
    globfree(&found);
    return any;
}

static char *parent_of(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return !slash ? NULL : rp_strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* --- libraries ----------------------------------------------------------------------------- */

/* Of thousands of symbols these stand for the rest: what every HIP program calls, and what the
 * collector and replay call. A library without them is damaged, or something else of that name. */
static const char *const hip_symbols[] = {"__hipRegisterFatBinary", "hipLaunchKernel",
                                          "hipRuntimeGetVersion", NULL};
static const char *const hsa_symbols[] = {"hsa_init", "hsa_queue_create",
                                          "hsa_amd_profiling_get_dispatch_time",
                                          "hsa_amd_vmem_address_reserve", NULL};

/* With these the collector hears of HIP calls; without, it records kernels and copies alone. */
static const char *const report_symbols[] = {"hipRegisterTracerCallback", "hipApiName", NULL};

/** @return the first that it does not define; NULL: it has all */
static const char *missing_symbol(const struct rp_code_elf *elf, const char *const *symbols)
{
    struct rp_code_symbols table = {0};
    Elf64_Sym ignored;

    rp_code_elf_symbols(elf, &table); /* none, where they cannot be read */
    while (*symbols && rp_code_symbol_find(&table, *symbols, &ignored))
        symbols++;
    return *symbols;
}

static bool defines_all(const char *path, const char *const *symbols)
{
    rp_cleanup(rp_code_file_close) struct rp_code_elf elf = {0};

    return rp_code_file_open(path, &elf) && !missing_symbol(&elf, symbols);
}

/** Takes over both texts.
 * @return true */
static bool refuse(struct rp_rocm *rocm, char *reason, char *remedy)
{
    rocm->reason = reason;
    rocm->remedy = remedy;
    return true;
}

static bool refuse_damaged(struct rp_rocm *rocm, char *reason)
{
    return refuse(rocm, reason, rp_strdup("install that ROCm again"));
}

static bool refuse_other_machine(struct rp_rocm *rocm, const char *path, unsigned machine)
{
    const char *name = machine == EM_AARCH64 ? "aarch64"
                       : machine == EM_PPC64 ? "ppc64"
                                             : "another machine";

    return refuse(rocm, rp_format("%s is for %s", path, name),
                  rp_strdup("install a ROCm for x86-64"));
}

/** @return whether the file refuses it */
static bool refuse_for_library(struct rp_rocm *rocm, const char *path, const char *soname,
                               const char *const *symbols)
{
    rp_cleanup(rp_code_file_close) struct rp_code_elf elf = {0};
    const char *own, *missing;

    if (access(path, R_OK) != 0)
        return errno == ENOENT
                   ? refuse_damaged(rocm, rp_format("%s is a broken link", path))
                   : refuse(rocm, rp_format("%s cannot be read: %s", path, strerror(errno)), NULL);
    if (!rp_code_file_open(path, &elf))
        return refuse_damaged(rocm, rp_format("%s is not a 64-bit ELF file", path));
    if (elf.header.e_machine != EM_X86_64)
        return refuse_other_machine(rocm, path, elf.header.e_machine);
    own = rp_code_elf_soname(&elf);
    if (!own || strcmp(own, soname) != 0)
        return refuse_damaged(rocm, own ? rp_format("%s has the soname %s", path, own)
                                        : rp_format("%s has no soname", path));
    missing = missing_symbol(&elf, symbols);
    return missing && refuse_damaged(rocm, rp_format("%s has no symbol %s", path, missing));
}

static bool has_entry(const char *folder, const char *name)
{
    rp_autofree char *path = rp_path_join(folder, name);
    struct stat st;

    return path && lstat(path, &st) == 0;
}

/* --- one ROCm ------------------------------------------------------------------------------ */

/** AMD has its libraries in lib, Fedora in lib64, Debian in the last. */
static const char *const library_folders[] = {"lib", "lib64", "lib/x86_64-linux-gnu"};

/** @return the first folder with such a file; NULL: there is none */
static char *folder_with(const char *root, const char *names)
{
    for (size_t i = 0; i < sizeof library_folders / sizeof *library_folders; i++) {
        rp_autofree char *folder = rp_path_join(root, library_folders[i]);

        if (any_file(folder, names))
            return rp_steal(folder);
    }
    return NULL;
}

static char *find_libraries(const char *root)
{
    static const char *const names[] = {RP_ROCM_HIP_SONAME, HIP_FAMILY ".*",
                                        "libhsa-runtime64.so.*"};
    char *folder = NULL;

    for (size_t i = 0; i < sizeof names / sizeof *names && !folder; i++)
        folder = folder_with(root, names[i]);
    return folder;
}

/** Returns what stands behind "#define NAME" in the header that every rocm-core installs. */
static unsigned long defined(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

static char *version_of_header(const char *root)
{
    rp_autofree char *path = rp_path_join(root, "include/rocm-core/rocm_version.h");
    rp_autofree char *text = rp_read_text(path, MOST_STAMP_BYTES);
    unsigned long major = text ? defined(text, "ROCM_VERSION_MAJOR") : 0;

    return !major ? NULL
                  : rp_format("%lu.%lu.%lu", major, defined(text, "ROCM_VERSION_MINOR"),
                              defined(text, "ROCM_VERSION_PATCH"));
}

/** The packages of a wheel have their version in the name of a folder beside. */
static char *version_of_wheel(const char *root)
{
    static const char suffix[] = ".dist-info";
    rp_autofree char *packages = parent_of(root);
    rp_autofree char *path = packages ? first_file(packages, "rocm_sdk_core-*.dist-info") : NULL;
    const char *dash = path && strstr(root, "/_rocm_sdk_") ? strrchr(path, '/') : NULL;

    dash = dash ? strchr(dash, '-') : NULL;
    return dash ? rp_strndup(dash + 1, strlen(dash + 1) - strlen(suffix)) : NULL;
}

/** The last resort is the number behind the soname of whatever HIP is there. */
static char *version_of_hip(const char *libraries)
{
    rp_autofree char *path = libraries ? first_file(libraries, HIP_FAMILY ".[0-9]*") : NULL;
    rp_autofree char *real = path ? realpath(path, NULL) : NULL;
    const char *number = real ? strstr(real, HIP_FAMILY ".") : NULL;

    return number ? rp_format("HIP %s", number + strlen(HIP_FAMILY ".")) : NULL;
}

static char *version_of(const char *root, const char *libraries)
{
    rp_autofree char *path = rp_path_join(root, ".info/version");
    char *version = rp_read_line(path);

    if (version && *version)
        return version;
    free(version);
    version = version_of_wheel(root);
    if (!version)
        version = version_of_header(root);
    return version ? version : version_of_hip(libraries);
}

static void find_parts(struct rp_rocm *rocm, const char *root)
{
    for (size_t i = 0; i < sizeof part_places / sizeof *part_places; i++) {
        char **part = &rocm->parts[part_places[i].part];

        if (!*part && (!part_places[i].library || rocm->libraries))
            *part =
                first_file(part_places[i].library ? rocm->libraries : root, part_places[i].pattern);
    }
}

/** Names a release, whatever is known of it. */
static char *called(const struct rp_rocm *rocm)
{
    if (!rocm->version)
        return rp_strdup("a ROCm of unknown version");
    return rp_format("%s%s", strncmp(rocm->version, "HIP ", 4) == 0 ? "" : "ROCm ", rocm->version);
}

/** @return the number in the name of a HIP that is not the one that is needed; 0: there is none */
static unsigned long other_hip(const struct rp_rocm *rocm)
{
    rp_autofree char *path =
        rocm->libraries ? first_file(rocm->libraries, HIP_FAMILY ".[0-9]*") : NULL;

    return path ? strtoul(strrchr(path, '/') + strlen("/" HIP_FAMILY "."), NULL, 10) : 0;
}

/** Which package of which seller has something is seen from the place. */
static const char *package(const char *root, const char *legacy, const char *core,
                           const char *wheel)
{
    if (strstr(root, "/_rocm_sdk_"))
        return wheel;
    return strstr(root, "/rocm/core") ? core : legacy;
}

static bool refuse_without_hip(struct rp_rocm *rocm)
{
    const unsigned long other = other_hip(rocm);
    rp_autofree char *name = called(rocm);

    if (!rocm->libraries && !rocm->version)
        return refuse(rocm, rp_strdup("no ROCm is there: lib has no " RP_ROCM_HIP_SONAME), NULL);
    if (other && other < HIP_MAJOR)
        return refuse(rocm,
                      rp_format("%s is too old: its HIP is " HIP_FAMILY
                                ".%lu, and " RP_ROCM_HIP_SONAME " is needed",
                                name, other),
                      rp_strdup("install " RP_ROCM_RELEASES));
    if (other > HIP_MAJOR)
        return refuse(rocm,
                      rp_format("%s is too new for this rocm-perf: its HIP is " HIP_FAMILY
                                ".%lu, and " RP_ROCM_HIP_SONAME " is needed",
                                name, other),
                      rp_strdup("install " RP_ROCM_RELEASES ", or a newer rocm-perf"));
    return refuse(
        rocm, rp_format("%s has no HIP runtime (" RP_ROCM_HIP_SONAME ")", name),
        rp_format("install %s", package(rocm->root, "the package hip-runtime-amd",
                                        "the package amdrocm-runtimes", "pip's rocm-sdk-core")));
}

/** Says in rocm->reason why programs cannot run on it, unless they can. */
static void judge(struct rp_rocm *rocm)
{
    static const struct {
        const char *soname;
        const char *const *symbols;
    } needed[] = {{RP_ROCM_HIP_SONAME, hip_symbols}, {RP_ROCM_HSA_SONAME, hsa_symbols}};

    if (!rocm->libraries || !has_entry(rocm->libraries, RP_ROCM_HIP_SONAME)) {
        refuse_without_hip(rocm);
        return;
    }
    if (!has_entry(rocm->libraries, RP_ROCM_HSA_SONAME)) {
        refuse(rocm, rp_format("%s has no HSA runtime (" RP_ROCM_HSA_SONAME ")", rocm->libraries),
               rp_format("install %s",
                         package(rocm->root, "the package hsa-rocr", "the package amdrocm-runtimes",
                                 "pip's rocm-sdk-core")));
        return;
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        rp_autofree char *path = rp_path_join(rocm->libraries, needed[i].soname);

        if (refuse_for_library(rocm, path, needed[i].soname, needed[i].symbols))
            return;
        rocm->reports_calls |= defines_all(path, report_symbols);
    }
}

const char *rp_rocm_compiler_package(const char *root)
{
    return package(root, "the packages hipcc and hip-dev (hip-devel)",
                   "the package amdrocm-core-sdk", "pip's rocm[devel] and run rocm-sdk init");
}

/* --- the private one ----------------------------------------------------------------------- */

char *rp_rocm_private_root(void)
{
    const char *cache = getenv("ROCM_PERF_CACHE");
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const struct passwd *user = home && *home ? NULL : getpwuid(getuid());

    if (cache && *cache)
        return rp_format("%s/rocm", cache);
    if (xdg && *xdg)
        return rp_format("%s/rocm-perf-lab/rocm", xdg);
    return rp_format("%s/.cache/rocm-perf-lab/rocm", user ? user->pw_dir : home);
}

char *rp_rocm_usual(const char *root)
{
    rp_autofree char *folder = rp_path_join(root, "opt/rocm");

    return has_entry(folder, STAMP) ? rp_steal(folder) : NULL;
}

/* Returns the value behind "key " at the start of a line of the stamp that src/setup/private_rocm.c
 * writes. */
static char *stamp_value(const char *stamp, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = stamp; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return rp_strndup(line + len + 1, strcspn(line + len + 1, "\n"));
    }
    return NULL;
}

/** Its programs hold its path, so one that was moved, or lost a part, cannot be used. */
static void judge_private(struct rp_rocm *rocm, const char *llvm, const char *path)
{
    rp_autofree char *real = realpath(rocm->root, NULL);

    if (!llvm || !path || !rocm->version)
        refuse(rocm, rp_strdup("its " STAMP " is damaged"),
               rp_strdup("remove the folder and run setup again"));
    else if (!real || strcmp(path, real) != 0)
        refuse(rocm, rp_format("it was moved from %s, and its programs hold that path", path),
               rp_strdup("run setup again"));
    else
        judge(rocm);
}

/** @return false: rocm-perf setup did not make it */
static bool read_private(struct rp_rocm *rocm)
{
    rp_autofree char *stamp_path = rp_path_join(rocm->root, STAMP);
    rp_autofree char *stamp = stamp_path ? rp_read_text(stamp_path, MOST_STAMP_BYTES) : NULL;
    rp_autofree char *llvm = stamp ? stamp_value(stamp, "llvm") : NULL;
    rp_autofree char *path = stamp ? stamp_value(stamp, "path") : NULL;
    rp_autofree char *usr = rp_path_join(rocm->root, "usr");

    if (!stamp)
        return false;
    rocm->kind = RP_ROCM_PRIVATE;
    rocm->version = stamp_value(stamp, "rocm");
    rocm->libc = stamp_value(stamp, "package libc6");
    rocm->libraries = rp_path_join(usr, "lib/x86_64-linux-gnu");
    find_parts(rocm, usr);
    if (llvm) { /* Its hipcc looks for a ROCm in /opt, so its clang++ is called. */
        free(rocm->parts[RP_ROCM_COMPILER]);
        rocm->parts[RP_ROCM_COMPILER] = rp_format("%s/lib/llvm-%s/bin/clang++", usr, llvm);
        if (access(rocm->parts[RP_ROCM_COMPILER], X_OK) != 0) {
            free(rocm->parts[RP_ROCM_COMPILER]);
            rocm->parts[RP_ROCM_COMPILER] = NULL;
        }
    }
    judge_private(rocm, llvm, path);
    return true;
}

/* --- the search ---------------------------------------------------------------------------- */

struct search {
    const struct rp_rocm_places *places;
    bool every;
    struct rp_rocms *rocms;
    bool found; /**< one that is used */
};

static bool ended(const struct search *search)
{
    return search->found && !search->every;
}

static void free_rocm(struct rp_rocm *rocm)
{
    free(rocm->root);
    free(rocm->version);
    free(rocm->libc);
    free(rocm->libraries);
    free(rocm->reason);
    free(rocm->remedy);
    for (size_t i = 0; i < RP_ROCM_PARTS; i++)
        free(rocm->parts[i]);
}

static bool is_listed(const struct search *search, const char *root)
{
    rp_autofree char *real = realpath(root, NULL);

    for (size_t i = 0; i < search->rocms->count; i++) {
        rp_autofree char *other = realpath(search->rocms->items[i].root, NULL);

        if (strcmp(other ? other : search->rocms->items[i].root, real ? real : root) == 0)
            return true;
    }
    return false;
}

/** The packages of ROCm 10 make /opt/rocm/lib a link into /opt/rocm/core-10.0, perhaps through
 * /etc/alternatives. The folder with everything is that one. */
static char *resolve_root(const char *root)
{
    rp_autofree char *lib = rp_path_join(root, "lib");
    rp_autofree char *real = realpath(lib, NULL);
    rp_autofree char *real_root = realpath(root, NULL);
    char *parent = parent_of(real);
    rp_autofree char *stamp = rp_path_join(root, STAMP);
    struct stat st;

    /* What rp_rocm_usual() names is inside of it. */
    if (lstat(stamp, &st) == 0 && S_ISLNK(st.st_mode)) {
        rp_autofree char *own = realpath(stamp, NULL);

        free(parent);
        parent = parent_of(own);
        return parent ? parent : rp_strdup(root);
    }
    /* In the private one lib leads to usr/lib. */
    if (parent && real_root && lstat(lib, &st) == 0 && S_ISLNK(st.st_mode) &&
        strcmp(parent, real_root) != 0 && strcmp(strrchr(real, '/'), "/lib") == 0 &&
        !has_entry(root, STAMP))
        return parent;
    free(parent);
    return rp_strdup(root);
}

/** Looks at one folder, and lists it unless it is there already. */
static void consider(struct search *search, const char *from, const char *root)
{
    struct rp_rocm rocm = {.kind = RP_ROCM_INSTALLED, .from = from, .root = resolve_root(root)};

    if (ended(search) || is_listed(search, rocm.root)) {
        free_rocm(&rocm);
        return;
    }
    if (!rp_path_is_dir(rocm.root)) {
        refuse(&rocm, rp_strdup("there is no such folder"), NULL);
    } else if (!read_private(&rocm)) {
        rocm.libraries = find_libraries(rocm.root);
        rocm.version = version_of(rocm.root, rocm.libraries);
        find_parts(&rocm, rocm.root);
        judge(&rocm);
    }
    search->found |= !rocm.reason;
    rp_vec_push(search->rocms, rocm);
}

/** Looks at all folders of a pattern, that of the highest version first. */
static void consider_all(struct search *search, const char *from, const char *folder,
                         const char *names)
{
    glob_t found;

    if (ended(search))
        return;
    list_files(folder, names, &found);
    if (found.gl_pathc)
        qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, highest_first);
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (rp_path_is_dir(found.gl_pathv[i]))
            consider(search, from, found.gl_pathv[i]);
    globfree(&found);
}

/** Looks at a root, and at the releases in it: with a minimal installation of ROCm 10, /opt/rocm
 * has nothing but core-10.0, and is none itself. */
static void consider_root(struct search *search, const char *from, const char *root)
{
    rp_autofree char *info = rp_path_join(root, ".info/version");
    rp_autofree char *libraries = find_libraries(root);

    if (libraries || rp_path_exists(info) || !any_file(root, "core*"))
        consider(search, from, root);
    consider_all(search, from, root, "core"); /* a link to the release that is to be used */
    consider_all(search, from, root, "core-*");
}

/** The development package has all files once rocm-sdk has unpacked it; else the other one has what
 * programs need. */
static void consider_wheels(struct search *search, const char *from, const char *prefix)
{
    static const char *const folders[] = {
        "lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages",
        "local/lib/python3*/dist-packages"};

    for (size_t i = 0; i < sizeof folders / sizeof *folders && !ended(search); i++) {
        rp_autofree char *devel = rp_path_join(folders[i], "_rocm_sdk_devel*");
        rp_autofree char *core = rp_path_join(folders[i], "_rocm_sdk_core*");

        consider_all(search, from, prefix, devel);
        consider_all(search, from, prefix, core);
    }
}

/** Looks beside a program of Python, as it stands in $PATH and where it really is. */
static void consider_python(struct search *search, const char *name)
{
    struct rp_err ignored = RP_ERR_INIT;
    rp_autofree char *path = NULL;

    if (ended(search) || rp_find_program_in(search->places->path, name, &path, &ignored) < 0)
        return;
    rp_autofree char *real = realpath(path, NULL);
    const char *const places[] = {path, real};
    for (size_t i = 0; i < 2; i++) {
        rp_autofree char *bin = parent_of(places[i]);
        rp_autofree char *prefix = parent_of(bin);

        if (prefix && *prefix)
            consider_wheels(search, name, prefix);
    }
}

static void consider_pythons(struct search *search)
{
    rp_autofree char *user =
        search->places->home ? rp_path_join(search->places->home, ".local") : NULL;

    consider_python(search, "python3");
    consider_python(search, "rocm-sdk");
    if (user)
        consider_wheels(search, "python3", user);
}

static void consider_system(struct search *search)
{
    rp_autofree char *opt = rp_format("%s/opt", search->places->system);
    rp_autofree char *rocm = rp_path_join(opt, "rocm");
    rp_autofree char *usr = rp_format("%s/usr", search->places->system);
    rp_autofree char *libraries = NULL;

    if (rp_path_exists(rocm))
        consider_root(search, "/opt/rocm", rocm);
    consider_all(search, "/opt", opt, "rocm-[0-9]*");
    if (ended(search))
        return;
    libraries = find_libraries(usr);
    if (libraries)
        consider(search, "/usr", usr);
}

static bool is_set(const char *value)
{
    return value && *value;
}

void rp_rocm_search(const struct rp_rocm_places *places, bool every, struct rp_rocms *ret)
{
    struct search search = {.places = places, .every = every, .rocms = ret};

    *ret = (struct rp_rocms){0};
    if (is_set(places->rocm_path)) {
        consider_root(&search, "$ROCM_PATH", places->rocm_path);
    } else {
        if (is_set(places->virtual_env))
            consider_wheels(&search, "$VIRTUAL_ENV", places->virtual_env);
        if (is_set(places->conda_prefix))
            consider_wheels(&search, "$CONDA_PREFIX", places->conda_prefix);
        consider_system(&search);
        consider_pythons(&search);
        if (places->private_root && rp_path_exists(places->private_root))
            consider(&search, "setup", places->private_root);
    }
    for (size_t i = ret->count; i-- > 0;)
        if (!ret->items[i].reason)
            ret->used = &ret->items[i];
}

void rp_rocms_free(struct rp_rocms *rocms)
{
    for (size_t i = 0; i < rocms->count; i++)
        free_rocm(&rocms->items[i]);
    rp_vec_free(rocms);
    rocms->used = NULL;
}

struct rp_rocm_places rp_rocm_places_here(const char *private_root)
{
    return (struct rp_rocm_places){.rocm_path = getenv("ROCM_PATH"),
                                   .virtual_env = getenv("VIRTUAL_ENV"),
                                   .conda_prefix = getenv("CONDA_PREFIX"),
                                   .path = getenv("PATH"),
                                   .home = getenv("HOME"),
                                   .private_root = private_root,
                                   .system = ""};
}
