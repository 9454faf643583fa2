#!/usr/bin/env python3
"""Draws sentences for a blind reading: a third each from messages, the manual, and comments in public headers.

    sample.py --seed 7 [--count 60]    prints the sentences, numbered, with their places

The same seed and tree give the same sentences. Let somebody mark the odd ones who did not write them."""
import argparse
import json
import pathlib
import random
import re

import extract
import prose

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TRANSLATIONS = "resources/translations/zh_CN.json"
LEAST_WORDS = 5
# A text to train on, scripts of shells, and references to papers.
SKIPPED = ("runtime/model/text_data.cpp", "app/cli/completion.cpp", "resources/manual/sources.md")
# Programs, style sheets, command lines and formulas are not sentences.
CODE = re.compile(r"SELECT |[·≥]|(?: --[\w-]+ .*){3}|\{ [\w-]+:|<!--|[<>{]/?\w+[ >]|"
                  r"[;{]\s*$|^\W*[\[{]\"|\\fB|\bfunction\b|:root|\(\) \{")


def is_sentence(text: str) -> bool:
    letters = sum(each.isalpha() or each.isspace() for each in text)
    return len(text.split()) >= LEAST_WORDS and letters > 0.6 * len(text) and not CODE.search(text)


def of_file(passages, areas) -> list:
    """(place, sentence) of each sentence of these areas."""
    found = []
    for passage in passages:
        if not passage.area.startswith(areas):
            continue
        for offset, sentence in prose.sentences(passage.text):
            line = passage.lines[min(passage.text.count("\n", 0, offset), len(passage.lines) - 1)]
            found.append((f"{passage.path}:{line}", re.sub(r"\s+", " ", sentence).strip()))
    return found


def paragraphs(page: str) -> str:
    """The page without its tables, lists of JSON keys, headings and HTML comments, on the same lines."""
    page = re.sub(r"^#+ .*--json`\n(?:(?!#).*\n?)*", lambda match: "\n" * match[0].count("\n"), page, flags=re.M)
    return re.sub(r"^ *(?:[|#]|<!-- (?!run|end)).*$", "", page, flags=re.M)


def kinds() -> dict:
    keys = json.loads((ROOT / TRANSLATIONS).read_text())
    pools = {"messages": [(TRANSLATIONS, key) for key in keys], "manual": [], "comments": []}
    for path in extract.files(ROOT):
        name = path.relative_to(ROOT).as_posix()
        if name in SKIPPED:
            continue
        if name.startswith(("core/", "profiler/", "runtime/", "app/", "bindings/")):
            pools["messages"] += [each for each in of_file(extract.passages(path, ROOT), "messages") if each[1] not in keys]
            if path.suffix == ".h":
                pools["comments"] += of_file(extract.passages(path, ROOT), "comments")
        elif name.startswith("resources/manual/") and path.suffix == ".md":
            pools["manual"] += of_file(extract.of_markdown(name, paragraphs(path.read_text()), True), "manual")
    return {kind: sorted({each for each in pool if is_sentence(each[1])}) for kind, pool in pools.items()}


def declared(place: str) -> str:
    """The code on the line before a comment, which the comment describes."""
    name, _, line = place.rpartition(":")
    code = re.split(r"//|/\*", (ROOT / name).read_text().split("\n")[int(line) - 1])[0].strip()
    return f", on `{code}`" if code else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=60)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    pools = kinds()
    number = 0
    for kind, pool in pools.items():
        for place, sentence in draw.sample(pool, options.count // len(pools)):
            number += 1
            about = declared(place) if kind == "comments" else ""
            print(f"{number}. [{kind}, {place}{about}]\n   {sentence}")


if __name__ == "__main__":
    main()
