#include "app/gui/jobs/background_job.h"

#include "app/gui/jobs/application.h"

#include <QThreadPool>

#include <exception>

namespace bubblescope::gui {

namespace {

constexpr int kReportIntervalMs = 50;

} // namespace

/// Shared state of one job; lives as long as either side needs it.
struct BackgroundJob::Ticket {
    Ticket() { control.stop = source.get_token(); }

    std::stop_source source;
    JobControl control;
};

/// Where workers leave results. The owner empties it under the lock on destruction, so that a worker never posts to an
/// object that is being destroyed.
struct BackgroundJob::Mailbox {
    std::mutex mutex;
    BackgroundJob* owner = nullptr;
};

BackgroundJob::BackgroundJob(QObject* parent) : QObject(parent), mailbox_(std::make_shared<Mailbox>()) {
    mailbox_->owner = this;
    timer_.setInterval(kReportIntervalMs);
    connect(&timer_, &QTimer::timeout, this, &BackgroundJob::report);
}

BackgroundJob::~BackgroundJob() {
    drop();
    const std::scoped_lock lock(mailbox_->mutex);
    mailbox_->owner = nullptr;
}

void BackgroundJob::launch(Task task) {
    const bool was_running = running();
    drop();
    current_ = std::make_shared<Ticket>();
    timer_.start();
    if (!was_running) emit runningChanged(true);

    QThreadPool::globalInstance()->start([ticket = current_, mailbox = mailbox_, task = std::move(task)]() mutable {
        std::function<void()> result;
        try {
            result = task(ticket->control);
        } catch (...) {
            result = [error = std::current_exception()] { reportUnexpected(error); };
        }
        task = nullptr;
        const std::scoped_lock lock(mailbox->mutex);
        BackgroundJob* owner = mailbox->owner;
        if (owner == nullptr) return;
        QMetaObject::invokeMethod(
            owner, [owner, ticket, result = std::move(result)] { owner->deliver(ticket, result); },
            Qt::QueuedConnection);
    });
}

void BackgroundJob::cancel() {
    if (!running()) return;
    drop();
    emit runningChanged(false);
}

void BackgroundJob::drop() {
    if (current_) current_->source.request_stop();
    current_.reset();
    timer_.stop();
}

void BackgroundJob::deliver(const std::shared_ptr<Ticket>& ticket, const std::function<void()>& result) {
    if (ticket != current_) return;
    current_.reset();
    timer_.stop();
    emit runningChanged(false);
    result();
}

void BackgroundJob::report() {
    if (!current_) return;
    const auto total = current_->control.total.load(std::memory_order_relaxed);
    const auto done = current_->control.done.load(std::memory_order_relaxed);
    emit counted(done, total);
    emit progress(total == 0 ? -1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total)));
}

} // namespace bubblescope::gui
