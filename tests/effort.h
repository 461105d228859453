#ifndef RP_TESTS_EFFORT_H
#define RP_TESTS_EFFORT_H

/* How many random cases of @p n in the plain build: a quarter with sanitizers, which take several
 * times as long for each and look for mistakes that do not wait for the rarest values. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RP_EFFORT(n) ((n) / 4)
#else
#define RP_EFFORT(n) (n)
#endif

#endif
