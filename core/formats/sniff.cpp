#include "core/formats/sniff.h"

#include "core/formats/paddle/job_log.h"
#include "core/formats/primus/reader.h"
#include "core/formats/rocm/json_reader.h"
#include "core/formats/snapshot/reader.h"
#include "core/formats/source/packing.h"
#include "core/formats/source/schedule_file.h"
#include "core/formats/torchtitan/event_log.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace bubblescope {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

/// The first byte from `at` on that is neither white space nor in a comment.
std::size_t skipSpaceAndComments(std::string_view bytes, std::size_t at) {
    for (;;) {
        at = bytes.find_first_not_of(kSpace, at);
        if (at == std::string_view::npos) return at;
        const std::string_view rest = bytes.substr(at);
        if (!rest.starts_with("//") && !rest.starts_with("/*")) return at;
        const std::string_view closing = rest.starts_with("//") ? "\n" : "*/";
        const std::size_t end = bytes.find(closing, at + 2);
        if (end == std::string_view::npos) return end;
        at = end + closing.size();
    }
}

// A Perfetto file may begin with bytes that read as white space and a brace ("\n{" opens a packet of 123 bytes), so
// what follows the brace decides.
bool looksLikeJson(std::string_view bytes) {
    if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
    const std::size_t open = skipSpaceAndComments(bytes, 0);
    if (open == std::string_view::npos || (bytes[open] != '{' && bytes[open] != '[')) return false;
    const std::size_t next = skipSpaceAndComments(bytes, open + 1);
    if (next == std::string_view::npos) return true;
    const std::string_view allowed = bytes[open] == '{' ? "\"}" : "{[],\"-0123456789tfn";
    return allowed.find(bytes[next]) != std::string_view::npos;
}

/// True if the beginning of a file consists of consecutive packets. A single one is weak evidence: a text that begins
/// with an empty line looks like one.
bool looksLikePerfetto(std::string_view bytes) {
    constexpr char kPacketTag = 0x0A;
    constexpr int kEnough = 16;
    for (int packets = 0; !bytes.empty() && packets < kEnough; ++packets) {
        // Some good packets may be followed by damage: a power failure leaves zeros.
        if (bytes.front() != kPacketTag) return packets > 1 || (packets == 1 && bytes.front() == 0);
        std::uint64_t length = 0;
        std::size_t at = 1;
        for (unsigned shift = 0; at < bytes.size() && shift < 35; shift += 7) {
            const auto byte = static_cast<unsigned char>(bytes[at++]);
            length |= std::uint64_t{byte & 0x7FU} << shift;
            if ((byte & 0x80U) == 0) break;
        }
        if (length > 0 && at < bytes.size()) {
            const auto field = static_cast<unsigned char>(bytes[at]);
            const unsigned wire_type = field & 7U;
            if (field >> 3U == 0 || (wire_type > 2 && wire_type != 5)) return packets > 1;
        }
        if (length >= bytes.size() - at) return true;
        bytes.remove_prefix(at + static_cast<std::size_t>(length));
    }
    return true;
}

/// Detects the XSpace format of JAX and TensorFlow. Its first field is a plane: possibly a number, then a name such as
/// "/host:CPU". In a Perfetto packet that field is a message.
bool looksLikeXPlane(std::string_view bytes) {
    constexpr char kFirst = 0x0A;
    if (bytes.empty() || bytes.front() != kFirst) return false;
    const auto skipNumber = [&bytes] {
        while (!bytes.empty() && (static_cast<unsigned char>(bytes.front()) & 0x80U) != 0)
            bytes.remove_prefix(1);
        bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 1));
    };
    bytes.remove_prefix(1);
    skipNumber();
    constexpr char kId = 0x08;
    constexpr char kName = 0x12;
    if (!bytes.empty() && bytes.front() == kId) {
        bytes.remove_prefix(1);
        skipNumber();
    }
    if (bytes.size() < 3 || bytes.front() != kName) return false;
    bytes.remove_prefix(2); // and its length, which is short
    return bytes.starts_with("/host:") || bytes.starts_with("/device:") || bytes.starts_with("Task Environment");
}

} // namespace

FileFormat sniffFormat(std::string_view beginning) {
    if (beginning.empty()) return FileFormat::Empty;
    if (packingOf(beginning)) return FileFormat::Packed;
    if (beginning.starts_with("SQLite format 3")) return FileFormat::Sqlite;
    if (torchtitan::looksLikeEventLog(beginning)) return FileFormat::TorchtitanLog;
    if (primus::looksLikeRecord(beginning)) return FileFormat::PrimusRecord;
    if (snapshot::looksLikePickle(beginning)) return FileFormat::TorchSnapshot;
    if (looksLikeJson(beginning))
        return rocm::looksLikeRocprofJson(beginning) ? FileFormat::RocprofJson : FileFormat::Json;
    if (looksLikeScheduleCsv(beginning)) return FileFormat::ScheduleCsv;
    if (looksLikeXPlane(beginning)) return FileFormat::XPlane;
    if (looksLikePerfetto(beginning)) return FileFormat::Perfetto;
    if (paddle::looksLikeJobLog(beginning)) return FileFormat::PaddleLog;
    return FileFormat::Unknown;
}

namespace {

struct ForeignFormat {
    std::string_view begins;    ///< starts with these bytes, if known
    std::string_view name_ends; ///< otherwise
    std::string_view way_out;
};

using namespace std::string_view_literals;

constexpr std::string_view kUtf16 = "the text is UTF-16; convert it with 'iconv -f UTF-16 -t UTF-8'";

constexpr std::array kForeign{
    ForeignFormat{"\xFF\xFE"sv, {}, kUtf16},
    ForeignFormat{"\xFE\xFF"sv, {}, kUtf16},
    ForeignFormat{"{\0"sv, {}, kUtf16},
    ForeignFormat{"[\0"sv, {}, kUtf16},
    ForeignFormat{"\0{"sv, {}, kUtf16},
    ForeignFormat{"\0["sv, {}, kUtf16},
    ForeignFormat{{}, ".nsys-rep", "export it with 'nsys export --type sqlite' and load the SQLite file"},
    ForeignFormat{{}, ".qdrep", "export it with 'nsys export --type sqlite' and load the SQLite file"},
    ForeignFormat{{}, ".ncu-rep", "Nsight Compute measures kernels one by one; record a timeline with nsys instead"},
    ForeignFormat{"PAR1"sv, {}, "Parquet tables are not supported; load the matching timeline in Chrome's JSON format"},
    ForeignFormat{{}, ".xplane.pb", kXPlaneAdvice},
    ForeignFormat{"PK\x03\x04"sv, {}, "unpack the archive and load its files"},
    ForeignFormat{{}, ".tar", "unpack the archive and load its files"},
    ForeignFormat{
        "\x80\x04"sv,
        {},
        "Python pickles are not read because they may run code; write traces with prof.export_chrome_trace()"},
};

} // namespace

std::string_view conversionAdvice(std::string_view name, std::string_view beginning) {
    const auto known = std::ranges::find_if(kForeign, [&](const ForeignFormat& format) {
        return format.begins.empty() ? name.ends_with(format.name_ends) : beginning.starts_with(format.begins);
    });
    if (known != kForeign.end()) return known->way_out;
    return "traces are JSON (Chrome trace events), Perfetto files or SQLite exports of Nsight Systems, optionally "
           "compressed";
}

} // namespace bubblescope
