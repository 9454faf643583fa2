#pragma once

#include "app/gui/models/lanes.h"

#include <vector>

namespace bubblescope::gui {

/// How busy all ranks together are over a whole run, in equal pieces of its time. Immutable.
class Overview {
public:
    static constexpr std::size_t kPieces = 2048;

    Overview() = default;
    /// Linear in ops and bubbles.
    explicit Overview(const Lanes& lanes);

    struct Piece {
        float busy = 0;   ///< share of the ranks' time that ops fill
        float bubble = 0; ///< share that lies in bubbles of steps; the rest is between steps
    };
    [[nodiscard]] const TimeRange& extent() const { return extent_; }
    [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
    /// Mean over the part [from, to) of the run, 0 to 1.
    [[nodiscard]] Piece mean(double from, double to) const;

private:
    void add(const Lane& lane, float Piece::*share, double weight);

    TimeRange extent_;
    std::vector<Piece> pieces_;
};

} // namespace bubblescope::gui
