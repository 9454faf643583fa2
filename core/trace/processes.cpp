#include "core/trace/processes.h"

#include "core/base/text.h"
#include "core/trace/launches.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bubblescope {
namespace {

constexpr std::array<std::string_view, 4> kOperators{"cpu_op", "Operator", "user_annotation", "python_function"};

template <std::size_t N>
std::set<StringId> idsOf(const Trace& trace, const std::array<std::string_view, N>& names) {
    std::set<StringId> ids;
    for (const std::string_view name : names) {
        if (const StringId id = trace.strings().find(name); id != 0) ids.insert(id);
    }
    return ids;
}

/// The number after the word "rank" in a label or name.
std::optional<std::int32_t> rankNamed(std::string_view name) {
    const std::string lower = lowerCase(name);
    for (std::size_t at = lower.find("rank"); at != std::string::npos; at = lower.find("rank", at + 1)) {
        if (at > 0 && std::isalpha(static_cast<unsigned char>(lower[at - 1])) != 0) continue; // inside a word
        std::string_view rest = std::string_view(lower).substr(at + 4);
        rest.remove_prefix(std::min(rest.find_first_not_of(" _-:=[#"), rest.size()));
        const auto rank = takeNumber<std::int32_t>(rest);
        if (rank && *rank >= 0) return rank;
    }
    return std::nullopt;
}

} // namespace

/// The tracks of a file with one process number and name.
struct ProcessSplitter::Process {
    std::vector<TrackId> tracks;
    std::int64_t pid = 0;
    std::string_view name;
    std::optional<ProcessLabel> label;
    bool launches = false; ///< device work
    bool is_host = false;
    bool is_device = false;
    std::size_t group = 0; ///< the index of its host process among those of the file
};

std::optional<ProcessLabel> labelOfProcess(std::string_view name) {
    name = trimmed(name);
    if (name.starts_with('[')) {
        const std::size_t end = name.find(']');
        if (end != std::string_view::npos && end > 1) {
            const std::string_view inner = name.substr(1, end - 1);
            return ProcessLabel{std::string(name.substr(0, end + 1)), rankNamed(inner)};
        }
    }
    const auto rank = rankNamed(name);
    if (!rank) return std::nullopt;
    return ProcessLabel{"rank " + std::to_string(*rank), rank};
}

std::vector<ProcessSplitter::Process> ProcessSplitter::processesOf(std::uint32_t file) const {
    const std::set<StringId> launches = idsOf(trace_, kLaunchCategories);
    const std::set<StringId> operators = idsOf(trace_, kOperators);
    std::map<std::pair<std::int64_t, StringId>, Process> found;
    std::vector<std::pair<std::int64_t, StringId>> order;
    for (TrackId id = 0; id < trace_.tracks_.size(); ++id) {
        const Track& track = trace_.tracks_[id];
        if (track.file != file || track.first_slice == track.end_slice) continue;
        const auto [known, is_new] = found.try_emplace({track.pid, track.process_name});
        Process& process = known->second;
        if (is_new) order.push_back(known->first);
        process.pid = track.pid;
        process.name = trace_.text(track.process_name);
        process.tracks.push_back(id);
        constexpr SliceId kEnough = 64; // a track's slices have few categories
        for (SliceId slice = track.first_slice; slice < std::min(track.end_slice, track.first_slice + kEnough);
             ++slice) {
            const StringId category = trace_.category_[slice];
            process.launches = process.launches || launches.contains(category);
            process.is_host = process.is_host || operators.contains(category);
            process.is_device = process.is_device || Lanes::isWork(trace_.laneOf(slice, id));
        }
    }
    // Some profilers repeat host ranges under the device.
    for (auto& [key, process] : found)
        process.is_host = process.launches || (process.is_host && !process.is_device);
    std::vector<Process> processes;
    for (const auto& key : order) {
        processes.push_back(std::move(found[key]));
        processes.back().label = labelOfProcess(processes.back().name);
    }
    return processes;
}

/// Assigns devices that match no host process by number and name according to the work they ran: to the host process
/// that launched most of their correlation ids before the work began; if several launched them all, to the one that did
/// so most recently.
void ProcessSplitter::tieDevices(std::vector<Process>& processes) const {
    constexpr std::size_t kMost = 20'000; // launches per host process; more would not change the result
    const std::set<StringId> launches = idsOf(trace_, kLaunchCategories);
    std::map<std::size_t, std::unordered_map<std::int64_t, TimeNs>> launched; // by group
    for (const Process& process : processes) {
        if (!process.is_host) continue;
        auto& times = launched[process.group];
        for (const TrackId id : process.tracks) {
            const Track& track = trace_.tracks_[id];
            for (SliceId slice = track.first_slice; slice < track.end_slice && times.size() < kMost; ++slice) {
                if (control_.stopRequested()) return;
                if (!launches.contains(trace_.category_[slice])) continue;
                if (const auto number = correlationOf(trace_, slice)) times.try_emplace(*number, trace_.start(slice));
            }
        }
    }
    for (Process& process : processes) {
        if (process.is_host || !process.is_device) continue;
        std::map<std::size_t, std::pair<std::int64_t, double>>
            matches; // per group: number of launches, and time since the launch
        std::size_t read = 0;
        for (const TrackId id : process.tracks) {
            const Track& track = trace_.tracks_[id];
            for (SliceId slice = track.first_slice; slice < track.end_slice && read < kMost; ++slice, ++read) {
                const auto number = correlationOf(trace_, slice);
                for (const auto& [group, times] : launched) {
                    const auto launch = number ? times.find(*number) : times.end();
                    if (launch == times.end() || launch->second > trace_.start(slice)) continue;
                    ++matches[group].first;
                    matches[group].second -= static_cast<double>((trace_.start(slice) - launch->second).count());
                }
            }
        }
        const auto best = std::ranges::max_element(matches, {}, [](const auto& entry) { return entry.second; });
        if (best != matches.end()) process.group = best->first;
    }
}

/// False if the file has one process.
bool ProcessSplitter::group(std::vector<Process>& processes) const {
    const auto isHost = [](const Process& process) { return process.is_host; };
    if (std::ranges::count_if(processes, isHost) < 2) return false;
    // Groups by label if all host processes have one, because a rank may have several processes.
    const bool labelled =
        std::ranges::all_of(processes, [](const Process& each) { return !each.is_host || each.label.has_value(); });
    std::map<std::string, std::size_t> groups;
    for (Process& process : processes) {
        if (!process.is_host) continue;
        const std::string key = labelled ? process.label->text : std::to_string(groups.size());
        process.group = groups.try_emplace(key, groups.size()).first->second;
    }
    if (groups.size() < 2) return false;
    tieDevices(processes);
    for (Process& process : processes) {
        if (process.is_host) continue;
        const auto same = std::ranges::find_if(processes, [&](const Process& host) {
            if (!host.is_host) return false;
            if (process.label && host.label) return process.label->text == host.label->text;
            return host.pid == process.pid && host.pid != 0;
        });
        if (same != processes.end()) process.group = same->group;
    }
    return true;
}

void ProcessSplitter::divide(std::uint32_t file, const std::vector<Process>& processes) {
    std::map<std::size_t, std::uint32_t> file_of; // by group
    const TraceFile whole = trace_.files_[file];
    std::set<std::int32_t> ranks;
    for (const Process& process : processes) {
        if (process.group == 0 || file_of.contains(process.group)) continue;
        file_of[process.group] = static_cast<std::uint32_t>(trace_.files_.size());
        trace_.files_.push_back(whole);
    }
    file_of[0] = file;
    for (const auto& [group, index] : file_of) {
        TraceFile& part = trace_.files_[index];
        part.rank.reset(); // only one process can have it
        part.groups.clear();
        const auto host = std::ranges::find_if(
            processes, [&, of = group](const Process& each) { return each.is_host && each.group == of; });
        part.process = host->label ? host->label->text : "process " + std::to_string(host->pid);
        if (host->label) part.rank = host->label->rank;
    }
    for (const Process& process : processes) {
        for (const TrackId id : process.tracks)
            trace_.tracks_[id].file = file_of[process.group];
    }
    for (CounterSeries& series : trace_.counters_) {
        if (series.file != file) continue;
        const auto owner = std::ranges::find(processes, series.pid, &Process::pid);
        if (owner != processes.end() && series.pid != 0) series.file = file_of[owner->group];
    }
    log_.add("several-processes", whole.path.string(),
             say("the file contains {} processes; each counts as a rank", file_of.size()));
}

void ProcessSplitter::run() {
    const auto files = static_cast<std::uint32_t>(trace_.files_.size());
    for (std::uint32_t file = 0; file < files && !control_.stopRequested(); ++file) {
        const std::string_view format = trace_.files_[file].format;
        if (format != "kineto" && format != "chrome") continue; // other formats separate processes themselves
        if (trace_.files_[file].extract != nullptr) continue;
        std::vector<Process> processes = processesOf(file);
        if (group(processes)) divide(file, processes);
    }
}

} // namespace bubblescope
