#include "server/codec/number.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The idea: the digits make an integer mantissa m < 10^19, and m * 10^e is computed in double. Three roundings (m, the
 * power, the product) keep the double within 3 units in its last place of the exact value, so rounding it on to float32
 * is right unless a midpoint between two floats lies within those 3 units. Where one might (UNSURE_UNITS leaves slack),
 * and outside the normal range of float32, strtof decides. */
enum { MIN_POWER = -60, MAX_POWER = 40, MAX_DIGITS = 19, UNSURE_UNITS = 8 };

static const double powers_of_ten[MAX_POWER - MIN_POWER + 1] = {
    1e-60, 1e-59, 1e-58, 1e-57, 1e-56, 1e-55, 1e-54, 1e-53, 1e-52, 1e-51, 1e-50, 1e-49, 1e-48, 1e-47, 1e-46,
    1e-45, 1e-44, 1e-43, 1e-42, 1e-41, 1e-40, 1e-39, 1e-38, 1e-37, 1e-36, 1e-35, 1e-34, 1e-33, 1e-32, 1e-31,
    1e-30, 1e-29, 1e-28, 1e-27, 1e-26, 1e-25, 1e-24, 1e-23, 1e-22, 1e-21, 1e-20, 1e-19, 1e-18, 1e-17, 1e-16,
    1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9,  1e-8,  1e-7,  1e-6,  1e-5,  1e-4,  1e-3,  1e-2,  1e-1,
    1e0,   1e1,   1e2,   1e3,   1e4,   1e5,   1e6,   1e7,   1e8,   1e9,   1e10,  1e11,  1e12,  1e13,  1e14,
    1e15,  1e16,  1e17,  1e18,  1e19,  1e20,  1e21,  1e22,  1e23,  1e24,  1e25,  1e26,  1e27,  1e28,  1e29,
    1e30,  1e31,  1e32,  1e33,  1e34,  1e35,  1e36,  1e37,  1e38,  1e39,  1e40,
};

static inline bool is_digit(char c) {
    return (unsigned)(c - '0') <= 9;
}

/* mantissa * 10^power as float32, if the double calculation is sure of it. mantissa may be cut after its first
 * MAX_DIGITS digits: that costs less than a hundredth of a unit. */
static inline bool round_quickly(uint64_t mantissa, int power, float *out) {
    if (mantissa == 0) {
        *out = 0;
        return true;
    }
    if ((unsigned)(power - MIN_POWER) > MAX_POWER - MIN_POWER)
        return false;
    double value = (double)mantissa * powers_of_ten[power - MIN_POWER];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    /* The 29 bits that a float32 lacks; the midpoint is 2^28. */
    uint32_t rest = (uint32_t)bits & 0x1FFFFFFF;
    *out = (float)value;
    return rest - (0x10000000 - UNSURE_UNITS) > 2 * UNSURE_UNITS && value > 1.2e-38 && value < 3.4e38;
}

/* mantissa * 10^power as float64, if one rounding makes it: both are then exact in double. Source: William D. Clinger,
 * "How to read floating point numbers accurately" (1990). */
static inline bool round_double_quickly(uint64_t mantissa, int power, double *out) {
    enum { EXACT_POWER = 22 };
    if (mantissa > UINT64_C(1) << 53 || power < -EXACT_POWER || power > EXACT_POWER)
        return false;
    *out = power < 0 ? (double)mantissa / powers_of_ten[-power - MIN_POWER]
                     : (double)mantissa * powers_of_ten[power - MIN_POWER];
    return true;
}

static inline uint64_t load_digits(const char *text) {
    uint64_t bytes;
    memcpy(&bytes, text, sizeof bytes);
    return bytes ^ UINT64_C(0x3030303030303030); /* digits become 0 to 9 */
}

/* How many of the 8 bytes, in the order of the text, are digits before the first that is none. */
static inline int count_digits(uint64_t digits) {
    uint64_t others = ((digits + UINT64_C(0x7676767676767676)) | digits) & UINT64_C(0x8080808080808080);
    return others ? __builtin_ctzll(others) >> 3 : 8;
}

/* The value of 8 digit bytes, the first of the text lowest: pairs, then fours, then all eight in one multiplication
 * each. */
static inline uint32_t join_digits(uint64_t digits) {
    digits = (digits * (1 + (10 << 8)) >> 8) & UINT64_C(0x00FF00FF00FF00FF);
    digits = (digits * (1 + (100 << 16)) >> 16) & UINT64_C(0x0000FFFF0000FFFF);
    return (uint32_t)(digits * (1 + (UINT64_C(10000) << 32)) >> 32);
}

/* Appends the digits that text begins with (8 at most) to *mantissa, which must have room. Returns how many. */
static inline int take_digits(const char *text, uint64_t *mantissa) {
    static const uint32_t scale[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t digits = load_digits(text);
    int count = count_digits(digits);
    /* Shifted up, so that zeros stand in front of what counts; in two steps, since count may be 0. */
    uint64_t aligned = count == 8 ? digits : digits << 8 << (56 - 8 * count);
    *mantissa = *mantissa * scale[count] + join_digits(aligned);
    return count;
}

/* Takes a number of everyday form apart, mantissa * 10^power, looking at NUMBER_MARGIN_BYTES at most; its sign is left
 * to the caller. Returns its end, or NULL if it is not one. */
static inline const char *take_everyday(const char *text, uint64_t *out, int *out_power) {
    const char *p = text + (*text == '-');
    if (!is_digit(*p))
        return NULL;
    uint64_t mantissa = (uint64_t)(*p++ - '0');
    int digits = mantissa != 0;
    int power = 0;
    if (is_digit(*p)) {
        int count = take_digits(p, &mantissa);
        if (count == 8 || digits == 0)
            return NULL;
        p += count;
        digits += count;
    }
    if (*p == '.') {
        const char *first = ++p;
        p += take_digits(p, &mantissa);
        if (p == first)
            return NULL;
        if (p - first == 8) {
            int count = take_digits(p, &mantissa);
            p += count;
            if (count == 8)
                p += take_digits(p, &mantissa);
            if (digits + (p - first) > MAX_DIGITS)
                return NULL;
        }
        power = (int)(first - p);
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        bool down = *p == '-';
        p += *p == '-' || *p == '+';
        if (!is_digit(*p))
            return NULL;
        int exponent = *p++ - '0';
        if (is_digit(*p))
            exponent = exponent * 10 + (*p++ - '0');
        power += down ? -exponent : exponent;
    }
    *out = mantissa;
    *out_power = power;
    return p;
}

/* Reads one number of everyday form. Returns its end, or NULL if it is not one. */
static inline const char *read_quickly(const char *text, float *out) {
    uint64_t mantissa;
    int power;
    const char *end = take_everyday(text, &mantissa, &power);
    if (!end || !round_quickly(mantissa, power, out))
        return NULL;
    if (*text == '-')
        *out = -*out;
    return end;
}

/* The same to float64. */
static inline const char *read_double_quickly(const char *text, double *out) {
    uint64_t mantissa;
    int power;
    const char *end = take_everyday(text, &mantissa, &power);
    if (!end || !round_double_quickly(mantissa, power, out))
        return NULL;
    if (*text == '-')
        *out = -*out;
    return end;
}

/* Reads one integer of at most 18 digits. Returns its end, or NULL if it is not one of the range. */
static inline const char *read_integer(const char *text, const struct number_range *range, int64_t *out) {
    enum { MOST_DIGITS = 18 };
    bool negative = *text == '-';
    const char *first = text + negative, *p = first;
    int64_t value = 0;
    for (; p - first < MOST_DIGITS && is_digit(*p); p++)
        value = value * 10 + (*p - '0');
    if (p == first || is_digit(*p) || (*first == '0' && p - first > 1))
        return NULL;
    value = negative ? -value : value;
    *out = value;
    return value < range->least || value > range->most ? NULL : p;
}

static inline bool is_white(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* May a number end here? NULL: there was none. */
static inline bool ends_well(const char *after) {
    return after && (*after == ',' || *after == ']' || is_white(*after));
}

/* Goes behind a comma, and the white space after it. */
static inline const char *pass_comma(const char *p, const char *end, bool *is_there) {
    *is_there = *p == ',';
    if (*is_there)
        for (p++; p < end && is_white(*p);)
            p++;
    return p;
}

size_t number_read_run(const char **text, const char *end, float *out, size_t room, bool *after_comma) {
    const char *p = *text;
    size_t count = 0;
    *after_comma = true;
    while (*after_comma && count < room && end - p >= NUMBER_MARGIN_BYTES) {
        const char *after = read_quickly(p, out + count);
        if (!ends_well(after))
            break;
        count++;
        p = pass_comma(after, end, after_comma);
    }
    *text = p;
    return count;
}

size_t number_read_doubles(const char **text, const char *end, double *out, size_t room, bool *after_comma) {
    const char *p = *text;
    size_t count = 0;
    *after_comma = true;
    while (*after_comma && count < room && end - p >= NUMBER_MARGIN_BYTES) {
        const char *after = read_double_quickly(p, out + count);
        if (!ends_well(after))
            break;
        count++;
        p = pass_comma(after, end, after_comma);
    }
    *text = p;
    return count;
}

size_t number_read_integers(const char **text, const char *end, const struct number_range *range, int64_t *out,
                            size_t room, bool *after_comma) {
    const char *p = *text;
    size_t count = 0;
    *after_comma = true;
    while (*after_comma && count < room && end - p >= NUMBER_MARGIN_BYTES) {
        const char *after = read_integer(p, range, out + count);
        if (!ends_well(after))
            break;
        count++;
        p = pass_comma(after, end, after_comma);
    }
    *text = p;
    return count;
}

/* A number taken apart: mantissa * 10^power, the mantissa's first MAX_DIGITS digits. */
struct parts {
    uint64_t mantissa;
    int digits; /* of mantissa, without leading zeros */
    int power;
};

static void add_digit(struct parts *parts, char c, bool fraction) {
    if (parts->digits == MAX_DIGITS) {
        parts->power += !fraction;
        return;
    }
    parts->mantissa = parts->mantissa * 10 + (uint64_t)(c - '0');
    parts->digits += parts->mantissa != 0;
    parts->power -= fraction;
}

/* Returns the index of the byte that breaks the grammar, or size if all is well; *whole tells whether the text may end
 * where it does. */
static size_t take_apart(const char *text, size_t size, struct parts *parts, bool *whole) {
    size_t i = size > 0 && text[0] == '-';
    size_t first = i;
    *whole = false;
    for (; i < size && is_digit(text[i]) && (i == first || text[first] != '0'); i++)
        add_digit(parts, text[i], false);
    if (i == first)
        return i;
    if (i < size && text[i] == '.') {
        first = ++i;
        for (; i < size && is_digit(text[i]); i++)
            add_digit(parts, text[i], true);
        if (i == first)
            return i;
    }
    if (i < size && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        bool down = i < size && text[i] == '-';
        i += i < size && (text[i] == '-' || text[i] == '+');
        first = i;
        int exponent = 0;
        for (; i < size && is_digit(text[i]); i++)
            if (exponent < 100000)
                exponent = exponent * 10 + (text[i] - '0');
        if (i == first)
            return i;
        parts->power += down ? -exponent : exponent;
    }
    *whole = true;
    return i;
}

bool number_parse(const char *text, size_t size, float *out, size_t *bad) {
    struct parts parts = {0, 0, 0};
    bool whole;
    size_t end = take_apart(text, size, &parts, &whole);
    if (end < size || !whole) {
        *bad = end;
        return false;
    }
    float value;
    bool negative = text[0] == '-';
    if (round_quickly(parts.mantissa, parts.power, &value)) {
        *out = negative ? -value : value;
    } else if (parts.power > MAX_POWER) { /* at least 10^41 */
        *out = negative ? -__builtin_inff() : __builtin_inff();
    } else if (parts.power < MIN_POWER - 10) { /* under 10^(19 - 71): less than half the least float32, 7.0e-46 */
        *out = negative ? -0.0f : 0.0f;
    } else {
        char copy[NUMBER_MAX_BYTES + 1];
        memcpy(copy, text, size);
        copy[size] = 0;
        *out = strtof(copy, NULL);
    }
    return true;
}

double number_parse_double(const char *text, size_t size) {
    struct parts parts = {0, 0, 0};
    bool whole;
    double value;
    take_apart(text, size, &parts, &whole);
    if (parts.digits < MAX_DIGITS && round_double_quickly(parts.mantissa, parts.power, &value))
        return text[0] == '-' ? -value : value;
    char copy[NUMBER_MAX_BYTES + 1];
    memcpy(copy, text, size);
    copy[size] = 0;
    return strtod(copy, NULL);
}
