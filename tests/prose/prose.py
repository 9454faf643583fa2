#!/usr/bin/env python3
"""Flags turns of phrase that read as translated, in messages, comments and pages (tests/prose/rules.py).

    prose.py                  compares the number per area with counts.txt, which may only fall: exit code 1 if one grew
    prose.py --list [RULE…]   prints every flagged sentence, or those of some rules
    prose.py --lower          writes smaller counts into counts.txt

Exceptions, with a reason each, are in allowed.txt."""
import argparse
import collections
import pathlib
import re
import sys
from typing import Iterator, NamedTuple

import extract
import rules

HERE = pathlib.Path(__file__).resolve().parent


class Flagged(NamedTuple):
    path: str
    line: int
    area: str
    rule: rules.Rule
    found: str
    sentence: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule.name}: {self.sentence}\n    {self.rule.reason}; better: {self.rule.advice}"


class Allowed:
    """Lines "RULE PATH: part of the sentence  # why"; PATH may be * for any."""

    def __init__(self, text: str):
        self.entries = {}
        for line in text.splitlines():
            if line.strip() and not line.startswith("#"):
                match = re.fullmatch(r"(\S+) (\S+): (.+?)  # (\S.*)", line)
                if not match:
                    sys.exit(f"allowed.txt: not \"RULE PATH: part of the sentence  # why\": {line}")
                self.entries[match[1], match[2], match[3]] = False

    def allows(self, flagged: Flagged) -> bool:
        for (name, path, part) in self.entries:
            if name == flagged.rule.name and path in ("*", flagged.path) and part in flagged.sentence:
                self.entries[name, path, part] = True
                return True
        return False

    def unused(self):
        return [f"{name} {path}: {part}" for (name, path, part), used in self.entries.items() if not used]


SENTENCE_END = re.compile(r"""(?<=[.!?])["')\]]*\s+(?=["'`(\[{]*[A-Z0-9{])|\n\s*(?=(?:[-*]|\d+\.)\s)|\n\s*\n""")


def sentences(text: str) -> Iterator[tuple]:
    """(offset, sentence) of each sentence of a passage."""
    start = 0
    for end in SENTENCE_END.finditer(text):
        yield start, text[start:end.start()]
        start = end.end()
    yield start, text[start:]


def flagged_in(passage: extract.Passage) -> Iterator[Flagged]:
    for offset, sentence in sentences(passage.text):
        flat = re.sub(r"\s*\n\s*", " ", sentence).strip()
        for rule, match in rules.findings(flat):
            line = passage.lines[min(passage.text.count("\n", 0, offset), len(passage.lines) - 1)]
            yield Flagged(passage.path, line, passage.area, rule, match[0], flat)


def flagged_under(root: pathlib.Path, allowed: Allowed) -> list:
    return [flagged for path in extract.files(root) for passage in extract.passages(path, root)
            for flagged in flagged_in(passage) if not allowed.allows(flagged)]


def read_counts(path: pathlib.Path) -> dict:
    return {area: int(count) for area, count in
            (line.rsplit(": ", 1) for line in path.read_text().splitlines() if line and not line.startswith("#"))}


def write_counts(path: pathlib.Path, counts: dict):
    head = [line for line in path.read_text().splitlines() if line.startswith("#")]
    path.write_text("\n".join(head + [f"{area}: {counts[area]}" for area in sorted(counts)]) + "\n")


def compare(found: list, expected: dict) -> list:
    """What to print of each area that has more than it may."""
    by_area = collections.defaultdict(list)
    for each in found:
        by_area[each.area].append(each)
    complaints = []
    for area, each in sorted(by_area.items()):
        if len(each) > expected.get(area, 0):
            complaints += [str(flagged) for flagged in each]
            complaints.append(f"{area}: {len(each)} sentences to rewrite, at most {expected.get(area, 0)} are expected")
    return complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parent.parent)
    parser.add_argument("--list", nargs="*", metavar="RULE|AREA")
    parser.add_argument("--lower", action="store_true")
    options = parser.parse_args()

    allowed = Allowed((HERE / "allowed.txt").read_text())
    found = flagged_under(options.root, allowed)
    if options.list is not None:
        wanted = set(options.list)
        print(*[each for each in found if not wanted or wanted & {each.rule.name, each.area}], sep="\n")
        return 0

    counts_file = HERE / "counts.txt"
    expected = read_counts(counts_file)
    counts = dict(collections.Counter(each.area for each in found))
    if options.lower:
        write_counts(counts_file, {area: min(count, counts.get(area, 0)) for area, count in expected.items()})
        return 0
    complaints = compare(found, expected) + [f"allowed.txt: nothing needs {entry}" for entry in allowed.unused()]
    print(*complaints, sep="\n", end="\n" if complaints else "")
    for area, count in expected.items():
        if counts.get(area, 0) < count:
            print(f"{area}: {counts.get(area, 0)} instead of {count}: run tests/prose/prose.py --lower")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
