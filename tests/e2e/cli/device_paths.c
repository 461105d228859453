/**
 * @file device_paths.c
 * @brief Asks for the device's files by every function of the C library that takes a path.
 *
 * usage: device_paths FOLDER_OF_THE_HOST (one in /sys that the host has, for its entries)
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#undef NDEBUG
#define DEVICE "/sys/devices/pci0000:01/0000:01:00.0"
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
    is_vendor(openat(AT_FDCWD, "/sys/bus/pci/devices/0000:01:00.0/vendor", O_RDONLY | O_CLOEXEC));
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
    int fd = open("/proc/self/exe", O_RDONLY);
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
    CHECK(strcmp(text, "../../../0000:01:00.0") == 0);
    CHECK(readlink("/sys/class/drm/card0/device", text, 5) == 5);
    CHECK(readlinkat(AT_FDCWD, "/sys/class/hwmon/hwmon64", text, sizeof text) > 0);
    CHECK(readlink(DEVICE "/vendor", text, sizeof text) < 0 && errno == EINVAL);
    CHECK(realpath("/sys/class/pci_bus/0000:01/../../0000:01:00.0", text) == text);
    CHECK(strcmp(text, DEVICE) == 0);
    char *made = realpath("/sys/class/drm/card0/device/drm/../vendor", NULL);
    CHECK(made && strcmp(made, DEVICE "/vendor") == 0);
    free(made);
    CHECK(!realpath("/sys/class/drm/card9", text) && errno == ENOENT);
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
    CHECK(has_entry("/sys/bus/pci/devices", "0000:01:00.0"));
    /* What the host has there stays. */
    snprintf(folder, sizeof folder, "%s", hosts);
    char *name = strrchr(folder, '/');
    *name++ = '\0';
    CHECK(has_entry(folder, name));

    CHECK(scandir("/sys/class/drm", &names, is_card, alphasort) == 1);
    CHECK(strcmp(names[0]->d_name, "card0") == 0);
    free(names[0]);
    free(names);

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
    reading();
    asking();
    descriptors();
    links();
    listing(argv[1]);
    puts("PASS");
    return 0;
}
