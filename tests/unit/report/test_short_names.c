/** Names of a table, shortened until they are as short as they can be and still differ. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "unit/cmocka_all.h"

enum { MOST = 8 };

static void check(const char *const *names, const char *const *wanted)
{
    struct rp_err err = RP_ERR_INIT;
    struct rp_short_names got;
    size_t count = 0;

    while (names[count])
        count++;
    assert_int_equal(rp_short_names_make(names, count, &got, &err), 0);
    assert_int_equal(got.count, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(got.at[i], wanted[i]);
    rp_short_names_free(&got);
}

#define CHECK(names, ...)                                                                          \
    check((const char *const[]){names, NULL}, (const char *const[]){__VA_ARGS__})
#define LIST(...) __VA_ARGS__

static void one_name_is_its_word(void **state)
{
    (void)state;
    CHECK("saxpy(float, float const*, float*, unsigned long)", "saxpy");
    CHECK("void ns::(anonymous namespace)::gemm<float, 4>(float const*, int) [clone .kd]", "gemm");
    CHECK("std::pair<int, float>* ns::make<3>(int)", "make");
    CHECK("_Z5saxpyfPKfPfm", "_Z5saxpyfPKfPfm");
    CHECK("Cijk_Ailk_Bljk_SB_MT64x64x16_SE_1LDSB0", "Cijk_Ailk_Bljk_SB_MT64x64x16_SE_1LDSB0");
    CHECK("__amd_rocclr_fillBufferAligned.kd", "__amd_rocclr_fillBufferAligned.kd");
    CHECK("", "");
}

static void arguments_that_differ_stay(void **state)
{
    (void)state;
    CHECK(LIST("void gemm<float, 4, true>(float*)", "void gemm<float, 8, true>(float*)"), "gemm<4>",
          "gemm<8>");
    CHECK(LIST("void gemm<float, 4>(float*)", "void gemm<double, 8>(double*)"), "gemm<float, 4>",
          "gemm<double, 8>");
    CHECK(LIST("void gemm<float, 4>(float*)", "void copy<float, 4>(float*)"), "gemm", "copy");
    CHECK(LIST("void f<1>(int)", "void f<1>(int)", "void f<2>(int)"), "f<1>", "f<1>", "f<2>");
    CHECK(LIST("void f<1>(int)", "void f<1, 2>(int)"), "f<1>", "f<1, 2>");
}

/** What differs deep within nested arguments is all that stays. */
static void arguments_are_shortened_as_well(void **state)
{
    (void)state;
    CHECK(LIST("void ns::run<ns::config<ns::tile<16, 32>, float>, 3>(int)",
               "void ns::run<ns::config<ns::tile<16, 64>, float>, 3>(int)"),
          "run<config<tile<32>>>", "run<config<tile<64>>>");
    CHECK(LIST("void ns::run<ns::add>(int)", "void ns::run<ns::mul>(int)"), "run<add>", "run<mul>");
    CHECK(LIST("void ns::run<(ns::Mode)0>(int)", "void ns::run<(ns::Mode)1>(int)"),
          "run<(ns::Mode)0>", "run<(ns::Mode)1>");
    CHECK(LIST("void run<float const*>()", "void run<float*>()"), "run<float const*>",
          "run<float*>");
}

static void namespaces_and_parameters_stay_where_they_must(void **state)
{
    (void)state;
    CHECK(LIST("void a::f(int)", "void b::f(int)", "void g(int)"), "a::f", "b::f", "g");
    CHECK(LIST("void f(int)", "void f(float)"), "f(int)", "f(float)");
    CHECK(LIST("f", "void n::f(int)"), "f", "n::f");
    CHECK(LIST("int f(int)", "long f(int)"), "int f(int)", "long f(int)");
    CHECK(LIST("void K<float>::run(int)", "void K<double>::run(int)"), "K<float>::run",
          "K<double>::run");
}

#define GEMM      "Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64"
#define GEMM_MORE "_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTVA0_DTVB0_EPS0_FDSI0"

/** Words of generated kernels are cut behind a parameter, later where the beginning is the same. */
static void long_words_are_cut(void **state)
{
    (void)state;
    CHECK(GEMM GEMM_MORE, GEMM "...");
    CHECK(LIST(GEMM GEMM_MORE, "void copy<float>(float*)"), GEMM "...", "copy");
    CHECK(LIST(GEMM "_MI16x16x1" GEMM_MORE, GEMM "_MI32x32x1" GEMM_MORE),
          GEMM "_MI16x16x1_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTVA0...",
          GEMM "_MI32x32x1_MI16x16x1_SN_LDSB1_AFC1_AFEM1_AFEM1_ASEM1_CLR1_CADS0_DTVA0...");
    CHECK(LIST(GEMM GEMM_MORE GEMM_MORE GEMM_MORE "_WG32",
               GEMM GEMM_MORE GEMM_MORE GEMM_MORE "_WG64"),
          GEMM GEMM_MORE GEMM_MORE GEMM_MORE "_WG32", GEMM GEMM_MORE GEMM_MORE GEMM_MORE "_WG64");
    CHECK("_Z" GEMM GEMM_MORE, "_Z" GEMM GEMM_MORE);
}

static void compilers_words_are_read(void **state)
{
    (void)state;
    CHECK("void launch<int>(int)::{lambda(int)#1}::operator()(int) const",
          "launch::{lambda(int)#1}::operator()");
    CHECK("bool ns::operator<<(ns::a<int> const&, int)", "ns::operator<<");
    CHECK("auto f<int>(int)::'lambda'(int)::operator()(int) const", "f::'lambda'::operator()");
    CHECK("decltype(auto) ns::f<1>(int)", "f");
    CHECK(
        LIST("void run<8, impl<ns::mul<float> >(It&, ns::mul<float> const&)::{lambda(int)#1}>(int)",
             "void run<8, impl<copy(It&)::{lambda()#3}::operator()() const::{lambda()#1}>"
             "(It&)::{lambda(int)#1}>(int)"),
        "run<impl<ns::mul<float> >::{lambda(int)#1}>",
        "run<impl<copy::{lambda()#3}::operator()::{lambda()#1}>::{lambda(int)#1}>");
}

/** Libraries launch lambdas from kernels that are named after nothing: rocPRIM's, as clang writes
 * them. */
static void lambdas_as_arguments_name_their_functions(void **state)
{
    (void)state;
    CHECK(
        "void p::trampoline<p::config<int>, (p::arch)942, hipError_t p::detail::reduce_impl<true, "
        "int*>(void*, unsigned long&, int*)::'lambda'(auto), p::selector>(int*)",
        "trampoline<reduce_impl::'lambda'>");
    CHECK(
        LIST(
            "void p::trampoline<p::a, auto hipError_t p::scan_impl<(p::mode)0, "
            "int>(int)::'lambda'(auto, "
            "auto)::operator()<p::c<bool, false>>(auto, auto) const::'lambda'(auto)>(int*)",
            "void p::trampoline<p::b, hipError_t p::sort_impl<float*>(int)::'lambda1'(auto)>(int*)",
            "void p::trampoline<p::b, hipError_t p::sort_impl<int*>(int)::'lambda1'(auto)>(int*)"),
        "trampoline<a, scan_impl::'lambda'::operator()::'lambda'>",
        "trampoline<b, sort_impl<float*>::'lambda1'>", "trampoline<b, sort_impl<int*>::'lambda1'>");
    CHECK("void forall<256, main::{lambda(int)#1}>(int, main::{lambda(int)#1})",
          "forall<main::{lambda(int)#1}>");
    CHECK(LIST("void copy<&void g::one<float>(char*)>(int)",
               "void copy<&void g::one<half>(char*)>(int)",
               "void copy<&(void g::one<half>(char*))>(int)"),
          "copy<one<float>>", "copy<one<half>>", "copy<&(void g::one<half>(char*))>");
    CHECK("void t::parallel_for::kernel<256u, t::fill<int>>(t::fill<int>)", "parallel_for::kernel");
    CHECK(LIST("void run<unsigned int, float const*, int (*)(int)>()", "void run<int, int, int>()"),
          "run<unsigned int, float const*, int (*)(int)>", "run<int, int, int>");
    CHECK(LIST("void run<ns::tile const*>()", "void run<ns::none*>()"), "run<tile const*>",
          "run<none*>");
}

/** Text of other origin is never cut, and nothing is read behind its end. */
static void other_text_stays(void **state)
{
    static const char *const texts[] = {
        "f<",    "f(",          "f<(>)",    "<>",          "::",   "f::",      "((((",
        ">>>>",  "{",           "'",        "f<a,",        "a b",  "operator", "f<>()",
        "f [x]", "f(int) [#2]", "\xff\xfe", "MEMORY COPY", "a::(b"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct rp_err err = RP_ERR_INIT;
        struct rp_short_names got;

        assert_int_equal(rp_short_names_make(&texts[i], 1, &got, &err), 0);
        rp_short_names_free(&got);
    }
    CHECK(LIST("f(int) [#1]", "f(int) [#2]"), "f [#1]", "f [#2]");
    CHECK("f<", "f<");
    CHECK("copy from host to GPU", "copy from host to GPU");
}

/** A name of 20,000 characters whose last argument of the deepest level differs. */
static void long_names_are_read(void **state)
{
    struct rp_buf names[2] = {{0}, {0}};
    struct rp_err err = RP_ERR_INIT;
    const char *texts[2];
    struct rp_short_names got;

    (void)state;
    for (int n = 0; n < 2; n++) {
        rp_buf_puts(&names[n], "void f<");
        for (int i = 0; i < 4000; i++)
            rp_buf_puts(&names[n], "std::tuple<int, ");
        rp_buf_printf(&names[n], "%d", n);
        for (int i = 0; i < 4000; i++)
            rp_buf_puts(&names[n], ">");
        rp_buf_puts(&names[n], ">(int)");
        texts[n] = rp_buf_text(&names[n]);
    }
    assert_int_equal(rp_short_names_make(texts, 2, &got, &err), 0);
    assert_true(strcmp(got.at[0], got.at[1]) != 0);
    assert_true(strlen(got.at[0]) < strlen(texts[0]));
    rp_short_names_free(&got);
    rp_buf_free(&names[0]);
    rp_buf_free(&names[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_name_is_its_word),
        cmocka_unit_test(arguments_that_differ_stay),
        cmocka_unit_test(arguments_are_shortened_as_well),
        cmocka_unit_test(namespaces_and_parameters_stay_where_they_must),
        cmocka_unit_test(long_words_are_cut),
        cmocka_unit_test(compilers_words_are_read),
        cmocka_unit_test(lambdas_as_arguments_name_their_functions),
        cmocka_unit_test(other_text_stays),
        cmocka_unit_test(long_names_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
