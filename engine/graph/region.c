#include "engine/graph/region.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { REGION_BLOCK_BYTES = 16384, REGION_LARGE_BYTES = 4096, REGION_LINE_BYTES = 64 };

/* The pieces lie behind this header, which is one cache line long to keep large pieces aligned. */
struct region_block {
    struct region_block *next;
    size_t bytes;
    unsigned char padding[REGION_LINE_BYTES - sizeof(void *) - sizeof(size_t)];
};

static struct region_block *make_block(size_t bytes) {
    size_t total;
    if (__builtin_add_overflow(bytes, sizeof(struct region_block) + REGION_LINE_BYTES - 1, &total))
        return NULL;
    struct region_block *block = aligned_alloc(REGION_LINE_BYTES, total / REGION_LINE_BYTES * REGION_LINE_BYTES);
    if (!block)
        return NULL;
    block->bytes = bytes;
    memset(block + 1, 0, bytes);
    return block;
}

void *region_take(struct region *region, size_t count, size_t bytes_each) {
    size_t bytes;
    if (__builtin_mul_overflow(count, bytes_each, &bytes) || bytes > SIZE_MAX - 15)
        return NULL;
    bytes = bytes == 0 ? 16 : (bytes + 15) & ~(size_t)15;
    if (bytes >= REGION_LARGE_BYTES) { /* a block of its own, put behind the newest so that its rest stays in use */
        struct region_block *block = make_block(bytes);
        if (!block)
            return NULL;
        struct region_block **place = region->blocks ? &region->blocks->next : &region->blocks;
        block->next = *place;
        *place = block;
        return block + 1;
    }
    if (bytes > region->left_bytes) {
        struct region_block *block = make_block(REGION_BLOCK_BYTES);
        if (!block)
            return NULL;
        block->next = region->blocks;
        region->blocks = block;
        region->left_bytes = REGION_BLOCK_BYTES;
    }
    unsigned char *end = (unsigned char *)(region->blocks + 1) + region->blocks->bytes;
    void *piece = end - region->left_bytes;
    region->left_bytes -= bytes;
    return piece;
}

char *region_copy_text(struct region *region, const void *bytes, size_t size) {
    char *text = size < SIZE_MAX ? region_take(region, size + 1, 1) : NULL;
    if (text && size > 0)
        memcpy(text, bytes, size);
    return text;
}

bool region_holds(const struct region *region, const void *piece) {
    uintptr_t at = (uintptr_t)piece;
    for (const struct region_block *block = region->blocks; block; block = block->next) {
        uintptr_t start = (uintptr_t)(block + 1);
        if (at >= start && at - start < block->bytes)
            return true;
    }
    return false;
}

void region_release(struct region *region) {
    while (region->blocks) {
        struct region_block *next = region->blocks->next;
        free(region->blocks);
        region->blocks = next;
    }
    region->left_bytes = 0;
}
