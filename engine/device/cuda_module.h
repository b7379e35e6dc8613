/* Finds and opens weir_cuda.so, the module that holds everything of CUDA, so that the server itself needs no CUDA
 * library and runs where there is none. A module stays open until the process ends: CUDA cannot be unloaded. */
#ifndef WEIR_ENGINE_DEVICE_CUDA_MODULE_H
#define WEIR_ENGINE_DEVICE_CUDA_MODULE_H

#include <stdbool.h>

#include "engine/device/backend.h"

struct cuda_module_options {
    const char *path;     /* the module's file, and no other (WEIR_CUDA_MODULE); NULL or "": it is searched for */
    const char *folder;   /* where it is installed, tried after the program's own folder; NULL: nowhere */
    bool allow_simulated; /* a module without a GPU behind it, for tests */
};

/* Opens GPU number `device`. Never before a fork. Errors: DEVICE, and the text is the plain reason: no module (with the
 * places that were tried), a library missing, another build's module, no driver, a driver that is too old, the
 * toolkit's stub, no device, no kernel image, simulated; NOT_FOUND: the driver sees fewer devices; UNSUPPORTED: the
 * device lacks what the options ask for; NO_MEMORY. Owner of *out: the caller. thread: any, one call at a time. */
enum weir_status cuda_module_open(const struct cuda_module_options *options, const struct backend_options *backend,
                                  int device, struct backend **out, struct weir_error *err) WEIR_CHECKED;

/* Calls tell with each step of the plan that no GPU can run, in the words with which loading would be refused. The
 * module decides, with the chooser that loads; a GPU need not be there, and a simulated one is as good. Errors: DEVICE
 * (the module is not there, or needs a library that is not), and those of plan_make_program. thread: any, one call at a
 * time. */
enum weir_status cuda_module_lacks(const struct cuda_module_options *options, struct plan *plan,
                                   void (*tell)(void *context, const char *text), void *context,
                                   struct weir_error *err) WEIR_CHECKED;

#endif
