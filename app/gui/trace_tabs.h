#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/models/view_state.h"
#include "app/gui/panels/compare_panel.h"
#include "core/trace/load_preview.h"

#include <QPointer>
#include <QString>
#include <QStringList>

#include <deque>
#include <memory>
#include <optional>
#include <vector>

class QTabBar;

namespace bubblescope::gui {

class IdealOverlay;
class LiveController;
class NoteStore;

/// A trace that is open, with what its view showed when another tab came in front. While its tab is in front, the
/// views' state is the truth, and what stands here is what they showed before.
struct TraceTab {
    QStringList paths; ///< opened together; none while the tab is empty, and of a run that is watched
    QString title;     ///< empty while the tab is empty
    SessionPtr session;
    ViewSnapshot view;
    KeptComparison comparison;
    bool ideal = false; ///< whether the ideal step was shown
    bool live = false;  ///< the run that is watched

    [[nodiscard]] bool empty() const { return !session && !live; }
};

/// The open traces, one a tab. Loads one trace at a time in the background, and switches the views' state between tabs.
/// Sessions, which are files that list all tabs, are read and written here. There is always one tab at least, which
/// may be empty. Lives on the GUI thread.
class TraceTabs : public QObject {
    Q_OBJECT

public:
    /// All of them must outlive the tabs.
    TraceTabs(RunLoader loader, ViewState& state, LiveController& live, NoteStore& notes, QObject* parent = nullptr);

    /// The views whose contents tabs keep; to be set before anything is opened, and again when they are made anew.
    void setViews(ComparePanel& compare, IdealOverlay& ideal);
    /// The bar of all tabs, hidden while there is one only.
    QTabBar* makeBar(QWidget* parent);

    /// Loads in the background and replaces what the tab in front shows when it succeeds; a newer call wins. The file
    /// of a session replaces all tabs. loaded() comes once all that was asked for is there.
    void open(const QStringList& paths);
    /// The same in a tab of its own, unless there is nothing in the one in front. Calls wait for one another.
    void openBeside(const QStringList& paths);
    /// Drops what is loading and what waits for it; cancelled() follows.
    void cancelLoad();
    /// Ends what is loading without a word, for a window that closes.
    void stopLoad() { job_.cancel(); }
    /// The tab in front becomes that of a run that is watched; no other one is watched from now on.
    void showLive(const QString& title);

    void show(int tab);
    /// The last one leaves an empty tab.
    void close(int tab);
    /// Shows the tab `by` further, around the ends.
    void turn(int by);
    [[nodiscard]] int count() const { return static_cast<int>(tabs_.size()); }
    [[nodiscard]] int current() const { return current_; }
    [[nodiscard]] const TraceTab& front() const { return tabs_[static_cast<std::size_t>(current_)]; }

    /// Writes down what the views show of the tab in front, before they are made anew, and has new ones show it again.
    void keep();
    void bringBack();

    /// All tabs with `docks`, where the panels are. Runs that are watched are left out. Errors: Usage where no trace
    /// is open, and those of writeSession().
    [[nodiscard]] Status saveSession(const QString& file, const QByteArray& docks);
    void openSession(const QString& file);

    [[nodiscard]] BackgroundJob& job() { return job_; }
    [[nodiscard]] bool loading() const { return job_.running(); }
    /// Of the load that is running.
    [[nodiscard]] const std::shared_ptr<const LoadPreview>& preview() const { return preview_; }

signals:
    void loadStarted(const QString& name);
    /// One of the traces that were asked for is there and in front.
    void opened(const QStringList& paths);
    /// The views show another tab.
    void switched();
    /// What the window is to be called; empty while nothing is open.
    void titleChanged(const QString& title);
    /// All that was asked for is there.
    void loaded();
    /// Something cannot be opened: to be shown at once.
    void refused(const bubblescope::Error& error);
    /// The same for callers, always after the call.
    void failed(const bubblescope::Error& error);
    void cancelled();
    /// The last trace of a session is there; `docks` is where its panels were, which may be empty.
    void sessionOpened(const QByteArray& docks);

private:
    /// A trace that is to be opened, and how.
    struct Request {
        QStringList paths;
        bool own_tab = false;             ///< in a tab of its own, unless the one in front is empty
        std::optional<ViewSnapshot> view; ///< else as each trace is shown first
        QStringList compare;
        bool ideal = false;
    };
    /// Of a session whose traces are being loaded.
    struct OpeningSession {
        int current = 0;
        QByteArray docks;
    };

    [[nodiscard]] TraceTab& inFront() { return tabs_[static_cast<std::size_t>(current_)]; }
    void updateBar();
    void bring();
    void load(const Request& request);
    void loadNext();
    void finishLoad(const Request& request, Result<SessionPtr> result);
    void finishSession();

    RunLoader loader_;
    ViewState& state_;
    LiveController& live_;
    NoteStore& notes_;
    ComparePanel* compare_ = nullptr;
    IdealOverlay* ideal_ = nullptr;
    QPointer<QTabBar> bar_;
    BackgroundJob job_;
    std::shared_ptr<const LoadPreview> preview_;
    std::deque<Request> waiting_; ///< to be loaded after the one that is
    std::optional<OpeningSession> opening_;
    std::vector<TraceTab> tabs_{1};
    int current_ = 0;
};

} // namespace bubblescope::gui
