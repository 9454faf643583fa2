#pragma once

#include "runtime/checks/check_broker.h"
#include "runtime/checks/check_context.h"
#include "runtime/checks/reexecution_costs.h"

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace bubblescope::runtime {

/// Has other ranks execute a rank's layers, for a verdict or as a check, and does the same for them. For the rank's
/// thread.
class PeerChecks {
public:
    /// References must outlive it.
    PeerChecks(CheckContext& context, const ReexecutionCosts& costs) : context_(context), costs_(costs) {}

    /// A mismatch on this rank that repeats: other ranks decide at the end of a later step, where there are any.
    void settleLater(CheckRecord record, const CapturedLayer& layer, TimeNs nominal);

    /// Offers a layer to a rank that has time to spare.
    void offer(const CapturedLayer& layer, TimeNs nominal);
    /// Executes what another rank offers, if it fits before `end`; false if nothing does.
    bool checkForOthers(TimeNs end, IdleClock& clock);

    /// At a step's end, when all ranks have met: answers others, and settles verdicts whose answers have come.
    void endStep();
    /// Behind the last step: returns when no rank waits for another.
    void drain();
    /// Mismatches without a verdict are announced as such.
    void abandon();

private:
    /// A mismatch whose verdict waits for another rank.
    struct Pending {
        CheckRecord record;
        std::shared_ptr<CheckBroker::Question> question; ///< null where no rank can be asked
        std::optional<Rank> by;                          ///< of a check by another rank: that one
    };

    [[nodiscard]] CheckBroker& broker() const { return *context_.setup.broker; }
    [[nodiscard]] ShippedLayer ship(const CapturedLayer& layer, TimeNs nominal) const;
    /// `by`: the other rank that disagreed.
    void ask(CheckRecord record, ShippedLayer layer, std::optional<Rank> by);
    void answerOthers();
    void settle(Pending& pending, CheckBroker::Reply reply);
    /// What other ranks have made of this rank's offers.
    void settleOffers();

    CheckContext& context_;
    const ReexecutionCosts& costs_;
    std::vector<Pending> pending_;
    std::map<std::tuple<OpKind, LayerPart, Chunk, int>, int> offered_; ///< how often
};

} // namespace bubblescope::runtime
