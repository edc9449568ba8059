// A B+-tree of others that answers the questions of `sextant bench`: the first
// position of each query among the sorted keys. It has one thread and one key at
// a time, as the tree is made for.
//
//     btree_map u32|u64 KEYS QUERIES [RUNS [BATCH]...]
//
// KEYS and QUERIES are files of the SOSD format, KEYS sorted. Prints a JSON
// line for each BATCH (queries in a call; 0, the default: all), with the names
// that `sextant bench --json` has. Every answer is compared with a binary
// search. The tree is tlx::btree_multimap, the successor of the STX B+-tree, if
// its headers are installed, and otherwise absl::btree_multimap. With
// -DPEER_ABSL_MAP it is absl::btree_map, which has each key once: of equal keys
// the first, whose position is the answer as well. With -DPEER_JUDY it is JudyL, a
// radix tree, which has each key once, too.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#if defined(PEER_JUDY)
#include <Judy.h>
#define PEER "JudyL"
#define PEER_TLX 0
#elif defined(PEER_ABSL_MAP)
#include <absl/container/btree_map.h>
#define PEER "absl::btree_map"
#define PEER_TLX 0
#elif __has_include(<tlx/container/btree_multimap.hpp>)
#include <tlx/container/btree_multimap.hpp>
#define PEER "tlx::btree_multimap"
#define PEER_TLX 1
#else
#include <absl/container/btree_map.h>
#define PEER "absl::btree_multimap"
#define PEER_TLX 0
#endif

namespace {

uint64_t bytes_taken;

// Counts the bytes that are taken and not given back.
template <typename T> struct counting {
    using value_type = T;
    counting() = default;
    template <typename U> counting(const counting<U> &) {}
    template <typename U> struct rebind { using other = counting<U>; };

    T *allocate(size_t n)
    {
        bytes_taken += n * sizeof(T);
        return std::allocator<T>().allocate(n);
    }
    void deallocate(T *p, size_t n)
    {
        bytes_taken -= n * sizeof(T);
        std::allocator<T>().deallocate(p, n);
    }
};

template <typename T, typename U>
bool operator==(const counting<T> &, const counting<U> &) { return true; }
template <typename T, typename U>
bool operator!=(const counting<T> &, const counting<U> &) { return false; }

#if defined(PEER_JUDY)
// Takes 64 bits, which a smaller key has, too.
template <typename Key> struct tree {
    Pvoid_t root = nullptr;
    ~tree() { JudyLFreeArray(&root, PJE0); }
};
#elif PEER_TLX
template <typename Key> using tree =
    tlx::btree_multimap<Key, uint64_t, std::less<Key>,
                        tlx::btree_default_traits<Key, std::pair<Key, uint64_t>>,
                        counting<std::pair<Key, uint64_t>>>;
#elif defined(PEER_ABSL_MAP)
template <typename Key> using tree =
    absl::btree_map<Key, uint64_t, std::less<Key>,
                    counting<std::pair<const Key, uint64_t>>>;
#else
template <typename Key> using tree =
    absl::btree_multimap<Key, uint64_t, std::less<Key>,
                         counting<std::pair<const Key, uint64_t>>>;
#endif

double now()
{
    return std::chrono::duration<double>(
        std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] void fail(const char *path, const char *why)
{
    fprintf(stderr, "btree_map: %s: %s\n", path, why);
    exit(1);
}

template <typename Key> std::vector<Key> read(const char *path)
{
    FILE *file = fopen(path, "rb");
    std::vector<Key> keys;
    uint64_t n = 0;

    if (!file)
        fail(path, "can't be opened");
    if (fread(&n, 8, 1, file) != 1 || n > SIZE_MAX / sizeof(Key))
        fail(path, "is not of the SOSD format");
    keys.resize(n);
    if (fread(keys.data(), sizeof(Key), n, file) != n)
        fail(path, "is cut short");
    fclose(file);
    return keys;
}

// Builds a tree of sorted keys, each with its position, in the fastest way.
template <typename Key>
void build(tree<Key> &map, const std::vector<Key> &keys)
{
#if defined(PEER_JUDY)
    for (size_t i = keys.size(); i-- > 0;) {      // of equal keys the first stays
        PPvoid_t at = JudyLIns(&map.root, keys[i], PJE0);

        if (!at || at == PPJERR)
            fail("JudyL", "has no memory");
        *(uint64_t *)at = i;
    }
    bytes_taken = JudyLMemUsed(map.root);
#elif PEER_TLX
    std::vector<std::pair<Key, uint64_t>> pairs(keys.size());

    for (size_t i = 0; i < keys.size(); i++)
        pairs[i] = {keys[i], i};
    map.bulk_load(pairs.begin(), pairs.end());
#else
    for (size_t i = 0; i < keys.size(); i++)
        map.emplace_hint(map.end(), keys[i], i);
#endif
}

template <typename Key>
uint64_t ask(const tree<Key> &map, Key key)
{
#if defined(PEER_JUDY)
    const uint64_t *at = (const uint64_t *)JudyLGet(map.root, key, PJE0);

    return at ? *at : UINT64_MAX;
#else
    auto at = map.lower_bound(key);

    return at != map.end() && at->first == key ? at->second : UINT64_MAX;
#endif
}

template <typename Key>
uint64_t count_wrong(const std::vector<Key> &keys, const std::vector<Key> &queries,
                     const std::vector<uint64_t> &rows)
{
    uint64_t wrong = 0;

    for (size_t i = 0; i < queries.size(); i++) {
        auto at = std::lower_bound(keys.begin(), keys.end(), queries[i]);
        bool there = at != keys.end() && *at == queries[i];

        wrong += rows[i] != (there ? (uint64_t)(at - keys.begin()) : UINT64_MAX);
    }
    return wrong;
}

double middle(std::vector<double> &times, double part)
{
    std::sort(times.begin(), times.end());
    return times[(size_t)std::ceil((double)times.size() * part) - 1];
}

template <typename Key>
uint64_t run(const char *type, int argc, char **argv)
{
    std::vector<Key> keys = read<Key>(argv[2]), queries = read<Key>(argv[3]);
    int runs = argc > 4 ? atoi(argv[4]) : 3;
    uint64_t wrong_in_all = 0;
    double start = now(), built;
    tree<Key> map;

    if (!std::is_sorted(keys.begin(), keys.end()))
        fail(argv[2], "is not sorted");
    start = now();
    build(map, keys);
    built = now() - start;
    for (int arg = 5; arg < argc || arg == 5; arg++) {
        uint64_t given = arg < argc ? strtoull(argv[arg], nullptr, 10) : 0;
        uint64_t batch = given ? given : queries.size();
        std::vector<uint64_t> rows(queries.size(), 1);
        std::vector<double> passes, calls;
        uint64_t wrong;

        for (int i = 0; i <= runs; i++) {     // the first one warms up
            double begin = now(), since = begin;

            for (size_t at = 0; at < queries.size(); at += batch) {
                size_t to = std::min<size_t>(at + batch, queries.size());

                for (size_t k = at; k < to; k++)
                    rows[k] = ask(map, queries[k]);
                if (i > 0) {
                    double end = now();

                    calls.push_back(end - since);
                    since = end;
                }
            }
            if (i > 0)
                passes.push_back(now() - begin);
        }
        wrong = count_wrong(keys, queries, rows);
        printf("{\"spec\": \"%s\", \"device\": \"cpu\", \"threads\": 1, \"op\": \"get\", "
               "\"type\": \"%s\", \"n\": %zu, \"queries\": %zu, \"batch\": %llu, "
               "\"mkeys_per_s\": %g, \"call_us\": %g, \"call_p99_us\": %g, \"build_s\": %g, "
               "\"bytes\": %llu, \"wrong\": %llu}\n", PEER, type, keys.size(), queries.size(),
               (unsigned long long)batch, (double)queries.size() / middle(passes, 0.5) * 1e-6,
               middle(calls, 0.5) * 1e6, middle(calls, 0.99) * 1e6, built,
               (unsigned long long)bytes_taken, (unsigned long long)wrong);
        wrong_in_all += wrong;
    }
    return wrong_in_all;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 4 || (strcmp(argv[1], "u32") && strcmp(argv[1], "u64"))) {
        fprintf(stderr, "usage: btree_map u32|u64 KEYS QUERIES [RUNS [BATCH]...]\n");
        return 2;
    }
    if (!strcmp(argv[1], "u32"))
        return run<uint32_t>("u32", argc, argv) != 0;
    return run<uint64_t>("u64", argc, argv) != 0;
}
