#include "app/gui/panels/file_dialogs.h"

#include "app/gui/language/text.h"
#include "app/gui/models/notes.h"
#include "app/gui/models/session_file.h"

#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QSettings>
#include <QSortFilterProxyModel>
#include <QStandardPaths>

namespace bubblescope::gui {

namespace {

/// Hides files of notes in a file dialog, because their names look like traces.
class WithoutNotes : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
        return !isNotesFile(sourceModel()->index(row, 0, parent).data().toString().toStdString());
    }
};

const QLatin1String& sessionSuffix() {
    static const QLatin1String suffix(kSessionSuffix.data(), kSessionSuffix.size());
    return suffix;
}

QString sessionFilter() {
    return tr("Sessions (*%1)").arg(sessionSuffix());
}

const QString kSaveFolderKey = QStringLiteral("dialogs/save");

QString saveFolder() {
    const QString last = QSettings().value(kSaveFolderKey).toString();
    if (!last.isEmpty() && QFileInfo(last).isDir()) return last;
    const QString documents = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
    return QFileInfo(documents).isDir() ? documents : QDir::homePath();
}

QFileDialog& newDialog(QWidget& window, const QString& title, QFileDialog::FileMode mode) {
    auto* dialog = new QFileDialog(&window, title);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(mode);
    if (mode == QFileDialog::AnyFile) dialog->setAcceptMode(QFileDialog::AcceptSave);
    return *dialog;
}

} // namespace

void openDialog(QDialog* dialog) {
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->open();
}

void askForTraces(QWidget& window, const QString& title, const FilesChosen& chosen) {
    QFileDialog& dialog = newDialog(window, title, QFileDialog::ExistingFiles);
    dialog.setOption(QFileDialog::DontUseNativeDialog); // the native dialog filters only by file name endings
    dialog.setProxyModel(new WithoutNotes(&dialog));
    dialog.setNameFilters({tr("Traces (*.pftrace *.perfetto-trace *.perfetto *.json *.jsonl *.sqlite *.db "
                              "*.rpd *.log *.txt *.gz *.zst)"),
                           tr("All files (*)")});
    QObject::connect(&dialog, &QFileDialog::filesSelected, &window, chosen);
    dialog.open();
}

void askForTraceFolder(QWidget& window, const FilesChosen& chosen) {
    QFileDialog& dialog = newDialog(window, tr("Open a directory of traces"), QFileDialog::Directory);
    dialog.setOption(QFileDialog::ShowDirsOnly);
    QObject::connect(&dialog, &QFileDialog::filesSelected, &window, chosen);
    dialog.open();
}

void askForSession(QWidget& window, const FileChosen& chosen) {
    QFileDialog& dialog = newDialog(window, tr("Open session"), QFileDialog::ExistingFile);
    dialog.setNameFilters({sessionFilter(), tr("All files (*)")});
    QObject::connect(&dialog, &QFileDialog::fileSelected, &window, chosen);
    dialog.open();
}

void askWhereToSave(QWidget& window, const NewFile& file, const FileChosen& chosen) {
    QFileDialog& dialog = newDialog(window, file.title, QFileDialog::AnyFile);
    dialog.setDirectory(saveFolder());
    dialog.setDefaultSuffix(file.suffix);
    dialog.setNameFilters({file.filter});
    if (!file.name.isEmpty()) dialog.selectFile(file.name);
    QObject::connect(&dialog, &QFileDialog::fileSelected, &window, [chosen](const QString& path) {
        QSettings().setValue(kSaveFolderKey, QFileInfo(path).absolutePath());
        chosen(path);
    });
    dialog.open();
}

void askWhereToSaveSession(QWidget& window, const QString& name, const FileChosen& chosen) {
    const NewFile file{tr("Save session"), name + sessionSuffix(), {}, sessionFilter()};
    askWhereToSave(window, file, [chosen](const QString& path) {
        chosen(path.endsWith(sessionSuffix()) ? path : path + sessionSuffix());
    });
}

} // namespace bubblescope::gui
