#!/bin/bash
# A run divided among the tasks of a Slurm array. Submit both jobs from the folder of the predictions:
#
#     array=$(sbatch --parsable slurm-array.sh)
#     sbatch --dependency=afterany:"$array" --wrap 'plsqlbench merge parts --out reports'
#
# If tasks were lost, merge names the first; submit those again, for example with --array=3,7.
#SBATCH --job-name=plsqlbench
#SBATCH --array=1-8
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=01:00:00
set -euo pipefail

# 1 means that turns failed, which is a result; anything else is a fault of this task
pytest "$(plsqlbench path tasks)" -n "$SLURM_CPUS_PER_TASK" -q --tb=no \
    --plsql-predictions=out.jsonl \
    --plsql-shard=auto/8 \
    --plsql-report="parts/$SLURM_ARRAY_TASK_ID" || [ $? -eq 1 ]
