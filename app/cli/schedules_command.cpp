#include "app/cli/command.h"
#include "app/cli/output.h"
#include "core/report/text.h"
#include "core/theory/closed_form.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace bubblescope::cli {
namespace {

using report::Value;

struct SchedulesArguments {
    std::vector<std::string> names;
    bool json = false;
    bool markdown = false;
};

Value formOf(const FamilyForm& form) {
    Value::List positions;
    for (const auto& at : form.positions) {
        positions.emplace_back(
            Value::Object{{"position", at.position}, {"expression", at.expression}, {"kind", formKindName(at.kind)}});
    }
    Value peaks;
    if (!form.peaks.empty()) peaks = Value::Object{{"expression", form.peaks}, {"domain", form.peaks_domain}};
    return Value::Object{{"flavors", form.flavors},
                         {"latency", form.latency},
                         {"kind", formKindName(form.kind)},
                         {"bubble", form.bubble},
                         {"makespan", form.makespan},
                         {"domain", form.domain},
                         {"positions", std::move(positions)},
                         {"peak_activations", std::move(peaks)},
                         {"note", form.note.empty() ? Value(Value::Absent{}) : Value(form.note)}};
}

Value familyOf(const ScheduleFamily& family) {
    const auto forms = familyForms(family);
    Value::List list;
    for (const FamilyForm& form : forms)
        list.push_back(formOf(form));
    return Value::Object{{"name", family.name},
                         {"title", family.title},
                         {"aliases", family.aliases},
                         {"flavors", family.flavors},
                         {"placement", placementName(family.placement)},
                         {"limits", family.limits},
                         {"closed_form", std::ranges::find(forms, FormKind::Exact, &FamilyForm::kind) != forms.end()},
                         {"forms", std::move(list)}};
}

/// A line with a name, such as "    limits       m ≥ 1"; empty if there is no text.
std::string item(std::string_view name, std::string_view text) {
    return text.empty() ? std::string{} : report::wrapped(fmt::format("    {:<11}  ", name), text);
}

/// If ranks differ at a position, lists their expressions one after another.
std::string positionsText(const FamilyForm& form) {
    std::string text;
    std::string_view last;
    for (const auto& at : form.positions) {
        const std::string kind = at.kind == form.kind ? "" : fmt::format(" ({})", formKindName(at.kind));
        if (at.position == last) {
            text += fmt::format("; on other ranks: {}{}", at.expression, kind);
        } else {
            text += fmt::format("{}{}: {}{}", text.empty() ? "" : "; ", at.position, at.expression, kind);
        }
        last = at.position;
    }
    return text;
}

/// Lists each expression once, with the orders that it applies to if they differ.
std::string peaksText(const std::vector<FamilyForm>& forms) {
    std::vector<std::pair<std::string, std::vector<std::string_view>>> peaks;
    for (const FamilyForm& form : forms) {
        if (form.peaks.empty()) continue;
        const std::string text = fmt::format("{} ({})", form.peaks, form.peaks_domain);
        const auto known = std::ranges::find(peaks, text, [](const auto& entry) { return entry.first; });
        auto& flavors = known != peaks.end() ? known->second : peaks.emplace_back(text, form.flavors).second;
        for (const std::string_view flavor : form.flavors) {
            if (std::ranges::find(flavors, flavor) == flavors.end()) flavors.push_back(flavor);
        }
    }
    std::string out;
    for (const auto& [text, flavors] : peaks) {
        out += out.empty() ? "" : "; ";
        if (peaks.size() > 1 && !flavors.empty()) out += fmt::format("{}: ", fmt::join(flavors, ", "));
        out += text;
    }
    return out;
}

std::string toText(const FamilyForm& form, bool name_flavors) {
    std::string whose = name_flavors ? fmt::format("{}", fmt::join(form.flavors, ", ")) : "";
    if (form.latency) whose += whose.empty() ? "transfers take c" : "; transfers take c";
    std::string out = item("order of", whose);
    if (form.kind == FormKind::Exact) {
        out += item("bubble", form.bubble) + item("makespan", form.makespan) + item("positions", positionsText(form));
        out += item("exact for", form.domain);
    } else {
        out += item("no form", form.note) + item(formKindName(form.kind), form.makespan);
    }
    return out;
}

std::string toText(const ScheduleFamily& family) {
    std::string out = report::wrapped("", fmt::format("{}  {}", family.name, family.title));
    out += item("also", fmt::format("{}", fmt::join(family.aliases, ", ")));
    out += item("flavors", fmt::format("{}", fmt::join(family.flavors, ", ")));
    out += item("limits", family.limits);
    out += item("placement", placementName(family.placement));
    const auto forms = familyForms(family);
    const auto free = std::ranges::count(forms, false, &FamilyForm::latency);
    for (const FamilyForm& form : forms)
        out += toText(form, free > 1);
    return out + item("activations", peaksText(forms));
}

constexpr std::string_view kSymbols =
    "In formulas: p ranks, s the rank, m micro-batches, v chunks per rank, k slices per sequence; times per op of one "
    "chunk: t_f forward, t_b whole backward, t_i and t_w its halves for the input and the weights, t_fb an overlapped "
    "pair; t_ar the all-reduce in t_f and t_i that a pair hides; c the latency of a transfer. Bubbles are per rank. "
    "Activations are counted in forward ops of one chunk.";

/// A row of a Markdown table, in which vertical bars are escaped.
std::string markdownRow(const std::vector<std::string>& cells) {
    std::string out = "|";
    for (const std::string& cell : cells) {
        std::string safe;
        for (const char c : cell)
            safe += c == '|' ? std::string("\\|") : std::string(1, c);
        out += " " + safe + " |";
    }
    return out + "\n";
}

std::string toMarkdown(const ScheduleFamily& family) {
    std::string bubbles;
    const auto forms = familyForms(family);
    const auto free = std::ranges::count(forms, false, &FamilyForm::latency);
    for (const FamilyForm& form : forms) {
        if (form.latency) continue;
        if (!bubbles.empty()) bubbles += "<br>";
        if (free > 1) bubbles += fmt::format("{}: ", fmt::join(form.flavors, ", "));
        bubbles += form.kind == FormKind::Exact ? form.bubble : "no closed form";
        if (std::ranges::count(forms, form.flavors, &FamilyForm::flavors) > 1) bubbles += ", for " + form.domain;
    }
    return markdownRow({fmt::format("[{0}](schedules/{0}.md)", family.name),
                        fmt::format("{}", fmt::join(family.flavors, ", ")),
                        std::string(placementName(family.placement)), std::string(family.limits), bubbles});
}

std::string listText(const std::vector<const ScheduleFamily*>& families, bool markdown) {
    std::string text;
    if (markdown) {
        text = markdownRow({"family", "flavors", "placement", "limits", "bubble per rank"}) + "|---|---|---|---|---|\n";
        for (const ScheduleFamily* const family : families)
            text += toMarkdown(*family);
        return text;
    }
    for (const ScheduleFamily* const family : families)
        text += toText(*family) + "\n";
    return text + report::wrapped("", kSymbols);
}

CommandResult list(const SchedulesArguments& options) {
    std::vector<const ScheduleFamily*> families;
    for (const std::string& name : options.names) {
        families.push_back(findScheduleFamily(name));
        if (families.back() == nullptr) {
            return makeSchedule({name, "", 1, 1}).error(); // its error lists all valid names
        }
    }
    if (families.empty()) {
        for (const ScheduleFamily& family : scheduleFamilies())
            families.push_back(&family);
    }
    if (!options.json) {
        printText(listText(families, options.markdown));
        return 0;
    }
    report::Document document;
    Value::List list;
    for (const ScheduleFamily* const family : families)
        list.push_back(familyOf(*family));
    document.data("schedules", std::move(list));
    print(document, true);
    return 0;
}

} // namespace

void addSchedulesCommand(Command app, Action& action) {
    const Command command = app.addCommand("schedules", "List the schedules, their limits and formulas");
    const auto options = std::make_shared<SchedulesArguments>();
    command.examples({"schedules", "schedules zb-v dualpipev"});
    command.addOption("NAMES", options->names, "Only these schedules").suggests([] {
        std::vector<std::string> names;
        for (const ScheduleFamily& family : scheduleFamilies())
            names.emplace_back(family.name);
        return names;
    }());
    const Option json = command.addFlag("--json", options->json, "Print a JSON document");
    command.addFlag("--markdown", options->markdown, "Print a Markdown table").excludes(json).rare();
    command.onParsed([&action, options] { action = [options] { return list(*options); }; });
}

} // namespace bubblescope::cli
