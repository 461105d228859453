#include "replay/selfcheck.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "replay/numbers.h"
#include "replay/request.h"
#include "replay/write_set.h"

/* A kernel that takes long is not run as often: what is known after that time has to do. */
enum { MOST_SECONDS = 60 };

/* Likewise on the software device, where it must not depend on the machine: work
 * (device_table.h). */
static const uint64_t MOST_WORK = (uint64_t)1 << 32;

/* --- one run ------------------------------------------------------------------------------- */

struct look {
    struct rp_replay *r;
    struct rp_replay_self_check *check;
    struct rp_replay_verdict verdict;
    uint64_t hash;
};

/* FNV-1a. */
static void hash_in(uint64_t *hash, const void *bytes, size_t count)
{
    const uint8_t *b = bytes;

    for (size_t i = 0; i < count; i++)
        *hash = (*hash ^ b[i]) * 0x100000001b3;
}

static int look_at_page(void *data, const struct rp_capture_memory *m, uint64_t page,
                        const uint8_t *contents, const uint8_t *expected, struct rp_err *err)
{
    static const enum rp_number_type types[RP_SELF_NUMBER_TYPES] = {RP_F32, RP_F64, RP_F16,
                                                                    RP_BF16};
    struct look *look = data;
    const uint64_t address = m->region.base + page * RP_PAGE_BYTES;
    uint8_t before[RP_PAGE_BYTES];
    int rc;

    if (memcmp(contents, expected, RP_PAGE_BYTES) == 0)
        return 0;
    rp_replay_note(&look->verdict, address, contents, expected, RP_PAGE_BYTES);
    hash_in(&look->hash, &address, sizeof address);
    hash_in(&look->hash, contents, RP_PAGE_BYTES);
    for (size_t i = 0; i < RP_SELF_NUMBER_TYPES; i++) {
        const struct rp_compare_rule rule = {.type = types[i], .rel = 1e-2, .ulp = 4};
        uint64_t bad[RP_PAGE_MASKS];

        rp_compare_words(&rule, contents, expected, RP_PAGE_BYTES, bad);
        for (size_t j = 0; j < RP_PAGE_MASKS; j++)
            look->check->far[i] = look->check->far[i] || bad[j];
    }
    rc = rp_capture_page(look->r->capture, m, RP_STATE_BEFORE, page, before, err);
    if (rc == 0 && memcmp(before, expected, RP_PAGE_BYTES) == 0)
        look->check->outside = true;
    return rc;
}

static int check_once(struct rp_replay *r, struct rp_replay_self_check *check, struct rp_err *err)
{
    struct look look = {.r = r, .check = check, .hash = 0xcbf29ce484222325};
    double us;
    int rc = rp_replay_fill(r, NULL, NULL, err);

    if (rc == 0)
        rc = rp_replay_run(r, &us, err);
    if (rc == 0)
        rc = rp_replay_look_at(r, look_at_page, &look, err);
    if (rc == 0)
        rc = rp_replay_compare_variables(r, &look.verdict, err);
    if (rc < 0)
        return rc;
    check->runs++;
    if (!look.verdict.different_bytes) {
        check->equal_runs++;
    } else if (!check->first.different_bytes) {
        check->first = look.verdict;
        check->hash = look.hash;
    } else if (look.hash != check->hash) {
        check->vary = true;
    }
    return 0;
}

/* --- the verdict --------------------------------------------------------------------------- */

/* Sums in another order are near each other, as numbers of some type; what an order of arrival
 * decides varies. The same memory each time, another one than the program had, means that something
 * is not in the capture. */
static void judge(struct rp_replay_self_check *check)
{
    bool near = false;

    for (size_t i = 0; i < RP_SELF_NUMBER_TYPES; i++)
        near = near || !check->far[i];
    if (check->equal_runs == check->runs) {
        check->label = RP_SELF_DETERMINISTIC;
        return;
    }
    check->label = !check->outside && (near || check->vary || check->equal_runs)
                       ? RP_SELF_ORDER_DEPENDENT
                       : RP_SELF_NOT_REPLAYABLE;
    snprintf(
        check->reason, sizeof check->reason, "%u of %u runs do not give the captured memory%s",
        check->runs - check->equal_runs, check->runs,
        check->outside ? ", and change what the captured dispatch did not"
        : near && !check->vary && !check->equal_runs
            ? ", but numbers near those, the same each time: sums in another order than in the "
              "program, or with a value that is not in the capture"
        : near        ? ", but numbers near those: sums in an order that varies, or a clock's value"
        : check->vary ? ", nor the same among themselves; what differs is not near "
                        "as numbers: perhaps a clock or an address, not a sum"
        : check->equal_runs ? ""
                            : ", but the same each time");
}

static bool has_taken_long(const struct rp_replay *r, time_t begin, uint64_t *work)
{
    uint64_t last;

    if (!r->software)
        return time(NULL) - begin >= MOST_SECONDS;
    rp_replay_was_stopped(&last);
    *work += last;
    return *work >= MOST_WORK;
}

void rp_self_check_run(struct rp_replay *r, const char *hsaco, const char *kernarg, unsigned runs,
                       struct rp_replay_self_check *ret)
{
    struct rp_err err = RP_ERR_INIT;
    const time_t begin = time(NULL);
    uint64_t work = 0;
    int rc = rp_replay_load_kernels(r, hsaco, NULL, kernarg, &err);

    for (unsigned i = 0; i < runs && rc == 0 && (i == 0 || !has_taken_long(r, begin, &work)); i++) {
        rp_replay_at(r, RP_REPLAY_AT_SELF, i, runs);
        rc = check_once(r, ret, &err);
    }
    if (rc == 0) {
        judge(ret);
        return;
    }
    ret->label = err.code == RP_ENVIRONMENT ? RP_SELF_UNKNOWN : RP_SELF_NOT_REPLAYABLE;
    snprintf(ret->reason, sizeof ret->reason, "%s", err.text);
}

void rp_self_check_print(const struct rp_replay_self_check *check, const struct rp_replay *r,
                         const char *rocm)
{
    static const char *const labels[] = {"unknown", "deterministic", "order-dependent",
                                         "not replayable"};
    const struct rp_replay_verdict *v = &check->first;

    printf("{\n  \"schema_version\": \"1.0\",\n  \"capture_complete\": %s,\n  \"label\": \"%s\",\n"
           "  \"reason\": ",
           rp_replay_is_complete(r) ? "true" : "false", labels[check->label]);
    if (check->reason[0])
        rp_replay_put_string(check->reason);
    else
        printf("null");
    printf(",\n  \"runs\": %u,\n  \"equal_runs\": %u,\n  \"first_difference\": ", check->runs,
           check->equal_runs);
    if (v->different_bytes)
        printf("{\"bytes\": %" PRIu64 ", \"pages\": %" PRIu64 ", \"address\": \"0x%" PRIx64
               "\", \"got\": %u, \"expected\": %u}",
               v->different_bytes, v->different_pages, v->first_address, v->got, v->expected);
    else
        printf("null");
    printf(",\n  \"gpu_agent\": ");
    rp_replay_put_string(r->gpu_name);
    printf(",\n  \"rocm_version\": ");
    rp_replay_put_string(rocm);
    printf("\n}\n");
}
