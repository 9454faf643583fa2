#include "core/report/results/advice.h"

#include "core/base/bytes.h"
#include "core/base/field.h"
#include "core/base/shell_word.h"
#include "core/base/text.h"
#include "core/frameworks/layer_layout.h"
#include "core/report/results/document_parts.h"
#include "core/report/results/whatif.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace bubblescope::report {
namespace {

/// The command that shows the effect of a suggestion.
std::vector<std::string> adviceCommand(const std::vector<std::string>& run_words, const Suggestion& suggestion,
                                       bool orders_written) {
    const bool unwritten = suggestion.searched && !orders_written;
    std::vector<std::string> words{unwritten ? "advise" : "whatif"};
    words.insert(words.end(), run_words.begin(), run_words.end());
    if (unwritten) {
        words.insert(words.end(), {std::string(optionOf(Field("orders"))),
                                   "orders"}); // this command writes the files, and reports their commands
        return words;
    }
    for (const std::string& text : suggestion.texts) {
        words.emplace_back(optionOf(Field("if")));
        words.push_back(text);
    }
    return words;
}

Value::Object heldMemory(const HeldMemory& memory) {
    return {{"activations", memory.activations}, {"memory_bytes", memory.bytes}, {"model_copies", memory.copies}};
}

/// A suggested split of the layers in the syntax of frameworks that can run it.
Value::Object adviceLayouts(const Suggestion& suggestion, const RunModel& model) {
    Value::Object layouts;
    const std::vector<int>& layers = suggestion.change.layers;
    const auto has = [&](std::string_view framework) {
        return suggestion.change.schedule.empty() ||
               std::ranges::find(suggestion.frameworks, framework) != suggestion.frameworks.end();
    };
    if (layers.empty()) return layouts;
    const Partition partition{layers};
    if (suggestion.searched) { // only frameworks that read orders from files can run it
        const auto modules = modulesPerStage(layoutOf(partition), false);
        if (modules.ok()) layouts.push_back({"torchtitan", modules.value()});
        return layouts;
    }
    if (has("Megatron") && model.placement == Placement::Loop) {
        const auto text = layoutToMegatron(layoutOf(partition), model.pp);
        if (text.ok()) layouts.push_back({"megatron", text.value()});
    }
    if (has("DeepSpeed") && static_cast<int>(layers.size()) == model.pp)
        layouts.push_back({"deepspeed", partitionToDeepSpeed(partition)});
    return layouts;
}

Value adviceSuggestions(const std::vector<std::string>& run_words, const RunModel& model, const Advice& advice,
                        bool orders_written) {
    Value::List list;
    for (const Suggestion& suggestion : advice.suggestions) {
        Value::Object entry{{"changes", suggestion.texts},
                            {"predicted_ns", suggestion.prediction.predicted()},
                            {"change_ns", suggestion.prediction.change()},
                            {"change", suggestion.prediction.relativeChange()},
                            {"model_error", suggestion.prediction.check.error()},
                            {"error_bar_ns", suggestion.prediction.bar.time}};
        std::ranges::move(heldMemory(suggestion.memory), std::back_inserter(entry));
        entry.push_back({"recommended", &suggestion == &advice.suggestions[advice.recommended]});
        entry.push_back({"effort", effortName(suggestion.effort)});
        entry.push_back({"frameworks", suggestion.frameworks});
        if (!suggestion.change.layers.empty()) entry.push_back({"layouts", adviceLayouts(suggestion, model)});
        if (suggestion.searched) {
            const Searched& searched = *suggestion.searched;
            entry.push_back({"search", Value::Object{{"makespan_ns", searched.makespan},
                                                     {"bound_ns", searched.bound},
                                                     {"gap", searched.gap()},
                                                     {"proven", searched.proven},
                                                     {"reason", searched.reason},
                                                     {"rounds", searched.rounds}}});
        }
        if (!suggestion.moved.empty()) entry.push_back({"moved", suggestion.moved});
        entry.push_back({"command", adviceCommand(run_words, suggestion, orders_written)});
        list.emplace_back(std::move(entry));
    }
    return list;
}

/// Orders that need less memory, and what they cost.
void addLessMemory(Section& document, const std::vector<std::string>& run_words, const Advice& advice,
                   bool orders_written) {
    Value::List list;
    const HeldMemory& now = advice.present;
    for (const Suggestion& suggestion : advice.less_memory) {
        const HeldMemory& memory = suggestion.memory;
        const Prediction& prediction = suggestion.prediction;
        const bool bytes = now.bytes && memory.bytes;
        const std::string saved = bytes ? fmt::format("{} less memory", formatBytes(*now.bytes - *memory.bytes))
                                        : fmt::format("{:.2f} fewer activations", now.activations - memory.activations);
        document.paragraph("", fmt::format("{}: {} on the fullest rank, {:+.1f} % ± {:.1f} step time.",
                                           fmt::join(suggestion.texts, " "), saved, 100 * prediction.relativeChange(),
                                           100 * fractionOf(prediction.bar.time, prediction.before)));
        Value::Object entry{
            {"changes", suggestion.texts},         {"predicted_ns", prediction.predicted()},
            {"change_ns", prediction.change()},    {"change", prediction.relativeChange()},
            {"error_bar_ns", prediction.bar.time}, {"saved_bytes", bytes ? Value(*now.bytes - *memory.bytes) : Value()},
            {"frameworks", suggestion.frameworks}, {"command", adviceCommand(run_words, suggestion, orders_written)}};
        std::ranges::move(heldMemory(memory), std::back_inserter(entry));
        list.emplace_back(std::move(entry));
    }
    document.data("less_memory", std::move(list));
}

void addLargerMicrobatches(Section& document, const Advice& advice) {
    Value data;
    if (advice.larger) {
        document.paragraph(
            "", fmt::format("Fewer, larger micro-batches cannot be predicted from a trace with one size. With {} "
                            "micro-batches of twice the size, the step gets shorter if ops take less than {:.2f} × "
                            "their current time; the fullest rank then holds {:.2f} activations.",
                            advice.larger->microbatches, advice.larger->break_even, advice.larger->memory.activations));
        data = Value::Object{{"microbatches", advice.larger->microbatches},
                             {"break_even_op_time", advice.larger->break_even},
                             {"activations", advice.larger->memory.activations}};
    }
    document.data("larger_microbatches", std::move(data));
}

Table adviceTable(TimeNs observed, const Advice& advice) {
    const bool bytes = advice.present.bytes.has_value();
    Table table({}, {shown("step"), shown("change"), shown("activations")});
    if (bytes) table.columns.push_back(shown("memory"));
    table.columns.push_back(shown("what", Align::Left));
    table.columns.push_back(shown("in", Align::Left));
    table.columns.push_back(shown("", Align::Left));
    const auto row = [&](TimeNs step, const std::string& change, const HeldMemory& memory, const std::string& what,
                         const std::string& frameworks) {
        table.row(step, change, Cell(memory.activations).as(fmt::format("{:.2f}", memory.activations)));
        if (bytes) table.rows.back().emplace_back(memory.bytes.value_or(0), Look::Bytes);
        table.rows.back().emplace_back(memory.copies == 1 ? what : what + " (holds two copies of the model)");
        table.rows.back().emplace_back(frameworks);
        table.rows.back().emplace_back("");
    };
    row(observed, "", advice.present, "as run", "");
    for (const Suggestion& suggestion : advice.suggestions) {
        row(suggestion.prediction.predicted(),
            fmt::format("{:+.1f} % ± {:.1f}", 100 * suggestion.prediction.relativeChange(),
                        100 * fractionOf(suggestion.prediction.bar.time, observed)),
            suggestion.memory, fmt::format("{}", fmt::join(suggestion.texts, " ")),
            suggestion.frameworks.empty() ? "no known schedule"
                                          : fmt::format("{}", fmt::join(suggestion.frameworks, ", ")));
        if (&suggestion == &advice.suggestions[advice.recommended]) table.rows.back().back() = Cell("recommended");
    }
    return table;
}

/// The work that stages would lose or gain.
void addMovedWork(Section& document, const Advice& advice) {
    constexpr double kWorthMoving = 0.02;
    for (const Suggestion& suggestion : advice.suggestions) {
        std::string text;
        for (std::size_t stage = 0; stage < suggestion.moved.size(); ++stage) {
            const double share = suggestion.moved[stage];
            if (std::abs(share) < kWorthMoving) continue;
            text += fmt::format("{}stage {} {:+.0f} %", text.empty() ? "" : ", ", stage, 100 * share);
        }
        if (text.empty()) continue;
        document.paragraph(
            "", fmt::format(
                    "With the balanced split, the stage times change by {}. Use {} to express the changes in layers.",
                    text, Field("layers")));
    }
}

void addAdvisedLayouts(Section& document, const RunModel& model, const Advice& advice) {
    for (const Suggestion& suggestion : advice.suggestions) {
        if (suggestion.searched) continue; // the list of all modules is only for programs
        for (const Member& layout : adviceLayouts(suggestion, model))
            document.paragraph(
                "", fmt::format("{} for {}: {}", fmt::join(suggestion.texts, " "), layout.key, layout.value.text()));
    }
}

/// Results for the orders that were searched, and the gain of another split.
void addSearchedOrders(Section& document, const Advice& advice, bool orders_written) {
    bool any = false;
    for (const Suggestion& suggestion : advice.suggestions) {
        if (!suggestion.searched) continue;
        any = true;
        const Searched& searched = *suggestion.searched;
        std::string text =
            fmt::format("{}: found by a search, {}. With mean op times, a step takes {}; the lower bound is {}: {}.",
                        fmt::join(suggestion.texts, " "),
                        searched.proven ? std::string("proven optimal")
                                        : fmt::format("{} above the lower bound", formatPercent(searched.gap())),
                        formatTime(searched.makespan), formatTime(searched.bound), searched.reason.text());
        if (!suggestion.change.layers.empty() && advice.split_adds) {
            text += fmt::format(" Splitting the layers differently adds {} to the gain of the search.",
                                formatTime(*advice.split_adds));
        }
        document.paragraph("", text);
    }
    document.data("split_adds_ns", advice.split_adds);
    if (any && !orders_written)
        document.paragraph(
            "", fmt::format("`{}` writes the orders found in PyTorch's CSV format.", Field("orders").is("FOLDER")));
}

} // namespace

Document adviceDocument(const RunModel& model, const Advice& advice, const std::vector<std::string>& run_words,
                        bool orders_written) {
    const TimeNs observed = model.step_time;
    Document document;
    addSelection(document, model.selection);
    document.data("observed_ns", observed);
    document.data("present", heldMemory(advice.present));
    document.data("tried", advice.tried);
    document.data("suggestions", adviceSuggestions(run_words, model, advice, orders_written));
    document.line(fmt::format("A step takes {} ({}). {} orders were tried.", formatTime(observed),
                              model.selection.summary().text(), advice.tried));
    if (!advice.no_orders.empty())
        document.paragraph("", fmt::format("Other orders were not tried: {}.", advice.no_orders));
    document.data("recommended_because", advice.suggestions.empty() ? Value() : Value(advice.why));
    document.data("no_orders", advice.no_orders.empty() ? Value() : Value(advice.no_orders));
    if (advice.suggestions.empty()) {
        document.data("split_adds_ns", {});
        document.line("No change is predicted to save 0.5 % or more.");
        addReplayCheck(document, model.check);
        addLessMemory(document, run_words, advice, orders_written);
        addLargerMicrobatches(document, advice);
        return document;
    }
    document.line("");
    document.add(adviceTable(observed, advice));
    document.line("");
    document.paragraph("",
                       fmt::format("Recommended: {}; {}.", fmt::join(advice.suggestions[advice.recommended].texts, " "),
                                   advice.why.text()));
    document.paragraph(
        "", std::string("Activations: the peak on the fullest rank; 1 is the amount that the rank's whole share of the "
                        "model keeps for one recorded micro-batch. Smaller micro-batches and chunks are assumed to be "
                        "as efficient as large ones; real devices are slightly less efficient."));
    addReplayCheck(document, model.check);
    const auto isUnblocked = [](const Suggestion& suggestion) { return suggestion.effort == Effort::Transfers; };
    if (std::ranges::any_of(advice.suggestions, isUnblocked))
        document.paragraph("", std::string("blocked=0: post sends and receives without blocking, and wait for each "
                                           "receive just before the op that needs it."));
    addMovedWork(document, advice);
    addSearchedOrders(document, advice, orders_written);
    addLessMemory(document, run_words, advice, orders_written);
    addLargerMicrobatches(document, advice);
    addAdvisedLayouts(document, model, advice);
    document.line("\nEach separately:");
    for (const Suggestion& suggestion : advice.suggestions)
        document.line(shellLine(adviceCommand(run_words, suggestion, orders_written)));
    return document;
}

} // namespace bubblescope::report
