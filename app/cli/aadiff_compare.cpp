#include "app/cli/aadiff_compare.h"

#include "app/cli/load_watch.h"
#include "app/cli/output.h"
#include "app/cli/paragraph.h"
#include "app/cli/table.h"
#include "core/aadiff/compare.h"
#include "core/base/text.h"
#include "core/recognise/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace bubblescope::cli {
namespace {

struct AadiffCompareArguments {
    std::string a;
    std::string b;
    std::vector<std::string> fail_on;
    bool json = false;
};

struct ComparedDigests {
    RecordedChecks a;
    RecordedChecks b;
    DigestComparison result;
};

bool failsOn(const DigestComparison& result, const std::string& what) {
    if (what == "unexpected") return result.unexpected();
    if (what == "uncompared") return result.only_a + result.only_b + result.contradictory > 0;
    return result.differing > 0;
}

std::string sideText(char name, const RecordedChecks& run) {
    std::string out = fmt::format("{}: {}\n   ", name, filesText(run.files));
    if (run.info) {
        out += fmt::format("{}, {}", orderName(run.info->schedule, run.info->flavor),
                           sizesText(run.info->pp, run.info->microbatches, run.info->vpp));
        if (run.info->dp > 1) out += fmt::format(", {} replicas", run.info->dp);
        if (run.info->tp > 1) out += fmt::format(", {} tensor ranks", run.info->tp);
        out += ", ";
    }
    return out + pluralize(run.log.digests.size(), "digest") + "\n";
}

/// "step 3, B2.1 of layer 5, input gradient", and who computed it in each run.
std::string digestPlace(const DigestDifference& difference) {
    const DigestRecord& a = difference.a;
    const DigestRecord& b = difference.b;
    const auto who = [](const DigestRecord& record) {
        std::string name = fmt::format("rank {}", record.rank.value);
        if (record.replica != 0) name += fmt::format(" of replica {}", record.replica);
        if (record.tensor_rank != 0) name += fmt::format(", tensor rank {}", record.tensor_rank);
        return name;
    };
    std::string out = fmt::format("step {}, {} of layer {}, {}: ", a.step, opName(a.op), a.layer, a.tensor);
    return out + fmt::format("{:016x} on {} in A, {:016x} on {} in B{}", a.digest, who(a), b.digest, who(b),
                             opName(a.op) == opName(b.op) ? "" : fmt::format(" (there {})", opName(b.op)));
}

std::string rankList(const std::vector<Rank>& ranks) {
    std::vector<std::int32_t> numbers;
    for (const Rank rank : ranks)
        numbers.push_back(rank.value);
    return fmt::format("{}", fmt::join(numbers, ", "));
}

std::string spreadText(const DigestComparison& result) {
    Table table({{"step"},
                 {"part", kLeft},
                 {"differ"},
                 {"of"},
                 {"layers"},
                 {"micro-batches"},
                 {"ranks in A", kLeft},
                 {"in B", kLeft}});
    std::size_t rows = 0;
    for (const DigestSpread& row : result.spread) {
        if (row.differing == 0 || ++rows > kMostRows) continue;
        table.row({fmt::format("{}", row.step), std::string(digestPhaseName(row.phase)),
                   fmt::format("{}", row.differing), fmt::format("{}", row.compared),
                   row.first_layer == row.last_layer ? fmt::format("{}", row.first_layer)
                                                     : fmt::format("{}–{}", row.first_layer, row.last_layer),
                   fmt::format("{}", row.microbatches), rankList(row.ranks_a), rankList(row.ranks_b)});
    }
    std::string out = "\nWhere it spread\n" + table.text();
    if (rows > kMostRows) out += fmt::format("  … and {} more (--json has all)\n", rows - kMostRows);
    return out;
}

std::string toText(const ComparedDigests& compared) {
    const DigestComparison& result = compared.result;
    std::string out = sideText('A', compared.a) + sideText('B', compared.b);
    out +=
        fmt::format("\n{} compared in {}: {}\n", pluralize(static_cast<std::size_t>(result.compared), "digest"),
                    pluralize(static_cast<std::size_t>(result.steps), "step"),
                    result.differing == 0 ? std::string("all are equal") : fmt::format("{} differ", result.differing));
    if (result.differing > 0) {
        out += paragraph("First difference: ", digestPlace(result.roots.front()));
        const std::int64_t explained = result.differing - result.root_count;
        out += result.root_count == 1
                   ? fmt::format("  {}\n", explained == 0 ? std::string("It is the only one.")
                                                          : fmt::format("The other {} all follow from it.", explained))
                   : fmt::format("  {} differences follow from no other, {} follow from those.\n", result.root_count,
                                 explained);
        for (std::size_t i = 1; i < std::min(kMostRows, result.roots.size()); ++i)
            out += paragraph("  also: ", digestPlace(result.roots[i]));
        out += spreadText(result);
    }
    if (!result.caveats.empty()) {
        out += result.equal_before_optimizer ? "\nEqual bits are to be expected up to the first optimizer step alone\n"
                                             : "\nEqual bits are not to be expected\n";
        for (const std::string& caveat : result.caveats)
            out += paragraph("  ", caveat + ".");
        if (result.unexpected()) out += "  The first difference lies before that.\n";
    }
    if (result.only_a + result.only_b > 0) {
        out += fmt::format("\nNot compared: {} that only A has, {} that only B has.\n", result.only_a, result.only_b);
    }
    if (result.contradictory > 0) {
        out +=
            fmt::format("\nNot compared: {} of which one run itself holds different digests.\n", result.contradictory);
    }
    return out;
}

Json recordJson(const DigestRecord& record) {
    return {{"rank", record.rank.value},
            {"replica", record.replica},
            {"tensor_rank", record.tensor_rank},
            {"op", opName(record.op)},
            {"digest", fmt::format("{:016x}", record.digest)},
            {"time_ns", record.time.count()}};
}

Json sideJson(const RecordedChecks& run) {
    Json files = Json::array();
    for (const auto& file : run.files)
        files.push_back(file.string());
    Json json = {{"files", files}, {"digests", run.log.digests.size()}, {"problems", problemsJson(run.problems)}};
    if (!run.info) return json;
    json["schedule"] = run.info->schedule;
    json["flavor"] = run.info->flavor;
    json["pp"] = run.info->pp;
    json["microbatches"] = run.info->microbatches;
    json["vpp"] = run.info->vpp;
    json["dp"] = run.info->dp;
    json["tp"] = run.info->tp;
    return json;
}

Json rankJson(const std::vector<Rank>& ranks) {
    Json list = Json::array();
    for (const Rank rank : ranks)
        list.push_back(rank.value);
    return list;
}

Json toJson(const ComparedDigests& compared) {
    const DigestComparison& result = compared.result;
    Json roots = Json::array();
    for (const DigestDifference& root : result.roots) {
        roots.push_back({{"step", root.a.step},
                         {"layer", root.a.layer},
                         {"tensor", root.a.tensor},
                         {"a", recordJson(root.a)},
                         {"b", recordJson(root.b)}});
    }
    Json spread = Json::array();
    for (const DigestSpread& row : result.spread) {
        spread.push_back({{"step", row.step},
                          {"part", digestPhaseName(row.phase)},
                          {"compared", row.compared},
                          {"differing", row.differing}});
        if (row.differing == 0) continue;
        spread.back()["layers"] = {row.first_layer, row.last_layer};
        spread.back()["microbatches"] = row.microbatches;
        spread.back()["ranks_a"] = rankJson(row.ranks_a);
        spread.back()["ranks_b"] = rankJson(row.ranks_b);
    }
    return {{"a", sideJson(compared.a)},
            {"b", sideJson(compared.b)},
            {"equal", result.differing == 0},
            {"compared", result.compared},
            {"steps", result.steps},
            {"differing", result.differing},
            {"only_a", result.only_a},
            {"only_b", result.only_b},
            {"contradictory", result.contradictory},
            {"first", roots.empty() ? Json() : roots.front()},
            {"independent", result.root_count},
            {"roots", roots},
            {"explained", result.differing - result.root_count},
            {"spread", spread},
            {"expected_equal", result.caveats.empty()          ? "everywhere"
                               : result.equal_before_optimizer ? "before the first optimizer step"
                                                               : "nowhere"},
            {"caveats", result.caveats},
            {"unexpected", result.unexpected()}};
}

CommandResult compare(const AadiffCompareArguments& options) {
    JobControl control;
    ComparedDigests compared;
    BUBBLESCOPE_ASSIGN(compared.a, watchLoad(control, [&] { return loadChecks({options.a}, control); }));
    BUBBLESCOPE_ASSIGN(compared.b, watchLoad(control, [&] { return loadChecks({options.b}, control); }));
    printProblems(compared.a.problems);
    printProblems(compared.b.problems);
    compared.result =
        compareDigests({compared.a.log.digests, compared.a.info}, {compared.b.log.digests, compared.b.info});
    if (compared.result.compared == 0) {
        return inputError(options.b,
                          fmt::format("it has no digest in common with {} ({} there, {} here)", options.a,
                                      compared.a.log.digests.size(), compared.b.log.digests.size()),
                          "compare runs of one model that recorded the same steps");
    }
    if (options.json)
        printJson(toJson(compared));
    else
        printText(toText(compared));
    return std::ranges::any_of(options.fail_on, [&](const auto& what) { return failsOn(compared.result, what); }) ? 1
                                                                                                                  : 0;
}

} // namespace

void addAadiffCompareCommand(Command aadiff, Action& action) {
    const Command command = aadiff.addCommand(
        "compare", "Two recorded runs: the first number in which they differ, and what follows from it");
    const auto options = std::make_shared<AadiffCompareArguments>();
    command.addOption("RUN_A", options->a, "A trace file or a directory").required();
    command.addOption("RUN_B", options->b, "The other run").required();
    command
        .addOption("--fail-on", options->fail_on,
                   "Exit with 1 on any difference, on one where equal bits are to be expected, or when something could "
                   "not be compared")
        .typeName("difference|unexpected|uncompared")
        .delimiter(',')
        .oneOf({"difference", "unexpected", "uncompared"});
    command.addFlag("--json", options->json, "As a JSON document");
    command.onParsed([&action, options] { action = [options] { return compare(*options); }; });
}

} // namespace bubblescope::cli
