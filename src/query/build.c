/* build.c - from a column of keys to an index. */
#include "query/index.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/machine.h"
#include "base/text.h"
#include "keys/string_groups.h"
#include "query/possible.h"
#include "sort/sort_strings.h"

#include <string.h>

static sx_status check_input(const sx_device *dev, const sx_column *keys, const sx_column *rows,
                             const sx_call *how, const sx_spec *spec, sx_input *in, sx_err *err)
{
    sx_status st = sx_check_column(keys, dev, how, "sx_build", "keys", err);

    if (st == SX_OK)
        st = sx_check_offsets(keys, "sx_build", "keys", err);
    if (st == SX_OK && rows)
        st = sx_check_numbers(rows, dev, how, 1, "sx_build", "rows", err);
    if (st != SX_OK)
        return st;
    if (rows && rows->n != keys->n)
        return sx_fail(err, SX_EINVAL, "sx_build: %llu keys but %llu rows",
                       (unsigned long long)keys->n, (unsigned long long)rows->n);
    *in = (sx_input){.key_type = keys->type, .row_type = rows ? rows->type : 0,
                     .threads = how->threads, .unique = spec->unique != 0,
                     .code_bytes = (uint16_t)sx_family_codes(spec->family), .n = keys->n,
                     .keys = sx_slice_of(keys), .rows = sx_slice_of(rows), .stream = how->stream};
    return SX_OK;
}

/* Most bytes that a row takes. Rows that are positions are below n. */
static uint32_t widest_row(int row_type, uint64_t n)
{
    if (row_type)
        return (uint32_t)sx_type_bytes(row_type);
    return n > SX_MISS32 ? 8 : 4;
}

static uint64_t stage_bytes(const sx_device *dev)
{
    sx_travel t = {0};

    dev->backend->travel(dev->self, &t);
    return t.stage_bytes;
}

/* Adds what strings take beside their codes: sections, and what sorting them takes. */
static void add_strings(uint64_t n, uint64_t string_bytes, uint32_t code_bytes, sx_bounds *most)
{
    uint64_t sections = (n + 1) * sx_offset_bytes(string_bytes) + string_bytes + sx_groups_most(n) +
                        n;        /* marks */

    most->resident += sections;
    most->peak += sections + sx_groups_scratch(n) + (n + 1) * 3 * sizeof(uint64_t) +
                  SX_SORT_STRINGS_SCRATCH(n) + (code_bytes < 8 ? n * 8 : 0);   /* words are wider */
}

/* What strings take on the host until they are on a GPU: keys, rows, each value once, and what is
 * added above. */
static uint64_t sorted_strings(uint64_t n, uint32_t row_bytes, uint64_t string_bytes)
{
    sx_bounds most = {0};

    add_strings(n, string_bytes, 8, &most);
    return most.peak + sx_round_up(n * 8, SX_LINE) * 2 + n * row_bytes * 2 +
           sx_starts_bytes(n, n, row_bytes) + (n + 1) * 8;
}

/* Blocks are rounded up to lines and have a line before them; notes, and what a version counts. */
#define BOOKKEEPING 4096u

/* What an index takes at `at`, the device or the CPU beside it (settle_place()). Staging on the
 * way to the GPU is not counted. */
static sx_status estimate(sx_device *at, sx_spec spec, const sx_estimate_ask *of,
                          sx_estimate_info *e, sx_err *err)
{
    uint64_t n = of->n;
    int strings = sx_type_of(of->key_type)->bytes == 0;
    uint32_t width = strings ? sx_family_codes(spec.family) : sx_type_of(of->key_type)->width;
    uint32_t row_bytes = widest_row(of->row_type, n);
    sx_bounds most = {0};
    sx_status st = SX_OK;

    if (sx_family_of(spec.family)->traits & SX_CHOSEN) {
        sx_spec may[SX_CONTENDERS];
        unsigned count = sx_may_win(at, &spec, n, width, row_bytes, may);
        for (unsigned i = 0; i < count && st == SX_OK; i++)
            st = sx_bound(at, &may[i], width, row_bytes, n, &most, err);
        most.resident += sx_once_bytes(at, &spec, n, width, row_bytes);
        if (most.peak < most.resident + n * width)        /* all keys beside each value once */
            most.peak = most.resident + n * width;
        most.peak += sx_contest_bytes(at, &spec, n);
    } else {
        st = sx_bound(at, &spec, width, row_bytes, n, &most, err);
    }
    if (st == SX_OK && strings)
        add_strings(n, of->bytes, width, &most);
    if (st == SX_OK) {
        uint64_t measuring = spec.place == SX_PLACE_HYBRID || spec.place == SX_PLACE_BOTH
                                 ? sx_cost_bytes(n, width) : 0;
        if (most.peak < most.resident + measuring)
            most.peak = most.resident + measuring;
        e->host_resident = e->host_peak = sizeof(sx_index) + sizeof(sx_index_version) +
                                          sizeof(sx_run) + BOOKKEEPING;
        if (spec.place == SX_PLACE_HYBRID) {
            e->device_resident = most.top;
            e->device_peak = most.top + measuring;
        }
        if (at->backend->gpu) {
            e->device_resident = most.resident;
            e->device_peak = most.peak;
            if (strings)          /* they are sorted on the host */
                e->host_peak += sorted_strings(n, row_bytes, of->bytes);
            if (spec.place == SX_PLACE_BOTH) {
                e->host_resident += most.resident;
                if (e->host_peak < e->host_resident + measuring)
                    e->host_peak = e->host_resident + measuring;
            }
        } else {
            e->host_resident += most.resident;
            e->host_peak += most.peak;
        }
        e->host_peak += most.sample;
    }
    return st;
}

/* ---- where an index is ---------------------------------------------------------- */

/* Free bytes of a device, or any number that is `enough`. */
static uint64_t space_of(const sx_device *dev, uint64_t enough)
{
    return dev->backend->space ? dev->backend->space(dev->self, enough) : UINT64_MAX;
}

/* `auto` goes hybrid if the index, or building it, would not fit the device, and to the host if
 * not even the upper part would. */
static sx_status auto_place(sx_device *dev, sx_spec *spec, const sx_estimate_ask *of,
                            char why[SX_WHY_MAX], sx_err *err)
{
    sx_estimate_info e = {0};
    sx_text t = {why, SX_WHY_MAX, 0};
    uint64_t space, needed;
    sx_device *host;
    sx_status st = estimate(dev, *spec, of, &e, err);

    needed = e.device_peak - sx_contest_bytes(dev, spec, of->n);  /* a contest can do with less */
    space = st == SX_OK ? space_of(dev, needed) : 0;
    if (st != SX_OK || needed <= space)
        return st;
    spec->place = SX_PLACE_HYBRID;
    st = sx_device_host(dev, &host, err);
    if (st == SX_OK)
        st = estimate(host, *spec, of, &e, err);
    if (st != SX_OK)
        return st;
    if (e.device_resident > space)
        spec->place = SX_PLACE_HOST;
    sx_text_add(&t, "building on the device would take up to %llu bytes, and it has %llu free: so "
                "the index is on the host, ", (unsigned long long)needed,
                (unsigned long long)space);
    if (spec->place == SX_PLACE_HYBRID)
        sx_text_add(&t, "and the device has its upper part");
    else
        sx_text_add(&t, "alone, as its upper part would take %llu",
                    (unsigned long long)e.device_resident);
    return SX_OK;
}

/* Whether the spec's place can be, and calls with a stream there (possible.h). */
static sx_status check_place(const sx_device *dev, const sx_spec *spec, int streams,
                             const char *verb, sx_err *err)
{
    sx_backend_kind kind = sx_kind_of(dev);
    char text[SX_SPEC_MAX];
    sx_err why;
    sx_status st = sx_check_place(spec->family, spec->place, &kind, &why);

    if (st == SX_OK && streams)
        st = sx_check_streams(spec->place, &kind, &why);
    if (st == SX_OK)
        return SX_OK;
    sx_spec_print(spec, text);
    return sx_fail(err, st, "%s: spec '%s': %s", verb, text, why.text);
}

/* The device whose memory gets the sections: dev, or the CPU beside it. The spec's place becomes
 * the usual one if it names what that is. of: the keys and rows. streams: the call has a stream. */
static sx_status settle_place(sx_device *dev, sx_spec *spec, const sx_estimate_ask *of, int streams,
                              const char *verb, sx_device **at, char why[SX_WHY_MAX], sx_err *err)
{
    int gpu = dev->backend->gpu != 0;
    int told = spec->place != SX_PLACE_USUAL;     /* also place=device, which becomes usual */
    sx_status st = check_place(dev, spec, streams, verb, err);

    why[0] = '\0';
    *at = dev;
    if (st != SX_OK)
        return st;
    if (spec->place == (gpu ? SX_PLACE_DEVICE : SX_PLACE_HOST))
        spec->place = SX_PLACE_USUAL;
    if (gpu && (sx_family_of(spec->family)->traits & SX_CHOSEN) && !told) {
        st = auto_place(dev, spec, of, why, err);
        if (st == SX_OK)
            st = check_place(dev, spec, streams, verb, err);
    }
    if (st == SX_OK && spec->place != SX_PLACE_USUAL && spec->place != SX_PLACE_BOTH)
        st = sx_device_host(dev, at, err);
    return st;
}

/* Copies what sx_estimate() is asked into a struct of ours, and checks it. */
static sx_status check_ask(const sx_estimate_ask *given, sx_estimate_ask *ask, sx_err *err)
{
    static const char verb[] = "sx_estimate";
    sx_status st = sx_need(given, verb, "what is asked", err);

    if (st == SX_OK)
        st = SX_TAKE(ask, given, sx_estimate_ask, SX_ESTIMATE_ASK_SIZE_1, verb, err);
    if (st != SX_OK)
        return st;
    if (!sx_type_of(ask->key_type))
        return sx_fail(err, SX_EINVAL, "%s: the key type is %d; allowed: %s", verb, ask->key_type,
                       sx_type_list());
    if (ask->row_type != 0 && ask->row_type != SX_U32 && ask->row_type != SX_U64)
        return sx_fail(err, SX_EINVAL, "%s: the row type is %d; allowed: 0 (positions), %d (u32), "
                       "%d (u64)", verb, ask->row_type, SX_U32, SX_U64);
    if (ask->bytes && ask->key_type != SX_STR)
        return sx_fail(err, SX_EINVAL, "%s: bytes are %llu, not 0: it is for strings, and keys are "
                       "%s", verb, (unsigned long long)ask->bytes, sx_type_name(ask->key_type));
    return SX_OK;
}

sx_status sx_estimate(sx_device *dev, const char *text, const sx_estimate_ask *given,
                      sx_estimate_info *out)
{
    SX_UNCANCELLED;
    sx_err err;
    sx_spec spec;
    sx_device *at;
    char why[SX_WHY_MAX];
    sx_estimate_ask ask;
    sx_estimate_info e = {.size = sizeof e};
    sx_status st = sx_need(dev, "sx_estimate", "the device", &err);

    if (st == SX_OK)
        st = sx_need(out, "sx_estimate", "the output", &err);
    if (st == SX_OK)
        st = sx_check_struct(out, SX_ESTIMATE_INFO_SIZE_1, "sx_estimate", "sx_estimate_info", &err);
    if (st == SX_OK)
        st = check_ask(given, &ask, &err);
    if (st == SX_OK)
        st = sx_spec_parse(&spec, text ? text : "auto", &err);
    if (st == SX_OK)
        st = settle_place(dev, &spec, &ask, 0, "sx_estimate", &at, why, &err);
    if (st == SX_OK)
        st = estimate(at, spec, &ask, &e, &err);
    if (st == SX_OK && e.device_peak > 0)
        e.device_peak += stage_bytes(dev);
    if (st == SX_OK)
        sx_give_struct(out, &e, sizeof e);
    return sx_report(&err, st);
}

static int are_strings(const sx_input *in)
{
    return in->keys.offsets != NULL;
}

static sx_estimate_ask ask_of(const sx_input *in)
{
    return (sx_estimate_ask){.key_type = in->key_type, .row_type = in->row_type, .n = in->n,
                             .bytes = in->keys.bytes};
}

/* Bytes of a column that must be copied to the host: if the index is there, or strings are sorted
 * there. */
static uint64_t guest_bytes(const sx_device *at, const sx_input *in, const sx_slice *s)
{
    if (!sx_slice_there(s) || (at->backend->gpu && !are_strings(in)))
        return 0;
    return s->offsets ? (s->n + 1) * s->each + s->bytes : sx_slice_bytes(s, 0, s->n);
}

static sx_status check_budget(const sx_device *dev, sx_device *at, const sx_spec *spec,
                              const sx_input *in, uint64_t max_bytes, sx_err *err)
{
    sx_estimate_ask of = ask_of(in);
    sx_estimate_info e = {0};
    sx_status st;

    if (max_bytes == 0)
        return SX_OK;
    st = estimate(at, *spec, &of, &e, err);
    e.host_peak += guest_bytes(at, in, &in->keys) + guest_bytes(at, in, &in->rows);
    e.device_peak += e.device_peak > 0 ? stage_bytes(dev) : 0;
    if (st == SX_OK && e.host_peak + e.device_peak > max_bytes)
        return sx_fail(err, SX_ENOMEM, "sx_build: building takes up to %llu bytes, more than "
                       "max_bytes = %llu", (unsigned long long)(e.host_peak + e.device_peak),
                       (unsigned long long)max_bytes);
    return st;
}

/* The parts of a build's work that are done when keys are sorted, and when the sections are there
 * (base/tick.h). */
#define PART_SORTED (SX_PROGRESS_ALL / 100 * 70)
#define PART_BUILT (SX_PROGRESS_ALL / 100 * 95)

/* An array of sorted strings goes from the host to a device. */
static sx_status move_array(sx_device *dev, sx_device *host, void **array, uint64_t bytes,
                            sx_err *err)
{
    void *there = NULL;
    sx_status st = SX_OK;

    if (*array && bytes > 0)
        st = dev->backend->alloc(dev->self, &there, bytes, "strings", err);
    if (there)
        st = dev->backend->copy(dev->self, there, 1, *array, 0, bytes, err);
    host->backend->release(host->self, *array);
    *array = there;
    return st;
}

/* Sorts strings on the host for a device that they go to then. Equal ones are found there, too. */
static sx_status sort_for(sx_device *dev, const sx_spec *spec, const sx_input *in, sx_sorted *out,
                          sx_err *err)
{
    sx_device *host;
    sx_sorted s = {0};
    sx_status st = sx_device_host(dev, &host, err);

    if (st != SX_OK)
        return st;
    st = host->backend->sort(host->self, in, &s, err);
    if (st == SX_OK && sx_once_wanted(spec, &s)) {
        st = host->backend->once(host->self, &s, in->threads, err);
        if (st == SX_ENOMEM && (sx_family_of(spec->family)->traits & SX_CHOSEN))
            st = SX_OK;           /* they stay as they come */
    }
    host->backend->release(host->self, s.spare_keys);
    host->backend->release(host->self, s.spare_rows);
    s.spare_keys = s.spare_rows = NULL;
    struct {
        void **array;
        uint64_t bytes;
    } all[] = {
        {&s.keys, sx_round_up(s.n * s.width, SX_LINE)},
        {&s.rows, s.ranks * s.row_bytes},
        {&s.starts, sx_starts_bytes(s.n, s.ranks, s.row_bytes)},
        {&s.offsets, sx_offsets_bytes(s.n, s.strings.offset_bytes)},
        {&s.bytes, s.strings.size},
        {&s.groups, sx_groups_bytes(&s.strings)},
        {&s.marks, s.strings.marked ? s.n : 0},
    };
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (st == SX_OK) {
            st = move_array(dev, host, all[i].array, all[i].bytes, err);
        } else {
            host->backend->release(host->self, *all[i].array);
            *all[i].array = NULL;
        }
    }
    for (unsigned i = 0; i < sizeof all / sizeof all[0] && st != SX_OK; i++)
        dev->backend->release(dev->self, *all[i].array);
    if (st == SX_OK)
        *out = s;
    return st;
}

/* Sorts, chooses if the spec leaves that open, and makes the sections, where the index will be. */
static sx_status build(const sx_site *site, sx_store *s, const sx_spec *spec, const sx_input *in,
                       sx_err *err)
{
    sx_device *dev = site->at;
    const sx_backend *be = dev->backend;
    sx_sorted sorted = {0};
    sx_input codes = *in;
    sx_peek peek = {0};
    uint64_t begin = sx_clock_ns();
    sx_status st;

    sx_progress_phase(in->progress, PART_SORTED);
    if (!are_strings(in))
        sx_make_peek(site, spec, in->n, sx_type_of(in->key_type)->width, &peek);
    codes.peek = peek.n > 0 ? &peek : NULL;
    st = be->gpu && are_strings(in) ? sort_for(dev, spec, in, &sorted, err)
                                    : be->sort(dev->self, &codes, &sorted, err);
    if (st != SX_OK) {
        sx_peek_end(&peek);
        return st;
    }
    sorted.progress = in->progress;
    sx_progress_phase(in->progress, PART_BUILT);
    s->key_type = in->key_type;
    s->max_row = sorted.max_row;
    if (sorted.strings.offset_bytes)
        codes.key_type = sx_code_type(sorted.width);  /* which families, and who chooses one, take for keys */
    st = sx_make(site, s, spec, &sorted, &codes, sx_clock_ns() - begin, err);
    if (st == SX_OK)
        sx_store_bind(s);
    sx_peek_end(&peek);
    be->release(dev->self, sorted.keys);
    be->release(dev->self, sorted.rows);
    be->release(dev->self, sorted.starts);
    be->release(dev->self, sorted.offsets);
    be->release(dev->self, sorted.bytes);
    be->release(dev->self, sorted.groups);
    be->release(dev->self, sorted.marks);
    be->release(dev->self, sorted.tally);
    be->release(dev->self, sorted.early_keys);
    be->release(dev->self, sorted.early_starts);
    be->release(dev->self, sorted.spare_keys);
    be->release(dev->self, sorted.spare_rows);
    return st;
}

/* Strings that come from a device, where nobody looked at their offsets. */
static sx_status check_brought(const sx_slice *s, sx_err *err)
{
    sx_column c = {.type = SX_STR, .n = s->n, .data = s->data, .offsets = (void *)s->offsets,
                   .offset_bytes = s->each, .bytes = s->bytes};

    return s->offsets ? sx_check_offsets(&c, "sx_build", "keys", err) : SX_OK;
}

/* A column of a device comes to the host, into memory of its own. */
static sx_status bring_column(const sx_device *dev, sx_slice *s, uint64_t bytes, void **own,
                              sx_err *err)
{
    uint64_t offsets = s->offsets ? (s->n + 1) * s->each : 0;
    sx_status st = sx_alloc(own, bytes, "columns of the device", err);

    if (st == SX_OK && offsets > 0)
        st = dev->backend->copy(dev->self, *own, 0, s->offsets, 1, offsets, err);
    if (st == SX_OK && bytes > offsets)
        st = dev->backend->copy(dev->self, (unsigned char *)*own + offsets, 0, s->data, 1,
                                bytes - offsets, err);
    if (st != SX_OK)
        return st;
    s->offsets = offsets ? *own : NULL;
    s->data = (unsigned char *)*own + offsets;
    s->place = SX_HOST;
    return check_brought(s, err);
}

/* The same for keys that are sorted on the host of a GPU, and whose columns may be in device
 * memory. */
static sx_status build_beside(const sx_site *site, sx_store *s, const sx_spec *spec,
                              const sx_input *in, sx_err *err)
{
    const sx_device *dev = site->of;
    sx_input here = *in;
    sx_slice *const columns[2] = {&here.keys, &here.rows};
    void *own[2] = {NULL, NULL};
    sx_status st = SX_OK;

    if (in->stream)               /* columns are complete when it has come to this call */
        dev->backend->settle(dev->self);
    for (unsigned i = 0; i < 2 && st == SX_OK; i++) {
        uint64_t bytes = guest_bytes(site->at, in, columns[i]);
        if (bytes > 0)
            st = bring_column(dev, columns[i], bytes, &own[i], err);
    }
    if (st == SX_OK)
        st = build(site, s, spec, &here, err);
    sx_release(own[0]);
    sx_release(own[1]);
    return st;
}

/* Adds the second replica of a run, if its place has one, and measures what questions to either
 * side take. How segments are searched was measured where they were made; the other side goes by
 * the rule. */
static sx_status add_replica(sx_index_version *v, uint32_t place, sx_progress *progress,
                             sx_err *err)
{
    sx_run *run = sx_one_run(v);
    sx_device *host;
    sx_status st = SX_OK;

    if (place != SX_PLACE_HYBRID && place != SX_PLACE_BOTH)
        return SX_OK;
    if (place == SX_PLACE_HYBRID) {
        st = sx_run_add_upper(run, v->dev, err);
    } else {
        st = sx_device_host(v->dev, &host, err);
        if (st == SX_OK)
            st = sx_run_add_host(run, host, progress, err);
    }
    if (st == SX_OK)
        sx_take_usual_search(run->replica[1].dev, &run->replica[1].view);
    if (st == SX_OK)
        st = sx_progress_status(progress, err);
    return st == SX_OK ? sx_cost_measure(v, err) : st;
}

/* Makes an index of sections in the memory of `at`. On failure they are gone. */
static sx_status complete(sx_index **out, sx_device *dev, sx_device *at, sx_store *s,
                          uint32_t place, sx_progress *progress, sx_err *err)
{
    sx_index_version *v;
    sx_status st = sx_version_new(&v, dev, at, s, err);

    if (st != SX_OK)
        return st;
    sx_progress_phase(progress, SX_PROGRESS_ALL);
    st = add_replica(v, place, progress, err);
    sx_progress_add(progress, 1);
    if (st == SX_OK)
        st = sx_progress_status(progress, err);
    if (st == SX_OK)
        return sx_index_new(out, v, err);
    sx_version_drop(v);
    return st;
}

static sx_status settle_of(sx_device *dev, sx_spec *spec, const sx_input *in, sx_device **at,
                           char why[SX_WHY_MAX], sx_err *err)
{
    sx_estimate_ask of = ask_of(in);

    return settle_place(dev, spec, &of, in->stream != NULL, "sx_build", at, why, err);
}

sx_status sx_build(sx_index **out, sx_device *dev, const char *text, const sx_column *keys,
                   const sx_column *rows, const sx_call *call)
{
    SX_UNCANCELLED;
    sx_err err;
    sx_call how;
    sx_spec spec;
    sx_input in;
    sx_site site = {.of = dev, .space = UINT64_MAX};
    sx_store made;
    sx_progress progress;
    sx_index *ix = NULL;
    sx_status st = sx_need(out, "sx_build", "the output", &err);

    memset(&made, 0, sizeof made);
    if (st == SX_OK)
        st = sx_need(dev, "sx_build", "the device", &err);
    if (st == SX_OK)
        st = sx_check_work(call, dev, 1, &how, "sx_build", &err);
    if (st == SX_OK)
        st = sx_spec_parse(&spec, text ? text : "auto", &err);
    if (st == SX_OK)
        st = check_input(dev, keys, rows, &how, &spec, &in, &err);
    if (st == SX_OK && in.n > SX_KEYS_MAX)
        st = sx_fail(&err, SX_EINVAL, "sx_build: %llu keys are more than an index can hold "
                     "(%llu)", (unsigned long long)in.n, (unsigned long long)SX_KEYS_MAX);
    if (st == SX_OK)
        st = settle_of(dev, &spec, &in, &site.at, made.why, &err);
    if (st == SX_OK)
        st = check_budget(dev, site.at, &spec, &in, how.max_bytes, &err);
    if (st == SX_OK) {
        if (spec.place == SX_PLACE_HYBRID)
            site.space = space_of(dev, UINT64_MAX);
        in.progress = sx_progress_begin(&progress, &how, "sx_build");
        st = (site.at == dev && !(dev->backend->gpu && are_strings(&in)) ? build : build_beside)(
            &site, &made, &spec, &in, &err);
    }
    if (st == SX_OK)
        st = complete(&ix, dev, site.at, &made, spec.place, in.progress, &err);
    if (st != SX_OK)
        return sx_report(&err, st);
    *out = ix;
    sx_progress_end(in.progress, SX_OK);
    return SX_OK;
}

/* ---- files ------------------------------------------------------------------- */

/* The parts of loading that are done when the index is on the host, and at its place. */
#define PART_LOADED (SX_PROGRESS_ALL / 100 * 60)
#define PART_PLACED (SX_PROGRESS_ALL / 100 * 90)

static sx_status save(const sx_index_version *now, const sx_notes *notes, const char *path,
                      const sx_call *call, sx_err *err)
{
    const sx_run *run = sx_one_run(now);
    sx_call how;
    sx_store host;
    sx_progress memory, *progress = NULL;
    sx_status st = sx_check_work(call, now->dev, 0, &how, "sx_save", err);

    if (st == SX_OK)
        st = sx_check_copy(now, &how, 1, "sx_save", err);
    if (st == SX_OK) {
        progress = sx_progress_begin(&memory, &how, "sx_save");
        sx_progress_phase(progress, run->replica[0].dev->backend->gpu ? SX_PART_COPIED : 0);
        st = sx_run_on_host(run, &host, progress, err);
    }
    if (st == SX_OK) {
        sx_progress_phase(progress, SX_PROGRESS_ALL);
        host.notes = *notes;
        st = sx_store_save(&host, path, progress, err);
        sx_run_leave(run, &host);
    }
    sx_progress_end(progress, st);
    return st;
}

sx_status sx_save(const sx_index *ix, const char *path, const sx_call *call)
{
    SX_UNCANCELLED;
    sx_err err;
    sx_hold held;
    sx_status st = sx_need(ix, "sx_save", "the index", &err);

    if (st == SX_OK)
        st = sx_need(path, "sx_save", "the path", &err);
    if (st == SX_OK) {
        held = sx_hold_version(ix);
        st = save(held.now, &ix->notes, path, call, &err);
        sx_let_go(ix, &held);
    }
    return sx_report(&err, st);
}

/* Flags that name a place. */
#define PLACE_FLAGS (SX_LOAD_HOST | SX_LOAD_DEVICE | SX_LOAD_HYBRID | SX_LOAD_BOTH)

static uint32_t place_of_flags(unsigned flags)
{
    return flags & SX_LOAD_HOST     ? SX_PLACE_HOST
           : flags & SX_LOAD_DEVICE ? SX_PLACE_DEVICE
           : flags & SX_LOAD_HYBRID ? SX_PLACE_HYBRID
           : flags & SX_LOAD_BOTH   ? SX_PLACE_BOTH
                                    : SX_PLACE_USUAL;
}

static sx_status check_flags(unsigned flags, sx_err *err)
{
    unsigned place = flags & PLACE_FLAGS;

    if (flags & ~(SX_LOAD_COPY | SX_LOAD_VERIFY | PLACE_FLAGS))
        return sx_fail(err, SX_EINVAL, "sx_load: flags are %u; allowed: SX_LOAD_COPY (1), "
                       "SX_LOAD_VERIFY (2), SX_LOAD_HOST (4), SX_LOAD_DEVICE (8), "
                       "SX_LOAD_HYBRID (16), SX_LOAD_BOTH (32)", flags);
    if (place & (place - 1))
        return sx_fail(err, SX_EINVAL, "sx_load: flags are %u, which say several places; allowed: "
                       "one of SX_LOAD_HOST (4), SX_LOAD_DEVICE (8), SX_LOAD_HYBRID (16), "
                       "SX_LOAD_BOTH (32)", flags);
    return SX_OK;
}

/* Whether the memory that a loaded store takes at its place is within max_bytes. A mapped file
 * takes none. */
static sx_status check_loaded(const sx_store *s, const sx_device *at, const sx_spec *spec,
                              unsigned flags, uint64_t max_bytes, sx_err *err)
{
    uint64_t bytes = sx_store_bytes(s), needed;

    needed = (flags & SX_LOAD_COPY ? bytes : 0) + (at->backend->gpu ? bytes : 0);
    needed += spec->place == SX_PLACE_BOTH ? bytes : 0;
    needed += spec->place == SX_PLACE_HYBRID ? sx_upper_block_bytes(&s->view) : 0;
    if (max_bytes && needed > max_bytes)
        return sx_fail(err, SX_ENOMEM, "sx_load: the index takes %llu bytes of memory, more than "
                       "max_bytes = %llu", (unsigned long long)needed,
                       (unsigned long long)max_bytes);
    return SX_OK;
}

/* Brings a loaded store from the host to its place. On failure it is gone. */
static sx_status place_loaded(sx_index **out, sx_device *dev, sx_store *s, unsigned flags,
                              const sx_call *how, sx_progress *progress, sx_err *err)
{
    sx_spec spec = s->spec;
    sx_estimate_ask of = {.key_type = s->key_type, .n = s->view.ranks,
                          .bytes = s->view.strings.size};
    sx_device *at;
    char why[SX_WHY_MAX];
    sx_status st;

    spec.place = place_of_flags(flags);
    st = settle_place(dev, &spec, &of, 0, "sx_load", &at, why, err);
    if (st == SX_OK)
        st = check_loaded(s, at, &spec, flags, how->max_bytes, err);
    if (st != SX_OK) {
        sx_store_drop(s, &sx_backend_cpu, NULL);
        return st;
    }
    s->spec.place = spec.place;
    sx_progress_phase(progress, PART_PLACED);
    st = sx_store_place(s, at->backend, at->self, progress, err);
    if (st != SX_OK)
        return st;
    sx_take_usual_search(dev, &s->view);
    return complete(out, dev, at, s, spec.place, progress, err);
}

sx_status sx_load(sx_index **out, sx_device *dev, const char *path, unsigned flags,
                  const sx_call *call)
{
    SX_UNCANCELLED;
    sx_err err;
    sx_call how;
    sx_store loaded = {.notes = {0}};
    sx_index *ix = NULL;
    sx_progress memory, *progress = NULL;
    sx_status st = sx_need(out, "sx_load", "the output", &err);

    if (st == SX_OK)
        st = sx_need(dev, "sx_load", "the device", &err);
    if (st == SX_OK)
        st = sx_need(path, "sx_load", "the path", &err);
    if (st == SX_OK)
        st = check_flags(flags, &err);
    if (st == SX_OK)
        st = sx_check_work(call, dev, 0, &how, "sx_load", &err);
    if (st == SX_OK) {
        progress = sx_progress_begin(&memory, &how, "sx_load");
        sx_progress_phase(progress, dev->backend->gpu ? PART_LOADED : PART_PLACED);
        st = sx_store_load(&loaded, path, flags, how.max_bytes, progress, &err);
    }
    if (st == SX_OK)
        st = place_loaded(&ix, dev, &loaded, flags, &how, progress, &err);
    if (st != SX_OK) {
        sx_notes_drop(&loaded.notes);
        return sx_report(&err, st);
    }
    ix->notes = loaded.notes;
    *out = ix;
    sx_progress_end(progress, SX_OK);
    return SX_OK;
}
