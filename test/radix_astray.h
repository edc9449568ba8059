/* radix_astray.h - files of radix trees whose nodes lead anywhere, for tests that every walk ends. */
#ifndef RADIX_ASTRAY_H
#define RADIX_ASTRAY_H

#include "forge.h"
#include "on_device.h"

/* Every 8 bytes of some nodes become an entry that leads back, to the same node, far away, or to
 * a kind that there is not. */
static inline void lead_astray(unsigned char *nodes, uint64_t bytes, unsigned how, rnd *r)
{
    for (uint64_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t kind = rnd_below(r, 16), depth = rnd_below(r, 20), at = 0;
        if (rnd_below(r, 3) == 0)
            continue;
        at = how == 0 ? 0 : how == 1 ? 0xffffffffffull - rnd_below(r, 200) : rnd_below(r, bytes / 8);
        put(nodes + i, kind << 48 | depth << 40 | at | rnd_below(r, 2) << 63, 8);
    }
}

/* Such a file of these keys, whose checksums are right: its path, to be freed. how: 0, 1, 2. */
static inline char *astray_file(sx_device *cpu, dataset *d, unsigned how, rnd *r)
{
    char *path = temp_path("astray.sxt");
    sx_index *ix = NULL;
    size_t bytes;
    uint64_t its = 0;
    assert_int_equal(data_build(d, cpu, "radix(leaf=1)", NULL, &ix), SX_OK);
    specimen s = { .file = saved_bytes(ix, path, &bytes) };
    sx_free(ix);
    unsigned char *nodes = section(&s, "nodes", &its);
    assert_non_null(nodes);
    lead_astray(nodes, its, how, r);
    seal_sections(s.file, bytes);
    seal_header(s.file, bytes);
    write_file(path, s.file, bytes);
    free(s.file);
    return path;
}

#endif
