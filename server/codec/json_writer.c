#include "server/codec/json_writer.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "server/codec/json_powers.h"

/* Shortest digits by Raffaello Giulietti, "The Schubfach way to render doubles" (2020), for binary32: the numbers that
 * round to the value make an interval; scaled by a power of ten so that it is between 1 and 10 wide or more, it holds
 * at least one integer, which is the answer, and at most one multiple of ten, which is the shorter answer. */

enum { MIN_POWER = -31, MAX_POWER = 45 };

/* 10^i for MIN_POWER <= i <= MAX_POWER, as the 64 leading bits, rounded up. */
static const uint64_t powers_of_ten[MAX_POWER - MIN_POWER + 1] = {
    0x81CEB32C4B43FCF5, 0xA2425FF75E14FC32, 0xCAD2F7F5359A3B3F, 0xFD87B5F28300CA0E, 0x9E74D1B791E07E49,
    0xC612062576589DDB, 0xF79687AED3EEC552, 0x9ABE14CD44753B53, 0xC16D9A0095928A28, 0xF1C90080BAF72CB2,
    0x971DA05074DA7BEF, 0xBCE5086492111AEB, 0xEC1E4A7DB69561A6, 0x9392EE8E921D5D08, 0xB877AA3236A4B44A,
    0xE69594BEC44DE15C, 0x901D7CF73AB0ACDA, 0xB424DC35095CD810, 0xE12E13424BB40E14, 0x8CBCCC096F5088CC,
    0xAFEBFF0BCB24AAFF, 0xDBE6FECEBDEDD5BF, 0x89705F4136B4A598, 0xABCC77118461CEFD, 0xD6BF94D5E57A42BD,
    0x8637BD05AF6C69B6, 0xA7C5AC471B478424, 0xD1B71758E219652C, 0x83126E978D4FDF3C, 0xA3D70A3D70A3D70B,
    0xCCCCCCCCCCCCCCCD, 0x8000000000000000, 0xA000000000000000, 0xC800000000000000, 0xFA00000000000000,
    0x9C40000000000000, 0xC350000000000000, 0xF424000000000000, 0x9896800000000000, 0xBEBC200000000000,
    0xEE6B280000000000, 0x9502F90000000000, 0xBA43B74000000000, 0xE8D4A51000000000, 0x9184E72A00000000,
    0xB5E620F480000000, 0xE35FA931A0000000, 0x8E1BC9BF04000000, 0xB1A2BC2EC5000000, 0xDE0B6B3A76400000,
    0x8AC7230489E80000, 0xAD78EBC5AC620000, 0xD8D726B7177A8000, 0x878678326EAC9000, 0xA968163F0A57B400,
    0xD3C21BCECCEDA100, 0x84595161401484A0, 0xA56FA5B99019A5C8, 0xCECB8F27F4200F3A, 0x813F3978F8940985,
    0xA18F07D736B90BE6, 0xC9F2C9CD04674EDF, 0xFC6F7C4045812297, 0x9DC5ADA82B70B59E, 0xC5371912364CE306,
    0xF684DF56C3E01BC7, 0x9A130B963A6C115D, 0xC097CE7BC90715B4, 0xF0BDC21ABB48DB21, 0x96769950B50D88F5,
    0xBC143FA4E250EB32, 0xEB194F8E1AE525FE, 0x92EFD1B8D0CF37BF, 0xB7ABC627050305AE, 0xE596B7B0C643C71A,
    0x8F7E32CE7BEA5C70, 0xB35DBF821AE4F38C,
};

/* A decimal: digits * 10^power. */
struct decimal {
    uint32_t digits;
    int power;
};

/* The upper half of power * value / 2^32, its last bit set if anything was cut off (y0 = 1 may be the table's
 * rounding). */
static inline uint32_t multiply_to_odd(uint64_t power, uint32_t value) {
    uint64_t low = (power & 0xFFFFFFFF) * value;
    uint64_t high = (power >> 32) * value + (low >> 32);
    return (uint32_t)(high >> 32) | ((uint32_t)high > 1);
}

static inline struct decimal shortest(uint32_t fraction, int biased_exponent) {
    /* value = significand * 2^exponent */
    uint32_t significand = biased_exponent ? fraction | 0x800000 : fraction;
    int exponent = (biased_exponent ? biased_exponent : 1) - 150;
    /* Below a power of two the neighbour is only half as far. */
    bool near_below = fraction == 0 && biased_exponent > 1;

    /* floor(log10(2^exponent)), or of 3/4 of it; then floor(log2(10^-power)). */
    int power = (exponent * 1262611 - (near_below ? 524031 : 0)) >> 22;
    int shift = exponent + ((-power * 1741647) >> 19) + 1;
    uint64_t scale = powers_of_ten[-power - MIN_POWER];
    /* Value and ends of the interval in quarters; the ends belong to it if the significand is even. */
    uint32_t middle = multiply_to_odd(scale, significand * 4 << shift);
    uint32_t lower = multiply_to_odd(scale, (significand * 4 - (near_below ? 1 : 2)) << shift) + (significand & 1);
    uint32_t upper = multiply_to_odd(scale, (significand * 4 + 2) << shift) - (significand & 1);

    uint32_t floor = middle / 4;
    uint32_t tens = floor / 10;
    bool tens_below = lower <= 40 * tens;
    bool tens_above = 40 * tens + 40 <= upper;
    if (tens > 0 && tens_below != tens_above)
        return (struct decimal){tens + tens_above, power + 1};
    bool below = lower <= 4 * floor;
    bool above = 4 * floor + 4 <= upper;
    if (below != above)
        return (struct decimal){floor + above, power};
    uint32_t half = 4 * floor + 2;
    bool up = middle > half || (middle == half && (floor & 1));
    return (struct decimal){floor + up, power};
}

static inline int count_digits(uint32_t value) {
    static const uint32_t limits[] = {0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    /* log10 from log2: 1233 / 4096 */
    int guess = (32 - __builtin_clz(value | 1)) * 1233 >> 12;
    return guess + (value >= limits[guess]);
}

/* Writes value as exactly `count` digits, zeros in front if it has fewer. */
static inline void put_digits(char *to, uint32_t value, int count) {
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    while (count >= 2) {
        count -= 2;
        memcpy(to + count, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (count)
        *to = (char)('0' + value);
}

/* d.ddde-NN */
static char *put_scientific(char *to, struct decimal decimal, int count) {
    put_digits(to + 1, decimal.digits, count);
    to[0] = to[1];
    to[1] = '.';
    to += count == 1 ? 1 : count + 1;
    *to++ = 'e';
    int exponent = decimal.power + count - 1;
    if (exponent < 0) {
        *to++ = '-';
        exponent = -exponent;
    }
    int width = exponent >= 10 ? 2 : 1;
    put_digits(to, (uint32_t)exponent, width);
    return to + width;
}

char *json_writer_float(char *to, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    *to = '-';
    to += bits >> 31;
    bits &= 0x7FFFFFFF;
    if (bits == 0) {
        *to = '0';
        return to + 1;
    }
    struct decimal decimal = shortest(bits & 0x7FFFFF, (int)(bits >> 23));
    while (decimal.digits % 10 == 0) {
        decimal.digits /= 10;
        decimal.power++;
    }
    int count = count_digits(decimal.digits);
    int before = count + decimal.power; /* digits in front of the point; 0 or less: zeros behind it */
    if (before > 9 || before < -4)
        return put_scientific(to, decimal, count);
    if (before <= 0) {
        memcpy(to, "0.0000", 6);
        put_digits(to + 2 - before, decimal.digits, count);
        return to + 2 - before + count;
    }
    if (decimal.power >= 0) {
        put_digits(to, decimal.digits, count);
        memset(to + count, '0', (size_t)decimal.power);
        return to + before;
    }
    put_digits(to + 1, decimal.digits, count);
    memmove(to, to + 1, (size_t)before);
    to[before] = '.';
    return to + count + 1;
}

/* The same for binary64: digits * 10^power. */
struct wide_decimal {
    uint64_t digits;
    int power;
};

/* a * b: returns the upper half. */
static inline uint64_t multiply(uint64_t a, uint64_t b, uint64_t *low) {
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
}

/* multiply_to_odd with 128 bits: power * value / 2^128. */
static inline uint64_t multiply_wide_to_odd(const struct json_power *power, uint64_t value) {
    uint64_t lowest, low;
    uint64_t carried = multiply(power->low, value, &lowest);
    uint64_t high = multiply(power->high, value, &low);
    high += __builtin_add_overflow(low, carried, &low);
    return high | (low > 1);
}

/* As shortest; the constants hold for these exponents too. */
static struct wide_decimal shortest_wide(uint64_t fraction, int biased_exponent) {
    uint64_t significand = biased_exponent ? fraction | UINT64_C(1) << 52 : fraction;
    int exponent = (biased_exponent ? biased_exponent : 1) - 1075;
    bool near_below = fraction == 0 && biased_exponent > 1;

    int power = (exponent * 1262611 - (near_below ? 524031 : 0)) >> 22;
    int shift = exponent + ((-power * 1741647) >> 19) + 1;
    const struct json_power *scale = &json_powers[-power - JSON_POWERS_LEAST];
    uint64_t middle = multiply_wide_to_odd(scale, significand * 4 << shift);
    uint64_t lower = multiply_wide_to_odd(scale, (significand * 4 - (near_below ? 1 : 2)) << shift) + (significand & 1);
    uint64_t upper = multiply_wide_to_odd(scale, (significand * 4 + 2) << shift) - (significand & 1);

    uint64_t floor = middle / 4;
    uint64_t tens = floor / 10;
    bool tens_below = lower <= 40 * tens;
    bool tens_above = 40 * tens + 40 <= upper;
    if (tens > 0 && tens_below != tens_above)
        return (struct wide_decimal){tens + tens_above, power + 1};
    bool below = lower <= 4 * floor;
    bool above = 4 * floor + 4 <= upper;
    if (below != above)
        return (struct wide_decimal){floor + above, power};
    uint64_t half = 4 * floor + 2;
    bool up = middle > half || (middle == half && (floor & 1));
    return (struct wide_decimal){floor + up, power};
}

/* Digits, a point among or in front of them, an exponent: count digits, before of them in front of the point. */
static char *put_wide(char *to, const char *digits, int count, int before) {
    if (before > 17 || before < -4) {
        *to++ = digits[0];
        if (count > 1) {
            *to++ = '.';
            memcpy(to, digits + 1, (size_t)count - 1);
            to += count - 1;
        }
        *to++ = 'e';
        return json_writer_integer(to, before - 1);
    }
    if (before <= 0) {
        memcpy(to, "0.0000", 6);
        memcpy(to + 2 - before, digits, (size_t)count);
        return to + 2 - before + count;
    }
    if (before >= count) {
        memcpy(to, digits, (size_t)count);
        memset(to + count, '0', (size_t)(before - count));
        return to + before;
    }
    memcpy(to, digits, (size_t)before);
    to[before] = '.';
    memcpy(to + before + 1, digits + before, (size_t)(count - before));
    return to + count + 1;
}

char *json_writer_double(char *to, double value) {
    char digits[JSON_WRITER_NUMBER_BYTES];
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    *to = '-';
    to += bits >> 63;
    bits &= UINT64_MAX >> 1;
    if (bits == 0) {
        *to = '0';
        return to + 1;
    }
    struct wide_decimal decimal = shortest_wide(bits & (UINT64_MAX >> 12), (int)(bits >> 52));
    while (decimal.digits % 10 == 0) {
        decimal.digits /= 10;
        decimal.power++;
    }
    int count = (int)(json_writer_integer(digits, (int64_t)decimal.digits) - digits);
    return put_wide(to, digits, count, count + decimal.power);
}

char *json_writer_integer(char *to, int64_t value) {
    char digits[20];
    int count = 0;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        *to++ = '-';
    while (count > 0)
        *to++ = digits[--count];
    return to;
}
