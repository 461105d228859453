#include "setup/download.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/path.h"
#include "base/process.h"

/* URL and FILE stand for what is fetched. A server that says nothing for a minute is given up. */
static const struct {
    const char *name, *path;
    const char *args[16];
} programs[] = {
    {"curl",
     "curl",
     {"-fsSL", "--no-include", "--retry", "2", "--connect-timeout", "20", "--speed-limit", "100",
      "--speed-time", "60", "-o", "FILE", "--", "URL"}},
    {"wget", "wget", {"-q", "-T", "60", "-O", "FILE", "--", "URL"}},
    {"python3",
     "python3",
     {"-c",
      "import shutil, sys, urllib.request\n"
      "try:\n"
      "    with urllib.request.urlopen(sys.argv[1], timeout=60) as come, open(sys.argv[2], 'wb') "
      "as to:\n"
      "        shutil.copyfileobj(come, to, 1 << 20)\n"
      "        if come.length: sys.exit('the connection ended early')\n"
      "except OSError as why:\n"
      "    sys.exit(str(why))\n",
      "URL", "FILE"}},
    {"apt-helper",
     "/usr/lib/apt/apt-helper",
     {"-oAPT::Sandbox::User=", "-oAcquire::Retries=2", "download-file", "URL", "FILE"}},
};

int rp_downloader_find(struct rp_downloader *ret, struct rp_err *err)
{
    struct rp_err ignored = RP_ERR_INIT;

    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        ret->name = programs[i].name;
        if (rp_find_program(programs[i].path, &ret->path, &ignored) == 0)
            return 0;
    }
    return rp_fail_with_remedy(
        err, RP_ENVIRONMENT,
        "nothing here can fetch files over HTTP; install curl, wget or python3");
}

void rp_downloader_free(struct rp_downloader *downloader)
{
    free(downloader->path);
    downloader->path = NULL;
}

static const char *const *args_of(const char *name)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i].name, name) == 0)
            return programs[i].args;
    return NULL;
}

/** Finds the last line of what the program said that is not empty, and says more than that it
 * failed, as apt's last one does. */
static char *last_line(int fd)
{
    char text[4096];
    const off_t all = lseek(fd, 0, SEEK_END);
    const off_t begin = all > (off_t)sizeof text - 1 ? all - (off_t)sizeof text + 1 : 0;
    const ssize_t bytes = pread(fd, text, sizeof text - 1, begin);
    char *last = text;

    text[bytes > 0 ? bytes : 0] = '\0';
    for (char *save, *line = strtok_r(text, "\r\n", &save); line;
         line = strtok_r(NULL, "\r\n", &save))
        if (strcmp(line, "E: Download Failed") != 0)
            last = line;
    return rp_strdup(last);
}

char *rp_url_shown(const char *url)
{
    const char *scheme = strstr(url, "://");
    const char *host = scheme ? scheme + 3 : url, *at = host;

    for (const char *next = host; next < host + strcspn(host, "/?#"); next++)
        if (*next == '@')
            at = next + 1;
    return rp_format("%.*s%s", (int)(host - url), url, at);
}

static bool is_longer(const char *path, uint64_t most_bytes)
{
    struct stat st;

    return stat(path, &st) == 0 && (uint64_t)st.st_size > most_bytes;
}

int rp_download(const struct rp_downloader *with, const char *url, const char *path,
                uint64_t most_bytes, struct rp_err *err)
{
    /* What the program says is in a file, too. */
    const struct rp_proc_limits limits = {.file_bytes = most_bytes + (64 << 10)};
    rp_autofree char *shown = rp_url_shown(url);
    const char *const *args = args_of(with->name);
    rp_autoclose const int said = rp_memfd("said", MFD_CLOEXEC);
    rp_autoclose const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    const struct rp_env_change changes[] = {{"LC_ALL", "C", NULL}, {NULL, NULL, NULL}};
    const char *argv[18] = {with->path};
    struct rp_proc proc = {.path = with->path,
                           .env = changes,
                           .limits = &limits,
                           .stdin_fd = nowhere,
                           .stdout_fd = said,
                           .stderr_fd = said};
    struct rp_proc_end end = {0};
    rp_autofree char *why = NULL;

    for (size_t i = 0; args[i]; i++)
        argv[i + 1] = strcmp(args[i], "URL") == 0    ? url
                      : strcmp(args[i], "FILE") == 0 ? path
                                                     : args[i];
    proc.argv = (char *const *)argv;
    unlink(path);
    if (rp_proc_run(&proc, &end, err) < 0)
        return err->code == RP_INTERRUPTED ? -RP_INTERRUPTED : -(int)(err->code = RP_ENVIRONMENT);
    if (!end.signaled && end.status == 0 && access(path, R_OK) == 0)
        return 0;
    if (is_longer(path, most_bytes)) {
        unlink(path);
        return rp_fail(err, RP_BAD_INPUT,
                       "%s is longer than the %" PRIu64 " bytes that it should have: it is "
                       "refused; choose another mirror",
                       shown, most_bytes);
    }
    why = last_line(said);
    unlink(path);
    return rp_fail(err, RP_ENVIRONMENT, "cannot fetch %s: %s", shown,
                   why && *why ? why : "the program that fetches failed and said nothing");
}
