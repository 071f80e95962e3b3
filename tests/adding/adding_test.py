"""What docs/adding-things.md and docs/adding-an-op.md add is added, in the files that they name: new files stand in the pages,
and what changes in others in the patches beside this file.

pages               the pages show the code of the patches, and their table names the files of each thing
build FOLDER        in FOLDER, a copy of the tree gets all things, what they need is built, and each thing is tried
edit FOLDER NAME    makes FOLDER the tree with the things before NAME, and with that one; what does not fit is in *.rej
take FOLDER NAME    makes NAME.patch anew, of what FOLDER has now of files that are not new
"""

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# A thing and what the page calls it, in the order in which they are added: a kind of model says of each key
# whether it reads it, so that it comes after them.
TITLES = {"op": "an op", "task": "a task", "key": "a config key", "mixer": "a mixer", "model": "a kind of model",
          "verb": "a verb", "listener": "a listener of runs", "lab": "a lab", "chapter": "a chapter of the page",
          "page_op": "an op on the page"}
THINGS = list(TITLES)
# How many files a developer touches at most, with documentation and tests.
MOST_FILES = {"op": 3, "task": 3, "key": 3, "mixer": 5, "verb": 3}
PAGE, PAGE_OF_OPS = "docs/adding-things.md", "docs/adding-an-op.md"
PARTS_OF_AN_OP = r"\d+\. .*"  # what the sections are called that show it

# Of the tests and apps, what the things need: the rest of the copy is the tree.
KEPT = r"""(tests/)?apps/(report|check|lesson)/.*|tests/apps/labs/.*|apps/runs/listeners/.*
apps/labs/(app\.cmake|catalogue\.cc|own_note\.cc|(kit|verbs)/.*|.*\.(h|toml)|scores/rows\.cc)
tests/(framework|data|train|cli)/.*\.h
tests/framework/(ops/(op_examples|misuse)_.*|nn/mixers/mixer_test\.cc)
tests/models/((model|dropout)_test\.cc|.*\.h)
tests/data/(tasks|find_question)_test\.cc
tests/train/\w+/((docs|readers|model_examples|every_key)_test|key_effects|observed_run)\.cc
tests/cli/count_test\.cc"""
PRUNED = r"apps/.*|tests/(apps|framework|models|data|train|cli)/.*"
TARGETS = ["qkv", "qkv-labs", "qkv-lesson", "framework_test", "models_test", "data_test", "train_test", "cli_test"]


def git(folder: Path, *words: str, check=True) -> str:
    # The folder is not of the repository that it may stand in.
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.resolve().parent), "GIT_AUTHOR_NAME": "adding",
                                "GIT_AUTHOR_EMAIL": "", "GIT_COMMITTER_NAME": "adding", "GIT_COMMITTER_EMAIL": ""}
    done = subprocess.run(["git", *words], cwd=folder, env=environment, capture_output=True, text=True)
    if check and done.returncode != 0:
        sys.exit(f"git {' '.join(words)}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def copy_of_tree(folder: Path) -> None:
    if not (ROOT / ".git").exists():
        print("there is no repository, which says what belongs to the tree")
        sys.exit(77)
    for name in git(ROOT, "ls-files", "-z").split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def sections_of(page: str) -> dict:
    text = (ROOT / page).read_text(encoding="utf-8")
    return dict(re.findall(r"^## (.*)\n((?:(?!^## ).*\n)*)", text, re.M))


def blocks_of(name: str) -> list:
    """Of the sections about a thing: their titles, the new file that a block is the whole of, or None, and the block."""
    page, pattern = (PAGE_OF_OPS, PARTS_OF_AN_OP) if name == "op" else (PAGE, TITLES[name].capitalize())
    blocks = []
    for title, section in sections_of(page).items():
        if not re.fullmatch(pattern, title):
            continue
        for before, block in re.findall(r"((?:.*\n){2}) *```\w+\n((?:.*\n)*?) *```\n", section):
            whole = re.search(r"(?:[Tt]his is|all of|stands? in) `(\S+)`", before)
            blocks.append((f"{page}, {title}", whole and whole[1], block))
    return blocks


def new_files(name: str) -> dict:
    return {path: block for _, path, block in blocks_of(name) if path}


def patch(name: str) -> str:
    path = HERE / f"{name}.patch"
    return path.read_text(encoding="utf-8") if path.exists() else ""  # where all of it is new


def files_of(name: str) -> list:
    return [*new_files(name), *re.findall(r"^\+\+\+ b/(.*)$", patch(name), re.M)]


def new_texts(name: str) -> dict:
    """File -> what becomes of it: the whole of a new one, the hunks of one that was there."""
    texts = new_files(name)
    for part in re.split(r"^diff --git .*\n", patch(name), flags=re.M)[1:]:
        path, body = re.search(r"^\+\+\+ b/(.*)\n((?:.|\n)*)", part, re.M).groups()
        texts[path] = "".join(line[1:] + "\n" for line in body.splitlines() if line[:1] in (" ", "+"))
    return texts


def write_new_files(folder: Path, name: str) -> None:
    for path, text in new_files(name).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def add_all(folder: Path, names: list) -> None:
    for name in names:
        write_new_files(folder, name)
        said = patch(name) and git(folder, "apply", "--whitespace=nowarn", str(HERE / f"{name}.patch"), check=False)
        if said:
            sys.exit(f"tests/adding/{name}.patch no longer fits the tree:\n{said}"
                     f"python3 tests/adding/adding_test.py edit FOLDER {name}; mend it there; take FOLDER {name}")


# The pages

def rows_of_table() -> dict:
    """What is added -> the paths in its row."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    rows = re.search(r"^\| --- .*\n((?:\|.*\n)*)", text, re.M)[1].splitlines()
    return {re.sub(r"\[(.*)\].*", r"\1", title.strip()): re.findall(r"`(.*?)`", " ".join(cells))
            for _, title, *cells in (row.split("|") for row in rows)}


def lines_of(text: str) -> list:
    return [line.strip() for line in text.splitlines()]


def stands_in(piece: list, text: str) -> bool:
    lines = lines_of(text)
    return any(lines[i:i + len(piece)] == piece for i in range(len(lines)))


def complaints_about_code(name: str) -> list:
    complaints, texts = [], new_texts(name)
    for place, whole, block in blocks_of(name):
        for piece in re.split(r"\n\s*\n", block.strip("\n")):
            if not whole and not any(stands_in(lines_of(piece), text) for text in texts.values()):
                complaints.append(f"{place}: {name}.patch does not have\n{piece}")
    return complaints if blocks_of(name) else [f"the page shows nothing of {name}"]


def complaints_about_files(name: str, told: list) -> list:
    files, complaints = files_of(name), []
    if len(files) > MOST_FILES.get(name, 99):
        complaints.append(f"{name}.patch touches {len(files)} files, more than {MOST_FILES[name]}")
    for path in sorted(told, key=lambda path: "NAME" in path):  # which could be any of the others
        # NAME is that of the new thing, APP an app.
        pattern = re.escape(path).replace("NAME", r"\w+").replace("APP", r"\w+")
        fitting = [file for file in files if re.fullmatch(pattern, file)]
        files = [file for file in files if file not in fitting[:1]]
        if not fitting:
            complaints.append(f"{PAGE}: {name}.patch does not touch {path}")
    return complaints + [f"{PAGE} does not name {file}, which {name}.patch touches" for file in files]


def check_pages() -> None:
    told = rows_of_table()
    complaints = [f"{PAGE}: the table has a row of {title}" for title in told if title not in TITLES.values()]
    for name in THINGS:
        complaints += complaints_about_code(name) + complaints_about_files(name, told.get(TITLES[name], []))
    with tempfile.TemporaryDirectory() as folder:
        copy_of_tree(Path(folder))
        add_all(Path(folder), THINGS)
    sys.exit("\n".join(complaints) or 0)


# The things

TINY = """name = "tiny"
data = { task = "reverse", alphabet = 4, length = 3, validation_examples = 8 }
model = { num_layers = 1, d_model = 16, num_heads = 2, d_ff = 32 }
train = { steps = 4, batch_size = 8, eval_interval = 4, log_interval = 1 }
"""


def prune(folder: Path) -> None:
    kept = "|".join(KEPT.splitlines())
    for file in [file for file in folder.rglob("*") if file.is_file()]:
        path = str(file.relative_to(folder))
        if re.fullmatch(PRUNED, path) and not re.fullmatch(kept, path):
            file.unlink()
    labs = folder / "apps/labs/labs.h"  # names those that are left
    text = re.sub(r"Lab (?!rows)\w+_lab\(\);\n", "", labs.read_text())
    labs.write_text(re.sub(r"(kLabs\[\]\)\(\) = )\{[^}]*\}", r"\1{rows_lab}", text))


def update(folder: Path, new: Path) -> None:
    """Makes `folder` what `new` is, and touches nothing that is the same: what was built of it stays."""
    for file in [file for file in folder.rglob("*") if file.is_file() and not (new / file.relative_to(folder)).is_file()]:
        file.unlink()
    for file in [file for file in new.rglob("*") if file.is_file()]:
        target = folder / file.relative_to(new)
        if not target.is_file() or target.read_bytes() != file.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, target)


class Built:
    """The programs of the copy."""

    def __init__(self, folder: Path):
        self.folder, self.complaints = folder, []

    def run(self, *words: str) -> str:
        """What the program says on standard output; it is to succeed."""
        done = subprocess.run([self.folder / "build" / words[0], *words[1:]], cwd=self.folder / "runs", text=True,
                              capture_output=True, env=os.environ | {"OMP_WAIT_POLICY": "passive"})
        if done.returncode != 0:
            said = (done.stdout + done.stderr)[-6000:]
            self.complaints.append(f"{' '.join(words)} ended with {done.returncode}:\n{said}")
        return done.stdout

    def passes(self, program: str, *tests: str) -> None:
        """The tests, each of which there is, pass."""
        said = self.run(program, f"--gtest_filter={':'.join(tests)}", "--gtest_brief=1")
        for test in tests:
            self.says(self.run(program, f"--gtest_filter={test}", "--gtest_list_tests"), r"\n  ", f"{program} {test}")
        self.says(said, r"\[  PASSED  \] [1-9]", program)

    def says(self, text: str, pattern: str, where: str) -> None:
        if not re.search(pattern, text):
            self.complaints.append(f"{where}: there is no {pattern!r} in\n{text[-3000:]}")

    def trains(self, name: str, *settings: str) -> None:
        words = [word for setting in settings for word in ("--set", setting)]
        said = self.run("qkv", "train", "tiny.toml", "--out", name, *words)
        self.says(said, r"step 4/4 ", f"train {name}")


def build(folder: Path) -> None:
    tree = folder / "tree"
    for place in (tree, folder / "runs"):
        place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        new = Path(name)
        copy_of_tree(new)
        add_all(new, THINGS)
        prune(new)
        update(tree, new)
    # Not optimized: this takes half of the time, and what runs is small.
    log = folder / "log"
    for words in (["cmake", "-S", tree, "-B", folder / "build", "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=None"],
                  ["ninja", "-C", folder / "build", "-j", "2", *TARGETS]):
        with open(log, "w") as output:
            if subprocess.run(words, stdout=output, stderr=subprocess.STDOUT).returncode != 0:
                sys.exit(f"the tree with the patches of tests/adding does not build:\n{log.read_text()[-6000:]}")


def unpacked(page: str) -> str:
    """The script and the texts of a lesson's page, which are deflated in it."""
    packed = re.findall(r"<script[^>]*>\s*([A-Za-z0-9+/=]{99,})\s*</script>", page)
    return "\n".join(zlib.decompress(base64.b64decode(text)).decode() for text in packed)


def try_each(folder: Path) -> list:
    shutil.rmtree(folder / "runs")
    (folder / "runs").mkdir()
    (folder / "runs/tiny.toml").write_text(TINY)
    built = Built(folder)
    # An op: its gradients, its errors, and what nobody should give it.
    built.passes("framework_test", "*OpExampleTest*swiglu*", "*SaysWhatClashes*swiglu*", "OpExamplesTest.EveryOp*",
                 "OpExamplesTest.Are*", "MisuseListTest.*")
    # A task.
    built.passes("data_test", "*TaskTest*twice", "TaskGoldenTest.*", "TasksTest.*", "FindQuestionTest.*")
    built.trains("task", "data.task=twice")
    # A key, in the config, in its page, and in what it does.
    built.passes("train_test", "ConfigDocsTest.*", "ReadersTest.*", "*EveryKeyTest.DoesInARun*/model")
    built.trains("key", "model.embedding_scale=2")
    # A mixer.
    built.passes("framework_test", "MixerTest.*")
    built.passes("models_test", "ModelDropoutTest.*")
    built.passes("train_test", "ModelExamplesTest.*", "*EveryKeyTest.DoesInARun*/attention")
    built.trains("mixer", "model.mixer=decaying")
    # A kind of model.
    built.passes("models_test", "ModelTest.*")
    built.trains("model", "model.kind=bigram")
    # A verb.
    built.passes("cli_test", "CountTest.*")
    built.says(built.run("qkv", "--help"), "count +CONFIG +counts", "qkv --help")
    # A listener.
    built.trains("watched", "name=watched")
    built.says((folder / "runs/watched/pulse").read_text(), "^4\n$", "the listener's file")
    # A lab, which its control breaks.
    built.says(built.run("qkv-labs", "lab", "rows"), "Verdict: holds", "qkv lab rows")
    built.says(built.run("qkv-labs", "lab", "rows", "--control"), "Verdict: does not hold", "qkv lab rows --control")
    # A chapter.
    built.run("qkv-lesson", "explain", "--example", "bare", "--out", "page.html")
    page = unpacked((folder / "runs/page.html").read_text(encoding="utf-8"))
    for pattern in ('id:"incoming"', "Into the block", "进入这一块"):
        built.says(page, re.escape(pattern), "the page")
    # An op on the page.
    if node := shutil.which("node"):
        test = folder / "tree/tests/apps/lesson/page/ops.test.mjs"
        done = subprocess.run([node, "--test", test], capture_output=True, text=True)
        if done.returncode != 0:
            built.complaints.append(done.stdout)
    return built.complaints


# Their upkeep

def edit(folder: Path, name: str) -> None:
    folder.mkdir()
    copy_of_tree(folder)
    add_all(folder, THINGS[:THINGS.index(name)])
    for words in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", f"before {name}"]):
        git(folder, *words)
    write_new_files(folder, name)
    if patch(name):
        print(git(folder, "apply", "--reject", "--whitespace=nowarn", str(HERE / f"{name}.patch"), check=False), end="")


def take(folder: Path, name: str) -> None:
    git(folder, "add", "-A", "--", ":!*.rej", *(f":!{path}" for path in new_files(name)))
    text = git(folder, "diff", "--cached", "-U1", "--no-renames", "--no-color")
    (HERE / f"{name}.patch").write_text(re.sub(r"^index .*\n", "", text, flags=re.M), encoding="utf-8")


def main() -> None:
    what, *words = sys.argv[1:]
    if what == "pages":
        check_pages()
    elif what == "build":
        place = Path(*words).resolve()
        build(place)
        sys.exit("\n".join(try_each(place)) or 0)
    else:
        folder, name = words
        {"edit": edit, "take": take}[what](Path(folder).resolve(), name)


if __name__ == "__main__":
    main()
