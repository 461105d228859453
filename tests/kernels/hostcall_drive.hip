#include "drive.h"
#include "hostcall.hip"

#include <unistd.h>

// Runs this program again with an argument; returns its output and wait status.
static std::string again(const char *argument, int *ret_status)
{
    std::string command = std::string("exec /proc/$PPID/exe ") + argument + " 2>/dev/null", text;
    FILE *pipe = popen(command.c_str(), "r");
    char piece[4096];
    size_t got;
    while ((got = fread(piece, 1, sizeof piece, pipe)) > 0)
        text.append(piece, got);
    *ret_status = pclose(pipe);
    return text;
}

static void print()
{
    array<int> x(make<int>(70, [](size_t i) { return (int)i * 1001 - 35000; }));
    LAUNCH(pr, 1, 70, 0, x);
}

static int trap()
{
    array<int> x(make<int>(64, [](size_t i) { return (int)i; }));
    asrt<<<1, 64>>>(x, 63); // the last lane only
    return hipDeviceSynchronize() == hipErrorLaunchFailure ? 42 : 1;
}

static void test_pr()
{
    subject s("pr");
    int status;
    std::string text = again("print", &status);
    s.that(status == 0, "the status is 0x%x", status);
    // A wave's lines come in the order of its lanes; which of the two waves comes first is open.
    size_t first = text.find("v -35000 ");
    s.that(first != std::string::npos, "printed '%s'", text.c_str());
    std::string got = first == std::string::npos ? text : text.substr(first) + text.substr(0, first);
    std::string want;
    for (int i = 0; i < 70; i++) {
        char line[64];
        snprintf(line, sizeof line, "v %d %f %s\n", i * 1001 - 35000, 1.5, "a");
        want += line;
    }
    s.that(got == want, "printed %zu bytes:\n%s", got.size(), got.c_str());
}

static void test_devmalloc()
{
    subject s("devmalloc");
    array<int *> o(std::vector<int *>(128, NULL));
    LAUNCH(devmalloc, 1, 64, 0, o, 48);
    auto first = o.host();
    std::vector<char *> blocks;
    for (int i = 0; i < 64; i++) {
        s.that(first[i] != NULL && (uintptr_t)first[i] % 16 == 0, "block %d is at %p", i, first[i]);
        blocks.push_back((char *)first[i]);
    }
    std::sort(blocks.begin(), blocks.end());
    for (int i = 1; i < 64; i++)
        s.that(blocks[i] - blocks[i - 1] >= 48, "blocks overlap at %p", blocks[i]);
    // The next launch frees these while it makes others.
    std::vector<int *> both(128, NULL);
    std::copy(first.begin(), first.begin() + 64, both.begin() + 64);
    o.set(both);
    LAUNCH(devmalloc, 1, 64, 0, o, 48);
    auto second = o.host();
    for (int i = 0; i < 64; i++)
        for (int k = 0; k < 64; k++)
            s.that(second[i] != first[k], "block %d was given before it was free", i);
}

static void test_asrt()
{
    subject s("asrt");
    array<int> x(make<int>(64, [](size_t i) { return (int)i; }));
    LAUNCH(asrt, 1, 64, 0, x, 64);
    int status;
    std::string got = again("trap", &status);
    s.that(WIFEXITED(status) && WEXITSTATUS(status) == 42, "the trap's status is 0x%x", status);
    // HIP says on standard output which kernel it was, too.
    s.that(("\n" + got).find("\nbad\n") != std::string::npos, "printed '%s'", got.c_str());
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "trap")) {
        int status = trap();
        fflush(NULL);
        _exit(status);
    }
    if (argc > 1) {
        print();
        return 0;
    }
    test_pr();
    test_devmalloc();
    test_asrt();
    return drive_end();
}
