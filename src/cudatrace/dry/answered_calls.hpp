#pragma once
// Calls of runtime and driver that the dry library answers in one of two ways whatever they are
// called with: those that change nothing it keeps, and those that it has no answer to.

// clang-format off
#define CLEAVE_CUDA_NOTHING(X) \
  X(cudaSetDevice) X(cudaSetDeviceFlags) X(cudaInitDevice) X(cudaSetValidDevices) \
  X(cudaDeviceSetCacheConfig) X(cudaDeviceSetSharedMemConfig) X(cudaDeviceSetLimit) \
  X(cudaDeviceSynchronize) X(cudaThreadSynchronize) X(cudaThreadSetLimit) \
  X(cudaDeviceEnablePeerAccess) X(cudaDeviceDisablePeerAccess) X(cudaCtxResetPersistingL2Cache) \
  X(cudaStreamDestroy) X(cudaStreamSynchronize) X(cudaStreamSynchronize_ptsz) X(cudaStreamQuery) \
  X(cudaStreamQuery_ptsz) X(cudaStreamWaitEvent) X(cudaStreamWaitEvent_ptsz) \
  X(cudaStreamAttachMemAsync) X(cudaStreamAttachMemAsync_ptsz) X(cudaStreamSetAttribute) \
  X(cudaStreamSetAttribute_ptsz) X(cudaThreadExchangeStreamCaptureMode) \
  X(cudaEventRecord) X(cudaEventRecord_ptsz) X(cudaEventRecordWithFlags) \
  X(cudaEventRecordWithFlags_ptsz) X(cudaEventQuery) X(cudaEventSynchronize) X(cudaEventDestroy) \
  X(cudaFuncSetAttribute) X(cudaFuncSetCacheConfig) X(cudaFuncSetSharedMemConfig) \
  X(cudaMemcpyToSymbol) X(cudaMemcpyToSymbol_ptds) X(cudaMemcpyToSymbolAsync) \
  X(cudaMemcpyToSymbolAsync_ptsz) X(cudaMemcpyPeer) X(cudaMemcpyPeer_ptds) X(cudaMemcpyPeerAsync) \
  X(cudaMemcpyPeerAsync_ptsz) X(cudaMemcpy3D) X(cudaMemcpy3D_ptds) X(cudaMemcpy3DAsync) \
  X(cudaMemcpy3DAsync_ptsz) X(cudaMemcpy3DPeer) X(cudaMemcpy3DPeerAsync) X(cudaMemcpyToArray) \
  X(cudaMemcpyToArrayAsync) X(cudaMemcpy2DToArray) X(cudaMemcpy2DToArray_ptds) \
  X(cudaMemcpy2DToArrayAsync) X(cudaMemcpy2DArrayToArray) X(cudaMemset2D) X(cudaMemset2D_ptds) \
  X(cudaMemset2DAsync) X(cudaMemset2DAsync_ptsz) X(cudaMemset3D) X(cudaMemset3D_ptds) \
  X(cudaMemset3DAsync) X(cudaMemset3DAsync_ptsz) X(cudaMemAdvise) X(cudaMemAdvise_v2) \
  X(cudaMemPrefetchAsync) X(cudaMemPrefetchAsync_ptsz) X(cudaMemPrefetchAsync_v2) \
  X(cudaMemPrefetchAsync_v2_ptsz) X(cudaHostRegister) X(cudaHostUnregister) \
  X(cudaMemPoolSetAttribute) X(cudaMemPoolTrimTo) X(cudaMemPoolSetAccess) X(cudaMemPoolDestroy) \
  X(cudaDeviceSetMemPool) X(cudaDestroyTextureObject) X(cudaDestroySurfaceObject) \
  X(cudaBindTexture) X(cudaUnbindTexture) X(cudaBindTextureToArray) X(cudaProfilerStart) \
  X(cudaProfilerStop) X(__cudaRegisterFatBinaryEnd) X(__cudaUnregisterFatBinary) \
  X(__cudaRegisterTexture) X(__cudaRegisterSurface) X(__cudaRegisterSharedVar) \
  X(cuInit) X(cuCtxSetCurrent) X(cuCtxPushCurrent_v2) X(cuCtxSynchronize) \
  X(cuCtxSynchronize_v2) X(cuCtxSetLimit) X(cuCtxSetCacheConfig) X(cuCtxSetSharedMemConfig) \
  X(cuCtxDestroy_v2) X(cuCtxEnablePeerAccess) \
  X(cuDevicePrimaryCtxRelease_v2) X(cuDevicePrimaryCtxSetFlags_v2) X(cuModuleUnload) \
  X(cuLibraryUnload) X(cuFuncSetAttribute) X(cuFuncSetCacheConfig) X(cuKernelSetAttribute) \
  X(cuStreamDestroy_v2) X(cuStreamSynchronize) X(cuStreamSynchronize_ptsz) X(cuStreamQuery) \
  X(cuStreamQuery_ptsz) X(cuStreamWaitEvent) X(cuStreamWaitEvent_ptsz) X(cuEventRecord) \
  X(cuEventRecord_ptsz) X(cuEventQuery) X(cuEventSynchronize) X(cuEventDestroy_v2) \
  X(cuMemcpy2D_v2) X(cuMemcpy2DAsync_v2) X(cuMemcpy2DUnaligned_v2) X(cuMemcpy3D_v2) \
  X(cuMemcpy3DAsync_v2) X(cuMemcpyDtoD_v2) X(cuMemcpyDtoDAsync_v2) X(cuMemcpyDtoDAsync_v2_ptsz) \
  X(cuMemcpyHtoA_v2) X(cuMemsetD2D8_v2) X(cuMemsetD2D32_v2) X(cuMemAdvise) X(cuMemPrefetchAsync) \
  X(cuMemHostRegister_v2) X(cuMemHostUnregister) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) \
  X(cuMemAddressFree) X(cuMemPoolSetAttribute) X(cuMemPoolTrimTo) X(cuMemPoolDestroy) \
  X(cuProfilerStart) X(cuProfilerStop)

#define CLEAVE_CUDA_UNANSWERED(X) \
  X(cudaIpcGetMemHandle) X(cudaIpcOpenMemHandle) X(cudaIpcCloseMemHandle) \
  X(cudaIpcGetEventHandle) X(cudaIpcOpenEventHandle) X(cudaImportExternalMemory) \
  X(cudaDestroyExternalMemory) X(cudaExternalMemoryGetMappedBuffer) \
  X(cudaImportExternalSemaphore) X(cudaMallocMipmappedArray) X(cudaGetMipmappedArrayLevel) \
  X(cudaFreeMipmappedArray) X(cudaStreamBeginCapture) X(cudaStreamBeginCapture_ptsz) \
  X(cudaStreamEndCapture) X(cudaStreamEndCapture_ptsz) X(cudaGraphCreate) \
  X(cudaGraphInstantiate) X(cudaGraphInstantiateWithFlags) X(cudaGraphLaunch) \
  X(cudaGraphLaunch_ptsz) X(cudaGraphDestroy) X(cudaGraphExecDestroy) X(cudaGraphExecUpdate) \
  X(cudaGraphAddKernelNode) X(cudaGraphAddMemcpyNode) X(cudaGraphAddMemAllocNode) \
  X(cudaGraphicsMapResources) X(cudaGraphicsUnmapResources) X(cudaGraphicsGLRegisterBuffer) \
  X(cudaMemcpyFromArray) X(cudaMemcpy2DFromArray) X(cudaLibraryLoadData) \
  X(cudaLaunchCooperativeKernelMultiDevice) X(cudaMemPoolExportToShareableHandle) \
  X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle_v2) X(cuIpcCloseMemHandle) X(cuMemcpyAtoH_v2) \
  X(cuImportExternalMemory) X(cuMipmappedArrayCreate) X(cuStreamBeginCapture_v2) \
  X(cuStreamEndCapture) X(cuGraphCreate) X(cuGraphInstantiateWithFlags) X(cuGraphLaunch) \
  X(cuLinkCreate_v2) X(cuLinkAddData_v2) X(cuLinkComplete) X(cuLinkDestroy) \
  X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle) \
  X(cuTensorMapEncodeTiled) X(cuCtxCreate_v4) X(cuGreenCtxCreate)
// clang-format on
