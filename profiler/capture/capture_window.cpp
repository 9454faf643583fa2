#include "profiler/capture/capture_window.h"

#include "core/base/text.h"

#include <array>

namespace bubblescope::profiler {
namespace {

// Names used by PyTorch's profiler, and common ones.
constexpr std::array<std::string_view, 5> kStepNames{"ProfilerStep#", "step", "Step", "iteration", "Iteration"};

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

} // namespace

CaptureWindow::CaptureWindow(const CaptureOptions& options) : options_(options) {}

std::optional<std::int64_t> CaptureWindow::numbered(std::string_view name) const {
    const auto rest = [&]() -> std::optional<std::string_view> {
        if (!options_.step_name.empty()) {
            if (!name.starts_with(options_.step_name)) return std::nullopt;
            return name.substr(options_.step_name.size());
        }
        for (const std::string_view known : kStepNames) {
            if (!name.starts_with(known)) continue;
            const std::string_view after = name.substr(known.size());
            // "stepper" does not name a step.
            const bool word_ends = after.empty() || isDigit(after[0]) || after.find_first_of(" _:=#-") == 0;
            if (word_ends) return after;
        }
        return std::nullopt;
    }();
    if (!rest) return std::nullopt;
    std::string_view digits = *rest;
    while (!digits.empty() && !isDigit(digits.front()))
        digits.remove_prefix(1);
    return takeNumber<std::int64_t>(digits).value_or(-1);
}

void CaptureWindow::see(std::string_view name, TimeNs time) {
    if (!first_) first_ = time;
    if (until_ && time >= *until_) return;
    const TimeNs begin = *first_ + options_.delay;
    if (options_.hasStepWindow()) {
        const auto number = numbered(name);
        if (!number) return;
        const std::int64_t step = *number >= 0 ? *number : steps_;
        ++steps_;
        if (!from_ && step >= options_.first_step && time >= begin) from_ = time;
        if (from_ && step > options_.last_step) until_ = time;
    } else if (!from_ && time >= begin) {
        from_ = begin;
    }
    if (from_ && !until_ && options_.duration > TimeNs{0}) until_ = *from_ + options_.duration;
}

} // namespace bubblescope::profiler
