/* cmd_at.c - sextant at: what is at given ranks in the order of the keys. */
#include <stdlib.h>

#include "opts.h"
#include "ranks.h"
#include "say.h"
#include "verbs.h"

static sx_column given_ranks(const void *context, uint64_t keys)
{
    const operand_list *words = context;
    uint64_t *ranks = must_alloc(words->n, 8);

    (void)keys;                   /* a rank past the end is a dash */
    for (unsigned i = 0; i < words->n; i++)
        if (!parse_size(words->word[i], &ranks[i]))
            fail_usage("RANK is a number below 2^64 such as 1000, 2^24 or 1e6, not '%s'",
                       words->word[i]);
    return column_over(SX_U64, words->n, ranks);
}

int cmd_at(int argc, char **argv)
{
    rank_options o = { .out = "-" };
    operand_list ranks = { 0 };
    const operand operands[] = { OPERAND("INDEX", &o.index), OPERANDS("RANK", &ranks),
                                 OPERAND_END };
    const option options[] = { OPTIONS_RANKS(&o), OPTION_END };
    const command_line line = { "Prints row and key at ranks of an index: 0 is the least "
                                "key; '-' past the end.", operands, options };

    int status;

    parse_arguments(&line, argc, argv);
    status = print_ranks(&o, given_ranks, &ranks);
    free(ranks.word);
    return status;
}
