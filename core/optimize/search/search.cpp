#include "core/optimize/search/search.h"

#include "core/base/field.h"
#include "core/base/parallel.h"
#include "core/families/no_flush.h"
#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/graph/validate.h"
#include "core/optimize/search/exact.h"
#include "core/optimize/search/improve.h"
#include "core/optimize/search/justify.h"
#include "core/optimize/search/list_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <random>
#include <stop_token>
#include <tuple>
#include <utility>

namespace bubblescope {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kElite = 8;   ///< orders kept from round to round
constexpr std::size_t kTasks = 8;   ///< per round
constexpr int kPassesAtLeast = 24;  ///< passes over all ops per task, if there are many ops
constexpr int kPassesAtMost = 2000; ///< passes if there are few ops, so that rounds stay short
constexpr std::int64_t kMaxOps = 2'000'000;
constexpr OpNumber kExactOps = 400; ///< maximum number of ops for an exact search
constexpr std::int64_t kExactNodes = 200'000;
constexpr std::int64_t kFuseEffort = 4'000'000; ///< ops examined for introducing whole backwards
constexpr int kNoisyEffort = 8;                 ///< factor on the effort, for tasks that evaluate many draws
constexpr int kDefaultRounds = 200;
constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::max();

/// An order and its evaluation.
struct Candidate {
    std::size_t problem = 0;
    RankOrders orders;
    bool paired = false; ///< neighbours run as overlapped pairs
    std::int64_t makespan = kNoStep;
    NoisySteps noisy = {};        ///< under noise, if requested
    std::int64_t score = kNoStep; ///< value by which candidates are ranked: the makespan, or under noise scoreOf()
    std::int64_t activations = 0; ///< maximum over ranks
};

bool shorter(const Candidate& a, const Candidate& b) {
    return std::tie(a.score, a.makespan, a.activations) < std::tie(b.score, b.makespan, b.activations);
}

std::uint64_t seedOf(std::uint64_t seed, std::uint64_t round, std::uint64_t task) {
    std::seed_seq mixed{seed & 0xFFFFFFFFU, seed >> 32U, round, task};
    std::array<std::uint32_t, 2> out{};
    mixed.generate(out.begin(), out.end());
    return std::uint64_t{out[0]} << 32U | out[1];
}

/// Calls work(i) for all i below `count` on up to `threads` threads.
template <class Work>
void onThreads(std::size_t count, int threads, const Work& work) {
    const std::size_t lanes = threads <= 0 ? count : std::min(count, static_cast<std::size_t>(threads));
    parallelFor(lanes, [&](std::size_t lane) {
        for (std::size_t i = lane; i < count; i += lanes)
            work(i);
    });
}

class OrderSearch {
public:
    OrderSearch(const SearchRequest& request, const JobControl& control, const SearchWatch& watch)
        : request_(request), control_(control), watch_(watch), begin_(SteadyClock::now()) {
        limited_.stop = ends_.get_token();
        limited_.at_check = [this] {
            if (control_.stopRequested() || timeIsUp()) ends_.request_stop();
        };
    }

    Result<FoundOrder> run() {
        BUBBLESCOPE_TRY(prepare());
        findBound();
        addFamilies();
        bool more = elite_.empty() || report();
        if (request_.own_flavor) {
            if (elite_.empty()) return control_.stopRequested() ? cancelledError() : nothingRuns();
            result_.stopped = control_.stopRequested() || timeIsUp();
            return finish();
        }
        if (more || elite_.empty()) addRuled();
        if (elite_.empty()) return control_.stopRequested() ? cancelledError() : nothingRuns();
        more = more && report();
        const int rounds =
            request_.rounds.value_or(request_.time_limit ? std::numeric_limits<int>::max() : kDefaultRounds);
        while (more && !done() && result_.rounds < rounds && !timeIsUp()) {
            if (!playRound()) break;
            ++result_.rounds;
            if (result_.rounds == 1) ruleOut();
            more = report();
        }
        result_.stopped = !done() && result_.rounds < rounds;
        return finish();
    }

private:
    Status prepare() {
        BUBBLESCOPE_TRY(checkSizes(request_));
        std::vector<Placement> placements = request_.placements;
        if (placements.empty()) {
            placements.push_back(Placement::Loop);
            if (request_.vpp > 1) placements.push_back(Placement::V);
        }
        std::optional<Error> problem;
        for (const Placement placement : placements) {
            Result<OrderProblem> made = makeProblem(placement);
            if (made.ok())
                problems_.push_back(std::move(made).value());
            else if (!problem)
                problem = std::move(made).error();
        }
        if (problems_.empty()) return *problem;
        return {};
    }

    [[nodiscard]] Result<OrderProblem> makeProblem(Placement placement) const {
        const bool split =
            request_.split == SplitBackward::On || (request_.split == SplitBackward::Auto && !request_.pairs);
        const OrderProblem::Sizes sizes{request_, placement, split};
        MemoryLimits limits;
        limits.activations = request_.activations;
        if (request_.model && !request_.bytes.empty()) {
            Schedule shape;
            shape.pp = sizes.pp;
            shape.microbatches = sizes.microbatches;
            shape.vpp = sizes.vpp;
            shape.placement = placement;
            shape.ranks.resize(static_cast<std::size_t>(sizes.pp));
            BUBBLESCOPE_ASSIGN(limits.model, memoryModel(*request_.model, shape));
            limits.bytes = request_.bytes;
        } else if (request_.stages && !request_.bytes.empty()) {
            limits.model = request_.stages;
            limits.bytes = request_.bytes;
        }
        return OrderProblem::make(sizes, request_.costs, limits);
    }

    /// The bound over all placements is the smallest bound of any of them.
    void findBound() {
        for (const OrderProblem& problem : problems_) {
            StepBound bound = stepBound(problem);
            bounds_.push_back(bound.time);
            if (result_.bound.count() != 0 && bound.time >= result_.bound.count()) continue;
            result_.bound = TimeNs{bound.time};
            result_.reason = std::move(bound.reason);
        }
    }

    [[nodiscard]] bool done() const {
        return !elite_.empty() && !request_.noise && elite_.front().makespan <= result_.bound.count();
    }
    [[nodiscard]] bool timeIsUp() const {
        return request_.time_limit && SteadyClock::now() - begin_ >= *request_.time_limit;
    }
    [[nodiscard]] bool report() const {
        if (control_.stopRequested()) return false;
        if (!watch_) return true;
        const Candidate& front = elite_.front();
        const std::function<Schedule()> best = [&] {
            return scheduleFor(problems_[front.problem], front.orders, front.paired);
        };
        return watch_(
            {result_.rounds, TimeNs{front.makespan}, result_.bound, result_.reason, result_.best_family, best});
    }

    [[nodiscard]] static Schedule scheduleFor(const OrderProblem& problem, const RankOrders& orders, bool paired,
                                              const std::vector<char>& fused = {}) {
        Schedule schedule = scheduleOf(problem, orders, fused);
        if (paired) pairNeighbours(schedule);
        return schedule;
    }

    /// True if an OrderEvaluator finds the times of orders.
    [[nodiscard]] bool exact(const OrderProblem& problem) const { return problem.plain() && !request_.step; }
    [[nodiscard]] Result<TimeNs> lengthOf(const OrderProblem& problem, const Schedule& order) const {
        BUBBLESCOPE_ASSIGN(const StepTimeline step,
                           request_.step ? request_.step(order) : simulate(order, request_.costs));
        return stepLength(problem, step);
    }

    /// Finds the times of an order; false if it deadlocks.
    [[nodiscard]] bool judge(Candidate& candidate) const {
        const OrderProblem& problem = problems_[candidate.problem];
        if (exact(problem)) {
            if (candidate.makespan == kNoStep) {
                OrderEvaluator evaluator(problem);
                if (!evaluator.assign(candidate.orders)) return false;
                candidate.makespan = evaluator.makespan();
            }
        } else {
            candidate.makespan = kNoStep;
            for (const bool paired : {false, true}) {
                if (paired && !request_.pairs) break;
                const auto length = lengthOf(problem, scheduleFor(problem, candidate.orders, paired));
                if (!length.ok() || length.value().count() >= candidate.makespan) continue;
                candidate.makespan = length.value().count();
                candidate.paired = paired;
            }
            if (candidate.makespan == kNoStep) return false;
        }
        candidate.score = candidate.makespan;
        if (request_.noise && problem.plain()) {
            candidate.noisy = noisySteps(problem, candidate.orders, {}, *request_.noise);
            candidate.score = scoreOf(candidate.noisy);
        }
        candidate.activations = 0;
        for (const auto& order : candidate.orders) {
            std::int64_t held = 0;
            for (const OpNumber number : order) {
                const OpKind kind = problem.op(number).kind;
                if (kind == OpKind::Forward) candidate.activations = std::max(candidate.activations, ++held);
                if (kind == OpKind::Backward || kind == OpKind::BackwardWeight) --held;
            }
        }
        return true;
    }

    /// The mean, plus the time by which late steps exceed the best family's: an order must not be worse in either.
    [[nodiscard]] std::int64_t scoreOf(const NoisySteps& noisy) const {
        const auto& family = result_.best_family;
        const std::int64_t late = family && family->noisy ? family->noisy->late : noisy.late;
        return noisy.mean + std::max<std::int64_t>(0, noisy.late - late);
    }

    /// Keeps the best, but no two with the same makespan and placement.
    void keep(std::vector<Candidate> found) {
        for (Candidate& candidate : found) {
            if (candidate.score == kNoStep) continue;
            const auto same = std::ranges::find_if(elite_, [&](const Candidate& other) {
                return std::tie(other.problem, other.score, other.makespan) ==
                       std::tie(candidate.problem, candidate.score, candidate.makespan);
            });
            if (same == elite_.end())
                elite_.push_back(std::move(candidate));
            else if (candidate.activations < same->activations)
                *same = std::move(candidate);
        }
        std::ranges::stable_sort(elite_, shorter);
        if (elite_.size() > kElite) elite_.resize(kElite);
    }

    void addFamilies() {
        std::vector<Candidate> found;
        for (const ScheduleFamily& family : scheduleFamilies()) {
            if (trainsWithDelay(family.name)) continue;
            for (const std::string_view flavor : flavorsOf(family)) {
                if (request_.own_flavor && !flavor.empty() && flavor != *request_.own_flavor) continue;
                for (const int group : groupSizes(family, flavor)) {
                    if (!familiesEnd(found)) addFamily(family, flavor, group, found);
                }
            }
        }
        for (Candidate& candidate : found) {
            if (request_.noise && problems_[candidate.problem].plain()) candidate.score = scoreOf(candidate.noisy);
        }
        keep(std::move(found));
    }

    /// True if the caller ends the search, or the time is up and there is an order.
    [[nodiscard]] bool familiesEnd(const std::vector<Candidate>& found) const {
        return control_.stopRequested() || (!found.empty() && timeIsUp());
    }

    /// The group sizes to try; 0 is the family's default.
    [[nodiscard]] std::vector<int> groupSizes(const ScheduleFamily& family, std::string_view flavor) const {
        std::vector<int> sizes{0};
        const auto used = std::ranges::find(family.uses, SpecPart::GroupSize, &UsedPart::part);
        const bool all = used != family.uses.end() && used->flavors.empty();
        if (!request_.own_flavor || used == family.uses.end()) return sizes;
        if (!all && std::ranges::find(used->flavors, flavor) == used->flavors.end()) return sizes;
        for (int group = request_.pp + 1; group <= request_.microbatches; ++group)
            sizes.push_back(group);
        return sizes;
    }

    void addFamily(const ScheduleFamily& family, std::string_view flavor, int group, std::vector<Candidate>& found) {
        for (std::size_t i = 0; i < problems_.size(); ++i) {
            const OrderProblem& problem = problems_[i];
            if (family.placement != problem.sizes().placement) continue;
            ScheduleSpec spec;
            spec.name = family.name;
            spec.flavor = flavor;
            spec.pp = request_.pp;
            spec.microbatches = request_.microbatches;
            spec.vpp = request_.vpp;
            spec.group_size = group;
            spec.times = request_.costs.stages.empty() ? request_.costs.times : meanTimes(request_.costs.stages);
            spec.comm = request_.costs.comm;
            if (!request_.activations.empty()) spec.memory_limit = *std::ranges::min_element(request_.activations);
            auto made = makeSchedule(spec);
            if (!made.ok()) continue;
            if (!request_.pairs) {
                for (auto& ops : made.value().ranks)
                    for (Op& op : ops)
                        op.overlapped = false;
            }
            const auto whole = [](const Op& op) { return op.kind == OpKind::Backward; };
            const bool in_pairs = request_.pairs && problem.sizes().split;
            if (in_pairs && std::ranges::any_of(made.value().ranks,
                                                [&](const auto& ops) { return std::ranges::any_of(ops, whole); }))
                continue; // a pair with a whole backward saves more than one with a half
            auto orders = ordersOf(problem, made.value());
            if (!orders || !fitsMemory(problem, *orders) || familiesEnd(found)) continue;
            const auto length = lengthOf(problem, made.value());
            if (!length.ok()) continue;
            Candidate candidate{.problem = i, .orders = std::move(*orders)};
            FamilyStep entry{std::string(family.name), made.value().flavor, group, length.value(), {}};
            if (familiesEnd(found) || !judge(candidate)) continue;
            if (request_.noise && problem.plain()) entry.noisy = familyNoise(problem, made.value(), candidate.orders);
            const auto rank = [](const FamilyStep& f) { return f.noisy ? f.noisy->mean : f.makespan.count(); };
            if (!result_.best_family || rank(entry) < rank(*result_.best_family)) {
                result_.best_family = entry;
                family_order_ = made.value();
            }
            found.push_back(std::move(candidate));
        }
    }

    /// Uses the whole backwards of the family.
    [[nodiscard]] NoisySteps familyNoise(const OrderProblem& problem, const Schedule& schedule,
                                         const RankOrders& orders) const {
        std::vector<char> whole(static_cast<std::size_t>(problem.size()), 0);
        if (problem.sizes().split) {
            for (std::size_t r = 0; r < schedule.ranks.size(); ++r) {
                for (const Op& op : schedule.ranks[r]) {
                    if (op.kind != OpKind::Backward) continue;
                    const Stage stage = schedule.stageOf(Rank{r}, op.chunk);
                    whole[static_cast<std::size_t>(problem.find(op.kind, op.microbatch, stage))] = 1;
                }
            }
        }
        return noisySteps(problem, orders, whole, *request_.noise);
    }

    /// Adds orders made by rules, as many as the size allows.
    void addRuled() {
        std::vector<ListRule> rules;
        for (const double in_flight : {1.0, 1.25, 1.5, 2.0, 4.0, 1e6}) {
            for (const bool strict : {true, false}) {
                for (const bool forward_first : {false, true}) {
                    for (const double patience : {0.0, 0.6}) {
                        for (const double fill : {0.0, 0.7}) {
                            for (const bool deep : {true, false}) {
                                if (!deep && request_.vpp == 1) continue;
                                ListRule rule{.in_flight = in_flight,
                                              .forward_first = forward_first,
                                              .strict = strict,
                                              .deep_first = deep,
                                              .patience = patience,
                                              .fill = fill};
                                rules.push_back(rule);
                                if (problems_.front().uniform()) continue;
                                for (const Arrange arrange :
                                     {Arrange::ShortestFirst, Arrange::LongestFirst, Arrange::LongInTheMiddle}) {
                                    rule.arrange = arrange;
                                    rules.push_back(rule);
                                }
                            }
                        }
                    }
                }
            }
        }
        // For large problems there is time for fewer orders; the most different ones come first.
        const auto ops = static_cast<std::size_t>(problems_.front().size());
        const std::size_t most = std::clamp<std::size_t>(6'000'000 / std::max<std::size_t>(ops, 1), 24, rules.size());
        if (rules.size() > most) {
            std::vector<ListRule> fewer;
            for (std::size_t i = 0; i < most; ++i)
                fewer.push_back(rules[i * rules.size() / most]);
            rules = std::move(fewer);
        }
        const std::size_t count = rules.size() * problems_.size();
        std::vector<Candidate> found(count);
        onThreads(count, request_.threads, [&](std::size_t i) {
            if (startsEnd()) return;
            const std::size_t which = i % problems_.size();
            found[i] = ruled(which, rules[i / problems_.size()]);
        });
        if (!elite_.empty() && startsEnd())
            return; // the number of start orders depends on the machine, so none is
                    // used
        keep(std::move(found));
        justifyStarts();
    }

    /// True if the search makes no more starts: the caller ends the search, or the time is up and there is an order.
    [[nodiscard]] bool startsEnd() const {
        return control_.stopRequested() || (!elite_.empty() && limited_.stopRequested());
    }

    /// Justifies the best orders so far (justify.h).
    void justifyStarts() {
        std::vector<Candidate> found = elite_;
        onThreads(found.size(), request_.threads, [&](std::size_t i) {
            if (startsEnd()) return;
            Candidate& candidate = found[i];
            OrderEvaluator evaluator(problems_[candidate.problem]);
            if (!evaluator.assign(candidate.orders) || !justify(evaluator, kJustifyMost, limited_)) return;
            candidate.orders = evaluator.orders();
            candidate.makespan = kNoStep;
            if (!judge(candidate)) candidate.score = kNoStep;
        });
        if (!startsEnd()) keep(std::move(found));
    }

    [[nodiscard]] Candidate ruled(std::size_t which, const ListRule& rule) const {
        Candidate candidate{.problem = which,
                            .orders = listOrder(problems_[which], rule, elite_.empty() ? control_ : limited_)};
        if (candidate.orders.empty() || !judge(candidate)) candidate.score = kNoStep;
        return candidate;
    }

    /// Plays one round: from the best orders, and from a new one made by a random rule. False if the job was stopped or
    /// the time is up; nothing has changed then.
    bool playRound() {
        std::vector<Candidate> found(kTasks);
        std::vector<Improved> spent(kTasks);
        onThreads(kTasks, request_.threads, [&](std::size_t task) {
            const std::uint64_t seed = seedOf(request_.seed, static_cast<std::uint64_t>(result_.rounds), task);
            found[task] = playTask(task, seed, spent[task]);
        });
        if (limited_.stopRequested()) return false;
        for (const Improved& one : spent) {
            result_.judged += one.judged;
            result_.moves += one.moves;
            result_.touched += one.touched;
        }
        keep(std::move(found));
        return true;
    }

    /// For small problems: proves that no order is shorter than the best one, or finds shorter ones, if this does not
    /// take long. The bound then equals the step time.
    void ruleOut() {
        if (request_.noise || done()) return;
        bool all = true;
        std::vector<Candidate> found;
        for (std::size_t i = 0; i < problems_.size(); ++i) {
            const OrderProblem& problem = problems_[i];
            if (problem.size() > kExactOps) return;
            const std::int64_t known = elite_.front().makespan;
            if (bounds_[i] >= known) continue;
            ExactAnswer answer = exactOrder(problem, known, kExactNodes, limited_);
            if (limited_.stopRequested()) return;
            all = all && answer.complete;
            if (!answer.orders) continue;
            all = all && !request_.step; // shorter only without what request.step adds
            Candidate candidate{.problem = i, .orders = std::move(*answer.orders)};
            if (judge(candidate)) found.push_back(std::move(candidate));
            keep(std::move(found));
            found.clear();
        }
        if (!all) return;
        result_.bound = TimeNs{elite_.front().makespan};
        result_.reason = say("all other orders were tried or cannot be shorter");
    }

    [[nodiscard]] Candidate playTask(std::size_t task, std::uint64_t seed, Improved& spent) const {
        std::mt19937_64 random(seed);
        Candidate from = elite_[task % elite_.size()];
        if (task + 1 == kTasks) {
            const Candidate fresh = ruled(random() % problems_.size(), randomRule(random));
            if (fresh.score != kNoStep) from = fresh;
        }
        const OrderProblem& problem = problems_[from.problem];
        ImproveOptions options;
        options.seed = random();
        options.effort = std::clamp<std::int64_t>(request_.effort, std::int64_t{kPassesAtLeast} * problem.size(),
                                                  std::int64_t{kPassesAtMost} * problem.size());
        options.goal = bounds_[from.problem];
        if (request_.noise && problem.plain() && task % 2 == 0) {
            options.effort *= kNoisyEffort;
            spent = improveUnderNoise(problem, from.orders, *request_.noise, options, limited_);
        } else {
            spent = improveOrder(problem, from.orders, options, limited_);
        }
        Candidate improved{.problem = from.problem, .orders = spent.orders};
        if (improved.orders.empty() || !judge(improved)) return from;
        if (!exact(problem)) adjust(from, improved, random);
        return improved;
    }

    /// If only a simulation can determine the times: makes random moves that do not make the order worse.
    void adjust(const Candidate& from, Candidate& candidate, std::mt19937_64& random) const {
        if (shorter(from, candidate)) candidate = from;
        const OrderProblem& problem = problems_[candidate.problem];
        OrderEvaluator evaluator(problem);
        const std::int64_t tries =
            std::max<std::int64_t>(20, request_.effort / 8 / std::max(problem.size(), OpNumber{1}));
        for (std::int64_t i = 0; i < tries && !limited_.stopRequested(); ++i) {
            if (!evaluator.assign(candidate.orders)) return;
            const auto rank = random() % candidate.orders.size();
            const auto length = static_cast<std::int32_t>(candidate.orders[rank].size());
            const auto place = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(length));
            const auto by = static_cast<std::int32_t>(random() % 7) - 3;
            const OrderMove move{static_cast<std::int32_t>(rank), place, std::clamp(place + by, 0, length - 1)};
            if (move.from == move.to || !evaluator.allowed(move) || !evaluator.apply(move)) continue;
            Candidate trial{.problem = candidate.problem, .orders = evaluator.orders()};
            if (judge(trial) && !shorter(candidate, trial)) candidate = std::move(trial);
        }
    }

    [[nodiscard]] ListRule randomRule(std::mt19937_64& random) const {
        const auto part = [&random] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
        ListRule rule;
        rule.in_flight = 1 + 2 * part();
        rule.forward_first = part() < 0.5;
        rule.strict = part() < 0.5;
        rule.deep_first = part() < 0.7;
        rule.patience = part() < 0.5 ? 0 : part();
        rule.fill = part() < 0.5 ? 0 : part();
        if (!problems_.front().uniform() && part() < 0.7) rule.arrange = Arrange::Random;
        rule.noise = part() < 0.5 ? 0 : 0.1 * part();
        rule.seed = random();
        return rule;
    }

    [[nodiscard]] Error nothingRuns() const {
        if (request_.own_flavor)
            return inputError(
                "search",
                "no schedule of this framework has these sizes, fits into the memory and runs with these "
                "communicators",
                fmt::format("change the sizes, allow more memory, or use {}", Field("communicators").is("edge")));
        if (request_.step)
            return inputError("search", "every order tried hangs with these communicators, or exceeds the memory",
                              fmt::format("allow more memory, or use {}", Field("communicators").is("edge")));
        return inputError("search", "every order tried deadlocks with these sends, or exceeds the memory",
                          fmt::format("allow more memory, or use {} or batched", Field("sends").is("async")));
    }

    /// Weight gradients that directly follow their input gradients and gain nothing from the split become whole
    /// backwards.
    [[nodiscard]] std::vector<char> fuse(const Candidate& best) const {
        const OrderProblem& problem = problems_[best.problem];
        if (request_.split != SplitBackward::Auto || !exact(problem)) return {};
        OrderEvaluator evaluator(problem);
        if (!evaluator.assign(best.orders)) return {};
        std::vector<OpNumber> adjacent;
        for (OpNumber number = problem.size(); number-- > 0;) {
            const NeededOp& op = problem.op(number);
            if (op.kind == OpKind::BackwardInput && evaluator.next(number) == op.own_next && problem.addsUp(number))
                adjacent.push_back(number);
        }
        evaluator.fuseSlack(adjacent);
        // Fusing them one by one finds more, but takes time if there are many.
        const std::int64_t most = evaluator.touched() + kFuseEffort;
        for (const OpNumber number : adjacent) {
            if (evaluator.fused()[static_cast<std::size_t>(number)] != 0) continue;
            if (evaluator.touched() > most) break;
            evaluator.fuse(number, true);
            if (evaluator.makespan() > best.makespan) evaluator.fuse(number, false);
        }
        return evaluator.fused();
    }

    /// The smallest over all placements.
    void findNoisyBound() {
        for (const OrderProblem& problem : problems_) {
            const auto bound = noisyBound(problem, *request_.noise, control_);
            if (!bound) {
                result_.noisy_bound.reset();
                return;
            }
            result_.noisy_bound = std::min(result_.noisy_bound.value_or(*bound), *bound);
        }
    }

    Result<FoundOrder> finish() {
        const Candidate& best = elite_.front();
        const OrderProblem& problem = problems_[best.problem];
        std::vector<char> fused = fuse(best);
        if (request_.noise && problem.plain()) {
            // Under noise, a split that gains nothing at the given times may still help.
            const NoisySteps split = noisySteps(problem, best.orders, {}, *request_.noise);
            const NoisySteps whole = noisySteps(problem, best.orders, fused, *request_.noise);
            const bool split_helps = scoreOf(whole) > scoreOf(split);
            result_.noisy = split_helps ? split : whole;
            if (split_helps) fused.clear();
            findNoisyBound();
        }
        result_.schedule = scheduleFor(problem, best.orders, best.paired, fused);
        BUBBLESCOPE_ASSIGN(result_.makespan, lengthOf(problem, result_.schedule));
        // A family may still be better if its pairs take less than their halves, or if its whole backwards suit the
        // sends better.
        const bool named = request_.own_flavor.has_value(); // whatever the same order is called elsewhere
        if (!request_.noise && result_.best_family && (named || result_.best_family->makespan < result_.makespan)) {
            result_.schedule = family_order_;
            result_.makespan = result_.best_family->makespan;
        }
        result_.proven = result_.makespan <= result_.bound;
        result_.peak_activations = peakActivations(result_.schedule);
        return std::move(result_);
    }

    const SearchRequest& request_;
    const JobControl& control_;
    const SearchWatch& watch_;
    SteadyClock::time_point begin_;
    std::stop_source ends_;
    JobControl limited_; ///< for rounds: also stops at the time limit; the result of a stopped round is dropped
    std::vector<OrderProblem> problems_; ///< one per placement
    std::vector<std::int64_t> bounds_;   ///< one per placement
    std::vector<Candidate> elite_;       ///< the best first
    Schedule family_order_;              ///< of the best family
    FoundOrder result_;
};

} // namespace

Status checkSizes(const SearchRequest& request) {
    const std::int64_t stages = std::int64_t{request.pp} * request.vpp;
    if (request.pp < 1 || request.vpp < 1 || request.microbatches < 1)
        return usageError("pp, micro-batches and chunks must be positive",
                          fmt::format("specify {}, {} and {}", Field("pp"), Field("microbatches"), Field("vpp")));
    if (stages > kMaxOps || 3 * stages * request.microbatches > kMaxOps) {
        return usageError(
            fmt::format("{} stages and {} micro-batches are too many for the search", stages, request.microbatches),
            fmt::format("a step may have up to {} ops", kMaxOps));
    }
    return {};
}

Result<FoundOrder> searchOrder(const SearchRequest& request, const JobControl& control, const SearchWatch& watch) {
    return OrderSearch(request, control, watch).run();
}

} // namespace bubblescope
