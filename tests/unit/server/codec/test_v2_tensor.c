#include "server/codec/v2_tensor.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/unit/server/codec/v2_models.h"

Test(v2_tensor, every_type_has_a_name_that_is_read_back) {
    for (int i = 0; i < TENSOR_DTYPE_COUNT; i++) {
        enum tensor_dtype dtype;
        const char *name = v2_tensor_datatype((enum tensor_dtype)i);
        cr_assert(v2_tensor_read_datatype(name, strlen(name), &dtype));
        cr_assert_eq((int)dtype, i);
    }
    enum tensor_dtype ignored;
    cr_assert_not(v2_tensor_read_datatype("BYTES", 5, &ignored));
    cr_assert_not(v2_tensor_read_datatype("FP3", 3, &ignored));
    cr_assert_not(v2_tensor_read_datatype("", 0, &ignored));
}

Test(v2_tensor, rows_go_where_the_batch_dimension_is) {
    static const char whole_bytes[] = "abcdefghijkl"; /* [2,3,2], the batch in the middle */
    static const char row_bytes[] = "abghcdijefkl";
    struct tensor_spec spec = V2_SPEC("x", U8, 3, 2, TENSOR_BATCH, 2);
    struct job_tensor tensor = {.row = {.rank = 2, .dims = {2, 2}}};
    struct tensor_shape whole = v2_tensor_whole(&spec, &tensor, 3);
    char out[sizeof whole_bytes] = "";
    cr_assert(whole.rank == 3 && whole.dims[0] == 2 && whole.dims[1] == 3 && whole.dims[2] == 2);
    cr_assert_not(v2_tensor_is_plain(&spec, &whole));
    v2_tensor_copy(&spec, &whole, true, whole_bytes, out);
    cr_assert_str_eq(out, row_bytes);
    v2_tensor_copy(&spec, &whole, false, row_bytes, out);
    cr_assert_str_eq(out, whole_bytes);
}

Test(v2_tensor, a_leading_batch_one_row_and_none_are_plain) {
    struct tensor_spec first = V2_SPEC("x", U8, 2, TENSOR_BATCH, 2), last = V2_SPEC("x", U8, 2, 2, TENSOR_BATCH);
    struct tensor_spec none = V2_SPEC("x", U8, 2, 3, 2);
    struct tensor_shape three = {.rank = 2, .dims = {3, 2}}, one = {.rank = 2, .dims = {2, 1}};
    cr_assert(v2_tensor_is_plain(&first, &three));
    cr_assert(v2_tensor_is_plain(&last, &one));
    cr_assert(v2_tensor_is_plain(&none, &three));
    struct job_tensor tensor = {.row = {.rank = 2, .dims = {3, 2}}};
    cr_assert_eq(v2_tensor_whole(&none, &tensor, 9).rank, 2);
    cr_assert_eq(v2_tensor_whole(&first, &(struct job_tensor){.row = {.rank = 1, .dims = {2}}}, 9).dims[0], 9);
}
