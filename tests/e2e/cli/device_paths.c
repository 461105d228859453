/**
 * @file device_paths.c
 * @brief Asks for the device's files by every function of the C library that takes a path.
 *
 * usage: device_paths FOLDER_OF_THE_HOST (one in /sys/class that the host has, for its entries)
 * Compiled a second time with _FILE_OFFSET_BITS=64, which gives most of these other names.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#undef NDEBUG
#define DEVICE "/sys/devices/pci7f00:01/7f00:01:00.0"
#define CHECK(is)                                                                                  \
    do {                                                                                           \
        if (!(is)) {                                                                               \
            printf("line %d: %s (%s)\n", __LINE__, #is, strerror(errno));                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void is_vendor(int fd)
{
    char text[16] = "";
    CHECK(fd >= 0);
    CHECK(read(fd, text, sizeof text - 1) == 7);
    CHECK(strcmp(text, "0x1002\n") == 0);
    close(fd);
}

static void reading(void)
{
    char line[16];
    FILE *file = fopen("/sys/class/drm/card0/device/vendor", "re");
    CHECK(file && fgets(line, sizeof line, file) && strcmp(line, "0x1002\n") == 0);
    fclose(file);
    is_vendor(open("/sys/class/drm/renderD128/device/vendor", O_RDONLY));
    is_vendor(openat(AT_FDCWD, "/sys/bus/pci/devices/7f00:01:00.0/vendor", O_RDONLY | O_CLOEXEC));
    is_vendor(open("/sys/dev/char/226:128/device/subsystem_vendor", O_RDONLY));
    CHECK(open(DEVICE "/vendor", O_WRONLY) < 0 && errno == EACCES);
    CHECK(open(DEVICE "/vbios_version", O_RDONLY) < 0 && errno == ENOENT);
    CHECK(open("/sys/class/drm/card0", O_RDONLY | O_NOFOLLOW) < 0 && errno == ELOOP);
}

static void asking(void)
{
    struct stat st;
    struct statx stx;
    CHECK(stat("/sys/class/drm/card0", &st) == 0 && S_ISDIR(st.st_mode));
    CHECK(lstat("/sys/class/drm/card0", &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(fstatat(AT_FDCWD, "/sys/class/drm/card0", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISLNK(st.st_mode));
    CHECK(statx(AT_FDCWD, DEVICE "/vendor", 0, STATX_BASIC_STATS, &stx) == 0 &&
          S_ISREG(stx.stx_mode));
    CHECK(stat("/dev/dri/card0", &st) == 0 && S_ISCHR(st.st_mode) && minor(st.st_rdev) == 0);
    CHECK(stat("/dev/dri/renderD128", &st) == 0 && minor(st.st_rdev) == 128);
    CHECK(access(DEVICE "/unique_id", R_OK) == 0);
    CHECK(access(DEVICE "/unique_id", W_OK) < 0 && errno == EACCES);
    CHECK(access("/sys/class/drm/card7", F_OK) < 0 && errno == ENOENT);
    CHECK(getxattr(DEVICE, "security.selinux", NULL, 0) < 0 && errno == ENODATA);
}

/* libdrm looks at the descriptor: whether it is a device, and what the driver is called. */
static void descriptors(void)
{
    static const struct {
        const char *path;
        unsigned number;
    } files[] = {{"/dev/dri/renderD128", 128}, {"/dev/dri/card0", 0}};
    for (int i = 0; i < 2; i++) {
        struct stat st;
        struct statx stx;
        char name[8] = "";
        struct {
            int major, minor, patch;
            size_t name_bytes;
            char *name;
            size_t date_bytes;
            char *date;
            size_t description_bytes;
            char *description;
        } version = {.name = name, .name_bytes = sizeof name};
        int fd = open(files[i].path, O_RDWR | O_CLOEXEC);
        CHECK(fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode));
        CHECK(major(st.st_rdev) == 226 && minor(st.st_rdev) == files[i].number);
        CHECK(fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && minor(st.st_rdev) == files[i].number);
        CHECK(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 &&
              stx.stx_rdev_minor == files[i].number);
        CHECK(ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'd', 0, sizeof version), &version) == 0);
        CHECK(version.major == 3 && strcmp(name, "amdgpu") == 0 && version.name_bytes == 6);
        CHECK(ioctl(fd, _IOWR('d', 0x7f, int), &version) < 0 && errno == EINVAL);
        close(fd);
    }
    const char *volatile none = NULL; /* as Linux allows since 6.11 */
    int fd = open("/dev/kfd", O_RDWR);
    struct statx stx;
    CHECK(fd >= 0 && statx(fd, none, AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 &&
          S_ISCHR(stx.stx_mode));
    struct {
        uint64_t out;
        uint32_t bytes, query, more[4];
    } info = {.query = 0}; /* whether the GPU works */
    uint32_t works = 0;
    const unsigned long ask = _IOC(_IOC_WRITE, 'd', 0x45, sizeof info);
    close(fd);
    fd = open("/dev/dri/renderD128", O_RDWR);
    info.bytes = sizeof works;
    CHECK(ioctl(fd, ask, &info) < 0 && errno == EINVAL);
    info.out = (uintptr_t)&works;
    info.bytes = 0;
    CHECK(ioctl(fd, ask, &info) < 0 && errno == EINVAL && works == 0);
    info.bytes = sizeof works;
    CHECK(ioctl(fd, ask, &info) == 0 && works == 1);
    close(fd);
    fd = open("/proc/self/exe", O_RDONLY);
    struct stat st;
    CHECK(fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0);
    close(fd);
    char line[64];
    FILE *names = fopen("/usr/share/libdrm/amdgpu.ids", "re");
    CHECK(names && fgets(line, sizeof line, names) && fgets(line, sizeof line, names));
    CHECK(strcmp(line, "74A1,\t00,\tAMD Instinct MI300X\n") == 0);
    fclose(names);
}

static void links(void)
{
    char text[PATH_MAX];
    ssize_t bytes = readlink("/sys/class/drm/card0/device", text, sizeof text);
    CHECK(bytes > 0);
    text[bytes] = '\0';
    CHECK(strcmp(text, "../../../7f00:01:00.0") == 0);
    CHECK(readlink("/sys/class/drm/card0/device", text, 5) == 5);
    CHECK(readlinkat(AT_FDCWD, "/sys/class/hwmon/hwmon64", text, sizeof text) > 0);
    CHECK(readlink(DEVICE "/vendor", text, sizeof text) < 0 && errno == EINVAL);
    CHECK(realpath("/sys/class/pci_bus/7f00:01/../../7f00:01:00.0", text) == text);
    CHECK(strcmp(text, DEVICE) == 0);
    char *made = realpath("/sys/class/drm/card0/device/drm/../vendor", NULL);
    CHECK(made && strcmp(made, DEVICE "/vendor") == 0);
    free(made);
    CHECK(!realpath("/sys/class/drm/card9", text) && errno == ENOENT);
}

/* Up and over, past the folders of both. */
static void upwards(const char *hosts)
{
    char path[PATH_MAX], text[PATH_MAX];
    struct stat st;
    CHECK(realpath("/sys/class/../..", text) && strcmp(text, "/") == 0);
    CHECK(realpath("/sys/class/drm/../../..", text) && strcmp(text, "/") == 0);
    CHECK(stat("/sys/class/drm/..", &st) == 0 && S_ISDIR(st.st_mode));
    snprintf(path, sizeof path, "%s/../drm/card0", hosts);
    CHECK(realpath(path, text) && strcmp(text, DEVICE "/drm/card0") == 0);
    snprintf(path, sizeof path, "/sys/class/drm/..%s", strrchr(hosts, '/'));
    CHECK(realpath(path, text) && strcmp(text, hosts) == 0);
    int fd = open(path, O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0);
    close(fd);
    CHECK(stat("/sys/class/nothing/../drm", &st) < 0 && errno == ENOENT);
}

static bool has_entry(const char *path, const char *name)
{
    bool has = false;
    DIR *dir = opendir(path);
    CHECK(dir);
    for (unsigned turn = 0; turn < 2; turn++) { /* once more after rewinding */
        unsigned seen = 0;
        for (struct dirent *entry; (entry = readdir(dir));)
            seen += strcmp(entry->d_name, name) == 0;
        CHECK(seen <= 1);
        has = seen == 1;
        rewinddir(dir);
    }
    CHECK(closedir(dir) == 0);
    return has;
}

/* Descriptors of folders, as AMD SMI, `find` and C++'s std::filesystem use them. */
static void folders(const char *hosts)
{
    const char *name = strrchr(hosts, '/') + 1;
    char text[PATH_MAX];
    struct stat st;
    struct statx stx;
    int fd = open("/sys/class/drm", O_RDONLY | O_DIRECTORY | O_CLOEXEC), copy = dup(fd);
    CHECK(fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode));
    ino_t number = st.st_ino;
    CHECK(stat("/sys/class/drm", &st) == 0 && st.st_ino == number);
    CHECK(stat("/sys/class/kfd", &st) == 0 && st.st_ino != number);
    CHECK(statx(copy, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 && S_ISDIR(stx.stx_mode));
    CHECK(fstatat(copy, "card0", &st, 0) == 0 && S_ISDIR(st.st_mode));
    CHECK(fstatat(fd, "card0", &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode));
    CHECK(fstatat(fd, "card9", &st, 0) < 0 && errno == ENOENT);
    CHECK(statx(fd, "version", 0, STATX_BASIC_STATS, &stx) == 0 && S_ISREG(stx.stx_mode));
    CHECK(faccessat(fd, "card0/device/vendor", R_OK, 0) == 0);
    CHECK(readlinkat(fd, "card0", text, sizeof text) > 0);
    is_vendor(openat(copy, "card0/device/vendor", O_RDONLY));
    CHECK(openat(fd, "version", O_RDONLY | O_DIRECTORY) < 0 && errno == ENOTDIR);
    CHECK(openat(AT_FDCWD, "/sys/class/drm", O_RDWR) < 0 && errno == EISDIR);
    /* From there to the host's, and from the host's to there. */
    snprintf(text, sizeof text, "../%s", name);
    CHECK(fstatat(fd, text, &st, 0) == 0 && S_ISDIR(st.st_mode));
    close(fd);
    close(copy);
    fd = open("/sys/class", O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0 && fstatat(fd, name, &st, 0) == 0 && fstatat(fd, "drm/card0", &st, 0) == 0);
    CHECK(faccessat(fd, "nothing", F_OK, 0) < 0 && errno == ENOENT);
    close(fd);
    fd = open("/sys", O_RDONLY | O_DIRECTORY);
    is_vendor(openat(fd, "class/drm/card0/device/vendor", O_RDONLY));
    close(fd);
    DIR *dir = opendir("/sys/class/kfd/kfd/topology/nodes/1/mem_banks");
    CHECK(dir && fstatat(dirfd(dir), "0", &st, 0) == 0 && S_ISDIR(st.st_mode));
    closedir(dir);
}

/* From any folder above, also where the way back down begins with "..". */
static void folders_above(void)
{
    static const char *const above[] = {"/", "//.", "/usr/..", "/sys/class/drm/../../.."};
    static const char file[] = "sys/class/kfd/kfd/topology/nodes/1/gpu_id";
    char path[PATH_MAX];
    struct stat st;
    for (size_t i = 0; i < sizeof above / sizeof *above; i++) {
        int fd = open(above[i], O_RDONLY | O_DIRECTORY);
        CHECK(fd >= 0 && fstatat(fd, file, &st, 0) == 0 && S_ISREG(st.st_mode));
        CHECK(fstatat(fd, "sys/class/kfd/nothing", &st, 0) < 0 && errno == ENOENT);
        CHECK(fstatat(fd, "proc/self/exe", &st, 0) == 0);
        close(fd);
        snprintf(path, sizeof path, "%s/%s", above[i], file);
        CHECK(stat(path, &st) == 0 && access(path, R_OK) == 0);
    }
    int fd = open("/usr", O_RDONLY | O_DIRECTORY);
    is_vendor(openat(fd, "../sys/class/drm/card0/device/vendor", O_RDONLY));
    is_vendor(openat(fd, "./..//sys/./class/drm/card0/device/vendor", O_RDONLY));
    CHECK(fstatat(fd, "../sys/../proc/self/exe", &st, 0) == 0 && S_ISREG(st.st_mode));
    close(fd);
    CHECK(stat("/usr/sys/class/kfd", &st) < 0 && stat("/system/class/kfd", &st) < 0);
}

/* As cp does: what is opened must be what was looked at. */
static void numbers(void)
{
    static const char *const paths[] = {DEVICE "/vendor",
                                        "/sys/class/kfd/kfd/topology/nodes",
                                        "/sys/class/kfd/kfd/topology/generation_id",
                                        "/dev/dri/renderD128",
                                        "/dev/dri/card0",
                                        "/dev/kfd"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct stat st, of_fd;
        struct statx stx;
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC), copy = dup(fd);
        CHECK(fd >= 0 && copy >= 0 && stat(paths[i], &st) == 0);
        CHECK(fstat(fd, &of_fd) == 0 && of_fd.st_ino == st.st_ino && of_fd.st_dev == st.st_dev);
        CHECK(of_fd.st_mode == st.st_mode && of_fd.st_size == st.st_size);
        CHECK(fstatat(copy, "", &of_fd, AT_EMPTY_PATH) == 0 && of_fd.st_ino == st.st_ino);
        CHECK(statx(copy, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0);
        CHECK(stx.stx_ino == st.st_ino && stx.stx_size == (uint64_t)st.st_size);
        CHECK(S_ISDIR(st.st_mode) || (openat(fd, "x", O_RDONLY) < 0 && errno == ENOTDIR));
        close(fd);
        close(copy);
    }
}

/* vm.memfd_noexec of Linux. Setting it takes rights that tests need not have. */
static unsigned memfd_noexec;

int memfd_create(const char *name, unsigned flags);

int memfd_create(const char *name, unsigned flags)
{
    const unsigned no_exec_seal = 8, exec = 16;
    if (memfd_noexec == 2 && !(flags & no_exec_seal)) {
        errno = EACCES; /* as before Linux 6.6 */
        return -1;
    }
    if (memfd_noexec && !(flags & exec))
        flags |= no_exec_seal;
    return (int)syscall(SYS_memfd_create, name, flags);
}

static unsigned listed(DIR *dir, const char *name);

static void files_that_cannot_be_executed(void)
{
    int fd = (int)syscall(SYS_memfd_create, "probe", 8);
    if (fd < 0)
        return; /* Linux before 6.3 has no such setting */
    close(fd);
    for (memfd_noexec = 1; memfd_noexec <= 2; memfd_noexec++) {
        struct stat st;
        is_vendor(open(DEVICE "/vendor", O_RDONLY));
        fd = open("/sys/class/kfd/kfd/topology/nodes", O_RDONLY | O_DIRECTORY);
        CHECK(fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode));
        CHECK(fstatat(fd, "1/gpu_id", &st, 0) == 0);
        DIR *dir = fdopendir(fd);
        CHECK(dir && listed(dir, "1") == 1 && closedir(dir) == 0);
        dir = opendir("/sys/class/kfd/kfd/topology/nodes");
        CHECK(dir && dirfd(dir) >= 0 && listed(dir, "1") == 1 && closedir(dir) == 0);
    }
    memfd_noexec = 0;
}

/* A folder of ours is listed also where the process has as many descriptors as it may have. */
static void without_descriptors(void)
{
    struct rlimit before, none;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 0;
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    DIR *dir = opendir("/sys/class/kfd/kfd/topology/nodes");
    CHECK(dir && listed(dir, "1") == 1);
    CHECK(dirfd(dir) < 0 && errno == EMFILE);
    CHECK(!opendir("/sys/class") && errno == EMFILE); /* the host's entries would be missing */
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    int fd = dirfd(dir);
    CHECK(fd >= 0 && dirfd(dir) == fd);
    CHECK(closedir(dir) == 0 && fcntl(fd, F_GETFD) < 0);
}

static unsigned listed(DIR *dir, const char *name)
{
    unsigned seen = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        seen += strcmp(entry->d_name, name) == 0;
    return seen;
}

static void folders_of_descriptors(const char *hosts)
{
    DIR *dir = fdopendir(open("/sys/class/drm", O_RDONLY | O_DIRECTORY));
    CHECK(dir && listed(dir, "card0") == 1);
    CHECK(closedir(dir) == 0);
    int fd = open("/sys/class", O_RDONLY | O_DIRECTORY);
    dir = fdopendir(fd);
    CHECK(dir && dirfd(dir) == fd && listed(dir, "drm") == 1);
    rewinddir(dir);
    CHECK(listed(dir, strrchr(hosts, '/') + 1) == 1);
    CHECK(closedir(dir) == 0 && fcntl(fd, F_GETFD) < 0);
    fd = open("/proc/self/exe", O_RDONLY);
    CHECK(!fdopendir(fd) && errno == ENOTDIR);
    close(fd);
}

/* Going back to every entry in turn; some are the host's. */
static void positions(const char *path)
{
    enum { MOST = 256 };
    static char names[MOST][NAME_MAX + 1];
    long at[MOST + 1];
    unsigned count = 0;
    struct dirent *entry, copy;
    DIR *dir = opendir(path);
    CHECK(dir);
    for (; at[count] = telldir(dir), (entry = readdir(dir)); count++) {
        CHECK(count < MOST);
        strcpy(names[count], entry->d_name);
    }
    CHECK(count > 2);
    seekdir(dir, at[count]);
    CHECK(!readdir(dir));
    for (unsigned i = count; i-- > 0;) {
        seekdir(dir, at[i]);
        CHECK((entry = readdir(dir)) && strcmp(entry->d_name, names[i]) == 0);
    }
    seekdir(dir, at[0]);
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* old programs call it */
    for (unsigned i = 0; i <= count; i++) {
        CHECK(readdir_r(dir, &copy, &entry) == 0);
        CHECK(i < count ? entry == &copy && strcmp(copy.d_name, names[i]) == 0 : !entry);
    }
    closedir(dir);
}

static int is_card(const struct dirent *entry)
{
    return strncmp(entry->d_name, "card", 4) == 0;
}

static void listing(const char *hosts)
{
    struct dirent **names;
    glob_t found;
    char folder[PATH_MAX];
    CHECK(has_entry("/sys/class/drm", "card0") && has_entry("/sys/class/drm", "version"));
    CHECK(has_entry("/sys/class", "drm") && has_entry("/dev/dri", "renderD128"));
    CHECK(has_entry(DEVICE, "mem_info_vram_total"));
    CHECK(has_entry("/sys/bus/pci/devices", "7f00:01:00.0"));
    /* What the host has there stays. */
    snprintf(folder, sizeof folder, "%s", hosts);
    char *name = strrchr(folder, '/');
    *name++ = '\0';
    CHECK(has_entry(folder, name));

    CHECK(scandir("/sys/class/drm", &names, is_card, alphasort) == 1);
    CHECK(strcmp(names[0]->d_name, "card0") == 0);
    free(names[0]);
    free(names);
    int class = open("/sys/class", O_RDONLY | O_DIRECTORY);
    CHECK(scandirat(class, "drm", &names, is_card, alphasort) == 1);
    CHECK(strcmp(names[0]->d_name, "card0") == 0);
    free(names[0]);
    free(names);
    CHECK(scandirat(class, "nothing", &names, is_card, alphasort) < 0 && errno == ENOENT);
    close(class);

    CHECK(glob("/sys/class/drm/*/device/ven*", 0, NULL, &found) == 0 && found.gl_pathc == 2);
    CHECK(strcmp(found.gl_pathv[0], "/sys/class/drm/card0/device/vendor") == 0);
    globfree(&found);
    CHECK(glob("/sys/class/drm/card0/device/hwmon/hwmon[0-9]*/temp*", 0, NULL, &found) ==
          GLOB_NOMATCH);
    globfree(&found);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    alarm(60); /* some of these once waited for ever */
    reading();
    asking();
    descriptors();
    links();
    upwards(argv[1]);
    folders(argv[1]);
    folders_above();
    numbers();
    files_that_cannot_be_executed();
    without_descriptors();
    folders_of_descriptors(argv[1]);
    positions("/sys/class/drm");
    positions("/sys/class");
    listing(argv[1]);
    puts("PASS");
    return 0;
}
