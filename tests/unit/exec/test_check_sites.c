/* The checks know instructions by their address: however many there are, and whatever was loaded
 * there before. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/check/check.h"
#include "device/isa/instruction.h"
#include "unit/cmocka_all.h"

static uint32_t site_of(uint64_t pc, uint32_t word)
{
    struct rp_insn in = {0};
    rp_isa_decode(&word, 1, &in);
    return rp_check_site(pc, &in, NULL);
}

enum { S_NOP_0 = (int)0xbf800000, MANY = 200000 };

static void as_many_as_there_are(void **state)
{
    static uint32_t site[MANY];
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        site[i] = site_of(0x7f0000000000 + 8 * (uint64_t)i, (uint32_t)S_NOP_0);
        assert_int_not_equal(site[i], 0);
        assert_true(i == 0 || site[i] != site[i - 1]);
    }
    for (uint32_t i = 0; i < MANY; i++)
        assert_int_equal(site_of(0x7f0000000000 + 8 * (uint64_t)i, (uint32_t)S_NOP_0), site[i]);
}

static void another_module_at_its_address(void **state)
{
    const uint64_t pc = 0x7e0000000000;
    const uint32_t first = site_of(pc, (uint32_t)S_NOP_0);
    (void)state;
    assert_int_not_equal(first, 0);
    assert_int_not_equal(site_of(pc, (uint32_t)S_NOP_0 + 1), first);
    assert_int_equal(site_of(pc, (uint32_t)S_NOP_0 + 1), site_of(pc, (uint32_t)S_NOP_0 + 1));
}

static void more_than_there_is_room_for(void **state)
{
    enum { MOST = 1 << 20 };
    char folder[] = "/tmp/rp-test-XXXXXX", path[64], line[64] = "";
    uint64_t pc = 0x7c0000000000;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_true(rp_check_take_not_compared() == 0);
    for (uint32_t i = 0; i <= MOST && site_of(pc, (uint32_t)S_NOP_0); i++)
        pc += 8;
    assert_int_equal(site_of(pc, (uint32_t)S_NOP_0), 0);
    rp_findings_begin(RP_CHECK_RACES, folder);
    rp_check_not_compared();
    rp_check_not_compared();
    rp_findings_begin(0, NULL);
    rp_findings_begin(0, folder);
    snprintf(path, sizeof path, "%s/check-%d.jsonl", folder, (int)getpid());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    remove(path);
    rmdir(folder);
    rp_findings_begin(0, NULL);
    assert_non_null(strstr(line, "\"not_compared\":2,"));
    assert_true(rp_check_take_not_compared() == 2);
    assert_true(rp_check_take_not_compared() == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_there_are),
        cmocka_unit_test(another_module_at_its_address),
        cmocka_unit_test(more_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
