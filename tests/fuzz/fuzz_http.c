/* The framing gate against itself and against llhttp. Input: four bytes that choose limits and splits, then what a
 * client sends. Three properties:
 * 1. the verdict on a message (code, or where its head and body end) does not depend on how the bytes were split;
 * 2. what the gate accepts, llhttp in strict mode accepts, with the same length, coding and end;
 * 3. an accepted message begins exactly once and ends exactly once. */
#include <llhttp.h>

#include "server/http/framing.h"
#include "tests/fuzz/fuzz.h"

_Static_assert(LLHTTP_STRICT_MODE == 1, "llhttp must be compiled in strict mode");

#define REQUIRE(condition) require(condition, #condition)

struct verdict {
    enum framing_progress progress;
    int code;
    size_t skipped;
    size_t head_end; /* 0: not reached */
    size_t end;      /* of the message; 0: not reached */
    struct framing framing;
};

/* How many bytes the next read brings. */
struct splitter {
    uint32_t state;
    unsigned kind; /* 0: all at once, 1: one by one, else pseudo-random up to kind */
};

static size_t next_piece(struct splitter *splitter, size_t left) {
    size_t piece = left;
    if (splitter->kind == 1) {
        piece = 1;
    } else if (splitter->kind > 1) {
        splitter->state = splitter->state * 1664525 + 1013904223;
        piece = 1 + (splitter->state >> 16) % splitter->kind;
    }
    return piece < left ? piece : left;
}

/* Each read lies in memory of its own, so that a read beyond it is noticed. */
static char *copy(const char *bytes, size_t size) {
    char *own = malloc(size);
    REQUIRE(own || size == 0);
    if (size > 0)
        memcpy(own, bytes, size);
    return own;
}

static void run_body(struct verdict *verdict, const char *bytes, size_t size, size_t seen, uint64_t max_body_bytes,
                     struct splitter splitter) {
    struct framing_chunks chunks;
    struct framing_fault fault = {0};
    framing_chunks_init(&chunks);
    size_t at = verdict->head_end;
    verdict->progress = FRAMING_MORE;
    while (at < size && verdict->progress == FRAMING_MORE) {
        size_t piece = seen > at ? seen - at : next_piece(&splitter, size - at), end = 0;
        char *own = copy(bytes + at, piece);
        verdict->progress = framing_chunks_scan(&chunks, own, piece, max_body_bytes, &end, &fault);
        free(own);
        verdict->end = verdict->progress == FRAMING_COMPLETE ? at + end : 0;
        at += piece;
    }
    verdict->code = fault.code;
}

/* What a connection does with the gate. */
static struct verdict run_gate(const char *bytes, size_t size, const struct framing_limits *limits,
                               uint64_t max_body_bytes, struct splitter splitter) {
    struct verdict verdict = {.progress = FRAMING_MORE};
    struct framing_fault fault = {0};
    size_t seen = 0, from = 0;
    while (seen < size && verdict.progress == FRAMING_MORE) {
        seen += next_piece(&splitter, size - seen);
        if (verdict.skipped == 0 && (verdict.skipped = framing_skip_empty_lines(bytes, seen)) > 0)
            from = 0; /* it had seen the CR at most */
        size_t held = seen - verdict.skipped, end = 0;
        char *own = copy(bytes + verdict.skipped, held);
        verdict.progress = framing_scan_head(own, held, from, limits, &end, &fault);
        free(own);
        from = held;
        if (verdict.progress == FRAMING_COMPLETE)
            verdict.head_end = verdict.skipped + end;
    }
    verdict.code = fault.code;
    if (verdict.progress != FRAMING_COMPLETE)
        return verdict;

    char *head = copy(bytes + verdict.skipped, verdict.head_end - verdict.skipped);
    bool good = framing_judge_head(head, verdict.head_end - verdict.skipped, limits, &verdict.framing, &fault);
    free(head);
    if (!good) {
        REQUIRE(fault.code >= 400 && fault.text[0]);
        verdict.progress = FRAMING_FAULT;
        verdict.code = fault.code;
    } else if (verdict.framing.chunked) {
        run_body(&verdict, bytes, size, seen, max_body_bytes, splitter);
    } else if (verdict.framing.content_length <= size - verdict.head_end) {
        verdict.end = verdict.head_end + (size_t)verdict.framing.content_length;
    } else {
        verdict.progress = FRAMING_MORE;
    }
    return verdict;
}

static void require_same(const struct verdict *a, const struct verdict *b) {
    REQUIRE(a->progress == b->progress && a->code == b->code && a->skipped == b->skipped);
    REQUIRE(a->head_end == b->head_end && a->end == b->end);
    REQUIRE(a->framing.chunked == b->framing.chunked && a->framing.content_length == b->framing.content_length);
}

struct seen {
    unsigned begun, heads, ended;
    uint64_t body_bytes;
};

static int on_begin(llhttp_t *parser) {
    ((struct seen *)parser->data)->begun++;
    return 0;
}

static int on_head(llhttp_t *parser) {
    ((struct seen *)parser->data)->heads++;
    parser->upgrade = 0; /* weir ignores Upgrade, and CONNECT gets its refusal as any request does */
    return 0;
}

static int on_body(llhttp_t *parser, const char *bytes, size_t size) {
    (void)bytes;
    ((struct seen *)parser->data)->body_bytes += size;
    return 0;
}

static int on_end(llhttp_t *parser) {
    ((struct seen *)parser->data)->ended++;
    return 0;
}

static bool feed(llhttp_t *parser, const char *bytes, size_t from, size_t to) {
    return from == to || llhttp_execute(parser, bytes + from, to - from) == HPE_OK;
}

static void compare_with_llhttp(const char *bytes, const struct verdict *verdict, uint64_t chunk_bytes_limit) {
    llhttp_settings_t settings;
    llhttp_settings_init(&settings);
    settings.on_message_begin = on_begin;
    settings.on_headers_complete = on_head;
    settings.on_body = on_body;
    settings.on_message_complete = on_end;
    llhttp_t parser;
    struct seen seen = {0};
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = &seen;

    REQUIRE(feed(&parser, bytes, verdict->skipped, verdict->head_end - 1));
    REQUIRE(seen.begun == 1 && seen.heads == 0);
    /* The last byte alone: the length can be read before the body counts it down. */
    REQUIRE(feed(&parser, bytes, verdict->head_end - 1, verdict->head_end));
    REQUIRE(seen.heads == 1 && parser.http_major == 1);
    REQUIRE((parser.http_minor == 0) == verdict->framing.http_1_0);
    bool bodiless = !verdict->framing.chunked && verdict->framing.content_length == 0;
    REQUIRE(seen.ended == (bodiless ? 1 : 0));
    if (!bodiless) {
        REQUIRE(!!(parser.flags & F_CHUNKED) == verdict->framing.chunked);
        REQUIRE(verdict->framing.chunked || parser.content_length == verdict->framing.content_length);
    }
    if (verdict->end == 0 || bodiless)
        return;
    REQUIRE(feed(&parser, bytes, verdict->head_end, verdict->end - 1));
    REQUIRE(seen.begun == 1 && seen.ended == 0);
    REQUIRE(feed(&parser, bytes, verdict->end - 1, verdict->end));
    REQUIRE(seen.begun == 1 && seen.heads == 1 && seen.ended == 1);
    REQUIRE(verdict->framing.chunked ? seen.body_bytes <= chunk_bytes_limit
                                     : seen.body_bytes == verdict->framing.content_length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4)
        return 0;
    struct framing_limits limits = {.target_bytes = 8192, .head_bytes = 16384, .header_count = 64};
    if (data[0] & 1) /* small limits, so that small inputs reach them */
        limits = (struct framing_limits){.target_bytes = data[1], .head_bytes = 64 + data[2] * 8u, .header_count = 4};
    uint64_t max_body_bytes = data[0] & 2 ? 64 : UINT64_C(1) << 40;
    struct splitter pieces = {.state = data[3], .kind = 2 + (data[0] >> 2)};
    const char *bytes = (const char *)data + 4;
    size -= 4;

    struct verdict whole = run_gate(bytes, size, &limits, max_body_bytes, (struct splitter){.kind = 0});
    struct verdict split = run_gate(bytes, size, &limits, max_body_bytes, pieces);
    require_same(&whole, &split);
    if (size <= 2048) {
        split = run_gate(bytes, size, &limits, max_body_bytes, (struct splitter){.kind = 1});
        require_same(&whole, &split);
    }
    if (whole.head_end > 0 && (whole.progress != FRAMING_FAULT || whole.framing.chunked))
        compare_with_llhttp(bytes, &whole, max_body_bytes);
    return 0;
}
