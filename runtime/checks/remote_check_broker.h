#pragma once

#include "runtime/checks/check_broker.h"
#include "runtime/checks/check_message.h"
#include "runtime/comm/transport.h"

#include <deque>
#include <map>
#include <set>

namespace bubblescope::runtime {

/// The broker of one rank that is a process: questions, offers and results travel as mail. For the rank's thread.
///
/// The pipeline never waits for mail. It is read where the rank is idle, and what takes long (packing and unpacking a
/// layer) is done only where the idle time suffices; at a step's end questions and replies are dealt with.
/// A question therefore may be answered a step or more later. Behind the last step all processes stay until nobody
/// waits for a reply; where a run ends early, replies that did not come never will.
///
/// A rank asks its successors in turn, round the ring of all. Unreadable messages are discarded and reported to their
/// sender, so that neither of the two keeps waiting for the other.
class RemoteCheckBroker final : public CheckBroker {
public:
    /// Of `ranks` processes, all of which have one; the transport must carry mail and outlive it.
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
    /// Where another rank's question is to be answered.
    struct Asker {
        Rank rank;
        std::uint64_t ticket = 0;
    };
    struct Sent {
        Rank to;
        std::shared_ptr<Question> question; ///< or
        std::optional<ShippedLayer> offer;  ///< neither: a verdict
    };
    struct Unread {
        Mail mail;
        int steps = 0; ///< that have ended since
    };
    struct Received {
        Rank from;
        ShippedLayer layer;
        std::size_t bytes = 0; ///< as mail
        int steps = 0;
    };

    /// The next other rank after the one that was asked last, without those; none if all are among them.
    [[nodiscard]] std::optional<Rank> nextPeer(const std::vector<Rank>& excluded);
    /// False where it cannot be sent.
    bool post(Rank to, const CheckMessage& mail, TimeNs start = TimeNs{0}, TimeNs end = TimeNs{0});
    void postDone(Rank to, std::uint64_t ticket);
    /// All that has come, but for offers, which wait until there is time to read them.
    void readMail();
    void read(Mail mail);
    void handle(CheckMessage mail, const Mail& from);
    void handleResult(CheckMessage mail, const Mail& from);
    /// What was sent under a ticket, if it went to the rank that replies.
    [[nodiscard]] std::optional<Sent> takeSent(std::uint64_t ticket, Rank from);
    /// Nothing will come of what this rank wants of that one.
    void giveUpOn(Rank peer);
    /// Whether an offer of so many bytes may be kept until there is time for it.
    [[nodiscard]] bool hasRoomFor(std::size_t bytes) const;
    /// Sends offers of others back that nobody found the time for.
    void declineOffers(int steps);

    Transport& transport_;
    const int ranks_;
    int turn_ = 0; ///< places from this rank to the one that was asked last
    std::uint64_t tickets_ = 0;
    std::map<std::uint64_t, Sent> sent_;          ///< without a reply so far
    std::deque<ShippedLayer> to_offer_;           ///< not packed yet
    std::set<const Question*> replied_;           ///< by question of this rank
    std::vector<RemoteResult> back_;              ///< of this rank's offers
    std::deque<std::shared_ptr<Question>> asked_; ///< by others
    std::map<const Question*, Asker> askers_;
    std::deque<Unread> unread_;
    std::deque<Received> offers_; ///< of others
    std::vector<CheckRecord> verdicts_;
    bool changed_ = false; ///< by mail, since the rank's last step or look
    bool finishing_ = false;
    bool reported_idle_ = false;
    int idle_ranks_ = 0; ///< root: how many are
    bool drained_ = false;
};

} // namespace bubblescope::runtime
