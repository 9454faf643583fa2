#pragma once

#include "core/base/descriptor.h"
#include "core/base/temporary_folder.h"
#include "core/live/live_analyzer.h"
#include "core/live/stream_store.h"
#include "core/net/admission.h"
#include "core/net/link.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::live {

/// Receives streams from senders and passes each byte to an analyzer once: a sender that reconnects gets the offset up
/// to which its streams have arrived. Not thread-safe.
///
/// Rejects senders without the token, see net::Admission. The memory that senders can use is bounded: a sender that
/// stops reading its replies is paused. If the total over all connections is too large, connections are closed,
/// starting with those that have large unfinished messages. The number of streams, the total length of their names and
/// the data that streams declare (StreamMemory) are also limited.
class StreamReceiver {
public:
    struct Options {
        net::Address address;
        std::string token; ///< must not be empty
        std::string clock; ///< name of this machine's CLOCK_MONOTONIC
        std::optional<net::TlsSettings> tls;
        /// Folder in which streams of recorded jobs are stored, see StreamStore; empty = they are not stored.
        std::filesystem::path keep{};
        std::int64_t keep_bytes = StreamStore::kUsualQuota;
        bool insecure = false; ///< allow senders on other machines to connect without TLS
        /// Limits for all connections together.
        struct Limits {
            std::size_t streams = std::size_t{1} << 18;    ///< including streams of recently lost connections
            std::size_t name_bytes = std::size_t{1} << 25; ///< total length of the streams' names
            std::size_t held = std::size_t{1} << 29;       ///< maximum number of bytes in transit in either direction
        } limits{};
    };
    /// Errors: Run, with the address; Usage if there is no token, or no TLS for other machines.
    [[nodiscard]] static Result<StreamReceiver> open(Options options);

    /// Sends and receives as much as possible without waiting. `now` is CLOCK_MONOTONIC.
    void poll(LiveAnalyzer& analyzer, TimeNs now);

    /// Sends queued data, closes all connections, and waits at most `longest` for the senders to detect this. Must be
    /// the last call.
    void finish(TimeNs longest);

    /// Becomes readable when poll() should be called.
    [[nodiscard]] int descriptor() const { return events_.get(); }
    [[nodiscard]] const net::Address& address() const { return options_.address; } ///< address with the actual port
    [[nodiscard]] std::size_t connections() const { return peers_.size(); }        ///< number of senders with the token
    [[nodiscard]] const net::Admission& admission() const { return admission_; }
    [[nodiscard]] std::int64_t unheard() const { return unheard_; }    ///< streams rejected because of the limit
    [[nodiscard]] std::int64_t tooLarge() const { return too_large_; } ///< connections closed because of the limit
    /// Maximum number of bytes ever queued for one sender.
    [[nodiscard]] std::size_t mostWaiting() const { return most_waiting_; }
    /// A sender whose connection was closed before its streams ended, or that has returned after this was reported.
    struct SenderNews {
        std::string name;
        std::string address;
        std::string reason;      ///< reason why the connection was closed; empty if the sender closed it
        std::size_t streams = 0; ///< number of streams that have not ended
        bool back = false;
    };
    /// Suggested `patience`, because senders that lost their connection try to reconnect every second.
    static constexpr TimeNs kReturns{std::chrono::seconds(5)};
    /// Reports each sender once when it has been disconnected for `patience`, and once when it returns. Ignores streams
    /// whose process has exited or whose run has ended.
    [[nodiscard]] std::vector<SenderNews> takeNews(const LiveAnalyzer& analyzer, TimeNs now, TimeNs patience);
    /// Reason why streams could not be stored; empty if all of them were stored.
    [[nodiscard]] std::string storeProblem() const { return kept_ ? kept_->problem() : std::string(); }
    [[nodiscard]] std::int64_t repeated() const { return repeated_; } ///< bytes received twice, and therefore skipped

private:
    using Key = std::pair<std::string, std::string>; ///< name of the sender, and name of the stream
    struct Known {
        LiveAnalyzer::Stream stream = 0;
        std::int64_t generation = 0;
        std::uint64_t offset = 0; ///< number of bytes analysed so far
        std::uint64_t stored = 0; ///< number of bytes stored so far, if the stream is stored
        bool unkept = false;      ///< true if the latest data was not stored; the sender must send it again
        bool finished = false;
        std::uint64_t owner = 0; ///< connection that currently sends the stream
        StreamStore::File kept{};
        std::shared_ptr<const Key> key{}; ///< key of the stream, shared by all objects that refer to it
    };

    struct Away {
        SenderNews news;
        TimeNs since{0};
        bool told = false;
    };
    struct Peer {
        net::Link link;
        std::uint64_t number = 0;
        std::string address{};
        std::string name{};
        std::string clock{};
        bool readable = true;                ///< true if data may have arrived
        std::optional<TimeNs> stuck_since{}; ///< when the sender stopped reading its replies
        std::map<std::uint32_t, std::shared_ptr<const Key>> streams{};
    };

    StreamReceiver(Options options, net::Admission admission)
        : options_(std::move(options)), admission_(std::move(admission)) {
        if (!options_.keep.empty()) kept_.emplace(options_.keep, options_.keep_bytes);
    }
    bool watch(int descriptor, Peer* peer);
    void letIn(net::Admission::Admitted sender);
    void noteLeft(const Peer& peer, TimeNs now);
    [[nodiscard]] std::size_t openStreamsOf(const std::string& sender, const LiveAnalyzer& analyzer) const;
    void serve(Peer& peer, LiveAnalyzer& analyzer, TimeNs now);
    [[nodiscard]] static bool isOver(const Peer& peer, TimeNs now);
    [[nodiscard]] bool makeRoomForStream(std::size_t name_bytes);
    void endLargest(TimeNs now);
    void forget(std::list<Peer>::iterator peer);
    void take(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer, TimeNs now);
    void openStream(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer);
    void takeData(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer, TimeNs now);
    [[nodiscard]] Known* knownOf(const Peer& peer, std::uint32_t stream);
    void answer(Peer& peer, net::Frame::Kind kind, std::uint32_t stream, std::uint64_t offset);

    Options options_;
    std::optional<StreamStore> kept_;
    net::Admission admission_;
    Descriptor events_;
    std::list<Peer> peers_;
    std::map<Key, Known> known_;
    std::size_t name_bytes_ = 0; ///< total length of the keys of known_
    std::size_t numbered_ = 0;   ///< total number of streams over all peers
    std::deque<std::shared_ptr<const Key>>
        finished_;                     ///< keys of finished streams in known_, oldest first; includes restarted ones
    std::map<std::string, Away> away_; ///< by name of the sender
    std::deque<SenderNews> back_;      ///< not yet reported
    std::uint64_t accepted_ = 0;
    std::int64_t unheard_ = 0;
    std::int64_t too_large_ = 0;
    std::size_t most_waiting_ = 0;
    std::int64_t repeated_ = 0;
};

/// Creates a temporary folder for streams that arrive or wait to be sent. Errors: Run.
[[nodiscard]] inline Result<TemporaryFolder> makeScratchFolder() {
    return TemporaryFolder::make("bubblescope-steps", runError("cannot create a folder for received or unsent records",
                                                               "set TMPDIR to a folder with free space"));
}

} // namespace bubblescope::live
