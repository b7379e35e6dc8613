"""mosec: a Rust front end that batches, and a Python process that computes. usage: mosec_app.py --port N --timeout MS"""

from common import BATCH_SIZE, Model, use_core
from mosec import Server, Worker


class Predict(Worker):
    def __init__(self):
        use_core("COMPUTE_CORE")
        self.model = Model()

    def forward(self, data):
        return self.model.predict(data)


if __name__ == "__main__":
    use_core("OTHER_CORE")
    server = Server()
    server.append_worker(Predict, num=1, max_batch_size=BATCH_SIZE, max_wait_time=1, route="/predict")
    server.run()
