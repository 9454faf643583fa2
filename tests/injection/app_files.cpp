// app_files FOLDER [preferences]: writes what the app keeps, as the app does: a session and notes, or preferences.

#include "app/gui/models/session_file.h"
#include "core/formats/notes_file.h"

#include <QCoreApplication>
#include <QSettings>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

namespace {

using namespace bubblescope;
namespace fs = std::filesystem;

int end(const Status& status) {
    if (status.ok()) return 0;
    std::fprintf(stderr, "%s\n", status.error().text().c_str());
    return exitCode(status.error().kind);
}

Status writeSessionAndNotes(const fs::path& folder) {
    gui::SavedTrace trace;
    trace.files = {folder / "a.pftrace", folder / "b.json"};
    trace.view.range = {TimeNs{1}, TimeNs{2'000'000}};
    trace.view.rows.emplace().pinned = {3, 1};
    BUBBLESCOPE_TRY(gui::writeSession(folder / "x.bubblescope-session.json", {{trace, trace}, 1, "docks"}));
    std::vector<Note> notes;
    for (int i = 0; i < 50; ++i)
        notes.push_back({TimeNs{i}, TimeNs{i + 1}, i, "note " + std::to_string(i)});
    return writeNotes(folder / "x.notes.json", notes);
}

Status writePreferences(const fs::path& folder) {
    QSettings settings(QString::fromStdString((folder / "preferences.conf").string()), QSettings::IniFormat);
    for (int i = 0; i < 50; ++i)
        settings.setValue(QStringLiteral("group/key%1").arg(i), QStringLiteral("value %1").arg(i));
    settings.sync();
    return settings.status() == QSettings::NoError ? Status() : runError("cannot write the preferences");
}

} // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 3) return end(writeSessionAndNotes(argv[1]));
        const QCoreApplication application(argc, argv);
        return end(writePreferences(argv[1]));
    } catch (const std::bad_alloc&) {
        return end(runError("out of memory")); // the app reports it and continues
    }
}
