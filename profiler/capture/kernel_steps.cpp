#include "profiler/capture/kernel_steps.h"

#include "profiler/cupti/names.h"

#include <algorithm>
#include <chrono>

namespace bubblescope::profiler {
namespace {

constexpr std::size_t kWindows = 64;
constexpr TimeNs kFirstStepWithin{std::chrono::seconds(60)};

bool isCall(const cupti::Activity& activity) {
    return activity.kind == cupti::Activity::Kind::Runtime || activity.kind == cupti::Activity::Kind::Driver;
}

} // namespace

/// Number of steps before a chosen one in which CUPTI is switched on.
std::int64_t KernelSteps::lead() const {
    if (length_ <= TimeNs{0}) return every_;
    return std::min(every_, 1 + (lag_ - TimeNs{1}) / length_);
}

bool KernelSteps::wanted() const {
    if (!number_) return true;
    const std::int64_t phase = *number_ % every_;
    return phase <= 1 || phase >= every_ - lead();
}

void KernelSteps::close(TimeNs time) {
    if (!std::exchange(in_window_, false)) return;
    windows_.back().step.end = time;
    recorded_.push_back(windows_.back().step);
}

void KernelSteps::border(std::string_view name, std::optional<std::int64_t> number, TimeNs time) {
    if (number) {
        const std::string_view kind = name.substr(0, name.find_first_of("0123456789"));
        if (!first_) kind_ = kind;
        if (kind != kind_ || number == number_) return; // another kind of mark, or the step of another thread
    }
    if (time <= latest_ || (!number && !first_)) return;
    if (number_ && number) length_ = time - latest_;
    latest_ = time;
    close(time);
    if (!number) return;
    if (!first_) first_ = time;
    number_ = number;
    if (*number % every_ != 0 || !on_since_ || *on_since_ > time) return;
    windows_.push_back({{*number, time, TimeNs::max()}});
    if (windows_.size() > kWindows) windows_.pop_front();
    in_window_ = true;
}

void KernelSteps::setOn(bool on, TimeNs time) {
    if (!started_) started_ = time;
    if (on == isOn()) return;
    if (on) return void(on_since_ = time);
    on_since_.reset();
    if (std::exchange(in_window_, false)) windows_.pop_back(); // another tool took CUPTI
}

void KernelSteps::finish(TimeNs now) {
    close(std::max(now, latest_));
}

bool KernelSteps::keeps(const cupti::Activity& activity) {
    if (!activity.hasTimes() || !first_ || activity.start < *first_) return true;
    const auto after =
        std::ranges::upper_bound(windows_, activity.start, {}, [](const Window& window) { return window.step.start; });
    if (after == windows_.begin()) return false;
    Window& window = *std::prev(after);
    if (activity.start < window.step.end) return true;
    if (isCall(activity)) window.next_call = std::min(window.next_call, activity.correlation);
    return cupti::isWork(activity) && activity.correlation < window.next_call;
}

std::string KernelSteps::takeNotice(TimeNs now) {
    if (told_) return {};
    const std::string every = "kernels=every=" + std::to_string(every_);
    if (!first_) {
        if (!started_ || now < *started_ + kFirstStepWithin) return {};
        told_ = true;
        return every +
               " has no effect: no step has begun, so all kernels are recorded; begin each step with a range or "
               "mark named 'step N', or name yours with step=TEXT";
    }
    if (length_ <= TimeNs{0} || lead() + 2 < every_) return {};
    told_ = true;
    return every + ": steps of " + std::to_string(length_ / std::chrono::milliseconds(1)) +
           " ms are too short to switch CUPTI off between the recorded ones, so the job is slowed down in all steps; "
           "choose a larger number";
}

} // namespace bubblescope::profiler
