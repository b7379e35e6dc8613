/* Which of the versions that are there are to be loaded. */
#ifndef WEIR_ENGINE_MODEL_VERSION_POLICY_H
#define WEIR_ENGINE_MODEL_VERSION_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/status.h"

enum { VERSION_POLICY_LISTED = 64 };

struct version_policy {
    bool is_list;
    uint64_t latest; /* unless is_list: this many of the newest; UINT64_MAX is all */
    size_t listed_count;
    uint64_t listed[VERSION_POLICY_LISTED];
};

/* Reads "latest" (1), "latest:3", "all", or a list such as "1, 3, v7", with or without brackets. Errors: INVALID,
 * naming what is wrong. */
enum weir_status version_policy_read(const char *text, struct version_policy *out, struct weir_error *err) WEIR_CHECKED;

/* Whether numbers[index] is to be loaded. numbers: newest first. */
bool version_policy_wants(const struct version_policy *policy, const uint64_t *numbers, size_t index);

#endif
