#pragma once

#include "core/base/text.h"
#include "core/recognise/native_args.h"
#include "core/timeline/check_record.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// What our own files say of checks and digests, read as native_args.h reads what they say of ops.
namespace bubblescope {

/// What counts steps, ops, layers and places; no run counts further.
inline constexpr std::int64_t kMaxOwnCount = std::int64_t{1} << 30;

[[nodiscard]] inline bool placeCanBe(const OwnHome& place) {
    return place.rank < kMaxOwnCount && place.replica < kMaxOwnCount && place.tensor_rank < kMaxOwnCount;
}

/// The args of one record, with what is wrong in them.
template <class Args>
class NativeRecordReader {
public:
    /// `args` is copied: it refers to what it reads.
    explicit NativeRecordReader(Args args) : args_(std::move(args)) {}

    template <class To = int>
    To count(std::string_view name) {
        const auto value = args_.integer(name);
        if (!value || *value < 0 || *value >= kMaxOwnCount) return fail<To>(name);
        return To{static_cast<std::int32_t>(*value)};
    }
    template <class To = int>
    To countOr(std::string_view name, std::int32_t otherwise) {
        return args_.integer(name) ? count<To>(name) : To{otherwise};
    }
    std::int64_t size(std::string_view name) {
        const auto value = args_.integer(name);
        return value && *value >= 0 ? *value : fail<std::int64_t>(name);
    }
    std::string words(std::string_view name) {
        const auto value = args_.text(name);
        return value ? std::string(*value) : fail<std::string>(name);
    }
    /// Hexadecimal digits, up to 16.
    std::uint64_t bits(std::string_view name) {
        const auto value = parseNumber<std::uint64_t>(words(name), 16);
        return value ? *value : fail<std::uint64_t>(name);
    }
    template <class Value>
    Value parsed(std::string_view name, std::optional<Value> (*parse)(std::string_view)) {
        const auto value = parse(words(name));
        return value ? *value : fail<Value>(name);
    }
    [[nodiscard]] bool has(std::string_view name) const { return args_.integer(name) || args_.text(name); }
    [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const { return args_.integer(name); }

    /// The first arg that was missing or not of its kind; empty if none was.
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

private:
    template <class To>
    To fail(std::string_view name) {
        if (wrong_.empty()) wrong_ = name;
        return To{};
    }

    Args args_;
    std::string wrong_;
};

[[nodiscard]] inline std::optional<OpKind> nativeKind(std::string_view text) {
    return text.size() == 1 ? opKindFromLetter(text.front()) : std::nullopt;
}

/// What a check and a digest both say.
template <class Args, class Record>
void readNativeRecord(NativeRecordReader<Args>& in, const OwnHome& place, bool of_an_op, Record& record) {
    record.step = in.count("step");
    record.rank = Rank{static_cast<std::int32_t>(place.rank)};
    record.replica = static_cast<int>(place.replica);
    record.tensor_rank = static_cast<int>(place.tensor_rank);
    record.tensor = in.words("tensor");
    if (!of_an_op && !in.has("kind")) return;
    record.op.kind = in.parsed("kind", nativeKind);
    record.op.microbatch = in.template count<Microbatch>("microbatch");
    record.op.chunk = in.template count<Chunk>("chunk");
    record.op.sequence = in.countOr("sequence", 0);
    record.layer = in.count("layer");
}

/// Of no use where the reader found something wrong.
template <class Args>
[[nodiscard]] CheckRecord nativeCheck(NativeRecordReader<Args>& in, const OwnHome& place, TimeNs start, TimeNs end) {
    CheckRecord check;
    check.kind = in.parsed("check", parseCheckKind);
    check.outcome = in.parsed("outcome", parseCheckOutcome);
    check.verdict = in.has("verdict") ? in.parsed("verdict", parseVerdict) : Verdict::Open;
    readNativeRecord(in, place, check.kind != CheckKind::KnownAnswer, check);
    const bool ended = check.outcome == CheckOutcome::Equal || check.outcome == CheckOutcome::Mismatch;
    if (ended || in.has("first")) check.first = in.bits("first");
    if (ended || in.has("second")) check.second = in.bits("second");
    check.start = start;
    check.end = end;
    if (check.outcome == CheckOutcome::Mismatch && in.has("elements")) {
        check.difference = TensorDifference{in.size("elements"),   in.size("differing"),   in.size("first_index"),
                                            in.bits("first_bits"), in.bits("second_bits"), in.number("ulp")};
    }
    return check;
}

template <class Args>
[[nodiscard]] DigestRecord nativeDigest(NativeRecordReader<Args>& in, const OwnHome& place, TimeNs time) {
    DigestRecord digest;
    readNativeRecord(in, place, true, digest);
    digest.digest = in.bits("digest");
    digest.time = time;
    return digest;
}

/// Whether a check claims to be equal and has two digests.
[[nodiscard]] inline bool contradictsItself(const CheckRecord& check) {
    return check.outcome == CheckOutcome::Equal && check.first != check.second;
}

} // namespace bubblescope
