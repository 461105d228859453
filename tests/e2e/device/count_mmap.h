/* A library that stands in front of mmap(), as memory checkers and other profilers do. */
#ifndef COUNT_MMAP_H
#define COUNT_MMAP_H

/** How many calls have come through it. */
int count_mmap_calls(void);

#endif
