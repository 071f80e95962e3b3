"""Files in the safetensors format, with NumPy arrays under their names."""
import json
import pathlib

import numpy

NUMBERS = {"I64": numpy.int64, "F64": numpy.float64, "F32": numpy.float32, "BOOL": numpy.bool_}


def read_tensors(path):
    """The metadata of a file, and name -> array."""
    data = memoryview(pathlib.Path(path).read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(bytes(data[8:start]))
    metadata, arrays = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        numbers = numpy.frombuffer(data[start + begin : start + end], NUMBERS[entry["dtype"]])
        arrays[name] = numbers.reshape(entry["shape"]).copy()
    return metadata, arrays


def write_tensors(path, arrays, metadata):
    """As the package safetensors does, with sorted metadata: the same numbers are the same bytes."""
    kinds = {numpy.dtype(number): name for name, number in NUMBERS.items()}
    order = list(NUMBERS)
    header, end = {"__metadata__": dict(sorted(metadata.items()))}, 0
    named = sorted(arrays.items(), key=lambda item: (order.index(kinds[item[1].dtype]), item[0]))
    for name, array in named:
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": kinds[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    numbers = b"".join(array.tobytes() for _, array in named)
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + numbers)
