/* machine.h - what this processor can do, and its clock. */
#ifndef SX_MACHINE_H
#define SX_MACHINE_H

#include "base/status.h"

#include <pthread.h>

typedef enum { SX_SCALAR, SX_AVX2, SX_AVX512, SX_SIMD_LEVELS } sx_simd;

const char *sx_simd_name(sx_simd level);
/* The widest level that this processor and its system support. */
sx_simd sx_simd_best(void);
/* Whether one instruction reads many elements as fast as it was meant to. On some
 * processors it does not, since a fault of theirs was mended in software. */
int sx_gathers_fast(void);
unsigned sx_cpu_count(void);      /* processors this process may use */
uint64_t sx_memory_bytes(void);
void sx_cpu_model(char *text, size_t space);
uint64_t sx_clock_ns(void);       /* steady */
uint64_t sx_machine_ns(void);     /* the same, whatever a test puts in its place */
/* For tests of decisions that depend on time: a clock in place of the machine's; NULL: the
 * machine's again. */
void sx_clock_replace(uint64_t (*clock_ns)(void));
/* Waits for a condition, whose clock is CLOCK_MONOTONIC, until sx_clock_ns() is `ns`. It may
 * return earlier, as every wait for a condition may, so the caller looks at the clock again. */
void sx_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t ns);

#endif
