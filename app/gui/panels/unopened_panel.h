#pragma once

#include "core/base/result.h"

#include <QStringList>
#include <QWidget>

class QLabel;

namespace bubblescope::gui {

/// Page of a tab whose trace could not be opened: the reason, the path, and buttons to locate the trace.
class UnopenedPanel : public QWidget {
    Q_OBJECT

public:
    explicit UnopenedPanel(QWidget* parent = nullptr);

    void show(const QStringList& paths, const Error& why);

signals:
    void locateFilesRequested();
    void locateFolderRequested();
    void retryRequested();

private:
    QLabel* why_;
    QLabel* paths_;
};

} // namespace bubblescope::gui
