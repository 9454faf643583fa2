#pragma once

#include "core/formats/perfetto/encoder.h"
#include "core/schedule/stage_ways.h"
#include "core/timeline/checks.h"
#include "core/timeline/run_info.h"
#include "core/timeline/step_timeline.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Events of native trace files as specified in timeline/trace_names.h, for every writer of such files. The returned
/// args are views of constants and of strings in the source, which must outlive them.

namespace bubblescope::perfetto {

/// The args of a slice, stored in place, because there are too many slices for an allocation per slice.
class SliceArgs {
public:
    void add(std::string_view name, decltype(Arg::value) value) { args_[count_++] = {name, value}; }
    operator std::span<const Arg>() const { return {args_.data(), count_}; } // NOLINT(google-explicit-constructor)

private:
    static constexpr std::size_t kMaxArgs = 9;
    std::array<Arg, kMaxArgs> args_{};
    std::size_t count_ = 0;
};
[[nodiscard]] SliceArgs opArgs(const Op& op, const OpDetails& details, Stage stage, int step);
[[nodiscard]] SliceArgs commArgs(const CommSpan& span, int step);
/// `placement` is the name of the run's placement. `rank` is set if the file has only one rank.
[[nodiscard]] std::vector<Arg> runArgs(const RunInfo& info, const std::string& placement, std::optional<Rank> rank);

[[nodiscard]] std::string_view commCategory(CommKind kind);
/// Name such as "send F3", or "all_reduce" for a collective.
[[nodiscard]] std::string commName(const CommSpan& span);
[[nodiscard]] std::string_view payloadName(Payload payload);

/// Name of a communication span's lane, such as "send activation".
[[nodiscard]] std::string_view commTrackName(CommKind kind, Payload payload);

/// The flow ids of the transfers that an op receives and sends; never 0. Producer and consumer compute equal ids
/// independently, so that files from different ranks match.
class FlowIds {
public:
    void add(std::uint64_t id) { ids_[count_++] = id; }
    operator std::span<const std::uint64_t>() const {
        return {ids_.data(), count_};
    } // NOLINT(google-explicit-constructor)

private:
    std::array<std::uint64_t, 3> ids_{}; ///< three where two encoders join
    std::size_t count_ = 0;
};
[[nodiscard]] FlowIds opFlowIds(const Op& op, Stage stage, const StageWays& ways, int step);

/// Name and args of a check, as specified in timeline/trace_names.h. `stage` must be that of the check's rank and
/// chunk. The args are views of the check and of this object, which must not move.
class CheckEvent {
public:
    CheckEvent(const CheckRecord& check, Stage stage);
    CheckEvent(const CheckEvent&) = delete;
    CheckEvent& operator=(const CheckEvent&) = delete;

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] std::span<const Arg> args() const { return args_; }
    void add(const Arg& arg) { args_.push_back(arg); }

private:
    std::string name_;
    std::string kind_;
    std::string first_;
    std::string second_;
    std::string first_bits_;
    std::string second_bits_;
    std::vector<Arg> args_;
};

/// Writes a check as a slice on `track` if it took time, otherwise as an instant. Checks on one track must be in time
/// order and must not overlap.
void writeCheck(Encoder& encoder, std::uint64_t track, const CheckRecord& check, Stage stage);

/// Writes a digest as an instant.
void writeDigest(Encoder& encoder, std::uint64_t track, const DigestRecord& digest, Stage stage);

} // namespace bubblescope::perfetto
