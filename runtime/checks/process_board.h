#pragma once

#include "runtime/checks/check_board.h"
#include "runtime/checks/check_mail.h"
#include "runtime/comm/transport.h"

#include <deque>
#include <map>
#include <set>

namespace bubblescope::runtime {

/// The board of one rank that is a process of its own: what it asks, offers and finds travels as mail. Used by the
/// rank's thread.
///
/// The pipeline never waits for mail. It is looked at where the rank has nothing to do, and what takes time (packing
/// and unpacking a layer) is done only where that time is left; at a step's end questions and replies are dealt with.
/// A question therefore may be answered a step or more later. Behind the last step all processes stay until nobody
/// waits for a reply; where a run ends early, replies that did not come never will.
///
/// A rank asks its successors one after the other round the ring of all. Bytes that cannot be read are thrown away, and
/// their sender is told, so that neither of the two goes on waiting for the other.
class ProcessBoard final : public CheckBoard {
public:
    /// Of `ranks` processes, all of which have one; the wires must carry mail and outlive it.
    ProcessBoard(Transport& wires, int ranks) : wires_(wires), ranks_(ranks) {}

    [[nodiscard]] bool hasOthers(std::size_t besides) const override {
        return static_cast<std::size_t>(ranks_) > besides;
    }
    void ask(std::shared_ptr<Question> question) override;
    [[nodiscard]] std::shared_ptr<Question> next(Rank rank) override;
    void answered(const std::shared_ptr<Question>& question) override;
    [[nodiscard]] Reply replyTo(const std::shared_ptr<Question>& question, const std::atomic<bool>& ended) override;
    [[nodiscard]] bool hasRoom(Rank from) override;
    void offer(Rank from, ShippedLayer layer) override;
    [[nodiscard]] std::optional<std::pair<Rank, ShippedLayer>> take(Rank rank, TimeNs most) override;
    void bringBack(Rank from, Elsewhere result) override;
    [[nodiscard]] std::vector<Elsewhere> collect(Rank rank) override;
    [[nodiscard]] bool tell(Rank world, const CheckRecord& check) override;
    [[nodiscard]] std::vector<CheckRecord> told() override;
    void spare(TimeNs room) override;
    void stepEnded() override;
    [[nodiscard]] bool over(bool open) override;

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
    [[nodiscard]] std::optional<Rank> nextPeer(const std::vector<Rank>& not_by);
    /// False where it cannot be sent.
    bool post(Rank to, const CheckMail& mail, TimeNs start = TimeNs{0}, TimeNs end = TimeNs{0});
    void postBack(Rank to, std::uint64_t ticket);
    /// All that has come, but for offers, which wait until there is time to read them.
    void readMail();
    void read(Mail mail);
    void handle(CheckMail mail, const Mail& from);
    void handleFound(CheckMail mail, const Mail& from);
    /// What was sent under a ticket to the rank that it comes back from; nothing if that is not so.
    [[nodiscard]] std::optional<Sent> takeSent(std::uint64_t ticket, Rank from);
    /// Nothing will come of what this rank wants of that one.
    void giveUpOn(Rank peer);
    /// Whether an offer of so many bytes may be kept until there is time for it.
    [[nodiscard]] bool hasRoomFor(std::size_t bytes) const;
    /// Sends offers of others back that nobody found the time for.
    void declineOffers(int steps);

    Transport& wires_;
    const int ranks_;
    int turn_ = 0; ///< places from this rank to the one that was asked last
    std::uint64_t tickets_ = 0;
    std::map<std::uint64_t, Sent> sent_;          ///< without a reply so far
    std::deque<ShippedLayer> to_offer_;           ///< not packed yet
    std::set<const Question*> replied_;           ///< by question of this rank
    std::vector<Elsewhere> back_;                 ///< of this rank's offers
    std::deque<std::shared_ptr<Question>> asked_; ///< by others
    std::map<const Question*, Asker> askers_;
    std::deque<Unread> unread_;
    std::deque<Received> offers_; ///< of others
    std::vector<CheckRecord> told_;
    bool changed_ = false; ///< by mail, since the rank's last step or look
    bool finishing_ = false;
    bool said_idle_ = false;
    int idle_ = 0; ///< root: how many are
    bool over_ = false;
};

} // namespace bubblescope::runtime
