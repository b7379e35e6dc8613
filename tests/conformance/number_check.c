/* Are JSON numbers read as strtof reads them, and floats written so that they read back?
 * usage: number_check [--sweep] [COUNT]
 * COUNT texts are read (10,000,000 unless given) and COUNT floats written; --sweep writes all 2^32 instead. */
#include "tests/conformance/number_rules.h"

enum { DEFAULT_COUNT = 10 * 1000 * 1000, SHOWN = 20 };

static uint64_t check_reading(uint64_t count) {
    uint64_t state = 1, wrong = 0, quick_count = 0;
    for (uint64_t i = 0; i < count; i++) {
        char text[NUMBER_TEXTS_BYTES];
        bool quick = false;
        size_t size = number_texts_next(&state, text);
        if (!number_rules_read(text, size, &quick) && wrong++ < SHOWN)
            printf("read wrong: %s\n", text);
        quick_count += quick;
    }
    printf("read %llu texts, %llu of them the quick way: %llu differ from strtof\n", (unsigned long long)count,
           (unsigned long long)quick_count, (unsigned long long)wrong);
    return wrong;
}

static uint64_t check_writing(uint64_t count, bool sweep) {
    uint64_t state = 2, wrong = 0, written = 0;
    if (sweep)
        count = UINT64_C(1) << 32;
    for (uint64_t i = 0; i < count; i++) {
        float value = number_texts_from_bits(sweep ? (uint32_t)i : (uint32_t)number_texts_random(&state));
        if (!isfinite(value))
            continue;
        written++;
        bool right = number_rules_written(value);
        /* printf is slow: the sweep asks it about each thousandth float. */
        if (right && (number_texts_bits(value) & 0x7FFFFF) != 0 && (!sweep || i % 1009 == 0))
            right = number_rules_shortest(value);
        if (!right && wrong++ < SHOWN)
            printf("written wrong: %08x\n", number_texts_bits(value));
    }
    printf("wrote %llu floats: %llu do not read back, or are not the shortest\n", (unsigned long long)written,
           (unsigned long long)wrong);
    return wrong;
}

int main(int argc, char **argv) {
    uint64_t count = DEFAULT_COUNT;
    bool sweep = false;
    for (int i = 1; i < argc; i++) {
        char *end = argv[i];
        if (strcmp(argv[i], "--sweep") == 0) {
            sweep = true;
            continue;
        }
        count = strtoull(argv[i], &end, 10);
        if (end == argv[i] || *end) {
            fprintf(stderr, "usage: number_check [--sweep] [COUNT]\n");
            return 2;
        }
    }
    uint64_t wrong = check_reading(count);
    return wrong + check_writing(count, sweep) == 0 ? 0 : 1;
}
