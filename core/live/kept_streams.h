#pragma once

#include "core/formats/perfetto/packet_file.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope::profiler {

/// Files of what arrives of jobs that know nothing of us. Their steps show in all of a job's traces together, so a
/// collector must have these in a folder. As where they were recorded, of a trace in parts the oldest go. One thread at
/// a time.
class KeptStreams {
public:
    /// The folder is made with the first file.
    explicit KeptStreams(std::filesystem::path dir) : dir_(std::move(dir)) {}

    /// One stream's file.
    class File {
    public:
        /// What came before it was known what the stream is; bounded, since a stream says so at its beginning.
        std::string beginning;
        bool unwanted = false; ///< it is of a run that tells its steps itself
        std::optional<perfetto::PacketFile> file;
    };

    /// Bytes of a stream that `sender` sends under `name`. `captured`: whether it is of such a job, once that is known.
    void feed(File& file, const std::string& sender, const std::string& name, std::string_view bytes,
              std::optional<bool> captured);

    [[nodiscard]] const std::filesystem::path& dir() const { return dir_; }
    /// Why something could not be written, and is not kept; empty where all was.
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    static constexpr std::size_t kParts = 5; ///< of a process: as many as it may have, and the one that it writes
    using Process = std::pair<std::string, std::string>; ///< sender, and the part of the name that its traces share

    [[nodiscard]] Status append(File& file, const std::string& sender, const std::string& name, std::string_view bytes);
    [[nodiscard]] std::filesystem::path pathOf(const std::string& sender, const std::string& name) const;
    void removeOld(const std::string& sender, const std::string& name, const std::filesystem::path& path);

    std::filesystem::path dir_;
    std::map<Process, std::deque<std::filesystem::path>> parts_;
    std::string problem_;
};

} // namespace bubblescope::profiler
