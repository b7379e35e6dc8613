#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

#include "server/codec/json_reader.h"

/* Reads a document in pieces; writes one letter a token into trace (numbers and strings in full). */
static enum weir_status trace_document(const char *body, size_t size, size_t piece, char *trace, size_t room,
                                       struct weir_error *err) {
    static const char letters[] = "?{}[]k\"#tfn.";
    struct json_reader reader;
    json_reader_init(&reader);
    size_t used = 0;
    trace[0] = 0;
    for (size_t at = 0;; at += piece) {
        if (at < size)
            json_reader_feed(&reader, body + at, size - at < piece ? size - at : piece);
        else
            json_reader_end(&reader);
        for (;;) {
            enum json_token token;
            enum weir_status status = json_reader_next(&reader, &token, err);
            if (status != WEIR_OK)
                return status;
            if (token == JSON_MORE)
                break;
            if (token == JSON_KEY || token == JSON_STRING)
                used += (size_t)snprintf(trace + used, room - used, "%c%.*s ", letters[token], (int)reader.string.size,
                                         reader.string.text);
            else if (token == JSON_NUMBER)
                used += (size_t)snprintf(trace + used, room - used, "#%g ", (double)reader.number);
            else
                used += (size_t)snprintf(trace + used, room - used, "%c", letters[token]);
            if (token == JSON_END)
                return WEIR_OK;
        }
    }
}

Test(json_reader, a_document_gives_the_same_tokens_wherever_the_pieces_end) {
    static const struct {
        const char *body, *trace;
    } rows[] = {
        {"{}", "{}."},
        {" [ ] \r\n", "[]."},
        {"null", "n."},
        {"-12.5e1", "#-125 ."},
        {"\"a\\n\"", "\"a\n ."},
        {"{\"a\":1,\"b\":[true,false,null,\"x\",{},[]],\"\":{\"a\":2}}", "{ka #1 kb [tfn\"x {}[]]k {ka #2 }}."},
        {"\t[1 , 2\n,3.5]", "[#1 #2 #3.5 ]."},
        {"[0,-0,1e5,0.1234567890123456789,1e400]", "[#0 #-0 #100000 #0.123457 #inf ]."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t piece = 1; piece <= strlen(rows[i].body); piece++) {
            char trace[512];
            struct weir_error err;
            enum weir_status status =
                trace_document(rows[i].body, strlen(rows[i].body), piece, trace, sizeof trace, &err);
            cr_assert(status == WEIR_OK, "%s in pieces of %zu: %s", rows[i].body, piece, err.text);
            cr_assert(eq(str, trace, (char *)rows[i].trace));
        }
}

Test(json_reader, a_fault_is_named_with_its_offset_wherever_the_pieces_end) {
    static const struct {
        const char *body, *text;
    } rows[] = {
        {"", "the body is empty, expected a JSON document"},
        {" \n", "the body is empty, expected a JSON document"},
        {"\xEF\xBB\xBF{}", "a JSON body must not begin with a byte order mark (offset 0)"},
        {"{}x", "expected nothing behind the document, got 'x' (offset 2)"},
        {"{} {}", "expected nothing behind the document, got '{' (offset 3)"},
        {"1 2", "expected nothing behind the document, got '2' (offset 2)"},
        {"[1,]", "expected a value, got ']' (offset 3)"},
        {"[,1]", "expected a value, got ',' (offset 1)"},
        {"[1 2]", "expected ',' or ']', got '2' (offset 3)"},
        {"[1}", "expected ',' or ']', got '}' (offset 2)"},
        {"{\"a\" 1}", "expected ':', got '1' (offset 5)"},
        {"{\"a\":1,}", "expected a member name in quotes, got '}' (offset 7)"},
        {"{a:1}", "expected a member name in quotes, got 'a' (offset 1)"},
        {"{\"a\":1]", "expected ',' or '}', got ']' (offset 6)"},
        {"{\"a\":}", "expected a value, got '}' (offset 5)"},
        {"[01]", "'1' cannot stand here in a number (offset 2)"},
        {"[1.]", "']' cannot stand here in a number (offset 3)"},
        {"[-]", "']' cannot stand here in a number (offset 2)"},
        {"[1e]", "']' cannot stand here in a number (offset 3)"},
        {"[1x]", "expected ',' or ']', got 'x' (offset 2)"},
        {"[1-2]", "'-' cannot stand here in a number (offset 2)"},
        {"[+1]", "expected a value, got '+' (offset 1)"},
        {"[.5]", "expected a value, got '.' (offset 1)"},
        {"[NaN]", "NaN and Infinity are not JSON numbers (offset 1)"},
        {"[nan]", "NaN and Infinity are not JSON numbers (offset 1)"},
        {"[Infinity]", "NaN and Infinity are not JSON numbers (offset 1)"},
        {"[-Infinity]", "NaN and Infinity are not JSON numbers (offset 1)"},
        {"[-nan]", "NaN and Infinity are not JSON numbers (offset 1)"},
        {"[nulL]", "expected the word null, got 'L' (offset 4)"},
        {"[True]", "expected a value, got 'T' (offset 1)"},
        {"[truex]", "expected ',' or ']', got 'x' (offset 5)"},
        {"[\x01]", "expected a value, got byte 0x01 (offset 1)"},
        {"['a']", "expected a value, got ''' (offset 1)"},
        {"[1] // no", "expected nothing behind the document, got '/' (offset 4)"},
        {"[\"a\nb\"]", "a control character in a string (it must be escaped) (offset 3)"},
        {"[\"\xFF\"]", "a byte that is not UTF-8 in a string (offset 2)"},
        {"{\"\xC0\xAF\":1}", "a byte that is not UTF-8 in a string (offset 2)"},
        {"{\"a\":1,\"a\":2}", "member \"a\" comes twice (offset 7)"},
        {"{\"a\":1,\"\\u0061\":2}", "member \"a\" comes twice (offset 7)"},
        {"{\"b\":{\"a\":1,\"c\":{\"a\":1},\"a\":2}}", "member \"a\" comes twice (offset 24)"},
        {"[1,2", "the body ends in an array (offset 4)"},
        {"[1,", "the body ends in an array (offset 3)"},
        {"{\"a\"", "the body ends in an object (offset 4)"},
        {"{", "the body ends in an object (offset 1)"},
        {"[\"abc", "the body ends in a string (offset 5)"},
        {"[1.", "the body ends in a number (offset 3)"},
        {"-", "the body ends in a number (offset 1)"},
        {"tru", "the body ends in a value (offset 3)"},
        {"[tru", "the body ends in an array (offset 4)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t piece = 1; piece <= strlen(rows[i].body) + 1; piece++) {
            char trace[512];
            struct weir_error err = {.text = ""};
            enum weir_status status =
                trace_document(rows[i].body, strlen(rows[i].body), piece, trace, sizeof trace, &err);
            cr_assert(status == WEIR_INVALID, "%s is taken: %s", rows[i].body, trace);
            cr_assert(eq(str, err.text, (char *)rows[i].text));
        }
}

Test(json_reader, a_nul_byte_is_no_white_space) {
    char trace[64];
    struct weir_error err;
    cr_assert(trace_document("{}\0", 3, 3, trace, sizeof trace, &err) == WEIR_INVALID);
    cr_assert(eq(str, err.text, "expected nothing behind the document, got byte 0x00 (offset 2)"));
}

Test(json_reader, a_number_token_may_have_1024_bytes_and_no_more) {
    for (size_t digits = NUMBER_MAX_BYTES - 1; digits <= NUMBER_MAX_BYTES + 1; digits++)
        for (size_t piece = 1; piece <= 4096; piece *= 8) {
            char body[NUMBER_MAX_BYTES + 8];
            body[0] = '[';
            memset(body + 1, '1', digits);
            body[digits + 1] = ']';
            char trace[64];
            struct weir_error err;
            enum weir_status status = trace_document(body, digits + 2, piece, trace, sizeof trace, &err);
            cr_assert(digits <= NUMBER_MAX_BYTES ? status == WEIR_OK : status == WEIR_INVALID);
            if (status != WEIR_OK)
                cr_assert(eq(str, err.text, "a number longer than 1024 bytes (offset 1)"));
        }
}

Test(json_reader, nesting_stops_at_32_levels) {
    for (int depth = 31; depth <= 33; depth++) {
        char body[128], trace[512];
        memset(body, '[', (size_t)depth);
        memset(body + depth, ']', (size_t)depth);
        struct weir_error err;
        enum weir_status status = trace_document(body, (size_t)depth * 2, 7, trace, sizeof trace, &err);
        cr_assert(depth <= JSON_READER_MAX_DEPTH ? status == WEIR_OK : status == WEIR_INVALID);
        if (status != WEIR_OK)
            cr_assert(eq(str, err.text, "nested deeper than 32 levels (offset 32)"));
    }
}

Test(json_reader, a_list_of_numbers_is_read_the_quick_way_with_any_white_space) {
    static const char body[] = "[1, 2 , 3\n,\t4,5.5,   -6e1,7] and forty bytes of something else behind it";
    struct json_reader reader;
    json_reader_init(&reader);
    json_reader_feed(&reader, body, sizeof body - 1);
    enum json_token token;
    struct weir_error err;
    cr_assert(json_reader_next(&reader, &token, &err) == WEIR_OK);
    cr_assert(token == JSON_ARRAY);
    float values[16];
    cr_assert(eq(sz, json_reader_numbers(&reader, values, 16), 7));
    static const float expected[] = {1, 2, 3, 4, 5.5F, -60, 7};
    cr_assert(memcmp(values, expected, sizeof expected) == 0);
    cr_assert(json_reader_next(&reader, &token, &err) == WEIR_OK);
    cr_assert(token == JSON_ARRAY_END);
    cr_assert(eq(sz, json_reader_left(&reader), sizeof body - 1 - strlen("[1, 2 , 3\n,\t4,5.5,   -6e1,7]")));
}

Test(json_reader, the_quick_way_is_for_arrays_alone) {
    static const char body[] = "{\"a\":1,\"b\":2}                                             ";
    struct json_reader reader;
    json_reader_init(&reader);
    json_reader_feed(&reader, body, sizeof body - 1);
    enum json_token token;
    struct weir_error err;
    float value;
    cr_assert(eq(sz, json_reader_numbers(&reader, &value, 1), 0));
    cr_assert(json_reader_next(&reader, &token, &err) == WEIR_OK);
    cr_assert(json_reader_next(&reader, &token, &err) == WEIR_OK);
    cr_assert(token == JSON_KEY);
    cr_assert(eq(sz, json_reader_numbers(&reader, &value, 1), 0));
    cr_assert(json_reader_next(&reader, &token, &err) == WEIR_OK);
    cr_assert(token == JSON_NUMBER);
}

Test(json_reader, an_error_text_is_utf8_even_if_the_body_is_not) {
    static const char body[] = "{\"a\xE2\x82\xAC\":1,\"a\xE2\x82\xAC\":\"\xFF\"}";
    char trace[64];
    struct weir_error err;
    cr_assert(trace_document(body, sizeof body - 1, 100, trace, sizeof trace, &err) == WEIR_INVALID);
    cr_assert(eq(str, err.text, "member \"a\xE2\x82\xAC\" comes twice (offset 10)"));
}
