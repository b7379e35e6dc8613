/* What the kernel says about this process. */
#ifndef WEIR_SERVER_OBSERVE_PROCESS_STATS_H
#define WEIR_SERVER_OBSERVE_PROCESS_STATS_H

/* A value that could not be read is -1, never 0. */
struct process_stats {
    double resident_bytes, virtual_bytes;
    double threads;
    double open_fds;
    double max_fds;
    double cpu_seconds; /* user and system, all threads */
};

/* thread: any. */
struct process_stats process_stats_read(void);

/* The same without threads, open_fds and max_fds (-1), which may take long with many connections. */
struct process_stats process_stats_brief(void);

#endif
