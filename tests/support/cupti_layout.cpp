// Compares our declarations of CUPTI's records with the toolkit's headers if they are installed.

#include "tests/support/cupti_layout.h"

#ifdef BUBBLESCOPE_TEST_CUPTI
#include <cupti.h>
#include <cupti_activity_deprecated.h>

namespace bubblescope::test::cupti {

#define BUBBLESCOPE_SAME(Ours, field, Theirs, their_field) \
    static_assert(offsetof(Ours, field) == offsetof(Theirs, their_field))
static_assert(sizeof(KernelRecord) == sizeof(CUpti_ActivityKernel10));
BUBBLESCOPE_SAME(KernelRecord, start, CUpti_ActivityKernel10, start);
BUBBLESCOPE_SAME(KernelRecord, end, CUpti_ActivityKernel10, end);
BUBBLESCOPE_SAME(KernelRecord, completed, CUpti_ActivityKernel10, completed);
BUBBLESCOPE_SAME(KernelRecord, device, CUpti_ActivityKernel10, deviceId);
BUBBLESCOPE_SAME(KernelRecord, context, CUpti_ActivityKernel10, contextId);
BUBBLESCOPE_SAME(KernelRecord, stream, CUpti_ActivityKernel10, streamId);
BUBBLESCOPE_SAME(KernelRecord, grid, CUpti_ActivityKernel10, gridX);
BUBBLESCOPE_SAME(KernelRecord, block, CUpti_ActivityKernel10, blockX);
BUBBLESCOPE_SAME(KernelRecord, correlation, CUpti_ActivityKernel10, correlationId);
BUBBLESCOPE_SAME(KernelRecord, grid_id, CUpti_ActivityKernel10, gridId);
BUBBLESCOPE_SAME(KernelRecord, name, CUpti_ActivityKernel10, name);
BUBBLESCOPE_SAME(KernelRecord, graph_node, CUpti_ActivityKernel10, graphNodeId);
BUBBLESCOPE_SAME(KernelRecord, graph, CUpti_ActivityKernel10, graphId);
static_assert(sizeof(CopyRecord) == sizeof(CUpti_ActivityMemcpy6));
BUBBLESCOPE_SAME(CopyRecord, copy_kind, CUpti_ActivityMemcpy6, copyKind);
BUBBLESCOPE_SAME(CopyRecord, bytes, CUpti_ActivityMemcpy6, bytes);
BUBBLESCOPE_SAME(CopyRecord, start, CUpti_ActivityMemcpy6, start);
BUBBLESCOPE_SAME(CopyRecord, end, CUpti_ActivityMemcpy6, end);
BUBBLESCOPE_SAME(CopyRecord, device, CUpti_ActivityMemcpy6, deviceId);
BUBBLESCOPE_SAME(CopyRecord, stream, CUpti_ActivityMemcpy6, streamId);
BUBBLESCOPE_SAME(CopyRecord, correlation, CUpti_ActivityMemcpy6, correlationId);
static_assert(sizeof(SetRecord) == sizeof(CUpti_ActivityMemset4));
BUBBLESCOPE_SAME(SetRecord, bytes, CUpti_ActivityMemset4, bytes);
BUBBLESCOPE_SAME(SetRecord, start, CUpti_ActivityMemset4, start);
BUBBLESCOPE_SAME(SetRecord, device, CUpti_ActivityMemset4, deviceId);
BUBBLESCOPE_SAME(SetRecord, stream, CUpti_ActivityMemset4, streamId);
BUBBLESCOPE_SAME(SetRecord, correlation, CUpti_ActivityMemset4, correlationId);
static_assert(sizeof(CallRecord) == sizeof(CUpti_ActivityAPI));
BUBBLESCOPE_SAME(CallRecord, number, CUpti_ActivityAPI, cbid);
BUBBLESCOPE_SAME(CallRecord, start, CUpti_ActivityAPI, start);
BUBBLESCOPE_SAME(CallRecord, end, CUpti_ActivityAPI, end);
BUBBLESCOPE_SAME(CallRecord, process, CUpti_ActivityAPI, processId);
BUBBLESCOPE_SAME(CallRecord, thread, CUpti_ActivityAPI, threadId);
BUBBLESCOPE_SAME(CallRecord, correlation, CUpti_ActivityAPI, correlationId);
static_assert(sizeof(MemoryRecord) == sizeof(CUpti_ActivityMemory4));
BUBBLESCOPE_SAME(MemoryRecord, operation, CUpti_ActivityMemory4, memoryOperationType);
BUBBLESCOPE_SAME(MemoryRecord, memory_kind, CUpti_ActivityMemory4, memoryKind);
BUBBLESCOPE_SAME(MemoryRecord, address, CUpti_ActivityMemory4, address);
BUBBLESCOPE_SAME(MemoryRecord, bytes, CUpti_ActivityMemory4, bytes);
BUBBLESCOPE_SAME(MemoryRecord, time, CUpti_ActivityMemory4, timestamp);
BUBBLESCOPE_SAME(MemoryRecord, device, CUpti_ActivityMemory4, deviceId);
BUBBLESCOPE_SAME(MemoryRecord, stream, CUpti_ActivityMemory4, streamId);
BUBBLESCOPE_SAME(MemoryRecord, is_async, CUpti_ActivityMemory4, isAsync);
BUBBLESCOPE_SAME(MemoryRecord, pool_type, CUpti_ActivityMemory4, memoryPoolConfig);
static_assert(sizeof(ExternalRecord) == sizeof(CUpti_ActivityExternalCorrelation));
BUBBLESCOPE_SAME(ExternalRecord, external_kind, CUpti_ActivityExternalCorrelation, externalKind);
BUBBLESCOPE_SAME(ExternalRecord, id, CUpti_ActivityExternalCorrelation, externalId);
BUBBLESCOPE_SAME(ExternalRecord, correlation, CUpti_ActivityExternalCorrelation, correlationId);
static_assert(sizeof(SubscriberParameters) == sizeof(CUpti_SubscriberParams));
BUBBLESCOPE_SAME(SubscriberParameters, name, CUpti_SubscriberParams, subscriberName);
BUBBLESCOPE_SAME(SubscriberParameters, old_name, CUpti_SubscriberParams, oldSubscriberName);
BUBBLESCOPE_SAME(SubscriberParameters, old_size, CUpti_SubscriberParams, oldSubscriberSize);
static_assert(kMemcpy == CUPTI_ACTIVITY_KIND_MEMCPY && kMemset == CUPTI_ACTIVITY_KIND_MEMSET);
static_assert(kRuntime == CUPTI_ACTIVITY_KIND_RUNTIME && kConcurrentKernel == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(kExternalCorrelation == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
static_assert(kMemory2 == CUPTI_ACTIVITY_KIND_MEMORY2 && kDeviceMemory == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
static_assert(kAllocation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
static_assert(kRelease == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
static_assert(kSuccess == CUPTI_SUCCESS && kInvalid == CUPTI_ERROR_INVALID_PARAMETER);
static_assert(kMaxLimitReached == CUPTI_ERROR_MAX_LIMIT_REACHED && kQueueEmpty == CUPTI_ERROR_QUEUE_EMPTY);
static_assert(kMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(kLaunchKernel == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
static_assert(kMemcpyAsync == CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
static_assert(kMemsetAsync == CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020);
static_assert(kGraphLaunch == CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000);
#undef BUBBLESCOPE_SAME

} // namespace bubblescope::test::cupti
#endif
