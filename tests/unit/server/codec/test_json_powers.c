#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#include "server/codec/json_powers.h"

/* A whole number of any size, its lowest 32 bits first. */
enum { WORDS = 48 };
struct number {
    uint32_t words[WORDS];
};

static void multiply(struct number *number, uint32_t factor) {
    uint64_t carry = 0;
    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)number->words[i] * factor;
        number->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
    cr_assert(carry == 0);
}

static int bits_of(const struct number *number) {
    for (int i = WORDS; i-- > 0;)
        if (number->words[i])
            return i * 32 + 32 - __builtin_clz(number->words[i]);
    return 0;
}

static struct number from_power(struct json_power power) {
    return (struct number){
        {(uint32_t)power.low, (uint32_t)(power.low >> 32), (uint32_t)power.high, (uint32_t)(power.high >> 32)}};
}

static void subtract_one(struct number *number) {
    for (int i = 0; i < WORDS && number->words[i]-- == 0; i++)
        ;
}

static int compare(const struct number *a, const struct number *b) {
    for (int i = WORDS; i-- > 0;)
        if (a->words[i] != b->words[i])
            return a->words[i] < b->words[i] ? -1 : 1;
    return 0;
}

static struct number shifted(const struct number *number, int bits) {
    struct number out = {{0}};
    for (int i = 0; i < WORDS; i++)
        for (int b = 0; b < 32; b++)
            if (number->words[i] >> b & 1 && i * 32 + b + bits < WORDS * 32)
                out.words[(i * 32 + b + bits) / 32] |= UINT32_C(1) << (i * 32 + b + bits) % 32;
    return out;
}

/* 10^i is above (power - 1) and at most power, both times the same power of two. */
Test(json_powers, each_is_the_power_of_ten_rounded_up_to_128_bits) {
    struct number ten = {{1}};
    for (int i = 0; i <= JSON_POWERS_MOST; i++, multiply(&ten, 10)) {
        struct number above = from_power(json_powers[i - JSON_POWERS_LEAST]), below = above;
        int bits = bits_of(&ten);
        subtract_one(&below);
        if (bits >= 128) {
            above = shifted(&above, bits - 128);
            below = shifted(&below, bits - 128);
        }
        struct number exact = bits < 128 ? shifted(&ten, 128 - bits) : ten;
        cr_assert(compare(&below, &exact) < 0 && compare(&exact, &above) <= 0, "10^%d", i);
    }
}

/* (power - 1) * 10^i is below a power of two, and power * 10^i is not. */
Test(json_powers, each_negative_power_too) {
    struct number ten = {{10}};
    for (int i = 1; i <= -JSON_POWERS_LEAST; i++, multiply(&ten, 10)) {
        struct number above = from_power(json_powers[-i - JSON_POWERS_LEAST]), below = above, one = {{1}};
        cr_assert(json_powers[-i - JSON_POWERS_LEAST].high >> 63);
        subtract_one(&below);
        for (int j = 0; j < i; j++) {
            multiply(&above, 10);
            multiply(&below, 10);
        }
        struct number two = shifted(&one, 127 + bits_of(&ten));
        cr_assert(compare(&below, &two) < 0 && compare(&two, &above) <= 0, "10^-%d", i);
    }
}
