#!/usr/bin/env python3
"""Packs job orders of other programs, one JSON document a file, into FOLDER.json.zst here, a file for each program:

    pack.py SOURCES

Texts that explain a document to people are left out; README.md says the same for all. Needs zstd.
"""

import json
import pathlib
import subprocess
import sys

EXPLANATIONS = {"encoding", "entry", "fields", "letters", "metrics", "note", "notes"}
SINGLE_FILES = "papers"  # for documents that lie in no program's folder


def document(file):
    if file.suffix == ".csv":
        return file.read_text().splitlines()
    content = json.loads(file.read_text())
    if isinstance(content, dict):
        return {key: value for key, value in content.items() if key not in EXPLANATIONS}
    return content


def main():
    sources = pathlib.Path(sys.argv[1])
    programs = {}
    for file in sorted(sources.rglob("*")):
        if file.suffix not in (".json", ".csv"):
            continue
        place = file.relative_to(sources)
        program = place.parts[0] if len(place.parts) > 1 else SINGLE_FILES
        name = "/".join(place.parts[1:]) or place.name
        programs.setdefault(program, {})[name] = document(file)
    here = pathlib.Path(__file__).parent
    for program, documents in programs.items():
        text = json.dumps(documents, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        packed = subprocess.run(["zstd", "--ultra", "-22", "-c"], input=text.encode(), stdout=subprocess.PIPE, check=True)
        (here / (program + ".json.zst")).write_bytes(packed.stdout)


main()
