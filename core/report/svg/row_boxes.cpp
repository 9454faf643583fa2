#include "core/report/svg/row_boxes.h"

#include "core/report/svg/axis.h"
#include "core/timeline/colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace bubblescope::svg {
namespace {

const char* colourOf(OpKind kind) {
    switch (kind) {
    case OpKind::Forward: return colours::kForward;
    case OpKind::Backward: return colours::kBackward;
    case OpKind::BackwardInput: return colours::kBackwardInput;
    case OpKind::BackwardWeight: return colours::kBackwardWeight;
    case OpKind::Optimizer: break;
    }
    return colours::kOptimizer;
}

} // namespace

std::string fillOf(const Paint& paint) {
    colours::Rgb rgb = colours::parseRgb(colourOf(paint.kind));
    if (paint.steps > 1) {
        const double share = colours::kChunkMix * paint.step / (paint.steps - 1);
        rgb = colours::mixed(rgb, colours::parseRgb(colours::kGround), share);
    }
    return fmt::format("#{:02x}{:02x}{:02x}", rgb.red, rgb.green, rgb.blue);
}

std::string_view textOn(std::string_view fill) {
    return colours::takesBlackText(colours::parseRgb(fill)) ? colours::kText : colours::kGround;
}

namespace {

constexpr double kNarrowest = 0.6;     ///< pixels; narrower pieces are merged
constexpr double kGap = 0.8;           ///< distance between neighbours
constexpr double kTallestLabel = 0.74; ///< size of a label relative to its box's height
constexpr double kSmallestLabel = 6.5;

/// An op or a bubble with its share of the row's height.
struct Piece {
    TimeNs start{0};
    TimeNs end{0};
    const TimelineOp* op = nullptr; ///< null: a bubble
    int lane = 0;
    int lanes = 1;
};

class RowBuilder {
public:
    explicit RowBuilder(const RowInput& input)
        : in_(input), scale_(input.row.width / static_cast<double>((input.to - input.from).count())) {}

    std::vector<Box> build() {
        collect();
        for (std::size_t i = 0; i < pieces_.size();) {
            if (width(pieces_[i]) >= kNarrowest) {
                addOne(pieces_[i++]);
            } else {
                i = addGathered(i);
            }
        }
        return std::move(boxes_);
    }

private:
    [[nodiscard]] double x(TimeNs time) const {
        const TimeNs inside = std::clamp(time, in_.from, in_.to);
        return in_.row.x + static_cast<double>((inside - in_.from).count()) * scale_;
    }
    [[nodiscard]] double width(const Piece& piece) const { return x(piece.end) - x(piece.start); }
    [[nodiscard]] bool shown(TimeNs start, TimeNs end) const { return end > start && end > in_.from && start < in_.to; }

    void collect() {
        for (const TimelineOp& op : in_.step.ranks[in_.rank.index()]) {
            if (shown(op.start, op.end)) pieces_.push_back({op.start, op.end, &op});
        }
        std::ranges::stable_sort(pieces_, {}, [](const Piece& p) { return std::pair(p.start, p.op->op.kind); });
        for (std::size_t first = 0; first < pieces_.size();)
            first = shareRow(first);
        for (const Bubble& bubble : in_.bubbles) {
            if (shown(bubble.start, bubble.end)) pieces_.push_back({bubble.start, bubble.end});
        }
        std::ranges::stable_sort(pieces_, {}, &Piece::start);
    }

    /// Assigns lanes to the ops from `first` on that overlap one another, directly or through others; returns the first
    /// op after them.
    std::size_t shareRow(std::size_t first) {
        std::vector<TimeNs> free; // per lane
        TimeNs latest = pieces_[first].end;
        std::size_t last = first;
        for (; last < pieces_.size() && (last == first || pieces_[last].start < latest); ++last) {
            Piece& piece = pieces_[last];
            const auto lane = std::ranges::find_if(free, [&](TimeNs end) { return end <= piece.start; });
            piece.lane = static_cast<int>(lane - free.begin());
            if (lane == free.end()) {
                free.push_back(piece.end);
            } else {
                *lane = piece.end;
            }
            latest = std::max(latest, piece.end);
        }
        for (std::size_t i = first; i < last; ++i)
            pieces_[i].lanes = static_cast<int>(free.size());
        return last;
    }

    [[nodiscard]] Rect place(double left, double right, int lane, int lanes) const {
        const double height = in_.row.height / lanes;
        const double gap = std::min(kGap, 0.2 * (right - left));
        const double between = lanes > 1 ? std::min(kGap, 0.2 * height) : 0;
        return {left + gap / 2, in_.row.y + lane * height + (lane > 0 ? between / 2 : 0), right - left - gap,
                height - (lanes > 1 ? between / 2 : 0)};
    }

    void addOne(const Piece& piece) {
        Box box;
        box.rect = place(x(piece.start), x(piece.end), piece.lane, piece.lanes);
        const std::string when =
            fmt::format("{} to {}", shortTime(piece.start - in_.step.begin), shortTime(piece.end - in_.step.begin));
        if (piece.op == nullptr) {
            box.title = fmt::format("bubble, {}", when);
        } else {
            box.paint = in_.shades.paint(piece.op->op);
            box.second_route = piece.op->op.chunk.value % routes(in_.step.placement) == 1;
            box.title = fmt::format("{}, {}", opName(piece.op->op), when);
            label(box, piece);
        }
        boxes_.push_back(std::move(box));
        gathered_ops_ = 0;
    }

    void label(Box& box, const Piece& piece) const {
        const double size = std::min(in_.label_size, kTallestLabel * box.rect.height);
        std::string text = labelOf(piece.op->op, in_.shades);
        if (size < kSmallestLabel || textWidth(text, size) + kLabelPadding > box.rect.width) return;
        box.label = std::move(text);
        box.label_size = size;
    }

    std::size_t addGathered(std::size_t first) {
        const double left = x(pieces_[first].start);
        double right = left;
        std::size_t ops = 0;
        std::map<std::optional<Paint>, TimeNs> times;
        std::size_t next = first;
        for (; next < pieces_.size() && width(pieces_[next]) < kNarrowest && right - left < kNarrowest; ++next) {
            const Piece& piece = pieces_[next];
            right = std::max(right, x(piece.end));
            ops += piece.op != nullptr ? 1 : 0;
            const auto paint = piece.op != nullptr ? std::optional(in_.shades.paint(piece.op->op)) : std::nullopt;
            times[paint] += piece.end - piece.start;
        }
        const auto paint = std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; })->first;
        extendOrAdd(left, right, ops, paint);
        return next;
    }

    /// Merged boxes of one colour that touch become one.
    void extendOrAdd(double left, double right, std::size_t ops, const std::optional<Paint>& paint) {
        const bool touches = gathered_ops_ > 0 && boxes_.back().paint == paint && boxes_.back().rect.right() >= left;
        if (!touches) {
            boxes_.push_back({.rect = {left, in_.row.y, 0, in_.row.height}, .paint = paint});
            gathered_ops_ = 0;
        }
        gathered_ops_ += ops;
        boxes_.back().rect.width = right - boxes_.back().rect.x;
        boxes_.back().title = fmt::format("{} op{}", gathered_ops_, gathered_ops_ == 1 ? "" : "s");
    }

    const RowInput& in_;
    std::size_t gathered_ops_ = 0; ///< in the last box, if it is a merged one
    double scale_;                 ///< pixels per nanosecond
    std::vector<Piece> pieces_;
    std::vector<Box> boxes_;
};

} // namespace

Shades Shades::of(const StepTimeline& step) {
    Shades shades;
    shades.chunks = std::max(1, step.vpp);
    for (const auto& ops : step.ranks) {
        for (const TimelineOp& op : ops) {
            shades.chunks = std::max(shades.chunks, op.op.chunk.value + 1);
            shades.slices = std::max(shades.slices, op.op.sequence + 1);
        }
    }
    return shades;
}

Paint Shades::paint(const Op& op) const {
    if (op.kind == OpKind::Optimizer) return {op.kind, 0, 1};
    return {op.kind, op.chunk.value * slices + op.sequence, chunks * slices};
}

std::string labelOf(const Op& op, const Shades& shades) {
    if (op.kind == OpKind::Optimizer) return "O";
    return shades.slices > 1 ? fmt::format("{}:{}", op.microbatch.value, op.sequence)
                             : fmt::format("{}", op.microbatch.value);
}

std::vector<Box> rowBoxes(const RowInput& input) {
    return RowBuilder(input).build();
}

} // namespace bubblescope::svg
