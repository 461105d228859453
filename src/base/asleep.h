/**
 * @file asleep.h
 * @brief Whether a thread waits for something, or only for a processor.
 */
#ifndef RP_BASE_ASLEEP_H
#define RP_BASE_ASLEEP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/** Of a thread of this process, at this moment. True also when it cannot be told. */
static inline bool rp_thread_asleep(uint32_t tid)
{
    char path[64], stat[256];
    const char *name_end;
    size_t count;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%" PRIu32 "/stat", tid);
    file = fopen(path, "re");
    if (!file)
        return true;
    count = fread(stat, 1, sizeof(stat) - 1, file);
    fclose(file);
    stat[count] = 0;
    name_end = strrchr(stat, ')'); /* the name may hold any character */
    return !name_end || strncmp(name_end, ") S", 3) == 0;
}

#endif
