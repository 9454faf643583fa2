#include "runtime/model/text_data.h"

#include "core/base/open_input.h"
#include "runtime/accelerator/kernels/number_hash.h"
#include "runtime/model/synthetic.h"

#include <utility>

namespace bubblescope::runtime {

namespace {

/// Written for this program, with short words and many repetitions, so that even a tiny model learns something in
/// seconds.
constexpr std::string_view kDemoText =
    R"(A model is cut into stages, and each stage lives on a rank. The first rank has the words, the last rank has
the loss, and the ranks between have only what their neighbours send. A batch is cut into small batches, and each of
them goes down the line and comes back again: forward from the first rank to the last, backward from the last rank to
the first.

When the first small batch goes down the line, the last rank waits. When the last small batch comes back, the last
rank waits again. Where a rank waits there is a bubble. The bubble is the time that nobody uses and everybody pays
for.

With one small batch, all ranks but one wait all the time. With many small batches, each rank has work while the
others work, and the bubble is a small part of the step. More small batches make the bubble smaller, but each of them
leaves something on each rank that must be kept until it comes back, and what is kept takes memory.

So there are schedules. One runs all forwards first and all backwards then. One runs a forward, then a backward, then a
forward, then a backward, so that little is kept. One cuts the model into more stages than there are ranks, so that
the line is longer and each part of it shorter, and the wait at the start and at the end is shorter too. One cuts the
backward in two: what the rank before waits for comes first, and what nobody waits for comes later, where the rank
would have waited anyway. Then there is hardly a bubble left.

A rank that is slow makes the others wait. A link that is slow makes the others wait. If the last rank has more work
than the others, the others wait for the last rank in every step. Who looks at one rank sees only that it waits. Who
looks at all ranks sees for whom.

And what does a rank do while it waits? It can do its work once more and look whether the result is the same. If the
result is the same, all is well. If it is not the same, something is wrong with the rank, and it is good to know it
before the model has learned it.
)";

} // namespace

std::shared_ptr<const TextData> TextData::demo() {
    static const auto text = std::make_shared<const TextData>(std::string(kDemoText));
    return text;
}

Result<std::shared_ptr<const TextData>> TextData::read(const std::filesystem::path& file) {
    constexpr std::size_t kLongest = std::size_t{4} << 30;
    BUBBLESCOPE_ASSIGN(std::string text, readInputText(file.string(), "a text to train on", kLongest));
    return std::make_shared<const TextData>(std::move(text));
}

std::int64_t TextData::places(int length) const {
    const auto size = static_cast<std::int64_t>(text_.size());
    const std::int64_t needed = std::int64_t{length} + 1;
    return size > needed ? size - needed + 1 : size;
}

TextData::Sequences TextData::sequences(std::uint64_t seed, std::int64_t step, int microbatch, int count,
                                        int length) const {
    Sequences result;
    const auto size = text_.size();
    const auto needed = static_cast<std::size_t>(length) + 1;
    const auto begins = static_cast<std::size_t>(places(length));
    for (int i = 0; i < count; ++i) {
        const std::uint64_t name = sequenceName(step, microbatch, i);
        const std::size_t begin = Synthetic(seed).number(Synthetic::Stream::Data, name) % begins;
        const auto token = [&](std::size_t at) {
            return static_cast<int>(static_cast<unsigned char>(text_[(begin + at) % size]));
        };
        for (std::size_t at = 0; at + 1 < needed; ++at) {
            result.tokens.push_back(token(at));
            result.targets.push_back(token(at + 1));
        }
    }
    return result;
}

} // namespace bubblescope::runtime
