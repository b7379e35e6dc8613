#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_families.h"

/* Python's %: the result has the sign of b. */
CUDA_DEVICE_RARE float modulo(float a, float b) {
    float rest = fmodf(a, b);
    return rest != 0.0f && (rest < 0.0f) != (b < 0.0f) ? rest + b : rest;
}

CUDA_DEVICE_RARE float power(float a, float b) {
    return powf(a, b);
}

CUDA_DEVICE_RARE float remainder_of(float a, float b) {
    return fmodf(a, b);
}

static __device__ __forceinline__ float combine(enum binary_kind kind, float a, float b) {
    switch (kind) {
    case BINARY_ADD:
        return a + b;
    case BINARY_SUBTRACT:
        return a - b;
    case BINARY_MULTIPLY:
        return a * b;
    case BINARY_DIVIDE:
        return a / b;
    case BINARY_POWER:
        return b == 2.0f ? a * a : power(a, b);
    case BINARY_MINIMUM:
        return a != a || a < b ? a : b;
    case BINARY_MAXIMUM:
        return a != a || a > b ? a : b;
    case BINARY_MODULO:
        return modulo(a, b);
    case BINARY_REMAINDER:
        return remainder_of(a, b);
    default: /* PRELU */
        return a < 0.0f ? b * a : a;
    }
}

/* Modulo 2^64, which leaves the lower bits right for every width. */
CUDA_DEVICE_RARE int64_t power(int64_t base, int64_t exponent) {
    uint64_t result = 1, square = (uint64_t)base;
    if (exponent < 0) /* the fraction is cut off */
        return base == 1 || base == -1 ? (exponent % 2 ? base : 1) : 0;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= square;
        square *= square;
    }
    return (int64_t)result;
}

static __device__ __forceinline__ int64_t divide(int64_t a, int64_t b) {
    if (b == 0)
        return 0;
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static __device__ __forceinline__ int64_t remainder_of(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

static __device__ __forceinline__ int64_t modulo(int64_t a, int64_t b) {
    int64_t rest = remainder_of(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* In 64 bits, cut to the element's width by the caller. A shift by 64 or more gives 0. */
static __device__ __forceinline__ int64_t combine(enum binary_kind kind, int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b; /* these wrap around */
    switch (kind) {
    case BINARY_ADD:
        return (int64_t)(x + y);
    case BINARY_SUBTRACT:
        return (int64_t)(x - y);
    case BINARY_MULTIPLY:
        return (int64_t)(x * y);
    case BINARY_DIVIDE:
        return divide(a, b);
    case BINARY_POWER:
        return power(a, b);
    case BINARY_MINIMUM:
        return a < b ? a : b;
    case BINARY_MAXIMUM:
        return a > b ? a : b;
    case BINARY_MODULO:
        return modulo(a, b);
    case BINARY_REMAINDER:
        return remainder_of(a, b);
    case BINARY_PRELU:
        return a < 0 ? (int64_t)(x * y) : a;
    case BINARY_AND:
        return a & b;
    case BINARY_OR:
        return a | b;
    case BINARY_XOR:
        return a ^ b;
    case BINARY_SHIFT_LEFT:
        return y < 64 ? (int64_t)(x << y) : 0;
    default:
        return y < 64 ? (int64_t)(x >> y) : 0;
    }
}

static __device__ __forceinline__ bool holds(enum binary_kind kind, bool below, bool same, bool above) {
    switch (kind) {
    case BINARY_EQUAL:
        return same;
    case BINARY_LESS:
        return below;
    case BINARY_LESS_EQUAL:
        return below || same;
    case BINARY_GREATER:
        return above;
    default:
        return above || same;
    }
}

/* Where element i of y lies in both inputs. */
struct places {
    size_t a, b;
};

static __device__ __forceinline__ struct places places_of(const struct broadcast *broadcast, size_t i) {
    struct places places = {0, 0};
    for (int d = broadcast->rank - 1; d > 0; d--) {
        size_t outer = i / broadcast->dims[d], at = i - outer * broadcast->dims[d];
        places.a += at * broadcast->strides[0][d];
        places.b += at * broadcast->strides[1][d];
        i = outer;
    }
    places.a += i * broadcast->strides[0][0];
    places.b += i * broadcast->strides[1][0];
    return places;
}

/* y[i] = a with b, computed as `wide` numbers; y may be one of them. */
template <class element, class wide, class second>
static __global__ void binary(enum binary_kind kind, const struct broadcast broadcast, const element *a,
                              const second *b, element *y, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        struct places places = places_of(&broadcast, i);
        y[i] = (element)combine(kind, (wide)a[places.a], (wide)b[places.b]);
    }
}

/* Four elements of an innermost line: they lie together in an input, or are one that is repeated. */
static __device__ __forceinline__ float4 four_at(const float *x, size_t place, size_t stride) {
    float one = x[place];
    return stride == 1 ? *(const float4 *)(x + place) : float4{one, one, one, one};
}

/* Floats whose lines are whole fours in every input. */
static __global__ void binary_fours(enum binary_kind kind, const struct broadcast broadcast, const float *a,
                                    const float *b, float *y, size_t fours) {
    int last = broadcast.rank - 1;
    CUDA_DEVICE_EACH(i, fours) {
        struct places places = places_of(&broadcast, 4 * i);
        float4 left = four_at(a, places.a, broadcast.strides[0][last]);
        float4 right = four_at(b, places.b, broadcast.strides[1][last]);
        ((float4 *)y)[i] = {combine(kind, left.x, right.x), combine(kind, left.y, right.y),
                            combine(kind, left.z, right.z), combine(kind, left.w, right.w)};
    }
}

template <class element>
static __global__ void compare(enum binary_kind kind, const struct broadcast broadcast, const element *a,
                               const element *b, uint8_t *y, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        struct places places = places_of(&broadcast, i);
        element left = a[places.a], right = b[places.b];
        y[i] = holds(kind, left<right, left == right, left> right);
    }
}

template <class element, class wide, class second>
static cudaError_t launch_binary(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs, void *scratch, cudaStream_t stream) {
    size_t count = view_count(outputs);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH((binary<element, wide, second>), count, stream, operation->binary,
                              broadcast_over(inputs, 2, outputs), (const element *)inputs[0].data,
                              (const second *)inputs[1].data, (element *)outputs[0].data, count);
}

/* Integers to float powers, cut to whole numbers that fit; NaN is 0. */
template <class integer>
static __global__ void integer_power(const struct broadcast broadcast, int64_t least, int64_t greatest,
                                     const integer *a, const float *b, integer *y, size_t count) {
    CUDA_DEVICE_EACH(i, count) {
        struct places places = places_of(&broadcast, i);
        y[i] = (integer)cuda_device_saturate(pow((double)a[places.a], (double)b[places.b]), least, greatest);
    }
}

template <class integer>
static cudaError_t launch_integer_power(const struct operation *operation, const struct view *inputs,
                                        const struct view *outputs, void *scratch, cudaStream_t stream) {
    const int64_t greatest = sizeof(integer) == 8 ? INT64_MAX : INT32_MAX;
    size_t count = view_count(outputs);
    (void)operation;
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(integer_power<integer>, count, stream, broadcast_over(inputs, 2, outputs), -greatest - 1,
                              greatest, (const integer *)inputs[0].data, (const float *)inputs[1].data,
                              (integer *)outputs[0].data, count);
}

/* May the elements of this input be read four at a time? */
static bool has_fours(const struct broadcast *broadcast, int input, const void *data) {
    int last = broadcast->rank - 1;
    if (broadcast->strides[input][last] != 1)
        return true;
    bool fits = (uintptr_t)data % sizeof(float4) == 0;
    for (int d = 0; d < last; d++)
        fits = fits && broadcast->strides[input][d] % 4 == 0;
    return fits;
}

static cudaError_t launch_floats(const struct operation *operation, const struct view *inputs,
                                 const struct view *outputs, void *scratch, cudaStream_t stream) {
    struct broadcast broadcast = broadcast_over(inputs, 2, outputs);
    const float *a = (const float *)inputs[0].data, *b = (const float *)inputs[1].data;
    float *y = (float *)outputs[0].data;
    size_t count = view_count(outputs);
    (void)scratch;
    if (broadcast.dims[broadcast.rank - 1] % 4 == 0 && (uintptr_t)y % sizeof(float4) == 0 &&
        has_fours(&broadcast, 0, a) && has_fours(&broadcast, 1, b))
        return CUDA_DEVICE_LAUNCH(binary_fours, count / 4, stream, operation->binary, broadcast, a, b, y, count / 4);
    return CUDA_DEVICE_LAUNCH((binary<float, float, float>), count, stream, operation->binary, broadcast, a, b, y,
                              count);
}

template <class element>
static cudaError_t launch_compare(const struct operation *operation, const struct view *inputs,
                                  const struct view *outputs, void *scratch, cudaStream_t stream) {
    size_t count = view_count(outputs);
    (void)scratch;
    return CUDA_DEVICE_LAUNCH(compare<element>, count, stream, operation->binary, broadcast_over(inputs, 2, outputs),
                              (const element *)inputs[0].data, (const element *)inputs[1].data,
                              (uint8_t *)outputs[0].data, count);
}

static bool compares(enum binary_kind kind) {
    return kind >= BINARY_EQUAL && kind <= BINARY_GREATER_EQUAL;
}

static cuda_launcher find_compare(enum element element) {
    switch (element) {
    case ELEMENT_F32:
        return launch_compare<float>;
    case ELEMENT_I64:
        return launch_compare<int64_t>;
    case ELEMENT_I32:
        return launch_compare<int32_t>;
    case ELEMENT_I8:
        return launch_compare<int8_t>;
    case ELEMENT_U8:
    case ELEMENT_BOOL:
        return launch_compare<uint8_t>;
    default:
        return NULL;
    }
}

extern "C" cuda_launcher cuda_binary_find(const struct operation *operation, const struct view *inputs,
                                          const struct view *outputs) {
    enum binary_kind kind = operation->binary;
    enum element a = inputs[0].element, b = inputs[1].element;
    if (operation->kind != OPERATION_BINARY)
        return NULL;
    if (a == ELEMENT_F32 && kind == BINARY_POWER && (b == ELEMENT_I64 || b == ELEMENT_I32))
        return b == ELEMENT_I64 ? launch_binary<float, float, int64_t> : launch_binary<float, float, int32_t>;
    if (b == ELEMENT_F32 && kind == BINARY_POWER && (a == ELEMENT_I64 || a == ELEMENT_I32))
        return a == ELEMENT_I64 ? launch_integer_power<int64_t> : launch_integer_power<int32_t>;
    if (a != b)
        return NULL;
    if (compares(kind))
        return find_compare(a);
    if (a != outputs[0].element)
        return NULL;
    switch (a) {
    case ELEMENT_F32:
        return kind <= BINARY_PRELU ? launch_floats : NULL;
    case ELEMENT_I64:
        return launch_binary<int64_t, int64_t, int64_t>;
    case ELEMENT_I32:
        return launch_binary<int32_t, int64_t, int32_t>;
    case ELEMENT_I8:
        return launch_binary<int8_t, int64_t, int8_t>;
    case ELEMENT_U8:
        return launch_binary<uint8_t, int64_t, uint8_t>;
    case ELEMENT_BOOL:
        return kind == BINARY_AND || kind == BINARY_OR || kind == BINARY_XOR ? launch_binary<uint8_t, int64_t, uint8_t>
                                                                             : NULL;
    default:
        return NULL;
    }
}
