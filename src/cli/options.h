/**
 * @file options.h
 * @brief The options of each command, as options.def has them: struct rp_<command>_cli is what the
 *        command line says, with the defaults of what it does not say.
 */
#ifndef RP_CLI_OPTIONS_H
#define RP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/roofline.h"
#include "base/err.h"
#include "base/utf8.h"
#include "library/library.h"
#include "report/report.h"
#include "trace/counter_set.h"

struct rp_buf;
struct rp_err;
struct rp_run_options;

/** These words of the command line are borrowed. */
struct rp_word_list {
    char **at;
    size_t count;
};

/** Adds the words between separators, which are overwritten by zeros. */
void rp_word_list_split(char *text, const char *separators, struct rp_word_list *to);

enum { RP_MAX_PMC = 256 }; /**< counters of --pmc */

/** Says how a value is read, and what type the member of the struct has. */
enum rp_value_type {
    RP_VALUE_FLAG,        /**< no value */
    RP_VALUE_UINT,        /**< a whole number */
    RP_VALUE_REAL,        /**< a number */
    RP_VALUE_ABOVE_0,     /**< a number above 0 */
    RP_VALUE_PERCENT,     /**< the struct has the fraction */
    RP_VALUE_NUMBER_WORD, /**< a whole number, also 0x...: the struct has the word */
    RP_VALUE_TEXT,        /**< may be empty */
    RP_VALUE_NAME_TEXT,   /**< not empty */
    RP_VALUE_FILE,
    RP_VALUE_DIR,    /**< without slashes behind it */
    RP_VALUE_SCRIPT, /**< a command; not blank */
    RP_VALUE_CHECKED,
    RP_VALUE_CHOICE,   /**< the place in the list; -1: not given, and no default */
    RP_VALUE_NAME,     /**< one of another table, as the word */
    RP_VALUE_ANY_NAME, /**< the same; of another word the room says what is wrong */
    RP_VALUE_WORDS,    /**< with separators between them */
    RP_VALUE_EACH,     /**< each option is a word, read by the command */
    RP_VALUE_NUMBERS,  /**< the same; the tool takes one number, too */
};

#define RP_C_FLAG                  bool
#define RP_C_UINT(min, max)        uint64_t
#define RP_C_REAL(min, max)        double
#define RP_C_ABOVE_0(max)          double
#define RP_C_PERCENT(min, max)     double
#define RP_C_NUMBER_WORD(min, max) const char *
#define RP_C_TEXT                  const char *
#define RP_C_NAME_TEXT             const char *
#define RP_C_FILE                  const char *
#define RP_C_DIR                   const char *
#define RP_C_SCRIPT                const char *
#define RP_C_CHECKED(function)     const char *
#define RP_C_CHOICE(choices)       int
#define RP_C_CHOICE_WAS(list, was) int
#define RP_C_NAME(names)           const char *
#define RP_C_ANY_NAME(names)       const char *
#define RP_C_WORDS(between, most)  struct rp_word_list
#define RP_C_EACH                  struct rp_word_list
#define RP_C_NUMBERS               struct rp_word_list

enum rp_command_id {
#define COMMAND(id, operands, summary) RP_COMMAND_##id,
#include "cli/options.def"
    RP_COMMANDS
};

/** It is the first member of each struct. Release it with rp_args_free. */
struct rp_args {
    enum rp_command_id command;
    uint64_t given;     /**< bits of the command's options; RP_IS_GIVEN */
    const char *action; /**< of ACTIONS; NULL: none */
    char **operands;    /**< with a NULL behind them */
    size_t operand_count;
};

struct rp_args_before_the_first { /* The first COMMAND ends this struct. */
    struct rp_args args;
#define COMMAND(id, operands, summary)                                                             \
    }                                                                                              \
    ;                                                                                              \
    struct rp_##id##_cli {                                                                         \
        struct rp_args args;
#define OPTION(id, member, name, letter, type, ...) RP_C_##type member;
#include "cli/options.def"
};

/** These are the places of options in their command, from 1 on, by their members:
 * RP_OPTION_profile_runs. */
enum {
    RP_OPTIONS_BEFORE_THE_FIRST,
#define COMMAND(id, operands, summary) RP_OPTIONS_##id = 0,
#define OPTION(id, member, ...)        RP_OPTION_##id##_##member,
#include "cli/options.def"
};

/** Says whether an option is on the command line. */
#define RP_IS_GIVEN(id, options, member) ((options)->args.given >> RP_OPTION_##id##_##member & 1)

/**
 * Reads the command line.
 * @param ret struct rp_<command>_cli, to be released whatever is returned
 * @return false: help was printed, or an error; ret_code is the exit code
 */
bool rp_options_parse(enum rp_command_id command, int argc, char **argv, void *ret, int *ret_code);

/** An option that the next command line has otherwise than this one. */
struct rp_other_option {
    const char *option; /**< "--budget" */
    const char *value;  /**< NULL: it has none */
    bool gone;          /**< the next one is without it */
};

/** Copies a command line, with a NULL behind it, because reading it changes the order of its words.
 * @return one block, to be released with free(); NULL: memory has ended */
char **rp_words_copy(int count, char *const *words);

/** Writes "Next: " and the command line once more, with these options in place of its own.
 * @param argv as it was before it was read, from the command on; NULL: nothing is written */
void rp_next_command(const struct rp_args *args, char *const *argv,
                     const struct rp_other_option *others, size_t count, struct rp_buf *text);

/** Says whether "--" must stand before these words of a program, because the command would read
 * some of them as options of its own, or remark that it does not.
 * @param program its name and arguments */
bool rp_needs_separator(enum rp_command_id command, char *const *program, size_t count);

/** @param args  struct rp_<command>_cli */
void rp_args_free(void *args);

/** Prints an error that a command finds in its options, in the same form as those of the table.
 * @return its code */
int rp_args_refuse(const struct rp_args *args, const struct rp_err *err);
/** @return exit code */
int rp_options_print_help(enum rp_command_id command);

/* The rows are public for code that makes something else of them. */

enum rp_row_kind {
    RP_ROW_COMMAND, /**< name, text */
    RP_ROW_ACTION,  /**< name, text */
    RP_ROW_NEEDS_ACTION,
    RP_ROW_USAGE,
    RP_ROW_TEXT,
    RP_ROW_GROUP,
    RP_ROW_OPTION,
    RP_ROW_NAMES, /**< text, names */
    RP_ROW_RULE,  /**< rule, words, other, text */
    RP_ROW_STATUS,
    RP_ROW_TOOL_CHOICE, /**< argument, form or action, words, text */
    RP_ROW_OPERAND,     /**< argument, all, needed, text */
};

enum rp_rule_kind { RP_RULE_ONE_OF, RP_RULE_NOT_WITH, RP_RULE_NEEDS, RP_RULE_MISSING };
enum rp_operands { RP_OPERANDS_STOP, RP_OPERANDS_MIX, RP_OPERANDS_NONE };
enum {
    RP_OPTION_ADDS = 1,
    RP_OPTION_ONCE = 2,
    RP_OPTION_ENDS = 4,
    RP_OPTION_HIDDEN = 8,
    RP_OPTION_IS_ACTION = 16, /**< of TOOL_CHOICE */
    RP_OPTION_ALL = 32,       /**< of OPERAND */
    RP_OPTION_NEEDED = 64,
    RP_OPTION_BEHIND = 128, /**< it may end the command line, behind PROGRAM and its arguments */
    RP_OPTION_PATHS = 256,  /**< of OPERAND: files or folders */
    RP_OPTION_RUNS = 512,   /**< of OPERAND: a program, which may be a name to be found in PATH */
};

/** Returns a name of a table, or NULL at its end. */
typedef const char *rp_names(size_t at, const char **ret_what);

struct rp_row {
    enum rp_row_kind kind;
    enum rp_value_type type;
    enum rp_rule_kind rule;
    enum rp_operands operands;
    unsigned flags;
    char letter;
    const char *name, *value, *preset, *argument, *text;
    const char *words, *other; /**< choices, separators, lists of a rule */
    const char *was;           /**< "OLD NEW": a choice and what it is called now, or NULL */
    uint64_t min, max;
    double low, high;
    int (*check)(const char *option, const char *word, struct rp_err *err);
    rp_names *names;
    size_t offset;
};

/** Returns the rows from the command's COMMAND on, up to the next one.
 * @param ret_count of all rows, the first one as well */
const struct rp_row *rp_command_rows(enum rp_command_id command, size_t *ret_count);

/** Writes what %l stands for: "use counts or detailed", "1 to 1000". */
void rp_row_put_limits(const struct rp_row *row, struct rp_buf *to);
/** In the text of a row: the short description of an argument of the tool ends here. */
#define RP_ROW_SHORT "%|"

/** Writes the text with %l and %d replaced, without RP_ROW_SHORT. */
void rp_row_put_text(const struct rp_row *row, struct rp_buf *to);
/** Returns "--runs" or "-o". */
const char *rp_row_option(const struct rp_row *row, char ret[64]);

/* What becomes of options that several commands have: of the device, and of rooflines.
 *        Equal options of rooflines give equal numbers in analyze and report.
 */

/** Release it with rp_roof_options_free, after everything that was made by it. It must not be
 * copied. */
struct rp_roof_options {
    struct rp_roofline_options roof;
    const char *ceilings; /**< file; NULL */
    struct rp_measured_ceilings measured;
    struct rp_counters *neighbours; /**< of the file: they say which GPU it is of */
    struct rp_counted_device measured_on;
};

/** The struct of a command that has the options of ROOFLINE has these members. */
#define RP_ROOF_OPTIONS(args)                                                                      \
    {                                                                                              \
        .roof = {.arch = (args).arch,                                                              \
                 .memory_gbps = (args).memory_gbps,                                                \
                 .clock_mhz = (args).clock_mhz,                                                    \
                 .model = (enum rp_flop_model)(args).flop_model},                                  \
        .ceilings = (args).ceilings                                                                \
    }

/** Checks that the GPU is known, and reads the file of ceilings. */
int rp_roof_options_read(struct rp_roof_options *options, struct rp_err *err);
void rp_roof_options_free(struct rp_roof_options *options);

/** These are the words of --timing, by their place in its choices. */
extern const char *const rp_timing_words[];

/** @return what the variable says of the model of time, by today's name; NULL: nothing */
const char *rp_timing_variable(void);

/** Reads --device, --threads, --gpus and --timing. NULL, 0 or -1 mean that one was not given. */
void rp_device_options_read(const char *device, uint64_t threads, uint64_t gpus, int timing,
                            struct rp_run_options *ret);

#endif
