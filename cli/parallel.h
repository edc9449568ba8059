/* parallel.h - a loop by as many threads as there are processors. */
#ifndef CLI_PARALLEL_H
#define CLI_PARALLEL_H

#include <stdint.h>

/* Elements that one thread does in one go. So results that depend on the part's
 * number do not depend on the number of threads. */
#define PARALLEL_PART (1ull << 20)

/* Calls body() for [0, n), part by part: elements from..to-1 are part number
 * from / PARALLEL_PART. */
void parallel_for(uint64_t n,
                  void (*body)(void *context, uint64_t from, uint64_t to),
                  void *context);

#endif
