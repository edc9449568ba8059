// Strings: indexes of ours beside std::unordered_map<std::string> and a binary search with
// memcmp(), on one thread of this CPU. All have the same keys and the same queries, in random
// order, all of them there; every answer is compared.
//
//     strings words FILE [RUNS [SPEC]...]     one word a line, several files joined with ':';
//                                             words that come twice count once
//     strings paths|random|long N [RUNS [SPEC]...]
//                                             N paths below 60 bytes that all share, or N strings
//                                             of random letters: 8 to 24, or as many as paths have
//
// Prints a JSON line for each: what it is, M answers a second (the best of RUNS, 5 unless said),
// bytes a key beside the strings themselves.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <unordered_map>
#include <vector>

#include "sextant.h"

namespace {

constexpr uint64_t QUERIES = 1 << 20;

// Strings one behind the other, as a column has them.
struct strings {
    std::string bytes;
    std::vector<uint32_t> offsets{0};

    void add(const std::string &s)
    {
        bytes += s;
        offsets.push_back(static_cast<uint32_t>(bytes.size()));
    }
    uint64_t n() const { return offsets.size() - 1; }
    const char *at(uint64_t i) const { return bytes.data() + offsets[i]; }
    uint64_t length(uint64_t i) const { return offsets[i + 1] - offsets[i]; }
    sx_column column() const
    {
        sx_column c{};
        c.type = SX_STR;
        c.n = n();
        c.data = const_cast<char *>(bytes.data());
        c.offsets = const_cast<uint32_t *>(offsets.data());
        c.offset_bytes = 4;
        c.bytes = bytes.size();
        return c;
    }
};

uint64_t state = 88172645463325252u;
uint64_t some(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % n;
}

std::string letters(uint64_t least, uint64_t more)
{
    std::string s;
    for (uint64_t k = least + some(more); k > 0; k--)
        s += static_cast<char>('a' + some(26));
    return s;
}

// Folders have names out of a list, and 20 files each on average.
std::vector<std::string> make_paths(uint64_t n)
{
    std::vector<std::string> names, all;
    const std::string shared = "/srv/archive/projects/2026/measurements/everything/we/have/";
    for (unsigned i = 0; i < 2000; i++)
        names.push_back(letters(3, 10));
    while (all.size() < n) {
        std::string folder = shared;
        for (uint64_t depth = 1 + some(4); depth > 0; depth--)
            folder += names[some(names.size())] + "/";
        for (uint64_t files = 1 + some(39); files > 0; files--)
            all.push_back(folder + names[some(names.size())] + "-" + std::to_string(some(100000)) +
                          ".txt");
    }
    return all;
}

// As long as paths, so that what a common prefix costs can be told from what bytes cost.
std::vector<std::string> make_long(uint64_t n)
{
    std::vector<std::string> all = make_paths(n);
    for (std::string &s : all)
        s = letters(s.size(), 1);
    return all;
}

std::vector<std::string> read_words(const char *files)
{
    std::vector<std::string> all;
    std::string list = files;
    for (size_t at = 0; at <= list.size();) {
        size_t end = std::min(list.find(':', at), list.size());
        FILE *f = std::fopen(list.substr(at, end - at).c_str(), "rb");
        char line[4096];
        while (f && std::fgets(line, sizeof line, f)) {
            line[std::strcspn(line, "\n")] = 0;
            all.push_back(line);
        }
        if (f)
            std::fclose(f);
        at = end + 1;
    }
    return all;
}

// Of this thread on a CPU: what others do at the same time counts less.
double seconds()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// Asks `runs` times, says the best, and compares the answers.
template <typename F>
void measure(const char *what, unsigned runs, double bytes_per_key,
             const std::vector<uint64_t> &want, F ask)
{
    std::vector<uint64_t> got(QUERIES);
    double best = 1e30;
    for (unsigned i = 0; i < runs; i++) {
        double begin = seconds();
        ask(got.data());
        best = std::min(best, seconds() - begin);
    }
    for (uint64_t i = 0; i < QUERIES; i++)
        if (got[i] != want[i]) {
            std::fprintf(stderr, "%s: another answer to query %llu\n", what,
                         static_cast<unsigned long long>(i));
            std::exit(1);
        }
    std::printf("{\"what\": \"%s\", \"mps\": %.2f, \"extra_bytes_per_key\": %.2f}\n", what,
                QUERIES / best / 1e6, bytes_per_key);
    std::fflush(stdout);
}

void need(sx_status st, const char *what)
{
    if (st != SX_OK) {
        std::fprintf(stderr, "%s: %s\n", what, sx_detail());
        std::exit(1);
    }
}

}  // namespace

int main(int argc, char **argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "strings words FILE | paths|random|long N  [RUNS [SPEC]...]\n");
        return 2;
    }
    std::vector<std::string> all;
    if (std::strcmp(argv[1], "words") == 0)
        all = read_words(argv[2]);
    else if (std::strcmp(argv[1], "paths") == 0)
        all = make_paths(std::strtoull(argv[2], nullptr, 0));
    else if (std::strcmp(argv[1], "long") == 0)
        all = make_long(std::strtoull(argv[2], nullptr, 0));
    else
        for (uint64_t i = std::strtoull(argv[2], nullptr, 0); i > 0; i--)
            all.push_back(letters(8, 17));
    unsigned runs = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 5;
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());

    strings keys, queries;
    std::vector<uint64_t> want(QUERIES);
    for (const std::string &s : all)
        keys.add(s);
    for (uint64_t i = 0; i < QUERIES; i++) {
        want[i] = some(all.size());
        queries.add(all[want[i]]);
    }
    std::printf("{\"keys\": \"%s\", \"n\": %llu, \"bytes\": %llu}\n", argv[1],
                static_cast<unsigned long long>(keys.n()),
                static_cast<unsigned long long>(keys.bytes.size()));

    measure("binary search", runs, 4, want, [&](uint64_t *out) {
        for (uint64_t i = 0; i < QUERIES; i++) {
            uint64_t lo = 0, hi = keys.n(), length = queries.length(i);
            while (lo < hi) {
                uint64_t mid = lo + (hi - lo) / 2, both = std::min(keys.length(mid), length);
                int c = std::memcmp(keys.at(mid), queries.at(i), both);
                if (c < 0 || (c == 0 && keys.length(mid) < length))
                    lo = mid + 1;
                else
                    hi = mid;
            }
            out[i] = lo;
        }
    });
    {
        std::unordered_map<std::string, uint64_t> map(all.size());
        for (uint64_t i = 0; i < all.size(); i++)
            map.emplace(all[i], i);
        std::vector<std::string> asked;
        for (uint64_t i = 0; i < QUERIES; i++)
            asked.emplace_back(queries.at(i), queries.length(i));
        double bytes = 64.0 + 8.0 * static_cast<double>(map.bucket_count()) /
                                  static_cast<double>(map.size());
        measure("std::unordered_map<std::string>", runs, bytes, want, [&](uint64_t *out) {
            for (uint64_t i = 0; i < QUERIES; i++) {
                auto it = map.find(asked[i]);
                out[i] = it == map.end() ? SX_MISS : it->second;
            }
        });
    }
    std::vector<std::string> specs(argv + std::min(argc, 4), argv + argc);
    if (specs.empty())
        specs = {"sorted", "eytzinger", "pivot", "btree", "guide", "pgm"};
    sx_device *dev = nullptr;
    need(sx_open(&dev, "cpu:threads=1"), "cpu");
    for (const std::string &spec : specs) {
        sx_index *ix = nullptr;
        sx_index_info info{};
        info.size = sizeof info;
        sx_column k = keys.column(), q = queries.column();
        /* Rows are given, so that an index stores them. */
        std::vector<uint32_t> row(keys.n());
        for (uint64_t i = 0; i < row.size(); i++)
            row[i] = static_cast<uint32_t>(i);
        sx_column rows{};
        rows.type = SX_U32;
        rows.n = row.size();
        rows.data = row.data();
        double begin = seconds();
        need(sx_build(&ix, dev, spec.c_str(), &k, &rows, nullptr), spec.c_str());
        begin = seconds() - begin;
        need(sx_describe(ix, &info), spec.c_str());
        std::fprintf(stderr, "%s: built in %.2f s\n", info.spec, begin);
        measure(spec.c_str(), runs,
                static_cast<double>(info.bytes - keys.bytes.size()) /
                    static_cast<double>(keys.n()),
                want, [&](uint64_t *out) {
                    sx_column to{};
                    to.type = SX_U64;
                    to.n = QUERIES;
                    to.data = out;
                    need(sx_get(ix, &q, &to, nullptr), spec.c_str());
                });
        sx_free(ix);
    }
    sx_close(dev);
    return 0;
}
