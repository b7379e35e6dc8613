"""deploy/prometheus: the rules and the dashboard against promtool, against a live /metrics, and in a real Prometheus."""

import json
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import reference
from harness import ALL, ROOT, Metrics, Server, eventually, tool
from test_batching_cases import ask_wide

FOLDER = ROOT / "deploy" / "prometheus"
RULES = FOLDER / "weir.rules.yml"
METRIC = re.compile(r"\b((?:weir|process)_[a-z0-9_]+)\b")


def promtool(*arguments, text=None):
    result = subprocess.run(["promtool", *map(str, arguments)], input=text, capture_output=True, text=True, timeout=60, check=False)
    if result.returncode != 0:
        raise AssertionError("promtool %s: %s%s" % (arguments, result.stdout, result.stderr))
    return result.stdout


def alert_names():
    return re.findall(r"(?m)^ +- alert: (\w+)$", RULES.read_text())


def dashboard_queries():
    """(panel or variable, query) of all of the dashboard, with Grafana's variables filled in."""
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    found = [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel.get("targets", [])]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            match = re.fullmatch(r"label_values\((.*), \w+\)", variable["definition"])
            found.append((variable["name"], match.group(1)))
    for name, value in {"$__rate_interval": "5m", "$job": "weir", "$instance": ".*"}.items():
        found = [(title, query.replace(name, value)) for title, query in found]
    return found


def names_in(query):
    """The metrics that a query names, without what stands in quotes, and without labels of the same form."""
    return set(METRIC.findall(re.sub(r'"[^"]*"', "", query)))


class Papers(unittest.TestCase):
    @tool("promtool")
    def test_the_rules_are_well_formed_and_do_as_their_tests_say(self):
        promtool("check", "config", FOLDER / "prometheus.yml")
        self.assertIn("SUCCESS", promtool("test", "rules", FOLDER / "weir.test.yml"))

    def test_each_alert_has_a_test_in_which_it_fires_and_one_in_which_it_does_not(self):
        text = (FOLDER / "weir.test.yml").read_text()
        names = alert_names()
        self.assertGreater(len(names), 20)
        for name in names:
            self.assertIn("alertname: %s, exp_alerts: []" % name, text)
            self.assertRegex(text, r"alertname: %s\n +exp_alerts:\n +- exp_labels" % name)

    @tool("promtool")
    def test_each_query_of_the_dashboard_parses(self):
        rules = {"groups": [{"name": "dashboard", "rules": [
            {"record": "query:%d" % number, "expr": query} for number, (_, query) in enumerate(dashboard_queries())]}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
            json.dump(rules, file)  # JSON is YAML
            file.flush()
            promtool("check", "rules", file.name)

    def test_the_panels_of_the_dashboard_have_room(self):
        taken = set()
        for panel in json.loads((FOLDER / "dashboard.json").read_text())["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells

    def test_rules_and_dashboard_name_metrics_that_there_are(self):
        gpu = set(re.findall(r'"(weir_gpu_\w+)"', (ROOT / "server" / "observe" / "gpu_metrics.c").read_text()))
        gpu |= set(re.findall(r'"(weir_gpu_\w+)\{', (ROOT / "server" / "observe" / "gpu_metrics.c").read_text()))
        with Server(reference.demo()) as server:
            self.assertEqual(server.predict([[1, 2, 3, 4]]).status, 200)
            page = server.request("GET", "/metrics").body.decode()
        live = set(re.findall(r"(?m)^# TYPE (\S+)", page)) | {name for name, _ in Metrics.parse(page)} | gpu
        queries = [("a rule", line) for line in re.findall(r"(?m)^ +(?:expr:)?(.*(?:weir|process)_.*)$", re.sub(r"(?m)^\s*(#|annotations:|- record:|- alert:).*$", "", RULES.read_text()))]
        self.assertGreater(len(queries), 30)
        for title, query in queries + dashboard_queries():
            for name in names_in(query):
                self.assertIn(name, live, "%s: %s" % (title, query))


def shortened(text):
    """Rules in which minutes are seconds, so that a test need not wait for them."""
    text = re.sub(r"\[\d+[mh]\]", "[10s]", text)
    return re.sub(r"for: \d+m", "for: 1s", text)


@unittest.skipUnless(ALL, "a Prometheus of its own: only with ./dev test all")
class Live(unittest.TestCase):
    @tool("prometheus")
    def test_planted_faults_fire_their_alerts_in_a_real_prometheus(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            models = folder / "wide"
            shutil.copytree(reference.wide(), models)
            config = "max_concurrency: %s\ntimeout_ms: 60000\nqueue_delay_target_ms: 60000\n"
            with Server(models, config=config % "1", batch_size=256) as server:
                self.watch(folder, server, models, config)

    def watch(self, folder, server, models, config):
        (folder / "weir.rules.yml").write_text(shortened(RULES.read_text()))
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [weir.rules.yml]\nscrape_configs:\n"
            "  - job_name: weir\n    static_configs: [{targets: ['%s:%d']}]\n" % (server.host, server.port)
        )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with open(folder / "log", "wb") as log:
            prometheus = subprocess.Popen(
                ["prometheus", "--config.file=%s" % (folder / "prometheus.yml"), "--storage.tsdb.path=%s" % (folder / "data"),
                 "--web.listen-address=127.0.0.1:%d" % port],
                stdout=log, stderr=log,
            )
        self.base = "http://127.0.0.1:%d/api/v1/" % port
        try:
            self.check(server, models, config)
        except BaseException:
            print((folder / "log").read_text()[-3000:])
            raise
        finally:
            prometheus.terminate()
            prometheus.wait()

    def ask(self, path):
        try:
            with urllib.request.urlopen(self.base + path, timeout=10) as answer:
                return json.loads(answer.read())["data"]
        except OSError:
            return None

    def firing(self):
        alerts = self.ask("alerts")
        return {alert["labels"]["alertname"] for alert in alerts["alerts"] if alert["state"] == "firing"} if alerts else set()

    def await_alert(self, name):
        eventually(lambda: name in self.firing(), 90, "the alert " + name)

    def check(self, server, models, config):
        def is_scraped():
            data = self.ask("targets")
            return data and [target["health"] for target in data["activeTargets"]] == ["up"]

        eventually(is_scraped, 60, "a target that is up")
        ready = eventually(lambda: (self.ask("query?query=weir_ready") or {}).get("result"), 30, "weir_ready in Prometheus")
        self.assertEqual(ready[0]["value"][1], "1")
        # device: auto on a machine without a GPU is on the CPU; before its first look Prometheus knows no weir.
        eventually(lambda: self.firing() <= {"WeirOnCpu"}, 60, "no other alert")

        # 1. A version that does not load.
        (models / "99").mkdir()
        (models / "99" / "model.onnx").write_bytes(b"no model")
        self.await_alert("WeirModelNotLoaded")

        # 2. A configuration that is refused.
        with open(server.config_path, "w", encoding="utf-8") as file:
            file.write(config % "many")
        server.send_signal(signal.SIGHUP)
        self.await_alert("WeirReloadRefused")

        # 3. More load than one slot takes.
        stop = threading.Event()

        def load():
            while not stop.is_set():
                ask_wide(server, 64)

        clients = [threading.Thread(target=load, daemon=True) for _ in range(3)]
        for client in clients:
            client.start()
        try:
            self.await_alert("WeirShedding")
        finally:
            stop.set()
            for client in clients:
                client.join()

        # 4. It is gone. Until then nothing worse was said than what was planted.
        self.assertFalse(self.firing() & {"WeirAbsent", "WeirDown", "WeirNotReady", "WeirRestarting", "WeirErrors", "WeirDeviceFaulty"})
        server.stop()
        self.await_alert("WeirDown")


if __name__ == "__main__":
    unittest.main()
