#include "server/observe/process_stats.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* /proc/self/statm, proc(5): pages in all, pages resident, ... */
static double read_resident_bytes(void) {
    char text[128];
    unsigned long long pages;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    if (size <= 0)
        return -1;
    text[size] = 0;
    return sscanf(text, "%*u %llu", &pages) == 1 ? (double)pages * (double)sysconf(_SC_PAGESIZE) : -1;
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

struct process_stats process_stats_read(void) {
    struct process_stats stats = {.resident_bytes = read_resident_bytes(), .open_fds = count_fds(), -1, -1};
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        stats.cpu_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                            (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        stats.max_fds = (double)limit.rlim_cur;
    return stats;
}
