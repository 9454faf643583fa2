#pragma once

#include "core/base/job.h"
#include "core/trace/args.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope {

/// The id of a set of args for each slice. Ids of one file differ in their lower halves mostly, so an entry is that
/// half and the number of its upper half among those that occur: 4 bytes where only one does, 5 up to 256 of them, 6 up
/// to 65,536, else the 8 of the whole id. Immutable; thread-safe.
class ArgColumn {
public:
    ArgColumn() = default;
    /// Of no sets if all are 0. Nothing if the job is stopped.
    [[nodiscard]] static std::optional<ArgColumn> of(std::vector<ArgSetId> sets, const JobControl& control);

    [[nodiscard]] ArgSetId operator[](std::size_t slice) const {
        if (lower_.empty()) return whole_.empty() ? 0 : whole_[slice];
        const std::uint32_t lower = lower_[slice];
        if (lower == kNone) return 0;
        const std::size_t upper = !few_.empty() ? few_[slice] : !many_.empty() ? many_[slice] : 0;
        return uppers_[upper] | lower;
    }
    /// That it takes.
    [[nodiscard]] std::size_t bytes() const;

private:
    static constexpr std::uint32_t kNone = UINT32_MAX; ///< the lower half of no args

    std::vector<std::uint32_t> lower_; ///< empty if no slice has args, or all stand in `whole_`
    std::vector<std::uint8_t> few_;    ///< number of the upper half, where several occur
    std::vector<std::uint16_t> many_;  ///< the same where more than 256 do
    std::vector<ArgSetId> uppers_;     ///< upper halves, the lower bits 0
    std::vector<ArgSetId> whole_;
};

} // namespace bubblescope
