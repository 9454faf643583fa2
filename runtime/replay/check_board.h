#pragma once

#include "core/schedule/op.h"
#include "runtime/replay/layer_result.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
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
    LayerResult first;                         ///< what it came to there
};

/// Where ranks that are threads of one process ask each other to repeat what they computed. Thread-safe.
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
        LayerResult there;
        TimeNs start{0};
        TimeNs end{0};
    };

    /// `ranks` of the run that are here.
    explicit CheckBoard(std::size_t ranks) : ranks_(ranks) {}

    /// Ranks that can be asked besides so many.
    [[nodiscard]] bool hasOthers(std::size_t besides) const { return ranks_ > besides; }

    void ask(std::shared_ptr<Question> question);
    /// One that `rank` may answer; null if there is none.
    [[nodiscard]] std::shared_ptr<Question> next(Rank rank);
    void answered(const Question* question);
    /// Until it has been answered, or `ended`. False in the latter case.
    [[nodiscard]] bool wait(const Question* question, const std::atomic<bool>& ended);

    /// Something for a moment that another rank can spare. Few of each rank wait at a time, for they hold memory: false
    /// where there is no room.
    [[nodiscard]] bool hasRoom(Rank from);
    void offer(Rank from, ShippedLayer layer);
    /// The oldest of another rank that costs no more; nothing if there is none.
    [[nodiscard]] std::optional<std::pair<Rank, ShippedLayer>> take(Rank rank, TimeNs most);
    void bringBack(Rank from, Elsewhere result);
    /// What has come back of a rank's offers.
    [[nodiscard]] std::vector<Elsewhere> collect(Rank rank);

private:
    const std::size_t ranks_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Question>> open_;
    std::vector<const Question*> answered_;
    std::deque<std::pair<Rank, ShippedLayer>> offers_;
    std::vector<std::pair<Rank, Elsewhere>> back_;
};

} // namespace bubblescope::runtime
