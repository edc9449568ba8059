/* cmd_devices.c - sextant devices: where indexes can live. */
#include "io.h"
#include "json.h"
#include "matrix.h"
#include "opts.h"
#include "say.h"
#include "verbs.h"

static void print_json(FILE *to, const sx_device_info *info)
{
    json j = json_line(to);

    json_string(&j, "name", info->name);
    json_bool(&j, "usable", info->usable);
    json_string(&j, "detail", info->detail);
    json_unsigned(&j, "threads", info->threads);
    json_unsigned(&j, "memory", info->memory);
    json_end_line(&j);
}

static void print_text(FILE *to, const sx_device_info *info)
{
    fprintf(to, "%s%-12s%s ", bold(to), info->name, plain(to));
    if (info->usable)
        fprintf(to, "%s, %.1f GiB\n", info->detail,
                (double)info->memory / (1 << 30));
    else
        fprintf(to, "not usable: %s\n", info->detail);
}

static void list_devices(FILE *to, bool as_json)
{
    sx_device_info info = { .size = sizeof info };
    sx_status status;

    for (unsigned i = 0; (status = sx_device_at(i, &info)) == SX_OK; i++)
        (as_json ? print_json : print_text)(to, &info);
    if (status != SX_ENODEV)      /* it ends the list */
        expect_ok(status, NULL);
}

int cmd_devices(int argc, char **argv)
{
    bool as_json = false, matrix = false;
    const operand operands[] = { OPERAND_END };
    const option options[] = {
        { "--matrix", 0, OPT_FLAG, 0, &matrix,
          "what can be done with which index where; why not else" },
        OPTION_JSON(&as_json), OPTION_END
    };
    const command_line line = { "Lists the devices of this machine, or what can be done on which.",
                                operands, options };
    output out;

    parse_arguments(&line, argc, argv);
    out = output_open("-");
    (matrix ? print_matrix : list_devices)(out.to, as_json);
    output_close(&out);
    return EXIT_OK;
}
