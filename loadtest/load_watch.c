#include "loadtest/load_watch.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static void add(struct watch *watch, const char *name, int64_t cpu_ns) {
    int i = 0;
    while (i < watch->thread_count && strcmp(watch->threads[i].name, name) != 0)
        i++;
    if (i == WATCH_THREADS)
        return;
    if (i == watch->thread_count) {
        snprintf(watch->threads[i].name, sizeof watch->threads[i].name, "%s", name);
        watch->threads[i].cpu_ns = 0;
        watch->thread_count++;
    }
    watch->threads[i].cpu_ns += cpu_ns;
}

/* The name as the kernel has it, without what would need quoting. */
static void read_name(const char *folder, char *name) {
    char path[340];
    snprintf(path, sizeof path, "%s/comm", folder);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(name, WATCH_NAME_BYTES, file))
        strcpy(name, "?");
    if (file)
        fclose(file);
    name[strcspn(name, "\n\"\\")] = '\0';
}

/* Time on a CPU: the first number of a task's schedstat, in nanoseconds (source:
 * Documentation/scheduler/sched-stats.rst). */
static void read_thread(struct watch *watch, const char *folder) {
    char path[340], name[WATCH_NAME_BYTES];
    long long ns;
    snprintf(path, sizeof path, "%s/schedstat", folder);
    FILE *file = fopen(path, "r");
    if (!file)
        return; /* this thread has just ended */
    if (fscanf(file, "%lld", &ns) == 1) {
        read_name(folder, name);
        add(watch, name, ns);
        watch->total_ns += ns;
    }
    fclose(file);
}

void watch_read(struct watch *watch, int pid) {
    char path[320];
    *watch = (struct watch){.total_ns = -1};
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = pid > 0 ? opendir(path) : NULL;
    if (!tasks)
        return;
    watch->total_ns = 0;
    for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
        if (task->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s", pid, task->d_name);
        read_thread(watch, path);
    }
    closedir(tasks);
}

void watch_subtract(const struct watch *begin, const struct watch *end, struct watch *out) {
    *out = *end;
    if (begin->total_ns < 0 || end->total_ns < 0) {
        *out = (struct watch){.total_ns = -1};
        return;
    }
    out->total_ns -= begin->total_ns;
    for (int i = 0; i < begin->thread_count; i++)
        add(out, begin->threads[i].name, -begin->threads[i].cpu_ns);
}
