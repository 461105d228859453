/* Counters from CSV: the grammar, the forms, damaged files, passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "trace/counter_set.h"
#include "trace/csv_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rp_err err;

static struct rp_counters *parse(const char *text)
{
    struct rp_counters *set = NULL;

    err = (struct rp_err)RP_ERR_INIT;
    if (rp_counters_parse("t.csv", text, strlen(text), &set, &err) != 0)
        fail_msg("%s", err.text);
    return set;
}

static void refuse(const char *text, size_t len, const char *says)
{
    struct rp_counters *set = NULL;

    err = (struct rp_err)RP_ERR_INIT;
    assert_int_equal(rp_counters_parse("t.csv", text, len, &set, &err), -RP_BAD_INPUT);
    if (!strstr(err.text, says) || !strstr(err.text, "t.csv"))
        fail_msg("'%s' does not say '%s'", err.text, says);
}

static double value(const struct rp_counters *set, size_t dispatch, const char *name)
{
    double v = -1;

    for (uint32_t i = 0; i < set->name_count; i++)
        if (strcmp(set->names[i], name) == 0)
            rp_counters_value(&set->dispatches[dispatch], i, &v);
    return v;
}

static void test_grammar(void **state)
{
    static const char text[] = "\xef\xbb\xbf"
                               "a,\"b,\"\"c\"\"\",\r\n\n\"two\nlines\",,x\ry,z,\"\"";
    static const char *const fields[3][3] = {
        {"a", "b,\"c\"", ""}, {"two\nlines", "", "x"}, {"y", "z", ""}};
    static const unsigned long lines[] = {1, 3, 5};
    struct rp_csv csv = {.at = text, .end = text + sizeof text - 1};

    (void)state;
    for (size_t r = 0; r < 3; r++) {
        assert_int_equal(rp_csv_next(&csv, &err), 1);
        assert_int_equal(csv.count, 3);
        assert_int_equal(csv.line, lines[r]);
        for (size_t i = 0; i < 3; i++)
            assert_string_equal(rp_csv_field(&csv, i), fields[r][i]);
    }
    assert_int_equal(rp_csv_next(&csv, &err), 0);
    rp_csv_free(&csv);
}

#define REFUSE(text, says) refuse(text, sizeof(text) - 1, says)
#define HEAD               "Dispatch_ID,Kernel_Name,SQ_WAVES\n"

static void test_refused(void **state)
{
    (void)state;
    REFUSE("", "the file is empty");
    REFUSE("\n\n", "the file is empty");
    REFUSE("a,b\n1,2\n", "columns Kernel_Name and Dispatch_ID are missing");
    REFUSE("Dispatch_Id,Kernel_Name,Counter_Name\n", "Counter_Value is missing");
    REFUSE(HEAD "1,\"k,7\n", "line 2: the quoted field has no end");
    REFUSE(HEAD "1,\"k\"x,7\n", "line 2: text behind a closing quote");
    REFUSE(HEAD "1,k\"x,7\n", "line 2: a quote within a field that has none");
    REFUSE(HEAD "1,k,7\n1,k\n", "line 3 has 2 fields, the header 3");
    REFUSE(HEAD "1,k,7\n2,k,seven\n", "line 3: 'seven' is no value of the counter SQ_WAVES");
    REFUSE(HEAD "1,k,nan\n", "'nan' is no value");
    REFUSE("Dispatch_Id,Kernel_Name,A,B,A\n1,k,1,2,1\n", "column A is there twice");
    REFUSE("Dispatch_Id,Kernel_Name,A[1],A[0],A[1]\n1,k,1,2,1\n", "column A[1] is there twice");
    REFUSE("Dispatch_Id,Kernel_Name,A[0],A\n1,k,1,2\n", "column A is there beside its instance");
    REFUSE(HEAD "1,k\0k,7\n", "line 2 holds a zero byte");
}

#define LONG "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value\n"

/* What no counter can have counted, by the name of the counter. */
static void test_impossible(void **state)
{
    static const char metrics[] =
        LONG "1,k,FETCH_SIZE,10.625\n1,k,L2CacheHit,32.669323\n1,k,TA_BUSY_avr,0.5\n"
             "1,k,SQ_WAVES,1.6384e+04\n1,k,TCC_HIT[3],7.000000\n1,k,OccupancyPercent,7.1e-01\n"
             "1,k,VALUUtilization,-nan\n1,k,MemUnitBusy,inf\n";
    struct rp_counters *set;

    (void)state;
    REFUSE(HEAD "1,k,-5\n",
           "line 2: '-5' is no value of the counter SQ_WAVES: counters only count");
    REFUSE(LONG "1,k,SQ_WAVES,3\n1,k,FETCH_SIZE,-0.5\n",
           "line 3: '-0.5' is no value of the counter FETCH_SIZE: counters only count up from 0");
    REFUSE(HEAD "1,k,-inf\n", "SQ_WAVES: it is not finite");
    REFUSE(HEAD "1,k,1e999\n", "SQ_WAVES: it is not finite");
    REFUSE(HEAD "1,k,18446744073709551611\n", "SQ_WAVES: it is near 2^63");
    REFUSE(HEAD "1,k,16384.5\n", "SQ_WAVES: the hardware counts whole events");
    REFUSE(LONG "1,k,TCC_HIT[3],7.5\n", "TCC_HIT[3]: the hardware counts whole events");
    REFUSE(LONG "1,k,TCC_HIT_sum,7.5\n", "TCC_HIT_sum: the hardware counts whole events");
    REFUSE(LONG "1,k,GL2C_HIT_sum,7.5\n", "GL2C_HIT_sum: the hardware counts whole events");
    set = parse(metrics);
    assert_true(value(set, 0, "FETCH_SIZE") == 10.625);
    assert_true(value(set, 0, "TA_BUSY_avr") == 0.5);
    assert_true(value(set, 0, "VALUUtilization") == -1 && value(set, 0, "MemUnitBusy") == -1);
    assert_true(value(set, 0, "TCC_HIT") == 7);
    assert_true(value(set, 0, "SQ_WAVES") == 16384);
    rp_counters_free(set);
}

static struct rp_counters *parse_as(const char *path, const char *text)
{
    struct rp_counters *set = NULL;

    err = (struct rp_err)RP_ERR_INIT;
    return rp_counters_parse(path, text, strlen(text), &set, &err) == 0 ? set : NULL;
}

/* A value that is there twice is not twice as much. */
static void test_again(void **state)
{
#define TIMED "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
    static const char twice[] = LONG "1,k,SQ_WAVES,3\n1,k,SQ_BUSY_CYCLES,4\n1,k,SQ_WAVES,3\n";
    struct rp_counters *set;

    (void)state;
    assert_null(parse_as("1_counter_collection.csv", twice));
    assert_non_null(strstr(err.text, "line 4: SQ_WAVES of one dispatch is there twice"));
    assert_null(parse_as("1_counter_collection.csv.gz", LONG "1,k,SQ_WAVES,3\n1,k,SQ_WAVES,7\n"));
    set = parse_as("1_counter_collection.csv", LONG "1,k,SQ_WAVES,3\n2,k,SQ_WAVES,3\n");
    assert_non_null(set);
    assert_int_equal(set->warning_count, 0);
    rp_counters_free(set);
    REFUSE(LONG "1,k,TCC_HIT[0],3\n1,k,TCC_HIT,7\n", "line 3: counter TCC_HIT of one dispatch");
    REFUSE(LONG "1,k,TCC_HIT,7\n1,k,TCC_HIT[0],3\n", "is there beside its instances");
    REFUSE(LONG "1,k,TCC_HIT[0],3\n1,k,TCC_HIT[1],3\n1,k,TCC_HIT[0],3\n",
           "line 4: TCC_HIT[0] of one dispatch is there twice");
    REFUSE(HEAD "1,k,7\n1,k,7\n", "line 3: another row has SQ_WAVES of the same dispatch");
    REFUSE("Dispatch_Id,Kernel_Name,A[0],A[1]\n1,k,1,2\n1,k,1,2\n", "another row has A of");
    set = parse("Dispatch_Id,Kernel_Name,A[0],A[1],B\n1,k,1,2,\n1,k,,,5\n");
    assert_true(value(set, 0, "A") == 3 && value(set, 0, "B") == 5);
    rp_counters_free(set);
    /* Of a tool that may write a row for each instance, or for each pass. */
    set = parse(twice);
    assert_true(value(set, 0, "SQ_WAVES") == 6);
    assert_int_equal(set->warning_count, 1);
    assert_non_null(
        strstr(set->warnings[0], "t.csv, line 4: SQ_WAVES of a dispatch is there again"));
    rp_counters_free(set);
    set = parse(TIMED "1,k,SQ_WAVES,3,10,20\n1,k,SQ_BUSY_CYCLES,4,30,40\n1,k,SQ_WAVES,5,30,40\n");
    assert_true(value(set, 0, "SQ_WAVES") == 3);
    assert_int_equal(set->warning_count, 1);
    assert_non_null(strstr(set->warnings[0], "of several passes the first one counts"));
    rp_counters_free(set);
}

/* A register of 32 bits that is full: neither it nor a sum with it is a count. */
static void test_full(void **state)
{
    struct rp_counters *set = parse(LONG "1,k,TCC_HIT[0],4294967295\n1,k,TCC_HIT[1],7\n"
                                         "1,k,TCC_MISS[0],4294967294\n2,k,TCC_HIT[0],9\n");

    (void)state;
    assert_int_equal(set->dispatch_count, 2);
    assert_true(value(set, 0, "TCC_HIT") == -1);
    assert_true(value(set, 0, "TCC_MISS") == 4294967294);
    assert_true(value(set, 1, "TCC_HIT") == 9);
    rp_counters_free(set);
}

/* Instances add up, joined passes repeat columns, empty cells were not counted. */
static void test_wide(void **state)
{
    struct rp_counters *set =
        parse("Dispatch_ID,Kernel_Name,GPU_ID,obj_1,TCC_REQ[0],TCC_REQ[1],TCC_REQ_sum,SQ_WAVES,"
              "Start_Timestamp,End_Timestamp\n"
              "0,k,2,0x7f,3,4,8,,1000000,1000250\n"
              "1,k,3,0x7f,1,1,2,16384.0,1248227793203453.2,1248227793220373.0\n");

    (void)state;
    assert_int_equal(set->dispatch_count, 2);
    assert_int_equal(set->device_count, 2);
    assert_true(value(set, 0, "TCC_REQ") == 7);
    assert_true(value(set, 0, "TCC_REQ_sum") == 8);
    assert_true(value(set, 0, "SQ_WAVES") == -1);
    assert_true(value(set, 1, "SQ_WAVES") == 16384);
    assert_true(value(set, 0, "obj_1") == -1);
    assert_true(set->dispatches[0].timed && set->dispatches[0].duration_ns == 250);
    assert_true(set->dispatches[1].timed && set->dispatches[1].duration_ns == 16919.75);
    rp_counters_free(set);
}

static void test_times(void **state)
{
    static const struct {
        const char *start, *end;
        bool timed, spoilt;
    } cases[] = {
        {"100", "200", true, false},
        {"200", "100", false, false},
        {"0", "100", false, false},
        {"", "", false, false},
        {"8.1097E+14", "8.1097E+14", false, true},
        {"8.1097E+14", "8.1198E+14", false, true},
        {"1.5e+1", "2.25e1", true, false},
        {"x", "7", false, false},
        {"99999999999999999999", "7", false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        struct rp_counters *set;

        snprintf(text, sizeof text,
                 "Dispatch_ID,Kernel_Name,Start_Timestamp,End_Timestamp\n1,k,%s,%s\n",
                 cases[i].start, cases[i].end);
        set = parse(text);
        assert_int_equal(set->dispatches[0].timed, cases[i].timed);
        assert_int_equal(set->spoilt_times, cases[i].spoilt);
        rp_counters_free(set);
    }
}

#define LONG_HEAD                                                                                  \
    "\"Dispatch_Id\",\"Agent_Id\",\"Process_Id\",\"Kernel_Name\",\"Counter_Name\","                \
    "\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n"

/* Two passes of one run: the n-th dispatch of a kernel is the same one. */
static void test_passes(void **state)
{
    struct rp_counters *a = parse(LONG_HEAD "1,Agent 4,77,k,A,1,100,110\n"
                                            "2,Agent 4,77,m,A,2,200,220\n"
                                            "5,Agent 4,77,k,A,3,300,330\n");
    struct rp_counters *b = parse(LONG_HEAD "1,Agent 4,78,m,A,9,0,0\n1,Agent 4,78,m,B,20,0,0\n"
                                            "2,Agent 4,78,k,B,10,0,0\n3,Agent 4,78,k,B,30,0,0\n"
                                            "4,Agent 4,78,k,B,40,0,0\n");
    struct rp_counters *trace =
        parse("Kind,Agent_Id,Dispatch_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n"
              "KERNEL_DISPATCH,Agent 4,1,k,10,17\nKERNEL_DISPATCH,Agent 4,2,k,20,28\n");

    (void)state;
    assert_int_equal(rp_counters_merge(a, b, &err), 0);
    assert_int_equal(a->dispatch_count, 4);
    assert_true(value(a, 0, "A") == 1 && value(a, 0, "B") == 10);
    assert_true(value(a, 1, "A") == -1 && value(a, 1, "B") == 20); /* 2 in one, 9 in the other */
    assert_true(value(a, 2, "A") == 3 && value(a, 2, "B") == 30);
    assert_true(value(a, 3, "A") == -1 && value(a, 3, "B") == 40);
    assert_true(a->dispatches[1].duration_ns == 20);
    assert_int_equal(rp_counters_merge(a, trace, &err), 0);
    assert_int_equal(a->dispatch_count, 4);
    assert_true(a->dispatches[0].duration_ns == 7 && a->dispatches[2].duration_ns == 8);
    /* The same counters again: another process. */
    assert_int_equal(rp_counters_merge(a, b, &err), 0);
    assert_int_equal(a->dispatch_count, 8);
    assert_true(value(a, 4, "B") == 10 || value(a, 4, "B") == 20);
    rp_counters_free(a);
    rp_counters_free(b);
    rp_counters_free(trace);
}

/* A counter that two passes have is the first one's, as long as the sums of a kernel are alike. */
static void test_repeats(void **state)
{
    struct rp_counters *a = parse(LONG "1,k,A,100\n2,k,A,50\n1,k,SQ_LEVEL_WAVES,3\n3,m,A,10\n"
                                       "3,m,F,4294967295\n");
    struct rp_counters *b = parse(LONG "1,k,A,110\n2,k,A,46\n1,k,SQ_LEVEL_WAVES,9\n3,m,A,11\n"
                                       "3,m,B,7\n3,m,F,5\n");
    struct rp_counters *c = parse(LONG "1,m,A,10\n1,m,C,1\n");
    struct rp_counters *clocks = parse(LONG "1,k,GRBM_GUI_ACTIVE,1000\n");
    struct rp_counters *others = parse(LONG "1,k,GRBM_GUI_ACTIVE,1250\n1,k,A,1\n");

    (void)state;
    assert_int_equal(rp_counters_merge(clocks, others, &err), 0);
    assert_true(value(clocks, 0, "GRBM_GUI_ACTIVE") == 1000 && clocks->dispute_count == 0);
    assert_true(clocks->repeat_difference == 0.2); /* which is said */
    rp_counters_free(clocks);
    rp_counters_free(others);
    assert_int_equal(rp_counters_merge(a, b, &err), 0);
    assert_true(value(a, 0, "A") == 100 && value(a, 1, "A") == 50);
    assert_true(value(a, 0, "SQ_LEVEL_WAVES") == 3);
    assert_true(value(a, 2, "A") == -1 && value(a, 2, "B") == 7 && value(a, 2, "F") == -1);
    assert_true(a->repeat_difference == 6.0 / 156.0);
    assert_int_equal(a->dispute_count, 1);
    assert_string_equal(a->kernels[a->disputes[0].kernel], "m");
    assert_string_equal(a->names[a->disputes[0].counter], "A");
    assert_true(a->disputes[0].first == 10 && a->disputes[0].other == 11);
    assert_int_equal(rp_counters_merge(a, c, &err), 0); /* a third one does not settle it */
    assert_true(value(a, 2, "A") == -1 && value(a, 2, "C") == 1);
    assert_int_equal(a->dispute_count, 1);
    rp_counters_free(a);
    rp_counters_free(b);
    rp_counters_free(c);
}

/* A dispute is of a kernel on a GPU, dispatches without a partner in the other pass included. */
static void test_disputes_without_partner(void **state)
{
    struct rp_counters *a = parse(LONG_HEAD "1,Agent 4,7,k,SQ_WAVES,100,0,0\n"
                                            "2,Agent 4,7,k,SQ_WAVES,100,0,0\n"
                                            "3,Agent 4,7,m,SQ_WAVES,5,0,0\n"
                                            "4,Agent 5,7,k,SQ_WAVES,6,0,0\n");
    struct rp_counters *b = parse(LONG_HEAD "1,Agent 4,8,k,SQ_WAVES,100000,0,0\n"
                                            "1,Agent 4,8,k,B,1,0,0\n");
    struct rp_counters *c = parse(LONG_HEAD "1,Agent 4,9,k,SQ_WAVES,100,0,0\n"
                                            "2,Agent 4,9,k,SQ_WAVES,100,0,0\n"
                                            "3,Agent 4,9,k,SQ_WAVES,100,0,0\n"
                                            "3,Agent 4,9,k,C,1,0,0\n");

    (void)state;
    assert_int_equal(rp_counters_merge(b, c, &err), 0); /* the second has dispatches of its own */
    assert_int_equal(b->dispatch_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(value(b, i, "SQ_WAVES") == -1);
    assert_true(value(b, 0, "B") == 1 && value(b, 2, "C") == 1);
    assert_int_equal(rp_counters_merge(a, b, &err), 0);
    assert_int_equal(a->dispatch_count, 5);
    assert_true(value(a, 0, "SQ_WAVES") == -1 && value(a, 1, "SQ_WAVES") == -1);
    assert_true(value(a, 2, "SQ_WAVES") == 5 && value(a, 3, "SQ_WAVES") == 6);
    assert_true(value(a, 4, "SQ_WAVES") == -1);
    assert_int_equal(a->dispute_count, 1);
    rp_counters_free(a);
    rp_counters_free(b);
    rp_counters_free(c);
}

/* What is made of clocks differs with them, whatever it is called. */
static void test_repeats_of_time(void **state)
{
    static const char *const of_time[] = {
        "MemUnitBusy",        "GPUBusy",          "VALUBusy",        "MemUnitStalled",
        "MeanOccupancyPerCU", "OccupancyPercent", "TA_BUSY_avr",     "GPU_UTIL",
        "TCC_CYCLE_sum",      "SQ_BUSY_CYCLES",   "ALUStalledByLDS", "LDSBankConflict"};
    static const char *const of_work[] = {"SQ_WAVES", "FetchSize", "FETCH_SIZE", "TCC_HIT_sum"};

    (void)state;
    for (size_t i = 0; i < 12 + 4; i++) {
        const char *name = i < 12 ? of_time[i] : of_work[i - 12];
        rp_autofree char *first = rp_format(LONG "1,k,%s,50\n", name);
        rp_autofree char *second = rp_format(LONG "1,k,%s,60\n1,k,B,1\n", name);
        struct rp_counters *a = parse(first), *b = parse(second);

        assert_int_equal(rp_counters_merge(a, b, &err), 0);
        assert_int_equal(a->dispute_count, i < 12 ? 0 : 1);
        assert_true(value(a, 0, name) == (i < 12 ? 50 : -1));
        rp_counters_free(a);
        rp_counters_free(b);
    }
}

static void put_file(const char *folder, const char *name, const char *text)
{
    rp_autofree char *path = rp_path_join(folder, name);
    rp_autofree char *within = strndup(path, (size_t)(strrchr(path, '/') - path));
    FILE *file;

    assert_int_equal(rp_mkdirs(within, &err), 0);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Files and folders of one run in this order. */
static struct rp_counters *join(const char *folder, const char *const *names, size_t count)
{
    struct rp_counter_parts *parts = NULL;
    struct rp_counters *ret = NULL;

    for (size_t i = 0; i < count; i++) {
        rp_autofree char *path = rp_path_join(folder, names[i]);

        assert_int_equal(rp_counters_open_part(path, &parts, &err), 0);
    }
    assert_int_equal(rp_counters_join(parts, &ret, &err), 0);
    return ret;
}

#define TRACE_HEAD "Kind,Agent_Id,Dispatch_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n"

/* Of any number of copies of a trace one is read, alone or among the files of a folder. */
static void test_copies_of_traces(void **state)
{
    static const char *const names[] = {"a/1_kernel_trace.csv", "b/1_kernel_trace.csv",
                                        "c/1_kernel_trace.csv", "d/1_kernel_trace.csv", "e"};
    static const char *const within[] = {"a/1_kernel_trace.csv", "e"};
    char folder[] = "/tmp/test-copies-XXXXXX";
    struct rp_counters *set;

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < 4; i++)
        put_file(folder, names[i],
                 TRACE_HEAD "KERNEL_DISPATCH,Agent 4,1,k,10,17\n"
                            "KERNEL_DISPATCH,Agent 4,2,k,20,28\n");
    put_file(folder, "e/1_kernel_trace.csv",
             TRACE_HEAD "KERNEL_DISPATCH,Agent 4,1,k,10,17\nKERNEL_DISPATCH,Agent 4,2,k,20,28\n");
    put_file(folder, "e/2_kernel_trace.csv", TRACE_HEAD "KERNEL_DISPATCH,Agent 4,3,k,12,19\n");
    for (size_t count = 1; count <= 4; count++) {
        set = join(folder, names, count);
        assert_int_equal(set->dispatch_count, 2);
        rp_counters_free(set);
    }
    for (size_t count = 1; count <= 4; count++) { /* all but the folder are spare */
        set = join(folder, names + 5 - count, count);
        assert_int_equal(set->dispatch_count, 3);
        rp_counters_free(set);
    }
    set = join(folder, within, 2);
    assert_int_equal(set->dispatch_count, 3);
    rp_counters_free(set);
    rp_remove_tree(folder);
}

/* Passes are passes whether their folder is named, or what lies in it. */
static void test_named_passes(void **state)
{
    static const char *const ranks[] = {"rank_0", "rank_1"};
    static const char *const ways[][8] = {
        {"rank_0", "rank_1"},
        {"rank_0/pmc_1", "rank_0/pmc_2", "rank_1/pmc_1", "rank_1/pmc_2"},
        {"rank_0/pmc_1/", "rank_1/pmc_1//", "./rank_0/pmc_2", "rank_1/pmc_2/h"},
        {"rank_0/pmc_1/h/1_counter_collection.csv", "rank_0//pmc_2/h/1_counter_collection.csv",
         "rank_1/pmc_2/h/1_counter_collection.csv", "rank_1/pmc_1"},
    };
    char folder[] = "/tmp/test-named-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int rank = 0; rank < 2; rank++)
        for (int pass = 1; pass <= 2; pass++) {
            rp_autofree char *name =
                rp_format("%s/pmc_%d/h/1_counter_collection.csv", ranks[rank], pass);
            rp_autofree char *text = rp_format(LONG_HEAD "1,Agent 4,%d,k,SQ_WAVES,10,%d00,%d10\n"
                                                         "2,Agent 4,%d,k,SQ_WAVES,10,%d20,%d3%d\n",
                                               rank, pass, pass, rank, pass, pass, rank);

            put_file(folder, name, text);
        }
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        size_t count = 0;
        struct rp_counters *set;

        while (ways[i][count])
            count++;
        set = join(folder, ways[i], count);
        assert_int_equal(set->dispatch_count, 4);
        for (size_t k = 0; k < 4; k++)
            assert_true(value(set, k, "SQ_WAVES") == 10);
        assert_int_equal(set->added_files, 0);
        rp_counters_free(set);
    }
    for (size_t i = 0; i < 2; i++) { /* one pass of two ranks */
        static const char *const pass[][2] = {{"rank_0/pmc_1", "rank_1/pmc_1"},
                                              {"rank_1/pmc_2/h", "rank_0/pmc_2"}};
        struct rp_counters *set = join(folder, pass[i], 2);

        assert_int_equal(set->dispatch_count, 4);
        rp_counters_free(set);
    }
    rp_remove_tree(folder);
}

/* Kernels of one name, in whichever of the files they are; a trace may have no registers. */
static void test_one_name(void **state)
{
#define REGISTERS "Dispatch_Id,Kernel_Name,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value\n"
    static const char *const texts[] = {REGISTERS "1,k,8,16,A,1\n2,k,64,16,A,2\n3,l,8,16,A,3\n",
                                        REGISTERS "1,k,8,16,B,10\n2,l,8,16,B,30\n",
                                        LONG "1,l,C,300\n2,k,C,0\n"};
    struct rp_counter_parts *parts = NULL;
    struct rp_counters *all = NULL;
    char folder[] = "/tmp/test-one-name-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < 3; i++) {
        rp_autofree char *path = rp_format("%s/%zu_counter_collection.csv", folder, i);
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        fputs(texts[i], file);
        fclose(file);
        assert_int_equal(rp_counters_open_part(path, &parts, &err), 0);
    }
    assert_int_equal(rp_counters_join(parts, &all, &err), 0);
    rp_remove_tree(folder);
    assert_int_equal(all->dispatch_count, 4);
    assert_true(value(all, 0, "A") == 1 && value(all, 0, "B") == 10);
    assert_true(value(all, 1, "A") == 2 && value(all, 1, "B") == -1);
    assert_true(value(all, 2, "A") == 3 && value(all, 2, "B") == 30 && value(all, 2, "C") == 300);
    assert_string_equal(all->kernels[all->dispatches[2].kernel], "l");
    assert_string_equal(all->kernels[all->dispatches[3].kernel], "k"); /* nobody knows which */
    rp_counters_free(all);
}

static void test_facts(void **state)
{
    struct rp_counters *a =
        parse("\"Node_Id\",\"Agent_Type\",\"Cu_Count\",\"Num_Xcc\","
              "\"Max_Engine_Clk_Fcompute\",\"Device_Id\",\"Name\"\n"
              "0,\"CPU\",2,1,0,0,\"AMD EPYC\"\n1,\"GPU\",304,8,2100,29857,\"gfx942\"\n");
    struct rp_counters *b = parse("gpu_arch,gpu_chip_id,cu_per_gpu,max_sclk,max_mclk,num_xcd\n"
                                  "gfx950,30112,128,0,,8\n");

    (void)state;
    assert_int_equal(a->device_count, 1);
    assert_string_equal(a->devices[0].arch, "gfx942");
    assert_int_equal(a->devices[0].compute_units, 304);
    assert_int_equal(a->devices[0].pci_device_id, 29857);
    assert_int_equal(a->devices[0].engine_clock_mhz, 2100);
    assert_int_equal(b->device_count, 0);
    assert_string_equal(b->any.arch, "gfx950");
    assert_true(b->any.guessed);
    assert_int_equal(b->any.engine_clock_mhz, 0);
    rp_counters_free(a);
    rp_counters_free(b);
    a = parse("gpu_series,gpu_arch,chip_id,num_xcd\nMI300,gfx942,29861,1\n"); /* before 3.2 */
    assert_int_equal(a->any.pci_device_id, 29861);
    rp_counters_free(a);
    a = parse("gpu_soc,numSE,numCU,sclk,mclk,name,hbmBW,compute_partition,memory_partition\n"
              "gfx90a,8,104,1700,1600,mi200,1638.4,NA,NA\n"); /* Omniperf */
    assert_string_equal(a->any.arch, "gfx90a");
    assert_int_equal(a->any.compute_units, 104);
    assert_int_equal(a->any.engine_clock_mhz, 1700);
    rp_counters_free(a);
}

/* Kernels of rocprof-compute, of rocprof and of assemblers are those of traces. */
static void test_descriptor_names(void **state)
{
    static const struct {
        const char *name, *kernel;
    } rows[] = {
        {"k(float*) (.kd)", "k(float*)"},
        {"k(float*) [clone .kd]", "k(float*)"},
        {"_Z1kPf.kd", "_Z1kPf"},
        {"k(float*)", "k(float*)"},
        {"f(int) [clone .isra.0] [clone .kd]", "f(int) [clone .isra.0]"},
        {".kd", ".kd"},
        {"kd", "kd"},
        {"a.kd b", "a.kd b"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rp_autofree char *text = rp_format("Dispatch_ID,Kernel_Name,A\n0,\"%s\",1\n", rows[i].name);
        struct rp_counters *set = parse(text);

        assert_string_equal(set->kernels[0], rows[i].kernel);
        rp_counters_free(set);
    }
}

/* Real files: rows, kernels and times as the files say. */
static void test_real(void **state)
{
    static const struct {
        const char *path, *arch;
        size_t dispatches;
        uint64_t spoilt;
        double waves, l2; /* of the first dispatch, TCC_REQ[] added up; -1: not counted */
    } cases[] = {
        {"vcopy_MI200", "gfx90a", 3, 0, 16384, 203986},
        {"no_roof_MI300X_A1", "gfx942", 3, 0, 16384, 197461},
        {"vcopy_MI300A_A1", "gfx942", 3, 3, 16384, 197107},
        {"vcopy_MI300X_A1_rocpd", "gfx942", 3, 0, 16384, 199704},
        {"vcopy_MI350/pmc_perf.csv", "gfx950", 3, 0, 16384, 198016},
        {"gfx1151", "", 34, 0, -1, -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rp_autofree char *path = rp_format("%s/counters/%s", getenv("RP_TEST_DATA"), cases[i].path);
        struct rp_counters *set = NULL;

        err = (struct rp_err)RP_ERR_INIT;
        if (rp_counters_open(path, &set, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(set->dispatch_count, cases[i].dispatches);
        assert_int_equal(set->spoilt_times, cases[i].spoilt);
        assert_string_equal(set->any.arch, cases[i].arch);
        assert_true(value(set, 0, "SQ_WAVES") == cases[i].waves);
        assert_true(value(set, 0, "TCC_REQ") == cases[i].l2);
        rp_counters_free(set);
    }
}

static struct rp_counters *open_folder(const char *name)
{
    rp_autofree char *folder = rp_format("%s/counters/%s", getenv("RP_TEST_DATA"), name);
    struct rp_counters *set = NULL;

    err = (struct rp_err)RP_ERR_INIT;
    if (rp_counters_open(folder, &set, &err) != 0)
        fail_msg("%s", err.text);
    return set;
}

/* Files of real machines: ids of GPUs may be equal or not, the files beside tell them apart. */
static void test_other_gpu(void **state)
{
    static const struct {
        const char *a, *b;
        bool other;
    } rows[] = {
        {"vcopy_MI200", "vcopy_MI300X_A1_rocpd", true},   /* another architecture, id 2 in both */
        {"no_roof_MI300A_A1", "no_roof_MI300X_A1", true}, /* another product, ids differ */
        {"vcopy_MI100", "vcopy_MI350", true},
        {"vcopy_MI300X_A1_rocpd", "no_roof_MI300X_A1", false}, /* one says more than the other */
        {"vcopy_MI200", "kernel_names_MI200", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rp_counters *a = open_folder(rows[i].a), *b = open_folder(rows[i].b);
        int result = rp_counters_merge(a, b, &err);

        assert_int_equal(result, rows[i].other ? -RP_BAD_INPUT : 0);
        rp_counters_free(b);
        assert_non_null(strstr(a->any.source, "sysinfo.csv")); /* of a, or copied from b */
        if (rows[i].other && (!strstr(err.text, rows[i].a) || !strstr(err.text, rows[i].b) ||
                              !strstr(err.text, "one GPU at a time")))
            fail_msg("'%s' does not name both files and what to do", err.text);
        rp_counters_free(a);
    }
}

/* What only one file knows is taken with its source; agents of one id have to be one GPU. */
static void test_agents(void **state)
{
#define AGENT(cus, chip, name)                                                                     \
    "Node_Id,Agent_Type,Cu_Count,Device_Id,Name\n1,GPU," cus "," chip "," name "\n"
    struct rp_counters *whole = parse(AGENT("304", "29857", "gfx942"));
    struct rp_counters *part = parse(AGENT("38", "29857", "gfx942"));
    struct rp_counters *flags = parse(AGENT("304", "29857", "gfx942:sramecc+:xnack-"));
    struct rp_counters *chip = parse(AGENT("304", "29861", "gfx942"));
    struct rp_counters *run = parse("Dispatch_Id,Agent_Id,Kernel_Name,A\n1,Agent 1,k,5\n");

    (void)state;
    assert_int_equal(rp_counters_merge(run, whole, &err), 0);
    rp_counters_free(whole);
    assert_string_equal(run->devices[0].source, "t.csv");
    assert_int_equal(rp_counters_merge(run, flags, &err), 0);
    assert_int_equal(rp_counters_merge(run, part, &err), -RP_BAD_INPUT);
    assert_int_equal(rp_counters_merge(run, chip, &err), -RP_BAD_INPUT);
    rp_counters_free(run);
    rp_counters_free(part);
    rp_counters_free(flags);
    rp_counters_free(chip);
}

static void test_folders(void **state)
{
    struct rp_counters *set = NULL;
    rp_autofree char *folder = rp_format("%s/rocpd", getenv("RP_TEST_DATA"));

    (void)state;
    err = (struct rp_err)RP_ERR_INIT;
    assert_int_equal(rp_counters_open(folder, &set, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "holds neither pmc_perf.csv"));
    assert_int_equal(rp_counters_open("/nowhere/x.csv", &set, &err), -RP_BAD_INPUT);
    assert_non_null(strstr(err.text, "/nowhere/x.csv"));
    assert_true(rp_counters_can_open(folder) && rp_counters_can_open("x.CSV"));
    assert_false(rp_counters_can_open("x.db"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_impossible),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_disputes_without_partner),
        cmocka_unit_test(test_repeats_of_time),
        cmocka_unit_test(test_copies_of_traces),
        cmocka_unit_test(test_named_passes),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_one_name),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_other_gpu),
        cmocka_unit_test(test_agents),
        cmocka_unit_test(test_descriptor_names),
    };

    return cmocka_run_group_tests_name("counter files", tests, NULL, NULL);
}
