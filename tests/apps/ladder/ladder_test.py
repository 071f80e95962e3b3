"""The ladder as a student and as a teacher use it."""

import ast
import json
import os
import re
import string
import tomllib
import unittest

from kit import APP, SOLUTIONS, SOURCE, LadderTest

HOSTILE = {
    "rung01_mean": ("def forward(X) return X\n", "Python cannot read line 1"),
    "rung02_table": ("x = 1\n", "forward the file has no such function"),
    "rung03_attention": ("def weights(X):\n    return X\n", "weights P has the shape [5, 6]; expected is [5, 5]"),
    "rung04_softmax": ("def forward(S):\n    return S * float('nan')\n", "P has numbers that are NaN or infinite"),
    "rung05_qkv": ("import os\nos._exit(0)\n", "Python ended without an answer"),
    "rung06_scale": ("def forward(Q, K, V):\n    while True:\n        print('a' * 9999)\n", "line 3 prints without end"),
    "rung09_positions": ("def forward(tokens, E, Pos):\n    while True:\n        pass\n", "an endless loop?"),
    "rung10_norm": ("import numpy\n\n\ndef norm(X, g):\n    return numpy.ones((99999, 99999))\n", "line 5 needs more memory"),
    "rung11_block": ("import sys\nsys.exit(0)\n", "line 2 ends the program"),
}


def functions_of(tree) -> set:
    return {(each.name, *(a.arg for a in each.args.args)) for each in tree.body if isinstance(each, ast.FunctionDef)}


class StudentTest(LadderTest):
    def test_begins_with_twelve_files_that_are_not_written_yet(self):
        self.assertIn("wrote ladder/rung01_mean.py", self.ladder("--begin"))
        files = sorted((self.folder / "ladder").glob("rung*.py"))
        self.assertEqual([file.name for file in files], sorted(file.name for file in SOLUTIONS.glob("rung*.py")))
        for file in files:
            tree, solution = ast.parse(file.read_text(encoding="utf-8")), ast.parse((SOLUTIONS / file.name).read_text())
            self.assertLessEqual(functions_of(tree), functions_of(solution), file.name)
        files[0].write_text("mine")
        self.assertIn("ladder/rung01_mean.py is there already, and stays", self.ladder("--begin"))
        self.assertEqual(files[0].read_text(), "mine")
        self.assertIn("forward: it is not written yet: it returns ...", self.ladder(4, status=1))

    def test_names_the_mistake_its_first_number_and_from_the_third_try_on_a_hint(self):
        folder = self.student("ladder", rung04=("P * (dP - row_sum)", "P * dP"))
        first = self.ladder(4, status=1)
        self.assertIn("backward: the row sum is missing: dS = P ∘ (dP − Σ P dP)", first)
        self.assertIn("15 of 15 numbers are wrong; the first is dS[0, 0]", first)
        number = r"(-?\d\.\d+)"
        [got], [expected], [quotient] = (re.findall(rf"{word} +{number}", first) for word in ("got", "expected", "quotient"))
        self.assertNotEqual(got, expected)
        self.assertAlmostEqual(float(quotient), float(expected), 7)
        self.assertRegex(first, r"by hand +P\[0,0\] \(dP\[0,0\] − Σₖ P\[0,k\] dP\[0,k\]\) = ")
        self.assertTrue(all(len(line) <= 80 for line in first.splitlines()), first)
        self.assertNotIn("hint", self.ladder(4, status=1))
        self.assertIn("hint", self.ladder(4, status=1))
        self.assertIn("提示", self.ladder(4, "--lang", "zh", status=1))
        self.assertIn("缺少行和", self.ladder(4, "--lang", "zh", status=1))
        self.assertIn("rung 4, which this one uses, is not right", self.ladder(5, status=1))
        self.assertIn("tries: 5", self.ladder())
        self.assertEqual(json.loads((folder / ".ladder.json").read_text())["4"]["tries"], 5)

    def test_by_hand_ends_in_what_is_expected(self):
        self.student("ladder", rung02=("np.tril(W).T @ dY", "np.tril(W) @ dY"))
        text = self.ladder(2, status=1)
        [expected] = re.findall(r"expected +(\S+)", text)
        [by_hand] = re.findall(r"by hand [^§]* = (-?[\d.]+)\n", text)
        self.assertAlmostEqual(float(by_hand), float(expected), 4)

    def test_a_right_rung_trains_and_is_remembered(self):
        self.student("ladder")
        self.assertRegex(self.ladder(1), r"right .*\n.*training .*\n +loss +2\.9\d+\n +writes ")
        self.assertRegex(self.ladder(2), r"loss +2\.\d+; rung 1 had 2\.9\d+\n")
        self.assertRegex(self.ladder(), r" 1  the mean of the past +loss 2\.9")

    def test_plants_a_mistake_which_the_report_finds(self):
        folder = self.student("ladder")
        right = (folder / "rung07_mask.py").read_text()
        self.assertIn("Let your neighbour find it", self.ladder("--plant", 7))
        self.assertNotEqual((folder / "rung07_mask.py").read_text(), right)
        self.assertEqual((folder / "right/rung07_mask.py").read_text(), right)
        self.assertIn("not yet", self.ladder(7, status=1))
        self.assertIn("a mistake is planted in a file that is right", self.ladder("--plant", 7, status=2))

    def test_says_what_is_wrong_with_its_words(self):
        self.assertEqual(self.ladder(13, status=2), "error: there is no rung 13; they are 1 to 12\n")
        self.assertEqual(self.ladder(1, status=2), "error: there is no folder ladder; ./qkv ladder --begin makes it\n")
        self.assertEqual(self.ladder("--plant", status=2), "error: --plant needs a rung: ./qkv ladder 4 --plant\n")
        self.assertEqual(self.ladder("--class", "x", status=2), "error: there is no folder x\n")
        self.assertIn("error: ", self.ladder("--no-such", status=2))

    def test_takes_the_options_that_the_verb_declares(self):
        declared = re.findall(r'options\.\w+\("(\w+)"', (APP / "verbs/ladder.cc").read_text())
        taken = re.findall(r'add_argument\("--(\w+)"', (APP / "ladder.py").read_text())
        self.assertEqual(sorted(declared), sorted(taken))


class ClassTest(LadderTest):
    def test_whatever_is_handed_in_gets_a_sentence_and_the_others_are_checked(self):
        self.student("class/anna")
        self.student("class/bert", rung04=("P * (dP - row_sum)", "P * dP"))
        self.student("class/小明", rung04=("P * (dP - row_sum)", "P * dP"), without=("rung1*",))
        mallory = self.folder / "class/mallory"
        mallory.mkdir()
        for name, (text, _) in HOSTILE.items():
            (mallory / f"{name}.py").write_text(text)
        os.symlink("/etc/passwd", mallory / "rung07_mask.py")
        os.mkfifo(mallory / "rung08_heads.py")
        with open(mallory / "rung12_decoder.py", "wb") as file:
            file.truncate(100_000_000)
        (self.folder / "class/loop").symlink_to("/")
        text = self.ladder("--class", "class")
        self.assertRegex(text, r"anna +(✓ *){12}\n")
        self.assertRegex(text, r"bert +✓ +✓ +✓ +✗ +✗")
        self.assertRegex(text, r"小明 +✓ +✓ +✓ +✗ +✗ +✗ +✗ +✗ +✓ +· +· +·\n")
        for _, sentence in HOSTILE.values():
            self.assertIn(sentence, text)
        for sentence in ("the file is a link", "no file, but a folder, a pipe or a device", "the file has 100.0 MB"):
            self.assertIn(sentence, text)
        self.assertRegex(text, r"The commonest mistakes:\n +2  the row sum is missing")
        self.assertNotIn("loop", text.replace("endless loop", ""))

    def test_a_file_has_no_network_and_leaves_nothing_behind(self):
        import sandbox
        if not sandbox.without_network():
            self.skipTest("this system allows no namespace without network")
        self.student("ladder", rung01=("def forward(X):", "def forward(X):\n    import socket\n    open('here', 'w').close()\n"
                                                          "    socket.create_connection(('127.0.0.1', 9))"))
        self.assertIn("line 11: OSError", self.ladder(1, status=1))
        self.assertEqual([path for path in self.folder.rglob("here")], [])


def places_of(text: str) -> list:
    return sorted(field for _, field, _, _ in string.Formatter().parse(text) if field)


class TextsTest(unittest.TestCase):
    def test_each_sentence_is_there_in_both_languages_with_the_same_places(self):
        tables = tomllib.loads((APP / "texts.toml").read_text(encoding="utf-8"))
        for table in ("mistake", "say"):
            for name, (english, chinese) in tables[table].items():
                self.assertEqual(places_of(english), places_of(chinese), name)
                self.assertRegex(english + chinese, r"[\u4e00-\u9fff]", name)
        for name, rung in tables["rung"].items():
            fields = {f"{what}_{language}" for what in ("title", "task", "hint") for language in ("en", "zh")}
            self.assertEqual(fields | {"code"}, set(rung), name)
        used = "".join((APP / name).read_text() for name in ("ladder.py", "check.py", "sandbox.py", "formulas.py"))
        unused = [name for name in tables["mistake"] | tables["say"] if not re.search(rf"\b{name}\b", used)]
        self.assertEqual(unused, [])
        self.assertTrue((SOURCE / "configs/ladder.toml").is_file())


if __name__ == "__main__":
    unittest.main()
