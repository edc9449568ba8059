/* inspect.c - devices, and what an index is made of. */
#include "query/index.h"

#include "base/cancel.h"
#include "base/text.h"
#include "family/index_check.h"
#include "family/slots.h"

#include <inttypes.h>
#include <string.h>

/* ---- devices ------------------------------------------------------------------ */

sx_status sx_open(sx_device **out, const char *name)
{
    SX_UNCANCELLED;
    sx_err err;
    sx_device *dev = NULL;
    sx_status st = sx_need(out, "sx_open", "the output", &err);

    if (st == SX_OK)
        st = sx_device_open(&dev, name, &err);
    if (st == SX_OK)
        *out = dev;
    return sx_report(&err, st);
}

void sx_close(sx_device *dev)
{
    SX_UNCANCELLED;
    if (dev)
        sx_device_drop(dev);
}

static sx_status check_device_info(const sx_device_info *info, const char *verb, sx_err *err)
{
    sx_status st = sx_need(info, verb, "the output", err);

    return st == SX_OK ? sx_check_struct(info, SX_DEVICE_INFO_SIZE_1, verb, "sx_device_info", err)
                       : st;
}

sx_status sx_device_at(unsigned i, sx_device_info *info)
{
    SX_UNCANCELLED;
    sx_err err;
    sx_device_info own = {.size = sizeof own};
    sx_status st = check_device_info(info, "sx_device_at", &err);

    if (st == SX_OK && !sx_device_known(i, &own))
        st = sx_fail(&err, SX_ENODEV, "sx_device_at: there is no device number %u", i);
    if (st == SX_OK)
        sx_give_struct(info, &own, sizeof own);
    return sx_report(&err, st);
}

sx_status sx_device_describe(const sx_device *dev, sx_device_info *info)
{
    SX_UNCANCELLED;
    sx_err err;
    sx_device_info own = {.size = sizeof own};
    sx_status st = sx_need(dev, "sx_device_describe", "the device", &err);

    if (st == SX_OK)
        st = check_device_info(info, "sx_device_describe", &err);
    if (st == SX_OK) {
        dev->backend->describe(dev->self, &own);
        sx_give_struct(info, &own, sizeof own);
    }
    return sx_report(&err, st);
}

/* ---- an index -------------------------------------------------------------------- */

static void describe(const sx_index_version *now, sx_index_info *info)
{
    const sx_run *run = sx_one_run(now);

    info->n = now->n;
    info->max_row = now->max_row;
    info->bytes = sx_run_bytes(run);
    info->key_type = now->key_type;
    info->row_type = now->max_row < SX_MISS32 ? SX_U32 : SX_U64;
    info->unique = run->info.spec.unique;
    info->implicit_rows = run->replica[0].view.row_bytes == 0;
    sx_spec_print(&run->info.spec, info->spec);
}

sx_status sx_describe(const sx_index *ix, sx_index_info *out)
{
    sx_err err;
    sx_index_info own = {.size = sizeof own}, *info = &own;
    sx_hold held;
    sx_status st = sx_need(ix, "sx_describe", "the index", &err);

    if (st == SX_OK)
        st = sx_need(out, "sx_describe", "the output", &err);
    if (st == SX_OK)
        st = sx_check_struct(out, SX_INDEX_INFO_SIZE_1, "sx_describe", "sx_index_info", &err);
    if (st != SX_OK)
        return sx_report(&err, st);
    held = sx_hold_version(ix);
    describe(held.now, info);
    sx_let_go(ix, &held);
    sx_give_struct(out, info, sizeof *info);
    return SX_OK;
}

static sx_status check(const sx_index_version *now, const sx_call *call, sx_err *err)
{
    const sx_run *run = sx_one_run(now);
    sx_call how;
    sx_store host;
    sx_progress memory, *progress = NULL;
    sx_status st = sx_check_work(call, now->dev, 0, &how, "sx_check", err);

    if (st == SX_OK)
        st = sx_check_copy(now, &how, 0, "sx_check", err);
    if (st == SX_OK) {
        progress = sx_progress_begin(&memory, &how, "sx_check");
        sx_progress_phase(progress, run->replica[0].dev->backend->gpu ? SX_PART_COPIED : 0);
        st = sx_run_on_host(run, &host, progress, err);
    }
    if (st == SX_OK) {
        sx_progress_phase(progress, SX_PROGRESS_ALL);
        st = sx_index_check(&host.view, host.key_type, host.max_row, (int)host.spec.unique,
                            progress, err);
        if (st == SX_OK)
            st = sx_run_compare(run, &host, err);
        sx_run_leave(run, &host);
    }
    sx_progress_end(progress, st);
    return st;
}

sx_status sx_check(const sx_index *ix, const sx_call *call)
{
    SX_UNCANCELLED;
    sx_err err;
    sx_hold held;
    sx_status st = sx_need(ix, "sx_check", "the index", &err);

    if (st == SX_OK) {
        held = sx_hold_version(ix);
        st = check(held.now, call, &err);
        sx_let_go(ix, &held);
    }
    return sx_report(&err, st);
}

static double per_key(const sx_index_version *now)
{
    return now->n ? (double)sx_run_bytes(sx_one_run(now)) / (double)now->n : 0;
}

/* Bytes of a section that are on the device as well as on the host. */
static uint64_t also_on_device(const sx_run *run, unsigned kind)
{
    const sx_view *v = &run->replica[0].view;
    uint32_t place = sx_run_place(run);

    return place == SX_PLACE_BOTH     ? sx_section_bytes(v, kind)
           : place == SX_PLACE_HYBRID ? sx_upper_bytes(v, kind)
                                      : 0;
}

static void explain_sections(const sx_run *run, sx_text *t)
{
    const sx_view *v = &run->replica[0].view;

    for (unsigned kind = 0; kind < SX_SECTIONS; kind++) {
        uint64_t bytes = sx_section_bytes(v, kind), there = also_on_device(run, kind);
        if (bytes == 0)
            continue;
        sx_text_add(t, "section  %-7s %" PRIu64 " bytes", sx_section_name(v, kind), bytes);
        if (sx_run_section(run, kind) > bytes)
            sx_text_add(t, ", and %" PRIu64 " to grow", sx_run_section(run, kind) - bytes);
        if (there == bytes)
            sx_text_add(t, ", on the host and on the device");
        else if (there > 0)
            sx_text_add(t, ", on the host; the first %" PRIu64 " also on the device", there);
        else if (sx_run_place(run) == SX_PLACE_HYBRID)
            sx_text_add(t, ", on the host");
        sx_text_add(t, "\n");
    }
}

static void explain_notes(const sx_notes *notes, sx_format format, sx_text *t)
{
    const char *name, *value;

    if (format == SX_JSON && notes->bytes > 0)
        sx_text_add(t, ", \"notes\": {");
    for (unsigned i = 0; sx_notes_at(notes, i, &name, &value); i++) {
        if (format == SX_JSON) {
            sx_text_add(t, i > 0 ? ", " : "");
            sx_text_json(t, name);
            sx_text_add(t, ": ");
            sx_text_json(t, value);
        } else {
            sx_text_add(t, "note     ");
            sx_text_line(t, name);
            sx_text_add(t, "=");
            sx_text_line(t, value);
            sx_text_add(t, "\n");
        }
    }
    if (format == SX_JSON && notes->bytes > 0)
        sx_text_add(t, "}");
}

static void explain_place(const sx_run *run, sx_text *t)
{
    uint32_t place = sx_run_place(run);

    if (place == SX_PLACE_HYBRID)
        sx_text_add(t, "place    hybrid: the upper part on the device, %" PRIu64 " bytes; all on the "
                    "host\n", run->replica[1].block_bytes);
    else if (place == SX_PLACE_BOTH)
        sx_text_add(t, "place    both: all on the device, and all on the host\n");
    else
        sx_text_add(t, "place    %s\n", sx_place_name(place));
}

/* Where the memory of replica 0 is. */
static const char *memory_of(const sx_run *run)
{
    uint32_t place = sx_run_place(run);

    return run->replica[0].map        ? "mapped from a file"
           : place == SX_PLACE_BOTH   ? "on the device, and as many on the host"
           : place == SX_PLACE_DEVICE ? "on the device"
                                      : "on the host";
}

static void explain_text(const sx_index_version *now, const sx_notes *notes,
                         const sx_index_info *info, const sx_device_info *dev, sx_text *t)
{
    const sx_run *run = sx_one_run(now);
    const sx_run_info *s = &run->info;
    const sx_view *v = &run->replica[0].view;

    sx_text_add(t, "spec     %s\n", info->spec);
    sx_text_add(t, "family   %s: %s\n", sx_family_of(v->family)->name, sx_family_of(v->family)->what);
    sx_text_add(t, "keys     %" PRIu64 " of type %s, searched as %u-byte unsigned keys%s\n", v->ranks,
                sx_type_name(s->key_type), v->width, s->spec.unique ? ", unique" : "");
    if (v->strings.offset_bytes)
        sx_text_add(t, "strings  %" PRIu64 " bytes; codes begin with one of %u groups, which %u forks "
                    "tell apart%s\n", v->strings.size, v->strings.cells - v->strings.forks,
                    v->strings.forks, v->strings.marked ? "; equal codes have marks" : "");
    if (v->row_bytes)
        sx_text_add(t, "rows     stored, %u bytes each, up to %" PRIu64 "\n", v->row_bytes,
                    s->max_row);
    else
        sx_text_add(t, "rows     not stored: a row is the rank of its key\n");
    if (v->traits & SX_ONCE)
        sx_text_add(t, "layout   once: each of %" PRIu64 " values, and where its rows begin\n",
                    v->n);
    else if (!v->row_bytes)
        sx_text_add(t, "layout   split: keys alone; layout=pairs is the same where no rows are "
                    "stored\n");
    else if (v->block)
        sx_text_add(t, "layout   pairs, in blocks of %u keys and their rows\n", sx_block_keys(v));
    else
        sx_text_add(t, "layout   split: keys and rows in arrays of their own\n");
    if (sx_family_of(v->family)->explain)
        sx_family_of(v->family)->explain(v, &s->spec, t, SX_TEXT);
    explain_place(run, t);
    explain_sections(run, t);
    sx_text_add(t, "memory   %" PRIu64 " bytes, ", info->bytes);
    sx_text_fixed(t, per_key(now), 3);
    sx_text_add(t, " per key, %s\n", memory_of(run));
    sx_explain_cost(now, SX_TEXT, t);
    sx_text_add(t, "device   %s (%s)\n", dev->name, dev->detail);
    if (s->why[0])
        sx_text_add(t, "why      %s\n", s->why);
    explain_notes(notes, SX_TEXT, t);
}

static void explain_json(const sx_index_version *now, const sx_notes *notes,
                         const sx_index_info *info, const sx_device_info *dev, sx_text *t)
{
    const sx_run *run = sx_one_run(now);
    const sx_run_info *s = &run->info;
    const sx_view *v = &run->replica[0].view;
    const char *sep = "";

    sx_text_add(t, "{\"spec\": ");
    sx_text_json(t, info->spec);
    sx_text_add(t, ", \"family\": \"%s\", \"n\": %" PRIu64 ", \"type\": \"%s\", \"width\": %u, "
                "\"unique\": %s, \"row_bytes\": %u, \"max_row\": %" PRIu64 ", "
                "\"layout\": \"%s\", \"block\": %u", sx_family_of(v->family)->name, v->ranks,
                sx_type_name(s->key_type), v->width, s->spec.unique ? "true" : "false",
                v->row_bytes, s->max_row,
                v->traits & SX_ONCE ? "once" : v->block ? "pairs" : "split", sx_block_keys(v));
    if (v->traits & SX_ONCE)
        sx_text_add(t, ", \"stored_keys\": %" PRIu64, v->n);
    if (v->strings.offset_bytes)
        sx_text_add(t, ", \"string_bytes\": %" PRIu64 ", \"groups\": %u, \"forks\": %u, "
                    "\"marks\": %s", v->strings.size, v->strings.cells - v->strings.forks,
                    v->strings.forks, v->strings.marked ? "true" : "false");
    if (sx_family_of(v->family)->explain)
        sx_family_of(v->family)->explain(v, &s->spec, t, SX_JSON);
    sx_text_add(t, ", \"sections\": [");
    for (unsigned kind = 0; kind < SX_SECTIONS; kind++)
        if (sx_section_bytes(v, kind)) {
            sx_text_add(t, "%s{\"name\": \"%s\", \"bytes\": %" PRIu64, sep,
                        sx_section_name(v, kind), sx_section_bytes(v, kind));
            if (sx_run_section(run, kind) > sx_section_bytes(v, kind))
                sx_text_add(t, ", \"space\": %" PRIu64, sx_run_section(run, kind));
            if (run->replicas > 1)
                sx_text_add(t, ", \"device_bytes\": %" PRIu64, also_on_device(run, kind));
            sx_text_add(t, "}");
            sep = ", ";
        }
    sx_text_add(t, "], \"bytes\": %" PRIu64 ", \"bytes_per_key\": ", info->bytes);
    sx_text_fixed(t, per_key(now), 4);
    sx_text_add(t, ", \"mapped\": %s, \"place\": \"%s\", \"device\": ",
                run->replica[0].map ? "true" : "false", sx_place_name(sx_run_place(run)));
    sx_text_json(t, dev->name);
    sx_explain_cost(now, SX_JSON, t);
    if (s->why[0]) {
        sx_text_add(t, ", \"why\": ");
        sx_text_json(t, s->why);
    }
    explain_notes(notes, SX_JSON, t);
    sx_text_add(t, "}");
}

static sx_status explain(const sx_index_version *now, const sx_notes *notes, sx_format format,
                         char *buf, size_t *bytes, sx_err *err)
{
    sx_index_info info = {.size = sizeof info};
    sx_device_info dev = {.size = sizeof dev};
    sx_text t = {NULL, 0, 0};
    size_t need, space = buf ? *bytes : 0;

    describe(now, &info);
    now->dev->backend->describe(now->dev->self, &dev);
    (format == SX_JSON ? explain_json : explain_text)(now, notes, &info, &dev, &t);
    *bytes = need = t.length + 1;
    if (space < need)
        return sx_fail(err, SX_ESPACE, "sx_explain: the text has room for %zu bytes, but %zu are "
                       "needed", space, need);
    t = (sx_text){buf, space, 0};
    (format == SX_JSON ? explain_json : explain_text)(now, notes, &info, &dev, &t);
    return SX_OK;
}

sx_status sx_explain(const sx_index *ix, sx_format format, char *buf, size_t *bytes)
{
    SX_UNCANCELLED;
    sx_err err;
    sx_hold held;
    sx_status st = sx_need(bytes, "sx_explain", "bytes", &err);

    if (st == SX_OK)
        st = sx_need(ix, "sx_explain", "the index", &err);
    if (st == SX_OK && format != SX_TEXT && format != SX_JSON)
        st = sx_fail(&err, SX_EINVAL, "sx_explain: format is %d; allowed: 0 (text), 1 (JSON)",
                     (int)format);
    if (st == SX_OK) {
        held = sx_hold_version(ix);
        st = explain(held.now, &ix->notes, format, buf, bytes, &err);
        sx_let_go(ix, &held);
    }
    return sx_report(&err, st);
}
