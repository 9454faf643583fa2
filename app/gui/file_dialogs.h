#pragma once

#include <QString>
#include <QStringList>

#include <functional>

class QWidget;

namespace bubblescope::gui {

/// Dialogs for files. Each returns at once, and calls `chosen` with the user's answer unless it is dismissed or
/// `window` is gone by then.
using FilesChosen = std::function<void(const QStringList& files)>;
using FileChosen = std::function<void(const QString& file)>;

/// Existing traces, without files of notes.
void askForTraces(QWidget& window, const QString& title, const FilesChosen& chosen);
void askForTraceFolder(QWidget& window, const FilesChosen& chosen);
void askForSession(QWidget& window, const FileChosen& chosen);

/// Files to write: of a picture, with a suggested name, and of a session, with its suffix.
void askWhereToExport(QWidget& window, const QString& suggested, const FileChosen& chosen);
void askWhereToSaveSession(QWidget& window, const FileChosen& chosen);

} // namespace bubblescope::gui
