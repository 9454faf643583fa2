#include "core/base/parallel.h"

#include "core/base/core_count.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace bubblescope::detail {
namespace {

/// Calls functions on other threads, started in the order of submission. A thread is created if there is work and no
/// idle thread, up to one per core, not counting threads that wait for results. Idle threads sleep, because spinning
/// would take time from busy threads (on two cores, a fifth of the timeline's frame rate).
class Threads {
public:
    /// Never destroyed, because work may run until the process ends. A forked process has none of the threads and
    /// starts new ones.
    static Threads& shared() {
        Threads* known = current_.load();
        if (known == nullptr) {
            auto made = std::make_unique<Threads>();
            if (current_.compare_exchange_strong(known, made.get())) known = made.release();
            static const int forgets = pthread_atfork(nullptr, nullptr, [] { current_ = nullptr; });
            (void)forgets;
        }
        return *known;
    }
    void enqueue(std::function<void()> work) {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(work));
        if (idle_ < waiting_.size() && started_ < coreCount()) startOne();
        ready_.notify_one();
    }

private:
    static inline std::atomic<Threads*> current_{nullptr};

    void startOne() {
        try {
            std::thread([this] { serve(); }).detach();
            ++started_;
        } catch (const std::exception&) { // NOLINT(bugprone-empty-catch)
            // The system cannot create another thread. Threads that need the result will run the task themselves.
        }
    }
    [[noreturn]] void serve() {
        std::unique_lock lock(mutex_);
        while (true) {
            ++idle_;
            ready_.wait(lock, [this] { return !waiting_.empty(); });
            --idle_;
            std::function<void()> work = std::move(waiting_.front());
            waiting_.pop_front();
            lock.unlock();
            work();
            work = nullptr;
            lock.lock();
        }
    }

    std::mutex mutex_;
    std::condition_variable ready_;
    std::deque<std::function<void()>> waiting_;
    std::size_t started_ = 0;
    std::size_t idle_ = 0; ///< number of idle threads among them
};

} // namespace

bool parallelFor(std::size_t count, const std::function<bool(std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stopped{false};
    std::mutex failure_mutex;
    std::exception_ptr failure; ///< the first exception thrown
    const auto drain = [&] {
        try {
            for (std::size_t i = next++; i < count && !stopped; i = next++) {
                if (!work(i)) stopped = true;
            }
        } catch (...) {
            stopped = true;
            const std::lock_guard lock(failure_mutex);
            if (!failure) failure = std::current_exception();
        }
    };
    {
        TaskQueue helpers;
        for (std::size_t i = 1; i < std::min(count, coreCount()); ++i)
            helpers.add(drain);
        drain();
    } // tasks that have not started would find no more work
    if (failure) std::rethrow_exception(failure);
    return !stopped;
}

/// A task that runs once, on the first thread that starts it.
class TaskQueue::Task {
public:
    explicit Task(std::function<void()> work) : work_(std::move(work)) {}

    /// Runs unless a thread has started it or it was cancelled.
    void runIfNotBegun() {
        std::function<void()> work;
        {
            const std::lock_guard lock(mutex_);
            if (state_ != State::Waiting) return;
            state_ = State::Running;
            work = std::move(work_);
        }
        std::exception_ptr failure;
        try {
            work();
        } catch (...) {
            failure = std::current_exception();
        }
        work = nullptr; // destroyed before the objects to which it refers
        const std::lock_guard lock(mutex_);
        failure_ = std::move(failure);
        state_ = State::Ended;
        ended_.notify_all();
    }

    /// Runs the task on this thread, or waits for it if another thread has started it. Rethrows exceptions of the
    /// task.
    void finish() {
        runIfNotBegun();
        wait();
        if (failure_) std::rethrow_exception(failure_);
    }

    /// Prevents the task from starting. The task may already be running, see wait().
    void cancel() {
        std::function<void()> unused;
        const std::lock_guard lock(mutex_);
        if (state_ != State::Waiting) return;
        state_ = State::Ended;
        unused = std::move(work_);
    }

    void wait() {
        std::unique_lock lock(mutex_);
        ended_.wait(lock, [this] { return state_ == State::Ended; });
    }
    [[nodiscard]] bool ended() {
        const std::lock_guard lock(mutex_);
        return state_ == State::Ended;
    }

private:
    enum class State { Waiting, Running, Ended };

    std::mutex mutex_;
    std::condition_variable ended_;
    State state_ = State::Waiting;
    std::function<void()> work_;
    std::exception_ptr failure_;
};

TaskQueue::~TaskQueue() {
    for (const auto& task : tasks_)
        task->cancel();
    for (const auto& task : tasks_)
        task->wait();
    for (const auto& task : dropped_)
        task->wait();
}

void TaskQueue::add(std::function<void()> work) {
    const std::shared_ptr<Task>& task = tasks_.emplace_back(std::make_shared<Task>(std::move(work)));
    Threads::shared().enqueue([task] { task->runIfNotBegun(); });
}

void TaskQueue::finishFirst() {
    const std::shared_ptr<Task> task = std::move(tasks_.front());
    tasks_.pop_front();
    task->finish();
}

void TaskQueue::dropFirst() {
    std::erase_if(dropped_, [](const std::shared_ptr<Task>& task) { return task->ended(); });
    tasks_.front()->cancel();
    dropped_.push_back(std::move(tasks_.front()));
    tasks_.pop_front();
}

} // namespace bubblescope::detail
