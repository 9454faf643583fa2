#pragma once

#include <QObject>
#include <QStringList>

class QDropEvent;
class QMimeData;
class QWidget;

namespace bubblescope::gui {

class ViewState;

/// The files and folders in a drag that are on this machine.
[[nodiscard]] QStringList localPaths(const QMimeData& data);

/// Accepts a drop as a copy, because a source that offers to move a file deletes it when the move is accepted.
void acceptAsCopy(QDropEvent& event);

/// Accepts files dropped on a window, and asks what to do with them: they may be the ranks of one run, several runs, or
/// a run to compare with. A child of the window; GUI thread only.
class FileDrops : public QObject {
    Q_OBJECT

public:
    FileDrops(QWidget& window, const ViewState& state);

signals:
    /// Open the files instead of the open trace.
    void openRequested(const QStringList& paths);
    /// Open the files as one run in a new tab.
    void openBesideRequested(const QStringList& paths);
    /// Open each file in its own tab.
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
