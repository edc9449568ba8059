/* pinned.h - memory of the host that a GPU reads and writes by itself. */
#ifndef CLI_PINNED_H
#define CLI_PINNED_H

#include <stdbool.h>
#include <stddef.h>

/* Pins memory, with the driver of the GPU that this thread used last. False:
 * it can't be done, and *why is a sentence. */
bool pin(void *memory, size_t bytes, const char **why);
void unpin(void *memory);

#endif
