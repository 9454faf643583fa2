#pragma once

#include <QObject>
#include <QString>

#include <cstddef>
#include <optional>

class QStatusBar;
class QToolButton;

namespace bubblescope::gui {

class ElidedLabel;
class TraceTabs;

/// Content of a window's status bar: a description of the item under the pointer, the progress of loading, and a button
/// with the number of problems. A message temporarily replaces the description. A child of the bar; GUI thread only.
class StatusLine : public QObject {
    Q_OBJECT

public:
    StatusLine(QStatusBar& bar, TraceTabs& tabs);

    void setHovered(const QString& text);
    void showMessage(const QString& text, int milliseconds);
    /// Shows the number of problems found while loading. The button is hidden while the count is unknown.
    void showProblems(std::optional<std::size_t> count);

signals:
    void problemsRequested();

private:
    QStatusBar& bar_;
    ElidedLabel* hover_;
    QToolButton* problems_;
};

} // namespace bubblescope::gui
