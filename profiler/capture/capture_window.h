#pragma once

#include "profiler/capture/capture_options.h"

#include <optional>
#include <string_view>

namespace bubblescope::profiler {

/// When a process is recorded: between two steps, from some time on, for some time. Steps are recognised by ranges or
/// marks that begin one: by the number in their name, or else by counting them. One thread at a time.
class CaptureWindow {
public:
    explicit CaptureWindow(const CaptureOptions& options);

    /// Every range and mark in order of time, before contains() is asked about its time.
    void see(std::string_view name, TimeNs time);
    [[nodiscard]] bool contains(TimeNs time) const { return from_ && time >= *from_ && (!until_ || time < *until_); }
    /// Nothing will be recorded any more.
    [[nodiscard]] bool isOver(TimeNs now) const { return until_ && now >= *until_; }
    /// Whether a name begins a step.
    [[nodiscard]] bool beginsStep(std::string_view name) const { return numbered(name).has_value(); }

private:
    /// The number in a step's name, −1 if it has none; nothing for what is no step.
    [[nodiscard]] std::optional<std::int64_t> numbered(std::string_view name) const;

    CaptureOptions options_;
    std::int64_t steps_ = 0; ///< seen so far
    std::optional<TimeNs> first_;
    std::optional<TimeNs> from_;
    std::optional<TimeNs> until_;
};

} // namespace bubblescope::profiler
