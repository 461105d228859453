#include "run/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "run/device_thread_trace.h"
#include "run/kernel_names.h"
#include "run/record_to_db.h"
#include "trace/records.h"

/* Says which loader a program file needs. */

struct rp_program_needs {
    bool is_elf;       /**< a 64-bit x86 ELF program */
    bool needs_rocm;   /**< links libamdhip64 or libhsa-runtime64 */
    bool interp_is_in; /**< its loader lies below the folder that was asked for */
};

static bool is_rocm_library(const char *name)
{
    return name && (strncmp(name, "libamdhip64.so", 14) == 0 ||
                    strncmp(name, "libhsa-runtime64.so", 19) == 0 ||
                    strncmp(name, "libhiprtc.so", 12) == 0);
}

static void rp_program_needs(const char *path, const char *root, struct rp_program_needs *ret);

static void scan_dynamic(Elf *elf, Elf_Scn *section, const GElf_Shdr *header,
                         struct rp_program_needs *needs)
{
    Elf_Data *data = elf_getdata(section, NULL);

    if (!data || !header->sh_entsize)
        return;
    for (size_t i = 0; i < header->sh_size / header->sh_entsize; i++) {
        GElf_Dyn entry;

        if (!gelf_getdyn(data, (int)i, &entry))
            return;
        if (entry.d_tag == DT_NEEDED &&
            is_rocm_library(elf_strptr(elf, header->sh_link, entry.d_un.d_val)))
            needs->needs_rocm = true;
    }
}

static void scan_interp(Elf *elf, const char *root, struct rp_program_needs *needs)
{
    size_t count, file_bytes;
    const char *file = elf_rawfile(elf, &file_bytes);
    size_t root_len = strlen(root);

    if (!file || elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr phdr;

        if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_INTERP)
            continue;
        if (phdr.p_offset > file_bytes || phdr.p_filesz > file_bytes - phdr.p_offset)
            return;
        needs->interp_is_in =
            phdr.p_filesz > root_len && strncmp(file + phdr.p_offset, root, root_len) == 0;
    }
}

/**
 * Looks at a program file. An unreadable or foreign one gives all false.
 * @param root folder for interp_is_in
 */
static void rp_program_needs(const char *path, const char *root, struct rp_program_needs *ret)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf_Scn *section = NULL;
    Elf *elf;

    memset(ret, 0, sizeof *ret);
    if (fd < 0 || elf_version(EV_CURRENT) == EV_NONE)
        return;
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (!elf)
        return;
    ret->is_elf = elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64;
    if (ret->is_elf) {
        scan_interp(elf, root, ret);
        while ((section = elf_nextscn(elf, section))) {
            GElf_Shdr header;
            if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC)
                scan_dynamic(elf, section, &header, ret);
        }
    }
    elf_end(elf);
}

static size_t count_args(char *const *argv)
{
    size_t n = 0;

    while (argv[n])
        n++;
    return n;
}

/*
 * A program that was linked elsewhere against ROCm has the machine's own loader, which finds no
 * ROCm here, and whose libc is older than the private ROCm's. So the private loader runs it.
 * Programs made by `rocm-perf hipcc` name that loader themselves, and everything else (scripts,
 * Python) is left alone.
 */
static bool wants_private_loader(const struct rp_environment *env, const char *executable)
{
    struct rp_program_needs needs;

    if (env->rocm_kind != RP_ROCM_PRIVATE)
        return false;
    rp_program_needs(executable, env->rocm_root, &needs);
    return needs.is_elf && needs.needs_rocm && !needs.interp_is_in;
}

static void plan_argv(const struct rp_environment *env, char *const *argv,
                      struct rp_launch_plan *plan)
{
    size_t argc = count_args(argv), at = 0;

    plan->argv = rp_alloc_zero(argc + 7, sizeof *plan->argv);
    if (wants_private_loader(env, plan->executable)) {
        plan->loader_args[0] = rp_format("%s/lib64/ld-linux-x86-64.so.2", env->rocm_root);
        plan->loader_args[1] = rp_strdup("--library-path");
        plan->loader_args[2] = rp_format("%s/usr/lib/x86_64-linux-gnu", env->rocm_root);
        plan->loader_args[3] = rp_strdup("--argv0");
        for (unsigned i = 0; i < 4; i++)
            plan->argv[at++] = plan->loader_args[i];
        plan->argv[at++] = argv[0];
        plan->argv[at++] = plan->executable;
        plan->path = rp_strdup(plan->loader_args[0]);
    } else {
        plan->argv[at++] = argv[0];
        plan->path = rp_strdup(plan->executable);
    }
    memcpy(plan->argv + at, argv + 1, argc * sizeof *argv); /* The copy includes the terminator. */
}

/* A configuration may have another PATH. */
static int find_program(const char *name, const struct rp_env_change *variables, char **ret,
                        struct rp_err *err)
{
    const char *search = NULL;

    for (; variables && variables->name; variables++)
        if (strcmp(variables->name, "PATH") == 0)
            search = variables->value;
    return rp_find_program_in(search ? search : getenv("PATH"), name, ret, err);
}

int rp_launch_plan(const struct rp_environment *env, const struct rp_run_options *options,
                   char *const *argv, struct rp_launch_plan *ret, struct rp_err *err)
{
    struct rp_launch_plan plan = {0};
    int rc = find_program(argv[0], options->more, &plan.executable, err);

    if (rc == 0)
        plan_argv(env, argv, &plan);
    if (rc == 0)
        rc = rp_run_env_make(env, options, &plan.env, err);
    if (rc < 0) {
        rp_launch_free(&plan);
        return rc;
    }
    *ret = plan;
    return 0;
}

void rp_launch_free(struct rp_launch_plan *plan)
{
    for (unsigned i = 0; i < 4; i++)
        free(plan->loader_args[i]);
    rp_run_env_free(&plan->env);
    free(plan->executable);
    free(plan->path);
    free(plan->argv);
    memset(plan, 0, sizeof *plan);
}

typedef void note_fn(struct rp_bundle_fit *fit, const uint8_t *at, size_t bytes);

/* Notes every place of the file that begins with the magic. */
static void note_all(struct rp_bundle_fit *fit, const uint8_t *file, size_t bytes,
                     const char *magic, note_fn *note)
{
    const size_t length = strlen(magic);

    for (const uint8_t *at = file; (at = memmem(at, bytes - (size_t)(at - file), magic, length));
         at += length)
        note(fit, at, bytes - (size_t)(at - file));
}

enum rp_offload_fit rp_program_fits_gpu(const char *path, const char *gfx, bool xnack,
                                        char *ret_targets, size_t room)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct rp_bundle_fit fit = {.gfx = gfx};
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return RP_OFFLOAD_FITS;
    const size_t bytes = (size_t)st.st_size;
    uint8_t *file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return RP_OFFLOAD_FITS;
    note_all(&fit, file, bytes, RP_BUNDLE_MAGIC, rp_bundle_note);
    note_all(&fit, file, bytes, RP_BUNDLE_COMPRESSED_MAGIC, rp_bundle_note_compressed);
    rp_bundle_fit_end(&fit);
    munmap(file, bytes);
    const enum rp_offload_fit verdict = rp_bundle_verdict(&fit, xnack);
    if (verdict == RP_OFFLOAD_OTHER_GPU)
        snprintf(ret_targets, room, "%s", fit.targets);
    return verdict;
}

void rp_run_free(struct rp_run *run)
{
    for (size_t i = 0; i < run->db_count; i++)
        free(run->db_paths[i]);
    free(run->db_paths);
    for (size_t i = 0; i < run->warning_count; i++)
        free(run->warnings[i]);
    free(run->warnings);
    free(run->thread_trace);
    memset(run, 0, sizeof *run);
}
