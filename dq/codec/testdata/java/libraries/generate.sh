#!/bin/sh
# Writes to stdout what codecs of a release of Redisson that need libraries of their own make of some
# values; with "read" behind the name of the program it checks such lines from stdin.
#
#     ./generate.sh 4.7.0 Compressed > ../../compressed/4.7.0.tsv
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mvn -q -f "$here/pom.xml" "-Dredisson.version=$1" dependency:build-classpath "-Dmdep.outputFile=$out/classpath" >&2
javac -nowarn -Xlint:none -d "$out" -cp "$(cat "$out/classpath")" "$here/../demo/Wire.java" "$here/$2.java"
java "@$here/../../../../../internal/redisson/jvm.args" -cp "$out:$(cat "$out/classpath")" "demo.$2" "${3:-write}"
