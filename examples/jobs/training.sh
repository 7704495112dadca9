#!/bin/sh
# A training as a user would submit it, except that cleave-job stands in for the network: its memory grows a
# little, it is as fast on each profile as ResNet-50 was measured to be, and it can continue where it was stopped.
# CLEAVE_SIM_NODE and CUDA_VISIBLE_DEVICES, set by the caller, say where it runs.
#
#   examples/jobs/training.sh [SECONDS]    run time on the whole GPU, 20 by default
set -eu
exec cleave-job --base 3GiB --per-iteration 20MiB --noise 10MiB --iterations 20 --seconds "${1:-20}" \
  --like miso:resnet:64 --busy 0.9 --dies-as pytorch --checkpoint "${CHECKPOINT:-training.checkpoint}"
