#pragma once

#include "core/base/job.h"

#include <QFutureWatcher>
#include <QObject>
#include <QTimer>
#include <QtConcurrentRun>

#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace bubblescope::gui {

/// Runs one task at a time on Qt's thread pool, on behalf of the GUI thread. Similar to a future, but the task receives
/// a stop token and reports progress.
///
/// Starting a new job or calling cancel() requests that the old job stop, and discards its result. A result is
/// delivered on the GUI thread, and only if this object still exists and the job is still current. The destructor never
/// waits; a running task ends when it checks its stop token. If a task throws an exception, the task has no result, and
/// the application shows the error (see Application).
class BackgroundJob : public QObject {
    Q_OBJECT

public:
    explicit BackgroundJob(QObject* parent = nullptr);
    ~BackgroundJob() override { drop(); }

    /// `work(JobControl&)` runs on a worker thread and must not access widgets; `done(result)` receives its result.
    template <class Work, class Done>
    void start(Work work, Done done) {
        using Answer = std::invoke_result_t<Work&, JobControl&>;
        static_assert(std::is_nothrow_move_constructible_v<Answer>, "QFuture would copy the result");
        mustStartThreads();
        /// Stores an exception without allocating memory. QFuture would allocate memory even to store std::bad_alloc.
        struct Outcome {
            std::optional<Answer> answer;
            std::exception_ptr failure;
        };
        const bool was_running = running();
        auto* const watcher = new QFutureWatcher<Outcome>;
        const std::shared_ptr<Ticket> ticket = begin(*watcher);
        connect(watcher, &QFutureWatcherBase::finished, this, [this, watcher, done = std::move(done)]() mutable {
            QFuture<Outcome> future = watcher->future();
            end();
            Outcome outcome = future.takeResult();
            if (outcome.failure) std::rethrow_exception(outcome.failure);
            done(*std::move(outcome.answer));
        });
        watcher->setFuture(QtConcurrent::run([ticket, work = std::move(work)]() mutable noexcept {
            Outcome outcome;
            try {
                outcome.answer.emplace(work(ticket->control));
            } catch (...) {
                outcome.failure = std::current_exception();
            }
            return outcome;
        }));
        if (!was_running) emit runningChanged(true);
    }
    void cancel();
    [[nodiscard]] bool running() const { return watcher_ != nullptr; }

signals:
    void runningChanged(bool running);
    /// A fraction between 0 and 1, or a negative number while the total is unknown. Emitted several times per second.
    void progress(double fraction);
    /// Emitted with progress(), with the numbers from which its fraction is computed. `total` is 0 while unknown.
    void counted(quint64 done, quint64 total);

private:
    /// State that a job shares with its task.
    struct Ticket {
        Ticket() { control.stop = source.get_token(); }

        std::stop_source source;
        JobControl control;
    };

    /// Throws an exception if no thread can be started, because Qt's pool would then silently drop the task.
    static void mustStartThreads();
    std::shared_ptr<Ticket> begin(QFutureWatcherBase& watcher);
    void end();
    void drop();
    void report();

    std::shared_ptr<Ticket> ticket_;
    QFutureWatcherBase* watcher_ = nullptr; ///< watches the current job; null if no job is running
    QTimer timer_;
};

} // namespace bubblescope::gui
