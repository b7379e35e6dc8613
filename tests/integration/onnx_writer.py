"""Writes small ONNX files. Only the messages and fields that the tests and models/digits need; no dependency.

Source of the field numbers: onnx.proto (ModelProto, GraphProto, NodeProto, AttributeProto, TensorProto, ValueInfoProto).
"""

import struct

FLOAT, UINT8, INT8, INT32, INT64, BOOL, FLOAT16, DOUBLE, BFLOAT16 = 1, 2, 3, 6, 7, 9, 10, 11, 16


def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def int_field(field, number):
    return varint(field << 3) + varint(number)


def float_field(field, value):
    return varint(field << 3 | 5) + struct.pack("<f", value)


def bytes_field(field, data):
    if isinstance(data, str):
        data = data.encode()
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, dims, raw, dtype=FLOAT):
    """A TensorProto with its elements in raw_data; raw is bytes in little-endian order."""
    return (
        b"".join(int_field(1, dim) for dim in dims) + int_field(2, dtype) + bytes_field(8, name) + bytes_field(9, raw)
    )


def tensor_of_bits(name, dims, bits, dtype):
    """A TensorProto with bit patterns in int32_data (packed), as exporters write float16."""
    packed = b"".join(varint(number) for number in bits)
    return b"".join(int_field(1, dim) for dim in dims) + int_field(2, dtype) + bytes_field(5, packed) + bytes_field(8, name)


def tensor_external(name, dims, location, offset=0, length=None):
    """A TensorProto whose elements lie in another file."""
    entries = {"location": location, "offset": str(offset)}
    if length is not None:
        entries["length"] = str(length)
    pairs = b"".join(bytes_field(13, bytes_field(1, key) + bytes_field(2, value)) for key, value in entries.items())
    return (
        b"".join(int_field(1, dim) for dim in dims) + int_field(2, FLOAT) + bytes_field(8, name) + pairs + int_field(14, 1)
    )


def floats(values):
    values = list(values)
    return struct.pack("<%df" % len(values), *values)


def halves(values):
    values = list(values)
    return struct.pack("<%de" % len(values), *values)


def int64s(values):
    values = list(values)
    return struct.pack("<%dq" % len(values), *values)


def attribute(name, value):
    head = bytes_field(1, name)
    if isinstance(value, float):
        return head + float_field(2, value) + int_field(20, 1)
    if isinstance(value, int):
        return head + int_field(3, value) + int_field(20, 2)
    if isinstance(value, str):
        return head + bytes_field(4, value) + int_field(20, 3)
    if isinstance(value, bytes):  # an encoded TensorProto
        return head + bytes_field(5, value) + int_field(20, 4)
    return head + b"".join(int_field(8, number) for number in value) + int_field(20, 7)


def node(operator, inputs, outputs, name="", domain="", **attributes):
    out = b"".join(bytes_field(1, item) for item in inputs) + b"".join(bytes_field(2, item) for item in outputs)
    if name:
        out += bytes_field(3, name)
    out += bytes_field(4, operator)
    out += b"".join(bytes_field(5, attribute(key, value)) for key, value in attributes.items())
    if domain:
        out += bytes_field(7, domain)
    return out


def value(name, dims, dtype=FLOAT):
    """A ValueInfoProto; a dimension given as text is symbolic, such as the batch dimension "N"."""
    shape = b"".join(
        bytes_field(1, bytes_field(2, dim) if isinstance(dim, str) else int_field(1, dim)) for dim in dims
    )
    return bytes_field(1, name) + bytes_field(2, bytes_field(1, int_field(1, dtype) + bytes_field(2, shape)))


def model(nodes, initializers, inputs, outputs, opset=13, producer="weir", other_domains=()):
    graph = (
        b"".join(bytes_field(1, item) for item in nodes)
        + bytes_field(2, "graph")
        + b"".join(bytes_field(5, item) for item in initializers)
        + b"".join(bytes_field(11, item) for item in inputs)
        + b"".join(bytes_field(12, item) for item in outputs)
    )
    opsets = [("", opset), *other_domains]
    return (
        int_field(1, 8)
        + bytes_field(2, producer)
        + bytes_field(7, graph)
        + b"".join(bytes_field(8, bytes_field(1, domain) + int_field(2, version)) for domain, version in opsets)
    )
