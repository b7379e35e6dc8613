#include "engine/inventory.h"

#include <criterion/criterion.h>
#include <string.h>

#include "engine/cpus.h"
#include "engine/device/backend.h"

static struct inventory inventory;
static struct weir_error err;

Test(inventory, the_cpu_is_there_when_asked_for) {
    struct inventory_options options = {.choice = INVENTORY_CPU, .cpu_threads = 1};
    cr_assert_eq(inventory_open(&options, &inventory, &err), WEIR_OK);
    cr_assert_eq(inventory.count, 1);
    cr_assert_str_eq(inventory.devices[0]->ops->name, "cpu");
    cr_assert_not(inventory.fell_back);
    cr_assert_str_eq(inventory.reason, "configured");
    cr_assert_eq(inventory.cpu_threads, 1);
    inventory_release(&inventory);
}

Test(inventory, auto_takes_the_cpu_and_says_why) {
    struct inventory_options options = {.choice = INVENTORY_AUTO, .cpu_threads = 1};
    cr_assert_eq(inventory_open(&options, &inventory, &err), WEIR_OK);
    cr_assert(inventory.fell_back);
    cr_assert_not_null(strstr(inventory.reason, "auto: "));
    inventory_release(&inventory);
}

Test(inventory, cuda_without_a_gpu_is_refused_by_name) {
    struct inventory_options options = {.choice = INVENTORY_CUDA, .gpu_count = 1};
    cr_assert_eq(inventory_open(&options, &inventory, &err), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "device cuda: "));
}

Test(inventory, a_module_that_is_not_there_is_named) {
    struct inventory_options options = {
        .choice = INVENTORY_CUDA, .gpu_count = 1, .cuda_module = "/nowhere/weir_cuda.so"};
    cr_assert_eq(inventory_open(&options, &inventory, &err), WEIR_DEVICE);
    cr_assert_not_null(strstr(err.text, "/nowhere/weir_cuda.so"), "%s", err.text);
    options.choice = INVENTORY_AUTO;
    options.cpu_threads = 1;
    cr_assert_eq(inventory_open(&options, &inventory, &err), WEIR_OK);
    cr_assert(inventory.fell_back && strstr(inventory.reason, "/nowhere/weir_cuda.so"), "%s", inventory.reason);
    inventory_release(&inventory);
}

Test(inventory, more_threads_than_there_are_processors_are_cut) {
    struct inventory_options options = {.choice = INVENTORY_CPU, .cpu_threads = 100000};
    cr_assert_eq(inventory_open(&options, &inventory, &err), WEIR_OK);
    cr_assert_eq(inventory.cpu_threads, cpus_available());
    inventory_release(&inventory);
}
