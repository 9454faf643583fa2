#include "app/gui/models/comparison.h"

#include "app/gui/language/text.h"
#include "app/gui/models/item_text.h"
#include "core/analysis/comparison/cause.h"
#include "core/analysis/comparison/measures.h"
#include "core/timeline/step_selection.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace bubblescope::gui {

namespace {

QString phaseText(Phase phase) {
    switch (phase) {
    case Phase::WarmUp: return tr("warm-up");
    case Phase::Steady: return tr("steady");
    case Phase::CoolDown: break;
    }
    return tr("cool-down");
}

QString placeText(const MeasureKey& key) {
    const QString rank = tr("Rank %1").arg(key.rank);
    return key.replica == 0 ? rank : tr("Replica %1, rank %2").arg(key.replica).arg(key.rank);
}

} // namespace

QString nameByDifference(const std::vector<std::filesystem::path>& open,
                         const std::vector<std::filesystem::path>& other) {
    if (other.empty()) return {};
    // If one run is a folder of files and the other a list of files, they are compared by their folders.
    const auto placeOf = [](const std::vector<std::filesystem::path>& paths, bool folder) {
        const std::filesystem::path whole = std::filesystem::absolute(paths.front()).lexically_normal();
        return folder ? whole.parent_path() : whole;
    };
    const bool folders = other.size() > 1 && open.size() > 1;
    const std::filesystem::path there = placeOf(other, folders);
    const std::filesystem::path here = open.empty() ? std::filesystem::path() : placeOf(open, folders);
    const std::vector<std::filesystem::path> known(here.begin(), here.end());
    std::filesystem::path name;
    std::size_t at = 0;
    for (const std::filesystem::path& part : there) {
        if (at >= known.size() || known[at] != part) name /= part;
        ++at;
    }
    // Runs in unrelated folders are distinguished by the last parts of their paths.
    constexpr std::ptrdiff_t kMostParts = 2;
    if (name.empty() || std::distance(name.begin(), name.end()) > kMostParts) name = there.filename();
    return fromUtf8(name.generic_string());
}

Result<ComparisonPtr> compareWith(SessionPtr before, const RunLoader& loader,
                                  const std::vector<std::filesystem::path>& paths, JobControl& control) {
    BUBBLESCOPE_ASSIGN(Run run, loader.run(paths, control));
    if (run.steps.empty())
        return inputError(paths.empty() ? std::string() : paths.front().string(), "contains no complete pipeline step",
                          "record at least one complete training step");
    run.trace.reset(); // only its ops are compared and shown
    auto out = std::make_shared<Comparison>();
    out->before = std::move(before);
    out->after = std::make_shared<const Run>(std::move(run));
    out->after_name = nameByDifference(out->before->run.files, paths);
    out->result = compareRuns(out->before->run, *out->after);
    out->typical_after = static_cast<int>(selectSteps(out->after->steps).typicalTimeline());
    return ComparisonPtr(std::move(out));
}

Result<ActivityComparisonPtr> compareActivityWith(SessionPtr before, const RunLoader& loader,
                                                  const std::vector<std::filesystem::path>& paths,
                                                  JobControl& control) {
    BUBBLESCOPE_ASSIGN(const LoadedTrace loaded, loader.trace(paths, control));
    if (!loaded.no_pipeline)
        return usageError("the other trace has a pipeline, but the open one does not",
                          "compare traces of the same kind");
    BUBBLESCOPE_ASSIGN(const std::vector<FileActivity> activity, activityOf(loaded));
    auto out = std::make_shared<ActivityComparison>();
    out->after_name = nameByDifference(before->run.files, paths);
    out->changes = compareActivity(before->activity, activity);
    out->before = std::move(before);
    if (out->changes.empty())
        return usageError("the two traces have no devices or steps in common", "compare traces of device work");
    return ActivityComparisonPtr(std::move(out));
}

namespace {

Sentence partText(ActivityPart part) {
    switch (part) {
    case ActivityPart::Time: return say(QT_TRANSLATE_NOOP("Comparison", "time"));
    case ActivityPart::Compute: return say(QT_TRANSLATE_NOOP("Comparison", "compute"));
    case ActivityPart::ExposedCommunication: return say(QT_TRANSLATE_NOOP("Comparison", "exposed communication"));
    case ActivityPart::HiddenCommunication: return say(QT_TRANSLATE_NOOP("Comparison", "communication behind compute"));
    case ActivityPart::Copies: return say(QT_TRANSLATE_NOOP("Comparison", "exposed copies"));
    case ActivityPart::Idle: break;
    }
    return say(QT_TRANSLATE_NOOP("Comparison", "idle"));
}

QString ownerText(const ActivityChange& change) {
    return change.of_step ? tr("Typical step") : tr("Rank %1 · %2").arg(change.rank).arg(fromUtf8(change.device));
}

} // namespace

report::Table activityTable(const ActivityComparison& comparison) {
    using report::Align;
    report::Table table("changes", {report::shown(QT_TRANSLATE_NOOP("Comparison", "device"), Align::Left),
                                    report::shown(QT_TRANSLATE_NOOP("Comparison", "part"), Align::Left),
                                    report::shown(QT_TRANSLATE_NOOP("Comparison", "open trace")),
                                    report::shown(QT_TRANSLATE_NOOP("Comparison", "other trace")),
                                    report::shown(QT_TRANSLATE_NOOP("Comparison", "change")),
                                    report::shown(QT_TRANSLATE_NOOP("Comparison", "share (open)")),
                                    report::shown(QT_TRANSLATE_NOOP("Comparison", "share (other)"))});
    for (const ActivityChange& change : comparison.changes)
        table.row(report::Cell(ownerText(change).toStdString()), report::Cell(partText(change.part)), change.a,
                  change.b, report::Cell(change.b - change.a, report::Look::Delta),
                  report::Cell(change.share_a, report::Look::Percent),
                  report::Cell(change.share_b, report::Look::Percent));
    return table;
}

QString activityText(const ActivityComparison& comparison) {
    const auto& changes = comparison.changes;
    const ActivityChange& first = changes.front();
    QString step;
    if (first.of_step)
        step = tr("%1: the typical step went from %2 to %3 (%4).")
                   .arg(comparison.after_name, shortTime(first.a), shortTime(first.b), timeDelta(first.b - first.a));
    const ActivityChange* most = nullptr;
    for (const ActivityChange& change : changes) {
        if (change.part == ActivityPart::Time || change.of_step != first.of_step) continue;
        const auto moved = [](const ActivityChange& one) { return std::abs(one.share_b - one.share_a); };
        if (most == nullptr || moved(change) > moved(*most)) most = &change;
    }
    if (most == nullptr) return step;
    const QString largest =
        tr("Largest change: %1, %2, from %3 to %4 of the time.")
            .arg(ownerText(*most), translated(partText(most->part)), percent(most->share_a), percent(most->share_b));
    return step.isEmpty() ? QStringLiteral("%1: %2").arg(comparison.after_name, largest)
                          : step + QLatin1Char(' ') + largest;
}

QString measureText(const MeasureKey& key) {
    const QChar letter = QChar::fromLatin1(opLetter(key.kind));
    switch (key.subject) {
    case Subject::Step: return tr("Step time");
    case Subject::RankBubble: return tr("%1: total idle time").arg(placeText(key));
    case Subject::Bubble:
        return tr("%1: idle time %2")
            .arg(placeText(key),
                 QCoreApplication::translate("Position", std::string(positionName(key.position)).c_str()));
    case Subject::StageWork: return tr("Stage %1: all its ops").arg(key.stage);
    case Subject::OpGroup:
        return tr("%1: %2 of chunk %3, %4").arg(placeText(key), letter).arg(key.chunk).arg(phaseText(key.phase));
    case Subject::Transfer:
        return key.payload == Payload::Activation ? tr("%1 to %2: activation").arg(placeText(key)).arg(key.peer)
                                                  : tr("%1 to %2: gradient").arg(placeText(key)).arg(key.peer);
    case Subject::Op: break;
    }
    const Op op{key.kind, Microbatch{key.microbatch}, Chunk{key.chunk}, key.sequence};
    return tr("%1: %2, %3").arg(placeText(key), fromUtf8(opName(op)), phaseText(key.phase));
}

QString causeText(const RunComparison& result) {
    const std::optional<RankFactor> slow = rankFactor(result);
    if (!slow) return {};
    const QString factor = ratioText(slow->factor > 1 ? slow->factor : 1 / slow->factor);
    const QString rank = slow->replica == 0 ? tr("Rank %1").arg(slow->rank)
                                            : tr("Replica %1, rank %2").arg(slow->replica).arg(slow->rank);
    const QString what = slow->factor > 1 ? tr("%1 became %2 × slower in every op").arg(rank, factor)
                                          : tr("%1 became %2 × faster in every op").arg(rank, factor);
    if (!slow->alone || !result.step_changed) return tr("%1.").arg(what);
    return tr("%1; this alone explains %2 per step.").arg(what, timeDelta(result.step.shift));
}

std::vector<Highlight> placesOf(const Session& session, int place, const MeasureKey& key) {
    std::vector<Highlight> out;
    for (const MeasuredPart& part : whereIs(key, session.step(place), session.analysis(place).bubbles))
        out.push_back({part.rank.value, {part.interval.start, part.interval.end}});
    return out;
}

namespace {

bool isIdle(const MeasureKey& key) {
    return key.subject == Subject::RankBubble || key.subject == Subject::Bubble;
}

bool isOp(const MeasureKey& key) {
    return key.subject == Subject::OpGroup || key.subject == Subject::Op;
}

bool acceptsWord(const MeasureKey& key, const QString& text, const QString& word) {
    const qsizetype at = word.indexOf(QLatin1Char('='));
    bool is_number = false;
    const int number = at < 0 ? 0 : word.mid(at + 1).toInt(&is_number);
    if (is_number) {
        const QString name = word.left(at).toLower();
        if (name == QLatin1String("rank")) return key.rank == number || (key.peer == number && key.peer >= 0);
        if (name == QLatin1String("stage")) return key.stage == number;
        if (name == QLatin1String("chunk")) return key.chunk == number;
        if (name == QLatin1String("replica")) return key.replica == number;
        if (name == QLatin1String("mb")) return key.microbatch == number;
    }
    if (word.size() == 1 && QStringLiteral("FBIWO").contains(word.front()))
        return isOp(key) && word.front() == QChar::fromLatin1(opLetter(key.kind));
    return text.contains(word, Qt::CaseInsensitive);
}

} // namespace

bool ChangeFilter::accepts(const Change& change, double alpha) const {
    const MeasureKey& key = change.key;
    if (key.subject == Subject::Step) return true;
    switch (kind) {
    case All: break;
    case Ops:
        if (!isOp(key)) return false;
        break;
    case Transfers:
        if (key.subject != Subject::Transfer) return false;
        break;
    case Idle:
        if (!isIdle(key)) return false;
        break;
    case Stages:
        if (key.subject != Subject::StageWork) return false;
        break;
    }
    if (beyond_chance && (!change.chance || *change.chance >= alpha)) return false;
    const QString text = measureText(key);
    const QStringList list = words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    return std::ranges::all_of(list, [&](const QString& word) { return acceptsWord(key, text, word); });
}

SortedChanges::SortedChanges(ComparisonModel& changes, QObject* parent)
    : QSortFilterProxyModel(parent), changes_(changes) {
    setSourceModel(&changes);
    setSortRole(ComparisonModel::kSortRole);
}

void SortedChanges::show(const ChangeFilter& filter) {
    filter_ = filter;
    invalidateFilter();
}

bool SortedChanges::filterAcceptsRow(int row, const QModelIndex&) const {
    return filter_.accepts(changes_.at(row), changes_.alpha());
}

void ComparisonModel::show(ComparisonPtr comparison) {
    beginResetModel();
    rows_.clear();
    if (comparison) {
        const RunComparison& result = comparison->result;
        rows_ = result.changes;
        rows_.insert(rows_.end(), result.ops.begin(), result.ops.end());
        alpha_ = result.limits.alpha;
        // Ops and transfers come first, because they cause idle time. Each group is sorted by cost.
        std::ranges::stable_sort(rows_, [&](const Change& a, const Change& b) {
            if (isIdle(a.key) != isIdle(b.key)) return isIdle(b.key);
            return std::chrono::abs(a.per_step) > std::chrono::abs(b.per_step);
        });
        rows_.insert(rows_.begin(), result.step);
    }
    endResetModel();
}

QVariant ComparisonModel::sortValue(const Change& change, int column) {
    const auto ns = [](TimeNs time) { return QVariant::fromValue<qlonglong>(time.count()); };
    switch (column) {
    case Before: return ns(change.a);
    case After: return ns(change.b);
    case ChangeColumn: return ns(change.shift);
    case PerStep: return ns(std::chrono::abs(change.per_step));
    case Chance: return change.chance.value_or(2);
    default: return measureText(change.key);
    }
}

QString ComparisonModel::text(const Change& change, int column) {
    switch (column) {
    case What: return measureText(change.key);
    case Before: return shortTime(change.a);
    case After: return shortTime(change.b);
    case ChangeColumn: {
        const QString by = timeDelta(change.shift);
        if (change.a <= TimeNs{0}) return by;
        return QStringLiteral("%1 (%2)").arg(by, relativeChange(fractionOf(change.shift, change.a)));
    }
    case PerStep: return timeDelta(change.per_step);
    case Chance: return change.chance ? QString::number(*change.chance, 'f', 4) : tr("untested");
    default: return {};
    }
}

std::vector<ColumnModel::Column> ComparisonModel::columns() const {
    return {{tr("Item")},
            {tr("Open run"), true},
            {tr("Other run"), true},
            {tr("Change"), true},
            {tr("Per step"), true},
            {tr("p-value"), true,
             tr("Probability that any of the differences would be this large if the runs were identical")}};
}

QVariant ComparisonModel::cell(std::size_t row, int column, int role) const {
    const Change& change = rows_[row];
    if (role == Qt::DisplayRole) return text(change, column);
    if (role == kSortRole) return sortValue(change, column);
    if (role == Qt::ToolTipRole && column == What) return measureText(change.key);
    if (role == Qt::ToolTipRole && column == ChangeColumn && change.chance)
        return tr("95 % confidence interval: %1 to %2").arg(timeDelta(change.low), timeDelta(change.high));
    return {};
}

} // namespace bubblescope::gui
