#include "core/io/read_trace.h"

#include "core/io/chrome/reader.h"
#include "core/io/file_bytes.h"
#include "core/io/load_progress.h"
#include "core/io/perfetto/reader.h"
#include "core/io/sniff.h"
#include "core/io/trace_files.h"
#include "core/trace/trace_builder.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace bubblescope {
namespace {

constexpr std::string_view kFormatsHint = "traces are JSON (Chrome trace events) or Perfetto files, gzipped or not";

Status readContent(std::string_view content, FileFormat format, const std::string& where, TraceBuilder& builder,
                   DiagnosticLog& log, LoadProgress& progress) {
    switch (format) {
    case FileFormat::Json:
        if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);
        return chrome::readChrome(content, where, builder, log, progress);
    case FileFormat::Perfetto: return perfetto::readPerfetto(content, where, builder, log, progress);
    case FileFormat::Empty: return inputError(where, "is empty");
    case FileFormat::Gzip: return inputError(where, "holds another gzip file", "unpack it once and try again");
    case FileFormat::Unknown: break;
    }
    return inputError(where + ", byte 0", "is no trace file that can be read", std::string(kFormatsHint));
}

Status readFile(const InputFile& file, TraceBuilder& builder, DiagnosticLog& log, JobControl& control) {
    const std::string where = file.path.string();
    BUBBLESCOPE_ASSIGN(std::string bytes, readFileBytes(file.path, control));
    FileFormat format = sniffFormat(bytes);
    if (format == FileFormat::Gzip) {
        BUBBLESCOPE_ASSIGN(bytes, unpackGzip(bytes, where));
        format = sniffFormat(bytes);
    }
    LoadProgress progress(control, file.bytes);
    const std::uint32_t index = builder.addFile({file.path, {}, std::nullopt});
    BUBBLESCOPE_TRY(readContent(bytes, format, where, builder, log, progress));
    progress.finished();
    if (builder.file(index).format.empty()) builder.file(index).format = "perfetto";
    if (!builder.file(index).rank) builder.file(index).rank = rankInName(file.path.filename().string());
    return {};
}

} // namespace

Result<ReadTraces> readTraces(const std::vector<std::filesystem::path>& paths, JobControl& control) {
    BUBBLESCOPE_ASSIGN(const std::vector<InputFile> files, findTraceFiles(paths));
    std::uint64_t total = 0;
    for (const InputFile& file : files)
        total += file.bytes;
    control.total = total;
    control.done = 0;

    TraceBuilder builder;
    DiagnosticLog log;
    std::optional<Error> first_error;
    std::size_t used = 0;
    std::uint64_t bytes_before = 0;
    for (const InputFile& file : files) {
        DiagnosticLog file_log; // kept apart: problems of a file that is then not used would mislead
        Status status = readFile(file, builder, file_log, control);
        bytes_before += file.bytes;
        control.done = bytes_before;
        if (status.ok()) {
            ++used;
            for (Diagnostic& entry : file_log.take())
                log.add(std::move(entry.kind), std::move(entry.where), std::move(entry.message), entry.count);
            continue;
        }
        Error error = std::move(status).error();
        if (error.kind == ErrorKind::Cancelled) return error;
        log.add("unusable-file", error.where, error.message);
        if (!first_error || (file.named && used == 0)) first_error = std::move(error);
    }
    if (used == 0) return *first_error;
    auto trace = builder.finish(log);
    return ReadTraces{std::move(trace), log.take()};
}

} // namespace bubblescope
