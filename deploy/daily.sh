#!/bin/sh
# One day: learn from the window that has ended, look for drift, recommend. Every step may be run again.
# Usage: daily.sh STORE WINDOW TODAY OUT
set -eu
store=$1
window=$2
today=$3
out=$4
if [ -e "$out" ]; then # published whole: the day is done
	echo "$out is there already."
	exit 0
fi
realloc update "$window" --store "$store" --quiet
realloc monitor --store "$store" --logs "$today" --quiet # exit code 2 on an alarm: nothing is published
realloc recommend "$today" --store "$store" --out "$out" --force --quiet
