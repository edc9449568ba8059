/* matrix.h - everything times everything, for sextant devices --matrix. */
#ifndef CLI_MATRIX_H
#define CLI_MATRIX_H

#include <stdbool.h>
#include <stdio.h>

/* Every family, key type, verb, place and backend: tested, or the reason why it
 * can't be. As text a table per family; as JSON an object per cell. */
void print_matrix(FILE *to, bool as_json);

#endif
