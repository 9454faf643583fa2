#pragma once

#include <QString>
#include <QStringList>

#include <functional>

class QDialog;
class QWidget;

namespace bubblescope::gui {

/// Shows a dialog that deletes itself when it is closed.
void openDialog(QDialog* dialog);

/// File dialogs. Each function returns immediately. When the user accepts the dialog, `chosen` is called unless
/// `window` no longer exists.
using FilesChosen = std::function<void(const QStringList& files)>;
using FileChosen = std::function<void(const QString& file)>;

/// Opens a dialog for existing traces; note files are not listed.
void askForTraces(QWidget& window, const QString& title, const FilesChosen& chosen);
void askForTraceFolder(QWidget& window, const FilesChosen& chosen);
void askForSession(QWidget& window, const FileChosen& chosen);

/// Parameters for choosing a file to write.
struct NewFile {
    QString title;  ///< title of the dialog
    QString name;   ///< suggested file name; may be empty
    QString suffix; ///< suffix added to names that have none
    QString filter; ///< such as "Tables (*.csv)"
};
/// Starts in the last folder that the user saved to, or in the documents folder. Avoids the folder of the open trace,
/// which may belong to other users.
void askWhereToSave(QWidget& window, const NewFile& file, const FileChosen& chosen);
/// Opens a dialog for the name of a session file, and adds the suffix.
void askWhereToSaveSession(QWidget& window, const QString& name, const FileChosen& chosen);

} // namespace bubblescope::gui
