"""What the programs of docs/export.md use of Python's onnxruntime, over the onnxruntime-web that CI has.

RUNTIME in the environment names its module.
"""
import json
import os
import pathlib
import subprocess
import types

import numpy
import onnx

TYPES = {"int64": numpy.int64, "bool": numpy.bool_, "float32": numpy.float32}


class InferenceSession:
    def __init__(self, path):
        self.model = onnx.load(path)
        command = ["node", str(pathlib.Path(__file__).with_name("serve_graph.mjs")), os.environ["RUNTIME"], path]
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def get_modelmeta(self):
        return types.SimpleNamespace(custom_metadata_map={each.key: each.value for each in self.model.metadata_props})

    def run(self, outputs, feeds):
        tensors = {}
        for name, array in feeds.items():
            assert array.dtype.name in TYPES, f"{name} is {array.dtype}"
            tensors[name] = {"type": array.dtype.name, "dims": array.shape, "data": array.astype(float).ravel().tolist()}
        self.server.stdin.write(json.dumps(tensors) + "\n")
        self.server.stdin.flush()
        made = json.loads(self.server.stdout.readline())
        return [numpy.array(made[name]["data"], numpy.float32).reshape(made[name]["dims"]) for name in outputs]
