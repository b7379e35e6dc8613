#!/usr/bin/python3
"""usage: export_torch.py FOLDER MINILM_FOLDER

Writes networks as PyTorch exports them (FOLDER/NAME.onnx), with weights of a fixed seed; MiniLM with its published weights,
which MINILM_FOLDER holds. Runs on Debian's python3-torch (the CPU build).
"""

import json
import math
import pathlib
import struct
import sys
import warnings

import torch
from torch import nn


class Residual(nn.Module):
    """Two 3x3 convolutions beside a shortcut, as in ResNet-18."""

    def __init__(self, inside, outside, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside), nn.ReLU(),
            nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside),
        )
        self.shortcut = nn.Sequential()
        if stride != 1 or inside != outside:
            self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet18():
    parts = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for outside, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        parts.append(Residual(inside, outside, stride))
        inside = outside
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Inverted(nn.Module):
    """Wide 1x1, depthwise 3x3, narrow 1x1, as in MobileNetV2."""

    def __init__(self, inside, outside, stride, widen):
        super().__init__()
        hidden = inside * widen
        parts = []
        if widen != 1:
            parts += [nn.Conv2d(inside, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6()]
        parts += [
            nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(),
            nn.Conv2d(hidden, outside, 1, bias=False), nn.BatchNorm2d(outside),
        ]
        self.body = nn.Sequential(*parts)
        self.adds = stride == 1 and inside == outside

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


def mobilenet():
    parts = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()]
    inside = 32
    for widen, outside, count, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for index in range(count):
            parts.append(Inverted(inside, outside, stride if index == 0 else 1, widen))
            inside = outside
    parts += [nn.Conv2d(inside, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*parts, nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 1000))


class Attention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.out = nn.Linear(hidden, hidden)
        self.heads = heads

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, bias):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1)) + bias
        mixed = torch.matmul(torch.softmax(scores, dim=-1), value).permute(0, 2, 1, 3).contiguous()
        return self.out(mixed.view(mixed.size(0), mixed.size(1), -1))


class Layer(nn.Module):
    def __init__(self, hidden, heads, inner):
        super().__init__()
        self.attention, self.first = Attention(hidden, heads), nn.LayerNorm(hidden, eps=1e-12)
        self.wide, self.narrow = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.second = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x, bias):
        x = self.first(x + self.attention(x, bias))
        return self.second(x + self.narrow(nn.functional.gelu(self.wide(x))))


class Bert(nn.Module):
    """BERT's encoder; `pooled` gives one vector a text: the mean over its words, of length 1."""

    def __init__(self, words, places, hidden, layers, heads, inner, pooled):
        super().__init__()
        self.words, self.places = nn.Embedding(words, hidden), nn.Embedding(places, hidden)
        self.types, self.norm = nn.Embedding(2, hidden), nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(Layer(hidden, heads, inner) for _ in range(layers))
        self.pooled = pooled

    def forward(self, input_ids, attention_mask):
        places = torch.arange(input_ids.size(1)).unsqueeze(0)
        x = self.words(input_ids) + self.places(places) + self.types(torch.zeros_like(input_ids))
        x = self.norm(x)
        bias = (1.0 - attention_mask[:, None, None, :].to(torch.float32)) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        if not self.pooled:
            return x
        weights = attention_mask.unsqueeze(-1).to(torch.float32)
        mean = (x * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, p=2.0, dim=1)


class Recurrent(nn.Module):
    """A recurrent network over a sequence, with a head on its last step."""

    def __init__(self, kind, inputs, hidden, outputs, **options):
        super().__init__()
        self.body = kind(inputs, hidden, batch_first=True, **options)
        self.head = nn.Linear(hidden * (2 if options.get("bidirectional") else 1), outputs)

    def forward(self, x):
        return self.head(self.body(x)[0][:, -1])


def mlp(sizes):
    parts = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        parts += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*parts[:-1], nn.Softmax(dim=-1))


def read_safetensors(path):
    """{name: tensor} of a file of float32 tensors: a length, a JSON header, the bytes."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    found = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            found[name] = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32).reshape(entry["shape"])
    return found


def minilm(folder):
    """all-MiniLM-L6-v2 with its published weights."""
    network = Bert(30522, 512, 384, 6, 12, 1536, True)
    embeddings = {"words": "word_embeddings", "places": "position_embeddings", "types": "token_type_embeddings",
                  "norm": "LayerNorm"}
    parts = {"attention.query": "attention.self.query", "attention.key": "attention.self.key",
             "attention.value": "attention.self.value", "attention.out": "attention.output.dense",
             "first": "attention.output.LayerNorm", "wide": "intermediate.dense", "narrow": "output.dense",
             "second": "output.LayerNorm"}
    weights = read_safetensors(pathlib.Path(folder) / "model.safetensors")
    state = {}
    for name in network.state_dict():
        owner, kind = name.rsplit(".", 1)
        if owner in embeddings:
            source = "embeddings." + embeddings[owner]
        else:
            _, number, part = owner.split(".", 2)
            source = "encoder.layer.%s.%s" % (number, parts[part])
        state[name] = weights["%s.%s" % (source, kind)]
    network.load_state_dict(state)
    return network


def settle(network):
    """Batch normalizations with statistics of their own, as if trained; weights that keep the signal's size."""
    for part in network.modules():
        if isinstance(part, (nn.BatchNorm2d, nn.BatchNorm1d)):
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.uniform_(part.bias, -0.2, 0.2)
            nn.init.uniform_(part.running_mean, -0.2, 0.2)
            nn.init.uniform_(part.running_var, 0.5, 1.5)
        elif isinstance(part, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
    return network


def export(folder, name, network, inputs, opset, axes):
    """axes: {input or output: {dimension: its name}}; inputs: {name: example}."""
    network.eval()
    outputs = [key for key in axes if key not in inputs]
    torch.onnx.export(network, tuple(inputs.values()), str(folder / (name + ".onnx")), opset_version=opset,
                      input_names=list(inputs), output_names=outputs, dynamic_axes=axes)


def main(folder, minilm_folder):
    warnings.filterwarnings("ignore")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(4)
    torch.set_grad_enabled(False)
    rows = {"x": {0: "batch"}, "y": {0: "batch"}}
    export(folder, "mlp", settle(mlp([784, 512, 256, 10])), {"x": torch.rand(2, 784)}, 11, rows)
    export(folder, "wide_mlp", settle(mlp([1024, 4096, 4096, 1000])), {"x": torch.rand(2, 1024)}, 13, rows)
    image = {"x": torch.rand(2, 3, 224, 224)}
    export(folder, "resnet18", settle(resnet18()), image, 13, rows)
    export(folder, "mobilenet", settle(mobilenet()), image, 12, rows)
    text = {"input_ids": torch.randint(0, 1000, (2, 7)), "attention_mask": torch.ones(2, 7, dtype=torch.int64)}
    words = {"input_ids": {0: "batch", 1: "words"}, "attention_mask": {0: "batch", 1: "words"}}
    bert = settle(Bert(8000, 512, 256, 4, 8, 1024, False))
    export(folder, "bert", bert, text, 14, {**words, "y": {0: "batch", 1: "words"}})
    if minilm_folder:
        export(folder, "minilm", minilm(minilm_folder), text, 17, {**words, "y": {0: "batch"}})
    steps = {"x": {0: "batch", 1: "steps"}, "y": {0: "batch"}}
    lstm = Recurrent(nn.LSTM, 40, 64, 12, num_layers=2, bidirectional=True)
    export(folder, "lstm", lstm, {"x": torch.rand(2, 9, 40)}, 14, steps)
    export(folder, "gru", Recurrent(nn.GRU, 40, 64, 12), {"x": torch.rand(2, 9, 40)}, 11, steps)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
