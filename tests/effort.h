#ifndef RP_TESTS_EFFORT_H
#define RP_TESTS_EFFORT_H

/* GCC defines a macro for a sanitizer, clang before 21 has a feature alone. */
#ifdef __has_feature
#define RP_HAS_FEATURE(name) __has_feature(name)
#else
#define RP_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || RP_HAS_FEATURE(address_sanitizer)
#define RP_WITH_ASAN 1
#else
#define RP_WITH_ASAN 0
#endif

#if RP_WITH_ASAN || defined(__SANITIZE_THREAD__) || RP_HAS_FEATURE(thread_sanitizer)
#define RP_WITH_SANITIZER 1
#else
#define RP_WITH_SANITIZER 0
#endif

/* How many random cases of @p n in the plain build: a quarter with sanitizers, which take several
 * times as long for each and look for mistakes that do not wait for the rarest values. */
#define RP_EFFORT(n) (RP_WITH_SANITIZER ? (n) / 4 : (n))

#endif
