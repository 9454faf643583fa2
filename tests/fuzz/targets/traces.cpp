// Each format of traces by itself, from bytes in memory.

#include "core/formats/chrome/reader.h"
#include "core/formats/paddle/job_log.h"
#include "core/formats/perfetto/reader.h"
#include "core/formats/primus/reader.h"
#include "core/formats/read_trace.h"
#include "core/formats/rocm/json_reader.h"
#include "core/formats/snapshot/reader.h"
#include "core/formats/torchtitan/event_log.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

namespace bubblescope::fuzz {
namespace {

/// `read` is one of the readers, which differ in their first parameter alone.
template <class Bytes, class Read>
void loadWith(const Read& read, const Bytes& bytes, std::string_view text, std::size_t library_bytes = 0) {
    const auto with_input = [&](TraceBuilder& builder, DiagnosticLog& log, LoadProgress& progress) {
        return read(bytes, kInput, builder, log, progress);
    };
    (void)load(text, with_input, library_bytes);
}

/// Some traces keep the file's bytes for as long as they live: so must code that reads them from another place.
FileBytes owned(std::string_view bytes) {
    const auto copy = std::make_shared<const std::string>(bytes);
    return FileBytes(copy, *copy);
}

} // namespace

void chromeJson(std::string_view bytes) {
    loadWith(chrome::readChrome, owned(bytes), bytes);
}

void perfettoTrace(std::string_view bytes) {
    loadWith(perfetto::readPerfetto, owned(bytes), bytes);
}

void nsysDatabase(std::string_view bytes) {
    // SQLite lists the overflow pages of a row by the size that the row claims, at most 4 GiB, before it reads the
    // first: 8 bytes for each page, which has at least 508. Each of the two connections may do so.
    constexpr std::size_t kListOfPages = (std::size_t{1} << 32) / 508 * 8;
    loadWith(readSqlite, bytes, bytes, 2 * kListOfPages);
}

void primusRecord(std::string_view bytes) {
    (void)load(bytes, [&](TraceBuilder& builder, DiagnosticLog& log, LoadProgress&) {
        return primus::readRecord(bytes, {}, kInput, builder, log);
    });
}

void torchSnapshot(std::string_view bytes) {
    (void)load(bytes, [&](TraceBuilder& builder, DiagnosticLog& log, LoadProgress&) {
        return snapshot::readSnapshot(bytes, kInput, builder, log);
    });
}

void rocprofJson(std::string_view bytes) {
    loadWith(rocm::readRocprofJson, bytes, bytes);
}

void jobLog(std::string_view bytes) {
    loadWith(paddle::readJobLog, bytes, bytes);
}

void torchtitanLog(std::string_view bytes) {
    loadWith(torchtitan::readEventLog, bytes, bytes);
}

} // namespace bubblescope::fuzz
