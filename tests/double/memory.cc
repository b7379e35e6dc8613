/* Device memory, pinned memory, pools, copies and fills. */
#include "tests/double/core.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

enum : size_t { PAGE = 4096, RED = 256, FILL_BYTES = size_t(2) << 20, ARENA_BYTES = size_t(64) << 30 };
enum { RED_BYTE = 0xCB };

/* Device memory lies in one reservation and no address is given twice between two resets: what uses a freed block is a
 * SIGSEGV. */
static char *arena;
static size_t arena_used;

bool memory_holds(const std::map<char *, memory_block> &blocks, const void *at, size_t bytes) {
    char *first = static_cast<char *>(const_cast<void *>(at));
    auto found = blocks.upper_bound(first);
    if (found == blocks.begin())
        return false;
    --found;
    return first + bytes <= found->first + found->second.bytes;
}

bool cuda_double_is_device(const void *at, size_t bytes) {
    core_guard guard;
    return memory_holds(core.device_blocks, at, bytes);
}

bool cuda_double_is_pinned(const void *at, size_t bytes) {
    core_guard guard;
    return memory_holds(core.pinned_blocks, at, bytes);
}

static void protect_all(int protection) {
    if (!core.config.protect)
        return;
    for (auto &entry : core.device_blocks)
        mprotect(entry.first - RED, entry.second.mapped, protection);
}

void memory_open(void) {
    if (core.open++ == 0)
        protect_all(PROT_READ | PROT_WRITE);
}

void memory_close(void) {
    if (--core.open == 0)
        protect_all(PROT_NONE);
}

/* A file of FILL_BYTES 0xFF. Mapped privately, as often as a block is long, it makes fresh memory whose pages cost
 * nothing until they are written. */
static int fill_file(void) {
    static int file = -1;
    if (file < 0) {
        std::string fill(FILL_BYTES, '\xFF');
        file = memfd_create("fresh device memory", MFD_CLOEXEC);
        if (write(file, fill.data(), fill.size()) != ssize_t(fill.size())) {
            perror("cuda double: fresh memory");
            abort();
        }
    }
    return file;
}

static bool map_fresh(char *base, size_t bytes) {
    for (size_t at = 0; at < bytes; at += FILL_BYTES) {
        size_t length = bytes - at < FILL_BYTES ? bytes - at : size_t(FILL_BYTES);
        if (mmap(base + at, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fill_file(), 0) == MAP_FAILED)
            return false;
    }
    return true;
}

/* [red][bytes, up to a multiple of 512][red], from a page's start; behind it a page that cannot be reached. Lock held.
 */
static char *device_take(size_t bytes, int device) {
    size_t span = (bytes + 511) & ~size_t(511), mapped = (RED + span + RED + PAGE - 1) & ~(PAGE - 1);
    if (arena == nullptr) {
        void *at = mmap(nullptr, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            return nullptr;
        arena = static_cast<char *>(at);
        arena_used = 0;
    }
    if (mapped + PAGE > ARENA_BYTES - arena_used || !core_take(device, span))
        return nullptr;
    char *base = arena + arena_used, *at = base + RED;
    if (!map_fresh(base, mapped)) {
        core_give_back(device, span);
        return nullptr;
    }
    arena_used += mapped + PAGE;
    memset(base, RED_BYTE, RED);
    memset(at + bytes, RED_BYTE, mapped - RED - bytes);
    poison(base, RED);
    poison(at + bytes, mapped - RED - bytes);
    core.device_blocks[at] = memory_block{bytes, span, mapped, device, 0, false};
    core.counts.device_blocks++;
    if (core.config.protect && core.open == 0)
        mprotect(base, mapped, PROT_NONE);
    return at;
}

static void device_release(std::map<char *, memory_block>::iterator entry) {
    char *at = entry->first, *base = at - RED;
    memory_block block = entry->second;
    mprotect(base, block.mapped, PROT_READ | PROT_WRITE);
    unpoison(base, block.mapped);
    bool hit = false;
    for (size_t i = 0; i < RED; i++)
        hit |= static_cast<unsigned char>(base[i]) != RED_BYTE;
    for (size_t i = RED + block.bytes; i < block.mapped; i++)
        hit |= static_cast<unsigned char>(base[i]) != RED_BYTE;
    core.counts.red_zones_hit += hit;
    mmap(base, block.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    core_give_back(block.device, block.span);
    core.counts.device_blocks--;
    core.device_blocks.erase(entry);
}

void memory_release_all(void) {
    while (!core.device_blocks.empty())
        device_release(core.device_blocks.begin());
    for (auto &entry : core.pinned_blocks) {
        if (!entry.second.registered)
            free(entry.first);
    }
    core.pinned_blocks.clear();
    if (arena != nullptr)
        munmap(arena, ARENA_BYTES);
    arena = nullptr;
    core.open = 0;
}

/* An operation that frees: a block of a pool. */
static void device_release_at(char *at) {
    core_guard guard;
    auto found = core.device_blocks.find(at);
    if (found != core.device_blocks.end())
        device_release(found);
}

static cudaError_t device_allocate(void **out, size_t bytes) {
    core_guard guard;
    if (bytes == 0)
        return cudaSuccess;
    *out = device_take(bytes, core_current_device());
    return *out != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t host_allocate(void **out, size_t bytes, unsigned flags) {
    void *at = nullptr;
    if (posix_memalign(&at, PAGE, bytes != 0 ? bytes : 1) != 0)
        return cudaErrorMemoryAllocation;
    memset(at, 0xFF, bytes);
    core_guard guard;
    core.pinned_blocks[static_cast<char *>(at)] = memory_block{bytes, bytes, 0, core_current_device(), flags, false};
    core.counts.pinned_blocks++;
    core.counts.pinned_bytes += bytes;
    *out = at;
    return cudaSuccess;
}

extern "C" {
cudaError_t cudaMemGetInfo(size_t *out_free, size_t *out_total) {
    CORE_ENTER();
    core_guard guard;
    *out_total = core.config.memory_bytes;
    *out_free = core.config.memory_bytes - core.devices[core_current_device()].used_bytes;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
    *out = nullptr;
    CORE_ENTER();
    cudaError_t error = capture_check_unsafe();
    return core_error(error != cudaSuccess ? error : device_allocate(out, bytes));
}

/* What frees a block writes it, as far as ThreadSanitizer is concerned: whoever still uses it races. */
cudaError_t cudaFree(void *at) {
    CORE_ENTER();
    if (at == nullptr)
        return cudaSuccess;
    cudaError_t error = capture_check_unsafe();
    if (error != cudaSuccess)
        return core_error(error);
    size_t bytes;
    {
        core_guard guard;
        auto found = core.device_blocks.find(static_cast<char *>(at));
        if (found == core.device_blocks.end()) {
            core.counts.wrong_frees++;
            return core_error(cudaErrorInvalidValue);
        }
        bytes = found->second.bytes;
        if (core.config.free_waits) {
            error = stream_wait_device(found->second.device);
            if (error != cudaSuccess)
                return core_error(error);
        }
    }
    touch_write(at, bytes);
    device_release_at(static_cast<char *>(at));
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
    *out = nullptr;
    CORE_ENTER();
    cudaError_t error = capture_check_unsafe();
    return core_error(error != cudaSuccess ? error : host_allocate(out, bytes, flags));
}

cudaError_t cudaMallocHost(void **out, size_t bytes) {
    *out = nullptr;
    CORE_ENTER();
    cudaError_t error = capture_check_unsafe();
    return core_error(error != cudaSuccess ? error : host_allocate(out, bytes, cudaHostAllocDefault));
}

cudaError_t cudaFreeHost(void *at) {
    CORE_ENTER();
    if (at == nullptr)
        return cudaSuccess;
    cudaError_t error = capture_check_unsafe();
    if (error != cudaSuccess)
        return core_error(error);
    {
        core_guard guard;
        auto found = core.pinned_blocks.find(static_cast<char *>(at));
        if (found == core.pinned_blocks.end() || found->second.registered) {
            core.counts.wrong_frees++;
            return core_error(cudaErrorInvalidValue);
        }
        core.counts.pinned_blocks--;
        core.counts.pinned_bytes -= found->second.bytes;
        core.pinned_blocks.erase(found);
    }
    free(at);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *at, size_t bytes, unsigned flags) {
    CORE_ENTER();
    core_guard guard;
    if (memory_holds(core.pinned_blocks, at, 1))
        return core_error(cudaErrorHostMemoryAlreadyRegistered);
    core.pinned_blocks[static_cast<char *>(at)] = memory_block{bytes, bytes, 0, core_current_device(), flags, true};
    core.counts.pinned_blocks++;
    core.counts.pinned_bytes += bytes;
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *at) {
    CORE_ENTER();
    core_guard guard;
    auto found = core.pinned_blocks.find(static_cast<char *>(at));
    if (found == core.pinned_blocks.end() || !found->second.registered)
        return core_error(cudaErrorHostMemoryNotRegistered);
    core.counts.pinned_blocks--;
    core.counts.pinned_bytes -= found->second.bytes;
    core.pinned_blocks.erase(found);
    return cudaSuccess;
}

/* One address space: the device sees pinned memory where the host does. */
cudaError_t cudaHostGetDevicePointer(void **out, void *host, unsigned) {
    CORE_ENTER();
    core_guard guard;
    if (!memory_holds(core.pinned_blocks, host, 1))
        return core_error(cudaErrorInvalidValue);
    *out = host;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *at) {
    CORE_ENTER();
    core_guard guard;
    *out = cudaPointerAttributes{};
    void *pointer = const_cast<void *>(at);
    bool device = memory_holds(core.device_blocks, at, 1), pinned = memory_holds(core.pinned_blocks, at, 1);
    out->type = device ? cudaMemoryTypeDevice : pinned ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
    out->device = core_current_device();
    out->devicePointer = device || pinned ? pointer : nullptr;
    out->hostPointer = device ? nullptr : pointer;
    return cudaSuccess;
}

/* Pools: a block is there at once, and gone when the stream comes to its free. */
cudaError_t cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t handle) {
    *out = nullptr;
    CORE_ENTER();
    core_guard guard;
    CUstream_st *stream = stream_find(handle);
    if (stream == nullptr || core.pools.count(pool) == 0)
        return core_error(cudaErrorInvalidValue);
    if (stream->captured != nullptr) {
        stream->captured->invalid = true;
        core.counts.capture_violations++;
        return core_error(cudaErrorStreamCaptureUnsupported);
    }
    if (bytes == 0)
        return cudaSuccess;
    *out = device_take(bytes, pool->device);
    return core_error(*out != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}

/* Lock held. */
static CUmemPoolHandle_st *default_pool(int device) {
    device_state &state = core.devices[device];
    if (state.pool == nullptr) {
        state.pool = new CUmemPoolHandle_st{device, 0, true};
        core.pools.insert(state.pool);
    }
    return state.pool;
}

cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream) {
    *out = nullptr;
    CORE_ENTER();
    cudaMemPool_t pool;
    {
        core_guard guard;
        pool = default_pool(core_current_device());
    }
    return cudaMallocFromPoolAsync(out, bytes, pool, stream);
}

cudaError_t cudaFreeAsync(void *at, cudaStream_t stream) {
    CORE_ENTER();
    char *block = static_cast<char *>(at);
    size_t bytes;
    {
        core_guard guard;
        auto found = core.device_blocks.find(block);
        if (found == core.device_blocks.end()) {
            core.counts.wrong_frees++;
            return core_error(cudaErrorInvalidValue);
        }
        bytes = found->second.bytes;
    }
    return core_error(stream_enqueue(stream, "free", true, [block, bytes] {
        touch_write(block, bytes);
        device_release_at(block);
    }));
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *props) {
    CORE_ENTER();
    core_guard guard;
    if (props->location.id < 0 || props->location.id >= core.config.devices)
        return core_error(cudaErrorInvalidDevice);
    *out = new CUmemPoolHandle_st{props->location.id, 0, false};
    core.pools.insert(*out);
    core.counts.pools++;
    return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    CORE_ENTER();
    core_guard guard;
    if (core.pools.count(pool) == 0 || pool->built_in) {
        core.counts.wrong_frees++;
        return core_error(cudaErrorInvalidValue);
    }
    core.pools.erase(pool);
    core.counts.pools--;
    delete pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
    CORE_ENTER();
    core_guard guard;
    if (core.pools.count(pool) == 0)
        return core_error(cudaErrorInvalidValue);
    if (attribute == cudaMemPoolAttrReleaseThreshold)
        memcpy(&pool->threshold, value, sizeof pool->threshold);
    return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t) {
    CORE_ENTER();
    core_guard guard;
    return core_error(core.pools.count(pool) != 0 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device) {
    CORE_ENTER();
    core_guard guard;
    if (device < 0 || device >= core.config.devices)
        return core_error(cudaErrorInvalidDevice);
    *out = default_pool(device);
    return cudaSuccess;
}
}
