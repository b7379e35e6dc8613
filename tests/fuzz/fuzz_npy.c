/* Reads one array: what is read must be written and read again as the same type and shape, and its data must lie within
 * the file. The first byte says whether two bytes without a type are bfloat16; the rest is the file.
 * usage: fuzz_npy tests/fuzz/corpus/npy   (libFuzzer) */
#include "engine/npy.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct npy npy, again;
    struct weir_error err;
    unsigned char head[NPY_HEAD_ROOM];
    if (size == 0)
        return 0;
    enum npy_void two_bytes = data[0] % 2 ? NPY_VOID_BF16 : NPY_VOID_REFUSED;
    data++;
    size--;
    if (npy_parse(data, size, two_bytes, &npy, &err) != WEIR_OK) {
        require_text(err.text);
        return 0;
    }
    require(npy.head_bytes + npy.data_bytes == size, "the data does not end where the file ends");
    require((const uint8_t *)npy.data == data + npy.head_bytes, "the data is not behind the head");
    size_t bytes = npy_write_head(npy.dtype, &npy.shape, head, sizeof head);
    require(bytes > 0, "a head does not fit its room");
    require(npy_parse_head(head, bytes, two_bytes, &again, &err) == WEIR_OK, "a written head is not read");
    require(again.dtype == npy.dtype && again.shape.rank == npy.shape.rank && again.data_bytes == npy.data_bytes,
            "a written head is another one");
    return 0;
}
