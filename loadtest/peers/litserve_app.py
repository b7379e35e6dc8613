"""LitServe: FastAPI in one process, a batching worker in another. usage: litserve_app.py PORT"""

import sys

import litserve
from common import BATCH_SIZE, DEADLINE_MS, Model, use_core


class Predict(litserve.LitAPI):
    def setup(self, device):
        use_core("COMPUTE_CORE")
        self.model = Model()

    def decode_request(self, request):
        return request

    def batch(self, inputs):
        return inputs

    def predict(self, inputs):
        return self.model.predict(inputs)

    def unbatch(self, outputs):
        return outputs

    def encode_response(self, output):
        return output


if __name__ == "__main__":
    use_core("OTHER_CORE")
    api = Predict(max_batch_size=BATCH_SIZE, batch_timeout=0.001)
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1, timeout=DEADLINE_MS / 1000)
    server.run(host="127.0.0.1", port=int(sys.argv[1]), log_level="error", generate_client_file=False)
