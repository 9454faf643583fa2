#pragma once

#include "core/base/job.h"
#include "core/base/result.h"
#include "core/base/wire.h"
#include "core/formats/source/file_extract.h"
#include "core/recognise/gpu_work.h"
#include "core/recognise/kernel_steps.h"
#include "core/recognise/run.h"
#include "core/trace/trace.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// In an extract, the rank of a file without a recorded rank, because the file's index in the trace is unknown until
/// loading.
inline constexpr std::int64_t kUnknownRank = -77'777'777'777;

/// The raw slices of a trace, as accessed by extractors. Not thread-safe.
class RawTrace {
public:
    /// `control` can stop long extractions; it must outlive this object and may be null. `gpu` is the device work of
    /// the trace, if already known.
    explicit RawTrace(std::shared_ptr<const Trace> trace, const JobControl* control = nullptr,
                      std::shared_ptr<const GpuWork> gpu = nullptr)
        : trace_(std::move(trace)), control_(control), gpu_(std::move(gpu)),
          rank_of_file_(ranksOfFiles(trace_->files())) {}
    /// After this call, files without a recorded rank get kUnknownRank.
    void leaveRanksOpen() { ranks_open_ = true; }

    [[nodiscard]] const Trace& trace() const { return *trace_; }
    [[nodiscard]] const std::shared_ptr<const Trace>& sharedTrace() const { return trace_; }
    [[nodiscard]] std::span<const TraceFile> files() const { return trace_->files(); }
    [[nodiscard]] std::size_t fileCount() const { return files().size(); }
    /// The global rank of the i-th file; files without a recorded rank are numbered in order.
    [[nodiscard]] std::int64_t rankOf(std::uint32_t i) const {
        return ranks_open_ && !files()[i].rank ? kUnknownRank : rank_of_file_[i];
    }
    /// All tracks, grouped by file. (In the trace itself, rows split off from a thread come after all others.)
    [[nodiscard]] std::vector<TrackId> tracksByFile() const;
    /// After a stop is requested, extractors return early with unspecified values.
    [[nodiscard]] const JobControl& control() const;

    /// The work of devices. Computed on the first call and cached until forgetGpu().
    [[nodiscard]] const GpuWork& gpu();
    /// The steps whose kernels were recorded, per file. Computed on the first call.
    [[nodiscard]] const std::vector<SampledKernels>& sampledKernels();

    /// The result of gpu() if already computed, otherwise null.
    [[nodiscard]] const std::shared_ptr<const GpuWork>& knownGpu() const { return gpu_; }
    void forgetGpu() { gpu_.reset(); }

    /// A value of the i-th file, which must be an extract; default-constructed if missing. Error: Input.
    template <class Value>
    [[nodiscard]] Result<Value> stored(std::uint32_t i, std::string_view key) {
        const TraceFile& file = files()[i];
        Value value{};
        const auto bytes = file.extract->value(key, file.path.string());
        if (!bytes.ok()) return damagedExtract(i);
        if (!bytes.value()) return value;
        WireReader in(*bytes.value(), trace_->origin());
        in(value);
        if (!in.done()) return damagedExtract(i);
        return value;
    }
    /// Records that the i-th file is corrupt.
    [[nodiscard]] Error damagedExtract(std::uint32_t i);
    /// True if a value in any extract could not be read. Data that was reported as missing may then exist.
    [[nodiscard]] bool isDamaged() const { return damaged_; }

private:
    std::shared_ptr<const Trace> trace_;
    const JobControl* control_;
    std::shared_ptr<const GpuWork> gpu_;
    std::optional<std::vector<SampledKernels>> kernels_;
    std::vector<std::int64_t> rank_of_file_;
    bool ranks_open_ = false;
    bool damaged_ = false;
};

/// Reads raw slices and returns one value per file, in the order of files. A value depends only on its file and the
/// query; analyses merge the values. Recognition and analysis access raw slices only through extractors.
template <class Value, class... Query>
struct Extractor {
    std::string_view name; ///< unique among all extractors
    Result<std::vector<Value>> (*read)(RawTrace& raw, const Query&... query);
};

/// The key of a value in an extract.
template <class Value>
[[nodiscard]] std::string keyOf(const Extractor<Value>& extractor) {
    return std::string(extractor.name);
}
template <class Value, class Query>
[[nodiscard]] std::string keyOf(const Extractor<Value, Query>& extractor, const Query& query) {
    return std::string(extractor.name) + ' ' + keyOf(query);
}

/// Sets the file index in the value of an extract, and returns true if the value may be used for a query. This overload
/// is for values without a file index. Other values have overloads next to their fields().
template <class Value>
void moveTo(std::uint32_t /*file*/, std::int64_t /*rank*/, Value& /*value*/) {}
template <class Value, class... Query>
[[nodiscard]] bool fits(const Value& /*value*/, const Query&... /*query*/) {
    return true;
}

/// For files that are extracts, returns the stored values. Errors: those of the extractor, Input for a corrupt extract,
/// and Cancelled.
template <class Value, class... Query>
[[nodiscard]] Result<std::vector<Value>> extract(RawTrace& raw, const Extractor<Value, Query...>& extractor,
                                                 const std::type_identity_t<Query>&... query) {
    BUBBLESCOPE_ASSIGN(std::vector<Value> values, extractor.read(raw, query...));
    for (std::uint32_t i = 0; i < values.size(); ++i) {
        if (raw.files()[i].extract == nullptr) continue;
        if (raw.control().stopRequested()) return cancelledError();
        BUBBLESCOPE_ASSIGN(values[i], raw.template stored<Value>(i, keyOf(extractor, query...)));
        if (!fits(values[i], query...)) return raw.damagedExtract(i);
        moveTo(i, raw.rankOf(i), values[i]);
    }
    if (raw.control().stopRequested()) return cancelledError();
    return values;
}

/// One value per entry of Run::inputs(); empty if the slices were dropped.
template <class Value, class... Query>
[[nodiscard]] Result<std::vector<Value>> extract(const Run& run, const Extractor<Value, Query...>& extractor,
                                                 const std::type_identity_t<Query>&... query) {
    if (run.trace == nullptr) return std::vector<Value>();
    RawTrace raw(run.trace);
    return extract(raw, extractor, query...);
}

} // namespace bubblescope
