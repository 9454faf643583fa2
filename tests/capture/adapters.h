#pragma once

#include "tests/capture/recorded_slices.h"
#include "tests/cli/program.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace bubblescope::test {

inline constexpr const char* kPython = "/usr/bin/python3";

/// Records unmodified Python jobs. The frameworks are fakes with the same interface, in the folder of job.py.
class Adapters : public testing::Test {
protected:
    void SetUp() override {
        if (!std::filesystem::exists(kPython)) GTEST_SKIP() << kPython << " is not installed";
    }

    [[nodiscard]] static std::string shell() {
        return "export PYTHONDONTWRITEBYTECODE=1 JOB='" BUBBLESCOPE_TEST_FAKES "/job.py' PY=" + std::string(kPython) +
               "; ";
    }
    /// Runs `words` in a shell, where $JOB is Python with the job's file; with `ranks` 2, both ranks of a pipeline.
    ProgramResult record(const std::string& words, int ranks = 1, std::vector<std::string> options = {}) {
        std::vector<std::string> command{"record", "--out", dir()};
        command.insert(command.end(), options.begin(), options.end());
        std::string line = shell();
        for (int rank = 0; rank < ranks; ++rank) {
            const std::string number = std::to_string(rank);
            line += "env RANK=" + number + " WORLD_SIZE=" + std::to_string(ranks) + " FAKE_RANK=" + number + " " +
                    words + (rank + 1 < ranks ? " && " : "");
        }
        command.insert(command.end(), {"--", "sh", "-c", line});
        return runProgram(command);
    }
    /// A file with the order of a schedule, for jobs that read the variable FAKE_ORDER.
    [[nodiscard]] std::string orderFile(const std::vector<std::string>& schedule) const {
        std::vector<std::string> command{"schedule", "--json", "--schedule"};
        command.insert(command.end(), schedule.begin(), schedule.end());
        const std::string file = scratch_.file("order.json");
        std::ofstream(file) << runProgram(command).out;
        return file;
    }
    [[nodiscard]] std::string dir() const { return scratch_.file("traces"); }
    [[nodiscard]] std::map<std::string, int> slices() const {
        const auto read = slicesIn(dir());
        return read.ok() ? read.value() : std::map<std::string, int>();
    }
    /// Slices of two ranks with two stages each, in which each op and transfer occurs twice.
    [[nodiscard]] static std::map<std::string, int> slicesOfFourStages(int microbatches) {
        std::map<std::string, int> names;
        for (int microbatch = 0; microbatch < microbatches; ++microbatch) {
            for (const char* op : {"0F",      "1F",      "2F",      "3F",      "0B",      "1B",      "2B",
                                   "3B",      "0SEND_F", "1RECV_F", "1SEND_F", "2RECV_F", "2SEND_F", "3RECV_F",
                                   "3SEND_B", "2RECV_B", "2SEND_B", "1RECV_B", "1SEND_B", "0RECV_B"})
                names[op + std::to_string(microbatch)] = 2;
        }
        return names;
    }
    [[nodiscard]] std::string log() const { return test::readAll(dir() + "/capture.log"); }

    ScratchFolder scratch_;
};

} // namespace bubblescope::test
