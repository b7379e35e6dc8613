/* Prometheus' own check of a page of metrics (Debian package prometheus). */
#ifndef WEIR_TESTS_FAKES_PROMTOOL_H
#define WEIR_TESTS_FAKES_PROMTOOL_H

#include <stdbool.h>

/* Says so if it is not. */
bool promtool_is_there(void);

/* Has it nothing to say about the page? What it says goes to stderr. */
bool promtool_agrees(const char *page);

#endif
