#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/backend_cpu_constants.h"

static struct backend_cpu_device device;
static struct backend_cpu_constants constants = {.device = &device};
static struct weir_error err;
static float values[6] = {1, 2, 3, 4, 5, 6};
static struct graph_constant weights = {
    .dtype = TENSOR_F32, .shape = {2, {2, 3}}, .elements = 6, .bytes = (const unsigned char *)values};
static dnnl_memory_desc_t rows, columns;

static void open_device(void) {
    char text[64];
    cr_assert_eq(backend_cpu_dnnl_open(&device, text, sizeof text, &err), WEIR_OK);
    dnnl_memory_desc_init_by_tag(&rows, 2, (dnnl_dims_t){2, 3}, dnnl_f32, dnnl_ab);
    dnnl_memory_desc_init_by_tag(&columns, 2, (dnnl_dims_t){2, 3}, dnnl_f32, dnnl_ba);
}

static void close_device(void) {
    backend_cpu_constants_release(&constants);
    backend_cpu_dnnl_close(&device);
}

TestSuite(backend_cpu_constants, .init = open_device, .fini = close_device);

static dnnl_memory_t pack(const dnnl_memory_desc_t *wanted, const void *owner) {
    const struct backend_cpu_packing packing = {
        .constant = &weights, .owner = owner, .source = &rows, .wanted = wanted, .drop = true};
    dnnl_memory_t memory = NULL;
    cr_assert_eq(backend_cpu_constants_pack(&constants, &packing, &memory, &err), WEIR_OK, "%s", err.text);
    return memory;
}

static const float *data_of(dnnl_memory_t memory) {
    void *data = NULL;
    cr_assert_eq(dnnl_memory_get_data_handle(memory, &data), dnnl_success);
    return data;
}

Test(backend_cpu_constants, a_layout_is_packed_once) {
    dnnl_memory_t packed = pack(&columns, NULL);
    cr_assert_arr_eq(data_of(packed), ((float[]){1, 4, 2, 5, 3, 6}), sizeof values);
    cr_assert_eq(pack(&columns, NULL), packed);
    cr_assert_neq(pack(&rows, NULL), packed);
}

Test(backend_cpu_constants, what_was_let_go_comes_back_from_its_packing) {
    const void *plain = NULL;
    pack(&columns, NULL);
    weights.bytes = NULL;
    cr_assert_arr_eq(data_of(pack(&rows, NULL)), values, sizeof values);
    cr_assert_eq(backend_cpu_constants_plain(&constants, &weights, NULL, &plain, &err), WEIR_OK, "%s", err.text);
    cr_assert_arr_eq(plain, values, sizeof values);
    const void *again = NULL;
    cr_assert_eq(backend_cpu_constants_plain(&constants, &weights, NULL, &again, &err), WEIR_OK);
    cr_assert_eq(again, plain);
}

Test(backend_cpu_constants, what_is_nowhere_is_an_error) {
    const void *plain;
    weights.bytes = NULL;
    cr_assert_eq(backend_cpu_constants_plain(&constants, &weights, NULL, &plain, &err), WEIR_DEVICE);
}

Test(backend_cpu_constants, plain_bytes_are_copied_only_if_they_are_not_aligned) {
    static unsigned char odd[sizeof values + 1];
    const void *plain = NULL;
    cr_assert_eq(backend_cpu_constants_plain(&constants, &weights, NULL, &plain, &err), WEIR_OK);
    cr_assert_eq(plain, values);
    memcpy(odd + 1, values, sizeof values);
    struct graph_constant other = weights;
    other.bytes = odd + 1;
    cr_assert_eq(backend_cpu_constants_plain(&constants, &other, NULL, &plain, &err), WEIR_OK);
    cr_assert_eq((uintptr_t)plain % sizeof(float), 0);
    cr_assert_arr_eq(plain, values, sizeof values);
}

Test(backend_cpu_constants, what_belongs_to_a_program_goes_with_it) {
    int program = 0;
    pack(&columns, &program);
    cr_assert_eq(constants.count, 1);
    backend_cpu_constants_forget(&constants, &program);
    cr_assert_eq(constants.count, 0);
}
