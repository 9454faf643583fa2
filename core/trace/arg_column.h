#pragma once

#include "core/base/job.h"
#include "core/trace/args.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope {

/// The id of a set of args for each slice. The ids of one file mostly differ in their lower halves, so an entry stores
/// that half and an index of its upper half: 4 bytes if only one upper half occurs, 5 up to 256, 6 up to 65,536,
/// otherwise the whole id (8 bytes). Immutable; thread-safe.
class ArgColumn {
public:
    ArgColumn() = default;
    /// Empty if all ids are 0. Nothing if the job is stopped.
    [[nodiscard]] static std::optional<ArgColumn> of(std::vector<ArgSetId> sets, const JobControl& control);

    [[nodiscard]] ArgSetId operator[](std::size_t slice) const {
        if (lower_.empty()) return whole_.empty() ? 0 : whole_[slice];
        const std::uint32_t lower = lower_[slice];
        if (lower == kNone) return 0;
        const std::size_t upper = !few_.empty() ? few_[slice] : !many_.empty() ? many_[slice] : 0;
        return uppers_[upper] | lower;
    }
    /// Memory in bytes.
    [[nodiscard]] std::size_t bytes() const;

private:
    static constexpr std::uint32_t kNone = UINT32_MAX; ///< lower half that marks a slice without args

    std::vector<std::uint32_t> lower_; ///< empty if no slice has args, or all are in `whole_`
    std::vector<std::uint8_t> few_;    ///< index of the upper half, if there are several
    std::vector<std::uint16_t> many_;  ///< as `few_`, for more than 256 upper halves
    std::vector<ArgSetId> uppers_;     ///< upper halves, with lower bits 0
    std::vector<ArgSetId> whole_;
};

} // namespace bubblescope
