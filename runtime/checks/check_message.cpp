#include "runtime/checks/check_message.h"

#include "core/aadiff/digest.h"
#include "core/base/wire.h"
#include "core/schedule/op.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/comm/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace bubblescope::runtime {

template <class Wire>
void fields(Wire& wire, LayerRun& value) {
    auto& [op, step, layer, again, number] = value;
    wire(op, step, layer, again, number);
}

namespace {

const std::string kWhere = "a check from another process";

void packResult(WireWriter& wire, const LayerResult& result, bool with_values) {
    wire(std::uint64_t{result.size()});
    for (const ShownTensor& one : result) {
        const std::vector<float> values = with_values ? one.valuesNow() : std::vector<float>();
        wire(one.tensor, one.digestNow(), one.type, one.count, std::uint64_t{values.size()});
        wire.block(values.data(), values.size() * sizeof(float));
    }
}

bool isKnown(const ShownTensor& shown) {
    // Other number types are never computed.
    const bool type = shown.type == ElementType::Float32 || shown.type == ElementType::BFloat16;
    return type && shown.tensor <= CheckedTensor::Copy && shown.count >= 0;
}

LayerResult unpackResult(WireReader& wire) {
    std::uint64_t tensors = 0;
    wire(tensors);
    LayerResult result;
    for (std::uint64_t i = 0; i < tensors && !wire.failed(); ++i) {
        ShownTensor& one = result.emplace_back();
        std::uint64_t values = 0;
        wire(one.tensor, one.digest, one.type, one.count, values);
        const bool whole = values == 0 || values == static_cast<std::uint64_t>(one.count);
        if (!isKnown(one) || !whole || values > wire.left() / sizeof(float)) {
            wire.reject();
            break;
        }
        one.values.resize(values);
        wire.block(one.values.data(), values * sizeof(float));
    }
    return result;
}

bool isSane(const CheckRecord& record) {
    return record.kind <= CheckKind::Elsewhere && record.outcome <= CheckOutcome::Skipped &&
           record.verdict <= Verdict::Everywhere && record.step >= 0 && record.rank.value >= 0 && isSane(record.op) &&
           parseTensor(record.tensor).has_value();
}

Result<CheckMessage> unpackLayer(WireReader& wire, CheckMessage mail) {
    wire(mail.layer.run, mail.layer.stage, mail.layer.cost);
    mail.layer.first = unpackResult(wire);
    const LayerRun& run = mail.layer.run;
    if (wire.failed() || !isSane(run.op) || run.step < 0 || run.layer < 0 || mail.layer.stage.value < 0)
        return inputError(kWhere, "it does not name an op of a layer");
    BUBBLESCOPE_ASSIGN(mail.layer.computation, runtime::unpackLayer(wire));
    if (!wire.done()) return inputError(kWhere, "unexpected data after its layer");
    return mail;
}

bool carriesLayer(CheckMessage::Kind kind) {
    return kind == CheckMessage::Kind::Question || kind == CheckMessage::Kind::Offer;
}

} // namespace

Result<std::string> packMessage(const CheckMessage& mail) {
    WireWriter wire;
    wire(std::uint64_t{0}, mail.kind, mail.ticket); // placeholder for the checksum
    switch (mail.kind) {
    case CheckMessage::Kind::Question:
    case CheckMessage::Kind::Offer:
        wire(mail.layer.run, mail.layer.stage, mail.layer.cost);
        packResult(wire, mail.layer.first, false);
        if (!mail.layer.computation->pack(wire)) return runError("results on a device cannot be sent to other ranks");
        break;
    case CheckMessage::Kind::Answer:
        packResult(wire, mail.once, false);
        packResult(wire, mail.twice, false);
        break;
    case CheckMessage::Kind::Result: packResult(wire, mail.once, true); break;
    case CheckMessage::Kind::Verdict: wire(mail.record); break;
    case CheckMessage::Kind::Done:
    case CheckMessage::Kind::Unreadable:
    case CheckMessage::Kind::Idle:
    case CheckMessage::Kind::AllIdle: break;
    }
    std::string bytes = wire.take();
    if (bytes.size() > kLargestMail)
        return runError(fmt::format("a layer of {} bytes is too large to send to another rank", bytes.size()));
    constexpr std::size_t kDigest = sizeof(std::uint64_t);
    const std::uint64_t seal = digest::of(bytes.data() + kDigest, bytes.size() - kDigest);
    std::memcpy(bytes.data(), &seal, kDigest);
    return bytes;
}

Result<CheckMessage> unpackMessage(std::string_view bytes) {
    WireReader wire(bytes);
    CheckMessage mail;
    std::uint64_t seal = 0;
    wire(seal);
    if (wire.failed() || seal != digest::of(bytes.data() + sizeof seal, bytes.size() - sizeof seal))
        return inputError(kWhere, "its bytes differ from the sent ones");
    wire(mail.kind, mail.ticket);
    if (wire.failed() || mail.kind > CheckMessage::Kind::AllIdle) return inputError(kWhere, "its kind is unknown");
    if (carriesLayer(mail.kind)) return unpackLayer(wire, std::move(mail));
    if (mail.kind == CheckMessage::Kind::Answer || mail.kind == CheckMessage::Kind::Result)
        mail.once = unpackResult(wire);
    if (mail.kind == CheckMessage::Kind::Answer) mail.twice = unpackResult(wire);
    if (mail.kind == CheckMessage::Kind::Verdict) {
        wire(mail.record);
        if (!isSane(mail.record)) return inputError(kWhere, "it does not name a check");
    }
    if (!wire.done()) return inputError(kWhere, "it has the wrong length");
    return mail;
}

std::optional<std::uint64_t> offeredTicket(std::string_view bytes) {
    WireReader wire(bytes);
    std::uint64_t seal = 0;
    auto kind = CheckMessage::Kind::Done;
    std::uint64_t ticket = 0;
    wire(seal, kind, ticket);
    return !wire.failed() && kind == CheckMessage::Kind::Offer ? std::optional(ticket) : std::nullopt;
}

} // namespace bubblescope::runtime
