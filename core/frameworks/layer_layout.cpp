#include "core/frameworks/layer_layout.h"

#include "core/base/field.h"
#include "core/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace bubblescope {
namespace {

/// Larger layouts are due to a mistyped factor and would exhaust the memory.
constexpr std::size_t kMostUnits = 1'000'000;
constexpr std::string_view kLayoutHint = "write a layout such as Ettt|(tt|)*29,m|L";

std::optional<LayerKind> kindFromLetter(char letter) {
    switch (letter) {
    case 'E': return LayerKind::Embedding;
    case 't': return LayerKind::Transformer;
    case 'm': return LayerKind::MultiToken;
    case 'L': return LayerKind::Loss;
    default: return std::nullopt;
    }
}

char letterOf(LayerKind kind) {
    switch (kind) {
    case LayerKind::Embedding: return 'E';
    case LayerKind::Transformer: return 't';
    case LayerKind::MultiToken: return 'm';
    case LayerKind::Loss: return 'L';
    }
    return '?';
}

Error layoutError(std::size_t at, const std::string& what) {
    return usageError(fmt::format("layout, character {}: {}", at + 1, what), std::string(kLayoutHint));
}

/// Expands repetitions into letters and bars.
class LayoutText {
public:
    explicit LayoutText(std::string_view text) : text_(text) {}

    Result<std::string> expanded() {
        std::string out;
        while (at_ < text_.size()) {
            if (text_[at_] == ',') {
                ++at_;
                continue;
            }
            BUBBLESCOPE_ASSIGN(const std::string part, takePart());
            BUBBLESCOPE_ASSIGN(const std::size_t factor, takeFactor());
            if (out.size() + part.size() * factor > kMostUnits)
                return layoutError(at_ - 1, fmt::format("more than {} units", kMostUnits));
            for (std::size_t i = 0; i < factor; ++i)
                out += part;
        }
        return out;
    }

private:
    /// A letter, a bar, or the contents of brackets. Brackets do not nest.
    Result<std::string> takePart() {
        const char first = text_[at_];
        if (first != '(') {
            if (first != '|' && !kindFromLetter(first))
                return layoutError(at_, fmt::format("'{}' is not a unit (E, t, m or L)", first));
            ++at_;
            return std::string(1, first);
        }
        const std::size_t close = text_.find(')', at_);
        if (close == std::string_view::npos) return layoutError(at_, "the bracket is not closed");
        const std::string_view inner = text_.substr(at_ + 1, close - at_ - 1);
        if (const auto nested = inner.find('('); nested != std::string_view::npos)
            return layoutError(at_ + 1 + nested, "brackets do not nest");
        if (text_.substr(close + 1, 1) != "*") return layoutError(close, "a bracket needs a factor, such as (tt|)*3");
        auto out = LayoutText(inner).expanded();
        if (!out.ok()) return out;
        at_ = close + 1;
        return out;
    }

    Result<std::size_t> takeFactor() {
        if (at_ >= text_.size() || text_[at_] != '*') return std::size_t{1};
        std::string_view rest = text_.substr(at_ + 1);
        const auto factor = takeNumber<std::uint32_t>(rest);
        if (!factor || *factor > kMostUnits)
            return layoutError(at_, fmt::format("'*' needs a number up to {}", kMostUnits));
        at_ = text_.size() - rest.size();
        return std::size_t{*factor};
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

std::ptrdiff_t countOf(const std::vector<LayerKind>& units, LayerKind kind) {
    return std::ranges::count(units, kind);
}

/// Selects the layouts to accept.
enum class Accepted : std::uint8_t {
    Released, ///< layouts that released versions of Megatron-core accept
    /// Also layouts that its pull requests 5318 and 5329 add: m units in several stages, and losses in several stages,
    /// one for the main model and one for each m unit.
    Proposed,
};

Status checkChunk(std::size_t holder, const LayerLayout& layout, int pp) {
    const std::size_t ranks = static_cast<std::size_t>(pp);
    if (holder / ranks + 1 >= layout.stages.size() / ranks) return {};
    return usageError(fmt::format("layout: the m units are in chunk {} of rank {}, which is not the rank's last chunk",
                                  holder / ranks, holder % ranks),
                      "Megatron-core requires them in the last chunk of their rank");
}

/// The assertions about multi-token prediction in Megatron-core.
Status checkMultiToken(const LayerLayout& layout, int pp, Accepted accepted) {
    std::optional<std::size_t> holder;
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const auto& units = layout.stages[s];
        const auto first = std::ranges::find(units, LayerKind::MultiToken);
        if (holder && countOf(units, LayerKind::Transformer) > 0)
            return usageError(fmt::format("layout: stage {} has a t after an m", s), "m units come last");
        if (first == units.end()) continue;
        if (holder && accepted == Accepted::Released)
            return usageError(fmt::format("layout: stages {} and {} both have m units", *holder, s),
                              "Megatron-core keeps them in one stage");
        if (std::find(first, units.end(), LayerKind::Transformer) != units.end())
            return usageError(fmt::format("layout: stage {} has a t after an m", s), "m units come last");
        holder = s;
        BUBBLESCOPE_TRY(checkChunk(s, layout, pp));
    }
    return {};
}

/// The losses come last; there is either one, or as many as the model has.
bool hasItsLosses(const std::vector<LayerKind>& all, Accepted accepted) {
    const std::ptrdiff_t losses = countOf(all, LayerKind::Loss);
    const bool split = accepted == Accepted::Proposed && losses == 1 + countOf(all, LayerKind::MultiToken);
    return (losses == 1 || split) && std::count(all.end() - losses, all.end(), LayerKind::Loss) == losses;
}

Status checkLayout(const LayerLayout& layout, int pp, Accepted accepted) {
    if (pp < 1) return usageError("no ranks given", fmt::format("specify {}", Field("pp").is("P")));
    if (layout.stages.size() % static_cast<std::size_t>(pp) != 0) {
        return usageError(
            fmt::format("layout: {} stages cannot be split evenly over {} ranks", layout.stages.size(), pp),
            "each rank must hold the same number of stages");
    }
    std::vector<LayerKind> all;
    for (const auto& units : layout.stages)
        all.insert(all.end(), units.begin(), units.end());
    if (all.empty() || all.front() != LayerKind::Embedding || countOf(all, LayerKind::Embedding) != 1)
        return usageError("layout: does not begin with exactly one E", std::string(kLayoutHint));
    if (!hasItsLosses(all, accepted))
        return usageError("layout: does not end with exactly one L", std::string(kLayoutHint));
    return checkMultiToken(layout, pp, accepted);
}

/// Units of a stage. Four or more equal ones are written as t*5, because that is shorter.
std::string stageText(const std::vector<LayerKind>& units) {
    std::string out;
    for (auto at = units.begin(); at != units.end();) {
        const auto next = std::find_if(at, units.end(), [&](LayerKind kind) { return kind != *at; });
        const auto count = static_cast<std::size_t>(next - at);
        out += count > 3 ? fmt::format("{}*{}", letterOf(*at), count) : std::string(count, letterOf(*at));
        at = next;
    }
    return out;
}

} // namespace

Partition LayerLayout::units() const {
    Partition partition;
    for (const auto& stage : stages)
        partition.layers_per_stage.push_back(static_cast<int>(stage.size()));
    return partition;
}

Partition LayerLayout::layers() const {
    Partition partition;
    for (const auto& stage : stages) {
        partition.layers_per_stage.push_back(
            static_cast<int>(countOf(stage, LayerKind::Transformer) + countOf(stage, LayerKind::MultiToken)));
    }
    return partition;
}

LayerLayout layoutOf(const Partition& partition, std::vector<LayerKind> kinds) {
    LayerLayout layout;
    std::size_t next = 0;
    for (const int count : partition.layers_per_stage) {
        auto& stage = layout.stages.emplace_back();
        for (int i = 0; i < count; ++i, ++next)
            stage.push_back(next < kinds.size() ? kinds[next] : LayerKind::Transformer);
    }
    if (layout.stages.empty()) return layout;
    if (std::ranges::find(kinds, LayerKind::Embedding) == kinds.end())
        layout.stages.front().insert(layout.stages.front().begin(), LayerKind::Embedding);
    if (std::ranges::find(kinds, LayerKind::Loss) == kinds.end()) layout.stages.back().push_back(LayerKind::Loss);
    return layout;
}

Result<LayerLayout> layoutFromMegatron(std::string_view text, int pp) {
    BUBBLESCOPE_ASSIGN(const std::string letters, LayoutText(text).expanded());
    LayerLayout layout;
    layout.stages.emplace_back();
    for (const char letter : letters) {
        if (letter == '|')
            layout.stages.emplace_back();
        else
            layout.stages.back().push_back(*kindFromLetter(letter));
    }
    BUBBLESCOPE_TRY(checkLayout(layout, pp, Accepted::Proposed));
    return layout;
}

Result<std::string> layoutToMegatron(const LayerLayout& layout, int pp) {
    BUBBLESCOPE_TRY(checkLayout(layout, pp, Accepted::Released));
    std::string out;
    const std::size_t last = layout.stages.size() - 1; // the last stage is not followed by a bar
    for (std::size_t s = 0; s < last;) {
        std::size_t next = s + 1;
        while (next < last && layout.stages[next] == layout.stages[s])
            ++next;
        const std::string stage = stageText(layout.stages[s]) + "|";
        out += next - s > 2 ? fmt::format("({})*{}", stage, next - s) : stage;
        s += next - s > 2 ? next - s : 1;
    }
    return out + stageText(layout.stages[last]);
}

std::string partitionToDeepSpeed(const Partition& partition) {
    std::vector<int> bounds{0};
    for (const int count : partition.layers_per_stage)
        bounds.push_back(bounds.back() + count);
    return fmt::format("[{}]", fmt::join(bounds, ", "));
}

Result<Partition> partitionFromDeepSpeed(std::string_view text) {
    constexpr std::string_view kShape =
        "write a DeepSpeed list such as [0, 5, 9, 13]: the first layer of each stage, and the end";
    std::string_view rest = text;
    const auto skip = [&rest](std::string_view characters) {
        rest.remove_prefix(std::min(rest.find_first_not_of(characters), rest.size()));
    };
    skip(" [");
    Partition partition;
    std::optional<int> before;
    while (!rest.empty() && rest.front() != ']') {
        const auto bound = takeNumber<int>(rest);
        if (!bound)
            return usageError(fmt::format("parts: '{}' is not a number", rest.substr(0, 20)), std::string(kShape));
        if (before ? *bound < *before : *bound != 0) {
            return usageError(before ? fmt::format("parts: {} follows {}", *bound, *before)
                                     : fmt::format("parts: the first stage begins at {}, not at 0", *bound),
                              std::string(kShape));
        }
        if (before) partition.layers_per_stage.push_back(*bound - *before);
        before = bound;
        skip(" ,");
    }
    skip("] ");
    if (!rest.empty() || partition.layers_per_stage.empty())
        return usageError(fmt::format("parts: '{}' is not a list of layer numbers", text), std::string(kShape));
    return partition;
}

Result<std::string> modulesPerStage(const LayerLayout& layout, bool hugging_face) {
    std::string out = "[";
    int layer = 0;
    for (const auto& stage : layout.stages) {
        std::vector<std::string> names;
        if (hugging_face) names.emplace_back("\"model.rotary_emb\"");
        for (const LayerKind kind : stage) {
            switch (kind) {
            case LayerKind::Embedding:
                names.emplace_back(hugging_face ? "\"model.embed_tokens\"" : "\"tok_embeddings\"");
                break;
            case LayerKind::Transformer:
                names.push_back(fmt::format("\"{}layers.{}\"", hugging_face ? "model." : "", layer++));
                break;
            case LayerKind::Loss:
                names.emplace_back(hugging_face ? "\"model.norm\", \"lm_head\"" : "\"norm\", \"lm_head\"");
                break;
            case LayerKind::MultiToken:
                return usageError("multi-token prediction layers do not share a module name",
                                  "add their modules to the list by hand");
            }
        }
        out += fmt::format("{}[{}]", out.size() > 1 ? ", " : "", fmt::join(names, ", "));
    }
    return out + "]";
}

} // namespace bubblescope
