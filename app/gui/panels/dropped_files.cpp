#include "app/gui/panels/dropped_files.h"

#include "app/gui/models/view_state.h"

#include <QDropEvent>
#include <QMenu>
#include <QMimeData>
#include <QUrl>
#include <QWidget>

namespace bubblescope::gui {

QStringList localPaths(const QMimeData& data) {
    QStringList paths;
    for (const QUrl& url : data.urls()) {
        if (url.isLocalFile()) paths << url.toLocalFile();
    }
    return paths;
}

void acceptAsCopy(QDropEvent& event) {
    event.setDropAction(Qt::CopyAction);
    event.accept();
}

FileDrops::FileDrops(QWidget& window, const ViewState& state) : QObject(&window), window_(window), state_(state) {
    window.setAcceptDrops(true);
    window.installEventFilter(this);
}

bool FileDrops::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::DragEnter && event->type() != QEvent::Drop)
        return QObject::eventFilter(watched, event);
    auto& drop = static_cast<QDropEvent&>(*event);
    const QStringList paths = localPaths(*drop.mimeData());
    if (paths.isEmpty()) return false;
    acceptAsCopy(drop);
    if (event->type() == QEvent::Drop) askAbout(paths, window_.mapToGlobal(drop.position().toPoint()));
    return true;
}

void FileDrops::askAbout(const QStringList& paths, QPoint place) {
    const bool any = state_.session() != nullptr;
    if (!any && paths.size() == 1) return emit openRequested(paths);
    auto* menu = new QMenu(&window_);
    menu->setObjectName(QStringLiteral("dropMenu"));
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto add = [&](const QString& text, void (FileDrops::*request)(const QStringList&)) {
        menu->addAction(text, this, [this, request, paths] { emit(this->*request)(paths); });
    };
    if (paths.size() > 1) {
        add(tr("Open together, as one run"), &FileDrops::openBesideRequested);
        add(tr("Open each in a tab"), &FileDrops::openEachRequested);
    } else {
        add(tr("Open in a tab"), &FileDrops::openBesideRequested);
    }
    if (any) {
        add(tr("Open instead"), &FileDrops::openRequested);
        add(tr("Compare with the open run"), &FileDrops::compareRequested);
    }
    menu->popup(place);
}

} // namespace bubblescope::gui
