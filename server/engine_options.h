/* The engine as the configuration wants it. */
#ifndef WEIR_SERVER_ENGINE_OPTIONS_H
#define WEIR_SERVER_ENGINE_OPTIONS_H

#include "config/config.h"
#include "engine/engine.h"

/* All but the observer. Texts are the configuration's own. thread: any. */
struct engine_options engine_options_of(const struct config *config);

/* What a failure of engine_open says of the process: the device has no room, or lacks the precision. */
enum weir_status engine_options_blame(enum weir_status status);

#endif
