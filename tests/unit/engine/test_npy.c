#include "engine/npy.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct npy npy;
static struct weir_error error;

/* A file of the version with this head and data_bytes bytes behind it: 0, 1, 2... Its memory is a block of its own, so
 * that a step past it is seen. */
struct file {
    unsigned char *bytes;
    size_t size;
};

static struct file make_file(int version, const char *head, size_t data_bytes) {
    size_t length = strlen(head), before = version == 1 ? 10 : 12;
    struct file file = {.size = before + length + data_bytes};
    file.bytes = malloc(file.size);
    memcpy(file.bytes, "\x93NUMPY", 6);
    file.bytes[6] = (unsigned char)version;
    file.bytes[7] = 0;
    for (size_t i = 8; i < before; i++)
        file.bytes[i] = (unsigned char)(length >> 8 * (i - 8));
    memcpy(file.bytes + before, head, length);
    for (size_t i = 0; i < data_bytes; i++)
        file.bytes[before + length + i] = (unsigned char)i;
    return file;
}

static enum weir_status parse(const char *head, size_t data_bytes, enum npy_void two_bytes) {
    struct file file = make_file(1, head, data_bytes);
    enum weir_status status = npy_parse(file.bytes, file.size, two_bytes, &npy, &error);
    free(file.bytes);
    return status;
}

static void assert_refused(const char *head, size_t data_bytes, enum weir_status expected, const char *text) {
    enum weir_status status = parse(head, data_bytes, NPY_VOID_REFUSED);
    cr_assert_eq(status, expected, "%s: %d", head, status);
    cr_assert_not_null(strstr(error.text, text), "%s: %s", head, error.text);
}

Test(npy, a_head_as_numpy_writes_it_is_read) {
    const char head[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n";
    struct file file = make_file(1, head, 48);
    cr_assert_eq(npy_parse(file.bytes, file.size, NPY_VOID_REFUSED, &npy, &error), WEIR_OK, "%s", error.text);
    cr_assert_eq(npy.dtype, TENSOR_F32);
    cr_assert_eq(npy.shape.rank, 2);
    cr_assert_eq(npy.shape.dims[0], 3);
    cr_assert_eq(npy.shape.dims[1], 4);
    cr_assert_eq(npy.head_bytes, 10 + sizeof head - 1);
    cr_assert_eq(npy.data_bytes, 48);
    cr_assert_eq((const unsigned char *)npy.data - file.bytes, (ptrdiff_t)npy.head_bytes);
    cr_assert_null(npy.memory);
    free(file.bytes);
}

Test(npy, versions_2_and_3_have_a_longer_length) {
    for (int version = 2; version <= 3; version++) {
        struct file file = make_file(version, "{'descr':'<i8','fortran_order':False,'shape':(2,)}", 16);
        cr_assert_eq(npy_parse(file.bytes, file.size, NPY_VOID_REFUSED, &npy, &error), WEIR_OK, "%s", error.text);
        cr_assert_eq(npy.dtype, TENSOR_I64);
        cr_assert_eq(npy.shape.dims[0], 2);
        free(file.bytes);
    }
}

Test(npy, keys_come_in_any_order_with_any_quotes_and_spaces) {
    cr_assert_eq(
        parse("{ \"shape\" : ( 2L , 1 , ) ,\t'fortran_order':False,\"descr\":\"|u1\" }\n", 2, NPY_VOID_REFUSED),
        WEIR_OK, "%s", error.text);
    cr_assert_eq(npy.dtype, TENSOR_U8);
    cr_assert_eq(npy.shape.rank, 2);
}

Test(npy, an_array_may_be_one_number_or_none) {
    cr_assert_eq(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", 8, NPY_VOID_REFUSED), WEIR_OK);
    cr_assert_eq(npy.shape.rank, 0);
    cr_assert_eq(parse("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 7), }", 0, NPY_VOID_REFUSED), WEIR_OK);
    cr_assert_eq(npy.data_bytes, 0);
}

Test(npy, two_bytes_without_a_type_are_bfloat16_only_when_asked_for) {
    const char head[] = "{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }";
    cr_assert_eq(parse(head, 4, NPY_VOID_BF16), WEIR_OK);
    cr_assert_eq(npy.dtype, TENSOR_BF16);
    cr_assert_eq(parse("{'descr': '|V2', 'fortran_order': False, 'shape': (2,), }", 4, NPY_VOID_BF16), WEIR_OK);
    assert_refused(head, 4, WEIR_UNSUPPORTED, "'<V2'");
}

Test(npy, what_is_not_read_is_refused_by_name) {
    assert_refused("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4, WEIR_UNSUPPORTED, "big-endian");
    assert_refused("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", 4, WEIR_UNSUPPORTED, "Fortran");
    assert_refused("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", 4, WEIR_UNSUPPORTED, "objects");
    assert_refused("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8, WEIR_UNSUPPORTED, "'<c8'");
    assert_refused("{'descr': '|f4', 'fortran_order': False, 'shape': (1,), }", 4, WEIR_UNSUPPORTED, "'|f4'");
    assert_refused("{'descr': '', 'fortran_order': False, 'shape': (1,), }", 4, WEIR_UNSUPPORTED, "''");
    assert_refused("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4, WEIR_UNSUPPORTED,
                   "structures");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }", 4,
                   WEIR_UNSUPPORTED, "8 dimensions");
}

Test(npy, a_faulty_head_is_refused) {
    assert_refused("", 0, WEIR_INVALID, "no dictionary");
    assert_refused("{", 0, WEIR_INVALID, "faulty dictionary");
    assert_refused("{}", 0, WEIR_INVALID, "lacks 'descr'");
    assert_refused("{'descr': '<f4', 'fortran_order': False}", 0, WEIR_INVALID, "lacks 'shape'");
    assert_refused("{'descr': '<f4' 'fortran_order': False}", 0, WEIR_INVALID, "faulty dictionary");
    assert_refused("{'descr': '<f4', 'descr': '<f4'}", 0, WEIR_INVALID, "twice");
    assert_refused("{'descr': '<f4', 'more': 1}", 0, WEIR_INVALID, "unknown key");
    assert_refused("{'descr': 4}", 0, WEIR_INVALID, "no text as its type");
    assert_refused("{'descr': '<f4\\''}", 0, WEIR_INVALID, "no text as its type");
    assert_refused("{'descr': '<f4", 0, WEIR_INVALID, "no text as its type");
    assert_refused("{'fortran_order': None}", 0, WEIR_INVALID, "order");
    assert_refused("{'fortran_order': F", 0, WEIR_INVALID, "order");
    assert_refused("{'shape': [1]}", 0, WEIR_INVALID, "tuple");
    assert_refused("{'shape': (1 2)}", 0, WEIR_INVALID, "faulty shape");
    assert_refused("{'shape': (-1,)}", 0, WEIR_INVALID, "faulty shape");
    assert_refused("{'shape': (,)}", 0, WEIR_INVALID, "faulty shape");
    assert_refused("{'shape': (99999999999999999999,)}", 0, WEIR_INVALID, "faulty shape");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", 4, WEIR_INVALID, "goes on");
}

Test(npy, sizes_that_overflow_are_refused) {
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", 0, WEIR_INVALID,
                   "too many elements");
    assert_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,), }", 0, WEIR_INVALID,
                   "too many elements");
}

Test(npy, fewer_or_more_bytes_than_the_shape_says_are_refused) {
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23, WEIR_INVALID,
                   "truncated: 23 bytes behind the head, float32 [2,3] takes 24");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 25, WEIR_INVALID,
                   "too long: 25 bytes");
}

Test(npy, a_file_that_ends_anywhere_is_refused) {
    for (int version = 1; version <= 3; version++) {
        struct file file = make_file(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4);
        for (size_t size = 0; size < file.size; size++) {
            unsigned char *piece = malloc(size + (size == 0));
            memcpy(piece, file.bytes, size);
            cr_assert_eq(npy_parse(piece, size, NPY_VOID_REFUSED, &npy, &error), WEIR_INVALID, "%zu bytes", size);
            cr_assert_not_null(strstr(error.text, size == 0 ? "empty" : "truncated"), "%s", error.text);
            free(piece);
        }
        free(file.bytes);
    }
}

Test(npy, other_files_and_versions_are_refused) {
    struct file file = make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4);
    file.bytes[6] = 4;
    cr_assert_eq(npy_parse(file.bytes, file.size, NPY_VOID_REFUSED, &npy, &error), WEIR_UNSUPPORTED);
    cr_assert_not_null(strstr(error.text, "version 4.0"));
    file.bytes[0] = 'P';
    cr_assert_eq(npy_parse(file.bytes, file.size, NPY_VOID_REFUSED, &npy, &error), WEIR_INVALID);
    free(file.bytes);
}

Test(npy, a_head_beyond_the_limit_is_refused_before_it_is_there) {
    unsigned char head[12] = "\x93NUMPY\2\0\1\0\1";
    cr_assert_eq(npy_parse(head, sizeof head, NPY_VOID_REFUSED, &npy, &error), WEIR_TOO_LARGE);
}

Test(npy, the_head_alone_can_be_read) {
    struct file file = make_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }", 0);
    cr_assert_eq(npy_parse_head(file.bytes, file.size, NPY_VOID_REFUSED, &npy, &error), WEIR_OK);
    cr_assert_eq(npy.head_bytes, file.size);
    cr_assert_eq(npy.data_bytes, 4000);
    free(file.bytes);
}

Test(npy, what_is_written_is_read_again_and_aligned) {
    struct tensor_shape shape = {.rank = 0};
    for (int rank = 0; rank <= TENSOR_MAX_RANK; rank++) {
        for (int dtype = 0; dtype < TENSOR_DTYPE_COUNT; dtype++) {
            unsigned char head[NPY_HEAD_ROOM];
            shape.rank = rank;
            size_t bytes = npy_write_head((enum tensor_dtype)dtype, &shape, head, sizeof head);
            cr_assert_gt(bytes, 0);
            cr_assert_eq(bytes % 64, 0);
            cr_assert_eq(head[bytes - 1], '\n');
            cr_assert_eq(npy_parse_head(head, bytes, NPY_VOID_BF16, &npy, &error), WEIR_OK, "%s", error.text);
            cr_assert_eq(npy.dtype, (enum tensor_dtype)dtype);
            cr_assert_eq(npy.head_bytes, bytes);
            cr_assert_eq(npy.shape.rank, rank);
            for (int i = 0; i < rank; i++)
                cr_assert_eq(npy.shape.dims[i], shape.dims[i]);
        }
        if (rank < TENSOR_MAX_RANK)
            shape.dims[rank] = 3 + rank;
    }
}

Test(npy, the_longest_head_fits_its_room_and_less_room_is_refused) {
    struct tensor_shape shape = {.rank = TENSOR_MAX_RANK};
    unsigned char head[NPY_HEAD_ROOM];
    for (int i = 0; i < TENSOR_MAX_RANK; i++)
        shape.dims[i] = INT64_MAX;
    size_t bytes = npy_write_head(TENSOR_F32, &shape, head, sizeof head);
    cr_assert_gt(bytes, 0);
    cr_assert_eq(npy_write_head(TENSOR_F32, &shape, head, bytes - 1), 0);
}

static char path[64];

static void write_file(const void *bytes, size_t size) {
    strcpy(path, "/tmp/weir-npy-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
}

Test(npy, a_file_is_read_whole) {
    struct file file = make_file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", 3);
    write_file(file.bytes, file.size);
    cr_assert_eq(npy_load(path, file.size, NPY_VOID_REFUSED, &npy, &error), WEIR_OK, "%s", error.text);
    cr_assert_eq((uintptr_t)npy.data % 16, 0);
    cr_assert_eq(memcmp(npy.data, "\0\1\2", 3), 0);
    npy_release(&npy);
    cr_assert_null(npy.memory);
    unlink(path);
    free(file.bytes);
}

Test(npy, a_file_that_cannot_be_read_is_named) {
    struct file file = make_file(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", 3);
    write_file(file.bytes, file.size);
    cr_assert_eq(npy_load(path, file.size - 1, NPY_VOID_REFUSED, &npy, &error), WEIR_TOO_LARGE);
    cr_assert_eq(strncmp(error.text, path, strlen(path)), 0, "%s", error.text);
    cr_assert_eq(truncate(path, (off_t)file.size - 1), 0);
    cr_assert_eq(npy_load(path, file.size, NPY_VOID_REFUSED, &npy, &error), WEIR_INVALID);
    cr_assert_eq(strncmp(error.text, path, strlen(path)), 0, "%s", error.text);
    unlink(path);
    cr_assert_eq(npy_load(path, file.size, NPY_VOID_REFUSED, &npy, &error), WEIR_NOT_FOUND);
    cr_assert_eq(npy_load("/tmp", file.size, NPY_VOID_REFUSED, &npy, &error), WEIR_INVALID);
    cr_assert_eq(strcmp(error.text, "/tmp: it is not a regular file"), 0, "%s", error.text);
    free(file.bytes);
}

Test(npy, a_head_in_pieces_says_how_many_bytes_it_needs) {
    unsigned char head[16] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0x76, 0x01};
    cr_assert_eq(npy_head_need(NULL, 0), 10);
    for (size_t size = 1; size < 10; size++)
        cr_assert_eq(npy_head_need(head, size), 10);
    cr_assert_eq(npy_head_need(head, 10), 10 + 0x176);
    head[6] = 3;
    cr_assert_eq(npy_head_need(head, 10), 12);
    cr_assert_eq(npy_head_need(head, 12), 12 + 0x176);
    head[11] = 1; /* longer than is read: the reader tells */
    cr_assert_eq(npy_head_need(head, 12), 12);
    head[6] = 4;
    cr_assert_eq(npy_head_need(head, 10), 10);
    head[1] = 'M';
    cr_assert_eq(npy_head_need(head, 2), 2);
}
