/* cmd_explain.c - sextant explain: how an index is made up. */
#include <stdlib.h>
#include <string.h>

#include "io.h"
#include "json.h"
#include "open.h"
#include "opts.h"
#include "say.h"
#include "verbs.h"

int cmd_explain(int argc, char **argv)
{
    open_options o = { 0 };
    const char *index;
    bool as_json = false;
    const operand operands[] = { OPERAND("INDEX", &index), OPERAND_END };
    const option options[] = {
        OPTIONS_OPEN_INDEX(&o, &as_json),
        OPTION_END
    };
    const command_line line = { "Says how an index is made up: its spec, its "
                                "sections, their bytes.", operands, options };
    output out;
    sx_index *ix;
    char *text;

    parse_arguments(&line, argc, argv);
    ix = open_index(&o, index, 0);
    text = explanation(ix, as_json ? SX_JSON : SX_TEXT);
    out = output_open("-");
    if (as_json)
        json_squeeze(out.to, text);
    else
        fputs(text, out.to);
    if (as_json || !*text || text[strlen(text) - 1] != '\n')
        fputc('\n', out.to);
    output_close(&out);
    free(text);
    sx_free(ix);
    return EXIT_OK;
}
