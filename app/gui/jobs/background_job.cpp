#include "app/gui/jobs/background_job.h"

#include <algorithm>
#include <thread>

namespace bubblescope::gui {

namespace {

constexpr int kReportIntervalMs = 50;

} // namespace

BackgroundJob::BackgroundJob(QObject* parent) : QObject(parent) {
    timer_.setInterval(kReportIntervalMs);
    connect(&timer_, &QTimer::timeout, this, &BackgroundJob::report);
}

void BackgroundJob::mustStartThreads() {
    std::thread([] {}).join();
}

std::shared_ptr<BackgroundJob::Ticket> BackgroundJob::begin(QFutureWatcherBase& watcher) {
    drop();
    watcher_ = &watcher;
    ticket_ = std::make_shared<Ticket>();
    timer_.start();
    return ticket_;
}

void BackgroundJob::end() {
    watcher_->deleteLater(); // not deleted immediately, because it may be the caller
    watcher_ = nullptr;
    timer_.stop();
    emit runningChanged(false);
}

void BackgroundJob::cancel() {
    if (!running()) return;
    drop();
    emit runningChanged(false);
}

void BackgroundJob::drop() {
    if (!running()) return;
    ticket_->source.request_stop();
    watcher_->cancel(); // prevents the start of waiting work
    delete std::exchange(watcher_, nullptr);
    timer_.stop();
}

void BackgroundJob::report() {
    const auto total = ticket_->control.total.load(std::memory_order_relaxed);
    const auto done = ticket_->control.done.load(std::memory_order_relaxed);
    emit counted(done, total);
    emit progress(total == 0 ? -1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total)));
}

} // namespace bubblescope::gui
