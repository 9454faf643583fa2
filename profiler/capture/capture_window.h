#pragma once

#include "profiler/capture/capture_options.h"

#include <optional>
#include <string_view>

namespace bubblescope::profiler {

/// The part of a process's life that is recorded: between two steps, after a delay, for a duration. Steps are
/// recognised by the ranges or marks that begin them: by the number in the name, or else by counting. One thread at a
/// time.
class CaptureWindow {
public:
    explicit CaptureWindow(const CaptureOptions& options);

    /// To be called for every range and mark in order of time, before contains() is called for its time.
    void see(std::string_view name, TimeNs time);
    [[nodiscard]] bool contains(TimeNs time) const { return from_ && time >= *from_ && (!until_ || time < *until_); }
    /// Whether nothing will be recorded any more.
    [[nodiscard]] bool isOver(TimeNs now) const { return until_ && now >= *until_; }
    /// Whether a name begins a step.
    [[nodiscard]] bool beginsStep(std::string_view name) const { return numbered(name).has_value(); }

private:
    /// The number in a step's name, −1 if it has none; nothing if the name is not a step's.
    [[nodiscard]] std::optional<std::int64_t> numbered(std::string_view name) const;

    CaptureOptions options_;
    std::int64_t steps_ = 0; ///< seen so far
    std::optional<TimeNs> first_;
    std::optional<TimeNs> from_;
    std::optional<TimeNs> until_;
};

} // namespace bubblescope::profiler
