#include "profiler/capture/host_writer.h"

#include <array>
#include <bit>
#include <string_view>

namespace bubblescope::profiler {
namespace {

std::string_view categoryOf(const HostRecord& record) {
    return record.domain == nvtx::Names::kPipelineDomain ? perfetto::kPipelineCategory : std::string_view("nvtx");
}
constexpr std::size_t kSavedRanges = 64; ///< ranges per stack in a checkpoint
constexpr std::int32_t kThreadOrder = 0;
constexpr std::int32_t kRangesOrder = 1000;
constexpr std::size_t kMaxHostWaiting =
    1 << 16; ///< limit of open ranges, and of ends without a start, above which the oldest are dropped

struct FieldName {
    std::string_view told;
    std::string_view used;
};
/// NCCL's names of payload fields and the names used for them in traces.
constexpr std::array<FieldName, 5> kFieldNames{{{"NCCL communicator ID", "comm"},
                                                {"Message size [bytes]", "bytes"},
                                                {"Peer rank", "peer"},
                                                {"Root", "root"},
                                                {"Reduction operation", "op"}}};

std::string fieldName(const std::string& told) {
    for (const FieldName& known : kFieldNames) {
        if (known.told == told) return std::string(known.used);
    }
    return told.empty() ? "payload" : told;
}

} // namespace

HostWriter::HostWriter(CaptureFile& file, const nvtx::Names& names, CaptureWindow& window,
                       perfetto::CaptureCounts& counts)
    : file_(file), names_(names), window_(window), counts_(counts), lanes_("ranges", kRangesOrder) {}

std::string HostWriter::nameOf(const HostRecord& record) const {
    return record.text_handle == 0 ? std::string(record.text) : names_.text(record.text_handle);
}

OwnedArgs HostWriter::argsOf(const HostRecord& record) const {
    OwnedArgs args;
    if (record.domain != nvtx::Names::kDefaultDomain && record.domain != nvtx::Names::kPipelineDomain)
        args.push_back({"domain", names_.domainName(record.domain)});
    if (record.category != 0) {
        std::string name = names_.category(record.domain, record.category);
        if (name.empty())
            args.push_back({"category", std::int64_t{record.category}});
        else
            args.push_back({"category", std::move(name)});
    }
    switch (record.payload) {
    case HostRecord::Payload::None: break;
    case HostRecord::Payload::Unsigned:
    case HostRecord::Payload::Signed: {
        const bool transfer = record.domain == nvtx::Names::kPipelineDomain;
        args.push_back({transfer ? "bytes" : "payload", static_cast<std::int64_t>(record.value)});
        break;
    }
    case HostRecord::Payload::Float: args.push_back({"payload", std::bit_cast<double>(record.value)}); break;
    case HostRecord::Payload::Schema:
        for (nvtx::PayloadField& field : names_.decode(record.domain, record.value, record.bytes))
            args.push_back({fieldName(field.name), std::move(field.value)});
        break;
    }
    return args;
}

void HostWriter::take(std::uint32_t tid, const HostRecord& record, TimeNs time, bool after_gap) {
    if (after_gap) {
        for (auto& [key, stack] : stacks_) {
            if (key.first != tid) continue;
            abandon(stack);
            stack.incomplete = true;
        }
    }
    switch (record.type) {
    case HostRecord::Type::Push: {
        Stack* const stack = stackOf(tid, record.domain);
        if (stack == nullptr) return void(++counts_.not_written);
        stack->incomplete = stack->incomplete || after_gap;
        return push(*stack, record, inOrder(*stack, time));
    }
    case HostRecord::Type::Pop: {
        Stack* const stack = stackOf(tid, record.domain);
        if (stack == nullptr) return;
        stack->incomplete = stack->incomplete || after_gap;
        return pop(*stack, record, inOrder(*stack, time));
    }
    case HostRecord::Type::Start: return start(record, time);
    case HostRecord::Type::End: return end(record, time);
    case HostRecord::Type::Mark: {
        const std::string name = nameOf(record);
        observe(record, name, time);
        if (!window_.contains(time)) return void(++counts_.outside_window);
        Stack* const stack = stackOf(tid, record.domain);
        if (stack == nullptr || !hasRoom(*stack)) return void(++counts_.not_written);
        ++counts_.marks;
        if (record.domain == nvtx::Names::kPipelineDomain) step_ = StepMark{stack, time, name};
        return file_.instant(trackOf(*stack), time, categoryOf(record), name, argsOf(record));
    }
    case HostRecord::Type::CommBegin:
    case HostRecord::Type::CommEnd: return;
    }
}

void HostWriter::observe(const HostRecord& record, std::string_view name, TimeNs time) {
    const auto step = window_.observe(name, time);
    const bool ends_step = record.type == HostRecord::Type::Mark && record.domain == nvtx::Names::kPipelineDomain;
    if (on_border_ && (step || ends_step)) on_border_(name, step, time);
}

/// Times after the last clock reading are estimates that the next reading corrects; the correction must not put an end
/// before its start.
TimeNs HostWriter::inOrder(Stack& stack, TimeNs time) {
    constexpr TimeNs kCorrection{std::chrono::milliseconds(10)}; // larger jumps are not caused by a correction
    const bool before = time < stack.latest && stack.latest <= time + kCorrection;
    if (!before) stack.latest = time;
    return stack.latest;
}

/// Returns null if there are too many stacks.
HostWriter::Stack* HostWriter::stackOf(std::uint32_t tid, std::uint16_t domain) {
    const StackKey key{tid, domain};
    if (latest_ != nullptr && latest_key_ == key) return latest_;
    const auto known = stacks_.find(key);
    if (known == stacks_.end() && stacks_.size() >= CaptureFile::kMaxTracks) return nullptr;
    const auto place = known != stacks_.end() ? known : stacks_.try_emplace(key).first;
    if (known == stacks_.end()) {
        place->second.tid = tid;
        if (domain != nvtx::Names::kDefaultDomain) place->second.suffix = " " + names_.domainName(domain);
    }
    latest_key_ = key;
    latest_ = &place->second;
    return latest_;
}

bool HostWriter::hasRoom(const Stack& stack) const {
    return stack.has_track || !file_.isFull();
}

void HostWriter::save(std::uint32_t tid, event_memory::ThreadCheckpoint& checkpoint) const {
    checkpoint.stacks = 0;
    for (auto at = stacks_.lower_bound({tid, 0}); at != stacks_.end() && at->first.first == tid; ++at) {
        if (checkpoint.stacks == checkpoint.open.size()) return;
        const Stack& stack = at->second;
        event_memory::OpenRanges& open = checkpoint.open[checkpoint.stacks++];
        open = {stack.has_track ? stack.track + 1 : 0, at->first.second, static_cast<std::uint16_t>(stack.open.size()),
                static_cast<std::uint32_t>(stack.gaps), 0};
        for (std::size_t depth = 0; depth < stack.open.size() && depth < kSavedRanges; ++depth)
            open.written |= std::uint64_t{stack.open[depth].written} << depth;
    }
}

void HostWriter::resume(std::uint32_t tid, const event_memory::ThreadCheckpoint& checkpoint) {
    for (std::size_t i = 0; i < checkpoint.stacks && i < checkpoint.open.size(); ++i) {
        const event_memory::OpenRanges& open = checkpoint.open[i];
        Stack* const stack = stackOf(tid, open.domain);
        if (stack == nullptr) return;
        stack->has_track = open.track != 0 && open.track <= file_.state().tracks;
        stack->track = stack->has_track ? open.track - 1 : 0;
        stack->gaps = static_cast<int>(open.gaps);
        stack->open.resize(open.depth);
        for (std::size_t depth = 0; depth < stack->open.size() && depth < kSavedRanges; ++depth)
            stack->open[depth].written = stack->has_track && (open.written >> depth & 1U) != 0;
        names_ops_ = names_ops_ || open.domain == nvtx::Names::kPipelineDomain;
    }
}

std::int64_t HostWriter::openInFile() const {
    std::int64_t count = 0;
    for (const auto& [key, stack] : stacks_) {
        for (const Open& open : stack.open)
            count += open.written ? 1 : 0;
    }
    return count;
}

std::string HostWriter::trackName(const Stack& stack) const {
    const std::string id = std::to_string(stack.tid);
    const auto name = names_.threadName(stack.tid);
    std::string title = name ? *name + " (thread " + id + ")" : "thread " + id;
    title += stack.suffix;
    if (stack.gaps > 0) title += " (after gap " + std::to_string(stack.gaps) + ")";
    return title;
}

CaptureFile::TrackNumber HostWriter::trackOf(Stack& stack) {
    if (!stack.has_track) {
        stack.track = file_.addTrack(trackName(stack), kThreadOrder);
        stack.has_track = true;
    }
    return stack.track;
}

/// The ends of the open ranges are unknown, so these stay open and a new track continues without them.
void HostWriter::abandon(Stack& stack) {
    for (const Open& open : stack.open)
        counts_.unmatched += open.written ? 1 : 0;
    if (!stack.open.empty()) {
        stack.has_track = false;
        ++stack.gaps;
    }
    stack.open.clear();
}

void HostWriter::push(Stack& stack, const HostRecord& record, TimeNs time) {
    names_ops_ = names_ops_ || record.domain == nvtx::Names::kPipelineDomain;
    if (stack.open.size() > record.depth) abandon(stack);
    stack.open.resize(record.depth); // the enclosing ranges began before the recording
    Open& open = stack.open.emplace_back();
    open.start = time;
    open.name = nameOf(record);
    observe(record, open.name, time);
    open.is_step = window_.beginsStep(open.name);
    if (!window_.contains(time)) return void(++counts_.outside_window);
    if (!hasRoom(stack)) return void(++counts_.not_written);
    open.written = true;
    open.args = argsOf(record);
    open.category = categoryOf(record);
    file_.begin(trackOf(stack), time, open.category, open.name, open.args);
}

void HostWriter::pop(Stack& stack, const HostRecord& record, TimeNs time) {
    const std::size_t depth = record.depth;
    if (stack.open.size() > depth + 1) abandon(stack);
    if (stack.open.size() <= depth) return void(counts_.unmatched += stack.incomplete ? 0 : 1);
    const Open open = std::move(stack.open.back());
    stack.open.pop_back();
    if (!open.written) return;
    ++counts_.ranges;
    file_.end(stack.track, time);
    const bool names_ops = record.domain == nvtx::Names::kPipelineDomain;
    const bool op = names_ops || (!names_ops_ && record.domain == nvtx::Names::kDefaultDomain);
    if (!on_range_ || open.is_step || !op) return;
    for (const Open& around : stack.open) {
        if (!around.is_step) return;
    }
    on_range_(stack.tid, open.start, time);
}

void HostWriter::start(const HostRecord& record, TimeNs time) {
    Started started{time, nameOf(record), {}, categoryOf(record)};
    observe(record, started.name, time);
    if (!window_.contains(time)) return void(++counts_.outside_window);
    started.args = argsOf(record);
    if (const auto early = ended_early_.find(record.id); early != ended_early_.end()) {
        const bool fits = lanes_.add(file_, time, early->second, started.category, started.name, started.args);
        ++(fits ? counts_.ranges : counts_.not_written);
        ended_early_.erase(early);
        return;
    }
    if (started_.size() >= kMaxHostWaiting) {
        started_.erase(started_.begin());
        ++counts_.unmatched;
    }
    started_.emplace(record.id, std::move(started));
}

void HostWriter::end(const HostRecord& record, TimeNs time) {
    const auto known = started_.find(record.id);
    if (known == started_.end()) {
        // Threads are drained in turn, so the start may still arrive, or it was before the recorded window.
        if (ended_early_.size() < kMaxHostWaiting) ended_early_.emplace(record.id, time);
        return;
    }
    const Started& started = known->second;
    const bool fits = lanes_.add(file_, started.start, time, started.category, started.name, started.args);
    ++(fits ? counts_.ranges : counts_.not_written);
    started_.erase(known);
}

std::string_view HostWriter::innermostOp() const {
    const Open* last = nullptr;
    for (const auto& [key, stack] : stacks_) {
        if (key.second != nvtx::Names::kPipelineDomain || stack.open.empty()) continue;
        if (last == nullptr || stack.open.back().start > last->start) last = &stack.open.back();
    }
    return last == nullptr ? std::string_view{} : std::string_view(last->name);
}

void HostWriter::reopen() {
    if (step_) file_.instant(trackOf(*step_->stack), step_->time, perfetto::kPipelineCategory, step_->name, {});
    for (auto& [key, stack] : stacks_) {
        for (const Open& open : stack.open) {
            if (open.written) file_.begin(trackOf(stack), open.start, open.category, open.name, open.args);
        }
    }
}

void HostWriter::nameThreads() {
    const std::uint64_t namings = names_.threadNamings();
    if (namings == namings_) return;
    namings_ = namings;
    for (const auto& [key, stack] : stacks_) {
        if (stack.has_track) file_.rename(stack.track, trackName(stack));
    }
}

} // namespace bubblescope::profiler
