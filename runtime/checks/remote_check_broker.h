#pragma once

#include "runtime/checks/check_broker.h"
#include "runtime/checks/check_message.h"
#include "runtime/comm/transport.h"

#include <deque>
#include <map>
#include <set>

namespace bubblescope::runtime {

/// The broker of a rank that runs in a separate process: questions, offers and results are sent as mail. For the rank's
/// thread.
///
/// The pipeline never waits for mail. The broker reads mail while the rank is idle. Slow operations (packing and
/// unpacking a layer) are done only if the idle time suffices; questions and replies are handled at the end of a step.
/// The answer to a question may therefore take one or more steps. After the last step, all processes keep running until
/// no rank is waiting for a reply. If the run ends early, missing replies never arrive.
///
/// A rank asks its successors in the ring of all ranks, one after another. Unreadable messages are discarded and
/// reported to their sender, so that neither side waits for the other.
class RemoteCheckBroker final : public CheckBroker {
public:
    /// `ranks` is the number of processes, each with a broker. The transport must carry mail and outlive the broker.
    RemoteCheckBroker(Transport& transport, int ranks) : transport_(transport), ranks_(ranks) {}

    [[nodiscard]] bool hasOthers(std::size_t besides) const override {
        return static_cast<std::size_t>(ranks_) > besides;
    }
    void ask(std::shared_ptr<Question> question) override;
    [[nodiscard]] std::shared_ptr<Question> nextQuestion(Rank rank) override;
    void answer(const std::shared_ptr<Question>& question) override;
    [[nodiscard]] Reply replyTo(const std::shared_ptr<Question>& question, const std::atomic<bool>& ended) override;
    [[nodiscard]] bool hasRoom(Rank from) override;
    void offer(Rank from, ShippedLayer layer) override;
    [[nodiscard]] std::optional<std::pair<Rank, ShippedLayer>> takeOffer(Rank rank, TimeNs most) override;
    void returnResult(Rank from, RemoteResult result) override;
    [[nodiscard]] std::vector<RemoteResult> takeResults(Rank rank) override;
    [[nodiscard]] bool sendVerdict(Rank world, const CheckRecord& check) override;
    [[nodiscard]] std::vector<CheckRecord> takeVerdicts() override;
    void onIdle(TimeNs room) override;
    void onStepEnd() override;
    [[nodiscard]] bool drain(bool open) override;

private:
    /// The rank that waits for the answer to a question.
    struct Asker {
        Rank rank;
        std::uint64_t ticket = 0;
    };
    struct Sent {
        Rank to;
        std::shared_ptr<Question> question; ///< set for a question
        std::optional<ShippedLayer> offer;  ///< set for an offer; for a verdict, both are empty
    };
    struct Unread {
        Mail mail;
        int steps = 0; ///< number of steps that have ended since the mail arrived
    };
    struct Received {
        Rank from;
        ShippedLayer layer;
        std::size_t bytes = 0; ///< size of the message
        int steps = 0;
    };

    /// The next rank in the ring to ask, skipping `excluded`; nothing if all ranks are excluded.
    [[nodiscard]] std::optional<Rank> nextPeer(const std::vector<Rank>& excluded);
    /// Returns false if the message cannot be sent.
    bool post(Rank to, const CheckMessage& mail, TimeNs start = TimeNs{0}, TimeNs end = TimeNs{0});
    void postDone(Rank to, std::uint64_t ticket);
    /// Reads all mail except offers, which wait until there is time to unpack them.
    void readMail();
    void read(Mail mail);
    void handle(CheckMessage mail, const Mail& from);
    void handleResult(CheckMessage mail, const Mail& from);
    /// Returns the message sent with a ticket, if it was sent to the rank that is replying.
    [[nodiscard]] std::optional<Sent> takeSent(std::uint64_t ticket, Rank from);
    /// Abandons all messages that are waiting for a reply from `peer`.
    void giveUpOn(Rank peer);
    /// True if an offer of this size may be stored until there is time for it.
    [[nodiscard]] bool hasRoomFor(std::size_t bytes) const;
    /// Declines offers from other ranks that have waited for `steps` steps.
    void declineOffers(int steps);

    Transport& transport_;
    const int ranks_;
    int turn_ = 0; ///< distance from this rank to the rank asked last
    std::uint64_t tickets_ = 0;
    std::map<std::uint64_t, Sent> sent_;          ///< messages that have no reply so far
    std::deque<ShippedLayer> to_offer_;           ///< offers that are not packed yet
    std::set<const Question*> replied_;           ///< questions of this rank that have been answered
    std::vector<RemoteResult> back_;              ///< results of this rank's offers
    std::deque<std::shared_ptr<Question>> asked_; ///< questions of other ranks
    std::map<const Question*, Asker> askers_;
    std::deque<Unread> unread_;
    std::deque<Received> offers_; ///< offers of other ranks
    std::vector<CheckRecord> verdicts_;
    bool changed_ = false; ///< true if mail has arrived since the rank's last step or call of drain()
    bool finishing_ = false;
    bool reported_idle_ = false;
    int idle_ranks_ = 0; ///< on the root: number of idle ranks
    bool drained_ = false;
};

} // namespace bubblescope::runtime
