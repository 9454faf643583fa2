#include "core/answer/answer.h"
#include "core/base/text.h"

#include <algorithm>
#include <string>
#include <utility>

// The answer for a trace without a pipeline.
namespace bubblescope {
namespace {

/// Sums over all devices.
struct Sums {
    TimeNs span{0};
    TimeNs compute{0};
    TimeNs exposed_communication{0};
    TimeNs exposed_memory{0};
    TimeNs idle{0};
    TimeNs idle_host{0};
    TimeNs idle_other{0};

    explicit Sums(const std::vector<DeviceSummary>& devices) {
        const auto add = [](TimeNs& sum, TimeNs time) { sum = boundedSum(sum, time); };
        for (const DeviceSummary& device : devices) {
            add(span, device.times.span());
            add(compute, device.times.compute());
            add(exposed_communication, device.times.exposedCommunication());
            add(exposed_memory, device.times.exposedMemory());
            add(idle, device.times.idle());
            add(idle_host, device.idle.host);
            add(idle_other, device.idle.other);
        }
    }
};

Sentence stateOf(const Sums& sums, std::size_t devices) {
    const std::string compute = formatPercent(fractionOf(sums.compute, sums.span));
    const std::string communication = formatPercent(fractionOf(sums.exposed_communication, sums.span));
    const std::string copies = formatPercent(fractionOf(sums.exposed_memory, sums.span));
    const std::string idle = formatPercent(fractionOf(sums.idle, sums.span));
    return devices == 1 ? say("The device spends {} of its time computing. {} is exposed communication, {} copies, {} "
                              "idle time.",
                              compute, communication, copies, idle)
                        : say("{} devices spend {} of their time computing. {} is exposed communication, {} copies, {} "
                              "idle time.",
                              devices, compute, communication, copies, idle);
}

/// Describes the largest cost other than compute.
Statement costOf(const Sums& sums, const std::vector<CollectiveTotals>& collectives) {
    Statement out;
    out.concern = Concern::Time;
    out.severity = Severity::Warning;
    const TimeNs largest = std::max({sums.exposed_communication, sums.idle_host, sums.idle_other, sums.exposed_memory});
    const std::string time = formatTime(largest);
    const std::string part = formatPercent(fractionOf(largest, sums.span));
    constexpr double kWorthNaming = 0.05;
    if (fractionOf(largest, sums.span) < kWorthNaming) {
        out.concern = Concern::Fine;
        out.severity = Severity::Notice;
        out.kind = "fine";
        out.what = say("Apart from compute, no activity takes 5 % of the time or more.");
        out.action = say("Make the longest kernels faster.");
    } else if (largest == sums.exposed_communication) {
        out.kind = "exposed-communication";
        const auto most = std::ranges::max_element(collectives, {}, &CollectiveTotals::exposed);
        const std::string exposed = formatTime(most->exposed);
        const std::string name = shortKernelName(most->name);
        out.what = most->count == 1
                       ? say("{} ({}): exposed communication, {} of it in 1 call of {}.", time, part, exposed, name)
                       : say("{} ({}): exposed communication, {} of it in {} calls of {}.", time, part, exposed,
                             most->count, name);
        out.action = say("Overlap this communication with compute, or reduce it.");
    } else if (largest == sums.idle_host) {
        out.kind = "waits-for-host";
        out.what = say("{} ({}): devices wait for the host to launch work.", time, part);
        out.action =
            say("Launch earlier: use fewer, larger kernels, CUDA graphs or a compiled model; avoid synchronisation "
                "and slow data loading between launches.");
    } else if (largest == sums.idle_other) {
        out.kind = "idle";
        out.what = say("{} ({}): devices idle although work was launched in time.", time, part);
        out.action = say("Check what that work waited for: events, other streams, other devices.");
    } else {
        out.kind = "copies";
        out.what = say("{} ({}): exposed copies.", time, part);
        out.action = say("Overlap copies with compute: pinned memory, a separate stream, prefetching.");
    }
    out.cost = out.concern == Concern::Time ? largest : TimeNs{0};
    return out;
}

/// Statement that the trace contains no device activity.
Statement onlyHosts(const std::vector<HostSummary>& threads) {
    const auto busiest = std::ranges::max_element(threads, {}, &HostSummary::busy);
    Statement out;
    out.concern = Concern::Data;
    out.kind = "no-device";
    out.what = say("The busiest thread runs operators for {} of {}.", formatTime(busiest->busy),
                   formatTime(busiest->last - busiest->first));
    out.action = say("Record device activity as well, to see what the devices wait for.");
    return out;
}

/// Statement that the trace contains ops of a pipeline, but not the complete pipeline.
Statement noWholePipeline(const Error& why) {
    Statement out;
    out.concern = Concern::Data;
    out.severity = Severity::Serious;
    out.kind = "no-whole-pipeline";
    out.what = say("The files contain ops of an incomplete pipeline: {}.", why.message);
    out.action = why.hint.empty() ? Sentence() : say("{}.", why.hint);
    return out;
}

bool isOfOtherRun(const Statement& statement) {
    return statement.kind == "mixed-runs" || statement.kind == "different-jobs";
}

} // namespace

Answer answerOf(const LoadedTrace& trace, const std::vector<FileActivity>& files) {
    std::vector<DeviceSummary> devices;
    std::vector<HostSummary> threads;
    for (const FileActivity& file : files) {
        devices.insert(devices.end(), file.devices.begin(), file.devices.end());
        threads.insert(threads.end(), file.threads.begin(), file.threads.end());
    }
    Answer answer{{}, statementsOf(trace.run.problems), TimeNs{0}};
    std::stable_partition(answer.statements.begin(), answer.statements.end(), isOfOtherRun);
    const bool is_cut = trace.no_pipeline && trace.holds_ops;
    if (is_cut) {
        // Files from two runs are the cause of an incomplete pipeline, not a consequence.
        const auto after = std::ranges::find_if_not(answer.statements, isOfOtherRun);
        answer.statements.insert(after, noWholePipeline(*trace.no_pipeline));
    }
    if (devices.empty() && threads.empty()) return answer;
    if (devices.empty()) {
        answer.state = say("No GPU activity in this trace, only {}.",
                           sayCounted("{} host thread", "{} host threads", threads.size()));
        Statement hosts = onlyHosts(threads);
        if (!is_cut) answer.statements.push_back(std::move(hosts));
        return answer;
    }
    const Sums sums(devices);
    answer.state = stateOf(sums, devices.size());
    Statement cost = costOf(sums, joinedCollectives(devices));
    if (cost.concern == Concern::Fine) {
        settle(answer, std::move(cost));
    } else {
        answer.statements.push_back(std::move(cost));
        settle(answer, {});
    }
    return answer;
}

} // namespace bubblescope
