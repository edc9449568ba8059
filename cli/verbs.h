/* verbs.h - the verbs of the tool: one function and one cmd_VERB.c each. */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

/* argv[0] is the verb. They return the exit status. */
int cmd_gen(int argc, char **argv);
int cmd_build(int argc, char **argv);
int cmd_lookup(int argc, char **argv);
int cmd_range(int argc, char **argv);
int cmd_prefix(int argc, char **argv);
int cmd_climb(int argc, char **argv);
int cmd_at(int argc, char **argv);
int cmd_head(int argc, char **argv);
int cmd_tail(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_devices(int argc, char **argv);

#endif
