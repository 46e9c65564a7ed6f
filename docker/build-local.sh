#!/bin/sh
# Makes the Redis images from Debian packages, without an image registry.
#
#   docker/build-local.sh                            redis:7.0, what `--redis container` runs
#   docker/build-local.sh redis-6.0 redis-7.0 redis-8.0 valkey-8 valkey-9
#   docker/build-local.sh dq-bench                   dq-bench itself, which compose.yaml and k8s-job.yaml run
#
# A version that is installed on this machine is packed as it is, with its libraries and busybox: 20 MB in a second.
# Every other one comes from its Debian suite through mmdebstrap: 10 s and about 150 MB. The images carry the names
# they have in a registry, and the label dq-bench.built-from says where they come from.
# A mirror other than the default of mmdebstrap goes into DEBIAN_MIRROR; DEBIAN_STALE=1 accepts one that has stopped
# following Debian, whose index of sid expires after a week.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

need() { command -v "$1" >/dev/null || { echo "build-local: $1 is not on PATH: apt-get install $2" >&2; exit 1; }; }

# import TAR IMAGE ORIGIN
import() {
    docker import \
        --change 'ENTRYPOINT ["/entrypoint.sh"]' --change 'WORKDIR /data' --change 'EXPOSE 6379' \
        --change "LABEL dq-bench.built-from=\"$3\"" \
        "$1" "$2" >/dev/null
    echo "build-local: $2 from $3"
}

# pack PROGRAM IMAGE makes the image out of the program installed here, its command line client, what they are linked
# to, and busybox, whose shell the entry point and testcontainers' checks use.
pack() {
    need busybox busybox-static
    root=$work/root
    mkdir -p "$root/bin" "$root/usr/bin" "$root/data" "$root/tmp"
    chmod 1777 "$root/tmp"
    for program in "$1" "${1%-server}-cli"; do
        command -v "$program" >/dev/null || continue
        path=$(readlink -f "$(command -v "$program")")
        cp "$path" "$root/usr/bin/$program"
        ldd "$path" | grep -o '/[^ )]*' | while read -r library; do
            mkdir -p "$root$(dirname "$library")"
            cp -L "$library" "$root$library"
        done
    done
    cp "$(command -v busybox)" "$root/bin/busybox"
    for tool in sh cat awk grep ls sleep env kill ps; do ln -sf busybox "$root/bin/$tool"; done
    ln -sf ../../bin/busybox "$root/usr/bin/env"
    cp "$here/redis/entrypoint.sh" "$root/entrypoint.sh"
    tar -C "$root" -cf "$work/pack.tar" .
    rm -rf "$root"
    import "$work/pack.tar" "$2" "$1 $("$1" --version | sed 's/.*v=\([^ ]*\).*/\1/') of this machine"
}

# debootstrap PACKAGE SUITE IMAGE
debootstrap() {
    need mmdebstrap mmdebstrap
    mmdebstrap --quiet --variant=apt --include="$1" \
        ${DEBIAN_STALE:+"--aptopt=Acquire::Check-Valid-Until \"false\""} \
        --customize-hook='mkdir -p "$1/data"' --customize-hook="copy-in $here/redis/entrypoint.sh /" \
        --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/usr/share/doc/* "$1"/usr/share/locale/*' \
        "$2" "$work/suite.tar" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
    import "$work/suite.tar" "$3" "Debian $2, $1"
    rm -f "$work/suite.tar"
}

# build PROGRAM VERSION SUITE IMAGE: from this machine if its version fits, else from the suite.
build() {
    if command -v "$1" >/dev/null && "$1" --version | grep -q "v=$2\."; then
        pack "$1" "$4"
    else
        debootstrap "$1" "$3" "$4"
    fi
}

# dqbench makes the second stage of dq-bench/Dockerfile.
dqbench() {
    need go golang
    root=$work/root
    mkdir -p "$root/etc/ssl/certs" "$root/out"
    (cd "$here/.." && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$root/dq-bench" ./cmd/dq-bench)
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
    tar -C "$root" --owner=65532 --group=65532 -cf "$work/dq-bench.tar" .
    rm -rf "$root"
    docker import --change 'USER 65532:65532' --change 'ENTRYPOINT ["/dq-bench"]' \
        --change 'LABEL dq-bench.built-from="the sources"' "$work/dq-bench.tar" dq-bench >/dev/null
    echo "build-local: dq-bench from the sources"
}

need docker docker.io
[ $# -gt 0 ] || set -- redis-7.0
for what in "$@"; do
    case $what in
    redis-6.0) build redis-server 6.0 bullseye redis:6.0 ;;
    redis-7.0) build redis-server 7.0 bookworm redis:7.0 ;;
    redis-8.0) build redis-server 8.0 trixie redis:8.0 ;;
    valkey-8) build valkey-server 8.1 trixie valkey/valkey:8.1 ;;
    valkey-9) build valkey-server 9 sid valkey/valkey:9 ;;
    dq-bench) dqbench ;;
    *)
        echo "build-local: $what is none of redis-6.0 redis-7.0 redis-8.0 valkey-8 valkey-9 dq-bench" >&2
        exit 2
        ;;
    esac
done
