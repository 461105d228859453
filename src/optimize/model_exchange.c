#include "optimize/model_exchange.h"

#include <dlfcn.h>
#include <jansson.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* Checks of types come with macros that call functions by name, and PROTOCOLS is what is left
 * before 7.85. */
#define CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "base/utf8.h"
#include "optimize/propose.h"
#include "optimize/source_text.h"

enum {
    UNAUTHORIZED = 401,
    FORBIDDEN = 403,
    NOT_FOUND = 404,
    TOO_MANY_REQUESTS = 429,
    NOT_IMPLEMENTED = 501,
    VERSION_NOT_SUPPORTED = 505,
};

/** The server has too many requests, or a fault of its own. */
static bool http_status_is_temporary(long status)
{
    return status == TOO_MANY_REQUESTS ||
           (status >= 500 && status != NOT_IMPLEMENTED && status != VERSION_NOT_SUPPORTED);
}

/* Shows scheme, host and path only, because a query may hold secrets. */
static int redirected(const struct rp_llm_settings *s, const char *location, struct rp_err *err)
{
    char where[200];

    rp_completion_error_text(location, strcspn(location, "?#"), where, sizeof where);
    if (strchr(where, '@'))
        snprintf(where, sizeof where, "another address");
    return rp_fail(err, RP_ENVIRONMENT,
                   "%s redirects to %s; redirects are not followed: put the final address into "
                   "the settings (%s)",
                   s->base_url, where, s->origin);
}

static const char *remedy(const struct rp_llm_settings *s, long status)
{
    if (status == UNAUTHORIZED || status == FORBIDDEN)
        return s->api_key ? "; is the key right for this server?" : "; it may want a key";
    if (status == NOT_FOUND)
        return "; are the address (it mostly ends in /v1) and the model's name right?";
    return "";
}

/**
 * @param body of the answer
 * @param location of a redirect, or NULL
 * @return RP_ENVIRONMENT with a message that names the remedy
 */
static int http_status_fail(const struct rp_llm_settings *s, struct rp_exchange *x,
                            const char *body, size_t bytes, const char *location,
                            struct rp_err *err)
{
    char text[300];

    if (location && x->http_status >= 300 && x->http_status <= 399)
        return redirected(s, location, err);
    rp_completion_error_text(body, bytes, text, sizeof text);
    x->wants_completion_tokens =
        x->http_status == 400 && strstr(text, "max_completion_tokens") != NULL;
    return rp_fail(err, RP_ENVIRONMENT, "%s: HTTP status %ld%s%s%s", s->base_url, x->http_status,
                   *text ? ": " : "", text, remedy(s, x->http_status));
}

/* --- libcurl -------------------------------------------------------------------------------- */

/* It is loaded, not linked, because distributions have it under three names, and most machines that
 * profile ask no model server. RHEL 8 has the oldest that counts, 7.61; headers may be as old. */
#if LIBCURL_VERSION_NUM < 0x074200
#define CURLINFO_RETRY_AFTER ((CURLINFO)(CURLINFO_OFF_T + 57))
#endif
#if LIBCURL_VERSION_NUM < 0x075500
#define CURLOPT_PROTOCOLS_STR ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 318))
#endif

#define EACH_FUNCTION(F)                                                                           \
    F(global_init)                                                                                 \
    F(global_cleanup)                                                                              \
    F(easy_init)                                                                                   \
    F(easy_cleanup)                                                                                \
    F(easy_setopt)                                                                                 \
    F(easy_getinfo)                                                                                \
    F(easy_strerror)                                                                               \
    F(multi_init)                                                                                  \
    F(multi_cleanup)                                                                               \
    F(multi_add_handle)                                                                            \
    F(multi_remove_handle)                                                                         \
    F(multi_perform)                                                                               \
    F(multi_info_read)                                                                             \
    F(multi_wait)                                                                                  \
    F(multi_strerror)                                                                              \
    F(slist_append)                                                                                \
    F(slist_free_all)

struct rp_http {
#define MEMBER(name) __typeof__(curl_##name) *name;
    EACH_FUNCTION(MEMBER)
#undef MEMBER
};

static void *load_library(void)
{
    /* The last two are Debian's and older Red Hat's builds with other encryption. */
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
    void *library = NULL;

    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* @return the name of a function that is missing; NULL: none is */
static const char *find_functions(void *library, struct rp_http *http)
{
#define FIND(name)                                                                                 \
    if (!(http->name = (__typeof__(http->name))dlsym(library, "curl_" #name)))                     \
        return "curl_" #name;
    EACH_FUNCTION(FIND)
#undef FIND
    return NULL;
}

int rp_http_open(struct rp_http **ret, struct rp_err *err)
{
    rp_autofree struct rp_http *http = rp_new(struct rp_http);
    void *library = load_library(); /* It stays: what it links leaves functions for the exit. */
    const char *missing = library ? find_functions(library, http) : NULL;

    if (!library)
        return rp_fail(err, RP_ENVIRONMENT,
                       "a model server is asked through libcurl, which is not installed here; "
                       "install libcurl4 (Debian, Ubuntu, SLES) or libcurl (Red Hat)");
    if (missing)
        return rp_fail(err, RP_ENVIRONMENT,
                       "the libcurl of this machine has no %s; install libcurl 7.61 or later",
                       missing);
    if (http->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return rp_fail(err, RP_ENVIRONMENT, "the HTTP library does not start (out of memory?)");
    *ret = rp_steal(http);
    return 0;
}

void rp_http_close(struct rp_http *http)
{
    if (http)
        http->global_cleanup();
    free(http);
}

static const int64_t NS_PER_S = 1000000000, NS_PER_MS = 1000000;
enum {
    POLL_MS = 100, /**< how soon an interrupt is noticed */
    /* A piece of a stream is one token in some 300 bytes of JSON, so there is room for 100 000
     * tokens. */
    MAX_RECEIVED_BYTES = 32 << 20,
    MAX_WHOLE_BYTES = 8 << 20,
    /* This limits status lines, headers, those of "100 Continue", and trailers together: libcurl
     * keeps trailers without a bound of its own, and 300 KiB of headers. */
    MAX_HEADER_BYTES = 256 << 10,
    /* This limits all that comes through the sockets, also what is not passed to any function of
     * ours: the extensions of chunks, the encryption's own records and the frames of HTTP/2. */
    MAX_WIRE_BYTES = 2 * MAX_RECEIVED_BYTES,
    MOST_SOCKETS = 8, /**< libcurl tries two addresses at a time */
};

enum body_kind { UNDECIDED, EVENTS, WHOLE, REFUSAL };

struct receiving {
    struct rp_exchange *exchange;
    const struct rp_http *http;
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    enum body_kind kind;
    struct rp_sse sse;
    struct rp_buf body;
    size_t header_bytes;
    curl_socket_t sockets[MOST_SOCKETS]; /**< the first socket_count are open */
    size_t socket_count;
    uint64_t closed_bytes; /**< received through sockets that are closed now */
    int64_t last_ns;       /**< when anything went either way */
    bool failed;           /**< err says why */
    bool complete;         /**< nothing more is wanted */
    struct rp_err err;
};

static void cleanup_receiving(struct receiving *r)
{
    rp_sse_free(&r->sse);
    rp_buf_free(&r->body);
    r->http->easy_cleanup(r->easy); /* before its headers and what it belonged to */
    r->http->multi_cleanup(r->multi);
    r->http->slist_free_all(r->headers);
}

/* The server chooses: some stream without being asked, some cannot. */
static enum body_kind kind_of_body(const struct receiving *r, const char *bytes, size_t count)
{
    const char *type = NULL;
    long status = 0;
    size_t i = 0;

    r->http->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
    r->http->easy_getinfo(r->easy, CURLINFO_CONTENT_TYPE, &type);
    if (status < 200 || status > 299)
        return REFUSAL;
    if (type && strncasecmp(type, "text/event-stream", 17) == 0)
        return EVENTS;
    if (type && strncasecmp(type, "application/json", 16) == 0)
        return WHOLE;
    while (i < count && strchr(" \t\r\n", bytes[i]))
        i++;
    if (count - i >= 5 && memcmp(bytes + i, "data:", 5) == 0)
        return EVENTS;
    return WHOLE;
}

static int take_body(struct receiving *r, const char *bytes, size_t count)
{
    size_t most = r->kind == REFUSAL ? 16 << 10 : MAX_WHOLE_BYTES;

    if (r->kind == EVENTS) {
        if (rp_sse_feed(&r->sse, bytes, count, &r->err) < 0)
            return -1;
        r->complete = r->exchange->completion.done;
        return 0;
    }
    if (r->body.len + count > most && r->kind == REFUSAL) {
        r->complete = true; /* The message needs no more of it. */
        return 0;
    }
    if (r->body.len + count > most)
        return rp_fail(&r->err, RP_VERDICT, "the model server's answer is larger than %d bytes",
                       MAX_WHOLE_BYTES);
    rp_buf_add(&r->body, bytes, count);
    return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct receiving *r = context;

    count *= size;
    r->last_ns = rp_now_ns();
    r->exchange->received_bytes += count;
    if (r->kind == UNDECIDED)
        r->kind = kind_of_body(r, bytes, count);
    if (r->exchange->received_bytes > MAX_RECEIVED_BYTES) {
        rp_fail(&r->err, RP_VERDICT, "the model server sent more than %d bytes",
                MAX_RECEIVED_BYTES);
        r->failed = true;
    } else {
        r->failed = take_body(r, bytes, count) < 0;
    }
    /* libcurl ends the transfer when this is fewer than count. */
    return r->failed || r->complete ? 0 : count;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
    struct receiving *r = context;

    (void)bytes;
    count *= size;
    r->last_ns = rp_now_ns();
    r->header_bytes += count;
    if (r->header_bytes <= MAX_HEADER_BYTES)
        return count;
    rp_fail(&r->err, RP_VERDICT, "the model server sent more than %d bytes of headers and trailers",
            MAX_HEADER_BYTES);
    r->failed = true;
    return 0; /* libcurl ends the transfer when this is fewer than count. */
}

/* --- bytes on the wire ---------------------------------------------------------------------- */

/* Returns 0 where the system does not count them; then only the time limits end the transfer. */
static uint64_t wire_bytes_of(curl_socket_t fd)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 ? info.tcpi_bytes_received : 0;
}

static int on_socket(void *context, curl_socket_t fd, curlsocktype purpose)
{
    struct receiving *r = context;

    (void)purpose;
    if (r->socket_count == MOST_SOCKETS)
        return CURL_SOCKOPT_ERROR;
    r->sockets[r->socket_count++] = fd;
    return CURL_SOCKOPT_OK;
}

static int on_socket_close(void *context, curl_socket_t fd)
{
    struct receiving *r = context;

    for (size_t i = 0; i < r->socket_count; i++)
        if (r->sockets[i] == fd) {
            r->closed_bytes += wire_bytes_of(fd);
            r->sockets[i] = r->sockets[--r->socket_count];
            break;
        }
    return close(fd);
}

static int check_wire(const struct receiving *r, struct rp_err *err)
{
    uint64_t bytes = r->closed_bytes;

    for (size_t i = 0; i < r->socket_count; i++)
        bytes += wire_bytes_of(r->sockets[i]);
    return bytes <= MAX_WIRE_BYTES
               ? 0
               : rp_fail(err, RP_VERDICT, "the model server sent more than %d bytes for one answer",
                         MAX_WIRE_BYTES);
}

/* --- the request ---------------------------------------------------------------------------- */

static struct curl_slist *make_headers(const struct rp_http *http)
{
    static const char *const lines[] = {
        "Content-Type: application/json", "Accept: text/event-stream, application/json",
        "Expect:", /* Small servers do not know 100-continue. */
    };
    struct curl_slist *list = NULL;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct curl_slist *longer = http->slist_append(list, lines[i]);

        if (!longer) {
            http->slist_free_all(list);
            return NULL;
        }
        list = longer;
    }
    return list;
}

static void set_security(const struct receiving *r, const struct rp_llm_settings *s)
{
    __typeof__(r->http->easy_setopt) set = r->http->easy_setopt;

    if (set(r->easy, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK)
        set(r->easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    set(r->easy, CURLOPT_FOLLOWLOCATION, 0L);
    set(r->easy, CURLOPT_SSL_VERIFYPEER, 1L);
    set(r->easy, CURLOPT_SSL_VERIFYHOST, 2L);
    set(r->easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    if (s->ca_file)
        set(r->easy, CURLOPT_CAINFO, s->ca_file);
    if (s->loopback) /* A proxy would carry the key off this machine. */
        set(r->easy, CURLOPT_NOPROXY, "*");
    if (s->api_key) { /* libcurl gives the key to this host only. */
        set(r->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        set(r->easy, CURLOPT_XOAUTH2_BEARER, s->api_key);
    }
}

static void set_request(struct receiving *r, const struct rp_llm_settings *s, const char *url,
                        const char *body, size_t bytes)
{
    __typeof__(r->http->easy_setopt) set = r->http->easy_setopt;

    set(r->easy, CURLOPT_NOSIGNAL, 1L);
    set(r->easy, CURLOPT_URL, url);
    set(r->easy, CURLOPT_USERAGENT, "rocm-perf-lab");
    set(r->easy, CURLOPT_HTTPHEADER, r->headers);
    set(r->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
    set(r->easy, CURLOPT_POSTFIELDS, body);
    set(r->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(s->connect_timeout_ns / NS_PER_MS));
    set(r->easy, CURLOPT_WRITEFUNCTION, on_body);
    set(r->easy, CURLOPT_WRITEDATA, r);
    set(r->easy, CURLOPT_HEADERFUNCTION, on_header);
    set(r->easy, CURLOPT_HEADERDATA, r);
    set(r->easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    set(r->easy, CURLOPT_SOCKOPTDATA, r);
    set(r->easy, CURLOPT_CLOSESOCKETFUNCTION, on_socket_close);
    set(r->easy, CURLOPT_CLOSESOCKETDATA, r);
}

/* Returns 0 while the transfer may go on. */
static int check_time(const struct rp_llm_settings *s, const struct receiving *r, int64_t begin_ns,
                      struct rp_err *err)
{
    int64_t now_ns = rp_now_ns();

    if (rp_proc_interrupted(err) < 0)
        return -(int)err->code;
    if (now_ns - begin_ns > s->total_timeout_ns)
        return rp_fail(err, RP_ENVIRONMENT,
                       "the model server did not end its answer within %.15g s; total_timeout_s "
                       "in the settings' file allows more",
                       (double)s->total_timeout_ns / 1e9);
    if (now_ns - r->last_ns > s->idle_timeout_ns)
        return rp_fail(err, RP_ENVIRONMENT,
                       "the model server sent nothing for %.15g s; idle_timeout_s in the "
                       "settings' file allows more",
                       (double)s->idle_timeout_ns / 1e9);
    return 0;
}

/* Older libcurls return at once while a name is looked up, when there is nothing to wait for. */
static void wait_for_bytes(const struct receiving *r)
{
    enum { PAUSE_US = 10000 };
    int sockets = 0;

    r->http->multi_wait(r->multi, NULL, 0, POLL_MS, &sockets);
    if (sockets == 0)
        usleep(PAUSE_US);
}

static int drive(const struct rp_llm_settings *s, struct receiving *r, CURLcode *ret_result,
                 struct rp_err *err)
{
    int64_t begin_ns = rp_now_ns();
    curl_off_t sent = 0;
    int running = 1, left;

    r->last_ns = begin_ns;
    for (;;) {
        curl_off_t sent_now = 0;
        CURLMcode rc = r->http->multi_perform(r->multi, &running);
        const CURLMsg *message;

        if (rc == CURLM_OK && !running && (message = r->http->multi_info_read(r->multi, &left))) {
            *ret_result = message->data.result;
            return 0;
        }
        if (rc != CURLM_OK || !running)
            return rp_fail(err, RP_ENVIRONMENT, "HTTP: %s", r->http->multi_strerror(rc));
        r->http->easy_getinfo(r->easy, CURLINFO_SIZE_UPLOAD_T, &sent_now);
        if (sent_now != sent)
            r->last_ns = rp_now_ns();
        sent = sent_now;
        if (check_wire(r, err) < 0 || check_time(s, r, begin_ns, err) < 0)
            return -(int)err->code;
        wait_for_bytes(r);
    }
}

/* A server that breaks off in the middle may do better the next time. A server that cannot be
 * reached will not. */
static bool is_temporary(CURLcode result)
{
    return result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR ||
           result == CURLE_GOT_NOTHING || result == CURLE_PARTIAL_FILE || result == CURLE_HTTP2 ||
           result == CURLE_HTTP2_STREAM;
}

static int transport_failed(const struct rp_llm_settings *s, const struct receiving *r,
                            CURLcode result, struct rp_err *err)
{
    r->exchange->temporary = is_temporary(result);
    if (result == CURLE_COULDNT_CONNECT)
        return rp_fail(err, RP_ENVIRONMENT,
                       "nothing answers at %s; is the model server running? (address from %s)",
                       s->base_url, s->origin);
    if (result == CURLE_OPERATION_TIMEDOUT)
        return rp_fail(err, RP_ENVIRONMENT, "no connection to %s within %.15g s", s->base_url,
                       (double)s->connect_timeout_ns / 1e9);
    if (result == CURLE_PEER_FAILED_VERIFICATION)
        return rp_fail(err, RP_ENVIRONMENT,
                       "the certificate of %s cannot be trusted; \"ca_file\" in the settings' "
                       "file names one that is to be",
                       s->base_url);
    return rp_fail(err, RP_ENVIRONMENT, "%s: %s", s->base_url, r->http->easy_strerror(result));
}

/* All bytes have arrived, so they are judged. */
static int conclude(const struct rp_llm_settings *s, struct receiving *r, struct rp_err *err)
{
    struct rp_exchange *x = r->exchange;
    const char *where = NULL, *type = NULL;
    curl_off_t wait_s = 0;

    if (x->http_status < 200 || x->http_status > 299) {
        r->http->easy_getinfo(r->easy, CURLINFO_REDIRECT_URL, &where);
        r->http->easy_getinfo(r->easy, CURLINFO_RETRY_AFTER, &wait_s);
        x->retry_after_known = wait_s > 0;
        x->retry_after_ns = wait_s > INT64_MAX / NS_PER_S ? INT64_MAX : (int64_t)wait_s * NS_PER_S;
        x->temporary = http_status_is_temporary(x->http_status);
        return http_status_fail(s, x, rp_buf_text(&r->body), r->body.len, where, err);
    }
    r->http->easy_getinfo(r->easy, CURLINFO_CONTENT_TYPE, &type);
    if (r->kind == WHOLE && type && strncasecmp(type, "text/html", 9) == 0)
        return rp_fail(err, RP_ENVIRONMENT,
                       "%s answers with a web page; is the address right (it mostly ends in "
                       "/v1)?",
                       s->base_url);
    if (r->kind == WHOLE)
        return rp_completion_whole(&x->completion, rp_buf_text(&r->body), r->body.len, err);
    if (rp_sse_end(&r->sse, err) < 0)
        return -(int)err->code;
    if (!x->completion.done && x->completion.finish == RP_FINISH_NONE) {
        x->temporary = true;
        return rp_fail(err, RP_ENVIRONMENT, "%s broke off in the middle of its answer",
                       s->base_url);
    }
    return 0;
}

static int perform(const struct rp_llm_settings *s, struct receiving *r, struct rp_err *err)
{
    CURLcode result = CURLE_OK;
    int rc;

    if (r->http->multi_add_handle(r->multi, r->easy) != CURLM_OK)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = drive(s, r, &result, err);
    r->http->easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &r->exchange->http_status);
    r->http->multi_remove_handle(r->multi, r->easy);
    if (rc < 0)
        return rc;
    if (r->failed)
        return rp_fail(err, r->err.code, "%s", r->err.text);
    if (result != CURLE_OK && !r->complete)
        return transport_failed(s, r, result, err);
    return conclude(s, r, err);
}

int rp_llm_exchange(const struct rp_http *http, const struct rp_llm_settings *s, const char *body,
                    size_t bytes, struct rp_exchange *exchange, struct rp_err *err)
{
    rp_autofree char *url = rp_format("%s/chat/completions", s->base_url);
    rp_cleanup(cleanup_receiving) struct receiving r = {.exchange = exchange,
                                                        .http = http,
                                                        .easy = http->easy_init(),
                                                        .multi = http->multi_init(),
                                                        .headers = make_headers(http)};

    if (!r.easy || !r.multi || !r.headers)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    r.sse.event = rp_completion_event;
    r.sse.context = &exchange->completion;
    set_security(&r, s);
    set_request(&r, s, url, body, bytes);
    return perform(s, &r, err);
}

enum {
    RP_COMPLETION_MAX_TEXT_BYTES = 1 << 20, /**< of an answer; a kernel is some thousand */
};

static void cleanup_json(json_t **slot)
{
    json_decref(*slot);
}

/* A server's text in one of our lines must have no line feeds, and no escape sequences for the
 * terminal. */
static void one_line(const char *text, size_t bytes, char *ret, size_t capacity)
{
    rp_autobuf clean = {0};
    size_t room = capacity - 1;

    if (bytes > 4 * capacity)
        bytes = 4 * capacity;
    rp_buf_add_model_text(&clean, text, bytes);
    for (size_t i = 0; i < clean.len; i++)
        if (clean.data[i] == '\n' || clean.data[i] == '\t')
            clean.data[i] = ' ';
    if (room > clean.len)
        room = clean.len;
    while (room > 0 && room < clean.len && ((unsigned char)clean.data[room] & 0xC0) == 0x80)
        room--; /* A character must not be cut in half. */
    memcpy(ret, rp_buf_text(&clean), room);
    ret[room] = '\0';
}

/* {"error": {"message": ...}}, {"error": "..."} and {"message": ...} are all in use. */
static const json_t *error_message(const json_t *root)
{
    const json_t *error = json_object_get(root, "error");
    const json_t *inner = json_object_get(error, "message");

    if (json_is_string(inner))
        return inner;
    if (json_is_string(error))
        return error;
    return error && !json_is_null(error) ? error : NULL;
}

void rp_completion_error_text(const char *body, size_t bytes, char *ret, size_t capacity)
{
    rp_cleanup(cleanup_json) json_t *root = json_loadb(body, bytes, JSON_ALLOW_NUL, NULL);
    const json_t *message = error_message(root);

    if (!message)
        message = json_object_get(root, "message");
    if (json_is_string(message))
        one_line(json_string_value(message), json_string_length(message), ret, capacity);
    else
        one_line(body, root ? 0 : bytes, ret, capacity);
}

static int server_failed(const json_t *message, struct rp_err *err)
{
    char text[200] = "";

    if (json_is_string(message))
        one_line(json_string_value(message), json_string_length(message), text, sizeof text);
    return rp_fail(err, RP_ENVIRONMENT, "the model server reports an error%s%s", *text ? ": " : "",
                   text);
}

static void take_usage(struct rp_completion *c, const json_t *root)
{
    const json_t *usage = json_object_get(root, "usage");
    json_int_t prompt = json_integer_value(json_object_get(usage, "prompt_tokens"));
    json_int_t answer = json_integer_value(json_object_get(usage, "completion_tokens"));

    if (prompt < 0 || answer < 0 || (prompt == 0 && answer == 0))
        return;
    c->usage_known = true;
    c->prompt_tokens = (uint64_t)prompt;
    c->answer_tokens = (uint64_t)answer;
}

static void take_finish(struct rp_completion *c, const json_t *choice)
{
    const char *word = json_string_value(json_object_get(choice, "finish_reason"));

    if (!word)
        return;
    one_line(word, strlen(word), c->finish_word, sizeof c->finish_word);
    if (strcmp(word, "stop") == 0)
        c->finish = RP_FINISH_STOP;
    else if (strcmp(word, "length") == 0)
        c->finish = RP_FINISH_LENGTH;
    else
        c->finish = RP_FINISH_OTHER;
}

static int take_text(struct rp_completion *c, const json_t *message, struct rp_err *err)
{
    const json_t *content = json_object_get(message, "content");
    size_t bytes = json_string_length(content);

    if (json_is_string(json_object_get(message, "refusal")))
        c->refused = true;
    if (!content || json_is_null(content))
        return 0;
    if (!json_is_string(content))
        return rp_fail(err, RP_VERDICT, "the content of the model's message is not a text");
    if (c->text.len + bytes > RP_COMPLETION_MAX_TEXT_BYTES)
        return rp_fail(err, RP_VERDICT, "the answer is larger than %d bytes",
                       RP_COMPLETION_MAX_TEXT_BYTES);
    rp_buf_add(&c->text, json_string_value(content), bytes);
    return 0;
}

/* jansson's own text quotes the answer, so the message only says where the fault is. */
static int not_json(const char *text, size_t bytes, const json_error_t *where, struct rp_err *err)
{
    for (size_t at = 0, length; at < bytes; at += length)
        if ((length = rp_utf8_length(text + at, bytes - at)) == 0)
            return rp_fail(err, RP_VERDICT, "the model server's answer is not UTF-8 at byte %zu",
                           at);
    return rp_fail(err, RP_VERDICT, "the model server's answer is not JSON at byte %d",
                   where->position);
}

/* Only the first choice was asked for. The last event of a stream has no choice, only the usage. */
static int take(struct rp_completion *c, const char *json, size_t bytes, const char *member,
                bool *ret_message, struct rp_err *err)
{
    json_error_t where;
    rp_cleanup(cleanup_json) json_t *root = json_loadb(json, bytes, JSON_ALLOW_NUL, &where);
    const json_t *choices, *choice;
    size_t i;

    *ret_message = false;
    if (!root)
        return not_json(json, bytes, &where, err);
    if (error_message(root))
        return server_failed(error_message(root), err);
    choices = json_object_get(root, "choices");
    if (!json_is_array(choices) && !json_object_get(root, "usage"))
        return rp_fail(err, RP_ENVIRONMENT,
                       "the model server's answer is not a chat completion; is the address right "
                       "(it mostly ends in /v1)?");
    take_usage(c, root);
    json_array_foreach(choices, i, choice)
    {
        if (json_integer_value(json_object_get(choice, "index")) != 0)
            continue;
        take_finish(c, choice);
        *ret_message = json_is_object(json_object_get(choice, member));
        return take_text(c, json_object_get(choice, member), err);
    }
    return 0;
}

int rp_completion_whole(struct rp_completion *c, const char *json, size_t bytes, struct rp_err *err)
{
    bool message;

    if (take(c, json, bytes, "message", &message, err) < 0)
        return -(int)err->code;
    if (!message)
        return rp_fail(err, RP_VERDICT, "the model server's answer holds no message");
    c->done = true;
    return 0;
}

int rp_completion_event(void *context, const char *data, size_t bytes, struct rp_err *err)
{
    struct rp_completion *c = context;
    bool message;

    if (bytes == 6 && memcmp(data, "[DONE]", 6) == 0) {
        c->done = true;
        return 0;
    }
    if (c->done || bytes == 0)
        return 0; /* Text behind the end is no part of the answer. */
    return take(c, data, bytes, "delta", &message, err);
}

/* This limits one event. One piece of an answer takes some hundred bytes. */
enum { MAX_EVENT_BYTES = 8 << 20 };

static int too_large(struct rp_err *err)
{
    return rp_fail(err, RP_VERDICT, "an event is larger than %d bytes", MAX_EVENT_BYTES);
}

static void empty(struct rp_buf *buf)
{
    buf->len = 0;
    if (buf->data)
        buf->data[0] = '\0';
}

static int dispatch(struct rp_sse *sse, struct rp_err *err)
{
    int rc = 0;

    if (sse->has_data)
        rc = sse->event(sse->context, rp_buf_text(&sse->data), sse->data.len, err);
    sse->has_data = false;
    empty(&sse->data);
    return rc;
}

/* Only "data" matters here; event names, ids and retry times do not. */
static int field(struct rp_sse *sse, const char *line, size_t bytes, struct rp_err *err)
{
    size_t name_bytes = strcspn(line, ":"), skip;

    if (name_bytes > bytes)
        name_bytes = bytes;
    if (name_bytes != 4 || memcmp(line, "data", 4) != 0)
        return 0;
    skip = name_bytes + (bytes > name_bytes); /* The colon and one space behind it are skipped. */
    if (skip > name_bytes && bytes > skip && line[skip] == ' ')
        skip++;
    if (sse->data.len + (bytes - skip) >= MAX_EVENT_BYTES)
        return too_large(err);
    if (sse->has_data)
        rp_buf_add(&sse->data, "\n", 1);
    sse->has_data = true;
    rp_buf_add(&sse->data, line + skip, bytes - skip);
    return 0;
}

static int end_of_line(struct rp_sse *sse, struct rp_err *err)
{
    const char *line = rp_buf_text(&sse->line);
    size_t bytes = sse->line.len;
    int rc;

    if (!sse->begun && bytes >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0) {
        line += 3;
        bytes -= 3;
    }
    sse->begun = true;
    rc = bytes == 0 ? dispatch(sse, err) : field(sse, line, bytes, err);
    empty(&sse->line);
    return rc;
}

int rp_sse_feed(struct rp_sse *sse, const char *bytes, size_t count, struct rp_err *err)
{
    size_t begin = 0;

    if (count > 0 && sse->after_return && bytes[0] == '\n')
        begin = 1;
    while (begin < count) {
        size_t end = begin;

        while (end < count && bytes[end] != '\n' && bytes[end] != '\r')
            end++;
        if (sse->line.len + (end - begin) >= MAX_EVENT_BYTES)
            return too_large(err);
        rp_buf_add(&sse->line, bytes + begin, end - begin);
        if (end == count)
            break;
        if (end_of_line(sse, err) < 0)
            return -(int)err->code;
        begin = end + 1;
        if (bytes[end] == '\r' && begin < count && bytes[begin] == '\n')
            begin++;
    }
    if (count > 0)
        sse->after_return = bytes[count - 1] == '\r';
    return 0;
}

int rp_sse_end(struct rp_sse *sse, struct rp_err *err)
{
    if (sse->line.len > 0 && end_of_line(sse, err) < 0)
        return -(int)err->code;
    return dispatch(sse, err);
}

void rp_sse_free(struct rp_sse *sse)
{
    rp_buf_free(&sse->line);
    rp_buf_free(&sse->data);
}
