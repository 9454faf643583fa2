#include "core/base/field.h"
#include "core/base/free_memory.h"
#include "core/cost/measured_times.h"
#include "core/formats/read_trace.h"
#include "core/formats/source/mapped_file.h"
#include "core/recognise/assemble.h"
#include "core/recognise/dispatch_match.h"
#include "core/recognise/encoders.h"
#include "core/recognise/ended_processes.h"
#include "core/recognise/extractors.h"
#include "core/recognise/infer_chunks.h"
#include "core/recognise/kernel_steps.h"
#include "core/recognise/match_schedule.h"
#include "core/recognise/moving_guess.h"
#include "core/recognise/rule_matches.h"
#include "core/recognise/run.h"
#include "core/schedule/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

std::string nameInput(const std::vector<std::filesystem::path>& paths) {
    const std::string first = paths.empty() ? std::string{} : paths.front().string();
    return paths.size() <= 1 ? first : fmt::format("{} and {} more", first, paths.size() - 1);
}

/// "cpu_op 5000, user_annotation 180": the most frequent categories.
std::string categorySummary(const std::vector<CategoryCounts>& files) {
    constexpr std::size_t kShown = 6;
    CategoryCounts counts;
    for (const CategoryCounts& file : files) {
        for (const auto& [category, count] : file)
            counts[category] += count;
    }
    std::vector<std::pair<std::string, std::size_t>> order(counts.begin(), counts.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string out;
    for (std::size_t i = 0; i < std::min(order.size(), kShown); ++i) {
        const std::string& name = order[i].first;
        out += fmt::format("{}{} {}", i == 0 ? "" : ", ", name.empty() ? "(none)" : name, order[i].second);
    }
    if (order.size() > kShown) out += fmt::format(" and {} more", order.size() - kShown);
    return out;
}

Result<FoundOps> nothingRecognised(RawTrace& raw, const std::string& where, const std::string& why_not) {
    std::vector<std::string> looked_for;
    for (const RecognitionRule& rule : builtinRules()) {
        looked_for.push_back(fmt::format("'{}' ({})", rule.ops.front().name.text(), rule.name));
    }
    BUBBLESCOPE_ASSIGN(const std::vector<CategoryCounts> categories, extract(raw, kCategories));
    const std::size_t slices = recordedSlices(raw.trace());
    const std::string found = slices == 0
                                  ? std::string("no slices at all")
                                  : fmt::format("{} slices of the categories {}", slices, categorySummary(categories));
    const bool kineto = std::ranges::any_of(raw.files(), [](const TraceFile& file) { return file.format == "kineto"; });
    const std::string names = fmt::format("{}", fmt::join(looked_for, ", "));
    std::string message =
        fmt::format("no pipeline ops found: searched for Bubblescope's names and for {}; found {}", names, found);
    if (!why_not.empty()) message = fmt::format("{}; without names: {}", message, why_not);
    return inputError(
        where, message,
        kineto ? fmt::format(
                     "ops without annotations are recognised by their sends and receives: also record host operators "
                     "on all pipeline ranks, or specify the schedule with {}; define other op names with {}",
                     Field("schedule"), Field("rules"))
               : fmt::format("define other op names with {}", Field("rules")));
}

void describeInput(const Trace& trace, Run& run) {
    for (const TraceFile& file : trace.files()) {
        if (file.format.empty()) continue; // unusable
        if (run.files.empty() || run.files.back() != file.path) run.files.push_back(file.path);
        if (run.format.empty()) run.format = file.format;
    }
    run.slices = static_cast<std::int64_t>(recordedSlices(trace));
    run.span = trace.span();
}

/// Converts owners that are global ranks to pipeline ranks, and each coordinate on the other axes to a replica. Ranks
/// that differ only in their tensor or context coordinate run the same ops at the same time, so the first one
/// represents all.
void placeOwners(FoundOps& found, const RankPlaces& places, const std::string& where, DiagnosticLog& log) {
    std::set<std::int64_t> others;
    const auto other = [&](const auto& item) {
        const auto place = places.ranks.find(item.owner);
        if (place == places.ranks.end()) return false;
        const MeshNumbers& at = place->second;
        if (at.at(MeshAxis::Tensor) == 0 && at.at(MeshAxis::Context) == 0) return false;
        others.insert(item.owner);
        return true;
    };
    found.ops.eraseIf(other);
    found.comm.eraseIf(other);
    const auto place = [&](auto& item) {
        const MeshNumbers& at = places.ranks.at(item.owner);
        item.owner = at.at(MeshAxis::Pipeline);
        item.replica = at.at(MeshAxis::Data);
    };
    std::for_each(found.ops.begin(), found.ops.end(), place);
    std::for_each(found.comm.begin(), found.comm.end(), place);
    if (others.empty()) return;
    log.add("tensor-parallel", where, say("only the first rank of each tensor- or context-parallel group is shown"),
            static_cast<std::int64_t>(others.size()));
}

/// Files of jobs of different sizes come from different runs, and their ranks are not one pipeline.
Status mustBeOneJob(std::span<const TraceFile> files, const std::string& where, DiagnosticLog& log) {
    std::map<std::int32_t, std::vector<const TraceFile*>> jobs;
    for (const TraceFile& file : files) {
        if (file.world_size && !file.format.empty()) jobs[*file.world_size].push_back(&file);
    }
    if (jobs.size() < 2) return {};
    std::vector<std::string> texts;
    for (const auto& [size, of_job] : jobs)
        texts.push_back(fmt::format("{} of {} ranks ({})", of_job.size(), size, of_job.front()->path.string()));
    const std::string list = fmt::format("{}", fmt::join(texts, ", "));
    log.add("different-jobs", where,
            say("the files belong to different jobs, so they were not searched for a pipeline: {}", list));
    return inputError(where, fmt::format("the files belong to different jobs: {}", list),
                      "specify the files or the folder of one of them");
}

/// Compares the user's mesh with the pipeline that was found.
void compareMesh(const LoadOptions& options, const Layout& layout, const std::string& where, DiagnosticLog& log) {
    if (!options.mesh) return;
    const int stated = options.mesh->sizes.at(MeshAxis::Pipeline);
    if (stated <= 1 || stated == layout.pp) return;
    log.add("mesh-differs", where,
            say("{} specifies {} pipeline ranks, but the trace shows {}; using the trace", Field("mesh").term(), stated,
                layout.pp));
}

/// For jobs whose number of ranks is recorded. Ranks may be left out on purpose, such as replicas, but not so many that
/// the pipeline does not divide the job.
void reportAbsentRanks(std::span<const TraceFile> files, const Layout& layout, const std::string& where,
                       DiagnosticLog& log) {
    std::set<std::int32_t> here;
    std::int32_t all = 0;
    for (const TraceFile& file : files) {
        if (file.rank) here.insert(*file.rank);
        all = std::max(all, file.world_size.value_or(0));
    }
    const auto present = static_cast<std::int32_t>(here.size());
    if (here.empty() || present >= all) return;
    const bool cut = all % layout.pp != 0;
    log.add(cut ? "missing-ranks" : "absent-ranks", where,
            say("found files of only {} of the job's {} ranks", present, all), all - present);
}

bool holdsOps(const FoundOps& found) {
    return std::any_of(found.ops.begin(), found.ops.end(),
                       [](const BareFoundOp& op) { return op.kind != OpKind::Optimizer; });
}

/// The layers of all stages, which each rank reports for its own; empty if some are missing.
std::vector<int> layersOfStages(const std::vector<ProfilerMarks>& marks) {
    std::map<Stage, int> known;
    for (const ProfilerMarks& file : marks) {
        if (const auto stated = file.stated.find("layers"); stated != file.stated.end())
            known.merge(statedLayers(stated->second));
    }
    std::vector<int> layers;
    for (const auto& [stage, count] : known) {
        if (stage.index() != layers.size() || count < 1) return {};
        layers.push_back(count);
    }
    return layers;
}

/// The names that the framework of a recorded job reports for itself and its schedule, which are the same on all ranks.
void takeStatements(const std::vector<ProfilerMarks>& marks, Explanation& explanation) {
    for (const ProfilerMarks& file : marks) {
        const auto value = [&file](const std::string& name) {
            const auto known = file.stated.find(name);
            return known == file.stated.end() ? std::string() : known->second;
        };
        if (value("framework").empty()) continue;
        explanation.framework = value("framework") + (value("version").empty() ? "" : " " + value("version"));
        explanation.called = value("schedule");
        explanation.family = value("family");
        explanation.flavor = value("flavor");
        explanation.layers = layersOfStages(marks);
        return;
    }
}

/// Frameworks that hold the model twice number its stages as in Placement::Bidirectional. A rule does not know that,
/// and takes the consumer of a send for the next stage; it is the next but one.
void takeDirections(const Explanation& explanation, FoundOps& found) {
    const ScheduleFamily* const family = findScheduleFamily(explanation.family);
    if (family == nullptr || family->placement != Placement::Bidirectional || found.parts != Parts::Stages) return;
    found.bidirectional = true;
    for (FoundComm& comm : found.comm) {
        if (comm.kind == CommKind::Send) comm.stage = comm.stage + (comm.payload == Payload::Activation ? 1 : -1);
    }
}

/// Checks that extracts keep what these rules find.
Status extractsKnow(const RawTrace& raw, std::span<const RecognitionRule> rules) {
    for (const TraceFile& file : raw.files()) {
        for (const RecognitionRule& rule : rules) {
            if (file.extract == nullptr || file.extract->rules.contains(keyOf(rule))) continue;
            return inputError(file.path.string(), fmt::format("is an extract created without the rule '{}'", rule.name),
                              "extract the trace again with the same rules, and with this version of the program");
        }
    }
    return {};
}

/// Recognises ops by our own marks, the user's rules, the built-in ones, or otherwise by inference.
Result<FoundOps> recognise(RawTrace& raw, const LoadOptions& options, const std::string& where, Run& run,
                           DiagnosticLog& log) {
    const std::span<const TraceFile> files = raw.files();
    BUBBLESCOPE_TRY(mustBeOneJob(files, where, log));
    BUBBLESCOPE_ASSIGN(const std::vector<ProfilerMarks> marks, extract(raw, kProfilerMarks));
    reportEndedProcesses(files, marks, log);
    reportSampledKernels(files, marks, log);
    BUBBLESCOPE_ASSIGN(run.places, rankPlaces(files, marks, options.mesh));
    BUBBLESCOPE_ASSIGN(std::vector<NativeMarks> native_marks, extract(raw, kNativeMarks));
    if (FoundOps native = mergeNativeMarks(std::move(native_marks), files, log); holdsOps(native)) {
        run.annotation = "Bubblescope";
        return native;
    }
    for (std::size_t i = 0; i < options.rules.size() + builtinRules().size(); ++i) {
        const RecognitionRule& rule =
            i < options.rules.size() ? options.rules[i] : builtinRules()[i - options.rules.size()];
        BUBBLESCOPE_ASSIGN(std::vector<RuleFinds> finds, extract(raw, kRuleFinds, rule));
        const RuleMatches matches = mergeRuleFinds(rule, std::move(finds), files, log);
        if (matches.matches.empty()) continue;
        FoundOps found = applyRule(rule, matches, marks, files, log);
        if (!holdsOps(found)) continue;
        run.annotation = rule.name;
        takeStatements(marks, run.explanation);
        takeDirections(run.explanation, found);
        if (!rule.format.empty()) run.format = rule.format;
        if (found.owners_are_global && run.places) {
            placeOwners(found, *run.places, where, log);
            if (!holdsOps(found)) {
                return inputError(where,
                                  "the files do not contain the first rank of any tensor- or context-parallel group",
                                  "load the files of the first rank of each group as well");
            }
        }
        inferChunks(found, where, log);
        return found;
    }
    BUBBLESCOPE_ASSIGN(std::vector<RankBlocks> blocks, extract(raw, kComputeBlocks));
    Inference inferred = inferOps(files, std::move(blocks), marks, options, run.places, log);
    if (inferred.found.ops.empty()) return nothingRecognised(raw, where, inferred.why_not);
    run.annotation = "inferred from the order of compute and transfers";
    run.explanation = std::move(inferred.explanation);
    return std::move(inferred.found);
}

/// The flavor of the family that produces this order, if the user left it open; else the default.
Result<Schedule> closestFlavor(const ScheduleSpec& spec, const Schedule& observed) {
    Result<Schedule> usual = makeSchedule(spec);
    const ScheduleFamily* const family = findScheduleFamily(spec.name);
    if (!spec.flavor.empty() || family == nullptr) return usual;
    for (const std::string_view flavor : family->flavors) {
        ScheduleSpec other = spec;
        other.flavor = flavor;
        Result<Schedule> made = makeSchedule(other);
        if (made.ok() && made.value().placement == observed.placement && made.value().ranks == observed.ranks)
            return made;
    }
    return usual;
}

/// The schedule that the user gave, completed with the observed sizes; nothing if none was given.
Result<std::optional<Schedule>> givenSchedule(const LoadOptions& options, const Schedule& observed,
                                              const std::string& where) {
    std::optional<Schedule> given = options.schedule;
    if (options.family) {
        ScheduleSpec spec = *options.family;
        if (spec.pp == 0) spec.pp = observed.pp;
        if (spec.microbatches == 0) spec.microbatches = observed.microbatches;
        if (spec.vpp == 0) spec.vpp = observed.vpp;
        const Result<Schedule> made = closestFlavor(spec, observed);
        const bool of_trace = options.family->vpp == 0 || options.family->pp == 0 || options.family->microbatches == 0;
        if (!made.ok() && of_trace && findScheduleFamily(spec.name) != nullptr)
            return inputError(where,
                              fmt::format("the trace has {}, which is impossible in the specified schedule: {}",
                                          sizesText(observed), made.error().message),
                              "use another schedule, or omit it to have the schedule detected");
        BUBBLESCOPE_ASSIGN(given, made);
    }
    const auto sizes = [](const Schedule& schedule) {
        // With one chunk per rank the placements are the same.
        return std::tuple(schedule.pp, schedule.microbatches, schedule.vpp,
                          schedule.vpp == 1 ? Placement::Loop : schedule.placement);
    };
    if (!given || sizes(*given) == sizes(observed)) return given;
    const auto text = [](const Schedule& schedule) {
        return fmt::format("{} ({})", sizesText(schedule), placementName(schedule.placement));
    };
    return inputError(where,
                      fmt::format("the specified schedule has {}, but the trace has {}", text(*given), text(observed)),
                      "correct the sizes, or omit the schedule to have it detected");
}

/// Places the stages of encoders, as stated by the user or as the order shows; traces number only ranks.
void placeEncoders(std::vector<StepTimeline>& steps, const LoadOptions& options) {
    const StepTimeline& first = steps.front();
    if (first.placement != Placement::Loop || first.vpp != 1) return;
    Encoders encoders;
    if (options.family) encoders = options.family->encoders;
    if (options.schedule) encoders = encodersOf(options.schedule->placement);
    if (!options.family && !options.schedule) encoders = shownEncoders(first);
    if (encoders.ranks() >= first.pp) return; // findSchedule() reports it
    for (StepTimeline& step : steps)
        step.placement = encoderPlacement(encoders);
}

/// Compares the observed order with the given schedule, or with all known ones.
Status findSchedule(Run& run, const LoadOptions& options, const std::string& where, DiagnosticLog& log) {
    placeEncoders(run.steps, options);
    Schedule observed = observedOrder(run.steps.front());
    const std::int64_t others = countOtherOrders(run.steps, observed, log);
    BUBBLESCOPE_ASSIGN(const std::optional<Schedule> given, givenSchedule(options, observed, where));
    if (given) {
        run.departure = compareOrders(*given, observed).departure;
        run.closest = given->name;
        if (run.departure) run.closest_order = *given;
        run.schedule = run.departure ? std::move(observed) : *given;
        run.explanation.source = "given";
    } else {
        nameSchedule(run, std::move(observed), typicalCosts(run.steps.front()));
    }
    if (run.explanation.evidence.empty())
        explainNamedOps(run.explanation, static_cast<std::int64_t>(run.steps.size()), others);
    explainDispatch(run);
    if (run.schedule.placement == Placement::Moving && run.schedule.pp > 1) {
        log.add("unrecorded-weights", where,
                say("traces do not record messages with weights, so waits for them count as unexplained"));
    }
    return {};
}

/// Reads the checks of the pipeline that was found; counts and omits records of ranks and chunks that it does not have.
Result<CheckLog> readChecks(RawTrace& raw, const Layout& layout, const std::string& where, DiagnosticLog& log) {
    BUBBLESCOPE_ASSIGN(std::vector<NativeChecks> found, extract(raw, kNativeChecks));
    CheckLog checks = mergeNativeChecks(std::move(found), log);
    const auto stray = [&](const auto& record) {
        return record.rank.value >= layout.pp || record.op.chunk.value >= layout.vpp;
    };
    const std::size_t count = std::erase_if(checks.checks, stray) + std::erase_if(checks.digests, stray);
    if (count > 0) {
        log.add("stray-check", where, say("skipped checks and digests of ranks or chunks without ops"),
                static_cast<std::int64_t>(count));
    }
    return checks;
}

/// Finds the pipeline of a trace that was read; the trace's own members of `run` must be set.
Status findPipeline(RawTrace& raw, const LoadOptions& options, const std::string& where, Run& run, DiagnosticLog& log) {
    const JobControl& control = raw.control();
    BUBBLESCOPE_ASSIGN(FoundOps found, recognise(raw, options, where, run, log));
    run.info = found.info;
    run.timing = found.timing;
    for (StringId id = 1; id < found.communicators.size(); ++id)
        run.communicators.emplace_back(found.communicators.text(id));
    raw.forgetGpu();          // memory use peaks from here on
    MappedFile::releaseAll(); // args that recognition read in files
    if (control.stopRequested()) return cancelledError();

    guessMovingStages(found, where, log);
    if (found.moving) run.explanation.source = "inferred";
    BUBBLESCOPE_TRY(splitReplicas(found, where));
    BUBBLESCOPE_ASSIGN(const Layout layout, inferLayout(found, where));
    compareMesh(options, layout, where, log);
    reportAbsentRanks(raw.files(), layout, where, log);
    constexpr std::size_t kMany = 1 << 20; // their records take several hundred megabytes
    const bool many = found.ops.size() >= kMany;
    BUBBLESCOPE_ASSIGN(run.steps, assembleSteps(std::move(found), layout, where, log));
    if (many) returnFreeMemory();
    BUBBLESCOPE_ASSIGN(run.checks, readChecks(raw, layout, where, log));
    if (control.stopRequested()) return cancelledError();
    return findSchedule(run, options, where, log);
}

} // namespace

std::span<const TraceFile> Run::inputs() const {
    return trace != nullptr ? trace->files() : std::span<const TraceFile>{};
}

Result<LoadedTrace> loadTrace(const std::vector<std::filesystem::path>& paths, JobControl& control,
                              const LoadOptions& options) {
    BUBBLESCOPE_ASSIGN(ReadTraces read, readTraces(paths, control, {options.first_bytes, options.reading}));
    DiagnosticLog log(std::move(read.problems));
    RawTrace raw(std::move(read.trace), &control);
    const std::string where = nameInput(paths);
    if (control.stopRequested()) return cancelledError();

    BUBBLESCOPE_TRY(extractsKnow(raw, options.rules));
    BUBBLESCOPE_TRY(extractsKnow(raw, builtinRules()));
    Run plain;
    plain.trace = raw.sharedTrace();
    describeInput(raw.trace(), plain);
    LoadedTrace loaded{plain, {}, false, {}};
    if (const Status found = findPipeline(raw, options, where, loaded.run, log); !found.ok()) {
        const bool stated = options.schedule || options.family;
        if (found.error().kind != ErrorKind::Input || stated || raw.isDamaged()) return found.error();
        const bool holds_ops = !loaded.run.annotation.empty();
        loaded = {std::move(plain), found.error(), holds_ops, raw.knownGpu()};
    }
    loaded.run.problems = log.take();
    return loaded;
}

Result<Run> loadRun(const std::vector<std::filesystem::path>& paths, JobControl& control, const LoadOptions& options) {
    BUBBLESCOPE_ASSIGN(LoadedTrace loaded, loadTrace(paths, control, options));
    if (!loaded.no_pipeline) return std::move(loaded.run);
    Error error = *std::move(loaded.no_pipeline);
    for (const Diagnostic& problem : loaded.run.problems) { // what is missing may be in a file that cannot be read
        if (problem.kind == "unusable-file")
            error.message += fmt::format("; {}: {}", problem.where.text(), problem.message.text());
    }
    return error;
}

Result<RecordedChecks> loadChecks(const std::vector<std::filesystem::path>& paths, JobControl& control) {
    BUBBLESCOPE_ASSIGN(ReadTraces read, readTraces(paths, control));
    DiagnosticLog log(std::move(read.problems));
    RawTrace raw(std::move(read.trace), &control);
    RecordedChecks result;
    for (const TraceFile& file : raw.files()) {
        if (!file.format.empty()) result.files.push_back(file.path);
    }
    BUBBLESCOPE_ASSIGN(std::vector<NativeMarks> marks, extract(raw, kNativeMarks));
    result.info = mergeNativeMarks(std::move(marks), raw.files(), log).info;
    BUBBLESCOPE_ASSIGN(std::vector<NativeChecks> checks, extract(raw, kNativeChecks));
    result.log = mergeNativeChecks(std::move(checks), log);
    result.problems = log.take();
    if (!result.log.empty()) return result;
    std::string why = "no checks or digests found";
    for (const Diagnostic& problem : result.problems)
        why += fmt::format("; {} ({} times)", problem.message.text(), problem.count);
    return inputError(
        paths.empty() ? std::string() : paths.front().string(), why,
        fmt::format("record a run with checks: 'bubblescope run {}', or the interface for other frameworks",
                    optionOf(Field("aadiff"), "…")));
}

} // namespace bubblescope
