#include "core/recognise/communication.h"

#include <gtest/gtest.h>

#include <string_view>

namespace bubblescope {
namespace {

struct Named {
    std::string_view kernel;
    std::string_view library;
    std::string_view call;
    WorkKind kind = WorkKind::Collective;
};

TEST(CommunicationKernels, AreKnownByLibraryAndCall) {
    constexpr WorkKind kPair = WorkKind::PointToPoint;
    for (const Named& expected : {
             Named{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL", "allreduce"},
             {"ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", "NCCL", "allgather"},
             {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "NCCL", "sendrecv", kPair},
             {"ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", "NCCL", ""},
             {"mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*)", "MSCCL", ""},
             {"void mscclpp::allreduce7<float>(float*, float*)", "MSCCL", "allreduce"},
             {"oneccl_allreduce_large_sycl", "oneCCL", "allreduce"},
             {"hcom_allReduce__123_0_1", "HCCL", "allreduce"},
             {"hcom_batchSendRecv__126_11_1", "HCCL", "sendrecv", kPair},
             {"hcom_send_", "HCCL", "send", kPair},
             {"hcom_receive_", "HCCL", "recv", kPair},
             {"cnclReduceScatterKernel", "CNCL", "reducescatter"},
             {"void deep_ep::internode::dispatch<false, 8, false, 7168>(int4*, float*, long*)", "DeepEP", "dispatch"},
             {"void deep_ep::intranode::combine<__nv_bfloat16, 8>(__nv_bfloat16*)", "DeepEP", "combine"},
             {"void c10d::symmetric_memory::one_shot_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16**)",
              "symmetric memory", "allreduce"},
             {"void c10d::symmetric_memory::(anonymous namespace)::barrier_kernel(unsigned int**)", "symmetric memory",
              "barrier"},
             {"multimem_all_reduce_kernel<__half>(__half*)", "symmetric memory", "allreduce"},
             {"void vllm::cross_device_reduce_1stage<__half, 4>(RankData*)", "custom all-reduce", "allreduce"},
             {"quickreduce::allreduce_prototype_twoshot<CodecFP>", "custom all-reduce", "allreduce"},
             {"void allreduce_fusion_kernel_oneshot_lamport<1, __nv_bfloat16, 8>(P<__nv_bfloat16>)", "", "allreduce"},
             {"void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8>(AllReduceParams)", "", "allreduce"},
             {"nvshmemi_alltoall_kernel", "NVSHMEM", "alltoall"},
             {"userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<8>", "Transformer Engine", ""},
             {"all-reduce.3", "", "allreduce"},
             {"all-gather-start.12", "", "allgather"},
             {"collective-permute-done", "", "sendrecv", kPair},
             {"recv-done.3", "XLA", "recv", kPair},
         }) {
        const auto found = communicationKernel(expected.kernel);
        ASSERT_TRUE(found.has_value()) << expected.kernel;
        EXPECT_EQ(found->library, expected.library) << expected.kernel;
        EXPECT_EQ(found->call, expected.call) << expected.kernel;
        EXPECT_EQ(found->kind, expected.kind) << expected.kernel;
    }
}

TEST(CommunicationKernels, AreNotWhatOnlyLooksLikeThem) {
    for (const std::string_view kernel : {
             "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
             "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(at::native::ReduceOp<float>)",
             "void split_with_sizes_copy_out_contiguous_no_cast_kernel<c10::BFloat16>",
             "void at::native::(anonymous namespace)::indexSelectLargeIndex<float>",
             "void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits>",
             "void moe_permute_dispatch_kernel<__half>(__half*)",
             "void fsdp::all_gather_copy_in_kernel(float*)",
             "triton_poi_fused_all_reduce_add_0",
             "void deep_ep::layout::get_dispatch_layout<256, 32>(long const*)",
             "cutlass::gemm_all_reduce_fused",
             "MatmulAllReduceAddRmsNorm",
             "void cub::CUB_300001_SM_900::DeviceReduceKernel<cccl>",
             "sendmail",
             "receive_buffer_pack",
             "",
         }) {
        EXPECT_FALSE(communicationKernel(kernel).has_value()) << kernel;
    }
}

TEST(CommunicationKernels, CopiesAreNone) {
    EXPECT_TRUE(isCopyName("Memcpy HtoD (Pageable -> Device)"));
    EXPECT_TRUE(isCopyName("MEMCPY_ASYNC"));
    EXPECT_TRUE(isCopyName("Memset (Device)"));
    EXPECT_FALSE(isCopyName("gemm"));
}

} // namespace
} // namespace bubblescope
