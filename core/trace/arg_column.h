#pragma once

#include "core/base/job.h"
#include "core/trace/args.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace bubblescope {

/// Id of each slice's set of args. Most ids of a file differ only in their lower halves. An entry therefore consists of
/// the lower half and an index of the upper half: 4 bytes if only one upper half occurs, 5 for up to 256, 6 for up to
/// 65,536, and otherwise the complete id (8 bytes). Immutable; thread-safe.
class ArgColumn {
public:
    ArgColumn() = default;
    /// Empty if all ids are 0. Returns nullopt if the job is stopped.
    [[nodiscard]] static std::optional<ArgColumn> of(std::vector<ArgSetId> sets, const JobControl& control);

    [[nodiscard]] ArgSetId operator[](std::size_t slice) const {
        if (lower_.empty()) return whole_.empty() ? 0 : whole_[slice];
        const std::uint32_t lower = lower_[slice];
        if (lower == kNone) return 0;
        const std::size_t upper = !few_.empty() ? few_[slice] : !many_.empty() ? many_[slice] : 0;
        return uppers_[upper] | lower;
    }
    /// Memory usage in bytes.
    [[nodiscard]] std::size_t bytes() const;

private:
    static constexpr std::uint32_t kNone = UINT32_MAX; ///< value of the lower half for a slice without args

    std::vector<std::uint32_t> lower_; ///< empty if no slice has args, or if all ids are in `whole_`
    std::vector<std::uint8_t> few_;    ///< index of the upper half, if there are several upper halves
    std::vector<std::uint16_t> many_;  ///< same as `few_`, for more than 256 upper halves
    std::vector<ArgSetId> uppers_;     ///< upper halves, with zeros in the lower bits
    std::vector<ArgSetId> whole_;
};

} // namespace bubblescope
