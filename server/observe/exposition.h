/* The pieces of a page of metrics, text format 0.0.4: prometheus.io/docs/instrumenting/exposition_formats. */
#ifndef WEIR_SERVER_OBSERVE_EXPOSITION_H
#define WEIR_SERVER_OBSERVE_EXPOSITION_H

#include "server/bytes.h"

/* A label's value: backslash, quote and newline escaped; what is not UTF-8 becomes `?`. NULL is "". */
void exposition_label(struct bytes *out, const char *value);

/* The two lines before the series of a name. */
void exposition_head(struct bytes *out, const char *name, const char *type, const char *help);

/* Appends what OpenMetrics 1.0 makes of a page: counters are called without _total where they are described, buckets
 * have bounds such as "1.0", and the end is marked. Source: the OpenMetrics specification, "Text format". */
void exposition_openmetrics(const struct bytes *page, struct bytes *out);

/* A name with one series and no labels. */
void exposition_single(struct bytes *out, const char *name, const char *type, const char *help, double value);

#endif
