#include "tests/fakes/fake_version.h"

#include "engine/model/cost_model.h"
#include "engine/model/model.h"
#include "tests/fakes/fake_backend.h"

struct version {
    struct cost_model costs;
};

static struct version versions[2] = {{.costs.largest = 8}, {.costs.largest = 8}};
static struct fake_backend *device;

void fake_version_device(struct fake_backend *fake) {
    device = fake;
}

struct version *fake_version(int index) {
    return &versions[index];
}

struct cost_model *version_costs(struct version *version, int device_number) {
    (void)device_number;
    return &version->costs;
}

const struct signature *version_signature(const struct version *version) {
    static struct tensor_spec input = {.name = "x",
                                       .dtype = TENSOR_F32,
                                       .shape = {.rank = 2, .dims = {-1, 1}},
                                       .row_elements = 1,
                                       .row_bytes = sizeof(float)};
    static struct tensor_spec output = {.name = "y",
                                        .dtype = TENSOR_F32,
                                        .shape = {.rank = 2, .dims = {-1, 1}},
                                        .row_elements = 1,
                                        .row_bytes = sizeof(float)};
    static const struct signature signature = {
        .inputs = &input, .outputs = &output, .input_count = 1, .output_count = 1};
    (void)version;
    return &signature;
}

struct backend_model *version_replica(const struct version *version, int device_number) {
    (void)version;
    (void)device_number;
    return (struct backend_model *)device;
}
