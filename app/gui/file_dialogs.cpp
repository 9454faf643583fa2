#include "app/gui/file_dialogs.h"

#include "app/gui/models/notes.h"
#include "app/gui/models/session_file.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QSortFilterProxyModel>

namespace bubblescope::gui {

namespace {

struct DialogText {
    Q_DECLARE_TR_FUNCTIONS(FileDialogs)
};

/// Leaves files of notes out of a file dialog: their names look like traces.
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
    return DialogText::tr("Sessions (*%1)").arg(sessionSuffix());
}

QFileDialog& newDialog(QWidget& window, const QString& title, QFileDialog::FileMode mode) {
    auto* dialog = new QFileDialog(&window, title);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(mode);
    if (mode == QFileDialog::AnyFile) dialog->setAcceptMode(QFileDialog::AcceptSave);
    return *dialog;
}

} // namespace

void askForTraces(QWidget& window, const QString& title, const FilesChosen& chosen) {
    QFileDialog& dialog = newDialog(window, title, QFileDialog::ExistingFiles);
    dialog.setOption(QFileDialog::DontUseNativeDialog); // which filters by endings alone
    dialog.setProxyModel(new WithoutNotes(&dialog));
    dialog.setNameFilters(
        {DialogText::tr("Traces (*.pftrace *.perfetto-trace *.json *.json.gz *.gz)"), DialogText::tr("All files (*)")});
    QObject::connect(&dialog, &QFileDialog::filesSelected, &window, chosen);
    dialog.open();
}

void askForTraceFolder(QWidget& window, const FilesChosen& chosen) {
    QFileDialog& dialog = newDialog(window, DialogText::tr("Open a directory of traces"), QFileDialog::Directory);
    dialog.setOption(QFileDialog::ShowDirsOnly);
    QObject::connect(&dialog, &QFileDialog::filesSelected, &window, chosen);
    dialog.open();
}

void askForSession(QWidget& window, const FileChosen& chosen) {
    QFileDialog& dialog = newDialog(window, DialogText::tr("Open session"), QFileDialog::ExistingFile);
    dialog.setNameFilters({sessionFilter(), DialogText::tr("All files (*)")});
    QObject::connect(&dialog, &QFileDialog::fileSelected, &window, chosen);
    dialog.open();
}

void askWhereToExport(QWidget& window, const QString& suggested, const FileChosen& chosen) {
    QFileDialog& dialog = newDialog(window, DialogText::tr("Export the timeline"), QFileDialog::AnyFile);
    dialog.setDefaultSuffix(QStringLiteral("png"));
    dialog.selectFile(suggested);
    dialog.setNameFilters({DialogText::tr("Pictures (*.png *.svg *.pdf)")});
    QObject::connect(&dialog, &QFileDialog::fileSelected, &window, chosen);
    dialog.open();
}

void askWhereToSaveSession(QWidget& window, const FileChosen& chosen) {
    QFileDialog& dialog = newDialog(window, DialogText::tr("Save session"), QFileDialog::AnyFile);
    dialog.setNameFilters({sessionFilter()});
    QObject::connect(&dialog, &QFileDialog::fileSelected, &window, [chosen](const QString& file) {
        chosen(file.endsWith(sessionSuffix()) ? file : file + sessionSuffix());
    });
    dialog.open();
}

} // namespace bubblescope::gui
