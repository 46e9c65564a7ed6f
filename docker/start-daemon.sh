#!/bin/sh
# Starts a Docker daemon when none answers: for CI machines and sandboxes that have the packages but no init system.
# Idempotent. Must be root. Installs nothing: docker.io and iptables come first.
#
#   docker/start-daemon.sh        exit 0 once `docker info` answers, 1 with the end of the daemon's log otherwise
#
# DOCKERD_LOG   where the daemon writes (default /var/log/dq-bench-dockerd.log)
# DOCKERD_WAIT  seconds to wait for an answer, per attempt (default 20)
set -eu

log=${DOCKERD_LOG:-/var/log/dq-bench-dockerd.log}
patience=${DOCKERD_WAIT:-20}

answers() { timeout 5 docker info >/dev/null 2>&1; }

if answers; then
    echo "docker: a daemon already answers"
    exit 0
fi
for tool in docker dockerd iptables; do
    command -v "$tool" >/dev/null || { echo "docker: $tool is not on PATH: apt-get install docker.io iptables" >&2; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "docker: starting dockerd needs root" >&2; exit 1; }

# Kernels without nf_tables can still have the older tables; the legacy front end is chosen for this machine then.
iptables -t nat -L -n >/dev/null 2>&1 ||
    update-alternatives --set iptables /usr/sbin/iptables-legacy >/dev/null 2>&1 || true

# try FLAG... starts a daemon with these flags and waits for it. A daemon that exits ends the wait at once.
try() {
    echo "--- dockerd $*" >>"$log"
    setsid nohup dockerd "$@" >>"$log" 2>&1 </dev/null &
    pid=$!
    end=$(($(date +%s) + patience))
    while [ "$(date +%s)" -lt "$end" ]; do
        if answers; then
            echo "docker: dockerd $* runs as pid $pid, log $log"
            return 0
        fi
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.2
    done
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
    return 1
}

# What works best comes first. vfs copies every layer but needs nothing of the kernel; without iptables there is no
# port publishing through NAT, only through docker-proxy, which is enough for 127.0.0.1.
try || try --storage-driver=vfs || try --storage-driver=vfs --iptables=false --ip6tables=false || {
    echo "docker: dockerd did not come up; the end of $log:" >&2
    tail -n 15 "$log" >&2
    exit 1
}
