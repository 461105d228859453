/* Kernels as the real compiler sees them. Places are looked up in the text, all else is by hand. */
#include "optimize/kernel_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include "unit/optimize/sources.h"

#include "unit/made_rocm.h"

/* A byte order mark, CRLF here and there, and letters of more than one byte in front. */
static const char text[] =
    "\xef\xbb\xbf#include \"hip_small.h\"\r\n"
    "// \xc3\xa4\xc3\xb6\xc3\xbc \xe2\x82\xac \xf0\x9f\x9a\x80\r\n"
    "#include \"other.h\"\n"
    "#define MAKE(n) __global__ void n(float *a) { a[0] = 1; }\n"
    "#define KERNEL __global__ void\n"
    "#define LOOP(n) for (int q = 0; q < n; q++)\n"
    "MAKE(made)\n"
    "__global__ void f(int *a); // declared before\n"
    "/*F*/KERNEL f(int *a) { a[0] = 1; }/*FEND*/ __global__ void behind(int *a) { a[1] = 2; }\n"
    "__global__ void f(float *a, int n) { for (int i = 0; i < n; i++) a[i] = 0; }\n"
    "namespace ns { namespace {\n"
    "/*T*/template <typename T, int N>\r\n"
    "static __global__ void __launch_bounds__(64) f(T *a, const T *b, int n, volatile int *v)\r\n"
    "{\r\n"
    "    constexpr int half = N / 2;\n"
    "    /*L0*/for (int i = 0; i < N; i++) a[i] += b[i];\n"
    "    /*L1*/for (int i = 10; i >= half; i -= 3)\n"
    "        /*L2*/for (int j = 0; j != 6; ++j) a[j] *= sqrtf((float)b[i]);\n"
    "#pragma unroll 2\n"
    "    /*L3*/for (int i = 0, k = 7; k > i; i++) { a[i] = b[threadIdx.x]; }\n"
    "    /*L4*/for (int i = 0; i < n; i++) { if (b[i] > 0) break; a[i] = 1; }\n"
    "    /*L5*/for (int i = 0; i < n; i++) { __syncthreads(); a[i] = 1; }\n"
    "    /*L6*/for (int i = 0; i < n; i++) { a[i] = v[0]; }\n"
    "    /*L7*/for (int i = 0; i < n; i++) { atomicAdd((float *)a, 1.0f); }\n"
    "    /*L8*/while (n-- > 0) a[n] = 1;\n"
    "    /*L9*/for (int i = 1; i < n; i *= 2) a[i] = 1;\n"
    "    /*L10*/for (int i = 0; i < n; i++) { a[i] = 1; n--; }\n"
    "    /*L11*/for (int i = 0; i < n; i++) { asm volatile(\"s_nop 0\"); }\n"
    "    /*L12*/LOOP(4) a[q] = 1;\n"
    "    /*L13*/for (int i = 0; i < n; i++) a[i] = helper(i);\n"
    "    /*L14*/for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = 2;\n"
    "    /*L15*/for (int i = 0; i < n; i++) switch (i) { case 1: a[i] = 1; break; }\n"
    "    _Pragma(\"unroll\")\n"
    "    /*L16*/for (int i = 0; i < 4; i++) { if (i == 2) continue; a[i] = 3; }\n"
    "    /*L17*/do { a[n] = 1; } while (n++ < 4);\n"
    "    /*L18*/for (int i = 0; i < n; i++) { if (b[i] > 0) return; }\n"
    "}/*TEND*/\n"
    "} }\n"
    "/*C*/extern \"C\"  __global__ void plain(float *b) { b[0] = b[1] + b[2]; }/*CEND*/\n"
    "template <> /*S*/__global__ void spec<int>(int *a) { a[0] = 2; }/*SEND*/\n"
    "struct holder { static __global__ void member(int *a) { a[0] = 1; } };\n"
    "namespace ns { namespace {\n"
    "template __global__ void f<float, 9>(float *, const float *, int, volatile int *);\n"
    "template __global__ void f<int, 4>(int *, const int *, int, volatile int *);\n"
    "} }\n"
    "template __global__ void spec<float>(float *);\n";

static const char other[] = "template <typename T> __global__ void spec(T *a) { a[0] = 1; }\n"
                            "__device__ inline int helper(int x) { return x + 1; }\n"
                            "__global__ void in_header(int *a) { a[0] = 1; }\n";

static char *path;
static struct rp_compile_command *command;

static int set_up(void **state)
{
    if (sources_begin(state) < 0)
        return -1;
    free(scratch_put("other.h", other));
    path = scratch_put("k.hip", text);
    command = sources_command("hipcc -nogpuinc -O3 {source}", path);
    return 0;
}

static int tear_down(void **state)
{
    rp_compile_command_free(command);
    free(path);
    return scratch_end(state);
}

static size_t behind(const char *mark)
{
    const char *at = strstr(text, mark);

    assert_non_null(at);
    return (size_t)(at - text) + strlen(mark);
}

static void finds(const char *symbol, const char *name, const char *begin, const char *end)
{
    struct rp_kernel_source *source = sources_kernel(command, path, symbol);

    assert_string_equal(source->name, name);
    assert_int_equal(source->bytes, sizeof text - 1);
    assert_memory_equal(source->text, text, sizeof text);
    assert_int_equal(source->begin, behind(begin));
    assert_int_equal(source->end, behind(end) - strlen(end));
    assert_int_equal(source->body_end, source->end);
    assert_int_equal(text[source->body_begin], '{');
    assert_int_equal(source->body_begin, (size_t)(strchr(text + source->begin, '{') - text));
    rp_kernel_source_free(source);
}

static void overloads_and_linkage_are_told_apart(void **state)
{
    (void)state;
    finds("_Z1fPi", "f", "/*F*/", "/*FEND*/");
    finds("plain.kd", "plain", "/*C*/", "/*CEND*/");
}

static void an_explicit_specialisation_is_its_own_text(void **state)
{
    struct rp_kernel_source *source = sources_kernel(command, path, "_Z4specIiEvPT_");

    (void)state;
    assert_int_equal(source->end, behind("/*SEND*/") - strlen("/*SEND*/"));
    assert_int_equal(source->begin, behind("template <> /*S*/") - strlen("template <> /*S*/"));
    rp_kernel_source_free(source);
}

static void refuses(const char *symbol, const char *part)
{
    struct rp_kernel_source *source;
    struct rp_err err = RP_ERR_INIT;

    assert_int_equal(rp_kernel_source_read(command, path, symbol, "gfx942", &source, &err),
                     -RP_BAD_INPUT);
    if (!strstr(err.text, part))
        fail_msg("'%s' is not in: %s", part, err.text);
}

static void what_cannot_be_changed_is_refused_by_name(void **state)
{
    (void)state;
    refuses("_Z4madePf", "_Z4madePf comes out of a macro");
    refuses("_Z9in_headerPi", "other.h");
    refuses("_Z4specIfEvPT_", "other.h");
    refuses("_ZN6holder6memberEPi", "no definition");
    refuses("_ZNK3box6memberEPi", "member of a class");
    refuses("_Znonsense", "not known");
}

static const struct {
    const char *mark;
    uint32_t depth;
    bool innermost, counted;
    int64_t trips; /* -1: not known */
    const char *why_not;
} loops[] = {
    {"/*L0*/", 0, true, true, 9, NULL},
    {"/*L1*/", 0, false, true, 3, "another loop"}, /* 10, 7, 4 */
    {"/*L2*/", 1, true, true, 6, NULL},
    {"/*L3*/", 0, true, true, -1, NULL}, /* its bound is a variable, if an unchanged one */
    {"/*L4*/", 0, true, true, -1, NULL},
    {"/*L5*/", 0, true, true, -1, NULL},
    {"/*L6*/", 0, true, true, -1, NULL},
    {"/*L7*/", 0, true, true, -1, NULL},
    {"/*L8*/", 0, true, false, -1, "no for loop"},
    {"/*L9*/", 0, true, false, -1, "steps"},
    {"/*L10*/", 0, true, false, -1, "its body changes"},
    {"/*L11*/", 0, true, true, -1, NULL},
    {"/*L12*/", 0, true, true, 4, "macro"},
    {"/*L13*/", 0, true, true, -1, NULL}, /* its callee adds one */
    {"/*L14*/", 0, true, true, -1, NULL},
    {"/*L15*/", 0, true, true, -1, NULL},
    {"/*L16*/", 0, true, true, 4, NULL},
    {"/*L17*/", 0, true, false, -1, "no for loop"},
    {"/*L18*/", 0, true, true, -1, NULL},
};

static void loops_say_what_may_be_done_with_them(void **state)
{
    struct rp_kernel_source *source =
        sources_kernel(command, path, "_ZN2ns12_GLOBAL__N_11fIfLi9EEEvPT_PKS2_iPVi");
    size_t template = behind("/*T*/");

    (void)state;
    assert_int_equal(source->begin, template);
    assert_int_equal(source->end, behind("/*TEND*/") - strlen("/*TEND*/"));
    assert_int_equal(source->line, 12);
    assert_int_equal(source->loop_count, sizeof loops / sizeof *loops);
    for (size_t i = 0; i < source->loop_count; i++) {
        const struct rp_source_loop *loop = &source->loops[i];

        assert_int_equal(loop->begin, behind(loops[i].mark));
        assert_int_equal(loop->depth, loops[i].depth);
        assert_int_equal(loop->innermost, loops[i].innermost);
        assert_int_equal(loop->counted, loops[i].counted);
        assert_int_equal(loop->trip_count_known, loops[i].trips >= 0);
        if (loops[i].trips >= 0)
            assert_int_equal(loop->trip_count, loops[i].trips);
        if (!loops[i].why_not)
            assert_null(loop->why_not);
        else if (!loop->why_not || !strstr(loop->why_not, loops[i].why_not))
            fail_msg("%s: %s", loops[i].mark, loop->why_not ? loop->why_not : "(may be)");
        if (i == 3)
            assert_memory_equal(text + loop->pragma_begin, "#pragma unroll 2\n",
                                loop->pragma_end - loop->pragma_begin + 1);
        else if (i == 16)
            assert_memory_equal(text + loop->pragma_begin, "_Pragma(\"unroll\")\n",
                                loop->pragma_end - loop->pragma_begin + 1);
        else
            assert_int_equal(loop->pragma_begin, loop->pragma_end);
    }
    assert_int_equal(source->loops[0].line, 16);
    rp_kernel_source_free(source);
}

static void a_file_that_does_not_compile_says_why(void **state)
{
    rp_autofree char *bad = scratch_put("bad.hip", "#include <hip/hip_runtime.h>\n"
                                                   "__global__ void k() { nonsense; }\n");
    struct rp_compile_command *own = sources_command(NULL, bad);
    struct rp_kernel_source *source;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_kernel_source_read(own, bad, "_Z1kv", "gfx942", &source, &err),
                     -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "bad.hip:2"));
    assert_non_null(strstr(err.text, "nonsense"));
    rp_compile_command_free(own);
}

/** A ROCm whose compiler is that script. @return the command for the file */
static struct rp_compile_command *scripted_command(const char *script, const char *file)
{
    rp_autofree char *rocm = rp_path_join(scratch_dir, "rocm");
    rp_autofree char *hipcc = rp_path_join(rocm, "bin/hipcc");
    rp_autofree char *build = rp_format("%s {source}", hipcc);
    struct rp_compile_command *made;

    made_rocm("rocm", "7.2.4");
    free(scratch_put("rocm/bin/hipcc", script));
    assert_int_equal(chmod(hipcc, 0700), 0);
    setenv("ROCM_PATH", rocm, 1);
    made = sources_command(build, file);
    unsetenv("ROCM_PATH");
    return made;
}

/* Writes on from 1023 MB, which cost nothing; is ended in the middle, and does not say so. */
static void a_dump_without_end_is_ended(void **state)
{
    struct rp_compile_command *endless = scripted_command(
        "#!/bin/sh\n"
        "dd if=/dev/zero of=/dev/stdout bs=1M seek=1023 count=3 conv=notrunc 2>/dev/null ||\n"
        "    : >\"$0.ended\"\n"
        "exit 0\n",
        path);
    rp_autofree char *ended = rp_path_join(scratch_dir, "rocm/bin/hipcc.ended");
    struct rp_kernel_source *source;
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    assert_int_equal(rp_kernel_source_read(endless, path, "_Z5plainPf", "gfx942", &source, &err),
                     -RP_BAD_INPUT);
    assert_non_null(
        strstr(err.text, "of plain and of other names that contain this one is larger than 1 GB"));
    assert_true(rp_path_exists(ended));
    rp_compile_command_free(endless);
}

static void a_unit_without_the_header_is_named(void **state)
{
    rp_autofree char *header =
        scratch_put("alone.h", "template <int N> __global__ void alone(int *a) { a[0] = N; }\n");
    rp_autofree char *with =
        scratch_put("with.hip", "#include \"hip_small.h\"\n#include \"alone.h\"\n"
                                "template __global__ void alone<1>(int *);\n");
    rp_autofree char *without =
        scratch_put("without.hip", "#include \"hip_small.h\"\n__global__ void other(int *a) {}\n");
    const char *const units[] = {without, with};
    struct rp_err err = RP_ERR_INIT;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rp_autofree char *build = rp_format("hipcc -nogpuinc -nogpulib %s -o x", units[i]);
        struct rp_compile_command *c = sources_command(build, header);
        struct rp_kernel_source *source;

        assert_int_equal(rp_kernel_source_read(c, header, "_Z6absentPi", "gfx942", &source, &err),
                         -RP_BAD_INPUT);
        assert_non_null(strstr(err.text, i ? "there is no definition of the kernel"
                                           : "without.hip is compiled, but does not include"));
        if (!i)
            assert_non_null(strstr(err.text, "alone.h: name with --unit the file that includes"));
        rp_compile_command_free(c);
    }
}

/** What may not be read is no bad source. Root may read everything, so this is somebody else then.
 */
static void who_may_read_the_file(void **state)
{
    rp_autofree char *file = scratch_put("private.hip", "int a;\n"), *below = NULL;
    const bool root = geteuid() == 0;
    rp_autofree char *real = NULL, *read = NULL;
    struct rp_err err = RP_ERR_INIT;
    size_t bytes;

    (void)state;
    below = rp_path_join(file, "x");
    assert_int_equal(rp_source_file_read(below, &real, &read, &bytes, &err), -RP_BAD_INPUT);
    assert_int_equal(chmod(file, 0), 0);
    assert_int_equal(chmod(scratch_dir, 0755), 0);
    if (root)
        assert_int_equal(seteuid(65534), 0);
    assert_int_equal(rp_source_file_read(file, &real, &read, &bytes, &err), -RP_ENVIRONMENT);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_non_null(strstr(err.text, "private.hip: Permission denied"));
    unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overloads_and_linkage_are_told_apart),
        cmocka_unit_test(an_explicit_specialisation_is_its_own_text),
        cmocka_unit_test(what_cannot_be_changed_is_refused_by_name),
        cmocka_unit_test(loops_say_what_may_be_done_with_them),
        cmocka_unit_test(a_file_that_does_not_compile_says_why),
        cmocka_unit_test(a_unit_without_the_header_is_named),
        cmocka_unit_test(a_dump_without_end_is_ended),
        cmocka_unit_test(who_may_read_the_file),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
