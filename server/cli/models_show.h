/* What `weir models` shows people of the server's answers. */
#ifndef WEIR_SERVER_CLI_MODELS_SHOW_H
#define WEIR_SERVER_CLI_MODELS_SHOW_H

#include <cjson/cJSON.h>
#include <stdio.h>

/* Prints a table of the models' versions; models is an array of what /admin/models/NAME answers. */
void models_show_table(const cJSON *models);

/* Prints one model with the figures of its rollout. */
void models_show_status(const cJSON *model);

/* A member as text or number; "" and NAN where there is none of that type. */
const char *models_show_string(const cJSON *object, const char *name);
double models_show_number(const cJSON *object, const char *name);

#endif
