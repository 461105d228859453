/* Makes the key under which a result of the compiler is kept: of the command, of the files that it
 * reads, and of the preprocessed text. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/path.h"
#include "base/process.h"
#include "run/hip_compiler.h"
#include "run/machine.h"

/* A source may make the assembler read files, whose names preprocessing does not show. */

/** Holds what has been read of a text. */
struct reading {
    const char *at, *end;
    uint64_t last; /**< the last characters of the literals side by side, in lower case */
    enum { ELSEWHERE, BEHIND_ASM, IN_ASM } where; /**< IN_ASM: behind the parenthesis */
    bool found;
};

/* LLVM's assembler accepts directives in any case. Those that repeat a text or give it a name can
 * put arguments into the name of another directive. */
static bool is_directive(uint64_t last)
{
    static const char *const words[] = {".incb", ".incl", ".inc%", ".inc{", ".inc|",
                                        ".inc}", ".inc$", ".macr", ".irp"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        uint64_t word = 0, all = 0;

        for (const char *c = words[i]; *c; c++) {
            word = word << 8 | (uint8_t)*c;
            all = all << 8 | 0xff;
        }
        if ((last & all) == word)
            return true;
    }
    return false;
}

static void take(struct reading *r, unsigned long character)
{
    r->last = r->last << 8 | (character < 0x80 ? (uint8_t)tolower((int)character) : 0x80);
    if ((r->last >> 32 & 0xff) == '.' || (r->last >> 24 & 0xff) == '.')
        r->found |= is_directive(r->last);
}

/** The next token is another literal, or none. */
static void end_literals(struct reading *r)
{
    static const uint64_t begun = '.' << 24 | 'i' << 16 | 'n' << 8 | 'c';

    r->found |= (r->last & UINT32_MAX) == begun;
    r->last = 0;
}

/** Reads the number of an escape: up to @p most digits, or any number of them in braces. */
static void take_number(struct reading *r, int base, size_t most)
{
    const bool braces = r->at < r->end && *r->at == '{';
    unsigned long number = 0;

    r->at += braces;
    for (size_t i = 0; r->at < r->end && (braces || i < most); i++, r->at++) {
        const char digit[] = {*r->at, 0};
        char *end;
        const unsigned long value = strtoul(digit, &end, base);

        if (!isxdigit((unsigned char)digit[0]) || end == digit)
            break;
        number = number > UINT32_MAX ? number : number * (unsigned)base + value;
    }
    r->at += braces && r->at < r->end && *r->at == '}';
    take(r, number);
}

/** Reads what follows a backslash. */
static void take_escape(struct reading *r)
{
    const char c = *r->at++;

    if (c >= '0' && c <= '7') {
        r->at--;
        take_number(r, 8, 3);
    } else if (c == 'o') {
        take_number(r, 8, 0);
    } else if (c == 'x') {
        take_number(r, 16, SIZE_MAX);
    } else if (c == 'u' || c == 'U') {
        take_number(r, 16, c == 'u' ? 4 : 8);
    } else if (c == 'N') {
        r->found = true; /* The escape names a character. */
    } else {
        take(r, strchr("abfnrtv", c) ? '\n' : (unsigned char)c);
    }
}

/** Reads what follows the quotation mark. */
static void read_literal(struct reading *r)
{
    while (r->at < r->end && *r->at != '"' && *r->at != '\n') {
        const char c = *r->at++;

        if (c != '\\')
            take(r, (unsigned char)c);
        else if (r->at < r->end)
            take_escape(r);
    }
    r->at += r->at < r->end;
}

/** Reads what follows the quotation mark of R"x(...)x". */
static void read_raw_literal(struct reading *r)
{
    const char *const mark = r->at, *open = memchr(mark, '(', (size_t)(r->end - mark));
    const size_t bytes = open ? (size_t)(open - mark) : 0;

    if (!open) {
        r->at = r->end;
        return;
    }
    for (r->at = open + 1; r->at < r->end; r->at++) {
        const size_t left = (size_t)(r->end - r->at);

        if (*r->at == ')' && left > bytes + 1 && memcmp(r->at + 1, mark, bytes) == 0 &&
            r->at[bytes + 1] == '"') {
            r->at += bytes + 2;
            return;
        }
        take(r, (unsigned char)*r->at);
    }
}

/** Skips what follows the apostrophe. */
static void skip_character(struct reading *r)
{
    while (r->at < r->end && *r->at != '\'' && *r->at != '\n')
        r->at += *r->at == '\\' && r->end - r->at > 1 ? 2 : 1;
    r->at += r->at < r->end;
}

static bool is_one_of(const char *word, size_t bytes, const char *const *words)
{
    for (; *words; words++)
        if (strncmp(*words, word, bytes) == 0 && !(*words)[bytes])
            return true;
    return false;
}

static bool of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

/** Reads a name, a number, in which there may be apostrophes, or the prefix of a literal. */
static void read_word(struct reading *r)
{
    static const char *const prefixes[] = {"u8", "u", "U", "L", NULL};
    static const char *const raw[] = {"R", "u8R", "uR", "UR", "LR", NULL};
    static const char *const assembly[] = {"asm", "__asm", "__asm__", NULL};
    static const char *const more[] = {"volatile", "__volatile", "__volatile__", "inline",
                                       "__inline", "__inline__", "goto",         NULL};
    const char *const word = r->at;
    const bool number = isdigit((unsigned char)*word);
    size_t bytes;

    while (r->at < r->end && (of_word(*r->at) || (number && *r->at == '\'' && r->end - r->at > 1 &&
                                                  isalnum((unsigned char)r->at[1]))))
        r->at++;
    bytes = (size_t)(r->at - word);
    if (r->at < r->end && *r->at == '"' && is_one_of(word, bytes, raw)) {
        r->where = ELSEWHERE;
        r->at++;
        read_raw_literal(r);
        return;
    }
    if (r->at < r->end && *r->at == '"' && is_one_of(word, bytes, prefixes))
        return;
    end_literals(r);
    if (is_one_of(word, bytes, assembly))
        r->where = BEHIND_ASM;
    else if (r->where != BEHIND_ASM || !is_one_of(word, bytes, more))
        /* It is a constant expression, or a block of assembly. */
        r->found |= r->where != ELSEWHERE;
}

static void read_mark(struct reading *r)
{
    const char c = *r->at++;

    if (c == '"') {
        r->found |= r->where == BEHIND_ASM;
        r->where = ELSEWHERE;
        read_literal(r);
        return;
    }
    end_literals(r);
    if (c == '\'')
        skip_character(r);
    r->found |= r->where == IN_ASM || (r->where == BEHIND_ASM && c != '(');
    r->where = r->where == BEHIND_ASM ? IN_ASM : ELSEWHERE;
}

/**
 * @param text C or C++, preprocessed
 * @return whether a literal has, or may get, .include or .incbin: literals side by side are one,
 * and escapes are decoded. It is also true where that cannot be decided: directives that make
 * others, and assembly that is no literal.
 */
static bool asm_reads_files(const char *text, size_t bytes)
{
    struct reading r = {.at = text, .end = text + bytes};

    while (r.at < r.end && !r.found) {
        if (*r.at == '#' && (r.at == text || r.at[-1] == '\n')) {
            const char *next = memchr(r.at, '\n', (size_t)(r.end - r.at));

            /* This also stands between literals, which stay side by side. */
            r.at = next ? next + 1 : r.end;
        } else if (isspace((unsigned char)*r.at)) {
            r.at++;
        } else if (of_word(*r.at)) {
            read_word(&r);
        } else {
            read_mark(&r);
        }
    }
    end_literals(&r);
    return r.found;
}

/* This section says what a command of the compiler depends on. The preprocessed text shows which
 * files are read and what their macros became. The text of the files themselves is added, because
 * messages and syntax trees show it as it was written. */

/* Raise it when the kept result, or what it depends on, changes. */
static const char format[] = "rocm-perf compiler cache 1";

enum { MOST_FILE_BYTES = 256 << 20 };

extern char **environ;

/* --- the command --- */

enum how { WORD, VALUE, JOINED, BEGINS, NOT };

static const struct {
    const char *text;
    enum how how;
} options[] = {
#define RP_OPTION(text, how) {text, how},
#include "run/hip_compiler_options.def"
#undef RP_OPTION
};

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool ends(const char *text, const char *end)
{
    const size_t bytes = strlen(text), end_bytes = strlen(end);

    return bytes >= end_bytes && strcmp(text + bytes - end_bytes, end) == 0;
}

/** Returns how many words the option has, or 0 when it is not in the table. */
static size_t option_words(const char *word)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        const char *text = options[i].text;
        const bool whole = strcmp(word, text) == 0;

        switch (options[i].how) {
        case WORD:
            if (whole)
                return 1;
            break;
        case VALUE:
            if (whole)
                return 2;
            break;
        case JOINED:
            if (starts(word, text))
                return whole ? 2 : 1;
            break;
        case BEGINS:
            if (starts(word, text))
                return 1;
            break;
        case NOT:
            if (starts(word, text))
                return 0;
            break;
        }
    }
    return 0;
}

/** These words only change what is written into the program. */
static bool linker_word(const char *word)
{
    return starts(word, "-Wl,--dynamic-linker=") || starts(word, "-Wl,-rpath,") ||
           strcmp(word, "-Wl,--disable-new-dtags") == 0 ||
           strcmp(word, "-Wl,--enable-new-dtags") == 0;
}

/** Tools and folders of another toolchain are not examined. */
static bool foreign_tool(const struct rp_environment *env, const char *word)
{
    static const char *const options_of_tools[] = {
        "--rocm-path=", "--rocm-device-lib-path=", "--sysroot=", "--gcc-toolchain=", "--ld-path="};

    for (size_t i = 0; i < sizeof options_of_tools / sizeof options_of_tools[0]; i++)
        if (starts(word, options_of_tools[i]))
            return !starts(word + strlen(options_of_tools[i]), env->rocm_root);
    return false;
}

static bool clang_word(const char *word)
{
    return starts(word, "-ast-dump=json") || starts(word, "-ast-dump-filter=") ||
           strcmp(word, "-disable-llvm-passes") == 0;
}

static bool is_linked(const char *word)
{
    return ends(word, ".o") || ends(word, ".a") || ends(word, ".so") || strstr(word, ".so.");
}

/** A source is any file that is not linked.
 * @param language of -x, "none" */
static bool is_source(const char *word, const char *language)
{
    static const char *const known[] = {".hip", ".cu", ".cpp", ".cc", ".cxx", ".C", ".c"};

    if (strcmp(language, "none") != 0)
        return strcmp(language, "hip") == 0 || strcmp(language, "c++") == 0 ||
               strcmp(language, "c") == 0;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (ends(word, known[i]))
            return true;
    return false;
}

/** These hold for the whole command while its words are read. */
struct compiler_key_reading {
    const char *language;
    bool links, prints, debug, own_id, absolute;
};

static void note_option(struct rp_compiler_command *command, struct compiler_key_reading *reading,
                        const char *word)
{
    static const char *const no_link[] = {"-c", "-S", "-fsyntax-only", "--cuda-device-only",
                                          "--offload-device-only"};

    for (size_t i = 0; i < sizeof no_link / sizeof no_link[0]; i++)
        if (strcmp(word, no_link[i]) == 0)
            reading->links = false;
    if (strcmp(word, "--cuda-device-only") == 0 || strcmp(word, "--offload-device-only") == 0)
        command->host = false;
    if (strcmp(word, "--cuda-host-only") == 0 || strcmp(word, "--offload-host-only") == 0)
        command->device = false;
    if (starts(word, "--offload-arch=") || starts(word, "--cuda-gpu-arch="))
        command->archs[command->arch_count++] = strchr(word, '=') + 1;
    reading->prints |= strcmp(word, "-fsyntax-only") == 0;
    reading->debug |= starts(word, "-g") && strcmp(word, "-g0") != 0;
    reading->own_id |= starts(word, "-cuid=") || strcmp(word, "-fuse-cuid=none") == 0;
}

/** @return how many words that was; 0: no result of such a command is kept */
static size_t compiler_key_read_word(const struct rp_environment *env,
                                     struct rp_compiler_command *command,
                                     struct compiler_key_reading *reading, char *const *at)
{
    const char *word = at[0], *next = at[1];
    size_t words = 1;

    if (word[0] != '-') {
        if (is_source(word, reading->language)) {
            command->source_count++;
            reading->absolute |= word[0] == '/';
            return word[0] == '@' ? 0 : 1;
        }
        command->links[command->link_count++] = word;
        return word[0] != '@' && is_linked(word) ? 1 : 0;
    }
    if (strcmp(word, "-o") == 0) {
        if (!next || command->output)
            return 0;
        command->output = next;
        return 2;
    }
    if (starts(word, "-x")) {
        reading->language = word[2] ? word + 2 : next;
        return reading->language ? (word[2] ? 1 : 2) : 0;
    }
    if (starts(word, "-L")) {
        command->places[command->place_count++] = word[2] ? word + 2 : next;
        return word[2] ? 1 : next ? 2 : 0;
    }
    if (starts(word, "-l")) {
        command->links[command->link_count++] = word;
        return word[2] ? 1 : 0;
    }
    if (starts(word, "-ivfsoverlay")) {
        if (command->overlay || !word[strlen("-ivfsoverlay")])
            return 0;
        command->overlay = word + strlen("-ivfsoverlay");
        return 1;
    }
    if (starts(word, "-working-directory=/")) {
        command->directory = strchr(word, '/');
        return 1;
    }
    if (strcmp(word, "-Xclang") == 0)
        return next && clang_word(next) ? 2 : 0;
    if (linker_word(word))
        return 1;
    words = foreign_tool(env, word) ? 0 : option_words(word);
    if (words == 2 && !next)
        return 0;
    note_option(command, reading, word);
    return words;
}

static bool read_words(const struct rp_environment *env, struct rp_compiler_command *command)
{
    struct compiler_key_reading reading = {.language = "none", .links = true};
    struct stat st;

    for (size_t i = 1, words; command->argv[i]; i += words) {
        words = compiler_key_read_word(env, command, &reading, command->argv + i);
        if (!words)
            return false;
    }
    command->portable = reading.own_id && !reading.debug && !reading.absolute;
    if (!command->source_count || (command->link_count && !reading.links))
        return false;
    if (!command->output) /* Otherwise the compiler chooses the name. */
        return reading.prints;
    if (strcmp(command->output, "-") == 0) {
        command->output = NULL;
        return true;
    }
    return lstat(command->output, &st) != 0 || S_ISREG(st.st_mode);
}

bool rp_compiler_command_read(const struct rp_environment *env, char *const *argv,
                              struct rp_compiler_command *ret)
{
    struct rp_compiler_command command = {.argv = argv, .host = true, .device = true};
    size_t count = 0;

    if (env->rocm_kind != RP_ROCM_PRIVATE || !env->compiler || !argv[0] ||
        strcmp(argv[0], env->compiler) != 0)
        return false;
    while (argv[count])
        count++;
    command.links = rp_alloc_zero(count, sizeof *command.links);
    command.places = rp_alloc_zero(count, sizeof *command.places);
    command.archs = rp_alloc_zero(count, sizeof *command.archs);
    if (!command.links || !command.places || !command.archs || !read_words(env, &command)) {
        rp_compiler_command_free(&command);
        return false;
    }
    *ret = command;
    return true;
}

/* --- what it reads --- */

struct making {
    const struct rp_environment *env;
    const struct rp_proc *proc;
    const struct rp_compiler_command *command;
    struct rp_compiler_key *key;
    XXH3_state_t *hash;
    char *folder; /**< in which names are meant */
    bool failed;
};

static void add_bytes(struct making *making, const void *data, size_t bytes)
{
    const uint64_t length = bytes; /* The length keeps two parts from being taken for one. */

    XXH3_128bits_update(making->hash, &length, sizeof length);
    XXH3_128bits_update(making->hash, data, bytes);
}

static void add_text(struct making *making, const char *text)
{
    add_bytes(making, text, strlen(text));
}

static void add_time(struct making *making, const char *name, const struct stat *st)
{
    const int64_t what[] = {st->st_size, st->st_mtim.tv_sec, st->st_mtim.tv_nsec, st->st_mode};

    add_text(making, name);
    add_bytes(making, what, sizeof what);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/** Adds names, sizes and times of all files of one of the compiler's folders. */
static void add_folder(struct making *making, const char *path)
{
    struct dirent **list = NULL;
    const int count = scandir(path, &list, NULL, by_name);
    rp_autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    add_text(making, path);
    making->failed |= count < 0 || fd < 0;
    for (int i = 0; i < count; i++) {
        if (fd >= 0 && list[i]->d_name[0] != '.' && fstatat(fd, list[i]->d_name, &st, 0) == 0 &&
            S_ISREG(st.st_mode))
            add_time(making, list[i]->d_name, &st);
        free(list[i]);
    }
    free(list);
}

/** Adds the compiler, the libraries it is linked with, its device libraries, and those it links
 * programs with. */
static void add_compiler(struct making *making)
{
    const struct rp_environment *env = making->env;
    static const char *const more[] = {"usr/lib/x86_64-linux-gnu", "usr/lib64", "lib64"};
    const char *name = strrchr(env->compiler, '/');
    rp_autofree char *bin = name ? rp_strndup(env->compiler, (size_t)(name - env->compiler)) : NULL;
    rp_autofree char *stamp = rp_format("%s/.rocm-perf-prefix", env->rocm_root);
    rp_autofree char *text = stamp ? rp_read_text(stamp, 1 << 20) : NULL;

    if (!bin || !text) {
        making->failed = true;
        return;
    }
    add_text(making, text);
    add_folder(making, bin);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        rp_autofree char *path = rp_path_join(env->rocm_root, more[i]);

        if (path && rp_path_is_dir(path))
            add_folder(making, path);
    }
    for (size_t i = 1; making->command->argv[i]; i++)
        if (starts(making->command->argv[i], "--rocm-device-lib-path="))
            add_folder(making, strchr(making->command->argv[i], '=') + 1);
}

/** Adds the variables that compilers read.
 * @return whether some of them make compilers write files of their own, or run other code */
static bool add_environment(struct making *making)
{
    static const char *const read[] = {
        "CPATH",     "C_INCLUDE_", "CPLUS_INCLUDE_", "OBJC", "LIBRARY_PATH", "SOURCE_DATE_", "HIP",
        "ROCM_PATH", "CLANG",      "LLVM",           "LLD",  "AMD",          "LD_"};
    static const char *const refused[] = {
        "DEPENDENCIES_OUTPUT=", "SUNPRO_DEPENDENCIES=", "CC_PRINT_",   "CC_LOG_DIAGNOSTICS", "CCC_",
        "COMPILER_PATH=",       "GCC_EXEC_PREFIX=",     "LD_PRELOAD=", "LD_AUDIT="};

    for (char **variable = environ; *variable; variable++) {
        for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
            if (starts(*variable, refused[i]))
                return true;
        for (size_t i = 0; i < sizeof read / sizeof read[0]; i++)
            if (starts(*variable, read[i]))
                add_text(making, *variable);
    }
    return false;
}

static bool of_the_compiler(const struct making *making, const char *path)
{
    const size_t bytes = strlen(making->env->rocm_root);

    return strncmp(path, making->env->rocm_root, bytes) == 0 && path[bytes] == '/';
}

static char *absolute(const struct making *making, const char *name)
{
    return name[0] == '/' ? rp_strdup(name) : rp_path_join(making->folder, name);
}

static void remember(struct rp_compiler_key *key, const char *path, const struct stat *st)
{
    rp_vec_push(&key->files, (struct rp_compiler_file){.path = rp_strdup(path), .st = *st});
}

/** Adds the contents of a file; for one of the compiler's own only its size and time.
 * @return whether it exists */
static bool add_file(struct making *making, const char *path)
{
    rp_autofree void *data = NULL;
    struct stat st;
    size_t bytes = 0;

    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    if (of_the_compiler(making, path)) {
        add_time(making, path, &st);
        return true;
    }
    if (rp_read_file(path, MOST_FILE_BYTES, RP_BAD_INPUT, &data, &bytes, NULL) < 0) {
        making->failed = true;
        return false;
    }
    remember(making->key, path, &st);
    add_bytes(making, data, bytes);
    return true;
}

/** Adds an object, an archive of objects or a library, but not a text that names others. */
static bool add_linked(struct making *making, const char *path)
{
    static const char elf[] = "\177ELF", archive[] = "!<arch>\n";
    rp_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char begin[8] = "";

    return fd >= 0 && read(fd, begin, sizeof begin) == (ssize_t)sizeof begin &&
           (memcmp(begin, elf, 4) == 0 || memcmp(begin, archive, 8) == 0) && add_file(making, path);
}

/** A shared library comes before an archive.
 * @return whether one is in this folder */
static bool add_library_of(struct making *making, const char *folder, const char *name)
{
    rp_autofree char *place = absolute(making, folder);
    rp_autofree char *shared = place ? rp_format("%s/lib%s.so", place, name) : NULL;
    rp_autofree char *archive = place ? rp_format("%s/lib%s.a", place, name) : NULL;

    if (!shared || !archive) {
        making->failed = true;
        return true;
    }
    if (access(shared, F_OK) != 0 && access(archive, F_OK) != 0)
        return false;
    making->failed |= !add_linked(making, access(shared, F_OK) == 0 ? shared : archive);
    return true;
}

/** Searches in the linker's order: in the folders of -L, then in those of LIBRARY_PATH, of which an
 * empty one is the current folder. Other libraries are of the compiler's own folders, which are in
 * the key. */
static void add_library(struct making *making, const char *name)
{
    const char *at = getenv("LIBRARY_PATH");

    making->failed |= name[0] == ':';
    for (size_t i = 0; i < making->command->place_count && !making->failed; i++)
        if (add_library_of(making, making->command->places[i], name))
            return;
    for (bool more = at && *at; more && !making->failed;) {
        const size_t bytes = strcspn(at, ":");
        rp_autofree char *folder = bytes ? rp_strndup(at, bytes) : rp_strdup(".");

        if (!folder || add_library_of(making, folder, name)) {
            making->failed |= !folder;
            return;
        }
        more = at[bytes] == ':'; /* An empty folder may also stand behind a colon at the end. */
        at += bytes + 1;
    }
}

static void add_links(struct making *making)
{
    for (size_t i = 0; i < making->command->link_count; i++) {
        const char *word = making->command->links[i];
        rp_autofree char *path = word[0] == '-' ? NULL : absolute(making, word);

        if (word[0] == '-')
            add_library(making, word + 2);
        else
            making->failed |= !path || !add_linked(making, path);
    }
}

/** Adds the file that replaces another one, of an overlay that optimize has written
 * (experiment/compile.c). */
static void add_overlay(struct making *making)
{
    static const char before[] = "\"external-contents\": \"";
    const char *name = making->command->overlay;
    rp_autofree char *path = name ? absolute(making, name) : NULL;
    rp_autofree char *text = path ? rp_read_text(path, 1 << 20) : NULL;
    char *at = text ? strstr(text, before) : NULL;

    if (!name)
        return;
    making->failed |= !at || strstr(at + 1, before) || !add_file(making, path);
    if (making->failed)
        return;
    at += strlen(before);
    at[strcspn(at, "\"")] = 0;
    making->failed |= strchr(at, '\\') || !add_file(making, at);
}

/* --- the preprocessed text --- */

/** @return false: the name is written with escapes */
static bool read_marker(struct rp_map *names, const char *at, const char *end)
{
    const char *open = memchr(at, '"', (size_t)(end - at));
    const char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;

    if (!close)
        return true;
    if (memchr(open, '\\', (size_t)(close - open)))
        return false;
    if (open[1] != '<')
        rp_map_add(names, open + 1, (size_t)(close - open - 1));
    return true;
}

static bool read_markers(struct rp_map *names, const char *text, size_t bytes)
{
    const char *const end = text + bytes;

    for (const char *at = text; at < end;) {
        const char *next = memchr(at, '\n', (size_t)(end - at));

        next = next ? next : end;
        if (at[0] == '#' && next - at > 4 && at[1] == ' ' && at[2] >= '0' && at[2] <= '9' &&
            !read_marker(names, at, next))
            return false;
        at = next + 1;
    }
    return true;
}

/** Says whether code reads files when it is assembled or linked. */
static bool reads_more(const char *text, size_t bytes)
{
    static const char *const words[] = {"pragma comment", "#embed", "pragma clang module"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (memmem(text, bytes, words[i], strlen(words[i])))
            return true;
    return asm_reads_files(text, bytes);
}

static void add_preprocessed(struct making *making, const char *text, size_t bytes)
{
    rp_cleanup(rp_map_free) struct rp_map names = {0};

    if (reads_more(text, bytes) || !read_markers(&names, text, bytes)) {
        making->failed = true;
        return;
    }
    add_bytes(making, text, bytes);
    for (size_t i = 0; i < names.count && !making->failed; i++) {
        rp_autofree char *path = absolute(making, names.keys[i].bytes);

        /* A header of an overlay need not be there. */
        making->failed |= !add_file(making, path) && !making->command->overlay;
    }
}

/** Makes the command that preprocesses for one side.
 * @param arch NULL: the host */
static const char **preprocess_argv(const struct rp_compiler_command *command, const char *arch,
                                    char *arch_word)
{
    static const char *const dropped[] = {"-c",
                                          "-S",
                                          "-emit-llvm",
                                          "-fsyntax-only",
                                          "-shared",
                                          "-rdynamic",
                                          "--hip-link",
                                          "--no-gpu-bundle-output",
                                          "--gpu-bundle-output",
                                          "--cuda-device-only",
                                          "--cuda-host-only",
                                          "--offload-device-only",
                                          "--offload-host-only"};
    size_t count = 0, at = 0;
    const char **argv;

    while (command->argv[count])
        count++;
    argv = rp_alloc_zero(count + 9, sizeof *argv);
    for (size_t i = 0; argv && i < count; i++) {
        const char *word = command->argv[i];
        bool drop = i && (starts(word, "--offload-arch=") || starts(word, "--cuda-gpu-arch=") ||
                          starts(word, "-l") || (word[0] != '-' && is_linked(word)));

        for (size_t k = 0; k < sizeof dropped / sizeof dropped[0]; k++)
            drop |= strcmp(word, dropped[k]) == 0;
        if (strcmp(word, "-o") == 0 || strcmp(word, "-Xclang") == 0) {
            i++;
            continue;
        }
        if (!drop)
            argv[at++] = word;
        if (i && option_words(word) == 2 && i + 1 < count)
            argv[at++] = command->argv[++i];
    }
    if (!argv)
        return NULL;
    argv[at++] = "-E";
    argv[at++] = "-w";
    argv[at++] = "-Qunused-arguments";
    argv[at++] = arch ? "--cuda-device-only" : "--cuda-host-only";
    if (arch || command->arch_count)
        argv[at++] = arch_word;
    argv[at++] = "-o";
    argv[at++] = "-";
    return argv;
}

/** @return 0, or RP_INTERRUPTED; when preprocessing fails, making->failed is set */
static int preprocess(struct making *making, const char *arch, struct rp_err *err)
{
    const struct rp_compiler_command *command = making->command;
    rp_autofree char *arch_word =
        rp_format("--offload-arch=%s", arch                  ? arch
                                       : command->arch_count ? command->archs[0]
                                                             : "");
    rp_autofree const char **argv = arch_word ? preprocess_argv(command, arch, arch_word) : NULL;
    rp_autoclose int out = rp_memfd("preprocessed", MFD_CLOEXEC);
    rp_autoclose int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct rp_proc proc = *making->proc;
    struct rp_proc_end end = {0};
    struct stat st;
    void *text;
    int rc;

    if (!argv || out < 0 || null < 0) {
        making->failed = true;
        return 0;
    }
    proc.argv = (char *const *)(uintptr_t)argv;
    proc.stdin_fd = proc.stderr_fd = null;
    proc.stdout_fd = out;
    rc = rp_proc_run(&proc, &end, err);
    if (rc == -RP_INTERRUPTED)
        return rc;
    if (rc < 0 || end.signaled || end.timed_out || end.status || fstat(out, &st) != 0 ||
        !st.st_size) {
        making->failed = true;
        return 0;
    }
    text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, out, 0);
    if (text == MAP_FAILED) {
        making->failed = true;
        return 0;
    }
    add_preprocessed(making, text, (size_t)st.st_size);
    munmap(text, (size_t)st.st_size);
    return 0;
}

/** Adds the words, but not the name of the output where the output does not contain it. */
static void add_words(struct making *making)
{
    const struct rp_compiler_command *command = making->command;

    for (size_t i = 0; command->argv[i]; i++) {
        if (command->portable && strcmp(command->argv[i], "-o") == 0 && command->argv[i + 1])
            i++;
        else
            add_text(making, command->argv[i]);
    }
    if (command->portable)
        return;
    add_text(making, making->folder);
    add_text(making, getenv("PWD") ? getenv("PWD")
                                   : ""); /* A compiler prefers it to the folder's other names. */
}

static int make_key(struct making *making, struct rp_err *err)
{
    const struct rp_compiler_command *command = making->command;
    int rc = 0;

    add_text(making, format);
    making->failed |= add_environment(making);
    add_words(making);
    add_compiler(making);
    add_links(making);
    add_overlay(making);
    if (!making->failed && command->host)
        rc = preprocess(making, NULL, err);
    for (size_t i = 0; rc == 0 && !making->failed && command->device && i < command->arch_count;
         i++)
        rc = preprocess(making, command->archs[i], err);
    return rc;
}

int rp_compiler_key(const struct rp_environment *env, const struct rp_proc *proc,
                    const struct rp_compiler_command *command, struct rp_compiler_key *ret,
                    struct rp_err *err)
{
    struct rp_compiler_key key = {0};
    struct making making = {.env = env, .proc = proc, .command = command, .key = &key};
    rp_autofree char *here = rp_path_absolute(".");
    int rc = 0;

    making.hash = XXH3_createState();
    making.folder = rp_strdup(command->directory ? command->directory
                              : proc->directory  ? proc->directory
                              : here             ? here
                                                 : "");
    if (!making.hash || !making.folder || !*making.folder) {
        making.failed = true;
    } else {
        XXH3_128bits_reset(making.hash);
        rc = make_key(&making, err);
    }
    if (rc == 0 && !making.failed) {
        const XXH128_hash_t hash = XXH3_128bits_digest(making.hash);

        snprintf(key.text, sizeof key.text, "%016llx%016llx", (unsigned long long)hash.high64,
                 (unsigned long long)hash.low64);
        *ret = key;
    } else {
        rp_compiler_key_free(&key);
    }
    XXH3_freeState(making.hash);
    free(making.folder);
    return rc < 0 ? rc : !making.failed;
}

bool rp_compiler_key_is_current(const struct rp_compiler_key *key)
{
    for (size_t i = 0; i < key->files.count; i++) {
        const struct stat *old = &key->files.items[i].st;
        struct stat st;

        if (stat(key->files.items[i].path, &st) != 0 || st.st_ino != old->st_ino ||
            st.st_size != old->st_size || st.st_ctim.tv_sec != old->st_ctim.tv_sec ||
            st.st_ctim.tv_nsec != old->st_ctim.tv_nsec)
            return false;
    }
    return true;
}
