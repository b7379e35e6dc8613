#!/usr/bin/python3
"""Trains the digits classifier and writes everything that lies beside this script. The seed is fixed; the last bits depend
on the BLAS library and the processor.

Needs numpy and scikit-learn (Debian: python3-numpy, python3-sklearn). The data is the test half of the UCI "Optical
Recognition of Handwritten Digits" set, which scikit-learn ships: 1,797 images of 8 x 8 pixels from 0 to 16.
"""

import hashlib
import pathlib
import sys
import warnings

import numpy
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "integration"))
import onnx_writer as onnx  # noqa: E402

SEED = 7
HELD_OUT_SHARE = 0.25
SAMPLES = 16


def train(pixels, labels):
    """Returns [(weights, bias)...] in float32 for raw pixels: the scaling by 1/16 is inside the first layer."""
    classifier = MLPClassifier(
        hidden_layer_sizes=(128, 64), alpha=1e-3, learning_rate_init=2e-3, batch_size=64, max_iter=150, tol=0,
        n_iter_no_change=1000, random_state=SEED,
    )
    warnings.filterwarnings("ignore", message="Stochastic Optimizer")  # it stops after max_iter, as asked
    classifier.fit(pixels / 16.0, labels)
    layers = [(w.copy(), b.copy()) for w, b in zip(classifier.coefs_, classifier.intercepts_)]
    layers[0] = (layers[0][0] / 16.0, layers[0][1])
    return [(w.astype(numpy.float32), b.astype(numpy.float32)) for w, b in layers]


def evaluate(layers, pixels):
    """The offline evaluation: float64 arithmetic on the float32 weights."""
    hidden = pixels.astype(numpy.float64)
    for index, (weights, bias) in enumerate(layers):
        hidden = hidden @ weights.astype(numpy.float64) + bias.astype(numpy.float64)
        if index + 1 < len(layers):
            hidden = numpy.maximum(hidden, 0.0)
    powers = numpy.exp(hidden - hidden.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def encode(layers):
    nodes, tensors, name = [], [], "pixels"
    for index, (weights, bias) in enumerate(layers, start=1):
        last = index == len(layers)
        sums = "logits" if last else "sums%d" % index
        nodes.append(onnx.node("Gemm", [name, "w%d" % index, "b%d" % index], [sums], "dense%d" % index))
        tensors.append(onnx.tensor("w%d" % index, weights.shape, weights.astype("<f4").tobytes()))
        tensors.append(onnx.tensor("b%d" % index, bias.shape, bias.astype("<f4").tobytes()))
        if last:
            nodes.append(onnx.node("Softmax", [sums], ["probabilities"], "softmax", axis=1))
        else:
            name = "hidden%d" % index
            nodes.append(onnx.node("Relu", [sums], [name], "relu%d" % index))
    return onnx.model(nodes, tensors, [onnx.value("pixels", ["N", 64])], [onnx.value("probabilities", ["N", 10])])


def seal(version):
    """Writes manifest.sha256 (engine/model/manifest.h) of the version's files but READMEs and hidden ones."""
    files = {}
    for path in version.rglob("*"):
        if path.is_file() and not path.name.startswith(("README", ".")) and path.name != "manifest.sha256":
            files[path.relative_to(version).as_posix()] = path.read_bytes()
    lines = ["# weir manifest 1"]
    lines += ["# size %d %s" % (len(files[name]), name) for name in sorted(files)]
    lines += ["%s  %s" % (hashlib.sha256(files[name]).hexdigest(), name) for name in sorted(files)]
    (version / "manifest.sha256").write_text("\n".join(lines) + "\n", encoding="ascii")


def main():
    digits = load_digits()
    train_pixels, held_pixels, train_labels, held_labels = train_test_split(
        digits.data, digits.target, test_size=HELD_OUT_SHARE, random_state=SEED, stratify=digits.target
    )
    layers = train(train_pixels, train_labels)
    probabilities = evaluate(layers, held_pixels)
    right = int((probabilities.argmax(axis=1) == held_labels).sum())

    version = HERE / "v1"
    samples = version / "samples"
    samples.mkdir(parents=True, exist_ok=True)
    (version / "model.onnx").write_bytes(encode(layers))
    numpy.save(samples / "input.pixels.npy", held_pixels[:SAMPLES].astype("<f4"))
    numpy.save(samples / "output.probabilities.npy", probabilities[:SAMPLES].astype("<f4"))
    seal(version)
    numpy.save(HERE / "heldout.probabilities.npy", probabilities.astype("<f4"))
    table = numpy.column_stack([held_pixels, held_labels]).astype(int)
    numpy.savetxt(HERE / "heldout.csv", table, fmt="%d", delimiter=",")
    print("held out: %d of %d right (%.2f %%)" % (right, len(held_labels), 100.0 * right / len(held_labels)))


if __name__ == "__main__":
    main()
