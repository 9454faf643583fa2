// Data that is read while it is still being written: trace files that grow, and messages of the network.

#include "core/live/live_analyzer.h"
#include "core/net/link.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/targets.h"

#include <algorithm>

namespace bubblescope::fuzz {
namespace {

using live::LiveAnalyzer;
using live::LiveCounts;

/// Two streams; the second is replaced by the first one's bytes.
LiveCounts watch(std::string_view bytes, std::size_t piece) {
    live::LiveOptions options;
    options.assembly.open_steps = 4;
    options.window = {2, 3};
    options.history = 5;
    LiveAnalyzer analyzer(options);
    const auto first = analyzer.open();
    const auto second = analyzer.open();
    TimeNs now{0};
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
        analyzer.feed(first, bytes.substr(at, piece), now);
        require(analyzer.pending(first) <= bytes.size(), "no more waits than came");
    }
    analyzer.feed(second, bytes.substr(0, bytes.size() / 2), now);
    analyzer.restart(second);
    analyzer.feed(second, bytes, now);
    analyzer.gone(second, "it was told so");
    constexpr TimeNs kLong{std::chrono::minutes(1)};
    for (int turn = 0; turn < 4; ++turn)
        (void)analyzer.advance(now += kLong);
    require(analyzer.steps().size() <= options.history, "old steps go");
    for (const live::LiveStep& step : analyzer.steps()) {
        require(step.complete || step.wall == TimeNs{0} || !step.fault.empty(), "what is incomplete says why");
        require(step.bubble >= TimeNs{0} && step.busy >= TimeNs{0}, "times are not negative");
    }
    require(analyzer.counts().undelivered >= 0 && analyzer.counts().dropped >= 0, "counts are not negative");
    return analyzer.counts();
}

} // namespace

void liveStream(std::string_view bytes) {
    const LiveCounts whole = watch(bytes, std::max<std::size_t>(1, bytes.size()));
    const LiveCounts parts = watch(bytes, 61);
    require(whole.slices == parts.slices && whole.packets == parts.packets && whole.torn == parts.torn &&
                whole.damaged == parts.damaged,
            "how the bytes are cut makes no difference");
}

namespace {

/// The bytes with correct checksums, which mutations do not find by chance.
std::string withSums(std::string_view bytes) {
    constexpr std::size_t kHead = 49;
    const auto number = [&](std::size_t at, std::size_t size) {
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < size; ++i)
            value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
        return value;
    };
    std::string sealed;
    while (bytes.size() >= kHead) {
        const std::uint64_t length = number(0, 4) + 4;
        if (length < kHead || length > bytes.size()) break;
        net::Frame frame;
        frame.kind = static_cast<net::Frame::Kind>(number(12, 1));
        frame.stream = static_cast<std::uint32_t>(number(13, 4));
        frame.offset = number(17, 8);
        for (std::size_t i = 0; i < frame.times.size(); ++i)
            frame.times[i] = TimeNs{static_cast<std::int64_t>(number(25 + 8 * i, 8))};
        frame.text = bytes.substr(kHead, static_cast<std::size_t>(length) - kHead);
        sealed += encode(frame);
        bytes.remove_prefix(static_cast<std::size_t>(length));
    }
    return sealed.append(bytes);
}

} // namespace

void networkFrames(std::string_view given) {
    const std::string sealed = withSums(given);
    const std::string_view bytes = sealed;
    const auto read = [&](std::size_t piece) {
        net::FrameReader reader;
        std::string again;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            reader.feed(bytes.substr(at, piece));
            while (true) {
                const auto frame = reader.next();
                if (!frame.ok()) {
                    require(!frame.error().message.empty(), "an error says what is wrong");
                    return again;
                }
                if (!frame.value()) break;
                again += encode(*frame.value());
            }
        }
        return again;
    };
    const std::string whole = read(std::max<std::size_t>(1, bytes.size()));
    require(bytes.starts_with(whole), "a message is written as it was read");
    require(read(7) == whole, "how the bytes are cut makes no difference");
}

} // namespace bubblescope::fuzz
