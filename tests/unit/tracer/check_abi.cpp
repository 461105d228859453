// Compiled with the installed ROCm headers by test_abi: what src/tracer/hsa_entries.def and hsa_abi.h say
// about the runtime must be what the headers say. It is only compiled, never run.
#define AMD_INTERNAL_BUILD
#include <amd_hsa_signal.h>
#include <cstddef>
#include <hsa_api_trace.h>
#include <hsa_ven_amd_loader.h>

#define TABLE_core CoreApiTable
#define TABLE_amd  AmdExtTable
#define RP_HSA(table, index, need, ret, name, args)                                                \
    static_assert(offsetof(TABLE_##table, name##_fn) == 16 + 8 * (index), #name);
#include "tracer/hsa_entries.def"

static_assert(sizeof(ApiTableVersion) == 16, "");
static_assert(offsetof(HsaApiTable, core_) == 16 && offsetof(HsaApiTable, amd_ext_) == 24, "");
static_assert(HSA_CORE_API_TABLE_MAJOR_VERSION == 2 && HSA_AMD_EXT_API_TABLE_MAJOR_VERSION == 2,
              "");
static_assert(sizeof(hsa_agent_t) == 8 && sizeof(hsa_signal_t) == 8, "");

static_assert(sizeof(hsa_queue_t) == 40 && offsetof(hsa_queue_t, size) == 24 &&
                  offsetof(hsa_queue_t, id) == 32,
              "");
static_assert(sizeof(hsa_kernel_dispatch_packet_t) == 64 &&
                  offsetof(hsa_kernel_dispatch_packet_t, workgroup_size_x) == 4 &&
                  offsetof(hsa_kernel_dispatch_packet_t, grid_size_x) == 12 &&
                  offsetof(hsa_kernel_dispatch_packet_t, private_segment_size) == 24 &&
                  offsetof(hsa_kernel_dispatch_packet_t, group_segment_size) == 28 &&
                  offsetof(hsa_kernel_dispatch_packet_t, kernel_object) == 32 &&
                  offsetof(hsa_kernel_dispatch_packet_t, completion_signal) == 56,
              "");
static_assert(sizeof(amd_signal_t) == 64 && offsetof(amd_signal_t, value) == 8 &&
                  offsetof(amd_signal_t, start_ts) == 32 && offsetof(amd_signal_t, end_ts) == 40,
              "");
static_assert(HSA_PACKET_TYPE_KERNEL_DISPATCH == 2 && HSA_PACKET_HEADER_BARRIER == 8, "");
static_assert(HSA_PACKET_TYPE_VENDOR_SPECIFIC == 0 && HSA_PACKET_TYPE_BARRIER_AND == 3 &&
                  HSA_PACKET_TYPE_BARRIER_OR == 5 && HSA_AMD_PACKET_TYPE_BARRIER_VALUE == 2,
              "");
static_assert(offsetof(hsa_barrier_and_packet_t, dep_signal) == 8 &&
                  sizeof(hsa_barrier_and_packet_t::dep_signal) == 40 &&
                  offsetof(hsa_barrier_and_packet_t, completion_signal) == 56 &&
                  offsetof(hsa_barrier_or_packet_t, dep_signal) == 8 &&
                  offsetof(hsa_amd_vendor_packet_header_t, AmdFormat) == 2 &&
                  offsetof(hsa_amd_barrier_value_packet_t, signal) == 8 &&
                  offsetof(hsa_amd_barrier_value_packet_t, completion_signal) == 56,
              "");
static_assert(sizeof(hsa_amd_event_t) == 32 && offsetof(hsa_amd_event_t, memory_fault.agent) == 8 &&
                  offsetof(hsa_amd_event_t, memory_fault.virtual_address) == 16 &&
                  HSA_AMD_GPU_MEMORY_FAULT_EVENT == 0,
              "");
static_assert(HSA_AMD_SIGNAL_AMD_GPU_ONLY == 1 && HSA_SIGNAL_CONDITION_LT == 2, "");

static_assert(HSA_SYSTEM_INFO_TIMESTAMP == 2 && HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY == 3, "");
static_assert(HSA_AGENT_INFO_NAME == 0 && HSA_AGENT_INFO_VENDOR_NAME == 1 &&
                  HSA_AGENT_INFO_WAVEFRONT_SIZE == 6 && HSA_AGENT_INFO_WORKGROUP_MAX_SIZE == 8 &&
                  HSA_AGENT_INFO_NODE == 16 && HSA_AGENT_INFO_DEVICE == 17 &&
                  HSA_DEVICE_TYPE_CPU == 0 && HSA_DEVICE_TYPE_GPU == 1,
              "");
static_assert(HSA_AMD_AGENT_INFO_CHIP_ID == 0xA000 &&
                  HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT == 0xA002 &&
                  HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY == 0xA003 &&
                  HSA_AMD_AGENT_INFO_DRIVER_NODE_ID == 0xA004 &&
                  HSA_AMD_AGENT_INFO_BDFID == 0xA006 && HSA_AMD_AGENT_INFO_MEMORY_WIDTH == 0xA007 &&
                  HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY == 0xA008 &&
                  HSA_AMD_AGENT_INFO_PRODUCT_NAME == 0xA009 &&
                  HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU == 0xA00A &&
                  HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU == 0xA00B &&
                  HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES == 0xA00C &&
                  HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE == 0xA00D &&
                  HSA_AMD_AGENT_INFO_DOMAIN == 0xA00F && HSA_AMD_AGENT_INFO_UUID == 0xA011 &&
                  HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY == 0xA016 &&
                  HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID == 0xA107 &&
                  HSA_AMD_AGENT_INFO_NUM_SDMA_ENG == 0xA10A && HSA_AMD_AGENT_INFO_NUM_XCC == 0xA111,
              "");
static_assert(HSA_AMD_MEMORY_POOL_INFO_SEGMENT == 0 && HSA_AMD_MEMORY_POOL_INFO_SIZE == 2 &&
                  HSA_AMD_SEGMENT_GLOBAL == 0 && HSA_AMD_SEGMENT_GROUP == 3,
              "");
static_assert(HSA_EXECUTABLE_SYMBOL_INFO_TYPE == 0 && HSA_SYMBOL_KIND_KERNEL == 1 &&
                  HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH == 1 &&
                  HSA_EXECUTABLE_SYMBOL_INFO_NAME == 2 &&
                  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE == 11 &&
                  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT == 12 &&
                  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE == 13 &&
                  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE == 14 &&
                  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT == 22,
              "");
static_assert(HSA_EXTENSION_AMD_LOADER == 0x201 &&
                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT == 3 &&
                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE == 4 &&
                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE == 5 &&
                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE == 6 &&
                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA == 8 &&
                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE == 9 &&
                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE == 10 &&
                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH == 11 &&
                  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI == 12 &&
                  HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE == 1 &&
                  HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY == 2,
              "");
static_assert(sizeof(hsa_ven_amd_loader_1_01_pfn_t) == 5 * 8, "");
static_assert(sizeof(hsa_pitched_ptr_t) == 24 && sizeof(hsa_dim3_t) == 12, "");
static_assert(hsaHostToDevice == 1 && hsaDeviceToHost == 2 && hsaDeviceToDevice == 3, "");
static_assert(sizeof(hsa_amd_pointer_info_t) == 56 && offsetof(hsa_amd_pointer_info_t, type) == 4 &&
                  offsetof(hsa_amd_pointer_info_t, sizeInBytes) == 24 &&
                  offsetof(hsa_amd_pointer_info_t, agentOwner) == 40 &&
                  offsetof(hsa_amd_pointer_info_t, global_flags) == 48 &&
                  HSA_EXT_POINTER_TYPE_UNKNOWN == 0,
              "");
static_assert(sizeof(hsa_amd_memory_access_desc_t) == 16 &&
                  offsetof(hsa_amd_memory_access_desc_t, agent_handle) == 8 &&
                  HSA_ACCESS_PERMISSION_NONE == 0,
              "");
static_assert(sizeof(hsa_amd_svm_attribute_pair_t) == 16, "");
static_assert(HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS == 1 &&
                  HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED == 5 &&
                  HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT == 1 &&
                  HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED == 2 &&
                  HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED == 4 &&
                  HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED == 8,
              "");
static_assert(HSA_AMD_SYSTEM_INFO_XNACK_ENABLED == 0x206, "");
static_assert(HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE == 9 &&
                  HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE == 11 && HSA_FENCE_SCOPE_SYSTEM == 2,
              "");
