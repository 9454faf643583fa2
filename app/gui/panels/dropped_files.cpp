#include "app/gui/panels/dropped_files.h"

#include <QDropEvent>
#include <QMimeData>
#include <QUrl>

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

} // namespace bubblescope::gui
