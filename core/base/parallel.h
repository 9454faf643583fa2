#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace bubblescope {

// Runs work on all cores. The threads are started once and shared by the entire program. Calls may be nested. No thread
// waits for a task that has not started: a thread that needs the result of such a task runs the task itself.

namespace detail {

/// Tasks for idle threads, started roughly in the order in which they were added.
class TaskQueue {
public:
    TaskQueue() = default;
    ~TaskQueue();
    TaskQueue(const TaskQueue&) = delete;
    TaskQueue& operator=(const TaskQueue&) = delete;

    void add(std::function<void()> work);
    void finishFirst();
    void dropFirst();
    [[nodiscard]] std::size_t size() const { return tasks_.size(); }

private:
    class Task;

    std::deque<std::shared_ptr<Task>> tasks_;
    std::vector<std::shared_ptr<Task>> dropped_; ///< tasks that were dropped but may still be running
};

/// See bubblescope::parallelFor().
[[nodiscard]] bool parallelFor(std::size_t count, const std::function<bool(std::size_t)>& work);

} // namespace detail

/// Calls `work(i)` for each i below `count` on all cores, including the calling thread, and returns when all calls have
/// ended. Calls start in ascending order, so the longest ones should come first. If `work` returns false, no more calls
/// are started, and parallelFor() returns false. An exception also stops the loop and is rethrown here.
template <class Work>
auto parallelFor(std::size_t count, const Work& work) {
    if constexpr (std::is_void_v<std::invoke_result_t<const Work&, std::size_t>>) {
        (void)detail::parallelFor(count, [&work](std::size_t i) {
            work(i);
            return true;
        });
    } else {
        return detail::parallelFor(count, std::cref(work));
    }
}

/// Minimum number of cheap items that justifies using another thread.
inline constexpr std::size_t kParallelItems = 1 << 15;

/// Calls each function once, in parallel as in parallelFor(). The longest function should come first.
template <class... Work>
void parallelCalls(const Work&... work) {
    const std::array<std::function<void()>, sizeof...(Work)> calls{std::function<void()>(std::cref(work))...};
    parallelFor(calls.size(), [&calls](std::size_t i) { calls[i](); });
}

/// As above, for functions that process `items` items in total. If there are few items, uses only the calling thread.
template <class... Work>
void parallelCalls(std::size_t items, const Work&... work) {
    if (items > kParallelItems) return parallelCalls(work...);
    (work(), ...);
}

/// Calls `work(begin, end)` for parts of [0, count), in parallel as in parallelFor(). If there are only a few items,
/// the calling thread processes all of them. Returns the results of the calls, if any, in the order of the parts. There
/// is always at least one part, even for 0 items.
template <class Work>
auto parallelPieces(std::size_t count, const Work& work) {
    using Result = std::invoke_result_t<const Work&, std::size_t, std::size_t>;
    if constexpr (std::is_void_v<Result>) {
        if (count <= kParallelItems) return work(std::size_t{0}, count);
        parallelFor((count + kParallelItems - 1) / kParallelItems, [&](std::size_t piece) {
            work(piece * kParallelItems, std::min(count, (piece + 1) * kParallelItems));
        });
    } else {
        std::vector<Result> results(std::max<std::size_t>(1, (count + kParallelItems - 1) / kParallelItems));
        parallelPieces(count,
                       [&](std::size_t begin, std::size_t end) { results[begin / kParallelItems] = work(begin, end); });
        return results;
    }
}

/// parallelFor() over groups with `items` items in total. If there are few items, uses only the calling thread.
template <class Work>
void parallelGroups(std::size_t groups, std::size_t items, const Work& work) {
    if (items > kParallelItems) return parallelFor(groups, work);
    for (std::size_t i = 0; i < groups; ++i)
        work(i);
}

/// Results that other threads compute in advance; the owning thread takes them in order and decides how many to compute
/// ahead. The destructor drops tasks that have not started and waits for the others.
template <class Result>
class OrderedTasks {
public:
    /// Adds a task that calls `make()` once, on any thread. Everything that `make` refers to must outlive this object.
    template <class Make>
    void add(Make make) {
        auto& slot = results_.emplace_back(std::make_shared<std::optional<Result>>());
        tasks_.add([slot, make = std::move(make)]() mutable { slot->emplace(make()); });
    }
    /// Removes the oldest task and returns its result, or rethrows its exception. There must be at least one task.
    [[nodiscard]] Result take() {
        const std::shared_ptr<std::optional<Result>> slot = std::move(results_.front());
        results_.pop_front();
        tasks_.finishFirst();
        return *std::move(*slot);
    }
    /// Removes the oldest task without waiting for it.
    void drop() {
        results_.pop_front();
        tasks_.dropFirst();
    }
    [[nodiscard]] std::size_t size() const { return results_.size(); }

private:
    std::deque<std::shared_ptr<std::optional<Result>>> results_;
    detail::TaskQueue tasks_; ///< last member, because running tasks refer to the results
};

/// Fills a batch, whose memory may be reused from an earlier batch. Returns false if there are no more batches; the
/// content of `batch` is then ignored.
template <class Batch>
using BatchMaker = std::function<bool(Batch&)>;

/// Produces batches on other threads, a few in advance, while the calling thread passes them to `use(batch)`: the first
/// batch of each maker, then the second batch of each, and so on, until a maker has no batch left when its turn comes.
/// `use` returns false to stop. Each maker runs on one thread at a time; different makers run in parallel. Returns when
/// all makers have finished. Exceptions from `use` are rethrown immediately, those from a maker when its turn comes.
template <class Batch, class Use>
void prefetched(const std::vector<BatchMaker<Batch>>& makers, const Use& use) {
    // Batches per maker and round: one round is produced while the previous one is used.
    constexpr std::size_t kBatches = 4;
    struct Round {
        std::vector<Batch> batches;
        std::size_t count = 0;
        std::exception_ptr failure; ///< exception thrown while producing the batch after `batches`

        [[nodiscard]] bool last() const { return count < kBatches; }
        void fill(const BatchMaker<Batch>& make) {
            batches.resize(kBatches);
            count = 0;
            try {
                while (count < kBatches && make(batches[count]))
                    ++count;
            } catch (...) {
                failure = std::current_exception();
            }
        }
    };
    std::vector<Round> used(makers.size());
    OrderedTasks<Round> ahead;
    const auto start = [&](std::size_t maker) {
        ahead.add([&make = makers[maker], round = std::move(used[maker])]() mutable {
            round.fill(make);
            return std::move(round);
        });
    };
    for (std::size_t i = 0; i < makers.size(); ++i)
        start(i);
    std::vector<Round> now(makers.size());
    while (!makers.empty()) {
        for (std::size_t i = 0; i < makers.size(); ++i) {
            used[i] = std::exchange(now[i], ahead.take());
            if (!now[i].last()) start(i);
        }
        for (std::size_t batch = 0; batch < kBatches; ++batch) {
            for (Round& round : now) {
                if (batch == round.count && round.failure) std::rethrow_exception(round.failure);
                if (batch == round.count || !use(round.batches[batch])) return;
            }
        }
    }
}

} // namespace bubblescope
