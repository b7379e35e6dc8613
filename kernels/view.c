#include "kernels/view.h"

size_t view_element_bytes(enum element element) {
    static const unsigned char bytes[ELEMENT_COUNT] = {4, 1, 1, 4, 8, 1, 2, 8, 2};
    return bytes[element];
}

size_t view_product(const struct view *view, int from, int to) {
    size_t product = 1;
    for (int i = from; i < to; i++)
        product *= view->dims[i];
    return product;
}

size_t view_count(const struct view *view) {
    return view_product(view, 0, view->rank);
}
