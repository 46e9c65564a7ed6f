#!/bin/sh
# Writes the files of a release to out/release/VERSION, the same bytes each time, from a clean checkout of its tag:
# an archive for each platform, the image for docker load, the dependencies (CycloneDX), man pages, JSON schemas,
# notes from CHANGELOG.md, and the checksums of all.
#
#   docker/release.sh v0.1.0
set -eu
cd "$(dirname "$0")/.."

version=${1:?expected a version such as v0.1.0}
[ "$(git describe --tags --exact-match 2>/dev/null)" = "$version" ] || { echo "release: expected the checkout of the tag $version" >&2; exit 1; }
[ -z "$(git status --porcelain)" ] || { echo 'release: expected a clean checkout' >&2; exit 1; }
when=$(git log -1 --format=%ct)
out=out/release/$version
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
rm -rf "$out" && mkdir -p "$out/schemas" "$out/man"

# pack FOLDER NAME... writes a tar of files of a folder, with nothing of this machine in it.
pack() {
    from=$1
    shift
    tar -C "$from" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime=@"$when" -cf - "$@"
}

for platform in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64; do
    name=dq-bench-$version-$(echo $platform | tr / -)
    binary=dq-bench
    case $platform in windows/*) binary=dq-bench.exe ;; esac
    mkdir "$work/$name"
    CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} GOFLAGS='' \
        go build -trimpath -buildvcs=true -ldflags '-s -w -buildid=' -o "$work/$name/$binary" ./cmd/dq-bench
    cp LICENSE NOTICE README.md "$work/$name"
    pack "$work" "$name" | gzip -n >"$out/$name.tar.gz"
    echo "$name.tar.gz"
done

# The archive's dq-bench has JavaValues compiled: a Java without a compiler runs it, and misses only the Redisson.
tar -xzf "$out/dq-bench-$version-linux-amd64.tar.gz" -C "$work" && mkdir "$work/empty"
echo 74 | DQ_JAVA='java --limit-modules java.se' "$work/dq-bench-$version-linux-amd64/dq-bench" codec decode --hex --classpath "$work/empty" 2>&1 |
    grep -q 'has no Redisson' || { echo 'release: expected JavaValues.jar within dq-bench' >&2; exit 1; }

# The image, as docker save writes one: the program and the trusted authorities, for a user without rights.
root=$work/root image=$work/image
mkdir -p "$root/etc/ssl/certs" "$root/out" "$image"
cp "$work/dq-bench-$version-linux-amd64/dq-bench" "$root"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs"
pack "$root" dq-bench etc >"$image/layer.tar"
tar -C "$root" --format=ustar --owner=65532 --group=65532 --numeric-owner --mode=755 --mtime=@"$when" -rf "$image/layer.tar" out
layer=$(sha256sum "$image/layer.tar" | cut -d ' ' -f 1)
printf '{"architecture":"amd64","os":"linux","created":"%s","config":{"User":"65532:65532","Entrypoint":["/dq-bench"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    "$(date -u -d @"$when" +%Y-%m-%dT%H:%M:%SZ)" "$layer" >"$image/config.json"
printf '[{"Config":"config.json","RepoTags":["dq-bench:%s"],"Layers":["layer.tar"]}]' "$version" >"$image/manifest.json"
pack "$image" manifest.json config.json layer.tar | gzip -n >"$out/dq-bench-$version-image.tar.gz"

go run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0 app -json -noserial -std -main cmd/dq-bench -output "$work/sbom.json" . 2>/dev/null
sed "s/\"timestamp\": \".*\"/\"timestamp\": \"$(date -u -d @"$when" +%Y-%m-%dT%H:%M:%SZ)\"/" "$work/sbom.json" >"$out/sbom.cdx.json"
SOURCE_DATE_EPOCH=$when DQ_MAN=$PWD/$out/man go test -count 1 ./harness/internal/cli -run TestManPages >/dev/null
cp docs/schemas/*.json "$out/schemas"
awk -v version="## $version" 'index($0, version) == 1 { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md | sed '/./,$!d' >"$out/NOTES.md"
(cd "$out" && find . -type f ! -name SHA256SUMS | sort | xargs sha256sum >SHA256SUMS)
echo "$out: $(find "$out" -type f | wc -l) files"
