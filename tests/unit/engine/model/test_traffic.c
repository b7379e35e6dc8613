#include "engine/model/traffic.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_number(const char *prefix, int number) {
    char text[64];
    return traffic_hash(text, (size_t)snprintf(text, sizeof text, "%s%d", prefix, number));
}

Test(traffic, five_percent_of_20000_requests_are_five_percent) {
    static const uint32_t SHARES[] = {1000, 5000, 50000, 100000, 333333, 500000, 990000};
    for (size_t s = 0; s < sizeof SHARES / sizeof *SHARES; s++) {
        _Atomic uint64_t counter = 0;
        int taken = 0;
        for (int i = 1; i <= 20000; i++) {
            taken += traffic_take(&counter, SHARES[s]);
            double off = taken - i * (SHARES[s] / 1e6);
            cr_assert(off < 20 && off > -20, "%d of %d at %u ppm", taken, i, SHARES[s]);
        }
    }
}

Test(traffic, none_of_a_share_of_zero_and_all_of_the_whole) {
    _Atomic uint64_t counter = 0;
    for (int i = 0; i < 10000; i++) {
        cr_assert_not(traffic_take(&counter, 0));
        cr_assert(traffic_take(&counter, TRAFFIC_WHOLE_PPM));
        cr_assert_not(traffic_take_key(hash_number("k", i), 0));
        cr_assert(traffic_take_key(hash_number("k", i), TRAFFIC_WHOLE_PPM));
    }
    cr_assert_not(traffic_take_key(0, 0));
    cr_assert(traffic_take_key(UINT64_MAX, TRAFFIC_WHOLE_PPM));
}

/* Each of `clients` connections in turn sends 200 requests; a tenth is the candidate's. */
static void expect_even(int clients) {
    enum { EACH = 200 };
    _Atomic uint64_t counter = 0;
    int *taken = calloc((size_t)clients, sizeof *taken);
    for (int i = 0; i < clients * EACH; i++)
        taken[i % clients] += traffic_take(&counter, 100000);
    int least = EACH, most = 0;
    for (int i = 0; i < clients; i++) {
        least = taken[i] < least ? taken[i] : least;
        most = taken[i] > most ? taken[i] : most;
    }
    free(taken);
    cr_assert(least >= 2 && most <= 50, "%d clients: from %d to %d of %d", clients, least, most, EACH);
}

Test(traffic, clients_that_take_turns_get_their_share_each) {
    static const int CLIENTS[] = {2, 8, 10, 13, 20, 21, 34, 64, 89, 100, 128, 233, 256, 512, 610, 987};
    for (size_t i = 0; i < sizeof CLIENTS / sizeof *CLIENTS; i++)
        expect_even(CLIENTS[i]);
}

Test(traffic, keys_that_look_alike_are_spread_evenly) {
    static const char *const PREFIXES[] = {"", "user-", "10.0.0.", "00000000-0000-0000-0000-"};
    for (size_t p = 0; p < sizeof PREFIXES / sizeof *PREFIXES; p++) {
        int taken = 0;
        for (int i = 0; i < 100000; i++)
            taken += traffic_take_key(hash_number(PREFIXES[p], i), 50000);
        cr_assert(taken > 4700 && taken < 5300, "\"%s\": %d of 100000", PREFIXES[p], taken);
    }
}

Test(traffic, a_key_never_leaves_a_share_that_grows) {
    for (int i = 0; i < 2000; i++) {
        uint64_t hash = hash_number("key", i);
        bool was = false;
        for (uint32_t share = 0; share <= TRAFFIC_WHOLE_PPM; share += 5000) {
            bool is = traffic_take_key(hash, share);
            cr_assert(is || !was);
            was = is;
        }
        cr_assert(was);
    }
}

Test(traffic, the_hash_stays_what_it_is) {
    cr_assert_eq(traffic_hash("", 0), UINT64_C(0xefd01f60ba992926), "%" PRIx64, traffic_hash("", 0));
    cr_assert_neq(traffic_hash("a", 1), traffic_hash("b", 1));
    cr_assert_neq(traffic_hash("a", 1), traffic_hash("a\0", 2));
    cr_assert_eq(traffic_hash("a", 1), traffic_hash("abc", 1));
}
