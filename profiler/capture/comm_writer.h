#pragma once

#include "core/formats/perfetto/capture_names.h"
#include "profiler/capture/capture_file.h"
#include "profiler/capture/capture_options.h"
#include "profiler/nccl/comm_event.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

namespace bubblescope::profiler {

/// Writes NCCL's operations in the category "nccl": one track per communicator, one for groups, and one for the proxy's
/// work. The slice of an operation covers the time during which NCCL queues it. The data moves later: while the
/// operation's kernel runs and, between machines, during its proxy operations (arg "parent"). Not thread-safe.
class CommWriter {
public:
    CommWriter(CaptureFile& file, const nccl::Communicators& communicators, CaptureWindow& window,
               perfetto::CaptureCounts& counts)
        : file_(file), communicators_(communicators), window_(window), counts_(counts) {}

    /// Accepts starts and ends in any order, because they come from different threads.
    void take(const HostRecord& record, TimeNs time);
    /// Number of events that have begun but not ended; these are not yet in the file.
    [[nodiscard]] std::size_t waiting() const { return begun_.size(); }

private:
    struct Begun {
        TimeNs start{0};
        std::string row;
        std::string name;
        OwnedArgs args;
    };

    [[nodiscard]] Begun begun(const HostRecord& record, const nccl::CommEvent& event, TimeNs start) const;
    void write(const Begun& event, TimeNs end);
    [[nodiscard]] std::string rowOf(const nccl::CommEvent& event) const;

    CaptureFile& file_;
    const nccl::Communicators& communicators_;
    CaptureWindow& window_;
    perfetto::CaptureCounts& counts_;
    std::unordered_map<std::uint64_t, Begun> begun_;
    std::unordered_map<std::uint64_t, TimeNs> ended_early_;
    std::map<std::string, Lanes> rows_;
};

} // namespace bubblescope::profiler
