#!/usr/bin/env bash
# Writes BENCHMARKS.md from the raw output of the benchmarks, given as files.
set -euo pipefail
cd "$(dirname "$0")/.."
cat <<MD
# Benchmarks

Ours against upstream's plugin (volcano.sh/volcano v1.14.1, imported as it is), on
the same input, in the same run. Written by \`make bench\` from the raw output in
\`bench/results/\`; read the ratios, not the times.

- commit measured: $(git rev-parse --short HEAD)
- $(go version)
- command: \`go test ./bench -run '^\$' -bench . -benchmem -count 6\`

S is 100 nodes, 10 queues, 1,000 tasks; L is 5,000 nodes, 1,020 queues in a tree
of depth 3, 5,000 jobs, 100,000 tasks.

\`\`\`
$(go tool benchstat -col /impl "$@")
\`\`\`

## Where it loses

The three allocations of a PrePredicate are one of ours, the snapshot, and two of
Volcano's cycle state, which upstream pays for as well. The rest of a session's
opening waits for memory: every job is looked at once, and Volcano lays jobs out
anew in every session. The profile is in \`profiles/\`.
MD
