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

/// A file to write.
struct NewFile {
    QString title;  ///< of the dialog
    QString name;   ///< suggested; may be empty
    QString suffix; ///< added to a name without one
    QString filter; ///< such as "Tables (*.csv)"
};
/// Starts in the folder where the user last saved, at first their documents: the folder of the open trace may be other
/// people's.
void askWhereToSave(QWidget& window, const NewFile& file, const FileChosen& chosen);
/// A session, with its suffix.
void askWhereToSaveSession(QWidget& window, const QString& name, const FileChosen& chosen);

} // namespace bubblescope::gui
