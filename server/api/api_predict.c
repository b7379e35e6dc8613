/* POST /predict: body to tensors, tensors to the engine, results to the answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"
#include "engine/engine.h"
#include "server/api/api.h"
#include "server/api/media.h"
#include "server/codec/codec.h"
#include "server/codec/inflate.h"
#include "server/http/loop.h"
#include "server/http/mailbox.h"
#include "server/http/reply.h"
#include "server/observe/metrics.h"

/* One request on its way. It lives until its job is home, also when nobody waits for it any more. */
struct prediction {
    struct mail mail; /* brings the job back from the device's thread */
    struct job job;
    struct api *api;
    struct loop *loop;
    struct exchange *exchange; /* NULL: nobody waits */
    struct version *version;
    struct decoder *decoder;
    struct inflater *inflater;
    struct decoded decoded;
    enum codec_format answer_format;
    uint64_t held_bytes; /* of the body, held in admission */
    bool chunked;
    bool holds_slot;
};

static void release(struct prediction *prediction) {
    struct api *api = prediction->api;
    const struct signature *signature = engine_describe(prediction->version).signature;
    decoder_close(prediction->decoder);
    inflater_close(prediction->inflater);
    decoded_release(&prediction->decoded, signature->input_count);
    if (prediction->job.outputs) {
        for (int i = 0; i < signature->output_count; i++)
            free(prediction->job.outputs[i].data);
        free(prediction->job.outputs);
    }
    admission_release_bytes(&api->admission, prediction->held_bytes);
    if (prediction->holds_slot)
        admission_release_slot(&api->admission);
    engine_release(prediction->version);
    free(prediction);
}

/* Answers with err and lets go of the prediction, whose job is not on its way. */
static void fail(struct prediction *prediction, const struct weir_error *err) {
    struct exchange *exchange = prediction->exchange;
    const char *headers = api_headers(prediction->api, prediction->loop, prediction->version);
    exchange->call = NULL;
    release(prediction);
    reply_failure(exchange, err, headers);
}

static void refuse(struct exchange *exchange, int code, enum reason reason, const char *text) {
    reply_error(exchange,
                &(struct reply_error){.code = code,
                                      .reason = reason,
                                      .retry_after_ms = code == 503 ? 1000 : 0,
                                      .headers = code == 415 ? "Accept-Encoding: gzip, deflate\r\n" : NULL},
                "%s", text);
}

/* The deadline: timeout_ms, or less if X-Request-Timeout-Ms says so. */
static enum weir_status find_deadline(struct api *api, struct exchange *exchange, const struct request *request,
                                      int64_t *out, struct weir_error *err) {
    int64_t timeout_ns = atomic_load_explicit(&api->timeout_ns, memory_order_relaxed);
    const struct request_field *field = request_find(request, "x-request-timeout-ms");
    if (field) {
        int64_t wanted_ms = 0;
        for (uint32_t i = 0; i < field->value_size && wanted_ms >= 0; i++) {
            char c = field->value[i];
            wanted_ms = c < '0' || c > '9' || wanted_ms > INT32_MAX ? -1 : wanted_ms * 10 + (c - '0');
        }
        if (wanted_ms <= 0)
            return weir_fail(err, WEIR_INVALID, "X-Request-Timeout-Ms must be a whole number of milliseconds above 0");
        if (wanted_ms * CLOCK_NS_PER_MS < timeout_ns)
            timeout_ns = wanted_ms * CLOCK_NS_PER_MS;
    }
    *out = exchange->head_ns + timeout_ns;
    return WEIR_OK;
}

static enum weir_status open_inflater(struct prediction *prediction, enum media_coding coding, struct weir_error *err) {
    if (coding == MEDIA_IDENTITY)
        return WEIR_OK;
    return inflater_open(coding == MEDIA_GZIP ? INFLATE_GZIP : INFLATE_DEFLATE,
                         atomic_load_explicit(&prediction->api->max_body_bytes, memory_order_relaxed),
                         &prediction->inflater, err);
}

/* Makes the prediction once the head has passed every check. */
static void begin(struct exchange *exchange, const struct request *request, struct version *version,
                  enum codec_format format, enum media_coding coding) {
    struct api *api = exchange->context;
    struct weir_error err = {.status = WEIR_NO_MEMORY, .text = "no memory for the request"};
    struct prediction *prediction = calloc(1, sizeof *prediction);
    if (!prediction) {
        engine_release(version);
        reply_failure(exchange, &err, NULL);
        return;
    }
    prediction->api = api;
    prediction->loop = exchange->loop;
    prediction->exchange = exchange;
    prediction->version = version;
    prediction->chunked = request->framing.chunked;
    prediction->answer_format = media_answer_format(request, format);
    exchange->call = prediction;
    struct decoder_options options = {.format = format,
                                      .signature = engine_describe(version).signature,
                                      .body_bytes = (size_t)request->framing.content_length,
                                      .max_rows = UINT32_MAX};
    enum weir_status status = find_deadline(api, exchange, request, &prediction->job.deadline_ns, &err);
    if (status == WEIR_OK)
        status = open_inflater(prediction, coding, &err);
    if (status == WEIR_OK)
        status = decoder_open(&options, &prediction->decoder, &err);
    if (status == WEIR_OK && !admission_take_bytes(&api->admission, request->framing.content_length))
        status = weir_fail(&err, WEIR_FULL, "too many bytes of request bodies are on their way in");
    else if (status == WEIR_OK)
        prediction->held_bytes = request->framing.content_length;
    if (status != WEIR_OK) {
        fail(prediction, &err);
        return;
    }
    exchange_set_deadline(exchange, prediction->job.deadline_ns);
}

/* Everything that can be refused is refused here, before the body is read. */
static void head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    uint64_t max_bytes = atomic_load_explicit(&api->max_body_bytes, memory_order_relaxed);
    struct weir_error err;
    enum codec_format format;
    enum media_coding coding;
    exchange->with_model = true;
    exchange_set_body_limit(exchange, max_bytes);
    struct version *version = engine_acquire(api->engine);
    if (!version) {
        refuse(exchange, 503, REASON_NOT_READY, atomic_load(&api->not_ready));
    } else if (media_request_format(request, &format, &err) != WEIR_OK ||
               media_request_coding(request, &coding, &err) != WEIR_OK) {
        refuse(exchange, 415, REASON_MEDIA_TYPE, err.text);
    } else if (request->framing.content_length > max_bytes) {
        reply_error(exchange, &(struct reply_error){.code = 413, .reason = REASON_TOO_LARGE},
                    "the body has %llu bytes, the limit is %llu", (unsigned long long)request->framing.content_length,
                    (unsigned long long)max_bytes);
    } else if (!admission_has_slot(&api->admission)) {
        refuse(exchange, 503, REASON_FULL, "the server has as many requests in progress as it takes");
    } else {
        begin(exchange, request, version, format, coding);
        return;
    }
    engine_release(version);
}

static enum weir_status feed_decoder(void *context, const char *bytes, size_t size, struct weir_error *err) {
    struct prediction *prediction = context;
    return decoder_feed(prediction->decoder, bytes, size, err);
}

static void body(struct exchange *exchange, const char *bytes, size_t size) {
    struct prediction *prediction = exchange->call;
    struct weir_error err;
    enum weir_status status = WEIR_OK;
    if (prediction->chunked) { /* its length was not known before */
        if (admission_take_bytes(&prediction->api->admission, size))
            prediction->held_bytes += size;
        else
            status = weir_fail(&err, WEIR_FULL, "too many bytes of request bodies are on their way in");
    }
    if (status == WEIR_OK && prediction->inflater)
        status = inflater_feed(prediction->inflater, bytes, size, feed_decoder, prediction, &err);
    else if (status == WEIR_OK)
        status = decoder_feed(prediction->decoder, bytes, size, &err);
    if (status != WEIR_OK)
        fail(prediction, &err);
}

static enum weir_status allocate_outputs(struct prediction *prediction, const struct signature *signature,
                                         struct weir_error *err) {
    struct job *job = &prediction->job;
    job->outputs = calloc((size_t)signature->output_count, sizeof *job->outputs);
    for (int i = 0; job->outputs && i < signature->output_count; i++) {
        size_t bytes;
        job->outputs[i].row_bytes = signature->outputs[i].row_bytes;
        if (__builtin_mul_overflow(job->outputs[i].row_bytes, (size_t)job->rows, &bytes))
            break;
        job->outputs[i].data = malloc(bytes > 0 ? bytes : 1);
    }
    for (int i = 0; i < signature->output_count; i++)
        if (!job->outputs || !job->outputs[i].data)
            return weir_fail(err, WEIR_NO_MEMORY, "no memory for %u rows of answers", job->rows);
    return WEIR_OK;
}

static void job_home(struct mail *mail);

/* thread: device. */
static void job_done(struct job *job) {
    struct prediction *prediction = job->owner;
    prediction->mail.deliver = job_home;
    mailbox_post(&prediction->loop->mailbox, &prediction->mail);
}

static void end(struct exchange *exchange) {
    struct prediction *prediction = exchange->call;
    struct api *api = prediction->api;
    struct job *job = &prediction->job;
    const struct signature *signature = engine_describe(prediction->version).signature;
    struct weir_error err;
    enum weir_status status = WEIR_OK;
    if (prediction->inflater)
        status = inflater_finish(prediction->inflater, &err);
    if (status == WEIR_OK)
        status = decoder_finish(prediction->decoder, &prediction->decoded, &err);
    if (status == WEIR_OK) {
        prediction->holds_slot = admission_take_slot(&api->admission);
        if (!prediction->holds_slot)
            status = weir_fail(&err, WEIR_FULL, "the server has as many requests in progress as it takes");
    }
    if (status == WEIR_OK) {
        job->version = prediction->version;
        job->rows = prediction->decoded.rows;
        job->inputs = prediction->decoded.inputs;
        job->done = job_done;
        job->owner = prediction;
        status = allocate_outputs(prediction, signature, &err);
    }
    if (status == WEIR_OK)
        status = engine_submit(api->engine, job, &err);
    if (status != WEIR_OK)
        fail(prediction, &err);
    else
        api->loops[exchange->loop->index].submitted = true;
}

static struct metrics_shard *shard_of(const struct prediction *prediction) {
    return prediction->loop->metrics;
}

static void answer(struct prediction *prediction) {
    struct exchange *exchange = prediction->exchange;
    struct job *job = &prediction->job;
    struct weir_error err;
    struct bytes *body_bytes = &exchange->loop->scratch;
    enum weir_status status = job->status;
    if (status != WEIR_OK) {
        weir_fail(&err, status, "the engine could not run the request: %s", weir_status_text(status));
    } else {
        body_bytes->size = 0;
        body_bytes->failed = false;
        status = codec_encode(prediction->answer_format, engine_describe(prediction->version).signature, job->rows,
                              job->outputs, body_bytes, &err);
    }
    if (status != WEIR_OK) {
        fail(prediction, &err);
        return;
    }
    struct reply reply = {.code = 200,
                          .reason = REASON_OK,
                          .content_type = media_content_type(prediction->answer_format),
                          .headers = api_headers(prediction->api, prediction->loop, prediction->version),
                          .body = body_bytes->data,
                          .body_size = body_bytes->size};
    exchange->call = NULL;
    release(prediction);
    exchange_reply(exchange, &reply);
}

/* The job is back on the loop's thread. */
static void job_home(struct mail *mail) {
    struct prediction *prediction = (struct prediction *)mail;
    loop_now(prediction->loop);
    if (prediction->job.started_ns > 0)
        metrics_count_queue_delay(shard_of(prediction), prediction->job.started_ns - prediction->job.submitted_ns);
    if (prediction->exchange) {
        answer(prediction);
    } else {
        if (prediction->job.started_ns > 0)
            metrics_count_wasted_rows(shard_of(prediction), prediction->job.rows_done);
        release(prediction);
    }
}

/* Nobody waits for the job any more. */
static void abandon(struct prediction *prediction) {
    prediction->exchange = NULL;
    if (!prediction->job.owner || engine_cancel(prediction->api->engine, &prediction->job))
        release(prediction);
}

static void late(struct exchange *exchange) {
    struct prediction *prediction = exchange->call;
    const char *headers = api_headers(prediction->api, prediction->loop, prediction->version);
    exchange->call = NULL;
    abandon(prediction);
    reply_error(exchange, &(struct reply_error){.code = 504, .reason = REASON_DEADLINE, .headers = headers},
                "the deadline passed before the answer was ready");
}

static void gone(struct exchange *exchange) {
    if (exchange->call)
        abandon(exchange->call);
    exchange->call = NULL;
}

const struct handler api_predict_handler = {
    .route = ROUTE_PREDICT,
    .methods = METHOD_POST,
    .allow = "POST, OPTIONS",
    .head = head,
    .body = body,
    .end = end,
    .late = late,
    .gone = gone,
};
