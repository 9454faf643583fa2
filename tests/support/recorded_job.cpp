#include "tests/support/recorded_job.h"

#include "profiler/capture/capture_writer.h"
#include "tests/support/scratch_folder.h"

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace bubblescope::test {
namespace {

struct NamedOp {
    std::string name;
    int begin; ///< in units of the step
    int end;
};

std::vector<NamedOp> orderOf(int rank) {
    if (rank == 0) return {{"F0", 0, 1}, {"F1", 1, 2}, {"B0", 4, 6}, {"B1", 7, 9}};
    return {{"F0", 1, 2}, {"B0", 2, 4}, {"F1", 4, 5}, {"B1", 5, 7}};
}

void mustBeFine(const Status& status) {
    if (status.ok()) return;
    std::fputs(status.error().text().c_str(), stderr);
    std::abort();
}

} // namespace

struct RecordedJob::Parts {
    std::filesystem::path dir;
    profiler::CaptureOptions options;
    profiler::nvtx::Names names;
    profiler::nccl::Communicators communicators;
    std::vector<std::unique_ptr<profiler::CaptureWriter>> writers;
};

RecordedJob::RecordedJob(std::filesystem::path dir, std::int64_t size) : parts_(std::make_unique<Parts>()) {
    parts_->dir = std::move(dir);
    parts_->options.size = size;
    for (int rank = 0; rank < kRanks; ++rank) {
        profiler::CaptureFileInfo info;
        info.dir = parts_->dir;
        info.identity.rank = rank;
        info.identity.size = kRanks;
        info.process = {.host = "node", .clock = "boot", .pid = 100 + rank, .program = "train"};
        parts_->writers.push_back(std::make_unique<profiler::CaptureWriter>(
            parts_->options, info, parts_->names, parts_->communicators, profiler::cupti::CallName{}));
        constexpr TimeNs kSecond = std::chrono::seconds(1);
        constexpr TimeNs kAhead = std::chrono::hours(1);
        writer(rank).addReading({0, TimeNs{0}, kAhead});
        writer(rank).addReading({kSecond.count(), kSecond, kAhead + kSecond});
    }
}

RecordedJob::~RecordedJob() = default;

void RecordedJob::write(int rank, int step) {
    const auto tell = [&](profiler::HostRecord::Type type, std::string_view text, int unit) {
        profiler::HostRecord record;
        record.type = type;
        record.text = text;
        record.ticks = (unit * kUnit).count();
        writer(rank).take(7, record, false);
    };
    for (const NamedOp& op : orderOf(rank)) {
        tell(profiler::HostRecord::Type::Push, op.name, step * kStep + op.begin);
        tell(profiler::HostRecord::Type::Pop, {}, step * kStep + op.end);
    }
    flush(rank, step + 1);
}

void RecordedJob::flush(int rank, int step) {
    mustBeFine(writer(rank).flush(step * kStep * kUnit));
}

void RecordedJob::end(int rank, int step) {
    mustBeFine(writer(rank).finish(step * kStep * kUnit));
}

profiler::CaptureWriter& RecordedJob::writer(int rank) {
    return *parts_->writers[static_cast<std::size_t>(rank)];
}

std::string RecordedJob::bytes(int rank) const {
    return readAll(parts_->dir / ("rank" + std::to_string(rank) + ".pid" + std::to_string(100 + rank) + ".pftrace"));
}

} // namespace bubblescope::test
