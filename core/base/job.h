#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

namespace bubblescope {

class LoadPreview;

/// Shared state of a long-running core function and its caller. The function reads `stop` and updates the counters:
/// there is one writer and any number of readers. With a default-constructed control, the job is never stopped. A
/// stopped job returns Cancelled within 100 ms, even if it was almost done.
struct JobControl {
    std::stop_token stop;
    std::atomic<std::uint64_t> done{0};  ///< finished units of work (bytes when loading traces)
    std::atomic<std::uint64_t> total{0}; ///< 0 while unknown

    /// If set, trace loading publishes a coarse preview here.
    LoadPreview* preview = nullptr;

    /// If set, called each time a thread of the job checks `stop`. Allows tests to stop a job at any point.
    std::function<void()> at_check;

    [[nodiscard]] bool stopRequested() const {
        if (at_check) at_check();
        return stop.stop_requested();
    }
};

/// Checks the stop flag only every few calls, for use in loops whose iterations take nanoseconds.
class StopCheck {
public:
    /// Checks the flag once every `every` calls (a power of two). Pass a smaller number for longer iterations.
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

/// Calls `work(begin, end)` for consecutive parts of [0, count), with tens of thousands of items each. Returns false if
/// the job was stopped between two parts.
template <class Work>
[[nodiscard]] bool inPieces(std::size_t count, const JobControl& control, const Work& work) {
    constexpr std::size_t kPiece = std::size_t{1} << 16;
    for (std::size_t begin = 0; begin < count; begin += kPiece) {
        if (control.stopRequested()) return false;
        work(begin, std::min(count, begin + kPiece));
    }
    return true;
}

/// A std::stable_sort that can be stopped: it then returns false and leaves the items in unspecified order. `before`
/// must not throw.
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
