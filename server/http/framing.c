#include "server/http/framing.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/http/framing_octets.h"

#define MARK  (OCTET_TOKEN | OCTET_VALUE | OCTET_TARGET)
#define PLAIN (OCTET_VALUE | OCTET_TARGET)
#define NAME  (MARK | OCTET_HOST)
#define HEX   (NAME | OCTET_HEX)

const uint8_t framing_octets[256] = {
    ['\t'] = OCTET_VALUE,
    [' '] = OCTET_VALUE,
    ['!'] = MARK,
    ['"'] = PLAIN,
    ['#'] = MARK & ~OCTET_TARGET,
    ['$'] = MARK,
    ['%'] = MARK,
    ['&'] = MARK,
    ['\''] = MARK,
    ['('] = PLAIN,
    [')'] = PLAIN,
    ['*'] = MARK,
    ['+'] = MARK,
    [','] = PLAIN,
    ['-'] = NAME,
    ['.'] = NAME,
    ['/'] = PLAIN,
    ['0' ... '9'] = HEX,
    [':' ... '@'] = PLAIN,
    ['A' ... 'F'] = HEX,
    ['G' ... 'Z'] = NAME,
    ['['] = PLAIN,
    ['\\'] = PLAIN,
    [']'] = PLAIN,
    ['^'] = MARK,
    ['_'] = NAME,
    ['`'] = MARK,
    ['a' ... 'f'] = HEX,
    ['g' ... 'z'] = NAME,
    ['{'] = PLAIN,
    ['|'] = MARK,
    ['}'] = PLAIN,
    ['~'] = NAME,
    [0x80 ... 0xFF] = OCTET_VALUE,
};

bool framing_refuse(struct framing_fault *fault, int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    fault->code = code;
    return false;
}

bool framing_refuse_target(size_t limit, struct framing_fault *fault) {
    return framing_refuse(fault, 414, "the request target is longer than %zu bytes", limit);
}

bool framing_refuse_count(size_t limit, struct framing_fault *fault) {
    return framing_refuse(fault, 431, "more than %zu header fields", limit);
}

/* Unknown to us is 501; known here but not served is the router's 405. The list is what llhttp takes under HTTP/1.x,
 * less SOURCE, which belongs to ICE. */
static bool method_known(const char *method, size_t size) {
    static const char *const known[] = {
        "GET",       "POST",        "HEAD",  "OPTIONS",    "PUT",        "DELETE",    "PATCH",  "CONNECT",  "TRACE",
        "COPY",      "LOCK",        "MKCOL", "MOVE",       "PROPFIND",   "PROPPATCH", "SEARCH", "UNLOCK",   "BIND",
        "REBIND",    "UNBIND",      "ACL",   "REPORT",     "MKACTIVITY", "CHECKOUT",  "MERGE",  "M-SEARCH", "NOTIFY",
        "SUBSCRIBE", "UNSUBSCRIBE", "PURGE", "MKCALENDAR", "LINK",       "UNLINK",
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == size && memcmp(known[i], method, size) == 0)
            return true;
    return false;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* "", or a colon and at most five digits. */
static bool is_port(const char *text, size_t size) {
    if (size == 0)
        return true;
    if (text[0] != ':' || size > 6)
        return false;
    for (size_t i = 1; i < size; i++)
        if (!is_digit(text[i]))
            return false;
    return true;
}

/* host[:port]: a name of unreserved characters and percent escapes, or an IPv6 literal in brackets. Stricter than the
 * reg-name of RFC 3986, 3.2.2, whose `!$&'()*+,;=` no host has. */
static bool is_authority(const char *text, size_t size) {
    size_t n = 0;
    if (size > 0 && text[0] == '[') {
        for (n = 1; n < size && (octet_is(text[n], OCTET_HEX) || text[n] == ':' || text[n] == '.'); n++)
            ;
        return n > 1 && n < size && text[n] == ']' && is_port(text + n + 1, size - n - 1);
    }
    while (n < size) {
        if (octet_is(text[n], OCTET_HOST))
            n++;
        else if (text[n] == '%' && size - n > 2 && octet_is(text[n + 1], OCTET_HEX) && octet_is(text[n + 2], OCTET_HEX))
            n += 3;
        else
            break;
    }
    return n > 0 && is_port(text + n, size - n);
}

/* Whether text, of size bytes, is `lower` but for the case of its letters. */
static bool equals_ignoring_case(const char *text, size_t size, const char *lower) {
    for (size_t i = 0; i < size; i++) {
        char c = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] | 0x20) : text[i];
        if (c != lower[i]) /* also at lower's end: text holds no NUL */
            return false;
    }
    return lower[size] == 0;
}

/* The four forms of RFC 9112, 3.2. */
static bool judge_target(const char *target, size_t size, bool connect, bool options, struct framing_fault *fault) {
    for (size_t i = 0; i < size; i++)
        if (!octet_is(target[i], OCTET_TARGET))
            return framing_refuse(fault, 400,
                                  target[i] == '#' ? "the request target has a fragment"
                                                   : "a raw byte in the request target that must be escaped");
    if (connect) {
        const char *colon = memrchr(target, ':', size);
        if (!colon || colon + 1 == target + size || !is_authority(target, size))
            return framing_refuse(fault, 400, "the target of CONNECT is not host:port");
        return true;
    }
    if (target[0] == '/')
        return true;
    if (target[0] == '*' && size == 1 && options)
        return true;
    static const char scheme[] = "http://";
    size_t skip = sizeof scheme - 1;
    if (size <= skip || !equals_ignoring_case(target, skip, scheme))
        return framing_refuse(fault, 400, "the request target is neither a path nor an http:// address");
    const char *host = target + skip, *end = host;
    while (end < target + size && *end != '/' && *end != '?')
        end++;
    if (!is_authority(host, (size_t)(end - host)))
        return framing_refuse(fault, 400, "the address in the request target has no valid host");
    return true;
}

/* HTTP-version of RFC 9112, 2.3. */
static bool judge_version(const char *version, size_t size, bool *http_1_0, struct framing_fault *fault) {
    if (size != 8 || memcmp(version, "HTTP/", 5) != 0 || !is_digit(version[5]) || version[6] != '.' ||
        !is_digit(version[7]))
        return framing_refuse(fault, 400, "the request line does not end in an HTTP version");
    if (version[5] != '1' || version[7] > '1')
        return framing_refuse(fault, 505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    *http_1_0 = version[7] == '0';
    return true;
}

/* What the field lines say, before the rules that join them. */
struct facts {
    bool http_1_0;
    bool connect;
    unsigned fields, hosts, lengths, codings;
    bool chunked;
    bool expects, expects_other;
    uint64_t content_length;
};

static bool judge_request_line(const char *line, size_t size, const struct framing_limits *limits, struct facts *facts,
                               struct framing_fault *fault) {
    size_t method = 0;
    while (method < size && octet_is(line[method], OCTET_TOKEN))
        method++;
    if (method == 0 || method == size || line[method] != ' ')
        return framing_refuse(fault, 400, "the request line does not begin with a method and one space");
    const char *target = line + method + 1;
    const char *space = memchr(target, ' ', size - method - 1);
    if (!space || space == target)
        return framing_refuse(fault, 400, "the request line is not a method, a target and a version, one space apart");
    size_t target_size = (size_t)(space - target);
    if (!judge_version(space + 1, size - method - target_size - 2, &facts->http_1_0, fault))
        return false;
    if (!method_known(line, method))
        return framing_refuse(fault, 501, "the request method is not known here");
    if (target_size > limits->target_bytes)
        return framing_refuse_target(limits->target_bytes, fault);
    facts->connect = method == 7 && memcmp(line, "CONNECT", 7) == 0;
    bool options = method == 7 && memcmp(line, "OPTIONS", 7) == 0;
    return judge_target(target, target_size, facts->connect, options, fault);
}

/* 1*DIGIT of RFC 9110, 8.6, in 63 bits. */
static bool judge_length(const char *value, size_t size, struct facts *facts, struct framing_fault *fault) {
    if (size == 0)
        return framing_refuse(fault, 400, "Content-Length is empty");
    uint64_t length = 0;
    for (size_t i = 0; i < size; i++) {
        if (!is_digit(value[i]))
            return framing_refuse(fault, 400, "Content-Length is not a plain decimal number");
        uint64_t digit = (uint64_t)(value[i] - '0');
        if (length > (INT64_MAX - digit) / 10)
            return framing_refuse(fault, 400, "Content-Length does not fit 63 bits");
        length = length * 10 + digit;
    }
    facts->content_length = length;
    facts->lengths++;
    return true;
}

static size_t without_tabs(const char *value, size_t size) {
    while (size > 0 && (value[size - 1] == '\t' || value[size - 1] == ' '))
        size--;
    return size;
}

/* One field, if it matters to framing. value has no white space in front, and no spaces behind. A tab behind a length
 * or a coding is part of it, and so a fault: llhttp sees it that way too. */
static bool judge_field(const char *name, size_t name_size, const char *value, size_t size, struct facts *facts,
                        struct framing_fault *fault) {
    switch (name_size) {
    case 4:
        if (!equals_ignoring_case(name, 4, "host"))
            return true;
        facts->hosts++;
        size = without_tabs(value, size);
        return is_authority(value, size) ||
               framing_refuse(fault, 400, size ? "Host is not a host and a port" : "Host is empty");
    case 6:
        if (!equals_ignoring_case(name, 6, "expect"))
            return true;
        facts->expects = true;
        if (!equals_ignoring_case(value, without_tabs(value, size), "100-continue"))
            facts->expects_other = true;
        return true;
    case 14:
        return !equals_ignoring_case(name, 14, "content-length") || judge_length(value, size, facts, fault);
    case 17:
        if (!equals_ignoring_case(name, 17, "transfer-encoding"))
            return true;
        facts->codings++;
        facts->chunked = equals_ignoring_case(value, size, "chunked");
        return size > 0 || framing_refuse(fault, 400, "Transfer-Encoding is empty");
    default:
        return true;
    }
}

static bool refuse_field_name(const char *at, bool first, bool empty, unsigned number, struct framing_fault *fault) {
    bool blank = *at == ' ' || *at == '\t';
    if (empty && blank)
        return framing_refuse(fault, 400, first ? "white space before the first field" : "field %u is folded", number);
    if (empty && *at == ':')
        return framing_refuse(fault, 400, "field %u has no name", number);
    if (blank)
        return framing_refuse(fault, 400, "field %u has white space before its colon", number);
    return framing_refuse(fault, 400, "field %u has a byte in its name that no name has", number);
}

/* All field lines, up to and with the empty line at end. Each ends in CRLF, or is refused: no byte beyond end is read,
 * since the last one is LF, which nothing here passes over. */
static bool judge_fields(const char *at, const char *end, const struct framing_limits *limits, struct facts *facts,
                         struct framing_fault *fault) {
    while (*at != '\r') {
        const char *name = at;
        unsigned number = facts->fields + 1;
        while (octet_is(*at, OCTET_TOKEN))
            at++;
        size_t name_size = (size_t)(at - name);
        if (name_size == 0 || *at != ':')
            return refuse_field_name(at, facts->fields == 0, name_size == 0, number, fault);
        for (at++; *at == ' ' || *at == '\t'; at++)
            ;
        const char *value = at;
        while (octet_is(*at, OCTET_VALUE))
            at++;
        const char *value_end = at;
        while (value_end > value && value_end[-1] == ' ')
            value_end--;
        if (at[0] != '\r' || at[1] != '\n')
            return framing_refuse(fault, 400, "field %u has a control character in its value", number);
        at += 2;
        if (number > limits->header_count)
            return framing_refuse_count(limits->header_count, fault);
        facts->fields = number;
        if (!judge_field(name, name_size, value, (size_t)(value_end - value), facts, fault))
            return false;
        if (at == end)
            return framing_refuse(fault, 400, "the head has no empty line");
    }
    return (at + 2 == end && at[1] == '\n') || framing_refuse(fault, 400, "a CR without its LF in the head");
}

/* The rules that join fields: RFC 9112, 3.2 (Host), 6.1 and 6.3 (body length); RFC 9110, 10.1.1 (Expect). */
static bool judge_facts(const struct facts *facts, struct framing_fault *fault) {
    if (facts->hosts > 1)
        return framing_refuse(fault, 400, "Host is given twice");
    if (facts->hosts == 0 && !facts->http_1_0)
        return framing_refuse(fault, 400, "HTTP/1.1 without Host");
    if (facts->lengths > 1)
        return framing_refuse(fault, 400, "Content-Length is given twice");
    if (facts->codings > 1)
        return framing_refuse(fault, 400, "Transfer-Encoding is given twice");
    if (facts->codings > 0 && facts->lengths > 0)
        return framing_refuse(fault, 400, "both Content-Length and Transfer-Encoding");
    if (facts->codings > 0 && facts->http_1_0)
        return framing_refuse(fault, 400, "Transfer-Encoding on HTTP/1.0");
    if (facts->connect && (facts->codings > 0 || facts->lengths > 0))
        return framing_refuse(fault, 400, "CONNECT with a body");
    if (facts->codings > 0 && !facts->chunked)
        return framing_refuse(fault, 501, "only the transfer coding chunked is known here");
    if (facts->expects_other && !facts->http_1_0)
        return framing_refuse(fault, 417, "only the expectation 100-continue is known here");
    return true;
}

bool framing_judge_head(const char *head, size_t size, const struct framing_limits *limits, struct framing *out,
                        struct framing_fault *fault) {
    const char *line_end = memchr(head, '\n', size);
    if (size < 4 || !line_end || line_end == head || line_end[-1] != '\r' || head[size - 1] != '\n' ||
        line_end == head + size - 1)
        return framing_refuse(fault, 400, "the request line has no end");
    if (size > limits->head_bytes)
        return framing_refuse(fault, 431, "the request head is longer than %zu bytes", limits->head_bytes);
    struct facts facts = {0};
    if (!judge_request_line(head, (size_t)(line_end - 1 - head), limits, &facts, fault) ||
        !judge_fields(line_end + 1, head + size, limits, &facts, fault) || !judge_facts(&facts, fault))
        return false;
    *out = (struct framing){
        .http_1_0 = facts.http_1_0,
        .chunked = facts.chunked,
        .has_length = facts.lengths > 0,
        .content_length = facts.content_length,
        .expect_continue = facts.expects && !facts.http_1_0,
    };
    return true;
}
