#include "server/codec/deflate.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static enum weir_status collect(void *context, const char *bytes, size_t size, struct weir_error *err) {
    (void)err;
    bytes_append(context, bytes, size);
    return WEIR_OK;
}

static void assert_undone(enum inflate_coding coding, const char *packed, size_t packed_size, const char *data,
                          size_t size) {
    struct inflater *inflater;
    struct bytes plain = {0};
    struct weir_error err;
    cr_assert(inflater_open(coding, size, &inflater, &err) == WEIR_OK);
    cr_assert(inflater_feed(inflater, packed, packed_size, collect, &plain, &err) == WEIR_OK, "%s", err.text);
    cr_assert(inflater_finish(inflater, &err) == WEIR_OK, "%s", err.text);
    cr_assert(eq(sz, plain.size, size));
    cr_assert(size == 0 || memcmp(plain.data, data, size) == 0);
    inflater_close(inflater);
    bytes_release(&plain);
}

static char *make_text(size_t size) {
    char *text = malloc(size + 1);
    for (size_t i = 0; i < size; i++)
        text[i] = "0123456789,.[]"[(i * i + i / 7) % 14];
    return text;
}

Test(deflate, both_codings_are_undone_whatever_the_size) {
    static const size_t sizes[] = {0, 1, 300, 4095, 4096, 4097, 1000000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int coding = INFLATE_GZIP; coding <= INFLATE_DEFLATE; coding++) {
            char *text = make_text(sizes[i]);
            struct bytes out = {0};
            struct weir_error err;
            bytes_text(&out, "before ");
            cr_assert(deflate_append((enum inflate_coding)coding, text, sizes[i], &out, &err) == WEIR_OK, "%s",
                      err.text);
            cr_assert(memcmp(out.data, "before ", 7) == 0);
            cr_assert(le(sz, out.size, 7 + sizes[i] + 64));
            if (sizes[i] > 1000)
                cr_assert(lt(sz, out.size, sizes[i] / 2));
            assert_undone((enum inflate_coding)coding, out.data + 7, out.size - 7, text, sizes[i]);
            bytes_release(&out);
            free(text);
        }
}

Test(deflate, what_grows_is_refused_and_leaves_no_trace) {
    enum { SIZE = 2000000 };
    char *noise = malloc(SIZE);
    uint64_t state = 1;
    for (size_t i = 0; i < SIZE; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U; /* Knuth, MMIX */
        noise[i] = (char)(state >> 56);
    }
    struct bytes out = {0};
    struct weir_error err;
    bytes_text(&out, "before");
    cr_assert(deflate_append(INFLATE_GZIP, noise, SIZE, &out, &err) == WEIR_TOO_LARGE);
    cr_assert(eq(sz, out.size, 6));
    bytes_release(&out);
    free(noise);
}
