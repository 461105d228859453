/* Mappings of the program reach whoever stands in front of mmap() behind the device's library. */
#include "count_mmap.h"

#include <stdio.h>
#include <sys/mman.h>

int main(void)
{
    int before = count_mmap_calls();
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || mmap(NULL, 0, PROT_READ, MAP_PRIVATE, -1, 0) != MAP_FAILED) {
        puts("FAILED: mmap does not do what mmap does");
        return 1;
    }
    page[4095] = 1;
    if (count_mmap_calls() != before + 2) {
        printf("FAILED: %d of 2 calls seen\n", count_mmap_calls() - before);
        return 1;
    }
    return munmap(page, 4096);
}
