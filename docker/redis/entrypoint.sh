#!/bin/sh
# Runs the image's server so that it can be reached from outside the container. Arguments are the server's own:
#   docker run IMAGE [redis-server] [--maxmemory 100mb …]
# Another program as the first argument is run instead.
set -eu
server=$(command -v redis-server || command -v valkey-server)
case ${1:-} in
redis-server | valkey-server) shift ;;
'' | -*) ;;
*) exec "$@" ;;
esac
exec "$server" "$@" --bind 0.0.0.0 --protected-mode no
