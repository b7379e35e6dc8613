#include "engine/model/rollout_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/file_read.h"
#include "engine/model/rollout_json.h"

static const char FILE_NAME[] = "rollout.json";
static const char NEW_NAME[] = "rollout.json.new";
enum { MOST_BYTES = 64 << 20 };

void rollout_file_release(struct rollout_file *file) {
    free(file->models);
    *file = (struct rollout_file){0};
}

struct rollout_state *rollout_file_model(struct rollout_file *file, const char *name) {
    for (size_t i = 0; i < file->model_count; i++)
        if (strcmp(file->models[i].name, name) == 0)
            return &file->models[i];
    if (file->model_count == ROLLOUT_FILE_MODELS || strlen(name) > REPOSITORY_NAME_MAX)
        return NULL;
    struct rollout_state *more = reallocarray(file->models, file->model_count + 1, sizeof *more);
    if (!more)
        return NULL;
    file->models = more;
    struct rollout_state *state = &more[file->model_count++];
    memset(state, 0, sizeof *state);
    snprintf(state->name, sizeof state->name, "%s", name);
    rollout_plan_init(&state->plan);
    return state;
}

void rollout_file_end(struct rollout_state *state, enum rollout_phase how, const char *reason, int64_t now_s) {
    state->phase = ROLLOUT_NONE;
    state->last_phase = how;
    state->last_candidate = state->plan.candidate;
    state->last_ended_s = now_s;
    rollout_copy_text(state->last_reason, reason);
}

void rollout_file_reject(struct rollout_state *state, uint64_t number, const char *identity, const char *reason) {
    rollout_file_forgive(state, number);
    if (state->rejected_count == ROLLOUT_FILE_REJECTED) {
        state->rejected_count--;
        memmove(&state->rejected[0], &state->rejected[1], state->rejected_count * sizeof state->rejected[0]);
    }
    struct rollout_rejected *note = &state->rejected[state->rejected_count++];
    note->number = number;
    snprintf(note->identity, sizeof note->identity, "%s", identity);
    rollout_copy_text(note->reason, reason);
}

/* Are they the same files, or do they hold the same? */
static bool is_same(const char *a, const char *b) {
    enum { HALF = ROLLOUT_FILE_IDENTITY / 2 };
    bool both_whole = strlen(a) == ROLLOUT_FILE_IDENTITY && strlen(b) == ROLLOUT_FILE_IDENTITY;
    return strncmp(a, b, HALF) == 0 || (both_whole && strcmp(a + HALF, b + HALF) == 0);
}

const struct rollout_rejected *rollout_file_find_rejected(const struct rollout_state *state, uint64_t number,
                                                          const char *identity) {
    for (size_t i = 0; i < state->rejected_count; i++)
        if (state->rejected[i].number == number && is_same(state->rejected[i].identity, identity))
            return &state->rejected[i];
    return NULL;
}

void rollout_file_forgive(struct rollout_state *state, uint64_t number) {
    size_t kept = 0;
    for (size_t i = 0; i < state->rejected_count; i++)
        if (state->rejected[i].number != number)
            state->rejected[kept++] = state->rejected[i];
    state->rejected_count = kept;
}

/* A file in the state directory, for messages. */
struct place {
    const char *directory, *name;
    struct weir_error *err;
};

static enum weir_status fail(const struct place *place, const char *what) {
    return weir_fail(place->err, WEIR_IO, "%s/%s: cannot %s: %s", place->directory, place->name, what, strerror(errno));
}

static enum weir_status invalid(const struct place *place, const char *what) {
    return weir_fail(place->err, WEIR_INVALID, "%s/%s: %s", place->directory, place->name, what);
}

static enum weir_status read_whole(int fd, const struct place *place, char **out, size_t *out_size) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return fail(place, "look at it");
    if (!S_ISREG(status.st_mode))
        return invalid(place, "it is not a plain file");
    if (status.st_size == 0)
        return invalid(place, "it is empty");
    if (status.st_size > MOST_BYTES)
        return invalid(place, "it is larger than 64 MiB");
    size_t size = (size_t)status.st_size;
    char *text = malloc(size + 1);
    if (!text)
        return weir_fail(place->err, WEIR_NO_MEMORY, "no memory to read %s", place->name);
    if (file_read_exactly(fd, text, size, 0, place->err) != WEIR_OK) {
        free(text);
        return weir_fail_in(place->err, "%s/%s: cannot read it", place->directory, place->name);
    }
    text[size] = '\0';
    *out = text;
    *out_size = size;
    return WEIR_OK;
}

enum weir_status rollout_file_read(const char *state_dir, struct rollout_file *out, struct weir_error *err) {
    struct place place = {state_dir, FILE_NAME, err};
    struct rollout_file file = {0};
    enum weir_status status;
    char *text = NULL;
    size_t size = 0;
    int fd = -1, directory = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return fail(&place, "open the directory");
    /* O_NONBLOCK: a pipe of that name must not make us wait for a writer. */
    fd = openat(directory, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        status = errno == ENOENT ? WEIR_OK : fail(&place, "open it");
        goto out;
    }
    status = read_whole(fd, &place, &text, &size);
    if (status == WEIR_OK) {
        status = rollout_json_read(text, size, &file, err);
        if (status != WEIR_OK)
            weir_fail_in(err, "%s/%s", state_dir, FILE_NAME);
    }
out:
    free(text);
    if (fd >= 0)
        close(fd);
    close(directory);
    if (status == WEIR_OK)
        *out = file;
    return status;
}

static enum weir_status write_whole(int fd, const struct place *place, const char *text, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t n = write(fd, text + done, size - done);
        if (n < 0 && errno != EINTR)
            return fail(place, "write it");
        done += n > 0 ? (size_t)n : 0;
    }
    return fsync(fd) == 0 ? WEIR_OK : fail(place, "bring it to the disk");
}

enum weir_status rollout_file_write(const char *state_dir, const struct rollout_file *file, struct weir_error *err) {
    struct place place = {state_dir, NEW_NAME, err};
    enum weir_status status = WEIR_OK;
    int fd = -1, directory = -1;
    bool is_left = false;
    char *text = rollout_json_write(file);
    if (!text)
        return weir_fail(err, WEIR_NO_MEMORY, "no memory to write %s", FILE_NAME);
    directory = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        status = fail(&place, "open the directory");
        goto out;
    }
    /* Removed first: what a killed process left may be of another owner's, and a link must not be followed. */
    if (unlinkat(directory, NEW_NAME, 0) != 0 && errno != ENOENT) {
        status = fail(&place, "remove an older one");
        goto out;
    }
    fd = openat(directory, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0) {
        status = fail(&place, "make it");
        goto out;
    }
    is_left = true;
    status = write_whole(fd, &place, text, strlen(text));
    if (status != WEIR_OK)
        goto out;
    if (renameat(directory, NEW_NAME, directory, FILE_NAME) != 0) {
        status = fail(&place, "put it in place");
        goto out;
    }
    is_left = false;
    place.name = FILE_NAME;
    if (fsync(directory) != 0)
        status = fail(&place, "bring the directory to the disk");
out:
    if (fd >= 0)
        close(fd);
    if (is_left)
        unlinkat(directory, NEW_NAME, 0);
    if (directory >= 0)
        close(directory);
    free(text);
    return status;
}
