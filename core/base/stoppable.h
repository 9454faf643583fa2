#pragma once

#include "core/base/job.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace bubblescope {

/// Asks a job now and then whether to stop, in loops whose rounds take nanoseconds each.
class StopCheck {
public:
    /// Asks every so many rounds, a power of two; rounds that take longer are to be fewer.
    explicit StopCheck(const JobControl& control, std::uint32_t every = 1U << 16)
        : control_(control), mask_(every - 1) {}

    [[nodiscard]] bool requested() {
        if ((++rounds_ & mask_) != 0) return false;
        return control_.stopRequested();
    }

private:
    const JobControl& control_;
    std::uint32_t mask_;
    std::uint32_t rounds_ = 0;
};

/// Calls `work(begin, end)` for consecutive pieces of [0, count), a few tens of thousands of items each. False if the
/// job was stopped between two of them.
template <class Work>
[[nodiscard]] bool inPieces(std::size_t count, const JobControl& control, const Work& work) {
    constexpr std::size_t kPiece = std::size_t{1} << 16;
    for (std::size_t begin = 0; begin < count; begin += kPiece) {
        if (control.stopRequested()) return false;
        work(begin, std::min(count, begin + kPiece));
    }
    return true;
}

/// Calls `work(i)` for each i below `count`, in any order, on as many threads as the machine has cores. `work` returns
/// false if the job is to stop, and must not throw; then this does so too.
template <class Work>
[[nodiscard]] bool parallelFor(std::size_t count, const Work& work) {
    const std::size_t threads = std::min<std::size_t>(count, std::max(1U, std::thread::hardware_concurrency()));
    std::atomic<std::size_t> next{0};
    std::atomic<bool> whole{true};
    const auto take = [&] {
        for (std::size_t i = next++; i < count && whole; i = next++) {
            if (!work(i)) whole = false;
        }
    };
    {
        std::vector<std::jthread> helpers;
        for (std::size_t i = 1; i < threads; ++i)
            helpers.emplace_back(take);
        take();
    }
    return whole;
}

/// The same for work that is always done to its end and returns nothing.
template <class Work>
void eachOnAllCores(std::size_t count, const Work& work) {
    (void)parallelFor(count, [&work](std::size_t i) {
        work(i);
        return true;
    });
}

/// std::stable_sort that can be stopped: false if it was, which leaves the items in any order. `before` must not throw.
template <class Iterator, class Before>
[[nodiscard]] bool sortStably(Iterator begin, Iterator end, const Before& before, const JobControl& control) {
    struct Stopped {};
    StopCheck stop(control);
    try {
        const auto asked = [&](const auto& a, const auto& b) {
            if (stop.requested()) throw Stopped{};
            return before(a, b);
        };
        if (!std::is_sorted(begin, end, asked)) std::stable_sort(begin, end, asked);
        return true;
    } catch (const Stopped&) {
        return false;
    }
}
template <class T, class Before>
[[nodiscard]] bool sortStably(std::vector<T>& items, const Before& before, const JobControl& control) {
    return sortStably(items.begin(), items.end(), before, control);
}

} // namespace bubblescope
