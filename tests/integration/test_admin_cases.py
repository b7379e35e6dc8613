"""The operators' interface: what it takes, what it refuses, and what is left of it after a kill."""

import json
import os
import random
import signal
import socket
import threading
import time
import unittest

import versions
from harness import Client, Closed, Server, eventually, run_at_once
from versions import Models, Traffic

ORDERS = ("versions/2/load", "versions/2/unload", "versions/2/verify", "versions/2/promote", "rollout", "rollout/promote",
          "rollout/pause", "rollout/resume", "rollout/rollback")
KILLS = 50 if os.environ.get("WEIR_TEST_ALL") else 8


class Admin(unittest.TestCase):
    def setUp(self):
        self.models = Models()
        self.addCleanup(self.models.__exit__)
        self.server = self.models.serve()
        self.addCleanup(self.server.kill)
        self.models.publish(2, samples="right")
        self.server.until(2, "ready")

    def tearDown(self):
        self.server.stop()

    def refuse(self, status, path, body, *words, method="POST", **options):
        answer = self.server.admin(method, path, body, **options)
        self.assertEqual(answer.status, status, (path, body, answer))
        for word in words:
            self.assertIn(word, answer.error, (path, body))

    def test_it_answers_on_its_own_listener_alone(self):
        server = self.server
        for method, path in [("GET", "/admin/models"), ("GET", "/admin"), ("POST", "/admin/scan"), ("GET", "/admin/models/demo")] + [
            ("POST", "/admin/models/demo/" + order) for order in ORDERS
        ]:
            self.assertEqual(server.request(method, path).status, 404, path)
        with Client("127.0.0.1", server.admin_port) as client:
            self.assertEqual(client.predict([[0, 0, 0, 0]]).status, 404)
        with Client("127.0.0.1", server.admin_port) as client:
            for path in ("/metrics", "/health"):
                self.assertEqual(client.request("GET", path).status, 404, path)
        for host in ("0.0.0.0:0", "192.0.2.1:80", "[::]:0", "127.0.0.1", "127.0.0.1:x", ":1"):
            with Server(self.models.path, admin_listen=host, wait=None) as other:
                other.expected_exit = other.wait_exit(10)
                self.assertEqual(other.expected_exit, 2, host)
                self.assertIn("admin-listen", other.log())

    def test_what_is_asked_for_twice_is_done_once(self):
        order = self.server.order
        for _ in range(2):
            self.assertIn("samples agree", order("versions/2/load")["result"])
        for _ in range(2):
            order("versions/2/verify")
        plan = {"version": 2, "steps": "5% for 1h, 100%"}
        order("rollout", plan)
        self.assertIn("already", order("rollout", plan)["result"])
        for action, phase in (("pause", "paused"), ("pause", "paused"), ("resume", "running"), ("resume", "running")):
            order("rollout/" + action)
            self.assertEqual(self.server.view()["rollout"]["phase"], phase)
        for _ in range(2):
            order("rollout/rollback")
        order("rollout", plan)
        order("rollout/promote")
        for _ in range(2):
            self.assertIn("already", order("versions/2/promote")["result"])
        order("versions/1/unload")
        self.assertIn("not loaded", order("versions/1/unload")["result"])
        self.assertEqual(self.server.predict([[0, 0, 0, 0]]).predictions, [[0, 0, 2.5]])
        for action in ("load", "verify", "start", "pause", "resume", "rollback", "promote", "unload"):
            line = self.server.audit(action)[0]
            for word in ("actor=\"admin 127.0.0.1:", "model=demo", "version=", "outcome="):
                self.assertIn(word, line)
        for action, count in (("load", 1), ("start", 1), ("pause", 1), ("resume", 1), ("rollback", 1), ("promote", 2), ("unload", 1)):
            lines = self.server.audit(action)
            self.assertNotIn("nothing changed", lines[0])
            self.assertEqual(len([line for line in lines if "nothing changed: " in line]), count, lines)

    def test_what_the_state_does_not_allow_is_a_conflict(self):
        order = self.server.order
        for path in ("rollout/promote", "rollout/pause", "rollout/resume", "rollout/rollback"):
            self.refuse(409, "/demo/" + path, b"", "no rollout")
        self.refuse(409, "/demo/versions/1/unload", b"", "version 1", "gets requests")
        self.refuse(400, "/demo/rollout", {"version": 1, "steps": "5%"}, "1")
        order("rollout", {"version": 2, "steps": "5%"})
        self.refuse(409, "/demo/rollout", {"version": 2, "steps": "10%"}, "version 2", "under way")
        self.refuse(409, "/demo/versions/2/unload", b"", "version 2", "gets requests")
        self.refuse(409, "/demo/versions/1/promote", b"", "version 2", "under way")
        order("versions/2/promote")  # the candidate: that ends the rollout
        self.assertEqual((self.server.view()["stable"], self.server.view()["rollout"]), (2, None))

    def test_what_is_not_there_is_404(self):
        for path in ("/demos", "/Demo", "/demo/versions", "/demo/versions/2", "/demo/versions/2/explode", "/demo/rollouts", "/demo/"):
            self.assertEqual(self.server.admin("GET", path).status, 404, path)
        self.refuse(404, "/other/rollout", {"version": 2, "steps": "5%"}, "other")
        self.refuse(404, "/demo/versions/3/load", b"", "version 3")
        self.refuse(404, "/demo/versions/3/promote", b"", "version 3")
        self.refuse(404, "/demo/rollout", {"version": 3, "steps": "5%"}, "version 3")
        for path in ("", "/demo"):
            self.assertEqual(self.server.admin("POST", path).status, 405, path)
        for order in ORDERS:
            self.assertEqual(self.server.admin("GET", "/demo/" + order).status, 405, order)
        for number in ("0", "x", "-1", "1.5", "99999999999999999999", "2x"):
            answer = self.server.admin("POST", "/demo/versions/%s/load" % number)
            self.assertIn(answer.status, (400, 404), (number, answer))

    def test_hostile_bodies_are_refused_by_name_and_change_nothing(self):
        plan = {"version": 2, "steps": "5%"}
        for member, value in (
            ("version", 0), ("version", -1), ("version", 1.5), ("version", 1e300), ("version", "2x"), ("version", None),
            ("version", []), ("kind", "blue"), ("kind", 1), ("steps", 5), ("steps", ""), ("steps", "5"), ("steps", "5% for"),
            ("steps", "101%"), ("steps", "-5%"), ("steps", "0%"), ("steps", "50%, 5%"), ("steps", "5% for 1y"),
            ("steps", ", ".join(["5%"] * 17)), ("steps", "x" * 600), ("sticky_header", "a b"),
            ("sticky_header", "a" * 64), ("sticky_header", "x\r\nEvil: 1"), ("shadow_percent", 101), ("shadow_percent", -1),
            ("compare_percent", "all"), ("auto_promote", 1), ("may_shrink", "yes"), ("max_error_rate", -0.1),
            ("max_p99_ratio", "big"), ("reason", 7), ("reason", "x" * 1000), ("surprise", 1),
        ):
            answer = self.server.admin("POST", "/demo/rollout", {**plan, member: value})
            self.assertEqual(answer.status, 400, (member, value, answer))
            self.assertIn("step" if member == "steps" else member, answer.error, (member, value))
        for body in (
            b"", b"{", b"[]", b"null", b"7", b'"x"', b"\0", b"\xff", b'{"version":2,"version":2,"steps":"5%"}',
            b'{"version":2,"steps":"5%"} x', b"[" * 5000, b'{"a":' * 2000, b'{"version":2,"steps":"\\u0000"}',
            b'{"version":2,"steps":"5%","reason":"\\ud800"}', b'{"version":NaN}', b'{"version":2,"max_drift":1e999,"steps":"5%"}',
        ):
            answer = self.server.admin("POST", "/demo/rollout", body)
            self.assertEqual(answer.status, 400, (body[:60], answer))
            self.assertTrue(answer.error)
        self.assertEqual(self.server.admin("POST", "/demo/rollout", b" " * 20000).status, 413)
        with Client("127.0.0.1", self.server.admin_port) as client:
            client.send(client.head("POST", "/admin/models/demo/rollout", [("Transfer-Encoding", "chunked")]))
            try:
                client.send((b"1000\r\n" + b" " * 4096 + b"\r\n") * 8 + b"0\r\n\r\n")
            except OSError:
                pass
            self.assertEqual(client.answer().status, 413)
        self.assertIsNone(self.server.view()["rollout"])
        self.assertEqual(self.server.audit("start"), [line for line in self.server.audit("start") if 'outcome="ok"' not in line])

    def test_changes_at_one_time_are_serialised_or_refused(self):
        def ask(path, body=b""):
            return lambda: self.server.admin("POST", "/demo/" + path, body)

        for _ in range(5):
            asks = [ask("versions/%d/promote" % (i % 2 + 1)) for i in range(6)] + [ask("rollout", {"version": 2, "steps": "5%"})] * 2
            answers = run_at_once(asks)
            self.assertEqual({answer.status for answer in answers} - {200, 409, 400}, set(), answers)
            self.assertTrue(any(answer.status != 409 for answer in answers), answers)  # one of them was first
            for answer in answers:
                if answer.status == 409:
                    self.assertIn("under way", answer.error)
                    self.assertEqual(answer.json()["reason"], "conflict")
            ask("rollout/rollback")()
            self.assertIn(self.server.view()["stable"], (1, 2))

    def test_a_rollback_need_not_wait_for_a_load(self):
        self.server.order("rollout", {"version": 2, "steps": "50%"})
        self.models.publish(3, versions.deep(20, 3, 1024))
        loading = threading.Thread(target=self.server.admin, args=("POST", "/demo/versions/3/load"))
        loading.start()
        eventually(lambda: self.server.version(3).get("state") == "loading", 30, "the load")
        self.server.order("rollout/rollback")
        still = self.server.version(3)["state"]
        loading.join()
        self.assertIn(still, ("loading", "ready"))
        self.assertIsNone(self.server.view()["rollout"])

    def test_a_client_that_leaves_has_ordered_all_the_same(self):
        body = json.dumps({"version": 2, "steps": "5%"}).encode()
        for cut in (10, 40, None):
            client = Client("127.0.0.1", self.server.admin_port)
            message = client.message("POST", "/admin/models/demo/rollout", body)
            client.send(message[:cut] if cut else message)
            client.close()
        eventually(lambda: self.server.view()["rollout"], 30, "the rollout")
        client = Client("127.0.0.1", self.server.admin_port)
        client.send(client.message("POST", "/admin/models/demo/rollout/rollback"))
        client.socket.shutdown(socket.SHUT_WR)
        client.close()
        eventually(lambda: self.server.view()["rollout"] is None, 30, "the rollback")

    def test_the_end_of_the_server_answers_those_who_wait(self):
        self.models.publish(3, versions.deep(20, 3, 1024))
        answers = []

        def ask():
            try:
                answers.append(self.server.admin("POST", "/demo/versions/3/load").status)
            except (OSError, Closed):
                answers.append("closed")  # nobody waits for a load

        asking = threading.Thread(target=ask)
        asking.start()
        eventually(lambda: self.server.version(3).get("state") == "loading", 30, "the load")
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait_exit(20), 0)
        asking.join(10)
        self.assertIn(answers, (["closed"], [503], [200]))


class Kills(unittest.TestCase):
    """kill -9 at random moments of a rollout."""

    PLAN = {"steps": ", ".join("%d%% with 1 requests" % (5 * i) for i in range(1, 17)), "min_agreement": None,
            "max_p99_ratio": None, "max_compute_ratio": None, "max_error_rate": None}

    @staticmethod
    def state(view):
        rollout = view["rollout"]
        return view["stable"], rollout and (rollout["candidate"], rollout["phase"])

    def drive(self, server, seed, known):
        """Rolls versions 2 and 3 out and back until the server is gone. known: the states that may be found after that:
        the last one acknowledged, and the one that was being made."""
        chance = random.Random(seed)
        try:
            while True:
                stable, rollout = known[0]
                other = chance.choice([version for version in (1, 2, 3) if version != stable])
                path, body, then = "rollout", {"version": other, **self.PLAN}, (stable, (other, "running"))
                if rollout:
                    path, body, then = chance.choice([
                        ("rollout/pause", b"", (stable, (rollout[0], "paused"))),
                        ("rollout/resume", b"", (stable, (rollout[0], "running"))),
                        ("rollout/promote", b"", (rollout[0], None)),
                        ("rollout/rollback", b"", (stable, None)),
                    ])
                known[:] = [known[0], then]
                answer = server.admin("POST", "/demo/" + path, body)
                if answer.status != 200:
                    raise AssertionError((path, body, answer))
                known[:] = [then]
                self.weight = server.view()["rollout"]["weight_percent"] if then[1] else 0
        except (OSError, Closed):
            pass

    def test_after_a_kill_the_state_is_the_last_acknowledged_or_the_one_under_way(self):
        chance = random.Random(6)
        with Models() as models:
            for number in (2, 3):
                models.publish(number, samples="right")
            known, self.weight = [(3, None)], 0
            with models.serve() as server:
                server.order("versions/3/promote")
            for turn in range(KILLS):
                server = models.serve(version_policy="all")
                try:
                    found = eventually(lambda: self.settled(server, known), 30, "one of %s" % known)
                    self.assertEqual(server.predict([[0, 0, 0, 0]], headers=[("X-Weir-Version", "stable")]).predictions,
                                     [[0, 0, found[0] + 0.5]])
                    if found[1] and found == known[0]:
                        self.assertGreaterEqual(server.view()["rollout"]["weight_percent"], self.weight)
                    known = [found]
                    driver = threading.Thread(target=self.drive, args=(server, turn, known))
                    with Traffic(server, connections=1):
                        driver.start()
                        time.sleep(chance.uniform(0.0, 0.25))  # when it is killed is meant to be left to chance
                        server.process.kill()
                        driver.join(30)
                    self.assertFalse(driver.is_alive())
                finally:
                    server.kill()
                left = [name for name in os.listdir(models.state_dir) if name not in ("rollout.json", "rollout.lock")]
                self.assertLessEqual(len(left), 1, left)

    def settled(self, server, known):
        """The state once it is one that is known."""
        state = self.state(server.view())
        return state if state in known else None
