/* networks.h - an index of networks: the most specific one that holds an address.
 *
 * Networks nest, so they are cut into pieces that don't:
 *
 *     row 0   10.0.0.0/8        |-----------------------------|
 *     row 1   10.1.0.0/16            |---------|
 *     row 2   10.1.2.0/24               |--|
 *
 *     keys    10.0.0.0          |    |  |  |   |              | 11.0.0.0
 *     rows                      0    1  2  1   0              none
 *
 * A key is where a piece begins; its row is that of the network that owns the
 * piece. Behind a network that lies in no other the row is `none`, one more than the
 * greatest row, which a note of the index tells. So a floor lookup is all that a
 * question takes. Of equal networks the first one counts. */
#ifndef CLI_NETWORKS_H
#define CLI_NETWORKS_H

#include "io.h"

#define NOTE_NONE "none"          /* the row that means no network */

typedef struct {
    sx_column keys, rows;         /* of the pieces; data to be freed */
    uint64_t none;
    uint64_t networks;            /* that were read */
} pieces;

/* Reads networks from text files. rows: theirs, as read_rows() gives them, or NULL
 * for positions. */
pieces read_networks(const char *const *paths, unsigned n, const reading *how,
                     const sx_column *rows, text_facts *facts);

#endif
