#include "core/formats/read_trace.h"

#include "core/formats/chrome/reader.h"
#include "core/formats/foreign_formats.h"
#include "core/formats/nsys/reader.h"
#include "core/formats/paddle/job_log.h"
#include "core/formats/perfetto/reader.h"
#include "core/formats/sniff.h"
#include "core/formats/source/dangling_flows.h"
#include "core/formats/source/file_bytes.h"
#include "core/formats/source/load_progress.h"
#include "core/formats/source/schedule_file.h"
#include "core/formats/torchtitan/event_log.h"
#include "core/parallel/parallel.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace bubblescope {
namespace {

Status readContent(const FileBytes& bytes, const std::string& where, TraceBuilder& builder, DiagnosticLog& log,
                   LoadProgress& progress) {
    switch (sniffFormat(bytes.text())) {
    case FileFormat::Json: return chrome::readChrome(bytes, where, builder, log, progress);
    case FileFormat::Sqlite: return nsys::readNsys(bytes.text(), where, builder, log, progress);
    case FileFormat::PaddleLog: return paddle::readJobLog(bytes.text(), where, builder, log, progress);
    case FileFormat::TorchtitanLog: return torchtitan::readEventLog(bytes.text(), where, builder, log, progress);
    case FileFormat::Perfetto: return perfetto::readPerfetto(bytes.text(), where, builder, log, progress);
    case FileFormat::ScheduleCsv: return scheduleError(where);
    case FileFormat::Empty: return inputError(where, "is empty");
    case FileFormat::Packed: return inputError(where, "holds another packed file", "unpack it once and try again");
    case FileFormat::Unknown: break;
    }
    return inputError(where + ", byte 0", "is no trace file that can be read",
                      std::string(wayOutFor(where, bytes.text())));
}

/// The result of one file; kept separate, so that problems of a file that is not used in the end do not mislead.
struct FilePart {
    TraceBuilder builder;
    DiagnosticLog log;
    Status status;
};

Status readContentOf(const InputFile& file, FilePart& part, LoadProgress& progress) {
    const std::string where = file.path == kStandardInput ? "standard input" : file.path.string();
    BUBBLESCOPE_ASSIGN(const FileBytes bytes, loadFileBytes(file.path, part.log, progress));
    const std::uint32_t index = part.builder.addFile({file.path, {}, std::nullopt});
    BUBBLESCOPE_TRY(readContent(bytes, where, part.builder, part.log, progress));
    if (part.builder.file(index).format.empty()) part.builder.file(index).format = "perfetto";
    if (!part.builder.file(index).rank) part.builder.file(index).rank = rankInName(file.path.filename().string());
    return {};
}

/// `order`: the file's index among all.
Status readFile(const InputFile& file, std::size_t order, FilePart& part, LoadProgress& progress) {
    LoadPreview* const preview = progress.control().preview;
    if (preview != nullptr) part.builder.setPreview(&preview->addPart(file.path.filename().string(), order));
    Status status = readContentOf(file, part, progress);
    if (LoadPreview::Part* const drawn = part.builder.preview(); drawn != nullptr) drawn->publish();
    part.builder.setPreview(nullptr);
    return status;
}

/// Reads files in parallel, a few ahead of the one that is taken next, and returns them in order.
class FileQueue {
public:
    FileQueue(std::span<const InputFile> files, JobControl& control) : files_(files), control_(control) {
        const std::size_t ahead =
            std::min<std::size_t>(files.size(), std::max(1U, std::thread::hardware_concurrency()));
        for (std::size_t i = 0; i < ahead; ++i)
            startNext();
    }

    FilePart take() {
        FilePart part = parts_.take();
        startNext();
        return part;
    }

private:
    void startNext() {
        if (next_ == files_.size()) return;
        parts_.add([&file = files_[next_], order = next_, &control = control_] {
            FilePart part;
            LoadProgress progress(control, file.bytes);
            try {
                part.status = readFile(file, order, part, progress);
            } catch (const std::bad_alloc&) {
                part.builder = {};
                part.status = inputError(file.path.string(), "needs more memory than there is",
                                         "open fewer files, or a part of it, or use a larger machine");
            }
            progress.finished();
            return part;
        });
        ++next_;
    }

    std::span<const InputFile> files_;
    JobControl& control_;
    std::size_t next_ = 0;
    OrderedTasks<FilePart> parts_;
};

} // namespace

Result<ReadFiles> readFiles(std::span<const InputFile> files, JobControl& control) {
    std::uint64_t total = 0;
    for (const InputFile& file : files)
        total += file.bytes;
    control.total = total;
    control.done = 0;

    ReadFiles read;
    FileQueue queue(files, control);
    for (const InputFile& file : files) {
        FilePart part = queue.take();
        FileOutcome& outcome = read.outcomes.emplace_back();
        if (part.status.ok()) {
            if (!read.builder.append(std::move(part.builder), control)) return cancelledError();
            outcome.problems = part.log.take();
            continue;
        }
        outcome.unusable = std::move(part.status).error();
        if (outcome.unusable->kind == ErrorKind::Cancelled) return cancelledError();
        read.builder.addFile({file.path, {}, std::nullopt});
    }
    return read;
}

Status judgeFiles(std::span<const InputFile> files, std::vector<FileOutcome> outcomes, DiagnosticLog& log) {
    std::optional<Error> first_error;
    std::size_t used = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
        auto& [unusable, problems] = outcomes[i];
        for (Diagnostic& entry : problems)
            log.add(std::move(entry.kind), std::move(entry.where), std::move(entry.message), entry.count);
        if (!unusable) {
            ++used;
            continue;
        }
        log.add("unusable-file", unusable->where, unusable->message);
        if (!first_error || (files[i].named && used == 0)) first_error = std::move(unusable);
    }
    if (used == 0) return *first_error;
    return {};
}

Result<ReadTraces> readTraces(const std::vector<std::filesystem::path>& paths, JobControl& control) {
    BUBBLESCOPE_ASSIGN(const std::vector<InputFile> files, findTraceFiles(paths));
    BUBBLESCOPE_ASSIGN(ReadFiles read, readFiles(files, control));
    DiagnosticLog log;
    BUBBLESCOPE_TRY(judgeFiles(files, std::move(read.outcomes), log));
    if (control.stopRequested()) return cancelledError();
    BUBBLESCOPE_ASSIGN(auto trace, read.builder.finish(log, control));
    std::vector<FlowEnds> flows;
    flows.push_back(flowEnds(*trace));
    noteDanglingFlows(std::move(flows), trace->files(), log);
    if (control.stopRequested()) return cancelledError();
    return ReadTraces{std::move(trace), log.take()};
}

} // namespace bubblescope
