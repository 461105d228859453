/* Three things of Linux, each of which may be missing: namespaces (files of others are read-only,
 * there is no network, and all processes end with the first one), Landlock (no writes outside, no
 * TCP, no signals to others) and seccomp (no sockets, and none of the calls that would undo the
 * others, or that they do not see). They overlap on purpose, since containers refuse the first and
 * old kernels lack the second. */
#include "base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 126 }; /**< exit status of a sandbox that could not be made */

/* --- what headers of glibc 2.28 lack ---------------------------------------------------------- */

enum {
    CALL_MOUNT_SETATTR = 442,
    CALL_LANDLOCK_CREATE = 444,
    CALL_LANDLOCK_ADD = 445,
    CALL_LANDLOCK_RESTRICT = 446,
    CALL_RECURSIVE = 0x8000, /* AT_RECURSIVE */
    MOUNT_READ_ONLY = 1      /* MOUNT_ATTR_RDONLY */
};

struct mount_changes {
    uint64_t set, clear, propagation, user_namespace;
};

static int change_mount(const char *path, bool read_only)
{
    const struct mount_changes changes = {.set = read_only ? MOUNT_READ_ONLY : 0,
                                          .clear = read_only ? 0 : MOUNT_READ_ONLY};

    return (int)syscall(CALL_MOUNT_SETATTR, AT_FDCWD, path, CALL_RECURSIVE, &changes,
                        sizeof changes);
}

/* By linux/landlock.h: rights, as far as they change something, with the version that has them. */
enum {
    LL_WRITE_FILE = 1 << 1,
    LL_FIRST_CHANGE = 4, /* LANDLOCK_ACCESS_FS_REMOVE_DIR */
    LL_LAST_CHANGE = 12, /* LANDLOCK_ACCESS_FS_MAKE_SYM */
    LL_REFER = 1 << 13,
    LL_TRUNCATE = 1 << 14,
    LL_TCP = 3,
    LL_SCOPES = 3, /* abstract UNIX sockets and signals */
    LL_PATH_BENEATH = 1,
    LL_TRUNCATES = 3, /* the version that has LL_TRUNCATE */
};

struct landlock_rules {
    uint64_t files, network, scopes;
};

struct landlock_path {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

static struct landlock_rules rules_of(unsigned version)
{
    struct landlock_rules rules = {.files = LL_WRITE_FILE};

    for (unsigned i = LL_FIRST_CHANGE; i <= LL_LAST_CHANGE; i++)
        rules.files |= (uint64_t)1 << i;
    rules.files |= version >= 2 ? LL_REFER : 0;
    rules.files |= version >= LL_TRUNCATES ? LL_TRUNCATE : 0;
    rules.network = version >= 4 ? LL_TCP : 0;
    rules.scopes = version >= 6 ? LL_SCOPES : 0;
    return rules;
}

/** Older versions know a shorter structure. */
static size_t rules_bytes(unsigned version)
{
    return version >= 6   ? sizeof(struct landlock_rules)
           : version >= 4 ? offsetof(struct landlock_rules, scopes)
                          : offsetof(struct landlock_rules, network);
}

/* --- files ------------------------------------------------------------------------------------ */

/** Programs on a GPU or on the software device write to these. */
static const char *const devices[] = {"/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
                                      "/dev/urandom", "/dev/kfd",  "/dev/dri",  NULL};

static int landlock_allow(int rules_fd, const char *path, const struct landlock_rules *rules)
{
    struct landlock_path rule = {.allowed = rules->files,
                                 .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    struct stat st;
    int rc;

    if (rule.parent_fd < 0)
        return 0; /* What is not there cannot be written. */
    if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.allowed &= LL_WRITE_FILE | LL_TRUNCATE;
    rc = (int)syscall(CALL_LANDLOCK_ADD, rules_fd, LL_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
    return rc;
}

static int landlock_enter(const struct rp_sandbox *s)
{
    const struct landlock_rules rules = rules_of(s->means.landlock);
    const int fd = (int)syscall(CALL_LANDLOCK_CREATE, &rules, rules_bytes(s->means.landlock), 0);
    int rc = fd < 0 ? -1 : 0;

    for (size_t i = 0; rc == 0 && devices[i]; i++)
        rc = landlock_allow(fd, devices[i], &rules);
    for (size_t i = 0; rc == 0 && s->writable[i]; i++)
        rc = landlock_allow(fd, s->writable[i], &rules);
    /* The private /dev/shm of the namespace is not anybody's. */
    if (rc == 0 && s->means.namespaces)
        rc = landlock_allow(fd, "/dev/shm", &rules);
    if (rc == 0)
        rc = (int)syscall(CALL_LANDLOCK_RESTRICT, fd, 0);
    if (fd >= 0)
        close(fd);
    return rc;
}

/** All is read-only but for what may be written, which is mounted once more before. Processes of
 * this namespace have a /proc and a /dev/shm of their own. */
static int mounts_enter(const struct rp_sandbox *s)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return -1;
    for (size_t i = 0; s->writable[i]; i++)
        if (mount(s->writable[i], s->writable[i], NULL, MS_BIND | MS_REC, NULL) != 0)
            return -1;
    if (change_mount("/", true) != 0)
        return -1;
    for (size_t i = 0; s->writable[i]; i++)
        if (change_mount(s->writable[i], false) != 0)
            return -1;
    if (access("/dev/shm", F_OK) == 0 &&
        mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, NULL) != 0)
        return -1;
    /* A terminal that is open elsewhere could be written to though its file is read-only. */
    if (access("/dev/pts", F_OK) == 0 &&
        mount("pts", "/dev/pts", "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, NULL) != 0)
        return -1;
    return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}

/* --- calls ------------------------------------------------------------------------------------ */

/** A program on a device has no use for these: sockets, other processes, mounts, the kernel. */
static const int refused_calls[] = {
    SYS_socket,
    SYS_ptrace,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_settimeofday,
    SYS_acct,
    SYS_quotactl,
    SYS_open_by_handle_at,
    425 /* io_uring_setup, which makes sockets, too */,
    428 /* open_tree */,
    429 /* move_mount */,
    430 /* fsopen */,
    438 /* pidfd_getfd */,
    CALL_MOUNT_SETATTR,
};

/** These change files of others without writing to them. Read-only mounts refuse that, Landlock
 * does not (truncate: before its third version). A compiler's own output is not changed by them,
 * either: who takes it makes it executable. */
static const int changing_calls[] = {
    SYS_chmod,
    SYS_fchmodat,
    452 /* fchmodat2 */,
    SYS_chown,
    SYS_fchown,
    SYS_lchown,
    SYS_fchownat,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    463 /* setxattrat */,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    466 /* removexattrat */,
    469 /* file_setattr */,
    SYS_truncate,
};

/** These type into a terminal, or speak for its console. */
static const unsigned refused_controls[] = {TIOCSTI, 0x541C /* TIOCLINUX */};
/** These set a file's flags ("chattr"). */
static const unsigned changing_controls[] = {0x40086602 /* FS_IOC_SETFLAGS */,
                                             0x401C5820 /* FS_IOC_FSSETXATTR */};

#define COUNT(list) (sizeof(list) / sizeof *(list))
enum {
    MOST_STEPS = 16 + COUNT(refused_calls) + COUNT(changing_calls) + COUNT(refused_controls) +
                 COUNT(changing_controls)
};

struct filter {
    struct sock_filter steps[MOST_STEPS];
    unsigned short count;
};

static void add(struct filter *f, struct sock_filter step)
{
    f->steps[f->count++] = step;
}

/** Where jumps to the last steps go until their place is known: no jump is that long. */
enum { TO_REFUSAL = 255, TO_NOTHING = 254 };

static void refuse(struct filter *f, uint32_t number)
{
    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, TO_REFUSAL, 0));
}

static void refuse_controls(struct filter *f, bool changing)
{
    /* The kernel looks at the lower half of the word only. */
    const size_t at = offsetof(struct seccomp_data, args[1]);
    const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

    add(f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 1, 0));
    add(f, allow);
    add(f, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)at));
    for (size_t i = 0; i < COUNT(refused_controls); i++)
        refuse(f, refused_controls[i]);
    for (size_t i = 0; changing && i < COUNT(changing_controls); i++)
        refuse(f, changing_controls[i]);
    add(f, allow);
}

/** Where neither namespaces nor Landlock keep files and processes of others from that, the calls
 * are refused that would. Other calling conventions than x86-64's have other numbers, so they are
 * refused as a whole. */
static int seccomp_enter(const struct rp_sandbox_means *means)
{
    enum { X32 = 0x40000000 };
    const bool changing = !means->namespaces;
    struct filter f = {{
                           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, TO_REFUSAL, 0),
                       },
                       5};

    for (size_t i = 0; i < COUNT(refused_calls); i++)
        refuse(&f, (uint32_t)refused_calls[i]);
    for (size_t i = 0; changing && i < COUNT(changing_calls); i++)
        refuse(&f, (uint32_t)changing_calls[i]);
    if (!means->namespaces && !means->landlock) /* A tracer reads its own memory by that. */
        refuse(&f, SYS_process_vm_readv);
    if (changing) /* Drivers call it for files in memory: it says that it did so, and does not. */
        add(&f, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fchmod, TO_NOTHING, 0));
    refuse_controls(&f, changing);
    for (unsigned i = 0; i < f.count; i++) {
        if (f.steps[i].jt == TO_REFUSAL)
            f.steps[i].jt = (uint8_t)(f.count - i - 1);
        if (f.steps[i].jt == TO_NOTHING)
            f.steps[i].jt = (uint8_t)(f.count - i);
    }
    add(&f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES));
    add(&f, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO));
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                 &(struct sock_fprog){.len = f.count, .filter = f.steps}, 0, 0);
}

/* --- namespaces ------------------------------------------------------------------------------- */

enum {
    ALL_NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC,
    NO_NETWORK = CLONE_NEWUSER | CLONE_NEWNET
};

static int write_line(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const ssize_t length = (ssize_t)strlen(text);
    const bool written = fd >= 0 && write(fd, text, (size_t)length) == length;

    if (fd >= 0)
        close(fd);
    return written ? 0 : -1;
}

/** The user keeps his number, so that files are still his. */
static int leave_for(int namespaces)
{
    const unsigned user = geteuid(), group = getegid();
    char text[64];

    if (unshare(namespaces) != 0)
        return -1;
    write_line("/proc/self/setgroups", "deny"); /* Linux before 3.19 does not have it. */
    snprintf(text, sizeof text, "%u %u 1", user, user);
    if (write_line("/proc/self/uid_map", text) != 0)
        return -1;
    snprintf(text, sizeof text, "%u %u 1", group, group);
    return write_line("/proc/self/gid_map", text);
}

/** Says whether Linux is at least that version. */
static bool linux_has(unsigned major, unsigned minor)
{
    struct utsname name;
    unsigned a = 0, b = 0;

    return uname(&name) == 0 && sscanf(name.release, "%u.%u", &a, &b) == 2 &&
           (a > major || (a == major && b >= minor));
}

/** One that forks without end makes tens of thousands of processes before anybody looks. Since 6.14
 * each namespace has a largest number of its own (before, it would be that of the machine), and
 * since 5.14 a user has a limit in each, which does not hold for root. */
static void limit_tasks(void)
{
    enum { MOST = 1024 }; /* With threads, of which a linker may start one for each processor. */
    char text[16];

    snprintf(text, sizeof text, "%d", MOST);
    if (linux_has(6, 14))
        write_line("/proc/sys/kernel/pid_max", text);
    if (linux_has(5, 14))
        setrlimit(RLIMIT_NPROC, &(struct rlimit){MOST, MOST});
}

/** Ends as the program has ended. */
static void end_as(int status)
{
    if (WIFSIGNALED(status)) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(WTERMSIG(status), SIG_DFL);
        kill(getpid(), WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : FAILED);
}

static int wait_for(pid_t child)
{
    int status = FAILED << 8;
    pid_t ended;

    while ((ended = waitpid(-1, &status, 0)) != child)
        if (ended < 0 && errno != EINTR)
            break;
    return status;
}

/** The group of the program, for the handler, which has no other way to know it. */
static volatile pid_t program_group;

static void pass_signal_on(int signo)
{
    kill(-program_group, signo);
}

/** Waits outside of the namespace. Signals are for the program, which has time to end; when this
 * process is killed, the kernel kills all of the others. */
static void wait_outside(pid_t first, int status_fd)
{
    int status = FAILED << 8;
    const int ends[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    program_group = first;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        signal(ends[i], pass_signal_on);
    while (read(status_fd, &status, sizeof status) < 0 && errno == EINTR)
        ;
    while (waitpid(first, NULL, 0) < 0)
        if (errno != EINTR)
            _exit(FAILED);
    end_as(status);
}

/** The first process of the namespace: when it ends, all others of it do. */
static void wait_inside(pid_t program, int status_fd)
{
    const int status = wait_for(program);

    (void)!write(status_fd, &status, sizeof status);
    _exit(0);
}

/** Reports why there is no sandbox as a failing exec is reported: nothing of a program is to be
 * judged by that. */
static void give_up(int report_fd)
{
    const int why = -errno;

    (void)!write(report_fd, &why, sizeof why);
    _exit(FAILED);
}

/** Returns in the program's process. */
static void fork_inside(const struct rp_sandbox *s, int report_fd)
{
    int fds[2];
    pid_t child;

    if (pipe2(fds, O_CLOEXEC) != 0 || (child = fork()) < 0)
        give_up(report_fd);
    if (child) {
        close(report_fd);
        close(fds[1]);
        wait_outside(child, fds[0]);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid(); /* Sessions share the processors: one that forks without end has no more than others.
               */
    close(fds[0]);
    if (mounts_enter(s) != 0)
        give_up(report_fd);
    limit_tasks();
    child = fork();
    if (child < 0)
        give_up(report_fd);
    if (child) {
        close(report_fd);
        wait_inside(child, fds[1]);
    }
    close(fds[1]);
}

/** Root of the namespace would keep what root can do there. */
static void drop_capabilities(void)
{
    enum { MOST = 64 };

    for (unsigned i = 0; i < MOST; i++)
        prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
}

/** Changes that a mount has made are seen under the same names only after going there again. */
static void enter_folder_again(void)
{
    char folder[4096];

    if (getcwd(folder, sizeof folder))
        (void)!chdir(folder);
}

void rp_sandbox_enter(const struct rp_sandbox *s, int report_fd)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        give_up(report_fd);
    if (s->means.namespaces) {
        if (leave_for(ALL_NAMESPACES) != 0)
            give_up(report_fd);
        fork_inside(s, report_fd);
        enter_folder_again();
    } else if (s->means.network_namespace && leave_for(NO_NETWORK) != 0) {
        give_up(report_fd);
    }
    drop_capabilities();
    if ((s->means.landlock && landlock_enter(s) != 0) ||
        (s->means.seccomp && seccomp_enter(&s->means) != 0))
        give_up(report_fd);
}

/* --- what is there ---------------------------------------------------------------------------- */

/** Tries it in a child, where it does no harm. */
static bool works(const struct rp_sandbox_means *means)
{
    static const char *const nothing[] = {NULL};
    const struct rp_sandbox sandbox = {.means = *means, .writable = nothing};
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        rp_sandbox_enter(&sandbox, -1);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void rp_sandbox_probe(struct rp_sandbox_means *ret)
{
    const long landlock = syscall(CALL_LANDLOCK_CREATE, NULL, 0, 1);
    struct rp_sandbox_means means = {.namespaces =
                                         works(&(struct rp_sandbox_means){.namespaces = true}),
                                     .landlock = landlock > 0 ? (unsigned)landlock : 0};

    means.network_namespace =
        !means.namespaces && works(&(struct rp_sandbox_means){.network_namespace = true});
    if (means.landlock && !works(&(struct rp_sandbox_means){.landlock = means.landlock}))
        means.landlock = 0;
#ifdef __x86_64__
    means.seccomp = works(&(struct rp_sandbox_means){.seccomp = true});
#endif
    *ret = means;
}

const char *rp_sandbox_files_by(const struct rp_sandbox_means *means)
{
    return means->namespaces
               ? means->landlock ? "read-only mounts and Landlock" : "read-only mounts"
           : !means->landlock ? NULL
           : !means->seccomp  ? "Landlock, but for modes, owners and times"
           : means->landlock < LL_TRUNCATES
               ? "Landlock and seccomp, but files may be emptied (before Linux 6.2)"
               : "Landlock and seccomp";
}

const char *rp_sandbox_network_by(const struct rp_sandbox_means *means)
{
    const bool own = means->namespaces || means->network_namespace;

    return own ? means->seccomp ? "a network of its own and seccomp" : "a network of its own"
           : means->seccomp ? "seccomp"
                            : NULL;
}

const char *rp_sandbox_processes_by(const struct rp_sandbox_means *means)
{
    return means->namespaces ? "a process namespace" : NULL;
}
