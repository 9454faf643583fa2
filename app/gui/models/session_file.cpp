#include "app/gui/models/session_file.h"

#include "core/base/input_file.h"
#include "core/families/registry.h"
#include "core/formats/source/replacing_file.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace bubblescope::gui {

namespace {

using SessionJson = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kFormat = "bubblescope-session";
constexpr int kVersion = 1;
constexpr const char* kWayOut = "save the session again (File > Save session), or repair the file by hand";
constexpr std::array<std::string_view, 6> kItemKindNames{"none", "op", "bubble", "transfer", "slice", "check"};
constexpr std::array<std::string_view, kFlowOverlayCount> kFlowOverlayNames{"transfers", "path", "microbatch"};

/// A value in the file, with its path. The error describes the first missing or invalid value.
class Place {
public:
    Place(const SessionJson& json, std::string path, Status& status)
        : json_(&json), path_(std::move(path)), status_(&status) {}

    [[nodiscard]] Place at(const char* key) const {
        static const SessionJson none;
        const auto found = json_->is_object() ? json_->find(key) : json_->end();
        const bool there = json_->is_object() && found != json_->end();
        return {there ? *found : none, path_.empty() ? key : path_ + "." + key, *status_};
    }
    [[nodiscard]] std::vector<Place> list() const {
        std::vector<Place> out;
        if (json_->is_null()) return out; // the value is absent
        if (!json_->is_array()) fail("is not a list");
        for (std::size_t i = 0; json_->is_array() && i < json_->size(); ++i)
            out.emplace_back((*json_)[i], fmt::format("{}[{}]", path_, i), *status_);
        return out;
    }
    [[nodiscard]] std::int64_t number(std::int64_t low, std::int64_t high, std::int64_t otherwise) const {
        if (json_->is_null()) return otherwise;
        const bool fits = json_->is_number_integer() &&
                          (!json_->is_number_unsigned() ||
                           json_->get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
        if (fits && json_->get<std::int64_t>() >= low && json_->get<std::int64_t>() <= high)
            return json_->get<std::int64_t>();
        fail(fmt::format("is {}, not a whole number from {} to {}", json_->dump(), low, high));
        return otherwise;
    }
    [[nodiscard]] int small(int otherwise) const {
        return static_cast<int>(number(0, std::numeric_limits<std::int32_t>::max(), otherwise));
    }
    [[nodiscard]] TimeNs time() const {
        constexpr std::int64_t kMaxTime =
            std::numeric_limits<std::int64_t>::max() / 4; // allows zooming out without overflow
        return TimeNs{number(-kMaxTime, kMaxTime, 0)};
    }
    [[nodiscard]] bool flag() const {
        if (json_->is_null()) return false;
        if (!json_->is_boolean()) fail(fmt::format("is {}, neither true nor false", json_->dump()));
        return json_->is_boolean() && json_->get<bool>();
    }
    [[nodiscard]] double fraction() const {
        if (json_->is_null()) return 1;
        if (json_->is_number() && json_->get<double>() >= 0 && json_->get<double>() <= 1) return json_->get<double>();
        fail(fmt::format("is {}, not a number from 0 to 1", json_->dump()));
        return 1;
    }
    /// A positive number.
    [[nodiscard]] std::optional<double> positive() const {
        if (json_->is_null()) return std::nullopt;
        if (json_->is_number() && json_->get<double>() > 0) return json_->get<double>();
        fail(fmt::format("is {}, not a positive number", json_->dump()));
        return std::nullopt;
    }
    [[nodiscard]] std::string text() const {
        if (json_->is_null()) return {};
        if (!json_->is_string()) fail("is not text");
        return json_->is_string() ? json_->get<std::string>() : std::string();
    }
    /// Index of the value in `names`.
    template <std::size_t N>
    [[nodiscard]] std::size_t choice(const std::array<std::string_view, N>& names) const {
        if (json_->is_null()) return 0;
        const std::string word = text();
        const auto found = std::ranges::find(names, word);
        if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
        fail(fmt::format("is '{}'; known: {}", word, fmt::join(names, ", ")));
        return 0;
    }
    [[nodiscard]] bool there() const { return !json_->is_null(); }
    void fail(const std::string& what) const {
        if (status_->ok()) *status_ = inputError({}, fmt::format("its {} {}", path_, what), kWayOut);
    }

private:
    const SessionJson* json_;
    std::string path_;
    Status* status_;
};

std::vector<int> numbersIn(const Place& place) {
    std::vector<int> out;
    for (const Place& one : place.list())
        out.push_back(one.small(0));
    return out;
}

TimeRange rangeIn(const Place& place) {
    const std::vector<Place> ends = place.list();
    if (ends.empty()) return {};
    if (ends.size() != 2) {
        place.fail("has no start or end");
        return {};
    }
    const TimeRange range{ends[0].time(), ends[1].time()};
    if (range.end < range.begin) place.fail("ends before it begins");
    return range;
}

std::vector<fs::path> filesIn(const Place& place, const fs::path& folder) {
    std::vector<fs::path> out;
    for (const Place& one : place.list()) {
        const std::string text = one.text();
        if (text.empty()) one.fail("does not name a file");
        out.push_back((folder / fs::path(text)).lexically_normal());
    }
    return out;
}

RowChoice rowsIn(const Place& place) {
    RowChoice rows;
    rows.pinned = numbersIn(place.at("pinned"));
    rows.filter = place.at("filter").text();
    if (const auto filter = parseRowFilter(rows.filter); !filter.ok())
        place.at("filter").fail("is not a filter: " + filter.error().message);
    rows.order = static_cast<RowOrder>(place.at("order").choice(kRowOrderNames));
    rows.by_hand = numbersIn(place.at("by_hand"));
    if (const Place group = place.at("group"); group.there())
        rows.group = static_cast<MeshAxis>(group.choice(kMeshAxisNames));
    rows.folded = numbersIn(place.at("folded"));
    for (const int line : numbersIn(place.at("unfolded")))
        rows.setUnfolded(line, true);
    for (const int track : numbersIn(place.at("flat")))
        rows.setFlat(static_cast<TrackId>(track), true);
    for (const int track : numbersIn(place.at("pinned_tracks")))
        rows.setTrackPinned(static_cast<TrackId>(track), true);
    for (const Place& hidden : place.at("hidden").list())
        rows.hidden[hidden.choice(kLaneGroupNames)] = true;
    rows.counters = place.at("counters").flag();
    rows.height = place.at("height").small(0);
    return rows;
}

Taught taughtIn(const Place& place) {
    Taught taught;
    taught.rules = place.at("rules").text();
    if (const auto rules = taught.options(); !rules.ok())
        place.at("rules").fail("are not valid rules: " + rules.error().message);
    for (const Place& one : place.at("ranks").list())
        taught.ranks.push_back({one.at("of").text(), one.at("rank").small(0)});
    const Place family = place.at("schedule");
    if (!family.there()) return taught;
    ScheduleSpec spec;
    spec.name = family.at("name").text();
    if (findScheduleFamily(spec.name) == nullptr) family.at("name").fail("is not a schedule");
    constexpr std::int64_t kMost = 65'536; // limit, because a file from another user must not exhaust memory
    const auto size = [&](const char* name) { return static_cast<int>(family.at(name).number(0, kMost, 0)); };
    spec.pp = size("pp");
    spec.microbatches = size("microbatches");
    spec.vpp = size("vpp");
    taught.family = spec;
    return taught;
}

/// Sizes of a model, with their names in the file.
constexpr std::array kModelSizes{std::pair("layers", &ModelRequest::layers),
                                 std::pair("hidden", &ModelRequest::hidden),
                                 std::pair("heads", &ModelRequest::heads),
                                 std::pair("kv_heads", &ModelRequest::kv_heads),
                                 std::pair("ffn", &ModelRequest::ffn),
                                 std::pair("sequence", &ModelRequest::sequence),
                                 std::pair("vocabulary", &ModelRequest::vocabulary)};

ModelUseRequest modelIn(const Place& place) {
    ModelUseRequest request;
    request.model.preset = place.at("preset").text();
    for (const auto& [name, size] : kModelSizes) {
        if (const Place given = place.at(name); given.there()) request.model.*size = given.small(0);
    }
    request.global_batch = place.at("global_batch").small(0);
    request.device = place.at("device").text();
    request.teraflops = place.at("tflops").positive();
    if (const Place devices = place.at("devices"); devices.there()) request.devices = devices.small(1);
    return request;
}

ViewSnapshot viewIn(const Place& place) {
    ViewSnapshot view;
    view.range = rangeIn(place.at("range_ns"));
    view.step = place.at("step").small(0);
    const Place selected = place.at("selected");
    view.selection = {static_cast<ItemKind>(selected.at("kind").choice(kItemKindNames)), selected.at("step").small(0),
                      selected.at("rank").small(0), selected.at("index").small(0)};
    view.reference_blend = place.at("ghost_share").fraction();
    for (const Place& flow : place.at("trails").list())
        view.flows[flow.choice(kFlowOverlayNames)] = true;
    view.measured = rangeIn(place.at("measured_ns"));
    for (const int track : numbersIn(place.at("measured_tracks")))
        view.measured_tracks.push_back(static_cast<TrackId>(track));
    std::ranges::sort(view.measured_tracks);
    if (const Place rows = place.at("rows"); rows.there()) view.rows = rowsIn(rows);
    if (const Place model = place.at("model"); model.there()) view.model = modelIn(model);
    return view;
}

SessionJson toJson(const RowChoice& rows) {
    SessionJson json{{"pinned", rows.pinned}, {"filter", rows.filter},          {"by_hand", rows.by_hand},
                     {"folded", rows.folded}, {"unfolded", rows.unfolded},      {"counters", rows.counters},
                     {"height", rows.height}, {"hidden", SessionJson::array()}, {"flat", rows.flat}};
    json["order"] = kRowOrderNames[static_cast<std::size_t>(rows.order)];
    json["pinned_tracks"] = rows.pinned_tracks;
    if (rows.group) json["group"] = kMeshAxisNames[static_cast<std::size_t>(*rows.group)];
    for (std::size_t group = 0; group < kLaneGroupCount; ++group) {
        if (rows.hidden[group]) json["hidden"].push_back(kLaneGroupNames[group]);
    }
    return json;
}

SessionJson toJson(const ModelUseRequest& request) {
    SessionJson json{{"global_batch", request.global_batch}};
    if (!request.model.preset.empty()) json["preset"] = request.model.preset;
    for (const auto& [name, size] : kModelSizes) {
        if (const std::optional<std::int64_t>& value = request.model.*size) json[name] = *value;
    }
    if (!request.device.empty()) json["device"] = request.device;
    if (request.teraflops) json["tflops"] = *request.teraflops;
    if (request.devices) json["devices"] = *request.devices;
    return json;
}

SessionJson toJson(const ViewSnapshot& view) {
    SessionJson json{{"range_ns", {view.range.begin.count(), view.range.end.count()}},
                     {"step", std::max(0, view.step)}, // 0 instead of −1 in a trace without a pipeline
                     {"ghost_share", view.reference_blend},
                     {"trails", SessionJson::array()}};
    if (view.rows) json["rows"] = toJson(*view.rows);
    for (std::size_t flow = 0; flow < kFlowOverlayCount; ++flow) {
        if (view.flows[flow]) json["trails"].push_back(kFlowOverlayNames[flow]);
    }
    if (view.selection)
        json["selected"] = {{"kind", kItemKindNames[static_cast<std::size_t>(view.selection.kind)]},
                            {"step", view.selection.step},
                            {"rank", view.selection.rank},
                            {"index", view.selection.index}};
    if (view.measured.length() > TimeNs{0})
        json["measured_ns"] = {view.measured.begin.count(), view.measured.end.count()};
    if (!view.measured_tracks.empty()) json["measured_tracks"] = view.measured_tracks;
    if (view.model.model.given()) json["model"] = toJson(view.model);
    return json;
}

SessionJson toJson(const Taught& taught) {
    SessionJson json = SessionJson::object();
    if (!taught.rules.empty()) json["rules"] = taught.rules;
    if (const auto& spec = taught.family)
        json["schedule"] = {
            {"name", spec->name}, {"pp", spec->pp}, {"microbatches", spec->microbatches}, {"vpp", spec->vpp}};
    for (const RankRule& rule : taught.ranks)
        json["ranks"].push_back({{"of", rule.pattern}, {"rank", rule.rank}});
    return json;
}

SessionJson toJson(const std::vector<fs::path>& files, const fs::path& folder) {
    SessionJson json = SessionJson::array();
    for (const fs::path& file : files) {
        const fs::path whole = fs::absolute(file).lexically_normal();
        const fs::path inside = whole.lexically_relative(folder);
        const bool below = !inside.empty() && *inside.begin() != "..";
        json.push_back((below ? inside : whole).generic_string());
    }
    return json;
}

} // namespace

bool isSessionFile(const fs::path& file) {
    return file.filename().string().ends_with(kSessionSuffix);
}

Result<SavedSession> readSession(const fs::path& file) {
    BUBBLESCOPE_ASSIGN(const std::string text, readInputText(file.string()));
    BUBBLESCOPE_ASSIGN(const SessionJson document, parseJsonDocument(text, file.string(), kWayOut));
    Status status;
    const Place root(document, {}, status);
    if (root.at("format").text() != kFormat || !status.ok())
        return inputError(file.string(), "is not a Bubblescope session: its \"format\" is not \"bubblescope-session\"",
                          "open traces, or a file saved with File > Save session");
    if (const auto version = root.at("version").number(1, std::numeric_limits<std::int32_t>::max(), 0);
        version > kVersion)
        return inputError(file.string(),
                          fmt::format("has version {}; this program supports versions up to {}", version, kVersion),
                          "open it with a newer Bubblescope");
    const fs::path folder = fs::absolute(file).parent_path();
    SavedSession session;
    session.docks = root.at("docks").text();
    for (const Place& one : root.at("traces").list()) {
        SavedTrace trace;
        trace.files = filesIn(one.at("files"), folder);
        if (trace.files.empty()) one.fail("does not name files");
        trace.compare = filesIn(one.at("compare"), folder);
        const Place view = one.at("view");
        trace.view = viewIn(view);
        trace.ideal = view.at("ideal").flag();
        if (const Place taught = one.at("taught"); taught.there()) trace.taught = taughtIn(taught);
        session.traces.push_back(std::move(trace));
    }
    if (session.traces.empty()) root.at("traces").fail("has no trace");
    session.current = root.at("current").small(0);
    if (session.current >= static_cast<int>(session.traces.size()))
        root.at("current").fail("is not an index of the list");
    if (status.ok()) return session;
    Error error = status.error();
    return inputError(file.string(), error.message, error.hint);
}

Status writeSession(const fs::path& file, const SavedSession& session) {
    const fs::path folder = fs::absolute(file).parent_path().lexically_normal();
    SessionJson json{{"format", kFormat},
                     {"version", kVersion},
                     {"current", session.current},
                     {"docks", session.docks},
                     {"traces", SessionJson::array()}};
    for (const SavedTrace& trace : session.traces) {
        SessionJson view = toJson(trace.view);
        view["ideal"] = trace.ideal;
        SessionJson one{{"files", toJson(trace.files, folder)},
                        {"compare", toJson(trace.compare, folder)},
                        {"view", std::move(view)}};
        if (SessionJson taught = toJson(trace.taught); !taught.empty()) one["taught"] = std::move(taught);
        json["traces"].push_back(std::move(one));
    }
    ReplacingFile out(file);
    // File names need not be valid UTF-8.
    out.write(json.dump(1, ' ', false, SessionJson::error_handler_t::replace));
    out.write("\n");
    return out.commit();
}

} // namespace bubblescope::gui
