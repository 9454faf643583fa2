#pragma once

#include <QObject>
#include <QStringList>

class QDropEvent;
class QMimeData;
class QWidget;

namespace bubblescope::gui {

class ViewState;

/// Paths of the local files and folders in a drag.
[[nodiscard]] QStringList localPaths(const QMimeData& data);

/// Accepts a drop as a copy. If the drop were accepted as a move, the source would delete the file.
void acceptAsCopy(QDropEvent& event);

/// Accepts files dropped on a window and asks the user how to open them: as the ranks of one run, as several runs, or
/// as a run to compare with. A child of the window; GUI thread only.
class FileDrops : public QObject {
    Q_OBJECT

public:
    FileDrops(QWidget& window, const ViewState& state);

signals:
    /// Requests that the files replace the open trace.
    void openRequested(const QStringList& paths);
    /// Requests that the files be opened as one run in a new tab.
    void openBesideRequested(const QStringList& paths);
    /// Requests that each file be opened in a separate tab.
    void openEachRequested(const QStringList& paths);
    void compareRequested(const QStringList& paths);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void askAbout(const QStringList& paths, QPoint place);

    QWidget& window_;
    const ViewState& state_;
};

} // namespace bubblescope::gui
