/* One version of the kernels of a judgement: a source that is compiled, or a code object that is
 * there, also in a bundle or in a folder of Triton's cache. */
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/judgement.h"
#include "optimize/kernel_source.h"
#include "trace/code_object.h"

enum { MOST_BYTES = 1 << 30 };

void rp_version_free(struct rp_version *version)
{
    free(version->file);
    free(version->hsaco);
    *version = (struct rp_version){0};
}

static int is_code_object(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && strcmp(dot, ".hsaco") == 0;
}

/** Finds the code object of a folder. */
static int find_in_folder(const char *option, const char *folder, char **ret, struct rp_err *err)
{
    struct dirent **names = NULL;
    const int count = scandir(folder, &names, is_code_object, alphasort);
    int rc = 0;

    if (count == 1)
        *ret = rp_path_join(folder, names[0]->d_name);
    else if (count > 1)
        rc = rp_fail(err, RP_BAD_INPUT, "%s: %s has several code objects (%s, %s ...): name one",
                     option, folder, names[0]->d_name, names[1]->d_name);
    else
        rc =
            rp_fail(err, RP_BAD_INPUT,
                    "%s: %s is a folder without a code object (NAME.hsaco): name the source or the "
                    "code object",
                    option, folder);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
    return rc;
}

/** Tells a source from a code object by its first bytes. */
static int look(struct rp_version *v, struct rp_err *err)
{
    rp_autoclose int fd = open(v->file, O_RDONLY | O_CLOEXEC);
    char head[RP_BUNDLE_MAGIC_BYTES] = "";
    uint16_t machine = 0;
    ssize_t got = fd < 0 ? -1 : pread(fd, head, sizeof head, 0);

    if (got < 0)
        return rp_fail(err, RP_BAD_INPUT, "%s: %s cannot be read", v->option, v->file);
    v->is_source = memcmp(head, ELFMAG, SELFMAG) != 0 &&
                   memcmp(head, RP_BUNDLE_MAGIC, RP_BUNDLE_MAGIC_BYTES) != 0 &&
                   memcmp(head, RP_BUNDLE_COMPRESSED_MAGIC, 4) != 0;
    if (memcmp(head, ELFMAG, SELFMAG) != 0)
        return 0;
    memcpy(&machine, head + offsetof(Elf64_Ehdr, e_machine), sizeof machine);
    return machine == EM_AMDGPU
               ? 0
               : rp_fail(err, RP_BAD_INPUT,
                         "%s: %s is no code object of a GPU: name the source of the kernels, or "
                         "what --genco makes of it",
                         v->option, v->file);
}

int rp_version_read(const char *option, const char *path, struct rp_version *ret,
                    struct rp_err *err)
{
    rp_cleanup(rp_version_free) struct rp_version v = {.option = option, .path = path};
    rp_autofree char *inside = NULL;
    rp_autofree char *text = NULL;
    size_t bytes;
    int rc = rp_check_input(path, err);

    if (rc == 0 && !rp_path_exists(path))
        rc = rp_fail(err, RP_BAD_INPUT, "%s: there is no %s", option, path);
    if (rc == 0 && rp_path_is_dir(path))
        rc = find_in_folder(option, path, &inside, err);
    if (rc < 0)
        return rc;
    v.file = rp_path_absolute(inside ? inside : path);
    rc = look(&v, err);
    if (rc == 0 && v.is_source) {
        free(v.file);
        v.file = NULL;
        rc = rp_source_file_read(path, &v.file, &text, &bytes, err);
        rc = rc < 0 ? rp_wrap(err, "%s", option) : 0;
    }
    if (rc == 0)
        rc = rp_sha256_file(v.file, v.file_sha256, err);
    if (rc < 0)
        return rc;
    *ret = v;
    v = (struct rp_version){0};
    return 0;
}

static int compile(const struct rp_version *v, const struct rp_compile_command *command,
                   const char *gpu, const char *hsaco, struct rp_err *err)
{
    rp_cleanup(rp_build_result_free) struct rp_build_result built = {0};
    rp_autofree char *reason = NULL;
    int rc = rp_compile(command, v->file, gpu, hsaco, &built, err);

    if (rc < 0 || built.ok)
        return rc;
    reason = rp_build_result_reason(&built);
    return rp_fail(err, RP_VERDICT, "%s does not compile for %s%s: %s", v->path, gpu,
                   rp_compile_command_hint(command), reason ? reason : built.why);
}

/** Takes the code object of one GPU out of a bundle. */
static int unpack(const struct rp_version *v, const char *gpu, const char *hsaco,
                  struct rp_err *err)
{
    rp_autofree void *bytes = NULL;
    const uint8_t *part;
    size_t size;
    int rc = rp_read_file(v->file, MOST_BYTES, RP_BAD_INPUT, &bytes, &size, err);

    if (rc < 0)
        return rc;
    rc = rp_bundle_find(bytes, size, gpu, &part, &size, err);
    if (rc < 0)
        return rp_wrap(err, "%s %s", v->option, v->file);
    return rp_write_private_file(hsaco, part, size, err);
}

int rp_version_check(const struct rp_version *version, struct rp_err *err)
{
    char now[RP_SHA256_TEXT];
    int rc = rp_sha256_file(version->file, now, err);

    if (rc < 0 || strcmp(now, version->file_sha256) == 0)
        return rc;
    return rp_fail(err, RP_BAD_INPUT,
                   "%s: %s was changed while it was judged: judge it again when it is finished",
                   version->option, version->path);
}

int rp_version_make(struct rp_version *version, const struct rp_compile_command *command,
                    const char *gpu, const char *hsaco, struct rp_err *err)
{
    int rc = version->is_source ? compile(version, command, gpu, hsaco, err)
                                : unpack(version, gpu, hsaco, err);

    if (rc == 0)
        rc = rp_version_check(version, err);
    if (rc == 0)
        rc = rp_sha256_file(hsaco, version->hsaco_sha256, err);
    if (rc == 0)
        version->hsaco = rp_strdup(hsaco);
    return rc;
}
