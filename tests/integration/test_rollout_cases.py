"""Candidates: what is wrong with them is found, and whose answers a request gets."""

import os
import time
import unittest

import reference
import versions
from harness import eventually
from versions import Models, Traffic, read_answers

MOST_SECONDS, MOST_REQUESTS = 5.0, 200


class BadCandidates(unittest.TestCase):
    def prove_rolled_back(self, candidate, *reasons, first=None, rows=None, **plan):
        """A bad candidate at 20 % is taken back soon, for a reason that is told; stable's answers stay right."""
        with Models(first) as models, models.serve() as server:
            models.publish(2, candidate)
            server.until(2, "ready")
            with Traffic(server, **({"rows": rows} if rows else {})) as traffic:
                traffic.wait(50)
                server.roll_out(2, "20% for 1h", **plan)
                began = time.monotonic()
                eventually(lambda: server.audit("rollback"), 30, "the rollback")
                took = time.monotonic() - began
                over = time.monotonic()
                traffic.wait(100)
            asked = len(traffic.of(2))
            self.assertEqual([answer for answer in traffic.of(2) if answer[3] > over], [])
            self.assertTrue(asked <= MOST_REQUESTS or took <= MOST_SECONDS, (asked, took))
            self.assertEqual(traffic.wrong(1), [])
            self.assertEqual(traffic.failures, [])
            view = server.view()
            self.assertEqual((view["stable"], view["candidate"], view["rollout"]), (1, None, None))
            self.assertTrue(server.version(2)["rejected"])
            for reason in reasons:
                self.assertIn(reason, view["last_rollout"])
                self.assertIn(reason, server.audit("rollback")[0])
            return asked, took

    def prove_never_ready(self, publish, state, *reasons):
        """A version that cannot serve: why is told, and not one request is lost or gets to it."""
        with Models() as models, models.serve(new_versions="serve") as server, Traffic(server) as traffic:
            publish(models)
            version = server.until(2, state)
            for reason in reasons:
                self.assertIn(reason, version["reason"])
            answer = server.admin("POST", "/demo/rollout", {"version": 2, "steps": "5%"})
            self.assertIn(answer.status, (400, 409, 503), answer)
            health = server.request("GET", "/health").body.decode()
            self.assertIn(reasons[0].replace('"', '\\"'), health)
            self.assertGreaterEqual(server.metrics().total("weir_model_load_failures_total", model="demo"), 1)
            self.assertIn(reasons[0].split('"')[0], server.log())
            traffic.wait(50)
            self.assertEqual(server.view()["stable"], 1)
        self.assertEqual((traffic.not_ok(), traffic.wrong(1), traffic.of(2)), ([], [], []))

    def test_other_decisions_are_taken_back(self):
        self.prove_rolled_back(versions.gemm([0, 0, 9, 9, 0, 0, 0, 9, 0, 1, 1, 1], (9, 0, -9)), "agreement")

    def test_wrong_weights_are_taken_back_where_drift_is_checked(self):
        self.prove_rolled_back(versions.gemm(bias=(0, 0, 1.501)), "drift", max_drift=1e-5)

    def test_nan_outputs_are_taken_back(self):
        self.prove_rolled_back(versions.gemm(bias=(0, float("nan"), 2.5)), "non-finite")

    def test_errors_of_some_inputs_are_taken_back(self):
        rows = [(1, 2, 3, 4)] * 10 + [(-1, 2, 3, 4)] + [(0, 0, 0, 0)] * 9
        self.prove_rolled_back(versions.roots(2), "non-finite", rows=rows)

    def test_errors_are_taken_back_where_nothing_is_compared(self):
        rows = [(1, 2, 3, 4)] * 10 + [(-1, 2, 3, 4)] + [(0, 0, 0, 0)] * 9
        self.prove_rolled_back(
            versions.roots(2), "errors", rows=rows, compare_percent=0, shadow_percent=0, max_non_finite=None
        )

    def test_a_slow_one_is_taken_back(self):
        self.prove_rolled_back(versions.deep(16, 2), "times stable's", first=versions.deep(4, 1))

    def test_one_as_good_as_stable_is_not_blamed_for_running_seldom(self):
        """Its code and weights are not in the caches, and it waits for stable's batches: neither is its fault."""
        for kind, steps in (("shadow", ""), ("canary", "20% for 1h")):
            with Models(versions.deep(2, 1, width=256)) as models, models.serve(timeout_ms=60000) as server:
                models.publish(2, versions.deep(2, 1, width=256))
                server.until(2, "ready")
                with Traffic(server, at_once=1) as traffic:
                    server.roll_out(2, steps, kind=kind, shadow_percent=20)
                    traffic.wait(3000, 60)
                    view = server.view()
                    self.assertIsNotNone(view["rollout"], view["last_rollout"])

    def test_other_outputs_cannot_be_rolled_out(self):
        with Models() as models, models.serve() as server:
            models.publish(2, versions.gemm([1] * 8, (0, 0), 2))
            server.until(2, "ready")
            answer = server.admin("POST", "/demo/rollout", {"version": 2, "steps": "5%"})
            self.assertEqual(answer.status, 400, answer)
            for word in ("output", '"y"', "[-1,2]", "[-1,3]"):
                self.assertIn(word, answer.error)
            self.assertIsNone(server.view()["rollout"])

    def test_a_truncated_file_is_never_ready(self):
        data = reference.demo_bytes(2)
        self.prove_never_ready(lambda models: models.publish(2, data[: len(data) // 2]), "failed", "model.onnx")

    def test_a_sealed_version_of_which_a_part_is_missing_is_incomplete(self):
        def publish(models):
            models.publish(2, samples="right", sealed=True)

        def half(models):
            models.publish("x2", reference.demo_bytes(2), sealed=True)
            data = reference.demo_bytes(2)
            reference.write(models.at("x2") + "/model.onnx", data[:-20])
            os.rename(models.at("x2"), models.at(2))

        self.prove_never_ready(half, "incomplete", "model.onnx has")
        with Models() as models, models.serve(new_versions="serve") as server:
            publish(models)
            server.until(2, "serving")

    def test_weights_that_the_samples_contradict_are_never_ready(self):
        def publish(models):
            half = models.folder + "/half"
            reference.write(half + "/model.onnx", reference.demo_bytes(7))
            versions.write_samples(half, 2)
            os.rename(half, models.at(2))

        self.prove_never_ready(publish, "failed", "sample 0", '"y"[2]', "got 12.5", "expected 7.5")

    def test_a_rollout_of_a_loaded_version_begins_with_its_samples(self):
        with Models() as models, models.serve() as server:
            models.publish(2, samples="right")
            server.until(2, "ready")
            versions.write_samples(models.at(2), 2, True)
            for plan in ({"steps": "5% for 1h"}, {"kind": "shadow", "shadow_percent": 50}):
                answer = server.admin("POST", "/demo/rollout", {"version": 2, **plan})
                self.assertEqual(answer.status, 400, (plan, answer))
                self.assertIn("sample", answer.error)
                self.assertIsNone(server.view()["rollout"])

    def test_wrong_samples_name_sample_output_index_and_numbers(self):
        self.prove_never_ready(
            lambda models: models.publish(2, samples="wrong"), "failed", "sample 3", '"y"[2]', "got", "expected", "allowed"
        )

    def test_nan_and_other_outputs_are_found_by_samples_too(self):
        def nan(models):
            models.publish("x2", versions.gemm(bias=(0, 0, float("nan"))))
            versions.write_samples(models.at("x2"), 2)
            os.rename(models.at("x2"), models.at(2))

        def narrow(models):
            models.publish("x2", versions.gemm([1] * 8, (0, 0), 2))
            versions.write_samples(models.at("x2"), 2)
            os.rename(models.at("x2"), models.at(2))

        self.prove_never_ready(nan, "failed", "sample 0", "nan")
        self.prove_never_ready(narrow, "failed", "output.y.npy")


class Weights(unittest.TestCase):
    REQUESTS = 20000

    def count(self, server, requests, message, at_once=100):
        """How many of the requests version 2 answered; all must be right."""
        seen = 0
        with server.client(seconds=60) as client:
            for _ in range(requests // at_once):
                client.send(message(client) * at_once)
                for status, version, body in read_answers(client, at_once):
                    self.assertEqual(status, 200, body)
                    seen += version == 2
        return seen

    def zeros(self, client, headers=()):
        return client.message("POST", "/predict", {"instances": [[0, 0, 0, 0]]}, headers=headers)

    def test_five_per_cent_are_five_per_cent_and_after_a_rollback_there_are_none(self):
        with Models() as models, models.serve() as server:
            models.publish(2)
            server.until(2, "ready")
            server.roll_out(2, "5% for 1h, 20% for 1h", min_agreement=None)
            share = self.count(server, self.REQUESTS, self.zeros) / self.REQUESTS
            self.assertAlmostEqual(share, 0.05, delta=0.005)
            self.assertEqual(server.metrics().total("weir_rollout_weight_ratio", model="demo"), 0.05)
            server.order("rollout/rollback")
            self.assertEqual(self.count(server, 2000, self.zeros), 0)
            server.roll_out(2, "20% for 1h", min_agreement=None)
            share = self.count(server, 4000, self.zeros) / 4000
            self.assertAlmostEqual(share, 0.2, delta=0.01)
            with Traffic(server) as traffic:
                traffic.wait(200)
                server.order("rollout/rollback", {"reason": "enough"})
                acknowledged = time.monotonic()
                traffic.wait(2000)
            self.assertEqual([answer for answer in traffic.of(2) if answer[3] > acknowledged], [])
            self.assertEqual(traffic.not_ok(), [])
            server.order("versions/2/promote")
            with Traffic(server) as traffic:
                traffic.wait(1000)
                server.order("versions/1/promote")
                acknowledged = time.monotonic()
                traffic.wait(1000)
            self.assertEqual([answer for answer in traffic.of(2) if answer[3] > acknowledged], [])
            self.assertGreater(len(traffic.of(2)), 900)
            self.assertEqual((traffic.not_ok(), traffic.wrong(1), traffic.wrong(2)), ([], [], []))

    def test_sticky_keys_never_go_back_while_the_weight_grows(self):
        with Models() as models, models.serve() as server:
            models.publish(2)
            server.until(2, "ready")
            steps = ", ".join("%d%% with 20 requests" % weight for weight in (5, 20, 50, 80, 100))
            server.roll_out(2, steps, sticky_header="X-User", min_agreement=None, max_p99_ratio=None, max_compute_ratio=None)
            at, shares = {}, []
            with server.client(seconds=60) as client:

                def ask_all():
                    keys = ["user-%d" % i for i in range(300)]
                    client.send(b"".join(self.zeros(client, [("x-user", key)]) for key in keys))
                    for key, (status, version, _) in zip(keys, read_answers(client, len(keys))):
                        self.assertEqual(status, 200)
                        self.assertFalse(at.get(key) == 2 and version == 1, key)
                        at[key] = version
                    shares.append(sum(version == 2 for version in at.values()) / len(at))
                    return shares[-1] == 1

                eventually(ask_all, 30, "all keys at the candidate")
            self.assertLess(shares[0], 0.25)

    def test_a_version_that_a_client_insists_on_answers(self):
        with Models() as models, models.serve(version_policy="all") as server:
            models.publish(2)
            models.publish(3)
            server.until(2, "ready")
            server.until(3, "ready")
            server.roll_out(2, "10% for 1h")

            def ask(version):
                return server.predict([[0, 0, 0, 0]], headers=[("X-Weir-Version", version)])

            for name, number in (("1", 1), ("2", 2), ("v2", 2), ("3", 3), ("stable", 1), ("canary", 2)):
                for _ in range(5):
                    answer = ask(name)
                    self.assertEqual(answer.headers["x-weir-version"], str(number), name)
                    self.assertEqual(answer.predictions, [[0, 0, number + 0.5]])
            for name in ("4", "", "x", "2x", "-1", "99999999999999999999", "2, 3", "v", "\xff", "0"):
                self.assertEqual(ask(name).status, 404, name)
            self.assertEqual(server.view()["rollout"]["seen_candidate"]["requests"], 0)  # forced ones are not counted
            server.order("rollout/rollback")
            self.assertEqual(ask("canary").status, 404)

    def test_answers_and_metrics_name_the_version(self):
        with Models() as models, models.serve() as server:
            models.publish(2)
            server.until(2, "ready")
            server.roll_out(2, "50% for 1h", min_agreement=None)
            counts = {1: 0, 2: 0}
            for _ in range(40):
                answer = server.predict([[0, 0, 0, 0]])
                self.assertEqual(answer.headers["x-weir-model"], "demo")
                self.assertEqual(answer.headers["x-weir-device"], "cpu")
                counts[int(answer.headers["x-weir-version"])] += 1
            page = server.metrics()
            for version, count in counts.items():
                self.assertGreater(count, 0)
                self.assertEqual(page.total("weir_requests_total", model="demo", version=version, route="/predict", code=200), count)
                self.assertEqual(page.total("weir_queue_delay_seconds_count", model="demo", version=version) > 0, True)
            self.assertEqual(page.total("weir_rollout_requests", model="demo"), 40)


class Steps(unittest.TestCase):
    def test_a_good_candidate_goes_up_the_steps_and_is_promoted_only_if_that_was_asked_for(self):
        for asked in (False, True):
            with self.subTest(auto_promote=asked), Models() as models, models.serve() as server:
                models.publish(2, samples="right")
                server.until(2, "ready")
                with Traffic(server, rows=[(1, 2, 3, 40)]) as traffic:
                    server.roll_out(2, "10% with 20 requests, 50% with 20 requests", auto_promote=asked,
                                    max_p99_ratio=None, max_compute_ratio=None, min_agreement=None)
                    if asked:
                        eventually(lambda: server.view()["stable"] == 2, 30, "the promotion")
                        self.assertIn("promoted", server.view()["last_rollout"])
                    else:
                        eventually(lambda: "waits to be promoted" in server.view()["rollout"]["waits_for"], 30)
                        server.order("rollout/promote")
                        self.assertEqual(server.view()["stable"], 2)
                    acknowledged = time.monotonic()
                    traffic.wait(200)
                self.assertEqual([a for a in traffic.of(1) if a[3] > acknowledged], [])
                self.assertEqual((traffic.not_ok(), traffic.wrong(1), traffic.wrong(2)), ([], [], []))
                self.assertGreaterEqual(len(server.audit("step")), 1)

    def test_no_traffic_is_no_success(self):
        with Models() as models, models.serve() as server:
            models.publish(2)
            server.until(2, "ready")
            server.roll_out(2, "10%, 100%", auto_promote=True)
            eventually(lambda: "waits for requests" in server.view()["rollout"]["waits_for"])
            self.assertEqual((server.view()["stable"], server.view()["rollout"]["step"]), (1, 1))

    def test_a_pause_holds_the_steps_and_the_checks_go_on(self):
        with Models() as models, models.serve() as server:
            models.publish(2, versions.gemm(bias=(0, 0, float("nan"))))
            server.until(2, "ready")
            server.roll_out(2, "10% with 1 requests, 100%")
            server.order("rollout/pause")
            self.assertEqual(server.view()["rollout"]["phase"], "paused")
            with Traffic(server) as traffic:
                eventually(lambda: server.audit("rollback"), 30, "the rollback")
            self.assertEqual(traffic.wrong(1), [])


class Shadows(unittest.TestCase):
    def compare(self, candidate, **plan):
        with Models() as models, models.serve() as server:
            models.publish(2, candidate)
            server.until(2, "ready")
            server.roll_out(2, "", kind="shadow", shadow_percent=20, **plan)
            with Traffic(server) as traffic:
                eventually(lambda: (server.view()["rollout"] or {}).get("comparison", {}).get("requests", 99) >= 20, 30)
            self.assertEqual((traffic.not_ok(), traffic.wrong(1), traffic.of(2)), ([], [], []))
            return server.view()

    def test_the_same_model_has_no_drift(self):
        seen = self.compare(reference.demo_bytes(1))["rollout"]["comparison"]
        self.assertEqual((seen["unequal"], seen["max_error"], seen["agreement"], seen["misfits"]), (0, 0, 1, 0))

    def test_a_small_drift_is_found(self):
        seen = self.compare(versions.gemm(bias=(0, 0, 1.501)))["rollout"]["comparison"]
        self.assertAlmostEqual(seen["max_error"], 1e-3, delta=1e-6)
        self.assertAlmostEqual(seen["mean_error"], 1e-3 / 3, delta=1e-6)

    def test_a_drift_over_the_limit_ends_the_shadow(self):
        view = self.compare(versions.gemm(bias=(0, 0, 1.501)), max_drift=1e-5)
        self.assertIsNone(view["rollout"])
        self.assertIn("drift", view["last_rollout"])
