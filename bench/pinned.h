/* pinned.h - memory of the host that a GPU reads and writes by itself. */
#ifndef CLI_PINNED_H
#define CLI_PINNED_H

#include <stdbool.h>
#include <stddef.h>

/* Pins memory, with the driver of the GPU that this thread has worked with
 * last. False, and *why a sentence: it can't be done. */
bool pin(void *memory, size_t bytes, const char **why);
void unpin(void *memory);

#endif
