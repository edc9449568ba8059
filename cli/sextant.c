/* sextant.c - the command line tool: finds the verb and runs it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io.h"
#include "page.h"
#include "say.h"
#include "verbs.h"

static const struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} verbs[] = {
    { "gen", cmd_gen, "make keys of a distribution, or queries for keys" },
    { "build", cmd_build, "build an index over keys and save it" },
    { "lookup", cmd_lookup, "look queries up: get, rank, floor, ceil" },
    { "range", cmd_range, "count, sum or list what lies in ranges" },
    { "prefix", cmd_prefix, "count or list keys that begin with some bits" },
    { "climb", cmd_climb, "go from keys to parents, up to the top" },
    { "at", cmd_at, "print what is at given ranks" },
    { "head", cmd_head, "print the first keys" },
    { "tail", cmd_tail, "print the last keys" },
    { "explain", cmd_explain, "say how an index is made up" },
    { "verify", cmd_verify, "prove that an index is sound" },
    { "bench", cmd_bench, "measure indexes beside plain binary search" },
    { "devices", cmd_devices, "list where indexes can live" },
};

enum { VERBS = sizeof verbs / sizeof *verbs };

static const struct verb *find_verb(const char *name)
{
    for (int i = 0; i < VERBS; i++)
        if (!strcmp(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

static void print_usage(FILE *to)
{
    fprintf(to, "usage: sextant VERB [ARGUMENT]...\n"
                "Ordered in-memory indexes, asked in batches.\n\n");
    for (int i = 0; i < VERBS; i++)
        fprintf(to, "  %s%-9s%s %s\n", bold(to), verbs[i].name, plain(to),
                verbs[i].summary);
    fprintf(to, "\n  sextant VERB --help    the options of a verb\n"
                "  sextant help VERB      the same; on a terminal, its manual page\n"
                "  sextant --version, -V  the version of tool and library\n");
}

/* For the completion of shells, as --complete of verbs. */
static void print_verbs(void)
{
    for (int i = 0; i < VERBS; i++)
        printf("%s\t\t%s\n", verbs[i].name, verbs[i].summary);
    printf("help\t\tthe options of a verb, or its page\n");
}

static void print_version(void)
{
    int v = sx_version();

    printf("sextant %d.%d.%d\n", v / 10000, v / 100 % 100, v % 100);
}

/* A long option, which may be shortened: no two begin alike. Or its letter. */
static bool is_option(const char *word, const char *name, char letter)
{
    size_t length = strlen(word);

    return (length >= 3 && !strncmp(word, name, length)) ||
           (length == 2 && word[0] == '-' && word[1] == letter);
}

static int run(int argc, char **argv)
{
    const struct verb *verb;

    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (is_option(argv[1], "--help", 'h')) {
        print_usage(stdout);
        return EXIT_OK;
    }
    if (is_option(argv[1], "--version", 'V')) {
        print_version();
        return EXIT_OK;
    }
    if (!strcmp(argv[1], "--complete")) {
        print_verbs();
        return EXIT_OK;
    }
    if (!strcmp(argv[1], "help")) {
        static char help[] = "--help";

        if (argc == 2) {
            print_usage(stdout);
            return EXIT_OK;
        }
        if (argc > 3)
            fail_usage("stray argument '%s'", argv[3]);
        verb = find_verb(argv[2]);
        if (verb) {
            char *words[] = { argv[2], help, NULL };

            if (isatty(STDOUT_FILENO))
                page_open(verb->name);
            say_verb(verb->name); /* no page can be shown */
            return verb->run(2, words);
        }
        argv[1] = argv[2];        /* an unknown word, as if it had come alone */
    }
    verb = find_verb(argv[1]);
    if (!verb)
        fail_usage("unknown %s '%s'", argv[1][0] == '-' ? "option" : "verb",
                   argv[1]);
    say_verb(verb->name);
    return verb->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    output out = { .to = stdout, .name = "stdout" };
    int status;

    output_init();
    status = run(argc, argv);
    output_close(&out);           /* checks help and version, too */
    return status;
}
