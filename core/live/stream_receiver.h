#pragma once

#include "core/base/descriptor.h"
#include "core/base/temporary_folder.h"
#include "core/formats/perfetto/packet_file.h"
#include "core/live/live_analyzer.h"
#include "core/net/link.h"
#include "core/net/socket.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope::live {

/// Stores what arrives from recorded jobs in files. Their steps are recognised in all of a job's traces together, so a
/// collector needs them in a folder. As at the source, only the last parts of a trace are kept. One thread at a time.
class StreamStore {
public:
    /// The folder is created with the first file.
    explicit StreamStore(std::filesystem::path dir) : dir_(std::move(dir)) {}

    /// One stream's file.
    class File {
    public:
        /// Received before it was known what the stream is; bounded, since a stream states that at its beginning.
        std::string beginning;
        bool unwanted = false; ///< it belongs to a run that records its steps itself
        std::optional<perfetto::PacketFile> file;
    };

    /// Takes bytes of a stream that `sender` sends under `name`. `captured`: whether it belongs to such a job, once
    /// that is known.
    void feed(File& file, const std::string& sender, const std::string& name, std::string_view bytes,
              std::optional<bool> captured);

    [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
    /// Why something could not be written, and is lost; empty if everything was.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    static constexpr std::size_t kParts = 5; ///< per process: the maximum number of parts, and the one being written
    using Process = std::pair<std::string, std::string>; ///< sender, and the common part of its traces' names

    [[nodiscard]] Status append(File& file, const std::string& sender, const std::string& name, std::string_view bytes);
    [[nodiscard]] std::filesystem::path pathOf(const std::string& sender, const std::string& name) const;
    void removeOld(const std::string& sender, const std::string& name, const std::filesystem::path& path);

    std::filesystem::path dir_;
    std::map<Process, std::deque<std::filesystem::path>> parts_;
    std::string problem_;
};

/// Receives the streams of senders and feeds them to an analyzer, each byte once: a sender that reconnects gets the
/// offset up to which its streams arrived. A connection without the token gets no answer but the refusal. One thread at
/// a time.
class StreamReceiver {
public:
    struct Options {
        net::Address address;
        std::string token; ///< not empty
        std::string clock; ///< of this machine's CLOCK_MONOTONIC
        std::optional<net::TlsSettings> tls;
        /// Folder for the streams of recorded jobs, see StreamStore; empty = they are not kept.
        std::filesystem::path keep{};
    };
    /// Error: Run, naming the address; Usage, without a token.
    [[nodiscard]] static Result<StreamReceiver> open(Options options);

    /// Receives and sends what is possible at once. `now` is CLOCK_MONOTONIC.
    void poll(LiveAnalyzer& analyzer, TimeNs now);

    /// Sends what is queued, ends all connections, and waits until the senders have noticed, for at most `longest`. The
    /// last call to make.
    void finish(TimeNs longest);

    /// Becomes readable when turn() has something to do.
    [[nodiscard]] int descriptor() const { return events_.get(); }
    [[nodiscard]] const net::Address& address() const { return options_.address; } ///< with the actual port
    [[nodiscard]] std::size_t connections() const { return peers_.size(); }
    [[nodiscard]] std::int64_t refused() const { return refused_; }
    /// Why streams could not be stored; empty if all were.
    [[nodiscard]] std::string storeProblem() const { return kept_ ? kept_->problem() : std::string(); }
    [[nodiscard]] std::int64_t repeated() const { return repeated_; } ///< bytes received twice, and skipped

private:
    struct Known {
        LiveAnalyzer::Stream stream = 0;
        std::int64_t generation = 0;
        std::uint64_t offset = 0;
        bool finished = false;
        std::uint64_t owner = 0; ///< the connection that sends it
        StreamStore::File kept{};
    };
    using Key = std::pair<std::string, std::string>; ///< the sender's name, and the stream's

    struct Peer {
        net::Link link;
        std::uint64_t number = 0;
        TimeNs since{0};
        bool welcome = false; ///< knew the token
        bool refused = false; ///< did not; nothing more is taken from it
        std::string name;
        std::string clock;
        std::map<std::uint32_t, Key> streams;
    };

    explicit StreamReceiver(Options options) : options_(std::move(options)) {
        if (!options_.keep.empty()) kept_.emplace(options_.keep);
    }
    void accept(TimeNs now);
    void take(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer, TimeNs now);
    void greet(Peer& peer, const net::Frame& frame);
    void openStream(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer);
    void takeData(Peer& peer, const net::Frame& frame, LiveAnalyzer& analyzer, TimeNs now);
    [[nodiscard]] Known* knownOf(const Peer& peer, std::uint32_t stream);
    void answer(Peer& peer, net::Frame::Kind kind, std::uint32_t stream, std::uint64_t offset);

    Options options_;
    std::optional<StreamStore> kept_;
    net::Listener listener_;
    Descriptor events_;
    std::list<Peer> peers_;
    std::map<Key, Known> known_;
    std::uint64_t accepted_ = 0;
    std::int64_t refused_ = 0;
    std::int64_t repeated_ = 0;
};

/// A temporary folder for streams that arrive or wait to be sent. Errors: Run.
[[nodiscard]] inline Result<TemporaryFolder> makeScratchFolder() {
    return TemporaryFolder::make(
        "bubblescope-steps",
        runError("no folder can be made for what arrives or waits to be sent", "set TMPDIR to a folder with room"));
}

} // namespace bubblescope::live
