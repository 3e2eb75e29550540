#!/usr/bin/env bash
# Four hospitals train one model on their tables; nobody's patients leave the house.
# Usage: run.sh [FOLDER]    (default: a new folder four-hospitals here)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-four-hospitals}
python=${PYTHON:-python3}
if [ -e "$folder" ]; then
  echo "$folder exists already. Remove it, or name another: run.sh FOLDER" >&2
  exit 2
fi
if ! "$python" -c "import dssfn, grpc, matplotlib, onnx" 2>/dev/null; then
  echo "$python lacks dssfn with gRPC, matplotlib or ONNX. Run pip install" >&2
  echo "'.[grpc,report,onnx]', or set PYTHON, as in PYTHON=.venv/bin/python run.sh" >&2
  exit 2
fi
dssfn() { "$python" -m dssfn "$@"; }
hospitals="cleveland hungarian switzerland va"

echo "== Real tables of four hospitals; a third of the patients is kept to test on"
dssfn data heart --out "$folder/heart"
"$python" "$here/divide.py" "$folder/heart" "$folder/tables"

echo "== Every hospital describes its columns, and sends only that"
for name in $hospitals; do
  dssfn schema "$folder/tables/$name/train.csv" --target num \
    --group healthy=0 --group sick=1,2,3,4 --out "$folder/$name.toml"
done

echo "== One schema, one plan, and a folder for every hospital"
# shellcheck disable=SC2086
dssfn schema merge $(printf "$folder/%s.toml " $hospitals) --out "$folder/schema.toml"
dssfn federation init "$folder/federation" --nodes "${hospitals// /,}" \
  --schema "$folder/schema.toml" --host 127.0.0.1 --port "${PORT:-7400}" \
  --round-deadline 10
for name in $hospitals; do
  node="$folder/federation/$name"
  cp "$folder/tables/$name/train.csv" "$node/data.csv"
  cp "$folder/tables/$name/test.csv" "$node/test.csv"
  sed -i.bak 's/^# test = /test = /' "$node/node.toml" && rm "$node/node.toml.bak"
done

# Runs a command in every hospital at once, and shows what the first one prints.
everywhere() {
  local jobs=()
  for name in $hospitals; do
    dssfn "$@" "$folder/federation/$name/node.toml" >"$folder/$name.printed" 2>&1 &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do
    wait "$job" || { cat "$folder"/*.printed >&2; exit 1; }
  done
  cat "$folder/cleveland.printed"
}

echo "== Would each of them start?"
for name in $hospitals; do
  dssfn node check "$folder/federation/$name/node.toml"
done

echo "== What do they hold together? Does one code a column differently?"
everywhere federation statistics

echo "== Four processes, mutual TLS"
everywhere node run

echo "== The same model everywhere"
(cd "$folder/federation" && sha256sum ./*/out/model.safetensors)

echo "== On patients whom nobody trained on"
"$python" "$here/compare.py" "$folder/federation"
for name in $hospitals; do
  dssfn report "$folder/federation/$name/out"
done

echo "== What the model looks at, its card, and the model for other programs"
node="$folder/federation/cleveland"
model="$node/out/model.safetensors"
dssfn predict "$model" "$node/test.csv" --explain --out "$folder/predictions.csv"
dssfn card "$model" --out "$folder/card.md"
dssfn export "$model" "$folder/model.onnx"
