/* Reads one HTTP/1.1 answer as its bytes arrive, and says whether it is whole. */
#ifndef WEIR_LOADTEST_LOAD_ANSWER_H
#define WEIR_LOADTEST_LOAD_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOAD_ANSWER_HEAD_BYTES = 4096 };

struct load_answer {
    int status;         /* once the head is there, else 0 */
    bool closes;        /* the server said Connection: close */
    bool interim;       /* an interim answer (1xx) came */
    uint64_t body_left; /* bytes of the body still to come */
    size_t head_size;
    char head[LOAD_ANSWER_HEAD_BYTES];

    /* The beginning of the body, as much of it as there is room for. The buffer is its owner's. */
    char *body;
    size_t body_size, body_room;
};

enum load_answer_state { LOAD_ANSWER_MORE, LOAD_ANSWER_WHOLE, LOAD_ANSWER_MALFORMED };

/* Makes it ready for the next answer. */
void load_answer_reset(struct load_answer *answer);

/* Takes the next bytes. Interim answers (1xx) are passed over. MALFORMED: no HTTP/1.x status line, no or a bad
 * Content-Length (nothing else ends an answer here), a head that is too long, or bytes after the answer's end. */
enum load_answer_state load_answer_feed(struct load_answer *answer, const char *data, size_t size);

/* The same; bytes after the answer's end are left alone. *taken: how many belong to the answer. */
enum load_answer_state load_answer_feed_some(struct load_answer *answer, const char *data, size_t size, size_t *taken);

/* The value of the string member "reason" of a JSON body that is kept; its size, 0 if there is none. */
size_t load_answer_reason(const struct load_answer *answer, const char **out);

#endif
