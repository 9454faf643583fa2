#include "app/gui/models/search.h"

#include "app/gui/language/text.h"
#include "app/gui/models/anomaly_model.h"
#include "app/gui/models/op_query.h"
#include "app/gui/models/session_queries.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

namespace bubblescope::gui {

namespace {

class Search {
public:
    Search(const Session& session, QString text, int step, std::size_t max_hits, std::stop_token stop)
        : session_(session), text_(std::move(text)), step_(step), max_hits_(max_hits), stop_(std::move(stop)) {}

    std::vector<SearchHit> run() {
        if (text_.isEmpty()) return {};
        addNumbered();
        addOps();
        addAnomalies();
        for (SearchHit& hit : countersNamed(session_, {text_.toLower().toStdString()}, {})) {
            if (!full()) hits_.push_back(std::move(hit));
        }
        addSlices();
        return std::move(hits_);
    }

private:
    [[nodiscard]] bool full() const { return hits_.size() >= max_hits_ || stop_.stop_requested(); }

    /// Adds hits for "rank 3" and "step 7"; a number alone matches both.
    void addNumbered() {
        const QString word = text_.section(QLatin1Char(' '), 0, -2).trimmed();
        bool numeric = false;
        const int number = text_.section(QLatin1Char(' '), -1).toInt(&numeric);
        if (!numeric) return;
        const auto means = [&](const QString& name, const char* english) {
            return word.isEmpty() ||
                   (!word.isEmpty() && (name.startsWith(word, Qt::CaseInsensitive) ||
                                        QLatin1String(english).startsWith(word, Qt::CaseInsensitive)));
        };
        for (int rank = 0; means(tr("rank"), "rank") && rank < static_cast<int>(session_.lanes.rankCount()); ++rank) {
            if (session_.rankOf(rank) == number) hits_.push_back({tr("Rank %1").arg(number), {}, {}, -1, rank, -1});
        }
        if (!means(tr("step"), "step")) return;
        for (int place = 0; place < session_.stepCount() && !full(); ++place) {
            if (session_.step(place).index != number) continue;
            hits_.push_back({tr("Step %1").arg(number), shortTime(session_.window(place).length()), {}, place, -1, -1});
        }
    }

    void addOps() {
        const std::optional<Op> wanted = parseOpName(text_.toUpper().toStdString());
        if (!wanted) return;
        addOpsOf(step_, *wanted);
        for (int place = 0; place < session_.stepCount() && !full(); ++place) {
            if (place != step_) addOpsOf(place, *wanted);
        }
    }

    void addOpsOf(int place, const Op& wanted) {
        if (place < 0 || place >= session_.stepCount()) return;
        const StepTimeline& step = session_.step(place);
        for (std::size_t rank = 0; rank < step.ranks.size() && !full(); ++rank) {
            for (std::size_t i = 0; i < step.ranks[rank].size() && !full(); ++i) {
                const TimelineOp& op = step.ranks[rank][i];
                if (op.op.kind != wanted.kind) continue;
                const bool same = wanted.kind == OpKind::Optimizer ||
                                  (op.op.microbatch == wanted.microbatch && op.op.chunk == wanted.chunk &&
                                   op.op.sequence == wanted.sequence);
                if (!same) continue;
                const int number = static_cast<int>(rank);
                const ItemRef item{ItemKind::Op, place, number, static_cast<std::int32_t>(i)};
                hits_.push_back({fromUtf8(opName(op.op)),
                                 tr("rank %1 · step %2 · %3").arg(number).arg(step.index).arg(shortTime(op.duration())),
                                 item, place, number, -1});
            }
        }
    }

    void addAnomalies() {
        const auto& anomalies = session_.report.anomalies;
        for (std::size_t i = 0; i < anomalies.size() && !full(); ++i) {
            const QString message = sentence(translated(anomalies[i].message));
            const QString kind = anomalyKindText(anomalies[i].kind);
            if (!message.contains(text_, Qt::CaseInsensitive) && !kind.contains(text_, Qt::CaseInsensitive)) continue;
            hits_.push_back({sentence(kind), message, {}, -1, -1, static_cast<int>(i)});
        }
    }

    void addSlices() {
        if (!session_.raw.any() || text_.size() < 2) return; // a single letter matches nearly everything
        const Trace& trace = *session_.run.trace;
        const std::vector<bool> fits = namesThatFit(trace);
        if (fits.empty()) return;
        const TimeNs since = session_.originOf(std::max(0, step_));
        std::unordered_map<StringId, SliceId> first; // by name
        std::unordered_map<StringId, std::size_t> count;
        for (int line = 0; line < static_cast<int>(session_.lanes.lineCount()) && !full(); ++line) {
            for (const RawLane& lane : session_.raw.of(line)) {
                const Track& track = trace.tracks()[lane.track];
                const TimeNs from = lane.toLaneTime({since, since}).begin;
                for (SliceId slice = track.first_slice; slice < track.end_slice; ++slice) {
                    const StringId name = trace.sliceNames()[slice];
                    if (!fits[name]) continue;
                    if (++count[name] == 1) order_.emplace_back(name, line);
                    auto& best = first.try_emplace(name, slice).first->second;
                    if (trace.start(best) < from && trace.start(slice) >= from &&
                        trace.sliceTracks()[best] == lane.track)
                        best = slice;
                }
                if (stop_.stop_requested()) return;
            }
        }
        for (const auto& [name, line] : order_) {
            if (full()) return;
            const ItemRef item = session_.sliceItem(line, first[name]);
            const std::string_view text = trace.text(name);
            hits_.push_back({fromUtf8(text), tr("%Ln slice(s)", nullptr, static_cast<int>(count[name])), item,
                             item.step, item.rank, -1});
        }
    }

    [[nodiscard]] std::vector<bool> namesThatFit(const Trace& trace) const {
        std::vector<bool> fits(trace.strings().size());
        std::string wanted = text_.toStdString();
        std::ranges::transform(wanted, wanted.begin(), [](unsigned char c) { return std::tolower(c); });
        bool any = false;
        const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
        for (std::size_t id = 1; id < fits.size() && !wanted.empty(); ++id) {
            const std::string_view name = trace.text(static_cast<StringId>(id));
            fits[id] = std::search(name.begin(), name.end(), wanted.begin(), wanted.end(), same) != name.end();
            any = any || fits[id];
        }
        if (!any) fits.clear();
        return fits;
    }

    const Session& session_;
    QString text_;
    int step_;
    std::size_t max_hits_;
    std::stop_token stop_;
    std::vector<SearchHit> hits_;
    std::vector<std::pair<StringId, int>> order_; ///< names in the order of the search, with their line
};

} // namespace

std::vector<SearchHit> search(const Session& session, const QString& text, int current_step, std::size_t max_hits,
                              std::stop_token stop) {
    return Search(session, text.simplified(), current_step, max_hits, std::move(stop)).run();
}

std::vector<SearchHit> countersNamed(const Session& session, const std::vector<std::string>& words,
                                     const std::vector<RowFilter::Span>& ranks) {
    std::vector<SearchHit> hits;
    const std::vector<CounterLine> lines = counterLines(session);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const int line = lines[i].line;
        if (line < 0 || !accepts(ranks, session.rankOf(line).value_or(-1))) continue;
        const CounterSeries& series = session.run.trace->counters()[i];
        const QString name = fromUtf8(session.run.trace->text(series.name)).simplified();
        const bool fits = std::ranges::all_of(
            words, [&name](const std::string& word) { return name.contains(fromUtf8(word), Qt::CaseInsensitive); });
        if (!fits) continue;
        hits.push_back({name, tr("counter of %1").arg(lineName(session, line)), {}, -1, line, -1, true});
    }
    return hits;
}

void goTo(ViewState& state, const SearchHit& hit) {
    if (!state.session()) return;
    if (hit.counter) {
        RowChoice rows = state.rows();
        rows.counters = true;
        if (!state.session()->hasSteps()) rows.setUnfolded(hit.rank, true);
        state.setRows(std::move(rows));
        emit state.rankRequested(state.session()->hasSteps() ? state.session()->lanes.rankOf(hit.rank) : hit.rank);
        return;
    }
    if (hit.anomaly >= 0) return goTo(state, state.session()->report.anomalies[static_cast<std::size_t>(hit.anomaly)]);
    if (hit.step >= 0 && (!hit.item || hit.item.kind == ItemKind::Op)) state.showStep(hit.step);
    if (hit.item) {
        state.select(hit.item);
        state.zoomTo(hit.item);
    }
    if (hit.rank >= 0) emit state.rankRequested(hit.rank);
}

} // namespace bubblescope::gui
