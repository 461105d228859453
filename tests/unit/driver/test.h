/* What every cmocka program needs, in the order it needs it. */
#ifndef TESTS_UNIT_KFD_TEST_H
#define TESTS_UNIT_KFD_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
