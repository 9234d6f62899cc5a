#!/usr/bin/env bash
# Pushes the images of bin/release to a registry of this machine, signs them with a key that
# is thrown away, and verifies them as users do. It needs no network: the signatures are not
# in the public log, as those of a release are.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
bin/tools/crane registry serve --address 127.0.0.1:0 --disk "$work" >"$work/log" 2>&1 &
registry=$!
trap 'kill $registry; rm -rf "$work"' EXIT
until port=$(sed -n 's/.*serving on port \([0-9]*\).*/\1/p' "$work/log") && [ -n "$port" ]; do
	kill -0 $registry
done
at=127.0.0.1:$port/capacity-card
export COSIGN_PASSWORD=
(cd "$work" && "$OLDPWD/bin/tools/cosign" generate-key-pair && "$OLDPWD/bin/tools/cosign" generate-key-pair --output-key-prefix other)
version=$(sed -n '1s/.*:\(v.*\)-volcano-.*/\1/p' bin/release/images_*.txt)
make push REGISTRY="$at" VERSION="$version"
make sign REGISTRY="$at" SIGN="--yes --key $work/cosign.key --tlog-upload=false"
for image in $(cat bin/release/images_*.txt); do
	tagged=${image%@*}
	name=${tagged%:*} name=${name##*/}
	tag=${tagged##*:}
	verify() { bin/tools/cosign verify --key "$1" --insecure-ignore-tlog=true "$at/$2" >/dev/null; }
	verify "$work/cosign.pub" "$name:$tag"
	[ "$name" != vc-scheduler ] || verify "$work/cosign.pub" "$name-${tag%-volcano-*}:${tag##*-volcano-}"
	! verify "$work/other.pub" "$name:$tag" 2>/dev/null || { echo "$tagged is verified with another key"; exit 1; }
done
bin/tools/cosign verify-blob --key "$work/cosign.pub" --insecure-ignore-tlog=true \
	--bundle bin/release/checksums.txt.bundle bin/release/checksums.txt
rm bin/release/checksums.txt.bundle
