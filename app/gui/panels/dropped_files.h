#pragma once

#include <QObject>
#include <QStringList>

class QDropEvent;
class QMimeData;
class QWidget;

namespace bubblescope::gui {

class ViewState;

/// The files and folders of a drag that are on this machine.
[[nodiscard]] QStringList localPaths(const QMimeData& data);

/// Accepts a drop as a copy: a source that offers to move a file deletes it where the move is accepted.
void acceptAsCopy(QDropEvent& event);

/// Accepts files dropped on a window and asks what to do with them: they may be the ranks of one run, or several runs,
/// or a run to compare with. A child of the window; GUI thread only.
class FileDrops : public QObject {
    Q_OBJECT

public:
    FileDrops(QWidget& window, const ViewState& state);

signals:
    /// Instead of the open trace.
    void openRequested(const QStringList& paths);
    /// In a new tab, as one run.
    void openBesideRequested(const QStringList& paths);
    /// Each in a tab.
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
