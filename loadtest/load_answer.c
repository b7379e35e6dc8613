#include "loadtest/load_answer.h"

#include <string.h>
#include <strings.h>

void load_answer_reset(struct load_answer *answer) {
    answer->status = 0;
    answer->closes = false;
    answer->interim = false;
    answer->body_size = 0;
    answer->body_left = 0;
    answer->head_size = 0;
}

static bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

/* "HTTP/1.1 200 OK" or without the reason. Returns 0 if it is something else. */
static int read_status(const char *line, size_t size) {
    if (size < 12 || memcmp(line, "HTTP/1.", 7) != 0 || !is_digit(line[7]) || line[8] != ' ' || !is_digit(line[9]) ||
        !is_digit(line[10]) || !is_digit(line[11]) || (size > 12 && line[12] != ' '))
        return 0;
    int status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
    return status >= 100 && status <= 599 ? status : 0;
}

static bool read_length(const char *text, const char *end, uint64_t *out) {
    uint64_t value = 0;
    if (text == end)
        return false;
    for (; text < end; text++) {
        if (!is_digit(*text) || value > UINT64_C(1) << 50)
            return false;
        value = value * 10 + (uint64_t)(*text - '0');
    }
    *out = value;
    return true;
}

/* If the line is the field `name` (with its colon), sets the bounds of its value without the spaces around it. */
static bool field(const char *line, const char *line_end, const char *name, const char **value,
                  const char **value_end) {
    size_t size = strlen(name);
    if ((size_t)(line_end - line) < size || strncasecmp(line, name, size) != 0)
        return false;
    line += size;
    while (line < line_end && (*line == ' ' || *line == '\t'))
        line++;
    while (line_end > line && (line_end[-1] == ' ' || line_end[-1] == '\t'))
        line_end--;
    *value = line;
    *value_end = line_end;
    return true;
}

/* Reads the head, which ends with an empty line at `size`. */
static bool read_head(struct load_answer *answer, size_t size) {
    const char *at = answer->head, *end = answer->head + size - 2;
    bool has_length = false;
    for (bool first = true; at < end; first = false) {
        const char *line_end = memmem(at, (size_t)(end - at), "\r\n", 2), *value, *value_end;
        if (first) {
            answer->status = read_status(at, (size_t)(line_end - at));
            if (answer->status == 0)
                return false;
        } else if (field(at, line_end, "content-length:", &value, &value_end)) {
            if (has_length || !read_length(value, value_end, &answer->body_left))
                return false;
            has_length = true;
        } else if (field(at, line_end, "connection:", &value, &value_end)) {
            answer->closes = value_end - value == 5 && strncasecmp(value, "close", 5) == 0;
        } else if (field(at, line_end, "transfer-encoding:", &value, &value_end)) {
            return false;
        }
        at = line_end + 2;
    }
    return has_length || answer->status < 200 || answer->status == 204 || answer->status == 304;
}

/* Reads up to the end of the head of a final answer. Returns MORE when it needs more, MALFORMED, or WHOLE once the head
 * is there; *data and *size are what follows it. */
static enum load_answer_state feed_head(struct load_answer *answer, const char **data, size_t *size) {
    while (answer->status == 0) {
        size_t before = answer->head_size, room = sizeof answer->head - before;
        size_t taken = *size < room ? *size : room;
        if (*size == 0)
            return LOAD_ANSWER_MORE;
        memcpy(answer->head + before, *data, taken);
        answer->head_size += taken;
        size_t from = before < 3 ? 0 : before - 3;
        const char *blank = memmem(answer->head + from, answer->head_size - from, "\r\n\r\n", 4);
        if (!blank)
            return taken < *size || answer->head_size == sizeof answer->head ? LOAD_ANSWER_MALFORMED : LOAD_ANSWER_MORE;
        size_t head_size = (size_t)(blank - answer->head) + 4;
        if (!read_head(answer, head_size))
            return LOAD_ANSWER_MALFORMED;
        *data += head_size - before;
        *size -= head_size - before;
        if (answer->status < 200) {
            load_answer_reset(answer);
            answer->interim = true;
        }
    }
    return LOAD_ANSWER_WHOLE;
}

enum load_answer_state load_answer_feed_some(struct load_answer *answer, const char *data, size_t size, size_t *taken) {
    size_t given = size;
    enum load_answer_state state = feed_head(answer, &data, &size);
    *taken = given;
    if (state != LOAD_ANSWER_WHOLE)
        return state;
    size_t part = size < answer->body_left ? size : (size_t)answer->body_left;
    size_t room = answer->body_room - answer->body_size;
    size_t kept = part < room ? part : room;
    if (kept > 0)
        memcpy(answer->body + answer->body_size, data, kept);
    answer->body_size += kept;
    answer->body_left -= part;
    *taken = given - (size - part);
    return answer->body_left == 0 ? LOAD_ANSWER_WHOLE : LOAD_ANSWER_MORE;
}

enum load_answer_state load_answer_feed(struct load_answer *answer, const char *data, size_t size) {
    size_t taken;
    enum load_answer_state state = load_answer_feed_some(answer, data, size, &taken);
    return taken < size ? LOAD_ANSWER_MALFORMED : state;
}

size_t load_answer_reason(const struct load_answer *answer, const char **out) {
    static const char member[] = "\"reason\"";
    const char *end = answer->body + answer->body_size;
    const char *at = answer->body_size > 0 ? memmem(answer->body, answer->body_size, member, sizeof member - 1) : NULL;
    if (!at)
        return 0;
    at += sizeof member - 1;
    while (at < end && (*at == ' ' || *at == ':'))
        at++;
    const char *quote = at < end && *at == '"' ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
    *out = at + 1;
    return quote ? (size_t)(quote - at - 1) : 0;
}
