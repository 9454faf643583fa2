#pragma once

#include "core/schedule/op.h"
#include "core/timeline/check_record.h"
#include "runtime/checks/layer_result.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// A part of a layer that another rank is to run again; all that it takes is in it.
struct ShippedLayer {
    LayerRun run;                              ///< of the rank that it comes from
    Stage stage;                               ///< of the same
    TimeNs cost{0};                            ///< nominal
    std::shared_ptr<const LayerReplay> replay; ///< detached
    LayerResult first;                         ///< what it came to there; the digests are always known
    std::uint64_t ticket = 0;                  ///< the board's own
};

/// Where ranks ask each other to repeat what they computed. Ranks are numbered over the whole run.
class CheckBoard {
public:
    /// A question that one rank answers, which none of `not_by` may be.
    struct Question {
        ShippedLayer layer;
        std::vector<Rank> not_by;
        // Once answered:
        Rank by;
        LayerResult once; ///< two executions by that rank
        LayerResult twice;
    };

    /// An offer that was taken up, and what the other rank came to.
    struct Elsewhere {
        ShippedLayer layer;
        Rank by;
        LayerResult there; ///< of what differs the first tensor's values, where there was room for them
        TimeNs start{0};
        TimeNs end{0};
    };

    enum class Reply : std::uint8_t {
        There,
        Waiting, ///< look again at the next step's end
        Never,   ///< nobody can answer any more
    };

    CheckBoard() = default;
    CheckBoard(const CheckBoard&) = delete;
    CheckBoard& operator=(const CheckBoard&) = delete;
    virtual ~CheckBoard() = default;

    /// Ranks that can be asked besides so many.
    [[nodiscard]] virtual bool hasOthers(std::size_t besides) const = 0;

    virtual void ask(std::shared_ptr<Question> question) = 0;
    /// One that `rank` may answer; null if there is none.
    [[nodiscard]] virtual std::shared_ptr<Question> next(Rank rank) = 0;
    virtual void answered(const std::shared_ptr<Question>& question) = 0;
    /// At a step's end, to a question that was asked before it. What was There or Never is forgotten. A board whose
    /// ranks all come here may wait, until `ended`.
    [[nodiscard]] virtual Reply replyTo(const std::shared_ptr<Question>& question, const std::atomic<bool>& ended) = 0;

    /// Something for a moment that another rank can spare. Few of each rank wait at a time, for they hold memory: false
    /// where there is no room.
    [[nodiscard]] virtual bool hasRoom(Rank from) = 0;
    virtual void offer(Rank from, ShippedLayer layer) = 0;
    /// The oldest of another rank that costs no more; nothing if there is none.
    [[nodiscard]] virtual std::optional<std::pair<Rank, ShippedLayer>> take(Rank rank, TimeNs most) = 0;
    virtual void bringBack(Rank from, Elsewhere result) = 0;
    /// What has come back of a rank's offers.
    [[nodiscard]] virtual std::vector<Elsewhere> collect(Rank rank) = 0;

    /// Whether the board takes a verdict on another rank to whoever writes that rank's trace.
    [[nodiscard]] virtual bool tell(Rank /*world*/, const CheckRecord& /*check*/) { return false; }
    /// Verdicts on the board's rank that others have come to.
    [[nodiscard]] virtual std::vector<CheckRecord> told() { return {}; }

    /// The rank has nothing to do for so long: the board may use it.
    virtual void spare(TimeNs /*room*/) {}
    virtual void stepEnded() {}
    /// Behind the last step, again and again until it says true: waits for what others still have to say or want to
    /// know. `open`: the rank waits for replies. True at once where the run has ended.
    [[nodiscard]] virtual bool over(bool /*open*/) { return true; }
};

} // namespace bubblescope::runtime
