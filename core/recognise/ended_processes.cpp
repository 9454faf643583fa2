#include "core/recognise/ended_processes.h"

#include "core/base/sentence.h"

#include <algorithm>
#include <cstddef>
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
    if (const auto step = stepAt(marks, marks.ended)) return say("ended by {} in step {}", marks.signal, *step);
    return say("ended by {} after its last step", marks.signal);
}

/// What happened first when the job ended.
Sentence endOf(const ProfilerMarks& first, const std::string& signal_of_others) {
    if (!first.signal.empty()) return endBySignal(first);
    if (const auto step = stepAt(first, first.ended))
        return say("exited in step {}; others were then ended by {}", *step, signal_of_others);
    return say("exited after its last step; others were then ended by {}", signal_of_others);
}

void reportFirstEnd(std::span<const TraceFile> files, std::span<const ProfilerMarks> marks, DiagnosticLog& log) {
    std::optional<std::size_t> first;
    std::string signal;
    for (std::size_t file = 0; file < marks.size(); ++file) {
        const bool has_ended = marks[file].has_end || !marks[file].signal.empty();
        if (!isOfRank(marks[file]) || !has_ended) continue;
        if (!first || marks[file].ended < marks[*first].ended) first = file;
        if (signal.empty()) signal = marks[file].signal;
    }
    if (signal.empty()) return;
    log.add("rank-killed", nameOf(files[*first]), endOf(marks[*first], signal));
}

} // namespace

void reportEndedProcesses(std::span<const TraceFile> files, std::span<const ProfilerMarks> marks, DiagnosticLog& log) {
    reportFirstEnd(files, marks, log);
    if (std::ranges::none_of(marks, &ProfilerMarks::has_end)) return; // it may still be running
    for (std::size_t file = 0; file < marks.size(); ++file) {
        const bool is_open = !marks[file].has_end && marks[file].signal.empty();
        if (isOfRank(marks[file]) && is_open)
            log.add("unfinished", files[file].path.string(),
                    say("the file has no end: its process was killed, or the file was truncated"));
    }
}

} // namespace bubblescope
