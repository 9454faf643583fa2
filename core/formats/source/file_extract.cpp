#include "core/formats/source/file_extract.h"

#include "core/base/wire.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace bubblescope {

static_assert(std::endian::native == std::endian::little, "extracts store numbers in little-endian order");

template <class Wire>
void fields(Wire& wire, ProcessGroup& value) {
    auto& [description, ranks] = value;
    wire(description, ranks);
}
template <class Wire>
void fields(Wire& wire, TraceFile& value) {
    wire(value.path, value.format, value.rank, value.host, value.groups, value.world_size, value.offset, value.process,
         value.is_converted, value.problems);
}
template <class Wire>
void fields(Wire& wire, TraceExtent& value) {
    auto& [first, last] = value;
    wire(first, last);
}
template <class Wire>
void fields(Wire& wire, SharedArrow& value) {
    auto& [id, first, file, ends] = value;
    wire(id, first, file, ends);
}
template <class Wire>
void fields(Wire& wire, FlowEnds& value) {
    auto& [dangling, shared] = value;
    wire(dangling, shared);
}
template <class Wire>
void fields(Wire& wire, FileExtract::Packed& value) {
    auto& [size, bytes] = value;
    wire(size, bytes);
}

namespace {

constexpr std::uint32_t kMagic = 0x78655362; // "bSex" in byte order
constexpr std::uint32_t kVersion = 8;        // of everything below, including the values

/// Checksum of the bytes after it, so that damage by a disk or a network is detected.
std::uint64_t checksum(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325U ^ bytes.size();
    while (!bytes.empty()) {
        std::uint64_t word = 0;
        const std::size_t count = std::min(bytes.size(), sizeof word);
        std::memcpy(&word, bytes.data(), count);
        bytes.remove_prefix(count);
        hash = std::rotl((hash ^ word) * 0x9e3779b97f4a7c15U, 29);
    }
    return hash;
}

/// Values are repetitive texts and numbers, but no extract compresses more than 150 times.
std::uint64_t mostUnpacked(std::size_t packed) {
    constexpr std::uint64_t kLeast = std::uint64_t{16} << 20;
    constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
    return std::min(kMost, std::max<std::uint64_t>(kLeast, std::uint64_t{150} * packed));
}

/// `head` is everything in an extract except its values.
template <class Wire, class Extract>
void wireHead(Wire& wire, Extract& extract) {
    wire(extract.file, extract.extent, extract.slices, extract.read_problems, extract.problems, extract.flows);
}

bool isSound(const FileExtract& extract) {
    const auto within = [](TimeNs time) { return isWithinReach(time); };
    if (!within(extract.extent.first) || !within(extract.extent.last) || !within(extract.file.offset)) return false;
    if (extract.file.format.empty() || extract.file.format.size() > 64) return false;
    if (extract.slices > std::numeric_limits<std::uint32_t>::max()) return false;
    if (extract.flows.dangling.size() != 1 || extract.flows.dangling.front() < 0) return false;
    if (extract.file.rank.value_or(0) < 0 || extract.file.world_size.value_or(0) < 0) return false;
    return std::ranges::all_of(extract.flows.shared, [&](const SharedArrow& arrow) {
        return arrow.file == 0 && arrow.ends >= 0 && arrow.ends < (1 << 28) && within(arrow.first);
    });
}

} // namespace

void FileExtract::put(const std::string& key, std::string_view value) {
    Packed packed{value.size(), std::string(ZSTD_compressBound(value.size()), '\0')};
    constexpr int kLevel = 9; // ten per cent smaller than with the usual 3, and still faster than reading the trace
    const std::size_t size =
        ZSTD_compress(packed.bytes.data(), packed.bytes.size(), value.data(), value.size(), kLevel);
    if (ZSTD_isError(size) != 0) throw std::bad_alloc{};
    packed.bytes.resize(size);
    packed.bytes.shrink_to_fit();
    values.insert_or_assign(key, std::move(packed));
}

Result<std::optional<std::string>> FileExtract::value(std::string_view key, const std::string& where) const {
    const auto known = values.find(key);
    if (known == values.end()) return std::optional<std::string>();
    const Packed& packed = known->second;
    if (packed.size > mostUnpacked(packed.bytes.size()) ||
        ZSTD_getFrameContentSize(packed.bytes.data(), packed.bytes.size()) != packed.size)
        return damagedExtract(where);
    std::string value(packed.size, '\0');
    if (ZSTD_decompress(value.data(), value.size(), packed.bytes.data(), packed.bytes.size()) != packed.size)
        return damagedExtract(where);
    return std::optional(std::move(value));
}

std::string FileExtract::encoded() const {
    WireWriter rest;
    wireHead(rest, *this);
    rest(std::vector<std::string>(rules.begin(), rules.end()), std::uint64_t{values.size()});
    for (const auto& [key, packed] : values)
        rest(key, packed);
    const std::string bytes = rest.take();
    WireWriter out;
    out(kMagic, kVersion, checksum(bytes));
    return out.take() + bytes;
}

Result<FileExtract> FileExtract::decoded(std::string_view bytes, const std::string& where) {
    WireReader in(bytes);
    std::uint32_t magic = 0;
    std::uint32_t version = 0;
    std::uint64_t sum = 0;
    in(magic, version, sum);
    if (in.failed() || magic != kMagic) return damagedExtract(where);
    if (version != kVersion) {
        return inputError(
            where, fmt::format("is an extract in format version {}; this program reads version {}", version, kVersion),
            "extract the trace again with this program, or use the version that created the extract");
    }
    if (checksum(bytes.substr(bytes.size() - in.left())) != sum) return damagedExtract(where);
    FileExtract extract;
    std::vector<std::string> rules;
    std::uint64_t count = 0;
    wireHead(in, extract);
    in(rules, count);
    for (std::uint64_t i = 0; i < count && !in.failed(); ++i) {
        std::string key;
        Packed packed;
        in(key, packed);
        extract.values.insert_or_assign(std::move(key), std::move(packed));
    }
    if (!in.done() || !isSound(extract)) return damagedExtract(where);
    extract.rules.insert(std::make_move_iterator(rules.begin()), std::make_move_iterator(rules.end()));
    return extract;
}

Error damagedExtract(const std::string& where) {
    return inputError(where, "is a corrupt extract", "extract the trace again");
}

std::size_t recordedSlices(const Trace& trace) {
    std::size_t slices = 0;
    for (const TraceFile& file : trace.files())
        slices += file.extract != nullptr ? file.extract->slices : 0;
    for (const Track& track : trace.tracks())
        slices += trace.files()[track.file].extract == nullptr ? track.end_slice - track.first_slice : 0;
    return slices;
}

} // namespace bubblescope
