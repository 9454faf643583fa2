#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace bubblescope {

/// Batches on their way from the thread that makes them to the one that uses them, in order. At most a few are under
/// way: who is faster waits. Batches go back and forth, so that their memory is used again.
template <class Batch>
class BatchQueue {
public:
    /// Maker: hands over `batch`, which then holds what an earlier one held, or nothing. False: no more are wanted.
    [[nodiscard]] bool put(Batch& batch) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return full_.size() < kMost || abandoned_; });
        if (abandoned_) return false;
        Batch next = free_.empty() ? Batch() : std::move(free_.back());
        if (!free_.empty()) free_.pop_back();
        full_.push_back(std::exchange(batch, std::move(next)));
        changed_.notify_all();
        return true;
    }

    /// Maker: there are no more, because of `failure` if that is one.
    void close(std::exception_ptr failure) {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        failure_ = std::move(failure);
        changed_.notify_all();
    }

    /// User: waits for the next batch, in exchange for the one before. False after the last one; throws what ended
    /// the maker.
    [[nodiscard]] bool take(Batch& batch) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return !full_.empty() || closed_; });
        if (full_.empty()) {
            if (failure_) std::rethrow_exception(failure_);
            return false;
        }
        free_.push_back(std::exchange(batch, std::move(full_.front())));
        full_.erase(full_.begin());
        changed_.notify_all();
        return true;
    }

    /// User: the maker is not to wait any more.
    void abandon() {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
        changed_.notify_all();
    }

private:
    static constexpr std::size_t kMost = 4;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Batch> full_; ///< oldest first
    std::vector<Batch> free_;
    bool closed_ = false;
    bool abandoned_ = false;
    std::exception_ptr failure_;
};

/// Calls `make(queue)` on a thread of its own, which puts batches into the queue, and meanwhile `use(batch)` for each
/// of them on the calling one, in order; `use` returns false to stop. Returns, or throws what either threw, when both
/// have ended.
template <class Batch, class Make, class Use>
void madeAhead(const Make& make, const Use& use) {
    BatchQueue<Batch> queue;
    const std::jthread maker([&] {
        std::exception_ptr failure;
        try {
            make(queue);
        } catch (...) {
            failure = std::current_exception();
        }
        queue.close(failure);
    });
    // Before the maker is waited for, whatever happens.
    struct Abandon {
        BatchQueue<Batch>& queue;
        ~Abandon() { queue.abandon(); }
    } const abandon{queue};
    Batch batch;
    while (queue.take(batch)) {
        if (!use(batch)) return;
    }
}

} // namespace bubblescope
