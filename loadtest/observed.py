"""What watches a server that is measured: a collector that takes its traces and a scraper of its metrics."""

import http.client
import http.server
import threading


class Collector:
    """Takes traces, and does nothing with them. Its threads run where this script does."""

    def __init__(self):
        outer = self
        self.bytes = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *unused):
                pass

            def do_POST(self):
                outer.bytes += len(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

        self.service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.service.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.service.server_address[1]
        threading.Thread(target=self.service.serve_forever, daemon=True).start()

    def stop(self):
        self.service.shutdown()
        self.service.server_close()


class Scraper:
    """Asks for the metrics once a second, between `with` and its end."""

    def __init__(self, address):
        self.address, self.over, self.count = address, threading.Event(), 0

    def __enter__(self):
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.over.set()
        self.thread.join()

    def run(self):
        connection = http.client.HTTPConnection(self.address, timeout=10)
        while True:
            connection.request("GET", "/metrics")
            connection.getresponse().read()
            self.count += 1
            if self.over.wait(1):
                return
