#include "engine/model/version_policy.h"

#include <string.h>

static const char BLANKS[] = " \t";

struct reader {
    const char *next;
    const char *whole;
    struct weir_error *err;
};

static enum weir_status fail(const struct reader *reader, const char *what) {
    return weir_fail(reader->err, WEIR_INVALID, "version_policy \"%.200s\": %s", reader->whole, what);
}

static void skip_blanks(struct reader *reader) {
    reader->next += strspn(reader->next, BLANKS);
}

static bool skip_word(struct reader *reader, const char *word) {
    size_t length = strlen(word);
    if (strncmp(reader->next, word, length) != 0)
        return false;
    reader->next += length;
    return true;
}

static enum weir_status read_number(struct reader *reader, uint64_t *out) {
    const char *first = reader->next;
    uint64_t number = 0;
    for (; *reader->next >= '0' && *reader->next <= '9'; reader->next++)
        if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
            __builtin_add_overflow(number, (uint64_t)(*reader->next - '0'), &number))
            return fail(reader, "a number is too large");
    if (reader->next == first)
        return fail(reader, "expecting latest, latest:N, all or a list of version numbers such as [1, 3]");
    *out = number;
    return WEIR_OK;
}

static enum weir_status read_list(struct reader *reader, struct version_policy *policy) {
    bool bracketed = skip_word(reader, "[");
    policy->is_list = true;
    do {
        enum weir_status status;
        skip_blanks(reader);
        skip_word(reader, "v");
        if (policy->listed_count == VERSION_POLICY_LISTED)
            return fail(reader, "more than 64 versions are listed");
        if ((status = read_number(reader, &policy->listed[policy->listed_count])) != WEIR_OK)
            return status;
        if (policy->listed[policy->listed_count] == 0)
            return fail(reader, "versions are numbered from 1");
        policy->listed_count++;
        skip_blanks(reader);
    } while (skip_word(reader, ","));
    if (bracketed && !skip_word(reader, "]"))
        return fail(reader, "the list has no end: ] is missing");
    return WEIR_OK;
}

enum weir_status version_policy_read(const char *text, struct version_policy *out, struct weir_error *err) {
    struct reader reader = {.next = text, .whole = text, .err = err};
    struct version_policy policy = {.latest = 1};
    enum weir_status status = WEIR_OK;
    skip_blanks(&reader);
    if (skip_word(&reader, "latest:")) {
        skip_blanks(&reader);
        status = read_number(&reader, &policy.latest);
        if (status == WEIR_OK && policy.latest == 0)
            return fail(&reader, "latest:0 would load nothing");
    } else if (skip_word(&reader, "all")) {
        policy.latest = UINT64_MAX;
    } else if (!skip_word(&reader, "latest")) {
        status = read_list(&reader, &policy);
    }
    if (status != WEIR_OK)
        return status;
    skip_blanks(&reader);
    if (*reader.next)
        return fail(&reader, "there is more than a policy");
    *out = policy;
    return WEIR_OK;
}

bool version_policy_wants(const struct version_policy *policy, const uint64_t *numbers, size_t index) {
    if (!policy->is_list)
        return index < policy->latest;
    for (size_t i = 0; i < policy->listed_count; i++)
        if (policy->listed[i] == numbers[index])
            return true;
    return false;
}
