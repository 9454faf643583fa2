#pragma once

#include "core/formats/perfetto/packet_file.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope::live {

/// Stores the data of recorded jobs in files. A collector needs these files in a folder, because steps are recognised
/// from all traces of a job together. As on the recorded machine, only the last parts of a trace are kept, within a
/// total quota: when it is exceeded, the oldest files of the largest sender are removed. Not thread-safe.
class StreamStore {
    using Process = std::pair<std::string, std::string>; ///< sender, and common prefix of the names of its traces
    struct Kept {
        std::filesystem::path path;
        std::int64_t bytes = 0;
        Process process;
    };

public:
    static constexpr std::int64_t kUsualQuota = std::int64_t{64} << 30;

    /// The folder is created together with the first file.
    explicit StreamStore(std::filesystem::path dir, std::int64_t quota = kUsualQuota)
        : dir_(std::move(dir)), quota_(quota) {}
    StreamStore(StreamStore&&) = default;
    StreamStore& operator=(StreamStore&&) = default;
    StreamStore(const StreamStore&) = delete;
    StreamStore& operator=(const StreamStore&) = delete;
    ~StreamStore() = default;

    /// The file of one stream.
    class File {
    public:
        /// Bytes received before the kind of stream was known. Their number is bounded, because a stream reports its
        /// kind at the start.
        std::string beginning;
        bool unwanted = false; ///< true if the stream's run records its own steps, or if there is no space
        std::optional<perfetto::PacketFile> file;
        std::shared_ptr<Kept> kept; ///< entry in the store; shared with files that are still being written
    };

    /// Stores bytes of the stream that `sender` sends under `name`. `captured` is true if the stream belongs to a
    /// recorded job; empty while that is unknown. Errors: Run if the bytes could not be stored; the same bytes can be
    /// passed again later.
    [[nodiscard]] Status feed(File& file, const std::string& sender, const std::string& name, std::string_view bytes,
                              std::optional<bool> captured);
    /// Must be called when no more data will arrive for the stream.
    void end(File& file);

    [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
    /// Reason why the most recent write failed; empty if it succeeded.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }     ///< bytes on disk
    [[nodiscard]] std::int64_t removed() const { return removed_; } ///< number of bytes removed to free space
    /// Number of processes that have files. Bounded by the number of files, which is bounded by the quota in bytes.
    [[nodiscard]] std::size_t processes() const { return parts_.size(); }
    static constexpr std::size_t kMaxFiles = std::size_t{1} << 16;

private:
    static constexpr std::size_t kParts = 5; ///< maximum number of parts per process, including the one being written
    struct Sender {
        std::deque<std::shared_ptr<Kept>> files; ///< oldest first
        std::int64_t bytes = 0;
    };

    void giveUp(File& file, std::string problem);
    /// Stores an error for problem().
    Status noted(Status kept);
    [[nodiscard]] Status append(File& file, const std::string& sender, const std::string& name, std::string_view bytes);
    [[nodiscard]] bool makeRoom(std::int64_t bytes, bool for_a_file);
    [[nodiscard]] std::filesystem::path pathOf(const std::string& sender, const std::string& name) const;
    void removeOldParts(const Process& process, const std::filesystem::path& path);
    void forget(const std::string& name, std::size_t file);

    std::filesystem::path dir_;
    std::int64_t quota_;
    std::map<Process, std::deque<std::filesystem::path>> parts_;
    std::map<std::string, Sender> senders_;
    std::int64_t bytes_ = 0;
    std::int64_t removed_ = 0;
    std::size_t files_ = 0;
    std::size_t beginnings_ = 0; ///< total size of all files' `beginning`
    std::string problem_;
};

} // namespace bubblescope::live
