#include "core/net/admission.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

namespace bubblescope::net {
namespace {

constexpr std::size_t kMaxStrangers = 1024; ///< this many hosts of a job may join at once
constexpr int kAcceptAtOnce = 64;
constexpr std::size_t kBeforeProof = 4096; ///< bytes accepted from a stranger
constexpr TimeNs kProveWithin{std::chrono::seconds(10)};
constexpr TimeNs kLeastAge{std::chrono::milliseconds(500)}; ///< minimum age of a stranger before it can be dropped,
                                                            ///< since its proof may be in transit
constexpr std::size_t kMaxSuspects = 1024;

/// Prevents the proof of one end from being used as that of the other.
constexpr std::string_view kJoinerProof = "bubblescope: joins";
constexpr std::string_view kListenerProof = "bubblescope: lets in";

Proof proofFor(const std::string& secret, std::string_view whose, const std::string& proved) {
    return proofOf(secret, std::string(whose) + proved);
}

/// The message that both ends authenticate with the secret.
std::string messageOf(std::string_view challenge, std::string_view nonce, std::string_view statement) {
    std::string message(challenge);
    message += nonce;
    message += statement;
    return message;
}

Frame frameOf(Frame::Kind kind, std::string text) {
    Frame frame;
    frame.kind = kind;
    frame.text = std::move(text);
    return frame;
}

bool watch(const Descriptor& events, int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    return ::epoll_ctl(events.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

} // namespace

Result<Admission> Admission::open(Listener listener, Options options) {
    Admission admission(std::move(options));
    admission.listener_ = std::move(listener);
    admission.events_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!admission.events_.isOpen() || !watch(admission.events_, admission.listener_.descriptor()))
        return runError("cannot watch the listening socket");
    return admission;
}

void Admission::accept(TimeNs now) {
    for (int i = 0; i < kAcceptAtOnce; ++i) {
        const bool full = strangers_.size() >= kMaxStrangers;
        if (full && now - strangers_.front().since < kLeastAge) return; // others wait in the system's queue
        Socket socket = listener_.accept();
        if (!socket.isOpen()) return;
        if (full) evictOne();
        std::optional<TlsSession> tls;
        if (options_.tls) {
            auto begun = options_.tls->begin();
            if (!begun.ok()) continue; // out of memory; the joiner will try again
            tls = std::move(begun).value();
        }
        watch(events_, socket.descriptor());
        std::string address = socket.peer();
        Stranger& stranger = strangers_.emplace_back(
            Stranger{Link(std::move(socket), std::move(tls)), makeNonce(), std::move(address), now});
        stranger.link.send(frameOf(Frame::Kind::Challenge, std::string(bytesOf(stranger.nonce))));
    }
}

void Admission::evictOne() {
    std::map<std::string_view, std::size_t> by_address;
    for (const Stranger& stranger : strangers_)
        ++by_address[stranger.address];
    const auto most = std::ranges::max_element(by_address, {}, [](const auto& one) { return one.second; });
    strangers_.erase(std::ranges::find(strangers_, most->first, &Stranger::address));
    ++evicted_;
}

std::vector<Admission::Admitted> Admission::poll(TimeNs now, std::size_t room) {
    constexpr int kReads = 1;
    std::array<epoll_event, 64> ready{};
    [[maybe_unused]] const int ignored =
        ::epoll_wait(events_.get(), ready.data(), std::ssize(ready), 0); // all of them are polled
    if (listener_.isOpen() && room > 0) accept(now);
    std::vector<Admitted> in;
    for (auto at = strangers_.begin(); at != strangers_.end();) {
        Stranger& stranger = *at;
        if (stranger.refuse_at && !stranger.refused && now >= *stranger.refuse_at) refuse(stranger);
        if (stranger.refuse_at && !stranger.refused)
            stranger.link.flush(); // waits for its rejection to be sent
        else
            stranger.link.poll([&](const Frame& frame) { take(stranger, frame, now); }, kReads);
        if (isOver(stranger, now)) {
            at = strangers_.erase(at);
        } else if (stranger.admitted && in.size() < room) {
            ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, stranger.link.descriptor(), nullptr);
            Admitted& admitted = in.emplace_back(std::move(*stranger.admitted));
            admitted.link = std::move(stranger.link);
            at = strangers_.erase(at);
        } else {
            ++at;
        }
    }
    return in;
}

void Admission::close() {
    strangers_.clear();
    listener_ = Listener();
}

bool Admission::isOver(const Stranger& stranger, TimeNs now) const {
    return stranger.link.ended() || stranger.broken || now - stranger.since > kProveWithin ||
           stranger.link.received() > kBeforeProof;
}

void Admission::take(Stranger& stranger, const Frame& frame, TimeNs now) {
    if (stranger.refuse_at) return;
    if (stranger.admitted || frame.kind != Frame::Kind::Hello || frame.text.size() < 2 * kProofBytes) {
        stranger.broken = true;
        return;
    }
    const std::string_view text = frame.text;
    const std::string_view statement = text.substr(2 * kProofBytes);
    const std::string proved = messageOf(bytesOf(stranger.nonce), text.substr(kProofBytes, kProofBytes), statement);
    const Proof right = proofFor(options_.secret, kJoinerProof, proved);
    if (equalSecrets(bytesOf(right), text.substr(0, kProofBytes))) {
        const Proof own = proofFor(options_.secret, kListenerProof, proved);
        stranger.admitted = Admitted{Link(Socket()), stranger.address, std::string(statement),
                                     frameOf(Frame::Kind::Welcome, std::string(bytesOf(own)))};
        return;
    }
    ++refused_;
    stranger.refuse_at = now + delayFor(stranger.address, now);
    if (*stranger.refuse_at <= now) refuse(stranger);
}

void Admission::refuse(Stranger& stranger) {
    stranger.refused = true;
    stranger.link.send(refusal(options_.refusal));
    stranger.link.endAfterSending();
}

Frame Admission::refusal(std::string reason) {
    return frameOf(Frame::Kind::Refused, std::move(reason));
}

/// A single mistake is answered at once; after many, the wait is almost as long as strangers may stay.
TimeNs Admission::delayFor(const std::string& address, TimeNs now) {
    constexpr TimeNs kForgotten{std::chrono::minutes(10)};
    constexpr TimeNs kFirst{std::chrono::milliseconds(250)};
    constexpr TimeNs kLongest{std::chrono::seconds(8)};
    constexpr int kFree = 3;
    if (suspects_.size() >= kMaxSuspects && !suspects_.contains(address))
        suspects_.erase(std::ranges::min_element(suspects_, {}, [](const auto& one) { return one.second.last; }));
    Suspect& suspect = suspects_[address];
    if (now - suspect.last > kForgotten) suspect.wrong = 0;
    suspect.last = now;
    const int beyond = std::min(suspect.wrong++, kFree + 10) - kFree;
    return beyond < 0 ? TimeNs{0} : std::min(kFirst * (1 << beyond), kLongest);
}

Result<Frame> Applicant::answer(const Frame& challenge) {
    if (challenge.kind != Frame::Kind::Challenge || challenge.text.size() != kProofBytes)
        return runError("the other side is not Bubblescope, or is a different version");
    const Nonce nonce = makeNonce();
    proved_ = messageOf(challenge.text, bytesOf(nonce), statement_);
    const Proof proof = proofFor(secret_, kJoinerProof, proved_);
    std::string text(bytesOf(proof));
    text += bytesOf(nonce);
    text += statement_;
    return frameOf(Frame::Kind::Hello, std::move(text));
}

bool Applicant::trusts(const Frame& welcome) const {
    const Proof right = proofFor(secret_, kListenerProof, proved_);
    return !proved_.empty() && welcome.kind == Frame::Kind::Welcome && equalSecrets(bytesOf(right), welcome.text);
}

} // namespace bubblescope::net
