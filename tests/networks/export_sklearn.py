#!/usr/bin/env python3
"""usage: export_sklearn.py FOLDER

Writes classifiers as skl2onnx converts them (FOLDER/NAME.onnx), trained here on the digits that scikit-learn carries. Runs
in the virtual environment of networks.py.
"""

import pathlib
import sys
import warnings

from skl2onnx import to_onnx
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def main(folder):
    warnings.filterwarnings("ignore")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    images, labels = load_digits(return_X_y=True)
    images = images.astype("float32")
    models = {
        "sklearn_mlp": MLPClassifier((64, 32), max_iter=60, random_state=1),
        "sklearn_mlp_pipeline": make_pipeline(StandardScaler(), MLPClassifier((64, 32), max_iter=60, random_state=1)),
        "sklearn_logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
    }
    for name, model in models.items():
        model.fit(images, labels)
        # Without zipmap the probabilities are a tensor, not a list of maps.
        final = model.steps[-1][1] if hasattr(model, "steps") else model
        written = to_onnx(model, images[:1], options={id(final): {"zipmap": False}}, target_opset={"": 15, "ai.onnx.ml": 3})
        (folder / (name + ".onnx")).write_bytes(written.SerializeToString())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
