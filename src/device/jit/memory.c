#include "memory.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* System calls, not mmap(): the library has its own of that name for the program. */
void *rp_jit_memory_new(const uint8_t *code, size_t bytes)
{
    long mapped =
        syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == -1)
        return NULL;
    void *memory = (void *)mapped;
    memcpy(memory, code, bytes);
    if (syscall(SYS_mprotect, memory, bytes, PROT_READ | PROT_EXEC) < 0) {
        rp_jit_memory_free(memory, bytes);
        return NULL;
    }
    return memory;
}

void rp_jit_memory_free(void *memory, size_t bytes)
{
    syscall(SYS_munmap, memory, bytes);
}
