#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/run.h"
#include "core/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// The raw slices of a trace, as extractors read them. One thread at a time.
class RawTrace {
public:
    /// `control` may stop long extractions and must outlive this object; null: nothing stops them. `gpu` is the device
    /// work of the trace if it is known already.
    explicit RawTrace(std::shared_ptr<const Trace> trace, const JobControl* control = nullptr,
                      std::shared_ptr<const GpuWork> gpu = nullptr)
        : trace_(std::move(trace)), control_(control), gpu_(std::move(gpu)) {}

    [[nodiscard]] const Trace& trace() const { return *trace_; }
    [[nodiscard]] const std::shared_ptr<const Trace>& sharedTrace() const { return trace_; }
    [[nodiscard]] std::span<const TraceFile> files() const { return trace_->files(); }
    [[nodiscard]] std::size_t fileCount() const { return files().size(); }
    /// The global rank of the i-th file; files that do not state it are numbered in their order.
    [[nodiscard]] std::int64_t rankOf(std::uint32_t i) const {
        return files()[i].rank.value_or(static_cast<std::int32_t>(i));
    }
    /// All tracks, grouped by file. (In the trace itself rows that were split off a thread come after all others.)
    [[nodiscard]] std::vector<TrackId> tracksByFile() const;
    /// If it requests a stop, extractors return early, and their values may be anything.
    [[nodiscard]] const JobControl& control() const;

    /// The work of devices, found on the first call and kept until forgetGpu().
    [[nodiscard]] const GpuWork& gpu();
    /// The same if it was found already, else null.
    [[nodiscard]] const std::shared_ptr<const GpuWork>& knownGpu() const { return gpu_; }
    void forgetGpu() { gpu_.reset(); }

private:
    std::shared_ptr<const Trace> trace_;
    const JobControl* control_;
    std::shared_ptr<const GpuWork> gpu_;
};

/// Reads raw slices: one value for each file, in their order. A value depends only on its file and the query; analyses
/// merge them. Recognition and analysis reach raw slices through extractors alone.
template <class Value, class... Query>
struct Extractor {
    std::string_view name; ///< unique among all extractors
    Result<std::vector<Value>> (*read)(RawTrace& raw, const Query&... query);
};

/// Errors: those of the extractor, and Cancelled.
template <class Value, class... Query>
[[nodiscard]] Result<std::vector<Value>> extract(RawTrace& raw, const Extractor<Value, Query...>& extractor,
                                                 const std::type_identity_t<Query>&... query) {
    BUBBLESCOPE_ASSIGN(std::vector<Value> values, extractor.read(raw, query...));
    if (raw.control().stopRequested()) return cancelledError();
    return values;
}

/// One value for each of Run::inputs(); none if its slices are gone.
template <class Value, class... Query>
[[nodiscard]] Result<std::vector<Value>> extract(const Run& run, const Extractor<Value, Query...>& extractor,
                                                 const std::type_identity_t<Query>&... query) {
    if (run.trace == nullptr) return std::vector<Value>();
    RawTrace raw(run.trace);
    return extract(raw, extractor, query...);
}

} // namespace bubblescope
