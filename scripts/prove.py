#!/usr/bin/env python3
"""Proves that no walk reads outside its sections and that every walk ends (doc/PROVE.md).

    prove.py [--jobs N] [--only TEXT] [--verbose]

CBMC=path names the checker (default: cbmc). Lemmas are functions of test/prove/. Each is
proved for every width of key and every layout that makes a difference, and its end must be
reachable, so that no lemma holds because it has no case. Proofs of whole walks on small shapes
follow. Then one line of a walk is changed at a time, and the lemma about it must fail.
Ends in "N passed, M failed, K skipped". Status 1: a proof failed; 77: there is no checker.
"""
import argparse
import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CBMC = os.environ.get("CBMC") or "cbmc"
LIMIT_S = 180                 # of a processor, for one proof; most take one or two
WIDTHS = (4, 8, 16)
CHECKS = ["--unwinding-assertions", "--no-malloc-may-fail", "--pointer-overflow-check",
          "--drop-unused-functions", "--slice-formula", "--no-sat-preprocessor"]
END = "the end is not reached"

# ---- layouts: numbers that are multiplied with are constants of a proof ------------------


def units(width):
    """Keys that a walk may compare at once."""
    return [1] + [b // width for b in (16, 32, 64) if b > width]


def pairs(width):
    """(ROWS, BLOCK) of each layout of pairs."""
    return [(rows, block) for rows in (4, 8) for block in (1, 2, 4, 8, 16, 32, 64)
            if block * rows >= width and block * width >= rows]


def split(width):
    return [dict(UNIT=u) for u in units(width)]


def every(width):
    """Every layout with every unit."""
    return split(width) + [
        dict(ROWS=r, BLOCK=b, UNIT=u) for r, b in pairs(width) for u in {1, b}
        if u == 1 or (u in units(width) and b * (width + r) % 16 == 0)]


def some(width):
    """Layouts that differ in more than a factor; every() is for factors."""
    line = 64 // width
    return split(width) + [dict(ROWS=8, BLOCK=64, UNIT=1), dict(ROWS=4, BLOCK=4, UNIT=1),
                           dict(ROWS=8, BLOCK=line, UNIT=line)]


def rows(width):
    return [dict(ROWS=4), dict(ROWS=8)] + [dict(ROWS=r, BLOCK=b) for r, b in pairs(width)]


def stored(width):
    """Rows if equal keys are stored once. The lemmas do not touch keys."""
    return [dict(ROWS=r) for r in (0, 4, 8)] if width == 8 else []


def once(width):
    return [dict()]


def tree(cells, forks, pool, base, rows):
    """Strings' tree of prefixes, digits and rows of shares."""
    return dict(CELLS=cells, FORKS=forks, POOL=pool, BASE=base, STRING_ROWS=rows, OFFSET_BYTES=4)


def codes(width):
    """Small trees; codes are 8 bytes."""
    return [tree(1, 0, 0, 0, 0), tree(1, 0, 3, 5, 1), tree(3, 1, 9, 5, 5),
            tree(4, 2, 2, 0, 0)] if width == 8 else []


def kinds(width):
    """Of nodes of a radix tree, each by itself: all at once take several times as long."""
    return [dict(KIND=k) for k in range(5)]


def code_orders(width):
    """Two strings of SHORT bytes. Few shares, so that products are small."""
    def of(short, bits, code_bytes, *numbers):
        return dict(tree(*numbers), SHORT=f"{short}u", BITS=bits, CODE_BYTES=code_bytes,
                    SX_SHARES="16u")
    return [of(2, 58, 8, 1, 0, 0, 4, 1), of(2, 58, 8, 1, 0, 1, 4, 4),
            of(3, 56, 8, 3, 1, 0, 4, 1), of(2, 26, 4, 1, 0, 0, 4, 1)] if width == 8 else []


def code_wholes(width):
    """The same for shorter strings: of a range, enough is left behind a byte, or not."""
    return [dict(c, SHORT="2u") for c in code_orders(width)]


def offsets(width):
    """Of strings: in lines, or of 4 or 8 bytes."""
    return [dict(tree(1, 0, 0, 0, 0), OFFSET_BYTES=o) for o in (2, 4, 8)] if width == 8 else []


def marks(width):
    return [tree(1, 0, 0, 0, 0)] if width == 8 else []


def nodes(width):
    """Nodes of pivots: how they are compared, and whether there is a level below."""
    return [dict(UNIT=u, LEVELS=levels) for u in units(width) for levels in (1, 2)]


def trees(width):
    """Nodes of trees in level order. UNIT 0 is any k in one array, and some k in pairs, whose
    nodes are in one piece or not."""
    line = 64 // width
    layouts = [dict(UNIT=u) for u in [0] + units(width)]
    layouts += [dict(ROWS=8, BLOCK=line, UNIT=line), dict(ROWS=8, BLOCK=64, UNIT=0, K=line + 1),
                dict(ROWS=8, BLOCK=2, UNIT=0, K=4)]
    return [dict(p, LEVELS=1) for p in layouts]


def inner(width):
    """The same, also with a level below, and blocks that are larger than a node."""
    return trees(width) + [dict(UNIT=u, LEVELS=2) for u in (0, 64 // width)] + [
        dict(ROWS=4, BLOCK=4, UNIT=0, K=4, LEVELS=1)]


def lines(width):
    """Leaves of a tree of lines: pairs, or keys with their rows elsewhere; BLOCK is slots."""
    def of_pairs(rows):
        pairs_of_line = 64 // (width + rows)
        return dict(ROWS=rows, UNIT=pairs_of_line, BLOCK={5: 8, 3: 4}.get(pairs_of_line, pairs_of_line),
                    LEVELS=1)
    return [of_pairs(4), of_pairs(8), dict(ROWS=0, UNIT=64 // width, LEVELS=1),
            dict(ROWS=8, UNIT=64 // width, LEVELS=1)]


def line_levels(width):
    return [dict(UNIT=64 // width, LEVELS=levels) for levels in (1, 2)]


def big_leaves(width):
    """Leaves of a tree of nodes in pools: pairs in halves of lines, or keys alone."""
    def of_pairs(rows):
        pairs_of_line = 32 // max(width, rows)
        return dict(ROWS=rows, UNIT=pairs_of_line, BLOCK=pairs_of_line, LEVELS=1)
    return [of_pairs(4), of_pairs(8), dict(ROWS=0, UNIT=64 // width, LEVELS=1),
            dict(ROWS=8, UNIT=64 // width, LEVELS=1)]


def pools(width):
    return [dict(UNIT=64 // width, LEVELS=levels) for levels in (1, 2, 3)]


def levels_1(width):
    return [dict(LEVELS=1)]


def levels_2(width):
    return [dict(LEVELS=2)]


def leveled(width):
    return [dict(p, LEVELS=1) for p in some(width)]


# (file, lemma, its parameters, turns of its loops and 1 more)
LEMMAS = [
    ("array", "array_unit", every, 1),
    ("array", "row", rows, 1),
    ("array", "array_units", some, 1),
    ("array", "array_halve", some, 1),
    ("array", "array_finish", some, 1),
    ("once", "start", stored, 1),
    ("once", "row_of", stored, 1),
    ("once", "position_halve", stored, 1),
    ("pivot", "pivot_level", nodes, 1),
    ("pivot", "pivot_begin", leveled, 1),
    ("btree", "btree_level", line_levels, 1),
    ("btree", "btree_enter", line_levels, 1),
    ("btree", "btree_finish", lines, 1),
    ("btree", "btree_slots", lines, 1),
    ("bplus", "bplus_level", pools, 1),
    ("bplus", "bplus_enter", pools, 1),
    ("bplus", "bplus_finish", big_leaves, 1),
    ("bplus", "bplus_slots", big_leaves, 1),
    ("bplus", "bplus_stretch", big_leaves, 1),
    ("bplus", "bplus_halve", big_leaves, 1),
    ("radix", "radix_step", kinds, 9),
    ("radix", "radix_enter", once, 1),
    ("radix", "radix_ends", kinds, 9),
    ("eytzinger", "eytz_level", inner, 5),
    ("eytzinger", "eytz_finish", trees, 5),
    ("eytzinger", "eytz_from_entry", lambda w: [dict(UNIT=0, LEVELS=1)], 1),
    ("guide", "guide_skip", once, 1),
    ("guide", "guide_cell", once, 1),
    ("guide", "guide_window", once, 1),
    ("guide", "guide_entry", once, 1),
    ("guide", "guide_guess", some, 1),
    ("guide", "guide_halve", some, 1),
    ("guide", "guide_crowd", some, 1),
    ("guide", "guide_turn", some, 1),
    ("guide", "guide_look", some, 1),
    ("pgm", "pgm_start", levels_2, 1),
    ("pgm", "pgm_find", levels_1, 1),
    ("pgm", "pgm_halve", levels_1, 1),
    ("pgm", "pgm_window", levels_1, 1),
    ("pgm", "pgm_begin", leveled, 1),
    ("pgm", "cpu_count_from", levels_1, 6),
    ("strings", "code_step", codes, 10),
    ("strings", "code_order", code_orders, 6),
    ("strings", "code_whole", code_wholes, 6),
    ("strings", "string_bytes", offsets, 2),
    ("strings", "mark_nearest", marks, 12),
    ("strings", "mark_bound", marks, 13),
    ("walks", "gpu_count_unit", once, 1),
    ("walks", "gpu_record", once, 1),
    ("walks", "scalar_record", once, 5),
    ("walks", "gpu_count_from", once, 40),
]

# ---- whole walks: what is given of a spec, and n, where padding hides nothing -------------

PIVOT = "SX_FAM_PIVOT", "SX_PIVOT_K|SX_PIVOT_LEAF", ".of.pivot={.k=%d,.leaf=%d}"
BTREE = "SX_FAM_BTREE", "SX_BTREE_K", ".of.btree={.k=%d}"
BPLUS = "SX_FAM_BPLUS", "SX_BPLUS_FILL", ".of.bplus={.fill=%d}"
EYTZ = "SX_FAM_EYTZ", "SX_EYTZ_K", ".of.eytzinger={.k=%d}"
GUIDE = "SX_FAM_GUIDE", "SX_GUIDE_BUCKET|SX_GUIDE_PIECES", ".of.guide={.bucket=%d,.pieces=%d}"
PGM = "SX_FAM_PGM", "SX_PGM_EPS|SX_PGM_EPS2", ".of.pgm={.eps=%d,.eps2=%d}"
SORTED = "SX_FAM_SORTED", "0", ".unique=0"


def shape(kind, values, n, width, rows=4, block=0, segments=None):
    family, given, of = kind
    layout = f",.layout=SX_PAIRS,.block={block}" if block else ""
    bits = "|SX_P_LAYOUT|SX_P_BLOCK" if block else ""
    p = dict(W=width, FAMILY=family, N=n, ROWS=rows,
             SPEC=f".given={given}{bits},{of % values if values else of}{layout}")
    if segments:
        p["SEGMENTS"] = segments
    return p


WALKS = [
    shape(SORTED, (), 1, 4), shape(SORTED, (), 17, 4), shape(SORTED, (), 16, 8, 8),
    shape(SORTED, (), 9, 16, 8, 2), shape(SORTED, (), 33, 8, 4, 64),
    shape(PIVOT, (3, 1), 16, 4), shape(PIVOT, (5, 4), 65, 4, 8, 4), shape(PIVOT, (3, 2), 33, 8),
    shape(PIVOT, (2, 3), 10, 16), shape(PIVOT, (9, 8), 73, 8),
    shape(BTREE, (3,), 33, 4, 4), shape(BTREE, (2,), 26, 4, 8), shape(BTREE, (3,), 46, 8, 4),
    shape(BTREE, (9,), 37, 8, 8), shape(BTREE, (2,), 13, 16, 4), shape(BTREE, (4,), 9, 16, 8),
    shape(BTREE, (8,), 65, 8, 0),
    dict(shape(BPLUS, (100,), 33, 16, 8), LINKED=1), dict(shape(BPLUS, (50,), 40, 16, 4), LINKED=1),
    dict(shape(BPLUS, (80,), 9, 8, 8), LINKED=1),
    shape(EYTZ, (2,), 16, 4), shape(EYTZ, (3,), 17, 8), shape(EYTZ, (4,), 33, 8, 4, 2),
    shape(EYTZ, (4,), 4, 16), shape(EYTZ, (5,), 64, 16), shape(EYTZ, (17,), 33, 4), shape(EYTZ, (9,), 64, 8, 8, 8),
    shape(GUIDE, (1, 1), 17, 4), shape(GUIDE, (4, 3), 33, 8), shape(GUIDE, (1, 2), 9, 16, 8, 2),
    shape(PGM, (1, 1), 40, 4, 4, 0, "1,3"), shape(PGM, (2, 1), 33, 8, 8, 0, "1,2,5"),
    shape(PGM, (1, 4), 20, 16, 4, 0, "1,20"),
]
WALK_TURNS = 60

# ---- faults: a line of a walk, what it becomes, and the lemma that is to fail -------------

ARRAY_H = "family/generic/array_walk_impl.h"
PIVOT_H = "family/pivot/pivot_walk_impl.h"
EYTZ_H = "family/eytzinger/eytzinger_walk_impl.h"
BTREE_H = "family/btree/btree_walk_impl.h"
BPLUS_H = "family/bplus/bplus_walk_impl.h"
GUIDE_H = "family/guide/guide_walk_impl.h"
PGM_H = "family/pgm/pgm_walk_impl.h"
RADIX_H = "family/radix/radix_walk_impl.h"
STRINGS_H = "keys/strings.h"
MARKS_H = "keys/string_marks.h"
FAULTS = [
    (ARRAY_H, "F(array_unit)(v, at + half - 1, unit)", "F(array_unit)(v, at + 2 * half + 1, unit)",
     "array_halve", dict(UNIT=1)),
    (ARRAY_H, "v->block_bytes : unit * W)", "v->block_bytes : unit * W + W)", "array_unit", dict(UNIT=4)),
    (ARRAY_H, "return rank < v->n ? rank : v->n;", "return rank;", "array_finish", dict(UNIT=4)),
    ("family/view.h", "- 1)) * v->row_bytes;", "- 1)) * 8;", "row", dict(ROWS=4)),
    ("family/view.h", "return sx_min64(sx_start_raw(v, position), v->ranks);",
     "return sx_start_raw(v, position);", "start", dict(ROWS=4)),
    ("family/view.h", "sx_firsts_offset(n, ranks) + n * row_bytes", "(n + 1) * 4 + n * row_bytes",
     "row_of", dict(ROWS=4)),
    ("family/view.h", "        if (rank >= v->ranks)     /* in a damaged file */\n            return UINT64_MAX;\n",
     "", "row_of", dict(ROWS=8)),
    ("family/view.h", "? at + half : at;", "? at + half + 1 : at;", "position_halve", dict(ROWS=0)),
    (PIVOT_H, "return child < last ? child : last;", "return child;", "pivot_level",
     dict(UNIT=1, LEVELS=1)),
    (PIVOT_H, "t->windows) - 1;", "t->windows);", "pivot_level", dict(UNIT=1, LEVELS=1)),
    (PIVOT_H, "SX_TIMES(t->first[l] + at, unit", "W + SX_TIMES(t->first[l] + at, unit", "pivot_level",
     dict(UNIT=1, LEVELS=1)),
    (PIVOT_H, "return at < latest ? at : latest;", "return at;", "pivot_begin",
     dict(UNIT=1, LEVELS=1)),
    (BTREE_H, "return child < last ? child : last;", "return child;", "btree_level",
     dict(UNIT=16, LEVELS=1)),
    (BTREE_H, ": t->leaves) - 1;", ": t->leaves);", "btree_level", dict(UNIT=16, LEVELS=1)),
    (BTREE_H, "(t->first[l] + at) * SX_BTREE_LINE;", "(t->first[l] + at + 1) * SX_BTREE_LINE;",
     "btree_level", dict(UNIT=16, LEVELS=1)),
    (BTREE_H, "return at < last ? at : last;", "return at;", "btree_enter", dict(UNIT=16, LEVELS=2)),
    (BTREE_H, "entry.at < v->of.btree.leaves ?", "entry.at <= v->of.btree.leaves ?", "btree_enter",
     dict(UNIT=16, LEVELS=1)),
    (BTREE_H, "return position < n ? position : n;", "return position;", "btree_finish",
     dict(ROWS=8, UNIT=5, BLOCK=8, LEVELS=1)),
    (BTREE_H, "(places == leaf ? c : sx_pick(c < leaf, c, places))", "c", "btree_finish",
     dict(ROWS=8, UNIT=5, BLOCK=8, LEVELS=1)),
    ("family/btree/btree.h", "rank / 5 * 8 + rank % 5", "rank / 5 * 8 + rank % 8", "btree_slots",
     dict(ROWS=8, UNIT=5, BLOCK=8, LEVELS=1)),
    (BPLUS_H, "return next < latest ? next : latest;", "return next;", "bplus_level",
     dict(UNIT=16, LEVELS=2)),
    (BPLUS_H, "return c < BPLUS_M ? c : BPLUS_M - 1;", "return c;", "bplus_level",
     dict(UNIT=16, LEVELS=1)),
    (BPLUS_H, ": t->inner_pool) - 1;", ": t->inner_pool);", "bplus_enter",
     dict(UNIT=16, LEVELS=2)),
    (BPLUS_H, "return position < v->n ? position : v->n;", "return position;", "bplus_finish",
     dict(ROWS=8, UNIT=4, BLOCK=4, LEVELS=1)),
    (BPLUS_H, "(slot < v->slots ? slot : v->slots - 1)", "slot", "bplus_finish",
     dict(ROWS=8, UNIT=4, BLOCK=4, LEVELS=1)),
    ("family/bplus/bplus.h", "sx_min64(in, (1ull << t->slot_shift) - 1)", "in", "bplus_slots",
     dict(ROWS=8, UNIT=4, BLOCK=4, LEVELS=1)),
    ("family/bplus/bplus.h", "sx_min64(chain[place], t->last_pool - 1)", "chain[place]", "bplus_slots",
     dict(ROWS=8, UNIT=4, BLOCK=4, LEVELS=1)),
    ("family/bplus/bplus.h", "r.n = r.first < end ? end - r.first : 0;", "r.n = end - r.first;",
     "bplus_stretch", dict(ROWS=8, UNIT=4, BLOCK=4, LEVELS=1)),
    ("family/bplus/bplus.h", "r->first <= rank ? at + half : at", "r->first <= rank ? at + half + 1 : at",
     "bplus_halve", dict(ROWS=8, UNIT=4, BLOCK=4, LEVELS=1)),
    (RADIX_H, "at = sx_min64(at, last);", "", "radix_step", dict(KIND=0)),
    (RADIX_H, "return depth < W - 1 ? depth : W - 1;", "return depth;", "radix_step", dict(KIND=3)),
    (RADIX_H, " || *count > v->n - start)", ")", "radix_enter", dict()),
    (RADIX_H, "return F(radix_enter_child)(v, state, entry, 1);", "return entry;", "radix_ends", dict(KIND=0)),
    (RADIX_H, ": sx_radix_space(kind & 7u);", ": behind + 1;", "radix_ends", dict(KIND=3)),
    (RADIX_H, "sx_min64(at & SX_RADIX_AT, t->units - 1)", "(at & SX_RADIX_AT)", "radix_enter", dict()),
    (EYTZ_H, "*slot = sx_pick(c < m, first + c, *slot);", "*slot = first + c;", "eytz_level",
     dict(UNIT=0, LEVELS=1)),
    (EYTZ_H, "return SX_TIMES(g, m + 1) + c;", "return SX_TIMES(g, m + 1) + c + 1;", "eytz_level",
     dict(UNIT=0, LEVELS=2)),
    (EYTZ_H, "sx_pick(before < v->of.eytzinger.bottom, before, 0)", "before", "eytz_finish",
     dict(UNIT=0, LEVELS=1)),
    (EYTZ_H, "c = sx_pick(before + c > v->of.eytzinger.bottom, v->of.eytzinger.bottom - before, c);",
     "", "eytz_finish", dict(UNIT=0, LEVELS=1)),
    (EYTZ_H, "return at < v->of.eytzinger.level_first[l] ? at :",
     "return at != 0 ? at :", "eytz_from_entry", dict(UNIT=0, LEVELS=1)),
    (GUIDE_H, "firsts + (at + half) * (uint64_t)W", "firsts + (at + half + 16) * (uint64_t)W",
     "guide_skip", dict()),
    (GUIDE_H, "return bucket < v->of.guide.piece_cells ? bucket : v->of.guide.piece_cells - 1;",
     "return bucket;", "guide_cell", dict()),
    (GUIDE_H, "    *count = *count < v->n - start ? *count : v->n - start;\n    return start;\n}\n\n/* One",
     "    return start;\n}\n\n/* One", "guide_window", dict()),
    ("family/guide/guide.h", "/ SX_GUIDE_CELLS + 1;", "/ SX_GUIDE_CELLS;", "guide_window", dict()),
    (GUIDE_H, "    start = start < v->n ? start : v->n;\n    *count = *count < v->n - start ? *count : v->n - start;\n    return start;\n}\n\n/* ---- building",
     "    return start;\n}\n\n/* ---- building", "guide_entry", dict()),
    (GUIDE_H, "        return at < last ? at : last;", "        return at;", "guide_guess", dict(UNIT=4)),
    (GUIDE_H, "a = mid + 1;", "a = mid;", "guide_halve", dict(UNIT=1)),
    (GUIDE_H, "first + unit < *end)", "first + unit <= *end)", "guide_turn", dict(UNIT=1)),
    (GUIDE_H, "? at + 1 : at - 1;", "? at + 2 : at - 1;", "guide_turn", dict(UNIT=4)),
    (GUIDE_H, "? at + 1 : at - 1;", "? at + 1 : at;", "guide_look", dict(UNIT=4)),
    ("family/guide/guide_cpu_impl.h", "(first > g->start[j])", "(first >= g->start[j])", "guide_look",
     dict(UNIT=1)),
    (PGM_H, "    return p < last ? p : last;", "    return p;", "pgm_start", dict(LEVELS=2)),
    (PGM_H, "return start < last && q", "return q", "pgm_find", dict(LEVELS=1)),
    (PGM_H, "    m = m < last - start ? m : last - start;\n", "", "pgm_find", dict(LEVELS=1)),
    ("family/pgm/pgm.h", "return (m + 1 + 15) / 16 * 16 + 16;", "return (m + 1 + 15) / 16 * 16;",
     "pgm_find", dict(LEVELS=1)),
    (PGM_H, "<= q, half, 0);", "<= q, half + 1, 0);", "pgm_halve", dict(LEVELS=1)),
    (PGM_H, "    start = start < v->n ? start : v->n;\n", "", "pgm_window", dict(LEVELS=1)),
    (PGM_H, "return len < all ? len : all;", "return len;", "pgm_begin", dict(UNIT=4, LEVELS=1)),
    (STRINGS_H, "(i < s->cells ? i : s->cells - 1)", "i", "code_step", tree(3, 1, 9, 0, 0)),
    (STRINGS_H, "(i < s->forks ? i : s->forks - 1)", "i", "code_step", tree(3, 1, 9, 0, 0)),
    (STRINGS_H, "c->skip < s->pool - begin ? c->skip : s->pool - begin", "c->skip", "code_step",
     tree(3, 1, 9, 0, 0)),
    (STRINGS_H, "*same = ++at) {\n        uint32_t d = digits[q[at]], digit = d >> 1 < most ? d >> 1 : most;",
     "*same = ++at) {\n        uint32_t d = digits[q[at]], digit = d >> 1;", "code_step",
     tree(1, 0, 3, 5, 1)),
    (STRINGS_H, "before = before < most ? before : most;\n    for (*same = at; at < end; ",
     "for (*same = at; at < end; ", "code_step", tree(1, 0, 0, 5, 5)),
    (STRINGS_H, "(s->base ? SX_DIGITS_BYTES / 2 : 0)", "SX_DIGITS_BYTES / 2", "code_step",
     tree(1, 0, 0, 0, 0)),
    (STRINGS_H, "    w->at++;\n", "", "code_step", tree(3, 1, 9, 0, 0)),
    (STRINGS_H, "        if (at + i >= length)\n            return -1;\n", "", "code_step",
     tree(3, 1, 9, 0, 0)),
    (STRINGS_H, "sx_group_code(s, next ? next->group : c->to));", "sx_group_code(s, f->end));",
     "code_order", dict(code_orders(8)[0], CELLS=3, FORKS=1)),
    (STRINGS_H, "        x += part * share[0];", "        x += part * share[1];", "code_order",
     code_orders(8)[0]),
    (STRINGS_H, "range = (uint32_t)((uint64_t)range * share[1] / SX_SHARES) - first;",
     "range = (uint32_t)((uint64_t)range * share[1] / SX_SHARES);", "code_order", code_orders(8)[3]),
    (STRINGS_H, "range >= SX_SHARES && (tail", "range > 0 && (tail", "code_whole", code_wholes(8)[0]),
    (STRINGS_H, "(tail > 0 || s->forks == 0)", "1", "code_whole", code_wholes(8)[2]),
    (STRINGS_H, "    a = a < s->size ? a : s->size;\n", "", "string_bytes", offsets(8)[1]),
    (MARKS_H, "return m < n - lo ? m : n - lo;", "return m;", "mark_bound", marks(8)[0]),
    (MARKS_H, "for (uint32_t i = 1; i < m; i++) {", "for (uint32_t i = 1; i <= m; i++) {",
     "mark_nearest", marks(8)[0]),
    (MARKS_H, "while (at > lo && s->marks[at] >= bit)", "while (s->marks[at] >= bit)", "mark_bound",
     marks(8)[0]),
    (MARKS_H, "for (at++; at < hi && s->marks[at] == SX_MARK_FAR; at++)",
     "for (at++; s->marks[at] == SX_MARK_FAR; at++)", "mark_bound", marks(8)[0]),
    ("family/eytzinger/eytzinger.c", "sx_round_up(e->bottom, e->k - 1)", "e->bottom", "walk",
     shape(EYTZ, (4,), 4, 16)),
    ("family/shape.c", "return v->block ? 0 : row_places(v) * v->row_bytes;",
     "return v->block ? 0 : (row_places(v) - 1) * v->row_bytes;", "walk", shape(SORTED, (), 17, 4)),
]

# ---- running ------------------------------------------------------------------------------


class Proof:
    """One run of the checker."""

    def __init__(self, kind, lemma, width, params, turns, fault=None):
        self.kind, self.lemma, self.width = kind, lemma, width
        self.params, self.turns, self.fault = params, turns, fault
        self.file = "walks" if lemma == "walk" else next(f for f, l, _, _ in LEMMAS if l == lemma)

    def name(self):
        words = [f"{k}={v}" for k, v in self.params.items() if k != "W"]
        if self.fault:
            words.append(f"with \"{self.fault[2].strip()}\" in {self.fault[0]}")
        return " ".join([f"{self.kind} {self.lemma}, width {self.width}"] + words)

    def command(self, temporary):
        words = ["prlimit", f"--cpu={LIMIT_S}", CBMC]
        if self.fault:
            words += ["-I", str(overlay(temporary, self.fault))]
        words += ["-I", "src", "-I", "include", "-I", "test/prove", f"-DW={self.width}"]
        words += [f"-D{k}={v}" for k, v in self.params.items() if k != "W"]
        words += [f"test/prove/prove_{self.file}.c", "--function", self.lemma,
                  "--unwind", str(self.turns)]
        if self.lemma == "walk":
            words += [str(p) for p in apart(temporary)]
        return words + CHECKS

    def run(self, temporary):
        """(what went wrong or None, seconds)"""
        begun = time.monotonic()
        try:
            done = subprocess.run(self.command(temporary), cwd=ROOT, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            wrong = self.judged(done.returncode, done.stdout)
            if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
                wrong = f"no answer in {LIMIT_S} s of a processor"
        except FaultNotFound as error:
            wrong = str(error)
        return wrong, time.monotonic() - begun

    def judged(self, status, out):
        """What went wrong. All but the ends must hold; with a fault, something must not."""
        verdicts = re.findall(r"^\[[^]]*\] (?:line \d+ )?(.*): (SUCCESS|FAILURE|UNKNOWN)$", out, re.M)
        ends = [v for what, v in verdicts if what == END]
        broken = [what for what, v in verdicts if what != END and v == "FAILURE"]
        if status != 10 and not (status == 0 and verdicts):
            return "the checker ended with %d: %s" % (status, " / ".join(out.splitlines()[-3:]))
        if self.fault:
            return None if broken else "the fault is not found"
        if broken or any(v == "UNKNOWN" for _, v in verdicts):
            return " / ".join(broken[:3]) or "not decided"
        return None if ends and set(ends) == {"FAILURE"} else "its end can't be reached: it proves nothing"


class FaultNotFound(Exception):
    pass


def overlay(temporary, fault):
    """A folder with a copy of a file that has this fault; it is searched before src/."""
    name, old, new = fault
    text = (ROOT / "src" / name).read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise FaultNotFound(f"{name} has \"{old.strip()}\" {text.count(old)} times, not once: "
                            "the fault has to be written anew")
    folder = Path(tempfile.mkdtemp(dir=temporary))
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_text(text.replace(old, new), encoding="utf-8")
    return folder


def apart(temporary):
    """Sources of shapes in which parts of a view lie beside each other (prove.h says why)."""
    families = re.findall(r'^#include "family/(\w+)/', (ROOT / "src/family/families.def").read_text(), re.M)
    paths = []
    for name in ["shape", "families"] + [f"{f}/{f}" for f in families + ["auto"]]:
        path = Path(temporary, f"apart_{Path(name).name}.c")
        if not path.exists():
            whole = path.with_suffix(f".{os.getpid()}")
            whole.write_text("#define union struct\n#define _Static_assert(a, b)\n"
                             f'#include "family/{name}.c"\n')
            whole.rename(path)
        paths.append(path)
    return paths


def all_proofs():
    for _, lemma, which, turns in LEMMAS:
        for width in WIDTHS:
            for params in which(width):
                yield Proof("lemma", lemma, width, params, turns)
    for params in WALKS:
        yield Proof("walk", "walk", params["W"], params, WALK_TURNS)
    for name, old, new, lemma, params in FAULTS:
        turns = WALK_TURNS if lemma == "walk" else next(t for _, l, _, t in LEMMAS if l == lemma)
        yield Proof("fault", lemma, params.get("W", 4), params, turns, (name, old, new))


def missing():
    """Why nothing can be proved here, or None."""
    ask = ("the proofs want CBMC 6, a checker of C programs: Debian has it from trixie on as the "
           "package cbmc; CBMC=PATH names one that is elsewhere")
    try:
        version = subprocess.run([CBMC, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ask
    number = re.match(r"(\d+)\.", version)
    return None if number and int(number[1]) >= 6 else f"{ask}; this one is {version.strip() or 'none'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--only", default="", help="proofs whose name has this text")
    parser.add_argument("--verbose", action="store_true", help="a line for each")
    options = parser.parse_args()
    why = missing()
    if why:
        print(f"skipped: {why}\n0 passed, 0 failed, 1 skipped")
        return 77
    proofs = [p for p in all_proofs() if options.only in p.name()]
    totals, failed = defaultdict(lambda: [0, 0, 0.0, 0.0]), []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        apart(temporary)
        for proof, (wrong, seconds) in zip(proofs, pool.map(lambda p: p.run(temporary), proofs)):
            total = totals[proof.kind, proof.lemma]
            total[1 if wrong else 0] += 1
            total[2] += seconds
            total[3] = max(total[3], seconds)
            if wrong:
                failed.append(proof)
                print(f"FAIL  {proof.name()}: {wrong}", flush=True)
            elif options.verbose:
                print(f"ok    {proof.name()} ({seconds:.1f} s)", flush=True)
    print(f"\n{'':6} {'lemma':16} {'holds':>6} {'fails':>6} {'s':>8} {'longest':>8}")
    for (kind, lemma), (good, bad, seconds, longest) in totals.items():
        print(f"{kind:6} {lemma:16} {good:6} {bad:6} {seconds:8.1f} {longest:8.1f}")
    print(f"{time.monotonic() - begun:.0f} s on {options.jobs} processors; a fault holds if it was found")
    print(f"{len(proofs) - len(failed)} passed, {len(failed)} failed, 0 skipped")
    return 1 if failed or not proofs else 0


if __name__ == "__main__":
    sys.exit(main())
