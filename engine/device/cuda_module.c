#include "engine/device/cuda_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/device/cuda/weir_cuda.h"

typedef __typeof__(weir_cuda_abi) *abi_function;
typedef __typeof__(weir_cuda_open) *open_function;
typedef __typeof__(weir_cuda_lacks) *lacks_function;

static const char FILE_NAME[] = "weir_cuda.so";

/* The folder of the running program. Returns false if it cannot be told. */
static bool own_folder(char *folder, size_t size) {
    ssize_t used = readlink("/proc/self/exe", folder, size - 1);
    if (used <= 0 || (size_t)used >= size - 1)
        return false;
    folder[used] = 0;
    char *slash = strrchr(folder, '/');
    if (!slash)
        return false;
    *slash = 0;
    return true;
}

static bool is_there(const char *folder, char *path, size_t size) {
    int used = snprintf(path, size, "%s/%s", folder, FILE_NAME);
    return used > 0 && (size_t)used < size && access(path, F_OK) == 0;
}

static enum weir_status find(const struct cuda_module_options *options, char *path, size_t size,
                             struct weir_error *err) {
    char own[PATH_MAX];
    bool knows_own = own_folder(own, sizeof own);
    if (options->path && options->path[0]) {
        snprintf(path, size, "%s", options->path);
        return access(path, F_OK) == 0
                   ? WEIR_OK
                   : weir_fail(err, WEIR_DEVICE, "no CUDA module: cuda_module is %.200s, which is not there", path);
    }
    if ((knows_own && is_there(own, path, size)) || (options->folder && is_there(options->folder, path, size)))
        return WEIR_OK;
    return weir_fail(err, WEIR_DEVICE, "no CUDA module: there is no %s in %.180s or %.180s", FILE_NAME,
                     knows_own ? own : "the program's folder", options->folder ? options->folder : "a library folder");
}

/* dlerror says "NAME: cannot open shared object file" where another library is missing. */
static enum weir_status explain(const char *path, struct weir_error *err) {
    const char *text = dlerror();
    const char *missing = text ? strstr(text, ": cannot open shared object file") : NULL;
    if (missing && strncmp(text, path, strlen(path)) != 0)
        return weir_fail(err, WEIR_DEVICE, "the CUDA module needs %.*s, which is not installed", (int)(missing - text),
                         text);
    return weir_fail(err, WEIR_DEVICE, "the CUDA module cannot be opened: %.300s", text ? text : path);
}

/* The module's functions, and where it is. */
struct module {
    char path[PATH_MAX + sizeof FILE_NAME + 1];
    open_function open;
    lacks_function lacks;
};

static enum weir_status load(const struct cuda_module_options *options, struct module *module, struct weir_error *err) {
    abi_function abi;
    enum weir_status status = find(options, module->path, sizeof module->path, err);
    if (status != WEIR_OK)
        return status;
    void *opened = dlopen(module->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!opened)
        return explain(module->path, err);
    *(void **)&abi = dlsym(opened, "weir_cuda_abi");
    *(void **)&module->open = dlsym(opened, "weir_cuda_open");
    *(void **)&module->lacks = dlsym(opened, "weir_cuda_lacks");
    if (!abi || !module->open)
        return weir_fail(err, WEIR_DEVICE, "%.300s is not weir's CUDA module", module->path);
    if (abi() != weir_cuda_layout() || !module->lacks)
        return weir_fail(err, WEIR_DEVICE, "the CUDA module %.300s belongs to another build of weir", module->path);
    return WEIR_OK;
}

enum weir_status cuda_module_lacks(const struct cuda_module_options *options, struct plan *plan,
                                   void (*tell)(void *context, const char *text), void *context,
                                   struct weir_error *err) {
    struct module module;
    enum weir_status status = load(options, &module, err);
    return status == WEIR_OK ? module.lacks(plan, tell, context, err) : status;
}

enum weir_status cuda_module_open(const struct cuda_module_options *options, const struct backend_options *backend,
                                  int device, struct backend **out, struct weir_error *err) {
    struct module module;
    struct backend *opened = NULL;
    enum weir_status status = load(options, &module, err);
    if (status == WEIR_OK)
        status = module.open(backend, device, &opened, err);
    if (status != WEIR_OK)
        return status;
    if (strncmp(opened->description, "SIMULATED", 9) == 0 && !options->allow_simulated) {
        opened->ops->close(opened);
        return weir_fail(err, WEIR_DEVICE, "the CUDA module %.300s only simulates a GPU", module.path);
    }
    *out = opened;
    return WEIR_OK;
}
