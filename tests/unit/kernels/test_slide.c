#include "kernels/slide.h"

#include <criterion/criterion.h>

static const struct window window = {.spatial = 2,
                                     .kernel = {3, 2},
                                     .strides = {2, 1},
                                     .dilations = {2, 3},
                                     .pads = {3, 1},
                                     .pads_end = {0, 2},
                                     .groups = 2};

static struct slide make(void) {
    struct view x = {.rank = 4, .dims = {1, 4, 5, 6}}, y = {.rank = 4, .dims = {1, 8, 2, 6}};
    return slide_of(&window, &x, &y);
}

Test(slide, missing_dimensions_are_ones_in_front) {
    struct slide slide = make();
    cr_assert(slide.batch == 1 && slide.x_channels == 4 && slide.y_channels == 8 && slide.groups == 2);
    cr_assert(slide.in[0] == 1 && slide.in[1] == 5 && slide.in[2] == 6 && slide.in_count == 30);
    cr_assert(slide.out[0] == 1 && slide.out[1] == 2 && slide.out[2] == 6 && slide.out_count == 12);
    cr_assert(slide.kernel[0] == 1 && slide.kernel_count == 6 && slide.pads[0] == 0 && slide.strides[0] == 1);
    cr_assert(slide.pads[1] == 3 && slide.pads_end[2] == 2 && slide.dilations[2] == 3);
}

Test(slide, a_span_leaves_out_what_lies_in_the_padding) {
    struct slide slide = make();
    struct slide_span span = slide_span_at(&slide, 1, 0); /* elements -3, -1, 1 */
    cr_assert(span.from == 2 && span.to == 3 && span.first == 1);
    span = slide_span_at(&slide, 1, 1); /* -1, 1, 3 */
    cr_assert(span.from == 1 && span.to == 3 && span.first == 1);
    span = slide_span_at(&slide, 2, 0); /* -1, 2 */
    cr_assert(span.from == 1 && span.to == 2 && span.first == 2);
    span = slide_span_at(&slide, 2, 3); /* 2, 5 */
    cr_assert(span.from == 0 && span.to == 2 && span.first == 2);
    span = slide_span_at(&slide, 2, 5); /* 4, 7 */
    cr_assert(span.from == 0 && span.to == 1 && span.first == 4);
}

Test(slide, a_window_in_the_padding_altogether_has_an_empty_span) {
    struct slide slide = make();
    struct slide_span span = slide_span_at(&slide, 2, 7);
    cr_assert(span.from == 0 && span.to == 0);
    slide.kernel[1] = 1;
    span = slide_span_at(&slide, 1, 0);
    cr_assert(span.from == 0 && span.to == 0);
}

Test(slide, places_count_the_last_dimension_fastest) {
    struct slide slide = make();
    size_t place[3];
    slide_place(&slide, 8, place);
    cr_assert(place[0] == 0 && place[1] == 1 && place[2] == 2);
}
