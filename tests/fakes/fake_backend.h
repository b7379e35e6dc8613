/* A device that computes y = x + 1 on one float a row, asynchronously where it has two slots, and fails on demand. */
#ifndef WEIR_TESTS_FAKES_FAKE_BACKEND_H
#define WEIR_TESTS_FAKES_FAKE_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/device/backend.h"

enum { FAKE_MAX_ROWS = 64, FAKE_MAX_RUNS = 4096 };

/* A row with this value makes every batch that holds it fail. */
#define FAKE_POISON -1000.0f

/* A first free size that the model does not take: begin answers INVALID. */
enum { FAKE_REFUSED_SIZE = 13 };

/* A first free size of which the model takes at most two rows at a time: begin answers TOO_LARGE. */
enum { FAKE_BULKY_SIZE = 17, FAKE_BULKY_ROWS = 2 };

struct fake_backend {
    struct backend backend;
    float inputs[2][FAKE_MAX_ROWS];
    float outputs[2][FAKE_MAX_ROWS];
    uint32_t begun_rows[2];
    struct tensor_shape shapes[2];    /* of the output */
    atomic_uint runs;                 /* batches submitted */
    uint32_t run_rows[FAKE_MAX_RUNS]; /* rows of each */
    atomic_int in_flight;             /* slots submitted and not waited for */
    atomic_int most_in_flight;
    atomic_bool hold; /* wait() does not return while this is set */
    atomic_bool lost; /* submit answers DEVICE_LOST */
};

void fake_backend_init(struct fake_backend *fake, int slot_count);

#endif
