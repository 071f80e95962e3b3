"""Each rung lowers the loss of the same text, and the last one ends where ./qkv train does."""

import os
import unittest
from concurrent.futures import ThreadPoolExecutor

from kit import SOLUTIONS, LadderTest

import training
from rungs import RUNGS


class TrainingTest(LadderTest):
    def test_each_rung_lowers_the_loss_and_the_last_is_that_of_the_engine(self):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            trained = list(pool.map(lambda rung: training.climb(rung, SOLUTIONS), RUNGS))
        losses = [each["loss"] for each in trained]
        print(", ".join(f"{loss:.4f}" for loss in losses))
        self.assertEqual(losses, sorted(losses, reverse=True))
        of_engine = training.of_engine()
        self.assertLess(abs(losses[-1] - of_engine), 0.01 * of_engine)
        text = (training.CONFIG.parent / "sentences.tsv").read_text(encoding="utf-8")
        known = [sum(word in text.split() for word in each["sample"].split()[1:-1]) for each in trained]
        self.assertLess(known[0], 3)
        self.assertGreater(known[-1], 5)


if __name__ == "__main__":
    unittest.main()
