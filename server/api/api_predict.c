/* POST /predict: body to tensors, tensors to the engine, results to the answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/clock.h"
#include "engine/engine.h"
#include "server/api/access.h"
#include "server/api/api.h"
#include "server/api/media.h"
#include "server/api/prediction.h"
#include "server/api/protocol.h"
#include "server/api/timing.h"
#include "server/api/urgency.h"
#include "server/codec/codec.h"
#include "server/codec/inflate.h"
#include "server/http/loop.h"
#include "server/http/mailbox.h"
#include "server/http/reply.h"
#include "server/observe/metrics.h"

enum {
    COMPRESSED_PACE_BYTES = 1024,     /* become up to a MiB, a millisecond's work */
    SCRATCH_KEPT_BYTES = 1024 * 1024, /* a loop's scratch does not stay larger after a large answer */
    VERSION_BYTES = 48                /* of X-Weir-Version; a longer one names nothing */
};

/* When a refused client should come again: after the queue's present wait, spread by jitter so that those refused
 * together do not come back together. */
static uint32_t retry_after_ms(struct loop *loop, int64_t wait_ns) {
    double spread = 0.75 + (double)(loop_random(loop) >> 54) / 1024 * 0.75; /* the high bits: the lowest is always 1 */
    double ms = (double)wait_ns / 1e6 * spread;
    return ms < 1 ? 1 : ms > 60000 ? 60000 : (uint32_t)ms;
}

/* Answers with the code and reason of err. */
static void answer_error(struct exchange *exchange, const struct weir_error *err, const char *headers,
                         int64_t wait_ns) {
    struct reply_error error = {.headers = headers};
    error.code = reply_code(err->status, &error.reason);
    if (error.code == 503)
        error.retry_after_ms = retry_after_ms(exchange->loop, wait_ns);
    reply_error(exchange, &error, "%s", err->text);
}

/* Answers with err and lets go of the prediction, whose job is not on its way. */
static void fail(struct prediction *prediction, const struct weir_error *err) {
    struct exchange *exchange = prediction->exchange;
    const char *headers = api_headers(prediction->api, prediction->loop, prediction->choice.version);
    int64_t wait_ns = prediction->wait_ns;
    access_put_job(exchange, &prediction->job, true);
    exchange->call = NULL;
    prediction_release(prediction);
    answer_error(exchange, err, headers, wait_ns);
}

static enum weir_status no_slot(struct weir_error *err) {
    return weir_fail(err, WEIR_FULL, "the server has as many requests in progress as it takes");
}

static enum weir_status open_inflater(struct prediction *prediction, enum media_coding coding, struct weir_error *err) {
    if (coding == MEDIA_IDENTITY)
        return WEIR_OK;
    return inflater_open(coding == MEDIA_GZIP ? INFLATE_GZIP : INFLATE_DEFLATE,
                         atomic_load_explicit(&prediction->api->max_body_bytes, memory_order_relaxed),
                         &prediction->inflater, err);
}

/* What the head says of a request, before anything is allocated for it. */
struct ask {
    struct decoder_options body; /* format and what belongs to it */
    enum codec_format answer_format;
    enum media_coding coding, answer_coding;
    struct job job; /* version, dims (one row: they are not known yet), deadline and priority */
    struct catalog_choice choice;
    int64_t wait_ns;
};

/* Makes the prediction once the head has passed every check. */
static void begin(struct exchange *exchange, const struct request *request, struct ask *ask) {
    struct api *api = exchange->context;
    struct weir_error err = {.status = WEIR_NO_MEMORY, .text = "no memory for the request"};
    struct prediction *prediction = calloc(1, sizeof *prediction);
    if (!prediction) {
        catalog_choice_release(&ask->choice);
        answer_error(exchange, &err, NULL, 0);
        return;
    }
    prediction->api = api;
    prediction->loop = exchange->loop;
    prediction->exchange = exchange;
    prediction->choice = ask->choice;
    prediction->job.deadline_ns = ask->job.deadline_ns;
    prediction->job.priority = ask->job.priority;
    prediction->wait_ns = ask->wait_ns;
    prediction->chunked = request->framing.chunked;
    prediction->protocol = exchange->handler->kind;
    prediction->answer_format = ask->answer_format;
    prediction->answer_coding = ask->answer_coding;
    prediction->wants_timing = timing_is_wanted((enum timing_mode)atomic_load(&api->server_timing), request);
    exchange->call = prediction;
    struct decoder_options options = ask->body;
    options.signature = engine_describe(prediction->choice.version).signature;
    options.body_bytes = (size_t)request->framing.content_length;
    options.max_rows = atomic_load(&api->max_request_rows);
    enum weir_status status = open_inflater(prediction, ask->coding, &err);
    if (status == WEIR_OK)
        status = decoder_open(&options, &prediction->decoder, &err);
    if (status == WEIR_OK)
        status = prediction_hold(prediction, request->framing.content_length, &err);
    if (status != WEIR_OK)
        fail(prediction, &err);
    else if (prediction->inflater)
        exchange_set_pace(exchange, COMPRESSED_PACE_BYTES);
}

/* Reads what the head asks for. */
static enum weir_status read_ask(struct exchange *exchange, const struct request *request, struct ask *ask,
                                 struct weir_error *err) {
    struct api *api = exchange->context;
    const struct protocol *protocol = exchange->handler->kind;
    int64_t timeout_ns;
    enum weir_status status =
        urgency_timeout(request, atomic_load_explicit(&api->timeout_ns, memory_order_relaxed), &timeout_ns, err);
    if (status == WEIR_OK)
        status = urgency_priority(request, &ask->job.priority, err);
    if (status != WEIR_OK)
        return status;
    /* The engine must be done a little earlier than the client wants it: the answer has to be written and sent. */
    double answer_ns = api->loops[exchange->loop->index].answer_ns;
    int64_t margin_ns = answer_ns < (double)timeout_ns / 4 ? (int64_t)answer_ns : timeout_ns / 4;
    ask->job.dims = (struct tensor_dims){.rows = 1};
    ask->job.deadline_ns = exchange->head_ns + timeout_ns - margin_ns;
    if (!protocol->read_head)
        ask->answer_format = media_answer_format(request, ask->body.format);
    if (protocol->compresses)
        ask->answer_coding = media_answer_coding(request);
    exchange_set_deadline(exchange, exchange->head_ns + timeout_ns);
    return WEIR_OK;
}

/* Is there room for the request now? */
static enum weir_status find_room(struct exchange *exchange, struct ask *ask, struct weir_error *err) {
    struct api *api = exchange->context;
    enum weir_status status = engine_admit(api->engine, &ask->job, &ask->wait_ns, err);
    uint32_t spared = urgency_spared_slots(api, ask->job.priority, exchange->head_ns);
    if (!admission_has_slot(&api->admission, spared))
        return no_slot(err);
    return status;
}

/* Which version answers: the one that the client insists on, or that its sticky header or the rollout's weight gives.
 */
static enum weir_status choose_version(struct exchange *exchange, const struct request *request, struct ask *ask,
                                       struct weir_error *err) {
    struct api *api = exchange->context;
    struct catalog_ask wanted = {.version = NULL};
    const struct request_field *version = request_find(request, "x-weir-version"), *key = NULL;
    char header[CATALOG_HEADER_BYTES], text[VERSION_BYTES];
    enum weir_status status = api_find_model(api, exchange->captures[0], &wanted.model, err);
    if (status != WEIR_OK)
        return status;
    const struct protocol *protocol = exchange->handler->kind;
    if (exchange->captures[1][0]) { /* the path's version goes before the header's */
        wanted.version = exchange->captures[1];
        status = protocol->read_version ? protocol->read_version(exchange->captures[1], &wanted.version, err) : WEIR_OK;
        if (status != WEIR_OK)
            return status;
    } else if (version) {
        size_t size = version->value_size < sizeof text - 1 ? version->value_size : sizeof text - 1;
        memcpy(text, version->value, size);
        text[size] = 0;
        wanted.version = text;
    }
    if (catalog_sticky_header(api->catalog, wanted.model, header))
        key = request_find(request, header);
    if (key) {
        wanted.key = key->value;
        wanted.key_size = key->value_size;
    }
    status = catalog_route(api->catalog, &wanted, &ask->choice, err);
    if (status == WEIR_OK)
        ask->job.version = ask->choice.version;
    return status;
}

static enum weir_status read_format(struct exchange *exchange, const struct request *request, struct ask *ask,
                                    struct weir_error *err) {
    const struct protocol *protocol = exchange->handler->kind;
    enum weir_status status = protocol->read_head ? protocol->read_head(request, &ask->body, err)
                                                  : media_request_format(request, &ask->body.format, err);
    return status == WEIR_OK ? media_request_coding(request, &ask->coding, err) : status;
}

static void refuse_media(struct exchange *exchange, const struct weir_error *err) {
    reply_error(exchange,
                &(struct reply_error){
                    .code = 415, .reason = REASON_MEDIA_TYPE, .headers = "Accept-Encoding: gzip, deflate\r\n"},
                "%s", err->text);
}

/* Everything that can be refused is refused here, before the body is read. */
void api_predict_head(struct exchange *exchange, const struct request *request) {
    struct api *api = exchange->context;
    uint64_t max_bytes = atomic_load_explicit(&api->max_body_bytes, memory_order_relaxed);
    struct weir_error err;
    struct ask ask = {.wait_ns = CLOCK_NS_PER_S};
    exchange_set_body_limit(exchange, max_bytes);
    if (choose_version(exchange, request, &ask, &err) != WEIR_OK) {
        answer_error(exchange, &err, NULL, ask.wait_ns);
        return;
    }
    struct version_info info = engine_describe(ask.job.version);
    exchange->model = info.tag;
    access_put_model(exchange, info.model_name, info.number);
    if (read_format(exchange, request, &ask, &err) != WEIR_OK) {
        if (err.status == WEIR_UNSUPPORTED)
            refuse_media(exchange, &err);
        else
            answer_error(exchange, &err, api_headers(api, exchange->loop, ask.job.version), 0);
    } else if (request->framing.content_length > max_bytes) {
        weir_fail(&err, WEIR_TOO_LARGE, "the body has %llu bytes, the limit is %llu",
                  (unsigned long long)request->framing.content_length, (unsigned long long)max_bytes);
        answer_error(exchange, &err, api_headers(api, exchange->loop, ask.job.version), 0);
    } else if (read_ask(exchange, request, &ask, &err) != WEIR_OK || find_room(exchange, &ask, &err) != WEIR_OK) {
        answer_error(exchange, &err, api_headers(api, exchange->loop, ask.job.version), ask.wait_ns);
    } else {
        begin(exchange, request, &ask);
        return;
    }
    catalog_choice_release(&ask.choice);
}

static enum weir_status feed_decoder(void *context, const char *bytes, size_t size, struct weir_error *err) {
    struct prediction *prediction = context;
    enum weir_status status = prediction_hold(prediction, size, err);
    return status == WEIR_OK ? decoder_feed(prediction->decoder, bytes, size, err) : status;
}

void api_predict_body(struct exchange *exchange, const char *bytes, size_t size) {
    struct prediction *prediction = exchange->call;
    struct weir_error err;
    enum weir_status status = WEIR_OK;
    if (prediction->chunked) /* its length was not known before */
        status = prediction_hold(prediction, size, &err);
    if (status == WEIR_OK && prediction->inflater)
        status = inflater_feed(prediction->inflater, bytes, size, feed_decoder, prediction, &err);
    else if (status == WEIR_OK)
        status = decoder_feed(prediction->decoder, bytes, size, &err);
    if (status != WEIR_OK)
        fail(prediction, &err);
}

static void job_home(struct mail *mail);

/* thread: device. */
static void job_done(struct job *job) {
    struct prediction *prediction = job->owner;
    prediction->mail.deliver = job_home;
    mailbox_post(&prediction->loop->mailbox, &prediction->mail);
}

/* What the body says of deadline and priority: the shorter deadline counts, and a priority if the head's is normal. */
static void take_wishes(struct prediction *prediction) {
    const struct wishes *wishes = &prediction->decoded.wishes;
    struct exchange *exchange = prediction->exchange;
    int64_t at_ns = exchange->head_ns + wishes->timeout_us * CLOCK_NS_PER_US;
    if (wishes->timeout_us > 0 && at_ns < exchange->deadline_ns) {
        prediction->job.deadline_ns -= exchange->deadline_ns - at_ns;
        exchange_set_deadline(exchange, at_ns);
    }
    if (wishes->priority > 0 && prediction->job.priority == JOB_NORMAL)
        prediction->job.priority = wishes->priority == 1 ? JOB_HIGH : wishes->priority == 2 ? JOB_NORMAL : JOB_LOW;
}

void api_predict_end(struct exchange *exchange) {
    struct prediction *prediction = exchange->call;
    struct api *api = prediction->api;
    struct job *job = &prediction->job;
    struct weir_error err;
    enum weir_status status = WEIR_OK;
    if (prediction->inflater)
        status = inflater_finish(prediction->inflater, &err);
    if (status == WEIR_OK)
        status = decoder_finish(prediction->decoder, &prediction->decoded, &err);
    if (status == WEIR_OK) {
        take_wishes(prediction);
        uint32_t spared = urgency_spared_slots(api, job->priority, exchange->loop->now_ns);
        prediction->holds_slot = admission_take_slot(&api->admission, spared);
        if (!prediction->holds_slot)
            status = no_slot(&err);
    }
    if (status == WEIR_OK) {
        job->version = prediction->choice.version;
        job->dims = prediction->decoded.dims;
        job->inputs = prediction->decoded.inputs;
        job->done = job_done;
        job->owner = prediction;
        status = prediction_allocate_outputs(prediction, &err);
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

static int tag_of(const struct prediction *prediction) {
    return engine_describe(prediction->choice.version).tag;
}

/* What a client does not take at once counts as bytes in progress until it does. */
static bool hold_answer(void *context, size_t bytes) {
    struct api *api = context;
    return admission_take_bytes(&api->admission, bytes);
}

static void unhold_answer(void *context, size_t bytes) {
    struct api *api = context;
    admission_release_bytes(&api->admission, bytes);
}

/* Follows the 99th percentile: up by 99 parts, down by one. Source: stochastic approximation, Robbins and Monro (1951).
 */
static void note_answer(struct api_loop *mine, int64_t took_ns) {
    double step = mine->answer_ns / 20 + 1000;
    mine->answer_ns += (double)took_ns > mine->answer_ns ? step * 0.99 : -step * 0.01;
}

/* The answer is not waited for: its deadline passed, or the server stops. */
static void answer_late(struct exchange *exchange, struct prediction *prediction, bool late) {
    reply_error(
        exchange,
        &(struct reply_error){.code = late ? 504 : 503,
                              .reason = late ? REASON_DEADLINE : REASON_DRAINING,
                              .retry_after_ms = late ? 0 : 1000,
                              .headers = api_headers(prediction->api, prediction->loop, prediction->choice.version)},
        late ? "the deadline passed before the answer was ready" : "the server stops before the answer is ready");
}

/* Why the engine did not run the job, for the client. Sizes that the model does not take are the request's fault. */
static enum weir_status fail_of_job(const struct job *job, struct weir_error *err) {
    switch (job->status) {
    case WEIR_INVALID:
    case WEIR_UNSUPPORTED:
    case WEIR_TOO_LARGE:
        return weir_fail(err, WEIR_INVALID, "the model does not take these sizes: %s", job->error.text);
    case WEIR_DEADLINE:
    case WEIR_TOO_LATE:
        return weir_fail(err, job->status, "not run: %s", weir_status_text(job->status));
    default:
        return weir_fail(err, job->status, "the engine could not run the request: %s", weir_status_text(job->status));
    }
}

static enum weir_status encode(struct prediction *prediction, struct protocol_answer *answer, struct weir_error *err) {
    const struct signature *signature = engine_describe(prediction->choice.version).signature;
    struct job *job = &prediction->job;
    if (job->status != WEIR_OK)
        return fail_of_job(job, err);
    enum weir_status status = prediction_hold_outputs(prediction, err);
    answer->body->size = 0;
    answer->body->failed = false;
    answer->headers[0] = 0;
    if (status != WEIR_OK)
        return status;
    if (prediction->protocol->encode)
        return prediction->protocol->encode(prediction, answer, err);
    answer->content_type = media_content_type(prediction->answer_format);
    return codec_encode(prediction->answer_format, signature, job->dims.rows, job->outputs, answer->body, err);
}

static void answer(struct prediction *prediction) {
    struct exchange *exchange = prediction->exchange;
    struct weir_error err;
    struct loop *loop = exchange->loop;
    struct bytes *body_bytes = &loop->scratch;
    struct api_loop *mine = &prediction->api->loops[loop->index];
    int64_t finished_ns = prediction->job.finished_ns;
    struct protocol_answer written = {.body = body_bytes};
    struct bytes packed = {.data = NULL};
    char all_headers[API_HEADERS_BYTES + PROTOCOL_HEADERS_BYTES + TIMING_LINE_BYTES + 32],
        timing[TIMING_LINE_BYTES] = "";
    _Static_assert(sizeof all_headers <= REPLY_HEADERS_BYTES, "an answer has all its headers, whatever is asked for");
    enum weir_status status = encode(prediction, &written, &err);
    prediction_note(prediction, status, prediction->job.finished_ns);
    if (status != WEIR_OK) {
        fail(prediction, &err);
        return;
    }
    const char *headers = api_headers(prediction->api, prediction->loop, prediction->choice.version);
    const char *coding = media_compress(prediction->answer_coding, body_bytes, &packed);
    loop_now(loop);
    metrics_count_answer(shard_of(prediction), tag_of(prediction), prediction->job.dims.rows,
                         prediction->job.submitted_ns - exchange->started_ns, loop->now_ns - finished_ns);
    if (prediction->wants_timing)
        timing_line(timing, exchange, &prediction->job, loop->now_ns);
    if (written.headers[0] || *coding || *timing) {
        snprintf(all_headers, sizeof all_headers, "%s%s%s%s", headers, written.headers, coding, timing);
        headers = all_headers;
    }
    struct reply reply = {.code = 200,
                          .reason = REASON_OK,
                          .content_type = written.content_type,
                          .headers = headers,
                          .body = packed.size > 0 ? packed.data : body_bytes->data,
                          .body_size = packed.size > 0 ? packed.size : body_bytes->size,
                          .hold = hold_answer,
                          .unhold = unhold_answer,
                          .context = prediction->api};
    access_put_job(exchange, &prediction->job, true);
    exchange->call = NULL;
    prediction_end(prediction);
    exchange_reply(exchange, &reply);
    bytes_release(&packed);
    if (body_bytes->capacity > SCRATCH_KEPT_BYTES)
        bytes_release(body_bytes);
    note_answer(mine, loop_now(loop) - finished_ns);
}

/* Rows share their batch's time evenly. */
static void count_wasted(const struct prediction *prediction) {
    const struct job *job = &prediction->job;
    double share = job->batch_rows > 0 ? (double)job->rows_done / job->batch_rows : 0;
    metrics_count_wasted(shard_of(prediction), job->rows_done, (int64_t)((double)job->batch_infer_ns * share));
}

/* The job is back on the loop's thread. */
static void job_home(struct mail *mail) {
    struct prediction *prediction = (struct prediction *)mail;
    loop_now(prediction->loop);
    if (prediction->job.started_ns > 0)
        metrics_count_queue_delay(shard_of(prediction), tag_of(prediction),
                                  prediction->job.started_ns - prediction->job.submitted_ns);
    if (prediction->job.status == WEIR_OK && prediction->job.expected_ns > 0)
        metrics_count_estimate(shard_of(prediction), tag_of(prediction),
                               prediction->job.finished_ns - prediction->job.expected_ns);
    if (prediction->exchange && prediction->loop->now_ns >= prediction->exchange->deadline_ns) {
        struct exchange *exchange = prediction->exchange;
        exchange->call = NULL;
        prediction->exchange = NULL;
        access_put_job(exchange, &prediction->job, true);
        prediction_note(prediction, WEIR_DEADLINE, prediction->loop->now_ns);
        answer_late(exchange, prediction, true);
    }
    if (prediction->exchange) {
        answer(prediction);
    } else {
        if (prediction->job.started_ns > 0)
            count_wasted(prediction);
        prediction_release(prediction);
    }
}

/* Nobody waits for the job any more. */
static void abandon(struct prediction *prediction) {
    prediction->exchange = NULL;
    if (!prediction->job.owner || engine_cancel(prediction->api->engine, &prediction->job))
        prediction_release(prediction);
}

void api_predict_late(struct exchange *exchange) {
    struct prediction *prediction = exchange->call;
    bool late = prediction->loop->now_ns >= exchange->deadline_ns;
    access_put_job(exchange, &prediction->job, false);
    exchange->call = NULL;
    if (prediction->job.owner)
        prediction_note(prediction, late ? WEIR_DEADLINE : WEIR_DRAINING, prediction->loop->now_ns);
    answer_late(exchange, prediction, late);
    abandon(prediction);
}

void api_predict_gone(struct exchange *exchange) {
    struct prediction *prediction = exchange->call;
    if (prediction) {
        access_put_job(exchange, &prediction->job, false);
        abandon(prediction);
    }
    exchange->call = NULL;
}

static const struct protocol own = {.encode = NULL}; /* Content-Type and Accept decide */

const struct handler api_predict_handler = {.route = ROUTE_PREDICT, PROTOCOL_HANDLER, .kind = &own};
const struct handler api_model_predict_handler = {.route = ROUTE_MODEL_PREDICT, PROTOCOL_HANDLER, .kind = &own};
