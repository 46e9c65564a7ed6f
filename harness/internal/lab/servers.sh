#!/bin/sh
# Puts server programs of other versions into a folder, out of Debian's packages and without installing them, for
# make topologies:
#
#   harness/internal/lab/servers.sh out/servers      # redis 6.0, 7.0, 8.0, valkey 8.0, 8.1, 9, redict 7.3: 50 MB each, in seconds
#
# Each is a script, such as out/servers/redis-6.0/redis-server, that runs the program with the libraries of its own
# suite. It needs mmdebstrap. DEBIAN_MIRROR and DEBIAN_STALE are as for docker/build-local.sh.
set -eu

folder=${1:?expected a folder}
command -v mmdebstrap >/dev/null || { echo "servers: mmdebstrap is not on PATH: apt-get install mmdebstrap" >&2; exit 1; }
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

# fetch NAME PROGRAM SUITE [backports]
fetch() {
    target=$folder/$1
    [ -x "$target/$2" ] && return
    rm -rf "$target"
    mkdir "$target"
    # The packages' files alone: nothing of them is run, so that no root and no container are needed.
    hook=${4:+"--setup-hook=sed -n 's/ $3 / $3-$4 /p' \"\$1\"/etc/apt/sources.list >>\"\$1\"/etc/apt/sources.list"}
    mmdebstrap --quiet ${hook:+"$hook"} --variant=extract --include="$2" ${DEBIAN_STALE:+"--aptopt=Acquire::Check-Valid-Until \"false\""} \
        "$3" "$target/root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
    loader=$(find "$target/root" -type f \( -name 'ld-linux-*.so*' -o -name 'ld-2*.so' \) | head -n 1)
    libraries=$(find "$target/root" -type d -path '*/lib/*-linux-gnu*' -prune | paste -s -d : -)
    cat >"$target/$2" <<END
#!/bin/sh
exec "$loader" --library-path "$libraries" "$target/root/usr/bin/$2" "\$@"
END
    chmod +x "$target/$2"
    "$target/$2" --version
}

fetch redis-6.0 redis-server bullseye
fetch redis-7.0 redis-server bookworm
fetch redis-8.0 redis-server trixie
fetch valkey-8.0 valkey-server bookworm backports
fetch valkey-8.1 valkey-server trixie
fetch valkey-9 valkey-server sid
fetch redict-7.3 redict-server sid
