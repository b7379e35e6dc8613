#include "tests/fakes/fake_version.h"

#include "engine/model/cost_table.h"
#include "engine/model/model.h"
#include "tests/fakes/fake_backend.h"

struct version {
    struct cost_table costs;
    bool shares_inputs;
};

enum { LARGEST = 8 };
#define NO_COSTS                                                                                                       \
    {                                                                                                                  \
        .count = 1, .largest_batch = LARGEST, .entries = { {.model.largest = LARGEST} }                                \
    }
static struct version versions[3] = {
    {.costs = NO_COSTS}, {.costs = NO_COSTS}, {.costs = NO_COSTS, .shares_inputs = true}};
static struct fake_backend *devices[2];

void fake_version_device(int number, struct fake_backend *fake) {
    devices[number] = fake;
}

struct version *fake_version(int index) {
    return &versions[index];
}

struct cost_table *version_costs(struct version *version, int device_number) {
    (void)device_number;
    return &version->costs;
}

const struct signature *version_signature(const struct version *version) {
#define ROW_OF_ONE(text)                                                                                               \
    {                                                                                                                  \
        .name = (text), .dtype = TENSOR_F32, .shape = {.rank = 2, .dims = {TENSOR_BATCH, 1}}, .is_fixed = true,        \
        .row_elements = 1, .row_bytes = sizeof(float)                                                                  \
    }
    static struct tensor_spec input = ROW_OF_ONE("x"), output = ROW_OF_ONE("y");
    static const struct signature apart = {.inputs = &input, .outputs = &output, .input_count = 1, .output_count = 1};
    static const struct signature shared = {
        .inputs = &input, .outputs = &output, .input_count = 1, .output_count = 1, .shares_inputs = true};
    return version->shares_inputs ? &shared : &apart;
}

struct backend_model *version_replica(const struct version *version, int device_number) {
    (void)version;
    return (struct backend_model *)devices[device_number];
}
