# hb_specs.sh - the specs and options behind figures of the paper HB+: for
# bench/papers_hb.sh and bench/peers.sh, which name no other.
#
# What is asked for here may be more than a build has. hb_refused says why, and a
# figure then has a line "not measured" instead of figures.
# shellcheck shell=bash disable=SC2034,SC2154  # others use these, and say the tool

# The paper's implicit tree, and its regular one with full nodes.
hb_implicit='btree'
hb_regular='btree(fill=100)'
# The implicit tree as a GPU shares it: one child fewer, for keys of 8 and 4 bytes.
hb_shared_64='btree(k=8)'
hb_shared_32='btree(k=16)'
# In place of FAST, which is not to be had: a k-ary search tree without pointers too.
hb_fast_stand_in='eytzinger(k=9)'
# What bench/peers.sh measures.
hb_peer_specs=("$hb_implicit" "$hb_regular" pivot 'pivot(layout=pairs)' guide 'guide(layout=pairs)')

# Options of the device cpu. Figure 7: pages of inner nodes and of leaves.
hb_pages=('pages=small' 'pages=upper' 'pages=huge')
# Figure 8: how nodes are searched; the first one without software pipelining.
hb_searches=('node=sequential,pipeline=1' 'node=sequential,pipeline=16' 'node=linear,pipeline=16'
    'node=hierarchical,pipeline=16')
# Figure 20: queries in flight.
hb_ahead=('pipeline=1' 'pipeline=2' 'pipeline=4' 'pipeline=8' 'pipeline=16' 'pipeline=32')

# What bench/peers.sh holds against each other, one behind the other: walks that go down
# together, and pages.
hb_ways=('pipeline=1' 'pipeline=16' 'pages=small' 'pages=huge')

# Options of a GPU. Figure 10: how buckets are handled, by a plain hybrid: a balanced one has queries for a
# CPU that waits.
hb_strategies=('strategy=sequential' 'strategy=pipelined' 'strategy=double')
# A hybrid tree leaves the GPU aside where that gains nothing. Where the GPU itself is
# measured, it has to take part.
hb_forced='side=gpu'
# Figure 18: plain hybrid, and balanced by what is discovered, on few blocks.
hb_plain='depth=0,share=0'
hb_weak='blocks=4'

# hb_refused DEVICE SPEC [TYPE]: succeeds, and says why, if the tool does not take these for
# keys of the type (u64). The tool's sentence begins with its name.
hb_refused() {
    local said
    if said=$("$tool" bench --device "$1" --type "${3:-u64}" --n 64 --queries 64 --runs 1 \
        --op get --spec "$2" 2>&1 >/dev/null); then
        return 1
    fi
    said=${said##*$'\n'}
    said=${said#sextant: bench: }
    said=${said% (see sextant bench --help)}
    echo "${said//\"/}"
}
