#pragma once

#include "core/schedule/schedule.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace bubblescope {

/// The paths (ways) of micro-batches through the stages: one path per copy of a model on the ranks. With one pipeline,
/// the only path contains all stages in order. Two pipelines in opposite directions have one path each. If each
/// pipeline has one stage per rank, the second pipeline may also consist of several copies of a smaller model, each
/// with its own path and the same number of ranks. The first copy starts at the last rank. Encoders and their trunk are
/// one path, which a micro-batch passes as a whole. Stores only a few integers.
class StageWays {
public:
    struct Way {
        int first = 0; ///< number of the first stage
        int count = 0; ///< number of stages, whose numbers differ by routes()
    };

    /// `copies`, the number of copies of the second pipeline's model, must satisfy copiesFit().
    StageWays(Placement placement, int pp, int vpp, int copies);

    [[nodiscard]] static bool copiesFit(Placement placement, int pp, int vpp, int copies);
    /// True if the encoders of a placement, if any, leave ranks for the trunk and have one chunk per rank.
    [[nodiscard]] static bool encodersFit(Placement placement, int pp, int vpp) {
        const int ranks = encodersOf(placement).ranks();
        return ranks == 0 || (ranks < pp && vpp == 1);
    }
    /// Determines the copies from the ops; see secondCopies(). The sizes must be positive. O(ops).
    [[nodiscard]] static StageWays of(const Schedule& schedule);

    [[nodiscard]] std::vector<Way> all() const;
    [[nodiscard]] int copies() const { return cut_ == 0 ? 1 : stages_ / 2 / cut_; }
    /// Difference between the numbers of neighbouring stages.
    [[nodiscard]] int apart() const { return apart_; }
    /// The stages from which a stage receives activations (before) and gradients (after); none at the ends of its path.
    [[nodiscard]] std::optional<Stage> before(Stage stage) const {
        if (stage.value < apart_ || (cut_ > 0 && begins(stage.value))) return std::nullopt;
        const int before = stageBefore(placement_, stage.value);
        return before < 0 ? std::nullopt : std::optional(Stage{before});
    }
    [[nodiscard]] std::optional<Stage> after(Stage stage) const {
        const int next = stageAfter(placement_, stage.value);
        if (next >= stages_ || (cut_ > 0 && begins(next))) return std::nullopt;
        return Stage{next};
    }

    /// The number of the transfer of activations from a stage to the next: transferNumber().
    [[nodiscard]] int activationNumber(Stage producer) const {
        return transferNumber(placement_, stages_, Payload::Activation, producer.value);
    }
    /// The last stage of the first encoder, if the stage joins its outputs with those of a second one.
    [[nodiscard]] std::optional<Stage> joined(Stage stage) const {
        const int joined = joinedStage(placement_, stage.value);
        return joined < 0 ? std::nullopt : std::optional(Stage{joined});
    }

private:
    /// True for the first stage of a copy.
    [[nodiscard]] bool begins(int stage) const { return stage % 2 == 1 && stage / 2 % cut_ == 0; }

    Placement placement_;
    int stages_;
    int apart_;
    int cut_ = 0; ///< number of stages per copy; 0 = there are no copies
};

/// Number of copies of a smaller model that form the second of two pipelines, derived from the ops. If its stages can
/// be divided into equal parts such that no micro-batch uses more than one part and every part is used, the parts are
/// copies. Otherwise, there is one copy. `taken(microbatch, stage)` must return true if the micro-batch has an op on
/// the stage.
template <class Taken>
[[nodiscard]] int secondCopies(Placement placement, int pp, int vpp, int microbatches, const Taken& taken) {
    if (routes(placement) == 1 || vpp != 2) return 1;
    struct Range {
        int first, last;
    };
    std::vector<Range> ranges; // ranges of stages that the second pipeline uses
    int longest = 0;
    for (int m = 0; m < microbatches; ++m) {
        Range range{pp, -1};
        for (int place = 0; place < pp; ++place) {
            if (!taken(Microbatch{m}, Stage{2 * place + 1})) continue;
            range = {std::min(range.first, place), place};
        }
        if (range.last < 0) continue;
        longest = std::max(longest, range.last - range.first + 1);
        ranges.push_back(range);
    }
    if (longest == 0 || pp % longest != 0) return 1;
    std::vector<char> passed(static_cast<std::size_t>(pp / longest), 0);
    for (const Range& range : ranges) {
        if (range.first / longest != range.last / longest) return 1;
        passed[static_cast<std::size_t>(range.first / longest)] = 1;
    }
    return std::ranges::find(passed, char{0}) == passed.end() ? pp / longest : 1;
}

} // namespace bubblescope
