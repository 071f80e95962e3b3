#!/bin/bash
# sbatch docs/slurm/train.sh CONFIG RUN [OPTION…]: trains on four machines, a rank on each. The job is put into the queue
# again before its time is over, and goes on where it stood; a second call goes on as well. QKV: the program, built with
# `cmake --preset mpi`.
#SBATCH --job-name=qkv
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=04:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
config=${1:?CONFIG is missing} run=${2:?RUN, the folder, is missing}
shift 2

# Slurm's SIGTERM, two minutes before the end, goes to the ranks: rank 0 saves the run. Without a signal, srun ends with
# the status of the training.
again=()
if [[ -d $run/checkpoints ]]; then again=(--resume); fi
status=0
srun "${QKV:-qkv}" train "$config" --out "$run" "${again[@]}" "$@" || status=$?

# 130: stopped, and saved.
if [[ $status == 130 && -n ${SLURM_JOB_ID:-} ]]; then scontrol requeue "$SLURM_JOB_ID"; fi
exit "$status"
