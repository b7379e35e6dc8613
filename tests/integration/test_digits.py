"""The example model as served against its offline evaluation."""

import numpy

from harness import ROOT, ServerCase

MODEL = ROOT / "models" / "digits"


class Digits(ServerCase):
    @classmethod
    def model(cls):
        return MODEL

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        table = numpy.loadtxt(MODEL / "heldout.csv", delimiter=",")
        cls.pixels, cls.labels = table[:, :64].astype(numpy.float32), table[:, 64].astype(int)
        cls.offline = numpy.load(MODEL / "heldout.probabilities.npy")

    def check(self, served):
        self.assertEqual(served.shape, (len(self.labels), 10))
        numpy.testing.assert_allclose(served, self.offline, rtol=0, atol=1e-5)
        right = int((served.argmax(axis=1) == self.labels).sum())
        self.assertEqual(right, int((self.offline.argmax(axis=1) == self.labels).sum()))
        self.assertGreaterEqual(right / len(self.labels), 0.97)

    def test_all_held_out_images_in_one_json_request(self):
        answer = self.server.predict(self.pixels.tolist())
        self.assertEqual(answer.status, 200)
        self.check(numpy.array(answer.predictions))

    def test_all_held_out_images_one_by_one(self):
        served = []
        with self.server.client() as client:
            for row in self.pixels:
                served.append(client.predict([row.astype(int).tolist()]).predictions[0])
        self.check(numpy.array(served))

    def test_all_held_out_images_as_raw_float32(self):
        answer = self.server.request(
            "POST", "/predict", self.pixels.astype("<f4").tobytes(), content_type="application/octet-stream"
        )
        self.assertEqual(answer.status, 200)
        self.check(numpy.frombuffer(answer.body, "<f4").reshape(-1, 10))

    def test_the_known_samples(self):
        samples = MODEL / "v1" / "samples"
        rows = numpy.load(samples / "input.pixels.npy")
        expected = numpy.load(samples / "output.probabilities.npy")
        served = numpy.array(self.server.predict(rows.tolist()).predictions)
        numpy.testing.assert_allclose(served, expected, rtol=0, atol=1e-5)

    def test_the_stated_accuracy_is_the_offline_accuracy(self):
        right = int((self.offline.argmax(axis=1) == self.labels).sum())
        text = (MODEL / "README.md").read_text(encoding="utf-8")
        self.assertIn("%d of the %d" % (right, len(self.labels)), text)
        self.assertIn("%.2f %%" % (100.0 * right / len(self.labels)), text)
