#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace bubblescope::perfetto {

/// A range of one of the lists below.
struct ListPart {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    template <class T>
    [[nodiscard]] std::span<const T> of(const std::vector<T>& list) const {
        return std::span(list).subspan(begin, end - begin);
    }
};

/// What TrackEvents may have any number of, those of many events one behind the other; texts lie in the file's bytes.
struct EventLists {
    std::vector<std::uint64_t> category_iids;
    std::vector<std::string_view> categories;
    std::vector<std::string_view> annotations; ///< messages
    std::vector<std::uint64_t> flows;

    void clear();
};

/// The fields of a TrackEvent that matter here, as far as they can be told without what its sequence agreed on before.
struct TrackEvent {
    std::int32_t type = 0;
    std::optional<std::uint64_t> track;
    std::optional<std::uint64_t> name_iid;
    std::string_view name; ///< where it has no number
    std::optional<double> counter;
    ListPart category_iids;
    ListPart categories;
    ListPart annotations;
    ListPart flows;
};

/// Throws protozero::exception where the bytes are none.
[[nodiscard]] TrackEvent decodeTrackEvent(std::string_view message, EventLists& lists);

} // namespace bubblescope::perfetto
