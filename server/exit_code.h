/* What the process ends with; scripts and supervisors read it. */
#ifndef WEIR_SERVER_EXIT_CODE_H
#define WEIR_SERVER_EXIT_CODE_H

enum exit_code {
    EXIT_CODE_DONE = 0,
    EXIT_CODE_FAULT = 1,  /* a check found a fault */
    EXIT_CODE_USAGE = 2,  /* command line or configuration */
    EXIT_CODE_MODEL = 3,  /* no model that can be served */
    EXIT_CODE_DEVICE = 4, /* device, or not enough memory on it */
    EXIT_CODE_IO = 5,     /* listener or file */
    EXIT_CODE_INTERNAL = 70,
    EXIT_CODE_DEVICE_LOST = 75, /* start me again */
};

/* Added to a code: leave by _exit, since threads still run. */
enum { EXIT_AT_ONCE = 256 };

#endif
