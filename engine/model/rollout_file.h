/* What must survive a restart: which version of each model is stable, its rollout, and the versions that were rejected.
 * One JSON file, rollout.json, in the state directory. */
#ifndef WEIR_ENGINE_MODEL_ROLLOUT_FILE_H
#define WEIR_ENGINE_MODEL_ROLLOUT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/model/repository.h"
#include "engine/model/rollout.h"
#include "engine/status.h"

enum { ROLLOUT_FILE_REJECTED = 64, ROLLOUT_FILE_IDENTITY = 64, ROLLOUT_FILE_MODELS = 1000 };

/* identity, hex text: which files; if it is whole, its second half says what they hold. */
struct rollout_rejected {
    uint64_t number;
    char identity[ROLLOUT_FILE_IDENTITY + 1];
    char reason[ROLLOUT_TEXT];
};

/* Of one model. Begins as zeros. */
struct rollout_state {
    char name[REPOSITORY_NAME_MAX + 1];
    uint64_t stable;          /* 0: none was chosen, the newest serves */
    uint64_t newest_seen;     /* versions up to this do not take over by themselves any more */
    enum rollout_phase phase; /* NONE, RUNNING or PAUSED */
    int step;
    struct rollout_plan plan;                 /* while RUNNING or PAUSED; of no meaning else */
    char identity[ROLLOUT_FILE_IDENTITY + 1]; /* likewise: of the candidate's files when it began */
    enum rollout_phase last_phase; /* how the last rollout ended: NONE (there was none), PROMOTED or ROLLED_BACK */
    uint64_t last_candidate;
    int64_t last_ended_s; /* since 1970 */
    char last_reason[ROLLOUT_TEXT];
    size_t rejected_count;
    struct rollout_rejected rejected[ROLLOUT_FILE_REJECTED];
};

/* Owner of models: whoever read or made it; rollout_file_release. Begins as zeros. */
struct rollout_file {
    struct rollout_state *models;
    size_t model_count;
};

/* Reads state_dir/rollout.json; a file that is not there is OK and empty. Errors: INVALID (broken, empty, too large,
 * another format: the text names the file and what is wrong), IO, NO_MEMORY. Owner of out: the caller. */
enum weir_status rollout_file_read(const char *state_dir, struct rollout_file *out,
                                   struct weir_error *err) WEIR_CHECKED;

/* Replaces the file in one step: a kill at any moment leaves the old one or the new one. Returns when it is on the
 * disk. Errors: IO with path and reason (the old file is still there), NO_MEMORY. */
enum weir_status rollout_file_write(const char *state_dir, const struct rollout_file *file,
                                    struct weir_error *err) WEIR_CHECKED;

/* The state of a model; one that is not there yet is added. NULL: no memory, or ROLLOUT_FILE_MODELS are there. Later
 * additions move it. */
struct rollout_state *rollout_file_model(struct rollout_file *file, const char *name);

void rollout_file_release(struct rollout_file *file);

/* The rollout in the state has ended so: PROMOTED or ROLLED_BACK, why, and when (since 1970). */
void rollout_file_end(struct rollout_state *state, enum rollout_phase how, const char *reason, int64_t now_s);

/* Notes that the version, as its files are now, is not to serve. The oldest of too many is forgotten. */
void rollout_file_reject(struct rollout_state *state, uint64_t number, const char *identity, const char *reason);

/* The note about the version if it was rejected with the same files, or with some that held the same; else NULL. */
const struct rollout_rejected *rollout_file_find_rejected(const struct rollout_state *state, uint64_t number,
                                                          const char *identity);

/* Forgets the notes about a version: someone has chosen it all the same. */
void rollout_file_forgive(struct rollout_state *state, uint64_t number);

#endif
