/**
 * @file test_isolate_select.c
 * @brief Which of a list of dispatches is captured, and when no more are wanted.
 */
#include <stdlib.h>
#include <string.h>

#include "tracer/tracer.h"
#include "unit/cmocka_all.h"

#include "tracer/isolate.c"

enum { CPU = 7, FIRST_GPU = 8, SECOND_GPU = 9 };

static struct rp_tool test_tool;
static struct rp_select chosen;

static void find_agents(void)
{
    for (rp_hsa_agent agent = CPU; agent <= SECOND_GPU; agent++)
        test_tool.agents[agent - CPU] = (struct rp_agent){.handle = agent, .gpu = agent != CPU};
    test_tool.agent_count = SECOND_GPU - CPU + 1;
}

static const struct {
    const char *symbol;
    uint32_t grid[3];
    uint16_t workgroup[3];
    uint32_t group_bytes, queue;
    rp_hsa_agent agent;
} dispatches[] = {
    {"add", {64, 1, 1}, {64, 1, 1}, 0, 0, FIRST_GPU},
    {"add", {128, 1, 1}, {64, 1, 1}, 0, 1, FIRST_GPU},
    {"mul", {64, 1, 1}, {64, 1, 1}, 0, 0, FIRST_GPU},
    {"add", {64, 1, 1}, {64, 1, 1}, 0, 2, SECOND_GPU},
    {"add", {128, 1, 1}, {32, 2, 1}, 0, 1, FIRST_GPU},
    {"add", {64, 2, 1}, {64, 1, 1}, 0, 0, FIRST_GPU},
    {"add", {64, 1, 1}, {64, 1, 1}, 512, 0, FIRST_GPU},
    {"mul", {64, 1, 1}, {64, 1, 1}, 0, 2, SECOND_GPU},
};
enum { DISPATCHES = sizeof(dispatches) / sizeof(*dispatches) };

/* Bit i: dispatch i is captured. */
static unsigned play(void)
{
    static char names[DISPATCHES][8]; /* each GPU has its own copy */
    unsigned taken = 0;

    for (size_t i = 0; i < DISPATCHES; i++) {
        char *const symbol = names[i];
        struct rp_hsa_packet packet = {.group_bytes = dispatches[i].group_bytes};
        const struct rp_candidate candidate = {.packet = &packet,
                                               .symbol = symbol,
                                               .agent = dispatches[i].agent,
                                               .queue_index = dispatches[i].queue,
                                               .stream = UINT64_MAX};
        uint64_t match;

        strcpy(symbol, dispatches[i].symbol);
        memcpy(packet.grid, dispatches[i].grid, sizeof(packet.grid));
        memcpy(packet.workgroup, dispatches[i].workgroup, sizeof(packet.workgroup));
        if (select_take(&test_tool, &chosen, &candidate, &match)) {
            assert_int_not_equal(match, 0);
            taken |= 1u << i;
            assert_int_equal(select_done(&chosen), select_is_over(&chosen));
        }
    }
    return taken;
}

static const struct row {
    struct rp_snapshot_selection wish;
    uint64_t numbers[3];
    unsigned taken;
    bool over;
} rows[] = {
    {{.number_count = 1}, {1}, 0x01, true},
    {{.number_count = 3}, {2, 3, 8}, 0x86, true},
    {{.number_count = 2}, {8, 9}, 0x80, false},
    {{.number_count = 2, .filters = RP_SNAPSHOT_GRID, .grid = {64, 1, 1}}, {2, 3}, 0x0c, true},
    {{.number_count = 1, .filters = RP_SNAPSHOT_GRID, .grid = {64, 2, 1}}, {1}, 0x20, true},
    {{.number_count = 1, .filters = RP_SNAPSHOT_WORKGROUP, .workgroup = {32, 2, 1}},
     {1},
     0x10,
     true},
    {{.number_count = 2, .filters = RP_SNAPSHOT_QUEUE, .queue = 1}, {1, 2}, 0x12, true},
    {{.number_count = 2, .filters = RP_SNAPSHOT_GPU, .gpu = 1}, {1, 2}, 0x88, true},
    {{.number_count = 1, .filters = RP_SNAPSHOT_GPU, .gpu = 2}, {1}, 0, false},
    {{.number_count = 1, .filters = RP_SNAPSHOT_STREAM}, {1}, 0, false}, /* in no call of HIP */
    {{.number_count = 1,
      .filters = RP_SNAPSHOT_QUEUE | RP_SNAPSHOT_GRID,
      .queue = 2,
      .grid = {128, 1, 1}},
     {1},
     0,
     false},
    {{.mode = RP_SNAPSHOT_GEOMETRIES, .most = 16}, {0}, 0x77, false},
    {{.mode = RP_SNAPSHOT_GEOMETRIES, .most = 3}, {0}, 0x07, true},
    {{.mode = RP_SNAPSHOT_GEOMETRIES, .most = 16, .filters = RP_SNAPSHOT_GRID, .grid = {64, 1, 1}},
     {0},
     0x45,
     false},
    {{.mode = RP_SNAPSHOT_SCAN}, {0}, 0, false},
};

static void each_selection(void **state)
{
    (void)state;
    find_agents();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t *numbers = malloc(sizeof(rows[i].numbers));
        unsigned taken;

        memcpy(numbers, rows[i].numbers, sizeof(rows[i].numbers));
        select_init(&chosen, &rows[i].wish, numbers);
        taken = play();
        if (taken != rows[i].taken || select_is_over(&chosen) != rows[i].over)
            fail_msg("row %zu: %x instead of %x, %s", i, taken, rows[i].taken,
                     select_is_over(&chosen) ? "over" : "not over");
        free(chosen.seen);
        free(numbers);
    }
}

/* While one capture goes on, the last one is chosen: it ends when both have. */
static void the_end_is_that_of_the_last(void **state)
{
    static uint64_t numbers[] = {1, 2};
    const struct rp_snapshot_selection wish = {.number_count = 2};
    const struct rp_hsa_packet packet = {.grid = {1, 1, 1}};
    const struct rp_candidate candidate = {.packet = &packet, .symbol = "add"};
    uint64_t match;

    (void)state;
    select_init(&chosen, &wish, numbers);
    assert_true(select_take(&test_tool, &chosen, &candidate, &match));
    assert_true(select_take(&test_tool, &chosen, &candidate, &match));
    assert_int_equal(match, 2);
    assert_true(select_is_over(&chosen));
    assert_false(select_take(&test_tool, &chosen, &candidate, &match));
    assert_int_equal(match, 0);
    assert_false(select_done(&chosen));
    assert_true(select_done(&chosen));
}

static void who_gives_up_wants_nothing(void **state)
{
    static uint64_t numbers[] = {1, 2};
    const struct rp_snapshot_selection wish = {.number_count = 2};
    const struct rp_hsa_packet packet = {.grid = {1, 1, 1}};
    const struct rp_candidate candidate = {.packet = &packet, .symbol = "add"};
    uint64_t match;

    (void)state;
    select_init(&chosen, &wish, numbers);
    assert_true(select_take(&test_tool, &chosen, &candidate, &match));
    select_give_up(&chosen);
    assert_true(select_done(&chosen));
    assert_false(select_take(&test_tool, &chosen, &candidate, &match));
}

/* Each kind of dispatch that is left out is named once, and the first RP_SNAPSHOT_MAX_FILTERED. */
static void kinds_are_named_once(void **state)
{
    const struct rp_snapshot_selection wish = {
        .number_count = 1, .filters = RP_SNAPSHOT_GRID, .grid = {1, 1, 1}};
    unsigned named = 0;

    (void)state;
    find_agents();
    select_init(&chosen, &wish, NULL);
    for (unsigned i = 0; i < 2000; i++) {
        const unsigned kind = i * 7 % 12; /* all of them differ in one thing from kind 0 */
        const struct rp_hsa_packet packet = {
            .grid = {64 + (kind == 1), 2 + (kind == 2), 3 + (kind == 3)},
            .workgroup = {8 + (kind == 4), 2 + (kind == 5), 1 + (kind == 6)}};
        const struct rp_candidate candidate = {.packet = &packet,
                                               .symbol = "add",
                                               .agent = kind == 7 ? SECOND_GPU : FIRST_GPU,
                                               .queue_index = kind > 7 ? kind : 0,
                                               .stream = UINT64_MAX};
        const bool known = select_is_passed(&chosen, &candidate);
        struct rp_snapshot_filtered passed;

        assert_int_equal(known, i >= 12);
        assert_int_equal(select_pass(&test_tool, &chosen, &candidate, &passed), !known);
        if (known)
            continue;
        named++;
        assert_int_equal(passed.gpu, kind == 7);
        assert_int_equal(passed.queue, candidate.queue_index);
        assert_int_equal(passed.stream, UINT32_MAX);
        assert_memory_equal(passed.grid, packet.grid, sizeof(passed.grid));
        assert_int_equal(passed.workgroup[2], packet.workgroup[2]);
    }
    assert_int_equal(named, 12);
    for (unsigned i = 0; i < 100; i++) {
        const struct rp_hsa_packet packet = {.grid = {1000 + i, 1, 1}};
        const struct rp_candidate candidate = {.packet = &packet, .symbol = "add", .agent = CPU};
        struct rp_snapshot_filtered passed;

        named += select_pass(&test_tool, &chosen, &candidate, &passed);
    }
    assert_int_equal(named, RP_SNAPSHOT_MAX_FILTERED);
}

/* JIT compilers give many kernels one name: each code object's is one of its own, and one code
 * object on two GPUs is one. */
static void kernels_of_one_name_are_several(void **state)
{
    static const struct {
        uint64_t code;
        rp_hsa_agent agent;
        bool taken;
    } kernels[] = {{1, FIRST_GPU, true},
                   {2, FIRST_GPU, true},
                   {1, FIRST_GPU, false},
                   {2, SECOND_GPU, false},
                   {3, SECOND_GPU, true}};
    const struct rp_snapshot_selection wish = {.mode = RP_SNAPSHOT_GEOMETRIES, .most = 9};
    struct rp_select select;

    (void)state;
    select_init(&select, &wish, NULL);
    for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++) {
        struct rp_hsa_packet packet = {.grid = {64, 1, 1}, .workgroup = {64, 1, 1}};
        const struct rp_candidate candidate = {.packet = &packet,
                                               .symbol = "triton_k",
                                               .code = kernels[i].code,
                                               .agent = kernels[i].agent};
        uint64_t match;

        assert_int_equal(select_take(&test_tool, &select, &candidate, &match), kernels[i].taken);
    }
    free(select.seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_selection),
        cmocka_unit_test(the_end_is_that_of_the_last),
        cmocka_unit_test(who_gives_up_wants_nothing),
        cmocka_unit_test(kinds_are_named_once),
        cmocka_unit_test(kernels_of_one_name_are_several),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
