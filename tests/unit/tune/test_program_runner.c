/* Commands from templates: which words they have, and that no value is more than a part of one; and
 * what
 * --gpus all means. */
#include "tune/program_runner.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "experiment/measured_run.h"
#include "run/machine.h"
#include "tune/space.h"
#include "unit/scratch.h"

#include "tune/program_runner.c"

/* Commands from templates: which words they have, and that no value is more than a part of one. */

/** M 16 or 32; N 0.5; kind of texts; one configuration for each text, and one without kind. */
static struct rp_space *space_of(const char *const *texts, size_t count)
{
    const struct rp_value sizes[] = {{.kind = RP_VALUE_INTEGER, .integer = 16},
                                     {.kind = RP_VALUE_INTEGER, .integer = 32}};
    const struct rp_value half = {.kind = RP_VALUE_REAL, .real = 0.5};
    struct rp_value kinds[64];
    struct rp_space *space = rp_space_new();
    struct rp_err err = RP_ERR_INIT;

    for (size_t i = 0; i < count; i++)
        kinds[i] = (struct rp_value){.kind = RP_VALUE_TEXT, .text = texts[i]};
    assert_int_equal(rp_space_add_parameter(space, "M", sizes, 2, &err), 0);
    assert_int_equal(rp_space_add_parameter(space, "N", &half, 1, &err), 0);
    assert_int_equal(rp_space_add_parameter(space, "kind", kinds, count, &err), 0);
    for (uint16_t i = 0; i < count; i++)
        assert_int_equal(rp_space_add(space, (uint16_t[]){1, 0, i}, &err), 0);
    assert_int_equal(rp_space_add(space, (uint16_t[]){0, 0, RP_NO_VALUE}, &err), 0);
    return space;
}

static struct rp_command fill(const char *text, const struct rp_space *space, unsigned flags,
                              size_t config)
{
    struct rp_template *template;
    struct rp_command command;
    struct rp_err err = RP_ERR_INIT;

    if (template_parse(text, space, flags, &template, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(template_fill_output(template, space, config, NULL, &command, &err), 0);
    template_free(template);
    return command;
}

/** Words joined by |. */
static void check_words(const char *text, size_t config, const char *expected)
{
    static const char *const texts[] = {"a 'b'\n{M}"};
    struct rp_space *space = space_of(texts, 1);
    struct rp_command command = fill(text, space, RP_TEMPLATE_ENVIRONMENT, config);
    rp_autobuf words = {0};

    for (size_t i = 0; command.argv[i]; i++)
        rp_buf_printf(&words, "%s%s", i ? "|" : "", command.argv[i]);
    assert_string_equal(rp_buf_text(&words), expected);
    rp_command_free(&command);
    rp_space_free(space);
}

static void words(void **state)
{
    (void)state;
    check_words("./k --bm {M}", 0, "./k|--bm|32");
    check_words(" ./k\t-x={M}x{N}\n", 0, "./k|-x=32x0.5");
    check_words("./k {kind}", 0, "./k|a 'b'\n{M}");
    check_words("./k -D'S={kind}' \"{kind}\"x", 0, "./k|-DS=a 'b'\n{M}|a 'b'\n{M}x");
    check_words("./k '' \"\" a''b", 0, "./k|||ab");
    check_words("./k 'a b' \"c  d\" e\\ f \\\\ \\'", 0, "./k|a b|c  d|e f|\\|'");
    check_words("./k \"\\\"\\$\\`\\\\\\n\" '$(x) \\ | ;'", 0, "./k|\"$`\\\\n|$(x) \\ | ;");
    check_words("./k a\\\nb \\\n c \"d\\\ne\" 'f\\\n'", 0, "./k|ab|c|de|f\\\n");
    check_words("./k {{{M}}} '{{\"a\": {M}}}'", 0, "./k|{32}|{\"a\": 32}");
    check_words("./k * ? [a] # ~ %s =", 0, "./k|*|?|[a]|#|~|%s|=");
    check_words("./k_{M} {M}{M}", 0, "./k_32|3232");
    /* what has no value takes its word with it */
    check_words("./k --kind={kind} {M} {kind}", 1, "./k|16");
}

static void environment(void **state)
{
    static const char *const texts[] = {"a=b c"};
    struct rp_space *space = space_of(texts, 1);
    struct rp_command command = fill("./k", space, RP_TEMPLATE_ENVIRONMENT, 0);

    (void)state;
    assert_string_equal(command.env[0].name, "M");
    assert_string_equal(command.env[0].value, "32");
    assert_string_equal(command.env[2].value, "a=b c");
    assert_null(command.env[3].name);
    rp_command_free(&command);
    command = fill("./k", space, RP_TEMPLATE_ENVIRONMENT, 1);
    assert_null(command.env[2].value);
    rp_command_free(&command);
    command = fill("./k {M} {kind}", space, 0, 1);
    assert_null(command.env[0].name);
    rp_command_free(&command);
    rp_space_free(space);
}

static void what_is_no_command(void **state)
{
    static const struct {
        const char *text;
        unsigned flags;
        const char *why;
    } rows[] = {
        {"", 0, "it is empty"},
        {" \n ", 0, "it is empty"},
        {" ", RP_TEMPLATE_SHELL, "it is empty"},
        {"'' {M} {kind}", 0, "the program's name is empty"},
        {"./k {M}", 0, "does not depend on parameter kind: write {kind}"},
        {"./k {M} {kind} {K}", 0, "column 17: there is no parameter K (there are M, N, kind)"},
        {"./k {M} {kind} {}", 0, "there is no parameter  (there"},
        {"./k {M} {kind} {M", 0, "column 16: { without }"},
        {"./k {M} {kind} }", 0, "column 16: } without {"},
        {"./k {M} {kind} 'a", 0, "column 16: this quote is not closed"},
        {"./k {M} {kind} \"a", 0, "column 16: this quote is not closed"},
        {"./k {M} {kind} \\", 0, "column 16: a backslash at the end"},
        {"./k {M} {kind} | sort", 0, "column 16: only a shell knows"},
        {"./k {M} {kind}; x", 0, "column 15: only a shell knows"},
        {"./k {M} {kind} >x", 0, "only a shell knows"},
        {"./k {M} {kind} $HOME", 0, "only a shell knows"},
        {"./k {M} {kind} \"$HOME\"", 0, "only a shell knows"},
        {"./k {M} {kind} `x`", 0, "only a shell knows"},
        {"OMP=1 ./k {M} {kind}", 0, "put env in front of it"},
        {"./{kind} {M}", 0, "parameter kind has no value in some configurations"},
        {"x ${M} {kind}", RP_TEMPLATE_SHELL, "column 4: a placeholder behind $"},
        {"x \"${M}\" {kind}", RP_TEMPLATE_SHELL, "a placeholder behind $"},
        {"x \\{M} {kind}", RP_TEMPLATE_SHELL, "a placeholder behind a backslash"},
        {"x {M} $(( {kind} + 1 ))", RP_TEMPLATE_SHELL, "a text within $(( ))"},
        {"x {M} $(( (1+(2)) * {kind} ))", RP_TEMPLATE_SHELL, "a text within $(( ))"},
        {"x {M} $(( 1 + $((2)) + {kind} ))", RP_TEMPLATE_SHELL, "a text within $(( ))"},
        {"x {K}", RP_TEMPLATE_SHELL, "there is no parameter K"},
    };
    static const char *const texts[] = {"x"};
    struct rp_space *space = space_of(texts, 1);

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rp_template *template;
        struct rp_err err = RP_ERR_INIT;

        if (template_parse(rows[i].text, space, rows[i].flags, &template, &err) != -RP_USAGE)
            fail_msg("%s is taken", rows[i].text);
        if (!strstr(err.text, rows[i].why))
            fail_msg("%s: %s; it does not say: %s", rows[i].text, err.text, rows[i].why);
    }
    rp_space_free(space);
}

static void names_that_cannot_be_variables(void **state)
{
    const struct rp_value values[] = {{.kind = RP_VALUE_INTEGER, .integer = 1},
                                      {.kind = RP_VALUE_INTEGER, .integer = 2}};
    struct rp_space *space = rp_space_new();
    struct rp_template *template;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_space_add_parameter(space, "block-m", values, 2, &err), 0);
    assert_int_equal(rp_space_add(space, (uint16_t[]){0}, &err), 0);
    assert_int_equal(template_parse("./k", space, RP_TEMPLATE_ENVIRONMENT, &template, &err),
                     -RP_USAGE);
    assert_non_null(strstr(err.text, "parameter block-m cannot be an environment variable"));
    assert_int_equal(template_parse("./k {block-m}", space, 0, &template, &err), 0);
    template_free(template);
    rp_space_free(space);
}

/* --- values that mean something to a shell, through real programs --------------------------- */

static char *of_size(size_t bytes, char c)
{
    char *text = malloc(bytes + 1);

    assert_non_null(text);
    memset(text, c, bytes);
    text[bytes] = '\0';
    return text;
}

static char *run(const struct rp_command *command)
{
    rp_autofree char *path = rp_path_join(scratch_dir, "output");
    rp_autofree char *program = NULL;
    struct rp_proc_end end;
    struct rp_err err = RP_ERR_INIT;
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    char *text = of_size(1 << 20, '\0');

    assert_true(fd >= 0);
    assert_int_equal(rp_find_program(command->argv[0], &program, &err), 0);
    assert_int_equal(rp_proc_run(&(struct rp_proc){.path = program,
                                                   .argv = command->argv,
                                                   .env = command->env,
                                                   .stdout_fd = fd},
                                 &end, &err),
                     0);
    assert_true(!end.signaled && end.status == 0);
    assert_true(pread(fd, text, (1 << 20) - 1, 0) >= 0);
    close(fd);
    return text;
}

static void check_output(const char *text, const struct rp_space *space, unsigned flags,
                         const char *format)
{
    for (size_t i = 0; i + 1 < space->count; i++) {
        struct rp_command command = fill(text, space, flags, i);
        rp_autofree char *output = run(&command), *expected = of_size(1 << 20, '\0');
        const char *value = rp_space_value(space, i, 2)->text;

        snprintf(expected, 1 << 20, format, value, value, value, value);
        if (strcmp(output, expected) != 0)
            fail_msg("%s of %.60s: %.200s instead of %.200s", text, value, output, expected);
        rp_command_free(&command);
    }
}

static void values_are_no_code(void **state)
{
    rp_autofree char *long_one = of_size(20000, '\'');
    const char *const texts[] = {"'; touch pwned; '",
                                 "\"; touch pwned; \"",
                                 "$(touch pwned)",
                                 "`touch pwned`",
                                 "a\ntouch pwned\n",
                                 "%s%n%d",
                                 "*",
                                 "~",
                                 "-n",
                                 "",
                                 " a  b\t",
                                 "\\",
                                 "\\n",
                                 "'",
                                 "\"",
                                 "'\\''",
                                 "${PATH} $HOME $$",
                                 "a & touch pwned & b | touch pwned",
                                 "> pwned",
                                 "\xc3\xa4\xe2\x82\xac\x1b[31m",
                                 "EOF\ntouch pwned\n",
                                 "{M}{{}}",
                                 "; exit 1 #",
                                 "a[$(touch pwned)]",
                                 "))",
                                 long_one};
    struct rp_space *space = space_of(texts, sizeof texts / sizeof *texts);
    char before[4096];

    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(scratch_dir), 0);
    check_output("printf '<%s>' {kind} x{kind}x '{kind}' \"{kind}\" {M} ", space, 0,
                 "<%s><x%sx><%s><%s><32>");
    check_output("printf '<%s>' {kind} x{kind}x '{kind}' \"{kind}\" $(( {M} + 1 )) ", space,
                 RP_TEMPLATE_SHELL, "<%s><x%sx><%s><%s><33>");
    check_output("# don't {M}\nf() {{ printf '<%s>' \"$1\"; }}; f {kind}; X={kind}; f \"${{X}}\"; "
                 "if true; then f a\"b{kind}c\"'d{kind}e'; fi",
                 space, RP_TEMPLATE_SHELL, "<%s><%s><ab%scd%se>");
    check_output("sh -c 'printf \"<%s>\" \"$kind\"'", space, RP_TEMPLATE_ENVIRONMENT, "<%s>");
    /* where the quotes are not understood, a value may be split or have quotes, but is not run */
    for (size_t i = 0; i + 1 < space->count; i++) {
        struct rp_command command =
            fill("cat <<EOF\n{kind} it's `echo {kind}` $(echo \"{kind}\")\n{kind}\nEOF\n"
                 "echo \"$(echo {kind} \"{kind}\")\" {M}",
                 space, RP_TEMPLATE_SHELL, i);

        free(run(&command));
        rp_command_free(&command);
    }
    assert_int_equal(access("pwned", F_OK), -1);
    assert_int_equal(chdir(before), 0);
    rp_space_free(space);
}

static void lengths(void **state)
{
    rp_autofree char *fits = of_size(131071 - 10, 'x'), *too_long = of_size(1 << 20, 'x');
    rp_autofree char *quotes = of_size(40000, '\'');
    const char *const texts[3][1] = {{fits}, {too_long}, {quotes}};
    struct rp_space *spaces[3] = {space_of(texts[0], 1), space_of(texts[1], 1),
                                  space_of(texts[2], 1)};
    struct rp_template *template;
    struct rp_command command;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    command = fill("printf %s {M}{kind}", spaces[0], 0, 0);
    free(run(&command));
    rp_command_free(&command);
    command = fill("printf %s", spaces[0], RP_TEMPLATE_ENVIRONMENT, 0);
    free(run(&command));
    rp_command_free(&command);
    assert_int_equal(template_parse("./k 123456789{M}{kind}", spaces[0], 0, &template, &err),
                     -RP_USAGE);
    assert_non_null(strstr(err.text, "a word would have 131072 bytes"));
    assert_int_equal(template_parse("./k {M} {kind}", spaces[1], 0, &template, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "parameter kind would have"));
    assert_int_equal(template_parse("k", spaces[1], RP_TEMPLATE_ENVIRONMENT, &template, &err),
                     -RP_USAGE);
    assert_int_equal(
        template_parse("./k {M} {kind}", spaces[2], RP_TEMPLATE_SHELL, &template, &err), -RP_USAGE);
    for (size_t i = 0; i < 3; i++)
        rp_space_free(spaces[i]);
}

/* What a build makes is part of a word, and of a script, as a value is. */
static void output_of_a_build(void **state)
{
    static const char path[] = "/tmp/a 'b' $(c)/program";
    const char *const texts[] = {"x"};
    struct rp_space *space = space_of(texts, 1);
    const unsigned flags[] = {RP_TEMPLATE_OUTPUT | RP_TEMPLATE_PART,
                              RP_TEMPLATE_OUTPUT | RP_TEMPLATE_PART | RP_TEMPLATE_SHELL};
    struct rp_template *template;
    struct rp_command command;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rp_autofree char *said = NULL;

        assert_int_equal(
            template_parse("printf '%s|' -o={output} {M}", space, flags[i], &template, &err), 0);
        assert_true(template_has_output(template));
        assert_true(template_uses(template, 0) && !template_uses(template, 2));
        assert_int_equal(template_fill_output(template, space, 0, path, &command, &err), 0);
        said = run(&command);
        assert_string_equal(said, "-o=/tmp/a 'b' $(c)/program|32|");
        rp_command_free(&command);
        template_free(template);
    }
    assert_int_equal(template_parse("{output} {M}", space, RP_TEMPLATE_PART, &template, &err),
                     -RP_USAGE);
    assert_int_equal(template_parse("{output} {M}", space, RP_TEMPLATE_OUTPUT, &template, &err),
                     -RP_USAGE);
    assert_non_null(strstr(err.text, "does not depend on parameter kind"));
    rp_space_free(space);
}

static void a_parameter_called_output(void **state)
{
    const struct rp_value one = {.kind = RP_VALUE_INTEGER, .integer = 1};
    struct rp_space *space = rp_space_new();
    struct rp_template *template;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_space_add_parameter(space, "output", &one, 1, &err), 0);
    assert_int_equal(rp_space_add(space, (uint16_t[]){0}, &err), 0);
    assert_int_equal(template_parse("./k {output}", space, RP_TEMPLATE_OUTPUT, &template, &err),
                     -RP_USAGE);
    assert_non_null(strstr(err.text, "call it something else"));
    assert_int_equal(template_parse("./k {output}", space, 0, &template, &err), 0);
    assert_false(template_has_output(template));
    template_free(template);
    rp_space_free(space);
}

/* What --test_gpus all means, of GPUs that are made up. */

static const struct rp_gpu test_gpus[] = {
    {.gfx = "gfx942", .compute_units = 304, .product = "AMD Instinct MI300X"},
    {.gfx = "gfx942", .compute_units = 304, .product = "AMD Instinct MI300X", .unique_id = 10},
    {.gfx = "gfx90a", .compute_units = 104, .product = "", .unique_id = 11},
};

static void means(size_t count, const char *visible, const char *wanted)
{
    rp_autofree char *list = NULL;
    struct rp_err err = RP_ERR_INIT;

    if (gpu_choice_of(test_gpus, count, visible, &list, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(list, wanted);
}

static void is_refused(size_t count, const char *visible, const char *first, const char *second)
{
    char *list = NULL;
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(gpu_choice_of(test_gpus, count, visible, &list, &err), -RP_ENVIRONMENT);
    assert_null(list);
    assert_non_null(strstr(err.text, first));
    assert_non_null(strstr(err.text, second));
}

static void all_that_may_be_used(void **state)
{
    (void)state;
    means(1, NULL, "0");
    means(2, "", "0,1");
    means(3, "1,0", "1,0");
    means(3, "GPU-a,0", "GPU-a,0");
    means(3, "2", "2");
    means(3, "1,7,2", "1"); /* as ROCr does */
    is_refused(0, NULL, "no GPU", "--gpus all");
    is_refused(3, "5", "no GPU", "ROCR_VISIBLE_DEVICES=5");
}

static void of_one_model(void **state)
{
    (void)state;
    is_refused(3, NULL, "GPU 0 is AMD Instinct MI300X (gfx942, 304 CUs)",
               "GPU 2 is unknown (gfx90a, 104 CUs)");
    is_refused(3, "GPU-b,GPU-a", "GPU GPU-b is", "GPU GPU-a is");
}

static void of_the_software_device(void **state)
{
    static const char *const both[] = {"0", "1", NULL}, *const word[] = {"x", NULL};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(gpu_choice_check_software(both, 1, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "--gpus 1: the software device has 1"));
    assert_int_equal(gpu_choice_check_software(both, 2, &err), 0);
    assert_int_equal(gpu_choice_check_software(word, 2, &err), -RP_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(environment),
        cmocka_unit_test(what_is_no_command),
        cmocka_unit_test(names_that_cannot_be_variables),
        cmocka_unit_test(values_are_no_code),
        cmocka_unit_test(lengths),
        cmocka_unit_test(output_of_a_build),
        cmocka_unit_test(a_parameter_called_output),
        cmocka_unit_test(all_that_may_be_used),
        cmocka_unit_test(of_one_model),
        cmocka_unit_test(of_the_software_device),
    };

    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
