#pragma once

#include "core/base/job.h"

#include <QObject>
#include <QTimer>

#include <functional>
#include <memory>
#include <mutex>

namespace bubblescope::gui {

/// Runs one piece of work at a time on a worker thread, for the GUI thread that owns this object.
///
/// Starting a new job or calling cancel() asks the old one to stop and discards its result. A result is delivered on
/// the owner's thread, and only while this object exists and the job is still the current one. Destruction never waits:
/// running work ends on its own after it sees its stop token. Work that throws has no result: the application reports
/// the error (Application).
class BackgroundJob : public QObject {
    Q_OBJECT

public:
    explicit BackgroundJob(QObject* parent = nullptr);
    ~BackgroundJob() override;

    /// `work(JobControl&)` runs on a worker thread and must not touch widgets; `done(result)` receives its result.
    template <class Work, class Done>
    void start(Work work, Done done) {
        launch([work = std::move(work), done = std::move(done)](JobControl& control) mutable {
            auto result = std::make_shared<decltype(work(control))>(work(control));
            return std::function<void()>([done = std::move(done), result] { done(std::move(*result)); });
        });
    }
    void cancel();
    [[nodiscard]] bool running() const { return current_ != nullptr; }

signals:
    void runningChanged(bool running);
    /// Between 0 and 1, emitted a few times a second while running; negative while the total is unknown.
    void progress(double fraction);
    /// The numbers behind progress(), emitted as often; `total` is 0 while unknown.
    void counted(quint64 done, quint64 total);

private:
    struct Ticket;
    struct Mailbox;
    using Task = std::function<std::function<void()>(JobControl&)>;

    void launch(Task task);
    void deliver(const std::shared_ptr<Ticket>& ticket, const std::function<void()>& result);
    void drop();
    void report();

    std::shared_ptr<Ticket> current_;
    std::shared_ptr<Mailbox> mailbox_;
    QTimer timer_;
};

} // namespace bubblescope::gui
