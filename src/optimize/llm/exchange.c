#include "optimize/llm/exchange.h"

#include <curl/curl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/path.h"
#include "base/process.h"
#include "optimize/llm/http_status.h"
#include "optimize/llm/settings.h"
#include "optimize/llm/sse.h"

static const int64_t NS_PER_S = 1000000000, NS_PER_MS = 1000000;
enum {
    POLL_MS = 100, /* how soon an interrupt is seen */
    /* A piece of a stream is one token in some 300 bytes of JSON: room for 100 000 tokens. */
    MAX_RECEIVED_BYTES = 32 << 20,
    MAX_WHOLE_BYTES = 8 << 20,
    /* Status lines, headers, those of "100 Continue", and trailers, together: libcurl keeps
     * trailers without a bound of its own, and 300 KiB of headers. */
    MAX_HEADER_BYTES = 256 << 10,
    /* All that comes through the sockets: also what no function of ours is called for, as the
     * extensions of chunks, the encryption's own records and the frames of HTTP/2. */
    MAX_WIRE_BYTES = 2 * MAX_RECEIVED_BYTES,
    MOST_SOCKETS = 8, /* libcurl tries two addresses at a time */
};

enum body_kind { UNDECIDED, EVENTS, WHOLE, REFUSAL };

struct receiving {
    struct rp_exchange *exchange;
    CURL *easy;
    enum body_kind kind;
    struct rp_sse sse;
    struct rp_buf body;
    size_t header_bytes;
    curl_socket_t sockets[MOST_SOCKETS]; /* the first socket_count are open */
    size_t socket_count;
    uint64_t closed_bytes; /* that came through sockets which are closed again */
    int64_t last_ns;       /* when anything went either way */
    bool failed;           /* err says why */
    bool complete;         /* nothing more is wanted */
    struct rp_err err;
};

static int64_t monotonic_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

void rp_exchange_free(struct rp_exchange *exchange)
{
    rp_completion_free(&exchange->completion);
}

static void cleanup_easy(CURL **slot)
{
    curl_easy_cleanup(*slot);
}

static void cleanup_multi(CURLM **slot)
{
    curl_multi_cleanup(*slot);
}

static void cleanup_list(struct curl_slist **slot)
{
    curl_slist_free_all(*slot);
}

static void cleanup_receiving(struct receiving *r)
{
    rp_sse_free(&r->sse);
    rp_buf_free(&r->body);
}

/* The server chooses: some stream without being asked, some cannot. */
static enum body_kind kind_of_body(CURL *easy, const char *bytes, size_t count)
{
    const char *type = NULL;
    long status = 0;
    size_t i = 0;

    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
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
        r->complete = true; /* enough of it for a message */
        return 0;
    }
    if (r->body.len + count > most)
        return rp_fail(&r->err, RP_VERDICT, "the model server's answer is larger than %d bytes",
                       MAX_WHOLE_BYTES);
    rp_buf_add(&r->body, bytes, count);
    return r->body.failed ? rp_fail(&r->err, RP_ENVIRONMENT, "out of memory") : 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct receiving *r = context;

    count *= size;
    r->last_ns = monotonic_ns();
    r->exchange->received_bytes += count;
    if (r->kind == UNDECIDED)
        r->kind = kind_of_body(r->easy, bytes, count);
    if (r->exchange->received_bytes > MAX_RECEIVED_BYTES) {
        rp_fail(&r->err, RP_VERDICT, "the model server sent more than %d bytes",
                MAX_RECEIVED_BYTES);
        r->failed = true;
    } else {
        r->failed = take_body(r, bytes, count) < 0;
    }
    return r->failed || r->complete ? 0 : count; /* fewer than count: libcurl ends it */
}

static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
    struct receiving *r = context;

    (void)bytes;
    count *= size;
    r->last_ns = monotonic_ns();
    r->header_bytes += count;
    if (r->header_bytes <= MAX_HEADER_BYTES)
        return count;
    rp_fail(&r->err, RP_VERDICT, "the model server sent more than %d bytes of headers and trailers",
            MAX_HEADER_BYTES);
    r->failed = true;
    return 0; /* fewer than count: libcurl ends it */
}

/* --- bytes on the wire ---------------------------------------------------------------------- */

/* 0 where the system does not count them: then the time limits are what ends it. */
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

static struct curl_slist *make_headers(void)
{
    static const char *const lines[] = {
        "Content-Type: application/json", "Accept: text/event-stream, application/json",
        "Expect:", /* small servers do not know 100-continue */
    };
    struct curl_slist *list = NULL;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct curl_slist *longer = curl_slist_append(list, lines[i]);

        if (!longer) {
            curl_slist_free_all(list);
            return NULL;
        }
        list = longer;
    }
    return list;
}

static void set_security(CURL *easy, const struct rp_llm_settings *s)
{
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    if (s->ca_file)
        curl_easy_setopt(easy, CURLOPT_CAINFO, s->ca_file);
    if (s->loopback) /* a proxy would carry the key off this machine */
        curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    if (s->api_key) { /* libcurl gives it to this host only */
        curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
        curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, s->api_key);
    }
}

static void set_request(CURL *easy, const struct rp_llm_settings *s, const char *url,
                        const struct curl_slist *headers, const char *body, size_t bytes,
                        struct receiving *r)
{
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "rocm-perf-lab");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(s->connect_timeout_ns / NS_PER_MS));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, r);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, r);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_socket_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, r);
}

/* 0 while it may go on. */
static int check_time(const struct rp_llm_settings *s, const struct receiving *r, int64_t begin_ns,
                      struct rp_err *err)
{
    int64_t now_ns = monotonic_ns();

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

static int drive(CURLM *multi, const struct rp_llm_settings *s, struct receiving *r,
                 CURLcode *ret_result, struct rp_err *err)
{
    int64_t begin_ns = monotonic_ns();
    curl_off_t sent = 0;
    int running = 1, left;

    r->last_ns = begin_ns;
    for (;;) {
        curl_off_t sent_now = 0;
        CURLMcode rc = curl_multi_perform(multi, &running);
        const CURLMsg *message;

        if (rc == CURLM_OK && !running && (message = curl_multi_info_read(multi, &left))) {
            *ret_result = message->data.result;
            return 0;
        }
        if (rc != CURLM_OK || !running)
            return rp_fail(err, RP_ENVIRONMENT, "HTTP: %s", curl_multi_strerror(rc));
        curl_easy_getinfo(r->easy, CURLINFO_SIZE_UPLOAD_T, &sent_now);
        if (sent_now != sent)
            r->last_ns = monotonic_ns();
        sent = sent_now;
        if (check_wire(r, err) < 0 || check_time(s, r, begin_ns, err) < 0)
            return -(int)err->code;
        curl_multi_poll(multi, NULL, 0, POLL_MS, NULL);
    }
}

/* Whoever breaks off in the middle may do better the next time. Whom nobody hears will not. */
static bool is_temporary(CURLcode result)
{
    return result == CURLE_SEND_ERROR || result == CURLE_RECV_ERROR ||
           result == CURLE_GOT_NOTHING || result == CURLE_PARTIAL_FILE || result == CURLE_HTTP2 ||
           result == CURLE_HTTP2_STREAM;
}

static int transport_failed(const struct rp_llm_settings *s, CURLcode result, struct rp_exchange *x,
                            struct rp_err *err)
{
    x->temporary = is_temporary(result);
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
    return rp_fail(err, RP_ENVIRONMENT, "%s: %s", s->base_url, curl_easy_strerror(result));
}

/* All bytes are here: what do they say? */
static int conclude(const struct rp_llm_settings *s, struct receiving *r, struct rp_err *err)
{
    struct rp_exchange *x = r->exchange;
    const char *where = NULL, *type = NULL;
    curl_off_t wait_s = 0;

    if (x->http_status < 200 || x->http_status > 299) {
        curl_easy_getinfo(r->easy, CURLINFO_REDIRECT_URL, &where);
        curl_easy_getinfo(r->easy, CURLINFO_RETRY_AFTER, &wait_s);
        x->retry_after_known = wait_s > 0;
        x->retry_after_ns = wait_s > INT64_MAX / NS_PER_S ? INT64_MAX : (int64_t)wait_s * NS_PER_S;
        x->temporary = rp_http_status_is_temporary(x->http_status);
        return rp_http_status_fail(s, x, rp_buf_text(&r->body), r->body.len, where, err);
    }
    curl_easy_getinfo(r->easy, CURLINFO_CONTENT_TYPE, &type);
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
    rp_cleanup(cleanup_multi) CURLM *multi = curl_multi_init();
    CURLcode result = CURLE_OK;
    int rc;

    if (!multi || curl_multi_add_handle(multi, r->easy) != CURLM_OK)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    rc = drive(multi, s, r, &result, err);
    curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, &r->exchange->http_status);
    curl_multi_remove_handle(multi, r->easy);
    if (rc < 0)
        return rc;
    if (r->failed)
        return rp_fail(err, r->err.code, "%s", r->err.text);
    if (result != CURLE_OK && !r->complete)
        return transport_failed(s, result, r->exchange, err);
    return conclude(s, r, err);
}

int rp_llm_exchange(const struct rp_llm_settings *s, const char *body, size_t bytes,
                    struct rp_exchange *exchange, struct rp_err *err)
{
    rp_cleanup(cleanup_easy) CURL *easy = curl_easy_init();
    rp_cleanup(cleanup_list) struct curl_slist *headers = make_headers();
    rp_autofree char *url = rp_format("%s/chat/completions", s->base_url);
    rp_cleanup(cleanup_receiving) struct receiving r = {.exchange = exchange, .easy = easy};

    if (!easy || !headers || !url)
        return rp_fail(err, RP_ENVIRONMENT, "out of memory");
    r.sse.event = rp_completion_event;
    r.sse.context = &exchange->completion;
    set_security(easy, s);
    set_request(easy, s, url, headers, body, bytes, &r);
    return perform(s, &r, err);
}
