#pragma once

#include "profiler/recorder/segment_writer.h"
#include "tests/support/jittered_run.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::test {

/// Ranks that write the steps of simulated runs to files, like a recorder, and return the written data.
class RecordedRanks {
public:
    explicit RecordedRanks(const RunInfo& info, perfetto::SegmentLimits limits = {}) : info_(info), limits_(limits) {
        for (int rank = 0; rank < info.pp * info.dp; ++rank) {
            ProcessInfo host;
            host.host = "host";
            host.clock = "clock";
            start(rank, host);
        }
    }

    /// Starts the rank again, as another process.
    void start(int rank, const ProcessInfo& host) {
        auto created =
            profiler::TraceSegmentWriter::create(dir_.path(), info_, Rank{rank}, readClocks(), host, limits_);
        EXPECT_TRUE(created.ok()) << created.error().text();
        const auto place = static_cast<std::size_t>(rank);
        if (place == writers_.size()) {
            writers_.push_back(std::move(created).value());
            read_.push_back(0);
        } else {
            writers_[place] = std::move(created).value();
            read_[place] = 0;
        }
    }

    /// Writes a rank's part of a step as step `index`. `rank` counts all ranks of the run.
    void write(int rank, const StepTimeline& step, int index) {
        std::vector<profiler::SliceRecord> batch;
        const Rank in_pipeline{rank / info_.dp};
        for (const TimelineOp& op : step.ranks[in_pipeline.index()]) {
            batch.push_back(
                profiler::SliceRecord::of(op, step.stageOf(in_pipeline, op.op.chunk), index, step.detailsOf(op)));
        }
        for (const CommSpan& span : step.comm[in_pipeline.index()])
            batch.push_back(profiler::SliceRecord::of(span, index));
        records_ += static_cast<std::int64_t>(batch.size());
        EXPECT_TRUE(writer(rank).append(batch).ok());
    }

    profiler::TraceSegmentWriter& writer(int rank) { return writers_[static_cast<std::size_t>(rank)]; }

    /// Data that the rank has written since the last call.
    std::string news(int rank) {
        const auto place = static_cast<std::size_t>(rank);
        std::ifstream file(writers_[place].path(), std::ios::binary);
        file.seekg(static_cast<std::streamoff>(read_[place]));
        std::ostringstream fresh;
        fresh << file.rdbuf();
        read_[place] += fresh.view().size();
        return std::move(fresh).str();
    }

    [[nodiscard]] std::int64_t records() const { return records_; }
    [[nodiscard]] int ranks() const { return static_cast<int>(writers_.size()); }
    [[nodiscard]] const std::filesystem::path& dir() const { return dir_.path(); }

private:
    RunInfo info_;
    perfetto::SegmentLimits limits_;
    ScratchFolder dir_;
    std::vector<profiler::TraceSegmentWriter> writers_;
    std::vector<std::size_t> read_;
    std::int64_t records_ = 0;
};

[[nodiscard]] inline RunInfo infoOf(const JitteredRun& wanted) {
    RunInfo info;
    info.source = "run";
    info.backend = "cpu";
    info.schedule = wanted.spec.name;
    info.flavor = wanted.spec.flavor;
    info.pp = wanted.spec.pp;
    info.microbatches = wanted.spec.microbatches;
    info.vpp = wanted.spec.vpp;
    return info;
}

[[nodiscard]] inline JitteredRun fourRanks(int steps) {
    JitteredRun wanted;
    wanted.spec.name = "1f1b";
    wanted.spec.pp = 4;
    wanted.spec.microbatches = 8;
    wanted.steps = steps;
    return wanted;
}

/// Like the previous function, but the ops of rank 2 take `factor` times as long from step `onset` on.
[[nodiscard]] inline JitteredRun fourRanksWithASlowOne(int steps, int onset, double factor) {
    JitteredRun wanted = fourRanks(steps);
    wanted.op_factor = [onset, factor](int step, Rank rank, const Op&) {
        return rank == Rank{2} && step >= onset ? factor : 1.0;
    };
    return wanted;
}

/// Completes a step that rank 0 of four has ended, and ends the next one of rank 0, so that a step is always open.
inline void writeBesideTheNext(RecordedRanks& ranks, const Run& run, int step) {
    for (const int rank : {1, 2, 3})
        ranks.write(rank, run.steps[static_cast<std::size_t>(step)], step);
    ranks.write(0, run.steps[static_cast<std::size_t>(step + 1)], step + 1);
}

} // namespace bubblescope::test
