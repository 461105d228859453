/* What a fuzz target checks: assert() is nothing in a release build, which these are. */
#ifndef RP_TESTS_FUZZ_MUST_H
#define RP_TESTS_FUZZ_MUST_H

#include <stdbool.h>
#include <stdlib.h>

static inline void must(bool holds)
{
    if (!holds)
        abort();
}

#endif
