#include "tests/device/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double clock_us(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

double report_now_us(void) {
    return clock_us(CLOCK_MONOTONIC);
}

double report_cpu_us(void) {
    return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

/* Quotes, backslashes and what is not printable ASCII become spaces. */
static void print_text(const char *text) {
    putchar('"');
    for (; *text; text++)
        putchar(*text < ' ' || *text > '~' || *text == '"' || *text == '\\' ? ' ' : *text);
    putchar('"');
}

static void begin_row(const char *format, va_list arguments) {
    char name[200];
    vsnprintf(name, sizeof name, format, arguments);
    printf("{\"row\": ");
    print_text(name);
}

void report_row(double value, const char *unit, const char *name, ...) {
    va_list arguments;
    va_start(arguments, name);
    begin_row(name, arguments);
    va_end(arguments);
    printf(", \"value\": %.6g, \"unit\": ", value);
    print_text(unit);
    printf("}\n");
    fflush(stdout);
}

void report_text(const char *name, const char *text) {
    printf("{\"row\": ");
    print_text(name);
    printf(", \"value\": ");
    print_text(text);
    printf(", \"unit\": \"\"}\n");
    fflush(stdout);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void report_times(double *times_us, size_t count, const char *name, ...) {
    va_list arguments;
    qsort(times_us, count, sizeof *times_us, compare);
    va_start(arguments, name);
    begin_row(name, arguments);
    va_end(arguments);
    printf(", \"value\": %.2f, \"unit\": \"us\", \"p99\": %.2f, \"min\": %.2f}\n", times_us[count / 2],
           times_us[count * 99 / 100], times_us[0]);
    fflush(stdout);
}

void report_fail(const char *what, const char *why) {
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}
