#pragma once

#include <span>
#include <string_view>

/// One function for every reader of bytes. libFuzzer calls it with bytes of its own (fuzz_main.cpp), the tests with the
/// corpus and with what was once found to go wrong (replay_test.cpp). Each throws BrokenPromise when the reader breaks
/// a promise, and otherwise only has to come back.
namespace bubblescope::fuzz {

void extracts(std::string_view bytes);         ///< values of an extract, each behind its key's number and size
void captured(std::string_view bytes);         ///< what jobs are recorded from, and their traces
void chromeJson(std::string_view bytes);       ///< Chrome and Kineto JSON: object, array, lines
void collectorAnswers(std::string_view bytes); ///< what a collector answers to a sender
void costFiles(std::string_view bytes);        ///< times of stages, links and ops, and what is simulated with them
void jobLog(std::string_view bytes);           ///< Paddle's job profiler
void jsonArgs(std::string_view bytes);         ///< a JSON object as args
void layerTimes(std::string_view bytes);       ///< layers of a model, JSON and CSV
void loadRun(std::string_view bytes);          ///< any trace file, through recognition and analysis
void leftMemory(std::string_view bytes);       ///< changes to the memory of a process that was killed
void liveStream(std::string_view bytes);       ///< a trace file of our own, while it is written
void mcpMessages(std::string_view bytes);      ///< lines of the Model Context Protocol
void memoryModel(std::string_view bytes);      ///< tensor sizes of a model
void networkFrames(std::string_view bytes);    ///< messages between who has a run's files and who watches
void notesFile(std::string_view bytes);        ///< a trace's notes
void nsysDatabase(std::string_view bytes);     ///< SQLite files of Nsight Systems and of ROCm's profilers
void opCosts(std::string_view bytes);          ///< operators of a layer, through the cutting rules and the chart
void perfettoTrace(std::string_view bytes);    ///< Perfetto protobuf
void primusRecord(std::string_view bytes);     ///< a pipeline record of AMD's Primus
void recognitionRules(std::string_view bytes); ///< tables of rules, and what their patterns take off names
void rocprofJson(std::string_view bytes);      ///< rocprofv3's JSON
void roundTrip(std::string_view bytes);        ///< any trace file, written in each format and read again
void ruleNames(std::string_view bytes);        ///< rules, and the names that they are tried on
void runPair(std::string_view bytes);          ///< two files that are compared
void scheduleCsv(std::string_view bytes);      ///< PyTorch's schedule files
void scheduleJson(std::string_view bytes);     ///< schedule documents, through validation and simulation
void sniff(std::string_view bytes);            ///< telling formats apart
void sqlQueries(std::string_view bytes);       ///< queries of the tables of a trace
void stranger(std::string_view bytes);         ///< a connection to a monitor without its secret
void torchSnapshot(std::string_view bytes);    ///< a snapshot of PyTorch's memory
void torchtitanLog(std::string_view bytes);    ///< torchtitan's structured log
void unpackedBytes(std::string_view bytes);    ///< gzip and zstd
void watcherSocket(std::string_view bytes);    ///< messages of a job's processes to what records them
void welcomed(std::string_view bytes);         ///< messages of a sender that was let in

struct Target {
    std::string_view name; ///< of its folder below corpus/
    void (*run)(std::string_view bytes) = nullptr;
};
[[nodiscard]] std::span<const Target> targets();

/// Not one of targets(), because the programs of the others need nothing of the command line.
void configFile(std::string_view bytes); ///< a user's configuration

} // namespace bubblescope::fuzz
