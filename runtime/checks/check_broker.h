#pragma once

#include "core/schedule/op.h"
#include "core/timeline/checks.h"
#include "runtime/checks/layer_result.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace bubblescope::runtime {

/// A part of a layer with its inputs and weights, to be executed by another rank.
struct ShippedLayer {
    LayerRun run;                                         ///< run in which the sending rank executed the layer
    Stage stage;                                          ///< the layer's stage on that rank
    TimeNs cost{0};                                       ///< nominal cost
    std::shared_ptr<const ReexecutableLayer> computation; ///< detached from that rank
    LayerResult first;                                    ///< the first result; its digests are always known
    std::uint64_t ticket = 0;                             ///< assigned by the broker
};

/// Passes layers between ranks that execute each other's computations. Questions decide a verdict and require an
/// answer; offers fill idle time and require none. Ranks are identified by their global numbers. Each function is
/// called on the thread of the rank that it names or concerns.
class CheckBroker {
public:
    /// A layer to be executed by a rank that is not excluded, and that rank's answer.
    struct Question {
        ShippedLayer layer;
        std::vector<Rank> excluded;
        // Set by the answer:
        Rank answered_by;
        LayerResult once; ///< results of two executions on the answering rank
        LayerResult twice;
    };

    /// The result of an offer that another rank accepted.
    struct RemoteResult {
        ShippedLayer layer;
        Rank by;
        LayerResult result; ///< contains the values of the first tensor that differs, if they fit into a message
        TimeNs start{0};
        TimeNs end{0};
    };

    enum class Reply : std::uint8_t {
        Answered,
        Waiting, ///< ask again at the end of the next step
        Never,   ///< no rank can answer any longer
    };

    CheckBroker() = default;
    CheckBroker(const CheckBroker&) = delete;
    CheckBroker& operator=(const CheckBroker&) = delete;
    virtual ~CheckBroker() = default;

    /// True if any rank can still be asked when `besides` ranks, including the asking rank, are excluded.
    [[nodiscard]] virtual bool hasOthers(std::size_t besides) const = 0;

    virtual void ask(std::shared_ptr<Question> question) = 0;
    /// A question that `rank` may answer; null if there is no such question.
    [[nodiscard]] virtual std::shared_ptr<Question> nextQuestion(Rank rank) = 0;
    virtual void answer(const std::shared_ptr<Question>& question) = 0;
    /// The reply to a question that was asked before the end of this step. The broker discards the question if the
    /// reply is Answered or Never. If all ranks of the broker make this call, the call may wait until `ended` is set.
    [[nodiscard]] virtual Reply replyTo(const std::shared_ptr<Question>& question, const std::atomic<bool>& ended) = 0;

    /// True if a rank may offer another layer. The number of offers per rank is limited, because offers hold memory.
    [[nodiscard]] virtual bool hasRoom(Rank from) = 0;
    virtual void offer(Rank from, ShippedLayer layer) = 0;
    /// The oldest offer from another rank that costs at most `most`, with that rank; nothing if there is none.
    [[nodiscard]] virtual std::optional<std::pair<Rank, ShippedLayer>> takeOffer(Rank rank, TimeNs most) = 0;
    virtual void returnResult(Rank to, RemoteResult result) = 0;
    /// The results that have arrived for a rank's offers since the last call.
    [[nodiscard]] virtual std::vector<RemoteResult> takeResults(Rank rank) = 0;

    /// Sends a verdict on another rank to the process that writes that rank's trace. Returns false if the caller must
    /// write the verdict.
    [[nodiscard]] virtual bool sendVerdict(Rank /*world*/, const CheckRecord& /*check*/) { return false; }
    /// The verdicts on the broker's rank that other ranks have sent since the last call.
    [[nodiscard]] virtual std::vector<CheckRecord> takeVerdicts() { return {}; }

    /// Called when the rank is idle for `room`; the broker may use that time.
    virtual void onIdle(TimeNs /*room*/) {}
    virtual void onStepEnd() {}
    /// Call this after the last step until it returns true. The call waits for messages that other ranks may still
    /// send. `open` is true if the rank waits for replies. Returns true immediately if the run has ended.
    [[nodiscard]] virtual bool drain(bool /*open*/) { return true; }
};

/// A broker shared by ranks that are threads of one process. Thread-safe.
class LocalCheckBroker final : public CheckBroker {
public:
    /// `ranks` is the number of ranks in this process.
    explicit LocalCheckBroker(std::size_t ranks) : ranks_(ranks) {}

    [[nodiscard]] bool hasOthers(std::size_t besides) const override { return ranks_ > besides; }
    void ask(std::shared_ptr<Question> question) override;
    [[nodiscard]] std::shared_ptr<Question> nextQuestion(Rank rank) override;
    void answer(const std::shared_ptr<Question>& question) override;
    /// Waits for the reply.
    [[nodiscard]] Reply replyTo(const std::shared_ptr<Question>& question, const std::atomic<bool>& ended) override;
    [[nodiscard]] bool hasRoom(Rank from) override;
    void offer(Rank from, ShippedLayer layer) override;
    [[nodiscard]] std::optional<std::pair<Rank, ShippedLayer>> takeOffer(Rank rank, TimeNs most) override;
    void returnResult(Rank from, RemoteResult result) override;
    [[nodiscard]] std::vector<RemoteResult> takeResults(Rank rank) override;

private:
    const std::size_t ranks_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::shared_ptr<Question>> open_;
    std::vector<std::shared_ptr<Question>> answered_;
    std::deque<std::pair<Rank, ShippedLayer>> offers_;
    std::vector<std::pair<Rank, RemoteResult>> back_;
};

} // namespace bubblescope::runtime
