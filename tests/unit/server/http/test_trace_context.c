#include "server/http/trace_context.h"

#include <criterion/criterion.h>
#include <string.h>

#define TRACE "0af7651916cd43dd8448eb211c80319c"
#define SPAN  "b7ad6b7169203331"

static struct trace_context context;

static bool is_read(const char *text) {
    memset(&context, 0xAA, sizeof context);
    trace_context_read(&context, text, strlen(text), 0x0102030405060708);
    return trace_context_is_there(&context);
}

Test(trace_context, the_trace_goes_on_with_a_span_of_our_own) {
    char out[TRACE_CONTEXT_TEXT + 1] = "";
    cr_assert(is_read("00-" TRACE "-" SPAN "-01"));
    cr_assert_eq(trace_context_write(&context, out), out + TRACE_CONTEXT_TEXT);
    cr_assert_str_eq(out, "00-" TRACE "-0102030405060708-01");
    cr_assert_eq(context.parent, UINT64_C(0xb7ad6b7169203331));
    cr_assert(trace_context_is_sampled(&context));
    cr_assert(is_read("00-" TRACE "-" SPAN "-ff"));
    trace_context_write(&context, out);
    cr_assert_str_eq(out + TRACE_CONTEXT_TEXT - 2, "03", "of a random trace id, too: the others mean nothing yet");
    cr_assert(is_read("00-" TRACE "-" SPAN "-fe"));
    trace_context_write(&context, out);
    cr_assert_str_eq(out, "00-" TRACE "-0102030405060708-02", "bits that we do not know are not passed on");
}

Test(trace_context, one_that_begins_here_is_recorded_and_has_no_parent) {
    char out[TRACE_CONTEXT_TEXT + 1] = "";
    trace_context_begin(&context, 0x1112131415161718, 0x2122232425262728, 0x3132333435363738);
    cr_assert(trace_context_is_sampled(&context));
    cr_assert_eq(context.parent, 0);
    trace_context_write(&context, out);
    cr_assert_str_eq(out, "00-11121314151617182122232425262728-3132333435363738-01");
    cr_assert(is_read("00-" TRACE "-" SPAN "-00"));
    cr_assert_not(trace_context_is_sampled(&context));
}

Test(trace_context, later_versions_may_have_more) {
    cr_assert(is_read("01-" TRACE "-" SPAN "-01"));
    cr_assert(is_read("cc-" TRACE "-" SPAN "-01-what-comes-then"));
    cr_assert_not(is_read("cc-" TRACE "-" SPAN "-01.what-comes-then"));
}

Test(trace_context, what_is_not_valid_is_ignored) {
    static const char *const wrong[] = {
        "",
        "00",
        "00-" TRACE "-" SPAN "-0",
        "00-" TRACE "-" SPAN "-01-",
        "00-" TRACE "-" SPAN "-01-more",
        "ff-" TRACE "-" SPAN "-01",
        "0g-" TRACE "-" SPAN "-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-0AF7651916CD43DD8448EB211C80319C-" SPAN "-01",
        "00-0af7651916cd43dd8448eb211c80319z-" SPAN "-01",
        "00-" TRACE "-b7ad6b716920333z-01",
        "00-" TRACE "-" SPAN "-z1",
        "00_" TRACE "-" SPAN "-01",
        "00-" TRACE "_" SPAN "-01",
        "00-" TRACE "-" SPAN "_01",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        cr_assert_not(is_read(wrong[i]), "%s", wrong[i]);
}
