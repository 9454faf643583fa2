#include "app/gui/main_window.h"
#include "app/gui/models/session_file.h"
#include "app/gui/panels/message_bar.h"

#include <QFileDialog>
#include <QStatusBar>
#include <QTabBar>
#include <QTimer>

namespace bubblescope::gui {

namespace {

QStringList toStrings(const std::vector<std::filesystem::path>& paths) {
    QStringList out;
    for (const std::filesystem::path& path : paths)
        out << QString::fromStdString(path.string());
    return out;
}

std::vector<std::filesystem::path> toFiles(const QStringList& paths) {
    std::vector<std::filesystem::path> out;
    for (const QString& path : paths)
        out.emplace_back(path.toStdString());
    return out;
}

QString sessionFilter() {
    return MainWindow::tr("Sessions (*%1)").arg(QLatin1String(kSessionSuffix.data(), kSessionSuffix.size()));
}

} // namespace

void MainWindow::saveSession(const QString& file) {
    keepTab();
    SavedSession session;
    for (std::size_t tab = 0; tab < tabs_.size(); ++tab) {
        const TraceTab& trace = tabs_[tab];
        if (trace.paths.isEmpty() || !trace.session) continue; // a run that is watched lies in no file yet
        if (static_cast<int>(tab) == tab_) session.current = static_cast<int>(session.traces.size());
        session.traces.push_back({toFiles(trace.paths), toFiles(trace.comparison.paths), trace.view, trace.ideal});
    }
    if (session.traces.empty()) {
        message_->showError(usageError(tr("There is no trace to save a session of").toStdString(),
                                       tr("open a trace first").toStdString()));
        return;
    }
    session.docks = saveState(kLayoutVersion).toBase64().toStdString();
    const Status written = writeSession(file.toStdString(), session);
    if (!written.ok()) return message_->showError(written.error());
    statusBar()->showMessage(tr("Written: %1").arg(file), 4000);
}

void MainWindow::openSession(const QString& file) {
    Result<SavedSession> read = readSession(file.toStdString());
    if (!read.ok()) {
        message_->showError(read.error());
        // As with traces, the answer comes after the call.
        QTimer::singleShot(0, this, [this, error = read.error()] { emit failed(error); });
        return;
    }
    waiting_.clear();
    job_.cancel();
    while (tabs_.size() > 1)
        closeTab(static_cast<int>(tabs_.size()) - 1);
    closeTab(0);
    for (const SavedTrace& trace : read.value().traces)
        waiting_.push_back({toStrings(trace.files), true, trace.view, toStrings(trace.compare), trace.ideal});
    opening_ =
        OpeningSession{read.value().current, QByteArray::fromBase64(QByteArray::fromStdString(read.value().docks))};
    loadNext();
}

/// The last trace of a session is there.
void MainWindow::finishSession() {
    if (!opening_) return;
    const OpeningSession opening = *opening_;
    opening_.reset();
    if (!opening.docks.isEmpty()) restoreState(opening.docks, kLayoutVersion); // refused where it is of another version
    tab_bar_->setCurrentIndex(opening.current);
}

void MainWindow::chooseSessionToSave() {
    auto* dialog = new QFileDialog(this, tr("Save session"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilters({sessionFilter()});
    connect(dialog, &QFileDialog::fileSelected, this, [this](QString file) {
        const QLatin1String suffix(kSessionSuffix.data(), kSessionSuffix.size());
        if (!file.endsWith(suffix)) file += suffix;
        saveSession(file);
    });
    dialog->open();
}

void MainWindow::chooseSessionToOpen() {
    auto* dialog = new QFileDialog(this, tr("Open session"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    dialog->setNameFilters({sessionFilter(), tr("All files (*)")});
    connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::openSession);
    dialog->open();
}

} // namespace bubblescope::gui
