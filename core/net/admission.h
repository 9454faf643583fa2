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

/// Admits processes that have a secret (senders of streams, ranks of a job) and rejects all other processes. Both ends
/// prove that they have the secret without sending it: each computes an HMAC over two random nonces, one from each end,
/// and the joiner's description of itself.
///
/// A connection that has not sent a proof is a stranger. The number of strangers is limited, as are time and memory for
/// each. If there are too many, the oldest stranger from the address with the most strangers is dropped. Replies to
/// wrong proofs are delayed; the delay grows with the number of wrong proofs from the same address. Not thread-safe.
class Admission {
public:
    struct Options {
        std::string secret;
        std::string refusal; ///< reason sent to processes without the secret
        std::optional<TlsSettings> tls{};
    };
    /// `listener` must be open. Error: Run.
    [[nodiscard]] static Result<Admission> open(Listener listener, Options options);

    struct Admitted {
        Link link;
        std::string address;
        std::string statement; ///< the joiner's description of itself
        Frame welcome;         ///< frame to send to the joiner, unless it is rejected
    };
    /// Accepts connections and reads data from strangers, without waiting. Returns at most `room` processes that have
    /// proved that they have the secret. `now` is a time on a monotonic clock.
    [[nodiscard]] std::vector<Admitted> poll(TimeNs now, std::size_t room);
    /// Stops admitting processes.
    void close();
    /// The reply to a joiner that has the secret but is rejected.
    [[nodiscard]] static Frame refusal(std::string reason);

    /// Becomes readable when poll() should be called.
    [[nodiscard]] int descriptor() const { return events_.get(); }
    [[nodiscard]] std::size_t strangers() const { return strangers_.size(); }
    [[nodiscard]] std::int64_t refused() const { return refused_; } ///< number of wrong proofs
    [[nodiscard]] std::int64_t evicted() const { return evicted_; } ///< strangers dropped to make room for others

private:
    struct Stranger {
        Link link;
        Nonce nonce{};
        std::string address{};
        TimeNs since{0};
        std::optional<TimeNs> refuse_at{};  ///< time at which to reply to a wrong proof
        bool refused = false;               ///< true if the rejection was sent
        std::optional<Admitted> admitted{}; ///< the admitted process, without its connection
        bool broken = false;                ///< true if the protocol was violated
    };
    /// An address from which wrong proofs were received.
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

/// The joining end of an Admission, for a single connection.
class Applicant {
public:
    Applicant(std::string secret, std::string statement)
        : secret_(std::move(secret)), statement_(std::move(statement)) {}

    /// Replies to the challenge, the first frame sent by the listener. Error: Run if the frame is not a challenge.
    [[nodiscard]] Result<Frame> answer(const Frame& challenge);
    /// True if the frame proves that the listener has the secret.
    [[nodiscard]] bool trusts(const Frame& welcome) const;

private:
    std::string secret_;
    std::string statement_;
    std::string proved_; ///< the message from which both proofs are computed
};

} // namespace bubblescope::net
