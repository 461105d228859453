#include "optimize/source_kernels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/compile.h"
#include "optimize/compile_command.h"
#include "trace/code_object.h"

void rp_source_kernels_free(struct rp_source_kernels *kernels)
{
    for (size_t i = 0; i < kernels->count; i++)
        free(kernels->symbols[i]);
    free(kernels->symbols);
    *kernels = (struct rp_source_kernels){0};
}

static int add(struct rp_source_kernels *kernels, const char *name, size_t bytes,
               struct rp_err *err)
{
    char **more = reallocarray(kernels->symbols, kernels->count + 1, sizeof *more);

    if (!more)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    kernels->symbols = more;
    more[kernels->count] = strndup(name, bytes);
    if (!more[kernels->count])
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    kernels->count++;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int rp_source_kernels_of(const uint8_t *bytes, size_t size, struct rp_source_kernels *ret,
                         struct rp_err *err)
{
    rp_cleanup(rp_source_kernels_free) struct rp_source_kernels kernels = {0};
    struct rp_code_symbols symbols;
    struct rp_code_elf elf;

    if (!rp_code_elf_open(bytes, size, &elf))
        return rp_fail(err, RP_BAD_INPUT, "not a code object");
    if (!rp_code_elf_symbols(&elf, &symbols))
        return rp_fail(err, RP_BAD_INPUT, "a damaged code object");
    for (size_t i = 0; i < symbols.count; i++) {
        Elf64_Sym symbol;
        const char *name = rp_code_symbol(&symbols, i, &symbol);

        if (name && rp_code_symbol_is_kernel(name) &&
            add(&kernels, name, strlen(name) - strlen(".kd"), err) < 0)
            return -(int)err->code;
    }
    if (kernels.count > 0)
        qsort(kernels.symbols, kernels.count, sizeof *kernels.symbols, by_name);
    *ret = kernels;
    kernels = (struct rp_source_kernels){0};
    return 0;
}

static int read_object(const char *path, struct rp_source_kernels *ret, struct rp_err *err)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *elf;
    int rc;

    if (fd < 0 || fstat(fd, &st) < 0)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", path);
    if (st.st_size == 0)
        return rp_fail(err, RP_BAD_INPUT, "the compiler made an empty code object");
    elf = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (elf == MAP_FAILED)
        return rp_fail_errno(err, RP_ENVIRONMENT, errno, "%s", path);
    rc = rp_source_kernels_of(elf, (size_t)st.st_size, ret, err);
    munmap(elf, (size_t)st.st_size);
    return rc;
}

int rp_source_kernels(const struct rp_compile_command *command, const char *source,
                      const char *arch, struct rp_source_kernels *ret, struct rp_err *err)
{
    rp_cleanup(rp_temporary_folder_remove) char *folder = NULL;
    rp_autofree char *object = NULL;
    rp_cleanup(rp_built_free) struct rp_built built = {0};
    rp_autofree char *reason = NULL;

    if (rp_temporary_folder(&folder, err) < 0)
        return -(int)err->code;
    object = rp_path_join(folder, "device.co");
    if (!object)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    if (rp_compile(command, source, arch, object, &built, err) < 0)
        return -(int)err->code;
    if (!built.ok) {
        reason = rp_built_reason(&built);
        return rp_fail(err, RP_BAD_INPUT, "%s does not compile%s: %s", source,
                       rp_compile_command_doubt(command), reason ? reason : built.why);
    }
    return read_object(object, ret, err);
}
