#!/usr/bin/env bash
# release.sh TREE: what of a release can be made twice without a build. The source archive and the bill of materials of
# a small program of our own are equal, and the bill has what dpkg and the loader state.
set -euo pipefail
cd "$1"
# shellcheck source=/dev/null
source ./bootstrap
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$*"
    exit 1
}
sums() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum); }

# A tree of two commits, in two clones whose files have other times, owners' masks and paths.
git init -q "$work/origin"
cp CMakeLists.txt README.md "$work/origin/"
export GIT_AUTHOR_DATE="2026-01-01T00:00:00Z" GIT_COMMITTER_DATE="2026-01-01T00:00:00Z"
git -C "$work/origin" -c user.name=n -c user.email=e@x add .
git -C "$work/origin" -c user.name=n -c user.email=e@x commit -qm one
for place in here other-place; do
    (umask "$([[ $place == here ]] && echo 022 || echo 077)" && git clone -q "$work/origin" "$work/$place")
    echo "not committed" >"$work/$place/untracked"
    (cd "$work/$place" && make_source_archive "$work/$place.tar.gz")
done
cmp "$work/here.tar.gz" "$work/other-place.tar.gz" || fail "source archives differ"
tar -tzf "$work/here.tar.gz" | grep -q "^bubblescope-$(project_version)/README.md$" || fail "no README in the archive"
! tar -tzf "$work/here.tar.gz" | grep -q untracked || fail "the archive has what was not committed"

# A build of Ninja with a header of a package, a shared and a static library.
for place in here other-place; do
    tree=$work/$place/tree
    mkdir -p "$tree/build/release"
    echo '#include <zstd.h>
int main() { return ZSTD_versionNumber() == 0; }' >"$tree/main.cpp"
    cat >"$tree/build/release/build.ninja" <<'END'
rule compile
  command = g++ -MD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
rule link
  command = g++ $in -lzstd -o $out
build main.o: compile ../../main.cpp
build program: link main.o
END
    ninja -C "$tree/build/release" >/dev/null
    (cd "$tree" && SOURCE_DATE_EPOCH=1767225600 python3 -B "$1/cmake/release/sbom.py" --version 1.2.3 --commit abc \
        --out "$work/$place.spdx.json" "source=$work/here.tar.gz:" \
        "deb=build/release/program:build/release:build/release/program" >/dev/null)
done
cmp "$work/here.spdx.json" "$work/other-place.spdx.json" || fail "bills of materials differ"
python3 - "$work/here.spdx.json" "$(dpkg-query -W -f '${Version}' libzstd1)" <<'END'
import json, sys
bill = json.load(open(sys.argv[1]))
packages = {package["SPDXID"]: package for package in bill["packages"]}
relations = {(one["relationshipType"], packages.get(one["spdxElementId"], {}).get("name"),
              packages.get(one["relatedSpdxElement"], {}).get("name")) for one in bill["relationships"]}
assert ("DYNAMIC_LINK", "program", "libzstd1") in relations, relations
assert ("BUILD_DEPENDENCY_OF", "libzstd-dev", "program") in relations, relations
zstd = next(package for package in packages.values() if package["name"] == "libzstd1")
assert zstd["versionInfo"] == sys.argv[2], zstd
assert "BSD-3-Clause" in zstd["licenseDeclared"], zstd
assert zstd["externalRefs"][0]["referenceLocator"].startswith("pkg:deb/"), zstd
assert bill["creationInfo"]["created"] == "2026-01-01T00:00:00Z", bill["creationInfo"]
assert all(one in packages or one == "SPDXRef-DOCUMENT" for relation in bill["relationships"]
           for one in (relation["spdxElementId"], relation["relatedSpdxElement"]))
END

# Two folders that differ are reported as different, with the file's name.
mkdir "$work/one" "$work/two"
echo same | tee "$work/one/a" >"$work/two/a"
compare_releases "$work/one" "$work/two" >/dev/null
echo other >"$work/two/b"
echo another >"$work/one/b"
told=$( (compare_releases "$work/one" "$work/two") 2>&1) && fail "a difference was not seen"
[[ $told == *"not reproducible: b "* ]] || fail "the file that differs was not named: $told"

# A signature that others can check, with a key of ssh-keygen.
ssh-keygen -q -t ed25519 -N "" -f "$work/key"
(cd "$work/one" && BUBBLESCOPE_SIGNING_KEY=$work/key sign a)
echo "somebody $(cat "$work/key.pub")" >"$work/signers"
ssh-keygen -Y verify -f "$work/signers" -I somebody -n file -s "$work/one/a.sig" <"$work/one/a" >/dev/null || fail "no valid signature"
echo changed >"$work/one/a"
! ssh-keygen -Y verify -f "$work/signers" -I somebody -n file -s "$work/one/a.sig" <"$work/one/a" >/dev/null 2>&1 ||
    fail "a changed file passed"
echo "release: passed"
