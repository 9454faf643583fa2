#include "app/cli/command.h"
#include "app/cli/output.h"
#include "app/cli/table.h"
#include "core/partition/partition.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>

namespace bubblescope::cli {
namespace {

struct Options {
    std::optional<int> layers;
    int pp = 0;
    int vpp = 1;
    std::vector<int> per_rank;
    int first_less = 0;
    int last_less = 0;
    std::string placement = "loop";
    bool json = false;
};

Result<Partition> partition(const Options& options, Placement placement) {
    if (options.per_rank.empty()) {
        if (!options.layers) return usageError("no layers given", "use --layers N, or --layers-per-rank a,b,…");
        if (options.pp < 1) return usageError("no ranks given", "use --pp P");
        return partitionEvenly(*options.layers, options.pp * options.vpp, options.first_less, options.last_less);
    }
    const std::int64_t sum = std::accumulate(options.per_rank.begin(), options.per_rank.end(), std::int64_t{0});
    if (options.layers && *options.layers != sum) {
        return usageError(
            fmt::format("--layers-per-rank adds up to {}, not to the {} of --layers", sum, *options.layers),
            "leave --layers out or correct one of them");
    }
    if (options.pp != 0 && options.per_rank.size() != static_cast<std::size_t>(options.pp)) {
        return usageError(fmt::format("--layers-per-rank names {} ranks, --pp {}", options.per_rank.size(), options.pp),
                          "leave --pp out or correct one of them");
    }
    return partitionByRank(options.per_rank, options.vpp, placement);
}

std::string toText(const Partition& partition, int pp, Placement placement) {
    Table table({{"stage"}, {"rank"}, {"chunk"}, {"layers"}, {"which", Table::Align::Left}});
    int first = 0;
    for (std::size_t s = 0; s < partition.layers_per_stage.size(); ++s) {
        const Location at = locate(placement, pp, Stage{s});
        const int count = partition.layers_per_stage[s];
        table.row({fmt::format("{}", s), fmt::format("{}", at.rank.value), fmt::format("{}", at.chunk.value),
                   fmt::format("{}", count),
                   count == 1 ? fmt::format("{}", first) : fmt::format("{} to {}", first, first + count - 1)});
        first += count;
    }
    return table.text(0);
}

CommandResult print(const Options& options) {
    const auto placement = placementFromName(options.placement);
    if (!placement || routes(*placement) != 1) {
        return usageError(fmt::format("unknown placement '{}'", options.placement), "use loop or v");
    }
    BUBBLESCOPE_ASSIGN(const Partition result, partition(options, *placement));
    if (options.json) {
        printJson({{"layers_per_chunk", result.layers_per_stage}, {"layers", result.layers()}});
    } else {
        const int pp = options.per_rank.empty() ? options.pp : static_cast<int>(options.per_rank.size());
        printText(toText(result, pp, *placement));
    }
    return 0;
}

} // namespace

void addPartitionCommand(CLI::App& app, Action& action) {
    auto* const command = app.add_subcommand("partition", "Cut a model's layers into stages");
    const auto options = std::make_shared<Options>();
    command->add_option("--layers", options->layers, "Layers of the model")->type_name("N");
    command->add_option("--pp", options->pp, "Pipeline ranks, p")->type_name("P")->check(CLI::Range(1, 1'000'000));
    command->add_option("--vpp", options->vpp, "Chunks a rank, v (1)")->type_name("V")->check(CLI::Range(1, 1000));
    auto* const per_rank = command->add_option("--layers-per-rank", options->per_rank, "Layers on each rank, a,b,…")
                               ->type_name("LIST")
                               ->delimiter(',');
    command->add_option("--first-less", options->first_less, "Layers fewer on the first stage, for the embedding")
        ->type_name("N")
        ->excludes(per_rank);
    command->add_option("--last-less", options->last_less, "Layers fewer on the last stage, for the output head")
        ->type_name("N")
        ->excludes(per_rank);
    command->add_option("--placement", options->placement, "loop or v (loop)")->type_name("NAME");
    command->add_flag("--json", options->json, "As a JSON document");
    command->callback([&action, options] { action = [options] { return print(*options); }; });
}

} // namespace bubblescope::cli
