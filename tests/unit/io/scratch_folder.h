#pragma once

#include "core/io/read_trace.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace bubblescope::test {

/// A folder for a test's files, gone when the test is.
class ScratchFolder {
public:
    ScratchFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "bubblescope-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    std::filesystem::path write(const std::string& name, std::string_view bytes) const {
        const auto file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return file;
    }

private:
    std::filesystem::path path_;
};

inline std::string readAll(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline Result<ReadTraces> readBytes(const ScratchFolder& folder, std::string_view bytes) {
    JobControl control;
    const auto file = folder.write("trace", bytes);
    auto result = readTraces({file}, control);
    std::filesystem::remove(file); // some file systems wait for the disk when a file is overwritten
    return result;
}

inline std::int64_t countOf(const std::vector<Diagnostic>& problems, std::string_view kind) {
    std::int64_t count = 0;
    for (const Diagnostic& problem : problems)
        count += problem.kind == kind ? problem.count : 0;
    return count;
}

/// The first slice of a name, kNoId if there is none.
inline SliceId findSlice(const Trace& trace, std::string_view name) {
    for (SliceId slice = 0; slice < trace.sliceCount(); ++slice) {
        if (trace.name(slice) == name) return slice;
    }
    return kNoId;
}

} // namespace bubblescope::test
