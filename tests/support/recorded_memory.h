#pragma once

#include "profiler/events/event_memory.h"
#include "profiler/events/host_recorder.h"

#include <cstdint>
#include <memory>
#include <span>

namespace bubblescope::test {

/// A recorder with the memory that it records into, and a reader of that memory.
class RecordedMemory {
public:
    explicit RecordedMemory(std::size_t bytes = std::size_t{1} << 20)
        : memory_(profiler::EventMemory::create(bytes)), recorder_([this](bool) { return memory_.get(); }),
          reader_(*memory_, profiler::EventReader::From::Begin) {}

    profiler::HostRecorder& recorder() { return recorder_; }
    profiler::EventMemory& memory() { return *memory_; }

    /// Calls `take(tid, record, after_gap)` for all new records. Returns the total number of lost starts.
    template <class Take>
    std::int64_t drain(const Take& take) {
        while (
            reader_.read(std::size_t{1} << 16, [&](std::uint32_t tid, std::span<const std::uint64_t> words, bool gap) {
                const std::size_t count = profiler::host_record::wordsOf(words[0]);
                if (count > words.size()) return std::size_t{0};
                if (const auto record = profiler::decodeHostRecord(words.first(count))) take(tid, *record, gap);
                return count;
            })) {
        }
        reader_.release();
        return static_cast<std::int64_t>(memory_->header().lost_begins.load());
    }

private:
    std::unique_ptr<profiler::EventMemory> memory_;
    profiler::HostRecorder recorder_;
    profiler::EventReader reader_;
};

} // namespace bubblescope::test
