// The functions whose answer is always the same.

#include "cudatrace/dry/answered_calls.hpp"
#include "cudatrace/dry/pretended.hpp"

using namespace cleave::cuda;

#define CLEAVE_CUDA_DO_NOTHING(name) \
  CLEAVE_CUDA_EXPORT Status name() { \
    DryCall call;                    \
    moment();                        \
    return call.done(success);       \
  }
CLEAVE_CUDA_NOTHING(CLEAVE_CUDA_DO_NOTHING)
#undef CLEAVE_CUDA_DO_NOTHING

#define CLEAVE_CUDA_HAVE_NO_ANSWER(name) \
  CLEAVE_CUDA_EXPORT Status name() {     \
    return unanswered(#name);            \
  }
CLEAVE_CUDA_UNANSWERED(CLEAVE_CUDA_HAVE_NO_ANSWER)
#undef CLEAVE_CUDA_HAVE_NO_ANSWER
