"""The Open Inference Protocol's own OpenAPI description of /v2, for schema_calls.py: fetched when it is needed, since it is not
ours, into a folder outside the repository, and adapted to what schemathesis can read and the server serves."""

import hashlib
import json
import re
import subprocess
import urllib.request
import zipfile

from environment import CACHE, python

COMMIT = "d49cc23f89d709d87b210ef9449e273ae243984e"
PAGE = "https://raw.githubusercontent.com/kserve/open-inference-protocol/%s/specification/protocol/open_inference_rest.yaml" % COMMIT
PAGE_SHA256 = "719644d1cec52d1c98268ee16f3b75d6de7f523c6686463cbf06bf79134edbb2"
# Where GitHub is out of reach: the same description as Seldon's MLServer carries and serves it.
WHEEL, MEMBER = "mlserver==1.7.1", "mlserver/rest/openapi/dataplane.json"
MEMBER_SHA256 = "7e7e5c1acc538233bb125ee3dd50cb46063e191d83d82ce1a556e2b13cc1d97b"

# What the description says otherwise than servers of the protocol, one by one, and why.
EXCEPTIONS = (
    ("paths hold ${MODEL_NAME}", "OpenAPI writes {MODEL_NAME}; the $ would be a part of the path"),
    ("model and version are any text", "that would be 404 nearly always: they are drawn from what is loaded, what is not, and what "
     "is no version"),
    ("bodies are any tensors", "they would fit no model: bodies that fit the loaded ones are offered beside"),
    ("errors are 400 alone (MLServer: 404 and 500 too)", "Triton and KServe answer 404 to a model or version that is not there, and "
     "405, 408, 413, 415, 501, 503, 504 are HTTP's and the overload's; 500 is not taken for one that is described"),
    ("an error's text may be missing", "clients show it: it must be there"),
    ("the datatype is any text (MLServer: without BF16)", "the names that Triton has"),
    ("MLServer: data is an array or 'bytes'", "there is no such type in JSON Schema; an array is what is meant"),
    ("MLServer: infer_stream, generate, generate_stream", "MLServer's own: not of the protocol"),
)  # fmt: skip
ERRORS = ("400", "404", "405", "408", "413", "415", "501", "503", "504")
DATATYPES = ["BOOL", "BYTES", "BF16"] + [kind + size for kind in ("UINT", "INT") for size in ("8", "16", "32", "64")] + [
    "FP" + size for size in ("16", "32", "64")]


def checked(data, digest):
    if hashlib.sha256(data).hexdigest() != digest:
        raise RuntimeError("not the file that was expected: its SHA-256 differs")
    return data


def download_page():
    with urllib.request.urlopen(PAGE, timeout=20) as answer:
        return checked(answer.read(), PAGE_SHA256)


def download_wheel():
    folder = CACHE / "wheels"
    command = [python("schema"), "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder, WHEEL]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise RuntimeError("%s failed:\n%s" % (command, done.stderr[-2000:]))
    (path,) = folder.glob(WHEEL.replace("==", "-") + "-*.whl")
    with zipfile.ZipFile(path) as wheel:
        return checked(wheel.read(MEMBER), MEMBER_SHA256)


def fetch():
    """(the description, where it comes from)."""
    for name, download, source in (
        ("open_inference_rest.yaml", download_page, "open-inference-protocol, " + COMMIT[:12]),
        ("dataplane.json", download_wheel, WHEEL),
    ):
        path = CACHE / name
        try:
            if not path.exists():
                data = download()
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            return load(path), source
        except OSError as error:  # out of reach: the next place
            print("%s: %s" % (source, error))
    raise RuntimeError("the protocol's description is out of reach")


def load(path):
    """A description in YAML or JSON."""
    program = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"
    done = subprocess.run([python("schema"), "-c", program], input=path.read_bytes(), capture_output=True, timeout=60, check=True)
    return json.loads(done.stdout)


def is_list_of(items, count):
    return {"type": "array", "items": items, "minItems": count, "maxItems": count}


def fitting(inputs):
    """A request that fits a model. inputs: (name, datatype, width, JSON Schema of an element)."""
    def tensor(name, datatype, width, element, rows):
        members = {"name": {"enum": [name]}, "datatype": {"enum": [datatype]}, "shape": {"enum": [[rows, width]]},
                   "data": is_list_of(element, rows * width)}
        return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}

    def request(rows):
        members = {"inputs": {"type": "array", "items": False, "prefixItems": [tensor(*one, rows) for one in inputs]},
                   "id": {"type": "string", "maxLength": 50}}
        members["inputs"].update(minItems=len(inputs), maxItems=len(inputs))
        return {"type": "object", "properties": members, "required": ["inputs"], "additionalProperties": False}

    return [request(rows) for rows in (1, 2)]


def plain(schema):
    """The schema without what MLServer writes and JSON Schema has not."""
    if isinstance(schema, dict):
        if schema.get("oneOf") == [{"type": "array"}, {"type": "bytes"}]:
            return {"type": "array"}
        return {key: plain(value) for key, value in schema.items() if not key.startswith("x-")}
    return [plain(item) for item in schema] if isinstance(schema, list) else schema


def path_parameter(name, models):
    values = ["1", "99", "x"] if "version" in name.lower() else [*models, "nope"]
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "enum": values}}


def adapt(document, models):
    """The description as a server of these models can be held to it: EXCEPTIONS. models: {name: its inputs, as fitting takes
    them}."""
    document = plain(document)
    document["openapi"] = "3.1.0"  # for prefixItems
    schemas = document["components"]["schemas"]
    schemas["refusal"] = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    for schema in (schemas[name] for name in schemas if re.sub("_", "", name).lower() in ("metadatatensor", "responseoutput")):
        schema["properties"]["datatype"] = {"enum": DATATYPES}
    refusal = {"description": "refused", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/refusal"}}}}
    fits = [schema for inputs in models.values() for schema in fitting(inputs)]
    paths = {}
    for path, item in document["paths"].items():
        if re.search(r"/(infer_stream|generate|generate_stream)$", path):
            continue
        path = path.replace("${", "{")
        item["parameters"] = [path_parameter(name, models) for name in re.findall(r"{(\w+)}", path)]
        for method in [method for method in item if method != "parameters"]:
            operation = item[method]
            operation["responses"].pop("500", None)
            operation["responses"].update({code: refusal for code in ERRORS})
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body:
                body["schema"] = {"anyOf": [body["schema"], *fits]}
        paths[path] = item
    document["paths"] = paths
    return document
