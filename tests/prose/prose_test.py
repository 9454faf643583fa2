#!/usr/bin/env python3
"""Tests the checker on pairs of sentences, found and better, and on made-up files."""
import pathlib
import tempfile
import unittest

import extract
import prose
import rules

# (rules that the first breaks, as found in this tree, how it is better said). Some need an ear: no rule finds them.
PAIRS = [
    ("nothing-but", "Nothing but the schedule's own bubble costs a step more than 1 %.",
     "No loss above 1 % beyond the schedule's own bubble."),
    ("let-be", "Let mismatches be repeated before anybody draws conclusions; until then take what was trained since "
     "step 3 as doubtful.",
     "Repeat the op before drawing conclusions. Treat everything trained since step 3 as suspect."),
    ("give-up", "of 12 units of work 1 is covered by no check in 5 steps: for 0 one was planned and given up, for 1 "
     "none was planned", "1 of 12 work units was never checked in 5 steps."),
    ("is-to-be", "keep count of the device: one that does it again is to be replaced",
     "Record the device; replace it if this recurs."),
    ("of-which", "arrows of which only one end is in the trace, or touches a slice, are not drawn (15242 times)",
     "Skipped 15,242 flow arrows with a missing end."),
    ("", "slices of one thread overlap without nesting; they are shown on rows of their own (672 times)",
     "Moved 672 overlapping slices to extra rows."),
    ("", "No device was recorded; 16 threads of the host were.", "No GPU activity in this trace, only 16 host threads."),
    ("won-back digits", "With the last stage as fast as the rest 113.3 % of what is lost would be won back "
     "(M_S = 1.1332): it explains it.",
     "The last stage explains the loss: at average speed it would recover 113 % of it (M_S = 1.13)."),
    ("digits", "Ops begin later than they could, and no record says why: without that it would take 36.854 ms (5.4 %) "
     "less.", "36.9 ms (5.4 %) of late starts is unexplained; the prediction keeps it."),
    ("digits", "The ± consists of: 8.533 ms from the replay's error; 6.227 ms from how much steps vary.",
     "Uncertainty: 8.5 ms replay error, 6.2 ms step-to-step variation."),
    ("", "changed: by chance this happens with 0.0022 / no more than chance gives",
     "changed (p = 0.0022) / no significant change"),
    ("digits", "Best family: zb-auto (heuristic), 1.635 s (-53.82 % to it)",
     "Best named schedule: zb-auto, 1.64 s; this order is 53.8 % shorter."),
    ("", "uses 30.1 % of the idle time, and steps get 0 ns longer", "Fills 30.1 % of the idle time at no cost."),
    ("so-many", "Print so many findings (as many as fit on a screen)",
     "Print at most N findings (default: one screenful)"),
    ("starts-what of-which who-of-programs", "What that folder may take (64GiB); beyond it the oldest traces go of whom most is kept",
     "Size limit of --keep; beyond it, the oldest traces of the largest sender are deleted"),
    ("so-long-after", "Begin so long after a process's first event", "Start recording this long after the first event"),
    ("is-no", "trace.txt, byte 0: is no trace file that can be read", "trace.txt: not a known trace format"),
    ("is-no", "'-200%' is no value", "-200%: cannot remove more than 100 %"),
    ("of-which lacks", "Steps of which records lack.", "Steps with missing records."),
    ("", "Whether the rank's process is no more without having ended.", "1 if the process died before finishing."),
    ("heard give-up", "A sender that takes no answers is not heard until it does, and after a minute given up.",
     "A sender that stops reading replies is paused, then dropped after a minute."),
    ("done-without", "tables and columns that a version lacks are done without",
     "Missing tables and columns are tolerated."),
    ("is-said", "what it gains is said", "The output states the gain."),
    ("", "vpp is 2, but placement \"v\" is of two pipelines", "vpp is 2, but placement \"v\" is for two pipelines"),
    ("exclude", "--placement and --layer-times exclude each other", "--placement and --layer-times cannot be combined"),
    ("", "The receiver leaves it at its end, the sender at its start, or with `on_compute_stream` at its end.",
     "A receiver is blocked until the transfer ends; a sender only until it starts (until it ends with "
     "`on_compute_stream`)."),
    ("", "Time without work, by the reason why the next work waited.",
     "Idle time, by what delayed the next piece of work."),
    ("", "T is all whole numbers, and fields() …, which must be constexpr, names its members.",
     "All members of T are integers, listed by a constexpr fields()."),
    ("", "Linear in ops, but for sorting them by start.", "Linear in the number of ops, apart from sorting."),
    ("starts-what", "What a step shows of its ranks' clocks", "What a step reveals about its ranks' clocks"),
    ("as-it-comes", "Under Open MPI's `mpirun` as it comes, a process that is killed takes the others with it",
     "With `mpirun`'s defaults, one killed process ends the whole job"),
    ("", "`search` justifies orders: far shorter steps …",
     "`search` finds much shorter orders for large pipelines in the same time."),
    ("of-its-likes beside", "Beside its likes", "Compared with similar ops"),
    ("starts-of", "Of ops and transfers most: Rank 2: B of chunk 0",
     "Rank 2 became 1.30 × slower in every op; this alone explains +31.5 ms."),
]
# A page of english.md keeps "What a step reveals", which its own second rule rejects.
AGAINST_ITS_RULE = {"What a step reveals about its ranks' clocks"}

GOOD = [
    "There is no GPU activity in this trace.", "A step is no shorter than before.", "This is no longer needed.",
    "So much shorter that nobody notices.", "Three ranks, two of which are idle.", "Of course it waits.",
    "What would help most: faster links", "What is the bubble rate?", "That is a bubble.", "The same file is read twice.",
    "Both take the same time.", "m - 1 steps of warm-up", "1 step", "11 steps", "1,001 steps", "1024 MiB", "2,000 ms",
    "12.3 ms", "0.00123 s", "See section 12.345.", "int8 sums", "8 bytes per op",
]
BAD = {
    "told": "The server is told which steps count.", "same-alone": "The same for a digest.",
    "double-space": "takes 12  ms", "one-plural": "after 1 steps", "per": "takes 8 bytes an op",
    "who-of-programs": "The sender, who waits, stops.", "people-verbs": "The trace knows nothing of it.",
    "starts-that": "That its elements take.", "starts-whose": "Whose order, where frameworks differ.",
    "anew": "It is computed anew.", "looked-at": "The file is looked at later.", "stands": "The number stands in it.",
    "beside": "The file beside it.", "mend": "Mends JSON.",
}


def broken(sentence):
    return {rule.name for rule, _ in rules.findings(sentence)}


class Rules(unittest.TestCase):
    def test_finds_what_is_mechanical_in_pairs(self):
        for expected, found, _ in PAIRS:
            with self.subTest(found):
                self.assertEqual(set(expected.split()), broken(found))

    def test_accepts_the_better_half_of_pairs(self):
        for _, _, better in PAIRS:
            if better not in AGAINST_ITS_RULE:
                with self.subTest(better):
                    self.assertEqual(set(), broken(better))

    def test_accepts_good_sentences(self):
        for sentence in GOOD:
            with self.subTest(sentence):
                self.assertEqual(set(), broken(sentence))

    def test_finds_every_other_rule(self):
        for name, sentence in BAD.items():
            with self.subTest(sentence):
                self.assertEqual({name}, broken(sentence))

    def test_every_rule_has_a_sentence(self):
        tested = set(BAD).union(*(expected.split() for expected, _, _ in PAIRS))
        self.assertEqual(tested, {rule.name for rule in rules.RULES})


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def flagged(self, name, text, allowed=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        found = prose.flagged_under(self.root, prose.Allowed(allowed))
        return [(each.line, each.area, each.rule.name) for each in found]

    def test_reads_comments_of_cpp_as_sentences(self):
        text = "/// Short. The rank\n/// is told later.\nint x; ///< That it takes.\nint y; // code\n"
        self.assertEqual([(1, "comments in core", "told"), (3, "comments in core", "starts-that")],
                         self.flagged("core/a.h", text))

    def test_reads_adjacent_literals_as_one_message(self):
        text = 'f("the file is no "\n  "list", 1\'000, \'"\');\nauto t = R"(it was told\nlater)";\n'
        self.assertEqual([(1, "messages", "is-no"), (3, "messages", "told")], self.flagged("app/a.cpp", text))

    def test_skips_literals_of_tests(self):
        self.assertEqual([], self.flagged("tests/a.cpp", 'f("it is no list");\n'))

    def test_reads_docstrings_comments_and_messages_of_python(self):
        text = '"""It is told."""\n# It is no list.\nraise ValueError("that is no list of ranks")\n'
        self.assertEqual([(1, "comments in bindings", "told"), (3, "messages", "is-no"), (2, "comments in bindings", "is-no")],
                         self.flagged("bindings/a.py", text))

    def test_reads_paragraphs_and_cells_but_not_code(self):
        text = "# It is told\n\nIt\nis no list.\n```\nis no list\n```\n| is no cell | `is no code` |\n"
        self.assertEqual([(1, "manual", "told"), (3, "manual", "is-no"), (8, "manual", "is-no")],
                         self.flagged("resources/manual/a.md", text))

    def test_skips_what_the_program_printed(self):
        self.assertEqual([], self.flagged("resources/manual/a.md", "<!-- run: x -->\n| 12.345 ms |\n<!-- end -->\n"))

    def test_allows_named_sentences(self):
        allowed = prose.Allowed("told core/a.h: is told  # a reason\ntold *: nowhere  # another\n")
        flagged = prose.flagged_in(extract.Passage("core/a.h", "comments in core", "It is told.", [1]))
        self.assertTrue(all(allowed.allows(each) for each in flagged))
        self.assertEqual(["told *: nowhere"], allowed.unused())

    def test_rejects_an_exception_without_a_reason(self):
        with self.assertRaises(SystemExit):
            prose.Allowed("told core/a.h: is told\n")

    def test_complains_of_areas_that_grew_only(self):
        passage = extract.Passage("core/a.h", "comments in core", "It is told.\nIt is no list.", [1, 2])
        found = list(prose.flagged_in(passage))
        self.assertEqual([], prose.compare(found, {"comments in core": 2}))
        complaints = prose.compare(found, {"comments in core": 1})
        self.assertEqual(3, len(complaints))
        self.assertIn('core/a.h:2: is-no: It is no list.\n    "is no X"; better: write "is not a X"', complaints)

    def test_lowers_counts_and_keeps_the_head(self):
        path = self.root / "counts.txt"
        path.write_text("# why\nmanual: 3\n")
        prose.write_counts(path, {"manual": 2})
        self.assertEqual("# why\nmanual: 2\n", path.read_text())
        self.assertEqual({"manual": 2}, prose.read_counts(path))


if __name__ == "__main__":
    unittest.main()
