/*
 * Clang puts device code into bundles (Clang Offload Bundler, "Binary layout"): a magic string, the
 * number of entries, and for each entry offset, size, length of its target's name, and the name.
 */
#include "collect/offload.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";

enum { MAGIC_BYTES = sizeof magic - 1, ENTRY_BYTES = 24, MOST_ENTRIES = 256, NAME_LIMIT = 128 };

struct scan {
    const char *gfx;
    bool suits;   /* whatever XNACK is */
    bool on, off; /* there is code for the GPU with XNACK so */
    char *targets;
    size_t room, used;
};

static uint64_t word(const uint8_t *p)
{
    uint64_t value;

    memcpy(&value, p, sizeof value);
    return value;
}

/* "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" */
static void note_target(struct scan *s, const char *name)
{
    const char *gfx = strstr(name, "gfx");
    char target[NAME_LIMIT];

    if (strstr(name, "spirv") || strstr(name, "generic"))
        s->suits = true;
    if (!gfx)
        return;
    snprintf(target, sizeof target, "%.*s", (int)strcspn(gfx, ":"), gfx);
    if (strcmp(target, s->gfx) == 0) {
        bool on = strstr(gfx, ":xnack+"), off = strstr(gfx, ":xnack-");

        s->on |= on;
        s->off |= off;
        s->suits |= !on && !off;
    }
    if (strstr(s->targets, target))
        return;
    int n = snprintf(s->targets + s->used, s->room - s->used, "%s%s", s->used ? ", " : "", target);
    if (n > 0 && (size_t)n < s->room - s->used)
        s->used += (size_t)n;
    else
        s->targets[s->used] = '\0';
}

/* The entries of one bundle that begins at @p at. */
static void scan_bundle(struct scan *s, const uint8_t *at, size_t bytes)
{
    size_t offset = MAGIC_BYTES + 8;

    if (bytes < offset)
        return;
    uint64_t count = word(at + MAGIC_BYTES);
    for (uint64_t i = 0; i < count && i < MOST_ENTRIES && bytes - offset >= ENTRY_BYTES; i++) {
        uint64_t length = word(at + offset + 16);
        char name[NAME_LIMIT];

        offset += ENTRY_BYTES;
        if (length >= sizeof name || length > bytes - offset)
            return;
        memcpy(name, at + offset, length);
        name[length] = '\0';
        offset += length;
        if (!strncmp(name, "hip", 3))
            note_target(s, name);
    }
}

enum rp_offload_fit rp_offload_fit(const char *path, const char *gfx, bool xnack, char *ret_targets,
                                   size_t room)
{
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    char targets[256] = "";
    struct scan s = {.gfx = gfx, .targets = targets, .room = sizeof targets};
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
        return RP_OFFLOAD_FITS;
    size_t bytes = (size_t)st.st_size;
    uint8_t *file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return RP_OFFLOAD_FITS;
    const uint8_t *at = file;
    while ((at = memmem(at, bytes - (size_t)(at - file), magic, MAGIC_BYTES))) {
        scan_bundle(&s, at, bytes - (size_t)(at - file));
        at += MAGIC_BYTES;
    }
    munmap(file, bytes);
    if (s.suits || !s.used || (xnack ? s.on : s.off))
        return RP_OFFLOAD_FITS;
    if (s.on || s.off)
        return s.on ? RP_OFFLOAD_XNACK_ON : RP_OFFLOAD_XNACK_OFF;
    snprintf(ret_targets, room, "%s", targets);
    return RP_OFFLOAD_OTHER_GPU;
}
