#include "server/codec/v2_datatype.h"

#include <criterion/criterion.h>
#include <string.h>

Test(v2_datatype, every_type_has_a_name_that_is_read_back) {
    for (int i = 0; i < TENSOR_DTYPE_COUNT; i++) {
        enum tensor_dtype dtype;
        const char *name = v2_datatype_text((enum tensor_dtype)i);
        cr_assert(v2_datatype_read(name, strlen(name), &dtype));
        cr_assert_eq((int)dtype, i);
    }
    enum tensor_dtype ignored;
    cr_assert_not(v2_datatype_read("BYTES", 5, &ignored));
    cr_assert_not(v2_datatype_read("FP3", 3, &ignored));
    cr_assert_not(v2_datatype_read("", 0, &ignored));
}
