#include "server/observe/process_stats.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_text(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* /proc/self/statm, proc(5): pages in all, pages resident, ... */
static void read_memory(struct process_stats *stats) {
    char text[128];
    unsigned long long all, resident;
    double page_bytes = (double)sysconf(_SC_PAGESIZE);
    if (!read_text("/proc/self/statm", text, sizeof text) || sscanf(text, "%llu %llu", &all, &resident) != 2)
        return;
    stats->virtual_bytes = (double)all * page_bytes;
    stats->resident_bytes = (double)resident * page_bytes;
}

/* /proc/self/stat, proc(5): the 20th field; the name, which may hold anything, ends with the last ')'. */
static double count_threads(void) {
    char text[1024];
    long threads;
    const char *behind = read_text("/proc/self/stat", text, sizeof text) ? strrchr(text, ')') : NULL;
    static const char form[] = ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld";
    return behind && sscanf(behind, form, &threads) == 1 ? (double)threads : -1;
}

/* Since Linux 6.2 the size of /proc/self/fd is the number of open descriptors; before, it was 0 and they must be
 * counted, which takes long with many connections. */
static double count_fds(void) {
    struct stat info;
    if (stat("/proc/self/fd", &info) == 0 && info.st_size > 0)
        return (double)info.st_size;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return -1;
    double count = -1; /* the folder's own descriptor does not count */
    for (struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            count++;
    closedir(folder);
    return count;
}

struct process_stats process_stats_brief(void) {
    struct process_stats stats = {
        .resident_bytes = -1, .virtual_bytes = -1, .threads = -1, .open_fds = -1, .max_fds = -1, .cpu_seconds = -1};
    struct rusage usage;
    read_memory(&stats);
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        stats.cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                            (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    return stats;
}

struct process_stats process_stats_read(void) {
    struct process_stats stats = process_stats_brief();
    stats.threads = count_threads();
    stats.open_fds = count_fds();
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        stats.max_fds = (double)limit.rlim_cur;
    return stats;
}
