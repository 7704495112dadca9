#pragma once
// Functions of NVML that the simulated library exports without supporting them: each returns
// NOT_SUPPORTED. They let programs load that are linked against the real library or look functions
// up. Names only: NVIDIA's NVML API reference, up to API version 13.

// clang-format off
// System and units.
#define CLEAVE_NVML_UNSUPPORTED_SYSTEM(X) \
  X(nvmlSystemGetHicVersion) \
  X(nvmlSystemGetTopologyGpuSet) \
  X(nvmlSystemGetConfComputeCapabilities) \
  X(nvmlSystemGetConfComputeState) \
  X(nvmlSystemGetConfComputeGpusReadyState) \
  X(nvmlSystemSetConfComputeGpusReadyState) \
  X(nvmlSystemGetConfComputeKeyRotationThresholdInfo) \
  X(nvmlSystemSetConfComputeKeyRotationThresholdInfo) \
  X(nvmlSystemGetConfComputeSettings) \
  X(nvmlSystemGetNvlinkBwMode) \
  X(nvmlSystemSetNvlinkBwMode) \
  X(nvmlSystemGetDriverBranch) \
  X(nvmlSystemEventSetCreate) \
  X(nvmlSystemEventSetFree) \
  X(nvmlSystemRegisterEvents) \
  X(nvmlSystemEventSetWait) \
  X(nvmlUnitGetCount) \
  X(nvmlUnitGetHandleByIndex) \
  X(nvmlUnitGetUnitInfo) \
  X(nvmlUnitGetLedState) \
  X(nvmlUnitSetLedState) \
  X(nvmlUnitGetPsuInfo) \
  X(nvmlUnitGetTemperature) \
  X(nvmlUnitGetFanSpeedInfo) \
  X(nvmlUnitGetDevices) \
  X(nvmlGetExcludedDeviceCount) \
  X(nvmlGetExcludedDeviceInfoByIndex) \
  X(nvmlGetBlacklistDeviceCount) \
  X(nvmlGetBlacklistDeviceInfoByIndex) \
  X(nvmlSetVgpuVersion) \
  X(nvmlGetVgpuVersion)

// Board, bus and topology.
#define CLEAVE_NVML_UNSUPPORTED_BOARD(X) \
  X(nvmlDeviceGetBoardId) \
  X(nvmlDeviceGetBoardPartNumber) \
  X(nvmlDeviceGetMultiGpuBoard) \
  X(nvmlDeviceGetHandleByUUIDV) \
  X(nvmlDeviceGetC2cModeInfoV) \
  X(nvmlDeviceGetPciInfoExt) \
  X(nvmlDeviceGetInforomVersion) \
  X(nvmlDeviceGetInforomImageVersion) \
  X(nvmlDeviceGetInforomConfigurationChecksum) \
  X(nvmlDeviceValidateInforom) \
  X(nvmlDeviceGetLastBBXFlushTime) \
  X(nvmlDeviceGetVbiosVersion) \
  X(nvmlDeviceGetBridgeChipInfo) \
  X(nvmlDeviceGetBAR1MemoryInfo) \
  X(nvmlDeviceGetBusType) \
  X(nvmlDeviceGetGpuMaxPcieLinkGeneration) \
  X(nvmlDeviceGetPcieSpeed) \
  X(nvmlDeviceGetPcieLinkMaxSpeed) \
  X(nvmlDeviceGetPcieReplayCounter) \
  X(nvmlDeviceGetIrqNum) \
  X(nvmlDeviceGetNumGpuCores) \
  X(nvmlDeviceGetMemoryBusWidth) \
  X(nvmlDeviceGetMemoryAffinity) \
  X(nvmlDeviceGetCpuAffinityWithinScope) \
  X(nvmlDeviceSetCpuAffinity) \
  X(nvmlDeviceClearCpuAffinity) \
  X(nvmlDeviceGetNumaNodeId) \
  X(nvmlDeviceGetAddressingMode) \
  X(nvmlDeviceGetTopologyCommonAncestor) \
  X(nvmlDeviceGetTopologyNearestGpus) \
  X(nvmlDeviceGetP2PStatus) \
  X(nvmlDeviceOnSameBoard) \
  X(nvmlDeviceGetModuleId) \
  X(nvmlDeviceGetPlatformInfo) \
  X(nvmlDeviceGetPdi) \
  X(nvmlDeviceGetGpuFabricInfo) \
  X(nvmlDeviceGetGpuFabricInfoV) \
  X(nvmlDeviceModifyDrainState) \
  X(nvmlDeviceQueryDrainState) \
  X(nvmlDeviceRemoveGpu) \
  X(nvmlDeviceRemoveGpu_v2) \
  X(nvmlDeviceDiscoverGpus) \
  X(nvmlDeviceGetAttributesV) \
  X(nvmlDeviceGetCapabilities) \
  X(nvmlDeviceGetRepairStatus) \
  X(nvmlDeviceGetUnrepairableMemoryFlag_v1) \
  X(nvmlDeviceGetHostname_v1) \
  X(nvmlDeviceSetHostname_v1) \
  X(nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts) \
  X(nvmlDeviceGetGpcMask)

// Clocks.
#define CLEAVE_NVML_UNSUPPORTED_CLOCKS(X) \
  X(nvmlDeviceGetApplicationsClock) \
  X(nvmlDeviceGetDefaultApplicationsClock) \
  X(nvmlDeviceSetApplicationsClocks) \
  X(nvmlDeviceResetApplicationsClocks) \
  X(nvmlDeviceGetClock) \
  X(nvmlDeviceGetMaxCustomerBoostClock) \
  X(nvmlDeviceGetSupportedMemoryClocks) \
  X(nvmlDeviceGetSupportedGraphicsClocks) \
  X(nvmlDeviceGetAutoBoostedClocksEnabled) \
  X(nvmlDeviceSetAutoBoostedClocksEnabled) \
  X(nvmlDeviceSetDefaultAutoBoostedClocksEnabled) \
  X(nvmlDeviceSetGpuLockedClocks) \
  X(nvmlDeviceResetGpuLockedClocks) \
  X(nvmlDeviceSetMemoryLockedClocks) \
  X(nvmlDeviceResetMemoryLockedClocks) \
  X(nvmlDeviceGetGpcClkVfOffset) \
  X(nvmlDeviceSetGpcClkVfOffset) \
  X(nvmlDeviceGetGpcClkMinMaxVfOffset) \
  X(nvmlDeviceGetMemClkVfOffset) \
  X(nvmlDeviceSetMemClkVfOffset) \
  X(nvmlDeviceGetMemClkMinMaxVfOffset) \
  X(nvmlDeviceGetMinMaxClockOfPState) \
  X(nvmlDeviceGetSupportedPerformanceStates) \
  X(nvmlDeviceGetClockOffsets) \
  X(nvmlDeviceSetClockOffsets) \
  X(nvmlDeviceGetPerformanceModes) \
  X(nvmlDeviceGetCurrentClockFreqs) \
  X(nvmlDeviceGetAdaptiveClockInfoStatus) \
  X(nvmlDeviceGetCurrentClocksThrottleReasons) \
  X(nvmlDeviceGetSupportedClocksThrottleReasons) \
  X(nvmlDeviceGetCurrentClocksEventReasons) \
  X(nvmlDeviceGetSupportedClocksEventReasons) \
  X(nvmlDeviceGetDynamicPstatesInfo) \
  X(nvmlDeviceGetPowerState) \
  X(nvmlDeviceGetViolationStatus)

// Power, fans and heat.
#define CLEAVE_NVML_UNSUPPORTED_POWER(X) \
  X(nvmlDeviceGetPowerManagementMode) \
  X(nvmlDeviceSetPowerManagementLimit) \
  X(nvmlDeviceSetPowerManagementLimit_v2) \
  X(nvmlDeviceGetPowerSource) \
  X(nvmlDeviceGetPowerMizerMode_v1) \
  X(nvmlDeviceSetPowerMizerMode_v1) \
  X(nvmlDeviceGetFanSpeed) \
  X(nvmlDeviceGetFanSpeed_v2) \
  X(nvmlDeviceGetFanSpeedRPM) \
  X(nvmlDeviceSetFanSpeed_v2) \
  X(nvmlDeviceSetDefaultFanSpeed_v2) \
  X(nvmlDeviceGetTargetFanSpeed) \
  X(nvmlDeviceGetFanControlPolicy_v2) \
  X(nvmlDeviceSetFanControlPolicy) \
  X(nvmlDeviceGetMinMaxFanSpeed) \
  X(nvmlDeviceGetNumFans) \
  X(nvmlDeviceGetCoolerInfo) \
  X(nvmlDeviceGetTemperatureV) \
  X(nvmlDeviceGetMarginTemperature) \
  X(nvmlDeviceSetTemperatureThreshold) \
  X(nvmlDeviceGetThermalSettings) \
  X(nvmlDevicePowerSmoothingActivatePresetProfile) \
  X(nvmlDevicePowerSmoothingUpdatePresetProfileParam) \
  X(nvmlDevicePowerSmoothingSetState) \
  X(nvmlDeviceWorkloadPowerProfileGetProfilesInfo) \
  X(nvmlDeviceWorkloadPowerProfileGetCurrentProfiles) \
  X(nvmlDeviceWorkloadPowerProfileSetRequestedProfiles) \
  X(nvmlDeviceWorkloadPowerProfileClearRequestedProfiles) \
  X(nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1)

// Modes.
#define CLEAVE_NVML_UNSUPPORTED_MODES(X) \
  X(nvmlDeviceSetPersistenceMode) \
  X(nvmlDeviceSetComputeMode) \
  X(nvmlDeviceGetGpuOperationMode) \
  X(nvmlDeviceSetGpuOperationMode) \
  X(nvmlDeviceGetDriverModel) \
  X(nvmlDeviceGetDriverModel_v2) \
  X(nvmlDeviceSetDriverModel) \
  X(nvmlDeviceSetAPIRestriction) \
  X(nvmlDeviceGetAPIRestriction) \
  X(nvmlDeviceGetGspFirmwareVersion) \
  X(nvmlDeviceGetGspFirmwareMode) \
  X(nvmlDeviceSetGpuInstanceMode) \
  X(nvmlDeviceGetDramEncryptionMode) \
  X(nvmlDeviceSetDramEncryptionMode) \
  X(nvmlDeviceGetConfComputeMemSizeInfo) \
  X(nvmlDeviceSetConfComputeUnprotectedMemSize) \
  X(nvmlDeviceGetConfComputeProtectedMemoryUsage) \
  X(nvmlDeviceGetConfComputeGpuCertificate) \
  X(nvmlDeviceGetConfComputeGpuAttestationReport) \
  X(nvmlDeviceReadWritePRM_v1) \
  X(nvmlDeviceReadPRMCounters_v1)

// Memory errors.
#define CLEAVE_NVML_UNSUPPORTED_MEMORY(X) \
  X(nvmlDeviceGetEccMode) \
  X(nvmlDeviceSetEccMode) \
  X(nvmlDeviceGetDefaultEccMode) \
  X(nvmlDeviceClearEccErrorCounts) \
  X(nvmlDeviceGetDetailedEccErrors) \
  X(nvmlDeviceGetSramEccErrorStatus) \
  X(nvmlDeviceGetRetiredPages) \
  X(nvmlDeviceGetRetiredPages_v2) \
  X(nvmlDeviceGetRetiredPagesPendingStatus) \
  X(nvmlDeviceGetRowRemapperHistogram)

// Utilisation, samples and accounting.
#define CLEAVE_NVML_UNSUPPORTED_UTILISATION(X) \
  X(nvmlDeviceGetSamples) \
  X(nvmlDeviceGetProcessUtilization) \
  X(nvmlDeviceGetProcessesUtilizationInfo) \
  X(nvmlDeviceGetRunningProcessDetailList) \
  X(nvmlDeviceGetEncoderUtilization) \
  X(nvmlDeviceGetDecoderUtilization) \
  X(nvmlDeviceGetJpgUtilization) \
  X(nvmlDeviceGetOfaUtilization) \
  X(nvmlDeviceGetEncoderCapacity) \
  X(nvmlDeviceGetEncoderStats) \
  X(nvmlDeviceGetEncoderSessions) \
  X(nvmlDeviceGetFBCStats) \
  X(nvmlDeviceGetFBCSessions) \
  X(nvmlDeviceGetAccountingMode) \
  X(nvmlDeviceSetAccountingMode) \
  X(nvmlDeviceGetAccountingStats) \
  X(nvmlDeviceGetAccountingPids) \
  X(nvmlDeviceGetAccountingBufferSize) \
  X(nvmlDeviceClearAccountingPids) \
  X(nvmlDeviceClearFieldValues) \
  X(nvmlDeviceGetSupportedEventTypesV) \
  X(nvmlGpmQueryIfStreamingEnabled) \
  X(nvmlGpmSetStreamingEnabled)

// NVLink.
#define CLEAVE_NVML_UNSUPPORTED_NVLINK(X) \
  X(nvmlDeviceGetNvLinkState) \
  X(nvmlDeviceGetNvLinkVersion) \
  X(nvmlDeviceGetNvLinkCapability) \
  X(nvmlDeviceGetNvLinkRemotePciInfo) \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2) \
  X(nvmlDeviceGetNvLinkErrorCounter) \
  X(nvmlDeviceResetNvLinkErrorCounters) \
  X(nvmlDeviceSetNvLinkUtilizationControl) \
  X(nvmlDeviceGetNvLinkUtilizationControl) \
  X(nvmlDeviceGetNvLinkUtilizationCounter) \
  X(nvmlDeviceFreezeNvLinkUtilizationCounter) \
  X(nvmlDeviceResetNvLinkUtilizationCounter) \
  X(nvmlDeviceGetNvLinkRemoteDeviceType) \
  X(nvmlDeviceSetNvLinkDeviceLowPowerThreshold) \
  X(nvmlDeviceGetNvlinkSupportedBwModes) \
  X(nvmlDeviceGetNvlinkBwMode) \
  X(nvmlDeviceSetNvlinkBwMode) \
  X(nvmlDeviceGetNvLinkInfo)

// Virtual GPUs.
#define CLEAVE_NVML_UNSUPPORTED_VIRTUAL(X) \
  X(nvmlDeviceGetVirtualizationMode) \
  X(nvmlDeviceSetVirtualizationMode) \
  X(nvmlDeviceGetHostVgpuMode) \
  X(nvmlDeviceGetGridLicensableFeatures) \
  X(nvmlDeviceGetGridLicensableFeatures_v2) \
  X(nvmlDeviceGetGridLicensableFeatures_v3) \
  X(nvmlDeviceGetGridLicensableFeatures_v4) \
  X(nvmlDeviceGetVgpuHeterogeneousMode) \
  X(nvmlDeviceSetVgpuHeterogeneousMode) \
  X(nvmlDeviceGetVgpuTypeSupportedPlacements) \
  X(nvmlDeviceGetVgpuTypeCreatablePlacements) \
  X(nvmlDeviceGetVgpuCapabilities) \
  X(nvmlDeviceSetVgpuCapabilities) \
  X(nvmlDeviceGetSupportedVgpus) \
  X(nvmlDeviceGetCreatableVgpus) \
  X(nvmlDeviceGetActiveVgpus) \
  X(nvmlDeviceGetVgpuMetadata) \
  X(nvmlDeviceGetVgpuUtilization) \
  X(nvmlDeviceGetVgpuInstancesUtilizationInfo) \
  X(nvmlDeviceGetVgpuProcessUtilization) \
  X(nvmlDeviceGetVgpuProcessesUtilizationInfo) \
  X(nvmlDeviceGetVgpuSchedulerLog) \
  X(nvmlDeviceGetVgpuSchedulerState) \
  X(nvmlDeviceGetVgpuSchedulerCapabilities) \
  X(nvmlDeviceSetVgpuSchedulerState) \
  X(nvmlDeviceGetPgpuMetadataString) \
  X(nvmlGetVgpuCompatibility) \
  X(nvmlGetVgpuDriverCapabilities) \
  X(nvmlVgpuTypeGetClass) \
  X(nvmlVgpuTypeGetName) \
  X(nvmlVgpuTypeGetGpuInstanceProfileId) \
  X(nvmlVgpuTypeGetDeviceID) \
  X(nvmlVgpuTypeGetFramebufferSize) \
  X(nvmlVgpuTypeGetNumDisplayHeads) \
  X(nvmlVgpuTypeGetResolution) \
  X(nvmlVgpuTypeGetLicense) \
  X(nvmlVgpuTypeGetFrameRateLimit) \
  X(nvmlVgpuTypeGetMaxInstances) \
  X(nvmlVgpuTypeGetMaxInstancesPerVm) \
  X(nvmlVgpuTypeGetMaxInstancesPerGpuInstance) \
  X(nvmlVgpuTypeGetBAR1Info) \
  X(nvmlVgpuTypeGetCapabilities) \
  X(nvmlVgpuInstanceGetVmID) \
  X(nvmlVgpuInstanceGetUUID) \
  X(nvmlVgpuInstanceGetVmDriverVersion) \
  X(nvmlVgpuInstanceGetFbUsage) \
  X(nvmlVgpuInstanceGetLicenseStatus) \
  X(nvmlVgpuInstanceGetLicenseInfo) \
  X(nvmlVgpuInstanceGetLicenseInfo_v2) \
  X(nvmlVgpuInstanceGetType) \
  X(nvmlVgpuInstanceGetFrameRateLimit) \
  X(nvmlVgpuInstanceGetEccMode) \
  X(nvmlVgpuInstanceGetEncoderCapacity) \
  X(nvmlVgpuInstanceSetEncoderCapacity) \
  X(nvmlVgpuInstanceGetEncoderStats) \
  X(nvmlVgpuInstanceGetEncoderSessions) \
  X(nvmlVgpuInstanceGetFBCStats) \
  X(nvmlVgpuInstanceGetFBCSessions) \
  X(nvmlVgpuInstanceGetGpuInstanceId) \
  X(nvmlVgpuInstanceGetGpuPciId) \
  X(nvmlVgpuInstanceGetMdevUUID) \
  X(nvmlVgpuInstanceGetMetadata) \
  X(nvmlVgpuInstanceGetPlacementId) \
  X(nvmlVgpuInstanceGetRuntimeStateSize) \
  X(nvmlVgpuInstanceGetAccountingMode) \
  X(nvmlVgpuInstanceGetAccountingPids) \
  X(nvmlVgpuInstanceGetAccountingStats) \
  X(nvmlVgpuInstanceClearAccountingPids) \
  X(nvmlGpuInstanceGetCreatableVgpus) \
  X(nvmlGpuInstanceGetActiveVgpus) \
  X(nvmlGpuInstanceGetVgpuTypeCreatablePlacements) \
  X(nvmlGpuInstanceGetVgpuHeterogeneousMode) \
  X(nvmlGpuInstanceSetVgpuHeterogeneousMode) \
  X(nvmlGpuInstanceGetVgpuSchedulerState) \
  X(nvmlGpuInstanceSetVgpuSchedulerState) \
  X(nvmlGpuInstanceGetVgpuSchedulerLog)

#define CLEAVE_NVML_UNSUPPORTED(X) \
  CLEAVE_NVML_UNSUPPORTED_SYSTEM(X) \
  CLEAVE_NVML_UNSUPPORTED_BOARD(X) \
  CLEAVE_NVML_UNSUPPORTED_CLOCKS(X) \
  CLEAVE_NVML_UNSUPPORTED_POWER(X) \
  CLEAVE_NVML_UNSUPPORTED_MODES(X) \
  CLEAVE_NVML_UNSUPPORTED_MEMORY(X) \
  CLEAVE_NVML_UNSUPPORTED_UTILISATION(X) \
  CLEAVE_NVML_UNSUPPORTED_NVLINK(X) \
  CLEAVE_NVML_UNSUPPORTED_VIRTUAL(X)
// clang-format on
