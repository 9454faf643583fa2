#pragma once

#include "app/gui/live/live_feed.h"
#include "profiler/recorder/segment_writer.h"
#include "tests/support/jittered_run.h"
#include "tests/support/scratch_folder.h"

#include <QtGlobal>

#include <atomic>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::gui {

/// A 1F1B run on four ranks that writes its steps into a folder on request.
class LiveRun {
public:
    /// `host` is the host of rank 3 if that runs in a different process.
    explicit LiveRun(test::JitteredRun wanted = {}, std::optional<ProcessInfo> host = {}) {
        wanted.spec.name = "1f1b";
        wanted.spec.pp = kRanks;
        wanted.spec.microbatches = 8;
        wanted.steps = 60;
        run_ = test::makeJitteredRun(wanted, 1);
        RunInfo info;
        info.source = "run";
        info.backend = "cpu";
        info.schedule = "1f1b";
        info.pp = kRanks;
        info.microbatches = 8;
        for (int rank = 0; rank < kRanks; ++rank) {
            const ProcessInfo none{"host", "clock"};
            auto created = profiler::TraceSegmentWriter::create(dir_.path(), info, Rank{rank}, readClocks(),
                                                                rank == kRanks - 1 ? host.value_or(none) : none);
            if (!created.ok()) qFatal("%s", created.error().text().c_str());
            writers_.push_back(std::move(created).value());
        }
    }

    static constexpr int kRanks = 4;

    [[nodiscard]] LiveTarget target() const {
        LiveTarget target;
        target.folders << QString::fromStdString(dir_.path().string());
        return target;
    }
    /// Advances by 20 ms each time it is read.
    [[nodiscard]] LiveFeed::Clock clock() {
        return [this] { return TimeNs{now_ += 20'000'000}; };
    }
    void wait(TimeNs time) { now_ += time.count(); }

    [[nodiscard]] int written() const { return written_; }
    /// Writes a step of all ranks except the last `without`.
    void writeStep(int without = 0) {
        for (int rank = 0; rank < kRanks - without; ++rank) {
            std::vector<profiler::SliceRecord> batch;
            const StepTimeline& step = run_.steps[static_cast<std::size_t>(written_)];
            const auto place = static_cast<std::size_t>(rank);
            for (const TimelineOp& op : step.ranks[place])
                batch.push_back(
                    profiler::SliceRecord::of(op, step.stageOf(Rank{rank}, op.op.chunk), written_, step.detailsOf(op)));
            for (const CommSpan& span : step.comm[place])
                batch.push_back(profiler::SliceRecord::of(span, written_));
            check(writers_[place].append(batch));
        }
        ++written_;
    }
    void writeSteps(int count) {
        for (int i = 0; i < count; ++i)
            writeStep();
    }
    /// Writes a check at the start of the step, before the rank's first op. Not possible for rank 0, which starts the
    /// step.
    void writeCheck(int rank, int step, CheckOutcome outcome) {
        const StepTimeline& timeline = run_.steps[static_cast<std::size_t>(step)];
        const TimelineOp& first = timeline.ranks[static_cast<std::size_t>(rank)].front();
        CheckRecord record;
        record.outcome = outcome;
        record.verdict = outcome == CheckOutcome::Mismatch ? Verdict::Device : Verdict::Open;
        record.step = step;
        record.op = first.op;
        record.layer = rank;
        record.tensor = "activation";
        record.first = 7;
        record.second = outcome == CheckOutcome::Mismatch ? 8 : 7;
        const TimeNs idle = first.start - timeline.begin;
        record.start = timeline.begin + idle / 4;
        record.end = timeline.begin + idle / 2;
        std::vector<CheckRecord> checks{record};
        std::vector<DigestRecord> digests;
        check(writers_[static_cast<std::size_t>(rank)].append(checks, digests));
    }
    void lose(int rank, std::int64_t records) { check(writers_[static_cast<std::size_t>(rank)].appendLost(records)); }
    void end() {
        for (profiler::TraceSegmentWriter& writer : writers_)
            check(writer.appendEnd(0));
    }
    [[nodiscard]] const std::filesystem::path& dir() const { return dir_.path(); }
    [[nodiscard]] const StepTimeline& step(int index) const { return run_.steps[static_cast<std::size_t>(index)]; }

private:
    static void check(const Status& status) {
        if (!status.ok()) qFatal("%s", status.error().text().c_str());
    }

    test::ScratchFolder dir_;
    Run run_;
    std::vector<profiler::TraceSegmentWriter> writers_;
    std::atomic<std::int64_t> now_{0};
    int written_ = 0;
};

} // namespace bubblescope::gui
