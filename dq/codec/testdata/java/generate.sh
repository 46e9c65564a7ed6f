#!/bin/sh
# Writes to stdout what the Kryo5, Marshalling and Serialization codecs of a release of Redisson
# make of demo/FieldVectors.java; with "read" behind the release it checks such lines from stdin.
#
#     ./generate.sh 4.7.0 > ../fields-4.7.0.tsv
set -eu
here=$(cd "$(dirname "$0")" && pwd)
program=$here/../../../../internal/redisson
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mvn -q -f "$program/pom.xml" "-Dredisson.version=$1" dependency:build-classpath "-Dmdep.outputFile=$out/classpath" >&2
javac -nowarn -Xlint:none -d "$out" -cp "$(cat "$out/classpath")" "$here"/demo/*.java
java "@$program/jvm.args" -cp "$out:$(cat "$out/classpath")" demo.FieldVectors "${2:-write}"
