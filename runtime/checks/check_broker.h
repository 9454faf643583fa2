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

/// A part of a layer for another rank to execute, with all that it takes.
struct ShippedLayer {
    LayerRun run;                              ///< on the rank that it comes from
    Stage stage;                               ///< of the same
    TimeNs cost{0};                            ///< nominal
    std::shared_ptr<const LayerReplay> replay; ///< detached
    LayerResult first;                         ///< its result there; the digests are always known
    std::uint64_t ticket = 0;                  ///< the broker's own
};

/// Passes layers between ranks that execute each other's computations: questions, which decide on a verdict and need an
/// answer, and offers, which fill idle time and need none. Ranks are numbered over the whole run. Each function is
/// called by the thread of the rank that it names or concerns.
class CheckBroker {
public:
    /// Answered by one rank, which is none of the excluded ones.
    struct Question {
        ShippedLayer layer;
        std::vector<Rank> excluded;
        // Once answered:
        Rank answered_by;
        LayerResult once; ///< two executions by that rank
        LayerResult twice;
    };

    /// An offer that another rank took up, and its result.
    struct RemoteResult {
        ShippedLayer layer;
        Rank by;
        LayerResult result; ///< with the values of the first tensor that differs, where there was room for them
        TimeNs start{0};
        TimeNs end{0};
    };

    enum class Reply : std::uint8_t {
        Answered,
        Waiting, ///< ask again at the next step's end
        Never,   ///< nobody can answer any more
    };

    CheckBroker() = default;
    CheckBroker(const CheckBroker&) = delete;
    CheckBroker& operator=(const CheckBroker&) = delete;
    virtual ~CheckBroker() = default;

    /// Whether any rank can be asked besides so many.
    [[nodiscard]] virtual bool hasOthers(std::size_t besides) const = 0;

    virtual void ask(std::shared_ptr<Question> question) = 0;
    /// A question that `rank` may answer; null if there is none.
    [[nodiscard]] virtual std::shared_ptr<Question> nextQuestion(Rank rank) = 0;
    virtual void answer(const std::shared_ptr<Question>& question) = 0;
    /// At a step's end, to a question that was asked before it. What was Answered or Never is forgotten. A broker whose
    /// ranks all come here may wait, until `ended`.
    [[nodiscard]] virtual Reply replyTo(const std::shared_ptr<Question>& question, const std::atomic<bool>& ended) = 0;

    /// Whether a rank may offer one more layer: each holds memory, so that few of each rank wait at a time.
    [[nodiscard]] virtual bool hasRoom(Rank from) = 0;
    virtual void offer(Rank from, ShippedLayer layer) = 0;
    /// The oldest offer of another rank whose cost is at most `most`, with that rank; nothing if there is none.
    [[nodiscard]] virtual std::optional<std::pair<Rank, ShippedLayer>> takeOffer(Rank rank, TimeNs most) = 0;
    virtual void returnResult(Rank to, RemoteResult result) = 0;
    /// Results of a rank's offers since the last call.
    [[nodiscard]] virtual std::vector<RemoteResult> takeResults(Rank rank) = 0;

    /// Sends a verdict on another rank to whoever writes that rank's trace. False where the caller writes it itself.
    [[nodiscard]] virtual bool sendVerdict(Rank /*world*/, const CheckRecord& /*check*/) { return false; }
    /// Verdicts of other ranks on the broker's rank since the last call.
    [[nodiscard]] virtual std::vector<CheckRecord> takeVerdicts() { return {}; }

    /// The rank is idle for so long: the broker may use the time.
    virtual void onIdle(TimeNs /*room*/) {}
    virtual void onStepEnd() {}
    /// Behind the last step, to be called until it returns true: waits for what other ranks still send or ask. `open`:
    /// the rank waits for replies. True at once where the run has ended.
    [[nodiscard]] virtual bool drain(bool /*open*/) { return true; }
};

} // namespace bubblescope::runtime
