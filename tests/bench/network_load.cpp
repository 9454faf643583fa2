// A collector on the loopback that has to listen to many senders while many strangers hold connections open, is killed
// and started again meanwhile: what it takes, and whether anything is lost uncounted.
//
//   network_load [--strangers N] [--senders N] [--ranks N] [--steps N] [--steps-per-minute N] [--restarts N]
//                [--guessers N] [--stop S] [--garble KIB]
//
// A sender is a host: it sends the traces of this number of ranks over one connection, 0 steps a minute as fast as it
// can.
// Strangers connect, send nothing and connect again when they are disconnected;
// guessers present wrong tokens. With --stop the collector is stopped (SIGSTOP) for this number of seconds when it has
// received a quarter; with --garble senders reach it through a proxy that flips a bit after each such number of KiB of
// a connection. Prints a
// JSON document; exit code 1 if anything was lost.

#include "core/families/registry.h"
#include "core/graph/simulate.h"
#include "core/live/live_analyzer.h"
#include "core/live/stream_receiver.h"
#include "core/live/stream_sender.h"
#include "profiler/recorder/segment_writer.h"
#include "tests/bench/load_tools.h"
#include "tests/support/scratch_folder.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace bubblescope;
using namespace bubblescope::bench;
using namespace bubblescope::live;
using namespace std::chrono_literals;

const std::string kToken = "the token of these senders";

using Options = std::map<std::string, int>;

TimeNs now() {
    return readClocks().monotonic;
}

/// A rank's file, and where its steps end in it.
struct Trace {
    std::string bytes;
    std::vector<std::size_t> ends;
};

/// The traces of a run with this number of ranks, by rank, and their number of records.
std::vector<Trace> traces(int ranks, int steps, std::int64_t& records) {
    RunInfo info;
    info.source = "run";
    info.backend = "cpu";
    info.schedule = "1f1b";
    info.pp = 8;
    info.dp = ranks / info.pp;
    info.microbatches = 16;
    ScheduleSpec spec;
    spec.name = info.schedule;
    spec.pp = info.pp;
    spec.microbatches = info.microbatches;
    CostModel costs;
    costs.times = {TimeNs{1'000'000}, TimeNs{2'000'000}, TimeNs{1'000'000}, TimeNs{1'000'000}, TimeNs{0}};
    StepTimeline shape = simulate(makeSchedule(spec).value(), costs).value();
    for (auto& transfers : shape.comm)
        transfers.clear(); // ops are enough
    const test::ScratchFolder folder;
    std::vector<Trace> files;
    for (int rank = 0; rank < ranks; ++rank) {
        auto writer =
            profiler::TraceSegmentWriter::create(folder.path(), info, Rank{rank}, readClocks(), thisProcess(), {})
                .value();
        const std::filesystem::path path = folder.path() / profiler::TraceSegmentWriter::fileName(Rank{rank});
        const Rank in_pipeline{rank / info.dp};
        Trace& trace = files.emplace_back();
        for (int step = 0; step < steps; ++step) {
            auto batch = recordsOf(shape, in_pipeline, step * shape.wall(), step);
            records += static_cast<std::int64_t>(batch.size());
            if (!writer.append(batch).ok()) std::abort();
            trace.ends.push_back(std::filesystem::file_size(path));
        }
        if (!writer.appendEnd(0).ok()) std::abort();
        trace.bytes = test::readAll(path);
        trace.ends.back() = trace.bytes.size();
        std::filesystem::remove(path);
    }
    return files;
}

/// A process that does `work` until it is killed. It holds nothing of the collector's.
template <class Work>
pid_t inChild(std::unique_ptr<StreamReceiver>& receiver, const Work& work) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    receiver.reset();
    work();
    ::_exit(0);
}

void bother(const net::Address& address, int strangers, bool guess) {
    std::vector<std::unique_ptr<net::Connector>> connecting(static_cast<std::size_t>(strangers));
    std::vector<net::Socket> connected(connecting.size());
    net::Frame hello;
    hello.kind = net::Frame::Kind::Hello;
    hello.text = std::string(2 * net::kProofBytes, 'x') + "node\nclock"; // a proof of nothing
    while (true) {
        for (std::size_t i = 0; i < connecting.size(); ++i) {
            char byte = 0;
            if (connected[i].isOpen()) {
                if (connected[i].readSome(&byte, 1).ended) connected[i].close();
                continue;
            }
            if (!connecting[i]) connecting[i] = std::make_unique<net::Connector>(address);
            const auto stage = connecting[i]->poll();
            if (stage == net::Connector::Stage::UnderWay) continue;
            if (stage == net::Connector::Stage::Connected) {
                connected[i] = connecting[i]->take();
                if (guess) (void)connected[i].writeSome(net::encode(hello));
            }
            connecting[i].reset();
        }
        std::this_thread::sleep_for(20ms);
    }
}

/// The senders `first` to before `last`, in a separate process, until it is killed: a collector that is started
/// again asks for everything again.
void sendAll(const net::Address& address, const std::vector<Trace>& files, std::size_t first, std::size_t last,
             const Options& given) {
    struct File {
        const Trace* trace = nullptr;
        StreamSender::Stream stream{};
        std::size_t at = 0;
    };
    struct One {
        std::unique_ptr<StreamSender> sender;
        std::vector<File> files;
    };
    const auto per_sender = static_cast<std::size_t>(given.at("--ranks"));
    const int rate = given.at("--steps-per-minute");
    const TimeNs begin = now();
    std::vector<One> all(last - first);
    for (std::size_t i = 0; i < all.size(); ++i) {
        StreamSender::Options options;
        options.address = address;
        options.token = kToken;
        options.name = fmt::format("node{}", first + i);
        options.clock = thisProcess().clock;
        all[i].sender = std::make_unique<StreamSender>(options);
        for (std::size_t rank = (first + i) * per_sender; rank < (first + i + 1) * per_sender; ++rank)
            all[i].files.push_back({&files[rank], all[i].sender->open(fmt::format("run/rank{}.pftrace", rank)), 0});
    }
    while (true) {
        std::size_t written = std::numeric_limits<std::size_t>::max(); // steps
        if (rate > 0) written = static_cast<std::size_t>((now() - begin) * rate / 1min);
        for (One& one : all) {
            if (!one.sender->poll(now()).ok()) std::abort();
            for (File& file : one.files) {
                if (const auto rewind = one.sender->takeRewind(file.stream))
                    file.at = static_cast<std::size_t>(*rewind);
                const std::size_t end = file.trace->ends[std::min(written, file.trace->ends.size() - 1)];
                const std::size_t room = std::min(one.sender->room(file.stream), end - std::min(end, file.at));
                if (room > 0)
                    one.sender->feed(file.stream, std::string_view(file.trace->bytes).substr(file.at, room), now());
                file.at += room;
            }
        }
        std::this_thread::sleep_for(rate > 0 ? 50ms : 1ms);
    }
}

/// Carries connections to the collector until it is killed, and damages what senders send.
void garble(net::Listener listener, const net::Address& to, std::size_t every) {
    struct Pair {
        net::Socket sender;
        std::unique_ptr<net::Connector> connecting;
        net::Socket collector;
        std::string up{};
        std::string down{};
        std::size_t next;
        bool over = false;
    };
    std::list<Pair> pairs;
    std::mt19937_64 random(1);
    const auto carry = [](net::Socket& from, net::Socket& into, std::string& held, const auto& pass) {
        std::array<char, 1 << 14> buffer;
        if (held.empty()) {
            const net::Socket::Progress read = from.readSome(buffer.data(), buffer.size());
            if (read.ended) return false;
            held.assign(buffer.data(), read.bytes);
            pass(held);
        }
        const net::Socket::Progress written = into.writeSome(held);
        held.erase(0, written.bytes);
        return !written.ended;
    };
    while (true) {
        while (true) {
            net::Socket sender = listener.accept();
            if (!sender.isOpen()) break;
            pairs.push_back({std::move(sender), std::make_unique<net::Connector>(to), {}, {}, {}, random() % every});
        }
        for (Pair& pair : pairs) {
            if (pair.connecting) {
                const auto stage = pair.connecting->poll();
                if (stage == net::Connector::Stage::UnderWay) continue;
                if (stage == net::Connector::Stage::Connected) pair.collector = pair.connecting->take();
                pair.over = stage != net::Connector::Stage::Connected;
                pair.connecting.reset();
                continue;
            }
            const bool up = carry(pair.sender, pair.collector, pair.up, [&](std::string& bytes) {
                if (pair.next >= bytes.size()) {
                    pair.next -= bytes.size();
                    return;
                }
                bytes[pair.next] =
                    static_cast<char>(static_cast<unsigned char>(bytes[pair.next]) ^ (1U << random() % 8));
                pair.next = every + random() % every;
            });
            const bool down = carry(pair.collector, pair.sender, pair.down, [](std::string&) {});
            pair.over = !up || !down;
        }
        pairs.remove_if([](const Pair& pair) { return pair.over; });
        std::this_thread::sleep_for(200us);
    }
}

/// Stops the calling process for this number of seconds.
pid_t stopMe(int seconds) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::kill(::getppid(), SIGSTOP);
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    ::kill(::getppid(), SIGCONT);
    ::_exit(0);
}

int run(const Options& options) {
    std::int64_t records = 0;
    constexpr int kStages = 8;
    const int ranks = (options.at("--senders") * options.at("--ranks") + kStages - 1) / kStages * kStages;
    const auto senders = static_cast<std::size_t>(ranks / options.at("--ranks"));
    const std::vector<Trace> files = traces(ranks, options.at("--steps"), records);
    StreamReceiver::Options listening{{"127.0.0.1", 0}, kToken, thisProcess().clock, {}};
    auto receiver = std::make_unique<StreamReceiver>(StreamReceiver::open(listening).value());
    listening.address = receiver->address();
    std::vector<pid_t> children;
    // They begin before there is anybody to be kept out.
    if (options.at("--strangers") > 0)
        children.push_back(inChild(receiver, [&] { bother(listening.address, options.at("--strangers"), false); }));
    if (options.at("--guessers") > 0)
        children.push_back(inChild(receiver, [&] { bother(listening.address, options.at("--guessers"), true); }));
    net::Address reached = listening.address;
    if (options.at("--garble") > 0) {
        net::Listener proxy = net::Listener::open(reached = {"127.0.0.1", 0}).value();
        children.push_back(inChild(receiver, [&] {
            garble(std::move(proxy), listening.address, static_cast<std::size_t>(options.at("--garble")) << 10U);
        }));
    }
    const std::size_t others = children.size();
    constexpr std::size_t kPerProcess = 250;
    for (std::size_t first = 0; first < senders; first += kPerProcess) {
        const std::size_t last = std::min(senders, first + kPerProcess);
        children.push_back(inChild(receiver, [&] { sendAll(reached, files, first, last, options); }));
    }
    LiveOptions live;
    live.own_clock = thisProcess().clock;
    auto analyzer = std::make_unique<LiveAnalyzer>(live);
    const long inputs = residentKilobytes(); // not a collector's
    const double began = processSeconds();
    const TimeNs begin = now();
    TimeNs first_sender{-1};
    long most = 0;
    std::size_t connections = 0;
    std::int64_t evicted = 0;
    std::int64_t refused = 0;
    std::int64_t torn_off = 0;
    int restarts = options.at("--restarts");
    int stop = options.at("--stop");
    while (analyzer->counts().slices < records || !analyzer->runEnded()) {
        if (now() - begin > 600s) break;
        receiver->poll(*analyzer, now());
        (void)analyzer->advance(now());
        for (const auto& news : receiver->takeNews(*analyzer, now(), 0s))
            torn_off += news.back ? 0 : 1;
        most = std::max(most, residentKilobytes() - inputs);
        connections = std::max(connections, receiver->connections());
        if (stop > 0 && analyzer->counts().slices > records / 4) ::waitpid(stopMe(std::exchange(stop, 0)), nullptr, 0);
        if (first_sender < TimeNs{0} && analyzer->counts().bytes > 0) first_sender = now() - begin;
        if (restarts > 0 && analyzer->counts().slices > records / 2) { // killed, with all that it knew
            --restarts;
            evicted += receiver->admission().evicted();
            refused += receiver->admission().refused();
            receiver.reset();
            receiver = std::make_unique<StreamReceiver>(StreamReceiver::open(listening).value());
            analyzer = std::make_unique<LiveAnalyzer>(live);
        }
        pollfd wait{receiver->descriptor(), POLLIN, 0};
        ::poll(&wait, 1, 5);
    }
    long senders_most = 0;
    for (std::size_t i = others; i < children.size(); ++i)
        senders_most = std::max(senders_most, residentKilobytes(fmt::format("/proc/{}/status", children[i]), "VmHWM:"));
    for (const pid_t child : children) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    const LiveCounts counts = analyzer->counts();
    const std::int64_t counted = counts.undelivered + counts.late + counts.bad + counts.damaged + counts.dropped;
    const bool lost = counts.slices + counted < records || counted > 0;
    fmt::print("{{\"strangers\":{},\"guessers\":{},\"senders\":{},\"ranks\":{},\"connections\":{},"
               "\"collector_cpu_s\":{:.2f},\"restarts\":{},\"records\":{},\"heard\":{},"
               "\"steps\":{},\"incomplete\":{},\"counted_as_lost\":{},\"evicted\":{},\"refused\":{},"
               "\"first_sender_heard_after_s\":{:.2f},\"all_after_s\":{:.1f},\"resident_kb\":{},\"senders_kb\":{},"
               "\"stopped_s\":{},\"garbled_each_kib\":{},\"connections_lost\":{},\"repeated_bytes\":{},\"lost\":{}}}\n",
               options.at("--strangers"), options.at("--guessers"), senders, ranks, connections,
               processSeconds() - began, options.at("--restarts"), records, counts.slices, counts.steps,
               counts.incomplete, counted, evicted + receiver->admission().evicted(),
               refused + receiver->admission().refused(), static_cast<double>(first_sender.count()) * 1e-9,
               static_cast<double>((now() - begin).count()) * 1e-9, most, senders_most, options.at("--stop"),
               options.at("--garble"), torn_off, receiver->repeated(), lost);
    return lost ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
    Options options{{"--strangers", 100},      {"--guessers", 10}, {"--senders", 16}, {"--ranks", 1}, {"--steps", 4},
                    {"--steps-per-minute", 0}, {"--restarts", 1},  {"--stop", 0},     {"--garble", 0}};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!options.contains(argv[i])) {
            fmt::print(stderr, "unknown option {}\n", argv[i]);
            return 2;
        }
        options[argv[i]] = static_cast<int>(std::strtol(argv[i + 1], nullptr, 10));
    }
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    return run(options);
}
