#include "engine/graph/pages.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Test(pages, whole_pages_within_the_range_go_and_the_rest_stays) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(memory != MAP_FAILED);
    memset(memory, 7, 4 * page);
    pages_let_go(memory + 1, 3 * page);
    cr_assert(memory[0] == 7 && memory[page - 1] == 7, "the page that the range only begins in stays");
    cr_assert(memory[page] == 0 && memory[3 * page - 1] == 0, "pages within are gone");
    cr_assert(memory[3 * page] == 7);
    munmap(memory, 4 * page);
}

Test(pages, a_range_within_one_page_changes_nothing) {
    unsigned char *memory = malloc(100);
    memset(memory, 7, 100);
    pages_let_go(memory, 100);
    for (int i = 0; i < 100; i++)
        cr_assert(memory[i] == 7);
    free(memory);
}
