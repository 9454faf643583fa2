#include "core/formats/chrome/stream_order.h"

#include <algorithm>

namespace bubblescope::chrome {

void StreamOrder::shorten(std::vector<SliceId>& stream) {
    std::ranges::stable_sort(stream, {}, [this](SliceId slice) { return builder_.sliceStart(slice); });
    const auto runsOver = [&](std::size_t i) {
        return i + 1 < stream.size() && builder_.sliceStart(stream[i]) < builder_.sliceStart(stream[i + 1]) &&
               builder_.sliceEnd(stream[i + 1]) <= builder_.sliceEnd(stream[i]);
    };
    TimeNs end = TimeNs::min(); // latest end of the others
    std::vector<std::size_t> over;
    for (std::size_t i = 0; i < stream.size(); ++i) {
        if (runsOver(i))
            over.push_back(i);
        else
            end = std::max(end, builder_.sliceEnd(stream[i]));
    }
    for (const std::size_t i : over) {
        constexpr std::size_t kMany = 8;
        const TimeNs own_end = builder_.sliceEnd(stream[i]);
        const bool over_many = i + kMany < stream.size() && builder_.sliceEnd(stream[i + kMany]) <= own_end;
        const bool beyond_all = own_end - end > end - builder_.sliceStart(stream.front());
        if (!expects_overflows_ && !(over_many && beyond_all)) continue;
        builder_.closeSlice(stream[i], builder_.sliceStart(stream[i + 1]));
        if (count_++ == 0) first_ = stream[i];
    }
}

} // namespace bubblescope::chrome
