#pragma once

#include "core/base/result.h"

#include <QStringList>
#include <QWidget>

class QLabel;

namespace bubblescope::gui {

/// The page of a tab whose trace could not be opened: the reason, its location, and buttons to locate it.
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
