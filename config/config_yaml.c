#include "config/config_yaml.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    const char *text;
    size_t size;
    const char *file;
    const struct config_yaml_sink *sink;
    struct config_problems *problems;
    int depth;
    int service_line;  /* where `service:` stood; 0 if it has not */
    const char *model; /* whose options are being read */
    int model_line;
    bool stopped; /* the rest of the file makes no sense any more */
};

static void complain(struct reader *reader, int line, const char *key, const char *text) {
    struct config_place place = {reader->file, line, key};
    config_problems_add(reader->problems, CONFIG_ERROR, &place, "%s", text);
}

static void stop(struct reader *reader, int line, const char *text) {
    complain(reader, line, NULL, text);
    reader->stopped = true;
}

static int line_of_offset(const struct reader *reader, size_t offset) {
    int line = 1;
    for (size_t i = 0; i < offset && i < reader->size; i++)
        line += reader->text[i] == '\n';
    return line;
}

bool config_yaml_open(const char *file, char **text, size_t *size, struct config_problems *problems) {
    struct config_place place = {file, 0, NULL};
    char *buffer = NULL;
    size_t used = 0;
    bool ok = false;
    struct stat status;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not hold us up */
    if (fd < 0 || fstat(fd, &status) != 0) {
        config_problems_add(problems, CONFIG_ERROR, &place, "cannot be read: %s", strerror(errno));
        goto out;
    }
    if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)) {
        config_problems_add(problems, CONFIG_ERROR, &place, "is %s, not a file",
                            S_ISDIR(status.st_mode) ? "a directory" : "a pipe or a device");
        goto out;
    }
    buffer = malloc(CONFIG_YAML_MAX_BYTES + 1);
    if (!buffer) {
        config_problems_add(problems, CONFIG_ERROR, &place, "cannot be read: no memory");
        goto out;
    }
    for (;;) {
        ssize_t n = read(fd, buffer + used, CONFIG_YAML_MAX_BYTES + 1 - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            config_problems_add(problems, CONFIG_ERROR, &place, "cannot be read: %s", strerror(errno));
            goto out;
        }
        used += (size_t)n;
        if (used > CONFIG_YAML_MAX_BYTES) {
            config_problems_add(problems, CONFIG_ERROR, &place, "is too large, at most %d KiB are allowed",
                                CONFIG_YAML_MAX_BYTES / 1024);
            goto out;
        }
        if (n == 0)
            break;
    }
    buffer[used] = 0;
    *text = buffer;
    *size = used;
    buffer = NULL;
    ok = true;
out:
    free(buffer);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Refuses NUL, and tabs outside comments: YAML forbids them as indentation, and elsewhere they only hide. */
static bool check_bytes(struct reader *reader) {
    bool comment = false, tab_said = false;
    int line = 1;
    for (size_t i = 0; i < reader->size; i++) {
        char c = reader->text[i];
        if (c == 0) {
            stop(reader, line, "holds a NUL byte: not a text file");
        } else if (c == '\n') {
            line++;
            comment = false;
            tab_said = false;
        } else if (c == '#' && (i == 0 || strchr(" \t\n", reader->text[i - 1]))) {
            comment = true;
        } else if (c == '\t' && !comment && !tab_said) {
            stop(reader, line, "holds a tab: use spaces");
            tab_said = true;
        }
        if (c == 0)
            break;
    }
    return !reader->stopped;
}

/* The next event, or false when the text ends or is no YAML. On true the caller deletes the event. */
static bool next(struct reader *reader, yaml_event_t *event) {
    if (reader->stopped)
        return false;
    if (yaml_parser_parse(&reader->parser, event))
        return true;
    const yaml_parser_t *parser = &reader->parser;
    int line = parser->error == YAML_READER_ERROR ? line_of_offset(reader, parser->problem_offset)
                                                  : (int)parser->problem_mark.line + 1;
    char text[160];
    snprintf(text, sizeof text, "is not valid YAML: %s", parser->problem ? parser->problem : "no memory");
    stop(reader, line, text);
    return false;
}

static int line_of(const yaml_event_t *event) {
    return (int)event->start_mark.line + 1;
}

/* Reads on to the end of the list or mapping that has just begun. */
static void skip_rest(struct reader *reader) {
    yaml_event_t event;
    int outer = reader->depth++;
    while (reader->depth > outer && next(reader, &event)) {
        if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT) {
            if (++reader->depth > CONFIG_YAML_MAX_DEPTH)
                stop(reader, line_of(&event), "is nested too deeply");
        } else if (event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT) {
            reader->depth--;
        }
        yaml_event_delete(&event);
    }
    reader->depth = outer;
}

/* Anchors, aliases and tags have no use in a flat file and much for mischief. Returns false if event has one. */
static bool check_plain(struct reader *reader, const yaml_event_t *event, const char *key) {
    const yaml_char_t *anchor = NULL, *tag = NULL;
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        anchor = event->data.alias.anchor;
        break;
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor)
        complain(reader, line_of(event), key, "anchors (&) and aliases (*) are not allowed");
    else if (tag)
        complain(reader, line_of(event), key, "tags (!) are not allowed");
    return !anchor && !tag;
}

static bool holds_nul(const yaml_event_t *event) {
    return strlen((const char *)event->data.scalar.value) != event->data.scalar.length;
}

/* Where a mapping lies. */
enum level { LEVEL_ROOT, LEVEL_SERVICE, LEVEL_MODELS, LEVEL_MODEL };

static void read_pairs(struct reader *reader, enum level level);

/* Reads the value of a key under `models:`: a path, or the mapping of a model's options. Returns whether the event was
 * the beginning of a mapping that has been read. */
static bool read_model(struct reader *reader, const char *name, int line, const yaml_event_t *event) {
    struct config_yaml_pair pair = {.model = name, .model_line = line, .key = "path", .line = line};
    if (event->type == YAML_MAPPING_START_EVENT) {
        reader->model = name;
        reader->model_line = line;
        read_pairs(reader, LEVEL_MODEL);
        return true;
    }
    pair.kind = event->type == YAML_SCALAR_EVENT ? CONFIG_YAML_PLAIN : CONFIG_YAML_LIST;
    pair.value = event->type == YAML_SCALAR_EVENT ? (const char *)event->data.scalar.value : "";
    reader->sink->take(reader->sink->context, &pair);
    return false;
}

/* Reads the value of key, whose own event has been read. */
static void read_value(struct reader *reader, const char *key, int key_line, enum level level) {
    yaml_event_t event;
    if (!next(reader, &event))
        return;
    struct config_yaml_pair pair = {
        level == LEVEL_MODEL ? reader->model : NULL, reader->model_line, key, "", CONFIG_YAML_PLAIN, key_line};
    bool plain = check_plain(reader, &event, key);
    bool service = level == LEVEL_ROOT && strcmp(key, "service") == 0;
    bool models = level <= LEVEL_SERVICE && strcmp(key, "models") == 0;
    bool nested = event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT;
    if (service && reader->service_line > 0) {
        char text[80];
        snprintf(text, sizeof text, "is given twice, first on line %d", reader->service_line);
        complain(reader, key_line, key, text);
        plain = false;
    }
    if (service)
        reader->service_line = key_line;
    if (models && event.type != YAML_MAPPING_START_EVENT) {
        complain(reader, key_line, key, "must hold models by name, indented on the lines below");
    } else if (plain && models) {
        nested = false;
        read_pairs(reader, LEVEL_MODELS);
    } else if (plain && level == LEVEL_MODELS && !(event.type == YAML_SCALAR_EVENT && holds_nul(&event))) {
        nested = !read_model(reader, key, key_line, &event) && nested;
    } else if (event.type == YAML_SCALAR_EVENT) {
        bool quoted = event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        pair.value = (const char *)event.data.scalar.value;
        pair.kind = quoted ? CONFIG_YAML_QUOTED : CONFIG_YAML_PLAIN;
        if (plain && service) {
            if (quoted || *pair.value)
                complain(reader, key_line, key, "must hold keys of its own, indented on the lines below");
        } else if (plain && holds_nul(&event)) {
            complain(reader, key_line, key, "holds a NUL character");
        } else if (plain) {
            reader->sink->take(reader->sink->context, &pair);
        }
    } else if (plain && service && event.type == YAML_MAPPING_START_EVENT) {
        nested = false;
        read_pairs(reader, LEVEL_SERVICE);
    } else if (plain && service) {
        complain(reader, key_line, key, "must hold keys of its own, not a list");
    } else if (plain) {
        pair.kind = event.type == YAML_MAPPING_START_EVENT ? CONFIG_YAML_MAPPING : CONFIG_YAML_LIST;
        reader->sink->take(reader->sink->context, &pair);
    }
    yaml_event_delete(&event);
    if (nested)
        skip_rest(reader);
}

/* Reads the pairs of the mapping that has just begun, up to its end. */
static void read_pairs(struct reader *reader, enum level level) {
    yaml_event_t event;
    bool end = false;
    reader->depth++;
    while (!end && next(reader, &event)) {
        end = event.type == YAML_MAPPING_END_EVENT;
        if (event.type == YAML_SCALAR_EVENT && !holds_nul(&event)) {
            const char *key = (const char *)event.data.scalar.value;
            check_plain(reader, &event, key);
            read_value(reader, key, line_of(&event), level);
        } else if (!end) {
            stop(reader, line_of(&event), "keys must be plain words");
        }
        yaml_event_delete(&event);
    }
    reader->depth--;
}

static void read_document(struct reader *reader, const yaml_event_t *start) {
    yaml_event_t event;
    if (start->data.document_start.tag_directives.start != start->data.document_start.tag_directives.end)
        stop(reader, line_of(start), "tags (!) are not allowed");
    if (!next(reader, &event))
        return;
    check_plain(reader, &event, NULL);
    bool empty = event.type == YAML_SCALAR_EVENT && event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                 event.data.scalar.length == 0;
    if (event.type == YAML_MAPPING_START_EVENT)
        read_pairs(reader, LEVEL_ROOT);
    else if (!empty)
        stop(reader, line_of(&event),
             event.type == YAML_SEQUENCE_START_EVENT ? "must hold `key: value` lines, not a list"
                                                     : "must hold `key: value` lines");
    yaml_event_delete(&event);
}

void config_yaml_read(const char *text, size_t size, const char *file, const struct config_yaml_sink *sink,
                      struct config_problems *problems) {
    struct reader reader = {.text = text, .size = size, .file = file, .sink = sink, .problems = problems};
    yaml_event_t event;
    int documents = 0;
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        reader.text += 3;
        reader.size -= 3;
    }
    if (!check_bytes(&reader))
        return;
    if (!yaml_parser_initialize(&reader.parser)) {
        stop(&reader, 0, "cannot be read: no memory");
        return;
    }
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)reader.text, reader.size);
    for (bool end = false; !end && next(&reader, &event);) {
        end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT) {
            if (++documents > 1)
                stop(&reader, line_of(&event), "holds a second document (---): only one is allowed");
            else
                read_document(&reader, &event);
        }
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&reader.parser);
}
