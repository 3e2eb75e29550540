#!/usr/bin/env bash
# Three hospitals train one model; nobody's patients leave the house.
# Usage: run.sh [FOLDER]    (default: a new folder three-hospitals here)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-three-hospitals}
python=${PYTHON:-python3}
if [ -e "$folder" ]; then
  echo "$folder exists already. Remove it, or name another: run.sh FOLDER" >&2
  exit 2
fi
if ! "$python" -c "import dssfn, grpc" 2>/dev/null; then
  echo "$python has no dssfn with gRPC. Run: pip install '.[grpc]', or set PYTHON," >&2
  echo "as in PYTHON=.venv/bin/python run.sh after make demo" >&2
  exit 2
fi
dssfn() { "$python" -m dssfn "$@"; }

echo "== Three files, and one to test on"
"$python" "$here/make_data.py" "$folder/data"

echo "== A plan, and a folder for every hospital"
dssfn federation init "$folder/federation" --nodes north,south,east \
  --host 127.0.0.1 --port "${PORT:-7400}" --round-deadline 10 \
  --like "$folder/data/south.csv" --target diagnosis --layers 5 --width 200
for name in north south east; do
  cp "$folder/data/$name.csv" "$folder/federation/$name/data.csv"
done

echo "== Would each of them start?"
for name in north south east; do
  dssfn node check "$folder/federation/$name/node.toml"
done

echo "== Three processes"
for name in north south east; do
  dssfn node run "$folder/federation/$name/node.toml" >"$folder/$name.printed" 2>&1 &
done
for job in $(jobs -p); do
  wait "$job" || { cat "$folder"/*.printed >&2; exit 1; }
done
cat "$folder/north.printed"

echo "== The same model everywhere, on patients whom nobody trained on"
(cd "$folder/federation" && sha256sum ./*/out/model.safetensors)
dssfn evaluate "$folder/federation/north/out/model.safetensors" \
  "$folder/data/test.csv" --target diagnosis
