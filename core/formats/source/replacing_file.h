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

/// Writes a temporary file in the folder of the target and renames it at the end, so that a failure never leaves an
/// incomplete file under the target's name. Compresses if the target's name ends in .gz or .zst. Small pieces are
/// buffered.
///
/// A target that is a symbolic link stays a link, and the file that it points to is replaced if it belongs to this
/// user. Pipes and devices are written directly; "-" is standard output. A file that exists when writing starts is
/// replaced and keeps its permissions. Callers must first check whether replacing is permitted, see existing_results.h.
/// A file that another program created in the meantime is not replaced.
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
    void push_back(char byte) { write({&byte, 1}); } // NOLINT(readability-identifier-naming): a standard name

    [[nodiscard]] const std::filesystem::path& target() const { return target_; }

    /// Writes the rest and closes the temporary file, so that commit() needs neither disk space nor a descriptor. Use
    /// this function if all files of a result must appear together. Errors: Input if writing failed.
    [[nodiscard]] Status finish();
    /// Moves the file into place, after calling finish() if necessary. Errors: Input if writing the file failed, now or
    /// earlier.
    [[nodiscard]] Status commit();

private:
    static constexpr std::size_t kPending = std::size_t{1} << 20;

    void flush();
    void open();
    void openBeside();
    void put(std::string_view bytes);
    [[nodiscard]] Error failure() const;

    std::filesystem::path target_;
    std::filesystem::path place_;     ///< path of the target with symbolic links resolved
    std::filesystem::path temporary_; ///< empty: write directly to the target
    std::unique_ptr<Packer> packer_;  ///< null: no compression
    std::string pending_;
    Descriptor file_;
    std::string problem_; ///< the first problem, after which nothing is written
    bool packing_failed_ = false;
    bool existed_ = false; ///< true if the target existed when writing started
    bool finished_ = false;
    bool committed_ = false;
};

/// Several files that form one result, in a folder that is created if needed. Either all files appear, or none.
class ReplacingFiles {
public:
    /// Errors: Input if the folder cannot be created.
    [[nodiscard]] static Result<ReplacingFiles> in(std::filesystem::path folder);

    /// Starts another file. The text of a file is complete when the next one is started. Error: Input if this or the
    /// previous file could not be written.
    [[nodiscard]] Result<ReplacingFile*> begin(const std::string& name);
    [[nodiscard]] Status commit();

private:
    explicit ReplacingFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

    std::filesystem::path folder_;
    std::vector<std::unique_ptr<ReplacingFile>> files_;
};

/// Creates a folder for output files, and its parents. Errors: Input, with the system's reason.
[[nodiscard]] Status makeFolder(const std::filesystem::path& folder);
/// Like makeFolder(), but for a folder to which other processes will write. Also checks that a file can be created and
/// removed there. Errors: Input, with the system's reason.
[[nodiscard]] Status makeWritableFolder(const std::filesystem::path& folder);

} // namespace bubblescope
