/* What --test_gpus all means, of GPUs that are made up. */
#include "tune/program_runner.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "run/machine.h"
#include "unit/cmocka_all.h"

#include "tune/program_runner.c"

static const struct rp_gpu test_gpus[] = {
    {.gfx = "gfx942", .compute_units = 304, .product = "AMD Instinct MI300X"},
    {.gfx = "gfx942", .compute_units = 304, .product = "AMD Instinct MI300X", .unique_id = 10},
    {.gfx = "gfx90a", .compute_units = 104, .product = "", .unique_id = 11},
};

static void means(size_t count, const char *visible, const char *wanted)
{
    rp_autofree char *list = NULL;
    struct rp_err err = RP_ERR_INIT;

    if (rp_gpu_choice_of(test_gpus, count, visible, &list, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(list, wanted);
}

static void is_refused(size_t count, const char *visible, const char *first, const char *second)
{
    char *list = NULL;
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_gpu_choice_of(test_gpus, count, visible, &list, &err), -RP_ENVIRONMENT);
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
    assert_int_equal(rp_gpu_choice_check_software(both, 1, &err), -RP_USAGE);
    assert_non_null(strstr(err.text, "--gpus 1: the software device has 1"));
    assert_int_equal(rp_gpu_choice_check_software(both, 2, &err), 0);
    assert_int_equal(rp_gpu_choice_check_software(word, 2, &err), -RP_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_may_be_used),
        cmocka_unit_test(of_one_model),
        cmocka_unit_test(of_the_software_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
