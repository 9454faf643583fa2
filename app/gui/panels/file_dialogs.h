#pragma once

#include <QString>
#include <QStringList>

#include <functional>

class QDialog;
class QWidget;

namespace bubblescope::gui {

/// Shows a dialog that deletes itself when it is closed.
void openDialog(QDialog* dialog);

/// Dialogs for files. Each returns immediately, and calls `chosen` with the user's answer unless the dialog is
/// dismissed or `window` no longer exists.
using FilesChosen = std::function<void(const QStringList& files)>;
using FileChosen = std::function<void(const QString& file)>;

/// Asks for existing traces, leaving out files of notes.
void askForTraces(QWidget& window, const QString& title, const FilesChosen& chosen);
void askForTraceFolder(QWidget& window, const FilesChosen& chosen);
void askForSession(QWidget& window, const FileChosen& chosen);

/// A file to write.
struct NewFile {
    QString title;  ///< title of the dialog
    QString name;   ///< suggested; may be empty
    QString suffix; ///< suffix added to a name without one
    QString filter; ///< such as "Tables (*.csv)"
};
/// Starts in the folder where the user last saved, at first the documents folder, because the folder of the open trace
/// may belong to other people.
void askWhereToSave(QWidget& window, const NewFile& file, const FileChosen& chosen);
/// Asks for the file of a session, with its suffix.
void askWhereToSaveSession(QWidget& window, const QString& name, const FileChosen& chosen);

} // namespace bubblescope::gui
