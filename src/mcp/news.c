#include "mcp/news.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "mcp/message.h"

long long rp_mcp_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000 + 1;
}

json_t *rp_mcp_news_tell(struct rp_mcp_news *news, const char *text, size_t bytes, long long now_ms)
{
    if (!news->token)
        return NULL;
    news->told_ms = now_ms;
    news->fresh = false;
    return rp_mcp_progress(news->token, ++news->steps, text, bytes);
}

/* The last line that is not empty; lines that a terminal would overwrite end in \r. */
static const char *last_line(const char *bytes, size_t count, size_t *ret_count)
{
    size_t begin;

    while (count && strchr("\r\n ", bytes[count - 1]))
        count--;
    for (begin = count; begin && bytes[begin - 1] != '\n' && bytes[begin - 1] != '\r';)
        begin--;
    *ret_count = count - begin;
    if (*ret_count > RP_MCP_MOST_PROGRESS_BYTES)
        *ret_count = RP_MCP_MOST_PROGRESS_BYTES;
    return bytes + begin;
}

static long long due_ms(const struct rp_mcp_news *news)
{
    return news->told_ms + (news->fresh ? RP_MCP_LEAST_MS : RP_MCP_SILENCE_MS);
}

json_t *rp_mcp_news_due(struct rp_mcp_news *news, const char *said, size_t bytes, long long now_ms)
{
    rp_autobuf text = {0};
    size_t line_bytes = 0;
    const char *line;

    if (!news->token || now_ms < due_ms(news))
        return NULL;
    line = last_line(said, bytes, &line_bytes);
    if (news->fresh && line_bytes)
        return rp_mcp_news_tell(news, line, line_bytes, now_ms);
    if (news->fresh) { /* an empty line only */
        news->fresh = false;
        return rp_mcp_news_due(news, said, bytes, now_ms);
    }
    if (news->begun_ms)
        rp_buf_printf(&text, "it still runs, after %lld s", (now_ms - news->begun_ms) / 1000);
    else
        rp_buf_puts(&text, "it still waits for the calls before");
    return rp_mcp_news_tell(news, rp_buf_text(&text), text.len, now_ms);
}

int rp_mcp_news_patience_ms(const struct rp_mcp_news *news, long long now_ms)
{
    const long long left_ms = due_ms(news) - now_ms;

    if (!news->token)
        return -1;
    return left_ms > 0 ? (int)left_ms : 0;
}
