// The work before a format's reader: recognising the format and unpacking; and the args that it parses later.

#include "core/formats/sniff.h"
#include "core/formats/source/packing.h"
#include "core/trace/args.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace bubblescope::fuzz {
namespace {

std::optional<Unpacked> unpackAs(Packing packing, std::string_view bytes) {
    JobControl control;
    LoadProgress progress(control, bytes.size());
    auto result = unpack(bytes, packing, kInput, progress);
    if (!result.ok()) {
        checkError(result.error());
        return std::nullopt;
    }
    const Unpacked& out = result.value();
    require(out.fault_at <= bytes.size(), "a fault lies within the file");
    require(!out.cut_off || !out.fault.empty(), "a cut is a fault");
    return std::move(result).value();
}

/// JSON knows no numbers that are not finite; they are written as texts.
bool survives(const ArgValue& value) {
    const double* const real = std::get_if<double>(&value);
    return real == nullptr || std::isfinite(*real);
}

} // namespace

void sniff(std::string_view bytes) {
    const FileFormat format = sniffFormat(bytes);
    require((format == FileFormat::Empty) == bytes.empty(), "only what is empty is told to be");
    require((format == FileFormat::Packed) == packingOf(bytes).has_value(), "what is packed is told to be");
    constexpr std::size_t kEnough = 256;
    if (bytes.size() <= kEnough) return;
    const FileFormat early = sniffFormat(bytes.substr(0, kEnough));
    // Texts are recognised by lines that may come later, and may begin with that much white space.
    require((early == FileFormat::Sqlite) == (format == FileFormat::Sqlite) &&
                (early == FileFormat::Packed) == (format == FileFormat::Packed),
            "the first 256 bytes tell what is not text");
}

void unpackedBytes(std::string_view bytes) {
    for (const Packing packing : {Packing::Gzip, Packing::Zstd}) {
        const auto whole = unpackAs(packing, bytes);
        if (!whole || bytes.empty()) continue;
        // The result for the beginning of a file is the beginning of the result for the complete file.
        const auto part = unpackAs(packing, bytes.substr(0, bytes.size() / 2));
        if (!part) continue;
        const std::string_view all = whole->bytes.text();
        const std::string_view shorter = part->bytes.text();
        // Before ISA-L notices a reference before the stream's beginning it returns bytes that were not packed.
        if (packing == Packing::Gzip && !whole->fault.empty() && !whole->cut_off) continue;
        const std::size_t common = std::min(all.size(), shorter.size());
        require(all.substr(0, common) == shorter.substr(0, common), "a cut file gives a beginning of the whole");
        // From a damaged block, a cut file may return the part before the damage, while the complete file returns
        // nothing.
        require(all.size() >= shorter.size() || !whole->fault.empty(), "a cut file gives no more than the whole");
    }
}

void jsonArgs(std::string_view bytes) {
    const std::vector<Arg> args = parseJsonArgs(bytes);
    // Text that is not JSON is read up to the error, which is further for a reader that skips the values between.
    const bool well_formed = nlohmann::json::accept(bytes);
    for (const Arg& arg : args)
        require(findJsonArg(bytes, arg.name).has_value() || !well_formed, "what is listed is found");
    std::vector<std::string> names;
    for (const Arg& arg : args)
        names.push_back(arg.name);
    std::sort(names.begin(), names.end());
    if (std::adjacent_find(names.begin(), names.end()) != names.end()) return; // an object keeps one of a name
    const std::vector<Arg> again = parseJsonArgs(argsToJson(args));
    require(again.size() == args.size(), "args are all written");
    for (std::size_t i = 0; i < args.size(); ++i) {
        require(again[i].name == args[i].name, "args keep their names and order");
        if (survives(args[i].value)) require(again[i].value == args[i].value, "args keep their values");
    }
}

} // namespace bubblescope::fuzz
