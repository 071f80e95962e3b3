"""The programs of docs/export.md answer as qkv does. Run by tests/apps/exchange/onnx/run, with the module of onnxruntime."""
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[4]
QKV = os.path.abspath(os.environ["QKV"])
SMALL = ["model.d_model=32", "model.d_ff=32", "train.steps=60", "train.batch_size=32", "train.eval_interval=60"]
GPL = ROOT / "LICENSE"


def qkv(*arguments, text=""):
    return subprocess.run([QKV, *arguments], input=text, capture_output=True, text=True, check=True).stdout


def exported(name, settings):
    command = ["train", str(ROOT / f"configs/{name}.toml"), "--out", name]
    for setting in [*SMALL, *settings]:
        command += ["--set", setting]
    qkv(*command)
    qkv("export", name, "--onnx", f"{name}.onnx")


def printed_by(program):
    """What it prints, and its variables."""
    variables = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(program, variables)
    return printed.getvalue(), variables


def main():
    os.environ["RUNTIME"] = sys.argv[1]
    sys.path.insert(0, str(pathlib.Path(__file__).with_name("shim")))
    programs = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/export.md").read_text(encoding="utf-8"), re.M | re.S)
    assert len(programs) == 3
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        exported("sentiment", ["optimizer.learning_rate=0.01"])
        exported("pairs", [])
        exported("gpl", [f"data.path={GPL}", "model.num_layers=1"])

        printed, variables = printed_by(programs[0])
        texts = variables["texts"]
        assert variables["padding"].any() and any(ord(c) > 0xFFFF for c in "".join(texts))
        assert printed == qkv("predict", "sentiment", "-", "--format", "tsv", text="\n".join(texts)), printed
        assert len(set(line.split("\t")[1] for line in printed.splitlines())) > 1, printed

        printed, variables = printed_by(programs[1])
        assert printed == qkv("predict", "pairs", "-", text=variables["question"]), printed
        assert len(printed) > 2, printed

        printed, variables = printed_by(programs[2])
        prompt = variables["prompt"]
        written = qkv("generate", "gpl", "--prompt", prompt, "--temperature", "0", "--max-new-tokens", "100")
        assert printed == written, (printed, written)
    print("the programs of docs/export.md answer as qkv does")


main()
