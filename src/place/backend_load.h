/* backend_load.h - the backend that is a library of its own, CUDA's.
 *
 * Its code runs in the caller's process, so nobody else may choose the file. Paths are
 * looked at in this order, and the first file found has to be the backend:
 *
 *     1. the environment variable SEXTANT_CUDA: an absolute path, and then the only one
 *     2. libsextant-cuda.so in the folder of the file that has this library inside
 *     3. ... in the folder of the program
 *     4. ... in the folder that libraries are installed in (SX_LIBDIR)
 *
 * A process with more rights than its user (setuid, capabilities) looks at the last
 * one only. All paths are absolute and are set at the first use: neither the working
 * directory nor the program's name for itself (argv[0]) can change them, then or later. */
#ifndef SX_BACKEND_LOAD_H
#define SX_BACKEND_LOAD_H

#include "place/backend.h"

/* The library is loaded once and never unloaded, since its runtime keeps threads and memory
 * of its own. device: the name asked for. */
sx_status sx_load_cuda(const sx_backend **out, const char *device, sx_err *err);

#endif
