/* Two functions of an HSA runtime whose signals never change; see other_waits.c. */
#include "stand_in_hsa.h"

struct stand_in_calls stand_in_calls;

static int64_t note(uint64_t timeout)
{
    stand_in_calls.count++;
    stand_in_calls.timeout = timeout;
    return 1;
}

int64_t hsa_signal_wait_scacquire(struct stand_in_signal signal, int condition, int64_t compare,
                                  uint64_t timeout, int hint)
{
    (void)signal, (void)condition, (void)compare, (void)hint;
    return note(timeout);
}

int64_t hsa_signal_wait_relaxed(struct stand_in_signal signal, int condition, int64_t compare,
                                uint64_t timeout, int hint)
{
    (void)signal, (void)condition, (void)compare, (void)hint;
    return note(timeout);
}

int hsa_system_get_info(int attribute, void *value)
{
    (void)attribute;
    *(uint64_t *)value = 1000000000; /* ticks of timeouts in a second */
    return 0;
}
