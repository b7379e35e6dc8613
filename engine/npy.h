/* NumPy's .npy format, versions 1.0, 2.0 and 3.0: one array, little-endian, in C order. Source: NEP 1,
 * numpy.lib.format. Nothing here but npy_load reads a file. */
#ifndef WEIR_ENGINE_NPY_H
#define WEIR_ENGINE_NPY_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/status.h"
#include "engine/tensor.h"

/* Room enough for what npy_write_head writes; the longest head that is read. */
enum { NPY_HEAD_ROOM = 320, NPY_HEAD_MOST = 65536 };

/* What two bytes without a type ('V2') are: that is how arrays of bfloat16 are written, for which NumPy has no type. */
enum npy_void { NPY_VOID_REFUSED, NPY_VOID_BF16 };

struct npy {
    enum tensor_dtype dtype;
    struct tensor_shape shape;
    size_t head_bytes; /* where the elements begin in the file */
    size_t data_bytes; /* of the elements */
    const void *data;  /* the elements; after npy_parse not aligned */
    void *memory;      /* what npy_load took for them; NULL after npy_parse */
};

/* Reads the head alone: fills all but data and memory. The elements need not be there. Errors: INVALID (not such a
 * file; the bytes end within the head), UNSUPPORTED (big-endian, Fortran order, objects, other types, more than
 * TENSOR_MAX_RANK dimensions), TOO_LARGE (a head above NPY_HEAD_MOST). thread: any. */
enum weir_status npy_parse_head(const void *bytes, size_t size, enum npy_void two_bytes, struct npy *out,
                                struct weir_error *err) WEIR_CHECKED;

/* For heads that come in pieces: how many bytes npy_parse_head needs, as far as the first `size` tell. No more than
 * size: it can be called now. More: come again with so many. thread: any. */
size_t npy_head_need(const void *bytes, size_t size);

/* Reads a whole array from memory; out->data points into it. Errors: those of npy_parse_head, INVALID (fewer or more
 * bytes than the shape says). thread: any. */
enum weir_status npy_parse(const void *bytes, size_t size, enum npy_void two_bytes, struct npy *out,
                           struct weir_error *err) WEIR_CHECKED;

/* Writes the head of version 1.0 of an array, padded so that the elements behind it lie aligned to 64 bytes. Returns
 * its bytes; 0 if room is too small (NPY_HEAD_ROOM is enough for any shape). bfloat16 is written as '<V2'. */
size_t npy_write_head(enum tensor_dtype dtype, const struct tensor_shape *shape, void *out, size_t room);

/* Reads a file of at most most_bytes whole. Errors, all beginning with path: those of npy_parse, NOT_FOUND, IO,
 * TOO_LARGE, NO_MEMORY. thread: any that may wait for a disk. Owner of out: the caller, npy_release. */
enum weir_status npy_load(const char *path, size_t most_bytes, enum npy_void two_bytes, struct npy *out,
                          struct weir_error *err) WEIR_CHECKED;

void npy_release(struct npy *npy);

#endif
