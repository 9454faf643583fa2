#pragma once

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/net/link.h"
#include "core/net/secret.h"
#include "core/net/socket.h"
#include "core/net/tls.h"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bubblescope::net {

/// Lets processes in that know a secret, and nobody else: senders of streams and ranks of a job alike. Both ends prove
/// that they know the secret, which is not sent: each makes an HMAC over what both chose at random and what the joiner
/// states about itself.
///
/// Who has not proved anything yet is a stranger. There are few at a time, each for seconds and some bytes. When they
/// are many, the oldest of the address that has most makes room. A wrong proof is answered late, the later the more of
/// them an address has sent. One thread at a time.
class Admission {
public:
    struct Options {
        std::string secret;
        std::string refusal; ///< the reason for who does not know it
        std::optional<TlsSettings> tls{};
    };
    /// `listener` is open. Error: Run.
    [[nodiscard]] static Result<Admission> open(Listener listener, Options options);

    struct Admitted {
        Link link;
        std::string address;
        std::string statement; ///< what the joiner states about itself
        Frame welcome;         ///< to be sent to it, unless it is refused
    };
    /// Accepts connections and reads what strangers sent, without waiting. Returns those that proved to know the
    /// secret, at most `room` of them. `now` is on a monotonic clock.
    [[nodiscard]] std::vector<Admitted> poll(TimeNs now, std::size_t room);
    /// Nobody is let in any more.
    void close();
    /// The answer to a joiner that is not let in though it knows the secret.
    [[nodiscard]] static Frame refusal(std::string reason);

    /// Becomes readable when poll() has something to do.
    [[nodiscard]] int descriptor() const { return events_.get(); }
    [[nodiscard]] std::size_t strangers() const { return strangers_.size(); }
    [[nodiscard]] std::int64_t refused() const { return refused_; } ///< wrong proofs
    [[nodiscard]] std::int64_t evicted() const { return evicted_; } ///< strangers that made room for others

private:
    struct Stranger {
        Link link;
        Nonce nonce{};
        std::string address{};
        TimeNs since{0};
        std::optional<TimeNs> refuse_at{};  ///< it gave a wrong proof; when it learns so
        bool refused = false;               ///< it was told
        std::optional<Admitted> admitted{}; ///< without its link
        bool broken = false;                ///< it spoke out of turn
    };
    /// An address that sends wrong proofs.
    struct Suspect {
        int wrong = 0;
        TimeNs last{0};
    };

    explicit Admission(Options options) : options_(std::move(options)) {}
    void accept(TimeNs now);
    void evictOne();
    void take(Stranger& stranger, const Frame& frame, TimeNs now);
    void refuse(Stranger& stranger);
    [[nodiscard]] bool isOver(const Stranger& stranger, TimeNs now) const;
    [[nodiscard]] TimeNs delayFor(const std::string& address, TimeNs now);

    Options options_;
    Listener listener_;
    Descriptor events_;
    std::list<Stranger> strangers_; ///< oldest first
    std::map<std::string, Suspect> suspects_;
    std::int64_t refused_ = 0;
    std::int64_t evicted_ = 0;
};

/// The joining end of an Admission, for one connection.
class Applicant {
public:
    Applicant(std::string secret, std::string statement)
        : secret_(std::move(secret)), statement_(std::move(statement)) {}

    /// What answers the listener's challenge, the first frame that it sends. Error: Run, if it is none.
    [[nodiscard]] Result<Frame> answer(const Frame& challenge);
    /// Whether the welcome proves that the listener knows the secret.
    [[nodiscard]] bool trusts(const Frame& welcome) const;

private:
    std::string secret_;
    std::string statement_;
    std::string proved_; ///< the message of both proofs
};

} // namespace bubblescope::net
