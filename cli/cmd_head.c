/* cmd_head.c - sextant head: the first keys of an index. */
#include "opts.h"
#include "ranks.h"
#include "verbs.h"

static sx_column first_ranks(const void *context, uint64_t keys)
{
    uint64_t wanted = *(const uint64_t *)context, n = wanted < keys ? wanted : keys;

    return ranks_from(0, n);
}

int cmd_head(int argc, char **argv)
{
    rank_options o = { .out = "-" };
    uint64_t n = 10;
    const operand operands[] = { OPERAND("INDEX", &o.index), OPERAND_END };
    const option options[] = {
        { "--n", 'n', OPT_COUNT, "N", &n, "how many (10)" },
        OPTIONS_RANKS(&o), OPTION_END
    };
    const command_line line = { "Prints row and key of the first keys of an index, in "
                                "ascending order.", operands, options };

    parse_arguments(&line, argc, argv);
    return print_ranks(&o, first_ranks, &n);
}
