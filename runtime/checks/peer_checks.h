#pragma once

#include "runtime/checks/check_broker.h"
#include "runtime/checks/check_context.h"

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace bubblescope::runtime {

/// Lets other ranks execute a rank's layers, for a verdict or as a check, and executes other ranks' layers in return.
/// For the rank's thread.
class PeerChecks {
public:
    /// Reference arguments must outlive the object.
    PeerChecks(CheckContext& context, const ReexecutionCosts& costs) : context_(context), costs_(costs) {}

    /// Registers a mismatch on this rank, in a layer that can be repeated. If there are other ranks, they decide the
    /// verdict at the end of a later step.
    void settleLater(CheckRecord record, const CapturedLayer& layer, TimeNs nominal);

    /// Offers a layer to a rank with idle time.
    void offer(const CapturedLayer& layer, TimeNs nominal);
    /// Executes another rank's offer if one fits before `end`; otherwise returns false.
    bool checkForOthers(TimeNs end, IdleClock& clock);

    /// Call this at the end of a step, after the barrier. Answers other ranks, and determines the verdicts for which
    /// answers have arrived.
    void endStep();
    /// Call this after the last step; returns when no rank is waiting for another.
    void drain();
    /// Announces mismatches that have no verdict.
    void abandon();

private:
    /// A mismatch whose verdict another rank decides.
    struct Pending {
        CheckRecord record;
        std::shared_ptr<CheckBroker::Question> question; ///< null if there is no rank to ask
        std::optional<Rank> by;                          ///< the rank that made the check; none = this rank
    };

    [[nodiscard]] CheckBroker& broker() const { return *context_.setup.broker; }
    [[nodiscard]] ShippedLayer ship(const CapturedLayer& layer, TimeNs nominal) const;
    /// `by` is the other rank that disagreed.
    void ask(CheckRecord record, ShippedLayer layer, std::optional<Rank> by);
    void answerOthers();
    void settle(Pending& pending, CheckBroker::Reply reply);
    /// Handles the results of this rank's offers.
    void settleOffers();

    CheckContext& context_;
    const ReexecutionCosts& costs_;
    std::vector<Pending> pending_;
    std::map<std::tuple<OpKind, LayerPart, Chunk, int>, int> offered_; ///< number of offers
};

} // namespace bubblescope::runtime
