/* Powers of ten for writing float64 numbers (json_writer.c). */
#ifndef WEIR_SERVER_CODEC_JSON_POWERS_H
#define WEIR_SERVER_CODEC_JSON_POWERS_H

#include <stdint.h>

enum { JSON_POWERS_LEAST = -292, JSON_POWERS_MOST = 324 };

/* 10^i as its 128 leading bits, rounded up: the upper and the lower half. json_powers[i - JSON_POWERS_LEAST]. */
struct json_power {
    uint64_t high, low;
};
extern const struct json_power json_powers[JSON_POWERS_MOST - JSON_POWERS_LEAST + 1];

#endif
