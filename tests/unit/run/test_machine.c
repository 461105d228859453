/* GPUs as the driver shows them, and which one ROCR_VISIBLE_DEVICES means. */
#include "run/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#include "unit/scratch.h"

static void add_node(const char *number, const char *text)
{
    rp_autofree char *name = rp_format("%s/properties", number);

    free(scratch_put(name, text));
}

static int make_nodes(void **state)
{
    if (scratch_begin(state) < 0)
        return -1;
    add_node("0", "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\n");
    add_node("10", "simd_count 1216\nsimd_per_cu 4\ngfx_target_version 90402\ndevice_id 29857\n"
                   "unique_id 81985529216486895\n");
    add_node("3", "simd_count 440\nsimd_per_cu 4\ngfx_target_version 90010\ndevice_id 29711\n"
                  "drm_render_minor 129\n");
    add_node("2", "drm_render_minor 128\nsimd_count 440\nsimd_per_cu 4\ngfx_target_version "
                  "90010\ndevice_id 29711\n");
    free(scratch_put("renderD128", "")); /* only the first one may be used */
    return 0;
}

static void in_order_of_nodes(void **state)
{
    rp_autofree struct rp_gpu *gpus = NULL;
    size_t count;

    (void)state;
    rp_gpus_list(scratch_dir, scratch_dir, &gpus, &count);
    assert_int_equal(count, 2);
    assert_string_equal(gpus[0].gfx, "gfx90a");
    assert_int_equal(gpus[0].compute_units, 110);
    assert_string_equal(gpus[1].gfx, "gfx942");
    assert_string_equal(gpus[1].product, "AMD Instinct MI300X");
    assert_int_equal(gpus[1].node, 10);
    assert_ptr_equal(rp_gpus_first_visible(gpus, count, NULL), &gpus[0]);
    assert_ptr_equal(rp_gpus_first_visible(gpus, count, ""), &gpus[0]);
    assert_ptr_equal(rp_gpus_first_visible(gpus, count, "1"), &gpus[1]);
    assert_ptr_equal(rp_gpus_first_visible(gpus, count, "1,0"), &gpus[1]);
    assert_ptr_equal(rp_gpus_first_visible(gpus, count, "GPU-0123456789abcdef"), &gpus[1]);
    assert_null(rp_gpus_first_visible(gpus, count, "2"));
    assert_null(rp_gpus_first_visible(gpus, count, "x"));
    assert_null(rp_gpus_first_visible(gpus, count, "GPU-1"));
}

static void without_a_driver(void **state)
{
    struct rp_gpu *gpus;
    size_t count;

    (void)state;
    rp_gpus_list("/nonexistent", "/nonexistent", &gpus, &count);
    assert_null(gpus);
    assert_int_equal(count, 0);
    assert_null(rp_gpus_first_visible(gpus, count, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_order_of_nodes, make_nodes, scratch_end),
        cmocka_unit_test(without_a_driver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
