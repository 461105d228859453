#include "optimize/loop_rest.h"

#include <ctype.h>
#include <string.h>

#include "optimize/ast.h"
#include "optimize/loop_lanes.h"
#include "optimize/loop_text.h"

/* More than these are taken for what is not known. */
enum { MOST_NAMES = 32, MOST_PLACES = 128, MOST_LOOPS = 6 };

static bool is_one_of(const struct rp_ast_node *node, const char *const *kinds)
{
    for (; *kinds; kinds++)
        if (rp_ast_is(node, *kinds))
            return true;
    return false;
}

static bool holds(const struct rp_ast_node *node, const struct rp_ast_node *part)
{
    if (node == part)
        return true;
    for (size_t i = 0; i < node->count; i++)
        if (holds(&node->children[i], part))
            return true;
    return false;
}

static bool is_loop(const struct rp_ast_node *node)
{
    static const char *const loops[] = {"ForStmt", "WhileStmt", "DoStmt", "CXXForRangeStmt", NULL};

    return is_one_of(node, loops);
}

/* --- who comes to the loop -------------------------------------------------------------------- */

struct flow {
    const struct rp_loop_lanes *lanes;
    bool differs;                 /**< a condition around is not the same in all lanes */
    bool own_break, own_continue; /**< they only leave a loop that is apart from the one in question
                                   */
    bool again;                   /**< what stands behind the loop comes before its next time */
};

/** Says whether a statement decides differently in different lanes. */
static bool decides_by_lane(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node)
{
    size_t at = 0;

    if (rp_ast_is(node, "CXXForRangeStmt") || node->has_init || node->has_var)
        return true;
    if (rp_ast_is(node, "ForStmt"))
        at = RP_FOR_CONDITION;
    else if (rp_ast_is(node, "DoStmt"))
        at = 1;
    return !rp_is_same_in_lanes(lanes, rp_ast_child(node, at));
}

/** @param behind the loop stands before */
static bool all_stay(struct flow flow, const struct rp_ast_node *node, bool *behind)
{
    static const char *const lost[] = {"GotoStmt",   "IndirectGotoStmt", "LabelStmt",
                                       "CXXTryStmt", "StmtExpr",         NULL};
    static const char *const plain[] = {"FunctionDecl", "CompoundStmt", "AttributedStmt", "IfStmt",
                                        NULL};
    const bool around = holds(node, flow.lanes->loop), loop = is_loop(node);
    const bool decides = loop || rp_ast_is(node, "IfStmt") || rp_ast_is(node, "SwitchStmt");

    if (node == flow.lanes->loop) {
        *behind = true;
        return true;
    }
    if ((*behind && !flow.again) || rp_ast_is(node, "LambdaExpr"))
        return true;
    if (is_one_of(node, lost) || (around && !loop && !is_one_of(node, plain)) ||
        (rp_ast_is(node, "ReturnStmt") && flow.differs) ||
        (rp_ast_is(node, "BreakStmt") && flow.differs && !flow.own_break) ||
        (rp_ast_is(node, "ContinueStmt") && flow.differs && !flow.own_continue))
        return false;
    if (decides && decides_by_lane(flow.lanes, node)) {
        if (around)
            return false;
        flow.differs = true;
    }
    if (loop)
        flow.own_break = flow.own_continue = !around;
    flow.own_break |= rp_ast_is(node, "SwitchStmt");
    flow.again |= around && loop;
    for (size_t i = 0; i < node->count; i++)
        if (!all_stay(flow, &node->children[i], behind))
            return false;
    return true;
}

bool rp_loop_comes_to_all(const struct rp_loop_lanes *lanes)
{
    bool behind = false;

    return all_stay((struct flow){.lanes = lanes}, lanes->function, &behind);
}

/* --- memory -------------------------------------------------------------------------------- */

/** The names of one piece of memory: a pointer, those that are made of it, and of which it is. */
struct names {
    uint64_t ids[MOST_NAMES];
    size_t count;
    bool too_many;
};

static bool is_name(const struct names *names, uint64_t id)
{
    for (size_t i = 0; i < names->count; i++)
        if (names->ids[i] == id)
            return true;
    return false;
}

static void add_name(struct names *names, uint64_t id)
{
    if (is_name(names, id))
        return;
    if (names->count == MOST_NAMES)
        names->too_many = true;
    else
        names->ids[names->count++] = id;
}

static bool has_name(const struct names *names, const struct rp_ast_node *node)
{
    for (size_t i = 0; i < names->count; i++)
        if (rp_ast_names(node, names->ids[i]))
            return true;
    return false;
}

static bool is_reference(const struct rp_ast_node *node)
{
    return node->ref_type && strchr(node->ref_type, '&');
}

/** Says whether it names a pointer, an array or a reference. */
static bool is_memory(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "DeclRefExpr") && rp_ast_variable(node) && !rp_ast_is_index(node) &&
           (strpbrk(rp_ast_type(node), "*[") || is_reference(node));
}

static void add_all(struct names *names, const struct rp_ast_node *node)
{
    if (is_memory(node))
        add_name(names, node->ref_id);
    for (size_t i = 0; i < node->count; i++)
        add_all(names, &node->children[i]);
}

static bool makes_pointer(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "VarDecl") && strpbrk(rp_ast_type(node), "*&");
}

static void join_names(struct names *names, const struct rp_ast_node *node)
{
    if (makes_pointer(node) && (is_name(names, node->id) || has_name(names, node))) {
        add_name(names, node->id);
        add_all(names, node);
    }
    for (size_t i = 0; i < node->count; i++)
        join_names(names, &node->children[i]);
}

struct range {
    size_t begin, end;
};

/** Places are numbers of nodes, in the order of the text. */
struct memory {
    const struct rp_loop_lanes *lanes;
    struct names names;
    size_t at, loop; /**< this node, and the loop */
    size_t uses[MOST_PLACES], use_count;
    size_t barriers[MOST_PLACES], barrier_count; /**< all lanes that come to the loop wait there */
    struct range around[MOST_LOOPS];             /**< loops, the innermost last */
    const struct rp_ast_node *loops[MOST_LOOPS];
    size_t around_count;
    bool escapes, read_elsewhere; /**< for anything, and for reading, where that is not known */
    bool unknown, jumps;
};

static void add_use(struct memory *memory)
{
    if (memory->use_count == MOST_PLACES)
        memory->unknown = true;
    else
        memory->uses[memory->use_count++] = memory->at;
}

static void add_barrier(struct memory *memory, const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_call_target(rp_ast_bare(node));

    if (target && rp_is_text(rp_ast_callee(target), "__syncthreads") &&
        memory->barrier_count < MOST_PLACES)
        memory->barriers[memory->barrier_count++] = memory->at;
}

static bool is_element(const struct rp_ast_node *node)
{
    return rp_ast_is(node, "ArraySubscriptExpr") ||
           (rp_ast_is(node, "UnaryOperator") && rp_is_text(node->opcode, "*"));
}

/** Says whether a part of the kernel does something with the memory that is no plain use. */
static bool lets_go(const struct memory *memory, const struct rp_ast_node *node, bool makes)
{
    const bool call =
        rp_ast_call_target(node) || rp_ast_callee(node) || rp_ast_is(node, "AtomicExpr");

    if (rp_ast_is(node, "LambdaExpr") ||
        (rp_ast_is(node, "UnaryOperator") && rp_is_text(node->opcode, "&") && !makes) ||
        (rp_ast_is(node, "MemberExpr") && node->count && rp_ast_is_pointer(&node->children[0])) ||
        (rp_is_assignment(node) && node->count && strchr(rp_ast_type(&node->children[0]), '*')) ||
        (is_element(node) &&
         (!rp_place_variable(node) || (strchr(rp_ast_type(node), '[') && !makes))))
        return has_name(&memory->names, node);
    for (size_t i = 0; call && i < node->count; i++)
        if (node->children[i].lvalue && has_name(&memory->names, &node->children[i]))
            return true;
    return false;
}

/** @param makes a pointer is made here */
static void find_uses(struct memory *memory, const struct rp_ast_node *node, bool makes)
{
    static const char *const jumps[] = {"BreakStmt", "ContinueStmt", "SwitchStmt", NULL};
    const bool around = holds(node, memory->lanes->loop);
    const struct rp_ast_node *base = is_element(node) ? rp_place_variable(node) : NULL;
    const size_t loop = memory->around_count;

    memory->at++;
    if (node == memory->lanes->loop) {
        memory->loop = memory->at;
        return;
    }
    memory->jumps |= is_one_of(node, jumps);
    memory->escapes |= lets_go(memory, node, makes);
    makes = (makes || makes_pointer(node)) && !rp_ast_call_target(node);
    if (around && is_loop(node)) {
        memory->unknown |= loop == MOST_LOOPS;
        if (memory->unknown)
            return;
        memory->loops[loop] = node;
        memory->around[loop] = (struct range){memory->at, SIZE_MAX};
        memory->around_count++;
    }
    if (base && is_name(&memory->names, base->ref_id)) {
        add_use(memory);
        for (; node != base; node = rp_ast_bare(&node->children[0]))
            if (node->count == 2)
                find_uses(memory, &node->children[1], false);
        return;
    }
    if (is_memory(node) && is_name(&memory->names, node->ref_id)) {
        if (is_reference(node))
            add_use(memory);
        else if (!makes && strncmp(rp_ast_type(node), "const ", strlen("const ")) == 0)
            memory->read_elsewhere = true;
        else if (!makes)
            memory->escapes = true;
    }
    for (size_t i = 0; i < node->count; i++) {
        find_uses(memory, &node->children[i], makes);
        if (around && rp_ast_is(node, "CompoundStmt"))
            add_barrier(memory, &node->children[i]);
    }
    if (memory->around_count > loop && around && is_loop(node))
        memory->around[loop].end = memory->at;
}

static bool waits_between(const struct memory *memory, size_t begin, size_t end)
{
    for (size_t i = 0; i < memory->barrier_count; i++)
        if (memory->barriers[i] > begin && memory->barriers[i] < end)
            return true;
    return false;
}

/** A barrier must part the loop from a use, also from that of the next round of a loop around both.
 */
static bool is_apart(const struct memory *memory, size_t use)
{
    const size_t first = use < memory->loop ? use : memory->loop;
    const size_t second = use < memory->loop ? memory->loop : use;

    if (!waits_between(memory, first, second))
        return false;
    for (size_t i = memory->around_count; i-- > 0;) {
        const struct range *around = &memory->around[i];

        if (use > around->begin && use <= around->end)
            return waits_between(memory, around->begin, first) ||
                   waits_between(memory, second, around->end + 1);
    }
    return true;
}

/** Says whether variables in an expression change in a loop around, the counter apart. */
static bool varies(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node,
                   const struct rp_ast_node *around)
{
    const uint64_t variable = rp_ast_is(node, "DeclRefExpr") ? rp_ast_variable(node) : 0;

    if (variable && !rp_ast_declaration(lanes->loop, variable) &&
        (rp_ast_changes(around, variable) || rp_ast_declaration(around, variable)))
        return true;
    for (size_t i = 0; i < node->count; i++)
        if (varies(lanes, &node->children[i], around))
            return true;
    return false;
}

/** The same of where the loop begins, and of all that it does with the memory. */
static bool element_varies(const struct memory *memory, const struct rp_ast_node *node,
                           const struct rp_ast_node *around)
{
    const struct rp_ast_node *base = is_element(node) ? rp_place_variable(node) : NULL;

    if (base && is_name(&memory->names, base->ref_id) && varies(memory->lanes, node, around))
        return true;
    for (size_t i = 0; i < node->count; i++)
        if (element_varies(memory, &node->children[i], around))
            return true;
    return false;
}

/** A lane of the next round of a loop around may get what another lane wrote: only a barrier, or
 * that each round begins at the same elements, excludes that. */
static bool are_rounds_apart(const struct memory *memory)
{
    const struct rp_ast_node *start = rp_ast_child(memory->lanes->loop, RP_FOR_INIT);

    for (size_t i = 0; i < memory->around_count; i++) {
        const struct rp_ast_node *around = memory->loops[i];

        if (!waits_between(memory, memory->around[i].begin, memory->around[i].end + 1) &&
            (varies(memory->lanes, start, around) ||
             element_varies(memory, memory->lanes->loop, around)))
            return false;
    }
    return true;
}

static bool is_written(const struct names *names, const struct rp_effects *effects)
{
    for (size_t i = 0; i < effects->write_count; i++) {
        const struct rp_ast_node *base = rp_place_variable(effects->writes[i]);

        if (base ? is_name(names, base->ref_id) : has_name(names, effects->writes[i]))
            return true;
    }
    return false;
}

static bool is_only_name(const struct names *names, const struct rp_ast_node *node, uint64_t name)
{
    if (is_memory(node) && is_name(names, node->ref_id) && node->ref_id != name)
        return false;
    for (size_t i = 0; i < node->count; i++)
        if (!is_only_name(names, &node->children[i], name))
            return false;
    return true;
}

static bool is_parted(const struct rp_loop_lanes *lanes, uint64_t pointer,
                      const struct rp_effects *all, const struct rp_effects *in_loop)
{
    struct memory memory = {.lanes = lanes, .names = {.ids = {pointer}, .count = 1}};
    size_t count = 0;
    bool behind = false;

    while (memory.names.count > count) {
        count = memory.names.count;
        join_names(&memory.names, lanes->function);
    }
    find_uses(&memory, lanes->function, false);
    if (memory.unknown || memory.escapes || memory.names.too_many)
        return false;
    if (!is_written(&memory.names, all))
        return true;
    if (memory.read_elsewhere ||
        (is_written(&memory.names, in_loop) &&
         (!is_only_name(&memory.names, lanes->loop, pointer) || !are_rounds_apart(&memory))))
        return false;
    if (memory.use_count == 0)
        return true;
    /* No barrier makes one workgroup wait for another. A jump may leave one out. */
    if (lanes->kind == RP_SHARED_BY_GRID || memory.jumps ||
        !all_stay((struct flow){.lanes = lanes, .again = true}, lanes->function, &behind))
        return false;
    for (size_t i = 0; i < memory.use_count; i++)
        if (!is_apart(&memory, memory.uses[i]))
            return false;
    return true;
}

static bool are_parted(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node,
                       const struct rp_effects *all, const struct rp_effects *in_loop)
{
    if (is_memory(node) && !rp_ast_declaration(lanes->loop, node->ref_id) &&
        !is_parted(lanes, node->ref_id, all, in_loop))
        return false;
    for (size_t i = 0; i < node->count; i++)
        if (!are_parted(lanes, &node->children[i], all, in_loop))
            return false;
    return true;
}

bool rp_loop_is_parted(const struct rp_loop_lanes *lanes)
{
    struct rp_effects all = {0}, in_loop = {0};
    bool parted;

    rp_effects_find(lanes->function, lanes->function, &all);
    rp_effects_find(lanes->loop, lanes->function, &in_loop);
    parted = are_parted(lanes, lanes->loop, &all, &in_loop);
    rp_effects_free(&in_loop);
    rp_effects_free(&all);
    return parted;
}

/* --- sums ---------------------------------------------------------------------------------- */

const struct rp_ast_node *rp_extremum_term(const struct rp_ast_node *value, uint64_t sum)
{
    static const char *const names[] = {"max", "min", "fmax", "fmin", "fmaxf", "fminf"};
    const struct rp_ast_node *call = rp_ast_bare(value), *target = rp_ast_call_target(call);

    if (!target || call->count != 3 ||
        (rp_ast_variable(&call->children[1]) == sum) ==
            (rp_ast_variable(&call->children[2]) == sum))
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (rp_is_text(rp_ast_callee(target), names[i]))
            return &call->children[rp_ast_variable(&call->children[1]) == sum ? 2 : 1];
    return NULL;
}

/** Returns the name of the function that is called, or "". */
static const char *called(const struct rp_ast_node *node)
{
    const struct rp_ast_node *target = rp_ast_call_target(node);
    const char *name = target ? rp_ast_callee(target) : NULL;

    return name ? name : "";
}

/** Returns what an assignment does: '+', 'M' for a maximum, 'm', or the operator's letter. */
static char kind_of_sum(const struct rp_ast_node *adds)
{
    if (rp_is_text(adds->opcode, "="))
        return strstr(called(rp_ast_bare(rp_ast_child(adds, 1))), "max") ? 'M' : 'm';
    return adds->opcode[0] == '-' ? '+' : adds->opcode[0];
}

/** The same of an atomic. @return 0: it is none of these */
static char kind_of_atomic(const char *name)
{
    static const struct {
        const char *name;
        char kind;
    } atomics[] = {{"atomicAdd", '+'}, {"unsafeAtomicAdd", '+'}, {"atomicSub", '+'},
                   {"atomicMax", 'M'}, {"atomicMin", 'm'},       {"atomicOr", '|'},
                   {"atomicAnd", '&'}, {"atomicXor", '^'}};

    for (size_t i = 0; i < sizeof atomics / sizeof *atomics; i++)
        if (strncmp(name, atomics[i].name, strlen(atomics[i].name)) == 0)
            return atomics[i].kind;
    return 0;
}

static bool is_word(const char *word, size_t bytes, const char *const *words)
{
    for (; *words; words++)
        if (strlen(*words) == bytes && strncasecmp(word, *words, bytes) == 0)
            return true;
    return false;
}

/** Says whether a function adds up over lanes, by the words of its name: blockReduceSum, warp_max,
 * but not block_index. */
static bool is_reduction(const char *name)
{
    static const char *const lanes[] = {"block", "warp",  "wave",  "wavefront", "workgroup",
                                        "group", "lanes", "cross", "thread",    NULL};
    static const char *const adds[] = {"sum", "add", "max", "min", "maximum", "minimum", NULL};
    static const char *const reduces[] = {"reduce", "reduction", "allreduce", NULL};
    static const char *const others[] = {"all", "float", "double", "int", "f", "xor", "dpp", NULL};
    bool of_lanes = false, sums = false, reduction = false;

    for (size_t bytes; *name; name += bytes) {
        bytes = 1;
        if (*name == '_' || isdigit((unsigned char)*name))
            continue;
        while (islower((unsigned char)name[bytes]))
            bytes++;
        of_lanes |= is_word(name, bytes, lanes);
        sums |= is_word(name, bytes, adds);
        reduction |= is_word(name, bytes, reduces);
        if (!is_word(name, bytes, lanes) && !is_word(name, bytes, adds) &&
            !is_word(name, bytes, reduces) && !is_word(name, bytes, others))
            return false;
    }
    return reduction || (of_lanes && sums);
}

/** What is known of a sum on the way through the kernel. */
struct follow {
    const struct rp_loop_lanes *lanes;
    uint64_t sum;
    const struct rp_ast_node *adds;
    bool begun;     /**< the loop has been passed */
    bool over;      /**< the variable has another value by now */
    bool exchanged; /**< lanes have exchanged it */
    bool used;      /**< ... or something else was done with it */
};

struct place {
    bool statement, conditional, in_loop;
    bool differs; /**< a condition around is not the same in all lanes */
};

/** Says whether a call exchanges the sum itself, and not what was made of it. */
static bool is_exchange(const struct follow *follow, const struct rp_ast_node *call)
{
    static const char *const shuffles[] = {"__shfl_down", "__shfl_xor", "__builtin_amdgcn_mov_dpp",
                                           "__builtin_amdgcn_update_dpp"};
    const char *name = called(call);
    const char kind = kind_of_atomic(name);
    bool exchanges = is_reduction(name) || (kind && kind == kind_of_sum(follow->adds)), is = false;

    for (size_t i = 0; i < sizeof shuffles / sizeof *shuffles; i++)
        exchanges |= strncmp(name, shuffles[i], strlen(shuffles[i])) == 0;
    if (!exchanges || (kind && !rp_is_same_in_lanes(follow->lanes, rp_ast_child(call, 1))))
        return false;
    for (size_t i = 1; i < call->count; i++) {
        if (rp_ast_variable(&call->children[i]) == follow->sum)
            is = true;
        else if (rp_ast_names(&call->children[i], follow->sum))
            return false;
    }
    return is;
}

static bool has_exchange(const struct follow *follow, const struct rp_ast_node *node)
{
    if (is_exchange(follow, node))
        return true;
    for (size_t i = 0; i < node->count; i++)
        if (has_exchange(follow, &node->children[i]))
            return true;
    return false;
}

static bool is_same_tree(const struct rp_ast_node *a, const struct rp_ast_node *b)
{
    a = rp_ast_bare(a);
    b = rp_ast_bare(b);
    if (!a->kind || !b->kind || strcmp(a->kind, b->kind) != 0 || a->ref_id != b->ref_id ||
        a->count != b->count || (a->opcode && !rp_is_text(b->opcode, a->opcode)) ||
        (a->value && !rp_is_text(b->value, a->value)) || (a->name && !rp_is_text(b->name, a->name)))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (!is_same_tree(&a->children[i], &b->children[i]))
            return false;
    return true;
}

/** Says whether the kernel uses an array otherwise than at one place, which it names as here. */
static bool is_used_otherwise(const struct rp_ast_node *node, uint64_t array,
                              const struct rp_ast_node *place)
{
    if (is_element(node) && is_same_tree(node, place))
        return false;
    if (rp_ast_is(node, "DeclRefExpr") && node->ref_id == array)
        return true;
    for (size_t i = 0; i < node->count; i++)
        if (is_used_otherwise(&node->children[i], array, place))
            return true;
    return false;
}

/** Says whether the sum is stored where other lanes find it. */
static bool is_stored(const struct follow *follow, const struct rp_ast_node *node)
{
    const struct rp_ast_node *place, *base;

    if (!rp_is_assignment(node) || node->count != 2 ||
        rp_ast_variable(&node->children[1]) != follow->sum)
        return false;
    place = &node->children[0];
    base = rp_place_variable(place);
    return base && rp_is_lds(follow->lanes->function, base->ref_id) &&
           !rp_ast_names(place, follow->sum) &&
           is_used_otherwise(follow->lanes->function, base->ref_id, rp_ast_bare(place));
}

/** Says whether it adds to the sum as the loop does. */
static bool adds_more(const struct follow *follow, const struct rp_ast_node *node)
{
    const struct rp_ast_node *value = rp_ast_child(node, 1);

    if (rp_is_text(node->opcode, "=")) {
        const struct rp_ast_node *term = rp_extremum_term(value, follow->sum);

        if (!term || !rp_is_text(follow->adds->opcode, "="))
            return false;
        value = term;
    }
    return kind_of_sum(node) == kind_of_sum(follow->adds) && !rp_ast_names(value, follow->sum);
}

/** Takes an assignment to the sum. */
static void take_assignment(struct follow *follow, const struct rp_ast_node *node,
                            struct place place)
{
    if (has_exchange(follow, node)) {
        follow->exchanged = true;
        follow->used |= place.differs;
        follow->over |= !place.conditional;
    } else if (rp_is_text(node->opcode, "=") && !rp_ast_names(&node->children[1], follow->sum)) {
        follow->over |= !place.conditional && !place.in_loop;
    } else {
        follow->used |= !place.statement || !adds_more(follow, node);
    }
}

static void follow_sum(struct follow *follow, const struct rp_ast_node *node, struct place place)
{
    static const char *const blocks[] = {"CompoundStmt", "AttributedStmt", "IfStmt", NULL};
    static const char *const choices[] = {"ConditionalOperator", "SwitchStmt", NULL};
    const bool around = holds(node, follow->lanes->loop);
    const bool logical = rp_is_text(node->opcode, "&&") || rp_is_text(node->opcode, "||");
    struct place inside = place;

    if (node == follow->lanes->loop) {
        follow->begun = true;
        follow->over = false;
        return;
    }
    if (!around && (!follow->begun || follow->over || !rp_ast_names(node, follow->sum)))
        return;
    if (rp_is_assignment(node) && rp_ast_variable(&node->children[0]) == follow->sum) {
        take_assignment(follow, node, place);
        return;
    }
    if (is_exchange(follow, node) || (place.statement && is_stored(follow, node))) {
        follow->exchanged = true;
        follow->used |= place.differs;
        follow->over |= !place.conditional && rp_ast_changes(node, follow->sum);
        return;
    }
    follow->used |= rp_ast_is(node, "DeclRefExpr");
    inside.statement = is_one_of(node, blocks) || is_loop(node);
    inside.in_loop |= !around && is_loop(node);
    if (is_one_of(node, choices) || logical)
        inside.conditional = inside.differs = true;
    /* What comes before the loop in a loop around it comes behind it, too. */
    for (int time = 0; time < (around && is_loop(node) ? 2 : 1); time++)
        for (size_t i = 0; i < node->count; i++) {
            if (rp_ast_is(node, "IfStmt") && !around && i == 1) {
                inside.conditional = true;
                inside.differs |= decides_by_lane(follow->lanes, node);
            }
            follow_sum(follow, &node->children[i], inside);
        }
}

/** Parts of sums of one workgroup are not the same as before: nothing but atomics, to one place for
 * all workgroups, may bring them out of it. */
static bool are_atomics_of_all(const struct follow *follow, const struct rp_ast_node *node,
                               size_t *count)
{
    const char kind = kind_of_atomic(called(node));

    if (rp_ast_is(node, "AtomicExpr"))
        return false;
    if (kind && (kind != kind_of_sum(follow->adds) ||
                 !rp_is_same_in_lanes(follow->lanes, rp_ast_child(node, 1))))
        return false;
    *count += kind != 0;
    for (size_t i = 1; rp_ast_call_target(node) && !kind && i < node->count; i++)
        if (rp_ast_is_pointer(&node->children[i]))
            return false;
    for (size_t i = 0; i < node->count; i++)
        if (!are_atomics_of_all(follow, &node->children[i], count))
            return false;
    return true;
}

static bool adds_all_of_grid(const struct follow *follow)
{
    const struct rp_loop_lanes *lanes = follow->lanes;
    struct rp_effects effects = {0};
    size_t count = 0;
    bool good = are_atomics_of_all(follow, lanes->function, &count) && count > 0;

    rp_effects_find(lanes->function, lanes->function, &effects);
    for (size_t i = 0; i < effects.write_count; i++) {
        const struct rp_ast_node *base = rp_place_variable(effects.writes[i]);

        good = good && ((base && rp_is_lds(lanes->function, base->ref_id)) ||
                        holds(lanes->loop, effects.writes[i]));
    }
    rp_effects_free(&effects);
    return good;
}

static size_t loops_around(const struct rp_loop_lanes *lanes, const struct rp_ast_node *node)
{
    size_t count = 0;

    if (node == lanes->loop || !holds(node, lanes->loop))
        return 0;
    for (size_t i = 0; i < node->count; i++)
        count += loops_around(lanes, &node->children[i]);
    return count + is_loop(node);
}

/** Says whether a variable could be used by a second name. */
static bool has_other_name(const struct rp_ast_node *node, uint64_t variable)
{
    const bool gives = rp_ast_is(node, "LambdaExpr") ||
                       (rp_ast_is(node, "UnaryOperator") && rp_is_text(node->opcode, "&")) ||
                       (rp_ast_is(node, "VarDecl") && rp_ast_is_reference(node));

    if (gives && rp_ast_names(node, variable))
        return true;
    for (size_t i = 0; i < node->count; i++)
        if (has_other_name(&node->children[i], variable))
            return true;
    return false;
}

bool rp_loop_sum_is_exchanged(const struct rp_loop_lanes *lanes, uint64_t sum,
                              const struct rp_ast_node *adds)
{
    struct follow follow = {.lanes = lanes, .sum = sum, .adds = adds};

    if (loops_around(lanes, lanes->function) > MOST_LOOPS || has_other_name(lanes->function, sum))
        return false;
    follow_sum(&follow, lanes->function, (struct place){0});
    return follow.exchanged && !follow.used &&
           (lanes->kind != RP_SHARED_BY_GRID || adds_all_of_grid(&follow));
}
