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

/// Exports pictures and the report of the open trace, and copies the command line for the report. Has no effect if no
/// trace is open. GUI thread only.
class TraceExports : public QObject {
    Q_OBJECT

public:
    /// The sources must outlive the object, which is a child of `centre`.
    struct Sources {
        const ViewState& state;
        const ThemeManager& themes;
        const TraceTabs& tabs;
        CentralArea& centre;
    };
    /// `window` is the parent of dialogs.
    TraceExports(const Sources& sources, QWidget& window);

    void chooseFigure();
    /// Saves the report as a single page, as `analyze` does.
    void chooseReport();
    void copyCommand();
    /// Copies a picture of the timeline to the clipboard.
    void copyPicture();

signals:
    void written(const bubblescope::Status& status, const QString& file);
    /// Requests a message in the status bar.
    void noted(const QString& text, int milliseconds);

private:
    Sources from_;
    QWidget& window_;
};

} // namespace bubblescope::gui
