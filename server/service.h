/* The service: the composition root of `weir serve`. */
#ifndef WEIR_SERVER_SERVICE_H
#define WEIR_SERVER_SERVICE_H

#include "config/config.h"

/* Serves until told to stop. sources are kept, so that SIGHUP can read them again. Returns the exit code of the process
 * (server/exit_code.h). thread: main. */
int service_run(const struct config *config, const struct config_sources *sources);

#endif
