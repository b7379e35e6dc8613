#include "server/observe/process_stats.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

Test(process_stats, an_open_descriptor_counts) {
    double before = process_stats_read().open_fds;
    cr_assert(before >= 3);
    int fd = open("/dev/null", O_RDONLY);
    cr_assert_eq(process_stats_read().open_fds, before + 1);
    close(fd);
    cr_assert_eq(process_stats_read().open_fds, before);
}

Test(process_stats, touched_memory_is_resident) {
    double before = process_stats_read().resident_bytes;
    size_t size = 32 << 20;
    char *memory = malloc(size);
    memset(memory, 1, size);
    double after = process_stats_read().resident_bytes;
    cr_assert_eq(memory[size / 2], 1);
    free(memory);
    cr_assert(before > 0 && after - before > 0.9 * (double)size);
}

Test(process_stats, address_space_and_threads_are_known) {
    struct process_stats stats = process_stats_read();
    cr_assert(stats.virtual_bytes >= stats.resident_bytes);
    cr_assert(stats.threads >= 1 && stats.threads < 1000);
}

Test(process_stats, work_costs_cpu_time, .timeout = 20) {
    double before = process_stats_read().cpu_seconds;
    cr_assert(before >= 0);
    while (process_stats_read().cpu_seconds < before + 0.01)
        ;
}

Test(process_stats, knows_the_descriptor_limit) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 100;
    setrlimit(RLIMIT_NOFILE, &limit);
    cr_assert_eq(process_stats_read().max_fds, 100);
}

Test(process_stats, in_brief_it_leaves_the_descriptors_out) {
    struct process_stats brief = process_stats_brief();
    cr_assert_eq(brief.open_fds, -1);
    cr_assert_eq(brief.max_fds, -1);
    cr_assert_gt(brief.resident_bytes, 0);
    cr_assert_geq(brief.cpu_seconds, 0);
}
