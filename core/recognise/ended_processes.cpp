#include "core/recognise/ended_processes.h"

#include "core/base/sentence.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace bubblescope {
namespace {

bool isOfRank(const ProfilerMarks& marks) {
    return marks.is_captured && !marks.steps.empty();
}

Sentence nameOf(const TraceFile& file) {
    return file.rank ? say("rank {}", *file.rank) : Sentence(file.path.string());
}

Sentence endBySignal(const ProfilerMarks& marks) {
    if (const auto step = stepAt(marks, marks.ended)) return say("killed by {} in step {}", marks.signal, *step);
    return say("killed by {} after its last step", marks.signal);
}

/// The first event at the end of the job.
Sentence endOf(const ProfilerMarks& first, const std::string& signal_of_others) {
    if (!first.signal.empty()) return endBySignal(first);
    if (const auto step = stepAt(first, first.ended))
        return say("exited in step {}; others were then killed by {}", *step, signal_of_others);
    return say("exited after its last step; others were then killed by {}", signal_of_others);
}

/// True for signals that launchers do not use to end the other processes.
bool isCause(const std::string& signal) {
    return !signal.empty() && signal != "SIGTERM" && signal != "SIGINT" && signal != "SIGHUP";
}

/// The index of the rank that ended first; nothing if none has ended. `record` notices a killed process only when it
/// next runs, and processes that were connected to it may exit before that.
std::optional<std::size_t> firstToEnd(std::span<const ProfilerMarks> marks) {
    constexpr TimeNs kNotedLate = std::chrono::seconds(1);
    std::optional<std::size_t> first;
    std::optional<std::size_t> killed;
    for (std::size_t file = 0; file < marks.size(); ++file) {
        const bool has_ended = marks[file].has_end || !marks[file].signal.empty();
        if (!isOfRank(marks[file]) || !has_ended) continue;
        const auto isEarlier = [&](const auto& than) { return !than || marks[file].ended < marks[*than].ended; };
        if (isEarlier(first)) first = file;
        if (isCause(marks[file].signal) && isEarlier(killed)) killed = file;
    }
    return killed && marks[*killed].ended - kNotedLate <= marks[*first].ended ? killed : first;
}

void reportFirstEnd(std::span<const TraceFile> files, std::span<const ProfilerMarks> marks, DiagnosticLog& log) {
    const auto ended =
        std::ranges::find_if(marks, [](const ProfilerMarks& file) { return isOfRank(file) && !file.signal.empty(); });
    if (ended == marks.end()) return;
    const std::size_t first = *firstToEnd(marks);
    log.add("rank-killed", nameOf(files[first]), endOf(marks[first], ended->signal));
}

} // namespace

void reportEndedProcesses(std::span<const TraceFile> files, std::span<const ProfilerMarks> marks, DiagnosticLog& log) {
    reportFirstEnd(files, marks, log);
    if (std::ranges::none_of(marks, &ProfilerMarks::has_end)) return; // it may still be running
    for (std::size_t file = 0; file < marks.size(); ++file) {
        const bool is_open = !marks[file].has_end && marks[file].signal.empty();
        if (isOfRank(marks[file]) && is_open)
            log.add("unfinished", files[file].path.string(),
                    say("the file has no end mark: its process was killed, or the file was truncated"));
    }
}

} // namespace bubblescope
