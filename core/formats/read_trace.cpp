#include "core/formats/read_trace.h"

#include "core/base/bytes.h"
#include "core/base/core_count.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/formats/chrome/reader.h"
#include "core/formats/file_identity.h"
#include "core/formats/notes_file.h"
#include "core/formats/nsys/reader.h"
#include "core/formats/paddle/job_log.h"
#include "core/formats/perfetto/packet.h"
#include "core/formats/perfetto/reader.h"
#include "core/formats/primus/reader.h"
#include "core/formats/rocm/json_reader.h"
#include "core/formats/rocm/rocpd_reader.h"
#include "core/formats/snapshot/reader.h"
#include "core/formats/sniff.h"
#include "core/formats/source/dangling_flows.h"
#include "core/formats/source/file_bytes.h"
#include "core/formats/source/file_extract.h"
#include "core/formats/source/load_progress.h"
#include "core/formats/source/packing.h"
#include "core/formats/source/schedule_file.h"
#include "core/formats/sqlite/database.h"
#include "core/formats/torchtitan/event_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace bubblescope {
namespace {

namespace fs = std::filesystem;

/// Orders "rank2" before "rank10".
bool naturallyBefore(std::string_view a, std::string_view b) {
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        if (!isDigit(a[i]) || !isDigit(b[j])) {
            if (a[i] != b[j]) return a[i] < b[j];
            ++i, ++j;
            continue;
        }
        const auto number = [](std::string_view text, std::size_t& at) {
            const std::size_t begin = at;
            while (at < text.size() && isDigit(text[at]))
                ++at;
            const std::size_t first = std::min(at, text.find_first_not_of('0', begin));
            return text.substr(first, at - first);
        };
        const std::string_view left = number(a, i);
        const std::string_view right = number(b, j);
        if (left.size() != right.size()) return left.size() < right.size();
        if (left != right) return left < right;
    }
    return a.size() - i < b.size() - j;
}

/// The unpacked beginning of a file: at most this many bytes of the file and of its unpacked content.
std::string beginningOf(std::ifstream& stream, std::size_t bytes) {
    std::string beginning(bytes, '\0');
    stream.clear();
    stream.seekg(0);
    stream.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    beginning.resize(static_cast<std::size_t>(stream.gcount()));
    if (const auto packing = packingOf(beginning)) return unpackedBeginning(beginning, *packing, bytes);
    return beginning;
}

bool looksLikeTrace(const fs::path& file) {
    if (isNotesFile(file)) return false; // users' notes next to the trace
    std::ifstream stream(file, std::ios::binary);
    // For most files this is enough to identify them.
    constexpr std::size_t kFew = std::size_t{4} << 10;
    constexpr std::size_t kMany = std::size_t{64} << 10;
    const FileFormat first = sniffFormat(beginningOf(stream, kFew));
    if (first == FileFormat::Json || first == FileFormat::Sqlite || first == FileFormat::PrimusRecord ||
        first == FileFormat::RocprofJson) {
        return true;
    }
    switch (sniffFormat(beginningOf(stream, kMany))) {
    case FileFormat::Json:
    case FileFormat::Sqlite:
    case FileFormat::PaddleLog:
    case FileFormat::TorchtitanLog:
    case FileFormat::PrimusRecord:
    case FileFormat::TorchSnapshot:
    case FileFormat::RocprofJson:
    case FileFormat::XPlane:
    case FileFormat::Perfetto: return true;
    case FileFormat::Packed:
    case FileFormat::Empty:
    case FileFormat::ScheduleCsv:
    case FileFormat::Unknown: return false;
    }
    return false;
}

Status addFolder(const fs::path& folder, std::vector<InputFile>& files) {
    std::error_code failed;
    std::vector<InputFile> found;
    std::size_t seen = 0;
    fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failed);
    for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
        std::error_code ignored;
        if (!entry->is_regular_file(ignored)) continue;
        ++seen;
        if (!looksLikeTrace(entry->path())) continue;
        const auto bytes = entry->file_size(ignored);
        found.push_back({entry->path(), false, ignored ? 0 : bytes});
    }
    if (failed) return inputError(folder.string(), fmt::format("cannot be listed: {}", failed.message()));
    if (found.empty()) {
        return inputError(folder.string(), fmt::format("contains no trace file among its {} files", seen),
                          "traces are JSON with 'traceEvents' (or an array of events) or Perfetto files, optionally "
                          "compressed with gzip or zstd");
    }
    std::sort(found.begin(), found.end(),
              [](const InputFile& a, const InputFile& b) { return naturallyBefore(a.path.string(), b.path.string()); });
    files.insert(files.end(), found.begin(), found.end());
    return {};
}

} // namespace

Result<std::vector<InputFile>> findTraceFiles(const std::vector<fs::path>& paths) {
    std::vector<InputFile> files;
    for (const fs::path& path : paths) {
        if (path == kStandardInput) {
            files.push_back({path, true, 0});
            continue;
        }
        std::error_code failed;
        const auto status = fs::status(path, failed);
        if (!fs::exists(status)) {
            return inputError(path.string(), failed && status.type() != fs::file_type::not_found
                                                 ? fmt::format("cannot be opened: {}", failed.message())
                                                 : "does not exist");
        }
        if (fs::is_directory(status)) {
            BUBBLESCOPE_TRY(addFolder(path, files));
            continue;
        }
        const auto bytes = fs::file_size(path, failed);
        files.push_back({path, true, failed ? 0 : bytes});
    }
    if (files.empty()) return inputError({}, "no trace file given");
    return files;
}

Status readSqlite(std::string_view bytes, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                  LoadProgress& progress) {
    const auto database = sqlite::Database::open(bytes);
    if (!database) return inputError(where, "is a corrupt SQLite database", "export it again with its profiler");
    if (rocm::isRocpd(*database)) return rocm::readRocpd(*database, where, builder, log, progress);
    return nsys::readNsys(*database, where, builder, log, progress);
}

namespace {

Status readContent(const FileBytes& bytes, bool in_part, const fs::path& path, const std::string& where,
                   TraceBuilder& builder, DiagnosticLog& log, LoadProgress& progress) {
    const FileFormat format = sniffFormat(bytes.text());
    const bool in_order = format == FileFormat::Json || format == FileFormat::Perfetto;
    if (in_part && (!in_order || perfetto::beginsExtract(bytes.text())))
        return inputError(where, "cannot be loaded in part", "load the whole trace");
    if (!in_order) BUBBLESCOPE_TRY(bytes.extend(std::numeric_limits<std::size_t>::max()));
    switch (format) {
    case FileFormat::Json: return chrome::readChrome(bytes, where, builder, log, progress);
    case FileFormat::Sqlite: return readSqlite(bytes.text(), where, builder, log, progress);
    case FileFormat::PaddleLog: return paddle::readJobLog(bytes.text(), where, builder, log, progress);
    case FileFormat::TorchtitanLog: return torchtitan::readEventLog(bytes.text(), where, builder, log, progress);
    case FileFormat::Perfetto: return perfetto::readPerfetto(bytes, where, builder, log, progress);
    case FileFormat::PrimusRecord: return primus::readRecord(bytes.text(), path, where, builder, log);
    case FileFormat::TorchSnapshot: return snapshot::readSnapshot(bytes.text(), where, builder, log);
    case FileFormat::RocprofJson: return rocm::readRocprofJson(bytes.text(), where, builder, log, progress);
    case FileFormat::XPlane:
        return inputError(where, "is an XPlane profile of JAX or TensorFlow, which is not supported",
                          std::string(kXPlaneAdvice));
    case FileFormat::ScheduleCsv: return scheduleError(where);
    case FileFormat::Empty: return inputError(where, "is empty");
    case FileFormat::Packed:
        return inputError(where, "contains another compressed file", "decompress it once and try again");
    case FileFormat::Unknown: break;
    }
    return inputError(where + ", byte 0", "is not a known trace format",
                      std::string(conversionAdvice(where, bytes.text())));
}

/// The result of one file; kept separate, so that problems of a file that turns out not to be needed are not reported.
struct FilePart {
    TraceBuilder builder;
    DiagnosticLog log;
    Status status;
};

Status readContentOf(const InputFile& file, FilePart& part, LoadProgress& progress) {
    const std::string where = file.path == kStandardInput ? "standard input" : file.path.string();
    BUBBLESCOPE_ASSIGN(FileBytes bytes, openFileBytes(file.path, part.log, progress, [](std::string_view beginning) {
                           return packingOf(beginning) || sniffFormat(beginning) != FileFormat::Unknown;
                       }));
    if (file.first_bytes > 0) bytes.cut(file.first_bytes);
    const std::uint32_t index = part.builder.addFile({file.path, {}, std::nullopt});
    const Status status = readContent(bytes, file.first_bytes > 0, file.path == kStandardInput ? fs::path() : file.path,
                                      where, part.builder, part.log, progress);
    if (bytes.lost()) {
        if (!status.ok()) return inputError(where, "was truncated while being read", "load it when it is complete");
        part.log.add("file-changed", where,
                     say("the file was truncated while being read; the lost part reads as zeros"));
    }
    BUBBLESCOPE_TRY(status);
    for (std::uint32_t i = index; i < part.builder.fileCount(); ++i) {
        const FileExtract* const extract = part.builder.file(i).extract.get();
        if (extract == nullptr) continue;
        for (const Diagnostic& problem : extract->read_problems)
            part.log.add(problem.kind, problem.where, problem.message, problem.count);
    }
    if (part.builder.file(index).format.empty()) part.builder.file(index).format = "perfetto";
    if (file.path != kStandardInput && !part.builder.file(index).is_converted)
        part.builder.file(index).named_rank = rankAround(file.path);
    return {};
}

/// `order` is the file's index among all.
Status readFile(const InputFile& file, std::size_t order, FilePart& part, LoadProgress& progress) {
    LoadPreview* const preview = progress.control().preview;
    if (preview != nullptr) part.builder.setPreview(&preview->addPart(file.path.filename().string(), order));
    Status status = readContentOf(file, part, progress);
    if (LoadPreview::Part* const drawn = part.builder.preview(); drawn != nullptr) drawn->publish();
    part.builder.setPreview(nullptr);
    return status;
}

Error tooLarge(const std::string& where, std::uint64_t bytes) {
    const std::string size = formatBytes(static_cast<std::int64_t>(bytes));
    return inputError(where, fmt::format("exceeds the available memory: its {} does not fit", size),
                      "open fewer files, or only a part, or use a machine with more memory");
}

FilePart readPart(const InputFile& file, std::size_t order, JobControl& control) {
    FilePart part;
    LoadProgress progress(control, file.bytes);
    try {
        part.status = readFile(file, order, part, progress);
    } catch (const std::bad_alloc&) {
        part.builder = {};
        part.status = tooLarge(file.path.string(), file.bytes);
    }
    progress.finished();
    return part;
}

/// True if all files together take so little time that waking other threads would take longer.
bool takeNoTime(std::span<const InputFile> files) {
    constexpr std::uint64_t kLittle = std::uint64_t{4} << 20; // a few milliseconds
    constexpr std::uint64_t kUnpacked = 16;                   // assumed compression ratio
    std::uint64_t bytes = 0;
    for (const InputFile& file : files) {
        const auto extension = file.path.extension();
        const bool is_packed = extension == ".gz" || extension == ".zst";
        if (file.bytes == 0 || file.bytes >= kLittle) return false; // it may be a pipe
        bytes += file.bytes * (is_packed ? kUnpacked : 1);
    }
    return bytes < kLittle;
}

/// Reads files in parallel, a few ahead of the one that is taken next, and returns them in order.
class FileQueue {
public:
    FileQueue(std::span<const InputFile> files, JobControl& control) : files_(files), control_(control) {
        const std::size_t ahead = takeNoTime(files) ? 0 : std::min(files.size(), coreCount());
        for (std::size_t i = 0; i < ahead; ++i)
            startNext();
    }

    FilePart take() {
        if (parts_.size() == 0) {
            const std::size_t order = next_++;
            return readPart(files_[order], order, control_);
        }
        FilePart part = parts_.take();
        startNext();
        return part;
    }

private:
    void startNext() {
        if (next_ == files_.size()) return;
        parts_.add(
            [&file = files_[next_], order = next_, &control = control_] { return readPart(file, order, control); });
        ++next_;
    }

    std::span<const InputFile> files_;
    JobControl& control_;
    std::size_t next_ = 0;
    OrderedTasks<FilePart> parts_;
};

/// Reserves room for the content of the files after the first, assuming the same density. Otherwise the builder's
/// columns would be reallocated for each of them.
void expectRest(TraceBuilder& builder, std::uint64_t first, std::uint64_t all) {
    constexpr std::size_t kFew = std::size_t{1} << 16; // above this, the capacity at most doubles
    if (first == 0 || all <= first) return;
    const double times = static_cast<double>(all - first) / static_cast<double>(first);
    const auto rest = [&](std::size_t count) {
        const double exactly = times * static_cast<double>(count);
        return static_cast<std::size_t>(std::min(1.1 * exactly, static_cast<double>(std::max(count, kFew))));
    };
    builder.expectSlices(rest(builder.sliceCount()));
    builder.expectFlows(rest(builder.flowCount()));
}

} // namespace

Result<ReadFiles> readFiles(std::span<const InputFile> files, JobControl& control) {
    std::uint64_t total = 0;
    for (const InputFile& file : files)
        total += file.bytes;
    control.total = total;
    control.done = 0;

    ReadFiles read;
    FileQueue queue(files, control);
    CopyFinder copies;
    for (const InputFile& file : files) {
        FilePart part = queue.take();
        FileOutcome& outcome = read.outcomes.emplace_back();
        if (part.status.ok()) {
            if (const auto original = files.size() > 1 ? copies.copyOf(part.builder) : std::nullopt) {
                outcome.problems = {{"copy", 1, Sentence(file.path.string()),
                                     say("has the same content as {}, which is used instead", original->string())}};
                continue;
            }
            const bool is_first = read.builder.fileCount() == 0;
            if (!read.builder.append(std::move(part.builder), control)) return cancelledError();
            if (is_first) expectRest(read.builder, file.bytes, total);
            outcome.problems = part.log.take();
            continue;
        }
        outcome.unusable = std::move(part.status).error();
        if (outcome.unusable->kind == ErrorKind::Cancelled) return cancelledError();
        outcome.ignored =
            !file.named && (chrome::isNoTrace(*outcome.unusable) || outcome.unusable->hint == kXPlaneAdvice);
        if (!outcome.ignored) read.builder.addFile({file.path, {}, std::nullopt});
    }
    return read;
}

namespace {

/// Logs the problems of a trace's files, in their order. Error: Input, if none of them is usable.
Status logFileProblems(std::span<const InputFile> files, std::vector<FileOutcome> outcomes, DiagnosticLog& log) {
    std::optional<Error> first_error;
    std::size_t used = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
        auto& [unusable, ignored, problems] = outcomes[i];
        for (Diagnostic& entry : problems)
            log.add(std::move(entry.kind), std::move(entry.where), std::move(entry.message), entry.count);
        if (!unusable) {
            ++used;
            continue;
        }
        if (ignored) {
            log.add("ignored-file", unusable->where, say("ignored files of other kinds"));
        } else {
            log.add("unusable-file", unusable->where, unusable->message);
        }
        if (!first_error || (files[i].named && used == 0)) first_error = std::move(unusable);
    }
    if (used == 0) return *first_error;
    return {};
}

/// Inserts the problems of the files that conversions were made from. Some appear again when the conversion is read,
/// usually fewer times, because data that a format cannot represent is lost.
std::vector<Diagnostic> withThoseOfConversions(std::span<const TraceFile> files, std::vector<Diagnostic> found) {
    std::vector<Diagnostic> all;
    for (const TraceFile& file : files) {
        for (const Diagnostic& stated : file.problems) {
            const auto again = std::ranges::find(found, stated.kind, &Diagnostic::kind);
            all.push_back(again != found.end() && again->count > stated.count ? *again : stated);
            if (again != found.end()) found.erase(again);
        }
    }
    all.insert(all.end(), found.begin(), found.end());
    return all;
}

Result<ReadTraces> readWhole(std::span<const InputFile> files, const TraceRules& rules, JobControl& control) {
    BUBBLESCOPE_ASSIGN(ReadFiles read, readFiles(files, control));
    DiagnosticLog log;
    BUBBLESCOPE_TRY(logFileProblems(files, std::move(read.outcomes), log));
    if (control.stopRequested()) return cancelledError();
    settleRanks(read.builder, log);
    read.builder.setRules(rules);
    BUBBLESCOPE_ASSIGN(TraceExtent extent, read.builder.settle(log, control));
    for (std::uint32_t i = 0; i < read.builder.fileCount(); ++i) {
        if (const auto& extract = read.builder.file(i).extract) extent.include(extract->extent);
    }
    BUBBLESCOPE_ASSIGN(auto trace, read.builder.finish(extent, log, control));
    for (const TraceFile& file : trace->files()) {
        if (file.extract == nullptr) continue;
        for (const Diagnostic& problem : file.extract->problems)
            log.add(problem.kind, problem.where, problem.message, problem.count);
    }
    noteDanglingFlows(flowEnds(*trace), trace->files(), log);
    if (control.stopRequested()) return cancelledError();
    std::vector<Diagnostic> problems = withThoseOfConversions(trace->files(), log.take());
    return ReadTraces{std::move(trace), std::move(problems)};
}

} // namespace

Result<ReadTraces> readTraces(const std::vector<std::filesystem::path>& paths, JobControl& control,
                              const ReadOptions& options) {
    BUBBLESCOPE_ASSIGN(std::vector<InputFile> files, findTraceFiles(paths));
    for (InputFile& file : files)
        file.first_bytes =
            options.first_bytes == 0 ? 0 : std::max<std::uint64_t>(1, options.first_bytes / files.size());
    try {
        return readWhole(files, options.rules, control);
    } catch (const std::bad_alloc&) { // where files are joined into one trace
        return tooLarge(paths.front().string(), control.total);
    }
}

} // namespace bubblescope
