#include "server/observe/gpu_metrics.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/fakes/promtool.h"

static struct telemetry_reading gpus[2];
static struct bytes out;

static const char *render(int count) {
    out.size = 0;
    gpu_metrics_render(gpus, count, &out);
    bytes_append(&out, "", 1);
    return out.data;
}

static int count_of(const char *page, const char *text) {
    int count = 0;
    for (const char *at = strstr(page, text); at; at = strstr(at + 1, text))
        count++;
    return count;
}

static void fill(void) {
    for (int i = 0; i < 2; i++) {
        telemetry_clear(&gpus[i], "");
        for (int v = 0; v < TELEMETRY_VALUES; v++)
            gpus[i].values[v] = v + 0.5;
        gpus[i].values[TELEMETRY_THROTTLE] = 0x24;
    }
    strcpy(gpus[0].name, "NVIDIA \"H200\"");
}

Test(gpu_metrics, without_gpus_there_is_nothing) {
    cr_assert_str_eq(render(0), "");
    bytes_release(&out);
}

Test(gpu_metrics, every_number_has_a_name_and_every_name_one_head) {
    fill();
    const char *page = render(2);
    cr_assert_not_null(strstr(page, "weir_gpu_info{device=\"0\",bus_id=\"\",name=\"NVIDIA \\\"H200\\\"\""), "%s", page);
    cr_assert_eq(count_of(page, "# TYPE weir_gpu_ecc_errors_total counter\n"), 1);
    cr_assert_not_null(strstr(page, "weir_gpu_ecc_errors_total{device=\"1\",kind=\"uncorrected\"} 11.5\n"), "%s", page);
    cr_assert_not_null(strstr(page, "weir_gpu_power_watts{device=\"0\"} 5.5\n"), "%s", page);
    cr_assert_not_null(strstr(page, "weir_gpu_throttled{device=\"0\",reason=\"power_cap\"} 1\n"), "%s", page);
    cr_assert_not_null(strstr(page, "weir_gpu_throttled{device=\"0\",reason=\"idle\"} 0\n"), "%s", page);
    cr_assert_eq(count_of(page, "# TYPE "), 14); /* 13 numbers (two of one name), info and lost */
    cr_assert_eq(count_of(page, "# HELP "), 14);
    bytes_release(&out);
}

Test(gpu_metrics, what_is_not_known_is_absent) {
    fill();
    for (int v = 0; v < TELEMETRY_VALUES; v++)
        gpus[1].values[v] = NAN;
    gpus[1].lost = true;
    gpus[0].values[TELEMETRY_POWER] = gpus[0].values[TELEMETRY_ECC_CORRECTED] = NAN;
    const char *page = render(2);
    cr_assert_eq(count_of(page, "weir_gpu_power_watts"), 0);
    cr_assert_eq(count_of(page, "# TYPE weir_gpu_ecc_errors_total"), 1);
    cr_assert_eq(count_of(page, "weir_gpu_ecc_errors_total{"), 1);
    cr_assert_eq(count_of(page, "{device=\"1\""), 2, "of the lost one: info and lost");
    cr_assert_not_null(strstr(page, "weir_gpu_lost{device=\"1\"} 1\n"));
    cr_assert_eq(count_of(page, "nan"), 0);
    bytes_release(&out);
}

Test(gpu_metrics, promtool_finds_nothing_to_say) {
    if (!promtool_is_there())
        cr_skip("promtool is missing");
    fill();
    cr_assert(promtool_agrees(render(2)));
    bytes_release(&out);
}
