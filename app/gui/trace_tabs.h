#pragma once

#include "app/gui/jobs/background_job.h"
#include "app/gui/trace_tab.h"
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

/// The open traces, one per tab. It loads one trace at a time in the background, and switches the views' state between
/// tabs. If a trace takes a long time to load, its beginning is shown in the meantime, provided that the front tab is
/// empty. It reads and writes session files, which list all tabs. There is always at least one tab, which may be empty.
/// Lives on the GUI thread.
class TraceTabs : public QObject {
    Q_OBJECT

public:
    /// All arguments must outlive the tabs.
    TraceTabs(RunLoader loader, ViewState& state, LiveController& live, NoteStore& notes, QObject* parent = nullptr);

    /// The views whose content the tabs save. Call it before anything is opened, and again after a rebuild.
    void setViews(ComparePanel& compare, IdealOverlay& ideal);
    /// Creates the tab bar, which is hidden while there is only one tab.
    QTabBar* makeBar(QWidget* parent);

    /// Loads the paths in the background and, on success, replaces the content of the tab in front, unless that is a
    /// watched run, which stays in its tab. A newer call supersedes it. A session file replaces all tabs. loaded() is
    /// emitted once everything requested is loaded.
    void open(const QStringList& paths);
    /// As above, in a new tab, unless the front tab is empty. Calls are queued.
    void openBeside(const QStringList& paths);
    /// Loads the trace in front again, with the user's statements about it.
    void reopen(const Taught& taught);
    /// Loads the trace in front, which was not found, from where the user has located it: from these files, or from
    /// files with the same names in their folder.
    void locate(const QStringList& paths);
    /// Opens each file of the tab in front in its own tab.
    void openApart();
    /// Opens the tab that was closed last again.
    void reopenClosed();
    /// True if any tab has content.
    [[nodiscard]] bool anyOpen() const;
    /// Cancels the current and all queued loads; cancelled() follows.
    void cancelLoad();
    /// Cancels the current load without a signal, for a window that is closing.
    void stopLoad() {
        job_.cancel();
        first_steps_.cancel();
    }
    /// Opens a tab for a watched run and brings it to the front; an empty front tab is reused. The tab of the
    /// previously watched run keeps its content.
    void showLive(const QString& title);
    /// Marks the tab of the watched run, which may not be in front; an empty text removes the mark.
    void markLive(const QString& alert);

    void show(int tab);
    /// Closes a tab; if it is the last one, an empty tab remains.
    void close(int tab);
    /// Shows the tab `by` positions further, wrapping around.
    void turn(int by);
    [[nodiscard]] int count() const { return static_cast<int>(tabs_.size()); }
    [[nodiscard]] int current() const { return current_; }
    [[nodiscard]] const TraceTab& at(int tab) const { return tabs_[static_cast<std::size_t>(tab)]; }
    [[nodiscard]] const TraceTab& front() const { return tabs_[static_cast<std::size_t>(current_)]; }
    /// The traces that the front trace can be compared with: those of other tabs and, if `recent`, those opened
    /// earlier.
    [[nodiscard]] ComparePanel::Choices runsToCompare(bool recent) const;

    /// Saves what the views show for the tab in front before a rebuild; the next function restores it afterwards.
    void saveViews();
    void restoreViews();

    /// Saves all tabs and `docks`, the arrangement of the panels. Watched runs are left out. Errors: Usage if no trace
    /// is open, and those of writeSession().
    [[nodiscard]] Status saveSession(const QString& file, const QByteArray& docks);
    /// The destination of a session's tabs.
    enum class SessionPlace { InsteadOfTabs, BesideTabs };
    /// If tabs are open, asks where to put the session's tabs by emitting sessionAsks(). A trace that cannot be loaded
    /// keeps its tab.
    void openSession(const QString& file);
    void openSession(const QString& file, SessionPlace place);

    [[nodiscard]] BackgroundJob& job() { return job_; }
    [[nodiscard]] bool loading() const { return job_.running(); }
    /// Name of the current load, or of the last one.
    [[nodiscard]] const QString& loadName() const { return load_name_; }
    /// Preview of the current load.
    [[nodiscard]] const std::shared_ptr<const LoadPreview>& preview() const { return preview_; }

signals:
    void loadStarted(const QString& name);
    /// One of the requested traces has been loaded and is in front.
    void opened(const QStringList& paths);
    /// The views show another tab.
    void switched();
    /// The window's title; empty while nothing is open.
    void titleChanged(const QString& title);
    /// Everything requested has been loaded.
    void loaded();
    /// An error to show immediately.
    void refused(const bubblescope::Error& error);
    /// The same error for callers, always emitted after the call returns.
    void failed(const bubblescope::Error& error);
    void cancelled();
    /// openSession() is waiting for an answer.
    void sessionAsks(const QString& file);
    /// The last trace of a session has been loaded; `docks` is the saved arrangement and may be empty.
    void sessionOpened(const QByteArray& docks);

private:
    /// A trace to open, and how.
    struct Request {
        QStringList paths;
        bool own_tab = false;             ///< true for a new tab, unless the one in front is empty
        std::optional<ViewSnapshot> view; ///< none = the default view
        QStringList compare;
        bool ideal = false;
        Taught taught = {};
    };
    /// A session whose traces are being loaded.
    struct OpeningSession {
        QString file;
        int current = 0;
        QByteArray docks;
        int failed = 0; ///< traces that could not be loaded
    };

    [[nodiscard]] TraceTab& inFront() { return tabs_[static_cast<std::size_t>(current_)]; }
    void updateBar();
    void showFront();
    void addTab();
    void load(const Request& request);
    /// Returns false if nothing is waiting.
    bool loadNext();
    [[nodiscard]] static Request requestOf(const TraceTab& tab);
    void keepUnopened(const Request& request, const Error& error);
    void loadFirstSteps(const Request& request);
    void showFirstSteps(const Request& request, SessionPtr begun);
    [[nodiscard]] std::optional<TimeRange> seenOfBeginning() const;
    [[nodiscard]] TraceTab* tabOfFirstSteps();
    void dropFirstSteps();
    void remove(int tab);
    [[nodiscard]] bool viewIsUsed() const;
    void fillFront(const Request& request, SessionPtr session);
    void fillBehind(TraceTab& tab, const Request& request, SessionPtr session);
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
    QString load_name_;
    BackgroundJob first_steps_; ///< loads the first steps of the trace that job_ is loading
    ViewSnapshot first_view_;   ///< the view of the first steps at the time when they were replaced
    std::shared_ptr<const LoadPreview> preview_;
    std::deque<Request> waiting_; ///< requests to load next
    std::optional<OpeningSession> opening_;
    std::vector<Request> closed_; ///< closed tabs, the last one at the end
    std::vector<TraceTab> tabs_{1};
    int current_ = 0;
};

/// Asks whether a session should replace the open tabs, and opens it.
void askAboutSession(QWidget& window, TraceTabs& tabs, const QString& file);

} // namespace bubblescope::gui
