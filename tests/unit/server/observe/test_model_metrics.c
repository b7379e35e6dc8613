#include "server/observe/model_metrics.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct catalog_version_view versions[30];
static struct catalog_model_view view;

static const char *page(void) {
    static struct bytes out;
    out.size = 0;
    model_metrics_render(&view, 1, &out);
    bytes_append(&out, "", 1);
    return out.data;
}

static void setup(void) {
    for (int i = 0; i < 30; i++)
        versions[i] = (struct catalog_version_view){.number = (uint64_t)(30 - i), .state = CATALOG_STATE_FOUND};
    view = (struct catalog_model_view){.name = "digits", .phase = "none", .kind = "", .versions = versions};
    view.version_count = 30;
}

TestSuite(model_metrics, .init = setup);

static bool has(const char *line) {
    return strstr(page(), line) != NULL;
}

Test(model_metrics, what_serves_and_what_failed_is_told) {
    versions[0].state = CATALOG_STATE_FAILED;
    versions[1].state = CATALOG_STATE_SERVING;
    view.stable = 29;
    view.loads = 3;
    view.load_failures = 1;
    cr_assert(has("\nweir_model_info{model=\"digits\",version=\"29\"} 1\n"));
    cr_assert(has("\nweir_model_version_state{model=\"digits\",version=\"30\",state=\"failed\"} 1\n"));
    cr_assert(has("\nweir_model_version_state{model=\"digits\",version=\"29\",state=\"serving\"} 1\n"));
    cr_assert_not(has("version=\"28\""));
    cr_assert(has("\nweir_model_loads_total{model=\"digits\"} 3\n"));
    cr_assert(has("\nweir_model_load_failures_total{model=\"digits\"} 1\n"));
    cr_assert_not(has("weir_rollout_weight_ratio{"));
}

Test(model_metrics, the_series_of_versions_are_bounded) {
    int count = 0;
    for (int i = 0; i < 30; i++)
        versions[i].state = CATALOG_STATE_READY;
    for (const char *at = page(); (at = strstr(at, "state=\"ready\"")); at++)
        count++;
    cr_assert_eq(count, MODEL_METRICS_VERSIONS);
}

Test(model_metrics, a_rollout_has_figures) {
    view.stable = 1;
    view.candidate = 2;
    view.phase = "paused";
    view.weight_ppm = 50000;
    view.outcomes[CATALOG_CANDIDATE] = (struct catalog_outcomes_view){.requests = 200, .errors = 3, .p99_ms = 2.5};
    view.comparison.requests = 150;
    view.comparison.max_relative = 0.001;
    view.comparison.agreement = 0.99;
    cr_assert(has("\nweir_rollout_weight_ratio{model=\"digits\",version=\"2\"} 0.05\n"));
    cr_assert(has("\nweir_rollout_paused{model=\"digits\",version=\"2\"} 1\n"));
    cr_assert(has("\nweir_rollout_requests{model=\"digits\",version=\"2\",role=\"candidate\"} 200\n"));
    cr_assert(has("\nweir_rollout_errors{model=\"digits\",version=\"2\",role=\"candidate\"} 3\n"));
    cr_assert(has("\nweir_rollout_p99_seconds{model=\"digits\",version=\"2\",role=\"candidate\"} 0.0025\n"));
    cr_assert(has("\nweir_rollout_compared_requests{model=\"digits\",version=\"2\"} 150\n"));
    cr_assert(has("\nweir_rollout_drift_ratio{model=\"digits\",version=\"2\"} 0.001\n"));
    cr_assert(has("\nweir_rollout_agreement_ratio{model=\"digits\",version=\"2\"} 0.99\n"));
}
