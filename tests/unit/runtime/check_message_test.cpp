// Messages between processes about checks arrive unchanged, or not at all.

#include "runtime/checks/check_message.h"

#include "core/aadiff/digest.h"
#include "tests/unit/runtime/shipped_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace bubblescope::runtime {
namespace {

using ::testing::HasSubstr;

CheckMessage mailOf(CheckMessage::Kind kind) {
    CheckMessage mail;
    mail.kind = kind;
    mail.ticket = 77;
    mail.layer = test::someLayer();
    mail.once = mail.layer.first;
    mail.twice = mail.layer.first;
    mail.twice.front().digest ^= 1U;
    mail.record.kind = CheckKind::Elsewhere;
    mail.record.outcome = CheckOutcome::Mismatch;
    mail.record.verdict = Verdict::Device;
    mail.record.step = 9;
    mail.record.rank = Rank{2};
    mail.record.op = mail.layer.run.op;
    mail.record.tensor = "hidden";
    mail.record.difference = TensorDifference{12, 1, 3, 4, 5, 6};
    return mail;
}

/// As the other side receives it.
CheckMessage sent(const CheckMessage& mail) {
    const auto bytes = packMessage(mail);
    EXPECT_TRUE(bytes.ok()) << bytes.error().text();
    auto back = unpackMessage(bytes.value());
    EXPECT_TRUE(back.ok()) << back.error().text();
    return std::move(back).value();
}

/// With a digest that fits them: what damage cannot make, but another program could.
std::string sealed(std::string bytes) {
    const std::uint64_t seal = digest::of(bytes.data() + sizeof(std::uint64_t), bytes.size() - sizeof(std::uint64_t));
    std::memcpy(bytes.data(), &seal, sizeof seal);
    return bytes;
}

TEST(CheckMessage, CarriesALayerThatCanBeRunAgain) {
    const CheckMessage mail = mailOf(CheckMessage::Kind::Question);
    const CheckMessage back = sent(mail);
    EXPECT_EQ(back.kind, CheckMessage::Kind::Question);
    EXPECT_EQ(back.ticket, 77U);
    EXPECT_EQ(back.layer.run.op, mail.layer.run.op);
    EXPECT_EQ(back.layer.run.step, 5);
    EXPECT_EQ(back.layer.run.layer, 7);
    EXPECT_EQ(back.layer.stage, Stage{6});
    EXPECT_EQ(back.layer.cost, mail.layer.cost);
    EXPECT_FALSE(firstDifference(back.layer.first, mail.layer.first));
    EXPECT_TRUE(back.layer.first.front().values.empty()) << "digests tell enough";

    class Taker final : public LayerProbe {
    public:
        using LayerProbe::touch;
        void touch(CheckedTensor tensor, LiveTensor& values) override { result.push_back(values.show(tensor, false)); }
        LayerResult result;
    };
    Taker again;
    back.layer.computation->run(again);
    EXPECT_FALSE(firstDifference(again.result, mail.layer.first));
}

TEST(CheckMessage, CarriesResultsAndVerdicts) {
    const CheckMessage answer = sent(mailOf(CheckMessage::Kind::Answer));
    EXPECT_EQ(firstDifference(answer.once, answer.twice), std::optional<std::size_t>(0));
    EXPECT_TRUE(answer.once.front().values.empty());

    const CheckMessage found = sent(mailOf(CheckMessage::Kind::Result));
    EXPECT_EQ(found.once.front().values, test::someLayer().first.front().values);
    EXPECT_EQ(found.once.front().tensor, CheckedTensor::Normalised);

    const CheckMessage told = sent(mailOf(CheckMessage::Kind::Verdict));
    EXPECT_EQ(told.record.verdict, Verdict::Device);
    EXPECT_EQ(told.record.step, 9);
    EXPECT_EQ(told.record.tensor, "hidden");
    ASSERT_TRUE(told.record.difference);
    EXPECT_EQ(told.record.difference->second_bits, 5U);
    EXPECT_EQ(told.record.difference->ulp, 6);

    for (const auto kind : {CheckMessage::Kind::Done, CheckMessage::Kind::Unreadable, CheckMessage::Kind::Idle})
        EXPECT_EQ(sent(mailOf(kind)).kind, kind);
}

TEST(CheckMessage, IsRefusedWhereAByteIsMissingOrOther) {
    for (const auto kind : {CheckMessage::Kind::Offer, CheckMessage::Kind::Answer, CheckMessage::Kind::Verdict}) {
        const std::string bytes = packMessage(mailOf(kind)).value();
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            EXPECT_FALSE(unpackMessage(std::string_view(bytes).substr(0, i)).ok()) << "cut after " << i;
            std::string damaged = bytes;
            damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
            const auto read = unpackMessage(damaged);
            ASSERT_FALSE(read.ok()) << "byte " << i;
            EXPECT_THAT(read.error().text(),
                        HasSubstr("a check from another process: its bytes differ from the sent ones"));
        }
        const auto longer = unpackMessage(sealed(bytes + "x"));
        ASSERT_FALSE(longer.ok());
        EXPECT_EQ(longer.error().kind, ErrorKind::Input);
    }
}

/// A layer of another program, or one that is out to harm: what is taken can be run, all else is refused.
TEST(CheckMessage, TakesNoLayerThatCannotBeRun) {
    const std::string bytes = packMessage(mailOf(CheckMessage::Kind::Question)).value();
    std::size_t refused = 0;
    for (std::size_t i = sizeof(std::uint64_t); i < bytes.size(); ++i) {
        for (const int bits : {0x01, 0x04, 0x80, 0xFF}) {
            std::string other = bytes;
            other[i] = static_cast<char>(other[i] ^ bits);
            const auto read = unpackMessage(sealed(std::move(other)));
            if (!read.ok()) {
                ++refused;
                continue;
            }
            if (read.value().kind != CheckMessage::Kind::Question && read.value().kind != CheckMessage::Kind::Offer)
                continue;
            class Blind final : public LayerProbe {
            public:
                using LayerProbe::touch;
                void touch(CheckedTensor, LiveTensor& values) override { numbers += values.count(); }
                std::int64_t numbers = 0;
            };
            Blind probe;
            read.value().layer.computation->run(probe);
            EXPECT_GE(probe.numbers, 0);
        }
    }
    EXPECT_GT(refused, 400U) << "sizes, kinds and counts";
    for (std::size_t cut = sizeof(std::uint64_t); cut < bytes.size(); ++cut)
        EXPECT_FALSE(unpackMessage(sealed(bytes.substr(0, cut))).ok()) << "cut after " << cut;
}

TEST(CheckMessage, TellsOffersBeforeTheyAreRead) {
    const std::string offer = packMessage(mailOf(CheckMessage::Kind::Offer)).value();
    EXPECT_EQ(offeredTicket(offer), std::optional<std::uint64_t>(77));
    EXPECT_FALSE(offeredTicket(packMessage(mailOf(CheckMessage::Kind::Question)).value()));
    EXPECT_FALSE(offeredTicket(std::string_view(offer).substr(0, 10)));
    EXPECT_FALSE(offeredTicket(""));
}

TEST(CheckMessage, LeavesNoDevice) {
    class OnDevice final : public ReexecutableLayer {
    public:
        void run(LayerProbe&) const override {}
        [[nodiscard]] std::int64_t bytes() const override { return 0; }
        void detach() override {}
    };
    CheckMessage mail = mailOf(CheckMessage::Kind::Offer);
    mail.layer.computation = std::make_shared<OnDevice>();
    const auto packed = packMessage(mail);
    ASSERT_FALSE(packed.ok());
    EXPECT_THAT(packed.error().message, HasSubstr("cannot be sent to other ranks"));
}

} // namespace
} // namespace bubblescope::runtime
