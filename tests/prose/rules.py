"""Turns of phrase that read as translated, each with the reason and a way to say it.

A pattern finds a turn that is wrong nearly always; what needs an ear is left to readers."""
import re
from typing import NamedTuple

UNITS = r"(?:ns|[uµμ]s|ms|s|min|h|%|×|B|kB|[KMGT]i?B|[KMG]bit|FLOPS|[GT]FLOPS|[KMG]i?B/s)"
# Words after which "which" or "no" is natural.
PART = (r"(?:one|two|three|four|five|six|seven|eight|nine|ten|some|any|most|many|none|each|either|neither|both|all|half|"
        r"few|several|part|parts|rest|last|first|least|third|quarter|number|fraction|share|majority|\d+)")
COMPARED = r"(?:\w+er|more|less|worse|other than)"
COUNTED = r"(?:bytes|ns|nanoseconds|microseconds|milliseconds|ms|seconds|[KMGT]?i?B|gigabytes|megabytes|tokens|units)"
PERIOD = (r"(?:second|minute|hour|day|step|rank|op|slice|event|kilobyte|megabyte|gigabyte|file|chunk|stage|layer|"
          r"token|micro-batch|pixel|process|node|element|row|value|iteration|call|line|entry)")
PLURAL = (r"(?:steps|ranks|ops|bubbles|checks|files|slices|processes|chunks|layers|stages|micro-batches|bytes|events|"
          r"threads|nodes|records|transfers|findings|units|runs|tracks|seconds|minutes|replicas|hosts|devices|groups)")
PROGRAMS = (r"(?:programs?|process(?:es)?|ranks?|senders?|receivers?|servers?|hosts?|devices?|threads?|files?|traces?|"
            r"recorders?|readers?|jobs?|libraries|library|profilers?|frameworks?|monitors?)")


class Rule(NamedTuple):
    name: str
    pattern: re.Pattern
    reason: str
    advice: str


def rule(name, pattern, reason, advice, flags=re.I):
    return Rule(name, re.compile(pattern, flags), reason, advice)


START = r"^[^\w{}%]*"
RULES = [
    rule("is-no", rf"(?<!there )(?<!there really )\b(?:is|are|was|were|be|been|isn't) no (?!{COMPARED}\b)(?=\S)",
         '"is no X"', 'write "is not a X"'),
    rule("told", r"\btold\b(?! you)", "programs are not told", '"receives", "is given", "knows from", "distinguished"'),
    rule("heard", r"\b(?:hears?|heard|hearing)\b", "programs do not hear", '"receives", "waits for"'),
    rule("so-many", r"\bso (?:many|much|few)\b(?![^.;:]* that\b)(?! (?:as|for|\w+er)\b)", '"so many" for a number',
         '"at most N", "this many", or name the number'),
    rule("so-long-after", r"\bso long (?:after|before)\b", '"so long after"', '"this long after"'),
    rule("of-which", rf"(?<!\w)(?!(?:{PART})\b)[\w`)\"']+,? of wh(?:ich|om|ose)\b|^\W*of wh(?:ich|om|ose)\b",
         '"X of which", turned round', '"whose", "without", "with", or two sentences'),
    rule("same-alone", START + r"(?:And )?the same\b"
         r"(?=[.,;:)]?$| (?:for|of|on|with|where|in|from|but|per|by|to|again|when|if|as|at|among|without|after)\b|[.,;:)])",
         '"the same" without a noun', 'name what is the same: "As f(), for …"'),
    rule("double-space", rf"\S  +{UNITS}\b(?! *[-:=])", "two spaces before a unit", "one space"),
    rule("one-plural", rf"(?<![\d.,%+\-−×·/^])(?<![+−-] )(?<!rank )(?<!stage )(?<!step )(?<!chunk )\b1 {PLURAL}\b",
         "a plural after 1", '"1 step"'),
    rule("digits", rf"(?<![\w.,/-])(?:\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?) ?{UNITS}(?![\w/])",
         "more than three significant digits next to a unit", 'round: "12.3 ms"', 0),
    rule("starts-of", START + r"Of (?!course\b)", 'a sentence that starts with "Of"', "put the subject first", 0),
    rule("starts-that", START + r"That (?:its?|they|their|the|an?|no|of|there|each|every|all|some|which|only|one|two)\b",
         'a sentence that starts with "That" as a conjunction', "name the subject", 0),
    rule("starts-what", START + r"What (?!to\b|is the\b|about\b|&?if\b|would\b|changed\b|changes\b|happened\b)(?!.*\?)",
         'a sentence that starts with "What"', "name the thing: a noun, or a verb for what a function does", 0),
    rule("starts-whose", START + r"Whose\b(?!.*\?)", 'a sentence that starts with "Whose"', "name the thing", 0),
    rule("who-of-programs", rf"\b{PROGRAMS},? (?:who|whom)\b|\bwhoever\b|\bwhom\b", "a program is not who",
         '"which", "the caller", "the process that"'),
    rule("give-up", r"\b(?:gives?|gave|given) (?:it |them |\w+ )?up\b", "programs do not give up",
         '"stops", "drops", "releases", "abandoned"'),
    rule("people-verbs", rf"\b{PROGRAMS} (?:that )?(?:knows?|knew|wants?|wishes|hopes?|says?|said|hears?)\b",
         "a verb for people", '"states", "reports", "has", "needs"'),
    rule("is-said", r"\b(?:is|are|was|were|be) said\b", "passive of people", '"reported", "stated"'),
    rule("lacks", r"\b(?:lacks?|lacked|lacking)(?=[.,;:)]|$)|\blacking\b", '"lacks" without an object',
         '"is missing", "without"'),
    rule("is-to-be", r"(?<!how )(?<!what )\b(?:is|are|was|were) to be\b", '"is to be"', 'the imperative, or "must be"'),
    rule("let-be", r"\blet (?:it|them|the [\w-]+|\w+) be \w+(?:ed|n)\b", '"let … be done"', "the imperative"),
    rule("per", rf"\b{COUNTED} an? {PERIOD}\b", '"a" for "per"', '"bytes per op"'),
    rule("won-back", r"\bwon back\b|\bwin(?:s|ning)? back\b", '"won back"', '"recovered"'),
    rule("done-without", r"\bdone without\b|\bdo without\b", '"done without"', '"optional", "tolerated"'),
    rule("exclude", r"\bexclude each other\b", '"exclude each other"', '"cannot be combined"'),
    rule("anew", r"\banew\b|\bfor ever\b|\bever so\b", "an old word", '"again", "forever"'),
    rule("as-it-comes", r"\bas (?:it|they) comes?\b", '"as it comes"', '"unchanged", "with the defaults"'),
    rule("nothing-but", r"\b(?:nothing|nobody|none|no \w+) but\b", '"nothing but"', '"only"'),
    rule("looked-at", r"\b(?:is|are|was|were|be) looked (?:at|for|through)\b", "people look", '"is searched", "is checked"'),
    rule("of-its-likes", r"\bits likes\b|\btheir likes\b", '"its likes"', '"similar ops"'),
    rule("stands", r"\bstands? (?:in|beside|there|behind|at|before) ", '"stands in"', '"is in", "is next to"'),
    rule("beside", r"\bbeside\b", '"beside"', '"next to", "besides", "with", "compared with"'),
    rule("mend", r"\bmend(?:s|ed|ing)?\b", "an old word", '"fix", "repair"'),
]


def significant_digits(number: str) -> int:
    """Digits from the first that is not 0; zeros at the end of a whole number do not count."""
    digits = number.replace(",", "").replace(".", "").lstrip("0")
    return len(digits if "." in number else digits.rstrip("0"))


def is_rounded(number: str) -> bool:
    """At most three significant digits, or a size that is a power of two."""
    if significant_digits(number) <= 3:
        return True
    whole = number.replace(",", "")
    return whole.isdigit() and int(whole) & (int(whole) - 1) == 0


def findings(sentence: str):
    """The rules that a sentence breaks."""
    for each in RULES:
        for match in each.pattern.finditer(sentence):
            if each.name == "digits" and is_rounded(re.match(r"[\d.,]+", match[0])[0]):
                continue
            yield each, match
            break
