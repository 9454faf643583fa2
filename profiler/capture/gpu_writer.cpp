#include "profiler/capture/gpu_writer.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace bubblescope::profiler {
namespace {

using cupti::Activity;
using Kind = Activity::Kind;

constexpr std::int32_t kGpuOrder = 3000;
constexpr std::int32_t kCallsOrder = 500;

std::string shape(const std::array<std::int32_t, 3>& of) {
    return "[" + std::to_string(of[0]) + ", " + std::to_string(of[1]) + ", " + std::to_string(of[2]) + "]";
}

std::string uuidText(const std::array<std::uint8_t, 16>& uuid) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text = "GPU-";
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += kDigits[uuid[i] >> 4];
        text += kDigits[uuid[i] & 0xf];
    }
    return text;
}

/// Time that a kernel or range waits after its end for its counterpart. CUPTI delivers completed records when it is
/// flushed, several times a second.
constexpr TimeNs kPatience{std::chrono::seconds(2)};

} // namespace

Lanes& GpuWriter::row(Row kind, std::uint32_t device, std::uint32_t stream, std::uint32_t context) {
    const auto known = rows_.find({kind, device, stream, context});
    if (known != rows_.end()) return known->second;
    std::string of_stream = "GPU " + std::to_string(device) + ", stream " + std::to_string(stream);
    const auto other = rows_.lower_bound({kind, device, stream, 0});
    if (other != rows_.end() &&
        std::tuple(kind, device, stream) ==
            std::tuple(std::get<0>(other->first), std::get<1>(other->first), std::get<2>(other->first)))
        of_stream += " of context " + std::to_string(context);
    std::string name;
    std::int32_t order = kGpuOrder + static_cast<std::int32_t>(device);
    switch (kind) {
    case Row::Stream: name = of_stream; break;
    case Row::Synchronization: name = of_stream + " (waits)"; break;
    case Row::Calls:
        name = "CUDA calls of thread " + std::to_string(stream);
        order = kCallsOrder;
        break;
    case Row::Overhead:
        name = "CUPTI";
        order = kCallsOrder + 1;
        break;
    }
    return rows_.try_emplace({kind, device, stream, context}, std::move(name), order).first->second;
}

void GpuWriter::add(Lanes& row, const cupti::OwnedActivity& given, const OwnedArgs& args) {
    const Activity& activity = given.activity;
    if (!row.add(file_, activity.start, activity.end, cupti::categoryOf(activity), names_.of(given), args))
        ++counts_.not_written;
}

void GpuWriter::addWork(const cupti::OwnedActivity& given) {
    const Activity& work = given.activity;
    OwnedArgs args{{"device", std::int64_t{work.device}},
                   {"context", std::int64_t{work.context}},
                   {"stream", std::int64_t{work.stream}},
                   {"correlation", std::int64_t{work.correlation}}};
    if (given.external != 0) args.push_back({"External id", static_cast<std::int64_t>(given.external)});
    if (work.graph != 0) args.push_back({"graph id", std::int64_t{work.graph}});
    if (work.kind == Kind::Copy || work.kind == Kind::Set) args.push_back({"bytes", work.bytes});
    if (work.kind == Kind::Kernel) {
        args.push_back({"grid", shape(work.grid)});
        args.push_back({"block", shape(work.block)});
    }
    ++counts_.gpu_work;
    add(row(Row::Stream, work.device, work.stream, work.context), given, args);
}

void GpuWriter::addCall(const cupti::OwnedActivity& given) {
    const Activity& call = given.activity;
    ++counts_.gpu_calls;
    OwnedArgs args{{"correlation", std::int64_t{call.correlation}}};
    if (given.external != 0) args.push_back({"External id", static_cast<std::int64_t>(given.external)});
    add(row(Row::Calls, 0, call.thread), given, args);
}

void GpuWriter::tellDevice(const cupti::OwnedActivity& given) {
    const OwnedArgs args{
        {"device", std::int64_t{given.activity.device}}, {"name", given.name}, {"uuid", uuidText(given.activity.uuid)}};
    file_.instant(clocks_.last().monotonic, CaptureFile::kCategory, "device", args);
}

/// Memory that was reserved before the recorded steps counts, but only changes during them are written.
void GpuWriter::applyMemory(const Activity& change) {
    const bool recorded = window_.contains(change.start);
    if (recorded) tellReserved();
    std::optional<ReservedMemory::Change> now;
    if (change.kind == Kind::Release)
        now = reserved_.release(change.id);
    else if (change.isDeviceMemory())
        now = reserved_.allocate(change.id, change.device, static_cast<std::uint64_t>(change.bytes));
    if (!now) {
        const bool unknown = change.kind == Kind::Release && change.isDeviceMemory() && change.id != 0;
        if (unknown && recorded) ++counts_.unmatched;
        return;
    }
    auto counter = counters_.find(now->device);
    if (counter == counters_.end()) {
        if (file_.isFull()) return;
        const CaptureFile::TrackNumber track = file_.addCounter(reservedMemoryName(now->device));
        counter = counters_.emplace(now->device, Counter{track, false}).first;
    }
    if (!recorded) return;
    file_.count(counter->second.track, change.start, static_cast<double>(now->bytes));
    counter->second.told = true;
}

/// Writes the values at the beginning of the recorded steps or of the part.
void GpuWriter::tellReserved() {
    if (!window_.state().from) return;
    const TimeNs time = std::max(*window_.state().from, part_from_);
    for (auto& [device, counter] : counters_) {
        if (counter.told) continue;
        file_.count(counter.track, time, static_cast<double>(reserved_.byDevice().at(device)));
        counter.told = true;
    }
}

void GpuWriter::settle(TimeNs now) {
    const TimeNs before = now == TimeNs::max() ? now : now - kPatience;
    const auto end = memory_changes_.upper_bound(before);
    for (auto change = memory_changes_.begin(); change != end; ++change)
        applyMemory(change->second);
    memory_changes_.erase(memory_changes_.begin(), end);
    if (now != TimeNs::max()) settled_ = std::max(settled_, before);
    const auto& window = window_.state();
    if (window.from && *window.from <= before) tellReserved();
}

void GpuWriter::beginPart() {
    part_from_ = settled_;
    for (auto& [device, counter] : counters_)
        counter.told = false;
}

void GpuWriter::write(const cupti::OwnedActivity& given) {
    const Activity& activity = given.activity;
    if (activity.isUntimed()) return void(++counts_.untimed);
    if (activity.hasTimes() && !window_.contains(activity.start)) return void(++counts_.outside_window);
    switch (activity.kind) {
    case Kind::Kernel:
    case Kind::Copy:
    case Kind::Set:
    case Kind::Graph: return addWork(given);
    case Kind::Driver:
    case Kind::Runtime: return addCall(given);
    case Kind::Synchronization: {
        const std::uint32_t stream = activity.stream == UINT32_MAX ? 0 : activity.stream; // maximum: the whole device
        const OwnedArgs args{{"correlation", std::int64_t{activity.correlation}}};
        return add(row(Row::Synchronization, activity.device, stream, activity.context), given, args);
    }
    case Kind::Overhead: return add(row(Row::Overhead, 0, 0), given, {});
    case Kind::Device: return tellDevice(given);
    case Kind::Allocation:
    case Kind::Release: return void(memory_changes_.emplace(activity.start, activity));
    case Kind::Marker: // NVTX reports these directly and earlier
    case Kind::MarkerData:
    case Kind::External:
    case Kind::Name: return;
    }
}

void OpKernels::addRange(std::uint32_t thread, TimeNs start, TimeNs end) {
    ops_[thread][start].end = end;
}

void OpKernels::add(cupti::OwnedActivity activity) {
    const cupti::Activity& what = activity.activity;
    if (what.isUntimed() || what.isMoment() || isTransfer(activity)) return write_(activity);
    if (cupti::isWork(what)) {
        kernels_.push_back(std::move(activity));
    } else if (what.kind == Kind::Runtime || what.kind == Kind::Driver) {
        // If a runtime call contains a driver call, only the outer call is kept.
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

/// The op of a thread in which a call was made; null if there is none.
OpKernels::Op* OpKernels::opAt(ThreadOps& ops, TimeNs launched) {
    const auto after = ops.upper_bound(launched);
    if (after == ops.begin() || launched > std::prev(after)->second.end) return nullptr;
    return &std::prev(after)->second;
}

/// A thread without ops works for the op that runs at the same time: PyTorch launches the kernels of a backward in a
/// thread of autograd. If ops of several threads run at that time, its op is unknown.
OpKernels::Op* OpKernels::opOf(const cupti::Activity& call) {
    if (const auto own = ops_.find(call.thread); own != ops_.end()) return opAt(own->second, call.start);
    Op* only = nullptr;
    for (auto& [thread, ops] : ops_) {
        Op* const op = opAt(ops, call.start);
        if (op != nullptr && only != nullptr) return nullptr;
        if (op != nullptr) only = op;
    }
    return only;
}

void OpKernels::settle(TimeNs now) {
    const TimeNs before = now == TimeNs::max() ? now : now - kPatience;
    // Kernels that are old enough either have their op by now or belong to none.
    std::deque<cupti::OwnedActivity> waiting;
    for (cupti::OwnedActivity& kernel : kernels_) {
        const auto call = calls_.find(kernel.activity.correlation);
        const bool settled = kernel.activity.end <= before || kernels_.size() > kMaxWaiting;
        Op* const op = call != calls_.end() ? opOf(call->second.activity) : nullptr;
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
            const auto runs = [&](const cupti::OwnedActivity& kernel) { return kernel.activity.end > before; };
            if (op->second.end > before || std::ranges::any_of(op->second.kernels, runs)) {
                ++op;
                continue;
            }
            writeOp(op->second);
            op = ops.erase(op);
        }
    }
    std::erase_if(calls_, [&](const auto& call) { return call.second.activity.end <= before - kPatience; });
}

} // namespace bubblescope::profiler
