#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "engine/device/backend_cpu_dnnl.h"

static struct backend_cpu_device device;
static struct weir_error err;
static char text[64];

static void open_device(void) {
    cr_assert_eq(backend_cpu_dnnl_open(&device, text, sizeof text, &err), WEIR_OK, "%s", err.text);
}

static void close_device(void) {
    backend_cpu_dnnl_close(&device);
}

TestSuite(backend_cpu_dnnl, .init = open_device, .fini = close_device);

static dnnl_memory_desc_t layout(int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
    dnnl_memory_desc_t desc;
    cr_assert_eq(dnnl_memory_desc_init_by_tag(&desc, rank, dims, dnnl_f32, tag), dnnl_success);
    return desc;
}

Test(backend_cpu_dnnl, the_text_names_version_and_instructions) {
    cr_assert(strncmp(text, "oneDNN ", 7) == 0);
    cr_assert_not_null(strchr(text, ','));
}

Test(backend_cpu_dnnl, avx512_is_used_if_the_text_says_so) {
    cr_assert_eq(backend_cpu_dnnl_has_avx512(), strstr(text, "avx512") != NULL);
    cr_assert(backend_cpu_dnnl_has_avx512() || !backend_cpu_dnnl_has_bf16());
}

Test(backend_cpu_dnnl, plain_layouts_are_row_major_and_flat) {
    dnnl_memory_desc_t desc, tagged = layout(3, (dnnl_dims_t){2, 3, 4}, dnnl_abc);
    backend_cpu_dnnl_plain(&desc, 3, (size_t[]){2, 3, 4});
    cr_assert(dnnl_memory_desc_equal(&desc, &tagged));
    cr_assert(backend_cpu_dnnl_is_flat(&desc));
    backend_cpu_dnnl_plain(&desc, 0, NULL);
    cr_assert_eq(dnnl_memory_desc_get_size(&desc), sizeof(float));
}

Test(backend_cpu_dnnl, what_lies_like_row_major_is_flat) {
    dnnl_memory_desc_t desc = layout(4, (dnnl_dims_t){2, 32, 1, 1}, dnnl_nChw16c);
    cr_assert(backend_cpu_dnnl_is_flat(&desc));
    desc = layout(4, (dnnl_dims_t){2, 32, 1, 1}, dnnl_nhwc);
    cr_assert(backend_cpu_dnnl_is_flat(&desc));
    desc = layout(4, (dnnl_dims_t){2, 1, 5, 6}, dnnl_nhwc);
    cr_assert(backend_cpu_dnnl_is_flat(&desc));
    desc = layout(4, (dnnl_dims_t){2, 32, 1, 2}, dnnl_nChw16c);
    cr_assert_not(backend_cpu_dnnl_is_flat(&desc));
    desc = layout(4, (dnnl_dims_t){2, 20, 1, 1}, dnnl_nChw16c);
    cr_assert_not(backend_cpu_dnnl_is_flat(&desc));
    desc = layout(2, (dnnl_dims_t){3, 5}, dnnl_ba);
    cr_assert_not(backend_cpu_dnnl_is_flat(&desc));
}

Test(backend_cpu_dnnl, blocks_of_channels_are_seen_as_a_row_major_view) {
    struct view view;
    dnnl_memory_desc_t desc = layout(4, (dnnl_dims_t){2, 40, 5, 6}, dnnl_nChw16c);
    cr_assert(backend_cpu_dnnl_blocks(&desc, &view));
    cr_assert(view.rank == 5 && view.dims[0] == 2 && view.dims[1] == 3 && view.dims[2] == 5 && view.dims[3] == 6 &&
              view.dims[4] == 16);
    cr_assert(backend_cpu_dnnl_is_padded(&desc));
    desc = layout(3, (dnnl_dims_t){2, 40, 5}, dnnl_nwc);
    cr_assert(backend_cpu_dnnl_blocks(&desc, &view));
    cr_assert(view.rank == 4 && view.dims[1] == 1 && view.dims[2] == 5 && view.dims[3] == 40);
    cr_assert_not(backend_cpu_dnnl_is_padded(&desc));
    desc = layout(4, (dnnl_dims_t){2, 40, 5, 6}, dnnl_nchw);
    cr_assert_not(backend_cpu_dnnl_blocks(&desc, &view));
    desc = layout(4, (dnnl_dims_t){32, 32, 3, 3}, dnnl_OIhw16i16o);
    cr_assert_not(backend_cpu_dnnl_blocks(&desc, &view));
}

Test(backend_cpu_dnnl, layouts_that_differ_in_name_alone_are_the_same) {
    dnnl_memory_desc_t a = layout(4, (dnnl_dims_t){2, 32, 1, 6}, dnnl_nhwc), b = a;
    b.format_desc.blocking.strides[2] = 32;
    cr_assert(backend_cpu_dnnl_is_same(&a, &a));
    cr_assert(backend_cpu_dnnl_is_same(&a, &b));
    b = layout(4, (dnnl_dims_t){2, 32, 1, 6}, dnnl_nChw16c);
    cr_assert_not(backend_cpu_dnnl_is_same(&a, &b));
}

Test(backend_cpu_dnnl, a_reorder_moves_every_element) {
    dnnl_memory_t from = NULL, to = NULL;
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0};
    dnnl_memory_desc_t rows = layout(2, (dnnl_dims_t){2, 3}, dnnl_ab),
                       columns = layout(2, (dnnl_dims_t){2, 3}, dnnl_ba);
    cr_assert_eq(dnnl_memory_create(&from, &rows, device.engine, x), dnnl_success);
    cr_assert_eq(dnnl_memory_create(&to, &columns, device.engine, y), dnnl_success);
    cr_assert_eq(backend_cpu_dnnl_reorder(&device, from, to), dnnl_success);
    cr_assert_arr_eq(y, ((float[]){1, 4, 2, 5, 3, 6}), sizeof y);
    dnnl_memory_destroy(from);
    dnnl_memory_destroy(to);
}

Test(backend_cpu_dnnl, relu_and_clip_are_not_part_of_primitives_since_they_would_hide_nan) {
    cr_assert_not(backend_cpu_dnnl_has_unary(&(struct unary){.kind = UNARY_RELU}));
    cr_assert_not(backend_cpu_dnnl_has_unary(&(struct unary){.kind = UNARY_CLIP, .b = 6}));
    cr_assert_not(backend_cpu_dnnl_has_unary(&(struct unary){.kind = UNARY_LEAKY_RELU}));
    cr_assert(backend_cpu_dnnl_has_unary(&(struct unary){.kind = UNARY_LEAKY_RELU, .a = 0.1f}));
    cr_assert(backend_cpu_dnnl_has_unary(&(struct unary){.kind = UNARY_GELU_ERF}));
}

Test(backend_cpu_dnnl, errors_name_the_place) {
    cr_assert_eq(backend_cpu_dnnl_fail(&err, dnnl_out_of_memory, "baking"), WEIR_NO_MEMORY);
    cr_assert_eq(backend_cpu_dnnl_fail(&err, dnnl_runtime_error, "baking"), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "baking"));
    cr_assert(backend_cpu_dnnl_declines(dnnl_unimplemented));
    cr_assert_not(backend_cpu_dnnl_declines(dnnl_out_of_memory));
}
