#include "loadtest/load_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loadtest/load_options.h"

/* Numbers have eight digits in JSON and are exact in float32, so they come from 10,000,000 to 2^24 - 1 and begin anew.
 */
enum { NUMBER_LEAST = 10000000, NUMBER_END = 1 << 24, NUMBER_DIGITS = 8 };

static const char json_mark[] = "########", binary_mark[] = "####";

static uint32_t number_of(uint64_t index) {
    return NUMBER_LEAST + (uint32_t)(index % (NUMBER_END - NUMBER_LEAST));
}

static const char *read_file(const char *path, char **data, size_t *size) {
    FILE *file = fopen(path, "rb");
    const char *wrong = NULL;
    long end = -1;
    *data = NULL;
    if (!file || fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0)
        wrong = strerror(errno);
    else
        *data = malloc((size_t)end + 1);
    if (file)
        rewind(file);
    if (!wrong && (!*data || fread(*data, 1, (size_t)end, file) != (size_t)end))
        wrong = "cannot be read";
    if (file)
        fclose(file);
    *size = (size_t)end;
    return wrong;
}

static const char *find_places(struct load_request *request) {
    const char *mark = request->binary ? binary_mark : json_mark;
    size_t mark_size = strlen(mark), room = 0;
    const char *end = request->bytes + request->size, *at = request->bytes + request->head_size;
    while ((at = memmem(at, (size_t)(end - at), mark, mark_size)) != NULL) {
        if (request->place_count == room) {
            room = room ? 2 * room : 16;
            size_t *places = realloc(request->places, room * sizeof *places);
            if (!places)
                return "no memory";
            request->places = places;
        }
        request->places[request->place_count++] = (size_t)(at - request->bytes);
        at += mark_size;
    }
    return NULL;
}

const char *load_request_build(const struct load_options *options, const struct load_class *class,
                               struct load_request *out) {
    *out = (struct load_request){.binary = strcasecmp(class->content_type, "application/octet-stream") == 0};
    size_t body_size = 0;
    char *body = NULL;
    const char *wrong = class->body_path ? read_file(class->body_path, &body, &body_size) : NULL;
    FILE *text = wrong ? NULL : open_memstream(&out->bytes, &out->size);
    if (!text) {
        free(body);
        return wrong ? wrong : strerror(errno);
    }
    fprintf(text, "%s %s HTTP/1.1\r\nHost: %s:%s\r\n", body ? "POST" : "GET", class->path, options->host,
            options->port);
    if (class->accept)
        fprintf(text, "Accept: %s\r\n", class->accept);
    if (class->header)
        fprintf(text, "%s\r\n", class->header);
    if (class->timeout_ms > 0)
        fprintf(text, "X-Request-Timeout-Ms: %d\r\n", class->timeout_ms);
    if (class->priority)
        fprintf(text, "X-Priority: %s\r\n", class->priority);
    if (body)
        fprintf(text, "Content-Type: %s\r\nContent-Length: %zu\r\n", class->content_type, body_size);
    fputs("\r\n", text);
    fflush(text);
    out->head_size = out->size;
    if (body)
        fwrite(body, 1, body_size, text);
    free(body);
    if (fclose(text) != 0)
        return strerror(errno);
    return find_places(out);
}

void load_request_release(struct load_request *request) {
    free(request->bytes);
    free(request->places);
}

void load_request_number(const struct load_request *request, char *copy, uint64_t first) {
    for (size_t i = 0; i < request->place_count; i++) {
        uint32_t number = number_of(first + i);
        char *at = copy + request->places[i];
        if (request->binary) {
            float value = (float)number;
            memcpy(at, &value, sizeof value);
            continue;
        }
        for (int digit = NUMBER_DIGITS - 1; digit >= 0; digit--, number /= 10)
            at[digit] = (char)('0' + number % 10);
    }
}

static bool binary_matches(const struct load_request *request, const char *body, size_t size, uint64_t first) {
    size_t row_bytes = size / request->place_count;
    if (size % request->place_count != 0 || row_bytes < sizeof(float) || row_bytes % sizeof(float) != 0)
        return false;
    for (size_t i = 0; i < request->place_count; i++) {
        float value;
        memcpy(&value, body + i * row_bytes, sizeof value);
        if (value != (float)number_of(first + i))
            return false;
    }
    return true;
}

/* A row of JSON begins where a bracket is followed by a number. */
static bool json_matches(const struct load_request *request, const char *body, size_t size, uint64_t first) {
    const char *end = body + size;
    size_t rows = 0;
    for (const char *at = body; (at = memchr(at, '[', (size_t)(end - at))) != NULL;) {
        char text[32];
        at++;
        size_t left = (size_t)(end - at) < sizeof text - 1 ? (size_t)(end - at) : sizeof text - 1;
        memcpy(text, at, left);
        text[left] = '\0';
        char *stop;
        double value = strtod(text, &stop);
        if (stop == text)
            continue;
        if (rows == request->place_count || value != (double)number_of(first + rows))
            return false;
        rows++;
    }
    return rows == request->place_count;
}

bool load_request_matches(const struct load_request *request, const char *body, size_t size, uint64_t first) {
    return request->binary ? binary_matches(request, body, size, first) : json_matches(request, body, size, first);
}
