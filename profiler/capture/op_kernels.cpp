#include "profiler/capture/op_kernels.h"

#include <algorithm>
#include <utility>

namespace bubblescope::profiler {
namespace {

using Kind = cupti::Activity::Kind;

/// How long after its end a kernel or range waits for its counterpart. CUPTI delivers completed records when it is
/// flushed, several times a second.
constexpr TimeNs kPatience{std::chrono::seconds(2)};

bool isWork(const cupti::Activity& activity) {
    return activity.kind == Kind::Kernel || activity.kind == Kind::Copy || activity.kind == Kind::Set ||
           activity.kind == Kind::Graph;
}

} // namespace

void OpKernels::addRange(std::uint32_t thread, TimeNs start, TimeNs end) {
    ops_[thread][start].end = end;
}

void OpKernels::add(cupti::OwnedActivity activity) {
    const cupti::Activity& what = activity.activity;
    if (what.isUntimed() || isTransfer(activity)) return write_(activity);
    if (isWork(what)) {
        kernels_.push_back(std::move(activity));
    } else if (what.kind == Kind::Runtime || what.kind == Kind::Driver) {
        // Of a runtime call and the driver call inside it, the outer one is kept.
        const auto [place, is_new] = calls_.try_emplace(what.correlation, activity);
        if (!is_new && what.kind == Kind::Runtime) place->second = std::move(activity);
    } else if (what.kind == Kind::Device) {
        write_(activity);
    }
}

bool OpKernels::isTransfer(const cupti::OwnedActivity& kernel) const {
    return kernel.activity.kind == Kind::Kernel && kernel.name.find("nccl") != std::string::npos;
}

void OpKernels::writeWithCall(const cupti::OwnedActivity& kernel) {
    if (const auto call = calls_.find(kernel.activity.correlation); call != calls_.end()) {
        write_(call->second);
        calls_.erase(call);
    }
    write_(kernel);
}

void OpKernels::writeOp(Op& op) {
    if (op.kernels.empty()) return;
    const auto start = [](const cupti::OwnedActivity& kernel) { return kernel.activity.start; };
    const auto end = [](const cupti::OwnedActivity& kernel) { return kernel.activity.end; };
    const auto first = std::ranges::min_element(op.kernels, {}, start);
    const auto last = std::ranges::max_element(op.kernels, {}, end);
    writeWithCall(*first);
    if (last != first) writeWithCall(*last);
    counts_.thinned_out += static_cast<std::int64_t>(op.kernels.size()) - (last == first ? 1 : 2);
}

void OpKernels::settle(TimeNs now) {
    const TimeNs before = now == TimeNs::max() ? now : now - kPatience;
    // Kernels that are old enough either have an op by now or belong to none.
    std::deque<cupti::OwnedActivity> waiting;
    for (cupti::OwnedActivity& kernel : kernels_) {
        const auto call = calls_.find(kernel.activity.correlation);
        const bool settled = time_of_(kernel.activity.end) <= before || kernels_.size() > kMaxWaiting;
        Op* op = nullptr;
        if (call != calls_.end()) {
            ThreadOps& ops = ops_[call->second.activity.thread];
            const TimeNs launched = time_of_(call->second.activity.start);
            const auto after = ops.upper_bound(launched);
            if (after != ops.begin() && launched <= std::prev(after)->second.end) op = &std::prev(after)->second;
        }
        if (op != nullptr)
            op->kernels.push_back(std::move(kernel));
        else if (settled)
            writeWithCall(kernel);
        else
            waiting.push_back(std::move(kernel));
    }
    kernels_ = std::move(waiting);

    for (auto& [thread, ops] : ops_) {
        for (auto op = ops.begin(); op != ops.end();) {
            const auto runs = [&](const cupti::OwnedActivity& kernel) {
                return time_of_(kernel.activity.end) > before;
            };
            if (op->second.end > before || std::ranges::any_of(op->second.kernels, runs)) {
                ++op;
                continue;
            }
            writeOp(op->second);
            op = ops.erase(op);
        }
    }
    std::erase_if(calls_, [&](const auto& call) { return time_of_(call.second.activity.end) <= before - kPatience; });
}

} // namespace bubblescope::profiler
