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

/// Manages the open traces, one per tab. Loads one trace at a time in the background, and switches the state of the
/// views between tabs. If loading takes a long time and the selected tab is empty, shows a preview in the meantime.
/// Reads and writes session files, which list all tabs. There is always at least one tab, which may be empty. Lives on
/// the GUI thread.
class TraceTabs : public QObject {
    Q_OBJECT

public:
    /// All reference arguments must outlive this object.
    TraceTabs(RunLoader loader, ViewState& state, LiveController& live, NoteStore& notes, QObject* parent = nullptr);

    /// Sets the views whose content is saved with the tabs. Call this before opening traces and after recreating views.
    void setViews(ComparePanel& compare, IdealOverlay& ideal);
    /// Creates the tab bar, which is hidden while there is only one tab.
    QTabBar* makeBar(QWidget* parent);

    /// Loads the paths in the background. On success, replaces the content of the selected tab, unless that tab
    /// contains a watched run, which then keeps its tab. A later call cancels the load. A session file replaces all
    /// tabs. Emits loaded() when all requested traces have been loaded.
    void open(const QStringList& paths);
    /// Like open(), but in a new tab unless the selected tab is empty. Calls are queued.
    void openBeside(const QStringList& paths);
    /// Loads the trace of the selected tab again, with hints from the user.
    void reopen(const Taught& taught);
    /// Loads the missing trace of the selected tab from these files, or from files with the original names in their
    /// folder.
    void locate(const QStringList& paths);
    /// Opens each file of the selected tab in a separate tab.
    void openApart();
    /// Reopens the tab that was closed last.
    void reopenClosed();
    /// True if any tab has content.
    [[nodiscard]] bool anyOpen() const;
    /// Cancels the current and all queued loads; emits cancelled().
    void cancelLoad();
    /// Cancels the current load without a signal, because the window is closing.
    void stopLoad() {
        job_.cancel();
        first_steps_.cancel();
    }
    /// Opens and selects a tab for a watched run; reuses the selected tab if it is empty. The tab of the previously
    /// watched run keeps its content.
    void showLive(const QString& title);
    /// Marks the tab of the watched run, which need not be selected. An empty string removes the mark.
    void markLive(const QString& alert);

    void show(int tab);
    /// Closes a tab. If the closed tab is the last one, an empty tab remains.
    void close(int tab);
    /// Shows the tab `by` positions after the selected one, with wraparound.
    void turn(int by);
    [[nodiscard]] int count() const { return static_cast<int>(tabs_.size()); }
    [[nodiscard]] int current() const { return current_; }
    [[nodiscard]] const TraceTab& at(int tab) const { return tabs_[static_cast<std::size_t>(tab)]; }
    [[nodiscard]] const TraceTab& front() const { return tabs_[static_cast<std::size_t>(current_)]; }
    /// Traces to compare with the selected trace: those in other tabs and, if `recent` is true, those opened
    /// earlier.
    [[nodiscard]] ComparePanel::Choices runsToCompare(bool recent) const;

    /// Saves the state of the views for the selected tab before the views are recreated. The next function restores it.
    void saveViews();
    void restoreViews();

    /// Saves all tabs except watched runs, together with `docks`, the layout of the panels. Errors: Usage if no trace
    /// is open, and those of writeSession().
    [[nodiscard]] Status saveSession(const QString& file, const QByteArray& docks);
    /// Where to open the tabs of a session.
    enum class SessionPlace { InsteadOfTabs, BesideTabs };
    /// Opens a session. If there are open tabs, emits sessionAsks() to ask for the destination. A trace that cannot be
    /// loaded keeps its tab.
    void openSession(const QString& file);
    void openSession(const QString& file, SessionPlace place);

    [[nodiscard]] BackgroundJob& job() { return job_; }
    [[nodiscard]] bool loading() const { return job_.running(); }
    /// Name of the current or last load.
    [[nodiscard]] const QString& loadName() const { return load_name_; }
    /// Preview of the current load.
    [[nodiscard]] const std::shared_ptr<const LoadPreview>& preview() const { return preview_; }

signals:
    void loadStarted(const QString& name);
    /// Emitted when a requested trace has been loaded and is visible.
    void opened(const QStringList& paths);
    /// Emitted when the views show another tab.
    void switched();
    /// Reports the title for the window; empty while no trace is open.
    void titleChanged(const QString& title);
    /// Emitted when all requested traces have been loaded.
    void loaded();
    /// Reports an error that must be shown now.
    void refused(const bubblescope::Error& error);
    /// Reports the error of refused() to callers, but always after their call has returned.
    void failed(const bubblescope::Error& error);
    void cancelled();
    /// Emitted when openSession() is waiting for an answer.
    void sessionAsks(const QString& file);
    /// Emitted when the last trace of a session has been loaded. `docks` is the saved layout and may be empty.
    void sessionOpened(const QByteArray& docks);

private:
    /// A trace to open, with options.
    struct Request {
        QStringList paths;
        bool own_tab = false;             ///< true for a new tab unless the selected tab is empty
        std::optional<ViewSnapshot> view; ///< if empty, the default view
        QStringList compare;
        bool ideal = false;
        Taught taught = {};
    };
    /// A session whose traces are being loaded.
    struct OpeningSession {
        QString file;
        int current = 0;
        QByteArray docks;
        int failed = 0; ///< number of traces that could not be loaded
    };

    [[nodiscard]] TraceTab& inFront() { return tabs_[static_cast<std::size_t>(current_)]; }
    void updateBar();
    void showFront();
    void addTab();
    void load(const Request& request);
    /// Returns false if there are no waiting requests.
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
    ViewSnapshot first_view_;   ///< view of the preview at the time of its replacement
    std::shared_ptr<const LoadPreview> preview_;
    std::deque<Request> waiting_; ///< waiting requests, in order
    std::optional<OpeningSession> opening_;
    std::vector<Request> closed_; ///< closed tabs, the most recent at the end
    std::vector<TraceTab> tabs_{1};
    int current_ = 0;
};

/// Asks the user whether a session should replace the open tabs, and opens the session.
void askAboutSession(QWidget& window, TraceTabs& tabs, const QString& file);

} // namespace bubblescope::gui
