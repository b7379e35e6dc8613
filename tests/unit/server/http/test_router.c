#include <criterion/criterion.h>
#include <string.h>

#include "server/http/router.h"

static const struct handler handler_a, handler_b;

static struct router router;

static void setup(void) {
    memset(&router, 0, sizeof router);
    router_add(&router, &(struct router_entry){.path = "/predict", .handler = &handler_a, .sets = ROUTE_SET_DATA});
    router_add(&router, &(struct router_entry){.path = "/health", .handler = &handler_b, .sets = ROUTE_SET_OPS});
    router_add(&router,
               &(struct router_entry){.path = "/", .handler = &handler_b, .sets = ROUTE_SET_DATA | ROUTE_SET_OPS});
}

TestSuite(router, .init = setup);

static struct router_match match;

static enum router_verdict find(const char *target, unsigned sets, const struct router_entry **entry) {
    enum router_verdict verdict = router_find(&router, sets, target, strlen(target), &match);
    *entry = match.entry;
    return verdict;
}

Test(router, targets_lead_where_they_should) {
    static const struct {
        const char *target;
        enum router_verdict verdict;
        const char *path;
    } rows[] = {
        {"/predict", ROUTER_FOUND, "/predict"},
        {"/predict?x=1&y=/health", ROUTER_FOUND, "/predict"},
        {"/%70redict", ROUTER_FOUND, "/predict"},
        {"/%70%72edic%74", ROUTER_FOUND, "/predict"},
        {"http://h/predict", ROUTER_FOUND, "/predict"},
        {"HTTP://h:80/predict?q", ROUTER_FOUND, "/predict"},
        {"http://h", ROUTER_FOUND, "/"},
        {"http://h?x", ROUTER_FOUND, "/"},
        {"/", ROUTER_FOUND, "/"},
        {"/predict/", ROUTER_NOT_FOUND, NULL},
        {"//predict", ROUTER_NOT_FOUND, NULL},
        {"/x/../predict", ROUTER_NOT_FOUND, NULL},
        {"/./predict", ROUTER_NOT_FOUND, NULL},
        {"/predict%2F", ROUTER_NOT_FOUND, NULL},
        {"%2Fpredict", ROUTER_NOT_FOUND, NULL},
        {"/%2570redict", ROUTER_NOT_FOUND, NULL},
        {"/Predict", ROUTER_NOT_FOUND, NULL},
        {"*", ROUTER_NOT_FOUND, NULL},
        {"/predict%00", ROUTER_BAD_TARGET, NULL},
        {"/predict%zz", ROUTER_BAD_TARGET, NULL},
        {"/predict%7", ROUTER_BAD_TARGET, NULL},
        {"/predict%", ROUTER_BAD_TARGET, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct router_entry *entry = NULL;
        cr_assert_eq(find(rows[i].target, ROUTE_SET_DATA | ROUTE_SET_OPS, &entry), rows[i].verdict, "%s",
                     rows[i].target);
        if (rows[i].path)
            cr_assert_str_eq(entry->path, rows[i].path);
    }
}

Test(router, a_listener_serves_only_its_own_routes) {
    const struct router_entry *entry;
    cr_assert_eq(find("/health", ROUTE_SET_DATA, &entry), ROUTER_NOT_FOUND);
    cr_assert_eq(find("/predict", ROUTE_SET_OPS, &entry), ROUTER_NOT_FOUND);
    cr_assert_eq(find("/", ROUTE_SET_OPS, &entry), ROUTER_FOUND);
}

Test(router, names_in_a_path_are_captured) {
    static const struct {
        const char *target, *model, *version;
    } rows[] = {
        {"/models/digits/predict", "digits", ""},
        {"/models/di%67its/predict?x", "digits", ""},
        {"/models/a/versions/7/load", "a", "7"},
        {"/v1/models/a:predict", "a", ""},
        {"/v1/models/a%3Apredict", "a", ""},
        {"/models//predict", NULL, NULL},
        {"/models/a%2Fb/predict", NULL, NULL},
        {"/models/a/b/predict", NULL, NULL},
        {"/models/a/versions//load", NULL, NULL},
        {"/models/a/versions/7/load/", NULL, NULL},
        {"/models/a", NULL, NULL},
        {"/v1/models/:predict", NULL, NULL},
        {"/models/a:b/predict", NULL, NULL},
        {"/v1/models/a:predic", NULL, NULL},
        {"/models/a23456789012345678901234567890123456789012345678901234567890123456789012/predict", NULL, NULL},
    };
    static const char *const paths[] = {"/models/{model}/predict", "/models/{model}/versions/{version}/load",
                                        "/v1/models/{model}:predict"};
    for (int i = 0; i < 3; i++)
        router_add(&router, &(struct router_entry){.path = paths[i], .handler = &handler_a, .sets = ROUTE_SET_DATA});
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct router_entry *entry;
        memset(&match, 0, sizeof match);
        cr_assert_eq(find(rows[i].target, ROUTE_SET_DATA, &entry), rows[i].model ? ROUTER_FOUND : ROUTER_NOT_FOUND,
                     "%s", rows[i].target);
        if (rows[i].model) {
            cr_assert_str_eq(match.captures[0], rows[i].model);
            cr_assert_str_eq(match.captures[1], rows[i].version);
        }
    }
}

Test(router, a_very_long_path_is_not_found) {
    char target[4000];
    memset(target, 'a', sizeof target);
    memcpy(target, "/predict", 8);
    cr_assert_eq(router_find(&router, ROUTE_SET_DATA, target, sizeof target, &match), ROUTER_NOT_FOUND);
}
