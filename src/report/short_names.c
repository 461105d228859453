/* Shortens C++ names for a table: what all of them share, or what tells nothing, is left out. A
 * name is a path of components; each has a word and perhaps template arguments:
 *
 *     void ns::(anonymous namespace)::gemm<float, 4>(float const*, int)
 *
 * is the path ns, (anonymous namespace), gemm<float, 4>. Text that is no such name stays as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/bottleneck.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/map.h"
#include "report/report.h"

enum {
    MOST_COMPONENTS = 24,
    MOST_ARGUMENTS = 64,
    MOST_DEPTH = 8,   /**< of template arguments whose own arguments are compared */
    MOST_ROUNDS = 32, /**< of telling names apart; then the rest stay whole */
};

struct span {
    const char *at;
    size_t length;
};

struct component {
    struct span word, arguments; /**< arguments without the outer < and > */
};

/** Each level shows more than the one before, and the last one everything. */
enum level { WORD, DIFFERENCES, PATH, PARAMETERS, WHOLE };

struct name {
    struct span text, parameters, behind;
    struct component path[MOST_COMPONENTS];
    size_t components;      /**< 0: no name of this form, which stays whole */
    bool local;             /**< a lambda, or another type of a function's own */
    struct rp_buf *shown;   /**< by component: arguments that differ in the group */
    uint32_t number, group; /**< of the text; of names with the same words */
    enum level level;
};

struct names {
    struct name *at;
    size_t count;
    bool types;
    unsigned depth;
};

/* --- reading -------------------------------------------------------------------------------- */

static bool same(struct span a, struct span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static bool begins(struct span text, size_t at, const char *word)
{
    const size_t length = strlen(word);

    return text.length - at >= length && memcmp(text.at + at, word, length) == 0;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '.' || c == '~' || (unsigned char)c >= 0x80;
}

/** Returns the place behind the bracket that closes the one at @p at, or 0. */
static size_t behind_bracket(struct span text, size_t at)
{
    size_t depth = 0;

    for (; at < text.length; at++) {
        const char c = text.at[at];

        if (c == '>' && at > 0 && text.at[at - 1] == '-')
            continue; /* an arrow */
        if (strchr("<({[", c))
            depth++;
        else if (strchr(">)}]", c) && --depth == 0)
            return at + 1;
    }
    return 0;
}

/** Returns the place behind "operator()", "operator<<" or "operator bool". */
static size_t behind_operator(struct span text, size_t at)
{
    at += strlen("operator");
    if (begins(text, at, "()") || begins(text, at, "[]"))
        return at + 2;
    while (at < text.length && strchr("<>=-+*/%!&|^~,", text.at[at]))
        at++;
    if (at < text.length && text.at[at] == ' ')
        while (at < text.length && text.at[at] != '(')
            at++;
    return at;
}

/** Reads a word of a path, which may be one of the compiler's own.
 * @return the place behind it; 0: there is none */
static size_t behind_word(struct span text, size_t at)
{
    static const char anonymous[] = "(anonymous namespace)";
    const size_t begin = at;

    if (begins(text, at, anonymous))
        return at + sizeof anonymous - 1;
    if (begins(text, at, "{"))
        return behind_bracket(text, at);
    if (begins(text, at, "'")) {
        const char *end = memchr(text.at + at + 1, '\'', text.length - at - 1);

        return end ? (size_t)(end - text.at) + 1 : 0;
    }
    while (at < text.length && is_word(text.at[at]))
        at++;
    if (at - begin == strlen("operator") && begins(text, begin, "operator"))
        return behind_operator(text, begin);
    return at > begin ? at : 0;
}

/** Reads one component from @p at on.
 * @return the place behind it; 0: this is no name */
static size_t read_component(struct span text, size_t at, struct component *ret)
{
    size_t end = behind_word(text, at);

    if (!end)
        return 0;
    *ret = (struct component){.word = {text.at + at, end - at}};
    if (same(ret->word, (struct span){"decltype", strlen("decltype")}) && begins(text, end, "(")) {
        end = behind_bracket(text, end);
        return end;
    }
    while (end < text.length && text.at[end] == '[') { /* [abi:cxx11] */
        end = behind_bracket(text, end);
        if (!end)
            return 0;
    }
    if (end < text.length && text.at[end] == '<') {
        const size_t begin = end + 1;

        end = behind_bracket(text, end);
        if (!end)
            return 0;
        ret->arguments = (struct span){text.at + begin, end - 1 - begin};
    }
    return end;
}

/** Says whether nothing but const, pointers and references follow. */
static bool is_qualification(struct span text, size_t at)
{
    while (at < text.length)
        if (begins(text, at, " const"))
            at += strlen(" const");
        else if (strchr("*&", text.at[at]))
            at++;
        else
            return false;
    return true;
}

/** Reads what stands behind the path: parameters, and what tells kernels of one name apart. */
static bool read_rest(struct name *name, size_t at)
{
    struct span *text = &name->text;
    static const char clone[] = " [clone ";

    if (at < text->length && text->at[at] == '(') {
        const size_t end = behind_bracket(*text, at);

        if (!end)
            return false;
        name->parameters = (struct span){text->at + at, end - at};
        at = end;
        if (begins(*text, at, " const"))
            at += strlen(" const");
    }
    if (begins(*text, at, clone) && behind_bracket(*text, at + 1))
        at = behind_bracket(*text, at + 1);
    name->behind = (struct span){text->at + at, text->length - at};
    return at == text->length || begins(*text, at, " [") || is_qualification(*text, at);
}

/** Returns the place behind the parameters at @p at of a function that something is within; else @p
 * at. */
static size_t behind_scope(struct span text, size_t at)
{
    size_t end = at < text.length && text.at[at] == '(' ? behind_bracket(text, at) : 0;

    if (end && begins(text, end, " const"))
        end += strlen(" const");
    return end && begins(text, end, "::") ? end : at;
}

static bool is_lambda(const struct component *c)
{
    return begins(c->word, 0, "{") || begins(c->word, 0, "'");
}

/** Says whether what was read up to @p at may be followed by @p at's text in such a name. */
static bool name_ends(const struct name *name, size_t at, bool type)
{
    const struct span text = name->text;

    if (at == text.length)
        return true;
    if (type)
        return is_qualification(text, at) || (name->local && text.at[at] == '(');
    return text.at[at] == '(' || begins(text, at, " [");
}

/** Reads a name; in a type, one with a return type and parameters only where they are those of the
 * function that a lambda is in. Where a space follows a component, what was read is a return type,
 * and the name begins anew. */
static void read_name(struct name *name, bool type)
{
    struct span text = name->text;
    bool returns = false;
    size_t at = 0;

    while (at < text.length && name->components < MOST_COMPONENTS) {
        struct component *component = &name->path[name->components];
        size_t scope;

        at = read_component(text, at, component);
        if (!at)
            break;
        name->components++;
        scope = behind_scope(text, at);
        name->local |= scope > at || is_lambda(component);
        at = scope;
        if (begins(text, at, "::")) {
            at += 2;
        } else if (name_ends(name, at, type)) {
            /* Only functions with parameters have a return type: "a b" is other text. */
            if (read_rest(name, at) &&
                (!returns || (type ? name->local : name->parameters.length > 0)))
                return;
            break;
        } else if (text.at[at] == ' ' || strchr("*&", text.at[at])) {
            at += strspn(text.at + at, " *&");
            name->components = 0;
            name->local = false;
            returns = true;
        } else {
            break;
        }
    }
    name->components = 0;
    name->local = false;
}

/** Says whether a template argument is a lambda or the like: then the function that it is in says
 * what the kernel does, and the kernel's own name says only how it is called. */
static bool is_local(struct span argument)
{
    struct name name = {.text = argument};

    read_name(&name, true);
    return name.local;
}

/** Splits template arguments at their commas.
 * @return how many; more than MOST_ARGUMENTS count as one */
static size_t split(struct span arguments, struct span ret[MOST_ARGUMENTS])
{
    size_t count = 0, begin = 0;

    for (size_t at = 0; at <= arguments.length; at++) {
        if (at < arguments.length && strchr("<({[", arguments.at[at])) {
            const size_t end = behind_bracket(arguments, at);

            at = end ? end - 1 : arguments.length - 1;
        } else if (at == arguments.length || arguments.at[at] == ',') {
            if (count == MOST_ARGUMENTS || !arguments.length) {
                ret[0] = arguments;
                return arguments.length > 0;
            }
            ret[count++] = (struct span){arguments.at + begin, at - begin};
            begin = at + 1;
            while (begin < arguments.length && arguments.at[begin] == ' ')
                begin++;
        }
    }
    return count;
}

/* --- what differs --------------------------------------------------------------------------- */

static int shorten(const struct span *texts, size_t count, bool types, unsigned depth,
                   struct rp_buf *ret);

static void put(struct rp_buf *to, struct span text)
{
    rp_buf_add(to, text.at, text.length);
}

/** Appends an argument of each name of a group, shortened among themselves. */
static int show_argument(struct name *const *group, size_t count, size_t component,
                         const struct span *texts, unsigned depth)
{
    struct rp_buf *forms = rp_alloc_zero(count, sizeof *forms);
    int rc = forms ? shorten(texts, count, true, depth + 1, forms) : -1;

    for (size_t i = 0; i < count && forms; i++) {
        struct rp_buf *to = &group[i]->shown[component];

        rp_buf_printf(to, "%s%s", to->len ? ", " : "", rp_buf_text(&forms[i]));
        rp_buf_free(&forms[i]);
    }
    free(forms);
    return rc;
}

/** Shows all arguments of a component: names of the group do not have the same number. */
static void show_all(struct name *const *group, size_t count, size_t component)
{
    for (size_t i = 0; i < count; i++)
        put(&group[i]->shown[component], group[i]->path[component].arguments);
}

/** Shows what is shown of arguments also where the words alone would tell the names apart. */
static void always_shown(struct name *const *group, size_t count)
{
    for (size_t i = 0; i < count; i++)
        group[i]->level = DIFFERENCES;
}

static int show_differences(struct name *const *group, size_t count, size_t component,
                            unsigned depth)
{
    struct span first[MOST_ARGUMENTS], other[MOST_ARGUMENTS];
    const size_t arguments = split(group[0]->path[component].arguments, first);
    bool differs[MOST_ARGUMENTS] = {false};
    struct span *column;
    int rc = 0;

    for (size_t a = 0; a < arguments && depth == 0; a++)
        if (is_local(first[a])) {
            differs[a] = true;
            always_shown(group, count);
        }
    for (size_t i = 1; i < count; i++) {
        if (split(group[i]->path[component].arguments, other) != arguments) {
            show_all(group, count, component);
            return 0;
        }
        for (size_t a = 0; a < arguments; a++)
            differs[a] |= !same(first[a], other[a]);
    }
    column = rp_alloc_zero(count, sizeof *column);
    for (size_t a = 0; a < arguments && rc == 0 && column; a++) {
        if (!differs[a])
            continue;
        for (size_t i = 0; i < count; i++) {
            split(group[i]->path[component].arguments, other);
            column[i] = other[a];
        }
        rc = show_argument(group, count, component, column, depth);
    }
    rc = column ? rc : -1;
    free(column);
    return rc;
}

/* --- groups --------------------------------------------------------------------------------- */

static uint32_t group_of(struct rp_map *groups, const struct name *name)
{
    rp_autobuf key = {0};

    if (!name->components)
        put(&key, name->text);
    for (size_t i = 0; i < name->components; i++) {
        rp_buf_add(&key, "::", 2);
        put(&key, name->path[i].word);
    }
    return key.failed ? RP_NO_NUMBER : rp_map_add(groups, rp_buf_text(&key), key.len);
}

/** Numbers texts and groups. */
static int number(struct names *names, uint32_t *ret_groups)
{
    struct rp_map texts = {.borrows = true}, groups = {0};
    int rc = 0;

    for (size_t i = 0; i < names->count && rc == 0; i++) {
        struct name *name = &names->at[i];

        name->number = rp_map_add(&texts, name->text.at, name->text.length);
        name->group = group_of(&groups, name);
        rc = name->number == RP_NO_NUMBER || name->group == RP_NO_NUMBER ? -1 : 0;
    }
    *ret_groups = groups.count;
    rp_map_free(&texts);
    rp_map_free(&groups);
    return rc;
}

static int by_group(const void *a, const void *b)
{
    const struct name *x = *(struct name *const *)a, *y = *(struct name *const *)b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x > y) - (x < y);
}

static int compare_groups(struct names *names)
{
    struct name **order = rp_alloc_zero(names->count, sizeof *order);
    int rc = order ? 0 : -1;
    size_t end;

    for (size_t i = 0; i < names->count && order; i++)
        order[i] = &names->at[i];
    if (order)
        qsort(order, names->count, sizeof *order, by_group);
    for (size_t begin = 0; begin < names->count && rc == 0; begin = end) {
        for (end = begin + 1; end < names->count && order[end]->group == order[begin]->group;)
            end++;
        for (size_t c = 0; c < order[begin]->components && rc == 0; c++)
            rc = show_differences(order + begin, end - begin, c, names->depth);
    }
    free(order);
    return rc;
}

/* --- forms ---------------------------------------------------------------------------------- */

/** Says whether this component means little without the one before: a lambda and its operator, and
 * a kernel that is called "kernel". */
static bool leans(const struct component *c)
{
    static const struct span kernel = {"kernel", sizeof "kernel" - 1};

    return is_lambda(c) || begins(c->word, 0, "operator") || same(c->word, kernel);
}

static bool is_namespace(const struct component *c)
{
    return begins(c->word, 0, "(anonymous");
}

/** Returns the first component that this level shows. */
static size_t first_shown(const struct name *name, enum level level)
{
    size_t first = name->components - 1;

    if (level >= PATH)
        return 0;
    while (first > 0 && leans(&name->path[first]))
        first--;
    for (size_t i = 0; i < first && level >= DIFFERENCES; i++)
        if (name->shown[i].len)
            return i;
    return first;
}

/** Libraries that generate kernels, such as Tensile, write all parameters into one word, the most
 * telling ones first: it is cut behind one of them. */
static void put_word(struct span word, enum level level, struct rp_buf *to)
{
    enum { LONG_WORD = 80 };
    static const size_t most[] = {[WORD] = 64, [DIFFERENCES] = 128, [PATH] = 256};
    size_t end = word.length;

    if (word.length > LONG_WORD && level <= PATH && most[level] < word.length &&
        !begins(word, 0, "_Z"))
        for (end = most[level]; end > 0 && word.at[end] != '_';)
            end--;
    if (end == 0 || end == word.length) {
        put(to, word);
        return;
    }
    put(to, (struct span){word.at, end});
    rp_buf_puts(to, "...");
}

static void put_form(const struct name *name, struct rp_buf *to)
{
    const enum level level = name->level;

    if (!name->components || level == WHOLE) {
        put(to, name->text);
        return;
    }
    for (size_t i = first_shown(name, level), before = 0; i < name->components; i++) {
        if (is_namespace(&name->path[i]) && level < PATH)
            continue;
        rp_buf_puts(to, before++ ? "::" : "");
        put_word(name->path[i].word, level, to);
        if (level >= DIFFERENCES && name->shown[i].len)
            rp_buf_printf(to, "<%s>", rp_buf_text(&name->shown[i]));
    }
    if (level >= PARAMETERS)
        put(to, name->parameters);
    put(to, name->behind);
}

/** Writes all forms, and raises the level of names that share theirs with another.
 * @return 1: some did; 0: no two are the same; negative */
static int tell_apart(struct names *names, struct rp_buf *forms)
{
    struct rp_map seen = {0};
    uint32_t *of_form = rp_alloc_zero(names->count, sizeof *of_form);
    struct {
        uint32_t number;
        bool shared;
    } *form = rp_alloc_zero(names->count, sizeof *form);
    int rc = of_form && form ? 0 : -1;

    for (size_t i = 0; i < names->count && rc == 0; i++) {
        const uint32_t before = seen.count;
        uint32_t n;

        forms[i].len = 0;
        put_form(&names->at[i], &forms[i]);
        n = rp_map_add(&seen, rp_buf_text(&forms[i]), forms[i].len);
        if (n == RP_NO_NUMBER || forms[i].failed) {
            rc = -1;
            break;
        }
        if (n == before)
            form[n].number = names->at[i].number;
        form[n].shared |= form[n].number != names->at[i].number;
        of_form[i] = n;
    }
    for (size_t i = 0; i < names->count && rc >= 0; i++)
        if (form[of_form[i]].shared && names->at[i].level < WHOLE) {
            names->at[i].level++;
            rc = 1;
        }
    free(of_form);
    free(form);
    rp_map_free(&seen);
    return rc;
}

/** A template argument may be a function, whose address is "&" and its name. */
static void read_any(struct name *name, bool type)
{
    const struct span whole = name->text;
    const bool function = type && begins(whole, 0, "&");

    if (function)
        name->text = (struct span){whole.at + 1, whole.length - 1};
    read_name(name, type && !function);
    if (!name->components)
        name->text = whole;
}

static int read_all(struct names *names, const struct span *texts)
{
    for (size_t i = 0; i < names->count; i++) {
        struct name *name = &names->at[i];

        name->text = texts[i];
        if (names->depth < MOST_DEPTH)
            read_any(name, names->types);
        name->shown = rp_alloc_zero(name->components, sizeof *name->shown);
        if (!name->shown)
            return -1;
    }
    return 0;
}

static void free_all(struct names *names)
{
    for (size_t i = 0; i < names->count && names->at; i++) {
        for (size_t c = 0; c < names->at[i].components && names->at[i].shown; c++)
            rp_buf_free(&names->at[i].shown[c]);
        free(names->at[i].shown);
    }
    free(names->at);
}

/** Writes the forms into @p ret, which the caller releases whatever is returned. */
static int shorten(const struct span *texts, size_t count, bool types, unsigned depth,
                   struct rp_buf *ret)
{
    struct names names = {rp_alloc_zero(count, sizeof *names.at), count, types, depth};
    uint32_t groups;
    int rc = names.at ? read_all(&names, texts) : -1;

    if (rc == 0)
        rc = number(&names, &groups);
    if (rc == 0)
        rc = compare_groups(&names);
    for (unsigned round = 0; rc >= 0; round++) {
        rc = tell_apart(&names, ret);
        if (rc <= 0)
            break;
        for (size_t i = 0; i < count && round >= MOST_ROUNDS; i++)
            names.at[i].level = WHOLE;
    }
    free_all(&names);
    return rc;
}

int rp_short_names_make(const char *const *names, size_t count, struct rp_short_names *ret,
                        struct rp_err *err)
{
    rp_autofree struct span *texts = rp_alloc_zero(count, sizeof *texts);
    rp_autofree struct rp_buf *forms = rp_alloc_zero(count, sizeof *forms);
    int rc;

    *ret = (struct rp_short_names){.at = rp_alloc_zero(count, sizeof *ret->at), .count = count};
    if (!texts || !forms || !ret->at)
        rc = -1;
    else {
        for (size_t i = 0; i < count; i++)
            texts[i] = (struct span){names[i], strlen(names[i])};
        rc = shorten(texts, count, false, 0, forms);
    }
    for (size_t i = 0; i < count && forms; i++) {
        rp_buf_puts(&forms[i], "");
        if (rc == 0 && !(ret->at[i] = rp_buf_steal(&forms[i])))
            rc = -1;
        rp_buf_free(&forms[i]);
    }
    if (rc == 0)
        return 0;
    rp_short_names_free(ret);
    return rp_out_of_memory(err);
}

void rp_short_names_free(struct rp_short_names *names)
{
    for (size_t i = 0; i < names->count && names->at; i++)
        free(names->at[i]);
    free(names->at);
    *names = (struct rp_short_names){0};
}

/* --- the page ------------------------------------------------------------------------------- */

static void add_texts(struct rp_json_writer *json, const char *key, const char *const *texts,
                      size_t count)
{
    rp_json_add_array(json, key);
    for (size_t i = 0; i < count; i++) {
        rp_json_break(json, 4);
        rp_json_add_text(json, NULL, texts[i]);
    }
    rp_json_end(json);
}

int rp_report_names_json(const struct rp_bottlenecks *of, struct rp_buf *buf, struct rp_err *err)
{
    rp_autofree const char **names = rp_alloc_zero(of->kernel_count, sizeof *names);
    rp_cleanup(rp_short_names_free) struct rp_short_names forms = {0};
    struct rp_json_writer json = rp_report_json(buf);

    for (size_t i = 0; i < of->kernel_count && names; i++)
        names[i] = of->kernels[i].name;
    if (!names || rp_short_names_make(names, of->kernel_count, &forms, err) < 0)
        return rp_out_of_memory(err);
    add_texts(&json, "names", names, of->kernel_count);
    add_texts(&json, "short", (const char *const *)forms.at, of->kernel_count);
    return rp_report_json_end(&json, err);
}
