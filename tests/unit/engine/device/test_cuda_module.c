#include "engine/device/cuda_module.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/fakes/temp_dir.h"

static struct weir_error err;

static enum weir_status open_module(const char *path, const char *folder) {
    const struct cuda_module_options options = {.path = path, .folder = folder};
    const struct backend_options backend = {0};
    struct backend *out = NULL;
    enum weir_status status = cuda_module_open(&options, &backend, 0, &out, &err);
    cr_assert_null(out);
    return status;
}

Test(cuda_module, a_missing_module_is_told_with_every_place_that_was_tried) {
    cr_assert_eq(open_module(NULL, "/nowhere/weir"), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "no CUDA module: there is no weir_cuda.so in /"), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "or /nowhere/weir"), "%s", err.text);
}

Test(cuda_module, the_one_that_was_named_is_the_only_one_tried) {
    temp_dir_make();
    temp_dir_write("weir_cuda.so", "no library");
    cr_assert_eq(open_module("/nowhere/else.so", temp_dir), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "cuda_module is /nowhere/else.so, which is not there"), "%s", err.text);
    temp_dir_remove();
}

Test(cuda_module, an_empty_name_is_none) {
    cr_assert_eq(open_module("", NULL), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "there is no weir_cuda.so"), "%s", err.text);
}

Test(cuda_module, a_file_that_is_no_library_is_refused) {
    temp_dir_make();
    temp_dir_write("weir_cuda.so", "no library");
    cr_assert_eq(open_module(NULL, temp_dir), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "the CUDA module cannot be opened: "), "%s", err.text);
    cr_assert_not_null(strstr(err.text, "weir_cuda.so"), "%s", err.text);
    temp_dir_remove();
}

Test(cuda_module, another_library_is_not_weirs_module) {
    char path[512] = "", line[1024], found[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    cr_assert_not_null(maps);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%*s %*s %*s %*s %*s %511s", found) == 1 && strstr(found, "libcriterion"))
            strcpy(path, found);
    fclose(maps);
    cr_assert(path[0]);
    cr_assert_eq(open_module(path, NULL), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "is not weir's CUDA module"), "%s", err.text);
}
