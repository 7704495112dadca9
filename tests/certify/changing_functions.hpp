#pragma once
// The functions of NVML that change something outside the process that calls them: X(name). A test
// holds that all others only read, or make objects of their own process.

// clang-format off
#define CLEAVE_CHANGING_FUNCTIONS(X) \
  X(nvmlComputeInstanceDestroy) X(nvmlDeviceClearAccountingPids) X(nvmlDeviceClearCpuAffinity) \
  X(nvmlDeviceClearEccErrorCounts) X(nvmlDeviceClearFieldValues) X(nvmlDeviceCreateGpuInstance) \
  X(nvmlDeviceCreateGpuInstanceWithPlacement) X(nvmlDeviceDiscoverGpus) \
  X(nvmlDeviceFreezeNvLinkUtilizationCounter) X(nvmlDeviceModifyDrainState) \
  X(nvmlDevicePowerSmoothingActivatePresetProfile) X(nvmlDevicePowerSmoothingSetState) \
  X(nvmlDevicePowerSmoothingUpdatePresetProfileParam) X(nvmlDeviceReadPRMCounters_v1) \
  X(nvmlDeviceReadWritePRM_v1) X(nvmlDeviceRemoveGpu) X(nvmlDeviceRemoveGpu_v2) \
  X(nvmlDeviceResetApplicationsClocks) X(nvmlDeviceResetGpuLockedClocks) \
  X(nvmlDeviceResetMemoryLockedClocks) X(nvmlDeviceResetNvLinkErrorCounters) \
  X(nvmlDeviceResetNvLinkUtilizationCounter) X(nvmlDeviceSetAPIRestriction) \
  X(nvmlDeviceSetAccountingMode) X(nvmlDeviceSetApplicationsClocks) \
  X(nvmlDeviceSetAutoBoostedClocksEnabled) X(nvmlDeviceSetClockOffsets) \
  X(nvmlDeviceSetComputeMode) X(nvmlDeviceSetConfComputeUnprotectedMemSize) \
  X(nvmlDeviceSetCpuAffinity) X(nvmlDeviceSetDefaultAutoBoostedClocksEnabled) \
  X(nvmlDeviceSetDefaultFanSpeed_v2) X(nvmlDeviceSetDramEncryptionMode) \
  X(nvmlDeviceSetDriverModel) X(nvmlDeviceSetEccMode) X(nvmlDeviceSetFanControlPolicy) \
  X(nvmlDeviceSetFanSpeed_v2) X(nvmlDeviceSetGpcClkVfOffset) X(nvmlDeviceSetGpuLockedClocks) \
  X(nvmlDeviceSetGpuOperationMode) X(nvmlDeviceSetHostname_v1) X(nvmlDeviceSetMemClkVfOffset) \
  X(nvmlDeviceSetMemoryLockedClocks) X(nvmlDeviceSetMigMode) \
  X(nvmlDeviceSetNvLinkDeviceLowPowerThreshold) X(nvmlDeviceSetNvLinkUtilizationControl) \
  X(nvmlDeviceSetNvlinkBwMode) X(nvmlDeviceSetPersistenceMode) \
  X(nvmlDeviceSetPowerManagementLimit) X(nvmlDeviceSetPowerManagementLimit_v2) \
  X(nvmlDeviceSetPowerMizerMode_v1) X(nvmlDeviceSetTemperatureThreshold) \
  X(nvmlDeviceSetVgpuCapabilities) X(nvmlDeviceSetVgpuHeterogeneousMode) \
  X(nvmlDeviceSetVgpuSchedulerState) X(nvmlDeviceSetVirtualizationMode) \
  X(nvmlDeviceValidateInforom) X(nvmlDeviceWorkloadPowerProfileClearRequestedProfiles) \
  X(nvmlDeviceWorkloadPowerProfileSetRequestedProfiles) X(nvmlGpmSetStreamingEnabled) \
  X(nvmlGpuInstanceCreateComputeInstance) X(nvmlGpuInstanceCreateComputeInstanceWithPlacement) \
  X(nvmlGpuInstanceDestroy) X(nvmlGpuInstanceSetVgpuHeterogeneousMode) \
  X(nvmlGpuInstanceSetVgpuSchedulerState) X(nvmlSetVgpuVersion) X(nvmlSystemEventSetCreate) \
  X(nvmlSystemEventSetFree) X(nvmlSystemEventSetWait) X(nvmlSystemRegisterEvents) \
  X(nvmlSystemSetConfComputeGpusReadyState) X(nvmlSystemSetConfComputeKeyRotationThresholdInfo) \
  X(nvmlSystemSetNvlinkBwMode) X(nvmlUnitSetLedState) X(nvmlVgpuInstanceClearAccountingPids) \
  X(nvmlVgpuInstanceSetEncoderCapacity)
// clang-format on
