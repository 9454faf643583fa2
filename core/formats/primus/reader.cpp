#include "core/formats/primus/reader.h"

#include "core/base/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>

namespace bubblescope::primus {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kFirstKey = "fwd_start";

std::optional<TimeNs> fromMilliseconds(const Json& value) {
    if (!value.is_number()) return std::nullopt;
    const double ns = value.get<double>() * 1e6;
    if (!std::isfinite(ns) || std::abs(ns) > static_cast<double>(kFarthestTime.count())) return std::nullopt;
    return TimeNs{std::llround(ns)};
}

/// A small JSON file next to a record; discarded if missing or damaged.
Json readBeside(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return Json::parse(stream, nullptr, false);
}

/// The iterations of a record by number, without other entries.
std::map<int, const Json*> iterationsOf(const Json& record) {
    std::map<int, const Json*> iterations;
    if (!record.is_object()) return iterations;
    for (const auto& [key, value] : record.items()) {
        const auto number = wholeNumber(key);
        if (number && value.is_object() && value.contains(kFirstKey)) iterations.emplace(*number, &value);
    }
    return iterations;
}

/// The start of each iteration: earlier iterations last as long as on the rank that ends last.
std::map<int, TimeNs> beginsOf(const std::map<int, const Json*>& iterations, const Json& first_rank) {
    std::map<int, const Json*> lengths = iterationsOf(first_rank);
    std::map<int, TimeNs> begins;
    TimeNs begin{0};
    for (const auto& [number, own] : iterations) {
        begins[number] = begin;
        const auto known = lengths.find(number);
        const Json& from = known != lengths.end() ? *known->second : *own;
        const auto total = from.contains("total") ? fromMilliseconds(from["total"]) : std::nullopt;
        begin += std::max(total.value_or(TimeNs{0}), TimeNs{0});
    }
    return begins;
}

/// Number of ranks, chunks and micro-batches of a run, from its config.json.
struct Sizes {
    int pp = 1;
    int vpp = 1;
    int microbatches = 0;

    explicit Sizes(const Json& config) {
        constexpr int kMost = 1 << 12; // products of two fit into an int
        const auto read = [&](const char* key, int& size) {
            const auto found = config.is_object() ? config.find(key) : config.end();
            if (found != config.end() && found->is_number_integer()) size = std::clamp(found->get<int>(), 1, kMost);
        };
        read("pp_size", pp);
        read("vp_size", vpp);
        read("num_mbs", microbatches);
    }
};

/// Micro-batch and chunk of the k-th forward in Megatron-core's interleaved schedule: groups of p micro-batches go
/// through all chunks; the last group may be smaller.
std::pair<int, int> placeOf(int k, const Sizes& sizes) {
    if (sizes.vpp == 1) return {k, 0};
    const int group = k / (sizes.pp * sizes.vpp);
    const int within = k - group * sizes.pp * sizes.vpp;
    const int rest = sizes.microbatches - group * sizes.pp;
    const int size = rest > 0 ? std::min(sizes.pp, rest) : sizes.pp;
    return {group * sizes.pp + within % size, std::min(within / size, sizes.vpp - 1)};
}

class Reader {
public:
    Reader(const std::string& where, const Sizes& sizes, TraceBuilder& builder, DiagnosticLog& log)
        : where_(where), sizes_(sizes), builder_(builder), log_(log), track_(builder.addTrack(0, 0)),
          category_(builder.intern("primus")), iteration_(builder.intern("iteration")) {
        builder_.track(track_).thread_name = builder_.intern("pipeline");
    }

    void iteration(int number, const Json& record, TimeNs begin) {
        const ArgSetId args = builder_.args().addNumber(iteration_, number, 0);
        for (const bool forward : {true, false}) {
            const std::string kind = forward ? "fwd" : "bwd";
            const Json& starts = record.value(kind + "_start", Json::array());
            const Json& ends = record.value(kind + "_end", Json::array());
            const std::size_t count = starts.is_array() && ends.is_array() ? std::min(starts.size(), ends.size()) : 0;
            if (count != std::max(starts.size(), ends.size())) lost();
            for (std::size_t k = 0; k < count; ++k)
                op(forward, static_cast<int>(k), begin, fromMilliseconds(starts[k]), fromMilliseconds(ends[k]), args);
        }
        const auto memory = record.find("memory");
        constexpr double kGibibyte = 1 << 30;
        if (memory != record.end() && memory->is_number() && std::isfinite(memory->get<double>()))
            builder_.addCounter(0, builder_.intern("peak memory"), begin, memory->get<double>() * kGibibyte);
    }

private:
    void op(bool forward, int k, TimeNs begin, std::optional<TimeNs> start, std::optional<TimeNs> end, ArgSetId args) {
        if (!start || !end || *end < *start) return lost();
        auto [microbatch, chunk] = placeOf(k, sizes_);
        if (!forward) chunk = sizes_.vpp - 1 - chunk;
        std::string name = fmt::format("{}{}", forward ? 'F' : 'B', microbatch);
        if (sizes_.vpp > 1) name += fmt::format(".{}", chunk);
        builder_.addSlice({track_, begin + *start, *end - *start, builder_.intern(name), category_, args});
    }
    void lost() { log_.add("bad-event", Sentence(where_), say("skipped entries without a usable start and end")); }

    const std::string& where_;
    Sizes sizes_;
    TraceBuilder& builder_;
    DiagnosticLog& log_;
    TrackId track_;
    StringId category_;
    StringId iteration_;
};

} // namespace

bool looksLikeRecord(std::string_view beginning) {
    constexpr std::size_t kHead = 512; // bytes in which the first iteration's other entries appear
    const std::string_view head = trimmed(beginning.substr(0, kHead));
    return head.starts_with("{\"") && head.size() > 2 && isDigit(head[2]) &&
           head.find(fmt::format("\"{}\"", kFirstKey)) != std::string_view::npos;
}

Status readRecord(std::string_view text, const std::filesystem::path& file, const std::string& where,
                  TraceBuilder& builder, DiagnosticLog& log) {
    const Json record = Json::parse(text, nullptr, false);
    const std::map<int, const Json*> iterations = iterationsOf(record);
    if (iterations.empty()) {
        return inputError(where, "is a corrupt Primus pipeline record",
                          "copy it again after the training run has ended");
    }
    const fs::path folder = file.parent_path();
    const Sizes sizes(file.empty() ? Json() : readBeside(folder / "config.json"));
    const std::map<int, TimeNs> begins =
        beginsOf(iterations, file.empty() ? Json() : readBeside(folder / "pp_rank_0.json"));
    Reader reader(where, sizes, builder, log);
    for (const auto& [number, iteration] : iterations)
        reader.iteration(number, *iteration, begins.at(number));
    builder.file(builder.currentFile()).format = "primus";
    return {};
}

} // namespace bubblescope::primus
