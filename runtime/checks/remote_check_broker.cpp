#include "runtime/checks/remote_check_broker.h"

#include <algorithm>
#include <utility>

namespace bubblescope::runtime {
namespace {

constexpr Rank kRootProcess{0};
constexpr std::size_t kOffersOut = 4;            ///< limit of offers from a rank without a reply
constexpr std::size_t kOffersHere = 16;          ///< limit of waiting offers from other ranks; others are declined
constexpr std::size_t kBytesHere = kLargestMail; ///< limit of bytes in waiting offers from other ranks
constexpr int kStepsKept = 4;                    ///< number of steps that an offer waits for idle time

/// Upper limit of the time to pack or unpack a message, which copies the bytes into new memory and computes their
/// digest.
TimeNs timeFor(std::size_t bytes) {
    constexpr std::int64_t kNsPerByte = 4;
    return TimeNs{static_cast<std::int64_t>(bytes) * kNsPerByte};
}

} // namespace

std::optional<Rank> RemoteCheckBroker::nextPeer(const std::vector<Rank>& excluded) {
    const int self = transport_.rank().value;
    for (int tried = 1; tried < ranks_; ++tried) {
        turn_ = turn_ % (ranks_ - 1) + 1; // cycles through 1 … ranks − 1
        const Rank peer{(self + turn_) % ranks_};
        if (std::ranges::find(excluded, peer) == excluded.end()) return peer;
    }
    return std::nullopt;
}

bool RemoteCheckBroker::post(Rank to, const CheckMessage& mail, TimeNs start, TimeNs end) {
    Result<std::string> bytes = packMessage(mail);
    if (!bytes.ok()) return false;
    transport_.post({to, std::move(bytes).value(), {start, end}});
    return true;
}

void RemoteCheckBroker::postDone(Rank to, std::uint64_t ticket) {
    CheckMessage done;
    done.kind = CheckMessage::Kind::Done;
    done.ticket = ticket;
    post(to, done);
}

void RemoteCheckBroker::ask(std::shared_ptr<Question> question) {
    CheckMessage mail;
    mail.kind = CheckMessage::Kind::Question;
    mail.ticket = ++tickets_;
    mail.layer = question->layer;
    const std::optional<Rank> peer = nextPeer(question->excluded);
    if (peer && post(*peer, mail)) sent_[mail.ticket] = {*peer, std::move(question), {}};
}

std::shared_ptr<CheckBroker::Question> RemoteCheckBroker::nextQuestion(Rank /*rank*/) {
    readMail();
    if (asked_.empty()) return nullptr;
    std::shared_ptr<Question> question = std::move(asked_.front());
    asked_.pop_front();
    return question;
}

void RemoteCheckBroker::answer(const std::shared_ptr<Question>& question) {
    const auto asker = askers_.find(question.get());
    CheckMessage mail;
    mail.kind = CheckMessage::Kind::Answer;
    mail.ticket = asker->second.ticket;
    mail.once = std::move(question->once);
    mail.twice = std::move(question->twice);
    post(asker->second.rank, mail); // it contains only digests, so it is never too large
    askers_.erase(asker);
}

CheckBroker::Reply RemoteCheckBroker::replyTo(const std::shared_ptr<Question>& question,
                                              const std::atomic<bool>& ended) {
    readMail();
    if (replied_.erase(question.get()) > 0) return Reply::Answered;
    if (ended.load(std::memory_order_relaxed)) return Reply::Never;
    const bool open = std::ranges::any_of(sent_, [&](const auto& one) { return one.second.question == question; });
    return open ? Reply::Waiting : Reply::Never;
}

bool RemoteCheckBroker::hasRoom(Rank /*from*/) {
    const auto out = std::ranges::count_if(sent_, [](const auto& one) { return one.second.offer.has_value(); });
    return to_offer_.size() + static_cast<std::size_t>(out) < kOffersOut;
}

void RemoteCheckBroker::offer(Rank /*from*/, ShippedLayer layer) {
    to_offer_.push_back(std::move(layer)); // packed when there is time
}

std::optional<std::pair<Rank, ShippedLayer>> RemoteCheckBroker::takeOffer(Rank /*rank*/, TimeNs most) {
    const auto found = std::ranges::find_if(offers_, [&](const Received& one) { return one.layer.cost <= most; });
    if (found == offers_.end()) return std::nullopt;
    std::pair<Rank, ShippedLayer> taken{found->from, std::move(found->layer)};
    offers_.erase(found);
    return taken;
}

void RemoteCheckBroker::returnResult(Rank from, RemoteResult result) {
    CheckMessage mail;
    mail.kind = CheckMessage::Kind::Result;
    mail.ticket = result.layer.ticket;
    mail.once = std::move(result.result);
    // The asker needs the values of the first tensor that differs. If its values are too large, the digests must
    // suffice.
    const auto differs = firstDifference(result.layer.first, mail.once);
    for (std::size_t i = 0; i < mail.once.size(); ++i) {
        if (i != differs) mail.once[i].values.clear();
    }
    if (post(from, mail, result.start, result.end)) return;
    if (differs) mail.once[*differs].values.clear();
    post(from, mail, result.start, result.end);
}

std::vector<CheckBroker::RemoteResult> RemoteCheckBroker::takeResults(Rank /*rank*/) {
    readMail();
    return std::exchange(back_, {});
}

bool RemoteCheckBroker::sendVerdict(Rank world, const CheckRecord& check) {
    if (world == transport_.rank()) return false;
    CheckMessage mail;
    mail.kind = CheckMessage::Kind::Verdict;
    mail.ticket = ++tickets_;
    mail.record = check;
    if (post(world, mail)) sent_[mail.ticket] = {world, nullptr, {}};
    return true;
}

std::vector<CheckRecord> RemoteCheckBroker::takeVerdicts() {
    readMail();
    return std::exchange(verdicts_, {});
}

void RemoteCheckBroker::onIdle(TimeNs room) {
    readMail();
    while (!unread_.empty()) {
        const TimeNs needed = timeFor(unread_.front().mail.bytes.size());
        if (needed > room) break;
        room -= needed;
        Mail mail = std::move(unread_.front().mail);
        unread_.pop_front();
        read(std::move(mail));
    }
    while (!to_offer_.empty()) {
        const TimeNs needed = timeFor(static_cast<std::size_t>(to_offer_.front().computation->bytes()));
        if (needed > room) return;
        room -= needed;
        CheckMessage mail;
        mail.kind = CheckMessage::Kind::Offer;
        mail.ticket = ++tickets_;
        mail.layer = std::move(to_offer_.front());
        to_offer_.pop_front();
        const std::optional<Rank> peer = nextPeer({});
        if (peer && post(*peer, mail)) sent_[mail.ticket] = {*peer, nullptr, std::move(mail.layer)};
    }
}

void RemoteCheckBroker::onStepEnd() {
    for (Unread& one : unread_)
        ++one.steps;
    for (Received& one : offers_)
        ++one.steps;
    declineOffers(kStepsKept);
}

void RemoteCheckBroker::declineOffers(int steps) {
    while (!offers_.empty() && offers_.front().steps >= steps) {
        postDone(offers_.front().from, offers_.front().layer.ticket);
        offers_.pop_front();
    }
    // Declines offers that could not even be read in time.
    while (!unread_.empty() && unread_.front().steps >= steps) {
        const Mail mail = std::move(unread_.front().mail);
        unread_.pop_front();
        postDone(mail.peer, offeredTicket(mail.bytes).value_or(0));
    }
}

bool RemoteCheckBroker::drain(bool open) {
    finishing_ = true;
    to_offer_.clear();
    readMail();
    declineOffers(0);
    if (drained_ || ranks_ == 1) return true;
    if (std::exchange(changed_, false)) return false; // the rank handles new messages before it waits
    if (!open && sent_.empty() && !reported_idle_) {
        reported_idle_ = true;
        CheckMessage idle;
        idle.kind = CheckMessage::Kind::Idle;
        if (transport_.rank() == kRootProcess) {
            ++idle_ranks_;
        } else {
            post(kRootProcess, idle);
        }
    }
    if (transport_.rank() == kRootProcess && idle_ranks_ == ranks_) {
        CheckMessage all;
        all.kind = CheckMessage::Kind::AllIdle;
        for (int r = 0; r < ranks_; ++r) {
            if (Rank{r} != kRootProcess) post(Rank{r}, all);
        }
        drained_ = true;
        return true;
    }
    std::optional<Mail> mail = transport_.awaitMail();
    if (!mail) return true; // the run has ended
    read(std::move(*mail));
    return drained_;
}

void RemoteCheckBroker::readMail() {
    while (std::optional<Mail> mail = transport_.takeMail()) {
        const auto offer = finishing_ ? std::nullopt : offeredTicket(mail->bytes);
        if (!offer) {
            read(std::move(*mail));
        } else if (hasRoomFor(mail->bytes.size())) {
            unread_.push_back({std::move(*mail), 0});
        } else {
            postDone(mail->peer, *offer);
        }
    }
}

bool RemoteCheckBroker::hasRoomFor(std::size_t bytes) const {
    if (unread_.size() + offers_.size() >= kOffersHere) return false;
    for (const Unread& one : unread_)
        bytes += one.mail.bytes.size();
    for (const Received& one : offers_)
        bytes += one.bytes;
    return bytes <= kBytesHere;
}

void RemoteCheckBroker::read(Mail mail) {
    changed_ = true;
    Result<CheckMessage> unpacked = unpackMessage(mail.bytes);
    if (unpacked.ok()) return handle(std::move(unpacked).value(), mail);
    giveUpOn(mail.peer);
    CheckMessage unreadable;
    unreadable.kind = CheckMessage::Kind::Unreadable;
    post(mail.peer, unreadable);
}

void RemoteCheckBroker::handle(CheckMessage mail, const Mail& from) {
    switch (mail.kind) {
    case CheckMessage::Kind::Question: {
        auto question = std::make_shared<Question>();
        question->layer = std::move(mail.layer);
        askers_[question.get()] = {from.peer, mail.ticket};
        asked_.push_back(std::move(question));
        break;
    }
    case CheckMessage::Kind::Answer:
        if (const auto sent = takeSent(mail.ticket, from.peer); sent && sent->question) {
            sent->question->answered_by = from.peer;
            sent->question->once = std::move(mail.once);
            sent->question->twice = std::move(mail.twice);
            replied_.insert(sent->question.get());
        }
        break;
    case CheckMessage::Kind::Offer:
        if (finishing_) return postDone(from.peer, mail.ticket);
        mail.layer.ticket = mail.ticket;
        offers_.push_back({from.peer, std::move(mail.layer), from.bytes.size(), 0});
        break;
    case CheckMessage::Kind::Result: handleResult(std::move(mail), from); break;
    case CheckMessage::Kind::Done: static_cast<void>(takeSent(mail.ticket, from.peer)); break;
    case CheckMessage::Kind::Verdict:
        verdicts_.push_back(std::move(mail.record));
        postDone(from.peer, mail.ticket);
        break;
    case CheckMessage::Kind::Unreadable: giveUpOn(from.peer); break;
    case CheckMessage::Kind::Idle: ++idle_ranks_; break;
    case CheckMessage::Kind::AllIdle: drained_ = true; break;
    }
}

void RemoteCheckBroker::handleResult(CheckMessage mail, const Mail& from) {
    auto sent = takeSent(mail.ticket, from.peer);
    if (!sent || !sent->offer) return;
    // All executions of one layer have the same tensors; anything else is an invalid message.
    const auto like = [](const ShownTensor& a, const ShownTensor& b) {
        return a.tensor == b.tensor && a.type == b.type && a.count == b.count;
    };
    if (!std::ranges::equal(sent->offer->first, mail.once, like)) return;
    back_.push_back({std::move(*sent->offer), from.peer, std::move(mail.once), from.times[0], from.times[1]});
}

std::optional<RemoteCheckBroker::Sent> RemoteCheckBroker::takeSent(std::uint64_t ticket, Rank from) {
    const auto found = sent_.find(ticket);
    if (found == sent_.end() || found->second.to != from) return std::nullopt;
    Sent sent = std::move(found->second);
    sent_.erase(found);
    return sent;
}

void RemoteCheckBroker::giveUpOn(Rank peer) {
    std::erase_if(sent_, [&](const auto& one) { return one.second.to == peer; });
}

} // namespace bubblescope::runtime
