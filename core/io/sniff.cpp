#include "core/io/sniff.h"

#include "core/io/paddle/job_log.h"
#include "core/io/torchtitan/event_log.h"
#include "core/io/unpack.h"

#include <cstddef>

namespace bubblescope {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// A Perfetto file may begin with bytes that read as white space and a brace ("\n{" opens a packet of 123
// bytes), so what follows the brace decides.
bool looksLikeJson(std::string_view bytes) {
    if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
    const std::size_t open = bytes.find_first_not_of(kSpace);
    if (open == std::string_view::npos || (bytes[open] != '{' && bytes[open] != '[')) return false;
    const std::size_t next = bytes.find_first_not_of(kSpace, open + 1);
    if (next == std::string_view::npos) return true;
    const std::string_view allowed = bytes[open] == '{' ? "\"}" : "{[]\"-0123456789tfn";
    return allowed.find(bytes[next]) != std::string_view::npos;
}

bool looksLikePerfetto(std::string_view bytes) {
    constexpr char kPacketTag = 0x0A;
    if (bytes.empty() || bytes.front() != kPacketTag) return false;
    std::size_t at = 1; // past the tag, then past the packet's length
    while (at < bytes.size() && at < 6 && (static_cast<unsigned char>(bytes[at]) & 0x80U) != 0)
        ++at;
    if (++at >= bytes.size()) return true;
    const unsigned wire_type = static_cast<unsigned char>(bytes[at]) & 7U;
    return wire_type <= 2 || wire_type == 5;
}

} // namespace

FileFormat sniffFormat(std::string_view beginning) {
    if (beginning.empty()) return FileFormat::Empty;
    if (packingOf(beginning)) return FileFormat::Packed;
    if (beginning.starts_with("SQLite format 3")) return FileFormat::Sqlite;
    if (torchtitan::looksLikeEventLog(beginning)) return FileFormat::TorchtitanLog;
    if (looksLikeJson(beginning)) return FileFormat::Json;
    if (looksLikePerfetto(beginning)) return FileFormat::Perfetto;
    if (paddle::looksLikeJobLog(beginning)) return FileFormat::PaddleLog;
    return FileFormat::Unknown;
}

} // namespace bubblescope
