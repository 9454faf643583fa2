#pragma once

#include "core/base/result.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

namespace bubblescope::runtime {

/// Whether and why a run has ended early. Thread-safe.
class RunEnd {
public:
    /// Keeps the first error. Returns false if there was one already.
    bool set(Error error) {
        const std::lock_guard lock(mutex_);
        if (error_) return false;
        error_ = std::move(error);
        ended_ = true;
        return true;
    }

    [[nodiscard]] const std::atomic<bool>& ended() const { return ended_; }

    [[nodiscard]] std::optional<Error> error() const {
        const std::lock_guard lock(mutex_);
        return error_;
    }

private:
    mutable std::mutex mutex_;
    std::optional<Error> error_;
    std::atomic<bool> ended_{false};
};

} // namespace bubblescope::runtime
