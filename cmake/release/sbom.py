"""Writes the bill of materials of a release (SPDX 2.3, JSON): what is in its files, and what they are linked with.

Nothing about other projects is written down here. Which headers were compiled in is what Ninja recorded, which static
libraries were linked is in its build file, which shared ones a program needs is what the loader finds, and which
package, version, licence and source these belong to is what the databases of dpkg and pip state.
"""

import argparse
import functools
import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import zipfile
from datetime import datetime, timezone
from pathlib import Path

STATED = {  # Debian's short names for licences, where SPDX has others (https://dep-team.pages.debian.net/deps/dep5)
    "Expat": "MIT", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause", "BSL-1": "BSL-1.0",
    "Boost-1.0": "BSL-1.0", "zlib": "Zlib", "Artistic": "Artistic-1.0", "PSF-2": "PSF-2.0", "BSD-4-clause": "BSD-4-Clause",
}
SAME_NAME = {"Apache-2.0", "MIT", "BSL-1.0", "MPL-2.0", "MPL-1.1", "ISC", "Zlib", "CC0-1.0", "X11", "FTL", "OFL-1.1",
             "Python-2.0", "curl", "Unicode-DFS-2016", "blessing", "BSD-2-Clause", "BSD-3-Clause", "OpenSSL", "MIT-CMU"}


def output_of(*command):
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return run.stdout


# ---- Which files ----------------------------------------------------------------------------------------

def headers(build):
    """Files outside this tree that Ninja recorded as read by compilers."""
    found = re.findall(r"^ +(/\S+)", output_of("ninja", "-C", build, "-t", "deps"), re.M)
    return {os.path.realpath(name) for name in found if not inside(name, build)}


def static_libraries(build):
    found = re.findall(r"(/[^\s:|]+\.a)\b", Path(build, "build.ninja").read_text())
    return {os.path.realpath(name) for name in found if not inside(name, build) and os.path.exists(name)}


def inside(name, build):
    """Whether a file is of the tree that is built; build folders are two levels below its root."""
    root = Path(build).resolve().parent.parent
    return Path(os.path.realpath(name)).is_relative_to(root)


def shared_libraries(program):
    """The libraries that the loader maps for a program, as (name, file)."""
    listed = re.findall(r"^\s*(\S+)(?: => (/\S+))? \(0x", output_of("ldd", program), re.M)
    pairs = [(os.path.basename(name), found or name) for name, found in listed]
    return {(name, os.path.realpath(found)) for name, found in pairs if found.startswith("/")}


# ---- Which package --------------------------------------------------------------------------------------

class Component:
    """A package that something of the release comes from."""

    def __init__(self, name, version, origin, licence, homepage="", source="", texts=None):
        self.name, self.version, self.origin, self.licence = name, version, origin, licence
        self.homepage, self.source, self.texts = homepage, source, texts or {}
        self.id = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", f"{origin.split('/')[0].split(':')[-1]}-{name}")

    def spdx(self):
        entry = {
            "SPDXID": self.id, "name": self.name, "versionInfo": self.version or "NOASSERTION",
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": self.licence, "copyrightText": "NOASSERTION",
        }
        if self.homepage:
            entry["homepage"] = self.homepage
        if self.source:
            entry["sourceInfo"] = self.source
        if self.origin.startswith("pkg:"):
            entry["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                      "referenceLocator": self.origin}]
        return entry


def other_name(path):
    """The same file by the other name that /lib and /usr/lib give it: dpkg knows only one."""
    return path[4:] if path.startswith("/usr/") else "/usr" + path


debian_owners = {}


def learn_owners(paths):
    """Asks dpkg which packages files are of, once for all of them."""
    names = {name: path for path in sorted(paths) for name in (path, other_name(path))}
    for line in output_of("dpkg-query", "-S", *names).splitlines() if names else ():
        owners, _, name = line.rpartition(": ")
        if name in names:
            debian_owners[names[name]] = owners.split(", ")[0]


def spdx_licence(name):
    """(SPDX's expression, None), or (a name of this document, the name it stands for)."""
    parts = re.split(r"\s+(and|or)\s+", name.replace(",", " ").strip())
    if len(parts) > 1:
        terms = [part if part in ("and", "or") else spdx_licence(part)[0] for part in parts]
        return "(" + " ".join(term.upper() if term in ("and", "or") else term for term in terms) + ")", None
    gnu = re.fullmatch(r"([AL]?GPL|GFDL)-?v?(\d)(?:\.(\d))?(\+)?", name)
    if gnu:
        return f"{gnu[1]}-{gnu[2]}.{gnu[3] or 0}-" + ("or-later" if gnu[4] else "only"), None
    known = STATED.get(name, name if name in SAME_NAME else None)
    return (known, None) if known else ("LicenseRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-"), name)


def debian_licence(package):
    """The licence of most files, as the package's machine-readable copyright file states it, and texts of others."""
    try:
        stanzas = Path(f"/usr/share/doc/{package}/copyright").read_text(errors="replace").split("\n\n")
    except OSError:
        return "NOASSERTION", {}
    fields = [dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)", stanza, re.M)) for stanza in stanzas]
    main = next((field["License"] for field in fields if field.get("Files", "").split() == ["*"] and "License" in field), None)
    if main is None:
        return "NOASSERTION", {}
    name = main.split("\n")[0].strip()
    licence, _ = spdx_licence(name)
    texts = {}
    for field in fields:
        title, _, text = field.get("License", "").partition("\n")
        for part in re.split(r"\s+(?:and|or)\s+", title.replace(",", " ").strip()):
            identifier, stands_for = spdx_licence(part) if part else (None, None)
            if stands_for and identifier in licence and (text.strip() or identifier not in texts):
                texts[identifier] = text.strip() or title
    return licence, texts


@functools.cache
def debian_component(owner):
    form = "${Package}\n${Version}\n${Architecture}\n${source:Package}\n${source:Version}\n${Homepage}"
    package, version, architecture, source, source_version, homepage = output_of(
        "dpkg-query", "-W", f"-f={form}", owner).split("\n")[:6]
    system = dict(re.findall(r'^(\w+)="?([^"\n]*)', Path("/etc/os-release").read_text(), re.M))
    distribution = f"{system.get('ID', 'debian')}-{system.get('VERSION_ID', '')}".rstrip("-")
    purl = f"pkg:deb/{system.get('ID', 'debian')}/{package}@{version}?arch={architecture}&distro={distribution}"
    licence, texts = debian_licence(package)
    return Component(package, version, purl.replace("+", "%2B"), licence, homepage,
                     f"built from {distribution}'s source package {source} {source_version}", texts)


@functools.cache
def python_distributions(folder):
    return list(importlib.metadata.distributions(path=[folder]))


def python_component(path):
    """The distribution from the Python package index that a file in a site-packages folder belongs to."""
    folder = re.match(r"(.*/(?:site|dist)-packages)/(.*)", path)
    for one in python_distributions(folder[1]) if folder else ():
        if any(str(file) == folder[2] for file in one.files or ()):
            data = one.metadata
            name = re.sub(r"[-_.]+", "-", data["Name"]).lower()
            licence = data.get("License-Expression") or next(
                (STATED.get(word, word) for word in (data.get("License") or "").split("\n")[:1] if word in SAME_NAME), "NOASSERTION")
            return Component(name, one.version, f"pkg:pypi/{name}@{one.version}", licence, data.get("Home-page") or "")
    return None


def unpackaged(path):
    """A file of no package: named by the folder it was installed into."""
    prefix = re.match(r"(.*?)(?:/usr)?/(?:include|lib|lib64|targets)/", path)
    place = Path(prefix[1] if prefix else os.path.dirname(path))
    python = re.match(r".*/include/python3\.\d+", path)
    if python and (stated := Path(python[0], "patchlevel.h")).exists():
        version = re.search(r'#define PY_VERSION\s+"([^"]+)"', stated.read_text())[1]
        return Component("python", version, f"file:python-{version}", "Python-2.0", "https://www.python.org",
                         "headers that no package database lists")
    name = place.name or "root"
    return Component(name, "", f"file:{name}", "NOASSERTION", "", "files that no package database lists")


@functools.cache
def component_of(path):
    owner = debian_owners.get(path)
    return debian_component(owner) if owner else python_component(path) or unpackaged(path)


# ---- The document ---------------------------------------------------------------------------------------

class Document:
    def __init__(self):
        self.components, self.relations = {}, set()

    def relate(self, subject, relation, paths):
        learn_owners(paths)
        for component in map(component_of, sorted(paths)):
            self.components.setdefault(component.id, component)
            self.relations.add((subject, component.id, relation))

    def add(self, part):
        """PART is KIND=FILE:BUILD:PROGRAM[:PROGRAM…], with folders of builds joined by '+'."""
        kind, _, rest = part.partition("=")
        artifact, builds, *programs = rest.split(":")
        subject = "SPDXRef-" + kind
        carried = names_inside(kind, artifact)
        for build in filter(None, builds.split("+")):
            self.relate(subject, "BUILD_DEPENDENCY_OF", headers(build))
            self.relate(subject, "STATIC_LINK", static_libraries(build))
        linked = {pair for program in programs for pair in shared_libraries(program)}
        self.relate(subject, "CONTAINS", {path for name, path in linked if carried(name)})
        self.relate(subject, "DYNAMIC_LINK", {path for name, path in linked if not carried(name)})


def names_inside(kind, artifact):
    """Whether an artifact carries a shared library along; auditwheel adds a hash to names."""
    if kind == "wheel":
        carried = {re.sub(r"-[0-9a-f]{8}(?=\.so)", "", os.path.basename(name)) for name in zipfile.ZipFile(artifact).namelist()}
    elif kind == "appimage":
        carried = set(Path("build/appimage.libraries").read_text().split())
    else:
        carried = set()
    return lambda name: name in carried


def relation(subject, other, name):
    if name == "BUILD_DEPENDENCY_OF":  # reads the other way round
        subject, other = other, subject
    return {"spdxElementId": subject, "relatedSpdxElement": other, "relationshipType": name}


def artifact_entry(kind, path, version, licence):
    return {
        "SPDXID": "SPDXRef-" + kind, "name": os.path.basename(path), "versionInfo": version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence, "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": {"source": "SOURCE"}.get(kind, "APPLICATION"), "packageFileName": os.path.basename(path),
        "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(Path(path).read_bytes()).hexdigest()}],
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--version", required=True)
    arguments.add_argument("--commit", required=True)
    arguments.add_argument("--out", required=True)
    arguments.add_argument("parts", nargs="+", help=Document.add.__doc__)
    asked = arguments.parse_args()

    document = Document()
    artifacts = []
    for part in asked.parts:
        kind, _, rest = part.partition("=")
        artifacts.append(artifact_entry(kind, rest.split(":")[0], asked.version, "Apache-2.0"))
        document.add(part)
    components = [document.components[name] for name in sorted(document.components)]
    texts = {name: text for component in components for name, text in component.texts.items()}
    created = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), timezone.utc)
    described = [entry["SPDXID"] for entry in artifacts]
    body = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"bubblescope-{asked.version}",
        "documentNamespace": f"https://bubblescope.invalid/spdx/{asked.version}/{asked.commit}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": [f"Tool: bubblescope-sbom-{asked.version}"]},
        "packages": artifacts + [component.spdx() for component in components],
        "hasExtractedLicensingInfos": [{"licenseId": name, "extractedText": texts[name]} for name in sorted(texts)],
        "relationships": [relation("SPDXRef-DOCUMENT", name, "DESCRIBES") for name in described]
        + [relation(*one) for one in sorted(document.relations)],
    }
    Path(asked.out).write_text(json.dumps(body, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    strangers = [component.name for component in components if component.origin.startswith("file:")]
    if strangers:
        print("of no package, so named by folder: " + ", ".join(strangers), file=sys.stderr)


if __name__ == "__main__":
    main()
