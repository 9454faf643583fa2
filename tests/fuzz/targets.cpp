#include "tests/fuzz/targets.h"

#include <array>

namespace bubblescope::fuzz {

std::span<const Target> targets() {
    static constexpr std::array kTargets{
        Target{"captured", captured},
        Target{"chrome_json", chromeJson},
        Target{"collector_answers", collectorAnswers},
        Target{"cost_files", costFiles},
        Target{"extracts", extracts},
        Target{"job_log", jobLog},
        Target{"json_args", jsonArgs},
        Target{"layer_times", layerTimes},
        Target{"load_run", loadRun},
        Target{"left_memory", leftMemory},
        Target{"live_stream", liveStream},
        Target{"mcp", mcpMessages},
        Target{"memory_model", memoryModel},
        Target{"network_frames", networkFrames},
        Target{"notes_file", notesFile},
        Target{"nsys_database", nsysDatabase},
        Target{"op_costs", opCosts},
        Target{"otlp_replies", otlpReplies},
        Target{"perfetto_trace", perfettoTrace},
        Target{"primus_record", primusRecord},
        Target{"recognition_rules", recognitionRules},
        Target{"rocprof_json", rocprofJson},
        Target{"round_trip", roundTrip},
        Target{"rule_names", ruleNames},
        Target{"run_pair", runPair},
        Target{"schedule_csv", scheduleCsv},
        Target{"schedule_json", scheduleJson},
        Target{"sniff", sniff},
        Target{"sql_queries", sqlQueries},
        Target{"stranger", stranger},
        Target{"torch_snapshot", torchSnapshot},
        Target{"torchtitan_log", torchtitanLog},
        Target{"unpack", unpackedBytes},
        Target{"watcher_socket", watcherSocket},
        Target{"welcomed", welcomed},
    };
    return kTargets;
}

} // namespace bubblescope::fuzz
