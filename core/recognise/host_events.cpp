#include "core/recognise/host_events.h"

#include "core/base/hash.h"
#include "core/base/job.h"

#include "core/base/text.h"
#include "core/recognise/communicator_names.h"
#include "core/recognise/name_pattern.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace bubblescope {
namespace {

/// The meaning of a host slice's name.
enum class Role { None, Operator, Autograd, Optimizer, Transfer, CommParams, NamedTransfer, Arrival };

Role roleOf(std::string_view category, std::string_view name) {
    if (category == "user_annotation") {
        if (name.starts_with("Optimizer.step#")) return Role::Optimizer;
        if (name.starts_with("nccl:send ") || name.starts_with("nccl:recv ")) return Role::NamedTransfer;
        return name == "gloo:recv" ? Role::Arrival : Role::None;
    }
    if (category != "cpu_op" && category != "Operator") return Role::None;
    if (name.starts_with("autograd::engine::evaluate_function")) return Role::Autograd;
    if (name == "c10d::send" || name == "c10d::recv_") return Role::Transfer;
    if (name == "record_param_comms") return Role::CommParams;
    // The optimizers that work on lists of tensors; the plain ones have the annotation above.
    if (name.find("_foreach_") != std::string_view::npos || name.starts_with("aten::_fused_")) return Role::Optimizer;
    return Role::Operator;
}

/// The texts or numbers of a list such as ["", "", "2", "0"] or [0, 1].
std::vector<std::string> listItems(std::string_view text) {
    std::vector<std::string> items;
    std::string item;
    for (const char c : text) {
        if (c == ',' || c == ']') {
            items.push_back(std::exchange(item, {}));
        } else if (c != '[' && c != '"' && c != '\'' && c != ' ') {
            item += c;
        }
    }
    return items;
}

/// Peers are counted within their group, or globally: the writer does not record which.
std::int64_t globalRank(std::int64_t peer, std::int64_t own, const std::vector<std::string>& group) {
    if (peer < 0 || static_cast<std::size_t>(peer) >= group.size()) return peer;
    const auto member = wholeNumber(group[static_cast<std::size_t>(peer)]);
    return member && *member != own ? *member : peer;
}

/// Identifies a name by the same number in every file.
std::uint64_t numberOf(std::string_view name) {
    std::uint64_t number = kFnvOffset;
    for (const char c : name)
        number = fnv1a(number, static_cast<unsigned char>(c));
    return number;
}

using Scopes = std::map<std::int64_t, std::vector<GpuWork::Span>>; ///< by thread, by start, disjoint

void addScope(std::vector<GpuWork::Span>& scopes, TimeNs start, TimeNs end) {
    scopes.push_back({start, end});
}

void tidy(Scopes& scopes) {
    for (auto& [thread, spans] : scopes) {
        std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
        std::vector<GpuWork::Span> merged;
        for (const GpuWork::Span& span : spans) {
            if (!merged.empty() && span.start <= merged.back().end)
                merged.back().end = std::max(merged.back().end, span.end);
            else
                merged.push_back(span);
        }
        spans = std::move(merged);
    }
}

bool within(const Scopes& scopes, std::int64_t thread, TimeNs time) {
    const auto of_thread = scopes.find(thread);
    if (of_thread == scopes.end()) return false;
    const auto& spans = of_thread->second;
    const auto after = std::upper_bound(spans.begin(), spans.end(), time,
                                        [](TimeNs t, const GpuWork::Span& span) { return t < span.start; });
    return after != spans.begin() && time <= std::prev(after)->end;
}

class Reader {
public:
    Reader(const Trace& trace, std::uint32_t file, std::int64_t own_rank, const GpuWork& gpu, const JobControl& control)
        : trace_(trace), file_(file), own_(own_rank), launches_(gpu.launches(file, 0)), stop_(control) {}

    HostEvents read() {
        readHost();
        addTransfers();
        std::ranges::stable_sort(out_.events, {}, &HostEvent::at);
        timeTransfers();
        out_.on_device = std::any_of(launches_.begin(), launches_.end(),
                                     [](const GpuWork::Launch& launch) { return launch.kind == WorkKind::Compute; });
        if (out_.on_device)
            readLaunches();
        else
            readOperators();
        std::stable_sort(out_.events.begin(), out_.events.end(),
                         [](const HostEvent& a, const HostEvent& b) { return a.at < b.at; });
        for (const HostEvent& event : out_.events) {
            if (event.kind == HostEventKind::Forward) longest_ = std::max(longest_, event.host_end - event.at);
        }
        readLinks();
        for (StringId id = 1; id < communicators_.size(); ++id)
            out_.communicators.emplace_back(communicators_.text(id));
        return std::move(out_);
    }

private:
    [[nodiscard]] std::int64_t threadOf(TrackId track) const { return trace_.tracks()[track].tid; }

    void readHost() {
        std::unordered_map<std::uint64_t, Role> roles; // by category and name
        for (const Track& track : trace_.tracks()) {
            if (track.file != file_) continue;
            for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                if (stop_.requested()) return;
                const std::uint64_t kind =
                    std::uint64_t{trace_.sliceCategories()[slice]} << 32 | trace_.sliceNames()[slice];
                const auto [known, is_new] = roles.try_emplace(kind, Role::None);
                if (is_new) known->second = roleOf(trace_.category(slice), trace_.name(slice));
                readSlice(slice, known->second, track.tid);
            }
        }
        tidy(autograd_);
        tidy(optimizer_);
    }

    void readSlice(SliceId slice, Role role, std::int64_t thread) {
        switch (role) {
        case Role::None: return;
        case Role::Optimizer: addScope(optimizer_[thread], trace_.start(slice), trace_.end(slice)); break;
        case Role::Autograd:
            addScope(autograd_[thread], trace_.start(slice), trace_.end(slice));
            takes_part_.insert(thread);
            break;
        case Role::Transfer:
            addOperator(slice);
            takes_part_.insert(thread);
            break;
        case Role::CommParams: addParams(slice); return;
        case Role::NamedTransfer: // "nccl:send 0->1", where ranks count within an unnamed group
            (void)addTransfer(2, slice, trace_.name(slice).starts_with("nccl:send"));
            return;
        case Role::Arrival: arrivals_.push_back({trace_.start(slice), trace_.end(slice)}); return;
        case Role::Operator: break;
        }
        if (trace_.category(slice) != "user_annotation") operators_[thread].push_back(slice);
    }

    /// A transfer may be recorded in several ways; each way is kept separately.
    HostEvent& addTransfer(std::size_t way, SliceId slice, bool send) {
        HostEvent event;
        event.kind = HostEventKind::Transfer;
        event.at = trace_.start(slice);
        event.host_end = trace_.end(slice);
        event.work = {trace_.start(slice), trace_.end(slice)};
        event.call = numberOf(trace_.name(slice));
        event.direction = send ? CommKind::Send : CommKind::Receive;
        return transfers_[way].emplace_back(event);
    }

    void addOperator(SliceId slice) {
        HostEvent& event = addTransfer(0, slice, trace_.name(slice) == "c10d::send");
        const auto items = listItems(trace_.textArg(trace_.sliceArgs()[slice], "Concrete Inputs").value_or(""));
        if (items.size() >= 3) event.peer = wholeNumber(items[2]);
    }

    void addParams(SliceId slice) {
        const ArgSetId args = trace_.sliceArgs()[slice];
        const std::string call = trace_.textArg(args, "Collective name").value_or("");
        if (call != "send" && call != "recv") return; // collectives are recognised by their kernels
        HostEvent& event = addTransfer(1, slice, call == "send");
        const auto peer = trace_.intArg(args, call == "send" ? "Dst Rank" : "Src Rank");
        const auto group = listItems(trace_.textArg(args, "Process Group Ranks").value_or(""));
        if (peer) event.peer = globalRank(*peer, own_, group);
        event.communicator = groups_.intern(processGroupOf(trace_, slice));
    }

    void addTransfers() {
        const auto way =
            std::find_if(transfers_.begin(), transfers_.end(), [](const auto& named) { return !named.empty(); });
        if (way != transfers_.end()) out_.events.insert(out_.events.end(), way->begin(), way->end());
    }

    /// Determines when the data moved: with gloo, a receive's annotation begins in its call and lasts until the data
    /// has arrived; with NCCL, it is the kernel that the call starts or, for several calls in a group, the one after
    /// the last.
    void timeTransfers() {
        const auto from = [](auto& spans, TimeNs time) {
            return std::lower_bound(spans.begin(), spans.end(), time,
                                    [](const GpuWork::Span& span, TimeNs t) { return span.start < t; });
        };
        std::sort(arrivals_.begin(), arrivals_.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
        auto launch = launches_.begin();
        for (HostEvent& event : out_.events) {
            if (!event.direction) continue;
            while (launch != launches_.end() && (launch->time < event.at || launch->kind != WorkKind::PointToPoint))
                ++launch;
            std::string group(groups_.text(std::exchange(event.communicator, 0)));
            if (launch != launches_.end()) {
                event.work = launch->work;
                if (group.empty()) group = processGroupOf(trace_, launch->first);
                event.communicator = communicators_.intern(communicatorName(trace_, group, launch->first));
            } else if (event.direction == CommKind::Receive) {
                const auto arrival = from(arrivals_, event.at);
                if (arrival != arrivals_.end() && arrival->start <= event.host_end)
                    event.work.end = std::max(event.work.end, arrival->end);
            }
        }
    }

    void readLaunches() {
        std::set<std::int64_t> transferring;
        for (const GpuWork::Launch& launch : launches_) {
            if (launch.kind == WorkKind::PointToPoint) transferring.insert(threadOf(launch.thread));
        }
        for (const GpuWork::Launch& launch : launches_) {
            if (launch.kind == WorkKind::Copy) continue;
            const std::int64_t thread = threadOf(launch.thread);
            HostEvent event;
            event.at = event.host_end = launch.time;
            event.work = launch.work;
            const std::string_view kernel = trace_.name(launch.first);
            const bool backward = autograd_.empty() ? !transferring.empty() && !transferring.contains(thread)
                                                    : within(autograd_, thread, launch.time);
            if (launch.kind == WorkKind::PointToPoint)
                event.kind = HostEventKind::Transfer;
            else if (launch.kind == WorkKind::Collective)
                event.kind = HostEventKind::Collective;
            else if (within(optimizer_, thread, launch.time) || isOptimizerKernel(kernel))
                event.kind = HostEventKind::Optimizer;
            else
                event.kind = backward ? HostEventKind::Backward : HostEventKind::Forward;
            if (event.kind == HostEventKind::Transfer || event.kind == HostEventKind::Collective)
                event.call = numberOf(kernel);
            out_.events.push_back(event);
        }
    }

    static bool isOptimizerKernel(std::string_view name) {
        return name.find("multi_tensor_apply") != std::string_view::npos;
    }

    /// Rows that were split off a thread are among its slices, so they need not be in order.
    void readOperators() {
        for (auto& [thread, slices] : operators_) {
            if (!takes_part_.contains(thread)) continue;
            std::stable_sort(slices.begin(), slices.end(), [this](SliceId a, SliceId b) {
                return std::pair(trace_.start(a), trace_.end(b)) < std::pair(trace_.start(b), trace_.end(a));
            });
            TimeNs end = TimeNs::min();
            for (const SliceId slice : slices) {
                if (trace_.start(slice) < end) continue;
                end = trace_.end(slice);
                const Role role = roleOf(trace_.category(slice), trace_.name(slice));
                if (role == Role::Transfer) continue; // recorded already
                HostEvent event;
                event.at = trace_.start(slice);
                event.host_end = trace_.end(slice);
                event.work = {trace_.start(slice), trace_.end(slice)};
                if (within(optimizer_, thread, event.at))
                    event.kind = HostEventKind::Optimizer;
                else
                    event.kind = role == Role::Autograd ? HostEventKind::Backward : HostEventKind::Forward;
                out_.events.push_back(event);
            }
        }
    }

    /// Reads flows from an operator of the forward to one of the backward: both ends are in operators of the host.
    void readLinks() {
        const auto points = trace_.flowPoints();
        const auto onHost = [this](const FlowPoint& point) {
            if (trace_.tracks()[point.track].file != file_ || point.slice == kNoId) return false;
            const std::string_view category = trace_.category(point.slice);
            return category == "cpu_op" || category == "Operator";
        };
        // Flows of other kinds may have equal ids, but their ends are elsewhere.
        const FlowPoint* from = nullptr;
        for (const FlowPoint& point : points) {
            if (stop_.requested()) return;
            if (!onHost(point)) continue;
            if (from != nullptr && from->id == point.id && within(autograd_, threadOf(point.track), point.time)) {
                out_.links.push_back({from->time, point.time});
                markLinked(from->time, trace_.end(from->slice));
            }
            from = &point;
        }
        std::sort(out_.links.begin(), out_.links.end(),
                  [](const AutogradLink& a, const AutogradLink& b) { return a.forward < b.forward; });
    }

    /// Marks the event of a forward operator, or the first one that it launched.
    void markLinked(TimeNs start, TimeNs end) {
        const auto event = std::find_if(
            std::lower_bound(out_.events.begin(), out_.events.end(), start - longest_,
                             [](const HostEvent& known, TimeNs time) { return known.at < time; }),
            out_.events.end(), [&](const HostEvent& candidate) {
                return candidate.at > end || (candidate.kind == HostEventKind::Forward && candidate.host_end >= start);
            });
        if (event != out_.events.end() && event->at <= end) event->linked = true;
    }

    const Trace& trace_;
    std::uint32_t file_;
    std::int64_t own_;
    std::span<const GpuWork::Launch> launches_;
    Scopes autograd_;
    Scopes optimizer_;
    std::vector<GpuWork::Span> arrivals_; ///< of receives with gloo
    std::set<std::int64_t> takes_part_;
    std::map<std::int64_t, std::vector<SliceId>> operators_;
    std::array<std::vector<HostEvent>, 3>
        transfers_;     ///< by how they were recorded: operators, their parameters, annotations
    StringPool groups_; ///< process groups of calls; until timeTransfers(), HostEvent::communicator refers to them
    StringPool communicators_;
    StopCheck stop_;
    TimeNs longest_{0}; ///< forward call
    HostEvents out_;
};

} // namespace

HostEvents hostEvents(const Trace& trace, std::uint32_t file, std::int64_t own_rank, const GpuWork& gpu,
                      const JobControl& control) {
    return Reader(trace, file, own_rank, gpu, control).read();
}

} // namespace bubblescope
