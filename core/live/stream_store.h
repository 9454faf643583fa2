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

/// Stores the data of recorded jobs in files. Their steps are recognised in all of a job's traces together, so a
/// collector needs them in a folder. As at the source, only the last parts of a trace are kept, within a total quota:
/// above it, the oldest files of the largest sender are removed. Not thread-safe.
class StreamStore {
    using Process = std::pair<std::string, std::string>; ///< sender, and the common part of its traces' names
    struct Kept {
        std::filesystem::path path;
        std::int64_t bytes = 0;
        Process process;
    };

public:
    static constexpr std::int64_t kUsualQuota = std::int64_t{64} << 30;

    /// The folder is created with the first file.
    explicit StreamStore(std::filesystem::path dir, std::int64_t quota = kUsualQuota)
        : dir_(std::move(dir)), quota_(quota) {}
    StreamStore(StreamStore&&) = default;
    StreamStore& operator=(StreamStore&&) = default;
    StreamStore(const StreamStore&) = delete;
    StreamStore& operator=(const StreamStore&) = delete;
    ~StreamStore() = default;

    /// One stream's file.
    class File {
    public:
        /// Bytes received before the kind of stream was known; bounded, because a stream reports its kind at its
        /// beginning.
        std::string beginning;
        bool unwanted = false; ///< it belongs to a run that records its own steps, or there is no room
        std::optional<perfetto::PacketFile> file;
        std::shared_ptr<Kept> kept; ///< the store's entry; held by files that are still being written
    };

    /// Takes bytes of the stream that `sender` sends under `name`. `captured` is true if the stream belongs to a
    /// recorded job, and empty until that is known. Error: Run if they cannot be stored; the same bytes can be passed
    /// again later.
    [[nodiscard]] Status feed(File& file, const std::string& sender, const std::string& name, std::string_view bytes,
                              std::optional<bool> captured);
    /// Call when no more data will arrive for that stream.
    void end(File& file);

    [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
    /// The reason why the latest write failed; empty if everything was written.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }     ///< bytes on disk
    [[nodiscard]] std::int64_t removed() const { return removed_; } ///< bytes of files removed to make room
    /// Number of processes with files. At most the number of files, which is bounded because their bytes are.
    [[nodiscard]] std::size_t processes() const { return parts_.size(); }
    static constexpr std::size_t kMaxFiles = std::size_t{1} << 16;

private:
    static constexpr std::size_t kParts = 5; ///< per process: the maximum number of parts, and the one being written
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
    std::size_t beginnings_ = 0; ///< bytes of all files' beginnings
    std::string problem_;
};

} // namespace bubblescope::live
