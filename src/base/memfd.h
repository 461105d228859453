/**
 * @file memfd.h
 * @brief A file in memory, also where the administrator forbids those that could be executed.
 */
#ifndef RP_BASE_MEMFD_H
#define RP_BASE_MEMFD_H

#include <errno.h>
#include <sys/mman.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u /* The flag is in linux/memfd.h since Linux 6.3. */
#endif

/** Does what memfd_create() does. Where vm.memfd_noexec is 2, Linux 6.3 to 6.5 refuse a file that
 * is not declared never to be executed, and older kernels do not know that flag. Nobody may rely on
 * the right to execute the file. It keeps errno on success. */
static inline int rp_memfd(const char *name, unsigned flags)
{
    const int errno_before = errno;
    int fd = memfd_create(name, flags);

    if (fd < 0 && errno == EACCES)
        fd = memfd_create(name, flags | MFD_NOEXEC_SEAL);
    if (fd >= 0)
        errno = errno_before;
    return fd;
}

#endif
