#include "optimize/launch_size.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "optimize/kernel_facts.h"
#include "optimize/kernel_source.h"
#include "optimize/propose.h"
#include "optimize/source_text.h"

enum {
    MOST_ITEMS = 1024, /**< of a workgroup */
    MOST_DEPTH = 4,    /**< declarations that are followed from a launch */
    MOST_NAMES = 64,   /**< that a launch may lead to */
    MOST_SIZES = 4,    /**< that are proposed */
    MOST_STEPS = 4096, /**< names that are looked at, to count one */
    MOST_TIMES = 3,    /**< a workgroup has so many axes */
    WAVE = 64,
};

/** Holds the file while it is read. */
struct file {
    const struct rp_kernel_source *source;
    const char *text;
    struct rp_tokens tokens;
    bool *skipped; /**< of each token: the compiler does not see it */
};

/** Names to which a launch leads. */
struct names {
    size_t tokens[MOST_NAMES]; /**< where each was met first */
    size_t count;
};

static void free_file(struct file *file)
{
    rp_tokens_free(&file->tokens);
    free(file->skipped);
}

static const struct rp_token *token_at(const struct file *f, size_t at)
{
    return at < f->tokens.count ? &f->tokens.list[at] : NULL;
}

static bool is(const struct file *f, size_t at, const char *word)
{
    const struct rp_token *token = token_at(f, at);

    return token && !f->skipped[at] && rp_token_is(f->text, token, word);
}

static bool is_name(const struct file *f, size_t at)
{
    const struct rp_token *token = token_at(f, at);

    return token && !f->skipped[at] && token->kind == RP_TOKEN_IDENTIFIER;
}

static bool same_name(const struct file *f, size_t a, size_t b)
{
    return rp_token_same(f->text, &f->tokens.list[a], f->text, &f->tokens.list[b]);
}

/** Opening brackets count 1, closing ones -1. */
static int depth_of(const struct file *f, size_t at)
{
    if (is(f, at, "(") || is(f, at, "{") || is(f, at, "["))
        return 1;
    return is(f, at, ")") || is(f, at, "}") || is(f, at, "]") ? -1 : 0;
}

/** A decimal number, with suffixes of whole numbers. */
static bool read_number(const char *text, const struct rp_token *token, uint64_t *ret)
{
    size_t at = token->begin;

    if (token->kind != RP_TOKEN_NUMBER || text[at] == '0')
        return false;
    for (*ret = 0; at < token->end && text[at] >= '0' && text[at] <= '9' && *ret <= MOST_ITEMS;
         at++)
        *ret = 10 * *ret + (uint64_t)(text[at] - '0');
    return *ret >= 1 && *ret <= MOST_ITEMS && at + strspn(text + at, "uUlL") >= token->end;
}

/* --- what the compiler takes ----------------------------------------------------------------- */

/** A piece ends where the next line of the preprocessor begins, and that line is of the piece. */
static void mark_skipped(struct file *f, const bool *pieces, size_t count)
{
    size_t piece = 0, line = rp_tokens_next_line(f->text, &f->tokens, 0);

    for (size_t i = 0; i < f->tokens.count; i++) {
        f->skipped[i] = piece < count && pieces[piece];
        if (i < line)
            continue;
        piece++;
        line = rp_tokens_next_line(f->text, &f->tokens, i + 1);
    }
}

/** @return 1; 0: it cannot be read as the compiler would; negative */
static int read_file(const struct rp_compile_command *command, const char *arch,
                     const struct rp_kernel_source *source, struct file *ret, struct rp_err *err)
{
    struct rp_err why = RP_ERR_INIT;
    rp_autofree bool *pieces = NULL;
    size_t count = 0;
    int rc;

    *ret = (struct file){.source = source, .text = source->text};
    if (rp_tokens_read(source->text, source->bytes, &ret->tokens, NULL) < 0)
        return 0;
    ret->skipped = rp_alloc_zero(ret->tokens.count + 1, sizeof *ret->skipped);
    rc = rp_source_pieces(command, source->path, source->text, source->bytes, 0, source->bytes,
                          arch, &pieces, &count, &why);
    if (rc == -RP_INTERRUPTED || rc == -RP_ENVIRONMENT) {
        *err = why;
        return rc;
    }
    if (rc == 0)
        mark_skipped(ret, pieces, count);
    return rc == 0;
}

/* --- lines of the preprocessor --------------------------------------------------------------- */

/** Reads the words of a line. Places of its tokens count from behind the #. */
static bool read_line(const struct file *f, size_t at, struct rp_tokens *ret, const char **ret_text)
{
    const struct rp_token *token = token_at(f, at);

    *ret = (struct rp_tokens){0};
    if (f->skipped[at] || token->kind != RP_TOKEN_DIRECTIVE)
        return false;
    *ret_text = f->text + token->begin + 1;
    return rp_tokens_read(*ret_text, token->end - token->begin - 1, ret, NULL) == 0;
}

static bool is_word_of(const char *text, const struct rp_tokens *words, size_t at, const char *name,
                       size_t bytes)
{
    return at < words->count && words->list[at].kind == RP_TOKEN_IDENTIFIER &&
           words->list[at].end - words->list[at].begin == bytes &&
           memcmp(text + words->list[at].begin, name, bytes) == 0;
}

/** Says whether a line of the preprocessor asks for the value of a name, or takes it away: then
 * another value may be another program. */
static bool is_asked_for(const struct file *f, const char *name)
{
    bool found = false;

    for (size_t i = 0; i < f->tokens.count && !found; i++) {
        struct rp_tokens words;
        const char *text;

        if (read_line(f, i, &words, &text) && words.count &&
            !rp_token_is(text, &words.list[0], "define"))
            for (size_t j = 1; j < words.count && !found; j++)
                found = is_word_of(text, &words, j, name, strlen(name));
        rp_tokens_free(&words);
    }
    return found;
}

/* --- constants ------------------------------------------------------------------------------- */

static bool is_one_of(const struct file *f, size_t at, const char *const *words)
{
    for (; *words; words++)
        if (is(f, at, *words))
            return true;
    return false;
}

/** Returns the first token of the statement, or of the list of enumerators, that a token is in. */
static size_t statement_of(const struct file *f, size_t at)
{
    int depth = 0;

    while (at > 0) {
        const size_t before = at - 1;

        depth += depth_of(f, before);
        if (depth > 0 || is(f, before, ";") ||
            (depth == 0 && token_at(f, before)->kind == RP_TOKEN_DIRECTIVE) ||
            (depth < 0 && is(f, before, "}")))
            break;
        at = before;
    }
    return at;
}

/** Says whether a brace opens an enum whose names stand for themselves. */
static bool opens_enum(const struct file *f, size_t brace)
{
    static const char *const scoped[] = {"class", "struct", NULL};
    const size_t from = is(f, brace, "{") ? statement_of(f, brace) : brace;

    for (size_t i = from; i < brace; i++)
        if (is(f, i, "enum"))
            return !is_one_of(f, i + 1, scoped);
    return false;
}

/** Says whether the statement up to a name declares a constant that is a whole number. */
static bool declares_constant(const struct file *f, size_t from, size_t name)
{
    static const char *const others[] = {"float", "double", "bool", "char", "*",      "&",
                                         "[",     "(",      "<",    "enum", "extern", NULL};
    bool constant = false;

    for (size_t i = from; i < name; i++) {
        constant = constant || is(f, i, "const") || is(f, i, "constexpr");
        if (is_one_of(f, i, others))
            return false;
    }
    return constant && name > from + 1;
}

/** @return the token of its number; 0: no constant is defined there */
static size_t defined_at(const struct file *f, size_t name)
{
    const size_t from = statement_of(f, name);
    const bool braces = is(f, name + 1, "{");
    const size_t behind = name + 3 + braces;
    bool ends;

    if (!is_name(f, name) || (!braces && !is(f, name + 1, "=")) || !token_at(f, name + 2))
        return 0;
    ends = is(f, behind, ";") || is(f, behind, ",");
    if (braces && !is(f, name + 3, "}"))
        return 0;
    if (from > 0 && opens_enum(f, from - 1))
        return !braces && (is(f, behind, ",") || is(f, behind, "}")) ? name + 2 : 0;
    return ends && declares_constant(f, from, name) ? name + 2 : 0;
}

static struct rp_launch_constant constant_at(const struct file *f, const char *name, size_t bytes,
                                             const struct rp_token *number, size_t offset,
                                             uint32_t line)
{
    struct rp_launch_constant constant = {.line = line};

    if (read_number(f->text + offset, number, &constant.value)) {
        constant.name = rp_strndup(name, bytes);
        constant.begin = offset + number->begin;
        constant.end = offset + number->end;
    }
    return constant;
}

/** Reads `#define NAME 64`. @param ret_seen  it defines the name, be it as a number or not */
static struct rp_launch_constant macro_at(const struct file *f, size_t at, const char *name,
                                          size_t bytes, bool *ret_seen)
{
    struct rp_launch_constant constant = {0};
    struct rp_tokens words;
    const char *text = NULL;

    *ret_seen = read_line(f, at, &words, &text) && words.count > 1 &&
                rp_token_is(text, &words.list[0], "define") &&
                is_word_of(text, &words, 1, name, bytes);
    if (*ret_seen && words.count == 3)
        constant = constant_at(f, name, bytes, &words.list[2], (size_t)(text - f->text),
                               f->tokens.list[at].line);
    rp_tokens_free(&words);
    return constant;
}

/** Finds the one definition of a name. Of two nobody knows here which is meant.
 * @return without a name: it is no such constant */
static struct rp_launch_constant constant_of(const struct file *f, size_t of)
{
    const struct rp_token *token = &f->tokens.list[of];
    const char *name = f->text + token->begin;
    const size_t bytes = token->end - token->begin;
    struct rp_launch_constant found = {0};
    unsigned seen = 0;

    for (size_t i = 0; i < f->tokens.count; i++) {
        struct rp_launch_constant one = {0};
        bool here = false;

        if (f->tokens.list[i].kind == RP_TOKEN_DIRECTIVE) {
            one = macro_at(f, i, name, bytes, &here);
        } else if (is_name(f, i) && same_name(f, i, of)) {
            const size_t number = defined_at(f, i);
            const size_t at = f->tokens.list[i].begin;

            here = number != 0;
            if (here && (at < f->source->begin || at >= f->source->end))
                one =
                    constant_at(f, name, bytes, &f->tokens.list[number], 0, f->tokens.list[i].line);
        }
        seen += here;
        if (one.name && !found.name)
            found = one;
        else
            free(one.name);
    }
    if (found.name && (seen > 1 || is_asked_for(f, found.name))) {
        free(found.name);
        found = (struct rp_launch_constant){0};
    }
    return found;
}

/* --- from a launch to constants -------------------------------------------------------------- */

static bool is_known(const struct file *f, const struct names *names, size_t at)
{
    for (size_t i = 0; i < names->count; i++)
        if (same_name(f, names->tokens[i], at))
            return true;
    return false;
}

/** Says whether a name behind a comma is an argument, and no further declaration. */
static bool is_argument(const struct file *f, size_t at)
{
    int depth = 0;

    while (at-- > 0) {
        depth += depth_of(f, at);
        if (depth > 0)
            return is(f, at, "(");
        if (depth == 0 && (is(f, at, ";") || is(f, at, "<<<")))
            return is(f, at, "<<<");
    }
    return false;
}

static bool may_be_declared(const struct file *f, size_t at)
{
    return (is_name(f, at - 1) && !is(f, at - 1, "return")) ||
           (is(f, at - 1, ",") && !is_argument(f, at));
}

/** Finds what a name is declared as, `dim3 threads(16, ROWS)`, `const int blocks = n / BLOCK`, from
 * a token on.
 * @param from  behind the name, to go on with */
static bool next_declaration(const struct file *f, size_t of, size_t *from, struct rp_span *ret)
{
    for (size_t i = *from; i + 1 < f->tokens.count; i++) {
        size_t end = i + 1;
        int open = 0;

        if (!is_name(f, i) || !same_name(f, i, of) ||
            !(is(f, i + 1, "=") || is(f, i + 1, "(") || is(f, i + 1, "{")) ||
            !may_be_declared(f, i))
            continue;
        for (; end < f->tokens.count && open >= 0; end++) {
            if (open == 0 && (is(f, end, ";") || is(f, end, ",")))
                break;
            open += depth_of(f, end);
        }
        *ret = (struct rp_span){i + 1, end};
        *from = i + 1;
        return true;
    }
    return false;
}

static void follow(const struct file *f, struct rp_span span, unsigned depth, struct names *names)
{
    struct rp_span declared;

    for (size_t i = span.begin; i < span.end && depth < MOST_DEPTH; i++) {
        if (!is_name(f, i) || is_known(f, names, i) || names->count == MOST_NAMES)
            continue;
        names->tokens[names->count++] = i;
        for (size_t from = 1; next_declaration(f, i, &from, &declared);)
            follow(f, declared, depth + 1, names);
    }
}

/** Counts how often a name stands in something, declarations of what stands there included.
 * @param steps  which may still be made */
static unsigned count_in(const struct file *f, struct rp_span span, size_t of, unsigned depth,
                         unsigned *steps)
{
    unsigned count = 0;

    for (size_t i = span.begin; i < span.end && depth < MOST_DEPTH && *steps; i++) {
        struct rp_span declared;
        unsigned most = 0;

        if (!is_name(f, i))
            continue;
        (*steps)--;
        if (same_name(f, i, of)) {
            count++;
            continue;
        }
        for (size_t from = 1; next_declaration(f, i, &from, &declared);) {
            const unsigned one = count_in(f, declared, of, depth + 1, steps);

            most = one > most ? one : most;
        }
        count += most;
    }
    return count;
}

/** Cuts what stands between brackets at its commas. @return how many parts it has */
static unsigned cut(const struct file *f, struct rp_span span, struct rp_span *ret, unsigned most)
{
    unsigned count = 0;
    size_t from = span.begin;
    int open = 0;

    for (size_t i = span.begin; i <= span.end && count < most; i++) {
        if (i < span.end)
            open += depth_of(f, i);
        if (i < span.end && (open || !is(f, i, ",")))
            continue;
        ret[count++] = (struct rp_span){from, i};
        from = i + 1;
    }
    return count;
}

/** Skips the arguments of a template, `<float, 4>`. */
static size_t behind_template(const struct file *f, size_t at)
{
    int open = 0;

    if (!is(f, at, "<"))
        return at;
    for (; at < f->tokens.count; at++) {
        open += is(f, at, "<") ? 1 : is(f, at, ">") ? -1 : is(f, at, ">>") ? -2 : 0;
        if (open <= 0 || is(f, at, ";"))
            return at + 1;
    }
    return at;
}

/** Finds what stands in `kernel<<<HERE>>>`. */
static bool is_launch(const struct file *f, size_t name, struct rp_span *ret)
{
    size_t at = behind_template(f, name + 1);
    int open = 0;

    if (!is(f, at, "<<<"))
        return false;
    ret->begin = ++at;
    for (; at < f->tokens.count && !is(f, at, ";"); at++) {
        open += depth_of(f, at);
        if (open == 0 && is(f, at, ">>>")) {
            ret->end = at;
            return true;
        }
    }
    return false;
}

/** Finds what stands in `hipLaunchKernelGGL(HERE)`. */
static bool is_call(const struct file *f, size_t at, struct rp_span *ret)
{
    int open = 1;

    if (!is(f, at, "hipLaunchKernelGGL") || !is(f, at + 1, "("))
        return false;
    ret->begin = at + 2;
    for (at += 2; at < f->tokens.count; at++) {
        open += depth_of(f, at);
        if (open == 0) {
            ret->end = at;
            return true;
        }
    }
    return false;
}

static bool has_kernel(const struct file *f, struct rp_span span)
{
    for (size_t i = span.begin; i < span.end; i++)
        if (is(f, i, f->source->name))
            return true;
    return false;
}

/** Finds the grid and the workgroup of a launch of the kernel that begins at a token. */
static bool launch_at(const struct file *f, size_t at, struct rp_span *ret_grid,
                      struct rp_span *ret_workgroup)
{
    struct rp_span inside, parts[3];

    if (is(f, at, f->source->name) && is_launch(f, at, &inside)) {
        if (cut(f, inside, parts, 2) < 2)
            return false;
        *ret_grid = parts[0];
        *ret_workgroup = parts[1];
        return true;
    }
    if (!is_call(f, at, &inside) || cut(f, inside, parts, 3) < 3 || !has_kernel(f, parts[0]))
        return false;
    *ret_grid = parts[1];
    *ret_workgroup = parts[2];
    return true;
}

static bool has_constant(const struct rp_kernel_source *source, const char *name)
{
    for (size_t i = 0; i < source->constant_count; i++)
        if (strcmp(source->constants[i].name, name) == 0)
            return true;
    return false;
}

/** Counts how often a name is a factor of the size of workgroups, at most: `dim3(SIDE, SIDE)`. */
static unsigned times_of(const struct file *f, size_t name)
{
    unsigned steps = MOST_STEPS, most = 1;
    struct rp_span grid, workgroup;

    for (size_t i = 0; i < f->tokens.count; i++)
        if (launch_at(f, i, &grid, &workgroup)) {
            const unsigned one = count_in(f, workgroup, name, 0, &steps);

            most = one > most ? one : most;
        }
    return most;
}

static void add_constants(const struct file *f, const struct names *grid,
                          const struct names *workgroup, bool in_grid,
                          struct rp_kernel_source *source)
{
    for (size_t i = 0; i < workgroup->count; i++) {
        struct rp_launch_constant constant;

        if (is_known(f, grid, workgroup->tokens[i]) != in_grid)
            continue;
        constant = constant_of(f, workgroup->tokens[i]);
        if (!constant.name || has_constant(source, constant.name)) {
            free(constant.name);
            continue;
        }
        constant.in_grid = in_grid;
        constant.times = times_of(f, workgroup->tokens[i]);
        source->constants = rp_realloc_array(source->constants, source->constant_count + 1,
                                             sizeof *source->constants);
        source->constants[source->constant_count++] = constant;
    }
}

int rp_launch_constants_find(const struct rp_compile_command *command, const char *arch,
                             struct rp_kernel_source *source, struct rp_err *err)
{
    rp_cleanup(free_file) struct file file = {0};
    struct names grid = {.count = 0}, workgroup = {.count = 0};
    struct rp_span in_grid, in_workgroup;
    int rc = 1;

    /* Most headers have no launch, and the compiler need not be asked about these. */
    if (memmem(source->text, source->bytes, "<<<", 3) ||
        memmem(source->text, source->bytes, "hipLaunchKernelGGL", strlen("hipLaunchKernelGGL")))
        rc = read_file(command, arch, source, &file, err);
    for (size_t i = 0; rc == 1 && i < file.tokens.count; i++)
        if (launch_at(&file, i, &in_grid, &in_workgroup)) {
            follow(&file, in_grid, 0, &grid);
            follow(&file, in_workgroup, 0, &workgroup);
        }
    if (rc == 1) {
        add_constants(&file, &grid, &workgroup, true, source);
        add_constants(&file, &grid, &workgroup, false, source);
    }
    return rc < 0 ? rc : 0;
}

/* --- another value --------------------------------------------------------------------------- */

char *rp_launch_size_text(const struct rp_kernel_source *source,
                          const struct rp_launch_constant *constant, uint64_t value)
{
    /* The suffix of a number stays. */
    const size_t digits = strspn(source->text + constant->begin, "0123456789");

    return rp_format("%.*s%llu%s", (int)constant->begin, source->text, (unsigned long long)value,
                     source->text + constant->begin + digits);
}

int rp_launch_size_check(const struct rp_kernel_source *source, const char *text, size_t bytes,
                         struct rp_launch_size *ret, struct rp_err *err)
{
    for (size_t i = 0; i < source->constant_count; i++) {
        const struct rp_launch_constant *constant = &source->constants[i];
        const size_t digits =
            constant->begin < bytes ? strspn(text + constant->begin, "0123456789") : 0;
        const uint64_t value =
            digits && digits < 5 ? strtoull(text + constant->begin, NULL, 10) : 0;
        rp_autofree char *made = value ? rp_launch_size_text(source, constant, value) : NULL;

        if (!made || value == constant->value || strlen(made) != bytes ||
            memcmp(made, text, bytes) != 0)
            continue;
        *ret = (struct rp_launch_size){constant, value};
        return 0;
    }
    return rp_fail(err, RP_VERDICT,
                   "it is not the file with another number for a constant that decides the size of "
                   "workgroups");
}

/* --- proposals ------------------------------------------------------------------------------- */

static const struct rp_attempt *attempt_of(const struct rp_proposer_input *input, const char *text)
{
    for (size_t i = 0; i < input->attempt_count; i++)
        if (input->attempts[i].workgroup && strcmp(input->attempts[i].kernel_text, text) == 0)
            return &input->attempts[i];
    return NULL;
}

/** The program does something else with it, or cannot be told: other values will not do better. */
static bool has_failed(const struct rp_attempt *attempt)
{
    static const char *const timed[] = {"slower", "equal",     "undecided",
                                        "faster", "same code", "not confirmed"};

    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
        if (strcmp(attempt->outcome, timed[i]) == 0)
            return false;
    return true;
}

static size_t count_sizes(const struct rp_proposer_input *input)
{
    size_t count = 0;

    for (size_t i = 0; i < input->attempt_count; i++)
        count += input->attempts[i].workgroup != 0;
    return count;
}

/** @return 0: the constant makes no such workgroups */
static uint64_t value_for(const struct rp_launch_constant *constant, uint64_t was, uint64_t items)
{
    if (was == items || was > MOST_ITEMS || constant->times > MOST_TIMES)
        return 0;
    for (uint64_t value = 1; value <= MOST_ITEMS; value++) {
        uint64_t before = items, after = was;

        for (unsigned i = 0; i < constant->times; i++) {
            before *= constant->value;
            after *= value;
        }
        if (before == after)
            return value;
    }
    return 0;
}

static int propose_value(const struct rp_proposer_input *input,
                         const struct rp_launch_constant *constant, struct rp_proposal *ret)
{
    static const uint32_t sizes[] = {256, 128, 512, 1024, WAVE};
    const uint64_t was = input->largest_workgroup;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint64_t value = value_for(constant, was, sizes[i]);
        rp_autofree char *text = value ? rp_launch_size_text(input->source, constant, value) : NULL;
        const struct rp_attempt *attempt = text ? attempt_of(input, text) : NULL;

        if (attempt && has_failed(attempt))
            return 0;
        if (!text || attempt)
            continue;
        ret->title = rp_format("workgroups of %u work-items in place of %llu (%s %llu in place of "
                               "%llu)",
                               sizes[i], (unsigned long long)was, constant->name,
                               (unsigned long long)value, (unsigned long long)constant->value);
        ret->workgroup = sizes[i];
        ret->bytes = strlen(text);
        ret->kernel_text = rp_steal(text);
        return 1;
    }
    return 0;
}

/** Workgroups of that size, in whole waves, are what textbooks recommend. */
static bool is_small(const struct rp_proposer_input *input)
{
    enum { USUAL = 256 };
    const char *limiter = input->facts ? input->facts->limiter : NULL;

    return input->largest_workgroup < USUAL || input->largest_workgroup % WAVE != 0 ||
           (limiter && (strcmp(limiter, "workgroup_size") == 0 || strcmp(limiter, "lds") == 0));
}

int rp_launch_size_propose(const struct rp_proposer_input *input, bool partly_empty_only,
                           struct rp_proposal *ret)
{
    int rc = 0;

    if (!input->largest_workgroup || count_sizes(input) >= MOST_SIZES ||
        (partly_empty_only ? input->largest_workgroup % WAVE == 0 : !is_small(input)))
        return 0;
    for (size_t i = 0; i < input->source->constant_count && rc == 0; i++)
        rc = propose_value(input, &input->source->constants[i], ret);
    return rc;
}
