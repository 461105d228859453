// A signal that is destroyed while somebody waits for it for ever: the wait ends, as it does in the
// runtime, and does not fall asleep on a handle that is nobody's.
#include "check.h"

#include <atomic>
#include <hsa/hsa.h>
#include <thread>
#include <unistd.h>

#define HSA(call) CHECK((call) == HSA_STATUS_SUCCESS)

typedef hsa_signal_value_t (*Wait)(hsa_signal_t, hsa_signal_condition_t, hsa_signal_value_t,
                                   uint64_t, hsa_wait_state_t);

static void destroy_during(Wait wait, useconds_t delay_us)
{
    hsa_signal_t signal;
    std::atomic<bool> begun{false}, ended{false};
    hsa_signal_value_t value = 77;
    HSA(hsa_signal_create(1, 0, nullptr, &signal));
    std::thread other([&] {
        begun = true;
        value = wait(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
        ended = true;
    });
    while (!begun)
        std::this_thread::yield();
    usleep(delay_us);
    CHECK(!ended);
    HSA(hsa_signal_destroy(signal));
    for (int i = 0; i < 10000 && !ended; i++)
        usleep(1000);
    CHECK(ended);
    other.join();
    CHECK(value == 0);
}

// Other signals are none of its business.
static void stored_while_others_go(Wait wait)
{
    hsa_signal_t signal, other;
    HSA(hsa_signal_create(1, 0, nullptr, &signal));
    HSA(hsa_signal_create(1, 0, nullptr, &other));
    std::thread storer([&] {
        usleep(20000);
        HSA(hsa_signal_destroy(other));
        usleep(20000);
        hsa_signal_store_screlease(signal, -5);
    });
    CHECK(wait(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) == -5);
    storer.join();
    CHECK(wait(signal, HSA_SIGNAL_CONDITION_EQ, 3, 1000000, HSA_WAIT_STATE_BLOCKED) == -5);
    HSA(hsa_signal_destroy(signal));
}

int main()
{
    HSA(hsa_init());
    for (Wait wait : {hsa_signal_wait_scacquire, hsa_signal_wait_relaxed}) {
        destroy_during(wait, 50000);
        destroy_during(wait, 3000);
        stored_while_others_go(wait);
    }
    HSA(hsa_shut_down());
    puts("ok");
}
