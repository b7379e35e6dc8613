/* The double's state, its configuration and its planned failures. */
#include "tests/double/core.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <unistd.h>

static double_core *core_make(void);

/* Never destroyed: streams' threads run until the process is gone. */
struct double_core &core = *core_make();

static thread_local cudaError_t last_error;
static thread_local int current_device;
thread_local bool double_in_host_function;

struct cuda_double_config cuda_double_defaults(void) {
    cuda_double_config config{};
    config.devices = 1;
    config.driver_version = 13000;
    config.major = 9;
    config.memory_bytes = size_t(256) << 20;
    config.context_bytes = size_t(4) << 20;
    config.graph_node_bytes = 1024;
    config.free_waits = true;
    config.split_k = true;
    return config;
}

static cudaError_t driver_error(void) {
    if (core.config.initial_error != 0)
        return static_cast<cudaError_t>(core.config.initial_error);
    if (core.config.driver_version / 1000 < CUDART_VERSION / 1000)
        return cudaErrorInsufficientDriver;
    return core.config.devices == 0 ? cudaErrorNoDevice : cudaSuccess;
}

bool core_plans_hold(void) {
    if (!core.when.empty() && access(core.when.c_str(), F_OK) == 0)
        core.when.clear();
    return core.when.empty();
}

static int planned(const char *function) {
    core.calls[function]++;
    core.calls["*"]++;
    if (!core_plans_hold())
        return 0;
    for (const char *name : {function, "*"}) {
        auto found = core.failing_calls.find(name);
        if (found != core.failing_calls.end() && --found->second.nth == 0) {
            int error = found->second.error;
            core.failing_calls.erase(found);
            core.failed = function;
            return error;
        }
    }
    return 0;
}

int core_enter_planned(const char *function) {
    core_guard guard;
    return planned(function);
}

cudaError_t core_enter(const char *function, bool needs_context) {
    core_guard guard;
    if (double_in_host_function) {
        core.counts.calls_in_host_function++;
        return cudaErrorNotPermitted;
    }
    cudaError_t error = driver_error();
    if (error != cudaSuccess)
        return error;
    error = static_cast<cudaError_t>(planned(function));
    if (error != cudaSuccess)
        return error;
    device_state &device = core.devices[current_device];
    if (device.sticky != 0)
        return static_cast<cudaError_t>(device.sticky);
    if (needs_context && !device.context) {
        if (!core_take(current_device, core.config.context_bytes))
            return cudaErrorMemoryAllocation;
        device.context = true;
    }
    return cudaSuccess;
}

cudaError_t core_error(cudaError_t error) {
    if (error != cudaSuccess)
        last_error = error;
    return error;
}

int core_current_device(void) {
    return current_device;
}

void core_set_current_device(int device) {
    current_device = device;
}

void core_forget_last_error(void) {
    last_error = cudaSuccess;
}

bool core_take(int device, size_t bytes) {
    device_state &state = core.devices[device];
    if (bytes > core.config.memory_bytes - state.used_bytes)
        return false;
    state.used_bytes += bytes;
    core.counts.device_bytes += bytes;
    if (core.counts.device_bytes > core.counts.device_peak_bytes)
        core.counts.device_peak_bytes = core.counts.device_bytes;
    return true;
}

void core_give_back(int device, size_t bytes) {
    core.devices[device].used_bytes -= bytes;
    core.counts.device_bytes -= bytes;
}

/* xorshift (Marsaglia, "Xorshift RNGs", 2003): the same delays in every run. */
unsigned core_random(void) {
    static thread_local unsigned state = 88172645;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

double core_now_ms(void) {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return double(now.tv_sec) * 1e3 + double(now.tv_nsec) * 1e-6;
}

void core_sleep_us(unsigned us) {
    timespec time = {time_t(us / 1000000), long(us % 1000000) * 1000};
    syscall(SYS_nanosleep, &time, nullptr);
}

void cuda_double_reset(const struct cuda_double_config *config) {
    stream_end_all();
    core_guard guard;
    memory_release_all();
    for (CUevent_st *event : core.events)
        delete event;
    for (CUgraph_st *graph : core.graphs)
        delete graph;
    for (CUgraphExec_st *exec : core.execs)
        delete exec;
    for (CUmemPoolHandle_st *pool : core.pools)
        delete pool;
    core.events.clear();
    core.graphs.clear();
    core.execs.clear();
    core.pools.clear();
    core.failing_calls.clear();
    core.failing_operations.clear();
    core.hanging_operations.clear();
    core.calls.clear();
    memset(core.devices, 0, sizeof core.devices);
    core.counts = cuda_double_counts{};
    core.when.clear();
    core.failed.clear();
    core.released = false;
    core.config = config != nullptr ? *config : cuda_double_defaults();
    if (core.config.devices > DOUBLE_MAX_DEVICES)
        core.config.devices = DOUBLE_MAX_DEVICES;
    current_device = 0;
    last_error = cudaSuccess;
}

void cuda_double_fail_call(const char *function, unsigned long nth, int error) {
    core_guard guard;
    core.failing_calls[function] = failure{nth, error};
}

const char *cuda_double_failed(void) {
    core_guard guard;
    return core.failed.c_str();
}

unsigned long cuda_double_calls(const char *function) {
    core_guard guard;
    auto found = core.calls.find(function);
    return found == core.calls.end() ? 0 : found->second;
}

void cuda_double_fail_operation(const char *name, unsigned long nth, int error) {
    core_guard guard;
    core.failing_operations[name] = failure{nth, error};
}

void cuda_double_hang_operation(const char *name, unsigned long nth) {
    core_guard guard;
    core.released = false;
    core.hanging_operations[name] = nth;
}

void cuda_double_release(void) {
    core_guard guard;
    core.released = true;
    core.lock.wake();
}

struct cuda_double_counts cuda_double_read(void) {
    core_guard guard;
    return core.counts;
}

unsigned long cuda_double_report(void) {
    struct cuda_double_counts counts = cuda_double_read();
    unsigned long sum = 0;
#define CORE_REPORT(name, text)                                                                                        \
    if (counts.name != 0)                                                                                              \
        fprintf(stderr, "cuda double: %lu %s\n", counts.name, text);                                                   \
    sum += counts.name;
    CUDA_DOUBLE_ALIVE_LIST(CORE_REPORT)
    CUDA_DOUBLE_MISUSE_LIST(CORE_REPORT)
#undef CORE_REPORT
    return sum;
}

/* "name:nth" or "name:nth:error"; '_' stands for a space. */
static void plan_from_text(double_core *made, const char *what, char *text) {
    char *save = nullptr;
    std::string name = strtok_r(text, ":", &save);
    const char *nth_text = strtok_r(nullptr, ":", &save), *error_text = strtok_r(nullptr, ":", &save);
    unsigned long nth = nth_text != nullptr ? strtoul(nth_text, nullptr, 10) : 1;
    int error = error_text != nullptr ? atoi(error_text) : int(cudaErrorIllegalAddress);
    std::string spaced = name;
    for (char &letter : spaced)
        letter = letter == '_' ? ' ' : letter;
    if (strcmp(what, "fail_call") == 0)
        made->failing_calls[name] = failure{nth, error};
    else if (strcmp(what, "fail_operation") == 0)
        made->failing_operations[name] = made->failing_operations[spaced] = failure{nth, error};
    else
        made->hanging_operations[name] = made->hanging_operations[spaced] = nth;
}

static void set_from_text(struct cuda_double_config *config, const char *name, long value) {
    struct {
        const char *name;
        int *at;
    } numbers[] = {{"devices", &config->devices},     {"driver", &config->driver_version},
                   {"error", &config->initial_error}, {"major", &config->major},
                   {"minor", &config->minor},         {"fiber_order", &config->fiber_order}};
    for (auto &number : numbers) {
        if (strcmp(name, number.name) == 0)
            *number.at = int(value);
    }
    if (strcmp(name, "memory_mib") == 0)
        config->memory_bytes = size_t(value) << 20;
    else if (strcmp(name, "delay_us") == 0)
        config->delay_us = unsigned(value);
    else if (strcmp(name, "protect") == 0)
        config->protect = value != 0;
    else if (strcmp(name, "split_k") == 0)
        config->split_k = value != 0;
    else if (strcmp(name, "free_waits") == 0)
        config->free_waits = value != 0;
}

static double_core *core_make(void) {
    double_core *made = new double_core{};
    made->config = cuda_double_defaults();
    const char *text = getenv("CUDA_DOUBLE");
    std::string copy(text != nullptr ? text : "");
    char *save = nullptr;
    for (char *entry = strtok_r(&copy[0], " ", &save); entry != nullptr; entry = strtok_r(nullptr, " ", &save)) {
        char *value = strchr(entry, '=');
        if (value == nullptr || value[1] == '\0')
            continue;
        *value++ = '\0';
        if (strncmp(entry, "fail_", 5) == 0 || strncmp(entry, "hang_", 5) == 0)
            plan_from_text(made, entry, value);
        else if (strcmp(entry, "when") == 0)
            made->when = value;
        else
            set_from_text(&made->config, entry, strtol(value, nullptr, 10));
    }
    return made;
}

extern "C" {
cudaError_t cudaGetLastError(void) {
    core_guard guard;
    cudaError_t error = driver_error();
    if (error == cudaSuccess)
        error = static_cast<cudaError_t>(core.devices[current_device].sticky);
    if (error == cudaSuccess)
        error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void) {
    core_guard guard;
    cudaError_t error = driver_error();
    if (error == cudaSuccess)
        error = static_cast<cudaError_t>(core.devices[current_device].sticky);
    return error == cudaSuccess ? last_error : error;
}
}
