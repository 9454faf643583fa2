#pragma once

#include "core/base/descriptor.h"
#include "core/base/result.h"
#include "core/formats/source/packing.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bubblescope {

/// Writes a temporary file beside the target and renames it at the end, so that a failure never leaves half a file
/// under the target's name. Compresses if the target's name ends in .gz or .zst. Buffers small pieces, so callers need
/// not.
///
/// A target that is a symbolic link stays one, and the file behind it is replaced, if it belongs to this user. Pipes
/// and devices are written as they are; "-" is standard output. A file that exists when writing begins is replaced and
/// keeps its permissions: whether it may be is for the caller to ask before, see existing_results.h. One that another
/// program made in the meantime is not.
class ReplacingFile {
public:
    using value_type = char; ///< with push_back, for std::back_inserter()

    explicit ReplacingFile(std::filesystem::path target);
    ~ReplacingFile();
    ReplacingFile(const ReplacingFile&) = delete;
    ReplacingFile& operator=(const ReplacingFile&) = delete;

    void write(std::string_view bytes) {
        pending_ += bytes;
        if (pending_.size() >= kPending) flush();
    }
    void push_back(char byte) { write({&byte, 1}); } // NOLINT(readability-identifier-naming): the standard's name

    [[nodiscard]] const std::filesystem::path& target() const { return target_; }

    /// Writes what is left and closes the temporary file: what then remains for commit() needs no room and no
    /// descriptor. For results of several files, of which all or none is to appear. Errors: Input, if anything could
    /// not be written.
    [[nodiscard]] Status finish();
    /// Moves the file into place, after finish() if that was not called. Errors: Input, if it or anything before could
    /// not be written.
    [[nodiscard]] Status commit();

private:
    static constexpr std::size_t kPending = std::size_t{1} << 20;

    void flush();
    void open();
    void openBeside();
    void put(std::string_view bytes);
    [[nodiscard]] Error failure() const;

    std::filesystem::path target_;
    std::filesystem::path place_;     ///< of the file itself, behind symbolic links
    std::filesystem::path temporary_; ///< empty: the target is written as it is
    std::unique_ptr<Packer> packer_;  ///< null: the bytes are not compressed
    std::string pending_;
    Descriptor file_;
    std::string problem_; ///< the first one; then nothing more is written
    bool packing_failed_ = false;
    bool existed_ = false; ///< when writing began
    bool finished_ = false;
    bool committed_ = false;
};

/// Several files of one result, in a folder that is made: all of them appear, or none.
class ReplacingFiles {
public:
    /// Errors: Input, if the folder cannot be made.
    [[nodiscard]] static Result<ReplacingFiles> in(std::filesystem::path folder);

    /// Writes one more file. Its text is complete when the next one is begun. Error: Input, if this or the file before
    /// could not be written.
    [[nodiscard]] Result<ReplacingFile*> begin(const std::string& name);
    [[nodiscard]] Status commit();

private:
    explicit ReplacingFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

    std::filesystem::path folder_;
    std::vector<std::unique_ptr<ReplacingFile>> files_;
};

/// Makes the folder that files are to be written to, and those above it. Errors: Input, with the system's reason.
[[nodiscard]] Status makeFolder(const std::filesystem::path& folder);
/// The same, for files that others will write there: makes one and removes it. Errors: Input, with the system's reason.
[[nodiscard]] Status makeWritableFolder(const std::filesystem::path& folder);

} // namespace bubblescope
