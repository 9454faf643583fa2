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

/// Runs one piece of work at a time on a thread of Qt's pool, for the GUI thread that owns this object. It is similar
/// to a future, but its work receives a stop token and reports progress.
///
/// Starting a new job or calling cancel() asks the old one to stop and discards its result. A result is delivered on
/// the owner's thread, and only if this object still exists and the job is still the current one. Destruction never
/// waits: running work ends on its own once it sees its stop token. Work that throws an exception has no result; the
/// application reports the error (Application).
class BackgroundJob : public QObject {
    Q_OBJECT

public:
    explicit BackgroundJob(QObject* parent = nullptr);
    ~BackgroundJob() override { drop(); }

    /// `work(JobControl&)` runs on a worker thread and must not touch widgets; `done(result)` receives its result.
    template <class Work, class Done>
    void start(Work work, Done done) {
        using Answer = std::invoke_result_t<Work&, JobControl&>;
        static_assert(std::is_nothrow_move_constructible_v<Answer>, "QFuture would copy the result");
        mustStartThreads();
        /// Qt would need memory to hold an exception, even one that says that there is none.
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
    /// Between 0 and 1, emitted several times a second while running; negative while the total is unknown.
    void progress(double fraction);
    /// The numbers from which progress() is computed, emitted equally often; `total` is 0 while unknown.
    void counted(quint64 done, quint64 total);

private:
    /// The state shared by a job and its work.
    struct Ticket {
        Ticket() { control.stop = source.get_token(); }

        std::stop_source source;
        JobControl control;
    };

    /// Throws if the system starts no more threads: Qt's pool would lose the work without an error.
    static void mustStartThreads();
    std::shared_ptr<Ticket> begin(QFutureWatcherBase& watcher);
    void end();
    void drop();
    void report();

    std::shared_ptr<Ticket> ticket_;
    QFutureWatcherBase* watcher_ = nullptr; ///< watches the current job; null if none runs
    QTimer timer_;
};

} // namespace bubblescope::gui
