#include "runtime/faults/fault.h"

#include "tests/unit/runtime/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace bubblescope::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

Fault parsed(const std::string& text) {
    const Result<Fault> fault = parseFault(text);
    EXPECT_TRUE(fault.ok()) << fault.error().text();
    return fault.ok() ? fault.value() : Fault{};
}

TEST(ParseFault, ReadsWhatTheManualShows) {
    const Fault slow = parsed("slow:rank=2,factor=1.3,from=step5");
    EXPECT_EQ(slow.kind, FaultKind::Slow);
    EXPECT_TRUE(slow.ranks.holds(2) && !slow.ranks.holds(1) && !slow.ranks.holds(3));
    EXPECT_DOUBLE_EQ(slow.factor, 1.3);
    EXPECT_TRUE(!slow.steps.holds(4) && slow.steps.holds(5) && slow.steps.holds(1000));
    EXPECT_EQ(slow.text, "slow:rank=2,factor=1.3,from=step5");

    const Fault op = parsed("op:F3.1,rank=1,step=2,add=5ms");
    EXPECT_EQ(op.kind, FaultKind::Op);
    EXPECT_TRUE(op.ops.matches({OpKind::Forward, Microbatch{3}, Chunk{1}}));
    EXPECT_FALSE(op.ops.matches({OpKind::Forward, Microbatch{3}, Chunk{0}}));
    EXPECT_TRUE(op.steps.holds(2) && !op.steps.holds(1) && !op.steps.holds(3));
    EXPECT_EQ(op.time, 5ms);

    const Fault jitter = parsed("jitter:rank=*,sigma=3%,seed=9");
    EXPECT_TRUE(jitter.ranks.holds(0) && jitter.ranks.holds(1000));
    EXPECT_DOUBLE_EQ(jitter.share, 0.03);
    EXPECT_EQ(jitter.seed, 9U);

    const Fault link = parsed("link:0>1,latency=2ms");
    EXPECT_TRUE(link.ranks.holds(0) && !link.ranks.holds(1) && link.peers.holds(1) && !link.peers.holds(0));
    EXPECT_EQ(link.time, 2ms);

    EXPECT_EQ(parsed("stall:1>2,step=3,for=50ms").kind, FaultKind::Stall);
    EXPECT_EQ(parsed("pause:rank=1,step=4,for=30ms").time, 30ms);
    EXPECT_EQ(parsed("drop:rank=1-2").share, 1.0) << "all of them";
    EXPECT_DOUBLE_EQ(parsed("drop:rank=1,share=0.25").share, 0.25);
    EXPECT_EQ(parsed("die:rank=3,step=2,op=F1").kind, FaultKind::Die);
    EXPECT_EQ(parsed("hang:rank=3").kind, FaultKind::Hang);

    const Fault flip = parsed("flip:rank=1,op=B2,tensor=in,bit=17,step=3-4");
    EXPECT_EQ(flip.kind, FaultKind::Flip);
    EXPECT_EQ(flip.tensor, FaultTensor::Input);
    EXPECT_EQ(flip.bit, 17);
    EXPECT_TRUE(flip.steps.holds(4) && !flip.steps.holds(5));
    EXPECT_TRUE(flip.ops.matches({OpKind::Backward, Microbatch{2}, Chunk{5}})) << "on any chunk";
}

TEST(ParseFault, OpsMayBeLeftOpen) {
    const Op op{OpKind::Backward, Microbatch{2}, Chunk{1}};
    for (const char* const pattern : {"*", "B", "B2", "B.1", "B2.1", "*2", "*.1"})
        EXPECT_TRUE(parsed(std::string("op:") + pattern + ",add=1ms").ops.matches(op)) << pattern;
    for (const char* const pattern : {"F", "B1", "B.0", "*2.0"})
        EXPECT_FALSE(parsed(std::string("op:") + pattern + ",add=1ms").ops.matches(op)) << pattern;
}

struct Refused {
    const char* text;
    const char* place; ///< of what is wrong
    const char* says;
};

TEST(ParseFault, SaysWhereAndWhatIsWrong) {
    for (const Refused& refused : {
             Refused{"", "character 1", "is not a kind of fault"},
             Refused{"slw:rank=1", "character 1", "known kinds: slow, op"},
             Refused{"slow", "character 1", "needs rank and factor"},
             Refused{"slow:rank=1", "character 1", "needs factor"},
             Refused{"slow:rank=x,factor=2", "character 11", "'x' is not a rank"},
             Refused{"slow:rank=3-1,factor=2", "character 11", "is not a rank"},
             Refused{"slow:rank=-1,factor=2", "character 11", "is not a rank"},
             Refused{"slow:rank=1,factor=fast", "character 20", "'fast' is not greater than 0"},
             Refused{"slow:rank=1,factor=0", "character 20", "is not greater than 0"},
             Refused{"slow:rank=1,factor=nan", "character 20", "is not greater than 0"},
             Refused{"slow:rank=1,speed=2", "character 13", "its parameters: rank, factor, step"},
             Refused{"slow:rank=1,factor=2,rank=2", "character 22", "given twice"},
             Refused{"slow:rank=1,factor=2,now", "character 22", "is not KEY=VALUE"},
             Refused{"slow:rank=1,factor=2,", "character 22", "is not KEY=VALUE"},
             Refused{"op:Q3,add=1ms", "character 4", "does not name an op"},
             Refused{"op:F3.x,add=1ms", "character 4", "does not name an op"},
             Refused{"op:F3", "character 1", "needs add or factor"},
             Refused{"op", "character 1", "needs op and add or factor"},
             Refused{"flip:layer=1", "character 1", "needs op, rank and bit"},
             Refused{"op:F3,add=5", "character 11", "is not a time"},
             Refused{"link:01,latency=1ms", "character 6", "is not a link"},
             Refused{"link:0>,latency=1ms", "character 8", "is not a rank"},
             Refused{"pause:rank=1,for=-3ms", "character 18", "is not a time"},
             Refused{"jitter:sigma=200%", "character 14", "more than 100 %"},
             Refused{"flip:B2,rank=1,bit=-1", "character 20", "is not a bit"},
             Refused{"flip:B2,rank=1,bit=1,tensor=side", "character 29", "is not a tensor"},
             Refused{"slow:rank=1,factor=2,from=5,to=3", "character 32", "before the first step"},
             Refused{"slow:rank=1,factor=2,step=stepx", "character 31", "is not a step"},
             Refused{"jitter:sigma=1%,seed=-1", "character 22", "is not a seed"},
         }) {
        const Result<Fault> fault = parseFault(refused.text);
        ASSERT_FALSE(fault.ok()) << refused.text;
        EXPECT_EQ(fault.error().kind, ErrorKind::Usage);
        EXPECT_THAT(fault.error().where, HasSubstr(refused.place)) << refused.text;
        EXPECT_THAT(fault.error().text(), HasSubstr(refused.says)) << refused.text;
        EXPECT_FALSE(fault.error().hint.empty()) << refused.text;
    }
}

TEST(CheckFaults, AllNamesMustExist) {
    const Schedule schedule = test::scheduleOf("1f1b", 3, 4);
    const auto check = [&](const std::string& text) {
        const Fault fault = parsed(text);
        const Status status = checkFaults({&fault, 1}, schedule, 5);
        return status.ok() ? std::string() : status.error().text();
    };
    for (const char* const fine :
         {"slow:rank=2,factor=2", "slow:rank=*,factor=2", "op:O,add=1ms", "op:F3,add=1ms", "link:0>2,latency=1ms",
          "die:rank=0,step=4", "flip:F,rank=0,bit=0", "flip:F,rank=2,tensor=in,bit=0", "flip:B,rank=1,bit=0"})
        EXPECT_EQ(check(fine), "");
    EXPECT_THAT(check("slow:rank=3,factor=2"), HasSubstr("there is no rank 3 (use ranks 0 to 2)"));
    EXPECT_THAT(check("slow:rank=1-3,factor=2"), HasSubstr("there is no rank 3"));
    EXPECT_THAT(check("link:0>3,latency=1ms"), HasSubstr("there is no rank 3"));
    EXPECT_THAT(check("die:rank=0,step=5"), HasSubstr("there is no step 5"));
    EXPECT_THAT(check("op:F4,add=1ms"), HasSubstr("runs such an op"));
    EXPECT_THAT(check("op:W,add=1ms"), HasSubstr("runs such an op"));
    EXPECT_THAT(check("op:F0.1,add=1ms"), HasSubstr("runs such an op"));
    EXPECT_THAT(check("flip:F,rank=2,bit=0"), HasSubstr("sends nothing to a neighbour"));
    EXPECT_THAT(check("flip:F,rank=0,tensor=in,bit=0"), HasSubstr("receives nothing from a neighbour"));
    EXPECT_THAT(check("flip:O,rank=0,bit=0"), HasSubstr("runs such an op"));
}

} // namespace
} // namespace bubblescope::runtime
