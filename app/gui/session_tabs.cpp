#include "app/gui/language/text.h"
#include "app/gui/trace_tabs.h"

#include "app/gui/models/session_file.h"

#include <QDir>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>
#include <QTabBar>
#include <QTimer>

#include <utility>

namespace bubblescope::gui {

Status TraceTabs::saveSession(const QString& file, const QByteArray& docks) {
    saveViews();
    SavedSession session;
    for (std::size_t tab = 0; tab < tabs_.size(); ++tab) {
        const TraceTab& trace = tabs_[tab];
        // A run that is being watched is not stored in a file yet.
        if (trace.paths.isEmpty() || (!trace.session && !trace.failure)) continue;
        if (static_cast<int>(tab) == current_) session.current = static_cast<int>(session.traces.size());
        session.traces.push_back(
            {toFiles(trace.paths), toFiles(trace.comparison.paths), trace.view, trace.ideal, trace.taught});
        if (!trace.first_steps_only) continue;
        forgetPartOfTrace(session.traces.back().view);
        if (!trace.session->hasSteps()) session.traces.back().view = {}; // its clock differs
    }
    if (session.traces.empty())
        return usageError(tr("There is no open trace to save in a session").toStdString(),
                          tr("open a trace first").toStdString());
    session.docks = docks.toBase64().toStdString();
    return writeSession(file.toStdString(), session);
}

void TraceTabs::openSession(const QString& file) {
    if (anyOpen()) return emit sessionAsks(file);
    openSession(file, SessionPlace::InsteadOfTabs);
}

void TraceTabs::openSession(const QString& file, SessionPlace place) {
    Result<SavedSession> read = readSession(file.toStdString());
    if (!read.ok()) {
        emit refused(read.error());
        QTimer::singleShot(0, this, [this, error = read.error()] { emit failed(error); });
        return;
    }
    waiting_.clear();
    job_.cancel();
    dropFirstSteps();
    if (place == SessionPlace::InsteadOfTabs) {
        while (count() > 1)
            close(count() - 1);
        close(0);
    }
    const int before = front().empty() && count() == 1 ? 0 : count();
    for (const SavedTrace& trace : read.value().traces)
        waiting_.push_back(
            {toStrings(trace.files), true, trace.view, toStrings(trace.compare), trace.ideal, trace.taught});
    const QByteArray docks = QByteArray::fromBase64(QByteArray::fromStdString(read.value().docks));
    opening_ = OpeningSession{file, before + read.value().current,
                              place == SessionPlace::BesideTabs ? QByteArray() : docks, 0};
    loadNext();
}

/// The last trace of a session is loaded.
void TraceTabs::finishSession() {
    if (!opening_) return;
    const OpeningSession opening = *opening_;
    opening_.reset();
    emit sessionOpened(opening.docks);
    bar_->setCurrentIndex(opening.current);
    if (opening.failed == 0) return;
    emit refused(
        inputError(opening.file.toStdString(),
                   tr("%Ln trace(s) of this session could not be opened", nullptr, opening.failed).toStdString(),
                   tr("locate them in their tabs; the session still contains them").toStdString()));
}

/// If a trace of a session, or of a reopened tab, cannot be loaded, it keeps its tab and its saved data.
void TraceTabs::keepUnopened(const Request& request, const Error& error) {
    if (opening_) ++opening_->failed;
    if (request.own_tab) {
        saveViews();
        addTab();
    }
    TraceTab tab = tabOf(request.paths, nullptr, request.taught);
    tab.view = *request.view;
    tab.comparison = {request.compare, nullptr, false};
    tab.ideal = request.ideal;
    tab.failure = error;
    inFront() = std::move(tab);
    showFront();
}

namespace {

/// Files of a trace as located by the user: either the same number of files, or the files with the original names in
/// the folder of the first.
QStringList located(const QStringList& before, const QStringList& chosen) {
    const QFileInfo first(chosen.front());
    const bool folder = first.isDir() && before.size() > 1;
    if (!folder && (chosen.size() == before.size() || chosen.size() > 1)) return chosen;
    const QDir place = folder ? QDir(chosen.front()) : first.dir();
    QStringList out;
    for (const QString& path : before) {
        const QString there = place.filePath(QFileInfo(path).fileName());
        if (QFileInfo::exists(there)) out << there;
    }
    return out.isEmpty() ? chosen : out;
}

} // namespace

void TraceTabs::locate(const QStringList& paths) {
    if (!front().failure || paths.isEmpty() || loading()) return;
    Request request = requestOf(front());
    request.own_tab = false;
    request.paths = located(front().paths, paths);
    load(request);
}

void askAboutSession(QWidget& window, TraceTabs& tabs, const QString& file) {
    auto* const box =
        new QMessageBox(QMessageBox::Question, tr("Open session"),
                        tr("Close the open traces, or open the session alongside them?"), QMessageBox::Cancel, &window);
    box->setObjectName(QStringLiteral("sessionQuestion"));
    box->setAttribute(Qt::WA_DeleteOnClose);
    const auto add = [&](const char* name, const QString& text, TraceTabs::SessionPlace place) {
        QPushButton* const button = box->addButton(text, QMessageBox::AcceptRole);
        button->setObjectName(QString::fromLatin1(name));
        QObject::connect(button, &QPushButton::clicked, &tabs, [&tabs, file, place] { tabs.openSession(file, place); });
    };
    add("sessionBeside", tr("Open &alongside"), TraceTabs::SessionPlace::BesideTabs);
    add("sessionInstead", tr("&Close them"), TraceTabs::SessionPlace::InsteadOfTabs);
    box->open();
}

} // namespace bubblescope::gui
