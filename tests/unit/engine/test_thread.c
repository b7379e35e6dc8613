#include "engine/thread.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

static void *enter(void *name) {
    thread_enter(THREAD_DEVICE, 3);
    thread_prefer_short_waits();
    cr_assert(thread_is(THREAD_DEVICE));
    cr_assert_not(thread_is(THREAD_LOOP));
    pthread_getname_np(pthread_self(), name, 16);
    return NULL;
}

Test(thread, a_thread_has_a_name_and_a_role_of_its_own) {
    pthread_t thread;
    char name[16] = "";
    cr_assert_eq(pthread_create(&thread, NULL, enter, name), 0);
    pthread_join(thread, NULL);
    cr_assert_str_eq(name, "dev-3");
    cr_assert(thread_is(THREAD_OTHER), "the role of one thread is not another's");
}
