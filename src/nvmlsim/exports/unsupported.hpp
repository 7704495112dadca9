#pragma once
// Functions of NVML that the simulated library does not support. Most are exported and answer
// NOT_SUPPORTED, which lets programs load that are linked against the real library. Those that
// replace an older function are not exported where the older one is supported: a program that finds
// the newer one would not ask the older. Source: NVIDIA's NVML API reference, API version 13.
//
// X(name, shape), with one letter for each argument: D a GPU or MIG device, d one that is not
// looked at, G a GPU instance, P a pointer that must be given, o one that need not be, # anything
// else.

// clang-format off
// System and units.
#define CLEAVE_NVML_UNSUPPORTED_SYSTEM(X) \
  X(nvmlSystemGetConfComputeCapabilities, "P") \
  X(nvmlSystemGetConfComputeState, "P") \
  X(nvmlSystemGetConfComputeGpusReadyState, "P") \
  X(nvmlSystemSetConfComputeGpusReadyState, "#") \
  X(nvmlSystemGetConfComputeKeyRotationThresholdInfo, "P") \
  X(nvmlSystemSetConfComputeKeyRotationThresholdInfo, "P") \
  X(nvmlSystemGetConfComputeSettings, "P") \
  X(nvmlSystemGetNvlinkBwMode, "P") \
  X(nvmlSystemSetNvlinkBwMode, "#") \
  X(nvmlSystemEventSetCreate, "P") \
  X(nvmlSystemEventSetFree, "P") \
  X(nvmlSystemRegisterEvents, "P") \
  X(nvmlSystemEventSetWait, "P") \
  X(nvmlUnitGetHandleByIndex, "#P") \
  X(nvmlUnitGetUnitInfo, "#P") \
  X(nvmlUnitGetLedState, "#P") \
  X(nvmlUnitSetLedState, "##") \
  X(nvmlUnitGetPsuInfo, "#P") \
  X(nvmlUnitGetTemperature, "##P") \
  X(nvmlUnitGetFanSpeedInfo, "#P") \
  X(nvmlUnitGetDevices, "#Po") \
  X(nvmlGetExcludedDeviceInfoByIndex, "#P") \
  X(nvmlGetBlacklistDeviceCount, "P") \
  X(nvmlGetBlacklistDeviceInfoByIndex, "#P") \
  X(nvmlSetVgpuVersion, "P") \
  X(nvmlGetVgpuVersion, "PP")

// Board, bus and topology.
#define CLEAVE_NVML_UNSUPPORTED_BOARD(X) \
  X(nvmlDeviceGetC2cModeInfoV, "DP") \
  X(nvmlDeviceGetInforomVersion, "D#P#") \
  X(nvmlDeviceGetInforomImageVersion, "DP#") \
  X(nvmlDeviceGetInforomConfigurationChecksum, "DP") \
  X(nvmlDeviceValidateInforom, "D") \
  X(nvmlDeviceGetLastBBXFlushTime, "DPP") \
  X(nvmlDeviceGetBridgeChipInfo, "DP") \
  X(nvmlDeviceGetIrqNum, "DP") \
  X(nvmlDeviceSetCpuAffinity, "D") \
  X(nvmlDeviceClearCpuAffinity, "D") \
  X(nvmlDeviceGetNumaNodeId, "DP") \
  X(nvmlDeviceGetPlatformInfo, "DP") \
  X(nvmlDeviceGetPdi, "DP") \
  X(nvmlDeviceGetGpuFabricInfo, "DP") \
  X(nvmlDeviceGetGpuFabricInfoV, "DP") \
  X(nvmlDeviceModifyDrainState, "P#") \
  X(nvmlDeviceQueryDrainState, "PP") \
  X(nvmlDeviceRemoveGpu, "P") \
  X(nvmlDeviceRemoveGpu_v2, "P##") \
  X(nvmlDeviceDiscoverGpus, "P") \
  X(nvmlDeviceGetCapabilities, "DP") \
  X(nvmlDeviceGetRepairStatus, "DP") \
  X(nvmlDeviceGetUnrepairableMemoryFlag_v1, "DP") \
  X(nvmlDeviceGetHostname_v1, "DP") \
  X(nvmlDeviceSetHostname_v1, "DP") \
  X(nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts, "DP")

// Clocks.
#define CLEAVE_NVML_UNSUPPORTED_CLOCKS(X) \
  X(nvmlDeviceGetAutoBoostedClocksEnabled, "DPP") \
  X(nvmlDeviceSetAutoBoostedClocksEnabled, "D#") \
  X(nvmlDeviceSetDefaultAutoBoostedClocksEnabled, "D##") \
  X(nvmlDeviceGetGpcClkVfOffset, "DP") \
  X(nvmlDeviceSetGpcClkVfOffset, "D#") \
  X(nvmlDeviceGetGpcClkMinMaxVfOffset, "DPP") \
  X(nvmlDeviceGetMemClkVfOffset, "DP") \
  X(nvmlDeviceSetMemClkVfOffset, "D#") \
  X(nvmlDeviceGetMemClkMinMaxVfOffset, "DPP") \
  X(nvmlDeviceGetClockOffsets, "DP") \
  X(nvmlDeviceSetClockOffsets, "DP") \
  X(nvmlDeviceGetPerformanceModes, "DP") \
  X(nvmlDeviceGetCurrentClockFreqs, "DP") \
  X(nvmlDeviceGetAdaptiveClockInfoStatus, "DP") \
  X(nvmlDeviceGetDynamicPstatesInfo, "DP") \
  X(nvmlDeviceGetViolationStatus, "D#P") \
  X(nvmlDeviceGetClkMonStatus, "DP")

// Power, fans and heat.
#define CLEAVE_NVML_UNSUPPORTED_POWER(X) \
  X(nvmlDeviceGetPowerSource, "DP") \
  X(nvmlDeviceGetPowerMizerMode_v1, "DP") \
  X(nvmlDeviceSetPowerMizerMode_v1, "DP") \
  X(nvmlDeviceGetFanSpeed, "DP") \
  X(nvmlDeviceGetFanSpeed_v2, "D#P") \
  X(nvmlDeviceGetFanSpeedRPM, "DP") \
  X(nvmlDeviceSetFanSpeed_v2, "D##") \
  X(nvmlDeviceSetDefaultFanSpeed_v2, "D#") \
  X(nvmlDeviceGetTargetFanSpeed, "D#P") \
  X(nvmlDeviceGetFanControlPolicy_v2, "D#P") \
  X(nvmlDeviceSetFanControlPolicy, "D##") \
  X(nvmlDeviceGetMinMaxFanSpeed, "DPP") \
  X(nvmlDeviceGetNumFans, "DP") \
  X(nvmlDeviceGetCoolerInfo, "DP") \
  X(nvmlDeviceSetTemperatureThreshold, "D#P") \
  X(nvmlDeviceGetThermalSettings, "D#P") \
  X(nvmlDevicePowerSmoothingActivatePresetProfile, "DP") \
  X(nvmlDevicePowerSmoothingUpdatePresetProfileParam, "DP") \
  X(nvmlDevicePowerSmoothingSetState, "DP") \
  X(nvmlDeviceWorkloadPowerProfileGetProfilesInfo, "DP") \
  X(nvmlDeviceWorkloadPowerProfileGetCurrentProfiles, "DP") \
  X(nvmlDeviceWorkloadPowerProfileSetRequestedProfiles, "DP") \
  X(nvmlDeviceWorkloadPowerProfileClearRequestedProfiles, "DP")

// Modes.
#define CLEAVE_NVML_UNSUPPORTED_MODES(X) \
  X(nvmlDeviceGetGpuOperationMode, "DPP") \
  X(nvmlDeviceSetGpuOperationMode, "D#") \
  X(nvmlDeviceGetDriverModel, "DPP") \
  X(nvmlDeviceGetDriverModel_v2, "DPP") \
  X(nvmlDeviceSetDriverModel, "D##") \
  X(nvmlDeviceSetAPIRestriction, "D##") \
  X(nvmlDeviceGetAPIRestriction, "D#P") \
  X(nvmlDeviceGetDramEncryptionMode, "DPP") \
  X(nvmlDeviceSetDramEncryptionMode, "DP") \
  X(nvmlDeviceGetConfComputeMemSizeInfo, "DP") \
  X(nvmlDeviceSetConfComputeUnprotectedMemSize, "D#") \
  X(nvmlDeviceGetConfComputeProtectedMemoryUsage, "DP") \
  X(nvmlDeviceGetConfComputeGpuCertificate, "DP") \
  X(nvmlDeviceGetConfComputeGpuAttestationReport, "DP") \
  X(nvmlDeviceReadWritePRM_v1, "DP") \
  X(nvmlDeviceReadPRMCounters_v1, "DP")

// Memory errors.
#define CLEAVE_NVML_UNSUPPORTED_MEMORY(X) \
  X(nvmlDeviceSetEccMode, "D#") \
  X(nvmlDeviceGetSramEccErrorStatus, "DP") \
  X(nvmlDeviceGetRetiredPages, "D#Po") \
  X(nvmlDeviceGetRetiredPages_v2, "D#Poo") \
  X(nvmlDeviceGetRetiredPagesPendingStatus, "DP")

// Utilisation, samples and accounting.
#define CLEAVE_NVML_UNSUPPORTED_UTILISATION(X) \
  X(nvmlDeviceGetEncoderCapacity, "D#P") \
  X(nvmlDeviceGetEncoderSessions, "DPo") \
  X(nvmlDeviceGetFBCStats, "DP") \
  X(nvmlDeviceGetFBCSessions, "DPo") \
  X(nvmlDeviceGetAccountingMode, "DP") \
  X(nvmlDeviceSetAccountingMode, "D#") \
  X(nvmlDeviceGetAccountingStats, "D#P") \
  X(nvmlDeviceGetAccountingPids, "DPo") \
  X(nvmlDeviceGetAccountingBufferSize, "DP") \
  X(nvmlDeviceClearAccountingPids, "D") \
  X(nvmlDeviceClearFieldValues, "D#P") \
  X(nvmlGpmQueryIfStreamingEnabled, "DP") \
  X(nvmlGpmSetStreamingEnabled, "D#")

// NVLink.
#define CLEAVE_NVML_UNSUPPORTED_NVLINK(X) \
  X(nvmlDeviceGetNvLinkState, "D#P") \
  X(nvmlDeviceGetNvLinkVersion, "D#P") \
  X(nvmlDeviceGetNvLinkCapability, "D##P") \
  X(nvmlDeviceGetNvLinkRemotePciInfo, "D#P") \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2, "D#P") \
  X(nvmlDeviceGetNvLinkErrorCounter, "D##P") \
  X(nvmlDeviceResetNvLinkErrorCounters, "D#") \
  X(nvmlDeviceSetNvLinkUtilizationControl, "D##P#") \
  X(nvmlDeviceGetNvLinkUtilizationControl, "d##o") \
  X(nvmlDeviceGetNvLinkUtilizationCounter, "d##oo") \
  X(nvmlDeviceFreezeNvLinkUtilizationCounter, "D###") \
  X(nvmlDeviceResetNvLinkUtilizationCounter, "D##") \
  X(nvmlDeviceGetNvLinkRemoteDeviceType, "D#P") \
  X(nvmlDeviceSetNvLinkDeviceLowPowerThreshold, "DP") \
  X(nvmlDeviceGetNvlinkSupportedBwModes, "DP") \
  X(nvmlDeviceGetNvlinkBwMode, "DP") \
  X(nvmlDeviceSetNvlinkBwMode, "DP") \
  X(nvmlDeviceGetNvLinkInfo, "DP")

// Virtual GPUs.
#define CLEAVE_NVML_UNSUPPORTED_VIRTUAL(X) \
  X(nvmlDeviceSetVirtualizationMode, "D#") \
  X(nvmlDeviceGetHostVgpuMode, "DP") \
  X(nvmlDeviceGetGridLicensableFeatures, "DP") \
  X(nvmlDeviceGetGridLicensableFeatures_v2, "DP") \
  X(nvmlDeviceGetGridLicensableFeatures_v3, "DP") \
  X(nvmlDeviceGetGridLicensableFeatures_v4, "DP") \
  X(nvmlDeviceGetVgpuHeterogeneousMode, "DP") \
  X(nvmlDeviceSetVgpuHeterogeneousMode, "DP") \
  X(nvmlDeviceGetVgpuTypeSupportedPlacements, "D#P") \
  X(nvmlDeviceGetVgpuTypeCreatablePlacements, "D#P") \
  X(nvmlDeviceGetVgpuCapabilities, "D#P") \
  X(nvmlDeviceSetVgpuCapabilities, "D##") \
  X(nvmlDeviceGetSupportedVgpus, "DPo") \
  X(nvmlDeviceGetCreatableVgpus, "DPo") \
  X(nvmlDeviceGetActiveVgpus, "DPo") \
  X(nvmlDeviceGetVgpuMetadata, "DoP") \
  X(nvmlDeviceGetVgpuUtilization, "D#oPo") \
  X(nvmlDeviceGetVgpuInstancesUtilizationInfo, "DP") \
  X(nvmlDeviceGetVgpuProcessUtilization, "D#Po") \
  X(nvmlDeviceGetVgpuProcessesUtilizationInfo, "DP") \
  X(nvmlDeviceGetVgpuSchedulerLog, "DP") \
  X(nvmlDeviceGetVgpuSchedulerState, "DP") \
  X(nvmlDeviceGetVgpuSchedulerCapabilities, "DP") \
  X(nvmlDeviceSetVgpuSchedulerState, "DP") \
  X(nvmlDeviceGetPgpuMetadataString, "DoP") \
  X(nvmlGetVgpuCompatibility, "PPP") \
  X(nvmlGetVgpuDriverCapabilities, "#P") \
  X(nvmlVgpuTypeGetClass, "#PP") \
  X(nvmlVgpuTypeGetName, "#PP") \
  X(nvmlVgpuTypeGetGpuInstanceProfileId, "#P") \
  X(nvmlVgpuTypeGetDeviceID, "#PP") \
  X(nvmlVgpuTypeGetFramebufferSize, "#P") \
  X(nvmlVgpuTypeGetNumDisplayHeads, "#P") \
  X(nvmlVgpuTypeGetResolution, "##PP") \
  X(nvmlVgpuTypeGetFbReservation, "#P") \
  X(nvmlVgpuTypeGetGspHeapSize, "#P") \
  X(nvmlVgpuTypeGetLicense, "#P#") \
  X(nvmlVgpuTypeGetFrameRateLimit, "#P") \
  X(nvmlVgpuTypeGetMaxInstances, "D#P") \
  X(nvmlVgpuTypeGetMaxInstancesPerVm, "#P") \
  X(nvmlVgpuTypeGetMaxInstancesPerGpuInstance, "P") \
  X(nvmlVgpuTypeGetBAR1Info, "#P") \
  X(nvmlVgpuTypeGetCapabilities, "##P") \
  X(nvmlVgpuInstanceGetVmID, "#P#P") \
  X(nvmlVgpuInstanceGetUUID, "#P#") \
  X(nvmlVgpuInstanceGetVmDriverVersion, "#P#") \
  X(nvmlVgpuInstanceGetFbUsage, "#P") \
  X(nvmlVgpuInstanceGetLicenseStatus, "#P") \
  X(nvmlVgpuInstanceGetLicenseInfo, "#P") \
  X(nvmlVgpuInstanceGetLicenseInfo_v2, "#P") \
  X(nvmlVgpuInstanceGetType, "#P") \
  X(nvmlVgpuInstanceGetFrameRateLimit, "#P") \
  X(nvmlVgpuInstanceGetEccMode, "#P") \
  X(nvmlVgpuInstanceGetEncoderCapacity, "#P") \
  X(nvmlVgpuInstanceSetEncoderCapacity, "##") \
  X(nvmlVgpuInstanceGetEncoderStats, "#Poo") \
  X(nvmlVgpuInstanceGetEncoderSessions, "#Po") \
  X(nvmlVgpuInstanceGetFBCStats, "#P") \
  X(nvmlVgpuInstanceGetFBCSessions, "#Po") \
  X(nvmlVgpuInstanceGetGpuInstanceId, "#P") \
  X(nvmlVgpuInstanceGetGpuPciId, "#PP") \
  X(nvmlVgpuInstanceGetMdevUUID, "#P#") \
  X(nvmlVgpuInstanceGetMetadata, "#oP") \
  X(nvmlVgpuInstanceGetPlacementId, "#P") \
  X(nvmlVgpuInstanceGetRuntimeStateSize, "#P") \
  X(nvmlVgpuInstanceGetAccountingMode, "#P") \
  X(nvmlVgpuInstanceGetAccountingPids, "#Po") \
  X(nvmlVgpuInstanceGetAccountingStats, "##P") \
  X(nvmlVgpuInstanceClearAccountingPids, "#") \
  X(nvmlGpuInstanceGetCreatableVgpus, "GP") \
  X(nvmlGpuInstanceGetActiveVgpus, "GP") \
  X(nvmlGpuInstanceGetVgpuTypeCreatablePlacements, "GP") \
  X(nvmlGpuInstanceGetVgpuHeterogeneousMode, "GP") \
  X(nvmlGpuInstanceSetVgpuHeterogeneousMode, "GP") \
  X(nvmlGpuInstanceGetVgpuSchedulerState, "GP") \
  X(nvmlGpuInstanceSetVgpuSchedulerState, "GP") \
  X(nvmlGpuInstanceGetVgpuSchedulerLog, "GP")

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

// Not exported: X(name).
#define CLEAVE_NVML_ABSENT(X) \
  X(nvmlDeviceGetAccountingStats_v2) X(nvmlDeviceGetAdaptiveTgpModeInfo_v1) \
  X(nvmlDeviceGetBBXTimeData_v1) X(nvmlDeviceGetBankRemapperStatus_v1) \
  X(nvmlDeviceGetGpuFabricInfo_v4) X(nvmlDeviceGetGpuUptime_v1) \
  X(nvmlDeviceGetMemoryLimits_v1) X(nvmlDeviceGetNvLinkInfo_v3) \
  X(nvmlDeviceGetNvLinkTelemetrySamples_v1) X(nvmlDeviceGetNvlinkNvlePrivateInfo_v1) \
  X(nvmlDeviceGetNvlinkRemapTableInfo_v1) X(nvmlDeviceGetRemappedRows_v2) \
  X(nvmlDeviceGetVgpuSchedulerLog_v2) X(nvmlDeviceGetVgpuSchedulerState_v2) \
  X(nvmlDeviceLockNvlinkRemapTable_v1) X(nvmlDevicePerfMetricsGetSamples_v1) \
  X(nvmlDeviceSetAdaptiveTgpMode_v1) X(nvmlDeviceSetMemoryLimits_v1) \
  X(nvmlDeviceSetNvlinkBwModeAsync_v1) X(nvmlDeviceSetNvlinkNvleReady_v1) \
  X(nvmlDeviceSetRusdSettings_v1) X(nvmlDeviceSetVgpuSchedulerState_v2) \
  X(nvmlDeviceSetupNvlinkNvleEncryptionKey_v1) X(nvmlDeviceVgpuForceGspUnload) \
  X(nvmlEventSetGetContextCount_v1) X(nvmlEventSetGetContextData_v1) \
  X(nvmlEventSetGetContextInfo_v1) X(nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1) \
  X(nvmlEventSetRegisterGpuOperationalEvents_v1) X(nvmlEventSetWait_v3) \
  X(nvmlGpuInstanceGetVgpuSchedulerLog_v2) X(nvmlGpuInstanceGetVgpuSchedulerState_v2) \
  X(nvmlGpuInstanceSetVgpuSchedulerState_v2) X(nvmlSystemGetCPER_v1) \
  X(nvmlSystemGetConfComputeSettings_v2) \
  X(nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1)
// clang-format on
