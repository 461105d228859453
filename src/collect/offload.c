#include "collect/offload.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

typedef void note_fn(struct rp_bundle_fit *fit, const uint8_t *at, size_t bytes);

/* Every place of the file that begins with the magic. */
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
