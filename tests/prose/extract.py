"""Finds the prose of the source tree: messages, comments, and Markdown, with file and line."""
import io
import pathlib
import re
import tokenize
from typing import Iterator, NamedTuple

FOLDERS = ("core", "profiler", "runtime", "app", "bindings", "cmake", "tests", "resources")
TOP_FILES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "CMakeLists.txt", "bootstrap")
# Inputs and other languages.
SKIPPED = ("tests/data/", "tests/fuzz/corpus/", "tests/fuzz/findings/", "tests/architecture/fixtures/",
           "resources/manual/zh_CN/", "resources/manual/examples/")


class Passage(NamedTuple):
    """Some consecutive prose. `lines` has the line number of each line of `text`."""
    path: str
    area: str
    text: str
    lines: list


def files(root: pathlib.Path) -> Iterator[pathlib.Path]:
    for name in TOP_FILES:
        if (root / name).is_file():
            yield root / name
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and not path.relative_to(root).as_posix().startswith(SKIPPED):
                yield path


def passages(path: pathlib.Path, root: pathlib.Path) -> Iterator[Passage]:
    name = path.relative_to(root).as_posix()
    if path.suffix in (".h", ".cpp", ".cu", ".cuh"):
        yield from of_cpp(name, path.read_text(errors="replace"))
    elif path.suffix in (".py", ".pyi"):
        yield from of_python(name, path.read_text(errors="replace"))
    elif path.suffix == ".md":
        yield from of_markdown(name, path.read_text(errors="replace"))
    elif path.suffix in (".cmake", ".sh") or path.name in ("CMakeLists.txt", "bootstrap"):
        yield from of_hash_comments(name, path.read_text(errors="replace"))


def top(name: str) -> str:
    return name.split("/")[0] if "/" in name else "build"


def comment_area(name: str) -> str:
    return "comments in " + ("build" if top(name) == "cmake" else top(name))


CPP = re.compile(r"""(?P<comment>//[^\n]*|/\*.*?\*/)
                   |(?P<raw>R"(?P<mark>[^(\s"]*)\((?P<inside>.*?)\)(?P=mark)")
                   |(?P<string>"(?:[^"\\\n]|\\.)*")
                   |(?<![0-9A-Za-z])'(?:[^'\\\n]|\\.)*'""", re.S | re.X)
ESCAPES = {"n": "\n", "t": " ", '"': '"', "\\": "\\"}


def of_cpp(name: str, text: str) -> Iterator[Passage]:
    comments, literal, literal_end = [], None, 0
    for match in CPP.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["comment"]:
            body = re.sub(r"^(///?<?|//!|/\*+<?)\s?|\s*\*/$|^[ \t]*\* ?", "", match["comment"], flags=re.M)
            begin = text.rfind("\n", 0, match.start()) + 1
            alone = not text[begin:match.start()].strip()
            comments.append((line, body, alone, match.start() - begin, re.match(r"/+<?|/\*", match["comment"])[0]))
        elif match["string"] or match["raw"]:
            if match["raw"]:
                body = match["inside"]
            else:
                body = re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], ""), match["string"][1:-1], flags=re.S)
            if literal is not None and not text[literal_end:match.start()].strip():
                literal[1].append(body)
                literal[2].extend([line] * (body.count("\n")))
            else:
                yield from message(name, literal)
                literal = (line, [body], [line] * (body.count("\n") + 1))
            literal_end = match.end()
    yield from message(name, literal)
    yield from joined_comments(name, comments)


def message(name: str, literal) -> Iterator[Passage]:
    """A literal with words; tests quote the program's texts and have no messages of their own."""
    if literal is None or top(name) == "tests":
        return
    text = "".join(literal[1])
    if re.search(r"[A-Za-z]{2,}[ ,]+\W?[a-z]{2,}", text) and not text.startswith("#include"):
        yield Passage(name, "messages", text, literal[2])


def joined_comments(name: str, comments) -> Iterator[Passage]:
    """Comments on consecutive lines, at the same column with the same mark, are one passage."""
    lines, texts, shape = [], [], None
    for line, body, alone, *of_mark in comments:
        if texts and (line != lines[-1] + 1 or not alone or not body.strip() or of_mark != shape):
            yield Passage(name, comment_area(name), "\n".join(texts), lines)
            lines, texts = [], []
        if body.strip():
            texts.append(body)
            lines.append(line)
            shape = of_mark
    if texts:
        yield Passage(name, comment_area(name), "\n".join(texts), lines)


def of_python(name: str, text: str) -> Iterator[Passage]:
    comments, previous = [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[:token.start[1]].strip()
            comments.append((token.start[0], token.string.lstrip("#! "), alone, token.start[1]))
        elif token.type == tokenize.STRING:
            body = re.sub(r'^\w*("""|\'\'\'|"|\')|("""|\'\'\'|"|\')$', "", token.string)
            first = token.start[0]
            docstring = previous in (None, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL)
            area = comment_area(name) if docstring else "messages"
            words = re.search(r"[A-Za-z]{2,}[ ,]+\W?[a-z]{2,}", body)
            if words and (docstring or top(name) != "tests"):
                yield Passage(name, area, body, list(range(first, first + body.count("\n") + 1)))
        if token.type != tokenize.COMMENT:
            previous = token.type
    yield from joined_comments(name, comments)


def of_hash_comments(name: str, text: str) -> Iterator[Passage]:
    comments = []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"^(\s*)#(?!!)\s?(.*)$", line)
        if match:
            comments.append((number, match[2], True))
    yield from joined_comments(name, comments)


def markdown_area(name: str) -> str:
    if name.startswith("resources/manual/"):
        return "manual"
    if name.startswith("resources/benchmarks/"):
        return "benchmarks"
    return "changelog" if name == "CHANGELOG.md" else "other pages"


def of_markdown(name: str, text: str, keep_code: bool = False) -> Iterator[Passage]:
    """Paragraphs, list items and table cells; not code blocks, and not what the program printed."""
    blank = lambda match: re.sub(r"[^\n]", "", match[0])
    text = re.sub(r"^ *```.*?^ *```", blank, text, flags=re.S | re.M)
    text = re.sub(r"<!-- run:.*?<!-- end -->", blank, text, flags=re.S)
    if not keep_code:
        text = re.sub(r"`[^`\n]*`", "`code`", text)
    text = re.sub(r"\]\([^)\s]*\)", "]", text)
    lines, texts = [], []
    for number, line in enumerate(text.splitlines() + [""], 1):
        begins = re.match(r"^\s*([-*] |\d+\. |#+ |\||$)", line)
        if begins and texts:
            yield Passage(name, markdown_area(name), "\n".join(texts), lines)
            lines, texts = [], []
        if line.lstrip().startswith("|"):
            for cell in line.strip().strip("|").split("|"):
                if cell.strip(" -:"):
                    yield Passage(name, markdown_area(name), cell.strip(), [number])
        elif line.strip():
            texts.append(re.sub(r"^\s*([-*] |\d+\. |#+ )", "", line).replace("**", ""))
            lines.append(number)
