#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
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
    BatchQueue() = default;
    /// Without a second thread: what is put is used at once.
    explicit BatchQueue(std::function<bool(Batch&)> use) : use_(std::move(use)) {}

    /// Maker: hands over `batch`, which then holds what an earlier one held, or nothing. False: no more are wanted.
    [[nodiscard]] bool put(Batch& batch) {
        if (use_) return use_(batch);
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

    std::function<bool(Batch&)> use_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Batch> full_; ///< oldest first
    std::vector<Batch> free_;
    bool closed_ = false;
    bool abandoned_ = false;
    std::exception_ptr failure_;
};

/// Calls each of `makers` with a queue of its own, on a thread of its own, which puts batches into it, and meanwhile
/// `use(batch)` for each of them on the calling thread: the first of each maker, then the second of each, and so on
/// until the maker whose turn it is has no more; `use` returns false to stop. Returns, or throws what any of them
/// threw, when all have ended.
template <class Batch, class Use>
void prefetched(const std::vector<std::function<void(BatchQueue<Batch>&)>>& makers, const Use& use) {
    std::deque<BatchQueue<Batch>> queues(makers.size());
    std::vector<std::jthread> threads;
    // Before the makers are waited for, whatever happens.
    struct Abandon {
        std::deque<BatchQueue<Batch>>& queues;
        std::vector<std::jthread>& threads;
        ~Abandon() {
            for (BatchQueue<Batch>& queue : queues)
                queue.abandon();
            threads.clear();
        }
    } const abandon{queues, threads};
    for (std::size_t i = 0; i < makers.size(); ++i) {
        threads.emplace_back([&make = makers[i], &queue = queues[i]] {
            std::exception_ptr failure;
            try {
                make(queue);
            } catch (...) {
                failure = std::current_exception();
            }
            queue.close(failure);
        });
    }
    Batch batch;
    for (std::size_t turn = 0; !queues.empty() && queues[turn].take(batch); turn = (turn + 1) % queues.size()) {
        if (!use(batch)) return;
    }
}

/// With one maker, and where there is not `much` to make, on the calling thread alone.
template <class Batch, class Make, class Use>
void prefetched(const Make& make, const Use& use, bool much = true) {
    if (!much) {
        BatchQueue<Batch> at_once(use);
        return make(at_once);
    }
    prefetched<Batch>(std::vector<std::function<void(BatchQueue<Batch>&)>>{std::cref(make)}, use);
}

} // namespace bubblescope
