#!/bin/sh
# Lists the specs: tests/lua, and where EBB_SHARED has the cases of other projects,
# whose code Ebb is held against, tests/origins.
ls tests/lua/*_spec.lua
if [ -d "${EBB_SHARED:-}/data/cases" ]; then
  ls tests/origins/*_spec.lua
else
  echo "skipped: tests/origins (EBB_SHARED has no data/cases)" >&2
fi
