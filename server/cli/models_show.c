#include "server/cli/models_show.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "server/cli/command.h"

enum { MODEL, VERSION, STATE, TRAFFIC, COLUMN_COUNT, CELL_BYTES = 96, QUIET_MOST = 4 };

/* A line of the table. The reason, which may be long, stands last. */
struct row {
    char cells[COLUMN_COUNT][CELL_BYTES];
    const char *reason;
};

const char *models_show_string(const cJSON *object, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text ? text : "";
}

double models_show_number(const cJSON *object, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static bool is_true(const cJSON *object, const char *name) {
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static const cJSON *member(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* What the version gets of the model's requests. */
static void write_traffic(const cJSON *rollout, const char *state, char text[CELL_BYTES]) {
    double weight = models_show_number(rollout, "weight_percent");
    bool is_paused = strcmp(models_show_string(rollout, "phase"), "paused") == 0;
    bool is_shadow = strcmp(models_show_string(rollout, "kind"), "shadow") == 0;
    double steps = models_show_number(rollout, "step_count");
    text[0] = 0;
    if (strcmp(state, "serving") == 0) {
        snprintf(text, CELL_BYTES, "%.6g%%", cJSON_IsObject(rollout) && !is_shadow ? 100 - weight : 100.0);
    } else if (strcmp(state, "canary") == 0 || strcmp(state, "shadow") == 0) {
        int used = is_shadow
                       ? snprintf(text, CELL_BYTES, "copies of %.6g%%", models_show_number(rollout, "shadow_percent"))
                       : snprintf(text, CELL_BYTES, "%.6g%%", weight);
        if (steps > 0)
            used += snprintf(text + used, CELL_BYTES - (size_t)used, ", step %.0f of %.0f",
                             models_show_number(rollout, "step"), steps);
        if (is_paused)
            snprintf(text + used, CELL_BYTES - (size_t)used, ", paused");
    }
}

static void write_number(const cJSON *version, char text[CELL_BYTES]) {
    double number = models_show_number(version, "version");
    snprintf(text, CELL_BYTES, number > 0 && number < 1e20 ? "%.0f" : "?", number);
}

static const char *reason_of(const cJSON *version, const cJSON *rollout) {
    const char *state = models_show_string(version, "state");
    const char *reason = models_show_string(version, "reason");
    if (*reason)
        return reason;
    if (strcmp(state, "canary") == 0 || strcmp(state, "shadow") == 0)
        return models_show_string(rollout, "waits_for");
    if (is_true(version, "rejected"))
        return "was rolled back";
    return cJSON_IsFalse(member(version, "on_disk")) ? "its files are gone" : "";
}

static void put_row(const struct row *row, const int *widths) {
    int owed = 0; /* blanks before what comes next */
    for (int i = 0; i < COLUMN_COUNT; i++) {
        int pad = widths[i] - (int)strlen(row->cells[i]);
        int before = i == VERSION && pad > 0 ? pad : 0;
        if (row->cells[i][0])
            printf("%*s", owed + before, "");
        command_show_text(stdout, row->cells[i]);
        owed = (row->cells[i][0] ? 0 : owed + before) + (pad > before ? pad - before : 0) + 2;
    }
    if (row->reason[0])
        printf("%*s", owed, "");
    command_show_text(stdout, row->reason);
    putchar('\n');
}

/* Nothing to say of it but that it lies there. */
static bool is_quiet(const cJSON *version, const cJSON *rollout) {
    return version && strcmp(models_show_string(version, "state"), "found") == 0 && !*reason_of(version, rollout);
}

/* Gives `take` a row for each version, and one for many that only lie there. */
static void each_row(const cJSON *model, void (*take)(const struct row *row, int *widths), int *widths) {
    const cJSON *rollout = member(model, "rollout"), *versions = member(model, "versions");
    const cJSON *version = versions ? versions->child : NULL;
    struct row row = {.reason = models_show_string(model, "problem")};
    snprintf(row.cells[MODEL], CELL_BYTES, "%s%s", models_show_string(model, "name"),
             is_true(model, "default") ? "*" : "");
    if (!version) {
        snprintf(row.cells[VERSION], CELL_BYTES, "-");
        snprintf(row.cells[STATE], CELL_BYTES, "none");
        if (!*row.reason)
            row.reason = "no version lies there";
        take(&row, widths);
    }
    while (version) {
        int quiet = 0;
        const cJSON *last = version;
        for (const cJSON *other = version; is_quiet(other, rollout); other = other->next, quiet++)
            last = other;
        const char *state = models_show_string(version, "state");
        row.reason = reason_of(version, rollout);
        write_number(version, row.cells[VERSION]);
        snprintf(row.cells[STATE], CELL_BYTES, "%s", state);
        write_traffic(rollout, state, row.cells[TRAFFIC]);
        if (quiet > QUIET_MOST) {
            snprintf(row.cells[STATE], CELL_BYTES, "%s, and %d more down to %.0f", state, quiet - 1,
                     models_show_number(last, "version"));
            version = last;
        }
        take(&row, widths);
        version = version->next;
    }
}

static void measure(const struct row *row, int *widths) {
    for (int i = 0; i < COLUMN_COUNT; i++) {
        int width = (int)strlen(row->cells[i]);
        if (width > widths[i] && (i != STATE || width < 20))
            widths[i] = width;
    }
}

static void print_row(const struct row *row, int *widths) {
    put_row(row, widths);
}

void models_show_table(const cJSON *models) {
    const struct row head = {.cells = {"MODEL", "VERSION", "STATE", "REQUESTS"}, .reason = "REASON"};
    int widths[COLUMN_COUNT] = {0};
    const cJSON *model;
    measure(&head, widths);
    cJSON_ArrayForEach(model, models) each_row(model, measure, widths);
    put_row(&head, widths);
    cJSON_ArrayForEach(model, models) each_row(model, print_row, widths);
    cJSON_ArrayForEach(model, models) {
        const char *problem = models_show_string(model, "problem"), *last = models_show_string(model, "last_rollout");
        if (*problem && cJSON_GetArraySize(member(model, "versions")) > 0) {
            printf("%s: ", models_show_string(model, "name"));
            command_show_text(stdout, problem);
            putchar('\n');
        }
        if (*last) {
            printf("%s: the last rollout: ", models_show_string(model, "name"));
            command_show_text(stdout, last);
            putchar('\n');
        }
    }
}

static void put_line(const char *title, const char *text) {
    if (!*text)
        return;
    printf("  %-14s", title);
    command_show_text(stdout, text);
    putchar('\n');
}

/* One figure of both versions. */
static void put_figures(const char *title, const cJSON *rollout, const char *name, const char *unit) {
    printf("  %-14s", title);
    const char *const sides[] = {"seen_stable", "seen_candidate"};
    for (int i = 0; i < 2; i++) {
        char text[48];
        double value = models_show_number(member(rollout, sides[i]), name);
        if (*unit && value > 0)
            snprintf(text, sizeof text, "%.3g%s", value, unit);
        else
            snprintf(text, sizeof text, isfinite(value) && !*unit ? "%.0f" : "-", value);
        printf("%14s", text);
    }
    putchar('\n');
}

static void put_comparison(const cJSON *seen) {
    double requests = models_show_number(seen, "requests");
    double agreement = models_show_number(seen, "agreement"), ratio = models_show_number(seen, "compute_ratio");
    if (!(requests > 0)) {
        put_line("compared", "nothing yet");
        return;
    }
    printf("  %-14s%.0f requests, %.0f rows: %.0f elements differ, by at most %.3g (%.3g of the row's largest), on "
           "average %.3g\n",
           "compared", requests, models_show_number(seen, "rows"), models_show_number(seen, "unequal"),
           models_show_number(seen, "max_error"), models_show_number(seen, "max_relative_error"),
           models_show_number(seen, "mean_error"));
    if (isfinite(agreement))
        printf("  %-14s%.4g%% of the decisions\n", "agreement", agreement * 100);
    if (isfinite(ratio))
        printf("  %-14s%.3g times stable's time on the device\n", "compute", ratio);
    if (models_show_number(seen, "misfits") > 0)
        printf("  %-14s%.0f requests with outputs of other sizes\n", "misfits", models_show_number(seen, "misfits"));
    if (models_show_number(seen, "new_non_finite") > 0)
        printf("  %-14s%.0f elements that are finite in stable's\n", "non-finite",
               models_show_number(seen, "new_non_finite"));
}

void models_show_status(const cJSON *model) {
    const cJSON *rollout = member(model, "rollout");
    double stable = models_show_number(model, "stable");
    char text[CELL_BYTES], head[2][48];
    printf("%s: ", models_show_string(model, "name"));
    if (isfinite(stable))
        printf("version %.0f serves", stable);
    else
        fputs("no version serves", stdout);
    if (cJSON_IsObject(rollout)) {
        const char *kind = models_show_string(rollout, "kind");
        write_traffic(rollout, kind, text);
        printf(", version %.0f is a %s: %s\n", models_show_number(rollout, "candidate"), kind, text);
        put_line("steps", models_show_string(rollout, "steps"));
        put_line("sticky header", models_show_string(rollout, "sticky_header"));
        put_line("waits for", models_show_string(rollout, "waits_for"));
        snprintf(head[0], sizeof head[0], "stable %.0f", stable);
        snprintf(head[1], sizeof head[1], "%s %.0f", kind, models_show_number(rollout, "candidate"));
        printf("  %-14s%14s%14s\n", "", head[0], head[1]);
        put_figures("requests", rollout, "requests", "");
        put_figures("errors", rollout, "errors", "");
        put_figures("non-finite", rollout, "non_finite", "");
        put_figures("late", rollout, "late", "");
        put_figures("p50", rollout, "p50_ms", " ms");
        put_figures("p99", rollout, "p99_ms", " ms");
        put_comparison(member(rollout, "comparison"));
    } else {
        fputs(isfinite(stable) ? ", no rollout is under way\n" : "\n", stdout);
    }
    put_line("problem", models_show_string(model, "problem"));
    put_line("last rollout", models_show_string(model, "last_rollout"));
}
