#pragma once

#include "core/timeline/step_timeline.h"
#include "profiler/recorder/segment_writer.h"

#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

/// The common code of the programs that load a live view.
namespace bubblescope::bench {

/// Processor time of the calling thread.
inline double threadSeconds(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Processor time of all threads.
inline double processSeconds() {
    return threadSeconds(CLOCK_PROCESS_CPUTIME_ID);
}

/// Resident memory according to a status file in /proc; 0 if there is no such file.
inline long residentKilobytes(const std::string& file = "/proc/self/status", std::string_view which = "VmRSS:") {
    std::ifstream status(file);
    for (std::string word; status >> word;) {
        long kilobytes = 0;
        if (word == which && status >> kilobytes) return kilobytes;
    }
    return 0;
}

/// Records of a rank's part of a step, as its recorder writes them, shifted to a later time.
inline std::vector<profiler::SliceRecord> recordsOf(const StepTimeline& shape, Rank rank, TimeNs later, int step) {
    std::vector<profiler::SliceRecord> records;
    for (TimelineOp op : shape.ranks[rank.index()]) {
        op.start += later;
        op.end += later;
        records.push_back(profiler::SliceRecord::of(op, shape.stageOf(rank, op.op.chunk), step));
    }
    for (CommSpan span : shape.comm[rank.index()]) {
        span.start += later;
        span.end += later;
        records.push_back(profiler::SliceRecord::of(span, step));
    }
    return records;
}

} // namespace bubblescope::bench
