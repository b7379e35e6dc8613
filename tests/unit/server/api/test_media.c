#include <criterion/criterion.h>
#include <string.h>

#include "server/api/media.h"

static struct request request_with(const char *name, const char *value) {
    struct request request = {.field_count = 1};
    request.fields[0] = (struct request_field){
        .name = name, .name_size = (uint32_t)strlen(name), .value = value, .value_size = (uint32_t)strlen(value)};
    return request;
}

Test(media, content_types_mean_formats) {
    static const struct {
        const char *value;
        int format; /* -1: refused */
    } rows[] = {
        {"application/json", CODEC_JSON},
        {"Application/JSON; charset=UTF-8", CODEC_JSON},
        {"application/json;charset=\"utf-8\"", CODEC_JSON},
        {"application/json;odata=\"a;charset=utf-16\"", CODEC_JSON},
        {"application/json ; x=y", CODEC_JSON},
        {"", CODEC_JSON},
        {"application/x-www-form-urlencoded", CODEC_JSON},
        {"application/octet-stream", CODEC_RAW},
        {"application/x-npy", CODEC_NPY},
        {"Application/X-NPY; version=1", CODEC_NPY},
        {"application/json; charset=utf-16", -1},
        {"application/json; charset=latin1", -1},
        {"text/plain", -1},
        {"multipart/form-data; boundary=x", -1},
        {"application/jsonx", -1},
        {"application/json2;charset=utf-8", -1},
        {"application/json;\"", CODEC_JSON},
        {"application/json;x=\"\\", CODEC_JSON},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct request request = request_with("Content-Type", rows[i].value);
        struct weir_error err;
        enum codec_format format;
        enum weir_status status = media_request_format(&request, &format, &err);
        cr_assert_eq(status, rows[i].format < 0 ? WEIR_UNSUPPORTED : WEIR_OK, "%s", rows[i].value);
        if (status == WEIR_OK)
            cr_assert_eq((int)format, rows[i].format, "%s", rows[i].value);
    }
    struct request none = {.field_count = 0};
    enum codec_format format;
    cr_assert_eq(media_request_format(&none, &format, NULL), WEIR_OK);
    cr_assert_eq(format, CODEC_JSON);
}

Test(media, content_encodings) {
    static const struct {
        const char *value;
        int coding;
    } rows[] = {
        {"gzip", MEDIA_GZIP}, {"GZIP", MEDIA_GZIP}, {"x-gzip", MEDIA_GZIP},       {"deflate", MEDIA_DEFLATE},
        {"br", -1},           {"gzip, gzip", -1},   {"identity", MEDIA_IDENTITY}, {"", MEDIA_IDENTITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct request request = request_with("content-encoding", rows[i].value);
        struct weir_error err;
        enum media_coding coding;
        enum weir_status status = media_request_coding(&request, &coding, &err);
        cr_assert_eq(status, rows[i].coding < 0 ? WEIR_UNSUPPORTED : WEIR_OK, "%s", rows[i].value);
        if (status == WEIR_OK)
            cr_assert_eq((int)coding, rows[i].coding, "%s", rows[i].value);
    }
}

Test(media, accept_encodings) {
    static const struct {
        const char *value;
        enum media_coding coding;
    } rows[] = {
        {"gzip, deflate", MEDIA_GZIP},
        {"deflate, gzip", MEDIA_DEFLATE},
        {"GZip", MEDIA_GZIP},
        {"x-gzip", MEDIA_GZIP},
        {"gzip;q=0.5, deflate;q=0.8", MEDIA_DEFLATE},
        {"gzip;q=0.5", MEDIA_GZIP},
        {"gzip;q=0.5, identity", MEDIA_IDENTITY},
        {"identity, gzip", MEDIA_IDENTITY},
        {"gzip, identity", MEDIA_GZIP},
        {"identity;q=0.1, br, deflate;q=0.2, zstd;q=1", MEDIA_DEFLATE},
        {"gzip;q=0", MEDIA_IDENTITY},
        {"gzip;q=0.000, deflate;q=0.001", MEDIA_DEFLATE},
        {"*", MEDIA_IDENTITY},
        {"*;q=1, br", MEDIA_IDENTITY},
        {"", MEDIA_IDENTITY},
        {",,;q=1,", MEDIA_IDENTITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct request request = request_with("Accept-Encoding", rows[i].value);
        cr_assert_eq(media_answer_coding(&request), rows[i].coding, "%s", rows[i].value);
    }
    struct request two = request_with("accept-encoding", "identity;q=0.5");
    two.fields[two.field_count++] = request_with("accept-encoding", "deflate").fields[0];
    cr_assert_eq(media_answer_coding(&two), MEDIA_DEFLATE);
    struct request none = {.field_count = 0};
    cr_assert_eq(media_answer_coding(&none), MEDIA_IDENTITY);
}

Test(media, accept_chooses_between_the_two) {
    static const struct {
        const char *accept;
        enum codec_format otherwise, answer;
    } rows[] = {
        {"*/*", CODEC_JSON, CODEC_JSON},
        {"*/*", CODEC_RAW, CODEC_RAW},
        {"application/*", CODEC_RAW, CODEC_RAW},
        {"application/json", CODEC_RAW, CODEC_JSON},
        {"application/octet-stream", CODEC_JSON, CODEC_RAW},
        {"application/octet-stream;q=0.5, application/json", CODEC_RAW, CODEC_JSON},
        {"application/octet-stream;q=0.9, application/json;q=0.8", CODEC_JSON, CODEC_RAW},
        {"application/json;q=0, */*", CODEC_JSON, CODEC_RAW},
        {"text/html", CODEC_JSON, CODEC_JSON},
        {"text/html, application/octet-stream;q=0.1", CODEC_JSON, CODEC_RAW},
        {"", CODEC_RAW, CODEC_RAW},
        {",,;q=,", CODEC_JSON, CODEC_JSON},
        {"application/x-npy", CODEC_JSON, CODEC_NPY},
        {"application/x-npy;q=0.5, application/octet-stream", CODEC_JSON, CODEC_RAW},
        {"application/x-npy, */*;q=0.1", CODEC_RAW, CODEC_NPY},
        {"*/*", CODEC_NPY, CODEC_NPY},
        {"application/octet-stream, application/json", CODEC_NPY, CODEC_JSON},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct request request = request_with("Accept", rows[i].accept);
        cr_assert_eq(media_answer_format(&request, rows[i].otherwise), rows[i].answer, "%s", rows[i].accept);
    }
}

Test(media, openmetrics_is_for_those_who_prefer_it) {
    static const struct {
        const char *accept;
        bool wants;
    } rows[] = {
        {"*/*", false},
        {"text/plain", false},
        {"", false},
        {"application/openmetrics-text", true},
        {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         true},
        {"text/plain, application/openmetrics-text;q=0.9", false},
        {"text/plain, application/openmetrics-text", false},
        {"application/openmetrics-text;q=0", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct request request = request_with("Accept", rows[i].accept);
        cr_assert_eq(media_wants_openmetrics(&request), rows[i].wants, "%s", rows[i].accept);
    }
    cr_assert_not(media_wants_openmetrics(&(struct request){.field_count = 0}));
}

Test(media, each_format_has_its_type) {
    cr_assert_str_eq(media_content_type(CODEC_JSON), "application/json");
    cr_assert_str_eq(media_content_type(CODEC_RAW), "application/octet-stream");
    cr_assert_str_eq(media_content_type(CODEC_NPY), "application/x-npy");
}

Test(media, only_the_very_type_with_a_quality_above_zero_is_named) {
    const struct {
        const char *accept;
        bool is_named;
    } rows[] = {
        {"text/html", true},
        {"TEXT/HTML;charset=utf-8", true},
        {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true},
        {"application/json, text/html;q=0.001", true},
        {"*/*", false},
        {"text/*", false},
        {"text/html;q=0", false},
        {"text/html;q=0.000, */*", false},
        {"text/htmlx", false},
        {"application/json; x=\"text/html\"", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct request request = request_with("Accept", rows[i].accept);
        cr_assert_eq(media_is_named(&request, "text/html"), rows[i].is_named, "%s", rows[i].accept);
    }
}
