#pragma once

#include "runtime/checks/check_broker.h"
#include "runtime/checks/check_context.h"

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace bubblescope::runtime {

/// Lets other ranks execute a rank's layers, for a verdict or as a check, and executes theirs. For the rank's thread.
class PeerChecks {
public:
    /// References must outlive the object.
    PeerChecks(CheckContext& context, const ReexecutionCosts& costs) : context_(context), costs_(costs) {}

    /// Registers a repeatable mismatch on this rank. If there are other ranks, they decide at the end of a later step.
    void settleLater(CheckRecord record, const CapturedLayer& layer, TimeNs nominal);

    /// Offers a layer to a rank with idle time.
    void offer(const CapturedLayer& layer, TimeNs nominal);
    /// Executes the offer of another rank, if one fits before `end`; returns false if none does.
    bool checkForOthers(TimeNs end, IdleClock& clock);

    /// At the end of a step, after the barrier: answers other ranks, and determines verdicts whose answers have
    /// arrived.
    void endStep();
    /// After the last step: returns when no rank waits for another.
    void drain();
    /// Announces mismatches that have no verdict.
    void abandon();

private:
    /// A mismatch whose verdict depends on another rank.
    struct Pending {
        CheckRecord record;
        std::shared_ptr<CheckBroker::Question> question; ///< null if no rank can be asked
        std::optional<Rank> by;                          ///< the rank that made the check, if it was another one
    };

    [[nodiscard]] CheckBroker& broker() const { return *context_.setup.broker; }
    [[nodiscard]] ShippedLayer ship(const CapturedLayer& layer, TimeNs nominal) const;
    /// `by`: the other rank that disagreed.
    void ask(CheckRecord record, ShippedLayer layer, std::optional<Rank> by);
    void answerOthers();
    void settle(Pending& pending, CheckBroker::Reply reply);
    /// Takes the results of this rank's offers.
    void settleOffers();

    CheckContext& context_;
    const ReexecutionCosts& costs_;
    std::vector<Pending> pending_;
    std::map<std::tuple<OpKind, LayerPart, Chunk, int>, int> offered_; ///< how often
};

} // namespace bubblescope::runtime
