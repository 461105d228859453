#include "setup/debian_archive.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/path.h"
#include "base/process.h"
#include "base/sha256.h"
#include "setup/deb.h"
#include "setup/download.h"
#include "setup/openpgp.h"

enum {
    MOST_RELEASE_BYTES = 16 << 20,
    MOST_INDEX_BYTES = 1 << 30,
    FETCHERS = 4,
    FIELD_BYTES = 1 << 16,
    MOST_RESTARTS = 200,
};

#define DEBIAN_KEYRING "/usr/share/keyrings/debian-archive-keyring.gpg"
#define INDEX          "main/binary-amd64/Packages.xz"

/* --- versions ------------------------------------------------------------------------------ */

/** "~" sorts before the end, letters before what else there is. */
static int rank(char c)
{
    return c == '~'                          ? -1
           : isdigit((unsigned char)c) || !c ? 0
           : isalpha((unsigned char)c)       ? c
                                             : c + 256;
}

/** Compares upstream versions or revisions: by turns what is no number, and numbers. */
static int compare_part(const char *a, const char *a_end, const char *b, const char *b_end)
{
    while (a < a_end || b < b_end) {
        int first = 0;

        while ((a < a_end && !isdigit((unsigned char)*a)) ||
               (b < b_end && !isdigit((unsigned char)*b))) {
            const int difference = rank(a < a_end ? *a : '\0') - rank(b < b_end ? *b : '\0');

            if (difference)
                return difference;
            a += a < a_end;
            b += b < b_end;
        }
        while (a < a_end && *a == '0')
            a++;
        while (b < b_end && *b == '0')
            b++;
        while (a < a_end && b < b_end && isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            first = first ? first : *a - *b;
            a++;
            b++;
        }
        if (a < a_end && isdigit((unsigned char)*a))
            return 1;
        if (b < b_end && isdigit((unsigned char)*b))
            return -1;
        if (first)
            return first;
    }
    return 0;
}

int rp_debian_version_compare(const char *a, const char *b)
{
    const char *a_colon = strchr(a, ':'), *b_colon = strchr(b, ':');
    const long a_epoch = a_colon ? strtol(a, NULL, 10) : 0,
               b_epoch = b_colon ? strtol(b, NULL, 10) : 0;
    const char *a_dash, *b_dash, *a_end, *b_end;
    int upstream;

    if (a_epoch != b_epoch)
        return a_epoch < b_epoch ? -1 : 1;
    a = a_colon ? a_colon + 1 : a;
    b = b_colon ? b_colon + 1 : b;
    a_end = a + strlen(a);
    b_end = b + strlen(b);
    a_dash = strrchr(a, '-') ? strrchr(a, '-') : a_end;
    b_dash = strrchr(b, '-') ? strrchr(b, '-') : b_end;
    upstream = compare_part(a, a_dash, b, b_dash);
    return upstream
               ? upstream
               : compare_part(a_dash + (a_dash < a_end), a_end, b_dash + (b_dash < b_end), b_end);
}

/* --- indices ------------------------------------------------------------------------------- */

/** A package as its index tells of it. */
struct package {
    const char *stanza; /**< ends with an empty line */
    char *name, *version;
    struct package *next; /**< of that name, in a later suite */
};

struct rp_debian_archive {
    const struct rp_debian_source *source;
    struct rp_downloader downloader;
    struct rp_rsa_keys keys;
    struct {
        RP_VEC(char *);
    } texts; /**< of the indices */
    struct rp_map names;
    struct {
        RP_VEC(struct package *);
    } firsts; /**< by number of the name */
    struct {
        RP_VEC(struct package *);
    } all;
};

void rp_setup_show_nothing(const struct rp_setup_listener *to)
{
    to->show(to->context, NULL);
}

void rp_setup_say(const struct rp_setup_listener *to, const char *fmt, ...)
{
    rp_autobuf line = {0};
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    rp_setup_show_nothing(to);
    to->say(to->context, rp_buf_text(&line));
}

void rp_setup_show(const struct rp_setup_listener *to, const char *fmt, ...)
{
    rp_autobuf line = {0};
    va_list ap;

    va_start(ap, fmt);
    rp_buf_vprintf(&line, fmt, ap);
    va_end(ap);
    to->show(to->context, rp_buf_text(&line));
}

/** Finds a field of a stanza: of a package, or of an InRelease.
 * @return its first line, or NULL */
static const char *field(const char *stanza, const char *name, size_t *ret_bytes)
{
    const size_t bytes = strlen(name);

    for (const char *line = stanza; *line && *line != '\n'; line += *line == '\n') {
        const size_t length = strcspn(line, "\n");

        if (length > bytes && line[bytes] == ':' && memcmp(line, name, bytes) == 0) {
            const size_t blanks = strspn(line + bytes + 1, " ");

            *ret_bytes = length - bytes - 1 - blanks;
            return line + bytes + 1 + blanks;
        }
        line += length;
    }
    return NULL;
}

static char *field_copy(const char *stanza, const char *name)
{
    size_t bytes;
    const char *value = field(stanza, name, &bytes);

    return value ? rp_strndup(value, bytes) : NULL;
}

static void add_package(struct rp_debian_archive *archive, const char *stanza)
{
    rp_autofree char *name = field_copy(stanza, "Package");
    rp_autofree char *version = field_copy(stanza, "Version");
    struct package *package;
    struct package **last;
    uint32_t number;

    if (!name || !version)
        return;
    package = rp_new(struct package);
    number = rp_map_add_text(&archive->names, name);
    if (number == archive->firsts.count)
        rp_vec_push(&archive->firsts, NULL);
    for (last = &archive->firsts.items[number]; *last; last = &(*last)->next)
        ;
    *package =
        (struct package){.stanza = stanza, .name = rp_steal(name), .version = rp_steal(version)};
    *last = package;
    rp_vec_push(&archive->all, package);
}

static void add_index(struct rp_debian_archive *archive, char *text)
{
    rp_vec_push(&archive->texts, text);
    for (const char *stanza = text; stanza && *stanza; stanza = strstr(stanza, "\n\n")) {
        stanza += strspn(stanza, "\n");
        if (*stanza)
            add_package(archive, stanza);
    }
}

/** Refuses an index that is past its date: whoever is between here and the mirror could hand out
 * old programs for ever. A mirror that is a copy of some day has such ones, too. */
static int check_age(const struct rp_debian_source *source, const char *suite, const char *release,
                     struct rp_err *err)
{
    rp_autofree char *until = field_copy(release, "Valid-Until");
    rp_autofree char *mirror = rp_url_shown(source->mirror);
    struct tm tm = {0};

    if (!until || !strptime(until, "%a, %d %b %Y %H:%M:%S", &tm) || timegm(&tm) >= time(NULL))
        return 0;
    if (!source->any_age)
        return rp_fail_with_remedy(err, RP_BAD_INPUT,
                                   "the index of Debian %s in %s was valid until %s: the mirror is "
                                   "old, or this machine's clock is wrong; choose another mirror "
                                   "with --mirror, or let apt take old indices "
                                   "(Acquire::Check-Valid-Until), as setup then does",
                                   suite, mirror, until);
    rp_setup_say(&source->listener,
                 "note: the index of Debian %s in %s was valid until %s; using it all the same",
                 suite, mirror, until);
    return 0;
}

/** Refuses the index of another suite, however well it is signed. */
static int check_suite(const char *url, const char *suite, const char *release, struct rp_err *err)
{
    rp_autofree char *name = field_copy(release, "Suite");
    rp_autofree char *codename = field_copy(release, "Codename");

    if ((name && strcmp(name, suite) == 0) || (codename && strcmp(codename, suite) == 0))
        return 0;
    return rp_fail(err, RP_BAD_INPUT, "%s is the index of %s, not of %s; choose another mirror",
                   url, name ? name : "something else", suite);
}

static int verify(const struct rp_debian_archive *archive, const char *url, const char *suite,
                  const char *message, size_t bytes, struct rp_buf *ret_text, struct rp_err *err)
{
    const struct rp_debian_source *source = archive->source;
    struct rp_err why = RP_ERR_INIT;
    const int signer = rp_openpgp_verify(message, bytes, &archive->keys, ret_text, &why);

    if (signer >= 0) {
        rp_setup_say(&source->listener, "the index of Debian %s is signed by %s", suite,
                     archive->keys.items[signer].name);
        return 0;
    }
    if (!source->unverified)
        return rp_fail_with_remedy(err, RP_BAD_INPUT,
                                   "%s is not signed by %s: %s; choose another mirror, or name its "
                                   "keys with --keyring",
                                   url, source->keyring ? "a key of the keyring" : "Debian",
                                   why.text);
    rp_setup_say(&source->listener,
                 "NOT VERIFIED: %s: %s; it is used as it is, because of --unverified", url,
                 why.text);
    if (!ret_text->len)
        rp_buf_add(ret_text, message, bytes);
    return 0;
}

/** Finds the SHA-256 and the size of a file that an InRelease lists. */
static bool listed_sum(const char *release, const char *name, char ret[65], uint64_t *ret_bytes)
{
    const char *list = strstr(release, "\nSHA256:");

    for (const char *line = list ? strchr(list + 1, '\n') : NULL; line && line[1] == ' ';
         line = strchr(line + 1, '\n')) {
        char sum[65], file[256];
        uint64_t bytes;

        if (sscanf(line, " %64[0-9a-f] %" SCNu64 " %255s", sum, &bytes, file) == 3 &&
            strcmp(file, name) == 0) {
            memcpy(ret, sum, 65);
            *ret_bytes = bytes;
            return true;
        }
    }
    return false;
}

static bool has_sum(const char *path, const char *sum)
{
    char actual[RP_SHA256_TEXT];
    struct rp_err ignored = RP_ERR_INIT;

    return access(path, R_OK) == 0 && rp_sha256_file(path, actual, &ignored) == 0 &&
           strcmp(actual, sum) == 0;
}

/** Fetches a file by its sum, under which mirrors have it while they change; not all of them do. */
static int fetch_index(const struct rp_debian_archive *archive, const char *suite, const char *sum,
                       uint64_t bytes, const char *path, struct rp_err *err)
{
    const char *mirror = archive->source->mirror;
    rp_autofree char *by_name = rp_format("%s/dists/%s/" INDEX, mirror, suite);
    rp_autofree char *shown = rp_url_shown(by_name);
    rp_autofree char *by_sum =
        rp_format("%s/dists/%s/main/binary-amd64/by-hash/SHA256/%s", mirror, suite, sum);
    struct rp_err ignored = RP_ERR_INIT;
    int rc = rp_download(&archive->downloader, by_sum, path, bytes, &ignored);

    if (rc == -RP_INTERRUPTED)
        return rp_proc_interrupted(err);
    if ((rc < 0 || !has_sum(path, sum)) &&
        rp_download(&archive->downloader, by_name, path, bytes, err) < 0)
        return -(int)err->code;
    if (has_sum(path, sum))
        return 0;
    unlink(path);
    return rp_fail_with_remedy(
        err, RP_BAD_INPUT,
        "%s is not what its signed index says; the mirror is just being "
        "changed, or somebody changed it: run it again later, or choose another mirror",
        shown);
}

static int open_suite(struct rp_debian_archive *archive, const char *suite, struct rp_err *err)
{
    const struct rp_debian_source *source = archive->source;
    rp_autofree char *url = rp_format("%s/dists/%s/InRelease", source->mirror, suite);
    rp_autofree char *shown = rp_url_shown(url);
    rp_autofree char *path = rp_format("%s/%s.InRelease", source->folder, suite);
    rp_autofree char *index = rp_format("%s/%s.Packages.xz", source->folder, suite);
    rp_autofree void *message = NULL;
    rp_autobuf release = {0}, text = {0};
    size_t bytes;
    uint64_t index_bytes;
    char sum[65];

    rp_setup_show(&source->listener, "reading the package lists of Debian");
    if (rp_download(&archive->downloader, url, path, MOST_RELEASE_BYTES, err) < 0 ||
        rp_read_file(path, MOST_RELEASE_BYTES, RP_ENVIRONMENT, &message, &bytes, err) < 0)
        return -(int)err->code;
    if (verify(archive, shown, suite, message, bytes, &release, err) < 0 ||
        check_suite(shown, suite, rp_buf_text(&release), err) < 0 ||
        check_age(source, suite, rp_buf_text(&release), err) < 0)
        return -RP_BAD_INPUT;
    if (!listed_sum(rp_buf_text(&release), INDEX, sum, &index_bytes))
        return rp_fail(err, RP_BAD_INPUT, "%s does not list " INDEX "; choose another mirror",
                       shown);
    rp_setup_show(&source->listener, "reading the package lists of Debian");
    if (!has_sum(index, sum) && fetch_index(archive, suite, sum, index_bytes, index, err) < 0)
        return -(int)err->code;
    if (rp_decompress_file(index, MOST_INDEX_BYTES, &text, err) < 0)
        return -(int)err->code;
    add_index(archive, rp_buf_steal(&text));
    return 0;
}

static int choose_keys(struct rp_debian_archive *archive, struct rp_err *err)
{
    struct rp_err ignored = RP_ERR_INIT;

    if (archive->source->keyring)
        return rp_openpgp_read_keys(archive->source->keyring, &archive->keys, err);
    rp_openpgp_debian_keys(&archive->keys);
    /* A distribution brings newer keys than we do; whoever may write there is root. */
    if (access(DEBIAN_KEYRING, R_OK) == 0)
        rp_openpgp_read_keys(DEBIAN_KEYRING, &archive->keys, &ignored);
    return 0;
}

int rp_debian_archive_open(const struct rp_debian_source *source, struct rp_debian_archive **ret,
                           struct rp_err *err)
{
    struct rp_debian_archive *archive = rp_new(struct rp_debian_archive);
    int rc;

    archive->source = source;
    rc = choose_keys(archive, err);
    if (rc == 0)
        rc = rp_downloader_find(&archive->downloader, err);
    for (const char *const *suite = source->suites; rc == 0 && *suite; suite++)
        rc = open_suite(archive, *suite, err);
    rp_setup_show_nothing(&source->listener);
    if (rc < 0) {
        rp_debian_archive_free(archive);
        return rc;
    }
    *ret = archive;
    return 0;
}

void rp_debian_archive_free(struct rp_debian_archive *archive)
{
    if (!archive)
        return;
    for (size_t i = 0; i < archive->all.count; i++) {
        free(archive->all.items[i]->name);
        free(archive->all.items[i]->version);
        free(archive->all.items[i]);
    }
    for (size_t i = 0; i < archive->texts.count; i++)
        free(archive->texts.items[i]);
    rp_vec_free(&archive->all);
    rp_vec_free(&archive->texts);
    rp_vec_free(&archive->firsts);
    rp_vec_free(&archive->keys);
    rp_map_free(&archive->names);
    rp_downloader_free(&archive->downloader);
    free(archive);
}

static struct package *first_of(const struct rp_debian_archive *archive, const char *name)
{
    const uint32_t number = rp_map_find_text(&archive->names, name);

    return number == RP_NO_NUMBER ? NULL : archive->firsts.items[number];
}

const char *rp_debian_archive_version(const struct rp_debian_archive *archive, const char *name)
{
    const struct package *package = first_of(archive, name);

    return package ? package->version : NULL;
}

/* --- what needs what ----------------------------------------------------------------------- */

/** "libc6 (>= 2.34)" */
struct relation {
    char name[128], op[3], version[128];
};

/** Choices that are made: a package for each name. Restarted where a later need asks for another
 * version. */
struct resolving {
    const struct rp_debian_archive *archive;
    struct rp_map names;
    struct {
        RP_VEC(struct package *);
    } chosen; /**< by number of the name, in the order in which their needs are looked at */
    struct rp_map forced_names;
    struct {
        RP_VEC(struct package *);
    } forced;
    bool restart;
};

static bool relation_read(const char *text, size_t bytes, struct relation *ret)
{
    char copy[512];

    if (bytes >= sizeof copy)
        return false;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    *ret = (struct relation){0};
    if (sscanf(copy, " %127[a-zA-Z0-9.+-]", ret->name) != 1)
        return false;
    if (strchr(copy, '('))
        return sscanf(strchr(copy, '('), "( %2[<>=] %127[^) ]", ret->op, ret->version) == 2;
    return true;
}

static bool fits(const char *version, const struct relation *relation)
{
    const int order = relation->op[0] ? rp_debian_version_compare(version, relation->version) : 0;

    switch (relation->op[0]) {
    case '<':
        return relation->op[1] == '<' ? order < 0 : order <= 0;
    case '>':
        return relation->op[1] == '>' ? order > 0 : order >= 0;
    case '=':
        return order == 0;
    default:
        return true;
    }
}

/** Says whether a package provides what is asked for, under that name. */
static bool provides(const struct package *package, const struct relation *relation)
{
    size_t bytes;
    const char *list = field(package->stanza, "Provides", &bytes);
    const char *end = list ? list + bytes : NULL;

    for (const char *item = list; item && item < end;) {
        const char *comma = memchr(item, ',', (size_t)(end - item));
        const char *stop = comma ? comma : end;
        struct relation provided;

        if (relation_read(item, (size_t)(stop - item), &provided) &&
            strcmp(provided.name, relation->name) == 0 &&
            (!relation->op[0] || (provided.op[0] == '=' && fits(provided.version, relation))))
            return true;
        item = stop + 1;
    }
    return false;
}

static struct package *chosen_of(const struct resolving *r, const char *name)
{
    const uint32_t number = rp_map_find_text(&r->names, name);

    return number == RP_NO_NUMBER ? NULL : r->chosen.items[number];
}

/** Says whether what is chosen already meets it. */
static bool is_met(const struct resolving *r, const struct relation *relation)
{
    const struct package *chosen = chosen_of(r, relation->name);

    if (chosen && fits(chosen->version, relation))
        return true;
    for (size_t i = 0; i < r->chosen.count; i++)
        if (provides(r->chosen.items[i], relation))
            return true;
    return false;
}

static void choose(struct resolving *r, struct package *package)
{
    const uint32_t number = rp_map_add_text(&r->names, package->name);

    if (number == r->chosen.count)
        rp_vec_push(&r->chosen, package);
}

static void force(struct resolving *r, struct package *package)
{
    const uint32_t number = rp_map_add_text(&r->forced_names, package->name);

    if (number == r->forced.count)
        rp_vec_push(&r->forced, package);
    r->forced.items[number] = package;
    r->restart = true;
}

/** Finds a package that meets the relation: one of that name, or one that provides it. */
static struct package *candidate(const struct resolving *r, const struct relation *relation)
{
    const uint32_t number = rp_map_find_text(&r->forced_names, relation->name);

    if (number != RP_NO_NUMBER && fits(r->forced.items[number]->version, relation))
        return r->forced.items[number];
    for (struct package *p = first_of(r->archive, relation->name); p; p = p->next)
        if (fits(p->version, relation))
            return p;
    for (size_t i = 0; i < r->archive->all.count; i++)
        if (provides(r->archive->all.items[i], relation))
            return r->archive->all.items[i];
    return NULL;
}

/** Takes the first alternative that can be had; where another version of it is chosen already, all
 * begins anew with this one.
 * @return false: there is none */
static bool take_alternative(struct resolving *r, const struct relation *alternatives, size_t count)
{
    for (unsigned anew = 0; anew < 2; anew++) {
        for (size_t i = 0; i < count; i++) {
            struct package *package = candidate(r, &alternatives[i]);

            if (package && !chosen_of(r, package->name)) {
                choose(r, package);
                return true;
            }
            if (package && anew) {
                force(r, package);
                return true;
            }
        }
    }
    return false;
}

/** Looks at one need, with alternatives between "|". */
static bool meet(struct resolving *r, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    struct relation alternatives[16];
    size_t count = 0;

    for (const char *item = text; item < end && count < 16;) {
        const char *bar = memchr(item, '|', (size_t)(end - item));
        const char *stop = bar ? bar : end;

        if (relation_read(item, (size_t)(stop - item), &alternatives[count])) {
            if (is_met(r, &alternatives[count]))
                return true;
            count++;
        }
        item = stop + 1;
    }
    return take_alternative(r, alternatives, count);
}

static int meet_all(struct resolving *r, const struct package *package, const char *kind,
                    struct rp_err *err)
{
    size_t bytes;
    const char *list = field(package->stanza, kind, &bytes);
    const char *end = list ? list + bytes : NULL;

    for (const char *need = list; need && need < end && !r->restart;) {
        const char *comma = memchr(need, ',', (size_t)(end - need));
        const char *stop = comma ? comma : end;

        if (!meet(r, need, (size_t)(stop - need)))
            return rp_fail(err, RP_ENVIRONMENT,
                           "%s %s of the mirror needs %.*s, which it does not have; try again on "
                           "another day, or choose "
                           "another mirror",
                           package->name, package->version,
                           (int)strspn(need, " ") < stop - need
                               ? (int)(stop - need - (long)strspn(need, " "))
                               : 0,
                           need + strspn(need, " "));
        need = stop + 1;
    }
    return 0;
}

static int resolve_once(struct resolving *r, const char *const *names, struct rp_err *err)
{
    rp_map_free(&r->names);
    rp_vec_free(&r->chosen);
    r->restart = false;
    for (; *names; names++) {
        struct relation relation = {0};
        struct package *package;

        snprintf(relation.name, sizeof relation.name, "%s", *names);
        package = candidate(r, &relation);
        if (!package)
            return rp_fail(err, RP_ENVIRONMENT,
                           "the mirror has no package %s; choose another mirror", *names);
        choose(r, package);
    }
    for (size_t i = 0; i < r->chosen.count && !r->restart; i++)
        if (meet_all(r, r->chosen.items[i], "Pre-Depends", err) < 0 ||
            meet_all(r, r->chosen.items[i], "Depends", err) < 0)
            return -RP_ENVIRONMENT;
    return 0;
}

static int add_deb(const struct rp_debian_archive *archive, const struct package *package,
                   struct rp_debs *ret, struct rp_err *err)
{
    rp_autofree char *file = field_copy(package->stanza, "Filename");
    rp_autofree char *size = field_copy(package->stanza, "Size");
    rp_autofree char *sum = field_copy(package->stanza, "SHA256");
    rp_autofree char *unpacked = field_copy(package->stanza, "Installed-Size");
    const char *slash = file ? strrchr(file, '/') : NULL;
    struct rp_deb *deb;

    if (!slash || !size || !sum || strlen(sum) != 64 || strstr(file, ".."))
        return rp_fail(err, RP_BAD_INPUT, "the index of the mirror is damaged at the package %s",
                       package->name);
    deb = rp_vec_add(ret);
    deb->name = package->name;
    deb->version = package->version;
    deb->file = rp_format("%s/%s", archive->source->folder, slash + 1);
    deb->bytes = strtoull(size, NULL, 10);
    deb->unpacked_bytes = unpacked ? strtoull(unpacked, NULL, 10) << 10 : 0;
    memcpy(deb->sha256, sum, 65);
    deb->url_path = rp_steal(file);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rp_deb *)a)->name, ((const struct rp_deb *)b)->name);
}

int rp_debian_archive_resolve(const struct rp_debian_archive *archive, const char *const *names,
                              struct rp_debs *ret, struct rp_err *err)
{
    struct resolving r = {.archive = archive, .restart = true};
    int rc = 0;

    for (unsigned i = 0; rc == 0 && r.restart && i < MOST_RESTARTS; i++)
        rc = resolve_once(&r, names, err);
    if (rc == 0 && r.restart)
        rc = rp_fail(err, RP_ENVIRONMENT,
                     "the packages of the mirror do not go together; try again on another day, or "
                     "choose another mirror");
    for (size_t i = 0; rc == 0 && i < r.chosen.count; i++)
        rc = add_deb(archive, r.chosen.items[i], ret, err);
    if (rc == 0)
        qsort(ret->items, ret->count, sizeof *ret->items, by_name);
    rp_map_free(&r.names);
    rp_map_free(&r.forced_names);
    rp_vec_free(&r.chosen);
    rp_vec_free(&r.forced);
    return rc;
}

void rp_debs_free(struct rp_debs *debs)
{
    for (size_t i = 0; i < debs->count; i++) {
        free(debs->items[i].url_path);
        free(debs->items[i].file);
    }
    rp_vec_free(debs);
}

/* --- fetching ------------------------------------------------------------------------------ */

static uint64_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

uint64_t rp_debs_missing_bytes(const struct rp_debs *debs)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < debs->count; i++)
        bytes += size_of(debs->items[i].file) == debs->items[i].bytes ? 0 : debs->items[i].bytes;
    return bytes;
}

/** What is fetched has another name until it is known to be right. */
static int fetch_deb(const struct rp_debian_archive *archive, const struct rp_deb *deb,
                     struct rp_err *err)
{
    rp_autofree char *url = rp_format("%s/%s", archive->source->mirror, deb->url_path);
    rp_autofree char *shown = rp_url_shown(url);
    rp_autofree char *partial = rp_format("%s.partial", deb->file);

    if (size_of(deb->file) == deb->bytes && has_sum(deb->file, deb->sha256))
        return 0;
    unlink(deb->file);
    if (rp_download(&archive->downloader, url, partial, deb->bytes, err) < 0)
        return -(int)err->code;
    if (size_of(partial) != deb->bytes || !has_sum(partial, deb->sha256)) {
        unlink(partial);
        return rp_fail_with_remedy(
            err, RP_BAD_INPUT,
            "%s is not what the index says (its SHA-256 differs): it is refused; "
            "choose another mirror",
            shown);
    }
    return rename(partial, deb->file) == 0
               ? 0
               : rp_fail_errno(err, RP_ENVIRONMENT, errno, "cannot write %s", deb->file);
}

/** Several processes take packages from one list. */
struct fetching {
    atomic_size_t next;
    atomic_bool stop;
    struct rp_err err; /**< of the first that failed */
    atomic_bool failed;
};

static int fetch_some(const struct rp_debian_archive *archive, const struct rp_debs *debs,
                      struct fetching *shared)
{
    size_t i;

    while (!atomic_load(&shared->stop) && (i = atomic_fetch_add(&shared->next, 1)) < debs->count) {
        struct rp_err err = RP_ERR_INIT;

        if (fetch_deb(archive, &debs->items[i], &err) == 0)
            continue;
        if (!atomic_exchange(&shared->failed, true))
            shared->err = err;
        atomic_store(&shared->stop, true);
        return 1;
    }
    return 0;
}

static uint64_t fetched_bytes(const struct rp_debs *debs)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < debs->count; i++) {
        const uint64_t whole = size_of(debs->items[i].file);
        rp_autofree char *partial = whole ? NULL : rp_format("%s.partial", debs->items[i].file);

        bytes += whole ? whole : size_of(partial);
    }
    return bytes;
}

static void show_fetched(const struct rp_debian_source *source, const struct rp_debs *debs,
                         uint64_t total, uint64_t at_begin, int64_t began_ns)
{
    const uint64_t bytes = fetched_bytes(debs);
    const double seconds = (double)(rp_now_ns() - began_ns) / 1e9;
    const double rate = seconds > 2 && bytes > at_begin ? (double)(bytes - at_begin) / seconds : 0;
    rp_autobuf text = {0};

    rp_buf_printf(&text, "fetched %" PRIu64 " of %" PRIu64 " MB", bytes / 1000000, total / 1000000);
    if (rate > 0 && total > bytes)
        rp_buf_printf(&text, ", %.0f s left", (double)(total - bytes) / rate + 1);
    rp_setup_show(&source->listener, "%s", rp_buf_text(&text));
}

static int wait_for_fetchers(const struct rp_debian_archive *archive, const struct rp_debs *debs,
                             struct fetching *shared, const pid_t *children, struct rp_err *err)
{
    const uint64_t at_begin = fetched_bytes(debs);
    const int64_t began_ns = rp_now_ns();
    uint64_t total = 0;
    bool failed = false;

    for (size_t i = 0; i < debs->count; i++)
        total += debs->items[i].bytes;
    for (unsigned i = 0; i < FETCHERS; i++) {
        int status = 0;

        while (children[i] > 0 && waitpid(children[i], &status, WNOHANG) == 0) {
            if (rp_proc_interrupting_signal() && !atomic_exchange(&shared->stop, true))
                for (unsigned j = i; j < FETCHERS; j++)
                    if (children[j] > 0)
                        kill(children[j], SIGTERM);
            show_fetched(archive->source, debs, total, at_begin, began_ns);
            nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        }
        failed = failed || children[i] < 0 || status != 0;
    }
    rp_setup_show_nothing(&archive->source->listener);
    if (rp_proc_interrupted(err) < 0)
        return -RP_INTERRUPTED;
    if (atomic_load(&shared->failed)) {
        *err = shared->err;
        return -(int)err->code;
    }
    return failed ? rp_fail(err, RP_ENVIRONMENT,
                            "a process that fetches packages was killed; run it again")
                  : 0;
}

int rp_debian_archive_fetch(const struct rp_debian_archive *archive, const struct rp_debs *debs,
                            struct rp_err *err)
{
    struct fetching *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const pid_t parent = getpid();
    pid_t children[FETCHERS];
    int rc;

    if (shared == MAP_FAILED)
        return rp_out_of_memory(err);
    for (unsigned i = 0; i < FETCHERS; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent) /* It was killed before that. */
                _exit(1);
            _exit(fetch_some(archive, debs, shared));
        }
    }
    rc = wait_for_fetchers(archive, debs, shared, children, err);
    munmap(shared, sizeof *shared);
    return rc;
}
