/*
 * A program whose HSA runtime does not use our device (it is off, or was never opened): waits go to
 * the runtime as they are, because nobody would wake them and they are not ours to delay.
 */
#include <stdio.h>

#include "stand_in_hsa.h"

enum { LESS = 2, TIMEOUT = 20 * 1000 * 1000, BLOCKED = 0 };

static int passes(const char *name, int64_t value)
{
    printf("%s: %u calls, the last for %llu ticks\n", name, stand_in_calls.count,
           (unsigned long long)stand_in_calls.timeout);
    int good = value == 1 && stand_in_calls.count == 1 && stand_in_calls.timeout == TIMEOUT;
    stand_in_calls = (struct stand_in_calls){0};
    return good;
}

int main(void)
{
    const struct stand_in_signal signal = {1};
    int good = passes("scacquire", hsa_signal_wait_scacquire(signal, LESS, 1, TIMEOUT, BLOCKED));
    good &= passes("relaxed", hsa_signal_wait_relaxed(signal, LESS, 1, TIMEOUT, BLOCKED));
    return !good;
}
