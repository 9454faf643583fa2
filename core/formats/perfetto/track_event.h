#pragma once

#include <cstddef>
#include <cstdint>
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

/// What TrackEvents may have any number of, and names, which few events spell out: those of many events one behind the
/// other; texts lie in the file's bytes.
struct EventLists {
    std::vector<std::string_view> names;
    std::vector<std::uint64_t> category_iids;
    std::vector<std::string_view> categories;
    std::vector<std::string_view> annotations; ///< messages
    std::vector<std::uint64_t> flows;

    void clear();
};

/// The fields of a TrackEvent that matter here, as far as they can be told without what its sequence agreed on before.
/// There are millions, so that it is kept small, and flat: GCC copies optionals slowly.
struct TrackEvent {
    std::int32_t type = 0;
    bool has_track = false;
    bool has_name_iid = false;
    bool has_counter = false;
    std::uint64_t track = 0;
    std::uint64_t name_iid = 0;
    double counter = 0;
    ListPart names; ///< the last holds, where there is no number
    ListPart category_iids;
    ListPart categories;
    ListPart annotations;
    ListPart flows;
};

/// Throws protozero::exception where the bytes are none.
void decodeTrackEvent(std::string_view message, EventLists& lists, TrackEvent& out);

} // namespace bubblescope::perfetto
