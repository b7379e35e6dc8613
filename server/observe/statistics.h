/* Figures of each version since it was loaded, as the Open Inference Protocol's statistics extension counts them. Any
 * thread adds and reads, without locks. */
#ifndef WEIR_SERVER_OBSERVE_STATISTICS_H
#define WEIR_SERVER_OBSERVE_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

struct statistics;

struct statistics_pair {
    uint64_t count, ns;
};

/* rows: of all batches; executions: batches. The times of a batch count once for each of its requests. */
struct statistics_totals {
    uint64_t rows, executions, last_unix_ms;
    struct statistics_pair success, fail, queue, input, infer, output;
};

/* What batches of one size took, once for each. */
struct statistics_batch {
    uint64_t count, input_ns, infer_ns, output_ns;
};

/* One finished request of a version. Of one that failed only whole_ns counts. */
struct statistics_request {
    bool is_good;
    int64_t whole_ns, queue_ns, input_ns, infer_ns, output_ns;
};

/* For tags 0..tag_count-1 (metrics_model's numbers) and batches of up to most_rows. NULL: no memory. */
struct statistics *statistics_create(int tag_count, uint32_t most_rows);
void statistics_destroy(struct statistics *statistics);

/* Takes the memory for a tag, before it is counted under; what is counted without is lost. After a close it is empty
 * again. thread: loader. */
void statistics_open(struct statistics *statistics, int tag);
void statistics_close(struct statistics *statistics, int tag);

void statistics_add_request(struct statistics *statistics, int tag, const struct statistics_request *request);
void statistics_add_batch(struct statistics *statistics, int tag, uint32_t rows, const struct statistics_batch *batch);

struct statistics_totals statistics_read(const struct statistics *statistics, int tag);

/* The batches of this size; count 0: there were none, or it is past the largest. */
struct statistics_batch statistics_read_batch(const struct statistics *statistics, int tag, uint32_t rows);
uint32_t statistics_most_rows(const struct statistics *statistics);

#endif
