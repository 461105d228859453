/* Which ROCm is taken of made-up trees, what is said of the others, and that tools/common.sh
 * decides the same before the build. */
#include "run/rocm.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "run/machine.h"

#include "unit/made_rocm.h"

/* A tree is a list of "PATH=WHAT" and "PATH>TARGET", for a link; the kinds of file: */
static const struct {
    const char *what, *soname, *symbols;
} kinds[] = {
    {"hip", "libamdhip64.so.7", MADE_HIP MADE_REPORTS},
    {"silent", "libamdhip64.so.7", MADE_HIP},
    {"hip6", "libamdhip64.so.6", MADE_HIP},
    {"hip8", "libamdhip64.so.8", MADE_HIP},
    {"few", "libamdhip64.so.7", "__hipRegisterFatBinary hipRuntimeGetVersion"},
    {"unnamed", "-", MADE_HIP},
    {"hsa", "libhsa-runtime64.so.1", MADE_HSA},
    {"oldhsa", "libhsa-runtime64.so.1", "hsa_init hsa_queue_create"},
};

#define RUNTIME(root) root "/lib/libamdhip64.so.7=hip " root "/lib/libhsa-runtime64.so.1=hsa "
#define ROCM(root, version)                                                                        \
    RUNTIME(root) root "/.info/version=" version " " root "/bin/hipcc= " root "/bin/rocprofv3="
#define CACHE "cache/rocm"
#define STAMPED                                                                                    \
    CACHE "/.rocm-perf-prefix=STAMP " CACHE                                                        \
          "/usr/lib/x86_64-linux-gnu/libamdhip64.so.7=hip " CACHE                                  \
          "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1=hsa " CACHE                             \
          "/usr/lib/llvm-22/bin/clang++= " CACHE "/lib>usr/lib "
#define SITE "venv/lib/python3.12/site-packages"

static const struct row {
    const char *tree;
    const char *environment; /**< "NAME=PATH"; NULL: nothing is set */
    const char *used;        /**< NULL: none */
    const char *version;     /**< of that one */
    const char *refused;     /**< what is said of the first one */
} rows[] = {
    /* Releases, and where their packages put them. */
    {ROCM("opt/rocm", "7.2.4"), NULL, "opt/rocm", "7.2.4", NULL},
    {ROCM("opt/rocm-7.2.4", "7.2.4") " opt/rocm>rocm-7.2.4", NULL, "opt/rocm", "7.2.4", NULL},
    {ROCM("opt/rocm-7.2.4", "7.2.4"), NULL, "opt/rocm-7.2.4", "7.2.4", NULL},
    {ROCM("opt/rocm-7.2.4", "7.2.4") " " ROCM("opt/rocm-7.10.0", "7.10.0"), NULL, "opt/rocm-7.10.0",
     "7.10.0", NULL},
    {ROCM("opt/rocm/core-10.0", "10.0.0"), NULL, "opt/rocm/core-10.0", "10.0.0", NULL},
    {ROCM("opt/rocm/core-10.0", "10.0.0") " " ROCM("opt/rocm/core-7.14", "7.14.0") " " ROCM(
         "opt/rocm/core-10.1", "10.1.0"),
     NULL, "opt/rocm/core-10.1", "10.1.0", NULL},
    {ROCM("opt/rocm/core-10.1", "10.1.0") " opt/rocm/bin>core-10.1/bin opt/rocm/lib>core-10.1/lib",
     NULL, "opt/rocm/core-10.1", "10.1.0", NULL},
    {ROCM("opt/rocm/core-10.0", "10.0.0") " " ROCM(
         "opt/rocm/core-10.1", "10.1.0") " alternatives/rocm-lib>../opt/rocm/core-10.0/lib "
                                         "opt/rocm/lib>../../alternatives/rocm-lib",
     NULL, "opt/rocm/core-10.0", "10.0.0", NULL}, /* the administrator's choice */
    {ROCM("opt/rocm/core-10.0", "10.0.0") " " ROCM("opt/rocm/core-10.1",
                                                   "10.1.0") " opt/rocm/core>core-10.0",
     NULL, "opt/rocm/core", "10.0.0", NULL},
    {RUNTIME("opt/rocm") "opt/rocm/include/rocm-core/rocm_version.h=HEADER", NULL, "opt/rocm",
     "10.1.2", NULL},
    {RUNTIME("opt/rocm"), NULL, "opt/rocm", "HIP 7", NULL},
    /* The number of the release is not what counts. */
    {ROCM("opt/rocm", "11.0.0"), NULL, "opt/rocm", "11.0.0", NULL},
    {ROCM("opt/rocm", "6.4.1"), NULL, "opt/rocm", "6.4.1", NULL},
    /* Folders of distributions. */
    {"usr/lib/x86_64-linux-gnu/libamdhip64.so.7.1.0=hip "
     "usr/lib/x86_64-linux-gnu/libamdhip64.so.7>libamdhip64.so.7.1.0 "
     "usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1=hsa",
     NULL, "usr", "HIP 7.1.0", NULL},
    {"usr/lib64/libamdhip64.so.7=hip usr/lib64/libhsa-runtime64.so.1=hsa", NULL, "usr", "HIP 7",
     NULL},
    {ROCM("opt/rocm",
          "7.2.4") " usr/lib64/libamdhip64.so.7=hip usr/lib64/libhsa-runtime64.so.1=hsa",
     NULL, "opt/rocm", "7.2.4", NULL},
    /* Python's packages: the one for development only when it is unpacked. */
    {RUNTIME(SITE "/_rocm_sdk_core") SITE "/rocm_sdk_core-10.1.0.dist-info/METADATA=",
     "VIRTUAL_ENV=venv", SITE "/_rocm_sdk_core", "10.1.0", NULL},
    {ROCM("opt/rocm", "7.2.4") " " RUNTIME(SITE "/_rocm_sdk_core_linux_x86_64"), "VIRTUAL_ENV=venv",
     SITE "/_rocm_sdk_core_linux_x86_64", "HIP 7", NULL},
    {RUNTIME(SITE "/_rocm_sdk_core") RUNTIME(SITE "/_rocm_sdk_devel"), "VIRTUAL_ENV=venv",
     SITE "/_rocm_sdk_devel", "HIP 7", NULL},
    {RUNTIME(SITE "/_rocm_sdk_core") SITE "/rocm_sdk_devel/_devel.tar=", "CONDA_PREFIX=venv",
     SITE "/_rocm_sdk_core", "HIP 7", NULL},
    {RUNTIME("python/lib/python3.12/site-packages/_rocm_sdk_core"), NULL,
     "python/lib/python3.12/site-packages/_rocm_sdk_core", "HIP 7",
     NULL}, /* beside $PATH's python3 */
    {RUNTIME("home/.local/lib/python3.12/site-packages/_rocm_sdk_core"), NULL,
     "home/.local/lib/python3.12/site-packages/_rocm_sdk_core", "HIP 7", NULL},
    {ROCM("opt/rocm", "7.2.4") " " RUNTIME("python/lib/python3.12/site-packages/_rocm_sdk_core"),
     NULL, "opt/rocm", "7.2.4", NULL},
    /* The private one comes last, and is not there when it was moved. */
    {STAMPED, NULL, CACHE, "7.2.4", NULL},
    {STAMPED " " ROCM("opt/rocm", "10.1.0"), NULL, "opt/rocm", "10.1.0", NULL},
    {STAMPED "moved>" CACHE " other/.rocm-perf-prefix=STAMP", "ROCM_PATH=other", NULL, NULL,
     "its programs hold that path"},
    {STAMPED, "ROCM_PATH=" CACHE, CACHE, "7.2.4", NULL},
    {STAMPED " " CACHE "/opt/rocm/lib/libamdhip64.so.7>../../../usr/lib/x86_64-linux-gnu/"
             "libamdhip64.so.7 " CACHE "/opt/rocm/.rocm-perf-prefix>../../.rocm-perf-prefix",
     "ROCM_PATH=" CACHE "/opt/rocm", CACHE, "7.2.4", NULL},
    /* $ROCM_PATH stands for itself. */
    {ROCM("mine", "7.0.2") " " ROCM("opt/rocm", "10.1.0") " " STAMPED, "ROCM_PATH=mine", "mine",
     "7.0.2", NULL},
    {ROCM("mine/core-10.1", "10.1.0"), "ROCM_PATH=mine", "mine/core-10.1", "10.1.0", NULL},
    {ROCM("opt/rocm", "10.1.0") " mine/x= " STAMPED, "ROCM_PATH=mine", NULL, NULL,
     "no ROCm is there: lib has no libamdhip64.so.7"},
    {ROCM("opt/rocm", "10.1.0"), "ROCM_PATH=mine", NULL, NULL, "there is no such folder"},
    /* What is no ROCm that can be used, and what is taken instead. */
    {"opt/rocm-6.4.1/lib/libamdhip64.so.6=hip6 opt/rocm-6.4.1/lib/libhsa-runtime64.so.1=hsa "
     "opt/rocm-6.4.1/.info/version=6.4.1 opt/rocm>rocm-6.4.1 " STAMPED,
     NULL, CACHE, "7.2.4",
     "ROCm 6.4.1 is too old: its HIP is libamdhip64.so.6, and libamdhip64.so.7 is needed"},
    {"opt/rocm/lib/libamdhip64.so.6=hip6 opt/rocm/lib/libhsa-runtime64.so.1=hsa "
     "opt/rocm/.info/version=7.0.0 " ROCM("opt/rocm-7.2.4", "7.2.4"),
     NULL, "opt/rocm-7.2.4", "7.2.4", "ROCm 7.0.0 is too old"}, /* whatever it calls itself */
    {"opt/rocm/lib/libamdhip64.so.8=hip8 opt/rocm/lib/libhsa-runtime64.so.1=hsa "
     "opt/rocm/.info/version=12.0.0",
     NULL, NULL, NULL, "ROCm 12.0.0 is too new for this rocm-perf: its HIP is libamdhip64.so.8"},
    {"opt/rocm/.info/version=7.2.4 opt/rocm/bin/hipcc= opt/rocm/lib/librocm-core.so=", NULL, NULL,
     NULL, "ROCm 7.2.4 has no HIP runtime (libamdhip64.so.7)"},
    {"opt/rocm/lib/libamdhip64.so.7=hip opt/rocm/.info/version=7.2.4 " STAMPED, NULL, CACHE,
     "7.2.4", "has no HSA runtime (libhsa-runtime64.so.1)"},
    {"opt/rocm/notes=", NULL, NULL, NULL, "no ROCm is there"},
    {"opt/rocm/lib/libamdhip64.so.7>libamdhip64.so.7.2.0 opt/rocm/lib/libhsa-runtime64.so.1=hsa "
     "opt/rocm/.info/version=7.2.4 " STAMPED,
     NULL, CACHE, "7.2.4", "lib/libamdhip64.so.7 is a broken link"},
    {"opt/rocm/lib/libamdhip64.so.7=hip opt/rocm/lib/libhsa-runtime64.so.1>gone "
     "opt/rocm/.info/version=7.2.4",
     NULL, NULL, NULL, "lib/libhsa-runtime64.so.1 is a broken link"},
    {"opt/rocm/lib/libamdhip64.so.7=few opt/rocm/lib/libhsa-runtime64.so.1=hsa", NULL, NULL, NULL,
     "lib/libamdhip64.so.7 has no symbol hipLaunchKernel"},
    {"opt/rocm/lib/libamdhip64.so.7=hip opt/rocm/lib/libhsa-runtime64.so.1=oldhsa", NULL, NULL,
     NULL, "has no symbol hsa_amd_profiling_get_dispatch_time"},
    {"opt/rocm/lib/libamdhip64.so.7=hip6 opt/rocm/lib/libhsa-runtime64.so.1=hsa", NULL, NULL, NULL,
     "has the soname libamdhip64.so.6"},
    {"opt/rocm/lib/libamdhip64.so.7=unnamed opt/rocm/lib/libhsa-runtime64.so.1=hsa", NULL, NULL,
     NULL, "has no soname"},
    {"opt/rocm/lib/libamdhip64.so.7=arm opt/rocm/lib/libhsa-runtime64.so.1=hsa "
     "opt/rocm/.info/version=7.2.4 " STAMPED,
     NULL, CACHE, "7.2.4", "lib/libamdhip64.so.7 is for aarch64"},
    {"opt/rocm/lib/libamdhip64.so.7=text opt/rocm/lib/libhsa-runtime64.so.1=hsa", NULL, NULL, NULL,
     "lib/libamdhip64.so.7 is not a 64-bit ELF file"},
    {"opt/rocm/lib/libamdhip64.so.7= opt/rocm/lib/libhsa-runtime64.so.1=hsa", NULL, NULL, NULL,
     "lib/libamdhip64.so.7 is not a 64-bit ELF file"},
    {"home/x=", NULL, NULL, NULL, NULL},
};

/* --- making trees -------------------------------------------------------------------------- */

static char tree[] = "/tmp/rp-rocms-XXXXXX";

static char *in_tree(const char *name)
{
    return rp_path_join(tree, name);
}

/** As rp_write_file, but hundreds of files need not be on the disk. */
static void put_file(const char *path, const void *data, size_t bytes)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);

    assert_true(fd >= 0);
    assert_int_equal(rp_write_all(fd, data, bytes), 0);
    close(fd);
}

static void copy_file(const char *from, const char *to, bool arm)
{
    static const uint8_t aarch64[] = {183, 0};
    const int at = 18; /**< e_machine of an ELF header */
    size_t bytes;
    rp_autofree void *data = NULL;

    assert_int_equal(rp_read_file(from, 1 << 20, RP_BAD_INPUT, &data, &bytes, NULL), 0);
    if (arm)
        memcpy((uint8_t *)data + at, aarch64, sizeof aarch64);
    put_file(to, data, bytes);
}

static char *text_for(const char *what)
{
    rp_autofree char *cache = in_tree(CACHE);

    if (strcmp(what, "STAMP") == 0)
        return rp_format("format 2\nrocm 7.2.4\nllvm 22\npath %s\n", cache);
    if (strcmp(what, "HEADER") == 0)
        return rp_format("#define ROCM_VERSION_MAJOR 10\n#define ROCM_VERSION_MINOR 1\n"
                         "#define ROCM_VERSION_PATCH 2\n");
    return rp_format("%s\n", what);
}

static void make_file(const char *path, const char *what)
{
    const bool arm = strcmp(what, "arm") == 0;
    rp_autofree char *text = text_for(what);

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(arm ? "hip" : what, kinds[i].what) == 0) {
            rp_autofree char *from = rp_path_join(scratch_dir, kinds[i].what);

            copy_file(from, path, arm);
            return;
        }
    put_file(path, text, *what ? strlen(text) : 0);
}

static void make_entry(const char *entry)
{
    const char *mark = strpbrk(entry, "=>");
    rp_autofree char *name = strndup(entry, (size_t)(mark - entry));
    rp_autofree char *path = in_tree(name);
    rp_autofree char *folder = strndup(path, (size_t)(strrchr(path, '/') - path));

    assert_int_equal(rp_mkdirs(folder, NULL), 0);
    if (*mark == '>')
        assert_int_equal(symlink(mark + 1, path), 0);
    else
        make_file(path, mark + 1);
}

static void make_tree(const char *entries)
{
    rp_autofree char *copy = strdup(entries);
    char *save = NULL;

    strcpy(tree + strlen(tree) - 6, "XXXXXX");
    assert_non_null(mkdtemp(tree));
    make_entry("python/bin/python3=");
    for (char *entry = strtok_r(copy, " ", &save); entry; entry = strtok_r(NULL, " ", &save))
        make_entry(entry);
}

static int make_kinds(void **state)
{
    if (scratch_begin(state) < 0)
        return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        made_rocm_library(kinds[i].what, kinds[i].soname, "NODE_1", kinds[i].symbols);
    free(scratch_put("text", "version https://git-lfs.github.com/spec/v1\n"));
    return 0;
}

/* --- what is found ------------------------------------------------------------------------- */

/** The environment of a row. The strings are the caller's to free. */
struct surroundings {
    char *name, *value, *path, *home, *cache, *private_root;
};

static struct surroundings surroundings_of(const struct row *row)
{
    const char *mark = row->environment ? strchr(row->environment, '=') : NULL;
    struct surroundings s = {
        .home = in_tree("home"), .cache = in_tree("cache"), .private_root = in_tree(CACHE)};

    s.path = rp_format("%s/python/bin:/usr/bin:/bin", tree);
    s.name = strdup(mark ? row->environment : "UNUSED");
    if (mark) {
        s.name[mark - row->environment] = '\0';
        s.value = in_tree(mark + 1);
    }
    return s;
}

static void surroundings_free(struct surroundings *s)
{
    free(s->name);
    free(s->value);
    free(s->path);
    free(s->home);
    free(s->cache);
    free(s->private_root);
}

static const char *value_of(const struct surroundings *s, const char *name)
{
    return strcmp(s->name, name) == 0 ? s->value : NULL;
}

static void search_tree(const struct surroundings *s, bool every, struct rp_rocms *ret)
{
    const struct rp_rocm_places places = {.rocm_path = value_of(s, "ROCM_PATH"),
                                          .virtual_env = value_of(s, "VIRTUAL_ENV"),
                                          .conda_prefix = value_of(s, "CONDA_PREFIX"),
                                          .path = s->path,
                                          .home = s->home,
                                          .private_root = s->private_root,
                                          .system = tree};

    rp_rocm_search(&places, every, ret);
}

/** Asks tools/common.sh.
 * @return "" where it finds none */
static char *asked_of_shell(const struct surroundings *s)
{
    rp_autofree char *command =
        rp_format("env -i PATH='%s' HOME='%s' ROCM_PERF_CACHE='%s' %s='%s' bash -euo pipefail -c "
                  "'. \"$1\"; rocm_in_use \"$2\"' bash '" RP_TEST_SOURCES "/tools/common.sh' '%s'",
                  s->path, s->home, s->cache, s->name, s->value ? s->value : "", tree);
    char line[4096] = "";
    FILE *pipe = popen(command, "r");
    size_t bytes;

    assert_non_null(pipe);
    bytes = fread(line, 1, sizeof line - 1, pipe);
    pclose(pipe);
    line[bytes] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return strdup(line);
}

static const char *below_tree(const char *path)
{
    return path ? path + strlen(tree) + 1 : "(none)";
}

static void check_row(const struct row *row)
{
    rp_cleanup(surroundings_free) struct surroundings s = surroundings_of(row);
    rp_cleanup(rp_rocms_free) struct rp_rocms rocms = {0}, all = {0};
    rp_autofree char *shell = asked_of_shell(&s);
    rp_autofree char *real = realpath(tree, NULL);
    const char *root;

    assert_string_equal(real, tree);
    search_tree(&s, false, &rocms);
    search_tree(&s, true, &all);
    root = rocms.used ? rocms.used->root : NULL;
    if (strcmp(below_tree(root), row->used ? row->used : "(none)") != 0)
        fail_msg("%s: used is %s", row->tree, below_tree(root));
    if (strcmp(root ? root : "", shell) != 0)
        fail_msg("%s: tools/common.sh says %s, not %s", row->tree, shell, below_tree(root));
    if (row->used)
        assert_string_equal(rocms.used->version, row->version);
    if (row->refused &&
        (!rocms.count || !rocms.items[0].reason || !strstr(rocms.items[0].reason, row->refused)))
        fail_msg("%s: said is %s", row->tree, rocms.count ? rocms.items[0].reason : "nothing");
    if (!row->refused && rocms.count && rocms.items[0].reason)
        fail_msg("%s: %s is refused: %s", row->tree, rocms.items[0].root, rocms.items[0].reason);
    assert_true(all.count >= rocms.count);
    assert_true(!root || strcmp(all.used->root, root) == 0);
}

static void the_matrix(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_tree(rows[i].tree);
        check_row(&rows[i]);
        rp_remove_tree(tree);
    }
}

static void each_place_is_listed_once_and_in_order(void **state)
{
    static const char *const expected[] = {SITE "/_rocm_sdk_core", "opt/rocm", "opt/rocm-6.4.1",
                                           "usr", CACHE};
    const struct row row = {
        .tree = RUNTIME(SITE "/_rocm_sdk_core")
            ROCM("opt/rocm-7.2.4",
                 "7.2.4") " opt/rocm>rocm-7.2.4 "
                          "opt/rocm-6.4.1/lib/libamdhip64.so.6=hip6 usr/lib/libamdhip64.so.6=hip6 "
                          "venv/lib64>lib " STAMPED,
        .environment = "VIRTUAL_ENV=venv"};
    rp_cleanup(rp_rocms_free) struct rp_rocms rocms = {0};
    rp_cleanup(surroundings_free) struct surroundings s = {0};

    (void)state;
    make_tree(row.tree);
    s = surroundings_of(&row);
    search_tree(&s, true, &rocms);
    assert_int_equal(rocms.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < rocms.count; i++)
        assert_string_equal(below_tree(rocms.items[i].root), expected[i]);
    assert_ptr_equal(rocms.used, rocms.items);
    assert_string_equal(rocms.items[0].from, "$VIRTUAL_ENV");
    assert_string_equal(rocms.items[3].from, "/usr");
    assert_string_equal(rocms.items[2].remedy, "install ROCm 7 or 10");
    rp_remove_tree(tree);
}

static void parts_are_found(void **state)
{
    static const char expected[] =
        "hip=lib/libamdhip64.so.7 hsa=lib/libhsa-runtime64.so.1 compiler=bin/hipcc headers= "
        "device_libraries=lib/llvm/amdgcn/bitcode/ocml.bc rocprofv3=bin/rocprofv3 "
        "aqlprofile=lib/libhsa-amd-aqlprofile64.so.1 "
        "thread_trace_decoder=lib/librocprof-trace-decoder.so rocm_smi= "
        "amd_smi=lib/libamd_smi.so.26 ";
    const struct row row = {
        .tree = ROCM("opt/rocm", "10.1.0") " opt/rocm/lib/llvm/amdgcn/bitcode/ocml.bc= "
                                           "opt/rocm/lib/libhsa-amd-aqlprofile64.so.1= "
                                           "opt/rocm/lib/librocprof-trace-decoder.so= "
                                           "opt/rocm/lib/libamd_smi.so.26= "
                                           "opt/rocm/lib/librocm_smi64.so>gone"};
    rp_cleanup(rp_rocms_free) struct rp_rocms rocms = {0};
    rp_cleanup(surroundings_free) struct surroundings s = {0};
    rp_autobuf seen = {0};

    (void)state;
    make_tree(row.tree);
    s = surroundings_of(&row);
    search_tree(&s, false, &rocms);
    for (enum rp_rocm_part part = 0; part < RP_ROCM_PARTS; part++) {
        const char *path = rocms.used->parts[part];

        rp_buf_printf(&seen, "%s=%s ", rp_rocm_part_key(part),
                      path ? below_tree(path) + strlen("opt/rocm/") : "");
    }
    assert_string_equal(rp_buf_text(&seen), expected);
    rp_remove_tree(tree);
}

/** A HIP without its interface for tracers is used all the same, and said to be so. */
static void what_does_not_report_is_known(void **state)
{
    static const char *const kinds_of_hip[] = {"silent", "hip"};

    (void)state;
    for (int reports = 0; reports < 2; reports++) {
        rp_autofree char *entries = rp_format("opt/rocm/lib/libamdhip64.so.7=%s "
                                              "opt/rocm/lib/libhsa-runtime64.so.1=hsa",
                                              kinds_of_hip[reports]);
        const struct row row = {.tree = entries};
        rp_cleanup(rp_rocms_free) struct rp_rocms rocms = {0};
        rp_cleanup(surroundings_free) struct surroundings s = {0};

        make_tree(entries);
        s = surroundings_of(&row);
        search_tree(&s, false, &rocms);
        assert_non_null(rocms.used);
        assert_int_equal(rocms.used->reports_calls, reports);
        rp_remove_tree(tree);
    }
}

/* --- what a command gets ------------------------------------------------------------------- */

static void detect(const char *variable, struct rp_environment *ret)
{
    rp_autofree char *root = variable ? in_tree(variable) : NULL;
    rp_autofree char *cache = in_tree("cache");
    struct rp_err err = RP_ERR_INIT;

    setenv("ROCM_PERF_CACHE", cache, 1);
    if (root)
        setenv("ROCM_PATH", root, 1);
    assert_int_equal(rp_environment_detect(ret, &err), 0);
    unsetenv("ROCM_PATH");
    unsetenv("ROCM_PERF_CACHE");
}

static void a_command_gets_what_is_there(void **state)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};

    (void)state;
    make_tree(ROCM("mine", "10.1.0"));
    detect("mine", &env);
    assert_int_equal(env.rocm_kind, RP_ROCM_INSTALLED);
    assert_string_equal(env.rocm_version, "10.1.0");
    assert_string_equal(below_tree(env.rocm_libraries), "mine/lib");
    assert_string_equal(below_tree(env.compiler), "mine/bin/hipcc");
    assert_string_equal(below_tree(env.rocprofv3), "mine/bin/rocprofv3");
    assert_null(env.rocm_problem);
    assert_null(env.rocm_note);
    rp_remove_tree(tree);
}

static void a_command_says_what_is_wrong(void **state)
{
    rp_cleanup(rp_environment_free) struct rp_environment old = {0}, none = {0}, below = {0};
    rp_autofree char *expected = NULL, *of_below = NULL;

    (void)state;
    make_tree("mine/lib/libamdhip64.so.6=hip6 mine/.info/version=6.4.1 none/x= "
              "parent/core-10.1/lib/libamdhip64.so.7>gone");
    expected =
        rp_format("ROCM_PATH=%s/mine: ROCm 6.4.1 is too old: its HIP is libamdhip64.so.6, and "
                  "libamdhip64.so.7 is needed; install ROCm 7 or 10, or unset the variable",
                  tree);
    detect("mine", &old);
    assert_int_equal(old.rocm_kind, RP_ROCM_NONE);
    assert_null(old.rocm_root);
    assert_string_equal(old.rocm_problem, expected);
    detect("none", &none);
    assert_non_null(strstr(none.rocm_problem, "; correct the variable or unset it"));
    detect("parent", &below);
    of_below = rp_format("ROCM_PATH=%s/parent: %s/parent/core-10.1: ", tree, tree);
    assert_int_equal(strncmp(below.rocm_problem, of_below, strlen(of_below)), 0);
    rp_remove_tree(tree);
}

/** rocprofv3 of a ROCm that cannot be used is not taken from $PATH either. */
static void its_rocprofv3_goes_with_a_rocm(void **state)
{
    rp_cleanup(rp_environment_free) struct rp_environment env = {0};
    rp_autofree char *before = strdup(getenv("PATH"));
    rp_autofree char *bin = NULL, *path = NULL;

    (void)state;
    make_tree("mine/lib/libamdhip64.so.6=hip6 mine/.info/version=6.4.1 mine/bin/rocprofv3=");
    bin = in_tree("mine/bin");
    path = rp_format("%s:%s", bin, before);
    setenv("PATH", path, 1);
    detect("mine", &env);
    setenv("PATH", before, 1);
    assert_true(!env.rocprofv3 || strncmp(env.rocprofv3, tree, strlen(tree)) != 0);
    rp_remove_tree(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_matrix),
        cmocka_unit_test(each_place_is_listed_once_and_in_order),
        cmocka_unit_test(parts_are_found),
        cmocka_unit_test(what_does_not_report_is_known),
        cmocka_unit_test(a_command_gets_what_is_there),
        cmocka_unit_test(a_command_says_what_is_wrong),
        cmocka_unit_test(its_rocprofv3_goes_with_a_rocm),
    };

    return cmocka_run_group_tests(tests, make_kinds, scratch_end);
}
