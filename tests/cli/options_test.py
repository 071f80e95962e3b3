"""Every option of every verb acts, or is refused by its name: given twice, and beside every other one.

The program itself lists verbs and options, in what shells complete; here stand a command for each, and values with which
an option changes what the command prints and writes. An option acts beside another one if both together print or write
something else than each of them alone.
"""

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

QKV = os.environ["QKV"]

# A value that stands for the option itself is another one of it: "json=-" beside "json=x.json".
FILES = ["json=x.json", "json=-"]
SAMPLING = ["samples=2", "stop= ", "temperature=0.2", "temperature=0", "top-k=2", "top-p=0.5", "seed=7", "beam=3"]

# The command, the options that it is tried with. Those that a base has count as a part of it.
CASES = [
    ("train fresh.toml", ["set=seed=5", "out=other", "from=runs/tiny", "profile"]),
    ("train tiny.toml --set train.steps=44", ["resume", "set=train.log_interval=1", "out=runs/copy", "from=runs/long",
                                              "profile"]),
    ("sweep tiny.toml", ["set=train.steps=2,4", "seeds=2", "out=other", *FILES]),
    ("eval runs/pairs", ["split=train", "set=data.answer_key=other", "text=more.csv", "attention=1", *FILES,
                         "export=x.safetensors", "batches=1"]),
    ("eval runs/pairs runs/long", ["split=train", "attention=1", *FILES, "export=x.safetensors"]),
    ("generate runs/tiny", ["prompt=012=", "prompt-file=questions.txt", "max-new-tokens=2", "seed=7", *FILES]),
    ("generate runs/text --prompt a --max-new-tokens 30", [*SAMPLING, *FILES]),
    ("generate runs/text --prompt a --max-new-tokens 9 --beam 3 --json -", ["stop=a", "length-penalty=9"]),
    ("predict runs/pairs more.csv", ["format=json"]),
    ("doctor tiny.toml", ["set=train.steps=0", *FILES]),
    ("replay runs/tiny", ["step=3", *FILES]),
    ("runs", ["sort=name", *FILES]),
    ("compare runs/tiny runs/long", FILES),
    ("info runs/tiny", ["verbose"]),
    ("config tiny.toml", ["set=model.d_ff=8", "summary"]),
    ("data pairs.toml", ["set=data.answer_key=other", "split=train", "samples=2", "export=x.safetensors", "batches=1"]),
    ("data text.toml", ["split=train", "samples=2", "export=x.safetensors", "batches=1", "verbose"]),
    ("data images.toml", ["set=seed=5", "split=train", "samples=2", "export=x.png", "batches=1"]),
    ("bench tiny.toml --steps 2", ["set=model.d_ff=8", "shape=toy", "suite", "precision=bf16", *FILES, "generation"]),
    ("bench tiny.toml", ["steps=2", "generation"]),
    ("bench", ["suite", "set=model.d_ff=8", "shape=toy", "precision=bf16", "generation"]),
    ("plot runs/tiny", ["metric=val_loss", "against=tokens", "log", "svg=x.svg", "svg=-", "out=x.html", "out=-",
                        "csv=x.csv", "csv=-"]),
    ("report runs/tiny", ["out=x.html", "out=-", "lang=zh"]),
    ("import there", ["out=runs/other"]),
    ("export runs/tiny", ["onnx=x.onnx", "c=x.c", "onnx-step=y.onnx", "hf=folder"]),
    ("gradcheck --op tanh", ["op=sigmoid", "config=tiny.toml", "order=2", "precision=f32", "mutate",
                             "sweep=x.csv", "seed=5", "seeds=2", *FILES, "out=x.html", "out=-", "verbose",
                             "set=seed=5", "lang=zh"]),
    ("gradcheck --config tiny.toml", ["op=sigmoid", "precision=f32", "mutate", "sweep=x.csv", "verbose",
                                      "set=model.d_ff=8"]),
    ("explain runs/tiny", ["prompt=210=", "target=01", "validation=3", "example=bare", "layer=0", "head=1",
                           "position=2", "set=attention.causal=false", "out=x.html", "max-size=1", "forms", "text", *FILES,
                           "lang=zh"]),
    ("explain", ["example=three-words", "prompt=210=", "target=01", "validation=3", "set=attention.causal=false",
                 "position=1", "out=x.html", "max-size=1", "forms", "text", "lang=zh"]),
    ("lab order", ["control", "out=x.html", *FILES, "notes=x.md", "lang=zh", "runs=other"]),
    ("lab --steps 20 --seeds 2", ["all", "out=folder", *FILES]),
    ("completion bash", []),
    ("man", []),
]
REPEATED = {("generate", "prompt"): "33=", ("generate", "stop"): "1", ("gradcheck", "op"): "exp",
            "set": "train.batch_size=4"}
# Which the launcher hands to Python; which say the time that something takes, or share it out.
OF_PYTHON = {"python", "notebook", "ladder"}
# What the program knows of the options of single labs: which lab has one, LabTest tries.
OF_A_LAB = "lab similarity"
ONLY_FASTER = {("sweep", "jobs")}
# What acts on larger models and on other points: a page of a small one has room, its walk has all positions.
UNSEEN = {("explain", "max-size"), ("explain", "position", "text"), ("gradcheck", "seed", "mutate"),
          ("gradcheck", "seed", "seeds")}
# Which take minutes: they are tried where something stands beside them that they refuse.
LONG = {"suite", "all"}

REVERSE = 'task = "reverse"\nalphabet = 4\nlength = 3'
TASK = f"""[data]
{REVERSE}
[model]
num_layers = 2
d_model = 16
num_heads = 2
d_ff = 32
[train]
batch_size = 8
eval_interval = 20
"""


def prepare(folder: Path) -> None:
    pairs = "".join(f"{a}+{b},{a + b},{a * b}\n" for a in range(8) for b in range(8))
    (folder / "pairs.csv").write_text("question,answer,other\n" + pairs)
    (folder / "more.csv").write_text("question,answer,other\n1+2,3,2\n4+4,8,16\n7+0,7,0\n")
    (folder / "questions.txt").write_text("321=\n000=\n")
    (folder / "tiny.toml").write_text(f'name = "tiny"\n{TASK}steps = 40\nlog_interval = 5\n')
    (folder / "fresh.toml").write_text(f'name = "fresh"\n{TASK}steps = 4\n')
    model = TASK.replace(REVERSE, 'task = "pairs"\npath = "pairs.csv"').replace("= 8", "= 4")
    (folder / "pairs.toml").write_text(f'name = "pairs"\n{model}steps = 40\n')
    text = TASK.replace(REVERSE, 'task = "text"\npath = "text.txt"\nlength = 8')
    letters = "".join(map(chr, range(0x4E00, 0x4E00 + 80)))
    (folder / "text.txt").write_text(letters + "a fox sat on a mat; a cat ate it. " * 40)
    (folder / "text.toml").write_text(f'name = "text"\n{text}steps = 60\n[optimizer]\nlearning_rate = 0.004\n')
    (folder / "images.toml").write_text('[data]\ntask = "shapes"\n[model]\nkind = "classifier"\npatch_size = 4\n')
    for words in (["tiny.toml"], ["pairs.toml"], ["text.toml"],
                  ["tiny.toml", "--out", "runs/long", "--set", "train.steps=60", "--set", "seed=4"]):
        subprocess.run([QKV, "train", *words], cwd=folder, check=True, capture_output=True)
    subprocess.run([QKV, "export", "runs/tiny", "--hf", "there"], cwd=folder, check=True, capture_output=True)


def without_times(text: str, verb: str) -> str:
    """And without what else the clock decides: of gradcheck, no other decimals."""
    text = re.sub(r'"[a-z_]*(?:seconds|per_second|ratio|share|bytes|time)[a-z_]*": ?[^,}\]]+', "", text)
    measured = r"[\d.,]+ ?(?:ms|µs|s|tokens/s|%|GFLOP/s|[kMG]iB|times|x)\b|[\d.,]+%|\d{4}-\d\d-\d\d.*"
    if verb != "gradcheck":
        measured += r"|\d+\.\d+"
    return re.sub(measured + "|[█▏▎▍▌▋▊▉ ]+", " ", text)


class Commands:
    """Each runs once, in a folder of its own."""

    def __init__(self, folder: Path):
        self.folder, self.pool, self.results = folder, ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))), {}

    def start(self, words: tuple):
        if words not in self.results:
            self.results[words] = self.pool.submit(self.run, words)
        return self.results[words]

    def run(self, words: tuple) -> tuple:
        """(exit status, errors, all that it printed and wrote)"""
        with tempfile.TemporaryDirectory() as name:
            here = Path(name) / "here"
            shutil.copytree(self.folder, here)
            before = {file: file.read_bytes() for file in here.rglob("*") if file.is_file()}
            done = subprocess.run([QKV, *words], cwd=here, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
            written = [(str(file.relative_to(here)), file.read_bytes()) for file in sorted(here.rglob("*"))
                       if file.is_file() and before.get(file) != file.read_bytes()]
        timed = words[0] in ("bench", "sweep", "train", "gradcheck", "lab", "replay")
        said = [(place, without_times(data.decode(errors="replace"), words[0]) if timed else data)
                for place, data in [("", done.stdout), *written] if not (timed and place.endswith("trace.json"))]
        return done.returncode, done.stderr.decode(), said


def words_of(variant: str) -> tuple:
    name, *value = variant.split("=", 1)
    return ("--" + name, *value)


def name_of(variant: str) -> str:
    return variant.split("=")[0]


def refuses(result: tuple, *variants: str) -> bool:
    status, errors, _ = result
    words = [[f"--{name_of(each)}", f"train.{name_of(each)}", *each.split("=", 1)[1:]] for each in variants]
    return status == 2 and all(any(word in errors for word in names) for names in words)


def complaints_about(base: str, options: list, commands: Commands) -> list:
    verb, *_ = words = tuple(base.split())
    alone = {each: commands.start((*words, *words_of(each))) for each in options if each not in LONG}
    bare = commands.start(words)
    both = {(a, b): commands.start((*words, *words_of(a), *words_of(b)))
            for a, b in itertools.combinations(options, 2) if name_of(a) != name_of(b)}
    twice = {each: commands.start((*words, *words_of(each), *words_of(each))) for each in alone}
    complaints = []
    for each, result in twice.items():
        other = REPEATED.get((verb, name_of(each)), REPEATED.get(name_of(each)))
        if other is None and not refuses(result.result(), each):
            complaints.append(f"{base} --{each}: given twice, it is not refused: {result.result()[:2]}")
    for (a, b), result in both.items():
        status, errors, said = result.result()
        if status == 2:
            others = [alone[each] for each in (a, b) if each in alone] + [bare]
            is_of_both = all(each in alone for each in (a, b))
            named = (a, b) if is_of_both else [each for each in (a, b) if each not in alone]
            if all(each.result()[1] != errors for each in others) and not refuses(result.result(), *named):
                complaints.append(f"{base}: --{a} --{b}: the error does not name both: {errors}")
            continue
        for each, other in ((a, b), (b, a)):
            unseen = {(verb, name_of(each)), (verb, name_of(each), name_of(other))} & (ONLY_FASTER | UNSEEN)
            if not unseen and other in alone and alone[other].result()[2] == said:
                complaints.append(f"{base}: beside --{other}, --{each} does nothing")
    for each, result in alone.items():
        if result.result()[0] == 0 and result.result()[2] == bare.result()[2] and (verb, name_of(each)) not in UNSEEN:
            complaints.append(f"{base}: --{each} does nothing")
        if result.result()[0] not in (0, 1, 2):
            complaints.append(f"{base}: --{each}: {result.result()[:2]}")
    return complaints


def complaints_about_lab(option: str, commands: Commands) -> list:
    twice = commands.start((*OF_A_LAB.split(), *words_of(option), *words_of(option))).result()
    return [] if refuses(twice, option) else [f"{OF_A_LAB} --{option}: given twice, it is not refused: {twice[:2]}"]


def listed_options() -> set:
    def offered(*words: str) -> list:
        lines = subprocess.run([QKV, "_complete", "--", *words], check=True, capture_output=True, text=True).stdout
        return [line.split("\t")[0] for line in lines.splitlines()]
    return {(verb, option[2:]) for verb in offered("") if verb[0] != "-" and verb not in OF_PYTHON
            for option in offered(verb, "--") if option != "--help"}


def main() -> int:
    chosen = sys.argv[1:]
    tried = {(base.split()[0], name_of(each)) for base, options in CASES for each in options} | ONLY_FASTER
    left = listed_options() - tried
    complaints = [f"no case tries --{option} of {verb}" for verb, option in sorted(left) if verb != "lab"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        commands = Commands(folder)
        complaints += [each for verb, option in left if verb == "lab" and (not chosen or verb in chosen)
                       for each in complaints_about_lab(f"{option}=2", commands)]
        for base, options in CASES:
            if not chosen or base.split()[0] in chosen:
                complaints += complaints_about(base, options, commands)
    print("\n".join(complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
