#include "engine/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/file_read.h"

static const unsigned char MAGIC[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
enum { MAGIC_BYTES = 6, ALIGNMENT = 64 };

/* The head's text, a Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. */
struct cursor {
    const char *at, *end;
};

static void skip_spaces(struct cursor *cursor) {
    const char *at = cursor->at, *end = cursor->end;
    while (end - at >= 8 && memcmp(at, "        ", 8) == 0) /* as the head's end is padded */
        at += 8;
    while (at < end && (*at == ' ' || (*at >= '\t' && *at <= '\r')))
        at++;
    cursor->at = at;
}

/* Steps over the letter, and the spaces before it, if it comes next. */
static bool take(struct cursor *cursor, char letter) {
    skip_spaces(cursor);
    if (cursor->at == cursor->end || *cursor->at != letter)
        return false;
    cursor->at++;
    return true;
}

/* Steps over a text in quotes. Texts with a backslash are not taken: nothing that is read has one. */
static bool take_text(struct cursor *cursor, const char **text, size_t *length) {
    skip_spaces(cursor);
    if (cursor->at == cursor->end || (*cursor->at != '\'' && *cursor->at != '"'))
        return false;
    char quote = *cursor->at++;
    *text = cursor->at;
    const char *at = cursor->at;
    while (at < cursor->end && *at != quote && *at != '\\')
        at++;
    cursor->at = at;
    *length = (size_t)(at - *text);
    return take(cursor, quote);
}

static bool is(const char *text, size_t length, const char *word) {
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* Steps over a whole number; Python 2 wrote an L behind long ones. */
static bool take_size(struct cursor *cursor, int64_t *out) {
    int64_t number = 0;
    skip_spaces(cursor);
    const char *first = cursor->at;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++)
        if (__builtin_mul_overflow(number, INT64_C(10), &number) ||
            __builtin_add_overflow(number, (int64_t)(*cursor->at - '0'), &number))
            return false;
    if (cursor->at == first)
        return false;
    if (cursor->at < cursor->end && *cursor->at == 'L')
        cursor->at++;
    *out = number;
    return true;
}

static enum weir_status bad_head(const char *what, struct weir_error *err) {
    return weir_fail(err, WEIR_INVALID, "not an .npy file: its head %s", what);
}

static enum weir_status read_shape(struct cursor *cursor, struct tensor_shape *shape, struct weir_error *err) {
    struct tensor_shape found = {.rank = 0};
    bool separated = true; /* a single size needs its comma, but who writes (3) means that too */
    if (!take(cursor, '('))
        return bad_head("has no tuple as its shape", err);
    while (!take(cursor, ')')) {
        int64_t dim;
        if (!separated || !take_size(cursor, &dim))
            return bad_head("has a faulty shape", err);
        if (found.rank == TENSOR_MAX_RANK)
            return weir_fail(err, WEIR_UNSUPPORTED, "an array of more than %d dimensions", TENSOR_MAX_RANK);
        found.dims[found.rank++] = dim;
        separated = take(cursor, ',');
    }
    *shape = found;
    return WEIR_OK;
}

static const struct {
    enum tensor_dtype dtype;
    const char *kind;
} kinds[] = {
    {TENSOR_F32, "f4"},  {TENSOR_U8, "u1"},  {TENSOR_I8, "i1"},  {TENSOR_I32, "i4"},  {TENSOR_I64, "i8"},
    {TENSOR_BOOL, "b1"}, {TENSOR_F16, "f2"}, {TENSOR_F64, "f8"}, {TENSOR_BF16, "V2"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static enum weir_status read_type(struct cursor *cursor, enum npy_void two_bytes, enum tensor_dtype *dtype,
                                  struct weir_error *err) {
    const char *text;
    size_t length;
    skip_spaces(cursor);
    if (cursor->at < cursor->end && *cursor->at == '[')
        return weir_fail(err, WEIR_UNSUPPORTED, "an array of structures");
    if (!take_text(cursor, &text, &length))
        return bad_head("has no text as its type", err);
    if (length >= 2 && text[1] == 'O')
        return weir_fail(err, WEIR_UNSUPPORTED, "an array of Python objects");
    if (length >= 1 && text[0] == '>')
        return weir_fail(err, WEIR_UNSUPPORTED, "elements of type '%.*s': big-endian", length < 16 ? (int)length : 16,
                         text);
    for (int i = 0; i < KINDS; i++) {
        if (length < 1 || !is(text + 1, length - 1, kinds[i].kind))
            continue;
        bool is_void = kinds[i].dtype == TENSOR_BF16;
        bool has_order = tensor_dtype_bytes(kinds[i].dtype) > 1 && !is_void;
        if (is_void && two_bytes != NPY_VOID_BF16)
            break;
        if (text[0] != '<' && (has_order || text[0] != '|'))
            break;
        *dtype = kinds[i].dtype;
        return WEIR_OK;
    }
    return weir_fail(err, WEIR_UNSUPPORTED, "elements of type '%.*s'", length < 16 ? (int)length : 16, text);
}

static enum weir_status read_order(struct cursor *cursor, struct weir_error *err) {
    size_t left;
    skip_spaces(cursor);
    left = (size_t)(cursor->end - cursor->at);
    if (left >= 4 && memcmp(cursor->at, "True", 4) == 0)
        return weir_fail(err, WEIR_UNSUPPORTED, "an array in Fortran order; numpy.ascontiguousarray gives C order");
    if (left < 5 || memcmp(cursor->at, "False", 5) != 0)
        return bad_head("does not say its order", err);
    cursor->at += 5;
    return WEIR_OK;
}

/* Reads the dictionary: each of its three keys once, in any order, and nothing else. */
static enum weir_status read_dictionary(struct cursor cursor, enum npy_void two_bytes, struct npy *out,
                                        struct weir_error *err) {
    static const char *const names[] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {false}, separated = true;
    if (!take(&cursor, '{'))
        return bad_head("is no dictionary", err);
    while (!take(&cursor, '}')) {
        const char *text;
        size_t length;
        int key = 0;
        if (!separated || !take_text(&cursor, &text, &length) || !take(&cursor, ':'))
            return bad_head("is a faulty dictionary", err);
        while (key < 3 && !is(text, length, names[key]))
            key++;
        if (key == 3 || seen[key])
            return bad_head(key == 3 ? "has an unknown key" : "has a key twice", err);
        seen[key] = true;
        enum weir_status status = key == 0   ? read_type(&cursor, two_bytes, &out->dtype, err)
                                  : key == 1 ? read_order(&cursor, err)
                                             : read_shape(&cursor, &out->shape, err);
        if (status != WEIR_OK)
            return status;
        separated = take(&cursor, ',');
    }
    skip_spaces(&cursor);
    if (cursor.at != cursor.end)
        return bad_head("goes on behind its dictionary", err);
    for (int key = 0; key < 3; key++)
        if (!seen[key])
            return weir_fail(err, WEIR_INVALID, "not an .npy file: its head lacks '%s'", names[key]);
    return WEIR_OK;
}

size_t npy_head_need(const void *bytes, size_t size) {
    const unsigned char *head = bytes;
    if (size > 0 && memcmp(head, MAGIC, size < MAGIC_BYTES ? size : MAGIC_BYTES) != 0)
        return size;
    if (size < 10)
        return 10;
    if (head[6] == 1)
        return 10 + ((size_t)head[8] | (size_t)head[9] << 8);
    if (head[6] < 1 || head[6] > 3)
        return size;
    if (size < 12)
        return 12;
    size_t length = (size_t)head[8] | (size_t)head[9] << 8 | (size_t)head[10] << 16 | (size_t)head[11] << 24;
    return length > NPY_HEAD_MOST ? size : 12 + length;
}

enum weir_status npy_parse_head(const void *bytes, size_t size, enum npy_void two_bytes, struct npy *out,
                                struct weir_error *err) {
    const unsigned char *head = bytes;
    struct npy npy = {.dtype = TENSOR_F32};
    size_t elements;
    if (size == 0)
        return weir_fail(err, WEIR_INVALID, "not an .npy file: it is empty");
    if (memcmp(head, MAGIC, size < MAGIC_BYTES ? size : MAGIC_BYTES) != 0)
        return weir_fail(err, WEIR_INVALID, "not an .npy file: it does not begin with \\x93NUMPY");
    if (size >= 8 && (head[6] < 1 || head[6] > 3 || head[7] != 0))
        return weir_fail(err, WEIR_UNSUPPORTED, ".npy version %d.%d (1.0, 2.0 and 3.0 are read)", head[6], head[7]);
    size_t before = size >= 8 && head[6] == 1 ? 10 : 12; /* where the text begins */
    if (size < before)
        return weir_fail(err, WEIR_INVALID, "truncated: it ends within the head");
    size_t length = (size_t)head[8] | (size_t)head[9] << 8;
    if (before == 12)
        length |= (size_t)head[10] << 16 | (size_t)head[11] << 24;
    if (length > NPY_HEAD_MOST)
        return weir_fail(err, WEIR_TOO_LARGE, "a head of %zu bytes, the limit is %d", length, NPY_HEAD_MOST);
    if (length > size - before)
        return weir_fail(err, WEIR_INVALID, "truncated: it ends within the head");
    struct cursor text = {.at = (const char *)head + before, .end = (const char *)head + before + length};
    enum weir_status status = read_dictionary(text, two_bytes, &npy, err);
    if (status != WEIR_OK)
        return status;
    npy.head_bytes = before + length;
    if (!tensor_shape_elements(&npy.shape, 0, &elements) ||
        __builtin_mul_overflow(elements, tensor_dtype_bytes(npy.dtype), &npy.data_bytes))
        return weir_fail(err, WEIR_INVALID, "not an .npy file: its shape has too many elements to count");
    *out = npy;
    return WEIR_OK;
}

enum weir_status npy_parse(const void *bytes, size_t size, enum npy_void two_bytes, struct npy *out,
                           struct weir_error *err) {
    struct npy npy;
    char text[160];
    enum weir_status status = npy_parse_head(bytes, size, two_bytes, &npy, err);
    if (status != WEIR_OK)
        return status;
    size_t there = size - npy.head_bytes;
    if (there != npy.data_bytes)
        return weir_fail(err, WEIR_INVALID, "%s: %zu bytes behind the head, %s %s takes %zu",
                         there < npy.data_bytes ? "truncated" : "too long", there, tensor_dtype_text(npy.dtype),
                         tensor_shape_text(&npy.shape, text, sizeof text), npy.data_bytes);
    npy.data = (const char *)bytes + npy.head_bytes;
    *out = npy;
    return WEIR_OK;
}

/* Without printf: each answer to an .npy request has a head. They return what comes after what they wrote. */
static char *put(char *to, const char *text) {
    size_t size = strlen(text);
    memcpy(to, text, size);
    return to + size;
}

static char *put_size(char *to, int64_t size) {
    char digits[20];
    int first = sizeof digits;
    do
        digits[--first] = (char)('0' + size % 10);
    while ((size /= 10) > 0);
    memcpy(to, digits + first, sizeof digits - (size_t)first);
    return to + sizeof digits - (size_t)first;
}

size_t npy_write_head(enum tensor_dtype dtype, const struct tensor_shape *shape, void *out, size_t room) {
    char text[NPY_HEAD_ROOM];
    const char *kind = "";
    for (int i = 0; i < KINDS; i++)
        if (kinds[i].dtype == dtype)
            kind = kinds[i].kind;
    char *end = put(text, tensor_dtype_bytes(dtype) > 1 ? "{'descr': '<" : "{'descr': '|");
    end = put(put(end, kind), "', 'fortran_order': False, 'shape': (");
    for (int i = 0; i < shape->rank; i++)
        end = put_size(put(end, i == 0 ? "" : ", "), shape->dims[i]);
    end = put(end, shape->rank == 1 ? ",), }" : "), }");
    /* The head ends with a newline, the spaces before it bring it to a multiple of ALIGNMENT. */
    size_t length = (size_t)(end - text), before = MAGIC_BYTES + 4, whole = before + length + 1;
    whole = (whole + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (whole > room)
        return 0;
    char *at = out;
    memcpy(at, MAGIC, MAGIC_BYTES);
    at[6] = 1;
    at[7] = 0;
    at[8] = (char)((whole - before) & 0xFF);
    at[9] = (char)((whole - before) >> 8);
    memcpy(at + before, text, length);
    memset(at + before + length, ' ', whole - before - length);
    at[whole - 1] = '\n';
    return whole;
}

enum weir_status npy_load(const char *path, size_t most_bytes, enum npy_void two_bytes, struct npy *out,
                          struct weir_error *err) {
    struct npy npy = {.memory = NULL};
    struct stat info;
    char *memory = NULL;
    enum weir_status status;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0 || fstat(file, &info) != 0) {
        status = weir_fail(err, errno == ENOENT || errno == ENOTDIR ? WEIR_NOT_FOUND : WEIR_IO, "%s", strerror(errno));
        goto out;
    }
    if (!S_ISREG(info.st_mode)) {
        status = weir_fail(err, WEIR_INVALID, "it is not a regular file");
        goto out;
    }
    size_t size = (size_t)info.st_size;
    if (size > most_bytes) {
        status = weir_fail(err, WEIR_TOO_LARGE, "%zu bytes, the limit is %zu", size, most_bytes);
        goto out;
    }
    memory = malloc(size > 0 ? size : 1);
    status = memory ? file_read_exactly(file, memory, size, 0, err)
                    : weir_fail(err, WEIR_NO_MEMORY, "no memory for %zu bytes", size);
    if (status == WEIR_OK)
        status = npy_parse(memory, size, two_bytes, &npy, err);
    if (status != WEIR_OK)
        goto out;
    memmove(memory, npy.data, npy.data_bytes); /* now as aligned as malloc's memory */
    npy.data = npy.memory = memory;
    memory = NULL;
    *out = npy;
out:
    free(memory);
    if (file >= 0)
        close(file);
    if (status != WEIR_OK)
        weir_fail_in(err, "%s", path);
    return status;
}

void npy_release(struct npy *npy) {
    free(npy->memory);
    *npy = (struct npy){.memory = NULL};
}
