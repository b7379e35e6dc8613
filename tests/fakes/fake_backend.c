#include "tests/fakes/fake_backend.h"

#include <string.h>

#include "tests/fakes/pause.h"

/* The model of the fake is the fake itself. */
static struct fake_backend *of(struct backend_model *model) {
    return (struct fake_backend *)model;
}

static enum weir_status fake_load(struct backend *backend, struct plan *plan, uint32_t max_rows,
                                  struct backend_model **out, struct weir_error *err) {
    (void)plan;
    (void)max_rows;
    (void)err;
    *out = (struct backend_model *)backend;
    return WEIR_OK;
}

static void fake_unload(struct backend_model *model) {
    (void)model;
}

static enum weir_status fake_begin(struct backend_model *model, int slot, const struct tensor_dims *dims,
                                   struct weir_error *err) {
    struct fake_backend *fake = of(model);
    if (dims->free_count > 0 && dims->free[0] == FAKE_REFUSED_SIZE)
        return weir_fail(err, WEIR_INVALID, "the fake model does not take %d", FAKE_REFUSED_SIZE);
    if (dims->free_count > 0 && dims->free[0] == FAKE_BULKY_SIZE && dims->rows > FAKE_BULKY_ROWS)
        return weir_fail(err, WEIR_TOO_LARGE, "%u rows are too many", dims->rows);
    fake->begun_rows[slot] = dims->rows;
    fake->shapes[slot] = (struct tensor_shape){.rank = 2, .dims = {dims->rows, 1}};
    return WEIR_OK;
}

static void *fake_input(struct backend_model *model, int slot, int index) {
    (void)index;
    return of(model)->inputs[slot];
}

static const void *fake_output(struct backend_model *model, int slot, int index) {
    (void)index;
    return of(model)->outputs[slot];
}

static const struct tensor_shape *fake_output_shape(struct backend_model *model, int slot, int index) {
    (void)index;
    return &of(model)->shapes[slot];
}

static enum weir_status fake_submit(struct backend_model *model, int slot, struct weir_error *err) {
    struct fake_backend *fake = of(model);
    if (atomic_load(&fake->lost))
        return weir_fail(err, WEIR_DEVICE_LOST, "the fake device is lost");
    unsigned run = atomic_load(&fake->runs);
    fake->run_rows[run % FAKE_MAX_RUNS] = fake->begun_rows[slot];
    atomic_store(&fake->runs, run + 1);
    int in_flight = atomic_fetch_add(&fake->in_flight, 1) + 1;
    if (in_flight > atomic_load(&fake->most_in_flight))
        atomic_store(&fake->most_in_flight, in_flight);
    return WEIR_OK;
}

static enum weir_status fake_wait(struct backend_model *model, int slot, struct weir_error *err) {
    struct fake_backend *fake = of(model);
    while (atomic_load(&fake->hold))
        pause_briefly();
    atomic_fetch_sub(&fake->in_flight, 1);
    for (uint32_t row = 0; row < fake->begun_rows[slot]; row++)
        if (fake->inputs[slot][row] == FAKE_POISON)
            return weir_fail(err, WEIR_DEVICE, "the fake device met poison");
    for (uint32_t row = 0; row < fake->begun_rows[slot]; row++)
        fake->outputs[slot][row] = fake->inputs[slot][row] + 1;
    return WEIR_OK;
}

static void fake_close(struct backend *backend) {
    (void)backend;
}

void fake_backend_init(struct fake_backend *fake, int slot_count) {
    static const struct backend_ops ops = {.name = "fake",
                                           .load = fake_load,
                                           .unload = fake_unload,
                                           .begin = fake_begin,
                                           .input = fake_input,
                                           .output = fake_output,
                                           .output_shape = fake_output_shape,
                                           .submit = fake_submit,
                                           .wait = fake_wait,
                                           .wait_loading = fake_wait,
                                           .close = fake_close};
    memset(fake, 0, sizeof *fake);
    fake->backend.ops = &ops;
    fake->backend.slot_count = slot_count;
}
