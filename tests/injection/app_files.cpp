// app_files FOLDER: writes there what the app keeps, as the app does: a session, notes and preferences.

#include "app/gui/models/session_file.h"
#include "app/gui/preferences_file.h"
#include "core/formats/notes_file.h"

#include <cstdio>
#include <filesystem>
#include <new>
#include <string>

namespace {

using namespace bubblescope;
namespace fs = std::filesystem;

Status write(const fs::path& folder) {
    gui::SavedTrace trace;
    trace.files = {folder / "a.pftrace", folder / "b.json"};
    trace.view.range = {TimeNs{1}, TimeNs{2'000'000}};
    trace.view.rows.emplace().pinned = {3, 1};
    BUBBLESCOPE_TRY(gui::writeSession(folder / "x.bubblescope-session.json", {{trace, trace}, 1, "docks"}));
    constexpr int kNotes = 50;
    std::vector<Note> notes;
    for (int i = 0; i < kNotes; ++i)
        notes.push_back({TimeNs{i}, TimeNs{i + 1}, i, "note " + std::to_string(i)});
    BUBBLESCOPE_TRY(writeNotes(folder / "x.notes.json", notes));
    QSettings settings(QString::fromStdString(folder / "x.preferences.json"), gui::preferencesFormat());
    settings.setValue(QStringLiteral("window/layout"), QByteArray("docks"));
    settings.sync();
    if (settings.status() == QSettings::NoError) return {};
    return runError("cannot write the preferences", "");
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    try {
        const Status written = write(argv[1]);
        if (written.ok()) return 0;
        std::fprintf(stderr, "%s\n", written.error().text().c_str());
        return exitCode(written.error().kind);
    } catch (const std::bad_alloc&) { // the app reports it and continues
        std::fputs("out of memory\n", stderr);
        return 4;
    }
}
