#!/bin/sh
# A training as somebody would submit it, except that cleave-job stands in for the network: it holds memory
# that grows a little, is as fast on each profile as ResNet-50 was measured to be, and can go on where it was
# stopped. CLEAVE_SIM_NODE and CUDA_VISIBLE_DEVICES say where, as whoever starts it sets them.
#
#   examples/jobs/training.sh [SECONDS]    on the whole GPU, 20 by itself
set -eu
exec cleave-job --base 3GiB --per-iteration 20MiB --noise 10MiB --iterations 20 --seconds "${1:-20}" \
  --like miso:resnet:64 --busy 0.9 --dies-as pytorch --checkpoint "${CHECKPOINT:-training.checkpoint}"
