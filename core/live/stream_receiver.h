#pragma once

#include "core/live/kept_streams.h"
#include "core/live/live_analyzer.h"
#include "core/net/address.h"
#include "core/net/link.h"

#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace bubblescope::profiler {

/// Takes the streams of senders and feeds them to an engine, each byte once: a sender that connects again is told how
/// far its streams arrived. Who does not know the token is told nothing. One thread at a time.
class StreamReceiver {
public:
    struct Options {
        Address address;
        std::string token; ///< not empty
        std::string clock; ///< of this machine's CLOCK_MONOTONIC
        std::optional<TlsSettings> tls;
        /// Where the streams of jobs that know nothing of us are kept, see KeptStreams; empty = nowhere.
        std::filesystem::path keep{};
    };
    /// Error: Run, naming the address; Usage, without a token.
    [[nodiscard]] static Result<StreamReceiver> open(Options options);

    /// Takes and sends what goes at once. `now` is CLOCK_MONOTONIC.
    void turn(LiveAnalyzer& engine, TimeNs now);

    /// Sends what waits, tells the senders that nothing more is taken, and waits until they know, but no longer than
    /// this. The last call to make.
    void finish(TimeNs longest);

    /// Becomes readable when turn() has something to do.
    [[nodiscard]] int descriptor() const { return events_.get(); }
    [[nodiscard]] const Address& address() const { return options_.address; } ///< with the port that was taken
    [[nodiscard]] std::size_t connections() const { return peers_.size(); }
    [[nodiscard]] std::int64_t refused() const { return refused_; }
    /// Why streams that were to be kept are not; empty where all are.
    [[nodiscard]] std::string keepProblem() const { return kept_ ? kept_->problem() : std::string(); }
    [[nodiscard]] std::int64_t repeated() const { return repeated_; } ///< bytes that came twice, and were passed over

private:
    struct Known {
        LiveAnalyzer::Stream stream = 0;
        std::int64_t generation = 0;
        std::uint64_t offset = 0;
        bool finished = false;
        std::uint64_t owner = 0; ///< the connection that sends it
        KeptStreams::File kept{};
    };
    using Key = std::pair<std::string, std::string>; ///< the sender's name, and the stream's

    struct Peer {
        Link link;
        std::uint64_t number = 0;
        TimeNs since{0};
        bool welcome = false;
        std::string name;
        std::string clock;
        std::map<std::uint32_t, Key> streams;
    };

    explicit StreamReceiver(Options options) : options_(std::move(options)) {
        if (!options_.keep.empty()) kept_.emplace(options_.keep);
    }
    void accept(TimeNs now);
    void take(Peer& peer, const Frame& frame, LiveAnalyzer& engine, TimeNs now);
    void greet(Peer& peer, const Frame& frame);
    void openStream(Peer& peer, const Frame& frame, LiveAnalyzer& engine);
    void takeData(Peer& peer, const Frame& frame, LiveAnalyzer& engine, TimeNs now);
    [[nodiscard]] Known* knownOf(const Peer& peer, std::uint32_t stream);
    void answer(Peer& peer, Frame::Kind kind, std::uint32_t stream, std::uint64_t offset);

    Options options_;
    std::optional<KeptStreams> kept_;
    Descriptor listener_;
    Descriptor events_;
    std::list<Peer> peers_;
    std::map<Key, Known> known_;
    std::uint64_t accepted_ = 0;
    std::int64_t refused_ = 0;
    std::int64_t repeated_ = 0;
};

} // namespace bubblescope::profiler
