#pragma once

#include "core/base/result.h"

#include <QObject>
#include <QString>

class QWidget;

namespace bubblescope::gui {

class CentralArea;
class ThemeManager;
class TraceTabs;
class ViewState;

/// Exports of a window: pictures and the report of the open trace, and the command that reports on it. Does nothing
/// without an open trace. GUI thread only.
class TraceExports : public QObject {
    Q_OBJECT

public:
    /// They must outlive the object, which is a child of `centre`.
    struct Sources {
        const ViewState& state;
        const ThemeManager& themes;
        const TraceTabs& tabs;
        CentralArea& centre;
    };
    /// Dialogs belong to `window`.
    TraceExports(const Sources& sources, QWidget& window);

    void chooseFigure();
    /// Saves the report as one page, like `analyze`.
    void chooseReport();
    void copyCommand();
    /// Copies a picture of the timeline.
    void copyPicture();

signals:
    void written(const bubblescope::Status& status, const QString& file);
    /// For the status bar.
    void noted(const QString& text, int milliseconds);

private:
    Sources from_;
    QWidget& window_;
};

} // namespace bubblescope::gui
