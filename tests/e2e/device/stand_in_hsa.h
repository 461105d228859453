/* What stand_in_hsa.c has been asked. */
#ifndef STAND_IN_HSA_H
#define STAND_IN_HSA_H

#include <stdint.h>

struct stand_in_signal {
    uint64_t handle;
};

extern struct stand_in_calls {
    unsigned count;
    uint64_t timeout; /* of the last one */
} stand_in_calls;

int64_t hsa_signal_wait_scacquire(struct stand_in_signal signal, int condition, int64_t compare,
                                  uint64_t timeout, int hint);
int64_t hsa_signal_wait_relaxed(struct stand_in_signal signal, int condition, int64_t compare,
                                uint64_t timeout, int hint);
int hsa_system_get_info(int attribute, void *value);

#endif
