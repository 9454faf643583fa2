#include "core/formats/perfetto/check_events.h"

#include "core/timeline/trace_names.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace bubblescope::perfetto {
namespace {

std::string hex(std::uint64_t bits) {
    return fmt::format("{:016x}", bits);
}

/// "F3.1 layer 5".
template <class Record>
std::string nameOf(const Record& record) {
    return fmt::format("{} layer {}", opName(record.op), record.layer);
}

/// What a check and a digest both say. `kind` is kept by the caller: args only refer to texts.
template <class Record>
std::vector<Arg> commonArgs(const Record& record, std::string_view kind, Stage stage) {
    std::vector<Arg> args{{"kind", kind},
                          {"microbatch", std::int64_t{record.op.microbatch.value}},
                          {"chunk", std::int64_t{record.op.chunk.value}},
                          {"stage", std::int64_t{stage.value}},
                          {"step", std::int64_t{record.step}},
                          {"layer", std::int64_t{record.layer}},
                          {"tensor", std::string_view(record.tensor)}};
    if (record.op.sequence != 0) args.push_back({"sequence", std::int64_t{record.op.sequence}});
    return args;
}

} // namespace

void writeCheck(Encoder& encoder, std::uint64_t track, const CheckRecord& check, Stage stage) {
    const std::string kind(1, opLetter(check.op.kind));
    const std::string first = hex(check.first);
    const std::string second = hex(check.second);
    std::string first_bits;
    std::string second_bits;
    std::vector<Arg> args = commonArgs(check, kind, stage);
    args.push_back({"check", checkKindName(check.kind)});
    args.push_back({"outcome", checkOutcomeName(check.outcome)});
    args.push_back({"verdict", verdictName(check.verdict)});
    args.push_back({"first", std::string_view(first)});
    args.push_back({"second", std::string_view(second)});
    if (check.difference) {
        first_bits = fmt::format("{:x}", check.difference->first_bits);
        second_bits = fmt::format("{:x}", check.difference->second_bits);
        args.push_back({"elements", check.difference->elements});
        args.push_back({"differing", check.difference->differing});
        args.push_back({"first_index", check.difference->first});
        args.push_back({"first_bits", std::string_view(first_bits)});
        args.push_back({"second_bits", std::string_view(second_bits)});
        if (check.difference->ulp) args.push_back({"ulp", *check.difference->ulp});
    }
    if (check.end > check.start) {
        encoder.beginSlice(track, check.start, trace_names::kCheck, nameOf(check), args);
        encoder.endSlice(track, check.end);
    } else {
        encoder.instant(track, check.start, trace_names::kCheck, nameOf(check), args);
    }
}

void writeDigest(Encoder& encoder, std::uint64_t track, const DigestRecord& digest, Stage stage) {
    const std::string kind(1, opLetter(digest.op.kind));
    const std::string text = hex(digest.digest);
    std::vector<Arg> args = commonArgs(digest, kind, stage);
    args.push_back({"digest", std::string_view(text)});
    encoder.instant(track, digest.time, trace_names::kDigest, nameOf(digest), args);
}

} // namespace bubblescope::perfetto
