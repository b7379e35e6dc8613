/* One prediction on its way: its tensors, the memory and the slot that are counted for it. */
#ifndef WEIR_SERVER_API_PREDICTION_H
#define WEIR_SERVER_API_PREDICTION_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/catalog.h"
#include "engine/job.h"
#include "server/api/media.h"
#include "server/codec/codec.h"
#include "server/codec/inflate.h"
#include "server/http/mailbox.h"

struct api;
struct exchange;
struct loop;
struct protocol;

/* It lives until its job is home, also when nobody waits for it any more, and until it has been compared. */
struct prediction {
    struct mail mail; /* brings the job back from the device's thread */
    struct job job;
    struct api *api;
    struct loop *loop;
    struct exchange *exchange; /* NULL: nobody waits */
    struct catalog_choice choice;
    struct catalog_copy copy; /* of it, for the other version */
    struct decoder *decoder;
    struct inflater *inflater;
    struct decoded decoded;
    const struct protocol *protocol;
    enum codec_format answer_format; /* where the protocol leaves it open */
    enum media_coding answer_coding;
    uint64_t
        held_bytes;    /* held in admission: of the body, inflated if it was compressed, and of the answer's tensors */
    int64_t wait_ns;   /* for its turn, when the head came */
    bool wants_timing; /* the answer has a Server-Timing */
    bool chunked;
    bool holds_slot;
};

/* Frees it and all that is counted for it. thread: any. */
void prediction_release(struct prediction *prediction);

/* Counts bytes that the prediction keeps in memory. Errors: CROWDED. */
enum weir_status prediction_hold(struct prediction *prediction, uint64_t bytes, struct weir_error *err) WEIR_CHECKED;

/* Makes room for the answer's tensors, but for those whose size only the engine will know. Errors: TOO_LARGE, CROWDED,
 * NO_MEMORY. */
enum weir_status prediction_allocate_outputs(struct prediction *prediction, struct weir_error *err) WEIR_CHECKED;

/* Counts the outputs that the engine took memory for, now that their size is known. Errors: TOO_LARGE, CROWDED. */
enum weir_status prediction_hold_outputs(struct prediction *prediction, struct weir_error *err) WEIR_CHECKED;

/* The prediction was answered (or will not be): counts its outcome for its version and rollout, until ended_ns; status
 * is the answer's. Of a job that is not home only what the loop set is looked at. */
void prediction_note(struct prediction *prediction, enum weir_status status, int64_t ended_ns);

/* Ends an answered prediction; if its inputs are to go to another version too, after that has run. */
void prediction_end(struct prediction *prediction);

#endif
