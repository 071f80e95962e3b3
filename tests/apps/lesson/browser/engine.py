"""The program: runs that it trains, tiny, pages that it writes of them, and its numbers."""

import base64
import fcntl
import hashlib
import json
import math
import os
import re
import shutil
import struct
import subprocess
import zlib
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
FORMATS = {"f64": "d", "f32": "f", "i64": "q", "i32": "i", "u8": "B"}


def program() -> Path:
    return Path(os.environ.get("QKV", ROOT / "build/release/qkv"))


def folder() -> Path:
    return Path(os.environ.get("QKV_PAGE_FOLDER", ROOT / "build/release/page-tests")).absolute()


def call(*arguments) -> subprocess.CompletedProcess:
    return subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True, encoding="utf-8")


def call_well(*arguments) -> str:
    result = call(*arguments)
    if result.returncode != 0:
        raise RuntimeError(f"qkv {' '.join(map(str, arguments))}: {result.returncode}\n{result.stderr}")
    return result.stdout


def made_once(name: str, recipe: list, make) -> Path:
    """A folder that make(folder) filled: not again for the same recipe and program."""
    states = [file.stat() for file in (program(), program().with_name("qkv-lesson"))]
    wanted = json.dumps([recipe, [[state.st_mtime_ns, state.st_size] for state in states]])
    here = folder() / name
    here.mkdir(parents=True, exist_ok=True)
    with open(folder() / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run beside each other
        stamp = here / "made"
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(here)  # a run of another program is in the way
            here.mkdir()
            make(here)
            stamp.write_text(wanted)
    return here


class Document:
    """The numbers that the engine computed, of `qkv explain --json`."""

    def __init__(self, path):
        self.path = Path(path)
        self.json = json.loads(self.path.read_text(encoding="utf-8"))
        self.values = self.json["values"]
        self.meta = self.json["meta"]
        self._numbers = {}

    def numbers(self, value: int) -> tuple:
        if value not in self._numbers:
            [(kind, text)] = self.values[value]["numbers"].items()
            data = base64.b64decode(text)
            self._numbers[value] = struct.unpack(f"<{len(data) // struct.calcsize(FORMATS[kind])}{FORMATS[kind]}", data)
        return self._numbers[value]

    def shape(self, value: int) -> list:
        return self.values[value]["shape"]

    @cached_property
    def named(self) -> dict:
        """Values by each of their names and paths."""
        found = {}
        for index, value in enumerate(self.values):
            for name in [value.get("name"), *value.get("paths", [])]:
                if name:
                    found.setdefault(name, index)
        return found

    @cached_property
    def gradient_of(self) -> dict:
        """The first value that a value is the gradient of."""
        found = {}
        for index, value in enumerate(self.values):
            if value.get("gradient") is not None:
                found.setdefault(value["gradient"], index)
        return found

    @cached_property
    def largest_gradient(self) -> float:
        return max(abs(x) for value in self.gradient_of for x in self.numbers(value) if math.isfinite(x))

    def gradient(self, name: str) -> tuple:
        return self.numbers(self.values[self.named[name]]["gradient"])

    def is_number_known(self, value: int) -> bool:
        return "numbers" in self.values[value]

    @property
    def loss(self) -> float:
        return self.meta["loss"]


DOCUMENT = re.compile(r'(<script[^>]* id="document">)([^<]*)(</script>)')


def document_in(page: Path) -> str:
    """What stands in a page, packed."""
    packed = DOCUMENT.search(page.read_text(encoding="utf-8")).group(2)
    return zlib.decompress(base64.b64decode(packed)).decode()


def write_with_document(page: Path, document: str, to: Path) -> None:
    """The page with another document in it."""
    packed = base64.b64encode(zlib.compress(document.encode())).decode()
    source = page.read_text(encoding="utf-8")
    to.write_text(DOCUMENT.sub(lambda found: found.group(1) + packed + found.group(3), source), encoding="utf-8")


class Lesson:
    """A page, and the document of the same numbers. explain: the arguments that tell what is explained."""

    def __init__(self, name: str, explain: list):
        self.name = name
        self.explain = [str(each) for each in explain]
        here = made_once(f"lesson-{name}", self.explain, self._write)
        self.page = here / "lesson.html"
        self.document = Document(here / "lesson.json")

    def _write(self, here: Path) -> None:
        call_well("explain", *self.explain, "--forms", "--out", here / "lesson.html", "--json", here / "lesson.json")

    def document_with(self, *settings: str) -> Document:
        """What the engine computes where these settings differ."""
        options = [word for setting in settings for word in ("--set", setting)]
        name = hashlib.sha1(" ".join(settings).encode()).hexdigest()[:12]

        def write(here):
            call_well("explain", *self.explain, *options, "--json", here / "lesson.json")

        here = made_once(f"lesson-{self.name}-{name}", [*self.explain, *options], write)
        return Document(here / "lesson.json")


# Large steps, so that after a few of them no number is small by chance.
QUICK = ["train.steps=12", "train.eval_interval=12", "train.batch_size=8", "train.threads=1",
         "optimizer.learning_rate=0.05", "optimizer.warmup_steps=1",
         "model.d_model=8", "model.num_heads=2", "model.d_ff=12"]


def run(name: str, config: str, *settings: str) -> Path:
    """The folder of a run that was trained for a few steps."""
    path = config if "/" in config else ROOT / f"configs/{config}.toml"
    options = [word for setting in [*QUICK, *settings] for word in ("--set", setting)]

    def train(here):
        shutil.rmtree(here / "run", ignore_errors=True)
        call_well("train", path, *options, "--out", here / "run")

    return made_once(f"run-{name}", [str(path), *options], train) / "run"


# Every character is dangerous, and so is the name of the run; a folder's is without /.
HOSTILE = "@=+-</script><script>window.broken=1</script>'\"`${1}&lt;😀中文<b>\\\r,\n\x01"
HOSTILE_NAME = "<script>window.broken=1<b>'\"`${1}&lt;😀中文\\"


def hostile_run() -> Path:
    """The smallest of models, on a text of such characters."""
    config = (f"name = {json.dumps(HOSTILE_NAME, ensure_ascii=False)}\n[data]\ntask = \"text\"\nlength = 12\n"
              "[model]\nkind = \"decoder\"\nnum_layers = 1\n[optimizer]\nkind = \"adamw\"\n[train]\nsteps = 1\n")

    def write(here):
        (here / "hostile.txt").write_text(HOSTILE * 40, encoding="utf-8")
        (here / "hostile.toml").write_text(config, encoding="utf-8")

    here = made_once("hostile-text", [config, HOSTILE], write)
    return run("hostile", str(here / "hostile.toml"), f"data.path={json.dumps(str(here / 'hostile.txt'))}")


def changed_run(of: Path, name: str, change) -> Path:
    """A run like another, whose parameters change(name, numbers) has changed."""

    def make(here):
        target = here / "run/checkpoints/last.safetensors"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(of / "config.toml", here / "run")
        target.write_bytes(with_numbers((of / "checkpoints/last.safetensors").read_bytes(), change))

    return made_once(f"run-{name}", [str(of), name], make) / "run"


def with_numbers(checkpoint: bytes, change) -> bytes:
    [length] = struct.unpack("<Q", checkpoint[:8])
    header = json.loads(checkpoint[8:8 + length])
    data = bytearray(checkpoint[8 + length:])
    metadata = header.pop("__metadata__")
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        if tensor["dtype"] == "F32":
            numbers = list(struct.unpack(f"<{(end - begin) // 4}f", data[begin:end]))
            change(name, numbers)
            data[begin:end] = struct.pack(f"<{len(numbers)}f", *numbers)
    header["__metadata__"] = {key: text for key, text in metadata.items() if not key.startswith("xxh3")}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(data)


# The sizes of a lesson all differ, as far as they can, so that no shape is right by chance.
DIGITS = ["data.alphabet=5", "data.length=3", "data.validation_examples=10"]


@cache
def three_words() -> Lesson:
    return example("three-words")


def example(name: str) -> Lesson:
    return Lesson(name, ["--example", name])


@cache
def decoder_run() -> Path:
    return run("decoder", "reverse", *DIGITS, "train.checkpoint_interval=4")


@cache
def decoder() -> Lesson:
    return Lesson("decoder", [decoder_run(), "--prompt", "012="])


@cache
def encoder_decoder() -> Lesson:
    return Lesson("encoder-decoder", [run("encoder-decoder", "reverse_seq2seq", *DIGITS, "model.num_layers=1"),
                                      "--prompt", "012="])


@cache
def classifier() -> Lesson:
    settings = ["data.image_size=12", "data.validation_examples=10", "model.num_layers=1", "model.d_ff=16"]
    return Lesson("classifier", [run("classifier", "shapes", *settings)])


@cache
def text_classifier() -> Lesson:
    """Of tokens, after one that stands for the class."""
    settings = ["model.kind=classifier", "model.num_layers=1", "data.length=4", "data.validation_length=5",
                "data.validation_examples=10"]
    return Lesson("text-classifier", [run("text-classifier", "parity", *settings), "--prompt", "10110="])


@cache
def rotary() -> Lesson:
    settings = ["model.position=rotary", "model.norm=post", "model.norm_kind=rms", "model.activation=silu",
                "model.bias=false", "model.num_layers=1", "attention.window=2"]
    return Lesson("rotary", [run("rotary", "reverse", *DIGITS, *settings), "--prompt", "012="])


@cache
def wide_encoder_decoder() -> Lesson:
    """As large as models may be of which all is on a page."""
    settings = ["model.d_model=64", "model.num_heads=4", "model.d_ff=256", "train.steps=2", "train.eval_interval=2"]
    return Lesson("wide-encoder-decoder", [run("wide-encoder-decoder", "reverse_seq2seq", *settings)])


@cache
def deep_text() -> Lesson:
    """Too large to be on a page as a whole."""
    settings = ["model.num_layers=4", "model.d_model=128", "model.num_heads=4", "model.d_ff=512", "data.length=16",
                "model.position=learned", "train.steps=2", "train.eval_interval=2"]
    return Lesson("deep-text", [run("deep-text", "gpl", *settings), "--layer", "3"])


def long_text(*options: str) -> Lesson:
    """Too large for a block of it to be on a page of the usual size."""
    settings = ["model.num_layers=2", "model.d_model=128", "model.num_heads=8", "model.d_ff=768", "data.length=62",
                "model.position=learned", "train.steps=2", "train.eval_interval=2", "train.batch_size=2"]
    return Lesson("long-text" + "".join(options), [run("long-text", "gpl", *settings), "--layer", "1", *options])


def of_several_lengths() -> list:
    """A classifier and an encoder-decoder whose texts are of several lengths."""

    def written(name, task, lines, *options):
        config = (f'name = "{name}"\n[data]\ntask = "{task}"\npath = "texts.tsv"\n'
                  '[optimizer]\nkind = "adamw"\n[train]\nsteps = 1\n')

        def write(here):
            (here / "texts.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
            (here / f"{name}.toml").write_text(config, encoding="utf-8")

        here = made_once(f"{name}-texts", [config, lines], write)
        return run(name, str(here / f"{name}.toml"), "model.num_layers=1", "data.train_fraction=0.8", *options)

    texts = ["ab", "abcde", "bd", "ecdab", "cc", "adeb", "b", "ea", "dce", "bca"]
    classes = [f"{'x' if 'a' in text else 'y'}\t{text}" for text in texts]
    pairs = [f"{text}\t{text[0]}" for text in texts]
    return [
        Lesson("letters-classes",
               [written("letters-classes", "classes", classes, "model.kind=classifier", "model.pool=mean")]),
        Lesson("letters-pairs", [written("letters-pairs", "pairs", pairs, "model.kind=encoder_decoder"), "--validation", "1"])]


def all_lessons() -> list:
    return [three_words(), decoder(), encoder_decoder(), classifier(), rotary()]
