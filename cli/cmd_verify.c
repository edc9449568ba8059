/* cmd_verify.c - sextant verify: the checksums and every invariant. */
#include "io.h"
#include "json.h"
#include "open.h"
#include "opts.h"
#include "progress.h"
#include "say.h"
#include "verbs.h"

int cmd_verify(int argc, char **argv)
{
    open_options o = { 0 };
    const char *index;
    bool as_json = false;
    const operand operands[] = { OPERAND("INDEX", &index), OPERAND_END };
    const option options[] = {
        OPTIONS_OPEN_INDEX(&o, &as_json),
        OPTION_END
    };
    const command_line line = { "Proves that an index file is whole and the "
                                "index in it sound.", operands, options };
    sx_call call = { .size = sizeof call, .tick = progress_tick };
    sx_index_info info;
    sx_index *ix;
    output out;

    parse_arguments(&line, argc, argv);
    progress_start("verifying", 0);
    ix = open_index(&o, index, SX_LOAD_VERIFY);
    progress_start("checking", 0);
    expect_ok(sx_check(ix, &call), index);
    progress_stop();
    info = describe(ix);
    out = output_open("-");
    if (as_json) {
        json j = json_line(out.to);

        json_bool(&j, "ok", true);
        json_string(&j, "file", index);
        json_string(&j, "spec", info.spec);
        json_string(&j, "type", sx_type_name(info.key_type));
        json_unsigned(&j, "n", info.n);
        json_unsigned(&j, "bytes", info.bytes);
        json_end_line(&j);
    } else {
        fprintf(out.to, "ok: %s: %llu %s keys, %s, %llu bytes\n", index,
                (unsigned long long)info.n, sx_type_name(info.key_type),
                info.spec, (unsigned long long)info.bytes);
    }
    output_close(&out);
    sx_free(ix);
    return EXIT_OK;
}
